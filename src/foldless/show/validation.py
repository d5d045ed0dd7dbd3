"""Pictures of a validation: the calibration curve, the decision curve and the precision-recall curve."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, ClassVar, Self

import numpy as np

from foldless import words
from foldless.analysis import Analysis
from foldless.checks import Floats
from foldless.errors import InputError
from foldless.measures import NetBenefit
from foldless.show import style

SIZE = 5.4, 5.3
GRID = np.linspace(0.02, 0.98, 49)


@dataclass(repr=False, eq=False)
class CurveDisplay(style.Display):
    """Base of these displays: a mean curve over `x` with its band; `prevalence` places what it is compared with.

    `plot` stores ``ax_``, ``figure_``, ``line_``, ``band_``, ``references_`` and ``notes_``.
    """

    x: Floats
    mean: Floats
    low: Floats
    high: Floats
    level: float
    prevalence: float
    notes: tuple[str, ...] = ()
    _labels: ClassVar[tuple[str, str]]
    _law: ClassVar[attrgetter[Any]]

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any = None, y: Any = None, *, level: float = 0.95, ax: Any = None, **kwargs: Any
    ) -> Self:
        """Compute and draw the curve of one classifier with probabilities, or of its `Analysis`.

        Options of `auc_posterior` are taken as they are, and the rest is passed on to ``ax.plot``.
        """
        models, look = style.analyses(estimator, X, y, **kwargs)
        if len(models) != 1:
            raise InputError(f"{cls.__name__} draws one model, got {len(models)}: draw each on its own, or pass ax.")
        ((name, analysis),) = models.items()
        style.emit_warnings(models)
        return cls.of(analysis, level, GRID).plot(ax, **{"label": name, **look})

    @classmethod
    def of(cls, analysis: Analysis, level: float, grid: Floats) -> Self:
        """The display of an analysis at these points of its horizontal axis, not drawn yet."""
        return cls(*cls._curve(analysis, level, grid), level, analysis.measures().rows.share, analysis.notes)

    @classmethod
    def _curve(cls, analysis: Analysis, level: float, grid: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        curve = cls._law(analysis)
        return grid, curve.mean(grid), *curve.band(grid, level)

    @abstractmethod
    def _references(self, ax: Any) -> list[Any]: ...

    def plot(self, ax: Any = None, **kwargs: Any) -> Self:
        """Draw on `ax` or on new axes; `kwargs` are passed to ``ax.plot`` for the curve. Returns the display."""
        with self._axes(ax, *SIZE) as axes:
            self.references_ = self._references(axes)
            (self.line_,) = axes.plot(self.x, self.mean, **{"linewidth": 2, "zorder": 3, **kwargs})
            band = {"alpha": style.BAND, "linewidth": 0, "label": f"{words.percent(self.level)} band", "zorder": 2}
            self.band_ = axes.fill_between(self.x, self.low, self.high, color=self.line_.get_color(), **band)
            axes.set(xlim=(-0.02, 1.02), xlabel=self._labels[0], ylabel=self._labels[1])
            style.legend(axes, loc="best")
            style.open_frame(axes)
        return self


class CalibrationDisplay(CurveDisplay):
    """The calibration curve with its band, beside the diagonal of right probabilities; see `from_estimator`."""

    _labels = "predicted probability", "share of positive rows"
    _law = attrgetter("calibration.curve")

    def _references(self, ax: Any) -> list[Any]:
        return list(ax.plot([0, 1], [0, 1], label="right probabilities", zorder=1, **style.DASHED))


class DecisionCurveDisplay(CurveDisplay):
    """The net benefit with its band, beside treating all and none; see `from_estimator`."""

    _labels = "threshold probability", "net benefit"

    @classmethod
    def _curve(cls, analysis: Analysis, level: float, grid: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        curve = analysis.net_benefit(grid)
        return grid, curve.mean, *curve.interval(level)

    def _references(self, ax: Any) -> list[Any]:
        all_ = NetBenefit(self.x, (), self.prevalence).treat_all
        ax.set_ylim(-0.2 * self.prevalence, 1.4 * self.prevalence)
        treated = ax.plot(self.x, all_, color=style.FAINT, linewidth=1, label="treat all", zorder=1)
        return [*treated, *ax.plot([0, 1], [0, 0], label="treat none", zorder=1, **style.DASHED)]


class PrecisionRecallPosteriorDisplay(CurveDisplay):
    """The precision-recall curve with its band, beside the prevalence; see `from_estimator`."""

    _labels = "recall (sensitivity)", "precision (PPV)"
    _law = attrgetter("precision_recall")

    def _references(self, ax: Any) -> list[Any]:
        return [style.chance_line(ax, (0, 1), (self.prevalence, self.prevalence))]
