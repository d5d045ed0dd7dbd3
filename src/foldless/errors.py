"""Everything foldless raises or warns about, in one place.

Each message says what was expected, what was given, and what to do. All errors derive from
`FoldlessError`, itself a `ValueError`, so ``except ValueError`` keeps working.
"""

from __future__ import annotations

import contextlib
import inspect
import os
import warnings

OURS = (os.path.dirname(os.path.abspath(__file__)) + os.sep, os.path.abspath(contextlib.__file__))


class FoldlessError(ValueError):
    """Base of every error that foldless raises on purpose."""


class InputError(FoldlessError):
    """The data or a parameter cannot be used as given."""


class EstimatorError(FoldlessError):
    """The classifier is not fitted, not linear, or does not match the data."""


class PriorError(FoldlessError):
    """A hyperparameter is impossible, or the posterior that it leads to is not proper."""


class FoldlessWarning(UserWarning):
    """Base of every warning that foldless gives."""


class OptimismWarning(FoldlessWarning):
    """The number is decided by the prior or by overfitting rather than by the data."""


class TrustWarning(FoldlessWarning):
    """The result stands, but one of its assumptions is visibly strained."""


def warn_user(message: str | Warning, category: type[Warning] | None = None) -> None:
    """Warn at the line outside of foldless that led here, however deep in foldless the cause lies."""
    frame, level = inspect.currentframe(), 1
    while frame is not None and os.path.abspath(frame.f_code.co_filename).startswith(OURS):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)
