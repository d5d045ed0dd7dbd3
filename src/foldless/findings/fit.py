"""Checks of the training: steps that saw y, a fit that stopped early, a stand-in objective."""

from __future__ import annotations

from foldless.findings.finding import Finding, present
from foldless.honest.optimum import RESEMBLES
from foldless.honest.rows import MATERIAL, Provenance


def fit_findings(notes: tuple[str, ...], provenance: Provenance) -> tuple[Finding, ...]:
    """What the notes of a view and the removal of rows say about the training."""
    return (*map(saw_y, notes), *present(stopped_early(provenance), far_without(provenance), stand_in(provenance)))


def saw_y(note: str) -> Finding:
    """From a note of a view: a step or a search that looked at y, or a step that may have."""
    if "chose among candidates" in note:
        advice = "The answer is a little too good. Ask with method='refit'; a search over one L2 penalty needs none."
        return Finding("search", "caution", note, advice, 1.0)
    if "saw y" in note:
        advice = "This is accounted for: the columns that it dropped take part with weight zero."
        return Finding("steps", "info", note, advice, 1.0)
    if "is not scikit-learn's" in note:
        return Finding("steps", "caution", note, "Make sure that it does not use y.", 1.0)
    if "kept as fitted to all rows" in note and "matters little" not in note:
        return Finding("steps", "caution", note, "Ask with method='refit' and compare the two answers.", 1.0)
    return Finding("steps", "info", note, "Check that X has the same columns as in fit, in the same order.", 1.0)


def stopped_early(provenance: Provenance) -> Finding | None:
    """Weights that are not those of the training objective on these rows."""
    cosine = provenance.direction_cosine
    if cosine >= MATERIAL and not provenance.off_scale:
        return None
    other = ", but their scores lie elsewhere" if provenance.off_scale else ""
    return Finding(
        "fit",
        "caution" if cosine >= RESEMBLES else "severe",
        f"the weights are not at the optimum of their training objective on these rows: they and the weights that were "
        f"judged in their place agree by {cosine:.2f} (cosine; 1 is the same direction){other}.",
        "Pass X, y and sample_weight as they were given to fit. If they are, fit again with a smaller tol and a larger "
        "max_iter, or judge rows that were not used in the fit with auc_posterior_from_scores.",
        cosine,
    )


def far_without(provenance: Provenance) -> Finding | None:
    """Rows without which the fit is far away: a weak penalty, and half as many columns as rows."""
    if provenance.reached:
        return None
    return Finding(
        "removal",
        "caution",
        f"without {provenance.unsettled:.0%} of the rows, the fit is further away than the closed form reaches. "
        f"Without signal, such answers found some in up to a quarter of simulated samples.",
        "Ask with method='refit', or fit with a stronger penalty.",
        provenance.unsettled,
    )


CLOSE = 0.95  # above this match, stand-in and training differ little
WAYS_OUT = (
    "Pass the fitted classifier with method='refit', judge held-out rows with auc_posterior_from_scores, or fit a "
    "classifier with an L2 penalty, which needs no stand-in."
)


def stand_in(provenance: Provenance) -> Finding | None:
    """The training has no closed form, so rows were left out of the nearest ridge regression instead."""
    if provenance.method != "loo-surrogate":
        return None
    match = provenance.match
    # Simulations of 60 and 100 rows with L1, elastic net, hinge and selected columns. The match does not tell which of
    # them are far off, so no stand-in is trusted.
    off = (
        " In simulations such answers were off by 0.06 on average, and by 0.2 where 5 of 200 columns held all of the "
        "signal; hardly any interval held the truth there."
    )
    return Finding(
        "stand-in",
        "caution",
        f"leaving rows out has no closed form for this classifier; the nearest ridge regression stood in for its "
        f"training (they agree by {match:.2f}; 1 is the same direction).{off if match < CLOSE else ''}",
        WAYS_OUT,
        match,
    )
