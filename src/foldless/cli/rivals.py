"""The estimators that ``foldless demo`` sets side by side: one line each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import foldless as fl

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
