"""`AccuracyPosterior`: the posterior of a share of right decisions; `ClassErrorPosterior`: that of each decision."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import betainc, betaincc, betaincinv

from foldless.checks import Floats, as_number, as_numbers, as_probabilities
from foldless.results.auc import ShownAsCard, WithQuantiles, central, stated
from foldless.words import plain

HALF = 0.5  # Jeffreys' prior


@dataclass(frozen=True, repr=False)
class AccuracyPosterior(ShownAsCard, WithQuantiles):
    """Posterior of an accuracy, a balanced accuracy or a top-k accuracy on new data: a Beta law.

    `method` and `notes` are as in `AUCPosterior`; `apparent` is that of the training rows by the fit that saw them.

    Examples
    --------
    >>> from foldless.results.accuracy import AccuracyPosterior
    >>> post = AccuracyPosterior.of_rows("accuracy", 90.0, 10.0)
    >>> post
    AccuracyPosterior(accuracy 0.896, 95% interval [0.830, 0.947], method='loo')
    >>> round(post.prob_above(0.85), 3)
    0.925
    """

    name: str
    a: float
    b: float
    method: str = "loo"
    notes: tuple[str, ...] = ()
    apparent: float = float("nan")
    _card = "accuracy_posterior"

    @classmethod
    def of_rows(cls, name: str, right: float, wrong: float, **about: Any) -> AccuracyPosterior:
        """From numbers of right and wrong rows, under Jeffreys' prior."""
        return cls(name, right + HALF, wrong + HALF, **about)

    @classmethod
    def of_moments(cls, name: str, mean: float, sd: float, **about: Any) -> AccuracyPosterior:
        """The law with this mean and standard deviation."""
        size = mean * (1.0 - mean) / max(sd, 1e-12) ** 2 - 1.0
        return cls(name, mean * size, (1.0 - mean) * size, **about)

    @property
    def mean(self) -> float:
        """Posterior mean."""
        return self.a / (self.a + self.b)

    @property
    def sd(self) -> float:
        """Posterior standard deviation."""
        return float(np.sqrt(self.mean * (1.0 - self.mean) / (self.a + self.b + 1.0)))

    def cdf(self, p: Any) -> Floats:
        """Posterior probability that the accuracy is at most `p`."""
        return np.asarray(betainc(self.a, self.b, np.clip(as_numbers(p, "p"), 0.0, 1.0)))[()]

    def ppf(self, q: Any) -> Floats:
        """Posterior quantiles."""
        return np.asarray(betaincinv(self.a, self.b, as_probabilities(q, "q")))[()]

    def prob_above(self, p: float) -> float:
        """Posterior probability that the accuracy exceeds `p`."""
        return float(betaincc(self.a, self.b, np.clip(as_number(p, "p"), 0.0, 1.0)))

    def __repr__(self) -> str:
        low, high = self.interval()
        return (
            f"AccuracyPosterior({self.name} {self.mean:.3f}, 95% interval [{low:.3f}, {high:.3f}], "
            f"method={self.method!r})"
        )


@dataclass(frozen=True, eq=False, repr=False)
class ClassErrorPosterior(ShownAsCard):
    """Posterior of the decisions of a classifier of more than two classes, on new data.

    `error`, `accuracy` and `balanced_accuracy` have ``mean``, ``sd``, ``interval(level)``, ``cdf`` and ``ppf``, and so
    has each of the mappings `sensitivity` (share of a class that is recognised) and `ppv` (share of the decisions for a
    class that are right) by label. `confusion_mean` and `confusion_interval(level)` are matrices: of the rows of the
    class of the line, the share that is taken for the class of the column. Each line has a Dirichlet law, from the
    decisions on rows left out and a prior that counts as one row.

    Examples
    --------
    >>> import foldless as fl
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.linear_model import LogisticRegression
    >>> X, y = load_iris(return_X_y=True)
    >>> post = fl.error_posterior(LogisticRegression().fit(X[:, :2], y), X[:, :2], y)
    >>> post
    ClassErrorPosterior(error 0.1..., 95% interval [0.1..., 0.2...], 3 classes, method='loo')
    >>> post.confusion_mean.sum(axis=1).round(6)
    array([1., 1., 1.])
    """

    accuracy: AccuracyPosterior
    balanced_accuracy: AccuracyPosterior
    classes: tuple[Any, ...]
    counts: Floats  # (K, K) rows of each class by decision, as many as count as independent
    method: str
    notes: tuple[str, ...]
    _card = "class_error_posterior"

    @property
    def error(self) -> AccuracyPosterior:
        """Share of wrong decisions."""
        right = self.accuracy
        return replace(right, name="error", a=right.b, b=right.a, apparent=1 - right.apparent)

    @property
    def sensitivity(self) -> Mapping[Any, AccuracyPosterior]:
        """Share of the rows of each class that is recognised, by label."""
        return self._shares("sensitivity", *self._beta)

    @property
    def ppv(self) -> Mapping[Any, AccuracyPosterior]:
        """Share of the decisions for each class that are right, by label, with the classes as frequent as here."""
        return self._shares("PPV", self.counts + HALF, self.counts.sum(axis=0) - self.counts + HALF)

    def _shares(self, name: str, a: Floats, b: Floats) -> dict[Any, AccuracyPosterior]:
        each = zip(self.classes, np.diag(a).tolist(), np.diag(b).tolist(), strict=True)
        like = replace(self.accuracy, apparent=float("nan"))
        return {k: replace(like, name=f"{name} of {k!r}", a=right, b=wrong) for k, right, wrong in each}

    @property
    def _beta(self) -> tuple[Floats, Floats]:
        a = self.counts + 1 / len(self.classes)
        return a, a.sum(axis=1, keepdims=True) - a

    @property
    def confusion_mean(self) -> Floats:
        """Posterior means of the confusion matrix; each line adds up to 1."""
        a, b = self._beta
        return np.asarray(a / (a + b))

    def confusion_interval(self, level: float = 0.95) -> tuple[Floats, Floats]:
        """Lower and upper ends of the central credible intervals."""
        low, high = (np.asarray(betaincinv(*self._beta, q)) for q in central(level))
        return low, high

    def summary(self, level: float = 0.95) -> dict[str, Any]:
        """Every share with its interval, as a plain dict."""
        matrix = zip(("mean", "low", "high"), (self.confusion_mean, *self.confusion_interval(level)), strict=True)
        return {
            "classes": plain(self.classes, str),
            "level": level,
            **{name: stated(getattr(self, name), level) for name in ("error", "accuracy", "balanced_accuracy")},
            "sensitivity": [stated(each, level) for each in self.sensitivity.values()],
            "ppv": [stated(each, level) for each in self.ppv.values()],
            "confusion": {name: values.tolist() for name, values in matrix},
            "method": self.method,
            "notes": list(self.notes),
        }

    def __repr__(self) -> str:
        low, high = self.error.interval()
        return (
            f"ClassErrorPosterior(error {self.error.mean:.3f}, 95% interval [{low:.3f}, {high:.3f}], "
            f"{len(self.classes)} classes, method={self.method!r})"
        )
