"""What cannot be asked about two classes, or about more of them, and what to do instead."""

from __future__ import annotations

from typing import Any

from foldless import _check
from foldless.errors import EstimatorError, InputError
from foldless.honest.multi import NO_GROUPS
from foldless.honest.multi.view import has_several_classes


def two_classes_only(estimator: Any, asked: str) -> None:
    """Refuse a classifier of more than two classes, with the way to ask about one of them."""
    if not has_several_classes(estimator):
        return
    classes = estimator.classes_.tolist()
    raise EstimatorError(
        f"{asked} is about two classes, and {type(estimator).__name__} was fitted on {len(classes)} "
        f"({_check.listed(classes)}): fit one class against the rest, estimator.fit(X, y == {classes[-1]!r}), and pass "
        f"y == {classes[-1]!r}. auc_posterior takes more than two classes."
    )


def refuse_two_class_options(pos_label: Any, groups: Any) -> None:
    """Refuse what has no meaning, or no method yet, with more than two classes."""
    if pos_label is not None:
        raise InputError(
            f"pos_label={pos_label!r} is for two classes: leave it out; against_rest[{pos_label!r}] of the result is "
            f"the AUC of that class against the others."
        )
    if groups is not None:
        raise InputError(NO_GROUPS)


def known_average(multi_class: Any) -> None:
    """Refuse an average that there is not."""
    if multi_class not in ("ovo", "ovr"):
        raise InputError(
            f"multi_class must be 'ovo' (pairs of classes) or 'ovr' (each class against the rest), got {multi_class!r}."
        )
