"""What every answer is read off: the classifier taken apart, its rows left out, each step computed once.

options         what was asked
view            the classifier taken apart                                   model/
leave_one_out   rows removed or refits, their statistic, the posterior       honest/
class_scores    the same for more than two classes                           honest/
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, fields
from functools import cached_property, partial
from typing import Any

from foldless import checks, words
from foldless.errors import EstimatorError, FoldlessError, InputError
from foldless.findings.naming import Names
from foldless.findings.rows import quick_notes
from foldless.honest.accuracy import Judged, judged
from foldless.honest.class_refits import ClassTraining, refitted_rows
from foldless.honest.class_statistic import Component, RefittedRows, TrainingRows, average, averaged
from foldless.honest.classes import ClassScores, remove_rows_of_classes
from foldless.honest.leave_one_out import LeaveOneOut, NoClosedForm, StoppedEarly
from foldless.honest.posterior import EffectPrior
from foldless.honest.refits import Refits, Training
from foldless.honest.statistic import SeparationStatistic
from foldless.honest.tuning import of_search
from foldless.model.pullback import NotMappedBack
from foldless.model.steps import ends_in_pls, is_estimator, search_in
from foldless.model.streamed import stream_view
from foldless.model.view import MANY_ROWS, LinearView, has_several_classes, take_apart
from foldless.tables import is_out_of_core, refuse_stream


@dataclass(frozen=True, eq=False)
class Options:
    """The parameters that all public functions share; see `auc_posterior`."""

    groups: Any = None
    sample_weight: Any = None
    pos_label: Any = None
    prior: Any = None
    method: str = "auto"
    multi_class: str = "ovo"
    n_jobs: int | None = None
    progress: Any = None
    feature_names: Any = None
    row_names: Any = None

    def __post_init__(self) -> None:
        checks.one_of(self.method, "method", ("auto", "loo", "refit", "in-sample"))
        checks.known_average(self.multi_class)

    @property
    def keywords(self) -> dict[str, Any]:
        """The options as keyword arguments of `analyse`."""
        return {f.name: getattr(self, f.name) for f in fields(self)}

    @property
    def in_sample(self) -> bool:
        """Whether the paper's method was asked for."""
        return self.method == "in-sample"

    @property
    def refit(self) -> bool:
        """Whether refits were asked for by name."""
        return self.method == "refit"

    @property
    def given(self) -> tuple[str, ...]:
        """Names of the options that are not left at their defaults."""
        return tuple(f.name for f in fields(self) if not _is_default(getattr(self, f.name), f.default))


def _is_default(value: Any, default: Any) -> bool:
    return value is default or (isinstance(value, str) and value == default)  # an array has no single ==


@dataclass(frozen=True, eq=False, repr=False)
class Computation:
    """A fitted classifier and its training rows; every step is computed on first use and kept."""

    estimator: Any
    X: Any
    y: Any
    options: Options

    @cached_property
    def view(self) -> LinearView:
        """The classifier taken apart."""
        if is_out_of_core(self.X, self.y):
            return stream_view(self.estimator, self.X, self.y, pos_label=self.options.pos_label)
        return take_apart(self.estimator, self.X, self.y, pos_label=self.options.pos_label, several=True)

    @cached_property
    def training(self) -> Training:
        """The classifier and its rows, ready to be refitted."""
        refuse_stream(self.X, self.y, "method 'refit'", on_host=True)
        o = self.options
        return Training.of(self.estimator, self.X, self.y, o.pos_label, o.groups, o.sample_weight)

    @property
    def by_refits(self) -> bool:
        """Whether the answers come from refits: as asked or, under "auto", as a linear fit has no closed form."""
        if self.options.method != "auto":
            return self.options.refit
        if self.only_refits:
            return True
        with suppress(EstimatorError):  # for lack of a solution: whoever asks for the answer is told
            if self.several_classes:
                return isinstance(self.class_rows, RefittedRows)
            return isinstance(self.leave_one_out, Refits)
        return False

    @property
    def in_closed_form(self) -> bool:
        """Whether rows were left out without refits."""
        return not (self.by_refits or (self.several_classes and self.options.groups is not None))

    @property
    def rows(self) -> LinearView | Training:
        """What the answers were computed from: the classifier taken apart, or as it was refitted."""
        return self.training if self.by_refits else self.two_classes

    @property
    def of_classes(self) -> LinearView | ClassTraining:
        """The same of more than two classes."""
        return self.class_training if self.by_refits else self.view

    @property
    def several_classes(self) -> bool:
        """More than two classes."""
        if self.options.refit or self.only_refits:
            return has_several_classes(self.estimator)
        return len(self.view.classes) > 2

    @cached_property
    def only_refits(self) -> bool:
        """Whether "auto" has to refit: PLS-DA, a step that saw y and cannot be mapped back, or one that had better not
        be kept as fitted to all rows where these are few."""
        if self.options.method != "auto" or not is_estimator(self.estimator) or is_out_of_core(self.X, self.y):
            return False
        if ends_in_pls(self.estimator):
            return True
        try:
            view = self.view
        except NotMappedBack:
            return True
        return bool(view.kept) and len(view.classes) == 2 and view.codes.size < MANY_ROWS

    @property
    def two_classes(self) -> LinearView:
        """The view of a classifier of two classes; an error for more."""
        self.refuse_several_classes("this question")
        return self.view

    def refuse_several_classes(self, function: str) -> None:
        """Refuse more than two classes, and tell how to ask `function` about one of them."""
        if self.several_classes:
            raise two_classes_only(self.estimator, function)

    @cached_property
    def leave_one_out(self) -> LeaveOneOut:
        """Rows removed from the fit of two classes, their statistic, and the posterior of the separation."""
        if self.options.refit or self.only_refits:
            return self.refits
        try:
            return self.left_out(self.options.groups, self._stand_in)
        except StoppedEarly:
            return self.refits if self._can_repeat else self.left_out(self.options.groups)
        except NoClosedForm:
            return self.refits

    @property
    def _stand_in(self) -> bool:
        """Whether something else may take the place of a fit without a closed form, since it is not to be refitted."""
        return self.options.method != "auto" or not is_estimator(self.estimator)

    @cached_property
    def _can_repeat(self) -> bool:
        """Whether refits stop as early as the fit did; if not, it was not fitted to these rows with these weights."""
        with suppress(FoldlessError):  # on another device, with steps that cannot be fitted again
            if search_in(self.estimator) is None:
                return (self.class_training if self.several_classes else self.training).repeats
        return False

    @cached_property
    def refits(self) -> Refits:
        """The classifier refitted without each part of its rows, in the place of rows removed in closed form."""
        prior = EffectPrior.checked(self.options.prior)
        return Refits.made(self.training, prior, self.options.n_jobs, self.options.progress)

    def left_out(self, groups: Any, stand_in: bool = True) -> LeaveOneOut:
        """The same in closed form, with these groups."""
        prior = EffectPrior.checked(None if self.options.in_sample else self.options.prior)
        loo = LeaveOneOut.of(self.two_classes, prior, groups, self.options.sample_weight, stand_in)
        search = search_in(self.estimator) if groups is None and not self.options.in_sample else None
        if search is not None:
            return of_search(loo, search, self.view, prior, self.options.sample_weight)
        if not (stand_in or loo.removed.provenance.reached):
            raise NoClosedForm("leaving single rows out changes this fit too much for a closed form.")
        return loo

    @property
    def class_scores(self) -> ClassScores:
        """Rows removed from the fit of more than two classes, or scored by refits without them."""
        return self.class_rows.honest

    @cached_property
    def class_training(self) -> ClassTraining:
        """A classifier of more than two classes and its rows, ready to be refitted."""
        refuse_stream(self.X, self.y, "method 'refit'", on_host=True)
        return ClassTraining.of(self.estimator, self.X, self.y, self.options.groups, self.options.sample_weight)

    @cached_property
    def class_rows(self) -> TrainingRows | RefittedRows:
        """The honest scores of more than two classes, as what their AUCs are computed from."""
        o = self.options
        if not self.several_classes:
            raise InputError("class_scores is for more than two classes: use leave_one_out.")
        with suppress(NoClosedForm):
            if o.groups is None and not (o.refit or self.only_refits):
                remove = partial(remove_rows_of_classes, self.view, sample_weight=o.sample_weight)
                try:
                    return TrainingRows(remove(stand_in=self._stand_in))
                except StoppedEarly:
                    if not self._can_repeat:
                        return TrainingRows(remove(stand_in=True))
        return refitted_rows(self.class_training, o.n_jobs, o.progress)

    @cached_property
    def averaged(self) -> tuple[list[Component], SeparationStatistic]:
        """The AUCs whose mean is the average AUC of more than two classes, and the statistic of that mean."""
        parts = averaged(self.class_rows, len(self.of_classes.classes), self.options.multi_class)
        return parts, average(self.class_rows, parts)

    @cached_property
    def judged_rows(self) -> Judged:
        """Which rows of more than two classes are classified rightly without having been trained on."""
        return judged(self.class_scores)

    @cached_property
    def table_notes(self) -> tuple[str, ...]:
        """Notes on the table: copies of rows, a column that is the label."""
        return self.notes_on_table(self.names)

    def notes_on_table(self, names: Names) -> tuple[str, ...]:
        """The same with other names of columns and rows."""
        groups = self.class_scores.groups if self.several_classes else self.leave_one_out.removed.groups
        return quick_notes(self.of_classes if self.several_classes else self.rows, names, groups)

    @cached_property
    def names(self) -> Names:
        """What columns and rows are called in findings."""
        estimator = None if self.by_refits else self.estimator
        return Names(self.X, estimator, self.options.feature_names, self.options.row_names)


def two_classes_only(estimator: Any, function: str) -> EstimatorError:
    """The error for a question about two classes, with the way to ask it about one class of several."""
    classes = estimator.classes_.tolist()
    return EstimatorError(
        f"{function} is about two classes, and {type(estimator).__name__} was fitted on {len(classes)} "
        f"({words.listed(classes)}): fit one class against the rest, estimator.fit(X, y == {classes[-1]!r}), and pass "
        f"y == {classes[-1]!r}. auc_posterior takes more than two classes."
    )
