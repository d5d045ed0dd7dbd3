"""`ErrorPosterior` against full-dimensional draws, with one covariance and with one per class."""

from __future__ import annotations

import json
import pickle

import numpy as np
import pytest
from scipy import stats
from scipy.special import ndtr
from sklearn.linear_model import RidgeClassifier

import foldless as fl
from foldless.laws.effect import StudentEffect, t_cdf
from foldless.results.error import ErrorPosterior, SeparateScales, SharedScale, shares_of

RATES = ("error", "sensitivity", "specificity", "ppv", "npv")


def rates_of(fpr, tpr, prevalence):
    """Every rate by its definition."""
    p1, p0 = prevalence, 1 - prevalence
    return {
        "error": p0 * fpr + p1 * (1 - tpr),
        "sensitivity": tpr,
        "specificity": 1 - fpr,
        "ppv": p1 * tpr / (p1 * tpr + p0 * fpr),
        "npv": p0 * (1 - fpr) / (p0 * (1 - fpr) + p1 * (1 - tpr)),
    }


@pytest.mark.parametrize("covariance", ["common", "per-class"])
@pytest.mark.parametrize(("shift", "prevalence"), [(0.0, None), (0.8, 0.05), (-1.0, 0.7)])
def test_rates_agree_with_the_full_posterior(request, matches_draws, covariance, shift, prevalence):
    """Mean, sd and interval of all five rates agree with 200,000 draws of covariances and means, P = 3.

    A prevalence that was read off the rows is drawn as well.
    """
    full = request.getfixturevalue("common" if covariance == "common" else "per_class")
    middle = float(np.mean(full.X @ full.w)) + shift
    with pytest.warns(fl.OptimismWarning):
        post = fl.error_posterior(
            full.w, full.X, full.y, method="in-sample", threshold=middle, prevalence=prevalence, covariance=covariance
        )
    assert post.prevalence == (9 / 23 if prevalence is None else prevalence)
    fpr, tpr = ndtr((full.mean0 - middle) / full.sd0), ndtr((full.mean1 - middle) / full.sd1)
    values, weights = np.array(post.shares or [(prevalence, 1.0)]).T
    drawn = np.random.default_rng(0).choice(values, fpr.size, p=weights)
    for name, draws in rates_of(fpr, tpr, drawn).items():
        matches_draws(getattr(post, name), draws)


@pytest.mark.parametrize(("groups", "units"), [(None, 40), (np.arange(40) // 2, 20)])
def test_the_prevalence_of_a_random_sample_is_uncertain(groups, units):
    """Of a classifier that calls every row negative, it is all that the error rate varies with."""
    y, scores = np.arange(40) % 5 == 0, np.linspace(-1.0, -0.9, 40)
    post = fl.error_posterior_from_scores(y, scores, threshold=5.0, groups=groups)
    law = stats.beta(units / 5, units * 4 / 5)
    assert post.error.mean == pytest.approx(law.mean(), abs=0.02)
    assert post.error.sd == pytest.approx(law.std(), rel=0.05)
    np.testing.assert_allclose(post.error.interval(0.9), law.ppf([0.05, 0.95]), atol=0.03)
    stated = fl.error_posterior_from_scores(y, scores, threshold=5.0, groups=groups, prevalence=0.2)
    assert stated.error.sd < post.error.sd / 2


@pytest.mark.parametrize("pair", [SeparateScales, SharedScale])
@pytest.mark.parametrize("level", [0.8, 0.9, 0.95, 0.99])
def test_intervals_of_any_level_hold_what_an_uncertain_prevalence_may_be(pair, level):
    """With eight values of it, which nothing smooths here, 90 % intervals held 96 %, and those of 99 % no more."""
    rates = pair(StudentEffect(-4.0, 0.05, 200), StudentEffect(-3.5, 0.05, 200))  # every row is called negative
    post = ErrorPosterior(rates, 0.0, 0.3, "loo", 1400, 600, shares=shares_of(0.3, 2000, None))
    low, high = stats.beta(600, 1400).cdf(post.error.interval(level))
    assert high - low == pytest.approx(level, abs=0.02)


def test_large_groups_decide_what_the_prevalence_may_be():
    """Each counted as much as a single row: 90 % intervals of 100 such samples held the prevalence in 0.68."""
    sizes = np.r_[np.ones(32, dtype=int), np.full(8, 20)]
    groups, positive = np.repeat(np.arange(40), sizes), np.repeat(np.arange(40) % 4 == 0, sizes)
    shares = shares_of(positive.mean(), positive.size, groups)
    values, weights = np.array(shares).T
    spread = np.sqrt(weights @ np.square(values - weights @ values))
    of_groups = np.random.default_rng(0).binomial(1, positive.mean(), (20_000, 40)) @ sizes / sizes.sum()
    assert spread == pytest.approx(of_groups.std(), rel=0.06)


def test_error_rates_hold_where_classes_come_at_random():
    """Noise, and a penalty that calls every row by the larger class: with a known share 0.3 of the intervals held."""
    held = []
    for number in range(60):
        rng = np.random.default_rng([number, 60])
        X, y = rng.normal(size=(60, 30)), rng.random(60) < 0.4
        model = RidgeClassifier(alpha=1e4).fit(X, y)
        w, b = model.coef_[0], model.intercept_[0]
        above = ndtr(b / np.linalg.norm(w))
        low, high = fl.error_posterior(model, X, y).error.interval(0.9)
        held.append(low <= 0.4 * (1 - above) + 0.6 * above <= high)
    assert 0.8 <= np.mean(held) <= 0.97


def test_expected_errors_are_dalton_and_dougherty(make_data):
    """E[err0], E[err1] are the closed-form Student probabilities (Dalton, Dougherty 2011); the error mixes them."""
    X, y, w = make_data(5, 60, 40, 2)
    post = fl.error_posterior(w, X, y, method="in-sample", threshold=0.3, prior=fl.Prior.improper(), prevalence=0.2)
    z = X @ w
    s = sum(np.sum((z[y == c] - z[y == c].mean()) ** 2) for c in (0, 1))
    k = 100 - 2 + 1
    h = [(z[y == c].mean() - 0.3) * np.sqrt(n / (n + 1)) * np.sqrt(k / s) for c, n in ((0, 60), (1, 40))]
    err0, err1 = t_cdf(h[0], k), t_cdf(-h[1], k)
    assert post.specificity.mean == pytest.approx(1 - err0, abs=1e-12)
    assert post.sensitivity.mean == pytest.approx(1 - err1, abs=1e-12)
    assert post.error.mean == pytest.approx(0.8 * err0 + 0.2 * err1, abs=1e-9)


LAWS = {  # (loc, spread, df) of the two distances; what makes the case hard
    "ordinary": ((-1.0, 0.2, 40), (0.8, 0.25, 40)),
    "few degrees of freedom": ((-1.5, 0.1, 3), (1.2, 0.1, 3)),
    "scale far less certain than the means": ((-1.0, 0.01, 5), (0.7, 0.01, 5)),
    "one row": ((-1.0, 0.8, 4), (1.0, 0.8, 4)),
    "large sample": ((-2.0, 0.01, 1e4), (1.5, 0.02, 1e4)),
    "unbalanced": ((-2.0, 0.02, 50), (1.0, 1.0, 50)),
}


@pytest.mark.parametrize("prevalence", [0.5, 0.01])
@pytest.mark.parametrize("shared", [True, False], ids=["common", "per-class"])
@pytest.mark.parametrize("law", LAWS)
def test_derived_rates_in_hard_cases(law, shared, prevalence):
    """cdf of error, PPV and NPV at five sample quantiles of 400,000 draws: within 0.005 (4.5 errors are 0.0036)."""
    rng = np.random.default_rng(0)
    (l0, s0, d0), (l1, s1, d1) = LAWS[law]
    n = 400_000
    r0 = np.sqrt(rng.chisquare(d0, n) / d0)
    r1 = r0 if shared else np.sqrt(rng.chisquare(d1, n) / d1)
    fpr, tpr = ndtr(l0 * r0 + s0 * rng.standard_normal(n)), ndtr(l1 * r1 + s1 * rng.standard_normal(n))
    build = SharedScale if shared else SeparateScales
    pair = build(StudentEffect(l0, s0, d0), StudentEffect(l1, s1, d1))
    post = ErrorPosterior(pair, 0.0, prevalence, "in-sample", 20, 20)
    draws = rates_of(fpr, tpr, prevalence)
    q = np.array([0.025, 0.2, 0.5, 0.8, 0.975])
    off = {}
    for name in ("error", "ppv", "npv"):
        rate, sample = getattr(post, name), draws[name]
        off[name] = float(np.abs(rate.cdf(np.quantile(sample, q)) - q).max())
        assert rate.mean == pytest.approx(sample.mean(), abs=5 * sample.std() / np.sqrt(n) + 1e-6), name
        # At low prevalence the NPV has a long tail, and with it the sd of a sample a large error.
        kurtosis = np.mean((sample - sample.mean()) ** 4) / sample.std() ** 4
        assert abs(rate.sd / sample.std() - 1) < 5 * np.sqrt((kurtosis - 1) / (4 * n)), name
    assert max(off.values()) < 0.005, off


@pytest.mark.parametrize("covariance", ["common", "per-class"])
@pytest.mark.parametrize("family", ["known", "scaled-identity"])
def test_other_families_are_used_or_refused(make_data, covariance, family):
    """Known covariance and scaled identity are honoured with either kind of covariance, or refused: never ignored."""
    X, y, w = make_data(6, 80, 70, 2)
    prior = fl.Prior.known_covariance(25.0) if family == "known" else fl.Prior.scaled_identity(scale=400.0, kappa=900)
    plain = (
        fl.Prior.niw(scale=25.0, kappa=0.0, nu0=0, nu1=0) if family == "known" else fl.Prior.niw(scale=400.0, kappa=900)
    )
    options = {"method": "in-sample", "covariance": covariance}
    try:
        got = fl.error_posterior(w, X, y, prior=prior, **options)
    except fl.FoldlessError as err:
        assert "per-class" in str(err) or "covariance" in str(err)  # noqa: PT017
        return
    wrong = fl.error_posterior(w, X, y, prior=plain, **options)
    assert got.sensitivity.mean != pytest.approx(wrong.sensitivity.mean, abs=1e-6)
    if family == "known":
        x1 = X[y == 1].mean(axis=0) @ w / np.sqrt(25 * w @ w)
        assert got.sensitivity.mean == pytest.approx(ndtr(x1 * np.sqrt(70 / 71)), abs=1e-12)


def test_one_row_of_a_class_is_refused_per_class_without_prior():
    """One row says nothing about its own covariance: PriorError, not a division by zero."""
    X = np.arange(40.0)[:, None]
    with pytest.raises(fl.PriorError, match="not proper"):
        fl.error_posterior(
            [1.0], X, [1] + [0] * 39, prior=fl.Prior.improper(), covariance="per-class", method="in-sample"
        )


def test_derived_rate_is_a_law():
    """cdf 0 below 0, 1 from 1 on, non-decreasing; ppf inverts it to 1e-6; the interval holds the median."""
    pair = SharedScale(StudentEffect(-1.0, 0.2, 40), StudentEffect(0.8, 0.25, 40))
    post = ErrorPosterior(pair, 0.0, 0.3, "in-sample", 25, 16)
    for name in ("error", "ppv", "npv"):
        rate = getattr(post, name)
        values = rate.cdf(np.r_[-0.5, 0.0, np.linspace(0.01, 0.99, 99), 1.0, 2.0])
        assert values[0] == 0
        assert values[-2] == values[-1] == 1
        assert np.diff(values).min() > -1e-12
        q = np.array([0.05, 0.5, 0.95])
        np.testing.assert_allclose(rate.cdf(rate.ppf(q)), q, atol=1e-6)
        low, high = rate.interval(0.9)
        assert low < float(rate.ppf(0.5)) < high


def test_far_thresholds():
    """Thresholds far outside the scores: everything positive, or nothing; finite rates, no warning."""
    rng = np.random.default_rng(0)
    y = np.arange(100) % 2
    X = rng.normal(size=(100, 1)) + y[:, None]
    for threshold, sensitivity in ((-1e9, 1.0), (1e9, 0.0)):
        post = fl.error_posterior([1.0], X, y, method="in-sample", threshold=threshold)
        assert post.sensitivity.mean == pytest.approx(sensitivity, abs=1e-9)
        assert post.error.mean == pytest.approx(0.5, abs=1e-9)
        json.dumps(post.summary(), allow_nan=False)


def test_threshold_counts_from_the_decision_function(make_data):
    """With an estimator the threshold is one of decision_function: shifting the intercept equals shifting it."""
    from sklearn.linear_model import RidgeClassifier

    X, y, _ = make_data(8, 60, 50, 3)
    model = RidgeClassifier().fit(X, y)
    one = fl.error_posterior(model, X, y, method="in-sample", threshold=0.2)
    bare = fl.error_posterior(model.coef_.ravel(), X, y, method="in-sample", threshold=0.2 - float(model.intercept_[0]))
    assert one.error.mean == pytest.approx(bare.error.mean, abs=1e-10)
    turned = fl.error_posterior(model, X, y, method="in-sample", threshold=-0.2, pos_label=0)
    assert turned.sensitivity.mean == pytest.approx(one.specificity.mean, abs=1e-10)
    assert turned.ppv.mean == pytest.approx(one.npv.mean, abs=1e-8)


def test_summary_pickle_and_repr():
    """summary is plain JSON with every rate; the result and each of its rates pickle; repr names the essentials."""
    pair = SharedScale(StudentEffect(-1.0, 0.2, 40), StudentEffect(0.8, 0.25, 40))
    post = ErrorPosterior(pair, 0.0, 0.3, "in-sample", 25, 16, ("a note",))
    summary = post.summary(0.8)
    assert json.loads(json.dumps(summary, allow_nan=False)) == summary
    assert all(set(summary[name]) == {"mean", "sd", "low", "high"} for name in RATES)
    assert summary["notes"] == ["a note"]
    assert pickle.loads(pickle.dumps(post)).summary(0.8) == summary
    for name in RATES:
        rate = getattr(post, name)
        assert pickle.loads(pickle.dumps(rate)).mean == rate.mean
    assert repr(post).startswith("ErrorPosterior(error=")


def test_conditional_spread_of_a_distant_class():
    """The same, at its source."""
    pair = SharedScale(StudentEffect(1e200, 0.2, 30), StudentEffect(-1e200, 0.2, 30))
    assert pair.probability(*np.array([[0.5], [-0.5], [0.0]])) == pytest.approx(0.0, abs=1e-12)


def test_quantiles_of_a_narrow_law_are_in_order():
    """A standard deviation of 1e-8 is smaller than the last step of a wide law."""
    narrow = SharedScale(StudentEffect(30.0, 1e-3, 3.0), StudentEffect(30.0, 1e-3, 3.0))
    error = ErrorPosterior(narrow, 0.0, 0.5, "in-sample", 10, 10).error
    assert 0 < error.sd < 1e-3
    assert np.all(np.diff(error.ppf([0.025, 0.25, 0.5, 0.75, 0.975])) >= 0)


def test_no_decision_is_a_half_with_certainty():
    """Nobody is called negative: the NPV is one half by convention, and its quantiles are no rounding errors."""
    all_called = SharedScale(StudentEffect(1e300, 0.27, 33.0), StudentEffect(1e300, 0.24, 33.0))
    npv = ErrorPosterior(all_called, 0.0, 0.57, "in-sample", 13, 17).npv
    assert (npv.mean, *npv.interval(0.95)) == pytest.approx((0.5, 0.5, 0.5))
