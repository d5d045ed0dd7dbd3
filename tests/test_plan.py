"""Sample size: promises kept in simulated studies, agreement with a formula of others, bad questions refused."""

import numpy as np
import pytest

import foldless as fl
from foldless.honest.posterior import EffectPrior
from foldless.laws.effect import SQRT2, effect_of
from foldless.plan import sample_size


def hanley_mcneil_half_width(auc, n0, n1):
    """Hanley and McNeil (1982), Radiology 143: the usual planning formula, from exponential scores."""
    q1, q2 = auc / (2 - auc), 2 * auc**2 / (1 + auc)
    variance = (auc * (1 - auc) + (n1 - 1) * (q1 - auc**2) + (n0 - 1) * (q2 - auc**2)) / (n0 * n1)
    return 1.959964 * np.sqrt(variance)


def held_out_studies(plan, studies, seed):
    """Posteriors of simulated studies of the planned size, on normal held-out scores."""
    rng = np.random.default_rng(seed)
    y = np.r_[np.zeros(plan.n0, int), np.ones(plan.n1, int)]
    shift = effect_of(plan.auc, SQRT2) * y
    return [fl.auc_posterior_from_scores(y, rng.standard_normal(plan.n) + shift) for _ in range(studies)]


@pytest.mark.parametrize(("auc", "half_width"), [(0.7, 0.05), (0.8, 0.04), (0.9, 0.03)])
def test_close_to_the_formula_of_hanley_and_mcneil(auc, half_width):
    """Balanced classes: with others, exponential scores differ from normal ones."""
    plan = fl.plan_sample_size(auc, half_width, noise_share=0.0, prior=EffectPrior.flat())
    assert hanley_mcneil_half_width(auc, plan.n0, plan.n1) == pytest.approx(half_width, rel=0.1)


def test_interval_is_as_narrow_as_promised():
    plan = fl.plan_sample_size(0.75, 0.08, level=0.9, balance=0.4)
    widths = [np.diff(post.interval(0.9))[0] / 2 for post in held_out_studies(plan, 40, 1)]
    assert np.mean(widths) == pytest.approx(0.08, rel=0.05)


def test_bound_is_exceeded_as_often_as_promised():
    plan = fl.plan_sample_size(0.8, above=0.65, power=0.8)
    shown = [post.interval()[0] > 0.65 for post in held_out_studies(plan, 200, 2)]
    assert np.mean(shown) == pytest.approx(0.8, abs=0.085)  # three standard errors


def test_no_smaller_study_keeps_the_promise():
    prior = EffectPrior.default()
    plan = fl.plan_sample_size(0.8, 0.06, noise_share=0.3)
    widths = [
        sample_size.expected_half_width(
            sample_size.future_statistic(float(effect_of(0.8, SQRT2)), n - round(n / 2), round(n / 2), 0.3),
            prior,
            0.95,
        )
        for n in (plan.n - 1, plan.n)
    ]
    assert widths[1] <= 0.06 < widths[0]
    assert plan.half_width == widths[1]
    assert (plan.n0 + plan.n1, plan.noise_share, plan.above, plan.power) == (plan.n, 0.3, None, None)


def test_harder_questions_need_more_rows():
    def rows(half_width=0.06, **more):
        return fl.plan_sample_size(0.8, half_width, **{"n_features": 5, **more}).n

    easy = rows()
    assert easy < rows(0.05)
    assert easy < rows(level=0.99)
    assert easy < rows(balance=0.1)
    assert easy < rows(n_features=20) < rows(n_features=60)
    assert rows(None, above=0.7) < rows(None, above=0.72)


def test_worst_case_is_training_noise_throughout():
    plan = fl.plan_sample_size(0.8, 0.06)
    assert plan.n_if_noisy == fl.plan_sample_size(0.8, 0.06, noise_share=1.0).n
    assert 1.8 < plan.n_if_noisy / plan.n < 2.6
    assert str(plan.n_if_noisy) in plan.notes[0]
    assert fl.plan_sample_size(0.8, 0.06, n_features=1e9).n == plan.n_if_noisy


@pytest.mark.parametrize(("best", "P", "n0", "n1"), [(2.0, 10, 60, 90), (1.0, 40, 100, 100), (3.0, 3, 10, 500)])
def test_noise_share_of_features_inverts_the_learning_of_a_discriminant(best, P, n0, n1):
    c, kept = 1 / n0 + 1 / n1, 1 - P / (n0 + n1)
    delta = np.sqrt(kept * best**4 / (best**2 + P * c))
    share = 1 - delta**2 / best**2
    assert sample_size.noise_share_of(delta, n0, n1, P) == pytest.approx(min(1.0, share / kept))


def test_discriminant_learns_as_the_formula_says():
    """The law behind n_features: unshrunk LDA on normal features, its AUC known in closed form."""
    best, P, n = 2.0, 15, 50
    shift = np.full(P, best / np.sqrt(P))
    rng, found = np.random.default_rng(3), []
    for _ in range(300):
        X = rng.standard_normal((2 * n, P))
        X[n:] += shift
        means = X[:n].mean(axis=0), X[n:].mean(axis=0)
        within = np.cov(np.r_[X[:n] - means[0], X[n:] - means[1]].T)
        w = np.linalg.solve(within, means[1] - means[0])
        found.append(w @ shift / np.linalg.norm(w))
    foretold = np.sqrt((1 - P / (2 * n)) * best**4 / (best**2 + P * 2 / n))
    assert np.mean(found) == pytest.approx(foretold, rel=0.03)


def test_what_a_reader_must_know_is_said():
    huge = fl.plan_sample_size(0.7, 0.01, n_features=5)
    assert huge.n > 4000
    assert huge.notes == ()  # every row counts, however many
    tiny = fl.plan_sample_size(0.99, 0.4, noise_share=0.0)
    assert tiny.n == 20
    assert any("fewer than 20 rows" in note for note in tiny.notes)
    assert any("perfect order" in note for note in tiny.notes)
    assert fl.plan_sample_size(0.8, 0.06, n_features=5).notes == ()


def test_rare_classes_keep_a_few_rows():
    plan = fl.plan_sample_size(0.9, 0.4, balance=0.01)
    assert plan.n1 >= 5


def test_summary_is_plain():
    found = fl.plan_sample_size(0.8, above=0.7).summary()
    assert isinstance(found["notes"], list)
    assert found["power"] >= 0.9
    assert found["n"] == found["n0"] + found["n1"]


BAD = [
    ({"auc": 0.8}, "got neither"),
    ({"auc": 0.8, "half_width": 0.05, "above": 0.7}, "got both"),
    ({"auc": 0.5, "half_width": 0.05}, "strictly between 0.5"),
    ({"auc": 1.0, "half_width": 0.05}, "strictly between 0.5"),
    ({"auc": "good", "half_width": 0.05}, "auc must be a number"),
    ({"auc": float("nan"), "half_width": 0.05}, "auc must be finite"),
    ({"auc": 0.8, "half_width": 0.0}, "half_width must lie"),
    ({"auc": 0.8, "half_width": 0.5}, "half_width must lie"),
    ({"auc": 0.8, "half_width": 1e-6}, "more than 10,000,000 rows"),
    ({"auc": 0.8, "half_width": 0.05, "level": 95}, "level must lie"),
    ({"auc": 0.8, "half_width": 0.05, "balance": 1.0}, "balance must lie"),
    ({"auc": 0.8, "above": 0.8}, "less than the expected auc"),
    ({"auc": 0.8, "above": 0.7, "power": 1.0}, "power must lie"),
    ({"auc": 0.8, "half_width": 0.05, "noise_share": 1.1}, "between 0 and 1"),
    ({"auc": 0.8, "half_width": 0.05, "n_features": 0}, "above 0"),
    ({"auc": 0.8, "half_width": 0.05, "n_features": 3, "noise_share": 0.1}, "give one of them"),
    ({"auc": 0.8, "half_width": 0.05, "prior": fl.Prior.paper()}, "EffectPrior"),
]


@pytest.mark.parametrize(("question", "words"), BAD)
def test_bad_questions_are_refused(question, words):
    with pytest.raises(fl.FoldlessError, match=words):
        fl.plan_sample_size(**question)
