"""The public functions, each as a property: draw a case, call, judge."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import strategies as st

import foldless as fl
from foldless import baselines
from foldless.baselines import given
from fuzz import answers, pages, pictures, streams
from fuzz.cases import Built, Case, build, cases, keywords
from fuzz.commands import COMMAND
from fuzz.models import ModelSpec, linear_models, probable_models
from fuzz.outcome import Outcome, judged
from fuzz.plans import PLAN
from fuzz.questions import QUESTIONS
from fuzz.searching import search_cases, searched
from fuzz.tables import mostly, numbers, poisoned, typed, width_of


@dataclass(frozen=True)
class Property:
    """How cases are drawn, the call, and the check of its answer; `share` of the examples of a long run."""

    draw: st.SearchStrategy[Any]
    call: Callable[[Case, Built], Any]
    check: Callable[[Any, Case, Built], None]
    share: int
    fits: bool = False

    def outcome(self, case: Any) -> Outcome:
        """The judged call of one case."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            built = build(case)
        return judged(lambda: self.call(case, built), lambda found: self.check(found, case, built), fits=self.fits)


ESTIMATION = ("method", "prior", "groups", "sample_weight", "pos_label")
JUDGED = ("groups", "sample_weight", "pos_label")
THRESHOLDS = (0.0, -1.5, 1e9, -1e300, 5e-324, float("nan"), "high")
SHARES = (0.3, 1e-12, 1 - 1e-12, 0.999, 0.0, 1.5)


def at_level(check: Callable[[Any, float], None]) -> Callable[[Any, Case, Built], None]:
    """A check that looks at intervals of the level of the case."""
    return lambda found, case, built: check(found, case.option.level)


def plain(check: Callable[[Any], None]) -> Callable[[Any, Case, Built], None]:
    """A check of the answer alone."""
    return lambda found, case, built: check(found)


def scores_of(case: Case, built: Built) -> Any:
    """Scores: the first column of the numbers, or X as it is."""
    if case.more["wide"] or not case.table.columns:
        return built.X
    column = typed(poisoned(numbers(case.table, built.codes), case.table), case.table.dtype)[:, 0]
    return column.tolist() if case.table.holder == "list" else column


def weights_of(case: Case, built: Built) -> Any:
    """Weights of one classifier or of several, for the functions that take nothing else."""
    width = width_of(built.X)
    w = np.random.default_rng(case.option.seed).normal(size=(width, 3) if case.more["wide"] else width)
    return w * 10.0**case.model.power


WIDE = {"wide": mostly(False, (True,), 3)}
MODELS = {"other": linear_models()}


def compare_many(case: Case, built: Built) -> Any:
    trio = {"a": built.model, "b": built.other, "a again": built.model}
    return fl.compare_many(trio, built.X, built.y, **keywords(case, built, *ESTIMATION))


def baseline(case: Case, built: Built) -> Any:
    name = case.more["baseline"]
    if name in ("resubstitution_auc", "binormal_auc", "ebauc"):
        return getattr(baselines, name)(built.model, built.X, built.y, **keywords(case, built, "pos_label"))
    takes = ("pos_label",) if name == "bootstrap632plus_auc" else ("groups", "pos_label")
    extra = {
        "cv_auc": {"folds": case.more["folds"], "aggregate": case.more["aggregate"]},
        "bootstrap632plus_auc": {"n_bootstraps": 3},
        "leave_pair_out_auc": {"max_pairs": 4},
    }.get(name, {})
    return getattr(baselines, name)(built.model, built.X, built.y, **extra, **keywords(case, built, *takes))


def decoded(case: Case, built: Built) -> Any:
    """Sets of columns, or X once more for each of two points in time."""
    width, axis, X = width_of(built.X), case.more["axis"], built.X
    axis = {"sets": [[k] for k in range(min(width, 3))], "empty": [[]], "stacked": -1}.get(axis, axis)
    if case.more["axis"] == "stacked":
        X = np.stack([numbers(case.table, built.codes)] * 2, axis=-1)
    return fl.decode(built.model, X, built.y, axis=axis, n_permutations=9, **keywords(case, built, "groups", "prior"))


def score_stats(case: Case, built: Built) -> Any:
    given = keywords(case, built, "pos_label", "classes")
    if case.more["from_data"]:
        return fl.ScoreStats.from_data(built.X, built.y, weights_of(case, built), **given)
    found = fl.ScoreStats.from_scores(built.y, scores_of(case, built), **given)
    return found + found


ESTIMATE = {
    "auc_posterior": Property(
        cases(),
        lambda c, b: fl.auc_posterior(b.model, b.X, b.y, **keywords(c, b, *ESTIMATION, "multi_class")),
        at_level(answers.auc),
        250,
    ),
    "auc_posterior_from_scores": Property(
        cases(model=st.just(ModelSpec("None")), **WIDE),
        lambda c, b: fl.auc_posterior_from_scores(
            b.y, scores_of(c, b), **keywords(c, b, "prior", "groups", "pos_label", "multi_class")
        ),
        at_level(answers.auc),
        100,
    ),
    "roc_posterior_from_scores": Property(
        cases(model=st.just(ModelSpec("None")), **WIDE),
        lambda c, b: fl.roc_posterior_from_scores(
            b.y, scores_of(c, b), **keywords(c, b, "prior", "groups", "pos_label")
        ),
        at_level(answers.roc),
        20,
    ),
    "error_posterior_from_scores": Property(
        cases(
            model=st.just(ModelSpec("None")),
            threshold=mostly(0.0, THRESHOLDS, 2),
            prevalence=mostly(None, SHARES, 2),
            **WIDE,
        ),
        lambda c, b: fl.error_posterior_from_scores(
            b.y, scores_of(c, b), **keywords(c, b, "groups", "pos_label", "threshold", "prevalence")
        ),
        at_level(answers.error),
        20,
    ),
    "roc_posterior": Property(
        cases(),
        lambda c, b: fl.roc_posterior(b.model, b.X, b.y, **keywords(c, b, *ESTIMATION)),
        at_level(answers.roc),
        20,
    ),
    "error_posterior": Property(
        cases(
            threshold=mostly(0.0, THRESHOLDS, 2),
            prevalence=mostly(None, SHARES, 2),
            covariance=mostly(None, ("common", "per-class", "full"), 3),
        ),
        lambda c, b: fl.error_posterior(b.model, b.X, b.y, **keywords(c, b, *ESTIMATION, *c.more)),
        at_level(answers.error),
        20,
    ),
    "honest_scores": Property(
        cases(),
        lambda c, b: fl.honest_scores(b.model, b.X, b.y, **keywords(c, b, *JUDGED)),
        lambda found, c, b: answers.honest(found, c.table.rows),
        120,
    ),
    "cbauc": Property(
        cases(model=st.builds(ModelSpec, kind=st.just("None"), power=mostly(0, (-300, -99, 99, 300))), **WIDE),
        lambda c, b: fl.cbauc(weights_of(c, b), b.X, b.y, **keywords(c, b, "prior", "pos_label")),
        plain(answers.number),
        100,
    ),
    "auc_posterior_many": Property(
        cases(model=st.builds(ModelSpec, kind=st.just("None"), power=mostly(0, (-99, 99))), wide=st.just(True)),
        lambda c, b: fl.auc_posterior_many(weights_of(c, b), b.X, b.y, **keywords(c, b, "prior", "pos_label")),
        at_level(answers.several),
        40,
    ),
    "ScoreStats": Property(
        cases(
            model=st.just(ModelSpec("None")),
            from_data=st.booleans(),
            classes=mostly(None, ((0, 1), ("no", "yes"), (0, 1, 2), 7)),
            **WIDE,
        ),
        score_stats,
        plain(answers.stats),
        80,
    ),
}
JUDGEMENT = {
    "compare": Property(
        cases(**MODELS, rope=mostly(0.0, (0.01, 0.5, 0.999, 1.0, -0.1, float("nan"), "x"), 2)),
        lambda c, b: fl.compare(b.model, b.other, b.X, b.y, **keywords(c, b, *ESTIMATION, "rope")),
        at_level(answers.comparison),
        50,
    ),
    "compare_many": Property(cases(**MODELS), compare_many, at_level(answers.ranking), 30),
    "diagnose": Property(
        cases(),
        lambda c, b: fl.diagnose(b.model, b.X, b.y, **keywords(c, b, *JUDGED)),
        plain(answers.diagnosis),
        50,
    ),
    "learning_curve": Property(
        cases(factors=mostly((1, 2, 5), ((1,), (1, 1000), (1.5, 2), (0.5,), (), (2, 1), "x", 3, (1, 1e9)), 2)),
        lambda c, b: fl.learning_curve(b.model, b.X, b.y, **keywords(c, b, *JUDGED, "prior", "factors")),
        at_level(answers.curve),
        30,
    ),
    "analyse": Property(
        cases(model=probable_models()),
        lambda c, b: fl.analyse(b.model, b.X, b.y, **keywords(c, b, *ESTIMATION)),
        at_level(answers.measures),
        40,
    ),
    "validate": Property(
        cases(model=probable_models(), threshold=mostly(None, SHARES, 2), prevalence=mostly(None, SHARES, 2)),
        lambda c, b: fl.validate(b.model, b.X, b.y, level=c.option.level, **keywords(c, b, *ESTIMATION, *c.more)),
        plain(answers.validation),
        40,
    ),
    "permutation_test": Property(
        cases(n_permutations=mostly(19, (1, 99, 0, -1, 2.5, "x"), 4)),
        lambda c, b: fl.permutation_test(b.model, b.X, b.y, **keywords(c, b, "groups", "n_permutations")),
        plain(answers.permutations),
        30,
    ),
    "decode": Property(
        cases(model=linear_models(), axis=mostly("sets", (-1, 0, 1, 2, "stacked", "empty", "x"), 2)),
        decoded,
        plain(answers.decoding),
        15,
        fits=True,
    ),
    "FoldlessSearch": Property(search_cases(), searched, plain(answers.search), 30, fits=True),
    "baselines": Property(
        cases(
            baseline=st.sampled_from((
                "resubstitution_auc", "binormal_auc", "ebauc", "cv_auc", "bootstrap632plus_auc", "loo_auc",
                "leave_pair_out_auc",
            )),
            folds=mostly(2, (0, 1, 3, 50), 3),
            aggregate=st.sampled_from(("mean", "pooled", "pairs")),
            model=linear_models(),
        ),
        baseline,
        plain(answers.estimate),
        30,
        fits=True,
    ),
    "delong": Property(
        cases(model=st.just(ModelSpec("None")), wide=st.just(False)),
        lambda c, b: given.delong(b.y, scores_of(c, b), **keywords(c, b, "pos_label")),
        plain(answers.estimate),
        40,
    ),
}  # fmt: skip
APART: dict[str, Any] = {
    "plan_sample_size": PLAN,
    "streaming": Property(streams.streamed_cases(), streams.asked, streams.check, 80),
    "report": Property(pages.report_cases(), pages.report, pages.check, 3),
    "displays": Property(pictures.picture_cases(), pictures.drawn, pictures.check, 25),
    "SearchDisplay": Property(pictures.search_picture_cases(), pictures.drawn_search, pictures.check, 12, fits=True),
    "command line": COMMAND,
    **QUESTIONS,
}

PROPERTIES: dict[str, Any] = {**ESTIMATE, **JUDGEMENT, **APART}
