"""Two classifiers on the same rows: do stated probabilities come true, and do intervals of the difference cover?

    python -m foldless_studies.evidence.compare > results/compare.md

Simulated pairs have a known AUC. Each problem is drawn anew (size, balance, strength, direction), so that now one and
now the other classifier is the better one. Development sets: training rows drawn at random, the rest is the truth.
Five minutes of one core.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.compose import make_column_transformer
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedShuffleSplit, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import foldless as fl
from foldless_studies.data import named
from foldless_studies.evidence import begin, begin_table, print_row
from foldless_studies.populations import Population

SAMPLES, SEED, LEVEL = 500, 20, 0.9
SETS = ("spambase", "madelon", "text_pcmac", "pima", "wdbc")  # the five largest with independent rows
ROWS, SPLITS = 80, 40
Figures = dict[str, np.ndarray]
Rng = np.random.Generator


# ---- Simulated pairs of classifiers.


@dataclass(frozen=True)
class Pair:
    """One sample of two normal classes, and two unfitted classifiers."""

    population: Population
    X: np.ndarray
    y: np.ndarray
    models: tuple[Any, Any]

    def fitted(self) -> list[Any]:
        return [model.fit(self.X, self.y) for model in self.models]

    def auc(self, model: Any) -> float:
        """The AUC on new data, exactly."""
        P = self.population.columns
        w = np.asarray(model.decision_function(np.eye(P)) - model.decision_function(np.zeros((1, P))))
        return self.population.truth(w[:, None])[0].auc


def logistic(C: float) -> LogisticRegression:
    return LogisticRegression(C=C, tol=1e-7, max_iter=10_000)


def on_columns(first: int, last: int, model: Any) -> Any:
    return make_pipeline(make_column_transformer(("passthrough", list(range(first, last)))), model)


def direction(rng: Rng, size: int) -> np.ndarray:
    v = rng.standard_normal(size)
    return v / np.linalg.norm(v)


def drawn(rng: Rng, shift: np.ndarray, a: Any, b: Any, correlation: float = 0.0) -> Pair:
    population = Population("pair", tuple(shift.tolist()), correlation=correlation, decaying=True)
    n = int(rng.choice([40, 60, 100, 160]))
    n1 = round(n * rng.uniform(0.35, 0.65))
    y = np.repeat([0, 1], [n - n1, n1])
    return Pair(population, population.rows(y, rng), y, (a, b))


def independent(rng: Rng) -> Pair:
    """Five columns each, unrelated."""
    shift = np.concatenate([s * direction(rng, 5) for s in rng.uniform(0, 1.8, 2)])
    return drawn(rng, shift, on_columns(0, 5, logistic(1.0)), on_columns(5, 10, logistic(1.0)))


def nested(rng: Rng) -> Pair:
    """Four columns, and the same with twelve more."""
    shift = np.concatenate([rng.uniform(0.3, 1.6) * direction(rng, 4), rng.uniform(0, 1.6) * direction(rng, 12)])
    return drawn(rng, shift, on_columns(0, 4, logistic(1.0)), on_columns(0, 16, logistic(1.0)))


def two_penalties(rng: Rng) -> Pair:
    """C = 0.01 and C = 1, correlated columns."""
    P, correlation = int(rng.choice([10, 30])), rng.uniform(0, 0.8)
    root = Population("", (0.0,) * P, correlation=correlation, decaying=True).root()
    shift = root @ direction(rng, P) if rng.random() < 0.5 else root @ root.T @ direction(rng, P)
    shift *= rng.uniform(0.3, 2.2) / np.linalg.norm(np.linalg.solve(root, shift))
    return drawn(rng, shift, logistic(0.01), logistic(1.0), correlation)


def families(rng: Rng) -> Pair:
    """Ridge regression on fewer columns than LDA."""
    shift = np.concatenate([rng.uniform(0.3, 1.6) * direction(rng, 10), rng.uniform(0, 1.2) * direction(rng, 10)])
    lda = LinearDiscriminantAnalysis(solver="lsqr", shrinkage=0.2)
    return drawn(rng, shift, on_columns(0, 10, RidgeClassifier(alpha=5.0)), lda)


PAIRS: dict[str, Callable[[Rng], Pair]] = {
    "independent features": independent,
    "nested feature sets": nested,
    "two C of one model": two_penalties,
    "ridge against LDA": families,
}


def measure(draw: Callable[[Rng], Pair], samples: int, seed: int) -> Figures:
    """Per sample: what was stated about the two classifiers, and the truth."""
    return _columns([_compared(draw(np.random.default_rng([seed, k]))) for k in range(samples)])


def _compared(pair: Pair) -> dict[str, float]:
    a, b = pair.fitted()
    true_a, true_b = pair.auc(a), pair.auc(b)
    found = fl.compare(a, b, pair.X, pair.y)
    low, high = found.difference.interval(LEVEL)
    return {
        "truth": true_a - true_b,
        "stated": found.prob_a_better,
        "low": low,
        "high": high,
        "mean": found.difference.mean,
        "error_a": found.a.mean - true_a,
        "error_b": found.b.mean - true_b,
        "correlation": found.correlation,
        "unrelated_sd": np.hypot(found.a.sd, found.b.sd),
    }


def _columns(rows: list[dict[str, float]]) -> Figures:
    return {name: np.array([row[name] for row in rows]) for name in rows[0]}


def _together(parts: list[Figures]) -> Figures:
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def calibration(f: Figures, low: float, high: float) -> str:
    """How often the model named with a probability in [low, high] is the better one, and of how many."""
    stated, right = np.maximum(f["stated"], 1 - f["stated"]), (f["stated"] > 0.5) == (f["truth"] > 0)
    counted = (stated >= low) & (stated <= high)
    return f"{right[counted].mean() if counted.any() else float('nan'):.2f} ({counted.sum()})"


def print_simulated(name: str, f: Figures) -> None:
    bounds = ((0.6, 0.7), (0.7, 0.8), (0.8, 0.9), (0.9, 0.97), (0.97, 1.0))
    print_row(
        name,
        f"{np.mean((f['low'] <= f['truth']) & (f['truth'] <= f['high'])):.3f}",
        *(calibration(f, *b) for b in bounds),
        f"{np.corrcoef(f['error_a'], f['error_b'])[0, 1]:.2f} / {f['correlation'].mean():.2f}",
        f"{np.mean(np.abs(f['mean'] - f['truth'])):.4f}",
        f"{np.mean((f['high'] - f['low']) / (f['unrelated_sd'] * 2 * 1.645)):.2f}",
    )


def exact_identities() -> str:
    """Swapping mirrors, and a model against itself differs by exactly 0."""
    pair = nested(np.random.default_rng(SEED))
    a, b = pair.fitted()
    worst, zero = 0.0, True
    for method in ("loo", "in-sample"):
        one = fl.compare(a, b, pair.X, pair.y, rope=0.01, method=method)
        two = fl.compare(b, a, pair.X, pair.y, rope=0.01, method=method)
        mirrored = [
            (one.prob_a_better, two.prob_b_better),
            (one.prob_rope, two.prob_rope),
            (one.difference.mean, -two.difference.mean),
            (one.difference.sd, two.difference.sd),
            (one.difference.interval()[0], -two.difference.interval()[1]),
        ]
        worst = max(worst, *(abs(x - y) for x, y in mirrored))
        itself = fl.compare(a, a, pair.X, pair.y, method=method)
        zero &= itself.difference.interval() == (0.0, 0.0) and itself.prob_rope == 1.0 and itself.difference.sd == 0.0
    return f"Swapping a and b mirrors all figures to within {worst:.1e}; a model against itself is exactly 0: {zero}."


# ---- Development sets.


def on_real_data(name: str, splits: int, seed: int) -> Figures:
    """Per split: truth of C = 0.01 less C = 1 on the test part, P(0.01 better), difference by 5-fold CV, covered."""
    X, y = named(name)
    parts = StratifiedShuffleSplit(splits, train_size=ROWS, random_state=seed).split(X, y)
    return _columns([_on_split(X, y, train, test) for train, test in parts])


def _on_split(X: np.ndarray, y: np.ndarray, train: np.ndarray, test: np.ndarray) -> dict[str, float]:
    models = [make_pipeline(StandardScaler(), logistic(C)) for C in (0.01, 1.0)]
    folds = [np.mean(cross_val_score(m, X[train], y[train], cv=5, scoring="roc_auc")) for m in models]
    a, b = (m.fit(X[train], y[train]) for m in models)
    truth = [roc_auc_score(y[test], m.decision_function(X[test])) for m in (a, b)]
    found = fl.compare(a, b, X[train], y[train])
    low, high = found.difference.interval(LEVEL)
    gap = truth[0] - truth[1]
    return {"truth": gap, "stated": found.prob_a_better, "folds": folds[0] - folds[1], "covered": low <= gap <= high}


def picked(f: Figures, favoured: np.ndarray) -> str:
    """How often the truly better model is favoured; a tie is half a pick."""
    truth = np.sign(f["truth"])
    counted = truth != 0
    return f"{np.mean((1 + truth[counted] * np.sign(favoured)[counted]) / 2):.3f}"


def print_real(name: str, test_rows: str, f: Figures) -> None:
    better, covered = f"{np.mean(f['truth'] > 0):.2f}", f"{f['covered'].mean():.2f}"
    picks = picked(f, f["stated"] - 0.5), picked(f, f["folds"])
    print_row(name, test_rows, better, *picks, calibration(f, 0.8, 0.9), covered)


SIMULATED = f"""\
## Simulated pairs with a known AUC, {SAMPLES} samples each, 40 to 160 rows

covered: share of {LEVEL:.0%} intervals of the difference that hold the truth. 0.8-0.9 and so on: how often the model
that was named with such a probability is the better one (number of statements). correlation: of the errors of the two
AUCs, observed / stated. width: of the interval, in units of what it would be were the errors unrelated and the prior of
the difference flat."""
DEVELOPMENT = f"""
## C = 0.01 against C = 1 on development sets, {ROWS} training rows, {SPLITS} splits each

better: share of splits in which C = 0.01 is truly better (AUC on the test part). The next two: how often the truly
better one is favoured. covered: {LEVEL:.0%} intervals that hold the difference on the test part.
"""


def main() -> None:
    """Print the page."""
    warnings.simplefilter("ignore")
    begin("compare", "Two classifiers on the same rows", SIMULATED)
    begin_table("pair | covered | 0.6-0.7 | 0.7-0.8 | 0.8-0.9 | 0.9-0.97 | 0.97-1 | correlation | error | width")
    simulated = {name: measure(draw, SAMPLES, SEED) for name, draw in PAIRS.items()}
    for name, found in {**simulated, "all": _together(list(simulated.values()))}.items():
        print_simulated(name, found)
    print(f"\n{exact_identities()}\n{DEVELOPMENT}")
    begin_table("data | test rows | better | P > 0.5 | 5-fold CV | 0.8-0.9 | covered")
    real = {name: on_real_data(name, SPLITS, SEED) for name in SETS}
    for name, found in real.items():
        print_real(name, str(len(named(name)[1]) - ROWS), found)
    print_real("all", "", _together(list(real.values())))


if __name__ == "__main__":
    main()
