"""Parameters that have a few values only."""

from __future__ import annotations

from typing import Any

from foldless.errors import InputError


def known_method(method: Any) -> str:
    """ "loo" or "in-sample"; "auto" is "loo"."""
    if method not in ("auto", "loo", "in-sample"):
        raise InputError(f"method must be 'auto', 'loo' or 'in-sample', got {method!r}.")
    return "in-sample" if method == "in-sample" else "loo"
