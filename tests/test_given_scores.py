"""ROC curve and error rates from held-out scores: from their order alone, and in agreement with the AUC."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import trapezoid
from scipy.special import ndtr
from sklearn.metrics import confusion_matrix

import foldless as fl

FPR = np.linspace(0.0, 1.0, 2001)


def scores_of(n0, n1, shift=1.2, spread=1.0, seed=0):
    rng = np.random.default_rng(seed)
    y = np.repeat([0, 1], [n0, n1])
    return y, rng.normal(size=n0 + n1) * np.where(y, spread, 1.0) + shift * y


@pytest.mark.parametrize("change", [np.exp, np.arctan, lambda s: 1 / (1 + np.exp(-s))])
def test_only_the_order_counts(change):
    y, s = scores_of(20, 30)
    roc, moved = (fl.roc_posterior_from_scores(y, z) for z in (s, change(s)))
    np.testing.assert_allclose(roc.mean(FPR), moved.mean(FPR), atol=1e-12)
    error = fl.error_posterior_from_scores(y, s, threshold=0.4)
    again = fl.error_posterior_from_scores(y, change(s), threshold=float(change(0.4)))
    assert error.sensitivity.interval() == pytest.approx(again.sensitivity.interval(), abs=1e-12)
    assert error.ppv.interval() == pytest.approx(again.ppv.interval(), abs=1e-12)


def test_the_curve_has_the_area_of_the_auc():
    y, s = scores_of(25, 40, spread=2.0)
    roc, auc = fl.roc_posterior_from_scores(y, s), fl.auc_posterior_from_scores(y, s)
    whole = roc.partial_auc(1.0, level=0.9)
    assert whole.mean == pytest.approx(auc.mean, abs=1e-6)
    assert (whole.low, whole.high) == pytest.approx(auc.interval(0.9), abs=1e-3)
    assert trapezoid(roc.mean(FPR), FPR) == pytest.approx(auc.mean, abs=1e-3)


def test_rates_of_many_rows_are_those_counted():
    y, s = scores_of(4000, 3000)
    post = fl.error_posterior_from_scores(y, s, threshold=0.5)
    (tn, fp), (fn, tp) = confusion_matrix(y, s > 0.5)
    assert post.sensitivity.mean == pytest.approx(tp / (tp + fn), abs=0.01)
    assert post.specificity.mean == pytest.approx(tn / (tn + fp), abs=0.01)
    assert post.error.mean == pytest.approx((fp + fn) / y.size, abs=0.01)
    roc = fl.roc_posterior_from_scores(y, s)
    assert roc.tpr_at(1 - post.specificity.mean).mean == pytest.approx(post.sensitivity.mean, abs=0.015)


def test_a_stated_prevalence_moves_the_predictive_values_alone():
    y, s = scores_of(40, 40)
    here, rare = (fl.error_posterior_from_scores(y, s, threshold=0.5, prevalence=p) for p in (None, 0.01))
    assert rare.sensitivity.mean == here.sensitivity.mean
    assert rare.ppv.mean < 0.2 < here.ppv.mean


@pytest.mark.slow
@pytest.mark.parametrize(("n0", "n1", "law"), [(40, 70, "normal"), (60, 20, "lognormal")])
def test_intervals_hold_the_truth(n0, n1, law):
    """90 % intervals of sensitivity, specificity and the TPR at FPR .2, 200 samples."""
    change = np.exp if law == "lognormal" else np.asarray
    held = np.zeros(3)
    for seed in range(200):
        y, s = scores_of(n0, n1, seed=seed)
        rates = fl.error_posterior_from_scores(y, change(s), threshold=float(change(0.8)))
        tpr = fl.roc_posterior_from_scores(y, change(s)).tpr_at(0.2, level=0.9)
        ends = [rates.sensitivity.interval(0.9), rates.specificity.interval(0.9), (tpr.low, tpr.high)]
        truths = ndtr(0.4), ndtr(0.8), ndtr(1.2 - 0.8416)
        held += [low <= truth <= high for (low, high), truth in zip(ends, truths, strict=True)]
    assert np.all((held / 200 > 0.84) & (held / 200 < 0.97)), held / 200


def test_groups_widen_the_intervals():
    y, s = scores_of(20, 20)
    y, s, groups = np.tile(y, 4), np.tile(s, 4), np.tile(np.arange(40), 4)
    alone, grouped = (fl.error_posterior_from_scores(y, s, threshold=0.6, groups=g) for g in (None, groups))
    assert grouped.sensitivity.sd > 1.5 * alone.sensitivity.sd
    bands = [np.subtract(*fl.roc_posterior_from_scores(y, s, groups=g).band(0.2)) for g in (None, groups)]
    assert abs(bands[1]) > 1.5 * abs(bands[0])


def test_errors_name_what_was_expected():
    y, s = scores_of(10, 10)
    with pytest.raises(fl.InputError, match="threshold must be a number"):
        fl.error_posterior_from_scores(y, s, threshold="high")
    with pytest.raises(fl.InputError, match="prevalence"):
        fl.error_posterior_from_scores(y, s, threshold=0.0, prevalence=2)
    with pytest.raises(fl.InputError, match="all equal"):
        fl.roc_posterior_from_scores(y, np.ones(20))
