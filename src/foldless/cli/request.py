"""`Request`: a file and the options of a command, turned into what every command needs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import click
import numpy as np

import foldless as fl
from foldless import words
from foldless.cli import columns
from foldless.cli.models import CLASSIFIERS, Preparation, SavedModel, load_model, method_for, refuse_endless
from foldless.cli.options import CommandOptions, refuse_given
from foldless.cli.preparing import Prepared, Subjects, as_told, emptied, find_subjects, prepared, refuse_absent
from foldless.cli.roles import Roles, against_rest, chosen_label, labels_of, positive_of, roles_of, with_one_spelling
from foldless.errors import FoldlessError, InputError
from foldless.model.steps import ends_in_pls
from foldless.tables import files
from foldless.tables.files import sheet
from foldless.words import counted, listed

MISSING_WORD = "(missing)"
OWN_STEPS = ("columns", "model", "C", "shrinkage", "standardize", "log", "impute", "one_hot", "strict", "keep")


@dataclass(frozen=True, eq=False)
class Request:
    """Features and labels of a file, the steps before a classifier, and what the user should know."""

    options: CommandOptions
    target: str
    X: Any  # a float matrix, or a polars frame where there are columns of text
    y: Any
    groups: Any  # labels of rows that belong together, or None
    features: tuple[str, ...]
    preparation: Preparation
    read_as: str  # how the file was read, in words
    notes: tuple[str, ...]  # what to know about the reading
    saved: SavedModel | None = None  # a fitted model that takes the place of the one that would be fitted
    prepared: str = ""  # what was done to the table, in one line
    row_names: Any = None  # what the file calls its rows, where it does
    row_numbers: Any = None  # their places in the file, from 1
    left_out: Mapping[str, str] = field(default_factory=dict)  # columns that cannot be used, with the reason

    @property
    def labels(self) -> list[Any]:
        """The classes, sorted."""
        return sorted(set(self.y.tolist()))

    @property
    def sizes(self) -> dict[Any, int]:
        """Rows of each class."""
        return Counter(self.y.tolist())

    @cached_property
    def classes(self) -> list[Any]:
        """The classes; of two, the positive one last."""
        labels = self.labels
        return labels[::-1] if self.positive == labels[0] else labels

    @cached_property
    def _positive(self) -> tuple[Any, str]:
        if self.options.positive is not None:
            self.two_classes_only("--positive")
            return chosen_label(np.array(self.labels), self.options.positive), "by --positive"
        return positive_of(self.sizes) if len(self.labels) == 2 else (None, "")

    @property
    def positive(self) -> Any:
        """The positive one of two classes: the one that the user named, or the one that is likely meant."""
        return self._positive[0]

    @property
    def positive_words(self) -> str:
        """Which class is the positive one, and why, for the end of the first line; empty for more than two."""
        label, why = self._positive
        return "" if label is None else f" The positive class is '{label}' ({why})."

    def two_classes_only(self, what: str) -> None:
        """Refuse a question that has no answer for three classes."""
        if len(self.labels) > 2:
            raise InputError(
                f"{what} is for two classes, and the target column '{self.target}' has {len(self.labels)} "
                f"({listed(self.labels)}): {self._one_class}, or keep the rows of two classes."
            )

    def independent_rows_only(self, what: str) -> None:
        """Refuse a question that has no answer for groups of more than two classes."""
        if self.groups is not None and len(self.labels) > 2:
            column = self.options.groups or ""
            raise InputError(
                f"{what} of {len(self.labels)} classes is for independent rows, and rows with the same '{column}' "
                f"belong together: {self._one_class}, or, if the rows are independent, --drop "
                f"{words.shell_quoted(column)}."
            )

    @property
    def _one_class(self) -> str:
        return f"take one class against all others, such as --positive {words.shell_quoted(str(self.labels[0]))}"

    def unfitted(self, name: str, value: Any) -> Any:
        """A classifier of that name and strength, with its steps."""
        if name == "svm":
            refuse_endless(value, self._largest)
        return self.preparation.pipeline(CLASSIFIERS[name].make(value, self.options.seed))

    @cached_property
    def _largest(self) -> float:
        """The largest number that reaches the classifier, after the steps."""
        steps = self.preparation.pipeline("passthrough")
        return float(np.max(np.abs(fitted_or_refused(lambda: steps.fit_transform(self.X, self.y))), initial=0.0))

    @property
    def classifier(self) -> dict[str, Any]:
        """The classifier as a plain dict."""
        if self.saved is not None:
            return {"name": self.saved.name, "model_file": str(self.saved.path)}
        kind, steps = CLASSIFIERS[self.options.model], self.preparation
        return {
            "name": type(kind.make(self._strength, 0)).__name__,
            kind.parameter: self._strength,
            "standardized": steps.standardize,
            "log": steps.log,
            "imputed": steps.impute,
            "one_hot": list(steps.texts),
        }

    @property
    def classifier_words(self) -> str:
        """The classifier, on one line."""
        if self.saved is not None:
            return f"{self.saved.name} from {self.saved.path}; {counted(len(self.features), 'column')}"
        kind = CLASSIFIERS[self.options.model]
        return f"{kind.title}, {kind.setting(self._strength)}; {self.columns_words}"

    @property
    def columns_words(self) -> str:
        """The number of columns and what is done to them."""
        return f"{counted(len(self.features), 'column')}, {self.preparation.words}"

    @property
    def columns_of_sets(self) -> tuple[tuple[str, ...], tuple[str, ...]] | None:
        """The columns of a first model and those that a second adds, where these are to be compared."""
        if self.options.sets is None or not self.options.added:
            return None
        first, added = self.options.sets.split(self.features)
        if not (first and added):
            option, left_out = "--and-columns" if first else "--columns", columns.enumerated({**self.left_out})
            raise InputError(f"{option}: none of its columns can be used; left out: {left_out}.")
        return first, added

    @property
    def _strength(self) -> Any:
        return CLASSIFIERS[self.options.model].strength(self.options.C, self.options.shrinkage)

    def fitted(self, model: Any = None) -> Any:
        """The fitted classifier; a saved model is fitted already."""
        if model is None and self.saved is not None:
            return self.saved.model
        model = self.unfitted(self.options.model, self._strength) if model is None else model
        y, _ = self.targets(model)
        return fitted_or_refused(lambda: model.fit(self.X, y))

    def targets(self, model: Any) -> tuple[Any, Any]:
        """The classes as a classifier takes them, and the positive one: a PLS regression takes 0 and 1."""
        if not ends_in_pls(model):
            return self.y, self.positive
        self.two_classes_only("--model pls")
        return (self.y == self.positive).astype(int), 1

    def judged(self, model: Any = None, method: str = "auto") -> fl.Analysis:
        """The analysis of the fitted classifier, or of a given one."""
        model = self.fitted() if model is None else model
        rows = self.row_numbers if self.row_names is None else self.row_names
        y, positive = self.targets(model)
        about = {"pos_label": positive, "groups": self.groups, "feature_names": self.features, "row_names": rows}
        return fl.analyse(model, self.X, y, method=method_for(method, model), **about)

    def facts(self) -> dict[str, Any]:
        """What every command's JSON begins with."""
        return {
            "file": str(self.options.file),
            "target": self.target,
            "read_as": self.read_as,
            "groups": self.options.groups,
            "prepared": self.prepared,
        }

    def all_notes(self, *more: Any) -> list[str]:
        """The notes of the reading and further ones, each once."""
        return list(dict.fromkeys([*self.notes, *(note for notes in more for note in notes)]))

    def numbering(self, findings: Iterable[fl.Finding]) -> list[str]:
        """How rows in these findings are counted, where they have no names."""
        numbered = self.row_names is None and any(finding.name in ("copies", "outliers") for finding in findings)
        return ["rows go by their number in the file, from 1; the header line is not counted."] * numbered

    def doubts(self, analysis: fl.Analysis, *more: Any) -> dict[str, Any]:
        """The verdict on an answer, its findings, and all notes: a finding takes the place of a note on the same."""
        findings = [finding for finding in analysis.findings if finding.level > 0]
        # Findings look closer at the table than the notes on it, which may come without names.
        closer = len(analysis.table_notes) <= sum(finding.name in ("copies", "leak") for finding in findings)
        unnamed = replace(analysis.names, features=None, rows=None)
        said = analysis.table_notes + analysis.notes_on_table(unnamed) if closer else ()
        notes = [note for note in self.all_notes(*more) if note not in said]
        new = [f"{f.text} {f.advice}" for f in findings if not any(f.text in note or note in f.note for note in notes)]
        return {
            "verdict": analysis.verdict,
            "findings": [finding.summary() for finding in analysis.findings],
            "notes": [*new, *notes, *self.numbering(findings)],
        }

    @property
    def class_counts(self) -> str:
        """Rows of each class, in words; of two, the positive one first."""
        if len(self.labels) > 2:
            return ", ".join(f"{self.sizes[label]} '{label}'" for label in self.classes)
        told = zip(self.classes[::-1], ("positive", "negative"), strict=True)
        return ", ".join(f"{self.sizes[label]} '{label}' ({role})" for label, role in told)

    def table_facts(self) -> dict[str, str]:
        """How many groups there are, what was done to the table, and how it was read."""
        count = "" if self.groups is None else f"{np.unique(self.groups).size} values of '{self.options.groups}'"
        facts = {"groups": count, "prepared": self.prepared, "read as": self.read_as}
        return {name: text for name, text in facts.items() if text}


def fitted_or_refused(fit: Callable[[], Any], what: str = "classifier") -> Any:
    """The result of a fit; numbers too large for the scaler or the solver are refused."""
    try:
        return fit()
    except FoldlessError:
        raise
    except (ValueError, np.linalg.LinAlgError) as err:
        raise InputError(f"the {what} could not be fitted: {words.reason(err)}") from err


def read(ctx: click.Context, options: CommandOptions, model_file: Path | None) -> Request:
    """The request, with a saved model where one was named, which brings its own steps."""
    if model_file is not None:
        refuse_given(ctx, OWN_STEPS, "does not go with --model-file: the model brings its own steps.")
    return read_file(options, load_model(model_file), by_name=ctx.params.get("save_model") is not None)


def read_file(options: CommandOptions, saved: SavedModel | None = None, by_name: bool = False) -> Request:
    """Read the file, find its subjects, prepare its columns, refuse what cannot be used, and describe what is left.

    A classifier that is fitted `by_name` knows its columns, and finds them in another file.
    """
    able = saved is not None
    with files.opened(options.file, options.hints) as source:
        roles = roles_of(source, options)
        whole = source.column(roles.target)
        target, lines = with_one_spelling(emptied(whole, options.na), roles.target, options.strict, able)
        row_numbers = np.flatnonzero(target.is_not_null().to_numpy()) + 1
        if target.null_count() and not options.strict:
            source, target = sheet.Excerpt.of(source, target.is_not_null()), target.drop_nulls()
            lines.append(f"{counted(len(whole) - len(target), 'row')} without a class left out")
        features, unused = (roles.features, []) if saved is None else saved.columns(roles.features, options.file)
        loaded = source.load(features)
        refuse_absent(options.na, loaded, whole)
        loaded, told = as_told(loaded, features, options)
        y, options, one = against_rest(labels_of(target, roles.target), options, able)
        if able:  # the model takes measurements; the subjects may be named in a column that it does not take
            found = find_subjects(source.load(roles.features), roles.features, y, replace(options, keep=features))
        else:
            found = find_subjects(loaded, features, y, options)
        options, line = _with_subjects(source, options, found)
        roles = replace(roles, groups=options.groups, id=options.id)
        groups = _groups(source, roles)
        ready = Prepared(loaded, features) if able else prepared(loaded, features, options, found)
        loaded, features = ready.loaded, ready.features
        look = columns.look_at_numbers(loaded.X, y)
        columns.refuse_unusable(loaded, look, features, options, able, source.remedy)
        notes = [*_notes(source, roles), *unused, *_notes_on_classes(y)]
        named_by = roles.id or next(iter(found.rows), None)
        row_names = None if named_by is None else source.column(named_by).to_list()
    notes += [] if able else columns.notes_on_texts(loaded.texts, loaded.marks)
    notes += columns.notes_on_numbers(loaded, look, features)
    by_name |= bool(options.added) or (saved is not None and saved.names is not None)
    framed = loaded.texts or ready.indicated or by_name
    X = _framed(loaded, features, None if able else MISSING_WORD) if framed else loaded.X
    y = y if saved is None else saved.labels(y, roles.target)
    done, steps = "; ".join(filter(None, (*lines, *one, line, *told, ready.words))), _steps(options, ready)
    return Request(
        options, roles.target, X, y, groups, features, steps, source.read_as, tuple(notes), saved, done, row_names,
        row_numbers, ready.left_out,
    )  # fmt: skip


def _steps(options: CommandOptions, ready: Prepared) -> Preparation:
    numbers = tuple(name for name in ready.features if name not in ready.loaded.texts)
    impute = options.impute or ("median" if ready.gaps else None)
    texts = tuple(ready.loaded.texts)
    return Preparation(options.standardize, options.log, impute, numbers, texts, ready.indicated)


def _with_subjects(source: sheet.Sheet, options: CommandOptions, found: Subjects) -> tuple[CommandOptions, str]:
    """The options with the subjects as groups, and a line that says so."""
    name = found.groups or (options.id if options.groups is None else None)
    if name is None or not _repeats(source.column(name)):
        return options, ""
    return replace(options, groups=name), f"rows with the same '{name}' taken for one subject, as with --groups"


def _repeats(column: Any) -> bool:
    return bool(column.null_count() == 0 and 2 < column.n_unique() < len(column))


def _groups(source: sheet.Sheet, roles: Roles) -> Any:
    if roles.groups is None:
        return None
    column = source.column(roles.groups)
    if column.null_count():
        empty = counted(column.null_count(), "row")
        raise InputError(f"the groups column '{roles.groups}' is empty in {empty}: give every row a group.")
    return np.array(column.to_list())


def _notes(source: sheet.Sheet, roles: Roles) -> list[str]:
    notes = list(roles.notes)
    if "groups" in source.others and roles.groups is None:
        notes.append("the file has an array 'groups': use --groups groups if its rows are not independent.")
    if roles.id not in (None, roles.groups):
        way_out = f"use --groups {words.shell_quoted(roles.id)}"
        notes += columns.notes_on_repeats(source.column(roles.id), roles.id, way_out)
    return notes


def _notes_on_classes(y: Any) -> list[str]:
    odd = [label for label in np.unique(y).tolist() if str(label).strip().lower() in columns.UNKNOWN]
    return [f"class '{c}': if that stands for a missing class, use --na {words.shell_quoted(str(c))}." for c in odd]


def _framed(loaded: sheet.Loaded, names: tuple[str, ...], missing: str | None) -> Any:
    import polars as pl

    texts = {name: t if missing is None else t.fill_null(missing) for name, t in loaded.texts.items()}
    return pl.DataFrame(
        [texts[name].alias(name) if name in texts else pl.Series(name, loaded.X[:, k]) for k, name in enumerate(names)]
    )
