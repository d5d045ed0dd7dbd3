"""Every answer carries the notes that concern it, whichever function gave it."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, RidgeClassifier

import foldless as fl
from data import noise

FEW = "the smaller class has 4 rows: the spread of its scores is a guess, and so is the interval."


@pytest.mark.parametrize(
    "ask",
    [
        fl.auc_posterior,
        fl.roc_posterior,
        fl.error_posterior,
        fl.honest_scores,
        fl.learning_curve,
        lambda model, X, y: fl.auc_posterior_from_scores(y, X[:, 0]),
        lambda model, X, y: fl.compare(model, LogisticRegression().fit(X, y), X, y).a,
        lambda model, X, y: fl.compare(model, LogisticRegression().fit(X, y), X, y),
        lambda model, X, y: fl.FoldlessSearch(RidgeClassifier(), {"alpha": [1.0, 10.0]}).fit(X, y).best_posterior_,
        lambda model, X, y: fl.FoldlessSearch(model, {"fit_intercept": [True]}).fit(X, y).best_posterior_,
    ],
)
def test_every_answer_says_that_a_class_has_few_rows(ask):
    X, y = noise(4, 30, 3, 0)
    assert FEW in ask(RidgeClassifier().fit(X, y), X, y).notes


@pytest.mark.parametrize("ask", [fl.roc_posterior, fl.error_posterior, fl.honest_scores, fl.learning_curve])
def test_every_answer_reports_copies_and_the_label_among_the_columns(ask):
    X, y = noise(20, 20, 3, 0)
    twice, labels = np.vstack([X, X]), np.r_[y, y]
    notes = ask(RidgeClassifier().fit(twice, labels), twice, labels).notes
    assert any("an earlier one in every column" in note for note in notes)
    leaked = np.column_stack([X, y])
    notes = ask(RidgeClassifier().fit(leaked, y), leaked, y).notes
    assert any("is the label, written another way" in note for note in notes)


def test_search_and_compare_have_the_notes_of_auc_posterior():
    X, y = noise(6, 40, 4, 1)
    X = X**5 + 3 * y[:, None]
    model = RidgeClassifier(alpha=2.0).fit(X, y)
    alone = fl.auc_posterior(model, X, y)
    assert len(alone.notes) > 1
    assert fl.compare(model, LogisticRegression().fit(X, y), X, y).a.notes == alone.notes
    assert fl.FoldlessSearch(RidgeClassifier(), {"alpha": [2.0]}).fit(X, y).best_posterior_.notes == alone.notes
