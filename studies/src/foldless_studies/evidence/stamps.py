"""What a page of `results/` was made with: the commit, and what the library answered to fixed questions then.

A change of the code that leaves the answers alone leaves the pages true. One that changes an answer puts every page
that rests on it out of date, whatever file was edited; `tests/test_stamps.py` asks the questions again.
"""

from __future__ import annotations

import re
import subprocess
import warnings
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.feature_selection import SelectKBest
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import foldless as fl

CLOSE = 2e-4  # answers this close are the same: other versions of the libraries round differently
BEGIN = "Made at commit"


def _rows(N: int, P: int, classes: int = 2) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng([N, P, classes])
    y = np.arange(N) % classes
    return rng.standard_normal((N, P)) + 0.7 * (np.arange(P) % classes == y[:, None]), y


def _logistic(C: float = 1.0) -> Any:
    return make_pipeline(StandardScaler(), LogisticRegression(C=C, tol=1e-10, max_iter=10_000))


def _auc() -> tuple[float, ...]:
    found = [fl.auc_posterior(_logistic(C).fit(X, y), X, y) for C in (0.01, 1, 100) for X, y in [_rows(60, 8)]]
    X, y = _rows(40, 90)
    found.append(fl.auc_posterior(RidgeClassifier().fit(X, y), X, y))
    return tuple(end for post in found for end in post.interval(0.9))


def _in_sample() -> tuple[float, ...]:
    X, y = _rows(60, 8)
    post = fl.auc_posterior(_logistic().fit(X, y), X, y, method="in-sample")
    return post.mean, post.sd


def _scores() -> tuple[float, ...]:
    X, y = _rows(60, 8)
    return tuple(fl.auc_posterior_from_scores(y[k:], X[k:, 0]).interval(0.9)[i] for k in (0, 41) for i in (0, 1))


def _refit() -> tuple[float, ...]:
    X, y = _rows(60, 8)
    model = make_pipeline(StandardScaler(), SelectKBest(k=3), LogisticRegression(tol=1e-10))
    return tuple(fl.auc_posterior(model.fit(X, y), X, y).interval(0.9))


def _compare() -> tuple[float, ...]:
    X, y = _rows(60, 8)
    found = fl.compare(_logistic(0.01).fit(X, y), _logistic(10.0).fit(X, y), X, y)
    return found.prob_a_better, *found.difference.interval(0.9)


def _classes() -> tuple[float, ...]:
    X, y = _rows(60, 6, classes=3)
    a = fl.analyse(_logistic().fit(X, y), X, y)
    return a.auc.mean, a.auc.sd, a.accuracy.mean


def _search() -> tuple[float, ...]:
    X, y = _rows(60, 8)
    found = fl.FoldlessSearch(_logistic(), {"logisticregression__C": [0.01, 0.1, 1.0, 10.0]}).fit(X, y)
    return found.best_score_, *found.posterior_.interval(0.9)


def _permutation() -> tuple[float, ...]:
    X, y = _rows(60, 8)
    tests = (fl.permutation_test(model.fit(X, y), X, y, 99) for model in (RidgeClassifier(), _logistic()))
    return tuple(float(value) for test in tests for value in (test.statistic, test.null.mean()))


def _measures() -> tuple[float, ...]:
    X, y = _rows(60, 8)
    a = fl.analyse(_logistic().fit(X, y), X, y)
    measures = a.calibration.slope, a.calibration.intercept, a.brier, a.average_precision, a.net_benefit([0.3])
    return tuple(float(np.squeeze(end)) for each in measures for end in each.interval(0.9))


def _plan() -> tuple[float, ...]:
    X, y = _rows(60, 8)
    curve = fl.learning_curve(_logistic().fit(X, y), X, y)
    return float(fl.plan_sample_size(0.8, half_width=0.05).n), *(curve.at(k).mean for k in (1, 2, 5))


def _findings() -> tuple[float, ...]:
    X, y = _rows(60, 8)
    twice = np.repeat(np.arange(30), 2)
    found = (fl.diagnose(_logistic().fit(X[r], y[r]), X[r], y[r]) for r in (np.arange(60), twice))
    return tuple(float(len(each.flagged)) for each in found)


QUESTIONS: dict[str, Callable[[], tuple[float, ...]]] = {
    "auc": _auc,
    "in-sample": _in_sample,
    "scores": _scores,
    "refit": _refit,
    "compare": _compare,
    "classes": _classes,
    "search": _search,
    "permutation": _permutation,
    "measures": _measures,
    "plan": _plan,
    "findings": _findings,
}


@cache
def answer(question: str) -> tuple[float, ...]:
    """What the library answers now."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return QUESTIONS[question]()


def stamp(questions: Sequence[str], root: Path) -> str:
    """The last lines of a page."""
    said = "; ".join(f"{name} {' '.join(f'{x:.6g}' for x in answer(name))}" for name in questions)
    return (
        f"{BEGIN} {commit(root)}. Answers then, which `foldless_studies/evidence/stamps.py` asks for again: {said}.\n"
    )


def commit(root: Path) -> str:
    """Of the checkout; with a plus where files of the package have been changed since."""
    head = _git(root, "rev-parse", "--short", "HEAD")
    return head + "+" * bool(_git(root, "status", "--porcelain", "--", "src")) if head else f"of {fl.__version__}"


def _git(root: Path, *words: str) -> str:
    try:
        return subprocess.run(
            ["git", "-C", str(root), *words], capture_output=True, text=True, check=True
        ).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""


def changed(page: str, rests_on: Sequence[str] = ()) -> list[str] | None:
    """The questions that are answered differently now, or that the stamp does not have; None without a stamp."""
    found = re.search(rf"^{BEGIN} .*: (.*)\.$", page, re.MULTILINE)
    if found is None:
        return None
    then = {name: tuple(map(float, values)) for name, *values in (part.split() for part in found[1].split("; "))}
    other = [name for name, values in then.items() if name not in QUESTIONS or not _same(values, answer(name))]
    return other + [name for name in rests_on if name not in then]


def _same(then: tuple[float, ...], now: tuple[float, ...]) -> bool:
    return len(then) == len(now) and bool(np.allclose(then, now, rtol=CLOSE, atol=CLOSE))
