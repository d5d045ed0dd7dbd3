"""`compare_many`: which of several classifiers is best, and `Ranking`, its answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from foldless.auc import AUCPosterior
from foldless.comparison import cards
from foldless.comparison.joint import How, Judged, judged
from foldless.comparison.two import Comparison, Method, checked_rope, comparison_of
from foldless.errors import InputError


@dataclass(frozen=True)
class Ranked:
    """One classifier of a ranking: its posterior, and the probability that it is the best."""

    name: str
    auc: AUCPosterior
    prob_best: float


@dataclass(frozen=True, repr=False, eq=False)
class Ranking:
    """Classifiers on the same rows, the most likely best first.

    Attributes
    ----------
    models : tuple of Ranked
        With `name`, `auc` (an AUCPosterior) and `prob_best`; the probabilities add up to 1. Models that rank all rows
        alike share theirs equally.
    judged : Judged
        What `between` is computed from.
    """

    models: tuple[Ranked, ...]
    judged: Judged

    @property
    def best(self) -> str:
        """Name of the first."""
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
        """The comparison of two of the models, as `compare` has it."""
        for name in (a, b):
            if name not in self.judged.posteriors:
                raise InputError(f"there is no model {name!r}: choose from {', '.join(self.judged.posteriors)}.")
        if a == b:
            raise InputError(f"a model is not compared with itself: choose two of {', '.join(self.judged.posteriors)}.")
        return comparison_of(self.judged, a, b, checked_rope(rope))

    def summary(self, level: float = 0.95) -> list[dict[str, Any]]:
        """One plain dict per model, best first."""
        return [self._row(rank, model, level) for rank, model in enumerate(self.models, 1)]

    def _row(self, rank: int, model: Ranked, level: float) -> dict[str, Any]:
        low, high = model.auc.interval(level)
        return {
            "rank": rank,
            "name": model.name,
            "prob_best": model.prob_best,
            "auc": model.auc.mean,
            "level": level,
            "low": low,
            "high": high,
            "method": model.auc.method,
        }

    def __repr__(self) -> str:
        wide = max(len("model"), *(len(model.name) for model in self.models))
        rows = self.summary()
        lines = [
            f"{r['rank']:>2}  {r['name']:<{wide}}  {r['prob_best']:>7.3f}  {r['auc']:.3f}  "
            f"[{r['low']:.3f}, {r['high']:.3f}]"
            for r in rows
        ]
        return "\n".join([f"    {'model':<{wide}}  P(best)  AUC    95% interval", *lines])

    def _repr_html_(self) -> str:
        return cards.ranking(self)


def compare_many(
    models: Mapping[str, Any],
    X: Any,
    y: Any,
    *,
    method: Method = "auto",
    prior: Any = None,
    groups: Any = None,
    sample_weight: Any = None,
    pos_label: Any = None,
) -> Ranking:
    """Rank fitted linear classifiers by the probability that each has the largest AUC on new data.

    Parameters
    ----------
    models : dict of fitted classifiers by name
        Two or more, all fitted on the rows of X.
    X, y, method, prior, groups, sample_weight, pos_label
        As in `compare`.

    Returns
    -------
    Ranking

    Examples
    --------
    >>> import foldless as fl
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.preprocessing import scale
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> X, y = scale(X[:100, :10]), y[:100]
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
        raise InputError("two models have the same name: name each differently.")
    found = judged(named, X, y, How(method, prior, groups, sample_weight, pos_label))
    chances = found.joint.prob_best()
    ranked = [Ranked(name, post, float(p)) for (name, post), p in zip(found.posteriors.items(), chances, strict=True)]
    return Ranking(tuple(sorted(ranked, key=lambda m: (-m.prob_best, -m.auc.mean))), found)
