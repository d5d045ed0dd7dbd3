"""The estimators: the paper's three, its sample-binormal, what is usual, and ours."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import foldless as fl
from foldless_studies.classifiers import weights_of
from foldless_studies.methods import CV5, METHODS, OURS, Answer, Method
from foldless_studies.paper.dissection import cv_area
from foldless_studies.sample import Floats, Sample


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
