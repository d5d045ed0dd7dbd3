"""Defects that fuzzing found in searches and pictures. What is wanted is said in the name."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, RidgeClassifier

import foldless as fl

plt = pytest.importorskip("matplotlib.pyplot")

Y = np.arange(24) % 2
X = np.random.default_rng(0).normal(size=(24, 2)) + Y[:, None]


def test_strengths_that_no_axis_can_hold_stand_side_by_side():
    """The margins of an axis from 1e-300 to 1e300 overflowed."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # such fits are no good
        found = fl.FoldlessSearch(LogisticRegression(), {"C": [1e-300, 1.0, 1e300]}).fit(X, Y)
    display = fl.SearchDisplay.from_estimator(found)
    display.figure_.canvas.draw()
    drawn = [label.get_text() for label in display.ax_.get_xticklabels()]
    plt.close(display.figure_)
    assert drawn[-2:] == ["1", "1e+300"]


def test_search_over_labels_of_two_kinds_is_refused():
    """They cannot be put in order, and NumPy's own TypeError came out."""
    y = np.where(Y == 0, "one", np.array(1, dtype=object))  # the first one is what scikit-learn looks at
    with pytest.raises(fl.InputError, match=r"y mixes labels of different kinds \(int, str\)"):
        fl.FoldlessSearch(RidgeClassifier(), {"alpha": [1.0]}).fit(X, y)


def test_report_searches_with_labels_in_an_array_of_objects():
    """scikit-learn refuses to fit numbers in such an array, and its ValueError ended the whole report."""
    pytest.importorskip("jinja2")
    found = fl.report(RidgeClassifier().fit(X, Y), X, Y.astype(object)).summary()
    assert len(found["search"]["candidates"]) > 3
