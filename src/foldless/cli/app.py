"""The ``foldless`` command: its sub-commands, and the one place where an error becomes one line."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable
from difflib import get_close_matches
from functools import partial
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from typing import Any, NoReturn

import click

from foldless import __version__
from foldless.cli import complain, internal_error
from foldless.cli.console import Interrupted, in_options
from foldless.errors import FoldlessError

EXAMPLES = """\b
Examples:
  foldless demo                                  how far off are estimates of the AUC? 40 small studies
  foldless auc patients.csv --target outcome     how good is a logistic regression on this file?
  foldless report patients.csv --target outcome -o report.html
  foldless app                                   the same on a page, without a terminal
  foldless completion bash                       completes commands and options with the Tab key
  foldless COMMAND --help                        options and examples of a command
"""
COMPLETION_EXAMPLES = """\b
Examples:
  foldless completion bash > ~/.local/share/bash-completion/completions/foldless
  foldless completion zsh > ~/.zfunc/_foldless        (with fpath+=~/.zfunc before compinit in ~/.zshrc)
  foldless completion fish > ~/.config/fish/completions/foldless.fish
"""
NO_SPACE = (errno.ENOSPC, errno.EFBIG, errno.EDQUOT)
NO_MEMORY = "there is not enough memory for this: use fewer rows or columns (--drop)."

# Where each command lives and what `foldless --help` says of it. A command is loaded when it runs: the list of commands
# needs neither NumPy nor scikit-learn. A test compares these lines with the commands' own docstrings.
COMMANDS = {
    "app": ("foldless.app", "Open a page in the browser: drop a file, see its columns, read the report."),
    "auc": ("foldless.cli.auc", "Fit a classifier to FILE and say how good it will be on new rows."),
    "compare": ("foldless.cli.compare", "Fit several classifiers to FILE and say which will be the best on new rows."),
    "completion": (__name__, "Print the completion script for SHELL."),
    "demo": ("foldless.cli.demo", "Compare estimators of the AUC on many small studies."),
    "permute": (
        "foldless.cli.permute",
        "Say how often a classifier would do as well on FILE if its labels were exchanged at random.",
    ),
    "plan": ("foldless.cli.plan", "Say how many rows a study needs, or what more rows of FILE would bring."),
    "report": ("foldless.cli.report", "Write a report on a classifier and its data: one HTML file."),
    "search": ("foldless.cli.search", "Fit one classifier to FILE for each strength of the penalty, and choose."),
    "validate": ("foldless.cli.validate", "Fit a classifier to FILE and validate its probabilities: one table."),
}
# Other distributions add commands under this entry-point group; the value is "module:command".
PLUGINS = "foldless.commands"


class CommandGroup(click.Group):
    """Commands loaded by name. A failure is one line on stderr: exit code 2, or 130 after Ctrl-C."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted({*COMMANDS, *_plugins()})

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name in COMMANDS:
            command: click.Command = getattr(import_module(COMMANDS[name][0]), name)
            return command
        plugin = _plugins().get(name)
        return None if plugin is None else plugin.load()

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        if self.get_command(ctx, args[0]) is None:
            near = get_close_matches(args[0], self.list_commands(ctx), 1)
            ctx.fail(f"No such command {args[0]!r}.{f' Did you mean {near[0]!r}?' if near else ''}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        lines = {name: help_line for name, (_, help_line) in COMMANDS.items()}
        lines |= {name: plugin.load().get_short_help_str(100) for name, plugin in _plugins().items()}
        with formatter.section("Commands"):
            formatter.write_dl(sorted(lines.items()))

    def main(self, *args: Any, **kwargs: Any) -> NoReturn:
        kwargs["standalone_mode"] = False
        sys.exit(exit_code(partial(super().main, *args, **kwargs)))

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as err:
            raise Interrupted("interrupted") from err


def _plugins() -> dict[str, EntryPoint]:
    return {entry.name: entry for entry in entry_points(group=PLUGINS)}


def exit_code(call: Callable[[], Any]) -> int:
    """Run the command and return its exit code; an error is printed as one line."""
    try:
        result = call()
        sys.stdout.flush()  # a disk that is full shows only now
    except click.ClickException as err:
        return complain(err.format_message(), 2)
    except (Interrupted, click.Abort) as err:
        return complain(str(err) or "interrupted", 130)
    except FoldlessError as err:
        return complain(in_options(str(err)), 2)
    except BrokenPipeError:  # whoever reads the answer has seen enough, as in `foldless ... | head`
        _forget_output()
        return 1
    except OSError as err:
        _forget_output()
        return complain(_described(err), 2)
    except MemoryError:
        return complain(NO_MEMORY, 2)
    except ImportError:
        raise  # `main` knows what has to be installed
    except Exception as err:
        return internal_error(err)
    return result if isinstance(result, int) else 0


def _forget_output() -> None:
    """What could not be written would be tried again at exit, which is too late for a word about it."""
    try:
        sys.stdout.flush()
    except OSError:
        with open(os.devnull, "w", encoding="utf-8") as nowhere:
            os.dup2(nowhere.fileno(), sys.stdout.fileno())


def _described(err: OSError) -> str:
    reason = err.strerror or str(err)
    if "allocate memory" in reason:
        return NO_MEMORY
    if err.filename is None and err.errno in NO_SPACE:
        return f"the answer cannot be written ({reason}): make room, or send it elsewhere."
    return f"{err.filename}: {reason[:1].lower()}{reason[1:]}" if err.filename else reason


@click.group(cls=CommandGroup, invoke_without_command=True, epilog=EXAMPLES)
@click.version_option(__version__, prog_name="foldless", message="%(prog)s %(version)s")
@click.pass_context
def app(ctx: click.Context) -> None:
    """How good is a linear classifier? AUC, ROC and error from its training data and one fit. No folds."""
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


@click.command(epilog=COMPLETION_EXAMPLES)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """Print the completion script for SHELL.

    Write it where your shell looks for such scripts.
    """
    from click.shell_completion import get_completion_class

    script = get_completion_class(shell)
    if script is None:
        raise click.UsageError(f"there is no completion for {shell}.")
    click.echo(script(ctx.find_root().command, {}, "foldless", "_FOLDLESS_COMPLETE").source())
