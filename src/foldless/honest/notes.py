"""What the user must know about honest scores: a fit that was not at its optimum, a stand-in, a subset of rows."""

from __future__ import annotations

WORTH_SAYING = 0.9999  # cosines above this leave every figure where it was
MATERIAL = 0.99  # below, the figures are not those of the user's weights
FEW_ROWS = 10  # of a class, below which its spread is a guess
POOR_MATCH = 0.5  # below, the stand-in is far from the training it stands for


def strain(notes: tuple[str, ...], cosine: float) -> str | None:
    """The note that deserves a warning: the figures are those of another classifier than the user's."""
    return notes[0] if cosine < MATERIAL else None


def on_convergence(residual: float, cosine: float, used: str) -> tuple[str, ...]:
    """Whether the weights are at the optimum of their objective; `used` names the optimum that was taken instead."""
    if cosine >= WORTH_SAYING:
        return ()
    fact = f"the weights are not at the optimum of their training objective (residual {residual:.2g})"
    if cosine >= MATERIAL:
        return (f"{fact}; {used}, which points the same way, was used instead.",)
    return (
        f"{fact}: the figures are those of {used}, not of your weights, which point elsewhere (cosine {cosine:.2f}). "
        f"Either X, y or sample_weight are not those given to fit, or the fit stopped early: "
        f"then use a smaller tol and a larger max_iter, or a stronger penalty.",
    )


def on_surrogate(stand_in: str, match: float) -> str:
    """That a stand-in was used, and how far it is from the user's weights."""
    if match >= POOR_MATCH:
        return stand_in
    return f"{stand_in} That is far from it: the answer is right if the weights owe little to these labels."


def on_subset(evaluated: int, rows: int) -> tuple[str, ...]:
    """That not all pairs of rows were evaluated."""
    if evaluated == rows:
        return ()
    return (
        f"pairs were evaluated on {evaluated} of {rows} rows, drawn at random: "
        f"the interval is as wide as that many rows make it.",
    )


def on_few_rows(fewest: int, what: str = "rows", which: str = "smaller") -> tuple[str, ...]:
    """That a class has so few independent rows, or groups, that the interval is a guess."""
    if fewest >= FEW_ROWS:
        return ()
    return (f"the {which} class has {fewest} {what}: the spread of its scores is a guess, and so is the interval.",)
