"""Leave-one-out from P x P sums: the design of a table that is not in memory, for many more rows than columns.

Two passes over X. The first computes the scores, the slopes and the curvature (P x P) and collects the rows on which
pairs are evaluated; the second finds the leverage of every row. The formulas, and so the result, are those of the
in-memory method, but for rows of great impact, which take one step: each product is a pass. A fit that is not at its
optimum costs three more passes for each Newton step.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from foldless import checks
from foldless.checks import Array, Floats, Ints
from foldless.errors import EstimatorError, InputError
from foldless.honest.design import Design, with_constant
from foldless.honest.objective import Loss, Objective
from foldless.honest.scales import Measured
from foldless.model.steps import ScaledColumns
from foldless.tables.block import Block
from foldless.tables.matrix import LazyMatrix, Rows, finite_block_scores

if TYPE_CHECKING:
    from foldless.model.view import LinearView


def refuse_unloaded(view: LinearView, codes: Ints | None) -> None:
    """Refuse what takes all rows of a group at once, and a stream that is not many rows of few columns."""
    if codes is not None:
        raise InputError("groups need X in memory: load X, or leave groups out if the rows are independent.")
    N, P = view.X.shape
    if isinstance(view.X, LazyMatrix) and P + 1 >= N:
        raise InputError(f"the streamed leave-one-out method is for more rows than columns, got {N} x {P}: load X.")


def refuse_surrogate(name: str) -> EstimatorError:
    """A classifier without a closed form needs its rows in memory."""
    return EstimatorError(
        f"leaving rows out has no closed form for {name}, and its stand-in needs X in memory: use logistic regression, "
        f"ridge or LDA with an L2 penalty, load X, or judge held-out scores with auc_posterior_from_scores."
    )


@dataclass(frozen=True, eq=False)
class WeightedSums:
    """Total weight, weighted mean row and weighted scatter (P x P); parts add exactly."""

    total: float
    mean: Floats
    scatter: Floats

    @classmethod
    def of(cls, X: Any, d: Floats) -> WeightedSums:
        total = float(d.sum())
        design = Design(X)
        mean = design.mean(d) if total > 0 else np.zeros(X.shape[1])
        return cls(total, mean, design.gram(d, mean))

    def __add__(self, other: WeightedSums) -> WeightedSums:
        total = self.total + other.total
        if total <= 0:
            return self
        step, share = other.mean - self.mean, other.total / total
        scatter = self.scatter + other.scatter
        scatter += np.outer(step, step * (self.total * share))
        return WeightedSums(total, self.mean + step * share, scatter)

    def about(self, centre: Floats | None) -> Floats:
        """Scatter about another row; about zero for None."""
        step = self.mean if centre is None else self.mean - centre
        return self.scatter + self.total * np.outer(step, step)


@dataclass(frozen=True, eq=False)
class FirstPass:
    """Scores without intercept, curvature, slopes, the rows to be kept, the scales, and the largest number in X."""

    linear: Rows
    curvature: WeightedSums
    back: Floats
    kept: Rows
    scales: Measured
    size: float

    def __add__(self, other: FirstPass) -> FirstPass:
        return FirstPass(
            self.linear + other.linear,
            self.curvature + other.curvature,
            self.back + other.back,
            self.kept + other.kept,
            self.scales + other.scales,
            max(self.size, other.size),
        )


def _first_pass(
    block: Block,
    target: Floats,
    weight: Floats,
    wanted: Array,
    sample_weight: Floats | None = None,
    *,
    weights: Floats,
    intercept: float,
    loss: Loss,
    constant: float,
    scaled: tuple[ScaledColumns, ...],
) -> FirstPass:
    """What `FirstPass` takes from a block of rows; `loss` is the kind of loss, `constant` a column to append."""
    linear = finite_block_scores(block, weights)
    size = checks.largest_size(block.X)
    checks.sane_size(np.array([max(size, 1.0)]))  # before squaring; whether X is too small is judged from all blocks
    scores = linear + intercept
    loss = replace(loss, target=target, weight=weight)
    rows = Design(with_constant(block.X, constant))
    return FirstPass(
        Rows((linear,)),
        WeightedSums.of(rows.matrix, loss.curvature(scores)),
        rows.back(loss.gradient(scores), None),
        Rows((rows.rows(np.flatnonzero(wanted), None),)),
        Measured.of(block.X, sample_weight, scaled=scaled),
        size,
    )


@dataclass(frozen=True, eq=False, kw_only=True)
class StreamedDesign(Design):
    """A `Design` whose rows are read when a product needs them; products already known are not repeated."""

    constant: float
    held_index: Ints
    held: Floats
    known_sums: list[tuple[Floats, WeightedSums]] = field(default_factory=list)
    known_rows: list[tuple[Ints, Floats]] = field(default_factory=list)
    at_hand: ClassVar[bool] = False

    @property
    def is_large(self) -> bool:
        """Time goes into reading."""
        return False

    def scores(self, coef: Floats) -> Floats:
        """A c: one pass."""
        if self.constant == 0:
            return np.asarray(self.matrix.project(coef))
        return np.asarray(self.matrix.project(coef[:-1]) + self.constant * coef[-1])

    def _products(self, *vectors: Floats) -> list[Floats]:
        return [self.matrix.total(partial(_back, constant=self.constant), g) for g in vectors]  # a pass each

    def mean(self, d: Floats) -> Floats:
        """Mean row under the weights d: one pass, which `gram` shares."""
        return self._sums(d).mean

    def gram(self, d: Floats, centre: Floats | None, dtype: Any = np.float64) -> Floats:
        """(A - 1 centre')' diag(d) (A - 1 centre')."""
        return self._sums(d).about(centre)

    def rows(self, index: Any, centre: Floats | None, dtype: Any = np.float64) -> Floats:
        """The rows that were kept; one pass if other rows are requested."""
        rows = _known([(self.held_index, self.held), *self.known_rows], index)
        if rows is None:
            wanted = np.zeros(self.n_rows, dtype=bool)
            wanted[index] = True
            rows = self.matrix.total(partial(_rows_at, constant=self.constant), wanted).joined()
            self.known_rows[:] = [(index, rows)]
        return np.asarray(rows if centre is None else rows - centre)

    def seen_through(self, root: Floats, centre: Floats | None, V: Floats, *more: Any) -> Floats:
        """`Design.seen_through` of all rows: one pass."""
        statistic = partial(_seen_through, constant=self.constant, how=(root, centre, V, *more[:1]))
        seen: Floats = self.matrix.total(statistic, *more[1:]).joined()
        return seen

    def scaled(self, factors: Floats) -> StreamedDesign:
        """Every column times its factor; for designs without an appended constant."""
        matrix = replace(self.matrix, transform=ScaledRows(self.matrix.transform, factors))
        return StreamedDesign(matrix, constant=0.0, held_index=self.held_index, held=self.held * factors)

    def _sums(self, d: Floats) -> WeightedSums:
        known: WeightedSums | None = _known(self.known_sums, d)
        if known is not None:
            return known
        sums: WeightedSums = self.matrix.total(partial(_weighted, constant=self.constant), d)
        self.known_sums[:] = [(d, sums)]
        return sums


def streamed_design(objective: Objective, rows: Ints, weight: Floats | None) -> tuple[Objective, StreamedDesign]:
    """The first pass, and the objective with its scores and scales known."""
    matrix, loss = objective.X, objective.loss
    wanted = np.zeros(matrix.shape[0], dtype=bool)
    wanted[rows] = True
    none = np.empty(0)  # per-row values travel with the blocks
    statistic = partial(
        _first_pass,
        weights=objective.weights,
        intercept=objective.intercept,
        loss=replace(loss, target=none, weight=none),
        constant=objective.constant,
        scaled=objective.scaled,
    )
    own = () if weight is None else (weight,)
    first: FirstPass = matrix.total(statistic, loss.target, loss.weight, wanted, *own)
    linear = first.linear.joined()
    checks.sane_size(np.array([first.size]))
    checks.unequal_scores(linear)
    scores = linear + objective.intercept
    design = StreamedDesign(
        matrix,
        constant=objective.constant,
        held_index=rows,
        held=first.kept.joined(),
        known_sums=[(loss.curvature(scores), first.curvature)],
        known=[(loss.gradient(scores), first.back)],
    )
    return replace(objective, scores=scores, scaled=first.scales.chosen(objective.scaled, weight)), design


@dataclass(frozen=True, eq=False)
class ScaledRows:
    """A transformation of blocks, followed by multiplying every column by its factor."""

    transform: Callable[[Any], Any]
    factors: Floats

    def __call__(self, X: Any) -> Any:
        return Design(self.transform(X)).scaled(self.factors).matrix


def _back(block: Block, g: Floats, *, constant: float) -> Floats:
    """Statistic X'g."""
    return Design(with_constant(block.X, constant)).back(g, None)


def _weighted(block: Block, d: Floats, *, constant: float) -> WeightedSums:
    return WeightedSums.of(with_constant(block.X, constant), d)


def _seen_through(block: Block, *vectors: Floats, constant: float, how: Any) -> Rows:
    return Rows((Design(with_constant(block.X, constant)).seen_through(*how, *vectors),))


def _rows_at(block: Block, wanted: Array, *, constant: float) -> Rows:
    return Rows((Design(with_constant(block.X, constant)).rows(np.flatnonzero(wanted), None),))


def _known(pairs: Iterable[tuple[Array, Any]], key: Array) -> Any:
    return next((value for known, value in pairs if np.array_equal(known, key)), None)
