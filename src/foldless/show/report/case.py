"""What is reported on, and what a part of the report hands over."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from inspect import Parameter, signature
from typing import Any

import numpy as np

from foldless import checks
from foldless.errors import InputError
from foldless.model import view
from foldless.model.steps import CONTAINERS, Steps, sklearn_names, thawed
from foldless.model.view import LinearView, take_apart

TWO_ONLY = "For two classes only."
MOST_VALUES = 6  # of a list among the settings of a step


@dataclass(frozen=True)
class Part:
    """One part of the report: its content as a dict of plain values, and pictures as markup by name."""

    content: dict[str, Any]
    pictures: dict[str, str] = field(default_factory=dict)

    @classmethod
    def skipped(cls, reason: str) -> Part:
        """A part that does not apply, with the sentence that says why."""
        return cls({"skipped": reason})


@dataclass(frozen=True, eq=False)
class Case:
    """One classifier, its data, and how they are to be looked at.

    `view` is the classifier taken apart; `names` are those of the columns of X, None where there are none.
    """

    estimator: Any
    X: Any
    y: Any
    groups: Any
    sample_weight: Any
    pos_label: Any
    level: float
    names: list[str] | None
    seed: int
    search: bool
    view: LinearView

    @classmethod
    def of(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        groups: Any,
        sample_weight: Any,
        pos_label: Any,
        level: float,
        feature_names: Iterable[str] | None,
        seed: Any,
        search: bool,
    ) -> Case:
        """Check what the parts will take for granted."""
        level = checks.in_open_interval(level, "level")
        if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or not 0 <= seed < 2**32:
            raise InputError(f"seed must be a whole number from 0 on, got {seed!r}.")
        names = _names(feature_names, X)
        view = take_apart(estimator, X, y, pos_label=pos_label, several=True)
        return cls(estimator, X, y, groups, sample_weight, pos_label, level, names, int(seed), bool(search), view)

    @property
    def two_classes(self) -> bool:
        return len(self.view.classes) == 2

    @property
    def is_weights(self) -> bool:
        """True for a bare weight vector, which cannot be fitted again."""
        return not hasattr(self.estimator, "fit")

    @property
    def about(self) -> dict[str, Any]:
        """The keyword arguments that all public functions share."""
        return {"groups": self.groups, "sample_weight": self.sample_weight, "pos_label": self.pos_label}

    @property
    def counts(self) -> dict[Any, int]:
        """Rows of each class; of two, the positive one first."""
        if not self.two_classes:
            return dict(zip(self.view.classes, self.view.counts.tolist(), strict=True))
        labels = self.view.labels
        return {labels.positive_label: labels.n1, labels.negative_label: labels.n0}

    def taken_apart(self) -> tuple[Steps, Any]:
        """Steps before the classifier, and the classifier itself, None for bare weights."""
        return ([], None) if self.is_weights else view.dismantled(self.estimator)[:2]

    @property
    def model(self) -> str:
        """The classifier and the steps before it, as one would write them down."""
        steps, final = self.taken_apart()
        return "given weights" if final is None else " → ".join([*(written(s) for _, s in steps), written(final)])

    @property
    def classifier(self) -> str:
        """Name of the classifier alone."""
        final = self.taken_apart()[1]
        return "given weights" if final is None else type(final).__name__


def written(step: Any) -> str:
    """A step with the settings that are not the default, as Python would make it; of containers what they hold.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> written(LogisticRegression(C=0.1, max_iter=500))
    'LogisticRegression(C=0.1, max_iter=500)'
    """
    step, kinds = thawed(step), sklearn_names(step)
    if "Pipeline" in kinds:
        return " → ".join(written(inner) for _, inner in step.steps)
    if kinds & set(CONTAINERS):
        held = getattr(step, "transformers", ()) or getattr(step, "transformer_list", ())
        return f"{type(step).__name__}({'; '.join(f'{item[0]}: {written(item[1])}' for item in held)})"
    if not hasattr(step, "get_params") or isinstance(step, type):
        return str(step) if isinstance(step, str) else type(step).__name__
    usual = {name: p.default for name, p in signature(type(step)).parameters.items()}
    given = {name: _value(value) for name, value in step.get_params(deep=False).items()}
    changed = [f"{name}={value}" for name, value in given.items() if value != _value(usual.get(name, Parameter.empty))]
    return f"{type(step).__name__}({', '.join(changed)})"


def _value(value: Any) -> str:
    """A setting; of objects only the class, since their text may differ from run to run."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | float | str):
        return repr(value)
    if isinstance(value, list | tuple | np.ndarray):
        few = len(value) <= MOST_VALUES and all(isinstance(v, int | float | str | np.number) for v in value)
        return f"[{', '.join(_value(v) for v in value)}]" if few else f"{type(value).__name__} of {len(value)}"
    return written(value) if sklearn_names(value) else type(value).__name__


def _names(given: Iterable[str] | None, X: Any) -> list[str] | None:
    if given is None:
        return checks.column_names(X)
    if isinstance(given, str):
        raise InputError(f"feature_names must be a list of names, got the text {given!r}.")
    names = [str(name) for name in given]
    width = X.shape[1] if len(getattr(X, "shape", ())) == 2 else len(X[0]) if np.ndim(X) == 2 else None
    if width is not None and width != len(names):
        raise InputError(f"feature_names has {len(names)} names but X has {width} columns: they must match.")
    return names
