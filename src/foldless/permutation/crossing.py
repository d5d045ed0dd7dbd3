"""Temporal generalisation: classifiers trained at one time and tested at another, on trials that left the training.

A trial that leaves the fit at time t moves its weights by H^-1 A' u, with the slopes u of the removal formula. Its
score at time t' is that of the moved weights, so that one product of the rows at t' with [weights, H^-1 A'] is all that
it takes; nothing is refitted.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from foldless.checks import Floats, is_sparse
from foldless.honest.design import Bools, Ints, blocks
from foldless.honest.removal import LocalModel, pair_slopes
from foldless.model.pullback import unfold
from foldless.model.steps import Steps
from foldless.permutation import scoring
from foldless.permutation.answer import worked


@dataclass(frozen=True, eq=False)
class Fitted:
    """The classifier of one time: the steps before it, and its fit to the labels."""

    steps: Steps
    fit: scoring.SharedFit | scoring.OwnFits
    positive: Bools

    def rows(self, table: Floats) -> Floats:
        """Rows as this classifier sees them, with a last column for the intercept where there is one."""
        training, rows = self.fit.training, unfold(self.steps, table).table
        rows = np.asarray(rows.toarray() if is_sparse(rows) else rows, dtype=np.float64)
        if training.free_intercept:
            return np.column_stack([rows - np.ravel(training.X.mean(axis=0)), np.ones(len(rows))])
        return np.column_stack([rows, np.full(len(rows), training.constant)]) if training.constant else rows

    def moves(self, own: Floats) -> tuple[Floats, LocalModel]:
        """[weights, H^-1 A'] (columns of `rows`, 1 + N), and the model of the fit; `own` are the rows trained on."""
        training, (weights, root, model) = self.fit.training, self.fit.fitted(self.positive)
        found = np.column_stack([weights, root @ model.B.T])
        if training.n_columns + bool(training.constant) < len(own):
            return found, model
        # The coordinates are those of the row space: back to columns.
        k, width = training.A.shape[1] - training.free_intercept, own.shape[1] - training.free_intercept
        return np.concatenate([own[:, :width].T @ np.linalg.pinv(training.A[:, :k]).T @ found[:k], found[k:]]), model


def crossed(fits: list[Fitted], X: Floats, n_jobs: int | None, progress: Any) -> Floats:
    """AUC (T, T) of the classifier of each time at all times, on rows X (T, trials, features)."""
    return np.array(worked(partial(_tested, fits=fits, X=X), range(len(fits)), len(fits), n_jobs, progress))


def _tested(k: int, fits: list[Fitted], X: Floats) -> Floats:
    """AUCs of the classifier of one time at all times."""
    fitted, (N, P) = fits[k], X.shape[1:]
    moves, model = fitted.moves(fitted.rows(np.asarray(X[k], dtype=np.float64)))
    out: list[Floats] = []
    for part in blocks(len(X), N * (N + 1), scoring.CHUNK_ENTRIES):
        product = (fitted.rows(np.asarray(X[part], dtype=np.float64).reshape(-1, P)) @ moves).reshape(-1, N, N + 1)
        z, C = product[:, :, 0], product[:, :, 1:]
        if isinstance(fitted.fit, scoring.SharedFit) and fitted.fit.uses_pairs:
            numbers = [each.fit.distinct for each in fits[part] if isinstance(each.fit, scoring.SharedFit)]
            out.append(_auc_of_pairs(model, z, C, fitted.positive, numbers))
        else:
            out.append(_auc_of_rows(model, z, C, fitted.positive, fitted.fit.units))
    return np.concatenate(out)


def _auc_of_rows(model: LocalModel, z: Floats, C: Floats, positive: Bools, units: tuple[Ints, ...] | None) -> Floats:
    """Rows, or groups, left out one by one; z (T, N) are scores at other times and C (T, N, N) moves them."""
    own = _influence((model.B @ model.B.T)[None])
    u = scoring.left_out_slopes(model.g[None], model.D[None], own, units)
    return scoring.rank_auc(scoring.left_out_scores(z, u, _influence(C), units), np.broadcast_to(positive, z.shape))


def _influence(G: Floats) -> scoring.Influence:
    return scoring.Influence(np.einsum("bii->bi", G), G.sum(axis=1), lambda rows: G[:, rows[:, None], rows])


def _auc_of_pairs(model: LocalModel, z: Floats, C: Floats, positive: Bools, numbers: list[Ints]) -> Floats:
    """Pairs of one positive and one negative row left out together: the share in order, equal rows counting half."""
    i, j = np.flatnonzero(positive), np.flatnonzero(~positive)
    _, ui, uj = pair_slopes(model, i, j)
    own = np.einsum("bii->bi", C)
    gap = z[:, i, None] - z[:, None, j]
    gap += (own[:, i, None] - C[:, j][:, :, i].transpose(0, 2, 1)) * ui
    gap += (C[:, i][:, :, j] - own[:, None, j]) * uj
    equal = np.array([rows[i][:, None] == rows[j] for rows in numbers])
    return np.asarray(np.where(equal, 0.5, gap > 0).mean(axis=(1, 2)))
