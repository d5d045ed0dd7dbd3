"""``foldless completion SHELL``: the script that makes the Tab key know commands and options."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

EXAMPLES = """\b
Examples:
  foldless completion bash > ~/.local/share/bash-completion/completions/foldless
  foldless completion zsh > ~/.zfunc/_foldless        (with fpath+=~/.zfunc before compinit in ~/.zshrc)
  foldless completion fish > ~/.config/fish/completions/foldless.fish
"""


@click.command(epilog=EXAMPLES)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """Print the completion script for SHELL; write it where your shell looks for such scripts."""
    script = get_completion_class(shell)
    if script is None:
        raise click.UsageError(f"there is no completion for {shell}.")
    click.echo(script(ctx.find_root().command, {}, "foldless", "_FOLDLESS_COMPLETE").source())
