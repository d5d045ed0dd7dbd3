"""Everything foldless raises or warns about, in one place.

Each message says what was expected, what came, and what to do. All errors derive from
`FoldlessError`, itself a `ValueError`, so ``except ValueError`` keeps working.
"""


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
