"""Which rows to evaluate pairs on: all of them, or a fixed random subset where there are very many."""

from __future__ import annotations

import numpy as np

from foldless.honest.design import Bools, Ints

SEED = 20240229  # fixed: the same data give the same answer


def evaluated_rows(positive: Bools, codes: Ints | None, max_rows: int) -> Ints:
    """Rows in increasing order: all of them up to `max_rows`, else about a quarter of that many per class.

    Groups are drawn whole.
    """
    if positive.size <= max_rows:
        return np.arange(positive.size)
    rng, wanted = np.random.default_rng(SEED), max(2, max_rows // 4)
    if codes is None:
        classes = (np.flatnonzero(positive), np.flatnonzero(~positive))
        return np.sort(np.concatenate([rng.permutation(c)[:wanted] for c in classes]))
    return _whole_groups(positive, codes, rng.permutation(int(codes.max()) + 1), wanted)


def _whole_groups(positive: Bools, codes: Ints, order: Ints, wanted: int) -> Ints:
    """Rows of the first groups in `order` that together hold `wanted` rows of each class (or all there are)."""
    have1 = np.cumsum(np.bincount(codes, weights=positive)[order])
    have0 = np.cumsum(np.bincount(codes, weights=~positive)[order])
    enough = (have1 >= min(wanted, have1[-1])) & (have0 >= min(wanted, have0[-1]))
    chosen = order[: max(3, int(np.argmax(enough)) + 1)]
    return np.flatnonzero(np.isin(codes, chosen))
