"""A situation once more: ``python -m foldless_studies.truth.show '12:rows=10-20;family=l1' --seed 0``."""

from __future__ import annotations

import json

import click

from foldless_studies.truth.questions import perform
from foldless_studies.truth.situations import Situation


@click.command()
@click.argument("key")
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True)
def show(key: str, seed: int) -> None:
    """Print the levels of a situation, the answer and the truth."""
    index, _, region = key.partition(":")
    levels = tuple((part.partition("=")[0], part.partition("=")[2]) for part in region.split(";") if part)
    click.echo(json.dumps(perform(Situation(seed, int(index), levels)), indent=1))


if __name__ == "__main__":
    show()
