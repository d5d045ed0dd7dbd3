"""What a page of `results/` was made with: the commit, and what the library answered to fixed questions then.

A change of the code that leaves the answers alone leaves the pages true. One that changes an answer puts every page
that rests on it out of date, whatever file was edited; `tests/test_stamps.py` asks the questions again.
"""

from __future__ import annotations

import re
import subprocess
import warnings
from collections.abc import Callable, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis as LDA
from sklearn.feature_selection import SelectKBest
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC

import foldless as fl
import foldless_studies
from foldless_studies.classifiers import CLASSIFIERS

CLOSE = 2e-4  # answers this close are the same: other versions of the libraries round differently
BEGIN = "Made at commit"


def _rows(N: int, P: int, classes: int = 2) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng([N, P, classes])
    y = np.arange(N) % classes
    return rng.standard_normal((N, P)) + 0.7 * (np.arange(P) % classes == y[:, None]), y


def _rare(N: int, P: int) -> tuple[np.ndarray, np.ndarray]:
    """Columns that few rows hold, one row in eight positive, hardly any signal."""
    rng = np.random.default_rng([N, P])
    y = (np.arange(N) % 8 == 0).astype(int)
    return np.maximum(rng.standard_normal((N, P)) + 0.2 * y[:, None] - 1.6, 0), y


def _logistic(C: float = 1.0) -> Any:
    return make_pipeline(StandardScaler(), LogisticRegression(C=C, tol=1e-10, max_iter=10_000))


def _lasso(C: float) -> Any:
    return make_pipeline(StandardScaler(), CLASSIFIERS["l1"](C, None).set_params(tol=1e-10))  # type: ignore[arg-type]


def _fitted(model: Any, table: tuple[np.ndarray, np.ndarray], **options: Any) -> Any:
    return fl.analyse(model.fit(*table), *table, **options)


def _auc() -> tuple[float, ...]:
    """Few rows and many, wide tables, every family with a closed form, rare columns, groups, rates."""
    small, wide, rare = _rows(60, 8), _rows(40, 90), _rare(96, 12)
    found = [_fitted(_logistic(C), small) for C in (0.01, 1, 100)]
    found += [_fitted(RidgeClassifier(), wide), _fitted(_logistic(100), _rows(80, 40)), _fitted(_logistic(), rare)]
    found += [_fitted(LinearSVC(random_state=0), small), _fitted(LDA(solver="lsqr", shrinkage=0.3), small)]
    found += [_fitted(_logistic(100), _rare(600, 20)), _fitted(_logistic(), _rows(3000, 5))]
    found += [_fitted(_logistic(), small, groups=np.arange(60) // 3)]
    posts: list[Any] = [a.auc for a in found]
    posts += [rate for a in (found[1], found[5]) for rate in (a.error().sensitivity, a.error().specificity)]
    curves = [end for a in (found[1], found[5]) for end in a.roc.band([0.1, 0.5], 0.9)]
    return tuple(float(end) for ends in (*(post.interval(0.9) for post in posts), *curves) for end in ends)


def _in_sample() -> tuple[float, ...]:
    a = _fitted(_logistic(), _rows(60, 8), method="in-sample")
    return a.auc.mean, a.auc.sd


def _scores() -> tuple[float, ...]:
    X, y = _rows(60, 8)
    return tuple(fl.auc_posterior_from_scores(y[k:], X[k:, 0]).interval(0.9)[i] for k in (0, 41) for i in (0, 1))


def _refit() -> tuple[float, ...]:
    """Selected columns, L1, a hinge, a classifier without a formula."""
    small, scaled = _rows(60, 8), partial(make_pipeline, StandardScaler())
    models = [scaled(SelectKBest(k=3), LogisticRegression(tol=1e-10)), scaled(SVC(kernel="linear"))]
    models += [_lasso(0.1)]
    models += [GaussianNB()]
    return tuple(end for model in models for end in _fitted(model, small, method="refit").auc.interval(0.9))


def _compare() -> tuple[float, ...]:
    """Two penalties of one model, in closed form; a selection against all columns, by refits."""
    small, every = _rows(60, 8), _logistic()
    few = make_pipeline(SelectKBest(k=3), LogisticRegression(tol=1e-10))
    found = [fl.compare(_logistic(0.01).fit(*small), _logistic(10.0).fit(*small), *small)]
    found += [fl.compare(few.fit(*small), every.fit(*small), *small)]
    return tuple(x for each in found for x in (each.prob_a_better, *each.difference.interval(0.9)))


def _classes() -> tuple[float, ...]:
    found = [_fitted(model, _rows(60, 6, classes=3)) for model in (_logistic(), RidgeClassifier())]
    return tuple(x for a in found for x in (a.auc.mean, a.auc.sd, a.accuracy.mean))


def _search() -> tuple[float, ...]:
    found = fl.FoldlessSearch(_logistic(), {"logisticregression__C": [0.01, 0.1, 1.0, 10.0]}).fit(*_rows(60, 8))
    return found.best_score_, *found.posterior_.interval(0.9)


def _permutation() -> tuple[float, ...]:
    X, y = _rows(60, 8)
    tests = (fl.permutation_test(model.fit(X, y), X, y, 99) for model in (RidgeClassifier(), _logistic()))
    return tuple(float(value) for test in tests for value in (test.statistic, test.null.mean()))


def _measures() -> tuple[float, ...]:
    """Of probabilities, in closed form and by refits."""
    found = [
        _fitted(_logistic(), _rows(60, 8)),
        _fitted(_logistic(100), _rare(96, 12)),
        _fitted(_lasso(0.3), _rows(60, 8)),
    ]
    each = [
        measure
        for a in found
        for measure in (
            a.calibration.slope,
            a.calibration.intercept,
            a.brier,
            a.average_precision,
            a.net_benefit([0.3]),
        )
    ]
    return tuple(float(np.squeeze(end)) for measure in each for end in measure.interval(0.9))


def _plan() -> tuple[float, ...]:
    X, y = _rows(60, 8)
    curve = fl.learning_curve(_logistic().fit(X, y), X, y)
    return float(fl.plan_sample_size(0.8, half_width=0.05).n), *(curve.at(k).mean for k in (1, 2, 5))


def _findings() -> tuple[float, ...]:
    """Which findings there are, as a number each: clean rows, copies, few rows, a leak, an outlier."""
    (X, y), twice = _rows(60, 8), np.repeat(np.arange(30), 2)
    leak, few = np.column_stack([X, y + 1e-3 * X[:, 0]]), np.r_[np.arange(0, 60, 2), 1:8:2]
    tables = [(X, y), (X[twice], y[twice]), (X[few], y[few]), (leak, y)]
    found = [fl.diagnose(_logistic().fit(*table), *table) for table in tables]
    far = X * np.where(np.arange(60) == 7, 1e3, 1.0)[:, None]
    found.append(fl.diagnose(_logistic().fit(far, y), far, y))
    return tuple(float(crc32(" ".join(each.flagged).encode()) % 1_000) for each in found)


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
    """Of the checkout that a folder is in; with a plus where its code has been changed since."""
    head = _git(root, "rev-parse", "--short", "HEAD")
    edited = bool(_git(root, "status", "--porcelain", "--", ":/src", ":/studies"))
    return head + "+" * edited if head else f"of {fl.__version__}"


def code() -> int:
    """A number that is another one when any line of the library or of the studies is."""
    files = [each for package in (fl, foldless_studies) for each in sorted(Path(package.__path__[0]).rglob("*.py"))]
    return crc32(b"".join(each.read_bytes() for each in files))


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
