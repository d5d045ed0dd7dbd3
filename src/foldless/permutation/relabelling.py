"""Which labels may be exchanged: of rows, of whole groups, or of rows within their groups."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, combinations, product
from math import comb, prod
from typing import Any

import numpy as np

from foldless import words
from foldless.checks import group_codes, label_vector, rows_of_groups
from foldless.errors import InputError
from foldless.honest.design import Bools, Ints

ROWS, WHOLE, WITHIN = "rows", "whole groups", "rows within groups"
FEWEST = 2  # of each class: with one left out, one must stay
MOST = 10_000_000  # relabellings that memory holds


@dataclass(frozen=True, eq=False)
class Relabelling:
    """Labels, and what may be exchanged if they say nothing about the rows.

    `codes` is the group of each row, its own number without groups; groups of one row each are none. Labels that are
    constant within every group move with their groups; labels that vary within every group are exchanged inside of it.
    """

    positive: Bools
    codes: Ints
    what: str

    @classmethod
    def of(cls, positive: Bools, groups: Any) -> Relabelling:
        """Check labels and groups; mixtures of constant and varying groups are refused."""
        if groups is None:
            _refuse_few(positive, "rows")
            return cls(positive, np.arange(positive.size), ROWS)
        codes = group_codes(groups, positive.size)
        if codes.max() + 1 == positive.size:
            return cls.of(positive, None)
        share = np.bincount(codes, weights=positive) / np.bincount(codes)
        mixed = (share > 0) & (share < 1)
        if not mixed.any():
            _refuse_few(share == 1, "groups")
            return cls(positive, codes, WHOLE)
        if not mixed.all():
            raise InputError(_on_mixture(groups, codes, mixed))
        if mixed.size < FEWEST:
            raise InputError("groups has a single group: leave it out if its rows are independent.")
        return cls(positive, codes, WITHIN)

    @cached_property
    def blocks(self) -> tuple[Ints, ...]:
        """Rows whose labels are exchanged with each other; with whole groups, one row stands for each group."""
        if self.what == WITHIN:
            return self.units
        return (np.unique(self.codes, return_index=True)[1],)

    @cached_property
    def units(self) -> tuple[Ints, ...]:
        """Rows of each group."""
        return tuple(rows_of_groups(self.codes))

    def count(self) -> int:
        """How many distinct relabellings there are, the observed one included."""
        return prod(comb(rows.size, int(self.positive[rows].sum())) for rows in self.blocks)

    def total(self, wanted: int) -> tuple[int, bool]:
        """How many labellings are looked at, the observed one included, and whether that is all there are."""
        total = min(1 + wanted, self.count())
        if total > 1 + MOST:
            raise InputError(f"n_permutations must be at most {MOST:,} where so many exist, got {wanted}.")
        return total, total == self.count()

    def drawn(self, rng: np.random.Generator, n: int) -> Bools:
        """n random relabellings, shape (n, N)."""
        out = np.empty((n, self.positive.size), dtype=np.bool_)
        for rows in self.blocks:
            out[:, rows] = rng.permuted(np.tile(self.positive[rows], (n, 1)), axis=1)
        return self._spread(out)

    def all_others(self) -> Iterator[Bools]:
        """Every distinct relabelling but the observed one, each of shape (1, N)."""
        choices = (combinations(rows.tolist(), int(self.positive[rows].sum())) for rows in self.blocks)
        for chosen in product(*choices):
            out = np.zeros((1, self.positive.size), dtype=np.bool_)
            out[0, list(chain.from_iterable(chosen))] = True
            out = self._spread(out)
            if not np.array_equal(out[0], self.positive):
                yield out

    def _spread(self, labels: Bools) -> Bools:
        """From the rows that stand for whole groups to all of their rows."""
        return labels if self.what == WITHIN else labels[:, self.blocks[0][self.codes]]


def _refuse_few(positive: Bools, what: str) -> None:
    fewest = min(np.count_nonzero(positive), np.count_nonzero(~positive))
    if fewest < FEWEST:
        raise InputError(
            f"each class needs at least {FEWEST} {what}, since one at a time is left out, but one class has {fewest}."
        )


def _on_mixture(groups: Any, codes: Ints, mixed: Bools) -> str:
    names = label_vector(groups)
    constant, varying = (
        words.listed([names[np.argmax(codes == code)] for code in np.flatnonzero(kind)]) for kind in (~mixed, mixed)
    )
    return (
        f"some groups have one class ({constant}) and others have both ({varying}): labels are exchanged between "
        f"groups or within them, not both. Leave out the groups of one kind, or give finer groups."
    )
