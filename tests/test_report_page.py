"""The page of a report: names stay text, bytes are reproducible, and a browser has nothing to complain about."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import foldless as fl
from chromium import Browser, binary
from development_data import load
from foldless.show.report import page

SCRIPT = "<script>alert(1)</script>"
HOSTILE = [SCRIPT, 'a"><img src=x onerror=alert(2)>', "nul\x00 esc\x1b", "\u202egpj.exe", "{{ 7 * 7 }}", "w" * 400]
PICTURES = ("density", "roc", "calibration", "decision", "precision", "comparison", "search", "learning")
VOID = {"meta", "link", "br", "wbr", "img", "hr", "input"}


class Page(HTMLParser):
    """Tags with their attributes, the text, headings in order, and tags that were left open."""

    def __init__(self, html):
        super().__init__(convert_charrefs=True)
        self.tags, self.texts, self.headings, self.open = [], [], [], []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if re.fullmatch("h[1-6]", tag):
            self.headings.append(int(tag[1]))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open[-1] == tag, f"</{tag}> closes <{self.open[-1]}>"
        self.open.pop()

    def handle_data(self, data):
        self.texts.append(data)

    @property
    def text(self):
        return " ".join(" ".join(self.texts).split())


def hostile_report(path=None, **options):
    """A report whose every name is an attack."""
    rng = np.random.default_rng(2)
    X = pd.DataFrame(rng.normal(size=(50, len(HOSTILE))), columns=HOSTILE)
    y = np.where(X.iloc[:, 0] + rng.normal(size=50) > 0, SCRIPT, "</style>'&\"")
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, y)
    named = {"title": f"T & {SCRIPT}", "data_name": f"</title>{SCRIPT}.csv", "command": f"foldless report '{SCRIPT}'"}
    return fl.report(model, X, y, path, **named, notes=[f"note {SCRIPT}"], **options)


def classes_report(path=None):
    """A report on three classes with awkward names."""
    rng = np.random.default_rng(4)
    y = np.repeat([SCRIPT, "b & c", "d"], 20)
    X = rng.normal(size=(60, 5)) + 1.5 * (np.arange(60) // 20 == 1)[:, None]
    return fl.report(RidgeClassifier().fit(X, y), X, y, path, title="Three classes")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("report")


@pytest.fixture(scope="module")
def hostile(folder):
    return hostile_report(folder / "hostile.html")


@pytest.fixture(scope="module")
def classes(folder):
    return classes_report(folder / "classes.html")


def test_names_stay_text(hostile):
    """No name becomes a tag or an attribute; all of them are there to be read."""
    page = Page(hostile.html)
    assert not {tag for tag, _ in page.tags} & {"script", "img", "iframe", "object", "form"}
    assert not [key for _, attrs in page.tags for key in attrs if key.startswith("on")]
    assert page.text.count(SCRIPT) >= 8  # title twice, data twice, class, feature, command, note ...
    assert "{{ 7 * 7 }}" in page.text
    assert "49" not in [f["name"] for f in hostile.summary()["features"]["top"]]


def test_unsafe_characters_are_gone(hostile):
    """Neither page nor summary holds control characters or turned writing; long names are cut."""
    for text in (hostile.html, str(hostile.summary())):
        assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e]", text)
    assert "w" * 79 + "…" in hostile.html
    assert "w" * 80 not in hostile.html


@pytest.mark.parametrize("kind", ["hostile", "classes"])
def test_markup_is_in_order(kind, request):
    """Every tag closed, one h1, no heading skipped, language, title, pictures described, tables with headers."""
    page = Page(request.getfixturevalue(kind).html)
    assert page.open == []
    assert page.headings[0] == 1
    assert page.headings.count(1) == 1
    assert max(b - a for a, b in zip(page.headings, page.headings[1:], strict=False)) == 1
    tags = [tag for tag, _ in page.tags]
    assert dict(page.tags)["html"]["lang"] == "en"
    drawn = [attrs for tag, attrs in page.tags if tag == "svg"]
    assert all(attrs["role"] == "img" and len(attrs["aria-label"]) > 20 for attrs in drawn)
    assert tags.count("th") >= tags.count("table") >= 4
    ids = [attrs["id"] for _, attrs in page.tags if "id" in attrs]
    assert len(ids) == len(set(ids))
    labels = {attrs["aria-labelledby"] for _, attrs in page.tags if "aria-labelledby" in attrs}
    assert labels <= set(ids)


@pytest.mark.parametrize("kind", ["hostile", "classes"])
def test_nothing_is_fetched_and_the_page_is_small(kind, request):
    """No address but names of XML dialects and references inside the page; a policy that forbids all others."""
    html = request.getfixturevalue(kind).html
    assert set(re.findall(r"https?://[^\s\"'<>]*", html)) <= {
        "http://www.w3.org/2000/svg",
        "http://www.w3.org/1999/xlink",
    }
    assert all(v.startswith(("#", "data:")) for v in re.findall(r'(?:href|src)="([^"]*)"', html))
    assert "default-src 'none'" in html
    assert len(html.encode()) < 400_000


def test_two_class_page_has_all_pictures(hostile, classes):
    """All of them for two classes; for more, the density, the search and the learning curve."""
    assert all(f'id="{name}-figure_1"' in hostile.html for name in PICTURES)
    assert {name for name in PICTURES if f'id="{name}-figure_1"' in classes.html} == {"density", "search", "learning"}


def test_bytes_do_not_depend_on_the_run_or_on_matplotlib_settings(tmp_path):
    """Two processes, another user's matplotlib settings and another hash seed: the same page."""
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); import matplotlib; "
        "matplotlib.rcParams.update({'font.size': 20, 'lines.linewidth': 9}) if sys.argv[3] == '1' else None; "
        "from test_report_page import hostile_report; hostile_report(sys.argv[2], search=False)"
    )
    pages = []
    for k in ("1", "2"):
        path = tmp_path / f"{k}.html"
        command = [sys.executable, "-c", code, str(Path(__file__).parent), str(path), k]
        subprocess.run(command, check=True, env={"PYTHONHASHSEED": k, "OPENBLAS_NUM_THREADS": "1"})
        pages.append(path.read_bytes())
    assert pages[0] == pages[1]


def test_pictures_use_the_colours_of_the_page():
    """Placeholders have become variables of the style sheet, and letters have the font of the page."""
    markup = page.Picture("d", lambda ax: ax.plot([0, 1], [0, 1], label="a"), 2.0).markup("x")
    assert "var(--accent)" in markup
    assert "currentColor" in markup
    assert "DejaVu" not in markup
    assert not re.findall("#0[0-9]0[0-9]0[0-9]", markup)


# ---- in a browser

needs_browser = pytest.mark.skipif(
    binary() is None, reason="no Chromium here: install Debian's package chromium to run this"
)


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    running = Browser(tmp_path_factory.mktemp("profile"))
    yield running
    running.close()


def complaints(browser):
    """Everything that a console would show."""
    return [
        *browser.seen("Log.entryAdded"),
        *browser.seen("Runtime.exceptionThrown"),
        *browser.seen("Runtime.consoleAPICalled"),
    ]


def requests(browser):
    """All addresses that were asked for."""
    return [event["request"]["url"] for event in browser.seen("Network.requestWillBeSent")]


# Undecoded pictures: an <img> without pixels, or a drawing of which nothing has a size.
BROKEN = """
[...document.images].filter(i => !(i.complete && i.naturalWidth)).length
+ [...document.querySelectorAll('svg.picture')].filter(s => s.querySelectorAll('path').length < 4
    || !(s.getBBox().width > 50 && s.getBoundingClientRect().height > 50)).length
"""
# The smallest contrast of any text with what is behind it, by the formula of WCAG 2.
CONTRAST = """
(() => {
  const canvas = document.createElement('canvas').getContext('2d', {willReadFrequently: true});
  const rgb = (colour, under) => { canvas.fillStyle = under; canvas.fillRect(0, 0, 1, 1); canvas.fillStyle = colour;
    canvas.fillRect(0, 0, 1, 1); return [...canvas.getImageData(0, 0, 1, 1).data].slice(0, 3); };
  const css = c => `rgb(${c.join(',')})`;
  const light = c => { const [r, g, b] = c.map(v => (v /= 255) <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4);
    return .2126 * r + .7152 * g + .0722 * b; };
  const behind = e => e ? css(rgb(getComputedStyle(e).backgroundColor, behind(e.parentElement))) : '#fff';
  let least = 99, where = '';
  for (const e of document.querySelectorAll('body *')) {
    if (![...e.childNodes].some(n => n.nodeType === 3 && n.data.trim()) || !e.getClientRects().length) continue;
    const style = getComputedStyle(e), under = behind(e);
    const [a, b] = [light(rgb(e.closest('svg') ? style.fill : style.color, under)), light(rgb(under, under))];
    const ratio = (Math.max(a, b) + .05) / (Math.min(a, b) + .05);
    if (ratio < least) { least = ratio; where = e.tagName + ' ' + e.textContent.slice(0, 30); }
  }
  return [least, where];
})()
"""


@needs_browser
@pytest.mark.parametrize("kind", ["hostile", "classes"])
def test_a_browser_has_nothing_to_complain_about(browser, folder, kind, request):
    """No console message, no request but for the page itself, all pictures there, the right title, no script."""
    report = request.getfixturevalue(kind)
    url = (folder / f"{kind}.html").as_uri()
    browser.look(1280)
    browser.open(url)
    time.sleep(0.2)  # a late request would still be seen
    assert browser.evaluate("document.title") == report.title
    assert browser.evaluate("document.scripts.length") == 0
    assert browser.evaluate("document.querySelectorAll('svg.picture').length") == (
        len(PICTURES) if kind == "hostile" else 3
    )
    assert browser.evaluate(BROKEN) == 0
    assert complaints(browser) == []
    assert requests(browser) == [url]


@needs_browser
@pytest.mark.parametrize("kind", ["hostile", "classes"])
@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [1280, 390])
def test_layout_and_contrast(browser, folder, kind, request, width, dark):
    """Nothing wider than the window, on a phone too; text stands out (4.5 to 1) on light and on dark."""
    request.getfixturevalue(kind)
    browser.look(width, dark=dark)
    browser.open((folder / f"{kind}.html").as_uri())
    assert browser.evaluate("document.documentElement.scrollWidth") == width
    paper = browser.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (paper == "rgb(255, 255, 255)") is not dark
    least, where = browser.evaluate(CONTRAST)
    assert least >= 4.5, where


@needs_browser
def test_on_paper_it_is_black_on_white(browser, folder, hostile):
    """Printing from a dark desktop gives a light page, and one that has pages."""
    browser.look(1280, dark=True, media="print")
    browser.open((folder / "hostile.html").as_uri())
    assert browser.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert browser.evaluate("getComputedStyle(document.body).color") == "rgb(0, 0, 0)"
    assert len(browser.call("Page.printToPDF", printBackground=True)["data"]) > 20_000


@needs_browser
def test_the_browser_test_can_fail(browser, tmp_path):
    """A page with a script error, an outside picture and pale text is caught on every count."""
    bad = tmp_path / "bad.html"
    bad.write_text(
        "<!doctype html><title>x</title><img src='http://127.0.0.1:9/x.png'><p style='color: #ccc'>pale</p>"
        "<script>console.error('a'); throw new Error('b')</script>"
    )
    browser.look(1280)
    browser.open(bad.as_uri())
    assert len(complaints(browser)) >= 2
    assert any("127.0.0.1" in url for url in requests(browser))
    assert browser.evaluate(BROKEN) == 1
    assert browser.evaluate(CONTRAST)[0] < 4.5


@needs_browser
def test_a_report_on_real_data(browser, tmp_path):
    """2000 gene expressions of 62 tissues: shown without complaint, and small."""
    found = load("colon_alon")
    model = make_pipeline(StandardScaler(), LogisticRegression(C=0.01)).fit(found["X"], found["y"])
    path = tmp_path / "colon.html"
    fl.report(model, found["X"], found["y"], path, data_name="colon")
    browser.look(390)
    browser.open(path.as_uri())
    assert browser.evaluate("document.title") == "LogisticRegression on colon"
    assert browser.evaluate("document.documentElement.scrollWidth") == 390
    assert browser.evaluate(BROKEN) == 0
    assert complaints(browser) == []
    assert requests(browser) == [path.as_uri()]
    assert path.stat().st_size < 400_000


# ---- in notebooks


def test_a_report_shows_itself_briefly_in_a_notebook(hostile):
    """Title, AUC, verdict and the sentence, all escaped; not the page itself."""
    card = hostile._repr_html_()
    assert SCRIPT not in card
    assert Page(card).open == []
    assert hostile.summary()["sentence"] in Page(card).text
    assert len(card) < 3000


def test_learning_curve_and_sample_plan_show_themselves_in_notebooks():
    """Every size with its interval, and the rows with the promise that they keep; the notes are there."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 3)), np.repeat([0, 1], 20)
    curve = fl.learning_curve(RidgeClassifier().fit(X + y[:, None], y), X + y[:, None], y)
    page = Page(curve._repr_html_())
    assert page.open == []
    for point in curve.summary()["points"]:
        assert f"{point['rows']:,} rows {point['auc']:.3f} ({point['low']:.3f} to {point['high']:.3f})" in page.text
    plan = fl.plan_sample_size(0.8, above=0.7)
    page = Page(plan._repr_html_())
    assert page.open == []
    assert f"{plan.n:,} rows: {plan.n1:,} positive, {plan.n0:,} negative" in page.text
    assert f"with probability {plan.power:.3f}" in page.text
    assert all(note in page.text for note in plan.notes)
