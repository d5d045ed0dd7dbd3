"""`validate`: the internal validation of a model as one table, each figure with its apparent value and an interval."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from foldless import checks, words
from foldless.analysis import Analysis, analysed
from foldless.computation import Options
from foldless.errors import InputError, warn_user
from foldless.honest.pairs import Pairs
from foldless.measures import Measures, net_benefit_at
from foldless.results.accuracy import AccuracyPosterior
from foldless.results.auc import ShownAsCard

FEW_EVENTS = 10
COLUMNS = ("measure", "apparent", "honest", "optimism", "low", "high")


@dataclass(frozen=True, eq=False)
class Figure:
    """One line of the table: the posterior of a figure, and its value on the training rows."""

    name: str
    law: Any
    apparent: float

    def summary(self, level: float) -> dict[str, Any]:
        """The line as a plain dict; None in place of what is not finite."""
        low, high = self.law.interval(level)
        values = (self.apparent, self.law.mean, self.apparent - self.law.mean, low, high)
        finite = (float(v) if np.isfinite(v) else None for v in values)
        return dict(zip(COLUMNS, (self.name, *finite), strict=True))


@dataclass(frozen=True, eq=False, repr=False)
class Validation(ShownAsCard):
    """The internal validation of a model: discrimination, calibration, overall error, and decisions at a threshold.

    ``print(v)`` shows the table; `summary`, `to_json`, `to_markdown`, `to_latex` and `to_frame` (which needs pandas)
    give it in other forms, with the same numbers. "Apparent" is what the training rows say of the fit that saw them,
    "honest" what is to be expected of new rows, and "optimism" the difference. Each of the `figures`, also found by
    name as in ``v["Brier score"]``, has ``name``, ``law`` (with ``mean``, ``sd`` and ``interval``) and ``apparent``.
    Of more than two `classes` there are neither threshold nor prevalence, and n0 and n1 are both the number of rows.
    """

    figures: tuple[Figure, ...]
    threshold: float | None
    prevalence: float | None
    n0: int
    n1: int
    level: float
    method: str
    notes: tuple[str, ...] = ()
    classes: tuple[Any, ...] = ()
    fewest: int = FEW_EVENTS  # rows of the smallest class
    _card = "validation"

    def __getitem__(self, name: str) -> Figure:
        """The figure of that name, such as "Brier score"."""
        known = {figure.name: figure for figure in self.figures}
        if name not in known:
            raise InputError(f"there is no figure {name!r}; there are {words.listed(known)}.")
        return known[name]

    @property
    def calls_for_caution(self) -> bool:
        """Whether the rows are too few for the table to be relied on, whatever the checks of the AUC say."""
        return self.fewest < FEW_EVENTS

    @property
    def lines(self) -> list[dict[str, Any]]:
        """The lines of the table, as plain dicts."""
        return [figure.summary(self.level) for figure in self.figures]

    def summary(self) -> dict[str, Any]:
        """The table and what belongs to it, as a plain dict."""
        about = ("threshold", "prevalence", "n0", "n1", "level", "method")
        classes = {"classes": words.plain(self.classes, str)} if self.classes else {}
        facts = {name: getattr(self, name) for name in about}
        return {**facts, **classes, "figures": self.lines, "notes": list(self.notes)}

    def to_json(self) -> str:
        """The summary as JSON."""
        return json.dumps(self.summary(), indent=2, allow_nan=False)

    def to_frame(self) -> Any:
        """The table as a pandas data frame."""
        import pandas as pd

        return pd.DataFrame(self.lines).set_index("measure")

    def to_markdown(self) -> str:
        """The table in Markdown."""
        head, *rows = self.cells()
        lines = [head, ["---", *["--:"] * (len(head) - 1)], *rows]
        return "\n".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |" for line in lines)

    def to_latex(self) -> str:
        """The table in LaTeX, with the rules of booktabs."""
        return words.latex_table(self.cells())

    def __str__(self) -> str:
        table = self.cells()
        widths = [max(len(line[k]) for line in table) for k in range(len(table[0]))]
        sized = [list(zip(line, widths, strict=True)) for line in table]
        rows = ["  ".join([line[0][0].ljust(line[0][1]), *(c.rjust(w) for c, w in line[1:])]) for line in sized]
        return "\n".join([rows[0], "-" * len(rows[0]), *rows[1:], *(f"Note: {note}" for note in self.notes)])

    def cells(self) -> list[list[str]]:
        """The table as text: a head and one row per figure."""
        head = [*COLUMNS[:4], f"{words.percent(self.level)} interval"]
        return [head, *(_texts(*line.values()) for line in self.lines)]

    def __repr__(self) -> str:
        return f"Validation({len(self.figures)} figures, n0={self.n0}, n1={self.n1}, method={self.method!r})"


def _texts(name: str, *values: float | None) -> list[str]:
    """The cells of a line: a dash where there is no figure, both ends of the interval in one."""
    *figures, low, high = ("-" if value is None else f"{value:z.3f}" for value in values)
    return [name, *figures, low if low == high == "-" else f"{low} to {high}"]


def validate(
    model: Any,
    X: Any = None,
    y: Any = None,
    *,
    threshold: float | None = None,
    prevalence: float | None = None,
    level: float = 0.95,
    groups: Any = None,
    sample_weight: Any = None,
    pos_label: Any = None,
    prior: Any = None,
    method: str = "auto",
    n_jobs: int | None = None,
) -> Validation:
    """Validate a fitted classifier with probabilities on its own training rows, each judged as if left out.

    Parameters
    ----------
    model : fitted classifier with predict_proba, or an Analysis of one
    X, y, groups, sample_weight, pos_label, prior, method, n_jobs
        As in `auc_posterior`.
    threshold : float, optional
        The probability above which a row counts as positive, 0.5 by default; for two classes only.
    prevalence : float, optional
        Share of positive rows where the model will be used, for two classes only. By default the rows are taken for a
        random sample of that place, and the uncertainty of their share is part of the intervals.
    level : float
        Level of the intervals.

    Returns
    -------
    Validation

    Examples
    --------
    >>> import foldless as fl
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.linear_model import LogisticRegression
    >>> X, y = load_iris(return_X_y=True)
    >>> X, y = X[50:, :2], y[50:]
    >>> v = fl.validate(LogisticRegression().fit(X, y), X, y)
    >>> v["AUC"].apparent > v["AUC"].law.mean
    True
    """
    level = checks.in_open_interval(level, "level")
    options = Options(groups, sample_weight, pos_label, prior, method, n_jobs=n_jobs)
    analysis = analysed(model, X, y, options)
    if analysis.several_classes:
        if threshold is not None or prevalence is not None:
            raise InputError("threshold and prevalence are for two classes: leave them out.")
        result = _of_classes(analysis, level)
    else:
        result = _of_two_classes(analysis, 0.5 if threshold is None else threshold, prevalence, level)
    for warning in analysis.warnings:
        warn_user(warning)
    return result


def _of_two_classes(analysis: Analysis, threshold: float, prevalence: float | None, level: float) -> Validation:
    measures, labels = analysis.measures(prevalence), analysis.rows.labels
    figures = (*_overall(analysis, measures), *_decisions(measures, threshold))
    doubts = (*measures.calibration.certain, *measures.calibration.doubts(level))
    told = () if prevalence is None else (_on_prevalence(prevalence, labels.n1 / (labels.n0 + labels.n1)),)
    sizes = labels.n0, labels.n1
    notes = (*_few(*sizes), *told, *doubts, *analysis.notes)
    share, method = measures.rows.share, analysis.method
    return Validation(figures, threshold, share, *sizes, level, method, notes, fewest=min(sizes))


def _of_classes(analysis: Analysis, level: float) -> Validation:
    """More than two classes: discrimination, decisions, overall error; AUC and calibration of each against the rest."""
    from sklearn.metrics import roc_auc_score

    a, measures, view = analysis, analysis.class_measures, analysis.of_classes
    apparent = float(roc_auc_score(view.codes, measures.own.T, multi_class=a.options.multi_class))
    shares = (a.accuracy, a.balanced_accuracy, a.top_k(2), measures.brier, measures.log_loss)
    figures = [Figure("average AUC", a.auc, apparent), *(Figure(law.name, law, law.apparent) for law in shares)]
    for k, (label, calibration) in enumerate(measures.calibration.items()):
        area = measures.auc.against_rest[label]
        figures.append(Figure(f"AUC of {label}", area, float(roc_auc_score(view.codes == k, measures.own[k]))))
        laws = (calibration.slope, calibration.intercept, calibration.oe)
        figures += [Figure(f"{law.name} of {label}", law, law.apparent) for law in laws]
    each = ((label, (*of.certain, *of.doubts(level))) for label, of in measures.calibration.items())
    doubts = (f"{label}: {text}" for label, texts in each for text in texts)
    notes = (*_few(*view.counts.tolist()), *doubts, *a.notes)
    about = (a.method, notes, tuple(view.classes), int(view.counts.min()))
    return Validation(tuple(figures), None, None, view.codes.size, view.codes.size, level, *about)


def _few(*counts: int) -> tuple[str, ...]:
    fewest, which = min(counts), "smaller" if len(counts) == 2 else "smallest"
    text = f"caution: the {which} class has {fewest} rows only, fewer than {FEW_EVENTS}: too few for a validation."
    return (text,) if fewest < FEW_EVENTS else ()


def _on_prevalence(stated: float, own: float) -> str:
    return (
        f"the figures are those of a population with {words.percent(round(stated, 4))} positives, where the rows have "
        f"{words.percent(round(own, 2))}: all but AUC, sensitivity, specificity and balanced accuracy depend on it."
    )


def _overall(analysis: Analysis, measures: Measures) -> tuple[Figure, ...]:
    """Discrimination, overall error and calibration."""
    positive, own = measures.rows.positive, measures.rows.own
    area = Figure("AUC", analysis.auc, Pairs(own[positive], own[~positive]).ranks().mean)
    laws = (measures.average_precision, measures.brier, measures.scaled_brier, measures.log_loss)
    return (area, *(Figure(law.name, law, law.apparent) for law in (*laws, *measures.calibration.measures)))


def _decisions(measures: Measures, threshold: float) -> tuple[Figure, ...]:
    """Rates at the threshold, on new rows and on the training rows; there NaN where they are not defined."""
    rates = measures.rates_at(threshold)
    flagged, positive, share = measures.rows.own >= threshold, measures.rows.positive, measures.rows.share
    tpr, fpr = (float(np.mean(flagged[half])) for half in (positive, ~positive))
    tp, fp, fn, tn = share * tpr, (1 - share) * fpr, share * (1 - tpr), (1 - share) * (1 - fpr)
    right, both = (
        AccuracyPosterior.of_moments(name, 1 - error.mean, error.sd)
        for name, error in (
            ("accuracy", rates.error),
            ("balanced accuracy", replace(rates.error, prevalence=0.5, shares=())),
        )
    )
    benefit = net_benefit_at(rates, measures.calibration.law, threshold)
    laws = (
        ("sensitivity", rates.sensitivity, tpr),
        ("specificity", rates.specificity, 1 - fpr),
        ("PPV", rates.ppv, _ratio(tp, tp + fp)),
        ("NPV", rates.npv, _ratio(tn, tn + fn)),
        ("accuracy", right, tp + tn),
        ("balanced accuracy", both, (tpr + 1 - fpr) / 2),
        ("F1", rates.f1, _ratio(2 * tp, 2 * tp + fp + fn)),
        ("MCC", rates.mcc, _ratio(tp * tn - fp * fn, float(np.sqrt((tp + fp) * (tp + fn) * (tn + fp) * (tn + fn))))),
        ("net benefit", benefit, benefit.apparent),
    )
    return tuple(Figure(f"{name} at {threshold:g}", law, apparent) for name, law, apparent in laws)


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole > 0 else np.nan
