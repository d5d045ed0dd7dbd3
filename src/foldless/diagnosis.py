"""`diagnose`: all checks on one fitted classifier and its training data."""

from __future__ import annotations

from typing import Any

from foldless import checks
from foldless.errors import EstimatorError, InputError
from foldless.findings.columns import Sketch, column_figures, column_findings, leak
from foldless.findings.finding import Diagnosis, Finding, found
from foldless.findings.fit import fit_findings, saw_y
from foldless.findings.rows import Copies, copies_finding, find_copies, neighbours_alike
from foldless.findings.scores import score_findings
from foldless.honest.analysis import Analysis
from foldless.honest.design import Ints
from foldless.honest.posterior import EffectPrior
from foldless.model.view import LinearView, take_apart
from foldless.results.auc import AUCPosterior
from foldless.tables import refuse_stream

MAX_ROWS_REGROUPED = 1000  # leaving copies out together takes a second at this size, and grows with the square


def diagnose(
    estimator: Any, X: Any, y: Any, *, groups: Any = None, sample_weight: Any = None, pos_label: Any = None
) -> Diagnosis:
    """What speaks against the answer of `auc_posterior`, each point with its number and what to do.

    Looked at: honest scores (normality and what it does to the AUC, unequal variances, outliers that move the answer,
    perfect order, few rows), the training (steps that saw y, early stops, stand-ins, the in-sample answer), columns
    (one that knows the label, heavy tails, columns chosen with y, more of them than rows) and rows (copies, exact and
    near; neighbours in the file that are alike). Nothing is refitted.

    Rows of one subject that are neither next to each other nor nearly equal cannot be told from independent ones:
    "trust" means that nothing was seen, not that there is nothing. Who knows of groups should pass them.

    Parameters
    ----------
    estimator : fitted scikit-learn linear classifier, Pipeline ending in one, or weights of shape (P,)
    X, y : the data that it was fitted on
    groups : array of shape (N,), optional
        Labels of dependent rows. Copies inside a group are accounted for.
    sample_weight : array of shape (N,), optional
        The weights given to ``fit``, if any.
    pos_label : optional
        The positive class.

    Returns
    -------
    Diagnosis
        ``verdict`` is "trust" (nothing beyond information was found), "caution" or "do not use"; ``alternative`` says
        what to do instead; ``findings`` has the worst first.

    Examples
    --------
    A row and its copy give each other's label away:

    >>> import foldless as fl
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> rng = np.random.default_rng(0)
    >>> X, y = rng.normal(size=(60, 20)), np.repeat([0, 1], 30)
    >>> X, y = np.vstack([X, X]), np.r_[y, y]
    >>> found = fl.diagnose(LogisticRegression().fit(X, y), X, y)
    >>> found.verdict, found.flagged
    ('do not use', ('copies',))
    """
    refuse_stream(X, y, "diagnose")
    view = take_apart(estimator, X, y, pos_label=pos_label)  # its doubts are among the findings
    checks.sane_size(view.X)
    codes = None if groups is None else checks.group_codes(groups, view.labels.positive.size)
    sketch, figures = Sketch.of(view), column_figures(view)
    copies = find_copies(view, sketch, codes)
    analysis, refusal = _analysed(view, groups, sample_weight)
    if analysis is None:
        auc, about_fit = None, (*found(refusal), *saw_y(view))
        about_scores: tuple[Finding, ...] = ()
    else:
        auc = _posterior(view, analysis)
        about_fit, about_scores = fit_findings(view, analysis, auc), score_findings(analysis, auc, sketch)
    # Within a severity the order stays: what the answer is about comes before what it looks like.
    findings = (
        *about_fit,
        *found(_about_copies(view, copies, auc, codes, sample_weight)),
        *found(neighbours_alike(sketch) if groups is None else None),
        *found(leak(figures, view, X)),
        *column_findings(figures, view),
        *about_scores,
    )
    ordered = tuple(sorted(findings, key=lambda f: -f.level))
    n_rows, n_columns = view.X.shape
    return Diagnosis(ordered, auc, n_rows, n_columns, tuple(copies.codes.tolist()) if copies.share else ())


def _analysed(view: LinearView, groups: Any, sample_weight: Any) -> tuple[Analysis | None, Finding | None]:
    """The leave-one-out analysis or, where the training has no solution to speak of, a finding that says so."""
    try:
        return Analysis.of(view, EffectPrior.default(), groups, sample_weight), None
    except EstimatorError as err:
        advice = "Fit with a penalty (for example LogisticRegression(C=1.0)), and ask again."
        return None, Finding("no answer", "severe", f"auc_posterior refuses: {err}", advice, float("nan"))


def _posterior(view: LinearView, analysis: Analysis) -> AUCPosterior:
    n0, n1 = view.labels.n0, view.labels.n1
    details, method = analysis.details(), analysis.removed.provenance.method
    return AUCPosterior.from_effect(analysis.effect, method, n0, n1, analysis.notes, details)


def _about_copies(
    view: LinearView, copies: Copies, auc: AUCPosterior | None, codes: Ints | None, sample_weight: Any
) -> Finding | None:
    """The finding on copies, with what the AUC becomes when they are left out together, where that is quick."""
    if auc is None or copies.share == 0 or codes is not None or copies.codes.size > MAX_ROWS_REGROUPED:
        return copies_finding(copies)
    try:
        together = _posterior(view, Analysis.of(view, EffectPrior.default(), copies.codes, sample_weight))
    except InputError:  # nearly all rows are copies of one: there are too few groups to leave any out
        return copies_finding(copies)
    return copies_finding(copies, auc, together)
