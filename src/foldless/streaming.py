"""Tables larger than memory: open them in blocks, and fit logistic regression on them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.special import expit

from foldless import checks
from foldless.checks import Array, Floats
from foldless.errors import EstimatorError, InputError
from foldless.honest.optimum import descended, halved
from foldless.tables import as_source, clusters
from foldless.tables.block import Block, ByLabel, Moments, Source
from foldless.tables.matrix import ArraySource, block_height
from foldless.tables.parquet import ParquetSource
from foldless.tables.sums import ColumnSums

__all__ = ["cluster", "fit_logistic", "in_blocks", "open_files"]

# ---- Files and memory maps as tables that are read in blocks, here or by the workers of a Dask cluster.

BLOCK_ELEMENTS = 1 << 21  # 16 MB of float64


def open_files(
    paths: Any,
    target: str,
    *,
    drop: str | tuple[str, ...] = (),
    meaning: Mapping[Any, Any] | None = None,
    spread: bool = False,
) -> Source:
    """The rows of Parquet files; every column but `target` and those in `drop` is a feature.

    Parameters
    ----------
    paths : path, folder, pattern such as ``"big/*.parquet"``, or a list of paths
    target : str
        The column of labels.
    drop : str or tuple of str
        Columns to leave out; they are not read.
    meaning : mapping, optional
        The label that each value of the target stands for, such as ``{"yes": 1, "no": 0}``; other values are an error.
        By default the values are the labels.
    spread : bool
        Let Dask compute the statistics of each row group, on a cluster if a client is in use. The workers must see
        the files under the same paths.

    Returns
    -------
    Source
        Takes the place of X in `auc_posterior`, `cbauc`, `ScoreStats.from_data` and `fit_logistic`.
    """
    source = ParquetSource.of(paths, target, drop=(drop,) if isinstance(drop, str) else tuple(drop), meaning=meaning)
    if not spread:
        return source
    try:
        import dask  # noqa: F401
    except ModuleNotFoundError as err:
        raise InputError("spread=True needs Dask: pip install 'foldless[dask]'.") from err
    return clusters.SpreadSource(source)


def in_blocks(X: Any, y: Any, *, elements: int = BLOCK_ELEMENTS) -> Source:
    """An array or memory map, read in blocks of so many numbers: steps of a pipeline then never copy it whole.

    Examples
    --------
    >>> import foldless as fl
    >>> from foldless.streaming import in_blocks
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, y)
    >>> abs(fl.auc_posterior(model, in_blocks(X, y)).mean - fl.auc_posterior(model, X, y).mean) < 1e-12
    True
    """
    M, labels = checks.as_matrix(X), checks.label_vector(y)
    checks.same_length(M.shape[0], labels.size)
    return ArraySource(M, labels, block_height(M, elements))


@contextmanager
def cluster(address: str | None, timeout: float = 10.0) -> Iterator[bool]:
    """A Dask client for a scheduler such as ``tcp://host:8786`` while the block runs; whether there is one.

    A scheduler that does not answer within `timeout` seconds is an error.
    """
    if address is None:
        yield False
        return
    with clusters.joined(address, timeout, "a scheduler"):
        yield True


# ---- Logistic regression on tables larger than memory: Newton steps from P x P sums, one pass each.
#
#     1/2 |w|^2 + C sum_i log(1 + exp(-t_i z_i)),    z = X w + b,
#
# the objective of scikit-learn's LogisticRegression; the fit comes back as one, in a Pipeline with the StandardScaler.

MAX_STEPS = 100
MAX_HALVINGS = 40
TIGHT = 1e-10  # squared Newton decrement, relative to the objective


def fit_logistic(X: Any, y: Any = None, *, C: float = 1.0, standardize: bool = True) -> Any:
    """Fit a logistic regression with an L2 penalty to a table that is read in blocks, about ten passes.

    Parameters
    ----------
    X, y
        Parquet files and the name of the label column, a Dask array and labels, a function that returns an iterator
        over pairs (X_chunk, y_chunk), a memory map and labels, ...
    C : float
        Inverse strength of the penalty.
    standardize : bool
        Give each column mean 0 and variance 1 first, as StandardScaler does.

    Returns
    -------
    sklearn.pipeline.Pipeline
        StandardScaler (if asked for) and LogisticRegression, fitted: the optimum of their objective.

    Examples
    --------
    >>> import foldless as fl
    >>> from foldless.streaming import fit_logistic
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> def chunks():
    ...     return ((X[i : i + 100], y[i : i + 100]) for i in range(0, len(y), 100))
    >>> model = fit_logistic(chunks)
    >>> fl.auc_posterior(model, chunks).mean > 0.98
    True
    """
    C = checks.in_open_interval(C, "C", 0.0, np.inf)
    source = _source(X, y)
    sums: ByLabel = source.total(ColumnSums())
    labels = checks.as_labels(np.array(list(sums.parts), dtype=object))
    classes = (labels.negative_label, labels.positive_label)
    columns = sums.parts[classes[0]] + sums.parts[classes[1]]
    if not np.all(np.isfinite(columns.mean)) or not np.all(np.isfinite(columns.scatter)):
        raise InputError("X has NaN, infinity or numbers whose squares overflow: impute, drop or rescale them first.")
    mean, scale = _scaling(columns, standardize)
    coef, steps = _newton(source, mean, scale, classes, C, columns.n)
    names = getattr(source, "features", None)
    model = _classifier(coef, steps, classes, C)
    return _as_pipeline(model, mean, scale, columns, standardize, names)


def _source(X: Any, y: Any) -> Any:
    source = as_source(X, y) or in_blocks(X, y)
    if not source.repeatable:
        raise InputError("a fit reads X several times, an iterator once: pass a function that returns a fresh one.")
    return source


def _scaling(columns: Moments, standardize: bool) -> tuple[Floats, Floats]:
    """Mean and scale of each column; a constant column keeps scale 1, as in StandardScaler."""
    if not standardize:
        return np.zeros_like(columns.mean), np.ones_like(columns.mean)
    sd = np.sqrt(columns.scatter / columns.n)
    # Of squares: variance <= 10 eps (variance + mean^2 / sqrt n). The squares of means may overflow.
    constant = sd <= np.sqrt(10 * np.finfo(float).eps) * np.hypot(sd, columns.mean * columns.n**-0.25)
    return columns.mean, np.where(constant, 1.0, sd)


@dataclass(frozen=True, eq=False)
class NewtonSums:
    """Loss, its slope and its curvature at one point; parts add."""

    rows: int
    value: float
    slope: Floats
    curvature: Floats

    def __add__(self, other: NewtonSums) -> NewtonSums:
        rows, value = self.rows + other.rows, self.value + other.value
        return NewtonSums(rows, value, self.slope + other.slope, self.curvature + other.curvature)


@dataclass(frozen=True, eq=False)
class LossAt:
    """The statistic of a block: losses on standardised columns and a constant one, at `coef` (P + 1,).

    Rows are standardised, and made dense, so many at a time as bounded memory allows.
    """

    coef: Floats
    mean: Floats
    scale: Floats
    positive: Any

    def __call__(self, block: Block) -> NewtonSums:
        height = max(1, BLOCK_ELEMENTS // self.coef.size)
        parts = (slice(start, start + height) for start in range(0, len(block.y), height))
        return reduce(add, (self._of_rows(block.X[rows], block.y[rows]) for rows in parts))

    def _of_rows(self, X: Any, y: Array) -> NewtonSums:
        dense = X.toarray() if checks.is_sparse(X) else X
        A = np.empty((dense.shape[0], dense.shape[1] + 1))
        np.divide(np.subtract(dense, self.mean, out=A[:, :-1]), self.scale, out=A[:, :-1])
        A[:, -1] = 1.0
        t = np.where(y == self.positive, 1.0, -1.0)
        z = A @ self.coef
        D = expit(z) * expit(-z)
        slope = A.T @ (-t * expit(-t * z))
        A *= np.sqrt(D)[:, None]
        return NewtonSums(len(y), float(np.logaddexp(0.0, -t * z).sum()), slope, A.T @ A)


def _newton(
    source: Any, mean: Floats, scale: Floats, classes: tuple[Any, Any], C: float, n_rows: int
) -> tuple[Floats, int]:
    """Damped Newton steps, one pass each, and their number; the last entry, the intercept, is not penalised."""
    penalty = np.append(np.full(mean.size, 1.0 / C), 0.0)

    def at(coef: Floats) -> tuple[float, Floats, Floats]:
        sums = source.total(LossAt(coef, mean, scale, classes[1]))
        if sums.rows != n_rows:
            raise InputError(
                f"X had {n_rows} rows, then {sums.rows}: every pass over the chunks must give the same rows."
            )
        curvature = sums.curvature + np.diag(penalty)
        return sums.value + 0.5 * float(penalty @ coef**2), sums.slope + penalty * coef, curvature

    coef = np.zeros(mean.size + 1)
    coef, steps, _ = descended((coef, 0, at(coef)), lambda now: _newton_step(at, *now), MAX_STEPS)
    if steps == MAX_STEPS:
        raise EstimatorError(
            f"the fit did not converge in {MAX_STEPS} steps: standardize the columns, or use a smaller C."
        )
    return coef, steps


def _newton_step(
    at: Any, coef: Floats, steps: int, here: tuple[float, Floats, Floats]
) -> tuple[Floats, int, Any] | None:
    """The whole step, or the first half, quarter, ... of it that lowers the objective; None at the optimum."""
    value, slope, curvature = here
    step = -_solved(curvature, slope)
    decrement = -float(slope @ step)
    if decrement <= TIGHT**2 * value or decrement <= 1e-14 * value:
        return None

    def trial(share: float) -> tuple[Floats, int, Any] | None:
        moved = coef + step * share
        there = at(moved)
        lower = there[0] <= value - 1e-4 * share * decrement or decrement < 1e-12 * value
        return (moved, steps + 1, there) if lower else None

    lower = halved(trial, MAX_HALVINGS)
    if lower is None:
        raise EstimatorError("the fit makes no progress: standardize the columns, or use a smaller C.")
    return lower


def _solved(curvature: Floats, slope: Floats) -> Floats:
    try:
        return np.asarray(cho_solve(cho_factor(curvature), slope))
    except np.linalg.LinAlgError as err:
        raise EstimatorError("the columns are collinear beyond rounding: use a smaller C, or drop columns.") from err


def _classifier(coef: Floats, steps: int, classes: tuple[Any, Any], C: float) -> Any:
    from sklearn.linear_model import LogisticRegression

    model = LogisticRegression(C=C)
    model.coef_, model.intercept_ = coef[None, :-1].copy(), coef[-1:].copy()
    model.classes_, model.n_iter_ = _class_array(classes), np.array([steps])
    model.n_features_in_ = coef.size - 1
    return model


def _as_pipeline(model: Any, mean: Floats, scale: Floats, columns: Moments, standardize: bool, names: Any) -> Any:
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    if not standardize:
        return make_pipeline(_named(model, names))
    scaler = StandardScaler()
    scaler.mean_, scaler.scale_, scaler.var_ = mean, scale, columns.scatter / columns.n
    scaler.n_features_in_, scaler.n_samples_seen_ = mean.size, columns.n
    return make_pipeline(_named(scaler, names), model)


def _named(step: Any, names: Any) -> Any:
    if names is not None:
        step.feature_names_in_ = np.array(names, dtype=object)
    return step


def _class_array(classes: tuple[Any, Any]) -> Array:
    return np.array(classes) if not isinstance(classes[0], str) else np.array(classes, dtype=object)
