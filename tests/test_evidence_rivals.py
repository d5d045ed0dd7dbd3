"""The rivals of two pages of results/, computed without scikit-learn's checks: its own functions say the same."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score, permutation_test_score

from foldless_studies.evidence import tuning
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
