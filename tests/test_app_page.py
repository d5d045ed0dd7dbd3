"""The page of `foldless app` in a browser: from a file to the report, two tabs at once, a program that has ended."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest
from xlsxwriter import Workbook

from chromium import Browser, binary
from cli_files import N, X, Y, lines
from test_report_page import BROKEN, CONTRAST, SCRIPT, complaints, requests

pytestmark = pytest.mark.skipif(
    binary() is None, reason="no Chromium here: install Debian's package chromium to run this"
)
ENDED = "The program has ended: start it again"
# Controls without a name for a screen reader.
NAMELESS = """
[...document.querySelectorAll('button, select, input, iframe, progress, a[href]')]
  .filter(e => !(e.labels?.length || e.ariaLabel || e.title || e.textContent.trim())).map(e => e.outerHTML)
"""
SIZES = """
Promise.all([...document.querySelectorAll('[data-file]')].map(async a => (await (await fetch(a.href)).text()).length))
"""


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A table with an attack for a name, another table, an Excel file with two sheets, and a picture."""
    folder = tmp_path_factory.mktemp("files")
    names = (f'"{SCRIPT}"', "b", "c")
    table = lines(names=names, labels=np.where(Y, "ill", "well"), patient=[f"p{k // 2}" for k in range(N)])
    (folder / "patients.csv").write_text(table)
    (folder / "other.csv").write_text(lines(names=("x", "y1", "z"), labels=np.where(Y, "case", "control")))
    with Workbook(folder / "two.xlsx") as book:
        for name in "ab":
            pl.DataFrame({"x": X[:, 0], "y": Y}).write_excel(book, worksheet=name)
    (folder / "picture.csv").write_bytes(b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR")
    return folder


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    """The command itself, with a folder of its own for temporary files."""
    scratch = tmp_path_factory.mktemp("scratch")
    process = subprocess.Popen(
        [sys.executable, "-m", "foldless", "app", "--no-browser"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, "TMPDIR": str(scratch)},
    )  # fmt: skip
    url = re.search(r"http://127\.0\.0\.1:\d+/[\w-]{32}/", process.stdout.readline())[0]
    yield SimpleNamespace(process=process, url=url, scratch=scratch)
    if process.poll() is None:
        process.kill()
        process.communicate()


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    running = Browser(tmp_path_factory.mktemp("profile"))
    yield running
    running.close()


def choose(browser, name, value):
    browser.evaluate(
        f"(() => {{ const e = document.getElementById('{name}'); e.value = '{value}'; "
        f"e.dispatchEvent(new Event('change')); return e.value }})()"
    )


def hidden(browser, *names):
    return [browser.evaluate(f"!!document.getElementById('{name}').closest('[hidden]')") for name in names]


def text(browser, name):
    return browser.evaluate(f"document.getElementById('{name}').innerText")


def shown(browser, name):
    return browser.wait_for(f"!document.getElementById('{name}').hidden && document.getElementById('{name}').innerText")


def test_from_a_wrong_file_to_the_report(browser, program, files):
    """With the keyboard where it matters; names stay text, the browser has nothing to complain about."""
    browser.look(1280)
    browser.open(program.url)
    browser.choose_file("#file", files / "picture.csv")
    assert shown(browser, "file-alert").startswith("picture.csv is not a table as CSV")
    browser.choose_file("#file", files / "two.xlsx")
    browser.wait_for("document.getElementById('file-alert').innerText.endsWith('choose one with --sheet.')")
    browser.evaluate("document.getElementById('sheet').value = 'b'; document.getElementById('again').click()")
    browser.wait_for("!document.getElementById('choose').hidden")
    browser.choose_file("#file", files / "patients.csv")
    browser.wait_for("document.getElementById('file-status').innerText.startsWith('patients.csv: ')")
    assert browser.evaluate("document.getElementById('file-alert').hidden")
    assert browser.evaluate("document.activeElement.id") == "h-target"
    assert text(browser, "file-status") == f"patients.csv: {N} rows, 5 columns."
    assert SCRIPT in text(browser, "columns")
    assert browser.evaluate("document.getElementById('go').disabled")
    assert hidden(browser, "positive", "groups", "model", "go", "sheet") == [True] * 5  # until there is an outcome
    browser.evaluate("document.getElementById('target').focus()")
    browser.press("y", 89, "y")  # chosen as a user of the keyboard does
    browser.wait_for("!document.getElementById('go').disabled")
    assert hidden(browser, "positive", "groups", "go", "sheet") == [False, False, False, True]  # a sheet is Excel's
    assert "30 “ill”" in text(browser, "target-status")
    assert "patient, as found by the program" in text(browser, "groups")
    assert "'patient' taken for one subject" in text(browser, "prepared")
    browser.evaluate("document.getElementById('go').focus()")
    browser.press("Enter", 13, "\r")
    browser.wait_for("!document.getElementById('progress').hidden && document.getElementById('bar').value > 0")
    browser.wait_for("!document.getElementById('result').hidden")
    assert browser.evaluate("document.activeElement.id") == "h-result"
    assert text(browser, "command") == "foldless report patients.csv --target y -o report.html"
    sizes = browser.evaluate(SIZES)
    assert len(sizes) == 5
    assert min(sizes) > 500
    assert complaints(browser) == []
    assert all(url.startswith((program.url, "data:")) for url in requests(browser))


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [1280, 390])
def test_layout_contrast_and_labels(browser, program, width, dark):
    """With the report of the test before: nothing wider than the window, text stands out, every control has a name."""
    browser.look(width, dark=dark)
    browser.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
    inside, frame = "document.getElementById('report').contentDocument", "document.getElementById('report')"
    browser.wait_for(f"!!{inside}?.querySelector('svg.picture')")
    assert browser.evaluate("document.documentElement.scrollWidth") == width
    assert browser.evaluate(f"{inside}.documentElement.scrollWidth <= {frame}.clientWidth")
    browser.wait_for(f"Math.abs({frame}.clientHeight - {inside}.documentElement.getBoundingClientRect().height) < 9")
    least, where = browser.evaluate(CONTRAST)
    assert least >= 4.5, where
    assert browser.evaluate(NAMELESS) == []
    assert browser.evaluate(BROKEN.replace("document", inside)) == 0


DROP = """
(() => {
  const data = new DataTransfer();
  data.items.add(new File([CONTENT], "dropped.csv"));
  const drop = new DragEvent("drop", {dataTransfer: data, bubbles: true, cancelable: true});
  document.getElementById("drop").dispatchEvent(drop);
})()
"""


def test_two_tabs_at_once(browser, program, files):
    """One file chosen, the other dropped: each tab shows its own, and the report of the first is still there."""
    first = browser.another_tab()
    browser.look(1280)
    browser.open(program.url)
    browser.evaluate(DROP.replace("CONTENT", repr((files / "other.csv").read_text())))
    second = browser.use(first)
    choose(browser, "positive", "well")
    browser.use(second)
    browser.wait_for("!document.getElementById('choose').hidden")
    assert text(browser, "file-status") == f"dropped.csv: {N} rows, 4 columns."
    assert "patient" not in text(browser, "columns")
    choose(browser, "target", "y")
    browser.wait_for("!document.getElementById('go').disabled")
    assert "positive class is 'case' (by its name)" in text(browser, "target-status")
    browser.use(first)
    browser.wait_for("document.getElementById('target-status').innerText.includes(\"'well' (by --positive)\")")
    assert text(browser, "file-status").startswith("patients.csv")
    browser.use(second)


def test_a_program_that_ends_half_way(browser, program):
    """The page says so at once, the program ends cleanly, and nothing is left."""
    choose(browser, "model", "forest")
    browser.evaluate("document.getElementById('go').click()")
    browser.wait_for("!document.getElementById('progress').hidden")
    assert list(program.scratch.iterdir())
    program.process.send_signal(signal.SIGINT)
    out, err = program.process.communicate(timeout=600)
    assert (program.process.returncode, err) == (0, "")
    assert out.endswith("foldless has ended; nothing was kept.\n")
    assert shown(browser, "ended").startswith(ENDED)
    assert browser.evaluate("[...document.querySelectorAll('button, select, input')].every(e => e.disabled)")
    assert browser.evaluate("document.getElementById('progress').hidden")
    time.sleep(0.1)
    assert list(program.scratch.iterdir()) == []
