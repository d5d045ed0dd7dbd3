"""`AUCPosteriorDisplay` and `ROCPosteriorDisplay`: what is drawn are the numbers of the posterior, and its notes."""

from __future__ import annotations

import pydoc
import sys
import warnings

import matplotlib as mpl
import numpy as np
import pytest

mpl.use("Agg")
import matplotlib.pyplot as plt
from sklearn.feature_selection import SelectKBest
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.model_selection import FixedThresholdClassifier, GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline

import foldless as fl
from foldless import words
from foldless.laws.effect import StudentEffect
from foldless.results.roc import ROCPosterior, SeparationCurves

ONE = StudentEffect(200.0, 0.1, 40)
LONG = "a long note " * 20


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def data(make_data):
    X, y, w = make_data(5, 30, 25, 6, shift=0.6)
    return X, y, w


@pytest.fixture(scope="module")
def model(data):
    return LogisticRegression(C=0.5, tol=1e-10).fit(*data[:2])


def auc(effect=None, notes=()):
    return fl.AUCPosterior.from_effect(effect or StudentEffect(1.8, 0.3, 40), "in-sample", 20, 22, notes)


def roc(effect=None, notes=()):
    return ROCPosterior(SeparationCurves(effect or StudentEffect(1.8, 0.3, 40)), "in-sample", 20, 22, notes)


def written(display):
    """The notes under the axes with the line breaks taken out."""
    return "" if display.notes_ is None else " ".join(display.notes_.get_text().split())


def inside_the_figure(display):
    """Draw, then see whether the notes lie in the figure."""
    display.figure_.canvas.draw()
    box, frame = display.notes_.get_window_extent(), display.figure_.bbox
    return box.x0 >= 0 and box.y0 >= 0 and box.x1 <= frame.x1 and box.y1 <= frame.y1


# ---- AUC


def test_auc_density_is_that_of_the_posterior():
    """The line is the pdf scaled to the row; the bar is the interval; the dot is the mean; 0.5 is out of view."""
    post = auc()
    display = fl.AUCPosteriorDisplay.from_posterior(post, level=0.9)
    x, y = display.line_.get_data()
    pdf = post.pdf(x[1:-1])
    np.testing.assert_allclose(y[1:-1] / y.max(), pdf / pdf.max(), atol=0.01)
    assert display.intervals_[0].get_xdata() == pytest.approx(post.interval(0.9))
    assert display.points_[0].get_xdata()[0] == pytest.approx(post.mean)
    shade = display.fills_[0].get_paths()[0].vertices
    assert (shade[:, 0].min(), shade[:, 0].max()) == pytest.approx(post.interval(0.9))
    assert display.ax_.get_xlabel() == "AUC on new data: mean and 90 % interval"
    assert [t.get_text() for t in display.ax_.get_yticklabels()] == [
        words.estimate(post.mean, *post.interval(0.9)),
    ]
    assert display.chance_level_ is None
    assert display.notes_ is None


def test_several_models_share_an_axis():
    """One row per model, the first on top, all within the same limits; chance is drawn where it is in view."""
    posts = {"good": auc(), "useless": auc(StudentEffect(0.0, 0.2, 30)), "perfect": auc(ONE)}
    display = fl.AUCPosteriorDisplay.from_posterior(posts)
    bases = [bar.get_ydata()[0] for bar in display.intervals_]
    assert bases == [2, 1, 0]
    assert [p.get_xdata()[0] for p in display.points_] == pytest.approx([p.mean for p in posts.values()])
    low, high = display.ax_.get_xlim()
    assert all(low <= line.get_xdata().min() and line.get_xdata().max() <= high for line in display.lines_)
    assert [line.get_ydata().max() - b for line, b in zip(display.lines_, bases, strict=True)] == pytest.approx(
        [0.72] * 3
    )
    np.testing.assert_array_equal(display.chance_level_.get_xdata(), [0.5, 0.5])
    assert fl.AUCPosteriorDisplay.from_posterior(posts, plot_chance_level=False).chance_level_ is None


@pytest.mark.parametrize("effect", [ONE, StudentEffect(-200.0, 0.1, 40), StudentEffect(0.5, 4.0, 3)], ids=str)
def test_degenerate_posteriors_are_drawn_finite(effect):
    """Mass at one point, or a density without bound: finite lines in an axis of at least 0.02, and it renders."""
    display = fl.AUCPosteriorDisplay.from_posterior(auc(effect))
    assert np.all(np.isfinite(display.line_.get_ydata()))
    low, high = display.ax_.get_xlim()
    assert 0 <= low < high <= 1
    assert high - low >= 0.02 - 1e-12
    display.figure_.canvas.draw()


def test_certainty_is_not_written_as_one():
    """A posterior at 1 is labelled '> 0.999'."""
    display = fl.AUCPosteriorDisplay.from_posterior(auc(ONE), name="perfect")
    assert [t.get_text() for t in display.ax_.get_yticklabels()] == ["perfect\n> 0.999"]


def test_auc_from_estimator_is_from_posterior(data, model):
    """Same curves as with the posterior computed beforehand; the name is the class, or the keys of a dict."""
    X, y, _ = data
    one = fl.AUCPosteriorDisplay.from_estimator(model, X, y, groups=np.arange(len(y)) // 2, level=0.8)
    post = fl.auc_posterior(model, X, y, groups=np.arange(len(y)) // 2)
    other = fl.AUCPosteriorDisplay.from_posterior(post, level=0.8, name="LogisticRegression")
    np.testing.assert_array_equal(one.line_.get_data(), other.line_.get_data())
    assert list(one.curves) == list(other.curves)
    ridge = make_pipeline(RidgeClassifier()).fit(X, y)
    assert list(fl.AUCPosteriorDisplay.from_estimator(ridge, X, y).curves) == ["RidgeClassifier"]
    both = fl.AUCPosteriorDisplay.from_estimator({"a": model, "b": ridge}, X, y)
    assert both.curves["b"].mean == fl.auc_posterior(ridge, X, y).mean


def test_plot_draws_again_on_given_axes():
    """plot(ax=) uses those axes, returns itself, leaves pyplot alone, and passes keywords to the line."""
    display = fl.AUCPosteriorDisplay.from_posterior(auc())
    figure, axes = plt.subplots(1, 2)
    before = plt.get_fignums()
    assert display.plot(axes[1], color="#123456", linestyle=":") is display
    assert plt.get_fignums() == before
    assert (display.ax_, display.figure_) == (axes[1], figure)
    assert display.line_.get_color() == "#123456"
    assert display.line_.get_linestyle() == ":"
    assert not axes[0].lines


# ---- ROC


def test_roc_curve_band_and_area_are_those_of_the_posterior():
    """Line, both edges of the band and the legend are the posterior's own numbers."""
    post = roc()
    display = fl.ROCPosteriorDisplay.from_posterior(post, level=0.8, name="mine")
    fpr, tpr = display.line_.get_data()
    np.testing.assert_array_equal(tpr, post.mean(fpr))
    low, high = post.band(fpr, 0.8)
    band = display.band_.get_paths()[0].vertices
    edges = {(a, b) for a, b in band.round(12)}
    assert {(a, b) for a, b in np.column_stack([fpr, low]).round(12)} <= edges
    assert {(a, b) for a, b in np.column_stack([fpr, high]).round(12)} <= edges
    assert display.line_.get_label() == f"mine: AUC {words.estimate(*post.partial_auc(1.0, 0.8))}"
    assert display.band_.get_label() == "80 % band"
    assert display.point_ is None
    np.testing.assert_array_equal(display.chance_level_.get_data(), [[0, 1], [0, 1]])


def test_perfect_curve_runs_along_the_corner():
    """All mass at AUC 1: the line goes up the left edge and is inside the axes."""
    display = fl.ROCPosteriorDisplay.from_posterior(roc(ONE))
    fpr, tpr = display.line_.get_data()
    assert (fpr[0], tpr[0]) == (0, 0)
    np.testing.assert_allclose(tpr[1:], 1)
    assert display.ax_.get_xlim()[0] < 0
    assert display.ax_.get_ylim()[1] > 1
    display.figure_.canvas.draw()


def test_operating_point_is_that_of_the_error_posterior(data, model):
    """Dot at (1 - specificity, sensitivity), bars at their intervals; the labels name the threshold's probability."""
    X, y, _ = data
    display = fl.ROCPosteriorDisplay.from_estimator(model, X, y, threshold=0.3, level=0.9)
    error = fl.error_posterior(model, X, y, threshold=0.3)
    dot, _, (across, upright) = display.point_.lines
    assert (dot.get_xdata()[0], dot.get_ydata()[0]) == pytest.approx(
        (1 - error.specificity.mean, error.sensitivity.mean)
    )
    low, high = error.specificity.interval(0.9)
    assert across.get_segments()[0][:, 0] == pytest.approx([1 - high, 1 - low])
    assert upright.get_segments()[0][:, 1] == pytest.approx(error.sensitivity.interval(0.9))
    texts = [t.get_text() for t in display.ax_.get_legend().get_texts()]
    assert error.probability == pytest.approx(1 / (1 + np.exp(-0.3)))
    assert texts[1:] == ["counted, each row left out", "90 % band", "at probability 0.5744", "chance"]


def test_own_threshold(data, model):
    """A classifier is shown where its predict changes its mind; bare weights and None have no point."""
    X, y, w = data
    at_zero = fl.ROCPosteriorDisplay.from_estimator(model, X, y)
    assert at_zero.curves["LogisticRegression"].point.threshold == 0
    assert fl.ROCPosteriorDisplay.from_estimator(model, X, y, threshold=None).point_ is None
    assert fl.ROCPosteriorDisplay.from_estimator(w, X, y).point_ is None
    assert fl.ROCPosteriorDisplay.from_estimator(w, X, y, threshold=0.2).curves["weights"].point.threshold == 0.2
    moved = FixedThresholdClassifier(LogisticRegression(C=0.5, tol=1e-10), threshold=0.8).fit(X, y)
    display = fl.ROCPosteriorDisplay.from_estimator(moved, X, y)
    assert display.curves["FixedThresholdClassifier"].point.threshold == pytest.approx(np.log(4))


def test_own_probability(data):
    """A classifier of probabilities alone is shown at its own, though a wrapper moved it."""
    X, y, _ = data
    for wrapper, probability in ((GaussianNB(), 0.5), (FixedThresholdClassifier(GaussianNB(), threshold=0.3), 0.3)):
        analysis = fl.analyse(wrapper.fit(X, y), X, y, method="refit")
        (curve,) = fl.ROCPosteriorDisplay.from_estimator(analysis).curves.values()
        assert curve.point.probability == pytest.approx(probability)


def test_roc_in_sample_takes_its_prior(data, model):
    """prior and method reach both the curve and the point; a prior of the leave-one-out method only the curve."""
    X, y, _ = data
    with pytest.warns(fl.OptimismWarning):
        shown = fl.ROCPosteriorDisplay.from_estimator(model, X, y, method="in-sample", prior=fl.Prior.improper())
    with pytest.warns(fl.OptimismWarning):
        expected = fl.roc_posterior(model, X, y, method="in-sample", prior=fl.Prior.improper())
    np.testing.assert_array_equal(shown.line_.get_ydata(), expected.mean(shown.line_.get_xdata()))
    flat = fl.ROCPosteriorDisplay.from_estimator(model, X, y, prior=fl.EffectPrior.flat())
    expected = fl.roc_posterior(model, X, y, prior=fl.EffectPrior.flat())
    np.testing.assert_array_equal(flat.line_.get_ydata(), expected.mean(flat.line_.get_xdata()))


# ---- one analysis


def test_an_analysis_is_drawn_as_the_classifier_it_is_of(data, model):
    """Same curves and the same name; it has its data and options already."""
    X, y, _ = data
    analysis = fl.analyse(model, X, y, prior=fl.EffectPrior.flat())
    for display in (fl.AUCPosteriorDisplay, fl.ROCPosteriorDisplay):
        shown = display.from_estimator(analysis)
        expected = display.from_estimator(model, X, y, prior=fl.EffectPrior.flat())
        np.testing.assert_array_equal(shown.line_.get_data(), expected.line_.get_data())
        assert list(shown.curves) == ["LogisticRegression"]
        assert list(display.from_estimator({"mine": analysis}).curves) == ["mine"]
        with pytest.raises(fl.InputError, match="leave 'X', 'y', 'method' out"):
            display.from_estimator(analysis, X, y, method="in-sample")


def test_curve_and_operating_point_are_of_one_analysis(data, model, monkeypatch):
    """The classifier is taken apart once and its rows are removed once."""
    calls = []
    for name in ("foldless.computation.take_apart", "foldless.honest.leave_one_out.remove_rows"):
        function = pydoc.locate(name)
        monkeypatch.setattr(name, lambda *a, f=function, n=name, **k: calls.append(n) or f(*a, **k))
    shown = fl.ROCPosteriorDisplay.from_estimator(model, *data[:2])
    assert shown.point_ is not None
    assert sorted(calls) == ["foldless.computation.take_apart", "foldless.honest.leave_one_out.remove_rows"]


# ---- notes and warnings


@pytest.mark.parametrize(("display", "make"), [(fl.AUCPosteriorDisplay, auc), (fl.ROCPosteriorDisplay, roc)])
def test_notes_are_written_in_full_and_inside_the_figure(display, make):
    """Every note, word for word, under the axes of a new figure; a dollar sign is no formula."""
    shown = display.from_posterior(make(notes=(LONG.strip(), "costs $5 or $6 & <b>")))
    assert written(shown) == f"Note: {LONG.strip()} Note: costs $5 or $6 & <b>"
    assert inside_the_figure(shown)
    assert shown.notes_.get_parse_math() is False


@pytest.mark.parametrize(("display", "make"), [(fl.AUCPosteriorDisplay, auc), (fl.ROCPosteriorDisplay, roc)])
def test_notes_of_several_models_say_whose_they_are(display, make):
    """A note of one model carries its name, a note of all does not, and none is repeated."""
    models = {"a": make(notes=("both", "first")), "b": make(notes=("both",))}
    assert written(display.from_posterior(models)) == "Note: both Note: a: first"


def test_pictures_on_the_same_axes_add_up():
    """Second curve on the axes: another colour, one line of chance, notes of both, equal notes once."""
    shared = "the AUC and the error rates do not rely on it"
    first = fl.ROCPosteriorDisplay.from_posterior(roc(notes=(f"one {LONG}{shared}", "same")), name="first")
    other = roc(StudentEffect(0.5, 0.3, 40), (f"two {LONG}{shared}", "same"))
    second = fl.ROCPosteriorDisplay.from_posterior(other, name="second", ax=first.ax_)
    assert second.line_.get_color() != first.line_.get_color()
    assert second.chance_level_ is first.chance_level_
    notes = (f"one {LONG}{shared}", "same", f"two {LONG}{shared}")
    assert written(second) == " ".join(f"Note: {note}" for note in notes)
    # The two long notes share all lines but their first; none of them may be lost when a third picture comes.
    assert written(second.plot(first.ax_)) == " ".join(f"Note: {note}" for note in notes)
    assert len([t for t in second.ax_.texts if t.get_text().startswith("Note")]) == 1


def test_real_notes_reach_the_picture(data):
    """A selection step that saw y is noted under both pictures."""
    X, y, _ = data
    chosen = make_pipeline(SelectKBest(k=3), LogisticRegression(tol=1e-10)).fit(X, y)
    for display in (fl.AUCPosteriorDisplay, fl.ROCPosteriorDisplay):
        assert "step 'selectkbest' (SelectKBest) saw y" in written(display.from_estimator(chosen, X, y, method="loo"))
        assert "refitted 20 times" in written(display.from_estimator(chosen, X, y))
    search = GridSearchCV(LogisticRegression(tol=1e-10), {"C": [0.5, 1.0]}, cv=3).fit(X, y)
    shown = fl.AUCPosteriorDisplay.from_estimator(search, X, y)
    assert list(shown.curves) == ["LogisticRegression"]
    assert "the choice among 2 values of C is accounted for" in written(shown)


@pytest.mark.parametrize("display", [fl.AUCPosteriorDisplay, fl.ROCPosteriorDisplay])
def test_warnings_come_once_and_point_here(display, data, model):
    """One OptimismWarning for all the analyses of a picture, attributed to the line that asked for it."""
    X, y, _ = data
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        display.from_estimator({"a": model, "b": model}, X, y, method="in-sample")
    ours = [w for w in caught if issubclass(w.category, fl.FoldlessWarning)]
    assert [w.category for w in ours] == [fl.OptimismWarning]
    assert ours[0].filename == __file__


# ---- mistakes


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (0.9, "expected AUCPosterior objects, .* got float: compute each with foldless.auc_posterior"),
        ([], "nothing to draw: pass at least one AUCPosterior"),
        ({"a": auc(), "b": roc()}, "got ROCPosterior"),
    ],
)
def test_wrong_posteriors(wrong, message):
    """Anything but posteriors is refused, with the function that makes them."""
    with pytest.raises(fl.InputError, match=message):
        fl.AUCPosteriorDisplay.from_posterior(wrong)


def test_wrong_names():
    """Names must be as many as posteriors and differ; a dict has its own."""
    for name in ("one", ["a", "a"], ["a", "b", "c"]):
        with pytest.raises(fl.InputError, match=r"name must be 2 different name\(s\)"):
            fl.AUCPosteriorDisplay.from_posterior([auc(), auc()], name=name)
    with pytest.raises(fl.InputError, match="the keys of the dict are the names"):
        fl.AUCPosteriorDisplay.from_posterior({"a": auc()}, name="b")
    with pytest.raises(fl.InputError, match="the keys of the dict are the names"):
        fl.AUCPosteriorDisplay.from_estimator({"a": [1.0]}, [[1.0]], [0], name="b")
    shown = fl.AUCPosteriorDisplay.from_posterior([auc(), auc()])
    assert list(shown.curves) == ["model 1", "model 2"]


def test_wrong_level_and_operating_point():
    """A level outside (0, 1), and points that belong to no curve or are no ErrorPosterior, are refused."""
    with pytest.raises(fl.InputError, match="level must lie strictly between 0 and 1"):
        fl.ROCPosteriorDisplay.from_posterior(roc(), level=95)
    for wrong in (0.0, {"other": None}, {"": 0.5}):
        with pytest.raises(fl.InputError, match="operating_point must be an ErrorPosterior"):
            fl.ROCPosteriorDisplay.from_posterior(roc(), operating_point=wrong)


def test_wrong_axes():
    """An array of axes, as plt.subplots gives, is refused with what to pass."""
    with pytest.raises(fl.InputError, match=r"ax must be one matplotlib axes, got ndarray: .* axes\[0\]"):
        fl.AUCPosteriorDisplay.from_posterior(auc(), ax=plt.subplots(1, 2)[1])


def test_without_matplotlib_the_error_says_what_to_install(monkeypatch):
    """The classes can be reached without matplotlib; drawing names the extra."""
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r"a picture needs matplotlib: pip install 'foldless\[plot\]'"):
        fl.AUCPosteriorDisplay.from_posterior(auc())
