"""`ROCPosteriorDisplay`: the mean ROC curve with its band and the operating point."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np

from foldless import words
from foldless.analysis import Analysis
from foldless.checks import Floats
from foldless.errors import InputError
from foldless.model.steps import is_estimator, why_unknown
from foldless.results.error import ErrorPosterior
from foldless.results.roc import PointInterval, ROCPosterior
from foldless.show import style

# Dense at the left, where good curves rise.
FPR = np.unique(np.concatenate([[0.0], np.geomspace(1e-6, 0.05, 60), np.linspace(0.05, 1.0, 96)]))
# Leaves a square for the curve. Axes of fixed aspect would always be square, but the layout engines of matplotlib
# then cut off the notes below them.
SIZE = 5.4, 5.3
Threshold = float | Literal["own"] | None


@dataclass(frozen=True, eq=False)
class ROCCurve:
    """Mean curve and band over `fpr`, the area under it, the rates at the operating point, and the counted curve."""

    fpr: Floats
    mean: Floats
    low: Floats
    high: Floats
    level: float
    area: PointInterval
    point: ErrorPosterior | None = None
    steps: tuple[Floats, Floats] | None = None

    @classmethod
    def of(cls, roc: ROCPosterior, level: float, point: ErrorPosterior | None = None) -> ROCCurve:
        """Evaluate a posterior on the grid of the picture."""
        area = roc.partial_auc(1.0, level)
        return cls(FPR, roc.mean(FPR), *roc.band(FPR, level), level, area, point, roc.steps)


class ROCPosteriorDisplay(style.ModelsDisplay):
    """Posterior of the ROC curve, drawn: mean, credible band, counted curve, operating point, chance line.

    Make it with `from_estimator` or `from_posterior`; the constructor takes the numbers themselves. The band contains
    each point of the curve with the given probability.

    Parameters
    ----------
    curves : dict of ROCCurve
        The curve of each model, by name.
    notes : dict of tuple of str, optional
        Notes on each model, written under the axes.

    Attributes
    ----------
    ax_, figure_, notes_ : axes, figure, and the text under the axes or None
    lines_, bands_, points_ : lists of artists, one per model; a point is None where there is no threshold
    line_, band_, point_ : the first of each
    chance_level_ : the diagonal, or None

    Examples
    --------
    >>> import matplotlib; matplotlib.use("Agg")
    >>> import foldless as fl
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.linear_model import RidgeClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> X, y = X[:60, :10], y[:60]
    >>> display = fl.ROCPosteriorDisplay.from_estimator(RidgeClassifier().fit(X, y), X, y)
    >>> display.line_.get_label()
    'RidgeClassifier: AUC 0.97... (...)'
    """

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any = None,
        y: Any = None,
        *,
        threshold: Threshold = "own",
        level: float = 0.95,
        **kwargs: Any,
    ) -> Self:
        """Compute and draw the curve of a fitted classifier, or of each in a dict of them, from its training data.

        Parameters
        ----------
        estimator, X, y
            As in `AUCPosteriorDisplay.from_estimator`.
        threshold : float, "own" or None
            Value of ``decision_function`` at which the operating point is drawn. "own" is where ``predict`` changes
            from one class to the other, usually 0; bare weights have no threshold of their own. None draws no point.
        level : float
            Level of the band and of the intervals.
        **kwargs
            `name`, `ax` and options as in `AUCPosteriorDisplay.from_estimator`; the rest as in `plot`.
        """
        models, look = style.analyses(estimator, X, y, **kwargs)
        curves = {key: analysis.roc for key, analysis in models.items()}
        points = {key: rates for key, a in models.items() if (rates := _rates_at(a, threshold)) is not None}
        style.emit_warnings(models)
        display = cls._of(curves, points, level)
        if threshold == "own":
            display.notes = {key: (*display.notes[key], *_why_no_point(a.estimator)) for key, a in models.items()}
        return display.plot(**look)

    @classmethod
    def from_posterior(
        cls, posterior: Any, *, operating_point: Any = None, level: float = 0.95, name: Any = None, **kwargs: Any
    ) -> Self:
        """Draw posteriors that were computed before.

        Parameters
        ----------
        posterior : ROCPosterior, or a dict or list of them
        operating_point : ErrorPosterior, or a dict of them by the names of the curves, optional
            The rates at a threshold.
        level, name, ax, **kwargs
            As in `AUCPosteriorDisplay.from_posterior`.
        """
        curves = style.named_posteriors(posterior, ROCPosterior, "foldless.roc_posterior", name)
        return cls._of(curves, _named_points(operating_point, curves), level).plot(**kwargs)

    @classmethod
    def _of(cls, rocs: Mapping[str, ROCPosterior], points: Mapping[str, ErrorPosterior], level: float) -> Self:
        curves = {key: ROCCurve.of(roc, level, points.get(key)) for key, roc in rocs.items()}
        return cls(curves, {key: (*roc.notes, *getattr(points.get(key), "notes", ())) for key, roc in rocs.items()})

    def plot(self, ax: Any = None, *, plot_chance_level: bool = True, **kwargs: Any) -> Self:
        """Draw on `ax` or on new axes, with the diagonal of chance unless `plot_chance_level` is false.

        `kwargs` are passed to ``ax.plot`` for each mean curve, such as ``color``. Returns the display.
        """
        with self._axes(ax, *SIZE) as axes:
            self.chance_level_ = style.chance_line(axes, (0, 1), (0, 1)) if plot_chance_level else None
            drawn = [_draw_curve(axes, name, curve, kwargs) for name, curve in self.curves.items()]
            self.lines_, self.bands_, self.points_ = (list(artists) for artists in zip(*drawn, strict=True))
            self.line_, self.band_, self.point_ = drawn[0]
            axes.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), xlabel="false positive rate", ylabel="true positive rate")
            style.legend(axes, loc="lower right")
            style.open_frame(axes)
        return self


def _draw_curve(ax: Any, name: str, curve: ROCCurve, look: dict[str, Any]) -> tuple[Any, Any, Any]:
    """Line, band and operating point of one model; None where there is no point."""
    area = f"AUC {words.estimate(*curve.area)}"
    label = f"{name}: {area}" if name else area
    (line,) = ax.plot(curve.fpr, curve.mean, **{"linewidth": 2, "label": label, "zorder": 3, **look})
    band_look = {"alpha": style.BAND, "linewidth": 0, "label": f"{words.percent(curve.level)} band", "zorder": 2}
    if curve.steps is not None:
        counted = {"linewidth": 0.9, "alpha": 0.6, "label": "counted, each row left out", "zorder": 2.5}
        ax.plot(*curve.steps, color=line.get_color(), **counted)
    band = ax.fill_between(curve.fpr, curve.low, curve.high, color=line.get_color(), **band_look)
    return line, band, None if curve.point is None else _draw_point(ax, curve.point, curve.level, line.get_color())


def _draw_point(ax: Any, rates: ErrorPosterior, level: float, colour: Any) -> Any:
    """A dot with a bar for each of its two intervals."""
    look = {"color": colour, "markersize": 7, "markeredgecolor": "white", "elinewidth": 1.2, "zorder": 4}
    (low, high), sensitivity = rates.specificity.interval(level), rates.sensitivity
    fpr, tpr = 1 - rates.specificity.mean, sensitivity.mean
    bars = {"xerr": _lengths(fpr, 1 - high, 1 - low), "yerr": _lengths(tpr, *sensitivity.interval(level))}
    at = f"threshold {rates.threshold:g}" if rates.probability is None else f"probability {rates.probability:.4g}"
    return ax.errorbar(fpr, tpr, fmt="o", label=f"at {at}", **bars, **look)


def _lengths(mean: float, low: float, high: float) -> Floats:
    """Lengths of a bar below and above the mean; rounding may make one slightly negative, which matplotlib rejects."""
    return np.maximum([[mean - low], [high - mean]], 0.0)


def _rates_at(analysis: Analysis, threshold: Threshold) -> ErrorPosterior | None:
    """The rates at a threshold; None where no point is to be drawn."""
    if threshold == "own":
        known = is_estimator(analysis.estimator) and why_unknown(analysis.estimator) is None
        return analysis.rates() if known else None
    return None if threshold is None else analysis.rates(threshold)


def _why_no_point(estimator: Any) -> tuple[str, ...]:
    reason = why_unknown(estimator)
    return () if reason is None else (f"the operating point is not drawn: {reason}",)


def _named_points(points: Any, curves: Mapping[str, ROCPosterior]) -> dict[str, ErrorPosterior]:
    if points is None:
        return {}
    if isinstance(points, ErrorPosterior) and len(curves) == 1:
        return {next(iter(curves)): points}
    named = isinstance(points, Mapping) and set(points) <= set(curves)
    if named and all(isinstance(rates, ErrorPosterior) for rates in points.values()):
        return dict(points)
    raise InputError(
        "operating_point must be an ErrorPosterior for a single curve, or a dict of them by the names of the curves "
        f"({', '.join(repr(key) for key in curves)}), got {points!r}: compute it with foldless.error_posterior."
    )
