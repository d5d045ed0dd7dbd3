"""`Calibration`: is a predicted 30 % a 30 %?"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import expit

from foldless.checks import Floats, as_probabilities
from foldless.honest.calibration import CalibrationLaw, regression
from foldless.honest.probabilities import Estimate
from foldless.results.auc import ShownAsCard, central
from foldless.results.measure import Measure

CERTAIN = 0.01  # share of probabilities of 0 or 1 from which log odds say nothing
MATERIAL = 1.2  # a slope or ratio nearer to 1 than this factor does no harm, however certain it is
UNDEFINED = Estimate(np.nan, np.nan)


@dataclass(frozen=True, eq=False, repr=False)
class CalibrationCurve:
    """Posterior of the share of positive rows among those with a given predicted probability."""

    law: CalibrationLaw

    def __repr__(self) -> str:
        return "CalibrationCurve with .mean(p) and .band(p, level)"

    def mean(self, p: Any) -> Floats:
        """Posterior mean at each predicted probability."""
        at = as_probabilities(p, "p")
        values, weights = self.law.curve(np.atleast_1d(at))
        return (values @ weights).reshape(at.shape)[()]

    def band(self, p: Any, level: float = 0.95) -> tuple[Floats, Floats]:
        """Credible band: lower and upper share at each predicted probability."""
        at = as_probabilities(p, "p")
        values, weights = self.law.curve(np.atleast_1d(at))
        ends = np.array([Measure.of("", row, weights, np.nan).ppf(central(level)) for row in values])
        return ends[:, 0].reshape(at.shape)[()], ends[:, 1].reshape(at.shape)[()]


@dataclass(frozen=True, eq=False, repr=False)
class Calibration(ShownAsCard):
    """Agreement of predicted probabilities with what happens, on new data.

    `slope` (1 is right, below 1 the probabilities are too extreme), `intercept` (0 is right, above 0 they are too low
    on average), `oe` (observed over expected positive rows), `ici`, `e50` and `e90` (mean, median and ninth decile of
    the distance between the curve and the predicted probabilities) each have ``mean``, ``sd``, ``interval(level)``,
    ``cdf``, ``ppf`` and ``apparent``; `curve` has ``mean(p)`` and ``band(p, level)``.

    Examples
    --------
    >>> import foldless as fl
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.linear_model import LogisticRegression
    >>> X, y = load_iris(return_X_y=True)
    >>> X, y = X[50:, :2], y[50:]
    >>> fl.analyse(LogisticRegression().fit(X, y), X, y).calibration
    Calibration(slope ...
    """

    law: CalibrationLaw
    method: str = "loo"
    notes: tuple[str, ...] = ()
    _card = "calibration"

    @cached_property
    def certain(self) -> tuple[str, ...]:
        """Why refits have neither slope nor intercept, if too many of their probabilities are exactly 0 or 1."""
        share = float(np.mean((self.law.rows.honest == 0) | (self.law.rows.honest == 1)))
        text = (
            f"{share:.0%} of the predicted probabilities are exactly 0 or 1, where log odds are infinite: there is no "
            f"calibration slope or intercept, and the log loss rests on how small a probability may be."
        )
        return (text,) if self.method == "refit" and share > CERTAIN else ()

    @cached_property
    def slope(self) -> Measure:
        """Slope of the log odds: 1 is right, below 1 the probabilities are too extreme; NaN if `certain`."""
        if self.certain:
            return Measure.normal("calibration slope", UNDEFINED, np.nan)
        return Measure.of("calibration slope", *self.law.slope, self._apparent[1])

    @cached_property
    def intercept(self) -> Measure:
        """Calibration in the large: what is missing in the log odds on average, 0 if nothing; NaN if `certain`."""
        if self.certain:
            return Measure.normal("calibration intercept", UNDEFINED, np.nan)
        rows = self.law.rows
        return Measure.normal("calibration intercept", rows.intercept, float(rows.apparent.level(np.ones(1))[0]))

    @cached_property
    def oe(self) -> Measure:
        """Observed over expected number of positive rows."""
        rows, name = self.law.rows, "observed/expected"
        law, expected = Measure.normal(name, rows.log_observed_by_expected(), np.nan), float(rows.weights @ rows.own)
        return Measure.of(name, np.exp(law.values), law.weights, rows.share / expected if expected else np.inf)

    @cached_property
    def _apparent(self) -> tuple[float, float]:
        return regression(self.law.rows.apparent)

    @cached_property
    def _gaps(self) -> tuple[Measure, ...]:
        (gaps, weights), (a, b), rows = self.law.gaps(), self._apparent, self.law.rows.apparent
        line = rows.positive if np.isinf(b) else expit(a + b * rows.log_odds[0])
        found, own = _figures(gaps), _figures(np.abs(line - rows.own))
        return tuple(Measure.of(n, v, weights, a) for n, v, a in zip(("ICI", "E50", "E90"), found, own, strict=True))

    @property
    def ici(self) -> Measure:
        """Integrated calibration index: the mean distance of the curve from the predicted probabilities."""
        return self._gaps[0]

    @property
    def e50(self) -> Measure:
        """The median of that distance."""
        return self._gaps[1]

    @property
    def e90(self) -> Measure:
        """Its ninth decile."""
        return self._gaps[2]

    def doubts(self, level: float = 0.95) -> tuple[str, ...]:
        """Where probabilities are no risks, beyond doubt and by more than a fifth."""
        off = []
        level_off, extreme = ("too high on average", "too low on average"), ("too extreme", "not extreme enough")
        for law, words in ((self.oe, level_off), (self.slope, extreme)):
            low, high = law.interval(level)
            if (high < 1 or low > 1) and not 1 / MATERIAL <= law.mean <= MATERIAL:
                off.append(f"{words[low > 1]} ({law.name} {law.mean:.2f}, {low:.2f} to {high:.2f})")
        text = f"the predicted probabilities are {' and '.join(off)}; 1 would be right. Do not read them as risks."
        return (text,) * bool(off)

    @property
    def curve(self) -> CalibrationCurve:
        """The calibration curve with its band."""
        return CalibrationCurve(self.law)

    @property
    def measures(self) -> tuple[Measure, ...]:
        """Slope, intercept, observed/expected, ICI, E50, E90."""
        return self.slope, self.intercept, self.oe, self.ici, self.e50, self.e90

    def __repr__(self) -> str:
        low, high = self.slope.interval()
        return (
            f"Calibration(slope {self.slope.mean:.2f} [{low:.2f}, {high:.2f}], intercept {self.intercept.mean:.2f}, "
            f"observed/expected {self.oe.mean:.2f}, method={self.method!r})"
        )


def _figures(gaps: Floats) -> tuple[Any, ...]:
    """Mean, median and ninth decile along the last axis; in a third of the time of `np.quantile`."""
    ordered, at = np.sort(gaps, axis=-1), np.array([0.5, 0.9]) * (gaps.shape[-1] - 1)
    low, high = (ordered[..., end(at).astype(np.intp)] for end in (np.floor, np.ceil))
    return gaps.mean(axis=-1), *np.moveaxis(low + at % 1 * (high - low), -1, 0)
