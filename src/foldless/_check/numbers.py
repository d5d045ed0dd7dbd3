"""Single numbers, levels and probabilities."""

from __future__ import annotations

from typing import Any

import numpy as np

from foldless._check.arrays import Floats
from foldless._check.text import listed
from foldless.errors import InputError


def as_number(value: Any, name: str) -> float:
    """A finite real number."""
    try:
        number = float(value)
    except (TypeError, ValueError) as err:
        raise InputError(f"{name} must be a number, got {value!r}.") from err
    if not np.isfinite(number):
        raise InputError(f"{name} must be finite, got {number}.")
    return number


def in_open_interval(value: Any, name: str, low: float = 0.0, high: float = 1.0) -> float:
    """A number strictly between two bounds, such as the level of an interval."""
    number = as_number(value, name)
    if not low < number < high:
        raise InputError(f"{name} must lie strictly between {low:g} and {high:g}, got {value!r}.")
    return number


def as_numbers(value: Any, name: str) -> Floats:
    """Numbers of any shape, none of them NaN."""
    numbers = _converted(value, name, "numbers")
    if np.any(np.isnan(numbers)):
        raise InputError(f"{name} must hold numbers, got NaN.")
    return numbers


def as_finite_numbers(value: Any, name: str) -> Floats:
    """Finite numbers of any shape."""
    numbers = _converted(value, name, "numbers")
    if not np.all(np.isfinite(numbers)):
        raise InputError(f"{name} must be finite, got NaN or infinity.")
    return numbers


def as_probabilities(value: Any, name: str) -> Floats:
    """Numbers in [0, 1], of any shape."""
    p = _converted(value, name, "numbers between 0 and 1")
    if not np.all((p >= 0) & (p <= 1)):
        raise InputError(f"{name} must lie between 0 and 1, got {listed(np.ravel(p).tolist())}.")
    return p


def _converted(value: Any, name: str, expected: str) -> Floats:
    try:
        return np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError) as err:
        raise InputError(f"{name} must hold {expected}, got {value!r}.") from err
