"""`HonestScores`: what the training rows would have scored without being in the training set."""

from __future__ import annotations

from dataclasses import dataclass

from foldless.checks import Floats
from foldless.results.auc import ShownAsCard


@dataclass(frozen=True, eq=False, repr=False)
class HonestScores(ShownAsCard):
    """What the training rows would have scored had they not been in the training set.

    Attributes
    ----------
    scores : array of shape (N,), of more than two classes (N, K)
        Leave-one-out scores; of refits the mean over four of them; of a softmax or LDA of several classes up to a
        constant per row. Do not pool them into an AUC: the class balance moves with the removed row.
    pair_auc : float
        Leave-pair-out AUC, free of that bias; of more than two classes the average, of refits the share of ordered
        pairs among rows held out together.
    noise_share : float
        Share of the variance of the scores that is due to the training set, from 0 to 1; of refits a bound, which may
        be slightly above 1.
    residual : float
        How far the fit is from its optimum (0: at it), nan where the training objective is unknown.
    match : float
        How closely a surrogate matches the classifier; 1 where the objective is known.
    method, notes
        As in `AUCPosterior`.
    """

    scores: Floats
    pair_auc: float
    noise_share: float
    residual: float
    match: float
    method: str
    notes: tuple[str, ...] = ()
    _card = "honest_scores"

    def __repr__(self) -> str:
        return (
            f"HonestScores({len(self.scores)} rows, leave-pair-out AUC {self.pair_auc:.3f}, "
            f"noise_share={self.noise_share:.2f}, method={self.method!r})"
        )
