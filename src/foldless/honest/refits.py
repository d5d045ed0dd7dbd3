"""Honest scores of any classifier: refits on four fifths of the rows, four times over.

    folds -> held-out scores (4, N) -> the statistic -> the posterior

A fit with discrete choices (selected columns, tree splits) has no closed form. Known pipelines are fitted all at once
(`batched`), others by clones. Two classes are here, more in `class_refits`.
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import expit

from foldless import checks, words
from foldless.checks import Array, Floats, Labels
from foldless.errors import EstimatorError, InputError
from foldless.honest import rates
from foldless.honest.batched import Scored, fit_at_once
from foldless.honest.class_statistic import RefittedRows
from foldless.honest.classes import KEPT_APART
from foldless.honest.design import Ints
from foldless.honest.held_out import HeldOut, statistic_of_refits
from foldless.honest.leave_one_out import GIVEN_SCALES, LeaveOneOut, checked_weight
from foldless.honest.normal_scale import NormalScale
from foldless.honest.pairs import Pairs
from foldless.honest.posterior import EffectPrior, separation_posterior
from foldless.honest.probabilities import FARTHEST
from foldless.honest.rows import Provenance, Removed
from foldless.laws.effect import StudentEffect
from foldless.model.probabilities import probabilities_of
from foldless.model.steps import (
    ends_in_pls,
    innermost,
    is_estimator,
    looks_standardised,
    own_probability,
    own_threshold,
)

FOLDS, REPEATS = 5, 4
SEED = 20240229  # of the first repeat; later ones count up from it
FEWEST = 4  # rows, or groups, per class: two folds with two each, so that their spread can be estimated
REPEATED = 0.1  # scores that differ by a smaller part of their spread are of the same training: solvers draw rows
Progress = Callable[[int, int], object]
Split = tuple[Ints, Ints]  # rows to train on, rows to hold out
Fit = tuple[Floats, list[str]]  # answers about the rows held out: scores, with probabilities or by class; warnings
Answers = tuple[Floats, Ints, float, tuple[str, ...]]  # of all fits, (A, R, N); which fit, (R, N); its share; warnings


# ---- The classifier and its rows


@dataclass(frozen=True, eq=False)
class Refittable(ABC):
    """A fitted classifier and the rows to refit it on.

    `table` is X as it was given, which may hold text or gaps, and `own` are the scores of the fit itself.
    """

    estimator: Any
    table: Any
    y: Array
    codes: Ints  # the place of each label among the classes
    classes: tuple[Any, ...]
    own: Floats
    weight: Floats | None = None
    groups: Ints | None = None

    @abstractmethod
    def asked(self, model: Any, table: Any) -> Floats:
        """What a refit answers about some rows: scores, with probabilities or by class."""

    def on_scale(self, answers: Floats, train: Ints, test: Ints) -> Floats:
        """The answers about the rows `test` of a linear refit that was asked about all rows."""
        return answers[:, test]

    def at_once(self, held_out: list[Ints]) -> Scored | None:
        """The answers about all rows by fits without each of these sets; None unless they are known to be the same."""
        return None

    @cached_property
    def X(self) -> Any:
        """The table as numbers; None if it holds text or missing values, which a step of the pipeline handles."""
        try:
            M = checks.as_matrix(self.table)
        except InputError:
            return None
        return M if np.all(np.isfinite(M.data if checks.is_sparse(M) else M)) else None

    @cached_property
    def procedure(self) -> Any:
        """What is refitted: the classifier, and the scaler that its columns have come through."""
        from sklearn.pipeline import Pipeline
        from sklearn.preprocessing import StandardScaler

        if not looks_standardised(self.X):
            return self.estimator
        scaler = StandardScaler()
        if checks.is_frame(self.table):  # later steps may ask for columns by name
            scaler.set_output(transform=type(self.table).__module__.split(".")[0])
        steps = getattr(self.estimator, "steps", None) or [("classifier", self.estimator)]
        return Pipeline([("standardised before", scaler), *steps])

    @cached_property
    def repeats(self) -> bool:
        """Whether a refit to all rows, which refits without some resemble, says of them what the fit itself says."""
        if self.fewest < FEWEST:
            return False
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the fit itself has given them
            try:
                again = self.asked(_refitted(self, SEED, np.arange(self.codes.size)), self.table)
            except EstimatorError:
                return False
        own, again = (np.atleast_2d(z)[: len(np.atleast_2d(self.own))] for z in (self.own, again))
        spread = np.linalg.norm(own - own.mean(axis=1, keepdims=True))
        return bool(np.linalg.norm(again - own) <= REPEATED * spread)

    @property
    def counts(self) -> Ints:
        """Rows per class."""
        return np.bincount(self.codes)

    @property
    def fewest(self) -> int:
        """Rows, or groups, of the smallest class."""
        if self.groups is None:
            return int(self.counts.min())
        return min(np.unique(self.groups[self.codes == k]).size for k in range(len(self.classes)))

    @property
    def folds(self) -> int:
        """Five, or fewer if a class would have fewer than two rows (groups) in a fold."""
        if self.fewest < FEWEST:
            raise InputError(
                f"refitting needs at least {FEWEST} {'rows' if self.groups is None else 'groups'} of each class, to "
                f"hold out some and train on others, got {self.fewest}: collect more, or use a classifier with a "
                f"closed form (method='loo')."
            )
        return min(FOLDS, self.fewest // 2)

    def splits(self) -> list[Split]:
        """Rows to train on and to hold out: all folds of the first repeat, then of the next."""
        folds = self.folds
        dealt = [_dealt(self.codes, folds, SEED + repeat, self.groups) for repeat in range(REPEATS)]
        splits = [(np.flatnonzero(of != k), np.flatnonzero(of == k)) for of in dealt for k in range(folds)]
        seen, compared = np.array([[np.count_nonzero(np.bincount(self.codes[rows])) for rows in s] for s in splits]).T
        if seen.min() < len(self.classes) or compared.max() < 2:
            raise InputError(KEPT_APART)
        return splits


def as_rows(X: Any, n: int) -> Any:
    """X as something that has n rows, which can be taken by number."""
    from sklearn.utils import indexable
    from sklearn.utils.validation import _num_samples

    try:
        checks.same_length(_num_samples(X), n)
        return indexable(X)[0]
    except TypeError as err:
        raise InputError(f"X must be a table of rows: {words.reason(err)}") from err


@dataclass(frozen=True, eq=False)
class Training(Refittable):
    """The same of two classes, the negative one first; all scores point towards the positive one."""

    @classmethod
    def of(cls, estimator: Any, X: Any, y: Any, pos_label: Any, groups: Any, sample_weight: Any) -> Training:
        """Check what was passed; nothing is fitted yet."""
        refuse_unfit(estimator)
        labels = checks.as_labels(y, pos_label=pos_label, classes=classes_of(estimator))
        X = as_rows(X, labels.positive.size)
        own = scores_of(estimator, X, labels.positive_label)
        weight = checked_weight(sample_weight, labels.positive)
        together = None if groups is None else checks.as_groups(groups, labels.positive, fewest=FEWEST)
        codes, classes = labels.positive.astype(np.intp), (labels.negative_label, labels.positive_label)
        return cls(estimator, X, checks.label_vector(y), codes, classes, own, weight, together)

    @property
    def labels(self) -> Labels:
        """Which rows are positive, and what the classes are called."""
        return Labels(self.codes == 1, *self.classes)

    @property
    def threshold(self) -> float:
        """The classifier's own threshold, in units of its scores."""
        flipped = bool(self.labels.positive_label != classes_of(self.estimator)[1])
        if not (ends_in_pls(self.estimator) or hasattr(self.estimator, "decision_function")):
            own = own_probability(self.estimator)
            return 1 - own if flipped else own
        own = own_threshold(self.estimator)
        return 0.0 - own if flipped else own

    def asked(self, model: Any, table: Any) -> Floats:
        """Scores of some rows by a refit, twice, and probabilities (NaN where there are none)."""
        label = self.labels.positive_label
        scores, known = scores_of(model, table, label), hasattr(model, "predict_proba")
        if known and not hasattr(model, "decision_function"):  # a forest is asked once
            return np.stack([scores] * 3)
        chances = probabilities_of(model, table, label) if known else np.full(scores.shape, np.nan)
        return np.stack([scores, scores, chances])

    def on_scale(self, answers: Floats, train: Ints, test: Ints) -> Floats:
        """The same, with scores and probabilities on the scale of the fit, as both see the rows `train`.

        A penalty counts for more among fewer rows: scores of a refit are closer together, and to the larger class. The
        median of what separates the two scores of a row brings them together: a few rows may be far out in one of them.
        """
        (scores, _, chances), own = answers, self.own[train]
        unit, size = float(own.std()), float(scores[train].std())
        if min(unit, size) == 0:
            return answers[:, test]
        ratio = unit / size
        placed = ratio * scores[test] + np.median(own - ratio * scores[train])
        linked = np.allclose(chances, expit(scores))
        sure = expit(np.clip(placed, -FARTHEST, FARTHEST))  # never 0 or 1, which no recalibration could change
        return np.stack([scores[test], placed, sure if linked else chances[test]])

    def at_once(self, held_out: list[Ints]) -> Scored | None:
        found = fit_at_once(self.procedure, self.X, self.labels, self.own, self.weight, held_out)
        return None if found is None else (found[0][[0, 0, 1]], found[1])


def _dealt(codes: Ints, folds: int, seed: int, groups: Ints | None) -> Ints:
    """The fold of every row, as scikit-learn's StratifiedKFold and StratifiedGroupKFold deal them."""
    from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold

    if groups is None and codes.max() == 1:
        return stratified(codes, folds, seed)
    fold, splitter = np.empty(codes.size, dtype=np.intp), StratifiedKFold if groups is None else StratifiedGroupKFold
    for k, (_, test) in enumerate(splitter(folds, shuffle=True, random_state=seed).split(codes, codes, groups)):
        fold[test] = k
    return fold


def stratified(codes: Ints, folds: int, seed: int) -> Ints:
    """Folds of ``StratifiedKFold(folds, shuffle=True, random_state=seed)`` of two classes, without its slow checks."""
    rng, fold, late = np.random.RandomState(seed), np.empty(codes.size, dtype=np.intp), codes != codes[0]
    dealt = np.sort(late)
    for which in (False, True):  # classes are dealt in the order in which they appear
        places = np.repeat(np.arange(folds), [np.count_nonzero(dealt[k::folds] == which) for k in range(folds)])
        rng.shuffle(places)
        fold[late == which] = places
    return fold


def refuse_unfit(estimator: Any, several: bool = False) -> None:
    """Refuse what cannot be refitted: weights, an unfitted estimator, parts that stay fitted, `several` classes."""
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
        raise EstimatorError(
            f"this {name} cannot be cloned, so it cannot be refitted ({words.reason(err)}): pass held-out scores to "
            f"auc_posterior_from_scores."
        ) from err
    if len(classes_of(estimator)) != 2 and not several:
        raise EstimatorError(
            f"this is about two classes, and this {name} has {len(classes_of(estimator))}: pass a classifier, and fit "
            f"one class against the rest, estimator.fit(X, y == label), if there are more."
        )
    if ends_in_pls(estimator) and len(innermost(estimator).coef_) != 1:
        raise EstimatorError("this PLSRegression has more than one target: fit it on one, the class as 0 or 1.")
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


def classes_of(model: Any) -> list[Any]:
    """The labels that a classifier knows, 0 and 1 for PLS-DA; none for a regressor of another kind."""
    return [0, 1] if ends_in_pls(model) else np.asarray(getattr(model, "classes_", ())).tolist()


def scores_of(model: Any, X: Any, positive_label: Any) -> Floats:
    """Scores towards the positive class: decision_function, else its probability; the prediction - 1/2 of PLS-DA."""
    if ends_in_pls(model):
        return (1.0 if positive_label == 1 else -1.0) * (np.ravel(answer_of(model, "predict", X)) - 0.5)
    if hasattr(model, "decision_function"):
        return (1.0 if model.classes_[1] == positive_label else -1.0) * answer_of(model, "decision_function", X)
    return answer_of(model, "predict_proba", X)[:, classes_of(model).index(positive_label)]


def answer_of(model: Any, method: str, X: Any) -> Floats:
    """What a method of a classifier gives for X, as finite numbers."""
    name, ask = type(model).__name__, getattr(model, method, None)
    if ask is None:
        raise EstimatorError(
            f"{name} has neither decision_function nor predict_proba and ranks no row: use a classifier with one of "
            f"them (for a VotingClassifier, voting='soft')."
        )
    try:
        found = np.asarray(ask(X), dtype=np.float64)
    except EstimatorError:
        raise
    except (TypeError, ValueError) as err:
        raise EstimatorError(f"{name} cannot score X ({words.reason(err)}): pass X as given to fit.") from err
    if not np.all(np.abs(found) < checks.LARGEST):
        raise EstimatorError(f"{name} gave NaN or enormous scores: check X for extreme values, and rescale it.")
    return found


# ---- The refits


def ask_refits(training: Refittable, n_jobs: int | None, progress: Progress | None) -> Answers:
    """Refit the classifier without each fold, and ask about the rows of that fold."""
    splits, shape, warned = training.splits(), (REPEATS, training.codes.size), list[str]()
    answers, fold, folds = list[Floats](), np.empty(shape, dtype=np.intp), len(splits) // REPEATS
    for k, (found, texts) in enumerate(_fits(training, splits, n_jobs)):
        answers.append(found)
        warned += texts[:1]
        if progress is not None:
            progress(k + 1, len(splits))
    whole = np.empty((len(answers[0]), *shape))
    for k, (_, rows) in enumerate(splits):
        whole[:, k // folds, rows], fold[k // folds, rows] = answers[k], k
    return whole, fold, 1 - 1 / folds, tuple(warned)


def _fits(training: Refittable, splits: list[Split], n_jobs: int | None) -> Iterator[Fit]:
    """The fits in their order: at once where that is known to give the same, of clones where it is not."""
    from sklearn.utils.parallel import Parallel, delayed

    batch = training.at_once([rows for _, rows in splits])
    scores, left = (None, np.ones(len(splits), dtype=bool)) if batch is None else batch
    clones = Parallel(n_jobs=n_jobs, return_as="generator")(
        delayed(_refit_and_score)(training, SEED + k, *splits[k]) for k in np.flatnonzero(left)
    )
    for k, split in enumerate(splits):
        yield next(clones) if scores is None or left[k] else (training.on_scale(scores[:, k], *split), [])


def _refit_and_score(training: Refittable, seed: int, train: Ints, test: Ints) -> Fit:
    """What a refit answers on the held-out rows, and its warnings."""
    from sklearn.utils import _safe_indexing

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = _refitted(training, seed, train)
        if hasattr(innermost(model), "coef_"):
            answers = training.on_scale(training.asked(model, training.table), train, test)
        else:
            answers = training.asked(model, _safe_indexing(training.table, test))
    doubts = (w for w in caught if not issubclass(w.category, DeprecationWarning | FutureWarning))
    return answers, [f"{w.category.__name__}: {words.one_line(str(w.message))}" for w in doubts]


def _refitted(training: Refittable, seed: int, train: Ints) -> Any:
    from sklearn.base import clone
    from sklearn.utils import _safe_indexing

    model = clone(training.procedure)
    # Seeds that the user left open are fixed here: the same data give the same answer.
    loose = {k: seed for k, v in model.get_params().items() if v is None and k.split("__")[-1] == "random_state"}
    model.set_params(**loose)
    # A pipeline passes fit arguments only to a named step.
    step = f"{model.steps[-1][0]}__" if hasattr(model, "steps") else ""
    extra = {} if training.weight is None else {f"{step}sample_weight": training.weight[train]}
    try:
        return model.fit(_safe_indexing(training.table, train), training.y[train], **extra)
    except Exception as err:  # an estimator may raise anything on a subset of the rows
        what = f"{type(model).__name__} could not be fitted again, on {train.size} of the {training.y.size} rows"
        raise EstimatorError(f"{what}: {words.reason(err)}") from err


def on_refits(training: Refittable, found: HeldOut | RefittedRows, warned: tuple[str, ...]) -> tuple[str, ...]:
    """Notes on how often the classifier was refitted, how well the refits agree, and what they warned of."""
    made = (
        f"this {type(training.estimator).__name__} was refitted {found.fits} times, all of its steps, each time on "
        f"{found.share:.0%} of the rows; the scores of a row agree between refits by {found.agreement:.2f} "
        f"(correlation)."
    )
    told = (made, GIVEN_SCALES) if training.procedure is not training.estimator else (made,)
    if not warned:
        return told
    return (*told, f"{len(warned)} of the {found.fits} refits gave a warning; the first: {warned[0]}")


# ---- The analysis of two classes


def hold_out(training: Training, n_jobs: int | None = None, progress: Progress | None = None) -> HeldOut:
    """Refit the classifier without each fold, and score the rows of that fold."""
    (scores, placed, chances), fold, share, warned = ask_refits(training, n_jobs, progress)
    probabilities = None if np.any(np.isnan(chances)) else chances
    return HeldOut(scores, fold, training.labels.positive, share, warned, placed, probabilities)


@dataclass(frozen=True, eq=False)
class Refits(LeaveOneOut):
    """Held-out scores of refits in place of rows removed in closed form; all results follow in the same way."""

    held: HeldOut

    @classmethod
    def made(
        cls, training: Training, prior: EffectPrior, n_jobs: int | None = None, progress: Progress | None = None
    ) -> Refits:
        """Refit, compute the statistic, apply the prior."""
        held, name = hold_out(training, n_jobs, progress), type(training.estimator).__name__
        statistic = statistic_of_refits(held, training.groups)
        notes = on_refits(training, held, held.warned)
        removed = _as_removed(training, held, Provenance("refit", name, notes=notes))
        return cls(removed, statistic, separation_posterior(statistic, prior), notes, held)

    def details(self) -> dict[str, Any]:
        """Further figures for the summary of a result."""
        return {**super().details(), "fits": self.held.fits, "agreement": self.held.agreement}

    def class_effects(self, threshold: float) -> tuple[StudentEffect, StudentEffect]:
        """Standardised distances of both classes from the threshold, each row counted once over its repeats."""
        return self._effects_of(self.held.on_scale, threshold)

    def class_effects_at(self, probability: float) -> tuple[StudentEffect, StudentEffect]:
        """The same from a probability, where the classifier has them."""
        return self._effects_of(np.asarray(self.held.probabilities), probability)

    def _effects_of(self, scores: Floats, threshold: float) -> tuple[StudentEffect, StudentEffect]:
        one = self.held.positive
        codes = np.arange(one.size) if self.removed.groups is None else self.removed.groups
        rows = np.tile(codes[~one], len(scores)), np.tile(codes[one], len(scores))
        by_class = scores[:, ~one].ravel(), scores[:, one].ravel()
        return rates.effects_at(NormalScale.of(*by_class), rows, self.statistic.noise_share, threshold)


def _as_removed(training: Training, held: HeldOut, provenance: Provenance) -> Removed:
    """One honest score per row, in the form that checks and curves read."""
    rows1, rows0 = np.flatnonzero(held.positive), np.flatnonzero(~held.positive)
    per_row, shape = held.per_row(), (rows1.size, rows0.size)
    return Removed(
        rows1=rows1, rows0=rows0, sampled1=rows1, sampled0=rows0,
        z=training.own, loo=held.on_scale.mean(axis=0),
        without_pair1=np.broadcast_to(per_row[rows1, None], shape),
        without_pair0=np.broadcast_to(per_row[rows0], shape),
        partnered=per_row, pairs=Pairs(per_row[rows1], per_row[rows0]),
        drift=0.0, influence_sq=float("nan"), cluster_influence_sq=float("nan"),
        groups=training.groups, provenance=provenance,
    )  # fmt: skip
