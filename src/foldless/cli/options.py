"""Options that several commands share."""

from __future__ import annotations

import math
from typing import Any

import click

json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON on stdout, and nothing else.")


def share(ctx: click.Context, param: click.Parameter, value: float) -> float:
    """A number strictly between 0 and 1."""
    if not 0 < value < 1:
        hint = f": write {value / 100:g} for {value:g} %" if 1 < value < 100 else ""
        raise click.BadParameter(f"must lie strictly between 0 and 1, got {value:g}{hint}.")
    return value


def positive(ctx: click.Context, param: click.Parameter, value: Any) -> Any:
    """A finite number above 0."""
    if not (math.isfinite(value) and value > 0):
        raise click.BadParameter(f"must be a number above 0, got {value:g}.")
    return value


level_option = click.option(
    "--level", type=float, default=0.95, show_default=True, callback=share, help="Level of the intervals."
)
