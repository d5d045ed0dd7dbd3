"""Calibration, Brier score, precision and net benefit against Harrell's bootstrap and repeated folds, with known truth.

    python -m foldless_studies.evidence.validation > results/validation.md

Normal columns, of which five carry a logistic law of the label; the truth is that of all such rows. Then the same of
data sets in the folder FOLDLESS_DATA, of shuffled labels, and what it costs. An hour; every finished cell is kept under
out/validation, so that a stopped run goes on where it was. Two numbers of samples may be given, ours and the rivals'.
"""

from __future__ import annotations

import os
import sys
import timeit
import warnings
import zlib
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import product
from pathlib import Path
from time import process_time
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from scipy.special import expit, logit, ndtri
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import StandardScaler

import foldless as fl
from foldless_studies.data import VARIABLE, load, npz_files, unusable
from foldless_studies.evidence import begin, begin_table, print_row
from foldless_studies.evidence.stamps import answer
from foldless_studies.sampling import Floats, Labels

ROWS, COLUMNS, EVENTS, STRENGTHS = (60, 100, 300), (5, 20, 100), (0.1, 0.3, 0.5), (0.01, 1.0, 100.0, 1e6)
INFORMATIVE, EFFECT, NEW, RESAMPLES, REPEATS, FOLDS = 5, 0.7, 4_000, 200, 5, 5  # columns that count, their log odds
MOST_CELLS, FEWEST = 12_000, 6  # of a table: larger ones take hours; rows of a class: each of five folds has some
NEWTON_STEPS, HALVINGS, CLEAR, ROUNDING = 40, 20, 30.0, 1e-9
SEPARATED, MOST_SLOPE = 1e-4, 25.0  # mean loss from which scores separate the classes, and the slope said then
SHUFFLES, WORSE, SAMPLES, FEWER = 200, 1.25, 500, 40
REAL_ROWS, REAL_SPLITS, FEWEST_NEW = 80, 8, 120  # of data sets: rows trained on, splits, rows left for the truth
THRESHOLDS, PARTS = np.array([0.1, 0.2, 0.3]), Path("out/validation")
Law = Callable[[Floats, Labels], Floats]
MEASURES = ("slope", "intercept", "Brier score", "average precision", *(f"net benefit at {t:g}" for t in THRESHOLDS))
TEXT = f"""\
Logistic regression; {ROWS} rows, {COLUMNS} columns (not both the most), {EVENTS} of the rows positive, C = {STRENGTHS}
(the last, nearly no penalty, where positive rows are at least twice as many as columns). Mean absolute errors over all
cells, {{fewer}} samples of each, the same for all methods. The bootstrap is Harrell's, with {RESAMPLES} refits, which
say little of classes that the columns separate; {REPEATS} x {FOLDS} folds are pooled within a repeat. Held: share of
our 90 % intervals that hold the truth, in {{samples}} samples of each cell: over all cells, the least, the most. Above
1.25: cells whose error is more than that times the better rival's, and those where it is so by more than two standard
errors, named below with the ratio. The truth is that of all rows, by quadrature. Slopes and intercepts end at
{MOST_SLOPE:g} either way; slopes are that where scores separate the classes."""
REAL_TEXT = f"""\
Sets of two classes without dependent rows and with {REAL_ROWS + FEWEST_NEW} rows or more, columns standardised on the
training rows for all methods; C = {STRENGTHS[:3]}; random splits: {REAL_SPLITS}. The truth is that of the rows left
over, {FEWEST_NEW} at the least, so that its own error counts in every column; intervals know nothing of it."""
NOISE_TEXT = """\
{count} tables of 100 x 10, 30 positive, C = 1. The 90 % interval of the slope holds 0 in {slope:.3f}; the scaled Brier
score is {brier:.3f} on average; the net benefit's lies above treating all and none in {benefit} (at {thresholds})."""


def descended(x: Floats, loss: Law, newton: Law, small: float) -> tuple[Floats, Floats]:
    """Where Newton's steps lead, line by line, halved if they go uphill, and the loss there."""
    at = np.arange(len(x))  # lines that are still on their way
    now = loss(x, at)
    for _ in range(NEWTON_STEPS):
        old, step, before = x[at], newton(x[at], at), now[at]
        for _ in range(HALVINGS):
            uphill = loss(old - step, at) > before + 1e-12
            step[uphill] /= 2
            if not uphill.any():
                break
        x[at], now[at] = old - step, loss(old - step, at)
        at = at[before - now[at] >= small * np.maximum(now[at], 1.0)]
        if not at.size:
            break
    return x, now


def fits(X: Floats, y: Floats, weights: Floats, C: float) -> Floats:
    """Log odds of the rows by fits with these weights of them: one line for each line of weights."""
    A, penalty = np.column_stack([X, np.ones(len(X))]), np.append(np.full(X.shape[1], 1 / C), 0.0)
    squares = (A[:, :, None] * A[:, None, :]).reshape(len(A), -1)

    def loss(beta: Floats, at: Labels) -> Floats:
        z = beta @ A.T
        return np.asarray(np.sum(weights[at] * (np.logaddexp(0, z) - y * z), axis=1) + 0.5 * beta**2 @ penalty)

    def newton(beta: Floats, at: Labels) -> Floats:
        p = expit(np.clip(beta @ A.T, -CLEAR, CLEAR))
        curvature = ((weights[at] * p * (1 - p)) @ squares).reshape(-1, *penalty.shape * 2) + np.diag(penalty + 1e-9)
        return np.linalg.solve(curvature, ((weights[at] * (p - y)) @ A + penalty * beta)[..., None])[..., 0]

    start = logit(np.clip(weights @ y / weights.sum(axis=1), 0.01, 0.99))
    beta, _ = descended(np.column_stack([np.zeros((len(weights), X.shape[1])), start]), loss, newton, 1e-6)
    return np.asarray(beta @ A.T)


def measured(p: Floats, q: Floats) -> Floats:
    """MEASURES, one line for each line of predicted probabilities; q are the true ones, or the labels."""
    p, q = np.broadcast_arrays(np.atleast_2d(p), q)
    z = np.clip(logit(np.clip(p, 1e-12, 1 - 1e-12)), -CLEAR, CLEAR)
    slope, _ = _recalibrated(z, q, free_slope=True)
    _, intercept = _recalibrated(z, q, free_slope=False)
    brier = np.mean(q * (1 - p) ** 2 + (1 - q) * p**2, axis=1)
    benefits = [((p > t) * (q - (1 - q) * t / (1 - t))).mean(axis=1) for t in THRESHOLDS]
    precision = [_average_precision(*each) for each in zip(q, p, strict=True)]
    return np.column_stack([slope, intercept, brier, precision, *benefits])


def _average_precision(q: Floats, p: Floats) -> float:
    """As scikit-learn's, which takes ten times as long; ties count as one step."""
    order = np.argsort(-p, kind="stable")
    ends = np.flatnonzero(np.diff(p[order], append=np.nan))
    found = np.cumsum(q[order])[ends]
    return float(np.diff(found, prepend=0.0) @ (found / (ends + 1)) / found[-1])


def _recalibrated(z: Floats, q: Floats, free_slope: bool) -> tuple[Floats, Floats]:
    """Slope and intercept of the log odds of q on z, line by line, with z in its own units."""
    centre, unit = z.mean(axis=1), z.std(axis=1) + 1e-12
    u = (z - centre[:, None]) / unit[:, None]

    def loss(line: Floats, at: Labels) -> Floats:
        t = line[:, :1] + line[:, 1:] * u[at]
        return np.asarray(np.mean(np.logaddexp(0, t) - q[at] * t, axis=1))

    def newton(line: Floats, at: Labels) -> Floats:
        p = expit(line[:, :1] + line[:, 1:] * u[at])
        w, off = p * (1 - p) + 1e-12, p - q[at]
        s0, s1, s2 = w.sum(axis=1), (w * u[at]).sum(axis=1) * free_slope, (w * u[at] ** 2).sum(axis=1)
        g0, g1 = off.sum(axis=1), (off * u[at]).sum(axis=1) * free_slope
        return np.asarray(np.column_stack([s2 * g0 - s1 * g1, s0 * g1 - s1 * g0]) / (s0 * s2 - s1**2)[:, None])

    start = np.column_stack([logit(q.mean(axis=1)), np.zeros(len(z))] if free_slope else [centre, unit])
    line, left = descended(start, loss, newton, 1e-10)
    slope = np.where(left < SEPARATED, MOST_SLOPE, np.clip(line[:, 1] / unit, -MOST_SLOPE, MOST_SLOPE))
    return slope, np.clip(line[:, 0] - centre, -MOST_SLOPE, MOST_SLOPE)


def bootstrap(X: Floats, y: Floats, C: float, apparent: Floats, seed: int) -> Floats:
    """Harrell's: the apparent measures less the mean optimism of refits to resampled rows with both classes."""
    picks = np.random.default_rng([seed, y.size]).integers(y.size, size=(2 * RESAMPLES, y.size))
    picks = picks[y[picks].max(axis=1) > y[picks].min(axis=1)][:RESAMPLES]
    p = expit(fits(X, y, np.array([np.bincount(pick, minlength=y.size) for pick in picks], dtype=float), C))
    seen = measured(np.take_along_axis(p, picks, axis=1), y[picks])
    return np.asarray(apparent - np.mean(seen - measured(p, y), axis=0))


def repeated_folds(X: Floats, y: Floats, C: float, seed: int) -> Floats:
    """Measures of the predictions for left-out folds, pooled within a repeat, mean over the repeats."""
    folds = (StratifiedKFold(FOLDS, shuffle=True, random_state=seed + repeat) for repeat in range(REPEATS))
    left = np.array([np.isin(np.arange(y.size), test) for each in folds for _, test in each.split(X, y)])
    pooled = (left * expit(fits(X, y, 1.0 - left, C))).reshape(REPEATS, FOLDS, -1).sum(axis=1)
    return np.asarray(measured(pooled, y).mean(axis=0))


def rivals(model: LogisticRegression, X: Floats, y: Floats, number: int) -> Floats:
    """What the bootstrap and the folds say."""
    apparent = measured(model.predict_proba(X)[:, 1], y)[0]
    return np.array([bootstrap(X, y, model.C, apparent, number), repeated_folds(X, y, model.C, number)])


def ours(model: LogisticRegression, X: Floats, y: Floats, number: int) -> Floats:
    """Means and both ends of the 90 % intervals."""
    a = fl.analyse(model, X, y)
    measures = a.calibration.slope, a.calibration.intercept, a.brier, a.average_precision
    return np.array([(m.mean, *m.interval(0.9)) for m in (*measures, *a.net_benefit(THRESHOLDS).measures)]).T


Sample = tuple[Floats, Floats, float, Callable[[LogisticRegression], tuple[Floats, Floats]]]


def drawn(n: int, columns: int, events: float, C: float, number: int) -> Sample:
    """Rows drawn from a logistic law, their labels, C, and what a model predicts for new rows beside their chances."""
    rng = np.random.default_rng([number, n, columns, int(100 * events)])
    effect = np.where(np.arange(columns) < INFORMATIVE, EFFECT, 0.0)
    start = float(logit(events) * np.sqrt(1 + np.pi * (effect @ effect) / 8))
    X = rng.standard_normal((n, columns))
    y = (rng.random(n) < expit(X @ effect + start)).astype(float)
    return X, y, C, lambda model: population(model.coef_[0], model.intercept_[0], effect, start)


def population(w: Floats, constant: float, effect: Floats, start: float) -> tuple[Floats, Floats]:
    """Quantiles of what the fit predicts, and the chances there; log odds of fit and law are jointly normal."""
    u, (t, weights) = ndtri((np.arange(NEW) + 0.5) / NEW), np.polynomial.hermite_e.hermegauss(30)
    sd, along = (size := float(np.linalg.norm(w))), float(w @ effect) / max(size, 1e-300)
    across = max(float(effect @ effect) - along**2, 0.0) ** 0.5
    return expit(constant + sd * u), expit(start + along * u[:, None] + across * t) @ (weights / weights.sum())


def split(file: Path, C: float, number: int) -> Sample:
    """REAL_ROWS rows of a data set, columns standardised on these; the truth is that of the other rows."""
    X, labels = load(file)
    order = np.random.default_rng([number, labels.size]).permutation(labels.size)
    X, y = StandardScaler().fit(X[order[:REAL_ROWS]]).transform(X[order]).astype(float), labels[order].astype(float)
    if X.shape[1] > REAL_ROWS:  # an L2 penalty knows only the space that the rows span
        X = X @ np.linalg.svd(X[:REAL_ROWS], full_matrices=False)[2].T
    (X, new), (y, later) = np.split(X, [REAL_ROWS]), np.split(y, [REAL_ROWS])
    return X, y, C, lambda model: (model.predict_proba(new)[:, 1], later)


def judged(draw: Callable[[int], Sample], method: Callable[..., Floats], number: int) -> Floats:
    """The truth and what the method says of a sample; NaN if a class has too few rows."""
    X, y, C, truth = draw(number)
    if min(y.sum(), y.size - y.sum()) < FEWEST:
        return np.full((4 if method is ours else 3, len(MEASURES)), np.nan)
    model = LogisticRegression(C=C, tol=1e-8, max_iter=5000).fit(X, y)
    return np.vstack([measured(*truth(model)), method(model, X, y, number)])


def kept(name: str, count: int, found: Callable[[int], Floats]) -> Floats:
    """What is found for each number; read from PARTS if an earlier run came so far."""
    file = PARTS / f"{name}, {count}.npy".replace(" ", "")
    if not file.is_file():
        file.parent.mkdir(parents=True, exist_ok=True)
        np.save(draft := file.with_suffix(".part.npy"), [found(k) for k in range(count)])
        draft.replace(file)
        print(file.stem, file=sys.stderr, flush=True)
    return np.asarray(np.load(file))


def simulations() -> Iterator[tuple[str, Callable[[int], Sample]]]:
    """Names of the cells, and how their samples are drawn."""
    for n, columns, events, C in product(ROWS, COLUMNS, EVENTS, STRENGTHS):
        if n * columns <= MOST_CELLS and (STRENGTHS[-2] >= C or events * n >= 2 * columns):
            yield f"{n} x {columns}, {events:g} positive, C = {C:g}", partial(drawn, n, columns, events, C)


def sets() -> Iterator[tuple[str, Callable[[int], Sample]]]:
    """The same of data sets."""
    for file in npz_files(Path(os.environ[VARIABLE])):
        if unusable(file) is None and load(file)[1].size >= REAL_ROWS + FEWEST_NEW:
            yield from ((f"{file.stem}, C = {C:g}", partial(split, file, C)) for C in STRENGTHS[:3])


def show(cells: Iterable[tuple[str, Any]], samples: int, fewer: int) -> Floats:
    """Print the table, then the cells that are worse beyond doubt; cells where most samples lack rows are left out."""
    now, found, named, lines = f"{zlib.crc32(repr(np.round(answer('measures'), 6)).encode()):08x}", [], [], []
    for name, draw in cells:
        one = kept(f"{now}/{name}", samples, partial(judged, draw, ours))
        if np.mean(np.isfinite(one[:, 0, 0])) >= 0.5:
            found.append((name, one, kept(f"rivals/{name}", fewer, partial(judged, draw, rivals))))
    begin_table("measure | foldless | bootstrap | 5 x 5 folds | held | least | most | above 1.25 | beyond doubt")
    for k, measure in enumerate(MEASURES):
        each = np.array([figures(one[:, :, k], others[:, :, k]) for _, one, others in found])
        errors, held, above, surely = each[:, :3].mean(axis=0), each[:, 3], each[:, 4] > WORSE, each[:, 5] > 0
        lines.append([*errors, held.mean(), held.min(), held.max()])
        shares = (f"{x:.3f}" for x in lines[-1][3:])
        print_row(measure, *(f"{x:.4f}" for x in errors), *shares, np.sum(above), np.sum(surely))
        named += [f"{measure}, {found[i][0]}: {each[i, 4]:.2f}" for i in np.flatnonzero(surely)]
    print(f"\n{len(found)} cells, {sum(len(one) for _, one, _ in found):,} samples. {'; '.join(named)}")
    return np.array(lines)


def draw(tables: dict[str, Floats]) -> None:
    """Errors relative to those of folds, and the share held: mean, least and most; lines as `show` returns them."""
    figure, axes = plt.subplots(len(tables), 2, figsize=(8, 5), sharex="col", sharey=True, layout="constrained")
    at = -np.arange(len(MEASURES))
    for (title, lines), (left, right) in zip(tables.items(), axes, strict=True):
        for k, (name, colour) in enumerate(
            (("foldless", "C0"), ("bootstrap, 200 refits", "C1"), ("5 x 5 folds", "0.5"))
        ):
            left.plot(lines[:, k] / lines[:, 2], at, "o", color=colour, label=name, zorder=3 - k)
        right.axvspan(0.87, 0.93, color="0.92")
        right.hlines(at, lines[:, 4], lines[:, 5], color="C0", alpha=0.4)
        right.plot(lines[:, 3], at, "o", color="C0")
        left.set(yticks=at, yticklabels=MEASURES, title=title, xscale="log", xticks=(0.7, 1, 2, 4))
        left.xaxis.set_major_formatter("{x:g}")
        left.minorticks_off()
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside upper center", ncols=3, frameon=False)
    axes[-1, 0].set_xlabel("mean error / that of 5 x 5 folds")
    axes[-1, 1].set_xlabel("90 % intervals that hold the truth:\nmean of the cells, least and most")
    figure.savefig("results/validation.png", dpi=150, metadata={"Software": None})


def figures(one: Floats, others: Floats) -> tuple[float, ...]:
    """Mean errors of all on the same samples, share held, ratio to the better rival, by how much it is above WORSE."""
    truth, _, low, high = one[np.isfinite(one[:, 0])].T
    errors = np.abs(np.column_stack([one[: len(others), 1], others[:, 1:]]) - others[:, :1]) + ROUNDING
    errors = errors[np.isfinite(others[:, 0])]
    best = errors[:, 1 + int(errors[:, 1:].mean(axis=0).argmin())]
    beyond = (off := errors[:, 0] - WORSE * best).mean() - 2 * off.std() / np.sqrt(off.size)
    return *errors.mean(axis=0), np.mean((low <= truth) & (truth <= high)), errors[:, 0].mean() / best.mean(), beyond


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
    (X, y, *_), pick = drawn(n, columns, 0.3, 1.0, 0), np.random.default_rng(n).integers(n, size=n)
    model, other = (LogisticRegression(tol=1e-8, max_iter=5000).fit(X, y) for _ in range(2))

    def again() -> None:
        p = other.fit(X[pick], y[pick]).predict_proba(X)[:, 1]
        measured(np.array([p[pick], p]), np.array([y[pick], y]))

    calls = (lambda: fl.auc_posterior(model, X, y), lambda: fl.validate(model, X, y), again)
    area, everything, one = (1000 * min(timeit.repeat(call, timer=process_time, repeat=9, number=1)) for call in calls)
    ratios = f"{everything / area:.1f}", f"{RESAMPLES * one / everything:.0f}"
    return f"{n} x {columns}", *(f"{ms:.1f}" for ms in (area, everything, RESAMPLES * one)), *ratios


def main() -> None:
    """Print the page."""
    warnings.simplefilter("ignore")
    samples, fewer = (int(x) for x in sys.argv[1:]) if len(sys.argv) > 1 else (SAMPLES, FEWER)
    begin("validation", "The whole validation against refits", TEXT.format(samples=samples, fewer=fewer))
    tables = {"simulations": show(simulations(), samples, fewer)}
    print(f"\n## {REAL_ROWS} rows of data sets\n\n{REAL_TEXT}\n")
    tables[f"{REAL_ROWS} rows of data sets"] = show(sets(), REAL_SPLITS, REAL_SPLITS)
    draw(tables)
    print("\n![Errors and shares held](validation.png)")
    slope, brier, *seen = np.mean([shuffled(k) for k in range(SHUFFLES)], axis=0)
    benefit, at = (", ".join(f"{x:g}" for x in each) for each in (seen, THRESHOLDS))
    text = NOISE_TEXT.format(count=SHUFFLES, slope=slope, brier=brier, benefit=benefit, thresholds=at)
    print(f"\n## Shuffled labels\n\n{text}\n\n## Cost\n\nProcessor time in ms; refits by scikit-learn, measured.\n")
    begin_table("rows x columns | AUC | everything (`validate`) | 200 refits | everything / AUC | refits / everything")
    for n, columns in ((100, 5), (100, 20), (300, 20), (1000, 20)):
        print_row(*costs(n, columns))


if __name__ == "__main__":
    main()
