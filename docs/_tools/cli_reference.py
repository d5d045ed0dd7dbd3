"""Writes docs/reference/cli.md from the command's own `--help`: python docs/_tools/cli_reference.py"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click

from foldless.cli.app import app

PAGE = Path(__file__).resolve().parents[1] / "reference" / "cli.md"
WIDTH = 88
HEAD = """\
# Command line

What `--help` says, command by command. This page is written by `python docs/_tools/cli_reference.py`, and a test
fails when it differs from the real help.

Every command takes `--help`. A mistake ends in one line on stderr and exit code 2. `pip install 'foldless[cli]'`
installs the command. `benchmark` and `reproduce` come with `studies/`, a distribution of its own in the repository:
`pip install ./studies` in a checkout adds them.
"""


def commands(command: click.Command, name: str) -> Iterator[tuple[str, click.Command]]:
    """(full name, command) of a command and of everything below it."""
    yield name, command
    if isinstance(command, click.Group):
        context = click.Context(command)
        for word in sorted(command.list_commands(context)):  # commands are loaded when they are asked for
            below = command.get_command(context, word)
            if below is not None:
                yield from commands(below, f"{name} {word}")


def help_text(command: click.Command, name: str) -> str:
    """What `name --help` prints in a terminal of fixed width."""
    context = click.Context(command, info_name=name, terminal_width=WIDTH, max_content_width=WIDTH)
    return "\n".join(line.rstrip() for line in command.get_help(context).strip().splitlines())


def page() -> str:
    """The whole page."""
    parts = [f"## {name}\n\n```text\n{help_text(command, name)}\n```\n" for name, command in commands(app, "foldless")]
    return "\n".join([HEAD, *parts])


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    print(f"written: {PAGE}")
