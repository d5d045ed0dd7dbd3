"""`Problem`: a file and a request, turned into what every command needs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

import foldless as fl
from foldless import words
from foldless.cli import columns, console
from foldless.cli.columns import Roles, chosen_label, labels_of, notes_on_labels, roles_of
from foldless.cli.console import counted
from foldless.cli.models import FAMILIES, Preparation, refuse_endless, strength
from foldless.cli.options import Ask
from foldless.cli.saved import Saved
from foldless.tables import files
from foldless.tables.files import sheet
from foldless.words import quoted_list

# ---- `Problem`: a file and a request, turned into what every command needs.

MISSING_WORD = "(missing)"


@dataclass(frozen=True, eq=False)
class Problem:
    """Features and labels of a file, the steps before a classifier, and what the user should know.

    Attributes
    ----------
    ask : Ask
    target : name of the target column
    X : float matrix, or a polars frame where there are columns of text
    y : labels
    groups : labels of rows that belong together, or None
    features : names of the columns of X
    preparation : Preparation
    read_as : how the file was read, in words
    notes : what to know about the reading
    saved : a fitted model from a file that stands in for the one that would be fitted, or None
    """

    ask: Ask
    target: str
    X: Any
    y: Any
    groups: Any
    features: tuple[str, ...]
    preparation: Preparation
    read_as: str
    notes: tuple[str, ...]
    saved: Saved | None = None

    @cached_property
    def classes(self) -> list[Any]:
        """Labels; of two, the positive one last."""
        found = sorted(set(self.y.tolist()))
        return found[::-1] if len(found) == 2 and self.positive == found[0] else found

    @cached_property
    def positive(self) -> Any:
        """The positive label if the user named one."""
        if self.ask.positive is None:
            return None
        self.two_classes_only("--positive")
        return chosen_label(self.y, self.ask.positive)

    def two_classes_only(self, what: str) -> None:
        """Refuse a question that has no answer for three classes."""
        found = np.unique(self.y).tolist()
        if len(found) > 2:
            raise fl.InputError(
                f"{what} is for two classes, and the target column '{self.target}' has {len(found)} "
                f"({quoted_list(found)}): keep the rows of two classes, or join some of them."
            )

    def pipeline(self) -> Any:
        """The classifier that was asked for, with its steps, not yet fitted."""
        return self.unfitted(self.ask.model, self._strength)

    def unfitted(self, family: str, value: Any) -> Any:
        """A classifier of that family and strength, with its steps."""
        if family == "svm":
            refuse_endless(value, self._largest)
        return self.preparation.pipeline(FAMILIES[family].make(value, self.ask.seed))

    @cached_property
    def _largest(self) -> float:
        """The largest number after the steps, as it reaches the classifier."""
        steps = self.preparation.pipeline("passthrough")
        return float(np.max(np.abs(_tried(lambda: steps.fit_transform(self.X, self.y))), initial=0.0))

    @property
    def classifier(self) -> dict[str, Any]:
        """The classifier as a plain dict."""
        if self.saved is not None:
            return {"name": self.saved.name, "model_file": str(self.saved.path)}
        family, steps = FAMILIES[self.ask.model], self.preparation
        return {
            "name": type(family.make(self._strength, 0)).__name__,
            family.parameter: self._strength,
            "standardized": steps.standardize,
            "log": steps.log,
            "imputed": steps.impute,
            "one_hot": list(steps.texts),
        }

    @property
    def classifier_words(self) -> str:
        """The classifier in a line."""
        columns = console.plural(len(self.features), "column")
        if self.saved is not None:
            return f"{self.saved.name} from {self.saved.path}; {columns}"
        family, value = FAMILIES[self.ask.model], self._strength
        shown = f"{value:g}" if isinstance(value, float) else value
        return f"{family.title}, {family.parameter} = {shown}; {columns}, {self.preparation.words}"

    @property
    def _strength(self) -> Any:
        return strength(self.ask.model, self.ask.C, self.ask.shrinkage)

    def fitted(self, model: Any = None) -> Any:
        """The one fit; a saved model is there already."""
        if model is None and self.saved is not None:
            return self.saved.model
        model = self.pipeline() if model is None else model
        return _tried(lambda: model.fit(self.X, self.y))

    def facts(self) -> dict[str, Any]:
        """What every command's JSON begins with."""
        return {"file": str(self.ask.file), "target": self.target, "read_as": self.read_as}

    def all_notes(self, *more: Any) -> list[str]:
        """The notes of the reading and further ones, each once."""
        return list(dict.fromkeys([*self.notes, *(note for notes in more for note in notes)]))


def _tried(fit: Callable[[], Any]) -> Any:
    try:
        return fit()
    except (ValueError, np.linalg.LinAlgError) as err:  # numbers too large for the scaler or the solver
        raise fl.InputError(f"the classifier could not be fitted: {words.one_line(str(err))}") from err


def problem_of(ask: Ask, saved: Saved | None = None) -> Problem:
    """Read the file, refuse what cannot be used, and describe what is left."""
    with files.opened(ask.file, ask.hints) as source:
        roles = roles_of(source, ask)
        features, unused = (roles.features, []) if saved is None else saved.columns(roles.features, ask.file)
        loaded = source.load(features)
        y = labels_of(source.column(roles.target), roles.target)
        groups, more = _groups(source, roles), _id_notes(source, roles)
        # A saved model brings its own steps, and these have their own say about gaps and words.
        able = saved is not None
        handled = columns.Handled(able or ask.impute is not None, able or ask.one_hot, ask.log)
        columns.refuse(loaded, features, handled, ask.file, source.remedy, ask.id)
        notes = [*_notes(source, roles), *more, *unused, *notes_on_labels(y, roles.target)]
    notes += [] if able else columns.notes_on_texts(loaded.texts, loaded.marks)
    notes += columns.notes_on_numbers(loaded, features, ask.impute is not None)
    framed = loaded.texts or (saved is not None and saved.names is not None)
    X = _framed(loaded, features, None if able else MISSING_WORD) if framed else loaded.X
    y = y if saved is None else saved.labels(y, roles.target)
    steps = _preparation(ask, loaded, features)
    found = Problem(ask, roles.target, X, y, groups, features, steps, source.read_as, tuple(notes), saved)
    if groups is not None:
        found.two_classes_only("--groups")
    return found


def _preparation(ask: Ask, loaded: sheet.Loaded, features: tuple[str, ...]) -> Preparation:
    texts = tuple(loaded.texts)
    numbers = tuple(name for name in features if name not in loaded.texts)
    return Preparation(ask.standardize, ask.log, ask.impute, numbers, texts)


def _groups(source: sheet.Sheet, roles: Roles) -> Any:
    if roles.groups is None:
        return None
    column = source.column(roles.groups)
    if column.null_count():
        raise fl.InputError(
            f"the groups column '{roles.groups}' is empty in {counted(column.null_count())}: give every row a group."
        )
    return np.array(column.to_list())


def _id_notes(source: sheet.Sheet, roles: Roles) -> list[str]:
    if roles.id is None or roles.id == roles.groups:
        return []
    column = source.column(roles.id)
    twice = column.filter(column.is_duplicated() & column.is_not_null())
    if twice.is_empty():
        return []
    first = twice[0]
    return [
        f"{counted(len(twice))} share {twice.n_unique()} values of '{roles.id}' (such as '{first}'): if they are the "
        f"same subjects, use --groups {words.shell_quoted(roles.id)}."
    ]


def _notes(source: sheet.Sheet, roles: Roles) -> list[str]:
    # pandas and R write row names into a column without a header.
    notes = ["the column without a name was left out; give it a name if it is a measurement."] * roles.unnamed
    if "groups" in source.others and roles.groups is None:
        notes.append("the file has an array 'groups': use --groups groups if its rows are not independent.")
    return notes


def _framed(loaded: sheet.Loaded, names: tuple[str, ...], missing: str | None) -> Any:
    import polars as pl

    texts = {name: t if missing is None else t.fill_null(missing) for name, t in loaded.texts.items()}
    columns = [texts[name] if name in texts else pl.Series(name, loaded.X[:, k]) for k, name in enumerate(names)]
    return pl.DataFrame(columns)


# ---- What several commands say about the rows, in the same words.


def class_counts(problem: Problem, positive: tuple[Any, int], negative: tuple[Any, int]) -> str:
    """Rows of each class, given as (label, rows)."""
    # Of two words, which one is positive is anybody's guess.
    hint = "; --positive chooses" if isinstance(positive[0], str) and problem.positive is None else ""
    return f"{positive[1]} '{positive[0]}' (positive{hint}), {negative[1]} '{negative[0]}' (negative)"


def group_facts(problem: Problem) -> dict[str, str]:
    """How many groups there are, where the user named some."""
    if problem.groups is None:
        return {}
    return {"groups": f"{len(set(problem.groups.tolist()))} values of '{problem.ask.groups}'"}
