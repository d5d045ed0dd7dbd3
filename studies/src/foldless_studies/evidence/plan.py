"""Does the planner keep its promises, and does the learning curve meet the measured one?

    python -m foldless_studies.evidence.plan > results/plan.md

First part: simulated studies of the planned size, judged by foldless itself; the achieved half width or power
beside the promised one. Second part: normal data, where the AUC of a rule is known: how much of the measured training
noise goes away with 2 and 5 times the rows. Third part: train on n rows of a real data set, predict the AUC at 2n and
5n, refit there and measure on the other rows; left out, and said so, without FOLDLESS_DATA.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import ndtri
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import foldless as fl
from foldless_studies.data import VARIABLE, named, present
from foldless_studies.evidence import begin, begin_table, print_row
from foldless_studies.populations import Population

STUDIES = 200
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
        classes = apart(best, setting.n_features)
        X = classes.rows(y, rng)
        model = LogisticRegression(tol=1e-7, max_iter=1000).fit(X, y)
        true, post = classes.truth(model.coef_.T)[0].auc, fl.auc_posterior(model, X, y)
        share = post.details["noise_share"]
    low, high = post.interval(plan.level)
    return true, (high - low) / 2, float(low > (plan.above or 0)), share


def apart(separation: float, P: int) -> Population:
    """Normal classes that differ equally along every column."""
    return Population("plan", (float(separation / np.sqrt(P)),) * P)


def best_separation(delta: float, n0: int, n1: int, P: int) -> float:
    """Separation D of the best rule, if the trained has delta: delta^2 = (1 - P/N) D^4 / (D^2 + P (1/n0 + 1/n1))."""
    square = delta**2 / (1 - P / (n0 + n1))
    return float(np.sqrt((square + np.sqrt(square**2 + 4 * square * P * (1 / n0 + 1 / n1))) / 2))


def print_kept(setting: Setting, number: int) -> None:
    """One line: promised and achieved."""
    plan = fl.plan_sample_size(setting.auc, balance=setting.balance, n_features=setting.n_features, **setting.promise)
    found = np.array([study(setting, plan, np.random.default_rng([number, k])) for k in range(STUDIES)])
    true, _, _, share = found.mean(axis=0)
    if plan.above is None:
        what, promised, figures = "half width", setting.promise["half_width"], found[:, 1]
    else:
        what, promised, figures = f"power above {plan.above:g}", setting.promise["power"], found[:, 2]
    features = "held-out scores" if setting.n_features is None else f"{setting.n_features} features"
    achieved, error = figures.mean(), figures.std() / np.sqrt(STUDIES)
    planned = f"{setting.auc:g}", features, f"{setting.balance:g}", plan.n
    noise = f"{true:.3f}", f"{plan.noise_share:.2f}", f"{share:.2f}"
    print_row(*planned, *noise, what, f"{promised:g}", f"{achieved:.4f} ± {error:.4f}", f"{achieved / promised:.3f}")


# ---- how much of the training noise goes away

GROWTH = [(P, best, C) for P, best in ((10, 1.0), (50, 1.5), (200, 2.0), (1000, 3.0)) for C in (0.01, 1.0, 100.0)]
GROWTH_ROWS, REPEATS = 100, 8


def growth(P: int, best: float, C: float) -> tuple[float, float, float, float]:
    """(mean separation at n, measured noise share, r from n to 2n, r from n to 5n) of logistic regression."""
    classes = apart(best, P)
    deltas, shares = np.empty((REPEATS, 3)), []
    for k in range(REPEATS):
        rng = np.random.default_rng([P, round(100 * C), k])
        y = np.arange(5 * GROWTH_ROWS) % 2
        X = classes.rows(y, rng)
        for j, factor in enumerate((1, 2, 5)):
            n = factor * GROWTH_ROWS
            model = LogisticRegression(C=C, tol=1e-5, max_iter=2000).fit(X[:n], y[:n])
            deltas[k, j] = model.coef_[0] @ classes.shift / np.linalg.norm(model.coef_)
            if factor == 1:
                shares.append(fl.honest_scores(model, X[:n], y[:n]).noise_share)
    now, twice, fivefold = deltas.mean(axis=0)
    # delta_m = delta_n / sqrt(1 - r + r n/m), solved for r.
    r2, r5 = (1 - (now / twice) ** 2) / (1 - 1 / 2), (1 - (now / fivefold) ** 2) / (1 - 1 / 5)
    return now, float(np.mean(shares)), r2, r5


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


def print_curves(title: str, names: tuple[str, ...]) -> None:
    """One line per data set, penalty and factor, averaged over sizes and splits; and one for all."""
    print(f"\n## {title}\n")
    begin_table(CURVE_COLUMNS)
    everything: list[Forecast] = []
    for name in names:
        X, y = named(name)
        for C in PENALTIES:
            found = [f for n in ROWS for seed in range(SPLITS) for f in forecasts(X, y, n, C, seed)]
            everything += found
            print_forecasts(name, f"{C:g}", found)
    print_forecasts("**all**", "-", everything)


def print_forecasts(name: str, C: str, everything: list[Forecast]) -> None:
    for factor in (2, 5):
        found = [f for f in everything if f.factor == factor]
        if not found:
            print_row(name, C, factor, *"------")
            continue
        today, mean, measured = (np.array([getattr(f, k) for f in found]) for k in ("today", "mean", "measured"))
        within = np.mean([f.low <= f.measured <= f.high for f in found])
        errors = np.mean(np.abs(mean - measured)), np.mean(np.abs(today - measured))
        figures = today.mean(), mean.mean(), measured.mean(), *errors
        print_row(name, C, factor, *(f"{x:.3f}" for x in figures), f"{within:.2f} ({len(found)})")


TEXT = f"""\
{STUDIES} simulated studies of the planned size each: normal features and logistic regression with C = 1, or normal
held-out scores. Noise share: what the planner assumed, and what foldless measured. Achieved: mean half width of the
95 % interval, or share of the studies whose interval lay above the bound, ± its standard error."""
NOISE = f"""
# How much of the training noise goes away

Normal features, {GROWTH_ROWS} rows, means of {REPEATS} training sets. r solves delta_m = delta_n / sqrt(1 - r + r n/m)
for the true separations; if all of the measured noise went away with more rows, r would be the noise share.
"""
CURVES = f"""
# Learning curves of real data

Trained on {" and ".join(map(str, ROWS))} rows ({SPLITS} splits each), the AUC at 2 and 5 times the rows foretold; then
trained there and measured on the 30 % of the rows that no fit saw. Mean absolute errors, of single fits."""
CURVE_COLUMNS = (
    "data | C | times the rows | estimated today | foretold | measured | error of the forecast | "
    "error of today's figure | within the 95 % interval"
)


def print_growth() -> None:
    """How much of the noise went away, setting by setting, and the slope over all of them."""
    found = []
    for P, best, C in GROWTH:
        now, share, *r = growth(P, best, C)
        found += [(share, each) for each in r]
        print_row(P, f"{C:g}", f"{now:.2f}", f"{share:.2f}", f"{r[0]:.2f}", f"{r[1]:.2f}")
    shares, removed = np.array(found).T
    slope = shares @ removed / (shares @ shares)
    print(f"\nr = {slope:.2f} x noise share by least squares, residual sd {np.std(removed - slope * shares):.2f}.")


def main() -> None:
    """Print the page."""
    warnings.simplefilter("ignore")
    begin("plan", "Does the planner keep its promises?", TEXT)
    begin_table(
        "AUC | scores | balance | rows | true AUC | noise planned | measured | promise | promised | achieved | ratio"
    )
    for number, setting in enumerate(SETTINGS):
        print_kept(setting, number)
    print(NOISE)
    begin_table("features | C | true separation | noise share | r at 2 times the rows | r at 5 times", left=0)
    print_growth()
    if present(f"{IN_VIEW[0]}.npz") is None:
        print(f"\nLearning curves were left out: {VARIABLE} does not name a folder with the data sets.")
        return
    print(CURVES)
    print_curves("In view when the constants were set", IN_VIEW)
    print_curves("Looked at once", UNSEEN)


if __name__ == "__main__":
    main()
