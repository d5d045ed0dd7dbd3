"""The ROC curve with its band."""

from __future__ import annotations

from typing import Any

from foldless._html import numbers
from foldless.display.curves import ROCCurve
from foldless.display.roc import ROCPosteriorDisplay
from foldless.estimate import roc_posterior
from foldless.reporting import pictures
from foldless.reporting.case import TWO_ONLY, Case, Part
from foldless.reporting.rates import at_own_threshold

FPR = (0.05, 0.1, 0.2, 0.3)


def part(case: Case) -> Part:
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
    words = (
        f"ROC curve with its {numbers.percent(case.level)} band. "
        + "; ".join(
            f"at a false positive rate of {p['fpr']:g} the true positive rate is {numbers.rate(p['mean'])}"
            for p in content["points"]
        )
        + "."
    )

    def draw(ax: Any) -> None:
        ROCPosteriorDisplay({"": curve}).plot(ax)

    return Part(content, {"roc": pictures.svg("roc", words, draw, 4.0, 4.2)})
