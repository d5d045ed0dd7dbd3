"""What a proper answer is: finite, inside its bounds, in order, and fit to be printed, stored and drawn from."""

from __future__ import annotations

import json
import math
import pickle
from typing import Any

import numpy as np

import foldless as fl
from foldless.results.accuracy import ClassErrorPosterior
from fuzz.outcome import Improper

GRID = np.linspace(0.0, 1.0, 21)
SLACK = 1e-9


def must(truth: Any, what: str) -> None:
    """Raise `Improper` unless `truth`."""
    if not bool(truth):
        raise Improper(what)


def within(value: Any, low: float, high: float, what: str) -> None:
    """A finite number, or array of them, between two bounds."""
    values = np.asarray(value, dtype=float)
    must(np.all(np.isfinite(values)), f"{what} is not finite: {value!r}")
    must(np.all((values >= low - SLACK) & (values <= high + SLACK)), f"{what} is outside: {value!r}")


def ordered(values: Any, what: str) -> None:
    """No value, or row of values, below the one before it."""
    must(np.all(np.diff(np.asarray(values, dtype=float), axis=0) >= -SLACK), f"{what} is not in order: {values!r}")


def printable(answer: Any, summary: Any) -> None:
    """A summary that becomes JSON without NaN, a repr that hides none, and a pickle."""
    json.dumps(summary, allow_nan=False)
    must("nan" not in repr(answer).lower().split("(", 1)[-1].split("notes")[0], f"repr shows nan: {answer!r}")
    pickle.loads(pickle.dumps(answer))


def rate(post: Any, level: float) -> None:
    """Mean, sd, quantiles and cdf of one rate."""
    within(post.mean, 0, 1, "mean")
    within(post.sd, 0, 1, "sd")
    low, high = post.interval(level)
    within([low, high], 0, 1, "interval")
    ordered([low, high], "interval")
    below = post.cdf(GRID)
    within(below, 0, 1, "cdf")
    ordered(below, "cdf")
    must(below[-1] == 1, "cdf(1) is not 1")
    quantiles = post.ppf([0.0, 0.1, 0.5, 0.9, 1.0])
    within(quantiles, 0, 1, "ppf")
    ordered(quantiles, "ppf")
    html(post)


def html(answer: Any) -> None:
    """What a notebook shows."""
    page = answer._repr_html_()
    must(">nan" not in page and '="nan' not in page and " nan" not in page.split("<details")[0], "HTML shows nan")


def auc(post: Any, level: float = 0.95) -> None:
    """An AUCPosterior, of two classes or more."""
    rate(post, level)
    within(post.median, 0, 1, "median")
    must(not np.any(np.isnan(post.pdf(GRID))) and np.all(post.pdf(GRID) >= 0), "pdf is negative or NaN")
    within(post.sample(7, rng=0), 0, 1, "sample")
    must(abs(post.prob_above(0.6) + float(post.cdf(0.6)) - 1) < 1e-6, "prob_above and cdf do not add up")
    printable(post, post.summary(level))
    if isinstance(post, fl.MulticlassAUCPosterior):
        for pair in post.pairwise:
            rate(post.pairwise[pair], level)
        for each in post.against_rest.values():
            rate(each, level)


def roc(post: Any, level: float = 0.95) -> None:
    """A ROCPosterior: the curve and its band."""
    mean, (low, high) = post.mean(GRID), post.band(GRID, level)
    for curve, what in ((mean, "mean curve"), (low, "lower band"), (high, "upper band")):
        within(curve, 0, 1, what)
        ordered(curve, what)
    ordered([low, high], "band")
    area = post.partial_auc(0.5, level)
    within(area, 0, 0.5, "partial area")
    ordered([area.low, area.high], "partial area")
    must("nan" not in repr(post).lower(), f"repr shows nan: {post!r}")
    html(post)


def error(post: Any, level: float = 0.95) -> None:
    """An ErrorPosterior: five rates; or the decisions among several classes."""
    found = post.summary(level)
    if isinstance(post, ClassErrorPosterior):
        decisions(post, level)
        return
    for name in ("error", "sensitivity", "specificity", "ppv", "npv"):
        within([found[name][key] for key in ("mean", "sd", "low", "high")], 0, 1, name)
        ordered([found[name]["low"], found[name]["high"]], f"interval of {name}")
    ordered(post.sensitivity.cdf(GRID), "cdf of the sensitivity")
    ordered(post.error.cdf(GRID[::5]), "cdf of the error")
    json.dumps(found, allow_nan=False)


def decisions(post: ClassErrorPosterior, level: float) -> None:
    """A ClassErrorPosterior: the error, the accuracies, and what each class is taken for."""
    for rate in (post.error, post.accuracy, post.balanced_accuracy, *post.sensitivity.values(), *post.ppv.values()):
        within([rate.mean, *rate.interval(level)], 0, 1, "rate")
        ordered(rate.interval(level), "interval of a rate")
    within(post.confusion_mean, 0, 1, "confusion")
    must(np.allclose(post.confusion_mean.sum(axis=1), 1), "what a class is taken for adds up to 1")
    json.dumps(post.summary(level), allow_nan=False)


def honest(scores: Any, rows: int) -> None:
    """Leave-one-out scores: one for each row, or one for each row and class."""
    must(len(scores.scores) == rows and scores.scores.ndim in (1, 2), "scores of every row")
    must(np.all(np.isfinite(scores.scores)), f"scores are not finite: {scores.scores!r}")
    within(scores.pair_auc, 0, 1, "pair_auc")
    # The bound on the noise of refits is 2.06 - 1.
    within(scores.noise_share, 0, 1.07 if scores.method == "refit" else 1, "noise_share")
    within(scores.match, -1, 1, "match")
    html(scores)


def number(value: Any) -> None:
    """One AUC or an array of them."""
    within(value, 0, 1, "value")


def several(posts: Any, level: float = 0.95) -> None:
    """Posteriors of many classifiers at once."""
    within(posts.mean, 0, 1, "means")
    must(len(posts) == len(posts.mean), "one mean each")
    auc(posts[0], level)


def estimate(value: Any) -> None:
    """A baseline's AUCEstimate."""
    number(float(value))
    if value.se is not None:
        within(value.se, 0, 10, "se")
    if value._bounds is not None:
        within(value.interval(0.9), 0, 1, "interval")
        ordered(value.interval(0.9), "interval")
    must(float(pickle.loads(pickle.dumps(value))) == float(value), "pickle")


def stats(found: Any) -> None:
    """Counts, means and scatters of both classes."""
    must(found.n0 >= 0 and found.n1 >= 0, "negative counts")
    for each in (found.mean0, found.mean1, found.scatter0, found.scatter1):
        must(not np.any(np.isnan(each)), f"a moment is nan: {found!r}")
    must(np.all(np.asarray(found.scatter0) >= 0) and np.all(np.asarray(found.scatter1) >= 0), "negative scatter")


def comparison(found: Any, level: float = 0.95) -> None:
    """Difference of two AUCs."""
    within(found.difference.mean, -1, 1, "difference")
    within(found.difference.sd, 0, 1, "sd")
    within(found.difference.interval(level), -1, 1, "interval")
    ordered(found.difference.interval(level), "interval")
    ordered(found.difference.cdf(np.linspace(-1, 1, 21)), "cdf")
    chances = (found.prob_a_better, found.prob_rope, found.prob_b_better)
    within(chances, 0, 1, "probabilities")
    must(math.isclose(sum(chances), 1, abs_tol=1e-6), f"probabilities add up to {sum(chances)}")
    within(found.correlation, -1, 1, "correlation")
    printable(found, found.summary(level))
    html(found)


def ranking(found: Any, level: float = 0.95) -> None:
    """Probabilities to be the best."""
    chances = list(found.prob_best.values())
    within(chances, 0, 1, "prob_best")
    must(math.isclose(sum(chances), 1, abs_tol=1e-6), f"prob_best adds up to {sum(chances)}")
    for model in found.models:
        rate(model.auc, level)
    printable(found, found.summary(level))


def diagnosis(found: Any) -> None:
    """Findings with texts, and a verdict."""
    must(found.verdict in ("trust", "caution", "do not use"), found.verdict)
    json.dumps(found.summary())
    for finding in found.findings:
        must(finding.text and finding.advice, f"an empty finding: {finding!r}")
        must(" nan" not in f" {finding.text}", f"a finding speaks of nan: {finding.text}")
    if found.auc is not None:
        auc(found.auc)
    str(found)
    html(found)


def curve(found: Any, level: float = 0.95) -> None:
    """A LearningCurve."""
    ordered(found.rows, "rows")
    within(found.half_widths, 0, 0.5, "half widths")
    for post in found.posteriors:
        rate(post, level)
    printable(found, found.summary(level))


def plan(found: Any) -> None:
    """A SamplePlan."""
    must(found.n == found.n0 + found.n1 and found.n0 > 0 and found.n1 > 0, f"counts: {found!r}")
    within(found.half_width, 0, 0.5, "half width")
    printable(found, found.summary())


def measure(found: Any, level: float, what: str) -> None:
    """A Measure, of one number or of several: a mean inside of its interval's reach, and an apparent value."""
    mean, (low, high) = np.asarray(found.mean, dtype=float), found.interval(level)
    for each in (mean, found.sd, low, high):
        must(np.all(np.isfinite(np.asarray(each, dtype=float))), f"{what} is not finite: {found!r}")
    must(not np.any(np.isnan(found.apparent)), f"{what} without an apparent value")  # an apparent slope may be infinite
    must(np.all(np.asarray(low) <= np.asarray(high)), f"interval of {what} is not in order: {found!r}")
    must(np.all(np.asarray(found.sd) >= 0), f"sd of {what} is negative")


def measures(found: Any, level: float = 0.95) -> None:
    """An Analysis whose probabilities are asked for everything that is read off them."""
    for name in ("brier", "log_loss"):
        measure(getattr(found, name), level, name)
    for name in ("accuracy", "balanced_accuracy"):
        rate(getattr(found, name), level)
    if found.several_classes:
        return
    for name in ("oe",) if found.calibration.certain else ("slope", "intercept", "oe"):
        measure(getattr(found.calibration, name), level, name)
    measure(found.average_precision, level, "average precision")
    measure(found.net_benefit([0.05, 0.5, 0.95]), level, "net benefit")
    error(found.at(probability=0.3), level)
    error(found.at(sensitivity=0.9), level)
    error(found.at(specificity=0.9), level)


def validation(found: Any) -> None:
    """A Validation: the same figures in every form."""
    certain = any("exactly 0 or 1" in note for note in found.notes)  # refits without slope and intercept
    for line in found.lines:
        if not (certain and line["measure"].startswith("calibration")):
            must(None not in (line["honest"], line["low"], line["high"]), f"{line['measure']} is no number")
            ordered([line["low"], line["high"]], line["measure"])
    json.loads(found.to_json(), parse_constant=lambda word: must(False, f"{word} in JSON"))
    for text in (found.to_markdown(), found.to_latex(), str(found)):
        must(" nan" not in text, f"a table shows nan: {text}")
    html(found)


def permutations(found: Any) -> None:
    """A PermutationTest."""
    within([found.statistic, *found.null], 0, 1, "AUC of left-out rows")
    count = 1 + int(np.count_nonzero(found.null >= found.statistic - SLACK))
    must(math.isclose(found.p_value, count / (1 + found.null.size), abs_tol=1e-12), f"p-value {found.p_value}")
    printable(found, found.summary())


def decoding(found: Any) -> None:
    """A Decoding: one AUC and one p-value for every point."""
    must(len(found.auc) == len(found.p_values), "one p-value each")
    within(found.p_values, 0, 1, "p-values")
    for post in found.auc:
        rate(post, 0.95)
    must("nan" not in repr(found).lower(), f"repr shows nan: {found!r}")


def search(found: Any) -> None:
    """A fitted FoldlessSearch."""
    if hasattr(found, "posterior_"):
        auc(found.posterior_)
    auc(found.best_posterior_)
    within(found.best_score_, 0, 1, "best_score_")
    within(found.optimism_, 0, 1, "optimism_")
    must(found.path_ in ("shared", "general"), found.path_)
