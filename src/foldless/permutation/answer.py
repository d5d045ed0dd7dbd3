"""`permutation_test`: the probability of so good an AUC if the labels said nothing about the rows."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np

from foldless import words
from foldless.baselines.scores import as_count
from foldless.checks import Floats
from foldless.errors import InputError, TrustWarning, warn_user
from foldless.findings.naming import Names
from foldless.findings.rows import quick_notes
from foldless.honest.design import Bools
from foldless.model.view import REPEATED, take_apart
from foldless.permutation.relabelling import ROWS, Relabelling
from foldless.permutation.scoring import OwnFits, SharedFit, fit_for
from foldless.permutation.training import Training
from foldless.progress import as_progress, told
from foldless.results.auc import ShownAsCard
from foldless.tables import refuse_stream

ROUNDING = 1e-10  # AUCs this close are equal: both are shares of pairs
Work = Callable[[Any], Any]


@dataclass(frozen=True, eq=False)
class Permuted(ShownAsCard):
    """How labels were permuted, for `PermutationTest` and `Decoding`."""

    exhaustive: bool
    left_out: str
    permuted: str
    n0: int
    n1: int
    notes: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class PermutationTest(Permuted):
    """The AUC of a classifier on rows left out of its fit, and that of the same classifier on permuted labels.

    Attributes
    ----------
    p_value : float
        (1 + b) / (1 + B): b of the B permutations reach the AUC of the true labels. One-sided.
    statistic : float
        AUC with the true labels, of rows left out of the fit. It has no interval: `auc_posterior` does.
    null : ndarray of shape (B,)
        AUC with permuted labels.
    exhaustive : bool
        Whether `null` holds every distinct relabelling other than the true one, once.
    left_out : {"pairs", "rows", "groups"}
        What a fit lacks of the rows that it scores.
    permuted : {"rows", "whole groups", "rows within groups"}
        What exchanges its labels.
    n0, n1 : int
        Rows of the negative and of the positive class.
    notes : tuple of str
    """

    statistic: float
    null: Floats
    _card = "permutation_test"

    @property
    def p_value(self) -> float:
        """Exact probability of such an AUC, or a higher one, if labels and rows are unrelated."""
        return (1 + int(np.count_nonzero(self.null >= self.statistic - ROUNDING))) / (1 + self.null.size)

    @property
    def n_permutations(self) -> int:
        """Relabellings in `null`."""
        return int(self.null.size)

    def summary(self) -> dict[str, Any]:
        """Everything worth printing, as a plain dict."""
        low, middle, high = np.quantile(self.null, [0.025, 0.5, 0.975]).tolist()
        return {
            "p_value": self.p_value,
            "auc": self.statistic,
            "null": {"median": middle, "low": low, "high": high},
            "n_permutations": self.n_permutations,
            "exhaustive": self.exhaustive,
            "permuted": self.permuted,
            "left_out": self.left_out,
            "n_positive": self.n1,
            "n_negative": self.n0,
            "notes": list(self.notes),
        }

    def __repr__(self) -> str:
        what = "all" if self.exhaustive else "random"
        return (
            f"PermutationTest(p={self.p_value:.4g}, AUC {self.statistic:.3f} without the {self.left_out}, "
            f"{self.n_permutations} {what} relabellings of {self.permuted}: {self.null.mean():.3f} on average)"
        )


def permutation_test(
    model: Any,
    X: Any,
    y: Any,
    n_permutations: int = 10_000,
    *,
    groups: Any = None,
    random_state: Any = 0,
    n_jobs: int | None = None,
    progress: Any = False,
) -> PermutationTest:
    """Is there any signal? The AUC on rows left out, compared with that of the same training on permuted labels.

    Nothing is refitted: for RidgeClassifier and LinearDiscriminantAnalysis without shrinkage one factorisation serves
    every relabelling, exactly. For logistic regression, the squared-hinge LinearSVC, class weights and shrinkage,
    Newton steps are taken on many relabellings at once. The true labels get the same treatment as all others, so the
    p-value is exact for any number of rows and columns. Steps before the classifier do not see y and are kept as
    fitted.

    Up to 200 rows of ridge and LDA are left out in pairs of one positive and one negative row; otherwise rows, or
    groups, are left out one by one and ranked by their score less the mean score of the rows that were trained on.

    Parameters
    ----------
    model, X, y
        A classifier of two classes and its training rows, as in `auc_posterior`.
    n_permutations : int
        Random relabellings. If fewer distinct ones exist, each is used once.
    groups : array of shape (N,), optional
        Dependent rows. Where y is constant within every group, whole groups exchange their labels; where it varies
        within every group, rows exchange them inside their group. Whole groups are left out in either case.
    random_state : int, Generator or None
    n_jobs : int, optional
        Threads.
    progress : bool or callable
        As in `FoldlessSearch`.

    Returns
    -------
    PermutationTest

    Examples
    --------
    >>> import foldless as fl
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.linear_model import RidgeClassifier
    >>> X, y = make_classification(60, random_state=0)
    >>> test = fl.permutation_test(RidgeClassifier().fit(X, y), X, y, n_permutations=999)
    >>> test.p_value
    0.005
    >>> test.null.shape
    (999,)
    """
    refuse_stream(X, y, "permutation_test", on_host=True)
    wanted, told = as_count(n_permutations, "n_permutations", 1), as_progress(progress, "permutations")
    rng, view = as_rng(random_state), take_apart(model, X, y)
    for doubt in view.doubts:
        warn_user(doubt, TrustWarning)
    relabelling = Relabelling.of(view.labels.positive, groups)
    fit = fit_for(Training.of(view), relabelling)
    total, exhaustive = relabelling.total(wanted)
    batches = batches_of(relabelling, None if exhaustive else rng, total, fit.chunk)
    aucs = np.concatenate(worked(fit.auc, batches, total, n_jobs, told, np.size))
    how = (exhaustive, left_out_by(fit), relabelling.what, view.labels.n0, view.labels.n1)
    on_table = quick_notes(view, Names(X, view.estimator), None if relabelling.what == ROWS else relabelling.codes)
    notes = _here((*view.notes, *on_table)) + on_relabelling(relabelling, groups, total, exhaustive)
    return PermutationTest(*how, notes, float(aucs[0]), aucs[1:])


def as_rng(random_state: Any) -> np.random.Generator:
    try:
        return np.random.default_rng(random_state)
    except (TypeError, ValueError) as err:
        raise InputError(f"random_state must be None, a seed or a generator, got {random_state!r}.") from err


def batches_of(relabelling: Relabelling, rng: np.random.Generator | None, total: int, chunk: int) -> Iterator[Bools]:
    """Batches of labels, the true ones first; all that there are without a generator."""
    others = relabelling.all_others() if rng is None else None
    first = relabelling.positive[None]
    for start in range(0, total, chunk):
        n = min(chunk, total - start) - len(first)
        more = list(islice(others, n)) if others is not None else [relabelling.drawn(rng, n)]  # type: ignore[arg-type]
        yield np.concatenate([first, *more])
        first = first[:0]


def worked(
    work: Work, items: Iterable[Any], total: int, n_jobs: Any, progress: Any, size: Work = lambda _: 1
) -> list[Any]:
    """`work` done on all items, in order; progress is told after every one how much of `total` is done."""
    from joblib import Parallel, delayed, effective_n_jobs

    alone = effective_n_jobs(n_jobs) == 1
    threads = Parallel(n_jobs=n_jobs, prefer="threads", return_as="generator")
    parts: Any = (work(item) for item in items) if alone else threads(delayed(work)(item) for item in items)
    try:
        return list(told(parts, total, progress, size))
    finally:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # joblib's advice on work that an interruption has cut off
            parts.close()


def _here(notes: tuple[str, ...]) -> tuple[str, ...]:
    """Notes of a view, of which one on a search has another way out: a test never refits."""
    return tuple(note.replace(REPEATED, "p is too small, so fix the penalty beforehand") for note in notes)


def left_out_by(fit: SharedFit | OwnFits) -> str:
    """What a fit lacks of the rows that it scores."""
    return "groups" if fit.units is not None else "pairs" if fit.uses_pairs else "rows"


def on_relabelling(relabelling: Relabelling, groups: Any, total: int, exhaustive: bool) -> tuple[str, ...]:
    """Notes on groups that are none, and on how small a p-value can become."""
    notes: tuple[str, ...] = ()
    if groups is not None and relabelling.what == ROWS:
        notes = ("every group has one row, so rows were treated as independent.",)
    if not exhaustive:
        return notes
    lowest = f": no p-value below {1 / total:.2g} is possible" if total <= 100 else ""
    return (*notes, f"there are {words.counted(total, 'distinct relabelling')}, and each was used once{lowest}.")
