"""The estimators that are compared: each turns a fitted classifier and its training rows into an `Answer`.

`METHODS` are those of the accuracy benchmark; `ESTIMATORS` those of the paper's figures, as published and as usual.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from time import thread_time
from typing import Any

import numpy as np
from scipy.special import ndtri, stdtr, stdtrit

import foldless as fl
from foldless_studies.classifiers import weights_of
from foldless_studies.runs import short
from foldless_studies.sampling import WIDE, Floats, Known, Labels, Sample

BOOTSTRAPS = 50
LEVELS = (0.5, 0.8, 0.9, 0.95)
# The normal law of the test noise as equally probable points: the middles of 200 slices.
NOISE = ndtri((np.arange(200) + 0.5) / 200)

Function = Callable[[Floats], Floats]


@dataclass(frozen=True)
class Answer:
    """An estimate, its standard deviation, and its quantile and distribution functions where it has them."""

    estimate: float
    sd: float | None = None
    quantiles: Function | None = None
    cdf: Function | None = None

    def ends(self, levels: Sequence[float] = LEVELS) -> list[float | None]:
        """Both ends of the central interval of each level."""
        tails = [(1 + side * level) / 2 for level in levels for side in (-1, 1)]
        if self.quantiles is None:
            return [None] * len(tails)
        return [float(end) for end in self.quantiles(np.array(tails))]

    def rank(self, known: Known) -> float | None:
        """P(A + e <= a) for A of the posterior, e ~ N(0, se^2) and a the measured AUC: the mean of F(a - e).

        The measured AUC lies in the central interval of level c of A + e just when this is within (1 -+ c) / 2.
        None without a posterior, or without noise.
        """
        if self.cdf is None or known.se == 0:
            return None
        return float(np.mean(self.cdf(known.auc - known.se * NOISE)))


def holds(posterior: fl.AUCPosterior, known: Known, level: float) -> bool:
    """Whether the central interval holds a measured AUC, whose noise is allowed for."""
    rank = _of_posterior(posterior).rank(known)
    return abs(float(posterior.cdf(known.auc) if rank is None else rank) - 0.5) <= level / 2


Method = Callable[[Any, Sample, int], Answer]


def asked(
    method: Method,
    model: Any,
    sample: Sample,
    seed: int,
    *,
    rank: Callable[[Answer], float | None],
    also: Callable[[Answer], dict[str, Any]] = lambda answer: {},
) -> dict[str, Any]:
    """The estimate, what else is read off the answer, and the seconds for both; or why there is none."""
    # Processor time of this thread: on a busy machine the clock on the wall measures the others.
    start = thread_time()
    try:
        answer = method(model, sample, seed)
        figures = {"estimate": answer.estimate, **also(answer)}
    except fl.FoldlessError as err:
        return {"failed": str(err)}
    seconds = thread_time() - start
    figures["rank"] = rank(answer)
    return {**{name: _short(value) for name, value in figures.items()}, "seconds": round(seconds, 6)}


def _short(value: Any) -> Any:
    return [short(v) for v in value] if isinstance(value, list) else short(value)


def _of_posterior(posterior: fl.AUCPosterior) -> Answer:
    return Answer(posterior.mean, posterior.sd, posterior.ppf, posterior.cdf)


def _of_folds(result: fl.baselines.AUCEstimate) -> Answer:
    law = (float(result), result.se or 0.0, len(result.details["values"]) - 1)
    return Answer(float(result), result.se, partial(_student_quantiles, *law), partial(_student_cdf, *law))


def _student_quantiles(center: float, se: float, df: int, q: Floats) -> Floats:
    return np.asarray(np.clip(center + se * stdtrit(df, q), 0.0, 1.0))


def _student_cdf(center: float, se: float, df: int, a: Floats) -> Floats:
    """Inverse of the above: what lies beyond 0 and 1 sits at the ends; one step where all folds agree."""
    inside = stdtr(df, (a - center) / se) if se > 0 else np.asarray(a >= center, dtype=np.float64)
    return np.where(a >= 1, 1.0, np.where(a < 0, 0.0, inside))


def _posterior(model: Any, sample: Sample, seed: int, **options: Any) -> Answer:
    return _of_posterior(fl.auc_posterior(model, sample.X, sample.y, **options))


def _adaptive(model: Any, sample: Sample, seed: int) -> Answer:
    if sample.n_features > WIDE:
        raise fl.InputError(f"only asked up to {WIDE} columns")
    return _posterior(model, sample, seed, method="in-sample", prior=fl.Prior.adaptive())


def _folds(repeats: int, model: Any, sample: Sample, seed: int) -> Answer:
    return _of_folds(fl.baselines.cv_auc(model, sample.X, sample.y, folds=5, repeats=repeats, random_state=seed))


def _bootstrap(model: Any, sample: Sample, seed: int) -> Answer:
    b = fl.baselines.bootstrap632plus_auc(model, sample.X, sample.y, n_bootstraps=BOOTSTRAPS, random_state=seed)
    return Answer(float(b))


def _pairs(model: Any, sample: Sample, seed: int) -> Answer:
    return Answer(float(fl.baselines.leave_pair_out_auc(model, sample.X, sample.y)))


OURS, PAPER, CV5, CV5X5 = "loo", "in-sample", "cv5", "cv5x5"
METHODS: dict[str, Method] = {
    OURS: _posterior,
    PAPER: partial(_posterior, method="in-sample"),
    "adaptive": _adaptive,
    CV5: partial(_folds, 1),
    CV5X5: partial(_folds, 5),
    "632+": _bootstrap,
    "pairs": _pairs,
}
TITLES = {
    OURS: "foldless",
    PAPER: "the paper's, in-sample",
    "adaptive": "in-sample, adaptive prior",
    CV5: "5-fold CV",
    CV5X5: "5 x 5-fold CV",
    "632+": ".632+ bootstrap",
    "pairs": "leave-pair-out refits",
}


# ---- The CV-AUC behind the paper's figures, written once more so that one thing at a time can be changed.
#
# The published computation differs from the textbook in the thresholds (training scores of the full model for every
# fold), the corners (the curve is not closed at (0, 0) and (1, 1)) and the sign (turned on the test fold). Changing
# the first two separately shows which of them costs how much.

FOLDS = 5


def cv_area(model: Any, X: Floats, y: Labels, seed: int, *, corners: bool, own_thresholds: bool) -> float:
    """Mean area of the folds' curves; with both options off, the published number.

    Parameters
    ----------
    model : linear classifier, fitted on X, y
    corners : bool
        Close every curve at (0, 0) and (1, 1).
    own_thresholds : bool
        Threshold a fold at its own test scores instead of the full model's training scores; the corner (0, 0) is
        then the point before the first threshold, and is part of the curve.
    """
    from sklearn.base import clone
    from sklearn.model_selection import StratifiedKFold

    smallest = int(np.bincount(y, minlength=2).min())
    if smallest < FOLDS:
        raise fl.InputError(f"expected at least {FOLDS} rows of each class for {FOLDS} folds, got {smallest}.")
    full = _falling(_upright(X @ weights_of(model), y))
    areas = []
    for train, test in StratifiedKFold(FOLDS, shuffle=True, random_state=np.random.RandomState(seed)).split(X, y):
        z = _upright(X[test] @ weights_of(clone(model).fit(X[train], y[train])), y[test])
        thresholds = np.r_[np.inf, _falling(z)] if own_thresholds else full
        areas.append(_area(z, y[test], thresholds, corners))
    return float(np.mean(areas))


def _falling(z: Floats) -> Floats:
    return np.sort(z)[::-1]


def _upright(z: Floats, y: Labels) -> Floats:
    return -z if z[y == 0].mean() > z[y == 1].mean() else z


def _area(z: Floats, y: Labels, thresholds: Floats, corners: bool) -> float:
    fpr, tpr = (np.mean(z[y == c] >= thresholds[:, None], axis=1) for c in (0, 1))
    if corners:
        fpr, tpr = np.r_[0.0, fpr, 1.0], np.r_[0.0, tpr, 1.0]
    return float(np.sum(np.diff(fpr) * (tpr[1:] + tpr[:-1])) / 2)


# ---- The estimators of the paper's figures: its three, its sample-binormal, what is usual, and ours.


@dataclass(frozen=True)
class Estimator:
    """What to ask, and how it is shown: the paper's colours, dashes for what is corrected."""

    ask: Method
    title: str
    colour: str
    dashed: bool = False


def _cbauc(model: Any, sample: Sample, seed: int) -> Answer:
    # The posterior behind the number is built when its distribution function is asked for, so that the time
    # taken is that of the closed form.
    number = fl.cbauc(weights_of(model), sample.X, sample.y)
    return Answer(number, cdf=partial(_in_sample_cdf, model, sample))


def _in_sample_cdf(model: Any, sample: Sample, a: Floats) -> Floats:
    return fl.auc_posterior(model, sample.X, sample.y, method="in-sample").cdf(a)


def _ebauc(anchored: bool, model: Any, sample: Sample, seed: int) -> Answer:
    return Answer(float(fl.baselines.ebauc(weights_of(model), sample.X, sample.y, anchored=anchored)))


def _binormal(model: Any, sample: Sample, seed: int) -> Answer:
    return Answer(float(fl.baselines.binormal_auc(weights_of(model), sample.X, sample.y)))


def _published_cv(model: Any, sample: Sample, seed: int) -> Answer:
    return Answer(float(fl.baselines.cv_auc(model, sample.X, sample.y, variant="published", random_state=seed)))


def _dissected(corners: bool, own: bool, model: Any, sample: Sample, seed: int) -> Answer:
    return Answer(cv_area(model, sample.X, sample.y, seed, corners=corners, own_thresholds=own))


RED, BLUE, GREEN, PINK, INK = "#d62728", "#1f5fbf", "#2ca02c", "#e377c2", "#111111"
ESTIMATORS: dict[str, Estimator] = {
    "cv-published": Estimator(_published_cv, "CV-AUC, as published", RED),
    "cv5": Estimator(METHODS[CV5], "5-fold CV, standard", RED, dashed=True),
    "ebauc-published": Estimator(partial(_ebauc, False), "EBAUC, as published", BLUE),
    "ebauc": Estimator(partial(_ebauc, True), "EBAUC, whole curve", BLUE, dashed=True),
    "cbauc": Estimator(_cbauc, "CBAUC, the paper's", GREEN),
    "binormal": Estimator(_binormal, "sample-binormal", PINK),
    "foldless": Estimator(METHODS[OURS], "foldless", INK),
    # The published CV-AUC taken apart; only where the ovarian figure is explained.
    "cv-corners": Estimator(partial(_dissected, True, False), "CV-AUC with corners", RED, dashed=True),
    "cv-own-thresholds": Estimator(partial(_dissected, False, True), "CV-AUC, own thresholds", RED, dashed=True),
}
STANDARD = ("cv-published", "cv5", "ebauc-published", "ebauc", "cbauc", "binormal", "foldless")
DISSECTED = (*STANDARD, "cv-corners", "cv-own-thresholds")
