"""The classifiers that a command can fit, and the steps before them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import foldless as fl

MAX_ITER = 10_000
REACH = 1e-30, 1e30  # of C, and of the largest number in X: far outside, liblinear never ends
TOLERANCE = 1e-7  # the default stops early on wide tables, and the answer would carry a note about it


def _logistic(C: float, seed: int) -> Any:
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression(C=C, tol=TOLERANCE, max_iter=MAX_ITER, random_state=seed)


def _ridge(alpha: float, seed: int) -> Any:
    from sklearn.linear_model import RidgeClassifier

    return RidgeClassifier(alpha=alpha, random_state=seed)


def _svm(C: float, seed: int) -> Any:
    from sklearn.svm import LinearSVC

    # The dual solver, the default for wide tables, is seldom at its optimum after 1000 rounds.
    return LinearSVC(C=C, dual=False, tol=TOLERANCE, max_iter=MAX_ITER, random_state=seed)


def _lda(shrinkage: float | str, seed: int) -> Any:
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

    return LinearDiscriminantAnalysis(solver="lsqr", shrinkage=shrinkage)


@dataclass(frozen=True)
class Family:
    """A classifier with one number that says how strongly it is regularised."""

    title: str
    parameter: str
    make: Callable[[Any, int], Any]


FAMILIES = {
    "logistic": Family("logistic regression", "C", _logistic),
    "ridge": Family("ridge classifier", "alpha", _ridge),
    "lda": Family("linear discriminant analysis", "shrinkage", _lda),
    "svm": Family("linear support vector machine", "C", _svm),
}


def strength(family: str, C: float, shrinkage: Any) -> Any:
    """The value of a family's parameter: C, alpha = 1/C, or the shrinkage."""
    return {"C": C, "alpha": 1 / C, "shrinkage": shrinkage}[FAMILIES[family].parameter]


def refuse_endless(C: float, largest: float) -> None:
    """Refuse a support vector machine whose solver would go on forever; `largest` is the size of the numbers in X."""
    low, high = REACH
    if not low <= C <= high:
        raise fl.InputError(f"C of svm must lie between {low:g} and {high:g}, got {C:g}: use one nearer to 1.")
    if 0 < largest < low or high < largest < np.inf:
        raise fl.InputError(
            f"the largest number that reaches the svm is {largest:.1g}, and its solver needs it between {low:g} and "
            f"{high:g}: rescale the columns."
        )


@dataclass(frozen=True)
class Preparation:
    """What happens to the columns before the classifier, inside the pipeline."""

    standardize: bool = True
    log: bool = False
    impute: str | None = None
    numbers: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()

    def pipeline(self, classifier: Any) -> Any:
        """Unfitted: the steps, and the classifier at the end."""
        from sklearn.pipeline import make_pipeline

        steps = [self._columns()] if self.texts else self._steps()
        return make_pipeline(*steps, classifier)

    @property
    def words(self) -> str:
        """As it is told to the user."""
        done = ["standardized"] * self.standardize + ["log(1 + x)"] * self.log
        done += [f"{self.impute} for missing values"] * (self.impute is not None) + ["one-hot text"] * bool(self.texts)
        return ", ".join(done) or "as they are"

    def _steps(self) -> list[Any]:
        from sklearn.impute import SimpleImputer
        from sklearn.preprocessing import FunctionTransformer, StandardScaler

        steps = [SimpleImputer(strategy=self.impute)] if self.impute else []
        steps += [FunctionTransformer(np.log1p, feature_names_out="one-to-one")] if self.log else []
        return steps + ([StandardScaler()] if self.standardize else [])

    def _columns(self) -> Any:
        from sklearn.compose import ColumnTransformer
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import OneHotEncoder

        steps = self._steps()
        parts = [("numbers", make_pipeline(*steps) if steps else "passthrough", list(self.numbers))]
        words = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
        parts = [part for part in parts if part[2]] + [("words", words, list(self.texts))]
        return ColumnTransformer(parts, verbose_feature_names_out=False)
