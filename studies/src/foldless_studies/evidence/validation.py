"""Calibration, Brier score, precision and net benefit against Harrell's bootstrap and repeated folds, with known truth.

    python -m foldless_studies.evidence.validation > results/validation.md

Normal columns, of which five carry a logistic law of the label; the truth is what the fitted model does on 20,000 new
rows. The refits of the rivals are made at once, by Newton steps on all of them. Half an hour; a number of samples may
be given.
"""

from __future__ import annotations

import sys
import warnings
from itertools import product

import numpy as np
from scipy.special import expit, logit
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score
from sklearn.model_selection import StratifiedKFold

import foldless as fl
from foldless_studies.evidence import begin, begin_table, print_row
from foldless_studies.sampling import Floats, Labels

ROWS, COLUMNS, EVENTS, STRENGTHS = (60, 100, 300), (5, 20, 100), (0.1, 0.3, 0.5), (0.01, 1.0, 100.0, 1e6)
INFORMATIVE, EFFECT = 5, 0.7  # columns that count, and the log odds of each
NEW, RESAMPLES, REPEATS, FOLDS = 20_000, 200, 5, 5
MOST_CELLS = 12_000  # of a table: larger ones would take hours
FEWEST = 6  # rows of a class: five folds have to have some
NEWTON_STEPS, SMALL_STEP, CLEAR = 40, 1e-6, 30.0
THRESHOLDS = np.array([0.1, 0.2, 0.3])
MEASURES = ("slope", "intercept", "Brier score", "average precision", *(f"net benefit at {t:g}" for t in THRESHOLDS))
TEXT = f"""\
Logistic regression; {ROWS} rows, {COLUMNS} columns (not both the most), {EVENTS} of the rows positive, C = {STRENGTHS}
(the last, nearly no penalty, where positive rows are at least twice as many as columns); {{samples}} samples of each.
Mean absolute errors over all cells. The bootstrap is Harrell's, with {RESAMPLES} refits, which say little of classes
that the columns separate; {REPEATS} x {FOLDS} folds are pooled within a repeat. Held: share of our 90 % intervals that
hold the truth, over all cells, and in the cell where it is least. The truth is that of {NEW:,} new rows."""


def fits(X: Floats, y: Floats, weights: Floats, C: float) -> Floats:
    """Coefficients, the constant last, of the fits with these weights of the rows: one for each line of weights."""
    A = np.column_stack([X, np.ones(len(X))])
    penalty = np.append(np.full(X.shape[1], 1 / C), 0.0)
    beta = np.zeros((len(weights), A.shape[1]))
    beta[:, -1] = logit(np.clip(weights @ y / weights.sum(axis=1), 0.01, 0.99))

    def loss(beta: Floats) -> Floats:
        z = beta @ A.T
        each = weights * (np.logaddexp(0, z) - y * z)
        return np.asarray(each.sum(axis=1) + 0.5 * beta**2 @ penalty)

    now = loss(beta)
    for _ in range(NEWTON_STEPS):
        p = expit(np.clip(beta @ A.T, -CLEAR, CLEAR))
        slope = (weights * (p - y)) @ A + penalty * beta
        curvature = np.einsum("bn,np,nq->bpq", weights * p * (1 - p), A, A, optimize=True) + np.diag(penalty + 1e-9)
        step = np.linalg.solve(curvature, slope[..., None])[..., 0]
        size = np.ones(len(beta))
        for _ in range(20):
            worse = loss(beta - size[:, None] * step) > now + 1e-9
            if not worse.any():
                break
            size[worse] /= 2
        beta = beta - size[:, None] * step
        last, now = now, loss(beta)
        if np.all(last - now < SMALL_STEP * np.maximum(now, 1.0)):
            break
    return beta


def measured(p: Floats, q: Floats, drawn: Floats) -> Floats:
    """MEASURES, one line for each line of predicted probabilities; q are the true ones, or the labels `drawn`."""
    p = np.atleast_2d(p)
    z = np.clip(logit(np.clip(p, 1e-12, 1 - 1e-12)), -CLEAR, CLEAR)
    slope, _ = _recalibrated(z, q, free_slope=True)
    _, intercept = _recalibrated(z, q, free_slope=False)
    brier = np.mean(q * (1 - p) ** 2 + (1 - q) * p**2, axis=1)
    precision = [average_precision_score(d, each) for d, each in zip(np.broadcast_to(drawn, p.shape), p, strict=True)]
    benefits = [((p > t) * (q - (1 - q) * t / (1 - t))).mean(axis=1) for t in THRESHOLDS]
    return np.column_stack([slope, intercept, brier, precision, *benefits])


def _recalibrated(z: Floats, q: Floats, free_slope: bool) -> tuple[Floats, Floats]:
    """Slope and intercept of the log odds of q on z by Newton's method, line by line."""
    a, b = np.zeros(len(z)), np.ones(len(z))
    for _ in range(NEWTON_STEPS):
        p = expit(np.clip(a[:, None] + b[:, None] * z, -CLEAR, CLEAR))
        w, off = p * (1 - p) + 1e-9, p - q
        if free_slope:
            s0, s1, s2 = w.sum(axis=1), (w * z).sum(axis=1), (w * z * z).sum(axis=1)
            g0, g1, det = off.sum(axis=1), (off * z).sum(axis=1), s0 * s2 - s1**2 + 1e-12
            a, b = a - np.clip((s2 * g0 - s1 * g1) / det, -2, 2), b - np.clip((s0 * g1 - s1 * g0) / det, -0.5, 0.5)
        else:
            a = a - np.clip(off.sum(axis=1) / w.sum(axis=1), -2, 2)
    return b, a


def probabilities(beta: Floats, X: Floats) -> Floats:
    """One line for each line of coefficients."""
    return np.asarray(expit(np.clip(beta[..., :-1] @ X.T + beta[..., -1:], -CLEAR, CLEAR)))


def bootstrap(X: Floats, y: Floats, C: float, apparent: Floats, rng: np.random.Generator) -> Floats:
    """Harrell's: the apparent measures less the mean optimism of refits to resampled rows."""
    picks = np.array([_resampled(y, rng) for _ in range(RESAMPLES)])
    weights = np.array([np.bincount(pick, minlength=y.size) for pick in picks], dtype=float)
    p = probabilities(fits(X, y, weights, C), X)
    seen = measured(np.take_along_axis(p, picks, axis=1), y[picks], y[picks])
    return np.asarray(apparent - np.mean(seen - measured(p, y, y), axis=0))


def _resampled(y: Floats, rng: np.random.Generator) -> Labels:
    while True:
        pick = rng.integers(y.size, size=y.size)
        if 0 < y[pick].sum() < y.size:
            return pick


def repeated_folds(X: Floats, y: Floats, C: float, seed: int) -> Floats:
    """Measures of the predictions for left-out folds, pooled within a repeat, mean over the repeats."""
    found = []
    for repeat in range(REPEATS):
        parts = [test for _, test in StratifiedKFold(FOLDS, shuffle=True, random_state=seed + repeat).split(X, y)]
        weights = np.ones((FOLDS, y.size))
        for k, test in enumerate(parts):
            weights[k, test] = 0.0
        p, pooled = probabilities(fits(X, y, weights, C), X), np.empty(y.size)
        for k, test in enumerate(parts):
            pooled[test] = p[k, test]
        found.append(measured(pooled, y, y)[0])
    return np.asarray(np.mean(found, axis=0))


def ours(model: LogisticRegression, X: Floats, y: Floats) -> tuple[Floats, Floats, Floats]:
    """Means and both ends of the 90 % intervals."""
    a = fl.analyse(model, X, y)
    benefit = a.net_benefit(THRESHOLDS).measures
    measures = (a.calibration.slope, a.calibration.intercept, a.brier, a.average_precision, *benefit)
    low, high = np.array([m.interval(0.9) for m in measures]).T
    return np.array([m.mean for m in measures]), low, high


def trial(n: int, columns: int, events: float, C: float, number: int) -> Floats | None:
    """Errors of foldless and the rivals, and whether the interval holds the truth, for each measure."""
    rng = np.random.default_rng([number, n, columns, int(100 * events)])
    effect = np.where(np.arange(columns) < INFORMATIVE, EFFECT, 0.0)
    new = rng.standard_normal((NEW, columns))
    start = logit(events) * np.sqrt(1 + np.pi * (effect @ effect) / 8)
    X = rng.standard_normal((n, columns))
    y = (rng.random(n) < expit(X @ effect + start)).astype(float)
    if min(y.sum(), n - y.sum()) < FEWEST:
        return None
    model = LogisticRegression(C=C, tol=1e-8, max_iter=5000).fit(X, y)
    q = expit(new @ effect + start)
    drawn = (rng.random(NEW) < q).astype(float)
    truth = measured(model.predict_proba(new)[:, 1], q, drawn)[0]
    apparent = measured(model.predict_proba(X)[:, 1], y, y)[0]
    mean, low, high = ours(model, X, y)
    rivals = bootstrap(X, y, C, apparent, rng), repeated_folds(X, y, C, number)
    errors = [np.abs(each - truth) for each in (mean, *rivals)]
    return np.array([*errors, (low <= truth) & (truth <= high)])


def main() -> None:
    """Print the page."""
    warnings.simplefilter("ignore")
    samples = int(sys.argv[1]) if len(sys.argv) > 1 else 12
    begin("validation", "The whole validation against refits", TEXT.format(samples=samples))
    cells = []
    for n, columns, events, C in product(ROWS, COLUMNS, EVENTS, STRENGTHS):
        if n * columns > MOST_CELLS or (STRENGTHS[-2] < C and events * n < 2 * columns):
            continue
        got = [found for k in range(samples) if (found := trial(n, columns, events, C, k)) is not None]
        if len(got) >= samples / 2:
            cells.append(np.mean(got, axis=0))
            print(n, columns, events, C, np.round(cells[-1], 3).tolist(), file=sys.stderr, flush=True)
    show(np.array(cells))


def show(cells: Floats) -> None:
    """Print the table: cells by foldless, rivals and held, by measures."""
    begin_table("measure | foldless | bootstrap | 5 x 5 folds | held | least")
    for k, name in enumerate(MEASURES):
        held = cells[:, 3, k]
        errors = (f"{x:.4f}" for x in cells[:, :3, k].mean(axis=0))
        print_row(name, *errors, f"{held.mean():.3f}", f"{held.min():.3f}")
    print(f"\n{len(cells)} cells.")


if __name__ == "__main__":
    main()
