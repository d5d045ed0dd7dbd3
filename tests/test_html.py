"""What notebooks show: the numbers of the result, every note, nothing that could run, and pictures that are finite."""

from __future__ import annotations

import re
import subprocess
import sys
import xml.etree.ElementTree as ET

import numpy as np
import pytest
from scipy.integrate import trapezoid

import foldless as fl
from foldless import words
from foldless.cards import drawing
from foldless.laws.effect import StudentEffect
from foldless.results.auc import RatePosterior
from foldless.results.error import ErrorPosterior, SeparateScales, SharedScale
from foldless.results.roc import ROCPosterior, SeparationCurves

NOTES = ("the fit <stopped> early & 'elsewhere'", 'step "selectkbest" saw y')
PAIR = SharedScale(StudentEffect(-1.0, 0.2, 40), StudentEffect(0.8, 0.25, 40))
EFFECTS = {
    "ordinary": StudentEffect(1.8, 0.3, 40),
    "chance": StudentEffect(0.0, 0.2, 30),
    "near 1": StudentEffect(5.0, 0.3, 30),
    "all at 1": StudentEffect(200.0, 0.1, 40),
    "all at 0": StudentEffect(-200.0, 0.1, 40),
    "unbounded at both ends": StudentEffect(0.5, 4.0, 3),
}


def auc(effect, notes=NOTES):
    return fl.AUCPosterior.from_effect(effect, "in-sample", 20, 22, notes, {"groups": 7})


def results():
    """One of every kind of result."""
    error = ErrorPosterior(PAIR, 0.25, 0.3, "in-sample", 25, 16, NOTES)
    separate = ErrorPosterior(SeparateScales(PAIR.fpr, PAIR.tpr), 0.0, 0.3, "loo", 25, 16, NOTES)
    honest = fl.HonestScores(np.linspace(-2, 3, 40), 1.0, 0.2, 1e-9, 1.0, "loo-surrogate", NOTES)
    y, scores = np.repeat([0, 1], 10), np.arange(20.0) % 13
    return {
        "auc": auc(EFFECTS["ordinary"]),
        "roc": ROCPosterior(SeparationCurves(EFFECTS["ordinary"]), "loo", 20, 22, NOTES),
        "error": error,
        "error with separate scales": separate,
        "rate": error.sensitivity,
        "derived rate": error.ppv,
        "honest": honest,
        "estimate": fl.baselines.delong(y, scores),
        "estimate without interval": fl.baselines.resubstitution_auc(np.array([1.0]), scores[:, None], y),
    }


RESULTS = results()


def parsed(markup):
    """The markup as a tree; a tag or an attribute that is not closed is an error."""
    return ET.fromstring(markup)


def shown(markup):
    """All text that a reader sees."""
    return " ".join(" ".join(parsed(markup).itertext()).split())


def local(tag):
    return tag.split("}")[-1]


@pytest.mark.parametrize("name", RESULTS)
def test_markup_is_closed_and_cannot_run(name):
    """Well-formed; only layout and SVG tags; no handlers, scripts, links or style sheets."""
    tree = parsed(RESULTS[name]._repr_html_())
    allowed = {"div", "b", "svg", "polygon", "polyline", "line", "circle", "text", "rect"}
    assert {local(e.tag) for e in tree.iter()} <= allowed
    attributes = {key for e in tree.iter() for key in e.attrib}
    assert not {a for a in attributes if a.startswith("on") or a in ("href", "src")}
    assert "url(" not in RESULTS[name]._repr_html_()


@pytest.mark.parametrize("name", RESULTS)
def test_colours_follow_the_page(name):
    """No background is set and no text has a colour of its own: both come from the notebook, light or dark."""
    tree = parsed(RESULTS[name]._repr_html_())
    styles = ";".join(e.get("style", "") for e in tree.iter())
    assert "background" not in styles
    assert set(re.findall(r"(?:^|;)color:([^;]*)", styles)) == {"inherit"}
    assert {e.get("fill") for e in tree.iter() if local(e.tag) == "text"} <= {"currentColor"}


@pytest.mark.parametrize("name", [n for n in RESULTS if getattr(RESULTS[n], "notes", ())])
def test_every_note_is_there_and_escaped(name):
    """The notes are shown word for word, marked as notes; their angle brackets are text."""
    markup = RESULTS[name]._repr_html_()
    assert all(f"Note: {note}" in shown(markup) for note in NOTES)
    assert "<stopped>" not in markup


def test_a_hostile_method_name_is_text():
    """Whatever a string of the result holds, it stays text."""
    bad = "<script>alert(1)</script>"
    markup = fl.AUCPosterior.from_effect(EFFECTS["ordinary"], bad, 1, 2, (bad,))._repr_html_()
    assert bad not in markup
    assert shown(markup).count(bad) == 2


def test_auc_card_shows_the_numbers_of_the_posterior():
    """Mean, interval, probability above chance, rows, groups and the meaning of the method."""
    post = auc(EFFECTS["ordinary"])
    low, high = post.interval()
    text = shown(post._repr_html_())
    assert f"{post.mean:.3f}, 95 % interval {low:.3f} to {high:.3f}" in text
    assert "P(AUC > 0.5) > 0.999" in text
    assert "22 positive, 20 negative" in text
    assert "groups 7" in text
    assert "in-sample: the paper's model on the training scores" in text


def test_roc_card_shows_the_numbers_of_the_curve():
    """The area and three points of the curve, each with its interval."""
    roc = RESULTS["roc"]
    text = shown(roc._repr_html_())
    area = roc.partial_auc()
    assert f"AUC {area.mean:.3f}, 95 % interval {area.low:.3f} to {area.high:.3f}" in text
    for fpr in (0.05, 0.1, 0.2):
        at = roc.tpr_at(fpr)
        assert f"TPR at FPR {fpr:g} {at.mean:.3f} ({at.low:.3f} to {at.high:.3f})" in text


@pytest.mark.parametrize("name", ["error", "error with separate scales"])
def test_error_card_shows_all_rates(name):
    """Five rates with their intervals, the threshold and the prevalence."""
    post = RESULTS[name]
    text, found = shown(post._repr_html_()), post.summary()
    for rate in ("error", "sensitivity", "specificity", "ppv", "npv"):
        label = rate.upper() if rate in ("ppv", "npv") else rate
        r = found[rate]
        assert f"{label} {r['mean']:.3f} ({r['low']:.3f} to {r['high']:.3f})" in text
    assert f"threshold {post.threshold:g}" in text
    assert "prevalence 0.3" in text


def test_error_picture_is_to_scale():
    """The dots of the five rates stand at their means, the bars end at their intervals."""
    post = RESULTS["error"]
    tree = parsed(post._repr_html_())
    axis = sorted(
        {float(e.get("x1")) for e in tree.iter() if local(e.tag) == "line" and e.get("stroke-width") == "0.5"}
    )
    left, right = axis[0], axis[-1]
    found = post.summary()
    rates = [found[n] for n in ("error", "sensitivity", "specificity", "ppv", "npv")]
    dots = [(float(e.get("cx")) - left) / (right - left) for e in tree.iter() if local(e.tag) == "circle"]
    assert dots == pytest.approx([r["mean"] for r in rates], abs=1e-3)
    bars = [e for e in tree.iter() if local(e.tag) == "line" and e.get("stroke-width") == "4"]
    ends = [((float(e.get("x1")) - left) / (right - left), (float(e.get("x2")) - left) / (right - left)) for e in bars]
    assert ends == [pytest.approx((r["low"], r["high"]), abs=1e-3) for r in rates]


def test_a_rate_on_its_own_points_to_the_notes_of_its_result():
    """It has no notes; the card must not look as if there were nothing to say."""
    for name in ("rate", "derived rate"):
        assert "notes of the result" in shown(RESULTS[name]._repr_html_())
    assert "Positive predictive value" in shown(RESULTS["derived rate"]._repr_html_())


def test_honest_scores_card():
    """Leave-pair-out AUC, rows, noise share, and the warning not to pool; the histogram counts every score."""
    markup = RESULTS["honest"]._repr_html_()
    text = shown(markup)
    assert "leave-pair-out AUC 1 " in text
    assert "rows 40" in text
    assert "0.20 of the variance" in text
    assert "Do not pool" in text
    bars = [e for e in parsed(markup).iter() if local(e.tag) == "rect"]
    counts, _ = np.histogram(RESULTS["honest"].scores, bins=len(bars))
    heights = np.array([float(e.get("height")) for e in bars])
    np.testing.assert_allclose(heights / heights.max(), counts / counts.max(), atol=2e-3)


def test_estimates_of_baselines_say_whether_they_have_an_interval():
    """DeLong has one; resubstitution gives its reason; a counted 1 reads as 1."""
    low, high = RESULTS["estimate"].interval()
    assert f"95 % interval {low:.3f} to {high:.3f}" in shown(RESULTS["estimate"]._repr_html_())
    text = shown(RESULTS["estimate without interval"]._repr_html_())
    assert "95 % interval none: " in text
    assert "optimistic" in text
    perfect = fl.baselines.AUCEstimate(1.0, method="x", reason="none")
    assert shown(perfect._repr_html_()).startswith("AUC by the method 'x' 1")


@pytest.mark.parametrize("name", EFFECTS)
def test_pictures_are_finite_whatever_the_law(name):
    """No nan or infinity in the markup, and every coordinate lies in the picture."""
    markup = auc(EFFECTS[name])._repr_html_()
    assert not re.search(r"\b(nan|inf)\b", markup)
    for shape in (e for e in parsed(markup).iter() if local(e.tag) in ("polyline", "polygon")):
        x, y = np.array([p.split(",") for p in shape.get("points").split()], dtype=float).T
        assert x.min() >= 0
        assert x.max() <= drawing.WIDTH
        assert y.min() >= 0
        assert y.max() <= drawing.HEIGHT


def test_nothing_reads_as_certain():
    """A posterior that is numerically at 1 reads '> 0.999', also in its interval and sd."""
    text = shown(auc(EFFECTS["all at 1"])._repr_html_())
    assert "> 0.999, 95 % interval > 0.999" in text
    assert "sd < 0.001" in text
    assert "1.000" not in text


@pytest.mark.parametrize(
    ("p", "text"),
    [(0.9994, "0.999"), (0.9995, "> 0.999"), (1.0, "> 0.999"), (0.0, "< 0.001"), (0.0005, "0.001"), (0.5, "0.500")],
)
def test_rates_as_text(p, text):
    """Three digits, and neither 0 nor 1 by rounding."""
    assert words.rate(p) == text


# ---- the curve


@pytest.mark.parametrize("name", EFFECTS)
def test_area_under_the_curve_is_the_probability_in_view(name):
    """The heights times the widths add up to the mass of the window, at least 99.9 %; nothing at 0 or 1 is lost."""
    curve = drawing.density_curve(auc(EFFECTS[name]))
    assert 0 <= curve.edges[0] < curve.edges[-1] <= 1
    assert curve.heights @ np.diff(curve.edges) == pytest.approx(1, abs=1.001e-3)
    assert np.all(np.isfinite(curve.heights))


@pytest.mark.parametrize("name", ["ordinary", "chance"])
def test_curve_is_the_density(name):
    """Away from the ends of [0, 1] a height is the density in the middle of its bin, to 1 % of the peak."""
    post = auc(EFFECTS[name])
    curve = drawing.density_curve(post)
    middles = (curve.edges[1:] + curve.edges[:-1]) / 2
    np.testing.assert_allclose(curve.heights, post.pdf(middles), atol=0.01 * curve.heights.max())


@pytest.mark.parametrize("level", [0.5, 0.95])
def test_shaded_area_is_the_interval(level):
    """The shaded part begins and ends at the interval and holds its probability."""
    post = auc(EFFECTS["ordinary"])
    x, y = drawing.density_curve(post, level).shaded
    assert (x[0], x[-1]) == pytest.approx(post.interval(level))
    assert trapezoid(y, x) == pytest.approx(level, abs=1e-3)


def test_window_is_wide_enough_and_common():
    """Certainty keeps a visible axis; several laws share the smallest window that shows all."""
    one, chance = auc(EFFECTS["all at 1"]), auc(EFFECTS["chance"])
    assert drawing.window([one]) == pytest.approx((1 - drawing.NARROWEST, 1.0))
    low, high = drawing.window([one, chance])
    assert low < chance.ppf(drawing.TAIL)
    assert high == 1
    wide = RatePosterior(EFFECTS["unbounded at both ends"], 1.0)
    assert drawing.window([wide]) == (0, 1)


@pytest.mark.parametrize("at", [0.0, 1.0])
def test_a_law_with_all_its_mass_at_an_end_is_drawn(at):
    """A probability of exactly 0 or 1 belongs to the outermost bin: the area is 1 all the same."""

    class Atom:
        mean = at

        def cdf(self, a):
            return np.where(np.asarray(a) >= at, 1.0, 0.0)

        def ppf(self, q):
            return np.full(np.shape(q), at)

        def interval(self, level=0.95):
            return at, at

    curve = drawing.density_curve(Atom())
    assert curve.heights @ np.diff(curve.edges) == pytest.approx(1)
    assert np.flatnonzero(curve.heights).tolist() == [0 if at == 0 else curve.heights.size - 1]


def test_html_needs_neither_matplotlib_nor_scikit_learn():
    """Showing a result in a notebook loads no drawing library."""
    code = (
        "import sys, foldless as fl; from foldless.laws.effect import StudentEffect; "
        "fl.AUCPosterior.from_effect(StudentEffect(1, .3, 20), 'loo', 9, 9)._repr_html_(); "
        "print(' '.join(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"matplotlib", "sklearn", "pandas", "jinja2"} & set(done.stdout.split())


@pytest.mark.parametrize(
    "values", [[1.0, 1.0 + 3e-16], [1e300, 1.0000000000000004e300], [-1e-8, -1e-8 - 1e-23], [2.0, 2.0]]
)
def test_values_that_hardly_differ_have_a_histogram(values):
    bars = [e for e in parsed(drawing.histogram(values)).iter() if local(e.tag) == "rect"]
    assert sum(float(e.get("height")) > 0 for e in bars) in (1, len(set(values)))
