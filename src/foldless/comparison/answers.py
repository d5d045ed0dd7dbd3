"""`compare` and `compare_many`: which of several classifiers is better, and by how much."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from foldless.checks import as_number
from foldless.comparison.difference import Difference
from foldless.comparison.joint import Judged, judged
from foldless.computation import Options
from foldless.errors import InputError
from foldless.estimate import Method
from foldless.results.auc import AUCPosterior, ShownAsCard


@dataclass(frozen=True, repr=False, eq=False)
class Comparison(ShownAsCard):
    """Posterior of the difference AUC_a - AUC_b of two classifiers on the same rows.

    Attributes
    ----------
    difference : Difference
        Its law: mean, sd, interval, cdf, ppf, pdf, sample. Exactly 0 for two classifiers that rank all rows alike.
    rope : float
        Differences up to this size count as practically equal.
    a, b : AUCPosterior
        Each classifier on its own, as from `auc_posterior`. The mean of the difference need not be the difference of
        these two means, nor have its sign: it is estimated from ranks, where the noise of shared rows cancels, and has
        a prior of its own, which shrinks small differences (docs/compare.md).
    correlation : float
        Correlation of the errors of the two estimates; the closer to 1, the smaller the differences that can be seen.
    names : (str, str)
    method, notes
        As in `AUCPosterior`.
    """

    difference: Difference
    rope: float
    a: AUCPosterior
    b: AUCPosterior
    correlation: float
    names: tuple[str, str]
    method: str
    notes: tuple[str, ...] = ()
    _card = "comparison"

    @property
    def prob_a_better(self) -> float:
        """P(AUC_a > AUC_b + rope)."""
        return self.difference.beyond(self.rope)[0]

    @property
    def prob_rope(self) -> float:
        """P(-rope <= AUC_a - AUC_b <= rope): 0 for rope = 0, or 1 if the two rank all rows alike."""
        return self.difference.beyond(self.rope)[1]

    @property
    def prob_b_better(self) -> float:
        """P(AUC_b > AUC_a + rope)."""
        return self.difference.beyond(self.rope)[2]

    def with_rope(self, rope: float) -> Comparison:
        """The same comparison with another `rope`."""
        return replace(self, rope=checked_rope(rope))

    def summary(self, level: float = 0.95) -> dict[str, Any]:
        """Everything worth printing, as a plain dict."""
        low, high = self.difference.interval(level)
        return {
            "a": self.names[0],
            "b": self.names[1],
            "auc_a": self.a.mean,
            "auc_b": self.b.mean,
            "difference": self.difference.mean,
            "sd": self.difference.sd,
            "level": level,
            "low": low,
            "high": high,
            "rope": self.rope,
            "prob_a_better": self.prob_a_better,
            "prob_rope": self.prob_rope,
            "prob_b_better": self.prob_b_better,
            "alike": self.difference.exactly_zero,
            "correlation": self.correlation,
            "method": self.method,
            "n0": self.a.n0,
            "n1": self.a.n1,
            "notes": list(self.notes),
        }

    def __repr__(self) -> str:
        first, second = self.names
        if self.difference.exactly_zero:
            return f"Comparison({first} - {second}: exactly 0, both rank all rows alike, method={self.method!r})"
        low, high = self.difference.interval()
        equal = f"P(within {self.rope:g})={self.prob_rope:.3f}, " if self.rope else ""
        return (
            f"Comparison({first} - {second}: {self.difference.mean:+.3f}, 95% interval [{low:+.3f}, {high:+.3f}], "
            f"P({first} better)={self.prob_a_better:.3f}, {equal}P({second} better)={self.prob_b_better:.3f}, "
            f"method={self.method!r})"
        )


def compare(
    a: Any,
    b: Any,
    X: Any = None,
    y: Any = None,
    *,
    rope: float = 0.0,
    method: Method = "auto",
    prior: Any = None,
    groups: Any = None,
    sample_weight: Any = None,
    pos_label: Any = None,
    n_jobs: int | None = None,
    names: tuple[str, str] = ("a", "b"),
) -> Comparison:
    """Which of two fitted classifiers has the larger AUC on new data, from the rows that both were fitted to.

    Both were trained and are judged on the same rows, so their estimates err together, and much of the error cancels
    in the difference. docs/compare.md derives how much. If one of them has no closed form, both are refitted on the
    same splits of the rows. Of more than two classes, the average AUCs are compared.

    Parameters
    ----------
    a, b : fitted scikit-learn linear classifiers, Pipelines ending in one, weights of shape (P,), or `Analysis`
        Any mixture of families, settings and columns, fitted to the same rows. Any classifiers or Pipelines for
        ``method="refit"``.
    X, y : the data that both were fitted on; left out for two analyses
    rope : float
        Region of practical equivalence: differences of the AUCs up to this size count as equal.
    method, prior, groups, sample_weight, pos_label, n_jobs
        As in `auc_posterior`; the weights are those given to both fits.
    names : pair of str
        Names of the two.

    Examples
    --------
    >>> import foldless as fl
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.linear_model import LogisticRegression, RidgeClassifier
    >>> X, y = make_classification(100, random_state=0)
    >>> first = LogisticRegression(C=0.1).fit(X, y)
    >>> result = fl.compare(first, RidgeClassifier().fit(X, y), X, y, rope=0.01)
    >>> bool(abs(result.prob_a_better + result.prob_rope + result.prob_b_better - 1) < 1e-12)
    True
    >>> fl.compare(first, first, X, y).difference.interval()
    (0.0, 0.0)
    """
    rope = checked_rope(rope)
    pair = (names,) if isinstance(names, str) else tuple(str(each) for each in names)
    if len(pair) != 2 or pair[0] == pair[1]:
        raise InputError(f"names must be two different names, got {names!r}.")
    first, second = pair
    both = judged({first: a, second: b}, X, y, Options(groups, sample_weight, pos_label, prior, method, n_jobs=n_jobs))
    return _comparison(both, first, second, rope)


def _comparison(models: Judged, first: str, second: str, rope: float) -> Comparison:
    """The comparison of two of the judged models."""
    posteriors, joint, order = models.posteriors, models.joint, list(models.posteriors)
    i, j = order.index(first), order.index(second)
    difference, correlation, names = joint.difference(i, j), joint.correlation(i, j), (first, second)
    a, b = posteriors[first], posteriors[second]
    return Comparison(difference, rope, a, b, correlation, names, models.method, models.notes)


def checked_rope(rope: Any) -> float:
    """A difference of AUCs, from 0 up to but not including 1."""
    value = as_number(rope, "rope")
    if not 0 <= value < 1:
        raise InputError(f"rope must be a difference of AUCs from 0 to 1, such as 0.01, got {rope!r}.")
    return value


@dataclass(frozen=True)
class Ranked:
    """One classifier of a ranking: its posterior, and the probability that it is the best."""

    name: str
    auc: AUCPosterior
    prob_best: float


@dataclass(frozen=True, repr=False, eq=False)
class Ranking(ShownAsCard):
    """Classifiers on the same rows, the most likely best first.

    Attributes
    ----------
    models : tuple of Ranked
        With `name`, `auc` (an AUCPosterior) and `prob_best`. The probabilities add up to 1; models that rank all rows
        alike share theirs equally.
    judged : Judged
        What `between` is computed from.
    """

    models: tuple[Ranked, ...]
    judged: Judged
    _card = "ranking"

    @property
    def best(self) -> str:
        """Name of the model that is most likely the best."""
        return self.models[0].name

    @property
    def prob_best(self) -> dict[str, float]:
        """The probability of each being the best, by name."""
        return {model.name: model.prob_best for model in self.models}

    @property
    def method(self) -> str:
        """As in `Comparison`."""
        return self.judged.method

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader of the numbers must know."""
        return self.judged.notes

    def between(self, a: str, b: str, *, rope: float = 0.0) -> Comparison:
        """The comparison of two of the models, as from `compare`."""
        choices = ", ".join(self.judged.posteriors)
        for name in (a, b):
            if name not in self.judged.posteriors:
                raise InputError(f"there is no model {name!r}: choose from {choices}.")
        if a == b:
            raise InputError(f"a model is not compared with itself: choose two of {choices}.")
        return _comparison(self.judged, a, b, checked_rope(rope))

    def summary(self, level: float = 0.95) -> list[dict[str, Any]]:
        """One plain dict per model, best first."""
        rows = []
        for rank, model in enumerate(self.models, 1):
            low, high = model.auc.interval(level)
            row = {"rank": rank, "name": model.name, "prob_best": model.prob_best, "auc": model.auc.mean}
            rows.append({**row, "level": level, "low": low, "high": high, "method": model.auc.method})
        return rows

    def __repr__(self) -> str:
        width = max(len("model"), *(len(model.name) for model in self.models))
        lines = [f"    {'model':<{width}}  P(best)  AUC    95% interval"]
        for rank, model in enumerate(self.models, 1):
            low, high = model.auc.interval()
            estimate = f"{model.auc.mean:.3f}  [{low:.3f}, {high:.3f}]"
            lines.append(f"{rank:>2}  {model.name:<{width}}  {model.prob_best:>7.3f}  {estimate}")
        return "\n".join(lines)


def compare_many(
    models: Mapping[str, Any],
    X: Any = None,
    y: Any = None,
    *,
    method: Method = "auto",
    prior: Any = None,
    groups: Any = None,
    sample_weight: Any = None,
    pos_label: Any = None,
    n_jobs: int | None = None,
) -> Ranking:
    """Rank fitted classifiers by the probability that each has the largest AUC on new data.

    Parameters
    ----------
    models : dict of fitted classifiers, or of `Analysis`, by name
        Two or more, all fitted on the rows of X.
    X, y, method, prior, groups, sample_weight, pos_label, n_jobs
        As in `compare`.

    Examples
    --------
    >>> import foldless as fl
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> X, y = make_classification(100, random_state=0)
    >>> models = {f"C = {C:g}": LogisticRegression(C=C).fit(X, y) for C in (0.01, 0.1, 1.0)}
    >>> ranking = fl.compare_many(models, X, y)
    >>> round(sum(ranking.prob_best.values()), 9)
    1.0
    >>> ranking.between("C = 0.01", "C = 1")
    Comparison(...)
    """
    if not isinstance(models, Mapping) or len(models) < 2:
        got = f"{len(models)} of them" if isinstance(models, Mapping) else type(models).__name__
        raise InputError(f"models must be a dict of two or more fitted classifiers by name, got {got}.")
    named = {str(name): model for name, model in models.items()}
    if len(named) < len(models):
        raise InputError("two models have the same name: give every model its own.")
    together = judged(named, X, y, Options(groups, sample_weight, pos_label, prior, method, n_jobs=n_jobs))
    chances = zip(together.posteriors.items(), together.joint.prob_best(), strict=True)
    ranked = [Ranked(name, post, float(p)) for (name, post), p in chances]
    return Ranking(tuple(sorted(ranked, key=lambda m: (-m.prob_best, -m.auc.mean))), together)
