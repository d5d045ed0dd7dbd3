"""The rates are those of ``predict``: wherever a classifier draws its line, that line is used."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression, RidgeClassifier, SGDClassifier
from sklearn.metrics import f1_score, make_scorer
from sklearn.model_selection import FixedThresholdClassifier, GridSearchCV, TunedThresholdClassifierCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import foldless as fl
from data import noise, normal_rows
from foldless.model.steps import own_threshold

Y = np.where(np.arange(120) % 3 == 0, "ill", "well")
X = normal_rows(Y == "ill", 4, shift=0.8, seed=3)


def fixed(model, **how):
    return FixedThresholdClassifier(model, **how)


WRAPPED = {
    "probability": fixed(LogisticRegression(), threshold=0.15),
    "of the first class": fixed(LogisticRegression(), threshold=0.15, pos_label="ill"),
    "decision": fixed(RidgeClassifier(), threshold=0.3),
    "decision of the first class": fixed(RidgeClassifier(), threshold=0.3, pos_label="ill"),
    "decision asked for": fixed(LogisticRegression(), threshold=0.4, response_method="decision_function"),
    "lda": fixed(LinearDiscriminantAnalysis(), threshold=0.7),
    "sgd": fixed(SGDClassifier(loss="log_loss", random_state=0), threshold=0.7),
    "auto": fixed(LogisticRegression()),
    "inside": make_pipeline(StandardScaler(), fixed(LogisticRegression(), threshold=0.2)),
    "outside": fixed(make_pipeline(StandardScaler(), LogisticRegression()), threshold=0.2),
    "search": GridSearchCV(fixed(LogisticRegression(), threshold=0.2), {"estimator__C": [0.1]}, cv=3),
    "tuned": TunedThresholdClassifierCV(LogisticRegression(), cv=3),
    "tuned for the first class": TunedThresholdClassifierCV(
        LogisticRegression(), cv=3, scoring=make_scorer(f1_score, pos_label="ill")
    ),
    "plain": RidgeClassifier(),
}


@pytest.mark.parametrize("name", WRAPPED)
@pytest.mark.parametrize("positive", ["ill", "well"])
def test_the_threshold_is_where_predict_changes_its_mind(name, positive):
    model = WRAPPED[name].fit(X, Y)
    post = fl.error_posterior(model, X, Y, pos_label=positive)
    sign = 1 if positive == "well" else -1  # decision_function points to the second class
    said = np.where(sign * model.decision_function(X) > post.threshold, positive, "ill" if sign == 1 else "well")
    assert np.array_equal(said, model.predict(X))
    if name not in ("auto", "plain", "tuned", "tuned for the first class"):
        assert post.threshold != 0


def test_rates_at_a_moved_threshold_are_those_of_new_rows():
    """Sensitivity and specificity at probability 0.15, against 40,000 rows that no fit has seen."""
    rng = np.random.default_rng(5)
    y = np.arange(40_000) % 3 == 0
    new = rng.normal(size=(y.size, 4)) + 0.8 * y[:, None]
    model = fixed(LogisticRegression(), threshold=0.15, pos_label="ill").fit(X, Y)
    post = fl.error_posterior(model, X, Y, pos_label="ill")
    said = model.predict(new) == "ill"
    for rate, truth in ((post.sensitivity, said[y].mean()), (post.specificity, (~said[~y]).mean())):
        low, high = rate.interval(0.95)
        assert low < truth < high
    at_zero = fl.error_posterior(model, X, Y, pos_label="ill", threshold=0.0)
    assert at_zero.sensitivity.mean < post.sensitivity.mean - 0.1


def test_a_tuned_threshold_is_told():
    model = TunedThresholdClassifierCV(LogisticRegression(), cv=3).fit(X, Y)
    assert any("chose its threshold by looking at y" in note for note in fl.error_posterior(model, X, Y).notes)
    assert not any("threshold" in note for note in fl.error_posterior(model, X, Y, threshold=0.1).notes)


class Platt(RidgeClassifier):
    """Probabilities of a making of its own."""

    def predict_proba(self, X):
        p = 1 / (1 + np.exp(-3 * self.decision_function(X) + 0.5))
        return np.column_stack([1 - p, p])


def test_probabilities_that_are_not_known_are_refused():
    model = fixed(Platt(), threshold=0.3).fit(X, Y)
    with pytest.raises(fl.EstimatorError, match="not a known function of its decision_function: give the threshold"):
        fl.error_posterior(model, X, Y)
    assert fl.error_posterior(model, X, Y, threshold=0.1).threshold == 0.1
    assert fl.ROCPosteriorDisplay.from_estimator(model, X, Y).point_ is None


@pytest.mark.parametrize("threshold", [0.0, 1.0])
def test_a_threshold_that_nobody_passes_is_a_number(threshold):
    assert np.isfinite(own_threshold(fixed(LogisticRegression(), threshold=threshold).fit(X, Y)))


def test_half_a_probability_is_not_a_decision_of_0_everywhere():
    """ "auto" is a probability of 0.5, wherever the classifier has it."""
    with pytest.raises(fl.EstimatorError, match="not a known function"):
        own_threshold(fixed(Platt()).fit(X, Y))
    model = fixed(SGDClassifier(loss="modified_huber", random_state=0), threshold=0.3).fit(X, Y)
    assert own_threshold(model) == pytest.approx(-0.4)


def test_the_other_class_has_a_threshold_of_plain_zero():
    X, y = noise(20, 20, 3, 0)
    post = fl.error_posterior(RidgeClassifier().fit(X, y), X, y, pos_label=0)
    assert "threshold=0," in repr(post)
