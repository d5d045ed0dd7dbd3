"""Situations: rows, columns, a pipeline and a question, drawn at random, with a truth that is known by construction."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from foldless_studies.sampling import Floats, Labels, source

# ---- What a situation is made of: factors, each at one of its levels. What is common stands more than once.

ROWS = {"10-20": (10, 20), "21-40": (21, 40), "41-80": (41, 80), "81-200": (81, 200), "201-1000": (201, 1000)}
ROWS |= {"1001-5000": (1001, 5000)}
COLUMNS = {"1-5": (1, 5), "6-30": (6, 30), "31-200": (31, 200), "201-2000": (201, 2000), "2001-5000": (2001, 5000)}
SHARES = {"2-10 %": (0.02, 0.1), "10-30 %": (0.1, 0.3), "30-50 %": (0.3, 0.5)}
CELLS = ("normal", "heavy-tailed", "skewed", "binary", "counts", "rare", "spikes", "rounded", "categories", "mixed")
LINEAR = ("logistic", "ridge", "svm", "lda")
RISKS = ("brier", "log loss", "slope", "intercept", "precision", "net benefit")  # what `validate` says of probabilities
AUCS = ("auc", "auc", "auc")
CLASSES = ("classes", "accuracy")  # of three classes
FACTORS: dict[str, tuple[str, ...]] = {
    "rows": (*ROWS, "21-40", "41-80", "81-200"),
    "columns": (*COLUMNS, "31-200", "201-2000"),
    "share": (*SHARES, "30-50 %"),
    "cells": (*CELLS, "spikes"),
    "structure": ("independent", "independent", "blocks", "batches", "subjects", "gaps"),
    "family": (*LINEAR, *LINEAR, *LINEAR[:1] * 2, "l1", "kbest", "elastic net", "hinge", "forest", "bayes"),
    "strength": ("no penalty", "weak penalty", "medium penalty", "strong penalty"),
    "pipeline": ("scaler", "scaler", "scaler", "plain", "minmax", "pca"),
    "weights": ("equal", "equal", "equal", "equal", "balanced"),
    # Few situations suit a permutation test.
    "question": (*AUCS, "sensitivity", "specificity", "compare", "search", *RISKS, *("permutation",) * 4, *CLASSES),
    "effect": ("none", "weak", "strong", "very strong"),
}
MOST_CELLS = 400_000
MOST_CELLS_OF = {"l1": 200_000}  # liblinear takes minutes for a fit to more
AS_MANY = {"categories": 7}  # one-hot columns that are slow to fit
ALIKE = 0.45  # share from which the classes have as many rows each, as in most experiments
FEWEST = 5  # rows of a class: fewer call for caution, whatever else
MOST_SHIFT = 1.15  # either way: a single column has an AUC of 0.95; better ones are leaks, which the result names
# Cells that are alike in most rows tell little: classes lie further apart, for AUCs as high as those of real tables.
FAINT = {"rare": 2.5, "spikes": 2.5, "categories": 2.5}
SPIKE = 1.0  # how fast a rare column grows where it is not 0: sizes differ as those of pixels and counts do
UNGROUPED = ("independent", "blocks", "gaps")
# Where a level has no answer by design, or one that takes minutes, the situation is drawn again.
FITTING: dict[tuple[str, str], dict[str, tuple[str, ...]]] = {
    ("strength", "no penalty"): {"family": ("logistic", "kbest"), "rows": tuple(ROWS)[1:]},
    ("weights", "balanced"): {"family": ("logistic", "ridge", "svm", "l1", "hinge")},
    ("cells", "categories"): {"columns": tuple(COLUMNS)[:3]},
    ("family", "lda"): {"columns": tuple(COLUMNS)[:4]},
    ("family", "elastic net"): {"columns": tuple(COLUMNS)[:3], "rows": tuple(ROWS)[:-1]},
    ("family", "hinge"): {"rows": tuple(ROWS)[:-1]},
    ("family", "forest"): {"rows": tuple(ROWS)[:-1]},
    ("question", "compare"): {"rows": tuple(ROWS)[:-1]},
    ("question", "search"): {"family": LINEAR[:3], "rows": tuple(ROWS)[1:4], "structure": UNGROUPED},
    ("question", "permutation"): {"family": LINEAR, "effect": ("none",), "structure": ("independent", "blocks")},
    **{("question", one): {"family": LINEAR, "structure": UNGROUPED} for one in CLASSES},
    **{("question", risk): {"family": ("logistic", "lda", "l1", "kbest", "elastic net")} for risk in RISKS},
}
# How many times as much a situation costs, roughly: it is drawn as seldom.
SLOW = {"2001-5000": 2.0, "categories": 3.0, "subjects": 1.5, "forest": 3.0, "l1": 2.0, "compare": 2.0}
SLOW |= {"elastic net": 2.5}
Levels = dict[str, str]
Region = tuple[tuple[str, str], ...]  # levels that situations have in common


def slowness(levels: Iterable[str]) -> float:
    """How many times as long situations with these levels take, roughly."""
    return float(np.prod([SLOW.get(level, 1.0) for level in levels]))


def fits(levels: Levels) -> bool:
    """Whether a situation makes sense: at least five rows of a class, a table that is not too large."""
    wanted = [rule for (factor, level), rule in FITTING.items() if levels[factor] == level]
    least = ROWS[levels["rows"]][0] * SHARES[levels["share"]][1]
    cells = ROWS[levels["rows"]][0] * COLUMNS[levels["columns"]][0] * AS_MANY.get(levels["cells"], 1)
    return (
        least >= FEWEST
        and cells <= MOST_CELLS_OF.get(levels["family"], MOST_CELLS)
        and all(levels[f] in allowed for rule in wanted for f, allowed in rule.items())
    )


@dataclass(frozen=True)
class Situation:
    """Situation number `index` of a run, drawn from a region; the empty one is everything."""

    seed: int
    index: int
    region: Region = ()

    @property
    def key(self) -> str:
        return f"{self.index}:" + ";".join(f"{factor}={level}" for factor, level in self.region)

    @cached_property
    def levels(self) -> Levels:
        return next(levels for levels in self._drawn() if fits(levels))

    @property
    def cost(self) -> float:
        """Roughly how long it takes: the slowest ones go first, so that nothing waits for them at the end."""
        cells = ROWS[self.levels["rows"]][1] * COLUMNS[self.levels["columns"]][1]
        return min(cells, MOST_CELLS) * slowness(self.levels.values())

    def _drawn(self) -> Iterator[Levels]:
        rng, given = source(self.seed, "situation", self.index), dict(self.region)
        while True:
            drawn = {factor: levels[rng.integers(len(levels))] for factor, levels in FACTORS.items()}
            drawn = {factor: level for factor, level in drawn.items() if factor not in given}
            if rng.random() * slowness(drawn.values()) < 1:
                yield drawn | given

    def data(self) -> Data:
        """The rows, and where others like them come from."""
        return Data.of(self.levels, source(self.seed, "data", self.index))


# ---- The rows.


@dataclass(frozen=True, eq=False)
class Data:
    """Training rows, and the law that new rows come from.

    Normal columns, shifted by class along some of them, are turned into cells of the wanted kind, column by column.
    """

    levels: Levels
    X: Floats
    y: Labels
    groups: Any
    shifts: Floats  # (classes, P)
    batches: Floats  # (B, P)
    rates: Floats  # (P,): how rare the ones of rare columns are

    @classmethod
    def of(cls, levels: Levels, rng: np.random.Generator) -> Data:
        n, p = _between(ROWS[levels["rows"]], rng), _between(COLUMNS[levels["columns"]], rng)
        p = min(p, MOST_CELLS // n)
        classes = 3 if levels["question"] in CLASSES else 2
        batches = rng.normal(size=(3, p)) if levels["structure"] == "batches" else np.zeros((1, p))
        law = cls(
            levels,
            np.empty((0, p)),
            np.empty(0, np.int64),
            None,
            _shifts(levels, classes, p, n, rng),
            batches,
            rng.uniform(0.02, 0.1, p),
        )
        return law._with_rows(n, rng)

    def _with_rows(self, n: int, rng: np.random.Generator) -> Data:
        share = float(rng.uniform(*SHARES[self.levels["share"]]))
        share = 0.5 if share > ALIKE else share
        smallest, others = max(FEWEST, round(share * n * 2 / len(self.shifts))), len(self.shifts) - 1
        counts = [max(FEWEST, (n - smallest) // others)] * others + [smallest]
        y = np.repeat(np.arange(len(counts)), counts)
        groups = None
        if self.levels["structure"] == "subjects":
            # Between one and four rows of a subject, one after the other.
            groups = np.repeat(np.arange(y.size), rng.integers(1, 5, y.size))[: y.size]
            y = y[np.searchsorted(groups, groups)]  # that of a subject's first row
        # Rows come in no order: their neighbours in the file tell nothing.
        order = rng.permutation(y.size)
        y, groups = y[order], None if groups is None else groups[order]
        return Data(self.levels, self.rows(y, rng, groups), y, groups, self.shifts, self.batches, self.rates)

    def rows(self, y: Labels, rng: np.random.Generator, groups: Any = None) -> Floats:
        """New rows of these classes."""
        p = self.shifts.shape[1]
        Z = rng.normal(size=(y.size, p))
        if self.levels["structure"] == "blocks":
            Z = 0.6 * Z + 0.8 * np.repeat(rng.normal(size=(y.size, -(-p // 5))), 5, axis=1)[:, :p]
        if self.levels["structure"] == "subjects":
            codes = np.arange(y.size) if groups is None else groups
            Z = 0.6 * Z + 0.8 * rng.normal(size=(int(codes.max()) + 1, p))[codes]
        Z = Z + self.shifts[y] + self.batches[rng.integers(len(self.batches), size=y.size)]
        X = _cells(self.levels["cells"], Z, self.rates)
        if self.levels["structure"] == "gaps":
            X[rng.random(X.shape) < 0.1] = np.nan
        return X


def _between(ends: tuple[int, int], rng: np.random.Generator) -> int:
    """A whole number between two ends, evenly on a logarithmic scale."""
    return round(float(np.exp(rng.uniform(*np.log(ends)))))


def _shifts(levels: Levels, classes: int, p: int, n: int, rng: np.random.Generator) -> Floats:
    """How far each class is shifted: not at all, or so that a classifier of n rows finds something."""
    if levels["effect"] == "none":
        return np.zeros((classes, p))
    far = FAINT.get(levels["cells"], 1.0)
    distance = far * {"weak": 1.0, "strong": 2.2, "very strong": 4.5}[levels["effect"]] * (1 + 0.5 * (p / n) ** 0.25)
    used = rng.permutation(p)[: max(1, int(p * rng.choice([0.05, 0.3, 1.0])))]
    shifts = np.zeros((classes, p))
    shifts[:, used] = rng.normal(size=(classes, used.size))
    shifts -= shifts.mean(axis=0)
    shifts *= distance / max(float(np.linalg.norm(shifts[1] - shifts[0])), 1e-9)
    return np.clip(shifts, -far * MOST_SHIFT, far * MOST_SHIFT)


def _cells(kind: str, Z: Floats, rates: Floats) -> Floats:
    """Normal columns turned into cells of a kind, by an increasing function of each."""
    from scipy.special import ndtr, ndtri

    rare, column = ndtri(1 - rates), np.arange(Z.shape[1])

    made: dict[str, Callable[[], Any]] = {
        "heavy-tailed": lambda: np.sinh(1.2 * Z),
        "skewed": lambda: np.exp(Z),
        "binary": lambda: Z > 0,
        "counts": lambda: np.floor(np.exp(0.8 * Z + 0.5)),
        "rare": lambda: rare < Z,
        "spikes": lambda: np.expm1(SPIKE * np.maximum(Z - rare, 0)),
        "categories": lambda: 2 * (rare < Z) + (-rare > Z) + 3 * (np.abs(Z) < 0.5),  # two common, two rare
        "rounded": lambda: np.round(4 * ndtr(Z)),
        "mixed": lambda: np.where(column % 3 == 0, Z, np.where(column % 3 == 1, 10 * np.exp(Z), rare < Z)),
    }
    return np.asarray(made[kind](), dtype=np.float64) if kind in made else Z
