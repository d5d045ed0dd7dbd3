"""Random numbers that depend on names, never on the order or the number of workers."""

from __future__ import annotations

import hashlib

import numpy as np


def source(seed: int, *names: object) -> np.random.Generator:
    """A generator of its own for (seed, names).

    Examples
    --------
    >>> bool(source(0, "cell", 3).random() == source(0, "cell", 3).random())
    True
    """
    return np.random.default_rng([seed, *_words("/".join(str(name) for name in names))])


def small_seed(seed: int, *names: object) -> int:
    """A 32-bit seed, for what takes no generator."""
    return int(source(seed, *names).integers(2**32))


def _words(text: str) -> list[int]:
    digest = hashlib.sha256(text.encode()).digest()
    return [int(word) for word in np.frombuffer(digest, dtype="<u4")]
