"""The training of the classifier: what saw y, whether the fit arrived, what stands in for it, and the prior."""

from __future__ import annotations

from foldless.errors import PriorError
from foldless.findings.finding import Finding, found
from foldless.honest import in_sample
from foldless.honest.leave_one_out import LeaveOneOut
from foldless.honest.optimum import RESEMBLES
from foldless.honest.removal import MATERIAL, Provenance
from foldless.honest.scores import POOR_MATCH
from foldless.laws.effect import SQRT2
from foldless.laws.prior import Prior
from foldless.model.view import LinearView
from foldless.results.auc import AUCPosterior

FAR_OFF = 0.05  # in-sample against leave-one-out: AUC, and posterior standard deviations
FAR_OFF_SDS = 2.0


def fit_findings(view: LinearView, analysis: LeaveOneOut, auc: AUCPosterior) -> tuple[Finding, ...]:
    """All checks of this file."""
    provenance = analysis.removed.provenance
    trained = stopped_early(provenance), stand_in(provenance)
    return (*saw_y(view.notes), *found(*trained, in_sample_answer(view, auc)))


def saw_y(notes: tuple[str, ...]) -> tuple[Finding, ...]:
    """From the notes of a view: steps and searches that looked at y, and steps that may have."""
    return tuple(_of_note(note) for note in notes)


def _of_note(note: str) -> Finding:
    if "chose among candidates" in note:
        own = "Its best_score_ less its optimism_ is the more sober figure."
        other = "The answer is a little too good. FoldlessSearch, which needs no folds, says by how much (optimism_)."
        return Finding("search", "caution", note, own if note.startswith("FoldlessSearch") else other, 1.0)
    if "saw y" in note:
        advice = "That is allowed for: the columns that it dropped take part with weight zero."
        return Finding("steps", "info", note, advice, 1.0)
    if "is not scikit-learn's" in note:
        return Finding("steps", "caution", note, "Make sure that it does not look at y.", 1.0)
    return Finding("steps", "info", note, "Check that X has the columns of fit, in their order.", 1.0)


def stopped_early(provenance: Provenance) -> Finding | None:
    """Weights that are not those of the training objective on these rows."""
    cosine = provenance.direction_cosine
    if cosine >= MATERIAL:
        return None
    return Finding(
        "fit",
        "caution" if cosine >= RESEMBLES else "severe",
        f"the weights are not at the optimum of their training objective on these rows: they and the weights that were "
        f"judged in their place agree by {cosine:.2f} (cosine; 1 is the same direction).",
        "Pass X, y and sample_weight as they were given to fit. If they are, fit again with a smaller tol and a larger "
        "max_iter, or judge rows that were not used in the fit with auc_posterior_from_scores.",
        cosine,
    )


def stand_in(provenance: Provenance) -> Finding | None:
    """The training has no closed form, and the nearest ridge regression was left out of instead."""
    if provenance.method != "loo-surrogate":
        return None
    match = provenance.match
    poor = match < POOR_MATCH
    return Finding(
        "stand-in",
        "caution" if poor else "info",
        f"leaving rows out has no closed form for this classifier; the nearest ridge regression stood in for its "
        f"training (match {match:.2f}; 1 is the same direction).",
        "That is far off: right only if the weights owe little to these labels. Compare with "
        "baselines.cv_auc, or with held-out rows (auc_posterior_from_scores)."
        if poor
        else "Compare with baselines.cv_auc if much depends on it.",
        match,
    )


def in_sample_answer(view: LinearView, auc: AUCPosterior) -> Finding | None:
    """What the in-sample method would say under two priors, where that is far from the answer."""
    answers = {repr(prior): value for prior, value in _in_sample(view)}
    far = max(answers.values(), key=lambda a: abs(a - auc.mean))
    if abs(far - auc.mean) < max(FAR_OFF, FAR_OFF_SDS * auc.sd):
        return None
    told = ", ".join(f"{value:.3f} with {name}" for name, value in answers.items())
    return Finding(
        "in-sample answer",
        "info",
        f"the in-sample method would say {told}, against {auc.mean:.3f} here.",
        "It owes that to the prior and to overfitting: do not use method='in-sample' on these rows.",
        far - auc.mean,
    )


def _in_sample(view: LinearView) -> list[tuple[Prior, float]]:
    values = []
    for prior in (Prior.paper(), Prior.improper()):
        try:
            values.append((prior, float(in_sample.separation(view, prior).mean_probability(SQRT2))))
        except PriorError:
            continue  # no proper posterior with so many columns
    return values
