"""Classifiers given as weights: the paper's estimate and its posterior, for one or thousands, on tables of any size."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import ndtr

from foldless import checks
from foldless.checks import Floats, as_number, slices
from foldless.errors import InputError, OptimismWarning, PriorError, warn_user
from foldless.honest import in_sample
from foldless.laws.effect import SQRT2, StudentEffect, bisected, effect_of, probability, t_cdf
from foldless.laws.moments import ScoreStats
from foldless.laws.prior import Prior
from foldless.results.auc import AUCPosterior, central
from foldless.tables import is_out_of_core
from foldless.tables.matrix import project

PAPER = Prior.paper()  # made once: on a GPU that is a noticeable part of a call


def cbauc(w: Any, X: Any, y: Any = None, *, prior: Prior | None = None, pos_label: Any = None) -> Any:
    """The paper's number: posterior expectation of the AUC of linear classifiers on their training data.

    With the posterior hyperparameters of `prior` (Hassan et al. 2019, Proposition 1),

        CBAUC(w) = t_k.cdf( a sqrt(k/s) / sqrt(2 + 1/nu0* + 1/nu1*) ),
        a = w'(m1* - m0*),  s = w'S*w,  k = kappa + N - P + 1.

    It takes one pass over X. Unless there are far fewer features than rows it is badly optimistic: use
    `auc_posterior` to judge a classifier on new rows.

    Parameters
    ----------
    w : array of shape (P,) or (P, K)
        Weights of one classifier, or of K of them, one per column.
    X : table of shape (N, P)
        An array, memory map, sparse matrix or data frame; a Dask array; an array on a GPU; the path of Parquet files,
        or a list of paths; an iterable of pairs (X_chunk, y_chunk). It is read once, a block of rows at a time.
    y : array of shape (N,)
        Two classes of any type; the later in sorted order is the positive one. For Parquet files, the name of the
        column that holds them; left out for chunks.
    prior : Prior, optional
        `Prior.paper()` by default.
    pos_label : optional
        The class that high scores stand for, if not the later one.

    Returns
    -------
    float, or array of shape (K,) for a matrix of weights.

    Examples
    --------
    >>> import foldless as fl
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> round(fl.cbauc([-1.0, -1.0, 1.0, 1.0], X[50:], y[50:]), 4)
    0.9175
    """
    prior = conjugate_prior(prior)
    if prior.family == "adaptive":
        return _adaptive_cbauc(w, X, y, prior, pos_label)
    post, _ = in_sample.posterior_along(X, y, w, prior, pos_label)
    mean = post.mean_auc()
    return float(mean) if np.ndim(mean) == 0 else mean


def auc_posterior_many(
    W: Any, X: Any, y: Any = None, *, prior: Prior | None = None, pos_label: Any = None
) -> AUCPosteriors:
    """In-sample posteriors of the AUC of K linear classifiers: one matrix product, whatever K.

    The model and its optimism are those of ``auc_posterior(w, X, y, method="in-sample")``.

    Parameters
    ----------
    W : array of shape (P, K)
        Weights, one classifier per column.
    X, y, prior, pos_label
        As in `cbauc`.

    Examples
    --------
    >>> import foldless as fl
    >>> import numpy as np
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> posteriors = fl.auc_posterior_many(np.eye(10), X[:, :10], y, pos_label=0)
    >>> len(posteriors), int(np.argmax(posteriors.mean))
    (10, 2)
    >>> low, high = posteriors.interval()
    >>> low.shape, bool(low[2] > high[9])
    ((10,), True)
    """
    prior = conjugate_prior(prior)
    _refuse_adaptive(prior, "auc_posterior_many", "auc_posterior(w, X, y, method='in-sample') for one w at a time")
    post, stats = in_sample.posterior_along(X, y, W, prior, pos_label)
    loc = np.asarray(post.location)
    if loc.ndim != 1:
        raise InputError("W must have shape (P, K), one classifier per column: for a single vector use auc_posterior.")
    notes = _optimism(W, stats, prior)
    for warning in notes:
        warn_user(warning, OptimismWarning)
    return AUCPosteriors(loc, post.spread, post.df, stats.n0, stats.n1, notes)


def _optimism(W: Any, stats: ScoreStats, prior: Prior) -> tuple[str, ...]:
    warning = in_sample.optimism(np.shape(W)[0], stats.n0 + stats.n1, prior)
    return () if warning is None else (warning,)


def posterior_of_weights(w: Any, X: Any, y: Any, prior: Prior, pos_label: Any) -> AUCPosterior:
    """In-sample posterior along one weight vector on a table that is not in memory; its note, if any, is a warning."""
    _refuse_adaptive(prior, "a table that is not in memory", "Prior.paper(), or load X")
    post, stats = in_sample.posterior_along(X, y, w, prior, pos_label)
    notes = _optimism(w, stats, prior)
    return AUCPosterior.from_effect(post.separation(), "in-sample", stats.n0, stats.n1, notes)


def _adaptive_cbauc(w: Any, X: Any, y: Any, prior: Prior, pos_label: Any) -> Any:
    """The adaptive prior needs the spectrum of X, hence X in memory."""
    if is_out_of_core(X, y):
        _refuse_adaptive(prior, "a table that is not in memory", "Prior.paper(), or load X")
    M = checks.as_matrix(X)
    W = checks.as_weights(w, M.shape[1])
    labels = checks.as_labels(y, pos_label=pos_label)
    checks.same_length(M.shape[0], labels.positive.size)
    scores = project(M, W)
    checks.finite_scores(scores, M)
    mean = in_sample.adaptive_mean_auc(M, labels.positive, W, scores)
    return float(mean) if W.ndim == 1 else mean


def _refuse_adaptive(prior: Prior, what: str, instead: str) -> None:
    if prior.family == "adaptive":
        raise PriorError(f"Prior.adaptive() needs the spectrum of X and cannot be used with {what}: use {instead}.")


def conjugate_prior(prior: Any, groups: Any = None, sample_weight: Any = None) -> Prior:
    """The prior of the in-sample method: the given one if it fits, the paper's by default."""
    if groups is not None:
        raise InputError("the in-sample method takes rows as independent and has no groups: use method='loo'.")
    if sample_weight is not None:
        raise InputError("the in-sample method does not look at how the fit was made: leave sample_weight out.")
    if prior is None:
        return PAPER
    if not isinstance(prior, Prior):
        raise PriorError(f"the in-sample method takes a Prior such as Prior.paper(), got {type(prior).__name__}.")
    return prior


# ---- The posteriors of many classifiers at once.

CELLS = 1 << 20  # numbers of the quadrature held at once


@dataclass(frozen=True, repr=False, eq=False)
class AUCPosteriors:
    """Posteriors of the AUC of K classifiers, as arrays with one entry each; ``posteriors[k]`` is one `AUCPosterior`.

    Made by `auc_posterior_many`, which has an example.

    Attributes
    ----------
    loc : ndarray of shape (K,)
        Standardised difference of the posterior class means.
    spread, df : float
        The uncertainty of that difference and of the scale, the same for all classifiers.
    n0, n1, notes
        As in `AUCPosterior`.
    """

    loc: Floats
    spread: float
    df: float
    n0: int
    n1: int
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return int(self.loc.size)

    def __iter__(self) -> Iterator[AUCPosterior]:
        return (self[k] for k in range(len(self)))

    def __getitem__(self, k: int) -> AUCPosterior:
        return AUCPosterior.from_effect(self._effect(k), "in-sample", self.n0, self.n1, self.notes)

    def __repr__(self) -> str:
        best = int(np.argmax(self.mean))
        return (
            f"AUCPosteriors({len(self)} classifiers, mean from {self.mean.min():.3f} to {self.mean[best]:.3f} "
            f"(classifier {best}), method='in-sample', n0={self.n0}, n1={self.n1})"
        )

    @cached_property
    def mean(self) -> Floats:
        """Posterior means: the paper's CBAUC of each classifier."""
        return np.asarray(t_cdf(self.loc / np.hypot(SQRT2, self.spread), self.df))

    @cached_property
    def sd(self) -> Floats:
        """Posterior standard deviations."""
        return np.array([self._effect(k).sd_probability(SQRT2) for k in range(len(self))])

    def interval(self, level: float = 0.95) -> tuple[Floats, Floats]:
        """Lower and upper ends of the central credible intervals."""
        low, high = (np.asarray(probability(self._quantile(q), SQRT2)) for q in central(level))
        return low, high

    def prob_above(self, a: float) -> Floats:
        """Posterior probabilities that the AUC exceeds `a`."""
        bound = as_number(a, "a")
        if not 0 < bound < 1:
            return np.full(len(self), 1.0 if bound <= 0 else 0.0)
        return 1.0 - self._cdf(np.full(len(self), float(effect_of(bound, SQRT2))))

    def _quantile(self, q: float) -> Floats:
        low, high = np.transpose([self._effect(k).bounds() for k in range(len(self))])
        return bisected(lambda x: self._cdf(x) < q, low, high)

    def _effect(self, k: int) -> StudentEffect:
        return StudentEffect(float(self.loc[k]), self.spread, self.df)

    def _cdf(self, x: Floats) -> Floats:
        """P(effect_k <= x_k): the quadrature of `StudentEffect.cdf`, one row per classifier."""
        nodes, weights = self._effect(0).scale_nodes()
        out = np.empty(len(self))
        for part in slices(len(self), nodes.size, CELLS):
            out[part] = ndtr((x[part, None] - self.loc[part, None] * nodes) / self.spread) @ weights
        for k in np.flatnonzero(np.abs(self.loc) > self.spread * np.sqrt(2 * self.df)):
            out[k] = float(self._effect(int(k)).cdf(x[k]))
        return np.minimum(out, 1.0)
