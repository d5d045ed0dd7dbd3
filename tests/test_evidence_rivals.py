"""The rivals of three pages of results/, computed without scikit-learn: its own functions say the same."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy.special import expit
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score, brier_score_loss, roc_auc_score
from sklearn.model_selection import GridSearchCV, cross_val_score, permutation_test_score

import foldless as fl
from foldless_studies.evidence import rms, tuning, validation
from foldless_studies.evidence.permutation import MODELS, drawn, folded


@pytest.mark.parametrize("columns", [5, 30])
@pytest.mark.parametrize("name", MODELS)
def test_folds_of_permuted_labels_are_those_of_permutation_test_score(name, columns):
    X, y = drawn(20, columns, 0, 1.0)
    true, others, _ = permutation_test_score(
        MODELS[name], X, y, scoring="roc_auc", cv=5, n_permutations=3, random_state=0
    )
    np.testing.assert_allclose(folded(MODELS[name], X, y, 3), [true, *others], atol=1e-12)


@pytest.mark.parametrize("columns", [5, 40])
def test_nested_folds_are_those_of_a_grid_search(columns, monkeypatch):
    monkeypatch.setattr(tuning, "STRENGTHS", np.array([0.01, 1.0]))
    X, y = drawn(30, columns, 0, 1.0)
    model = LogisticRegression(tol=1e-10, max_iter=10_000)
    search = GridSearchCV(model, {"C": tuning.STRENGTHS}, scoring="roc_auc", cv=5)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = cross_val_score(search, X, y, scoring="roc_auc", cv=5).mean()
    assert tuning.nested(X, y) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(("columns", "C"), [(5, 0.01), (5, 100.0), (30, 1.0)])
def test_refits_with_weights_are_those_of_scikit_learn(columns, C):
    X, y = drawn(25, columns, 0, 1.0)
    rng = np.random.default_rng(0)
    weights = np.array([np.bincount(rng.integers(y.size, size=y.size), minlength=y.size) for _ in range(3)], float)
    model = LogisticRegression(C=C, tol=1e-10, max_iter=100_000)
    expected = [model.fit(X, y, sample_weight=w).predict_proba(X)[:, 1] for w in weights]
    np.testing.assert_allclose(expit(validation.fits(X, y.astype(float), weights, C)), expected, atol=1e-4)


def test_measures_of_a_line_of_probabilities_are_those_of_scikit_learn():
    """Equal probabilities among them; the recalibrated log odds have slope 1 and intercept 0."""
    rng = np.random.default_rng(1)
    y, p = (rng.random(60) < 0.4).astype(float), np.round(rng.uniform(0.02, 0.98, (2, 60)), 1)
    p = np.clip(p, 0.05, 0.95)
    slope, intercept, brier, precision, *benefits = validation.measured(p, y).T
    for k, line in enumerate(p):
        z = np.log(line / (1 - line))
        free = LogisticRegression(C=1e9, tol=1e-12, max_iter=10_000).fit(z[:, None], y)
        assert slope[k] == pytest.approx(free.coef_[0, 0], abs=1e-3)
        assert expit(z + intercept[k]).mean() == pytest.approx(y.mean(), abs=1e-6)
        assert brier[k] == pytest.approx(brier_score_loss(y, line))
        assert precision[k] == pytest.approx(average_precision_score(y, line))
        assert benefits[1][k] == pytest.approx(np.mean((line > 0.2) * (y - (1 - y) / 4)))


def test_the_truth_by_quadrature_is_that_of_many_rows():
    rng = np.random.default_rng(2)
    w, effect, start = np.array([1.2, -0.4, 0.3]), np.array([0.7, 0.7, 0.0]), -1.0
    X = rng.standard_normal((200_000, 3))
    drawn_rows = validation.measured(expit(X @ w - 0.5), expit(X @ effect + start))
    by_quadrature = validation.measured(*validation.population(w, -0.5, effect, start))
    np.testing.assert_allclose(by_quadrature, drawn_rows, atol=0.01)


def test_the_area_of_chances_is_that_of_rows_weighted_by_them():
    """Each row once as positive and once as negative, with its chances as weights; ties count half."""
    rng = np.random.default_rng(3)
    p, q = np.round(rng.uniform(size=200), 1), rng.uniform(size=200)
    expected = roc_auc_score(np.repeat([1, 0], 200), np.tile(p, 2), sample_weight=np.concatenate([q, 1 - q]))
    assert rms.area(p, q) == pytest.approx(expected)


def test_the_page_on_rms_needs_r(monkeypatch):
    monkeypatch.setattr(rms.shutil, "which", lambda name: None)
    with pytest.raises(fl.InputError, match="needs Rscript with the package rms"):
        rms.said_by_r("-e", "1")


def has_rms():
    try:
        return rms.said_by_r("-e", "suppressMessages(library(rms)); cat(1)") == "1"
    except fl.InputError:
        return False


@pytest.mark.skipif(not has_rms(), reason="R or its package rms is not installed")
def test_what_r_says_is_read_sample_by_sample():
    """The corrected figures lie near those of the bootstrap of the studies, whatever was drawn."""
    tables = {k: validation.drawn(100, 5, 0.5, rms.NO_PENALTY, k)[:2] for k in (0, 1)}
    found, seconds = rms.by_r(tables)
    assert found.shape == (2, 4)
    assert seconds > 0
    for line, (X, y) in zip(found, tables.values(), strict=True):
        model = LogisticRegression(C=rms.NO_PENALTY, tol=1e-8, max_iter=5000).fit(X, y)
        apparent = validation.measured(model.predict_proba(X)[:, 1], y)[0]
        own = validation.bootstrap(X, y, rms.NO_PENALTY, apparent, 0)
        np.testing.assert_allclose(line[1:3], own[[0, 2]], atol=0.05)
        assert line[3] > 190
