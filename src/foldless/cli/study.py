"""The experiment behind ``foldless demo``: nine estimators on 60 training rows, and on labels without meaning."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np
import numpy.typing as npt

import foldless as fl

# ---- The estimators that ``foldless demo`` sets side by side: one line each.

BOOTSTRAPS = 50
PAIRS = 100
# Fast estimators are timed several times and the best taken: the first call also pays for imports.
TIMED_CALLS = 4
SLOW = 0.3


@dataclass(frozen=True)
class Rival:
    """A name, and a function of a fitted classifier and its training data."""

    name: str
    estimate: Callable[[Any, Any, Any], Any]
    ours: bool = False


@dataclass(frozen=True)
class Estimate:
    """What a rival says: an AUC, its 95 % interval if it has one, and the time it took."""

    auc: float
    low: float | None
    high: float | None
    milliseconds: float
    notes: tuple[str, ...] = ()


def _in_sample(model: Any, X: Any, y: Any) -> Any:
    return fl.auc_posterior(model, X, y, method="in-sample")


def _repeated_cv(model: Any, X: Any, y: Any) -> Any:
    return fl.baselines.cv_auc(model, X, y, folds=5, repeats=5)


def _bootstrap(model: Any, X: Any, y: Any) -> Any:
    return fl.baselines.bootstrap632plus_auc(model, X, y, n_bootstraps=BOOTSTRAPS)


def _pairs(model: Any, X: Any, y: Any) -> Any:
    return fl.baselines.leave_pair_out_auc(model, X, y, max_pairs=PAIRS)


def all_rivals() -> tuple[Rival, ...]:
    """Ours first, then the refitting ones, then those that trust the training scores."""
    b = fl.baselines
    return (
        Rival("foldless", fl.auc_posterior, ours=True),
        Rival("5-fold CV", b.cv_auc),
        Rival("5 x 5-fold CV", _repeated_cv),
        Rival(f"leave-pair-out, {PAIRS} pairs", _pairs),
        Rival(f".632+, {BOOTSTRAPS} bootstraps", _bootstrap),
        Rival("resubstitution", b.resubstitution_auc),
        Rival("sample binormal", b.binormal_auc),
        Rival("EBAUC", b.ebauc),
        Rival("CBAUC, the paper", _in_sample),
    )


def ask(rival: Rival, model: Any, X: Any, y: Any) -> Estimate:
    """Run one rival and time it."""
    took, result = _timed(lambda: rival.estimate(model, X, y))
    low, high = _interval(result)
    notes = tuple(f"{rival.name}: {note}" for note in getattr(result, "notes", ()))
    return Estimate(point(result), low, high, 1000 * took, notes)


def point(result: Any) -> float:
    """The number itself: a posterior has a mean, a baseline is one."""
    return float(result.mean if isinstance(result, fl.AUCPosterior) else result)


def _interval(result: Any) -> tuple[float, float] | tuple[None, None]:
    try:
        low, high = result.interval(0.95)
    except fl.InputError:  # a baseline without an interval says so in this way
        return None, None
    return float(low), float(high)


def _timed(call: Callable[[], Any]) -> tuple[float, Any]:
    best, result = _once(call)
    for _ in range(TIMED_CALLS - 1):
        if best > SLOW:
            break
        best = min(best, _once(call)[0])
    return best, result


def _once(call: Callable[[], Any]) -> tuple[float, Any]:
    start = perf_counter()
    result = call()
    return perf_counter() - start, result


# ---- The experiment behind ``foldless demo``: 60 training rows, 509 held-out rows, and labels without meaning.

Floats = npt.NDArray[np.float64]

TRAIN_ROWS = 60
SEED = 0
# Denser where a good classifier's curve rises.
GRID = np.linspace(0, 1, 301) ** 2


@dataclass(frozen=True)
class Split:
    """Training rows and the held-out rows that stand for the truth."""

    X: Any
    y: Any
    X_test: Any
    y_test: Any


@dataclass(frozen=True)
class Row:
    """One estimator: on the real labels, and on average over shuffled ones (None when not asked)."""

    rival: Rival
    real: Estimate
    shuffled: float | None


@dataclass(frozen=True)
class Curve:
    """ROC curves: the posterior mean with its 95 % band on `GRID`, and the held-out one."""

    mean: Floats
    low: Floats
    high: Floats
    fpr: Floats
    tpr: Floats


@dataclass(frozen=True)
class Study:
    """All that the demo prints and draws."""

    rows: tuple[Row, ...]
    truth: Any
    curve: Curve
    method: str
    n_train: int
    n_test: int
    n_features: int
    shuffles: int

    @property
    def notes(self) -> list[str]:
        """Notes of all estimators, each once."""
        return list(dict.fromkeys(note for row in self.rows for note in row.real.notes))


def run(shuffles: int, progress: Callable[[str], None]) -> Study:
    """The whole comparison; deterministic but for the times."""
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

    split = load()
    # Hundreds of tiny fits: BLAS threads only get in each other's way, tenfold on a busy machine.
    with threadpool_limits(1):
        return _compared(split, shuffles, progress)


def _compared(split: Split, shuffles: int, progress: Callable[[str], None]) -> Study:
    model = fit(split.X, split.y)
    null_fits = [(y, fit(split.X, y)) for y in shuffled_labels(split.y, shuffles)]
    rows = []
    for rival in all_rivals():
        progress(rival.name)
        rows.append(Row(rival, ask(rival, model, split.X, split.y), _mean_on_noise(rival, split.X, null_fits)))
    truth = fl.baselines.delong(split.y_test, model.decision_function(split.X_test))
    method = fl.auc_posterior(model, split.X, split.y).method
    n_test, n_features = split.X_test.shape
    return Study(tuple(rows), truth, _curve(model, split), method, len(split.y), n_test, n_features, shuffles)


def load() -> Split:
    """scikit-learn's breast-cancer data, split once and for all."""
    from sklearn.datasets import load_breast_cancer
    from sklearn.model_selection import train_test_split

    X, y = load_breast_cancer(return_X_y=True)
    X, X_test, y, y_test = train_test_split(X, y, train_size=TRAIN_ROWS, stratify=y, random_state=SEED)
    return Split(X, y, X_test, y_test)


def fit(X: Any, y: Any) -> Any:
    """Standardise, then logistic regression: the classifier under judgement."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    return make_pipeline(StandardScaler(), LogisticRegression(max_iter=10_000)).fit(X, y)


def shuffled_labels(y: Any, count: int) -> list[Any]:
    """Permutations of the labels: whatever a classifier learns from them, its AUC on new data is 0.5."""
    rng = np.random.default_rng(SEED)
    return [rng.permutation(y) for _ in range(count)]


def _mean_on_noise(rival: Rival, X: Any, fits: list[tuple[Any, Any]]) -> float | None:
    return float(np.mean([point(rival.estimate(model, X, y)) for y, model in fits])) if fits else None


def _curve(model: Any, split: Split) -> Curve:
    from sklearn.metrics import roc_curve

    roc = fl.roc_posterior(model, split.X, split.y)
    low, high = roc.band(GRID, 0.95)
    fpr, tpr, _ = roc_curve(split.y_test, model.decision_function(split.X_test))
    return Curve(roc.mean(GRID), low, high, fpr, tpr)
