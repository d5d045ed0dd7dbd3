"""The questions that the library is asked about a situation, and whether its answer holds the truth."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit

import foldless as fl
from foldless_studies import runs
from foldless_studies.sampling import Floats, Labels, source
from foldless_studies.truth.situations import CLASSES, RISKS, Data, Levels, Situation, fits

LEVEL = 0.9
# A rate of 0 or 1, or an AUC of 1, lies outside every central interval: an end this close to it reaches it.
EDGE, AUC_EDGE = 0.005, 0.001
NEAR = 1e-6  # numbers that are no estimates, as the net benefit of treating everyone, are equal to rounding
THRESHOLD = 0.2  # of the net benefit
KNOWN = 0.1  # standard error of a truth, in widths of the interval, up to which it is one
TINY = float(np.finfo(float).tiny)
FARTHEST = 25.0  # log odds beyond which the library takes a row for certain
SUREST = -float(np.log(np.finfo(float).eps))  # the same in the log loss, as in scikit-learn
STRENGTHS = {"no penalty": np.inf, "weak penalty": 100.0, "medium penalty": 1.0, "strong penalty": 0.01}
TEST_ROWS, MOST_TEST_ROWS, CHUNK = 1_200, 40_000, 500_000
# What a classifier is compared with; fits that are quick.
RIVALS: tuple[Levels, ...] = (
    {"family": "logistic", "strength": "strong penalty"},
    {"family": "ridge", "strength": "medium penalty"},
    {"family": "svm", "strength": "strong penalty"},
    {"family": "logistic", "strength": "medium penalty", "pipeline": "pca"},
)
KBEST, PERMUTATIONS, CS = 10, 99, np.geomspace(1e-3, 1e3, 8)


@dataclass(frozen=True)
class Asked:
    """An interval, the truth, and the reasons for caution that the result itself names.

    `alarm`: where there is nothing to find, whether the answer finds something; None elsewhere.
    """

    low: float
    high: float
    truth: float
    alarm: bool | None
    doubts: tuple[str, ...] = ()
    mean: float = float("nan")


def perform(situation: Situation) -> dict[str, Any]:
    """The outcome of a situation as plain data: of its question, and of others that its analysis answers besides."""
    with runs.quietly():
        line: dict[str, Any] = {"task": situation.key, "levels": situation.levels}
        try:
            asked = _asked(situation)
        except fl.FoldlessError as err:
            return {**line, "refused": str(err)}
        except Exception as err:  # what must never happen is what the report shows first
            return {**line, "crashed": f"{type(err).__name__}: {err}"}
        outcomes = {name: _outcome(answer) for name, answer in asked.items()}
        own = situation.levels["question"]
        return {**line, **outcomes.pop(own), "doubts": list(asked[own].doubts), "besides": outcomes}


def _outcome(asked: Asked) -> dict[str, Any]:
    figures = {name: runs.short(getattr(asked, name)) for name in ("low", "high", "truth")}
    if np.isnan(asked.truth):
        figures = dict.fromkeys(figures)
    off = (asked.mean - asked.truth) / (asked.high - asked.low or 1.0)
    figures["bias"] = None if np.isnan(off) else runs.short(off)
    held = None if np.isnan(asked.truth) else bool(asked.low <= asked.truth <= asked.high)
    return {**figures, "held": held, "alarm": asked.alarm}


def _asked(situation: Situation) -> dict[str, Asked]:
    data, question = situation.data(), situation.levels["question"]
    try:
        model = pipeline_of(situation.levels, data.X.shape[1]).fit(data.X, data.y)
    except np.linalg.LinAlgError as err:  # before foldless has been asked anything
        raise fl.InputError(f"scikit-learn could not fit this situation: {err}") from err
    test = Test(data, source(situation.seed, "test", situation.index))
    found = (partial(_read, question) if question in READ else OTHERS[question])(model, data, test)
    for name, answer in found.items():
        if not (np.isnan(answer.truth) or np.isfinite([answer.low, answer.high]).all()):
            raise ArithmeticError(f"{name}: the interval is {answer.low} to {answer.high}.")
    return found


# ---- The classifiers.


def pipeline_of(levels: Levels, p: int) -> Any:
    """The unfitted pipeline of a situation."""
    from sklearn.decomposition import PCA
    from sklearn.feature_selection import SelectKBest
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import MinMaxScaler, OneHotEncoder, StandardScaler

    named = levels["cells"] == "categories"
    steps: list[Any] = []
    if levels["structure"] == "gaps":
        steps.append(SimpleImputer(strategy="most_frequent" if named else "mean"))
    if named:
        steps.append(OneHotEncoder(handle_unknown="ignore", sparse_output=False))
    steps += {"scaler": [StandardScaler()], "minmax": [MinMaxScaler()]}.get(levels["pipeline"], [])
    if levels["pipeline"] == "pca" and p > 5:
        steps += [StandardScaler(), PCA(5, random_state=0)]
    if levels["family"] == "kbest" and p > KBEST and levels["pipeline"] != "pca":
        steps.append(SelectKBest(k=KBEST))
    last = _classifier(levels["family"], STRENGTHS[levels["strength"]])
    return make_pipeline(*steps, last.set_params(class_weight="balanced") if levels["weights"] == "balanced" else last)


def _classifier(family: str, C: float) -> Any:
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.linear_model import LogisticRegression, RidgeClassifier
    from sklearn.naive_bayes import GaussianNB
    from sklearn.svm import SVC, LinearSVC

    if family == "ridge":
        return RidgeClassifier(alpha=1 / C)
    if family == "svm":
        return LinearSVC(C=C, max_iter=10_000, random_state=0)
    if family == "lda":
        return LinearDiscriminantAnalysis(solver="lsqr", shrinkage=min(0.9, 0.1 / C**0.5))
    if family == "l1":
        return LogisticRegression(C=max(C, 0.1), l1_ratio=1.0, solver="liblinear", random_state=0)
    if family == "elastic net":
        return LogisticRegression(C=max(C, 0.1), l1_ratio=0.5, solver="saga", max_iter=2_000, random_state=0)
    if family == "hinge":
        return SVC(kernel="linear", C=min(C, 1.0), max_iter=1_000_000)  # without bounds libsvm may take an hour
    if family == "forest":
        return RandomForestClassifier(15, min_samples_leaf=3, random_state=0)
    if family == "bayes":
        return GaussianNB()
    return LogisticRegression(C=C, max_iter=1_000)


# ---- The truth, from a large draw.


class Test:
    """New rows of the same law, made in chunks as they are asked for: classes in equal parts."""

    def __init__(self, data: Data, rng: np.random.Generator) -> None:
        rows = int(np.clip(12 * data.y.size, TEST_ROWS, MOST_TEST_ROWS))
        self.data, self.rng = data, rng
        self.y: Labels = np.arange(rows) % len(data.shifts)

    def scores(self, *models: Any) -> list[Any]:
        """The scores of the test rows under each model: decision values, or one column for each class."""
        step, parts = max(100, CHUNK // self.data.X.shape[1]), []
        for at in range(0, self.y.size, step):
            X = self.data.rows(self.y[at : at + step], self.rng)
            parts.append([_decision(model, X) for model in models])
        return [np.concatenate(each) for each in zip(*parts, strict=True)]

    def auc(self, scores: Any) -> float:
        return float(fl.baselines.delong(self.y, scores))


def _decision(model: Any, X: Floats) -> Floats:
    """What the model decides by: positive where it predicts the last of two classes."""
    ask = getattr(model, "decision_function", None)
    return np.asarray(model.predict_proba(X)[:, 1] - 0.5 if ask is None else ask(X))


def _truly(data: Data, test: Test, model: Any) -> float:
    return 0.5 if _is_noise(data) else test.auc(test.scores(model)[0])


def _is_noise(data: Data) -> bool:
    return data.levels["effect"] == "none"


# ---- The questions.


def _doubts(a: fl.Analysis) -> tuple[str, ...]:
    """The findings that make a verdict other than "trust"."""
    return tuple(dict.fromkeys(finding.name for finding in a.findings if finding.level > 0))


def _on_auc(post: fl.AUCPosterior, truth: float, doubts: tuple[str, ...], noise: bool) -> Asked:
    low, high = post.interval(LEVEL)
    high = 1.0 if high > 1 - AUC_EDGE else high
    return Asked(low, high, truth, bool(low > 0.5) if noise else None, doubts, post.mean)


def _analysed(model: Any, data: Data) -> fl.Analysis:
    """The analysis that `analyse` chooses, or refits where it leaves the choice to the user."""
    linear = hasattr(model[-1], "coef_")
    return fl.analyse(model, data.X, data.y, groups=data.groups, method="auto" if linear else "refit")


def _read(question: str, model: Any, data: Data, test: Test) -> dict[str, Asked]:
    """The answer, and those to the other questions that the same analysis answers."""
    a, (scores,) = _analysed(model, data), test.scores(model)
    return {question: READ[question](a, data, test, scores), **_besides(question, a, data, test, scores)}


def _besides(question: str, a: fl.Analysis, data: Data, test: Test, scores: Floats) -> dict[str, Asked]:
    found = {}
    for other in READ:
        if other != question and fits({**data.levels, "question": other}):
            with suppress(fl.FoldlessError):
                found[other] = READ[other](a, data, test, scores)
    return found


def _auc(a: fl.Analysis, data: Data, test: Test, scores: Floats) -> Asked:
    truth = 0.5 if _is_noise(data) else test.auc(scores)
    return _on_auc(a.auc, truth, _doubts(a), _is_noise(data))


def _rate(name: str, a: fl.Analysis, data: Data, test: Test, scores: Floats) -> Asked:
    post: Any = getattr(a.error(), name)
    right = scores[test.y == 1] > 0 if name == "sensitivity" else scores[test.y == 0] <= 0
    low, high = post.interval(LEVEL)
    low, high = 0.0 if low < EDGE else low, 1.0 if high > 1 - EDGE else high
    return Asked(low, high, float(np.mean(right)), None, _doubts(a), post.mean)


def _risk(measure: str, a: fl.Analysis, data: Data, test: Test, scores: Floats) -> Asked:
    """A measure of probabilities, at the share of positive rows that the sample has; all scores are log-odds."""
    asked: dict[str, Callable[[], Any]] = {
        "brier": lambda: a.brier,
        "log loss": lambda: a.log_loss,
        "slope": lambda: a.calibration.slope,
        "intercept": lambda: a.calibration.intercept,
        "precision": lambda: a.average_precision,
        "net benefit": lambda: a.net_benefit([THRESHOLD]),
    }
    post = asked[measure]()
    low, high = (float(np.squeeze(end)) for end in post.interval(LEVEL))
    share = float(np.mean(data.y))
    weight = np.where(test.y == 1, share, 1 - share)
    truth = TRUE_RISKS[measure](test.y, scores, weight / weight.sum())
    if isinstance(truth, tuple):  # where hardly any row is on the wrong side, the truth itself is not known
        truth = truth[0] if truth[1] < KNOWN * (high - low) else float("nan")
    return Asked(low - NEAR, high + NEAR, truth, None, _doubts(a), float(np.squeeze(post.mean)))


def _brier(y: Labels, scores: Floats, weight: Floats) -> float:
    return float(weight @ (expit(scores) - y) ** 2)


def _log_loss(y: Labels, scores: Floats, weight: Floats) -> float:
    s = np.clip(scores, -SUREST, SUREST)
    return float(weight @ np.logaddexp(0.0, np.where(y == 1, -s, s)))


def _intercept(y: Labels, scores: Floats, weight: Floats) -> tuple[float, float]:
    """What is to be added to the log odds for as many positive rows as there are, and its standard error."""
    s = np.clip(scores, -FARTHEST, FARTHEST)
    shift = float(brentq(lambda b: weight @ (expit(s + b) - y), -2 * FARTHEST, 2 * FARTHEST))
    q = expit(s + shift)
    return shift, float(np.linalg.norm(weight * (y - q))) / max(float(weight @ (q * (1 - q))), TINY)


def _slope(y: Labels, scores: Floats, weight: Floats) -> tuple[float, float]:
    """The slope of a logistic regression on the log odds, and its standard error."""
    from sklearn.linear_model import LogisticRegression

    s = np.clip(scores, -FARTHEST, FARTHEST)
    scale = float(np.std(s)) or 1.0
    line = LogisticRegression(C=np.inf, tol=1e-8, max_iter=1_000)
    q = line.fit(s[:, None] / scale, y, sample_weight=weight * y.size).predict_proba(s[:, None] / scale)[:, 1]
    bend = weight * q * (1 - q)
    off = s - float(bend @ s) / float(bend.sum())
    error = float(np.linalg.norm(weight * (y - q) * off)) / max(float(bend @ off**2), TINY)
    return float(line.coef_[0, 0]) / scale, error


def _precision(y: Labels, scores: Floats, weight: Floats) -> float:
    from sklearn.metrics import average_precision_score

    return float(average_precision_score(y, scores, sample_weight=weight))


def _net_benefit(y: Labels, scores: Floats, weight: Floats) -> float:
    odds = THRESHOLD / (1 - THRESHOLD)
    return float(weight @ ((expit(scores) >= THRESHOLD) * np.where(y == 1, 1.0, -odds)))


TRUE_RISKS: dict[str, Callable[[Labels, Floats, Floats], Any]] = {
    "brier": _brier,
    "log loss": _log_loss,
    "slope": _slope,
    "intercept": _intercept,
    "precision": _precision,
    "net benefit": _net_benefit,
}


def _compare(model: Any, data: Data, test: Test) -> dict[str, Asked]:
    """The same pipeline with something else in it, and what the analysis of the model says besides.

    The comparison itself names no reasons for caution, so that none excuses it.
    """
    levels = {**data.levels, **RIVALS[test.rng.integers(len(RIVALS))]}
    other = pipeline_of(levels, data.X.shape[1]).fit(data.X, data.y)
    both = [_analysed(each, data) for each in (model, other)]
    found, noise = fl.compare(*both).summary(LEVEL), _is_noise(data)
    first, second = test.scores(model, other)
    truth = 0.0 if noise else test.auc(first) - test.auc(second)
    low, high = found["low"], found["high"]
    asked = Asked(low, high, truth, bool(low > 0.0) if noise else None, mean=found["difference"])
    return {"compare": asked, **_besides("compare", both[0], data, test, first)}


def _search(model: Any, data: Data, test: Test) -> dict[str, Asked]:
    last, family = model.steps[-1][0], data.levels["family"]
    name, values = (f"{last}__alpha", 1 / CS) if family == "ridge" else (f"{last}__C", CS)
    search = fl.FoldlessSearch(model, {name: values.tolist()}).fit(data.X, data.y)
    # A search names no reasons for caution, so that none excuses it.
    return {"search": _on_auc(search.posterior_, _truly(data, test, search.best_estimator_), (), _is_noise(data))}


def _permutation(model: Any, data: Data, test: Test) -> dict[str, Asked]:
    found, nan = fl.permutation_test(model, data.X, data.y, PERMUTATIONS), float("nan")
    return {"permutation": Asked(nan, nan, nan, bool(found.p_value <= 0.05))}


def _classes(model: Any, data: Data, test: Test) -> dict[str, Asked]:
    """The AUC of three classes, and the share of rows that are classified rightly."""
    from sklearn.metrics import roc_auc_score

    a, noise, truth, (scores,) = fl.analyse(model, data.X, data.y), _is_noise(data), 0.5, test.scores(model)
    right = _right_of_classes(a, data, test, scores)
    if not noise:
        if data.levels["family"] in ("logistic", "lda"):
            scores = np.exp(scores - scores.max(axis=1, keepdims=True))
            scores /= scores.sum(axis=1, keepdims=True)
        both = [(c, np.isin(test.y, (c, other))) for c in range(3) for other in range(3) if c != other]
        truth = float(np.mean([roc_auc_score(test.y[rows] == c, scores[rows, c]) for c, rows in both]))
    return {"classes": _on_auc(a.auc, truth, _doubts(a), noise), "accuracy": right}


def _right_of_classes(a: fl.Analysis, data: Data, test: Test, scores: Floats) -> Asked:
    shares, right = np.bincount(data.y) / data.y.size, scores.argmax(axis=1) == test.y
    truth = float(shares @ [right[test.y == k].mean() for k in range(shares.size)])
    low, high = a.accuracy.interval(LEVEL)
    alarm = bool(low > shares.max()) if _is_noise(data) else None
    return Asked(low, high, truth, alarm, _doubts(a), a.accuracy.mean)


READ: dict[str, Callable[[fl.Analysis, Data, Test, Floats], Asked]] = {
    "auc": _auc,
    **{rate: partial(_rate, rate) for rate in ("sensitivity", "specificity")},
    **{measure: partial(_risk, measure) for measure in RISKS},
}
OTHERS: dict[str, Callable[[Any, Data, Test], dict[str, Asked]]] = {
    "compare": _compare,
    "search": _search,
    "permutation": _permutation,
    **dict.fromkeys(CLASSES, _classes),
}
