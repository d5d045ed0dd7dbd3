"""`SearchDisplay`: every candidate at its value, the chosen one marked, nothing left out without a word."""

from __future__ import annotations

from types import SimpleNamespace

import matplotlib as mpl
import numpy as np
import pytest

mpl.use("Agg")
import warnings

import matplotlib.pyplot as plt
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.model_selection import GridSearchCV

import foldless as fl
from data import alternating
from foldless.show.search import candidates_of

C = np.geomspace(1e-3, 1e2, 6)
MEAN = np.array([0.70, 0.80, 0.86, 0.88, 0.87, 0.85])


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


def search(params, mean, chosen, half=0.05, notes=()):
    """A stand-in with the table of a fitted FoldlessSearch."""
    mean = np.asarray(mean, dtype=float)
    order = np.argsort(np.argsort(-np.nan_to_num(mean, nan=-1))) + 1
    table = {"params": params, "mean": mean, "sd": np.full(mean.size, half / 2), "lower": mean - half}
    table |= {"upper": mean + half, "rank": order}
    posterior = SimpleNamespace(notes=notes)
    return SimpleNamespace(
        best_index_=chosen, best_params_=params[chosen], results_=table, best_posterior_=posterior, level=0.9
    )


def path(chosen=3, **kwargs):
    return search([{"C": c} for c in C], MEAN, chosen, **kwargs)


def written(display):
    return "" if display.notes_ is None else " ".join(display.notes_.get_text().split())


def labels(display):
    return [t.get_text() for t in display.ax_.get_legend().get_texts()]


def test_line_band_and_mark_are_the_table():
    """Means at their values of C, a band from lower to upper, the mark at best_index_; the axis is logarithmic."""
    display = fl.SearchDisplay.from_estimator(path())
    np.testing.assert_array_equal(display.line_.get_data(), [C, MEAN])
    band = {tuple(v) for v in display.band_.get_paths()[0].vertices.round(12)}
    for edge in (MEAN - 0.05, MEAN + 0.05):
        assert {tuple(v) for v in np.column_stack([C, edge]).round(12)} <= band
    assert (display.chosen_.get_xdata()[0], display.chosen_.get_ydata()[0]) == (C[3], MEAN[3])
    assert display.top_ is None
    assert display.ax_.get_xscale() == "log"
    assert display.ax_.get_xlabel() == "C"
    assert labels(display) == ["chosen: C = 1\nAUC 0.880 (0.830 to 0.930)"]
    assert display.notes_ is None
    assert display.ax_.get_ylabel() == "AUC on new data: mean and 90 % interval"
    display.figure_.canvas.draw()


def test_unsorted_candidates_are_joined_in_order():
    """The order of the grid does not matter; the chosen index still means the table's."""
    order = [4, 0, 3, 5, 1, 2]
    display = fl.SearchDisplay.from_estimator(search([{"C": C[k]} for k in order], MEAN[order], 2))
    np.testing.assert_array_equal(display.line_.get_data(), [C, MEAN])
    assert display.chosen_.get_xdata()[0] == C[3]


def test_the_simplest_choice_shows_the_highest_too():
    """When the chosen one is not of rank 1, both are marked."""
    display = fl.SearchDisplay.from_estimator(path(chosen=1))
    assert display.chosen_.get_xdata()[0] == C[1]
    assert (display.top_.get_xdata()[0], display.top_.get_ydata()[0]) == (C[3], MEAN[3])
    assert display.top_.get_markerfacecolor() == "none"
    assert labels(display)[1].startswith("highest mean: C = 1")


@pytest.mark.parametrize(
    ("values", "log"),
    [
        ([0.1, 1, 10], True),
        ([0.1, 1], True),
        ([1, 2, 3, 4], False),
        (list(range(1, 21)), False),
        ([1, 5], False),
        ([0, 0.01, 1], False),
        ([1, 3, 10, 30, 100], True),
        (["l1", "l2"], False),
        ([True, False], False),
    ],
)
def test_logarithmic_axis_where_values_span_decades(values, log):
    """Positive values, a factor of ten, and more even on the logarithmic axis."""
    found = candidates_of(search([{"p": v} for v in values], np.linspace(0.7, 0.8, len(values)), 0))
    assert found.spans_decades is log


def test_log_can_be_overruled():
    """plot(log=) decides, and draws again on given axes."""
    display = fl.SearchDisplay.from_estimator(path(), log=False)
    assert display.ax_.get_xscale() == "linear"
    _, ax = plt.subplots()
    assert display.plot(ax, log=True, color="#123456") is display
    assert (display.ax_, ax.get_xscale()) == (ax, "log")
    assert display.line_.get_color() == "#123456"


def test_two_parameters():
    """The one with more values goes across, one line per value of the other; that of the chosen one has the band."""
    grid = [{"C": c, "k": k} for k in (10, 50) for c in C]
    found = search(grid, np.concatenate([MEAN - 0.1, MEAN]), 9)
    display = fl.SearchDisplay.from_estimator(found)
    assert [line.get_label() for line in display.lines_] == ["k = 50", "k = 10"]
    np.testing.assert_array_equal(display.lines_[1].get_ydata(), MEAN - 0.1)
    assert labels(display)[-1].startswith("chosen: C = 1, k = 50")
    other = fl.SearchDisplay.from_estimator(found, param="k")
    assert other.ax_.get_xlabel() == "k"
    assert len(other.lines_) == len(C)


def test_pipeline_parameters_are_found_by_their_last_part():
    """'C' finds 'clf__C'; an ambiguous or unknown name is refused with the choices."""
    found = search([{"clf__C": c, "sel__k": k} for c in C for k in (5, 9)], np.repeat(MEAN, 2), 0)
    assert candidates_of(found, "C").param == "clf__C"
    assert candidates_of(found, "sel__k").param == "sel__k"
    display = fl.SearchDisplay.from_estimator(found)
    assert display.ax_.get_xlabel() == "clf__C"
    assert labels(display)[:2] == ["k = 5", "k = 9"]
    assert labels(display)[2].startswith("chosen: C = 0.001, k = 5\n")
    with pytest.raises(fl.InputError, match=r"param 'gamma' is not one parameter .* choose among 'clf__C', 'sel__k'"):
        candidates_of(found, "gamma")
    both = search([{"a__C": 1.0, "b__C": 2.0}, {"a__C": 2.0, "b__C": 2.0}], [0.7, 0.8], 0)
    with pytest.raises(fl.InputError, match="choose among 'a__C', 'b__C'"):
        candidates_of(both, "C")


def test_values_that_are_no_numbers_stand_side_by_side():
    """Names, None and estimators are labels on the axis, with a bar each and no line between them."""
    values = ["l2", None, RidgeClassifier()]
    display = fl.SearchDisplay.from_estimator(search([{"penalty": v} for v in values], [0.8, 0.82, 0.7], 1))
    assert [t.get_text() for t in display.ax_.get_xticklabels()] == ["l2", "None", "RidgeClassifier"]
    np.testing.assert_array_equal(display.line_.get_data(), [[0, 1, 2], [0.8, 0.82, 0.7]])
    assert display.line_.get_linestyle() == "None"
    x, ends = (v.reshape(3, 3)[:, :2] for v in display.band_.get_data())
    np.testing.assert_array_equal(x, [[0, 0], [1, 1], [2, 2]])
    np.testing.assert_allclose(ends, [[0.75, 0.85], [0.77, 0.87], [0.65, 0.75]])


def test_what_is_not_drawn_is_said():
    """Candidates without the parameter or without a posterior are counted under the axes, also the chosen one."""
    grid = [{"C": 1.0}, {"C": 2.0}, {"C": 3.0}, {"alpha": 3.0}]
    display = fl.SearchDisplay.from_estimator(search(grid, [0.8, np.nan, 0.7, 0.9], 3, notes=("y was seen.",)))
    assert display.chosen_ is None
    assert written(display) == (
        "Note: 1 of 4 candidates have no C and are not drawn, the chosen one among them. "
        "Note: 1 of 4 candidates have no posterior and are not drawn. Note: y was seen."
    )
    np.testing.assert_array_equal(display.line_.get_xdata(), [1, 3])


def test_a_single_candidate():
    """One candidate is a dot with a bar."""
    display = fl.SearchDisplay.from_estimator(search([{"C": 1.0}], [0.8], 0))
    np.testing.assert_allclose(display.band_.get_ydata()[:2], [0.75, 0.85])
    display.figure_.canvas.draw()


def test_wrong_searches():
    """Unfitted, another kind of search, no parameter, nothing but failures: each says what to do."""
    unfitted = SimpleNamespace(param_grid={"C": [1]})
    with pytest.raises(fl.InputError, match="is not fitted: call fit"):
        fl.SearchDisplay.from_estimator(unfitted)
    X, y = np.arange(12.0)[:, None] % 5, np.arange(12) % 2
    other = GridSearchCV(LogisticRegression(), {"C": [1.0, 2.0]}, cv=2).fit(X, y)
    with pytest.raises(fl.InputError, match=r"expected a fitted FoldlessSearch, got GridSearchCV: pass FoldlessSearch"):
        fl.SearchDisplay.from_estimator(other)
    with pytest.raises(fl.InputError, match="varied no parameter"):
        fl.SearchDisplay.from_estimator(search([{}], [0.8], 0))
    with pytest.raises(fl.InputError, match="no candidate with C has a posterior"):
        fl.SearchDisplay.from_estimator(search([{"C": 1.0}], [np.nan], 0))


def test_a_real_search(make_data):
    """The picture of a FoldlessSearch is its table: means, intervals, choice, level and the note on its optimism."""
    X, y, _ = make_data(3, 25, 30, 8, shift=0.6)
    found = fl.FoldlessSearch(LogisticRegression(), {"C": C[::-1]}, rule="simplest", level=0.8).fit(X, y)
    display = fl.SearchDisplay.from_estimator(found)
    order = np.argsort(C[::-1])
    np.testing.assert_array_equal(display.line_.get_data(), [C, found.results_["mean"][order]])
    band = {tuple(v) for v in display.band_.get_paths()[0].vertices.round(12)}
    assert {tuple(v) for v in np.column_stack([C, found.results_["lower"][order]]).round(12)} <= band
    assert display.chosen_.get_xdata()[0] == found.best_params_["C"]
    assert display.chosen_.get_ydata()[0] == found.best_score_
    assert "80 % interval" in display.ax_.get_ylabel()
    assert written(display) == " ".join(f"Note: {note}" for note in found.best_posterior_.notes)


def test_strengths_that_no_axis_can_hold_stand_side_by_side():
    """The margins of an axis from 1e-300 to 1e300 overflowed."""
    X, Y = alternating(24, 2, shift=1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # such fits are no good
        found = fl.FoldlessSearch(LogisticRegression(), {"C": [1e-300, 1.0, 1e300]}).fit(X, Y)
    display = fl.SearchDisplay.from_estimator(found)
    display.figure_.canvas.draw()
    drawn = [label.get_text() for label in display.ax_.get_xticklabels()]
    plt.close(display.figure_)
    assert drawn[-2:] == ["1", "1e+300"]
