"""`decode`: one classifier per time point or set of columns, its AUC, and p-values corrected for their number."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import groupby
from typing import Any

import numpy as np

from foldless import checks, words
from foldless.analysis import Analysis, analysed
from foldless.baselines.scores import as_count
from foldless.checks import Floats
from foldless.computation import Options
from foldless.errors import EstimatorError, FoldlessWarning, InputError, warn_user
from foldless.honest.design import Bools, Ints, blocks
from foldless.honest.posterior import EffectPrior
from foldless.honest.removal import LocalModel, pair_slopes
from foldless.model.pullback import unfold
from foldless.model.steps import Steps
from foldless.model.view import dismantled
from foldless.permutation import scoring
from foldless.permutation.answer import ROUNDING, Permuted, as_rng, batches_of, left_out_by, on_relabelling, worked
from foldless.permutation.relabelling import Relabelling
from foldless.permutation.training import Training
from foldless.progress import as_progress
from foldless.results.auc import AUCPosterior

TIMES, SETS = "times", "column sets"  # kinds of points


@dataclass(frozen=True, eq=False)
class Decoding(Permuted):
    """One classifier per point (a time, or a set of columns): how good each is on new trials, and which beat chance.

    Attributes
    ----------
    auc : list of AUCPosterior
        One per point, as `auc_posterior` gives it.
    statistic : ndarray of shape (T,)
        AUC of trials left out of the fit at each point, as in `permutation_test`: what the p-values compare.
    null : ndarray of shape (B,)
        The highest AUC of all points under each relabelling. All points share the same relabellings.
    p_uncorrected : ndarray of shape (T,)
        p-values of each point alone.
    times : ndarray of shape (T,)
        Times or names of the points; their numbers by default.
    points : {"times", "column sets"}
    generalisation : ndarray of shape (T, T) or None
        AUC of classifiers trained at one time (row) and tested at another (column), on trials that they were not
        trained on. Its diagonal is `statistic`; of logistic regression, rounding
        may decide single pairs differently.
    exhaustive, left_out, permuted, n0, n1, notes
        As in `PermutationTest`.
    """

    auc: list[AUCPosterior]
    statistic: Floats
    null: Floats
    p_uncorrected: Floats
    times: Any
    points: str
    generalisation: Floats | None = None
    _card = "decoding"

    @cached_property
    def p_values(self) -> Floats:
        """(1 + b) / (1 + B): b of the B relabellings have an AUC as high as that of the point at any of the points.

        At most 5 % of samples without any signal have one p-value or more at or below 0.05.
        """
        reached = self.null.size - np.searchsorted(np.sort(self.null), self.statistic - ROUNDING)
        return np.asarray((1 + reached) / (1 + self.null.size))

    def significant(self, alpha: float = 0.05) -> Bools:
        """Which points have a p-value of at most `alpha`."""
        return np.asarray(self.p_values <= checks.in_open_interval(alpha, "alpha"))

    def spans(self, alpha: float = 0.05) -> list[tuple[Any, Any]]:
        """First and last of neighbouring points that are all significant."""
        runs = [list(run) for yes, run in groupby(range(len(self.auc)), self.significant(alpha).__getitem__) if yes]
        return [(self.times[run[0]].item(), self.times[run[-1]].item()) for run in runs]

    def summary(self, level: float = 0.95) -> dict[str, Any]:
        """Everything worth printing, as a plain dict; "points" has one dict per point."""
        names = ("point", "auc", "low", "high", "p_value", "p_uncorrected")
        ends = np.array([post.interval(level) for post in self.auc]).T.tolist()
        columns = (self.times.tolist(), [post.mean for post in self.auc], *ends, self.p_values, self.p_uncorrected)
        points = [dict(zip(names, map(words.plain, row), strict=True)) for row in zip(*columns, strict=True)]
        about = {name: getattr(self, name) for name in ("exhaustive", "permuted", "left_out", "n0", "n1")}
        return {"points": points, "n_permutations": self.null.size, **about, "notes": list(self.notes)}

    def to_frame(self, level: float = 0.95) -> Any:
        """The points as a pandas data frame."""
        import pandas as pd

        return pd.DataFrame(self.summary(level)["points"]).set_index("point")

    def __repr__(self) -> str:
        best = int(np.argmax(self.statistic))
        return (
            f"Decoding({len(self.auc)} {self.points}, p <= 0.05 at {self.significant().sum()} of them, best at "
            f"{self.times[best]}: AUC {words.estimate(self.auc[best].mean, *self.auc[best].interval())}, "
            f"p={self.p_values[best]:.4g}; {self.null.size} relabellings of {self.permuted})"
        )


def decode(
    model: Any,
    X: Any,
    y: Any,
    *,
    axis: int | Sequence[Any] = -1,
    groups: Any = None,
    n_permutations: int = 1000,
    generalise: bool = False,
    times: Any = None,
    prior: Any = None,
    pos_label: Any = None,
    random_state: Any = 0,
    n_jobs: int | None = None,
    progress: Any = False,
) -> Decoding:
    """Where is the information? One classifier per time point or set of columns, its AUC, and corrected p-values.

    At each point a clone of `model` is fitted once. Its AUC on new trials is that of `auc_posterior`; its p-value
    compares the AUC of left-out trials with the highest one of all points when the labels are permuted, the same way at
    all points, without refits (`permutation_test`). So the p-values hold for all points together, without clusters.

    Parameters
    ----------
    model : scikit-learn classifier or Pipeline, fitted or not
        Ridge, logistic regression, LDA or squared-hinge LinearSVC.
    X : array of shape (trials, features, times), or (trials, features) with a list of column sets as `axis`
    y : array of shape (trials,), of two classes
    axis : int or list
        The axis of time, 1 or 2; or a list of column sets (searchlight spheres): numbers, names or masks of columns.
    groups : array of shape (trials,), optional
        Dependent trials: subjects, sessions, runs. As in `permutation_test`.
    n_permutations : int
        Random relabellings. If fewer distinct ones exist, each is used once.
    generalise : bool
        Whether to test the classifier of each time at all others as well.
    times : array of shape (T,), optional
        Times or names of the points.
    prior, pos_label
        As in `auc_posterior`.
    random_state, n_jobs, progress
        As in `permutation_test`; points are counted.

    Returns
    -------
    Decoding

    Examples
    --------
    >>> import foldless as fl
    >>> import numpy as np
    >>> from sklearn.linear_model import RidgeClassifier
    >>> y = np.arange(60) % 2
    >>> X = np.random.default_rng(0).normal(size=(60, 8, 10))
    >>> X[:, :, 5:8] += 0.7 * y[:, None, None]
    >>> decoding = fl.decode(RidgeClassifier(), X, y)
    >>> decoding.spans()
    [(5, 7)]
    >>> decoding.auc[6]
    AUCPosterior(...)
    """
    labels, rng = checks.as_labels(y, pos_label=pos_label), as_rng(random_state)
    wanted, slices = as_count(n_permutations, "n_permutations", 1), Slices.of(X, axis, times)
    checks.same_length(len(slices.table(0)), labels.positive.size, "X has {} trials")
    if generalise and slices.kind == SETS:
        raise InputError("generalise=True needs the same features at all points: X of shape (trials, features, times).")
    EffectPrior.checked(prior)
    relabelling = Relabelling.of(labels.positive, groups)
    total, exhaustive = relabelling.total(wanted)
    drawn = next(batches_of(relabelling, None if exhaustive else rng, total, total))
    task = Task(model, slices, y, Options(groups, None, pos_label, prior), relabelling, drawn, generalise)
    places = range(len(slices.names))
    points = worked(task.done, places, len(places), n_jobs, as_progress(progress, "points"))
    posteriors, aucs, left_out, warnings, fits = zip(*points, strict=True)
    for warning in {(type(w), str(w)): w for own in warnings for w in own}.values():
        warn_user(warning)
    told = as_progress(progress, "training times")
    across = crossed(list(fits), slices.X, n_jobs, told) if generalise else None
    notes = _merged([post.notes for post in posteriors]) + on_relabelling(relabelling, groups, total, exhaustive)
    found, at = (list(posteriors), *_compared(np.column_stack(aucs))), (slices.names, slices.kind)
    how = (exhaustive, left_out[0], relabelling.what, labels.n0, labels.n1, notes)
    return Decoding(*how, *found, *at, across)


def _compared(aucs: Floats) -> tuple[Floats, Floats, Floats]:
    """AUCs of the true labels, the highest of each relabelling, and uncorrected p-values; from AUCs (1 + B, T)."""
    statistic, null = aucs[0], aucs[1:]
    reached = np.count_nonzero(null >= statistic - ROUNDING, axis=0)
    return statistic, null.max(axis=1), (1 + reached) / (1 + len(null))


def _merged(notes: list[tuple[str, ...]]) -> tuple[str, ...]:
    """Notes that all points share, and how many have others."""
    shared = tuple(note for note in dict.fromkeys(notes[0]) if all(note in own for own in notes))
    n = sum(bool(set(own) - set(shared)) for own in notes)
    return (*shared, f"{n} of {len(notes)} points have notes of their own: see auc[k].notes.") if n else shared


@dataclass(frozen=True, eq=False)
class Task:
    """The classifier, the tables of all points, and the relabellings that they share."""

    model: Any
    slices: Slices
    y: Any
    options: Options
    relabelling: Relabelling
    labels: Bools
    generalise: bool

    def done(self, k: int) -> tuple[AUCPosterior, Floats, str, tuple[FoldlessWarning, ...], Fitted | None]:
        """Fit the classifier at one point, judge it, and train it on all relabellings; errors name the point.

        The AUCs (1 + B,) are those of the true labels and of all relabellings.
        """
        try:
            analysis = self._analysed(self.slices.table(k))
            fit = scoring.fit_for(Training.of(analysis.view), self.relabelling)
            starts = range(0, len(self.labels), fit.chunk)
            aucs = np.concatenate([fit.auc(self.labels[start : start + fit.chunk]) for start in starts])
            steps = dismantled(analysis.estimator)[0]
            fitted = Fitted(steps, fit, self.labels[0]) if self.generalise else None
            return analysis.auc, aucs, left_out_by(fit), analysis.warnings, fitted
        except (InputError, EstimatorError) as err:
            kind = InputError if isinstance(err, InputError) else EstimatorError
            raise kind(f"at {self.slices.kind[:-1]} {self.slices.names[k]}: {err}") from err

    def _analysed(self, table: Floats) -> Analysis:
        from sklearn.base import clone

        try:
            fitted = clone(self.model).fit(table, self.y)
        except Exception as err:
            raise EstimatorError(f"{type(self.model).__name__} cannot be fitted ({words.reason(err)}).") from err
        return analysed(fitted, table, self.y, self.options, closed_form=True)


@dataclass(frozen=True, eq=False)
class Slices:
    """X (T, trials, features) of all times; or X (trials, features) and the columns of each point."""

    X: Any
    names: Any
    kind: str
    sets: list[Any]

    @classmethod
    def of(cls, X: Any, axis: Any, times: Any) -> Slices:
        """From the arguments of `decode`; points that say nothing are refused before anything is computed."""
        kind = TIMES if isinstance(axis, int | np.integer) else SETS
        sets = [] if kind == TIMES else _column_sets(axis, X)
        table = _over_time(X, int(axis)) if kind == TIMES else checks.as_matrix(X)
        n = len(sets or table)
        names = np.arange(n) if times is None else np.asarray(times)
        if names.shape != (n,):
            raise InputError(f"times must be one time or name per point ({n}), got shape {names.shape}.")
        return cls(table, names, kind, sets)._checked()

    def table(self, k: int) -> Floats:
        """Trials and features at one point."""
        part = self.X[:, self.sets[k]] if self.sets else self.X[k]
        return np.ascontiguousarray(part.toarray() if checks.is_sparse(part) else part, dtype=np.float64)

    def _checked(self) -> Slices:
        with np.errstate(over="ignore", invalid="ignore"):  # infinity less infinity
            widths = np.array([np.ptp(self.table(k), axis=0).max() for k in range(len(self.names))])
        for bad, what in ((~np.isfinite(widths), "NaN or infinity"), (widths == 0, "the same values in all trials")):
            if bad.any():
                which = f"{bad.sum()} of {bad.size} {self.kind} ({words.listed(self.names[bad])})"
                raise InputError(f"X has {what} at {which}: leave them out.")
        return self


def _over_time(X: Any, axis: int) -> Floats:
    """X as (T, trials, features)."""
    values = np.asarray(X)
    if values.ndim != 3 or values.dtype.kind not in "biuf" or 0 in values.shape:
        raise InputError(
            f"X must be numbers of shape (trials, features, times), got {values.dtype} of shape {values.shape}. Pass "
            f"epochs.get_data(); for sets of columns of a table, give them as axis=[[0, 1, 2], [3, 4], ...]."
        )
    if axis not in (1, 2, -1, -2):
        raise InputError(f"axis must be 1 or 2, the axis of time, got {axis}: axis 0 holds the trials.")
    return np.moveaxis(values, axis, 0)


def _column_sets(axis: Any, X: Any) -> list[Any]:
    """Numbers of the columns of each set, given by number, by name or as a mask."""
    sets = [] if isinstance(axis, str) or not isinstance(axis, Iterable) else [np.atleast_1d(each) for each in axis]
    if not sets:
        raise InputError(f"axis must be the axis of time, 1 or 2, or a list of column sets, got {axis!r:.60}.")
    width, place = checks.as_matrix(X).shape[1], {name: c for c, name in enumerate(checks.column_names(X) or [])}
    for k, given in enumerate(sets):
        if given.dtype.kind in "UO":
            sets[k] = np.array([place.get(str(name), width) for name in given])
        elif given.dtype.kind == "b" and given.shape == (width,):
            sets[k] = np.flatnonzero(given)
        each = sets[k]
        if each.ndim != 1 or each.dtype.kind not in "iu" or not each.size or each.min() < 0 or each.max() >= width:
            raise InputError(f"axis[{k}] must be numbers from 0 to {width - 1}, names or a mask of columns of X.")
    return sets


# ---- Temporal generalisation: classifiers trained at one time and tested at another, on trials that left the training.
#
# A trial that leaves the fit at time t moves its weights by H^-1 A' u, with the slopes u of the removal formula. Its
# score at time t' is that of the moved weights, so that one product of the rows at t' with [weights, H^-1 A'] is all
# that it takes; nothing is refitted.


@dataclass(frozen=True, eq=False)
class Fitted:
    """The classifier of one time: the steps before it, and its fit to the labels."""

    steps: Steps
    fit: scoring.SharedFit | scoring.OwnFits
    positive: Bools

    def rows(self, table: Floats) -> Floats:
        """Rows as this classifier sees them, with a last column for the intercept where there is one."""
        training, rows = self.fit.training, checks.dense(unfold(self.steps, table).table)
        if training.free_intercept:
            return np.column_stack([rows - np.ravel(training.X.mean(axis=0)), np.ones(len(rows))])
        return np.column_stack([rows, np.full(len(rows), training.constant)]) if training.constant else rows

    def moves(self, own: Floats) -> tuple[Floats, LocalModel]:
        """[weights, H^-1 A'] (columns of `rows`, 1 + N), and the model of the fit; `own` are the rows trained on."""
        training, (weights, root, model) = self.fit.training, self.fit.fitted(self.positive)
        found = np.column_stack([weights, root @ model.B.T])
        if training.n_columns + bool(training.constant) < len(own):
            return found, model
        # The coordinates are those of the row space: back to columns.
        k, width = training.A.shape[1] - training.free_intercept, own.shape[1] - training.free_intercept
        return np.concatenate([own[:, :width].T @ np.linalg.pinv(training.A[:, :k]).T @ found[:k], found[k:]]), model


def crossed(fits: list[Fitted], X: Floats, n_jobs: int | None, progress: Any) -> Floats:
    """AUC (T, T) of the classifier of each time at all times, on rows X (T, trials, features)."""
    return np.array(worked(partial(_tested, fits=fits, X=X), range(len(fits)), len(fits), n_jobs, progress))


def _tested(k: int, fits: list[Fitted], X: Floats) -> Floats:
    """AUCs of the classifier of one time at all times."""
    fitted, (N, P) = fits[k], X.shape[1:]
    moves, model = fitted.moves(fitted.rows(np.asarray(X[k], dtype=np.float64)))
    out: list[Floats] = []
    for part in blocks(len(X), N * (N + 1), scoring.CHUNK_ENTRIES):
        product = (fitted.rows(np.asarray(X[part], dtype=np.float64).reshape(-1, P)) @ moves).reshape(-1, N, N + 1)
        z, C = product[:, :, 0], product[:, :, 1:]
        if isinstance(fitted.fit, scoring.SharedFit) and fitted.fit.uses_pairs:
            numbers = [each.fit.distinct for each in fits[part] if isinstance(each.fit, scoring.SharedFit)]
            out.append(_auc_of_pairs(model, z, C, fitted.positive, numbers))
        else:
            out.append(_auc_of_rows(model, z, C, fitted.positive, fitted.fit.units))
    return np.concatenate(out)


def _auc_of_rows(model: LocalModel, z: Floats, C: Floats, positive: Bools, units: tuple[Ints, ...] | None) -> Floats:
    """Rows, or groups, left out one by one; z (T, N) are scores at other times and C (T, N, N) moves them."""
    own = _influence((model.B @ model.B.T)[None])
    u = scoring.left_out_slopes(model.g[None], model.D[None], own, units)
    return scoring.rank_auc(scoring.left_out_scores(z, u, _influence(C), units), np.broadcast_to(positive, z.shape))


def _influence(G: Floats) -> scoring.Influence:
    return scoring.Influence(np.einsum("bii->bi", G), G.sum(axis=1), lambda rows: G[:, rows[:, None], rows])


def _auc_of_pairs(model: LocalModel, z: Floats, C: Floats, positive: Bools, numbers: list[Ints]) -> Floats:
    """Pairs of one positive and one negative row left out together: the share in order, equal rows counting half."""
    i, j = np.flatnonzero(positive), np.flatnonzero(~positive)
    _, ui, uj = pair_slopes(model, i, j)
    own = np.einsum("bii->bi", C)
    gap = z[:, i, None] - z[:, None, j]
    gap += (own[:, i, None] - C[:, j][:, :, i].transpose(0, 2, 1)) * ui
    gap += (C[:, i][:, :, j] - own[:, None, j]) * uj
    equal = np.array([rows[i][:, None] == rows[j] for rows in numbers])
    return np.asarray(np.where(equal, 0.5, gap > 0).mean(axis=(1, 2)))
