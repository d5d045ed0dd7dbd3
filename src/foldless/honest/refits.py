"""Honest scores of any classifier: refits on four fifths of the rows, four times over.

    folds -> held-out scores (4, N) -> the statistic -> the posterior

A closed form needs a smooth objective. A fit with discrete choices (selected columns, tree splits) has none, and
leaving out one row at a time would not help: a part of the score that depends on m training rows jointly enters the
mean of leave-one-out scores m + 1 times, so its variance grows like 1 + m. When a share p of the rows is used for
training, averaging over splits damps such a part by p^m. With s_m the share of score variance in parts of order m,

    r = sum_m (1 + m) p^m s_m  is the factor on the variance of the mean,    q = sum_m p^m s_m  can be observed:

q is the correlation between repeats of the held-out scores of a row. As q (1 + log q / log p) is concave in the
orders, Jensen's inequality makes it a bound on r, and it never exceeds 1 / (e p log 1/p): 2.06 for p = 4/5. Only
scores from the same model are compared, so neither the intercept nor the scale of a model matters.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import ndtr, ndtri

from foldless import checks, words
from foldless.checks import Array, Floats, Labels
from foldless.errors import EstimatorError, InputError
from foldless.honest import rates
from foldless.honest.design import Bools, Ints
from foldless.honest.leave_one_out import LeaveOneOut
from foldless.honest.pairs import Effects, Pairs, pair_differences
from foldless.honest.posterior import EffectPrior, separation_posterior
from foldless.honest.removal import Provenance, Removed
from foldless.honest.scores import checked_weight
from foldless.honest.statistic import Placements, SeparationStatistic, separation_slope, statistic_of_placements
from foldless.laws.effect import StudentEffect
from foldless.model.probabilities import probabilities_of
from foldless.model.steps import is_estimator, own_probability, own_threshold

FOLDS, REPEATS = 5, 4
SEED = 20240229  # of the first repeat; later ones count up from it
FEWEST = 4  # rows, or groups, per class: two folds with two each, so that their spread can be estimated
Progress = Callable[[int, int], object]


# ---- The classifier and its rows


@dataclass(frozen=True, eq=False)
class Training:
    """A fitted classifier of two classes, and the rows to refit it on.

    `table` is X as it was given, and `own` are the scores of the fit itself; all scores point towards the positive
    class.
    """

    estimator: Any
    table: Any
    y: Array
    labels: Labels
    own: Floats
    weight: Floats | None = None
    groups: Ints | None = None

    @classmethod
    def of(cls, estimator: Any, X: Any, y: Any, pos_label: Any, groups: Any, sample_weight: Any) -> Training:
        """Check what was passed; nothing is fitted yet."""
        from sklearn.utils import indexable
        from sklearn.utils.validation import _num_samples

        refuse_unfit(estimator)
        labels = checks.as_labels(y, pos_label=pos_label, classes=estimator.classes_)
        (X,) = indexable(X)
        checks.same_length(_num_samples(X), labels.positive.size)
        own = scores_of(estimator, X, labels.positive_label)
        weight = checked_weight(sample_weight, labels.positive)
        codes = None if groups is None else checks.as_groups(groups, labels.positive, fewest=FEWEST)
        return cls(estimator, X, checks.label_vector(y), labels, own, weight, codes)

    @cached_property
    def X(self) -> Any:
        """The table as numbers; None if it holds text or missing values, which a step of the pipeline handles."""
        try:
            M = checks.as_matrix(self.table)
        except InputError:
            return None
        return M if np.all(np.isfinite(M.data if checks.is_sparse(M) else M)) else None

    @property
    def codes(self) -> Ints:
        """1 for the positive rows, 0 for the others."""
        return self.labels.positive.astype(np.intp)

    @property
    def classes(self) -> tuple[Any, Any]:
        """Labels, the negative one first."""
        return self.labels.negative_label, self.labels.positive_label

    @property
    def counts(self) -> Ints:
        """Rows per class."""
        return np.bincount(self.codes, minlength=2)

    @property
    def threshold(self) -> float:
        """The classifier's own threshold, in units of its scores."""
        flipped = bool(self.labels.positive_label != np.asarray(self.estimator.classes_).tolist()[1])
        if not hasattr(self.estimator, "decision_function"):
            own = own_probability(self.estimator)
            return 1 - own if flipped else own
        own = own_threshold(self.estimator)
        return 0.0 - own if flipped else own

    @property
    def folds(self) -> int:
        """Five, or fewer if a class would have fewer than two rows (groups) in a fold."""
        fewest, what = min(self.labels.n0, self.labels.n1), "rows"
        if self.groups is not None:
            halves = (self.labels.positive, ~self.labels.positive)
            fewest, what = min(len(np.unique(self.groups[half])) for half in halves), "groups"
        if fewest < FEWEST:
            raise InputError(
                f"refitting needs at least {FEWEST} {what} of each class, to hold out some and train on others, got "
                f"{fewest}: collect more, or use a classifier with a closed form (method='loo')."
            )
        return min(FOLDS, fewest // 2)

    def splits(self) -> list[tuple[Ints, Ints]]:
        """Rows to train on and to hold out: all folds of the first repeat, then of the next."""
        from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold

        kind = StratifiedKFold if self.groups is None else StratifiedGroupKFold
        splits = [
            split
            for repeat in range(REPEATS)
            for split in kind(self.folds, shuffle=True, random_state=SEED + repeat).split(
                self.codes, self.codes, self.groups
            )
        ]
        trained = all(self._both_classes(train) for train, _ in splits)
        if not (trained and any(self._both_classes(test) for _, test in splits)):
            raise InputError(
                "the groups keep the classes apart: some fits would see one class only, or no model would score rows "
                "of both. Use finer groups, or none if the rows are independent."
            )
        return splits

    def _both_classes(self, rows: Ints) -> bool:
        return bool(0 < np.count_nonzero(self.labels.positive[rows]) < rows.size)


def refuse_unfit(estimator: Any) -> None:
    """Refuse what cannot be refitted: weights, an unfitted estimator, more than two classes, parts that stay fitted."""
    from sklearn.base import clone
    from sklearn.exceptions import NotFittedError
    from sklearn.utils.validation import check_is_fitted

    if isinstance(estimator, type) or not (is_estimator(estimator) and hasattr(estimator, "get_params")):
        name = estimator.__name__ if isinstance(estimator, type) else type(estimator).__name__
        raise EstimatorError(f"method 'refit' needs a fitted scikit-learn classifier or Pipeline, got {name}.")
    name = type(estimator).__name__
    try:
        check_is_fitted(estimator)
        clone(estimator)
    except NotFittedError as err:
        raise EstimatorError(f"this {name} is not fitted: call fit(X, y) first.") from err
    except Exception as err:  # clone calls the constructor of any step, which may do anything
        reason = words.one_line(str(err))
        raise EstimatorError(
            f"this {name} cannot be cloned, so it cannot be refitted ({reason}): pass held-out scores to "
            f"auc_posterior_from_scores."
        ) from err
    if len(getattr(estimator, "classes_", ())) != 2:
        raise EstimatorError(
            f"method 'refit' is for classifiers of two classes, and this {name} has "
            f"{len(getattr(estimator, 'classes_', ()))}: fit one class against the rest, estimator.fit(X, y == label)."
        )
    _refuse_frozen(estimator, name)


def _refuse_frozen(estimator: Any, name: str) -> None:
    for key, value in [("it", estimator), *estimator.get_params().items()]:
        end = key.split("__")[-1]
        frozen = type(value).__name__ == "FrozenEstimator" or (end == "prefit" and value is True)
        if frozen or (end == "cv" and isinstance(value, str) and value == "prefit"):
            raise EstimatorError(
                f"this {name} cannot be refitted as a whole: {key} stays as it was fitted, and has seen the rows that "
                f"are to be left out. Pass a pipeline that fits all of its steps."
            )


def scores_of(model: Any, X: Any, positive_label: Any) -> Floats:
    """Scores towards the positive class: decision_function, else the probability of that class."""
    name = type(model).__name__
    try:
        if hasattr(model, "decision_function"):
            sign = 1.0 if model.classes_[1] == positive_label else -1.0
            scores = sign * np.asarray(model.decision_function(X), dtype=np.float64)
        elif hasattr(model, "predict_proba"):
            column = np.asarray(model.classes_).tolist().index(positive_label)
            scores = np.asarray(model.predict_proba(X), dtype=np.float64)[:, column]
        else:
            raise EstimatorError(f"{name} has neither decision_function nor predict_proba: it ranks no row.")
    except ValueError as err:
        raise EstimatorError(f"{name} cannot score X ({words.one_line(str(err))}): pass X as given to fit.") from err
    if not np.all(np.isfinite(scores)):
        raise EstimatorError(f"{name} gave NaN or infinite scores: check X for extreme values, and rescale it.")
    return scores


# ---- The refits


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Scores of all rows by models that were not trained on them.

    Attributes
    ----------
    scores : ndarray of shape (R, N)
        One score per row in every repeat.
    fold : ndarray of int, shape (R, N)
        Rows with the same number were scored by the same model.
    positive : ndarray of bool, shape (N,)
    share : float
        p, the share of the rows that each model was trained on.
    warned : tuple of str
        One warning text for each fit that raised any.
    probabilities : ndarray of shape (R, N), or None
        Probabilities of the positive class, where the classifier has them.
    """

    scores: Floats
    fold: Ints
    positive: Bools
    share: float
    warned: tuple[str, ...] = ()
    probabilities: Floats | None = None

    @property
    def fits(self) -> int:
        """How often the classifier was fitted."""
        return int(self.fold.max()) + 1

    @cached_property
    def deviations(self) -> Floats:
        """The scores about the class means of each repeat."""
        return self.scores - np.where(self.positive, *(self._class_means(k) for k in (True, False)))

    @cached_property
    def agreement(self) -> float:
        """q, the correlation between repeats of a row's scores, about the class means of each repeat."""
        off = self.deviations
        square = float(np.sum(off**2))
        if square == 0:
            return 1.0
        repeats = len(off)
        return float(np.clip((np.sum(off.sum(axis=0) ** 2) / square - 1) / (repeats - 1), 0.0, 1.0))

    def _class_means(self, k: bool) -> Floats:
        return np.asarray(self.scores[:, self.positive == k].mean(axis=1, keepdims=True))

    @property
    def noise_factor(self) -> float:
        """The bound on r; its largest value if the models agree so little that the bound would fall again."""
        q, p = max(self.agreement, np.exp(-1) / self.share), self.share
        return max(1.0, float(q * (1 + np.log(q) / np.log(p))))

    @property
    def signal_share(self) -> float:
        """Share of the variance of the scores that is not training noise, if all of that noise is of order 1."""
        return max(0.0, (self.agreement - self.share) / (1 - self.share))

    @property
    def growth(self) -> float:
        """Ratio of the delta of the fit to all rows to that of fits to a share p of them.

        delta^2 is proportional to the signal share s, and s / (1 - s) to the number of rows. The ratio is 1 if the
        models agree and sqrt(1 / p) if they have nothing in common.
        """
        return float(np.sqrt(1 / (self.share + (1 - self.share) * self.signal_share)))

    @cached_property
    def variances(self) -> tuple[float, float]:
        """Within-class variances (v0, v1) of the scores from one model, pooled over the models."""
        return _within(self.scores, self.fold, ~self.positive), _within(self.scores, self.fold, self.positive)

    def less(self, other: HeldOut) -> HeldOut:
        """The difference of the scores of two classifiers on the same splits, each in units of its own spread."""
        first, second = (each.scores / np.sqrt(np.mean(each.deviations**2)) for each in (self, other))
        return replace(self, scores=first - second)

    def per_row(self) -> Floats:
        """One score per row: the mean over repeats, rescaled within each class to the spread of one model's scores."""
        mean = self.scores.mean(axis=0)
        for half, variance in zip((~self.positive, self.positive), self.variances, strict=True):
            centre, own = mean[half].mean(), float(mean[half].var(ddof=1))
            mean[half] = centre + (mean[half] - centre) * (np.sqrt(variance / own) if own > 0 else 0.0)
        return np.asarray(mean)


def _within(scores: Floats, fold: Ints, rows: Bools) -> float:
    values, model = scores[:, rows].ravel(), fold[:, rows].ravel()
    count = np.bincount(model)
    means = np.bincount(model, weights=values) / np.maximum(count, 1)
    return float(np.sum((values - means[model]) ** 2) / np.sum(np.maximum(count - 1, 0)))


def hold_out(training: Training, n_jobs: int | None = None, progress: Progress | None = None) -> HeldOut:
    """Refit the classifier without each fold, and score the rows of that fold."""
    from sklearn.utils.parallel import Parallel, delayed

    splits, size = training.splits(), training.y.size
    scores, fold = np.empty((2, REPEATS, size)), np.empty((REPEATS, size), dtype=np.intp)
    warned: list[str] = []
    tasks = (delayed(_refit_and_score)(training, SEED + k, *split) for k, split in enumerate(splits))
    for k, (held_out, texts) in enumerate(Parallel(n_jobs=n_jobs, return_as="generator")(tasks)):
        repeat, rows = k // training.folds, splits[k][1]
        scores[:, repeat, rows], fold[repeat, rows] = held_out, k
        warned += texts[:1]
        if progress is not None:
            progress(k + 1, len(splits))
    probabilities = None if np.any(np.isnan(scores[1])) else scores[1]
    return HeldOut(scores[0], fold, training.labels.positive, 1 - 1 / training.folds, tuple(warned), probabilities)


def _refit_and_score(training: Training, seed: int, train: Ints, test: Ints) -> tuple[Floats, list[str]]:
    """Scores and probabilities (NaN where there are none) of the held-out rows, and the warnings of the fit."""
    from sklearn.utils import _safe_indexing

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = _refitted(training, seed, train)
        table, label = _safe_indexing(training.table, test), training.labels.positive_label
        scores = scores_of(model, table, label)
        known = hasattr(model, "predict_proba")
        probabilities = probabilities_of(model, table, label) if known else np.full(scores.shape, np.nan)
    doubts = (w for w in caught if not issubclass(w.category, DeprecationWarning | FutureWarning))
    return np.stack([scores, probabilities]), [
        f"{w.category.__name__}: {words.one_line(str(w.message))}" for w in doubts
    ]


def _refitted(training: Training, seed: int, train: Ints) -> Any:
    from sklearn.base import clone
    from sklearn.utils import _safe_indexing

    model = clone(training.estimator)
    # Seeds that the user left open are fixed here: the same data give the same answer.
    loose = {k: seed for k, v in model.get_params().items() if v is None and k.split("__")[-1] == "random_state"}
    model.set_params(**loose)
    # A pipeline passes fit arguments only to a named step.
    step = f"{model.steps[-1][0]}__" if hasattr(model, "steps") else ""
    extra = {} if training.weight is None else {f"{step}sample_weight": training.weight[train]}
    try:
        return model.fit(_safe_indexing(training.table, train), training.y[train], **extra)
    except Exception as err:  # an estimator may raise anything on a subset of the rows
        reason = words.one_line(str(err)) or type(err).__name__
        raise EstimatorError(
            f"{type(model).__name__} could not be fitted again, on {train.size} of the {training.y.size} rows: {reason}"
        ) from err


# ---- From held-out scores to the statistic


@dataclass(frozen=True, eq=False)
class ModelPairs:
    """Pairs of a positive and a negative row that were held out together, so that one model scored both.

    `models` holds the pairs, the positive rows and the negative rows of every model that scored rows of both classes.
    """

    positive: Bools
    models: tuple[tuple[Pairs, Ints, Ints], ...]

    @classmethod
    def of(cls, held: HeldOut, repeats: Iterable[int] | None = None) -> ModelPairs:
        """The pairs of the given repeats, or of all repeats if None."""
        parts = []
        for repeat in range(len(held.scores)) if repeats is None else repeats:
            z, fold = held.scores[repeat], held.fold[repeat]
            for inside in (fold == model for model in np.unique(fold)):
                rows1, rows0 = np.flatnonzero(inside & held.positive), np.flatnonzero(inside & ~held.positive)
                if rows1.size and rows0.size:
                    parts.append((_pairs_of(z[rows1], z[rows0]), rows1, rows0))
        return cls(held.positive, tuple(parts))

    @cached_property
    def count(self) -> Floats:
        """Number of pairs that each row is part of."""
        return self._summed(lambda pairs: Effects(np.ones(pairs.score1.size), np.ones(pairs.score0.size), 1.0))

    @property
    def rows(self) -> tuple[Ints, Ints]:
        """Positive and negative rows that are part of some pair."""
        seen = self.count > 0
        return np.flatnonzero(seen & self.positive), np.flatnonzero(seen & ~self.positive)

    def ranks(self) -> Effects:
        """Whether a pair is in the right order; ties count half."""
        return self._effects(Pairs.ranks)

    def _effects(self, of_model: Callable[[Pairs], Effects]) -> Effects:
        sums, (rows1, rows0) = self._summed(of_model), self.rows
        by1, by0 = (sums[rows] / self.count[rows] for rows in (rows1, rows0))
        return Effects(by1, by0, float(sums[rows1].sum() / self.count[rows1].sum()))

    def _summed(self, of_model: Callable[[Pairs], Effects]) -> Floats:
        """Sum over the pairs of each row."""
        sums = np.zeros(self.positive.size)
        for pairs, rows1, rows0 in self.models:
            effects = of_model(pairs)
            sums[rows1] += rows0.size * effects.by_row1
            sums[rows0] += rows1.size * effects.by_row0
        return sums


EVERY_PAIR = 1 << 20  # up to this many pairs, scores that only rounding separates tie


def _pairs_of(score1: Floats, score0: Floats) -> Pairs:
    if score1.size * score0.size > EVERY_PAIR:
        return Pairs.of_scores(score1, score0)
    return Pairs.of_differences(pair_differences(score1[:, None], score0))


def statistic_of_refits(held: HeldOut, groups: Ints | None = None) -> SeparationStatistic:
    """The statistic of held-out scores, as in `statistic_of_removed`, with r from the agreement of the models.

    Rows are compared only within a model. The variance between repeats, divided by their number, is added to account
    for the random choice of splits. The AUC is that of fits to a share of the rows, and grows with `HeldOut.growth`.
    """
    pairs = ModelPairs.of(held)
    ranks, (rows1, rows0) = pairs.ranks(), pairs.rows
    codes = None if groups is None else (groups[rows1], groups[rows0])
    statistic = statistic_of_placements(Placements.of(ranks, codes), ranks.mean, held.noise_factor - 1)
    repeats = [ModelPairs.of(held, [k]).ranks().mean for k in range(len(held.scores))]
    of_splits = float(np.var(repeats, ddof=1)) / len(repeats)
    own = ranks.mean * (1 - ranks.mean)
    if own == 0:
        return statistic
    return _grown(replace(statistic, trials=1 / (1 / statistic.trials + of_splits / own)), held.growth)


def _grown(statistic: SeparationStatistic, growth: float) -> SeparationStatistic:
    """The statistic of fits whose separation is `growth` times as large; its relative error stays."""
    a = statistic.auc
    grown = float(ndtr(growth * ndtri(a)))
    stretch = growth * separation_slope(grown) / separation_slope(a)
    return replace(statistic, auc=grown, trials=statistic.trials * grown * (1 - grown) / (a * (1 - a)) / stretch**2)


# ---- The analysis


@dataclass(frozen=True, eq=False)
class Refits(LeaveOneOut):
    """Held-out scores of refits in place of rows removed in closed form; all results follow in the same way."""

    held: HeldOut

    @classmethod
    def made(
        cls, training: Training, prior: EffectPrior, n_jobs: int | None = None, progress: Progress | None = None
    ) -> Refits:
        """Refit, compute the statistic, apply the prior."""
        return cls.from_held_out(training, hold_out(training, n_jobs, progress), prior)

    @classmethod
    def from_held_out(cls, training: Training, held: HeldOut, prior: EffectPrior) -> Refits:
        """The same from held-out scores."""
        statistic = statistic_of_refits(held, training.groups)
        notes = _notes(type(training.estimator).__name__, held)
        provenance = Provenance("refit", type(training.estimator).__name__, notes=notes)
        removed = _as_removed(training, held, provenance)
        return cls(removed, statistic, separation_posterior(statistic, prior), notes, held)

    def details(self) -> dict[str, Any]:
        """Further figures for the summary of a result."""
        return {
            **super().details(),
            "fits": self.held.fits,
            "agreement": self.held.agreement,
        }

    def class_effects(self, threshold: float) -> tuple[StudentEffect, StudentEffect]:
        """Standardised distances of both classes from the threshold, each row counted once over its repeats."""
        return self._effects_of(self.held.scores, threshold)

    def class_effects_at(self, probability: float) -> tuple[StudentEffect, StudentEffect]:
        """The same from a probability, where the classifier has them."""
        return self._effects_of(np.asarray(self.held.probabilities), probability)

    def _effects_of(self, scores: Floats, threshold: float) -> tuple[StudentEffect, StudentEffect]:
        one = self.held.positive
        codes = np.arange(one.size) if self.removed.groups is None else self.removed.groups
        rows = np.tile(codes[~one], len(scores)), np.tile(codes[one], len(scores))
        by_class = scores[:, ~one].ravel(), scores[:, one].ravel()
        return rates.effects_at(by_class, rows, self.statistic.noise_share, threshold)


def _as_removed(training: Training, held: HeldOut, provenance: Provenance) -> Removed:
    """One honest score per row, in the form that checks and curves read."""
    rows1, rows0 = np.flatnonzero(held.positive), np.flatnonzero(~held.positive)
    per_row, shape = held.per_row(), (rows1.size, rows0.size)
    return Removed(
        rows1=rows1,
        rows0=rows0,
        sampled1=rows1,
        sampled0=rows0,
        z=training.own,
        loo=held.scores.mean(axis=0),
        without_pair1=np.broadcast_to(per_row[rows1, None], shape),
        without_pair0=np.broadcast_to(per_row[rows0], shape),
        partnered=per_row,
        pairs=Pairs.of_scores(per_row[rows1], per_row[rows0]),
        drift=0.0,
        influence_sq=float("nan"),
        cluster_influence_sq=float("nan"),
        groups=training.groups,
        provenance=provenance,
    )


def _notes(name: str, held: HeldOut) -> tuple[str, ...]:
    made = (
        f"this {name} was refitted {held.fits} times, all of its steps, each time on {held.share:.0%} of the rows; the "
        f"scores of a row agree between refits by {held.agreement:.2f} (correlation)."
    )
    if not held.warned:
        return (made,)
    return made, f"{len(held.warned)} of the {held.fits} refits gave a warning; the first: {held.warned[0]}"
