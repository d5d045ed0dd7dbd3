"""Where the library misses the truth: regions of situations, tests that may be looked at any time, and where to look.

A region is tested with a betting game. Against "the intervals hold the truth in at least 82 %" each situation
multiplies the stake by q/.82 if the interval holds and by (1 - q)/.18 if not, for several q below .82, with an equal
share of the stake on each. If the claim is true the stake does not grow in expectation, however long one plays and
whenever one stops: it reaches 1/a with probability at most a. The same for false alarms. With R regions and
a = .05 / (2 R), some region is named wrongly in at most 5 % of runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import combinations
from typing import Any

import numpy as np

from foldless_studies.truth.situations import FACTORS, Region, fits

Line = dict[str, Any]

HELD, ALARMS = 0.82, 0.08  # what is claimed of every region: at least, at most
FAMILY_WISE = 0.05
LEAST = 200  # answers without a caution that a region needs to be judged


@cache
def regions() -> tuple[Region, ...]:
    """Every level of a factor, and every pair of levels of two factors that occur together."""
    levels = [(factor, level) for factor, all_levels in FACTORS.items() for level in dict.fromkeys(all_levels)]
    pairs = [(a, b) for a, b in combinations(levels, 2) if a[0] != b[0]]
    return (*((one,) for one in levels), *(pair for pair in pairs if _occurs(pair)))


def _occurs(region: Region) -> bool:
    rng = np.random.default_rng(0)
    drawn = ({f: str(rng.choice(levels)) for f, levels in FACTORS.items()} | dict(region) for _ in range(200))
    return any(fits(levels) for levels in drawn)


@dataclass(frozen=True)
class Figures:
    """What happened in a region, where the answer called for no caution itself."""

    region: Region
    answers: int
    held: float  # share of intervals that hold the truth; NaN without any
    alarms: float  # share of false alarms where there is nothing to find
    low: float  # logarithm of the stake against "held at least"
    loud: float  # the same against "alarms at most"
    example: str  # a situation that went wrong

    def condemned(self, count: int) -> bool:
        """Whether the claim is refuted, with `count` regions looked at."""
        return self.answers >= LEAST and max(self.low, self.loud) > np.log(2 * count / FAMILY_WISE)


@dataclass(frozen=True, eq=False)
class Ledger:
    """The answers without a caution of their own, as arrays: the levels of each, what it was drawn for, how it went."""

    lines: Sequence[Line]
    levels: dict[str, Any]
    drawn_for: Any
    held: Any  # 1, 0, or NaN where there was nothing to hold
    alarm: Any

    @classmethod
    def of(cls, lines: Sequence[Line]) -> Ledger:
        mine = [line for line in lines if "held" in line and not line["doubts"]]
        return cls(
            mine,
            {factor: np.array([line["levels"][factor] for line in mine]) for factor in FACTORS},
            np.array([line["task"].partition(":")[2] for line in mine]),
            np.array([line["held"] for line in mine], dtype=np.float64),
            np.array([line["alarm"] for line in mine], dtype=np.float64),
        )

    def among(self, region: Region) -> Any:
        """Answers that count for a region: those drawn for another one would weigh its levels wrongly."""
        at_large = (self.drawn_for == "") | (self.drawn_for == text_of(region))
        return at_large & np.all([self.levels[factor] == level for factor, level in region], axis=0)

    @cached_property
    def wrong(self) -> Any:
        """Whether an answer misses the truth, or finds something where there is nothing."""
        return (self.held == 0) | (self.alarm == 1)


def figures_of(region: Region, ledger: Ledger) -> Figures:
    """The figures of a region, from situations drawn at large and from those drawn for it."""
    mine = ledger.among(region)
    held, alarms = (each[mine & ~np.isnan(each)] == 1 for each in (ledger.held, ledger.alarm))
    wrong = np.flatnonzero(mine & ledger.wrong)
    return Figures(
        region,
        int(mine.sum()),
        float(held.mean()) if held.size else float("nan"),
        float(alarms.mean()) if alarms.size else float("nan"),
        log_stake(held, HELD),
        log_stake(~alarms, 1 - ALARMS),
        ledger.lines[wrong[0]]["task"] if wrong.size else "",
    )


def log_stake(right: Any, claim: float) -> float:
    """Logarithm of the stake after these outcomes, against P(right) >= claim.

    Examples
    --------
    >>> log_stake(np.array([True] * 9 + [False]), 0.9) < 0 < log_stake(np.zeros(5, bool), 0.9)
    True
    """
    q = claim - (1 - claim) * np.array([0.25, 0.5, 1.0, 2.0])
    hits, misses = int(np.sum(right)), int(right.size - np.sum(right))
    bets = hits * np.log(q / claim) + misses * np.log((1 - q) / (1 - claim))
    return float(np.logaddexp.reduce(bets) - np.log(q.size))


def text_of(region: Region) -> str:
    """A region in words, as in the key of a situation."""
    return ";".join(f"{factor}={level}" for factor, level in region)


def to_look_at(all_regions: Sequence[Region], ledger: Ledger, rng: np.random.Generator, count: int) -> list[Region]:
    """The regions that the next situations are drawn from: those that look worst, each a plausible draw (Thompson)."""
    pairs = [region for region in all_regions if len(region) == 2]
    among = [ledger.among(region) for region in pairs]
    wrong = np.array([np.sum(ledger.wrong[mine]) for mine in among])
    right = np.array([mine.sum() for mine in among]) - wrong
    # A prior of one wrong answer in ten: a region without answers is looked at, but not before one that looks bad.
    draws = rng.beta(1 + wrong, 9 + right, size=(count, len(pairs)))
    return [pairs[k] for k in draws.argmax(axis=1)]
