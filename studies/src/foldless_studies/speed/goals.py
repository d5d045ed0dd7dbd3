"""What the library promises itself about its cost, and whether a run bears it out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Goal:
    """A figure of one measurement, and the bounds it should keep."""

    text: str
    measurement: str
    figure: str
    most: float
    least: float | None = None

    def judged(self, results: Mapping[str, dict[str, Any]]) -> dict[str, Any]:
        """The goal with what was measured."""
        measured = results[self.measurement][self.figure]
        holds = measured <= self.most and (self.least is None or measured >= self.least)
        return {"goal": self.text, "least": self.least, "most": self.most, "measured": measured, "holds": holds}


GOALS = (
    Goal(
        "1,000 classifiers, relative to the product X @ W",
        "many classifiers: 20,000 x 1,000, K = 1,000",
        "ratio_product",
        1.2,
    ),
    Goal("exponent of CBAUC in N", "growth: cbauc with N", "exponent", 1.1, 0.9),
    Goal("exponent of CBAUC in P", "growth: cbauc with P", "exponent", 1.1, 0.9),
    Goal("exponent of CBAUC in K, from 64 on", "growth: cbauc with K", "exponent", 1.1),
)


def judge(results: Mapping[str, dict[str, Any]]) -> list[dict[str, Any]]:
    """All goals, with what a run at full size measured."""
    return [goal.judged(results) for goal in GOALS]
