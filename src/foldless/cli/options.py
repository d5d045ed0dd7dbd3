"""Options that several commands share."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
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


def comma_separated(kind: Callable[[str], Any]) -> Callable[..., Any]:
    """Callback of an option that takes values separated by commas."""

    def convert(ctx: click.Context, param: click.Parameter, value: str | None) -> tuple[Any, ...] | None:
        if value is None:
            return None
        try:
            return tuple(kind(part.strip()) for part in value.split(","))
        except ValueError as err:
            raise click.BadParameter(
                f"expected values separated by commas, such as {param.metavar}, got {value!r}."
            ) from err

    return convert


def finite(word: str) -> float:
    """A number, for `comma_separated`; not infinite, nor nan."""
    number = float(word)
    if not math.isfinite(number):
        raise ValueError(word)
    return number


def maybe_share(ctx: click.Context, param: click.Parameter, value: float | None) -> float | None:
    """A number strictly between 0 and 1, if given."""
    return None if value is None else share(ctx, param, value)


def maybe_positive(ctx: click.Context, param: click.Parameter, value: float | None) -> float | None:
    """A number above 0, if given."""
    return None if value is None else float(positive(ctx, param, value))


def picture_option(help_text: str) -> Callable[[Any], Any]:
    """--out for a picture."""
    return click.option("--out", type=click.Path(path_type=Path), help=f"{help_text} (.png, .svg, .pdf).")
