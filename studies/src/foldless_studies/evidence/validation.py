"""Calibration, Brier score, precision and net benefit against Harrell's bootstrap and repeated folds, with known truth.

    python -m foldless_studies.evidence.validation > results/validation.md

Normal columns, of which five carry a logistic law of the label; the truth is what the fitted model does on 20,000 new
rows. The refits of the rivals are made at once, by Newton steps on all of them. Half an hour; a number of samples may
be given. Then the same of data sets in the folder FOLDLESS_DATA, of shuffled labels, and what it costs.
"""

from __future__ import annotations

import os
import sys
import timeit
import warnings
from itertools import product
from pathlib import Path
from time import process_time

import numpy as np
from scipy.special import expit, logit
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import StandardScaler

import foldless as fl
from foldless_studies.data import VARIABLE, load, npz_files, unusable
from foldless_studies.evidence import begin, begin_table, print_row
from foldless_studies.sampling import Floats, Labels

ROWS, COLUMNS, EVENTS, STRENGTHS = (60, 100, 300), (5, 20, 100), (0.1, 0.3, 0.5), (0.01, 1.0, 100.0, 1e6)
INFORMATIVE, EFFECT = 5, 0.7  # columns that count, and the log odds of each
NEW, RESAMPLES, REPEATS, FOLDS = 20_000, 200, 5, 5
MOST_CELLS = 12_000  # of a table: larger ones would take hours
FEWEST = 6  # rows of a class: five folds have to have some
NEWTON_STEPS, HALVINGS, SMALL_STEP, CLEAR = 40, 12, 1e-6, 30.0
SEPARATED, MOST_SLOPE = 1e-4, 25.0  # mean loss from which scores separate the classes, and the slope said then
SHUFFLES, WORSE = 200, 1.25
REAL_ROWS, REAL_SPLITS, FEWEST_NEW = 80, 4, 120  # of data sets: rows trained on, splits, rows left for the truth
THRESHOLDS = np.array([0.1, 0.2, 0.3])
MEASURES = ("slope", "intercept", "Brier score", "average precision", *(f"net benefit at {t:g}" for t in THRESHOLDS))
TEXT = f"""\
Logistic regression; {ROWS} rows, {COLUMNS} columns (not both the most), {EVENTS} of the rows positive, C = {STRENGTHS}
(the last, nearly no penalty, where positive rows are at least twice as many as columns); {{samples}} samples of each.
Mean absolute errors over all cells. The bootstrap is Harrell's, with {RESAMPLES} refits, which say little of classes
that the columns separate; {REPEATS} x {FOLDS} folds are pooled within a repeat. Held: share of our 90 % intervals that
hold the truth, over all cells, and in the cell where it is least; above 1.25: share of the cells whose error is more
than that times the better of the rivals, most of it chance where samples are so few. The truth is that of {NEW:,} new
rows. Slopes end at {MOST_SLOPE:g} either way, which is also said where scores separate the classes."""
REAL_TEXT = f"""\
Sets of two classes without dependent rows and with {REAL_ROWS + FEWEST_NEW} rows or more, columns standardised on the
training rows for all methods; C = {STRENGTHS[:3]}; random splits: {REAL_SPLITS}. The truth is that of the rows left
over, {FEWEST_NEW} at the least, so that its own error counts in every column: intervals know nothing of it, and hold it
less often than they hold the truth of many rows."""
NOISE_TEXT = """\
{count} tables of 100 x 10, 30 positive, C = 1. The 90 % interval of the slope holds 0 in {slope:.3f}; the scaled Brier
score is {brier:.3f} on average; the interval of the net benefit lies above treating all and treating none in {benefit}
(at {thresholds})."""


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
    """Slope and intercept of the log odds of q on z, line by line: Newton steps on z in its own units, never uphill."""
    centre, unit = z.mean(axis=1), z.std(axis=1) + 1e-12
    u, q = (z - centre[:, None]) / unit[:, None], np.broadcast_to(q, z.shape)
    line = np.column_stack([logit(q.mean(axis=1)), np.zeros(len(z))] if free_slope else [centre, unit])

    def loss(line: Floats) -> Floats:
        t = line[:, :1] + line[:, 1:] * u
        return np.asarray(np.mean(np.logaddexp(0, t) - q * t, axis=1))

    now = loss(line)
    for _ in range(NEWTON_STEPS):
        p = expit(line[:, :1] + line[:, 1:] * u)
        w, off = p * (1 - p) + 1e-12, p - q
        s0, s1, s2 = w.sum(axis=1), (w * u).sum(axis=1) * free_slope, (w * u * u).sum(axis=1)
        g0, g1 = off.sum(axis=1), (off * u).sum(axis=1) * free_slope
        step = np.column_stack([s2 * g0 - s1 * g1, s0 * g1 - s1 * g0]) / (s0 * s2 - s1**2)[:, None]
        for _ in range(HALVINGS):
            uphill = loss(line - step) > now + 1e-12
            if not uphill.any():
                break
            step[uphill] /= 2
        line, last = line - step, now
        now = loss(line)
        if np.all(last - now < 1e-10):
            break
    slope = np.where(now < SEPARATED, MOST_SLOPE, np.clip(line[:, 1] / unit, -MOST_SLOPE, MOST_SLOPE))
    return slope, line[:, 0] - centre


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
    """What `compared` says of rows drawn from a logistic law; None if a class has too few."""
    rng = np.random.default_rng([number, n, columns, int(100 * events)])
    effect = np.where(np.arange(columns) < INFORMATIVE, EFFECT, 0.0)
    new = rng.standard_normal((NEW, columns))
    start = logit(events) * np.sqrt(1 + np.pi * (effect @ effect) / 8)
    X = rng.standard_normal((n, columns))
    y = (rng.random(n) < expit(X @ effect + start)).astype(float)
    q = expit(new @ effect + start)
    return compared(X, y, new, q, (rng.random(NEW) < q).astype(float), C, number)


def real_trial(file: Path, C: float, number: int) -> Floats | None:
    """The same of REAL_ROWS rows of a data set, columns standardised on these; the truth is that of the other rows."""
    X, labels = load(file)
    y = labels.astype(float)
    order = np.random.default_rng([number, y.size]).permutation(y.size)
    X, y = StandardScaler().fit(X[order[:REAL_ROWS]]).transform(X[order]).astype(float), y[order]
    if X.shape[1] > REAL_ROWS:  # an L2 penalty knows only the space that the rows span
        X = X @ np.linalg.svd(X[:REAL_ROWS], full_matrices=False)[2].T
    new, q = X[REAL_ROWS:], y[REAL_ROWS:]
    return compared(X[:REAL_ROWS], y[:REAL_ROWS], new, q, q, C, number)


def compared(X: Floats, y: Floats, new: Floats, q: Floats, drawn: Floats, C: float, number: int) -> Floats | None:
    """Errors of foldless and the rivals, and whether the interval holds the truth, for each measure."""
    if min(y.sum(), y.size - y.sum()) < FEWEST:
        return None
    model = LogisticRegression(C=C, tol=1e-8, max_iter=5000).fit(X, y)
    truth = measured(model.predict_proba(new)[:, 1], q, drawn)[0]
    apparent = measured(model.predict_proba(X)[:, 1], y, y)[0]
    mean, low, high = ours(model, X, y)
    rng = np.random.default_rng([number, y.size])
    rivals = bootstrap(X, y, C, apparent, rng), repeated_folds(X, y, C, number)
    errors = [np.abs(each - truth) for each in (mean, *rivals)]
    return np.array([*errors, (low <= truth) & (truth <= high)])


def shuffled(number: int) -> Floats:
    """Of labels without a law: whether the slope's interval holds 0, the scaled Brier score, the benefits seen."""
    rng = np.random.default_rng([number, 7])
    X, y = rng.standard_normal((100, 10)), rng.permutation(np.arange(100) < 30)
    a = fl.analyse(LogisticRegression(tol=1e-8, max_iter=5000).fit(X, y), X, y)
    (low, high), benefit = a.calibration.slope.interval(0.9), a.net_benefit(THRESHOLDS)
    seen = benefit.interval(0.9)[0] > np.maximum(benefit.treat_all, benefit.treat_none)
    return np.array([low <= 0 <= high, a.scaled_brier.mean, *seen])


def costs(n: int, columns: int) -> tuple[str, ...]:
    """Processor time of the AUC, of everything, and of refits with their measures: the least of nine runs."""
    rng = np.random.default_rng(n)
    X = rng.standard_normal((n, columns))
    y = (rng.random(n) < expit(EFFECT * X[:, :INFORMATIVE].sum(axis=1) - 1)).astype(float)
    model = LogisticRegression(tol=1e-8, max_iter=5000).fit(X, y)

    def refitted() -> None:
        pick = _resampled(y, rng)
        again = LogisticRegression(tol=1e-8, max_iter=5000).fit(X[pick], y[pick])
        for rows in (pick, np.arange(n)):
            measured(again.predict_proba(X[rows])[:, 1], y[rows], y[rows])

    calls = (lambda: fl.auc_posterior(model, X, y), lambda: fl.validate(model, X, y), refitted)
    area, everything, one = (1000 * min(timeit.repeat(call, timer=process_time, repeat=9, number=1)) for call in calls)
    ratios = f"{everything / area:.1f}", f"{RESAMPLES * one / everything:.0f}"
    return f"{n} x {columns}", *(f"{ms:.1f}" for ms in (area, everything, RESAMPLES * one)), *ratios


def simulated(samples: int) -> Floats:
    """Means over the samples of each cell."""
    cells = []
    for n, columns, events, C in product(ROWS, COLUMNS, EVENTS, STRENGTHS):
        if n * columns > MOST_CELLS or (STRENGTHS[-2] < C and events * n < 2 * columns):
            continue
        got = [found for k in range(samples) if (found := trial(n, columns, events, C, k)) is not None]
        if len(got) >= samples / 2:
            cells.append(np.mean(got, axis=0))
            print(n, columns, events, C, np.round(cells[-1], 3).tolist(), file=sys.stderr, flush=True)
    return np.array(cells)


def real() -> Floats:
    """One line for each data set, C and split."""
    found = []
    for file in npz_files(Path(os.environ[VARIABLE])):
        if unusable(file) is None and load(file)[1].size >= REAL_ROWS + FEWEST_NEW:
            tried = [real_trial(file, C, k) for C in STRENGTHS[:3] for k in range(REAL_SPLITS)]
            found += [each for each in tried if each is not None]
            print(file.stem, np.round(np.mean(found[-3:], axis=0), 3).tolist(), file=sys.stderr, flush=True)
    return np.array(found)


def main() -> None:
    """Print the page."""
    warnings.simplefilter("ignore")
    samples = int(sys.argv[1]) if len(sys.argv) > 1 else 12
    begin("validation", "The whole validation against refits", TEXT.format(samples=samples))
    show(simulated(samples), "cells")
    print(f"\n## {REAL_ROWS} rows of data sets\n\n{REAL_TEXT}\n")
    show(real(), "samples")
    slope, brier, *seen = np.mean([shuffled(k) for k in range(SHUFFLES)], axis=0)
    benefit, at = (", ".join(f"{x:g}" for x in each) for each in (seen, THRESHOLDS))
    text = NOISE_TEXT.format(count=SHUFFLES, slope=slope, brier=brier, benefit=benefit, thresholds=at)
    print(f"\n## Shuffled labels\n\n{text}\n\n## Cost\n\nProcessor time in ms; refits by scikit-learn, measured.\n")
    begin_table("rows x columns | AUC | everything (`validate`) | 200 refits | everything / AUC | refits / everything")
    for n, columns in ((100, 5), (100, 20), (300, 20), (1000, 20)):
        print_row(*costs(n, columns))


def show(found: Floats, what: str) -> None:
    """Print the table of cells, or of samples, by foldless, rivals and held, by measures."""
    begin_table("measure | foldless | bootstrap | 5 x 5 folds | held | least | above 1.25")
    for k, name in enumerate(MEASURES):
        errors, held = found[:, :3, k], found[:, 3, k]
        worse = np.mean(errors[:, 0] > WORSE * errors[:, 1:].min(axis=1))
        print_row(
            name, *(f"{x:.4f}" for x in errors.mean(axis=0)), f"{held.mean():.3f}", f"{held.min():.3f}", f"{worse:.2f}"
        )
    print(f"\n{len(found)} {what}.")


if __name__ == "__main__":
    main()
