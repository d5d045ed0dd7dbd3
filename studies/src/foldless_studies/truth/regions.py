"""Where the library misses the truth: regions of situations, tests that may be looked at any time, and where to look.

A region is tested with a betting game. Against "the intervals hold the truth in at least 82 %" each situation
multiplies the stake by q/.82 if the interval holds and by (1 - q)/.18 if not, for several q below .82, with an equal
share of the stake on each. If the claim is true the stake does not grow in expectation, however long one plays and
whenever one stops: it reaches 1/a with probability at most a. The same for false alarms.

Two kinds of regions are tested, each at half of the 5 %: every level and every pair of levels, on the situations drawn
at large; and suspects of several levels, which looked bad in the rounds before, on situations drawn for them since.
With R regions of a kind, and a = .025 / (2 R), some region is named wrongly in at most 5 % of runs; of the level of
the suspects the first ones have half.
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
GIVEN_UP = -3.0  # evidence below which a region is left: about that of 5 % of alarms in LEAST answers
DEEPEST, WIDTH, FEWEST = 5, 30, 6  # levels of a suspect, regions that the search goes on with, answers of a region


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
    bias: float  # mean of (answer - truth), in widths of the interval
    low: float  # logarithm of the stake against "held at least"
    loud: float  # the same against "alarms at most"
    example: str  # a situation that went wrong

    def condemned(self, count: int) -> bool:
        """Whether the claim is refuted, with `count` regions looked at."""
        return self.answers >= LEAST and self.evidence > needed(count)

    def undecided(self, count: int) -> bool:
        """Whether more situations are worth their while: not condemned, and not known to be harmless either."""
        return self.answers < LEAST or (self.evidence > GIVEN_UP and not self.condemned(count))

    @property
    def evidence(self) -> float:
        return max(self.low, self.loud)


def needed(count: int) -> float:
    """The evidence that condemns one of `count` regions of a kind."""
    return float(np.log(4 * count / FAMILY_WISE))


def smallest_condemned(count: int, claim: float, answers: int = LEAST) -> float:
    """The smallest share of wrong answers of so many that condemns one of `count` regions."""
    wrong = (k for k in range(answers + 1) if log_stake(np.arange(answers) >= k, claim) > needed(count))
    return next(wrong, answers) / answers


@dataclass(frozen=True, eq=False)
class Ledger:
    """The answers without a caution of their own, as arrays: the levels of each, what it was drawn for, how it went.

    A situation answers its own question and others besides, each with its question as a level. A region that names a
    question counts all answers to it, another one the answers to the situations' own questions: one of each situation.
    """

    tasks: Any
    levels: dict[str, Any]
    drawn_for: Any
    main: Any  # whether it answers the situation's own question
    held: Any  # 1, 0, or NaN where there was nothing to hold
    alarm: Any
    bias: Any

    @classmethod
    def of(cls, lines: Sequence[Line]) -> Ledger:
        mine = [line for line in lines if "held" in line and not line["doubts"]]
        every = [(line, line["levels"]["question"], line) for line in mine]
        every += [(line, name, answer) for line in mine for name, answer in line["besides"].items()]
        every = [each for each in every if (each[2]["held"], each[2]["alarm"]) != (None, None)]  # nothing to judge
        levels = {factor: np.array([line["levels"][factor] for line, _, _ in every]) for factor in FACTORS}
        return cls(
            np.array([line["task"] for line, _, _ in every]),
            {**levels, "question": np.array([name for _, name, _ in every])},
            np.array([line["task"].partition(":")[2] for line, _, _ in every]),
            np.arange(len(every)) < len(mine),
            np.array([answer["held"] for _, _, answer in every], dtype=np.float64),
            np.array([answer["alarm"] for _, _, answer in every], dtype=np.float64),
            np.array([answer["bias"] for _, _, answer in every], dtype=np.float64),
        )

    def among(self, region: Region) -> Any:
        """Answers that a region counts, whatever they were drawn for."""
        mine = np.all([self.levels[factor] == level for factor, level in region], axis=0)
        return mine if "question" in dict(region) else mine & self.main

    def evidence(self, mine: Any) -> tuple[float, float]:
        """Logarithms of the stakes against both claims, of some of the answers; of none, minus infinity."""
        held, alarm = (each[mine & ~np.isnan(each)] == 1 for each in (self.held, self.alarm))
        told = ((held, HELD), (~alarm, 1 - ALARMS))
        low, loud = (log_stake(right, claim) if right.size else -np.inf for right, claim in told)
        return low, loud

    @cached_property
    def wrong(self) -> Any:
        """Whether an answer misses the truth, or finds something where there is nothing."""
        return (self.held == 0) | (self.alarm == 1)


def figures_of(region: Region, ledger: Ledger, drawn_for: str = "") -> Figures:
    """The figures of a region, from situations drawn at large, or for a suspect."""
    mine = ledger.among(region) & (ledger.drawn_for == drawn_for)
    held, alarms, bias = (each[mine & ~np.isnan(each)] for each in (ledger.held, ledger.alarm, ledger.bias))
    wrong = np.flatnonzero(mine & ledger.wrong)
    return Figures(
        region,
        int(mine.sum()),
        float(held.mean()) if held.size else float("nan"),
        float(alarms.mean()) if alarms.size else float("nan"),
        float(bias.mean()) if bias.size else float("nan"),
        *ledger.evidence(mine),
        str(ledger.tasks[wrong[0]]) if wrong.size else "",
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


def region_of(text: str) -> Region:
    """The region that `text_of` gives this text for."""
    return tuple((factor, level) for factor, _, level in (part.partition("=") for part in text.split(";")))


def suspects(ledger: Ledger, count: int) -> list[Region]:
    """The regions that look worst, for the next situations: level by level, the WIDTH worst of them going on.

    Of many regions the worst by chance looks bad, and the more levels, the more regions there are: each level counts
    against the evidence. A region is left out that shares half of its wrong answers with a worse one.
    """
    levels = {(factor, level): ledger.levels[factor] == level for factor in FACTORS for level in FACTORS[factor]}
    found: dict[Region, tuple[float, Any]] = {}
    front: dict[Region, Any] = {(): np.ones(ledger.main.size, bool)}
    for depth in range(1, DEEPEST + 1):
        deeper = {
            tuple(sorted((*region, one), key=list(levels).index)): mine & has
            for region, mine in front.items()
            for one, has in levels.items()
            if one[0] not in dict(region)
        }
        counted = {r: mine if "question" in dict(r) else mine & ledger.main for r, mine in deeper.items()}
        judged = {r: (max(ledger.evidence(mine)), mine) for r, mine in counted.items() if mine.sum() >= FEWEST}
        worst = sorted(judged, key=lambda region: -judged[region][0])[:WIDTH]
        found |= {region: (judged[region][0] - depth, judged[region][1]) for region in worst}
        front = {region: deeper[region] for region in worst}
    chosen: list[Region] = []
    for region in sorted(found, key=lambda region: -found[region][0]):
        mine = found[region][1] & ledger.wrong
        if all(np.sum(mine & found[other][1]) <= np.sum(mine) / 2 for other in chosen):
            chosen.append(region)
    return [_to_the_point(region, ledger) for region in chosen[:count]]


def _to_the_point(region: Region, ledger: Ledger) -> Region:
    """The same region, where there is nothing to find, if false alarms are what speaks against it."""
    mine = ledger.among(region)
    low, loud = ledger.evidence(mine)
    return region if low >= loud or "effect" in dict(region) else (*region, ("effect", "none"))
