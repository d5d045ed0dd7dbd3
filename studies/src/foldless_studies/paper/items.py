"""The tables and figures: which cells, which estimators, and what is drawn against what."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from scipy.special import ndtri

from foldless_studies.choices import LOGISTIC
from foldless_studies.estimators import DISSECTED, STANDARD
from foldless_studies.paper import meg, ovarian, published
from foldless_studies.paper.cells import ATTEMPTS, Attempt, PaperCell, PopulationCell, candidate, ones
from foldless_studies.populations import Population


@dataclass(frozen=True)
class Scope:
    """How much of an item: a few points only, some numbers of columns only, and for which classifier."""

    quick: bool = False
    columns: tuple[int, ...] | None = None
    classifier: str = LOGISTIC

    def some(self, values: tuple[int, ...], few: tuple[int, ...]) -> tuple[int, ...]:
        return few if self.quick else values

    def wanted(self, columns: tuple[int, ...]) -> tuple[int, ...]:
        """Those of the item's numbers of columns that were asked for."""
        return tuple(P for P in columns if self.columns is None or P in self.columns)


@dataclass(frozen=True)
class Item:
    """One experiment.

    `x` is the column drawn along the axis, `across` the one that makes columns of panels, `down` the one that makes
    rows (besides the `quantities`). `columns` are the values of P that it has, where it has any choice.
    """

    name: str
    title: str
    cells: Callable[[Scope], list[PaperCell]]
    x: str
    x_label: str
    across: str | None
    quantities: tuple[str, ...]
    estimators: tuple[str, ...] = STANDARD
    down: str | None = None
    columns: tuple[int, ...] = ()
    iterations: int = 1000
    needs: Callable[[], object] | None = None


SIZES = tuple(range(10, 101, 5))
FEW_SIZES = (10, 25, 50, 100)


def _fig1(scope: Scope) -> list[PaperCell]:
    return [
        PopulationCell((("P", P), ("N", 2 * n)), ones(P), n, n)
        for P in scope.wanted((4, 10, 100))
        for n in scope.some(SIZES, FEW_SIZES)
    ]


def _table1(scope: Scope) -> list[PaperCell]:
    return [
        _attempt(title, attempt, P, N)
        for title, attempt in ATTEMPTS.items()
        for P in scope.wanted((4, 10, 100))
        for N in scope.some(published.TABLE1_ROWS, (20, 100, 200))
    ]


def _attempt(title: str, attempt: Attempt, P: int, N: int) -> PaperCell:
    n = N if attempt.per_class else N // 2
    where = (("setting", title), ("P", P), ("N", N))
    return PopulationCell(where, candidate(attempt.kind, P), n, n, attempt.recipe, standardised=attempt.standardised)


TARGETS = (0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 0.99)


def target_population(target: float) -> Population:
    """Two columns, means 0 and 1, covariance sigma I: the best AUC is Phi(1 / sqrt sigma)."""
    sigma = 1 / float(ndtri(target)) ** 2
    return Population(f"target-{target}", (1.0, 1.0), sigma, sigma)


def _fig2(scope: Scope) -> list[PaperCell]:
    return [
        PopulationCell((("N", N), ("target", t)), target_population(t), N // 2, N // 2)
        for N in (20, 100)
        for t in (TARGETS if not scope.quick else (0.55, 0.7, 0.85, 0.95))
    ]


UNEQUAL = Population("unequal", (-1.5, -0.75, 0.75, 1.5), 1.0, (0.25, 0.75, 1.25, 1.75))


def _fig3(scope: Scope) -> list[PaperCell]:
    return [PopulationCell((("N", 2 * n),), UNEQUAL, n, n) for n in scope.some(SIZES, FEW_SIZES)]


def _fig4(scope: Scope) -> list[PaperCell]:
    return [
        PopulationCell((("P", P), ("N", N), ("share", tenths / 10)), ones(P), N - N * tenths // 10, N * tenths // 10)
        for P in scope.wanted((2, 4, 10))
        for N in (10, 100)
        for tenths in scope.some(tuple(range(1, 10)), (1, 3, 5, 9))
    ]


def _fig5(scope: Scope) -> list[PaperCell]:
    path = ovarian.find()
    # The authors' recipe is one for logistic regression.
    variants = {"published": "authors", "standard": "converged"}
    if scope.classifier != LOGISTIC:
        del variants["published"]
    return [
        ovarian.OvarianCell(path, share, recipe, (("variant", variant), ("share", share)))
        for variant, recipe in variants.items()
        for share in scope.some(ovarian.SHARES, (10, 50, 90))
    ]


def _fig6(scope: Scope) -> list[PaperCell]:
    path = meg.find()
    origin = meg.SIMULATED if path is None else meg.RECORDED
    splits = {"day-2 test set": True, "hold-out of training set": False}
    return [
        meg.MegCell(path, share, predefined, (("data", origin), ("split", split), ("share", share)))
        for split, predefined in splits.items()
        for share in scope.some(meg.SHARES, (10, 30))
    ]


LAW_TITLES = {"heavy": "heavy tails", "skew": "skewed", "mixture": "mixture"}


def _fig7(scope: Scope) -> list[PaperCell]:
    return [
        PopulationCell((("law", title), ("N", 2 * n)), Population(law, (1.0,) * 4, law=law), n, n)
        for law, title in LAW_TITLES.items()
        for n in scope.some(tuple(range(10, 101, 10)), FEW_SIZES)
    ]


def _shuffled(scope: Scope) -> list[PaperCell]:
    cells: list[PaperCell] = [
        PopulationCell((("data", f"Gaussian, P = {P}"), ("N", 2 * n)), ones(P), n, n, shuffled=True)
        for P in scope.wanted((4, 10, 100))
        for n in scope.some((10, 25, 50, 75, 100), (10, 50))
    ]
    path = ovarian.find()
    cells += [
        ovarian.OvarianCell(path, s, "converged", (("data", "ovarian cancer"), ("N", ovarian.rows(s))), shuffled=True)
        for s in scope.some((10, 25, 50, 75, 90), (10, 50))
    ]
    return cells


ERRORS = ("mae", "sd")
P_CHOICES = (4, 10, 100)
ITEMS: dict[str, Item] = {
    item.name: item
    for item in (
        Item("table1", "Table 1: true AUC of L2 logistic regression", _table1, "N", "training rows", "P",
             ("truth", "off"), (), columns=P_CHOICES),
        Item("fig1", "Figure 1: Gaussian data", _fig1, "N", "training rows", "P", ERRORS, columns=P_CHOICES),
        Item("fig2", "Figure 2: Gaussian data in two dimensions, by target AUC", _fig2, "target", "target AUC", "N",
             ERRORS),
        Item("fig3", "Figure 3: unequal covariances", _fig3, "N", "training rows", None, ERRORS),
        Item("fig4", "Figure 4: class imbalance", _fig4, "share", "share of class 1", "P", ("mae",), down="N",
             columns=(2, 4, 10)),
        Item("fig5", "Figure 5: ovarian cancer", _fig5, "share", "training rows, %", "variant", ERRORS, DISSECTED,
             needs=ovarian.find),
        Item("fig6", "Figure 6: MEG", _fig6, "share", "share of the training set, %", "split", ERRORS),
        Item("fig7", "Non-Gaussian data (mentioned in the paper's conclusion)", _fig7, "N", "training rows", "law",
             ERRORS),
        Item("shuffled", "Shuffled labels: the truth is 0.5", _shuffled, "N", "training rows", "data", ("mean", "mae"),
             columns=P_CHOICES, needs=ovarian.find),
    )
}  # fmt: skip
