"""`MulticlassAUCPosterior`: what is known about the average AUC of a classifier of more than two classes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from foldless.auc import AUCPosterior
from foldless.effect import SQRT2, Effect
from foldless.multiclass.pairwise import PairwisePosteriors

AVERAGES = {
    "ovo": "mean over pairs of classes (Hand and Till)",
    "ovr": "mean over classes against the rest",
}
SHOWN = 6  # pairs that are listed on a card


@dataclass(frozen=True, repr=False, eq=False, kw_only=True)
class MulticlassAUCPosterior(AUCPosterior):
    """Posterior of the average AUC of a classifier of more than two classes.

    With ``multi_class="ovo"`` the average over all pairs of classes of Hand and Till (2001): of classes a and b, the
    mean of the AUC with which the score of a ranks rows of a above rows of b, and of that with which the score of b
    ranks them the other way round. With "ovr" the mean over classes of the AUC of a class against all others. Both as
    in ``sklearn.metrics.roc_auc_score(average="macro")``. It is an `AUCPosterior`, and answers the same questions.

    Attributes
    ----------
    method : str
        "loo", "loo-surrogate" or "scores": where the number comes from.
    n0, n1 : int
        All rows, both times: in an average over classes every row is a positive one and a negative one.
    multi_class : str
        "ovo" or "ovr".
    classes : tuple
        Labels.
    counts : tuple of int
        Rows of each class.
    pairwise : PairwisePosteriors
        The AUC of each two classes.
    against_rest : mapping
        The AUC of each class against all others, an `AUCPosterior` by label.
    notes : tuple of str
        What a reader of the number must know.
    details : mapping
        Further figures; ``details["score"]`` says by which score rows are ranked.

    Examples
    --------
    >>> import foldless as fl
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.linear_model import RidgeClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> post = fl.auc_posterior(RidgeClassifier().fit(X[:, :2], y), X[:, :2], y)
    >>> post
    MulticlassAUCPosterior(mean=..., 95% interval [..., ...], multi_class='ovo', method='loo', 3 classes, 150 rows)
    >>> post.pairwise.mean.shape
    (3, 3)
    """

    multi_class: str
    classes: tuple[Any, ...]
    counts: tuple[int, ...]
    pairwise: PairwisePosteriors
    against_rest: Mapping[Any, AUCPosterior]

    @classmethod
    def of_classes(
        cls,
        effect: Effect,
        method: str,
        multi_class: str,
        counts: Mapping[Any, int],
        pairwise: PairwisePosteriors,
        against_rest: Mapping[Any, AUCPosterior],
        notes: tuple[str, ...] = (),
        details: Mapping[str, Any] | None = None,
    ) -> MulticlassAUCPosterior:
        """The posterior of the average AUC Phi(delta / sqrt 2), given that of delta."""
        return cls(
            effect,
            SQRT2,
            method,
            sum(counts.values()),
            sum(counts.values()),
            notes,
            MappingProxyType(dict(details or {})),
            multi_class=multi_class,
            classes=tuple(counts),
            counts=tuple(counts.values()),
            pairwise=pairwise,
            against_rest=MappingProxyType(dict(against_rest)),
        )

    def __repr__(self) -> str:
        low, high = self.interval()
        return (
            f"MulticlassAUCPosterior(mean={self.mean:.3f}, 95% interval [{low:.3f}, {high:.3f}], multi_class="
            f"{self.multi_class!r}, method={self.method!r}, {len(self.classes)} classes, {self.n0} rows)"
        )

    def __reduce__(self) -> tuple[Any, ...]:
        # Read-only mappings do not pickle; their content does.
        return MulticlassAUCPosterior.of_classes, (
            self.effect,
            self.method,
            self.multi_class,
            dict(zip(self.classes, self.counts, strict=True)),
            self.pairwise,
            dict(self.against_rest),
            self.notes,
            dict(self.details),
        )

    def summary(self, level: float = 0.95) -> dict[str, Any]:
        """Everything worth printing, as a plain dict."""
        plain = super().summary(level)
        notes = plain.pop("notes")
        return {
            **{key: value for key, value in plain.items() if key not in ("n0", "n1")},
            "multi_class": self.multi_class,
            "classes": list(self.classes),
            "counts": list(self.counts),
            "pairwise": [_entry({"classes": list(p)}, self.pairwise[p], level) for p in self.pairwise],
            "against_rest": [_entry({"class": c}, post, level) for c, post in self.against_rest.items()],
            "notes": notes,
        }

    def _repr_html_(self) -> str:
        from foldless._html import numbers, svg
        from foldless._html.card import card
        from foldless._html.density import density_curve

        low, high = self.interval()
        pairs = sorted(self.pairwise, key=lambda pair: self.pairwise[pair].mean)
        facts = {
            "average": AVERAGES[self.multi_class],
            "sd": numbers.rate(self.sd),
            "rows": ", ".join(f"{c}: {n}" for c, n in zip(self.classes, self.counts, strict=True)),
            "method": self.method,
            "score": str(self.details.get("score", "as given")),
        }
        for pair in pairs[:SHOWN]:
            post = self.pairwise[pair]
            facts[f"{pair[0]} and {pair[1]}"] = numbers.estimate(post.mean, *post.interval())
        rest = len(pairs) - SHOWN
        return card(
            "Average AUC on new data",
            f"{numbers.rate(self.mean)}, 95 % interval {numbers.span(low, high)}",
            facts,
            picture=svg.density(density_curve(self), chance=0.5),
            notes=self.notes,
            remark=f"The {SHOWN} weakest pairs of classes; {rest} others are better." if rest > 0 else "",
        )


def _entry(what: dict[str, Any], post: AUCPosterior, level: float) -> dict[str, Any]:
    low, high = post.interval(level)
    return {**what, "auc": post.mean, "sd": post.sd, "low": low, "high": high}
