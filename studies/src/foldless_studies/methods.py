"""The methods that are compared: each turns a fitted classifier and its training rows into an `Answer`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy.special import ndtri, stdtr, stdtrit

import foldless as fl
from foldless_studies.sample import WIDE, Floats, Known, Sample

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


Method = Callable[[Any, Sample, int], Answer]


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


def _loo(model: Any, sample: Sample, seed: int) -> Answer:
    return _of_posterior(fl.auc_posterior(model, sample.X, sample.y))


def _in_sample(model: Any, sample: Sample, seed: int) -> Answer:
    return _of_posterior(fl.auc_posterior(model, sample.X, sample.y, method="in-sample"))


def _adaptive(model: Any, sample: Sample, seed: int) -> Answer:
    if sample.n_features > WIDE:
        raise fl.InputError(f"only asked up to {WIDE} columns")
    prior = fl.Prior.adaptive()
    return _of_posterior(fl.auc_posterior(model, sample.X, sample.y, method="in-sample", prior=prior))


def _folds(repeats: int, model: Any, sample: Sample, seed: int) -> Answer:
    return _of_folds(fl.baselines.cv_auc(model, sample.X, sample.y, folds=5, repeats=repeats, random_state=seed))


def _bootstrap(model: Any, sample: Sample, seed: int) -> Answer:
    b = fl.baselines.bootstrap632plus_auc(model, sample.X, sample.y, n_bootstraps=BOOTSTRAPS, random_state=seed)
    return Answer(float(b))


def _pairs(model: Any, sample: Sample, seed: int) -> Answer:
    return Answer(float(fl.baselines.leave_pair_out_auc(model, sample.X, sample.y)))


OURS, PAPER, CV5, CV5X5 = "loo", "in-sample", "cv5", "cv5x5"
METHODS: dict[str, Method] = {
    OURS: _loo,
    PAPER: _in_sample,
    "adaptive": _adaptive,
    CV5: partial(_folds, 1),
    CV5X5: partial(_folds, 5),
    "632+": _bootstrap,
    "pairs": _pairs,
}
# Leave-pair-out needs n0 n1 refits: by request only.
DEFAULT = tuple(name for name in METHODS if name != "pairs")
TITLES = {
    OURS: "foldless",
    PAPER: "the paper's, in-sample",
    "adaptive": "in-sample, adaptive prior",
    CV5: "5-fold CV",
    CV5X5: "5 x 5-fold CV",
    "632+": ".632+ bootstrap",
    "pairs": "leave-pair-out refits",
}
