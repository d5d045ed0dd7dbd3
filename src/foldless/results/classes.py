"""More than two classes: the posterior of the average AUC and of each pair of classes, and how scores give it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from foldless import checks
from foldless.checks import Floats
from foldless.errors import InputError
from foldless.honest.class_statistic import (
    Component,
    EvaluatedRows,
    HeldOutRows,
    RefittedRows,
    TrainingRows,
    average,
    averaged,
    each_against_rest,
    pairs_of_classes,
)
from foldless.honest.leave_one_out import on_few_rows
from foldless.honest.posterior import EffectPrior, separation_posterior
from foldless.laws.effect import SQRT2
from foldless.results.auc import AUCPosterior
from foldless.words import listed, plain

Pair = tuple[Any, Any]


@dataclass(frozen=True, repr=False, eq=False)
class PairwisePosteriors:
    """Posteriors of the AUC of each pair of classes; ``pairwise["bus", "van"]`` is one of them, in either order.

    Attributes
    ----------
    classes : tuple
        Labels, in the order of the rows and columns of `mean` and `interval`.
    posteriors : mapping
        One `AUCPosterior` for each pair (earlier class, later class), whose rows are its n0 and n1.
    """

    classes: tuple[Any, ...]
    posteriors: Mapping[Pair, AUCPosterior]

    def __getitem__(self, pair: Pair) -> AUCPosterior:
        try:
            first, second = pair
            return self.posteriors[(first, second) if (first, second) in self.posteriors else (second, first)]
        except (KeyError, TypeError, ValueError) as err:
            raise InputError(
                f"pairwise takes two different classes, as in pairwise[{self.classes[0]!r}, {self.classes[1]!r}], got "
                f"{pair!r}; the classes are {listed(self.classes)}."
            ) from err

    def __iter__(self) -> Iterator[Pair]:
        return iter(self.posteriors)

    def __len__(self) -> int:
        return len(self.posteriors)

    @property
    def mean(self) -> Floats:
        """Posterior means, shape (K, K); nan on the diagonal."""
        return self._matrix(lambda post: post.mean)

    @property
    def sd(self) -> Floats:
        """Posterior standard deviations, shape (K, K)."""
        return self._matrix(lambda post: post.sd)

    def interval(self, level: float = 0.95) -> tuple[Floats, Floats]:
        """Lower and upper ends of the central credible intervals, each of shape (K, K)."""
        return self._matrix(lambda post: post.interval(level)[0]), self._matrix(lambda post: post.interval(level)[1])

    def weakest(self) -> Pair:
        """The pair of classes that the classifier separates worst."""
        return min(self.posteriors, key=lambda pair: self.posteriors[pair].mean)

    def __repr__(self) -> str:
        first, second = self.weakest()
        mean = self.posteriors[first, second].mean
        return f"PairwisePosteriors({len(self.classes)} classes, weakest pair {first!r}, {second!r}: mean={mean:.3f})"

    def _matrix(self, value: Callable[[AUCPosterior], float]) -> Floats:
        place = {label: k for k, label in enumerate(self.classes)}
        out = np.full((len(place), len(place)), np.nan)
        for (first, second), post in self.posteriors.items():
            i, j = place[first], place[second]
            out[i, j] = out[j, i] = value(post)
        return out


@dataclass(frozen=True, repr=False, eq=False, kw_only=True)
class MulticlassAUCPosterior(AUCPosterior):
    """Posterior of the average AUC of a classifier of more than two classes.

    With ``multi_class="ovo"`` it is the average over all pairs of classes of Hand and Till (2001): for classes a and b,
    the mean of two AUCs, one for the score of a ranking rows of a above rows of b, one for the score of b ranking rows
    of b above rows of a. With "ovr" it is the mean over classes of the AUC of a class against all others. Both follow
    ``sklearn.metrics.roc_auc_score(average="macro")``. All methods of `AUCPosterior` are available.

    Attributes
    ----------
    n0, n1 : int
        The number of all rows, both times: in the average, every row counts as positive and as negative.
    multi_class : {"ovo", "ovr"}
    classes, counts : tuple
        Labels, and rows of each class.
    pairwise : PairwisePosteriors
        The AUC of each pair of classes.
    against_rest : mapping
        The AUC of each class against all others, an `AUCPosterior` by label.
    method, notes, details
        As in `AUCPosterior`; ``details["score"]`` names the score that ranks the rows.

    Examples
    --------
    >>> import foldless as fl
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.linear_model import RidgeClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> post = fl.auc_posterior(RidgeClassifier().fit(X[:, :2], y), X[:, :2], y)
    >>> post
    MulticlassAUCPosterior(mean=..., 95% interval [..., ...], multi_class='ovo', method='loo', 3 classes, 150 rows)
    >>> post.pairwise.weakest(), post.pairwise.mean.shape
    ((1, 2), (3, 3))
    >>> post.pairwise[0, 1].mean > post.pairwise[1, 2].mean
    True
    """

    _card = "multiclass_auc_posterior"

    multi_class: str
    classes: tuple[Any, ...]
    counts: tuple[int, ...]
    pairwise: PairwisePosteriors
    against_rest: Mapping[Any, AUCPosterior]

    def __repr__(self) -> str:
        low, high = self.interval()
        return (
            f"MulticlassAUCPosterior(mean={self.mean:.3f}, 95% interval [{low:.3f}, {high:.3f}], multi_class="
            f"{self.multi_class!r}, method={self.method!r}, {len(self.classes)} classes, {self.n0} rows)"
        )

    def summary(self, level: float = 0.95) -> dict[str, Any]:
        """Everything worth printing, as a plain dict."""
        about = super().summary(level)
        return {
            **{key: value for key, value in about.items() if key not in ("n0", "n1", "notes")},
            "multi_class": self.multi_class,
            "classes": plain(self.classes, str),
            "counts": list(self.counts),
            "pairwise": [_entry({"classes": plain(p, str)}, self.pairwise[p], level) for p in self.pairwise],
            "against_rest": [_entry({"class": plain(c, str)}, post, level) for c, post in self.against_rest.items()],
            "notes": about["notes"],
        }


def _entry(what: dict[str, Any], post: AUCPosterior, level: float) -> dict[str, Any]:
    low, high = post.interval(level)
    return {**what, "auc": post.mean, "sd": post.sd, "low": low, "high": high}


# ---- The posterior, from a classifier or from held-out scores.


def posterior_of_scores(
    rows: TrainingRows | RefittedRows,
    counts: Mapping[Any, int],
    prior: EffectPrior,
    multi_class: str,
    notes: tuple[str, ...],
) -> MulticlassAUCPosterior:
    """The posterior from honest scores; `counts` are all rows of each class."""
    scores = rows.honest
    more = rows.details() if isinstance(rows, RefittedRows) else {}
    details = {**scores.provenance.details(), "score": scores.score, **more}
    return _posterior(rows, counts, prior, multi_class, scores.provenance.method, notes, details)


def posterior_from_scores(
    y: Any, scores: Any, *, prior: EffectPrior, multi_class: str, groups: Any = None
) -> MulticlassAUCPosterior:
    """The posterior from held-out scores, one column per class in the sorted order of the labels."""
    z = checks.as_scores(scores, (2,))
    values = checks.label_vector(y)
    checks.same_length(len(z), values.size, "there are scores of {} rows")
    classes = checks.distinct(values)
    codes = np.searchsorted(classes, values).astype(np.intp)
    if z.shape[1] != classes.size:
        raise InputError(
            f"scores have {z.shape[1]} columns but y has {classes.size} classes ({listed(classes.tolist())}): "
            f"pass one column per class, in sorted order, and rows of every class."
        )
    sizes = np.bincount(codes)
    if sizes.min() < 2:
        raise InputError(
            f"each class needs at least two rows, but class {classes.tolist()[int(sizes.argmin())]!r} has "
            f"{sizes.min()}: the spread of one score is unknown."
        )
    flat = np.flatnonzero(np.all(z == z[0], axis=0))
    if flat.size:
        raise InputError(f"the scores of class {classes.tolist()[flat[0]]!r} are all equal: they rank no row.")
    counts = dict(zip(classes.tolist(), sizes.tolist(), strict=True))
    together = None if groups is None else checks.as_groups(groups, codes, fewest=2)
    return _posterior(HeldOutRows(z, codes, together), counts, prior, multi_class, "scores")


def _posterior(
    source: EvaluatedRows,
    counts: Mapping[Any, int],
    prior: EffectPrior,
    multi_class: str,
    method: str,
    notes: tuple[str, ...] = (),
    details: Mapping[str, Any] | None = None,
) -> MulticlassAUCPosterior:
    classes, sizes, total = tuple(counts), tuple(counts.values()), sum(counts.values())
    everyone = range(len(classes))
    notes = notes + on_few_rows(min(sizes), which="smallest")
    pairs, rest = pairs_of_classes(source, len(classes)), each_against_rest(source, len(classes))

    def posterior(components: list[Component], n0: int, n1: int) -> AUCPosterior:
        statistic = average(source, components)
        figures = {"pair_auc": float(np.mean([c.auc for c in components])), "noise_share": statistic.noise_share}
        return AUCPosterior.from_effect(separation_posterior(statistic, prior), method, n0, n1, notes, figures)

    statistic = average(source, averaged(source, len(classes), multi_class))
    return MulticlassAUCPosterior(
        separation_posterior(statistic, prior),
        SQRT2,
        method,
        total,
        total,
        notes,
        {**(details or {}), "pair_auc": statistic.pair_auc, "noise_share": statistic.noise_share},
        multi_class=multi_class,
        classes=classes,
        counts=sizes,
        pairwise=PairwisePosteriors(
            classes,
            {(classes[a], classes[b]): posterior(parts, sizes[a], sizes[b]) for (a, b), parts in pairs.items()},
        ),
        against_rest={classes[k]: posterior([rest[k]], total - sizes[k], sizes[k]) for k in everyone},
    )


def refuse_pos_label(pos_label: Any) -> None:
    """Refuse a positive one of more than two classes."""
    if pos_label is not None:
        raise InputError(
            f"pos_label={pos_label!r} is for two classes: leave it out; against_rest[{pos_label!r}] of the result is "
            f"the AUC of that class against the others."
        )
