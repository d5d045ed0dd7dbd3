"""`ComparisonDisplay`: what is drawn are the numbers of the comparison."""

from __future__ import annotations

import matplotlib as mpl
import numpy as np
import pytest

mpl.use("Agg")
import matplotlib.pyplot as plt
from sklearn.linear_model import LogisticRegression, RidgeClassifier

import foldless as fl


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def found(make_data):
    X, y, _ = make_data(5, 30, 25, 6, shift=0.6)
    a, b = LogisticRegression(C=0.01, tol=1e-8).fit(X, y), RidgeClassifier().fit(X, y)
    return fl.compare(a, b, X, y, rope=0.01, names=("cheap $", "ridge")), (a, b, X, y)


def area(fill):
    v = fill.get_paths()[0].vertices
    return 0.5 * abs(np.dot(v[:, 0], np.roll(v[:, 1], 1)) - np.dot(v[:, 1], np.roll(v[:, 0], 1)))


def test_areas_are_the_probabilities(found):
    display = fl.ComparisonDisplay.from_comparison(found[0])
    wanted = [found[0].prob_b_better, found[0].prob_rope, found[0].prob_a_better]
    np.testing.assert_allclose([area(f) for f in display.fills_], wanted, atol=0.01)
    assert [line.get_xdata()[0] for line in display.rope_] == [-0.01, 0.01]
    assert tuple(display.interval_.get_xdata()) == found[0].difference.interval()
    assert display.point_.get_xdata()[0] == found[0].difference.mean
    assert [t.get_text().split(":")[0] for t in display.labels_] == [
        "ridge better", "equal within 0.01", "cheap $ better",
    ]  # fmt: skip


def test_without_a_rope_there_is_one_line_at_zero(found):
    display = fl.ComparisonDisplay.from_comparison(found[0].with_rope(0.0), level=0.9)
    assert [line.get_xdata()[0] for line in display.rope_] == [0.0]
    assert len(display.labels_) == len(display.fills_) == 2
    assert "90 %" in display.ax_.get_xlabel()


def test_from_estimators_is_compare(found):
    a, b, X, y = found[1]
    display = fl.ComparisonDisplay.from_estimators(a, b, X, y, rope=0.01)
    assert display.shares == found[0].difference.beyond(0.01)


def test_a_difference_of_exactly_zero_can_be_drawn(found):
    a, _, X, y = found[1]
    display = fl.ComparisonDisplay.from_comparison(fl.compare(a, a, X, y))
    assert display.shares == (0.0, 1.0, 0.0)
    assert any(t.get_text().startswith("equal within 0: 1.000") for t in display.labels_)
    low, high = display.ax_.get_xlim()
    assert low < 0 < high


def test_given_axes_are_used_and_notes_written(found):
    X, y = found[1][2:]
    surrogate = fl.compare(found[1][0], np.ones(6), X, y)
    figure, axes = plt.subplots(1, 2)
    display = fl.ComparisonDisplay.from_comparison(surrogate, ax=axes[1])
    assert display.ax_ is axes[1]
    assert "nearest ridge regression" in display.notes_.get_text().replace("\n   ", " ")
    figure.canvas.draw()


def test_only_comparisons_are_drawn(found):
    with pytest.raises(
        fl.InputError, match=r"expected a Comparison, got AUCPosterior: compute it with foldless.compare"
    ):
        fl.ComparisonDisplay.from_comparison(found[0].a)
