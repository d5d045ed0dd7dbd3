"""Do intervals from given scores hold the truth, whatever the law of the scores?

    python -m foldless_studies.evidence.given_scores > results/given_scores.md

Scores of rows that no classifier was trained on, with a known AUC. About a quarter of an hour.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq
from scipy.special import ndtri

import foldless as fl
from foldless_studies.evidence import begin, begin_table, print_row
from foldless_studies.sampling import Floats

SAMPLES = 500
SIZES = ((8, 8), (20, 20), (40, 70), (10, 100), (300, 300), (2000, 2000))
TRUTHS = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98, 0.999)
DRAWN, FARTHEST = 400_000, 200.0  # scores of each class that tell the true AUC, and the largest distance of the classes
FAR = 0.979  # truths beyond: an interval that holds them too often is no fault
CALIBRATED = (0.88, 0.92)
TEXT = f"""\
{SAMPLES} samples of each kind, truths from {TRUTHS[0]} to {TRUTHS[-1]}.
Held: share of 90 % intervals that hold the truth, the least and the greatest over the truths; the same for DeLong's,
AUC and 1.645 standard errors. Width: that of the interval in widths of DeLong's, the median over the truths. Error: the
root mean square error, likewise."""


def _levels(z: Floats, d: float, positive: bool) -> Floats:
    return np.digitize(z + d * positive, d / 2 + np.array([-1.5, -0.5, 0.5, 1.5])).astype(float)


def _mixture(z: Floats, d: float, positive: bool, rng: np.random.Generator) -> Floats:
    return z + d * positive * np.where(rng.random(z.size) < 0.7, 1.4, 0.2)


Law = Callable[[np.random.Generator, int, float, bool], Floats]
LAWS: dict[str, Law] = {
    "normal": lambda rng, n, d, positive: rng.standard_normal(n) + d * positive,
    "lognormal": lambda rng, n, d, positive: np.exp(rng.standard_normal(n) + d * positive),
    "t, 3 df": lambda rng, n, d, positive: rng.standard_t(3, n) + d * positive,
    "mixture": lambda rng, n, d, positive: _mixture(rng.standard_normal(n), d, positive, rng),
    "five levels": lambda rng, n, d, positive: _levels(rng.standard_normal(n), d, positive),
    "sd 2 : 1": lambda rng, n, d, positive: (1 + positive) * rng.standard_normal(n) + d * positive,
}


@dataclass(frozen=True)
class Cell:
    """One law, truth and size: how often the intervals hold the truth, their width and error, and those of DeLong."""

    truth: float
    held: float
    held_by_delong: float
    width: float
    error: float


def auc_at(law: Law, d: float) -> float:
    """The true AUC of classes at this distance."""
    rng = np.random.default_rng(11)
    negative, positive = np.sort(law(rng, DRAWN, d, False)), law(rng, DRAWN, d, True)
    below = np.searchsorted(negative, positive) + np.searchsorted(negative, positive, side="right")
    return float(below.mean() / (2 * DRAWN))


def cell(law: Law, d: float, truth: float, n0: int, n1: int) -> Cell:
    """Draw the samples of a cell."""
    rng, y = np.random.default_rng([int(truth * 1000), n0, n1]), np.repeat([0, 1], [n0, n1])
    z, got = float(ndtri(0.95)), []
    for _ in range(SAMPLES):
        scores = np.concatenate([law(rng, n0, d, False), law(rng, n1, d, True)])
        post, rival = fl.auc_posterior_from_scores(y, scores), fl.baselines.delong(y, scores)
        half = z * (rival.se or 0.0)
        got.append((*post.interval(0.9), max(0.0, rival - half), min(1.0, rival + half), post.mean, rival))
    low, high, its_low, its_high, mean, its = np.array(got).T
    held, its_held = ((low <= truth) & (truth <= high)).mean(), ((its_low <= truth) & (truth <= its_high)).mean()
    errors = np.sqrt([np.mean((x - truth) ** 2) for x in (mean, its)])
    ratio = float((high - low).mean() / (its_high - its_low).mean())
    return Cell(truth, float(held), float(its_held), ratio, float(errors[0] / errors[1]))


def cells(law: Law) -> dict[tuple[int, int], list[Cell]]:
    """All cells of a law, by size; without those whose truth it cannot have."""
    found: dict[tuple[int, int], list[Cell]] = {size: [] for size in SIZES}
    for wanted in TRUTHS:
        if auc_at(law, 0.0) > wanted + 0.01 or (wanted == 0.5 and law in (LAWS["mixture"], LAWS["sd 2 : 1"])):
            continue
        d = 0.0 if wanted == 0.5 else float(brentq(lambda d, a=wanted: auc_at(law, d) - a, 0.0, FARTHEST, xtol=1e-4))
        for size in SIZES:
            found[size].append(cell(law, d, auc_at(law, d), *size))
    return found


def main() -> None:
    """Print the page."""
    begin("given_scores", "Intervals from given scores", TEXT)
    begin_table("law | rows | held | by DeLong | width | error", left=2)
    every: list[Cell] = []
    for name, law in LAWS.items():
        for (n0, n1), found in cells(law).items():
            every += found
            held, rival = ([getattr(c, what) for c in found] for what in ("held", "held_by_delong"))
            figures = (f"{min(x):.3f} to {max(x):.3f}" for x in (held, rival))
            ratios = (f"{np.median([getattr(c, what) for c in found]):.2f}" for what in ("width", "error"))
            print_row(name, f"{n0} + {n1}", *figures, *ratios)
    summary(every)


def summary(every: list[Cell]) -> None:
    """Print how many cells keep to their level."""
    held = np.array([c.held for c in every])
    near = np.array([c.truth > FAR for c in every])
    right = ((held >= 0.85) & (held <= 0.97)).mean()
    widths = [c.width for c in every if CALIBRATED[0] <= c.held_by_delong <= CALIBRATED[1]]
    print(
        f"\n{held.size} cells: {right:.1%} hold the truth in 85 to 97 % of their samples, "
        f"{((held > 0.97) & near).mean():.1%} more often at a truth above {FAR} (no fault), {(held < 0.85).mean():.1%} "
        f"less often, {held.min():.3f} at worst. Where DeLong's intervals hold it in 88 to 92 % ({len(widths)} cells), "
        f"ours are {np.mean(widths):.3f} of their width, {max(widths):.2f} at most."
    )


if __name__ == "__main__":
    main()
