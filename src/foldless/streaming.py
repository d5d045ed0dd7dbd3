"""Tables larger than memory: open them in blocks, and fit logistic regression on them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial, reduce
from operator import add
from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.special import expit

from foldless import checks
from foldless.checks import Floats, slices
from foldless.errors import EstimatorError, InputError
from foldless.honest.newton import descended, halved
from foldless.tables import as_source, clusters
from foldless.tables.block import Block, ByLabel, Moments, Source
from foldless.tables.matrix import ArraySource, block_height, column_sums
from foldless.tables.parquet import ParquetSource

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
        Let Dask compute the statistics of each row group, on the cluster of the current client if there is one. The
        workers must see the files under the same paths.

    Returns
    -------
    Source
        Takes the place of X in `auc_posterior`, `cbauc`, `ScoreStats.from_data` and `fit_logistic`.
    """
    if spread:
        clusters.refuse_missing("spread=True", ("dask",))
    dropped = (drop,) if isinstance(drop, str) else tuple(drop)
    return ParquetSource.of(paths, target, drop=dropped, meaning=meaning, spread=spread)


def in_blocks(X: Any, y: Any, *, elements: int = BLOCK_ELEMENTS) -> Source:
    """An array or memory map, read in blocks of `elements` numbers, so that steps of a pipeline never copy it whole.

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
    >>> abs(fl.auc_posterior(model, in_blocks(X, y)).mean - fl.auc_posterior(model, X, y).mean) < 1e-3
    True
    """
    whole = Block.of(X, y, 0)
    return ArraySource(whole.X, whole.y, block_height(whole.X, elements))


@contextmanager
def cluster(address: str | None, timeout: float = 10.0) -> Iterator[bool]:
    """Use the Dask cluster of a scheduler such as ``tcp://host:8786`` inside a `with` block.

    A scheduler that does not answer within `timeout` seconds is an error. Without an address nothing happens. The
    value of the `with` block says whether a cluster is used.
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
CONVERGED = 1e-14  # squared Newton decrement, relative to the objective


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
    source = as_source(X, y) or in_blocks(X, y)
    if not source.repeatable:
        raise InputError("a fit reads X several times, an iterator once: pass a function that returns a fresh one.")
    sums: ByLabel = source.total(column_sums)
    labels = checks.as_labels(np.array(list(sums.parts), dtype=object))
    classes = (labels.negative_label, labels.positive_label)
    columns = sums.parts[classes[0]] + sums.parts[classes[1]]
    if not np.all(np.isfinite(columns.mean)) or not np.all(np.isfinite(columns.scatter)):
        raise InputError("X has NaN, infinity or numbers whose squares overflow: impute, drop or rescale them first.")
    mean, scale = _scaling(columns, standardize)
    coef, steps = _newton(source, mean, scale, classes[1], C, columns.n)
    fitted = [_classifier(coef, steps, classes, C)]
    if standardize:
        fitted.insert(0, _scaler(columns, scale))
    return _as_pipeline(fitted, getattr(source, "features", None))


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


def _loss_at(block: Block, *, coef: Floats, mean: Floats, scale: Floats, positive: Any) -> NewtonSums:
    """The statistic of a block: losses on standardised columns and a constant one, at `coef` (P + 1,).

    Only as many rows as bounded memory allows are standardised, and made dense, at a time.
    """

    def of_rows(rows: slice) -> NewtonSums:
        dense = block.X[rows].toarray() if checks.is_sparse(block.X) else block.X[rows]
        A = np.empty((dense.shape[0], coef.size))
        np.divide(np.subtract(dense, mean, out=A[:, :-1]), scale, out=A[:, :-1])
        A[:, -1] = 1.0
        t = np.where(block.y[rows] == positive, 1.0, -1.0)
        z = A @ coef
        D = expit(z) * expit(-z)
        slope = A.T @ (-t * expit(-t * z))
        A *= np.sqrt(D)[:, None]
        return NewtonSums(len(t), float(np.logaddexp(0.0, -t * z).sum()), slope, A.T @ A)

    return reduce(add, map(of_rows, slices(len(block.y), coef.size, BLOCK_ELEMENTS)))


def _newton(source: Any, mean: Floats, scale: Floats, positive: Any, C: float, n_rows: int) -> tuple[Floats, int]:
    """Damped Newton steps, one pass each, and their number; the last entry, the intercept, is not penalised."""
    penalty = np.append(np.full(mean.size, 1.0 / C), 0.0)

    def at(coef: Floats) -> tuple[float, Floats, Floats]:
        sums = source.total(partial(_loss_at, coef=coef, mean=mean, scale=scale, positive=positive))
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
    try:
        step = -cho_solve(cho_factor(curvature), slope)
    except np.linalg.LinAlgError as err:
        raise EstimatorError("the columns are collinear beyond rounding: use a smaller C, or drop columns.") from err
    decrement = -float(slope @ step)
    if decrement <= CONVERGED * value:
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


def _classifier(coef: Floats, steps: int, classes: tuple[Any, Any], C: float) -> Any:
    from sklearn.linear_model import LogisticRegression

    model = LogisticRegression(C=C)
    model.coef_, model.intercept_ = coef[None, :-1].copy(), coef[-1:].copy()
    model.classes_ = np.array(classes, dtype=object if isinstance(classes[0], str) else None)
    model.n_iter_, model.n_features_in_ = np.array([steps]), coef.size - 1
    return model


def _scaler(columns: Moments, scale: Floats) -> Any:
    from sklearn.preprocessing import StandardScaler

    scaler = StandardScaler()
    scaler.mean_, scaler.scale_, scaler.var_ = columns.mean, scale, columns.scatter / columns.n
    scaler.n_features_in_, scaler.n_samples_seen_ = columns.mean.size, columns.n
    return scaler


def _as_pipeline(fitted: list[Any], names: Any) -> Any:
    """The fitted steps as a pipeline; the first knows the names of the columns."""
    from sklearn.pipeline import make_pipeline

    if names is not None:
        fitted[0].feature_names_in_ = np.array(names, dtype=object)
    return make_pipeline(*fitted)
