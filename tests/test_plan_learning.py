"""The learning curve: its law against random draws, its forecasts against refits where the truth is known."""

import matplotlib as mpl
import numpy as np
import pytest
from scipy.special import ndtr
from scipy.stats import beta
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import foldless as fl
from data import alternating
from development_data import load
from foldless.laws.effect import GridEffect
from foldless.plan import learning

mpl.use("Agg")


def gaussian(seed, n, P=20, best=1.5):
    """Two normal classes of n/2 rows, `best` apart; and the shift between them."""
    shift = np.full(P, best / np.sqrt(P))
    return *alternating(n, P, shift=shift, seed=seed), shift


def true_auc(model, shift):
    w = model.coef_.ravel()
    return ndtr(w @ shift / np.linalg.norm(w) / np.sqrt(2))


@pytest.fixture(scope="module")
def fitted():
    X, y, _ = gaussian(0, 60)
    return LogisticRegression(C=0.1, tol=1e-8).fit(X, y), X, y


def test_today_is_the_posterior_of_today(fitted):
    curve, post = fl.learning_curve(*fitted), fl.auc_posterior(*fitted)
    assert curve.factors == (1.0, 2.0, 5.0)
    assert curve.rows == (60, 120, 300)
    assert curve.at(1).interval() == post.interval()
    assert curve.at(1).mean == post.mean
    assert curve.noise_share == post.details["noise_share"]
    assert curve.method == post.method == "loo"


def test_gain_is_between_none_and_the_square_root_of_the_factor(fitted):
    curve = fl.learning_curve(*fitted)
    q = np.linspace(0.3, 0.99, 20)
    for factor in (2, 5):
        gain = curve.at(factor).effect.ppf(q) / curve.at(1).effect.ppf(q)
        assert np.all((gain > 1) & (gain < np.sqrt(factor)))


@pytest.mark.parametrize("share", [0.02, 0.4, 1.0])
def test_law_matches_draws(share):
    """delta from its posterior, r from its Beta law, both drawn by other means."""
    x = np.linspace(-4, 10, 1401)
    effect = GridEffect(x, -0.5 * ((x - 0.6) / 0.4) ** 2)
    rng = np.random.default_rng(4)
    mean = learning.REMOVABLE * share
    r = beta.rvs(learning.CONCENTRATION * mean, learning.CONCENTRATION * (1 - mean), size=400_000, random_state=rng)
    delta = rng.normal(0.6, 0.4, size=r.size)
    later = np.where(delta > 0, delta / np.sqrt(1 - r + r / 5), delta)
    q = np.array([0.025, 0.1, 0.25, 0.5, 0.75, 0.9, 0.975])
    assert learning.grown(effect, share, 5.0).ppf(q) == pytest.approx(np.quantile(later, q), abs=0.012)


def test_forecast_meets_refits_on_average():
    """Ridge regression on normal data: mean forecast at five times the rows, and the AUC of refits in closed form."""
    foretold, measured, today, covered = [], [], [], []
    for seed in range(25):
        X, y, shift = gaussian(seed, 400, P=60)
        model = RidgeClassifier(alpha=100.0)
        curve = fl.learning_curve(model.fit(X[:80], y[:80]), X[:80], y[:80], (1, 5))
        now = true_auc(model, shift)
        later = true_auc(model.fit(X, y), shift)
        low, high = curve.at(5).interval()
        foretold.append(curve.at(5).mean)
        today.append(now)
        measured.append(later)
        covered.append(low <= later <= high)
    assert np.mean(measured) - np.mean(today) > 0.05  # there is something to foretell
    assert np.mean(foretold) == pytest.approx(np.mean(measured), abs=0.025)
    assert np.mean(covered) >= 0.85


def test_interval_to_come_is_that_of_a_study_of_that_size(fitted):
    X, y, _ = gaussian(5, 1500)
    model = LogisticRegression(C=0.1, tol=1e-8)
    half = fl.learning_curve(model.fit(X[:300], y[:300]), X[:300], y[:300], (1, 5)).half_widths
    now = fl.auc_posterior(model, X[:300], y[:300]).interval()
    later = fl.auc_posterior(model.fit(X, y), X, y).interval()
    assert half[0] == pytest.approx(np.diff(now)[0] / 2, rel=0.1)
    assert half[1] == pytest.approx(np.diff(later)[0] / 2, rel=0.15)


def test_perfect_order_is_not_trusted_too_far():
    """The interval of perfectly ordered rows rests on the order too; so does the one to come."""
    X, y, _ = gaussian(6, 40, P=2, best=8.0)
    model = LogisticRegression().fit(X, y)
    low, high = fl.auc_posterior(model, X, y).interval()
    assert fl.learning_curve(model, X, y, (1,)).half_widths[0] == pytest.approx((high - low) / 2, rel=0.3)


def test_turned_classes_and_groups(fitted):
    model, X, y = fitted
    turned = fl.learning_curve(model, X, y, (1, 3), pos_label=0)
    straight = fl.learning_curve(model, X, y, (1, 3))
    assert turned.at(3).mean == pytest.approx(straight.at(3).mean, abs=1e-9)
    clustered = fl.learning_curve(model, X, y, (1, 3), groups=np.arange(60) // 4)
    assert clustered.at(3).mean != straight.at(3).mean
    assert clustered.half_widths[1] < clustered.half_widths[0]


def test_what_a_reader_must_know_is_said():
    X, y, _ = gaussian(1, 40, P=100)
    noisy = fl.learning_curve(LogisticRegression().fit(X, y), X, y, (1, 10))
    assert any("training noise is" in note for note in noisy.notes)
    assert any("up to 5 times" in note for note in noisy.notes)
    assert noisy.posteriors[0].notes == noisy.notes
    X, y, _ = gaussian(2, 900, P=3)
    many = fl.learning_curve(LogisticRegression().fit(X, y), X, y, (1, 5))
    assert many.notes == ()  # every row counts, however many
    assert fl.learning_curve(LogisticRegression().fit(X, y), X, y, (1, 2)).notes == ()


@pytest.mark.parametrize("factors", [(0.5, 1), (), (1, np.nan), "many", (2, 1), (1, 1), (1, 1e6), None])
def test_bad_factors_are_refused(fitted, factors):
    with pytest.raises(fl.InputError, match="factors must"):
        fl.learning_curve(*fitted, factors)


def test_other_bad_input_is_refused(fitted):
    with pytest.raises(fl.PriorError, match="EffectPrior"):
        fl.learning_curve(*fitted, prior=fl.Prior.paper())
    with pytest.raises(fl.InputError, match="not on the curve"):
        fl.learning_curve(*fitted).at(3)
    with pytest.raises(fl.EstimatorError):
        fl.learning_curve(LogisticRegression(), *fitted[1:])


def test_picture_shows_the_numbers(fitted):
    curve = fl.learning_curve(*fitted)
    display = fl.LearningCurveDisplay.from_curve(curve, level=0.8)
    assert display.line_.get_xdata().tolist() == list(curve.rows)
    assert display.line_.get_ydata().tolist() == [post.mean for post in curve.posteriors]
    band = display.band_.get_paths()[0].vertices[:, 1]
    assert band.max() == pytest.approx(curve.at(5).interval(0.8)[1])
    assert (display.low[0], display.high[0]) == curve.at(1).interval(0.8)
    assert "80 % interval, today" in [t.get_text() for t in display.ax_.get_legend().get_texts()]
    with pytest.raises(fl.InputError, match="LearningCurve"):
        fl.LearningCurveDisplay.from_curve([1, 2])


@pytest.mark.parametrize(("name", "C"), [("spambase", 1.0), ("phoneme_aa_ao", 0.01)])
def test_forecast_on_real_data(name, C):
    """Trained on 100 rows, foretold for 500, measured on the rest: within the interval, nearly always."""
    data = load(name)
    inside = []
    for seed in range(4):
        order = np.random.default_rng(seed).permutation(len(data["y"]))
        first, more, test = order[:100], order[:500], order[500:]
        X = data["X"][:, data["X"][first].std(axis=0) > 0]
        model = make_pipeline(StandardScaler(), LogisticRegression(C=C, max_iter=2000))
        curve = fl.learning_curve(model.fit(X[first], data["y"][first]), X[first], data["y"][first], (1, 5))
        scores = model.fit(X[more], data["y"][more]).decision_function(X[test])
        low, high = curve.at(5).interval()
        inside.append(low <= roc_auc_score(data["y"][test], scores) <= high)
    assert sum(inside) >= 3
