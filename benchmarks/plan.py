"""Does the planner keep its promises, and does the learning curve meet the measured one?

    FOLDLESS_DATA=folder python benchmarks/plan.py > results/plan.md

First part: simulated studies of the planned size, judged by foldless itself; the achieved half width or power
beside the promised one. Second part: normal data, where the AUC of a rule is known: how much of the measured training
noise goes away with 2 and 5 times the rows. Third part: train on n rows of a real data set, predict the AUC at 2n and
5n, refit there and measure on the other rows; left out, and said so, without FOLDLESS_DATA.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import ndtr, ndtri
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import foldless as fl

STUDIES = 300
# Constants of the curve were set with the first group in view; the second was looked at once.
IN_VIEW = ("spambase", "phoneme_aa_ao", "madelon", "text_pcmac")
UNSEEN = ("qsar_mdrr", "wdbc", "pima", "ionosphere", "eeg_bci2_fingers")
ROWS, PENALTIES, SPLITS = (40, 100), (0.01, 1.0), 5


# ---- simulated studies


@dataclass(frozen=True)
class Setting:
    """A question to the planner; `n_features` None means held-out scores."""

    auc: float
    promise: dict[str, Any]
    balance: float = 0.5
    n_features: int | None = None


SETTINGS = (
    Setting(0.8, {"half_width": 0.05}),
    Setting(0.85, {"half_width": 0.05}, balance=0.3, n_features=20),
    Setting(0.75, {"half_width": 0.08}, n_features=40),
    Setting(0.75, {"above": 0.65, "power": 0.8}),
    Setting(0.8, {"above": 0.7, "power": 0.9}, n_features=10),
)


def study(setting: Setting, plan: fl.SamplePlan, rng: np.random.Generator) -> tuple[float, float, float, float]:
    """(true AUC, half width, 1 if above the bound, noise share) of one simulated study of the planned size."""
    y = np.r_[np.zeros(plan.n0, int), np.ones(plan.n1, int)]
    delta = np.sqrt(2) * ndtri(setting.auc)
    if setting.n_features is None:
        post, true, share = fl.auc_posterior_from_scores(y, rng.standard_normal(plan.n) + delta * y), setting.auc, 0.0
    else:
        best = best_separation(delta, plan.n0, plan.n1, setting.n_features)
        shift = np.full(setting.n_features, best / np.sqrt(setting.n_features))
        X = rng.standard_normal((plan.n, setting.n_features)) + np.outer(y, shift)
        model = LogisticRegression(tol=1e-7, max_iter=1000).fit(X, y)
        w = model.coef_[0]
        true = float(ndtr(w @ shift / np.linalg.norm(w) / np.sqrt(2)))
        post = fl.auc_posterior(model, X, y)
        share = post.details["noise_share"]
    low, high = post.interval(plan.level)
    return true, (high - low) / 2, float(low > (plan.above or 0)), share


def best_separation(delta: float, n0: int, n1: int, P: int) -> float:
    """Separation D of the best rule, if the trained has delta: delta^2 = (1 - P/N) D^4 / (D^2 + P (1/n0 + 1/n1))."""
    square = delta**2 / (1 - P / (n0 + n1))
    return float(np.sqrt((square + np.sqrt(square**2 + 4 * square * P * (1 / n0 + 1 / n1))) / 2))


def kept(setting: Setting, number: int) -> str:
    """One line: promised and achieved."""
    plan = fl.plan_sample_size(setting.auc, balance=setting.balance, n_features=setting.n_features, **setting.promise)
    found = np.array([study(setting, plan, np.random.default_rng([number, k])) for k in range(STUDIES)])
    true, width, shown, share = found.mean(axis=0)
    if plan.above is None:
        what, promised, achieved, error = "half width", setting.promise["half_width"], width, found[:, 1].std()
    else:
        what, promised, achieved, error = (
            f"power above {plan.above:g}",
            setting.promise["power"],
            shown,
            found[:, 2].std(),
        )
    features = "held-out scores" if setting.n_features is None else f"{setting.n_features} features"
    return (
        f"| {setting.auc:g} | {features} | {setting.balance:g} | {plan.n} | {true:.3f} | {plan.noise_share:.2f} | "
        f"{share:.2f} | {what} | {promised:g} | {achieved:.4f} ± {error / np.sqrt(STUDIES):.4f} | "
        f"{achieved / promised:.3f} |"
    )


# ---- how much of the training noise goes away

GROWTH = [(P, best, C) for P, best in ((10, 1.0), (50, 1.5), (200, 2.0), (1000, 3.0)) for C in (0.01, 1.0, 100.0)]
GROWTH_ROWS, REPEATS = 100, 8


def growth(P: int, best: float, C: float) -> tuple[float, float, float, float]:
    """(mean separation at n, measured noise share, r from n to 2n, r from n to 5n) of logistic regression."""
    shift = np.full(P, best / np.sqrt(P))
    deltas, shares = np.empty((REPEATS, 3)), []
    for k in range(REPEATS):
        rng = np.random.default_rng([P, round(100 * C), k])
        y = np.arange(5 * GROWTH_ROWS) % 2
        X = rng.standard_normal((y.size, P)) + np.outer(y, shift)
        for j, factor in enumerate((1, 2, 5)):
            n = factor * GROWTH_ROWS
            model = LogisticRegression(C=C, tol=1e-5, max_iter=2000).fit(X[:n], y[:n])
            deltas[k, j] = model.coef_[0] @ shift / np.linalg.norm(model.coef_)
            if factor == 1:
                shares.append(fl.honest_scores(model, X[:n], y[:n]).noise_share)
    now, twice, fivefold = deltas.mean(axis=0)
    # delta_m = delta_n / sqrt(1 - r + r n/m), solved for r.
    return (
        now,
        float(np.mean(shares)),
        (1 - (now / twice) ** 2) / (1 - 1 / 2),
        (1 - (now / fivefold) ** 2) / (1 - 1 / 5),
    )


# ---- real learning curves


@dataclass(frozen=True)
class Forecast:
    """The AUC at a multiple of the rows: foretold, its interval, that of today, and measured."""

    factor: int
    mean: float
    low: float
    high: float
    today: float
    measured: float


def classifier(C: float) -> Any:
    return make_pipeline(StandardScaler(), LogisticRegression(C=C, tol=1e-5, max_iter=2000))


def forecasts(X: Any, y: Any, n: int, C: float, seed: int) -> list[Forecast]:
    """Train on n rows, foretell, then train on more and measure on rows that none of them saw."""
    order = np.random.default_rng([n, seed, 8]).permutation(len(y))
    pool, test = order[: int(0.7 * len(y))], order[int(0.7 * len(y)) :]
    factors = [f for f in (2, 5) if f * n <= len(pool)]
    if not factors:
        return []
    use = X[:, X[pool[:n]].std(axis=0) > 0]
    model = classifier(C).fit(use[pool[:n]], y[pool[:n]])
    curve = fl.learning_curve(model, use[pool[:n]], y[pool[:n]], (1, *factors))
    found = []
    for f in factors:
        later = classifier(C).fit(use[pool[: f * n]], y[pool[: f * n]])
        post, measured = curve.at(f), float(roc_auc_score(y[test], later.decision_function(use[test])))
        found.append(Forecast(f, post.mean, *post.interval(), curve.at(1).mean, measured))
    return found


def lines(names: tuple[str, ...], folder: Path) -> list[str]:
    """One line per data set, penalty and factor, averaged over sizes and splits; and one for all."""
    out, everything = [], []
    for name in names:
        with np.load(folder / f"{name}.npz", allow_pickle=False) as data:
            X, y = data["X"].astype(float), data["y"]
        for C in PENALTIES:
            found = [f for n in ROWS for seed in range(SPLITS) for f in forecasts(X, y, n, C, seed)]
            everything += found
            out += [described(name, C, k, [f for f in found if f.factor == k]) for k in (2, 5)]
    return out + [described("**all**", None, k, [f for f in everything if f.factor == k]) for k in (2, 5)]


def described(name: str, C: float | None, factor: int, found: list[Forecast]) -> str:
    if not found:
        return f"| {name} | {C:g} | {factor} | - | - | - | - | - | - |"
    average: Callable[[Callable[[Forecast], float]], float] = lambda value: float(np.mean([value(f) for f in found]))  # noqa: E731
    return (
        f"| {name} | {'-' if C is None else f'{C:g}'} | {factor} | {average(lambda f: f.today):.3f} | "
        f"{average(lambda f: f.mean):.3f} | {average(lambda f: f.measured):.3f} | "
        f"{average(lambda f: abs(f.mean - f.measured)):.3f} | {average(lambda f: abs(f.today - f.measured)):.3f} | "
        f"{average(lambda f: f.low <= f.measured <= f.high):.2f} ({len(found)}) |"
    )


HEAD = (
    "| data | C | times the rows | estimated today | foretold | measured | error of the forecast "
    "| error of today's figure | within the 95 % interval |\n|---|--:|--:|--:|--:|--:|--:|--:|--:|"
)


INTRODUCTION = f"""# Does the planner keep its promises?

Command: `FOLDLESS_DATA=folder python benchmarks/plan.py > results/plan.md`.

{STUDIES} simulated studies of the planned size each: normal features and logistic regression with C = 1, or normal
held-out scores. Noise share: what the planner assumed, and what foldless measured. Achieved: mean half width of the
95 % interval, or share of the studies whose interval lay above the bound, ± its standard error.

| AUC | scores | balance | rows | true AUC | noise planned | measured | promise | promised | achieved | ratio |
|--:|---|--:|--:|--:|--:|--:|---|--:|--:|--:|"""
NOISE = f"""
# How much of the training noise goes away

Normal features, {GROWTH_ROWS} rows, means of {REPEATS} training sets. r solves delta_m = delta_n / sqrt(1 - r + r n/m)
for the true separations; if all of the measured noise went away with more rows, r would be the noise share.

| features | C | true separation | noise share | r at 2 times the rows | r at 5 times |
|--:|--:|--:|--:|--:|--:|"""
CURVES = f"""
# Learning curves of real data

Trained on {" and ".join(map(str, ROWS))} rows ({SPLITS} splits each), the AUC at 2 and 5 times the rows foretold; then
trained there and measured on the 30 % of the rows that no fit saw. Mean absolute errors, of single fits."""


def main() -> None:
    warnings.simplefilter("ignore")
    print(INTRODUCTION)
    for number, setting in enumerate(SETTINGS):
        print(kept(setting, number), flush=True)
    print(NOISE)
    found = []
    for P, best, C in GROWTH:
        now, share, *r = growth(P, best, C)
        found += [(share, each) for each in r]
        print(f"| {P} | {C:g} | {now:.2f} | {share:.2f} | {r[0]:.2f} | {r[1]:.2f} |", flush=True)
    shares, removed = np.array(found).T
    slope = shares @ removed / (shares @ shares)
    print(f"\nr = {slope:.2f} x noise share by least squares, residual sd {np.std(removed - slope * shares):.2f}.")
    folder = os.environ.get("FOLDLESS_DATA")
    if not folder:
        print("\nLearning curves were left out: FOLDLESS_DATA is not set.")
        return
    print(CURVES)
    for title, names in (("In view when the constants were set", IN_VIEW), ("Looked at once", UNSEEN)):
        print(f"\n## {title}\n\n{HEAD}")
        print("\n".join(lines(names, Path(folder))), flush=True)


if __name__ == "__main__":
    main()
