"""Do intervals from given scores hold the truth, whatever the law of the scores?

    python -m foldless_studies.evidence.given_scores > results/given_scores.md

Scores of rows that no classifier was trained on, with a known AUC; then of real classifiers, on rows of the data sets
in the folder FOLDLESS_DATA. Twenty minutes; names of parts (laws, real) may be given.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import brentq
from scipy.special import ndtri
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import foldless as fl
from foldless_studies.data import VARIABLE, load, npz_files, split, unusable
from foldless_studies.estimators import holds
from foldless_studies.evidence import begin_table, print_parts, print_row
from foldless_studies.sampling import Floats, Labels, measured, source

SAMPLES = 500
SIZES = ((8, 8), (20, 20), (40, 70), (10, 100), (300, 300), (2000, 2000))
TRUTHS = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98, 0.999)
DRAWN, FARTHEST = 400_000, 200.0  # scores of each class that tell the true AUC, and the largest distance of the classes
FAR = 0.979  # truths beyond: an interval that holds them too often is no fault
CALIBRATED = (0.88, 0.92)
TRAINED, FRESH, LEFT = 80, (40, 80, 200), 200  # rows: to train on, fresh, and left for the truth at the least
SPLITS, DRAWS = 8, 6  # fits to a data set, and samples of fresh rows for each
MODELS: dict[str, Any] = {
    "logistic regression": make_pipeline(StandardScaler(), LogisticRegression(max_iter=2000)),
    "forest": RandomForestClassifier(random_state=0),
    "boosting": GradientBoostingClassifier(n_estimators=50, random_state=0),
}
TEXT = f"""\
{SAMPLES} samples of each kind, truths from {TRUTHS[0]} to {TRUTHS[-1]}.
Held: share of 90 % intervals that hold the truth, the least and the greatest over the truths; the same for DeLong's,
AUC and 1.645 standard errors. Width: that of the interval in widths of DeLong's, the median over the truths. Error: the
root mean square error, likewise."""
REAL_TEXT = f"""\
Classifiers trained on {TRAINED} rows of a data set and asked about others; the truth is the AUC of the rows left over,
{LEFT} and twice the fresh ones at the least. {SPLITS} fits to every set of independent rows that is large enough, and
{DRAWS} samples of fresh rows each. Share of 90 % intervals that hold the truth, allowing for its noise (samples)."""


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


Cell = tuple[float, float, float, float, float]  # truth; held, and by DeLong's intervals; width, error beside his


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
    return truth, float(held), float(its_held), ratio, float(errors[0] / errors[1])


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


def laws() -> None:
    """Print cover, width and error by law and size."""
    begin_table("law | rows | held | by DeLong | width | error", left=2)
    every: list[Cell] = []
    for name, law in LAWS.items():
        for (n0, n1), found in cells(law).items():
            every += found
            _, held, rival, *ratios = np.array(found).T
            ranges = (f"{x.min():.3f} to {x.max():.3f}" for x in (held, rival))
            print_row(name, f"{n0} + {n1}", *ranges, *(f"{np.median(x):.2f}" for x in ratios))
    truth, held, rival, width, _ = np.array(every).T
    widths = width[(rival >= CALIBRATED[0]) & (rival <= CALIBRATED[1])]
    print(
        f"\n{held.size} cells: {((held >= 0.85) & (held <= 0.97)).mean():.1%} hold the truth in 85 to 97 % of their "
        f"samples, {((held > 0.97) & (truth > FAR)).mean():.1%} more often at a truth above {FAR} (no fault), "
        f"{(held < 0.85).mean():.1%} less often, {held.min():.3f} at worst. Where DeLong's intervals hold it in 88 to "
        f"92 % ({widths.size} cells), ours are {widths.mean():.3f} of their width, {widths.max():.2f} at most."
    )


def real() -> None:
    """Print how often intervals from scores of real classifiers hold the truth."""
    print(f"\n## Real scores on fresh rows\n\n{REAL_TEXT}\n")
    begin_table(" | ".join(["classifier", *(f"{n} rows" for n in FRESH)]))
    usable = [file for file in npz_files(Path(os.environ[VARIABLE])) if unusable(file) is None]
    files = [file for file in usable if load(file)[1].size >= TRAINED + FRESH[0] + LEFT]
    for name, model in MODELS.items():
        held = np.concatenate([held_on_fresh_rows(model, file, k) for file in files for k in range(SPLITS)])
        print_row(name, *(f"{np.nanmean(x):.3f} ({np.isfinite(x).sum()})" for x in held.T))


def held_on_fresh_rows(model: Any, file: Path, number: int) -> Floats:
    """Whether intervals of fresh rows hold the AUC of those left over, DRAWS x FRESH; NaN where too few are left."""
    (X, y), rng = load(file), source(21, file.stem, number)
    train = split(y, TRAINED, rng)
    rest = np.setdiff1d(np.arange(y.size), train)
    scores = model.fit(X[train], y[train]).predict_proba(X[rest])[:, 1]
    return np.array([[_held(y[rest], scores, n, rng) for n in FRESH] for _ in range(DRAWS)])


def _held(y: Labels, scores: Floats, n: int, rng: np.random.Generator) -> float:
    if y.size - n < max(LEFT, 2 * n):
        return np.nan
    fresh = np.isin(np.arange(y.size), split(y, n, rng))
    posterior = fl.auc_posterior_from_scores(y[fresh], scores[fresh])
    return holds(posterior, measured(y[~fresh], scores[~fresh]), 0.9)


if __name__ == "__main__":
    print_parts("given_scores", "Intervals from given scores", TEXT, {"laws": laws, "real": real})
