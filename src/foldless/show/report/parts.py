"""The parts of a report that are read off the analysis: AUC, ROC curve, rates, learning curve, diagnosis."""

from __future__ import annotations

from typing import Any

from foldless import words
from foldless.cards.drawing import density_curve
from foldless.estimate import auc_posterior, diagnose, error_posterior, roc_posterior
from foldless.model.steps import why_unknown
from foldless.plan.learning import learning_curve
from foldless.results.classes import MulticlassAUCPosterior
from foldless.results.error import ErrorPosterior
from foldless.show import style
from foldless.show.auc import AUCPosteriorDisplay
from foldless.show.comparison import LearningCurveDisplay
from foldless.show.report import page
from foldless.show.report.case import TWO_ONLY, Case, Part
from foldless.show.roc import ROCCurve, ROCPosteriorDisplay

# ---- The AUC: its posterior, and the density drawn; with more than two classes the pairs as well.


def auc_part(case: Case) -> Part:
    """The answer of `auc_posterior`, and its picture."""
    post = auc_posterior(case.estimator, case.X, case.y, **case.about)
    content: dict[str, Any] = post.summary(case.level)
    if isinstance(post, MulticlassAUCPosterior):
        content["weakest"] = list(post.pairwise.weakest())
    curve = density_curve(post, case.level)
    quantity = "average AUC" if isinstance(post, MulticlassAUCPosterior) else "AUC"
    alt = (
        f"Posterior density of the {quantity}: mean {words.rate(post.mean)}, {words.percent(case.level)} interval "
        f"{words.span(content['low'], content['high'])}."
    )

    def draw(ax: Any) -> None:
        AUCPosteriorDisplay({"": curve}, quantity=quantity).plot(ax)
        ax.set_yticks([])

    return Part(content, {"density": page.svg("density", alt, draw, 2.1)})


# ---- Sensitivity, specificity and predictive values where the classifier itself decides.

NO_THRESHOLD = (
    "Given weights rank rows but draw no line between the classes: pass a threshold to foldless.error_posterior."
)


def rates_part(case: Case) -> Part:
    """The rates at the threshold of the classifier and the prevalence of the data."""
    if not case.two_classes:
        return Part.skipped(TWO_ONLY)
    post, reason = at_own_threshold(case)
    return Part.skipped(reason) if post is None else Part(post.summary(case.level))


def at_own_threshold(case: Case) -> tuple[ErrorPosterior | None, str]:
    """The rates where ``predict`` changes its mind; or why they are not known."""
    if case.is_weights:
        return None, NO_THRESHOLD
    if (reason := why_unknown(case.estimator)) is not None:
        return None, reason
    return error_posterior(case.estimator, case.X, case.y, **case.about), ""


# ---- The ROC curve with its band.

FPR = (0.05, 0.1, 0.2, 0.3)


def roc_part(case: Case) -> Part:
    """True positive rates along the curve, and the curve drawn with the operating point on it."""
    if not case.two_classes:
        return Part.skipped(f"{TWO_ONLY} See the pairs of classes above.")
    roc = roc_posterior(case.estimator, case.X, case.y, **case.about)
    own = at_own_threshold(case)[0]
    curve = ROCCurve.of(roc, case.level, own)
    content: dict[str, Any] = {
        "level": case.level,
        "points": [{"fpr": f, **roc.tpr_at(f, case.level)._asdict()} for f in FPR],
        "curve": {"fpr": curve.fpr, "tpr": curve.mean, "low": curve.low, "high": curve.high},
        "notes": list(roc.notes),
    }
    alt = (
        f"ROC curve with its {words.percent(case.level)} band. "
        + "; ".join(
            f"at a false positive rate of {p['fpr']:g} the true positive rate is {words.rate(p['mean'])}"
            for p in content["points"]
        )
        + "."
    )

    def draw(ax: Any) -> None:
        ROCPosteriorDisplay({"": curve}).plot(ax)

    return Part(content, {"roc": page.svg("roc", alt, draw, 4.0, 4.2)})


# ---- The learning curve: what more rows would bring.

FACTORS = (1, 2, 5)
COLUMNS = ("rows", "auc", "low", "high", "half_width_then")
ZOOM = 0.75


def learning_curve_part(case: Case) -> Part:
    """The AUC to expect with 2 and 5 times the rows, as a table and a picture."""
    if not case.two_classes:
        return Part.skipped(TWO_ONLY)
    found = learning_curve(case.estimator, case.X, case.y, FACTORS, **case.about)
    content = found.summary(case.level)
    alt = "; ".join(f"{p['rows']} rows: {words.estimate(p['auc'], p['low'], p['high'])}" for p in content["points"])
    rows, mean, low, high, half = ([p[key] for p in content["points"]] for key in COLUMNS)

    def draw(ax: Any) -> None:
        drawn = LearningCurveDisplay(rows, mean, low, high, half, case.level).plot(ax)
        lowest = min(low)
        if lowest > ZOOM:  # chance is far below, and the picture would be empty
            drawn.chance_level_.remove()
            ax.set_ylim(lowest - 0.3 * (1 - lowest) - 0.02, 1.003)
            style.legend(ax, loc="lower right")

    return Part(content, {"learning": page.svg("learning", f"AUC to expect: {alt}.", draw, 3.0)})


# ---- The diagnosis: all findings, and the verdict.


def diagnosis_part(case: Case) -> Part:
    """The findings of `diagnose`, the worst first; the AUC is told elsewhere."""
    if not case.two_classes:
        return Part.skipped(f"{TWO_ONLY} Notes on the fit, if any, stand at the top.")
    found = diagnose(case.estimator, case.X, case.y, **case.about)
    content: dict[str, Any] = {key: value for key, value in found.summary().items() if key != "auc"}
    return Part(content)
