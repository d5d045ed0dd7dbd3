"""`ROCPosteriorDisplay`: the mean ROC curve with its band and the operating point."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, cast

import numpy as np

from foldless import words
from foldless.checks import Floats
from foldless.errors import InputError
from foldless.estimate import error_posterior, roc_posterior
from foldless.model.steps import is_estimator, why_unknown
from foldless.results.error import ErrorPosterior
from foldless.results.roc import PointInterval, ROCPosterior
from foldless.show import style
from foldless.show.style import named_estimators, named_posteriors, warned_once

# ---- The numbers of a ROC picture: a curve with its band, and the operating point on it.

# Dense at the left, where good curves rise.
FPR = np.unique(np.concatenate([[0.0], np.geomspace(1e-6, 0.05, 60), np.linspace(0.05, 1.0, 96)]))


@dataclass(frozen=True)
class OperatingPoint:
    """False and true positive rate at a threshold, each with its interval."""

    fpr: PointInterval
    tpr: PointInterval
    threshold: float

    @classmethod
    def of(cls, post: ErrorPosterior, level: float) -> OperatingPoint:
        """Read off the rates at a threshold."""
        low, high = post.specificity.interval(level)
        fpr = PointInterval(1 - post.specificity.mean, 1 - high, 1 - low)
        return cls(fpr, PointInterval(post.sensitivity.mean, *post.sensitivity.interval(level)), post.threshold)


@dataclass(frozen=True, eq=False)
class ROCCurve:
    """Mean curve and band over `fpr`, the area under it, and where the classifier stands on it."""

    fpr: Floats
    mean: Floats
    low: Floats
    high: Floats
    level: float
    area: PointInterval
    point: OperatingPoint | None = None

    @classmethod
    def of(cls, roc: ROCPosterior, level: float, error: ErrorPosterior | None = None) -> ROCCurve:
        """Evaluate a posterior on the grid of the picture."""
        point = None if error is None else OperatingPoint.of(error, level)
        return cls(FPR, roc.mean(FPR), *roc.band(FPR, level), level, roc.partial_auc(1.0, level), point)


# ---- `ROCPosteriorDisplay`: mean ROC curve with its credible band, operating point and the line of chance.

# Leaves a square for the curve. An axes of fixed aspect would be square everywhere, but the layout engines of
# matplotlib then cut off what stands below it: the notes.
SIZE = 5.4, 5.3


class ROCPosteriorDisplay:
    """Posterior of the ROC curve, drawn: mean, credible band, operating point, line of chance.

    Make it with `from_estimator` or `from_posterior`; the constructor takes the numbers themselves. The band
    holds each point of the curve with the given probability. The notes of the posteriors are written under
    the axes.

    Parameters
    ----------
    curves : dict of ROCCurve
        The curve of each model, by name.
    notes : dict of tuple of str, optional
        What a reader of each model's curve must know.

    Attributes
    ----------
    ax_, figure_ : matplotlib axes and figure
    lines_, bands_, points_ : lists of artists, one per model; a point is None where there is no threshold
    line_, band_, point_ : the first of each
    chance_level_ : the diagonal, or None
    notes_ : text under the axes, or None

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

    def __init__(self, curves: Mapping[str, ROCCurve], notes: Mapping[str, Iterable[str]] | None = None) -> None:
        self.curves = dict(curves)
        self.notes = {name: tuple((notes or {}).get(name, ())) for name in self.curves}

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        level: float = 0.95,
        threshold: float | Literal["own"] | None = "own",
        name: str | None = None,
        ax: Any = None,
        method: Any = "auto",
        prior: Any = None,
        groups: Any = None,
        sample_weight: Any = None,
        pos_label: Any = None,
        **kwargs: Any,
    ) -> ROCPosteriorDisplay:
        """Compute and draw the curve of a fitted classifier, or of each in a dict of them, from its training data.

        Parameters
        ----------
        estimator : fitted linear classifier, Pipeline ending in one, weights, or a dict of them by name
        X, y, method, prior, groups, sample_weight, pos_label
            As in `roc_posterior`.
        level : float
            Level of the band and of the intervals.
        threshold : float, "own" or None
            Value of ``decision_function`` at which the operating point is drawn. "own" is where ``predict`` changes
            its mind, mostly 0; bare weights have no threshold of their own. None draws no point.
        name : str, optional
            Name of a single model; its class by default.
        ax, **kwargs
            As in `plot`.
        """
        how = {"method": method, "groups": groups, "sample_weight": sample_weight, "pos_label": pos_label}
        models = named_estimators(estimator, name)
        with warned_once():
            curves = {key: roc_posterior(each, X, y, prior=prior, **how) for key, each in models.items()}
            # The leave-one-out rates at a threshold are counted on the scores; they take no prior.
            rates = how | {"prior": prior if method == "in-sample" else None}
            own = threshold == "own"
            at = None if own else cast("float | None", threshold)
            points = {
                key: error_posterior(each, X, y, threshold=at, **rates)
                for key, each in models.items()
                if (_draws_a_line(each) if own else threshold is not None)
            }
        drawn = cls._of(curves, points, level)
        if own:
            drawn.notes = {key: drawn.notes[key] + _undrawn(each) for key, each in models.items()}
        return drawn.plot(ax, **kwargs)

    @classmethod
    def from_posterior(
        cls,
        posterior: Any,
        *,
        operating_point: Any = None,
        level: float = 0.95,
        name: Any = None,
        ax: Any = None,
        **kwargs: Any,
    ) -> ROCPosteriorDisplay:
        """Draw posteriors that are there already.

        Parameters
        ----------
        posterior : ROCPosterior, or a dict or list of them
        operating_point : ErrorPosterior, or a dict of them by the names of the curves, optional
            The rates at a threshold.
        level : float
            Level of the band and of the intervals.
        name : str or list of str, optional
            Name of the posterior, or of each in a list.
        ax, **kwargs
            As in `plot`.
        """
        found = named_posteriors(posterior, ROCPosterior, "foldless.roc_posterior", name)
        return cls._of(found, _named_points(operating_point, found), level).plot(ax, **kwargs)

    @classmethod
    def _of(
        cls, found: Mapping[str, ROCPosterior], points: Mapping[str, ErrorPosterior], level: float
    ) -> ROCPosteriorDisplay:
        curves = {key: ROCCurve.of(roc, level, points.get(key)) for key, roc in found.items()}
        notes = {key: (*roc.notes, *(points[key].notes if key in points else ())) for key, roc in found.items()}
        return cls(curves, notes)

    def plot(self, ax: Any = None, *, plot_chance_level: bool = True, **kwargs: Any) -> ROCPosteriorDisplay:
        """Draw on the given axes, or on new ones.

        Parameters
        ----------
        ax : matplotlib axes, optional
        plot_chance_level : bool
            Whether to draw the diagonal.
        **kwargs
            Passed to ``ax.plot`` for each mean curve, such as ``color``.

        Returns
        -------
        ROCPosteriorDisplay
            Itself, with the artists in its attributes.
        """
        notes = style.merged_notes(self.notes)
        self.figure_, self.ax_ = style.axes_for(ax, *SIZE, notes)
        self.chance_level_ = style.chance_line(self.ax_, (0, 1), (0, 1)) if plot_chance_level else None
        self.lines_: list[Any] = []
        self.bands_: list[Any] = []
        self.points_: list[Any] = []
        for name, curve in self.curves.items():
            self._draw(name, curve, kwargs)
        self.line_, self.band_, self.point_ = self.lines_[0], self.bands_[0], self.points_[0]
        self.ax_.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), xlabel="false positive rate", ylabel="true positive rate")
        style.legend(self.ax_, loc="lower right")
        style.open_frame(self.ax_)
        self.notes_ = style.write_notes(self.ax_, notes)
        return self

    def _draw(self, name: str, curve: ROCCurve, line: dict[str, Any]) -> None:
        area = f"AUC {words.estimate(*curve.area)}"
        label = f"{name}: {area}" if name else area
        (drawn,) = self.ax_.plot(curve.fpr, curve.mean, **{"linewidth": 2, "label": label, "zorder": 3, **line})
        colour = drawn.get_color()
        band = f"{words.percent(curve.level)} band"
        self.lines_.append(drawn)
        self.bands_.append(
            self.ax_.fill_between(
                curve.fpr, curve.low, curve.high, color=colour, alpha=style.BAND, linewidth=0, label=band, zorder=2
            )
        )
        self.points_.append(None if curve.point is None else _draw_point(self.ax_, curve.point, colour))


def _draw_point(ax: Any, point: OperatingPoint, colour: Any) -> Any:
    """A dot with a bar for each of its two intervals."""
    (fpr, fpr_low, fpr_high), (tpr, tpr_low, tpr_high) = point.fpr, point.tpr
    return ax.errorbar(
        fpr,
        tpr,
        # Rounding could put a mean a hair outside its interval, which matplotlib refuses.
        xerr=np.maximum([[fpr - fpr_low], [fpr_high - fpr]], 0.0),
        yerr=np.maximum([[tpr - tpr_low], [tpr_high - tpr]], 0.0),
        fmt="o",
        color=colour,
        markersize=7,
        markeredgecolor="white",
        elinewidth=1.2,
        label=f"at threshold {point.threshold:g}",
        zorder=4,
    )


def _draws_a_line(estimator: Any) -> bool:
    return is_estimator(estimator) and why_unknown(estimator) is None


def _undrawn(estimator: Any) -> tuple[str, ...]:
    reason = why_unknown(estimator)
    return () if reason is None else (f"the operating point is not drawn: {reason}",)


def _named_points(points: Any, curves: Mapping[str, ROCPosterior]) -> dict[str, ErrorPosterior]:
    if points is None:
        return {}
    if isinstance(points, ErrorPosterior) and len(curves) == 1:
        return {next(iter(curves)): points}
    if isinstance(points, Mapping) and set(points) <= set(curves):
        strangers = [type(p).__name__ for p in points.values() if not isinstance(p, ErrorPosterior)]
        if not strangers:
            return dict(points)
    raise InputError(
        "operating_point must be an ErrorPosterior for a single curve, or a dict of them by the names of the curves "
        f"({', '.join(repr(key) for key in curves)}), got {points!r}: compute it with foldless.error_posterior."
    )
