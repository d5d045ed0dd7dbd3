"""The learning curve: what more rows would bring."""

from __future__ import annotations

from typing import Any

from foldless._html import numbers
from foldless.display import style
from foldless.display.learning_curve import LearningCurveDisplay
from foldless.plan.learning import learning_curve
from foldless.reporting import pictures
from foldless.reporting.case import TWO_ONLY, Case, Part

FACTORS = (1, 2, 5)
COLUMNS = ("rows", "auc", "low", "high", "half_width_then")
ZOOM = 0.75


def part(case: Case) -> Part:
    """The AUC to expect with 2 and 5 times the rows, as a table and a picture."""
    if not case.two_classes:
        return Part.skipped(TWO_ONLY)
    found = learning_curve(case.estimator, case.X, case.y, FACTORS, **case.about)
    content = found.summary(case.level)
    words = "; ".join(f"{p['rows']} rows: {numbers.estimate(p['auc'], p['low'], p['high'])}" for p in content["points"])
    rows, mean, low, high, half = ([p[key] for p in content["points"]] for key in COLUMNS)

    def draw(ax: Any) -> None:
        drawn = LearningCurveDisplay(rows, mean, low, high, half, case.level).plot(ax)
        lowest = min(low)
        if lowest > ZOOM:  # chance is far below, and the picture would be empty
            drawn.chance_level_.remove()
            ax.set_ylim(lowest - 0.3 * (1 - lowest) - 0.02, 1.003)
            style.legend(ax, loc="lower right")

    return Part(content, {"learning": pictures.svg("learning", f"AUC to expect: {words}.", draw, 3.0)})
