"""Ridge classifiers of any number of classes on the device of a PyTorch tensor: all penalties from one eigenproblem.

`foldless.honest.least_squares` holds the scores of all rows for all classes. A million rows of a thousand classes leave
no room for that, so here rows come class by class, and only what is decided about a row is kept. With V the
eigenvectors of the Gram matrix about the mean row c, z_i = V'(x_i - c), T the targets +-1 and
r = 1 / (eigenvalues + lam),

    scores = mean(T) + z_i' diag(r) Z'T,    G_ii = z_i' diag(r) z_i + 1/N,

and a row and the average row of its class that takes its place act on the scores as they do there. The Gram matrix and
what is solved with it are in float64, products with rows in the precision of X where that is enough.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch  # this module is imported only when X is a tensor

from foldless.checks import Floats, Ints
from foldless.errors import InputError
from foldless.honest.accuracy import Judged, rows_for_noise, with_noise
from foldless.honest.classes import MOST_ROWS
from foldless.honest.design import MAX_LEVERAGE
from foldless.honest.least_squares import scores_in_pairs
from foldless.honest.removal import LocalModel
from foldless.tables.device import DeviceTable, first_not_finite, to_host
from foldless.tables.tensors import precision

BLOCK_ENTRIES = 1 << 27  # entries of the rows, or of their scores, that are worked on at a time
SMALL = 1e-6  # changes of leverages that do not matter


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
class Spectrum:
    """The Gram matrix of the rows about their mean, taken apart, and the rows by class; everything on the device."""

    X: Any
    codes: Ints
    classes: tuple[Any, ...]  # the rows of each
    centre: Any
    values: Any
    vectors: Any
    cross: Any  # (P, K) Z'T
    level: Any  # (K,) mean(T)
    weight_of_one: float  # 1/N with an intercept, else 0

    @classmethod
    def of(cls, X: Any, codes: Ints, free_intercept: bool) -> Spectrum:
        """Of the rows of a tensor."""
        N, classes = len(codes), _by_class(codes, X.device)
        sums = torch.stack([_sum(X, rows) for rows in classes], dim=1)  # (P, K)
        n = torch.tensor([len(rows) for rows in classes], dtype=torch.float64, device=X.device)
        if not torch.isfinite(sums).all():
            raise InputError(f"X holds NaN or infinity, first in {first_not_finite(DeviceTable.of(X, codes))}.")
        centre = sums.sum(dim=1) / N if free_intercept else torch.zeros_like(sums[:, 0])
        height = max(1, BLOCK_ENTRIES // X.shape[1])
        gram = sum(z.mT @ z for z in (part.double() - centre for part in X.split(height)))
        values, vectors = torch.linalg.eigh(gram)
        about = sums - centre[:, None] * n
        cross = vectors.mT @ (2 * about - about.sum(dim=1, keepdim=True))
        level = 2 * n / N - 1 if free_intercept else torch.zeros_like(n)
        return cls(X, codes, classes, centre, values.clamp(min=0), vectors, cross, level, free_intercept / N)

    def fits(self, penalties: list[float]) -> list[Ridge]:
        """The fits with these penalties, every row judged by each."""
        dtype = self._dtype(min(penalties))
        fits = [_Fit.of(self, lam, dtype) for lam in penalties]
        decisions = [_Decisions.none(self) for _ in fits]
        place = torch.full((len(self.codes),), -1, device=self.X.device)
        drawn = torch.as_tensor(decisions[0].drawn, device=self.X.device)
        place[drawn] = torch.arange(len(drawn), device=self.X.device)
        for k in range(len(self.classes)):
            pulls = [(torch.zeros_like(fit.W, dtype=torch.float64), torch.zeros_like(fit.level)) for fit in fits]
            for _, z in self._rows_of(k, dtype):
                for fit, (pull, of_one) in zip(fits, pulls, strict=True):
                    _, _, _, U = fit.removed(z, k)
                    pull += z.mT @ U
                    of_one += U.sum(dim=0, dtype=torch.float64)
            for rows, z in self._rows_of(k, dtype):
                here = torch.nonzero(place[rows] >= 0)[:, 0]
                for fit, (pull, of_one), known in zip(fits, pulls, decisions, strict=True):
                    scores, replaced = fit.scores(z, k, pull, of_one, len(self.classes[k]))
                    known.add(k, rows, (here, place[rows[here]]), scores, replaced)
        rows = self._rotated(drawn, dtype)
        return [fit.told(self, known, rows) for fit, known in zip(fits, decisions, strict=True)]

    def _rows_of(self, k: int, dtype: Any) -> Iterator[tuple[Any, Any]]:
        """The rows of a class, a block at a time, with the places of these in the table."""
        height = max(1, BLOCK_ENTRIES // max(self.X.shape[1], len(self.classes)))
        for rows in self.classes[k].split(height):
            yield rows, self._rotated(rows, dtype)

    def _rotated(self, rows: Any, dtype: Any) -> Any:
        return (self.X[rows].to(dtype) - self.centre.to(dtype)) @ self.vectors.to(dtype)

    def _dtype(self, weakest: float) -> Any:
        """Rows rounded to float32 change leverages by P eps^2 |x|^2 / lam."""
        eps = torch.finfo(torch.float32).eps
        change = len(self.values) * eps**2 * float(self.values.mean()) * len(self.values) / len(self.codes) / weakest
        single = self.X.element_size() < 8 and change < SMALL
        return precision(np.float32 if single else np.float64)


@dataclass(frozen=True, eq=False)
class _Fit:
    """One penalty, in the eigenvectors."""

    W: Any  # (P, K)
    root: Any  # diag(r)^(1/2)
    level: Any
    weight_of_one: float

    @classmethod
    def of(cls, spectrum: Spectrum, lam: float, dtype: Any) -> _Fit:
        r = 1.0 / (spectrum.values + lam)
        W = (r[:, None] * spectrum.cross).to(dtype)
        return cls(W, r.sqrt().to(dtype), spectrum.level, spectrum.weight_of_one)

    def removed(self, z: Any, k: int | None, own: Any = None) -> tuple[Any, Any, Any, Any]:
        """Scores of some rows of class k, their G and 1 - h, and U = (scores - targets) / (1 - h)."""
        scores = z @ self.W + self.level.to(z.dtype)
        G = (torch.linalg.vector_norm(z * self.root, dim=1).square() + self.weight_of_one)[:, None]
        slack = 1.0 - G.clamp(max=MAX_LEVERAGE)
        U = scores + 1.0
        if k is None:
            U[torch.arange(len(z)), own] -= 2.0
        else:
            U[:, k] -= 2.0
        return scores, G, slack, U / slack

    def scores(self, z: Any, k: int, pull: Any, of_one: Any, n: int) -> tuple[Any, Any]:
        """Scores of some rows of class k: by the fit, and with an average row of the class in the place of each."""
        scores, G, slack, U = self.removed(z, k)
        others = (z * self.root.square()) @ pull.to(z.dtype) + (of_one * self.weight_of_one).to(z.dtype) - G * U
        return scores, scores + G * U - others * (1.0 - self.weight_of_one) / (max(n - 1, 1) * slack)

    def told(self, spectrum: Spectrum, known: _Decisions, z: Any) -> Ridge:
        """The answers, on the host; z are the rows on which the noise is measured."""
        own = torch.as_tensor(spectrum.codes[known.drawn], device=z.device)
        scores, G, slack, U = (each.double() for each in self.removed(z, None, own))
        B = torch.cat([z * self.root, torch.full_like(z[:, :1], self.weight_of_one**0.5)], dim=1)
        model = LocalModel(to_host(U * slack), np.ones(len(z)), to_host(B.double()))
        drawn = (to_host(known.replaced).T, to_host(scores + G * U).T, scores_in_pairs(to_host(scores), model))
        judged = with_noise(to_host(known.right.double()), spectrum.codes, known.drawn, drawn)
        weights = spectrum.vectors @ self.W.double()
        intercepts = self.level - spectrum.centre @ weights
        seen = to_host(known.seen.double()) / np.bincount(spectrum.codes)
        return Ridge(to_host(weights), to_host(intercepts), judged, seen)


@dataclass(frozen=True, eq=False)
class _Decisions:
    """What one penalty decides about the rows: filled class by class."""

    right: Any  # (N,)
    seen: Any  # (K,) how many rows of each class are right by the fit that saw them
    drawn: Ints  # rows on which the noise is measured
    replaced: Any  # their scores (m, K)

    @classmethod
    def none(cls, spectrum: Spectrum) -> _Decisions:
        N, K, device = len(spectrum.codes), len(spectrum.classes), spectrum.X.device
        drawn = rows_for_noise(N, K, MOST_ROWS)
        replaced = torch.zeros((len(drawn), K), dtype=torch.float64, device=device)
        right, seen = (
            torch.zeros(size, dtype=kind, device=device) for size, kind in ((N, torch.bool), (K, torch.int64))
        )
        return cls(right, seen, drawn, replaced)

    def add(self, k: int, rows: Any, of_drawn: tuple[Any, Any], scores: Any, replaced: Any) -> None:
        """Rows of class k, with their scores by the fit and in their absence."""
        here, place = of_drawn
        self.right[rows] = _first(replaced, k)
        self.seen[k] += _first(scores, k).sum()
        self.replaced[place] = replaced[here].double()


def _first(scores: Any, k: int) -> Any:
    """Rows whose score for class k is the largest; of equal ones the first counts, as `predict` has it."""
    own = scores[:, k : k + 1]
    return (scores <= own).all(dim=1) & (scores[:, :k] < own).all(dim=1)


def _by_class(codes: Ints, device: Any) -> tuple[Any, ...]:
    """The rows of each class."""
    order, counts = np.argsort(codes, kind="stable"), np.bincount(codes)
    classes: tuple[Any, ...] = torch.as_tensor(order, device=device).split(counts.tolist())
    return classes


def _sum(X: Any, rows: Any) -> Any:
    """Sum of some rows in float64, a block at a time."""
    height = max(1, BLOCK_ENTRIES // X.shape[1])
    return sum(X[part].sum(dim=0, dtype=torch.float64) for part in rows.split(height))
