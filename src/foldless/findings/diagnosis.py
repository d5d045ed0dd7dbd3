"""All checks of a fitted classifier and its rows, combined in a `Diagnosis`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from foldless import checks
from foldless.errors import EstimatorError, InputError
from foldless.findings.columns import Sketch, column_figures, column_findings, label_column, leak, many_columns
from foldless.findings.families import families
from foldless.findings.finding import Diagnosis, Finding, present
from foldless.findings.fit import fit_findings, saw_y
from foldless.findings.naming import Names, steps_before_y
from foldless.findings.rows import Copies, copies_finding, find_copies, neighbours_alike
from foldless.findings.scores import agreement, auc_of, few_groups, few_rows, few_to_split, score_findings
from foldless.honest.classes import ClassScores
from foldless.honest.design import Ints
from foldless.honest.leave_one_out import LeaveOneOut
from foldless.honest.refits import Refittable, Training
from foldless.model.view import LinearView
from foldless.results.auc import AUCPosterior
from foldless.tables.matrix import Unloaded

MAX_ROWS_REGROUPED = 1000  # leaving copies out together takes a second at this size; time grows with its square


def diagnosis_of_two(
    view: LinearView,
    names: Names,
    groups: Any,
    leave_one_out: Callable[[], LeaveOneOut],
    regrouped: Callable[[Ints], LeaveOneOut],
) -> Diagnosis:
    """The diagnosis of a classifier of two classes; `regrouped` repeats `leave_one_out` with other groups."""
    if isinstance(view.X, Unloaded):
        return _of_stream(view, leave_one_out(), names)
    checks.sane_size(view.X)
    codes = None if groups is None else checks.group_codes(groups, view.labels.positive.size)
    sketch, figures = Sketch.of(view.X, view.labels.positive), column_figures(view.X, view.labels.positive, view.w)
    copies = find_copies(view.X, codes, names.X, sketch)
    loo, refusal = _answered(leave_one_out)
    about_fit: tuple[Finding | None, ...] = (refusal, *map(saw_y, view.notes))
    about_scores: tuple[Finding, ...] = ()
    auc: AUCPosterior | None = None
    if loo is not None:
        auc = auc_of(loo, view.labels.n0, view.labels.n1)
        kept = tuple(note for note in view.notes if note in loo.notes)  # all but that on a search that was followed
        about_fit = fit_findings(kept, loo.removed.provenance)
        about_scores = score_findings(loo, auc, names, sketch)
    findings = (
        *about_fit,
        few_groups(codes),
        _about_copies(view, copies, names, auc, codes, regrouped),
        None if groups is not None else _dependence(view.X, sketch, copies),
        leak(figures, view.X, names),
        *column_findings(figures, view, names),
        *about_scores,
    )
    return _diagnosis(findings, auc, view.X.shape, copies)


def diagnosis_of_refits(
    training: Refittable, names: Names, answer: Callable[[], tuple[Any, AUCPosterior]]
) -> Diagnosis:
    """The diagnosis of a classifier that was refitted; checks that need its weights are left out."""
    given, refusal = _answered(answer)
    auc, about_scores = (None, ()) if given is None else _about_refits(*given, training, names)
    shape = training.y.size, getattr(training.estimator, "n_features_in_", 0)
    X, names = _as_numbers(training, names)
    if X is None:
        way_out = "Encode and impute a copy of the table, and call diagnose on a classifier fitted to that."
        unchecked = _not_checked("holds text or missing values", way_out)
        return _diagnosis((refusal, unchecked, *about_scores), auc, shape, None)
    checks.sane_size(X)
    groups, codes = training.groups, training.codes
    sketch = Sketch.of(X, codes)
    copies = find_copies(X, groups, names.X, sketch)
    # Of two classes the positive one says it all, and need not be named.
    told = [(1, ())] if len(training.classes) == 2 else [(k, (label,)) for k, label in enumerate(training.classes)]
    leaks = (leak(column_figures(X, codes == k), X, names, *label) for k, label in told)
    about_table = (
        few_groups(groups),
        copies_finding(copies, names),
        None if groups is not None else _dependence(X, sketch, copies),
        label_column(X, codes, names) or next(filter(None, leaks), None),
    )
    return _diagnosis((refusal, *about_table, *about_scores), auc, X.shape, copies)


def _about_refits(
    found: Any, auc: AUCPosterior, training: Refittable, names: Names
) -> tuple[AUCPosterior, tuple[Finding, ...]]:
    if isinstance(training, Training):
        auc = auc_of(found, *training.counts.tolist())
        return auc, score_findings(found, auc, names)
    what = "rows" if training.groups is None else "groups"
    few = few_rows(training.fewest, what, "smallest") or few_to_split(training.fewest)
    return auc, present(agreement(found), few)


def _as_numbers(training: Refittable, names: Names) -> tuple[Any, Names]:
    """The table, or what the steps that never saw y make of it; None if neither is numbers. And its names."""
    if training.X is not None:
        return training.X, names
    table = training.table
    for _, step in steps_before_y(training.estimator):
        table = step.transform(table)
    return replace(training, table=table).X, replace(names, estimator=training.estimator)


def _not_checked(why: str, way_out: str) -> Finding:
    text = f"X {why}, so its rows and columns were not checked for copies, dependence and leaks."
    return Finding("not checked", "caution", text, way_out, float("nan"))


def diagnosis_of_classes(
    view: LinearView, names: Names, answer: Callable[[], tuple[ClassScores, AUCPosterior]]
) -> Diagnosis:
    """The diagnosis of a classifier of more than two classes; checks that need one score per row are left out."""
    given, refusal = _answered(answer)
    auc = None if given is None else given[1]
    about_fit = tuple(map(saw_y, view.notes)) if given is None else fit_findings(view.notes, given[0].provenance)
    groups = None if given is None else given[0].groups
    checks.sane_size(view.X)
    sketch = Sketch.of(view.X, view.codes)
    copies = find_copies(view.X, groups, names.X, sketch)
    per_class = [view.against_rest(k, None) for k in range(len(view.classes))]
    figures = [(column_figures(each.X, each.labels.positive, each.w), each) for each in per_class]
    about_columns = (
        label_column(view.X, view.codes, names),
        *(leak(f, view.X, names, label) for (f, _), label in zip(figures, view.classes, strict=True)),
        *(finding for f, each in figures for finding in column_findings(f, each, names)),
    )
    findings = (
        refusal,
        *about_fit,
        few_groups(groups),
        copies_finding(copies, names),
        None if groups is not None else _dependence(view.X, sketch, copies),
        *_one_of_each(present(*about_columns)),
        few_rows(int(view.counts.min()), which="smallest"),
    )
    return _diagnosis(findings, auc, view.X.shape, copies)


def _of_stream(view: LinearView, loo: LeaveOneOut, names: Names) -> Diagnosis:
    """The checks that need no table in memory, and a finding that the table itself was not checked."""
    auc = auc_of(loo, view.labels.n0, view.labels.n1)
    way_out = "Load a part of the table and call diagnose on a classifier fitted to it."
    unchecked = _not_checked("is read in blocks", way_out)
    about_fit = fit_findings(view.notes, loo.removed.provenance)
    findings = (*about_fit, unchecked, many_columns(view.X.shape), *score_findings(loo, auc, names))
    return _diagnosis(findings, auc, view.X.shape, None)


def _diagnosis(
    findings: Iterable[Finding | None], auc: AUCPosterior | None, shape: tuple[int, int], copies: Copies | None
) -> Diagnosis:
    # The sort is stable: within a severity, findings on the fit and the data come before those on the scores.
    ordered = tuple(sorted(present(*findings), key=lambda finding: -finding.level))
    codes = tuple(copies.codes.tolist()) if copies is not None and copies.share else ()
    return Diagnosis(ordered, auc, *shape, codes)


def _one_of_each(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Of findings with the same name, the worst; the first of those that are equally bad."""
    by_name: dict[str, list[Finding]] = {}
    for finding in findings:
        by_name.setdefault(finding.name, []).append(finding)
    return tuple(max(same, key=lambda finding: finding.level) for same in by_name.values())


T = TypeVar("T")


def _answered(answer: Callable[[], T]) -> tuple[T | None, Finding | None]:
    """The answer, or a finding with the reason why it is refused."""
    try:
        return answer(), None
    except EstimatorError as err:
        advice = "Follow the message, or fit with a penalty (for example LogisticRegression(C=1.0)), and ask again."
        return None, Finding("no answer", "severe", f"auc_posterior refuses: {err}", advice, float("nan"))


def _dependence(X: Any, sketch: Sketch, copies: Copies) -> Finding | None:
    """Rows that depend on each other: in the order of the file, or wherever they stand; copies not counted."""
    return neighbours_alike(sketch) or families(X, sketch.classes, np.unique(copies.codes, return_index=True)[1])


def _about_copies(
    view: LinearView,
    copies: Copies,
    names: Names,
    auc: AUCPosterior | None,
    codes: Ints | None,
    regrouped: Callable[[Ints], LeaveOneOut],
) -> Finding | None:
    """The finding on copies, with what the AUC becomes when they are left out together, where that is quick."""
    if auc is None or copies.share == 0 or codes is not None or copies.codes.size > MAX_ROWS_REGROUPED:
        return copies_finding(copies, names)
    try:
        together = regrouped(copies.codes)
    except InputError:  # nearly all rows are copies of one row: too few groups to leave any out
        return copies_finding(copies, names)
    return copies_finding(copies, names, auc, auc_of(together, view.labels.n0, view.labels.n1))
