"""The ``foldless`` command: its list of sub-commands, and the one place where errors become one line."""

from __future__ import annotations

import errno
import sys
from collections.abc import Callable
from functools import partial
from typing import Any, NoReturn

import click

import foldless as fl
from foldless.cli import console, fault
from foldless.cli.auc import auc
from foldless.cli.benchmark import benchmark
from foldless.cli.compare import compare
from foldless.cli.completion import completion
from foldless.cli.demo import demo
from foldless.cli.plan import plan
from foldless.cli.report import report
from foldless.cli.reproduce import reproduce
from foldless.cli.search import search
from foldless.cli.stopping import Interrupted

EXAMPLES = """\b
Examples:
  foldless demo                                  nine ways to estimate one AUC, and a picture
  foldless auc patients.csv --target outcome     how good is a logistic regression on this file?
  foldless report patients.csv --target outcome -o report.html
  foldless completion bash                       makes the Tab key know commands and options
  foldless COMMAND --help                        options and examples of a command
"""
NO_SPACE = (errno.ENOSPC, errno.EFBIG, errno.EDQUOT)
NO_MEMORY = "there is not enough memory for this: use fewer rows or columns (--drop)."


class OneLineGroup(click.Group):
    """A click group whose failures are one line on stderr: exit code 2, or 130 after Ctrl-C."""

    def main(self, *args: Any, **kwargs: Any) -> NoReturn:
        kwargs["standalone_mode"] = False
        sys.exit(exit_code(partial(super().main, *args, **kwargs)))

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as err:
            raise Interrupted("interrupted") from err


def exit_code(call: Callable[[], Any]) -> int:
    """Run the command; 0, the code it asked for, or that of the error that was just printed."""
    try:
        result = call()
    except click.ClickException as err:
        return console.complain(err.format_message(), 2)
    except Interrupted as err:
        return console.complain(str(err), 130)
    except click.Abort:
        return console.complain("interrupted", 130)
    except fl.FoldlessError as err:
        return console.complain(str(err), 2)
    except OSError as err:
        return console.complain(_described(err), 2)
    except MemoryError:
        return console.complain(NO_MEMORY, 2)
    except ImportError:
        raise  # `main` knows what has to be installed
    except Exception as err:
        return fault(err)
    return result if isinstance(result, int) else 0


def _described(err: OSError) -> str:
    reason = err.strerror or str(err)
    if "allocate memory" in reason:
        return NO_MEMORY
    if err.filename is None and err.errno in NO_SPACE:
        return f"the answer cannot be written ({reason}): make room, or send it elsewhere."
    return f"{err.filename}: {reason[:1].lower()}{reason[1:]}" if err.filename else reason


@click.group(cls=OneLineGroup, invoke_without_command=True, epilog=EXAMPLES)
@click.version_option(fl.__version__, prog_name="foldless", message="%(prog)s %(version)s")
@click.pass_context
def app(ctx: click.Context) -> None:
    """How good is a linear classifier? AUC, ROC and error from its training data and one fit. No folds."""
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


app.add_command(auc)
app.add_command(benchmark)
app.add_command(compare)
app.add_command(completion)
app.add_command(demo)
app.add_command(plan)
app.add_command(report)
app.add_command(reproduce)
app.add_command(search)
