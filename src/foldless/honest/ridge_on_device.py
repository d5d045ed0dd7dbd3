"""Ridge classifiers of any number of classes on the device of a PyTorch tensor: all penalties from one eigenproblem.

`foldless.honest.least_squares` holds the scores of all rows for all classes. A million rows of a thousand classes leave
no room for that, so here rows come class by class, and only what is decided about a row is kept. With V the
eigenvectors of the Gram matrix about the mean row c, z_i = V'(x_i - c), T the targets +-1 and
r = 1 / (eigenvalues + lam), a fit with an intercept has

    scores = mean(T) + z_i' diag(r) Z'T,    G_ii = z_i' diag(r) z_i + 1/N,

and a row and the average row of its class that takes its place act on the scores as they do there. Everything is in
float64: a row that alone fills a direction has a leverage of 1, of which single precision leaves nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch  # this module is imported only when X is a tensor

from foldless import checks
from foldless.checks import Floats, Ints
from foldless.errors import InputError
from foldless.honest.accuracy import Judged, rows_for_noise, with_noise
from foldless.honest.classes import MOST_ROWS
from foldless.honest.design import MAX_LEVERAGE
from foldless.honest.least_squares import scores_in_pairs
from foldless.honest.optimum import MIN_PENALTY
from foldless.honest.removal import LocalModel
from foldless.tables.device import first_not_finite, to_host

BLOCK_ENTRIES = 1 << 26  # entries of the rows, or of their scores, that are worked on at a time: 512 MB


@dataclass(frozen=True, eq=False)
class Ridge:
    """The fit with one penalty: weights (P, K) and intercepts (K,), on the host; its decisions on training rows."""

    weights: Floats
    intercepts: Floats
    judged: Judged  # each row as if it had been left out
    seen: Floats  # share of the rows of each class that the fit gets right

    @property
    def accuracy(self) -> float:
        """Of the training rows by the fit that saw them."""
        return float(np.average(self.seen, weights=np.bincount(self.judged.codes)))

    @property
    def balanced_accuracy(self) -> float:
        """The mean over classes."""
        return float(self.seen.mean())


@dataclass(frozen=True, eq=False)
class DeviceSpectrum:
    """The Gram matrix of the rows about their mean, taken apart, and the rows by class; everything on the device."""

    X: Any
    codes: Ints
    own: Any  # the same on the device
    classes: tuple[Any, ...]  # the rows of each
    centre: Any
    values: Any
    vectors: Any
    sums: Any  # (P, K) of z by class
    level: Any  # (K,) mean(T)
    weight_of_one: float  # 1/N with an intercept, else 0

    @classmethod
    def of(cls, X: Any, codes: Ints, free_intercept: bool) -> DeviceSpectrum:
        """Of the rows of a tensor."""
        _refuse_unusable(X)
        N, classes = len(codes), _by_class(codes, X.device)
        sums = torch.stack([_sum(X, rows) for rows in classes], dim=1)  # (P, K)
        n = torch.tensor([len(rows) for rows in classes], dtype=torch.float64, device=X.device)
        centre = sums.sum(dim=1) / N if free_intercept else torch.zeros_like(sums[:, 0])
        height = max(1, BLOCK_ENTRIES // X.shape[1])
        gram = sum(z.mT @ z for z in (part.double() - centre for part in X.split(height)))
        values, vectors = torch.linalg.eigh(gram)
        sums = vectors.mT @ (sums - centre[:, None] * n)
        level = 2 * n / N - 1 if free_intercept else torch.zeros_like(n)
        own = torch.as_tensor(codes, device=X.device)
        return cls(X, codes, own, classes, centre, values.clamp(min=0), vectors, sums, level, free_intercept / N)

    def fits(self, penalties: list[float]) -> list[Ridge]:
        """The fits with these penalties, every row judged by each."""
        fits = [_Fit.of(self, lam) for lam in penalties]
        drawn = rows_for_noise(len(self.codes), len(self.classes), MOST_ROWS)
        decisions = [_Decisions.none(self, drawn) for _ in fits]
        place = torch.full((len(self.codes),), -1, device=self.X.device)
        place[torch.as_tensor(drawn, device=place.device)] = torch.arange(len(drawn), device=place.device)
        for k in range(len(self.classes)):
            pulls = [(torch.zeros_like(fit.W), torch.zeros_like(fit.level)) for fit in fits]
            for rows, z in self._rows_of(k):
                for fit, (pull, of_one) in zip(fits, pulls, strict=True):
                    U = fit.unseen(z, k, *fit.removed(z, self.own[rows])[1:])
                    pull += z.mT @ U
                    of_one += U.sum(dim=0)
            for rows, z in self._rows_of(k):
                here = torch.nonzero(place[rows] >= 0)[:, 0]
                for fit, (pull, of_one), known in zip(fits, pulls, decisions, strict=True):
                    scores, replaced = fit.replaced(z, k, self.own[rows], pull, of_one)
                    known.add(k, rows, scores, replaced)
                    known.replaced[place[rows[here]]] = replaced[here]
        z, own = self._rotated(torch.as_tensor(drawn, device=place.device)), self.own[drawn]
        return [fit.on_host(self, known, drawn, z, own) for fit, known in zip(fits, decisions, strict=True)]

    def _rows_of(self, k: int) -> Iterator[tuple[Any, Any]]:
        """The rows of a class, a block at a time, by their places in the table and in the eigenvectors."""
        height = max(1, BLOCK_ENTRIES // max(self.X.shape[1], len(self.classes)))
        for rows in self.classes[k].split(height):
            yield rows, self._rotated(rows)

    def _rotated(self, rows: Any) -> Any:
        return (self.X[rows].double() - self.centre) @ self.vectors


@dataclass(frozen=True, eq=False)
class _Fit:
    """One penalty, in the eigenvectors."""

    W: Any  # (P, K)
    root: Any  # diag(r)^(1/2)
    level: Any
    sums: Any
    counts: tuple[int, ...]
    weight_of_one: float

    @classmethod
    def of(cls, spectrum: DeviceSpectrum, lam: float) -> _Fit:
        N, P = spectrum.X.shape
        if P >= N:  # see `foldless.honest.optimum.tempered`
            lam = max(lam, MIN_PENALTY * float(spectrum.values.sum()) / N)
        r = 1.0 / (spectrum.values + lam)
        cross = 2 * spectrum.sums - spectrum.sums.sum(dim=1, keepdim=True)  # Z'T
        counts = tuple(map(len, spectrum.classes))
        return cls(r[:, None] * cross, r.sqrt(), spectrum.level, spectrum.sums, counts, spectrum.weight_of_one)

    def removed(self, z: Any, own: Any) -> tuple[Any, Any, Any, Any]:
        """Scores of some rows, their G and slack 1 - h, and slopes scores - targets."""
        scores = z @ self.W + self.level
        G = (torch.linalg.vector_norm(z * self.root, dim=1).square() + self.weight_of_one)[:, None]
        slope = scores + 1.0
        slope[torch.arange(len(z), device=z.device), own] -= 2.0
        return scores, G, 1.0 - G.clamp(max=MAX_LEVERAGE), slope

    def unseen(self, z: Any, k: int, G: Any, slack: Any, slope: Any) -> Any:
        """The slopes of rows of class k as if unseen, see `foldless.honest.least_squares.pull_of_class`."""
        n, shared = self.counts[k], (z @ (self.root.square() * self.sums[:, k]))[:, None]
        common = (shared + n * self.weight_of_one - G) / (n - 1)
        return slope * (1.0 - torch.minimum(common.clamp(min=0.0), G)) / slack

    def replaced(self, z: Any, k: int, own: Any, pull: Any, of_one: Any) -> tuple[Any, Any]:
        """Scores of rows of class k: by the fit, and with an average row of the class in the place of each.

        `pull` and `of_one` are the sums of z and of 1 over the class, each row times its unseen slope.
        """
        scores, G, slack, slope = self.removed(z, own)
        others = (z * self.root.square()) @ pull + of_one * self.weight_of_one - G * self.unseen(z, k, G, slack, slope)
        return scores, scores + G * slope / slack - others / ((self.counts[k] - 1) * slack)

    def on_host(self, spectrum: DeviceSpectrum, known: _Decisions, drawn: Ints, z: Any, own: Any) -> Ridge:
        """The answers; z are the rows on which the noise is measured."""
        scores, G, slack, slope = self.removed(z, own)
        B = torch.cat([z * self.root, torch.full_like(z[:, :1], self.weight_of_one**0.5)], dim=1)
        pairs = scores_in_pairs(to_host(scores), LocalModel(to_host(slope), np.ones(len(z)), to_host(B)))
        of_drawn = (to_host(known.replaced).T, to_host(scores + G * slope / slack).T, pairs)
        judged = with_noise(to_host(known.right.double()), spectrum.codes, drawn, of_drawn)
        weights = spectrum.vectors @ self.W
        intercepts = self.level - spectrum.centre @ weights
        return Ridge(to_host(weights), to_host(intercepts), judged, to_host(known.seen) / np.bincount(spectrum.codes))


@dataclass(frozen=True, eq=False)
class _Decisions:
    """What one penalty decides about the rows: filled class by class."""

    right: Any  # (N,)
    seen: Any  # (K,) how many rows of each class are right by the fit that saw them
    replaced: Any  # scores (m, K) of the rows on which the noise is measured

    @classmethod
    def none(cls, spectrum: DeviceSpectrum, drawn: Ints) -> _Decisions:
        N, zeros = len(spectrum.codes), torch.zeros_like(spectrum.level)
        return cls(torch.zeros(N, dtype=torch.bool, device=zeros.device), zeros, zeros.repeat(len(drawn), 1))

    def add(self, k: int, rows: Any, scores: Any, replaced: Any) -> None:
        """Rows of class k, with their scores by the fit and in their absence."""
        self.right[rows] = _first(replaced, k)
        self.seen[k] += _first(scores, k).sum()


def _first(scores: Any, k: int) -> Any:
    """Rows whose score for class k is the largest; of equal ones the first counts, as `predict` has it."""
    own = scores[:, k : k + 1]
    return (scores <= own).all(dim=1) & (scores[:, :k] < own).all(dim=1)


def _refuse_unusable(X: Any) -> None:
    """Refuse missing values, sizes that cannot be squared, and rows that are all the same."""
    ends = to_host(torch.stack(torch.aminmax(X, dim=0)).double())
    if not np.isfinite(ends).all():
        raise InputError(f"X holds NaN or infinity, first in {first_not_finite(X)}.")
    checks.sane_size(ends)
    if np.array_equal(*ends):
        raise InputError("all rows of X are the same, so no classifier can tell them apart: check how X was made.")


def _by_class(codes: Ints, device: Any) -> tuple[Any, ...]:
    """The rows of each class."""
    order, counts = np.argsort(codes, kind="stable"), np.bincount(codes)
    classes: tuple[Any, ...] = torch.as_tensor(order, device=device).split(counts.tolist())
    return classes


def _sum(X: Any, rows: Any) -> Any:
    """Sum of some rows in float64, a block at a time."""
    height = max(1, BLOCK_ENTRIES // X.shape[1])
    return sum(X[part].sum(dim=0, dtype=torch.float64) for part in rows.split(height))
