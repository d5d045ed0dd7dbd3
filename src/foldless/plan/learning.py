"""`learning_curve`: the AUC of the same classifier trained on more rows like these."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import betaincinv

from foldless.analysis import Analysis, analysed
from foldless.checks import Floats, as_numbers
from foldless.computation import Options
from foldless.errors import EstimatorError, InputError, warn_user
from foldless.honest.posterior import HIGH, LOW, EffectPrior, separation_posterior
from foldless.honest.statistic import SeparationStatistic
from foldless.laws.effect import GridEffect
from foldless.model.pullback import NotLinear
from foldless.plan import sample_size
from foldless.results.auc import AUCPosterior, ShownAsCard
from foldless.tables import refuse_stream

# With r the share of the variance of the scores that is training noise at n rows, delta at m rows is
# delta_n / sqrt(1 - r + r n/m), see docs/planning.md. The noise share of the honest scores overstates what more rows
# remove, as a jackknife does, and a fixed penalty grows weaker per row: so r has a Beta law, fitted to simulated and
# real data.
REMOVABLE, CONCENTRATION = 0.7, 5.0
CHECKED_UP_TO, LARGEST = 5.0, 1000.0  # times the present rows
CLOSED_FORM_ONLY = (
    "learning_curve needs rows left out in closed form, which there is neither for this classifier nor for groups of "
    "more than two classes: pass a linear one, or its analysis with method='loo'; "
    "sklearn.model_selection.learning_curve refits any classifier to parts of the rows."
)
NOISY = 0.6  # beyond this share, forecasts were seen to overshoot


def grown(effect: GridEffect, noise_share: float, factor: float) -> GridEffect:
    """Posterior of delta with `factor` times the rows: a mixture over the share r of noise that goes away.

    A separation below zero stays where it is: more rows do not make a rule point further the wrong way.
    """
    if factor == 1:
        return effect
    mean = max(REMOVABLE * noise_share, 0.01)  # the penalty always gives way a little
    # Equally likely values of r.
    r = betaincinv(CONCENTRATION * mean, CONCENTRATION * (1 - mean), (np.arange(15) + 0.5) / 15)
    gains = 1 / np.sqrt(1 - (1 - 1 / factor) * r)
    points = _points(effect, gains)
    density = np.mean([np.interp(points / g, effect.points, effect.density, right=0.0) / g for g in gains], axis=0)
    density = np.where(points <= 0, np.interp(points, effect.points, effect.density, left=0.0), density)
    with np.errstate(divide="ignore"):
        return GridEffect(points, np.log(density))


def _points(effect: GridEffect, gains: Floats) -> Floats:
    """The old grid, stretched by each gain: fine wherever one of the parts is; a jump at 0 stays sharp."""
    inner = effect.points[(effect.points > 0) & (effect.points < HIGH)]
    stretched = np.concatenate([g * inner for g in gains[:: max(1, gains.size // 5)]])
    ends = [max(LOW, float(effect.points[0])), 0.0, 1e-9, float(gains[-1] * effect.points[-1])]
    return np.unique(np.concatenate([effect.points[effect.points < 0], stretched, ends]))


@dataclass(frozen=True, eq=False)
class LearningCurve(ShownAsCard):
    """The AUC to expect from the same classifier with more rows.

    Attributes
    ----------
    factors : tuple of float
        How many times the present rows.
    rows : tuple of int
    posteriors : tuple of AUCPosterior
        What is known today about the AUC at each size; the notes state its assumptions.
    half_widths : tuple of float
        Expected half width of the 95 % interval of `auc_posterior` once those rows have been collected.
    noise_share : float
        Share of the variance of the honest scores that is training noise, today.
    method, notes
        As in `AUCPosterior`.
    """

    factors: tuple[float, ...]
    rows: tuple[int, ...]
    posteriors: tuple[AUCPosterior, ...]
    half_widths: tuple[float, ...]
    noise_share: float
    method: str
    notes: tuple[str, ...] = ()
    _card = "learning_curve"

    def at(self, factor: float) -> AUCPosterior:
        """The posterior at one of the factors."""
        if factor not in self.factors:
            raise InputError(f"factor {factor!r} is not on the curve: choose one of {self.factors}.")
        return self.posteriors[self.factors.index(factor)]

    def summary(self, level: float = 0.95) -> dict[str, Any]:
        """Everything worth printing, as a plain dict."""
        points = []
        for factor, n, post, half in zip(self.factors, self.rows, self.posteriors, self.half_widths, strict=True):
            low, high = post.interval(level)
            point = {"factor": factor, "rows": n, "auc": post.mean, "low": low, "high": high, "half_width_then": half}
            points.append(point)
        about = {"level": level, "noise_share": self.noise_share, "method": self.method}
        return {**about, "points": points, "notes": list(self.notes)}

    def __repr__(self) -> str:
        points = ", ".join(f"{n} rows: {p.mean:.3f}" for n, p in zip(self.rows, self.posteriors, strict=True))
        return f"LearningCurve({points}; noise_share={self.noise_share:.2f}, method={self.method!r})"


def learning_curve(
    estimator: Any,
    X: Any = None,
    y: Any = None,
    factors: Iterable[float] = (1, 2, 5),
    *,
    prior: EffectPrior | None = None,
    groups: Any = None,
    sample_weight: Any = None,
    pos_label: Any = None,
) -> LearningCurve:
    """The AUC to expect from a fitted linear classifier if it were trained on 2 or 5 times as many rows.

    Of more than two classes, the average AUC.
    Settings, penalty and the proportion of the classes stay the same. Nothing is refitted: the part of the scores that
    is training noise, which `honest_scores` measures, shrinks as rows are added,

        delta_m = delta_n / sqrt(1 - r + r n/m),    AUC = Phi(delta / sqrt 2),

    and both delta_n (its posterior) and r (a Beta law around the measured share) are uncertain. The gain in delta is
    between 1 and sqrt(m/n). With a weak penalty on as many features as rows the true gain can be smaller, even below 1:
    the forecast is then too high. docs/planning.md has the derivation and the check on real data.

    Parameters
    ----------
    estimator, X, y, groups, sample_weight, pos_label
        As in `auc_posterior`; or an `Analysis` alone.
    factors : numbers from 1 on
    prior : EffectPrior, optional

    Examples
    --------
    >>> import foldless as fl
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.linear_model import RidgeClassifier
    >>> X, y = make_classification(60, random_state=0)
    >>> curve = fl.learning_curve(RidgeClassifier().fit(X, y), X, y)
    >>> curve.rows
    (60, 120, 300)
    >>> curve.at(1).mean < curve.at(5).mean
    True
    """
    refuse_stream(X, y, "learning_curve")
    times = _checked_factors(factors)
    try:
        analysis = analysed(estimator, X, y, Options(groups, sample_weight, pos_label, prior), closed_form=True)
    except NotLinear as err:
        raise EstimatorError(CLOSED_FORM_ONLY) from err
    if not analysis.in_closed_form:
        raise InputError(CLOSED_FORM_ONLY)
    if analysis.options.in_sample:
        raise InputError("learning_curve needs honest scores: pass an analysis with method='loo'.")
    known = EffectPrior.checked(analysis.options.prior)
    for warning in analysis.warnings:
        warn_user(warning)
    statistic, today, (n0, n1) = _today(analysis)
    method, share = analysis.auc.method, statistic.noise_share
    notes = analysis.notes + _notes(times, n0 + n1, share)
    posteriors, widths = [], []
    for factor in times:
        effect = grown(today, share, factor)
        sizes = round(n0 * factor), round(n1 * factor)
        posteriors.append(AUCPosterior.from_effect(effect, method, *sizes, notes))
        future = _future(statistic, effect, (n0, n1), factor)
        widths.append(sample_size.expected_half_width(future, known, 0.95))
    rows = tuple(post.n0 + post.n1 for post in posteriors)
    return LearningCurve(times, rows, tuple(posteriors), tuple(widths), share, method, notes)


def _today(analysis: Analysis) -> tuple[SeparationStatistic, GridEffect, tuple[int, int]]:
    """The statistic, the posterior and the rows of both classes; of more than two, all rows in two halves."""
    if analysis.several_classes:
        statistic, rows = analysis.averaged[1], analysis.view.codes.size
        effect = separation_posterior(statistic, EffectPrior.checked(analysis.options.prior))
        return statistic, effect, (rows - rows // 2, rows // 2)
    loo, labels = analysis.leave_one_out, analysis.two_classes.labels
    return loo.statistic, loo.effect, (labels.n0, labels.n1)


def _future(
    statistic: SeparationStatistic, effect: GridEffect, counts: tuple[int, int], factor: float
) -> SeparationStatistic:
    """Today's statistic, worth as much more as that of normal scores would be at `factor` times the rows."""
    rho = statistic.noise_share
    later = rho / (rho + (1 - rho) * factor) if rho > 0 else 0.0
    n0, n1 = counts
    then = sample_size.future_statistic(float(effect.ppf(0.5)), round(n0 * factor), round(n1 * factor), later)
    now = sample_size.future_statistic(statistic.estimate, n0, n1, rho)
    gain = statistic.trials / now.trials, statistic.df / now.df
    return replace(then, trials=then.trials * gain[0], df=then.df * gain[1])


def _checked_factors(factors: Any) -> tuple[float, ...]:
    times = np.ravel(as_numbers(list(factors) if np.iterable(factors) else [factors], "factors"))
    if times.size == 0 or not np.all((times >= 1) & (times <= LARGEST)):
        raise InputError(f"factors must be numbers from 1 to {LARGEST:g}, such as (1, 2, 5), got {factors!r}.")
    if np.any(np.diff(times) <= 0):
        raise InputError(f"factors must increase, got {factors!r}: sort them and leave out repetitions.")
    return tuple(times.tolist())


def _notes(factors: tuple[float, ...], n: int, noise_share: float) -> tuple[str, ...]:
    notes = []
    if factors[-1] > 1 and noise_share > NOISY:
        notes.append(
            f"training noise is {noise_share:.2f} of the variance of the scores (it comes from the training set), "
            f"so the forecast leans on its model: it is too high if the penalty is too weak for this many features."
        )
    if factors[-1] > CHECKED_UP_TO:
        notes.append(f"the forecast was checked up to {CHECKED_UP_TO:g} times the rows; beyond, it is a guess.")
    return tuple(notes)
