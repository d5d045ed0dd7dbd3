"""`foldless app`: who may ask, what comes back, and that a page gives the answers of the command line."""

from __future__ import annotations

import io
import json
import os
import runpy
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import redirect_stderr, redirect_stdout
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import quote

import numpy as np
import polars as pl
import pyreadstat
import pytest
import uvicorn
from sklearn.linear_model import RidgeClassifier

import foldless as fl
from cli_files import N, X, Y, gzipped, lines, run
from foldless.app import server, work
from foldless.cli.models import load_model
from foldless.cli.request import read_file
from test_cli_bad_input import ARCHIVES, FILES, FRAMES
from test_hostile_files import CONTROL, MARK, REFUSED, as_csv
from test_hostile_files import NAMES as HOSTILE_NAMES

TOKEN = "a-token-that-nobody-knows"
SUBJECTS = [f"p{k // 2}" for k in range(N)]
GAPS = ["" if k % 7 == 0 else 0.25 * (k % 11) for k in range(N)]
CITIES = np.where(np.arange(N) % 3 == 0, "Oslo", "Rome")
PATIENTS = lines(labels=np.where(Y, "died", "alive"), patient=SUBJECTS, gap=GAPS, city=CITIES)


class Client:
    """The application behind a real server in this process, and somebody who asks it."""

    def __init__(self):
        self.door = socket.socket()
        self.door.bind(("127.0.0.1", 0))
        self.port = self.door.getsockname()[1]
        self.home = f"http://127.0.0.1:{self.port}"
        self.ended = []
        self.guard = server.application(TOKEN, self.port, lambda: self.ended.append(True))
        self.server = uvicorn.Server(uvicorn.Config(self.guard, log_level="error", ws="none"))
        self.thread = threading.Thread(target=self.server.run, kwargs={"sockets": [self.door]})

    def __enter__(self):
        self.thread.start()
        while not self.server.started:
            time.sleep(0.005)
        return self

    def __exit__(self, *_):
        self.server.should_exit = True
        self.thread.join()

    @property
    def tabs(self):
        return self.guard.app.state.tabs

    def ask(self, method, path, body=None, **headers):
        """The answer, with its `text` and `json`; a header that is None is not sent."""
        sent = {"host": f"127.0.0.1:{self.port}", "origin": self.home, **headers}
        connection = HTTPConnection("127.0.0.1", self.port, timeout=600)
        connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
        for name, value in sent.items():
            if value is not None:
                connection.putheader(name.replace("_", "-"), value)
        if body is not None:
            connection.putheader("content-length", str(len(body)))
        connection.endheaders(body)
        answer = connection.getresponse()
        answer.content = answer.read()
        answer.text = answer.content.decode(errors="replace")
        answer.json = json.loads(answer.content) if "json" in answer.headers.get("content-type", "") else None
        connection.close()
        return answer

    def get(self, path, **headers):
        return self.ask("GET", f"/{TOKEN}/{path}", **headers)

    def post(self, path, content=None, **headers):
        return self.ask("POST", f"/{TOKEN}/{path}", json.dumps(content).encode(), **headers)


class Tab:
    """What a tab of the browser does."""

    def __init__(self, client):
        self.client = client
        self.key = client.post("tabs").json["tab"]
        self.at = f"tabs/{self.key}"

    def put(self, name, content):
        content = content if isinstance(content, bytes) else content.encode()
        return self.client.ask("PUT", f"/{TOKEN}/{self.at}/file?name={quote(name, safe='')}", content)

    def begin(self, do, **choices):
        return self.client.post(f"{self.at}/{do}", choices).json

    def state(self):
        return self.client.get(self.at).json

    def done(self, patience=600.0):
        deadline = time.monotonic() + patience
        while (state := self.state())["doing"]:
            assert time.monotonic() < deadline, state
            time.sleep(0.02)
        return state

    def get(self, name):
        return self.client.get(f"{self.at}/{name}")


@pytest.fixture(scope="module")
def client():
    with Client() as running:
        yield running


# ---- the answer is that of the command line


@pytest.fixture(scope="module")
def two_tabs(client):
    """Two tabs that ask for a report at the same time."""
    tabs = {"patients.csv": Tab(client), "plain.csv": Tab(client)}
    choices = {"patients.csv": {"positive": "alive"}, "plain.csv": {"model": "ridge", "drop": ["c"], "no-search": True}}
    for (name, tab), content in zip(tabs.items(), (PATIENTS, lines()), strict=True):
        assert tab.put(name, content).json == {"name": name}
        tab.begin("report", target="y", **choices[name])
    assert all(tab.state()["doing"] == "report" for tab in tabs.values())
    return {name: (tab, tab.done()) for name, tab in tabs.items()}


ARGUMENTS = {
    "patients.csv": ["--target", "y", "--positive", "alive"],
    "plain.csv": ["--target", "y", "--model", "ridge", "--drop", "c"],
}


def test_the_report_is_that_of_the_command(two_tabs, tmp_path, monkeypatch):
    """Byte by byte, from the command line that the page shows."""
    tab, state = two_tabs["patients.csv"]
    monkeypatch.chdir(tmp_path)
    Path("patients.csv").write_text(PATIENTS)
    words = ["report", "patients.csv", *ARGUMENTS["patients.csv"], "-o", "report.html"]
    assert state["report"]["command"] == " ".join(["foldless", *words])
    monkeypatch.setattr("sys.argv", ["foldless", *words])
    assert run(*words, "--scores", "scores.csv").exit_code == 0
    assert tab.get("report.html").content == Path("report.html").read_bytes()
    assert tab.get("scores.csv").content == Path("scores.csv").read_bytes()
    assert state["report"]["verdict"] in ("trust", "caution", "do not use")


def test_two_tabs_at_once_do_not_mix(two_tabs, tmp_path, monkeypatch):
    """The other tab has the scores and the model of its own file."""
    tab, state = two_tabs["plain.csv"]
    monkeypatch.chdir(tmp_path)
    Path("plain.csv").write_text(lines())
    assert state["report"]["command"] == " ".join(
        ["foldless report plain.csv", *ARGUMENTS["plain.csv"], "--no-search", "-o report.html"]
    )
    result = run("auc", "plain.csv", *ARGUMENTS["plain.csv"], "--scores", "s.csv", "--save-model", "m.skops", "--json")
    assert json.loads(result.stdout)["saved_model"] == "m.skops"
    assert tab.get("scores.csv").content == Path("s.csv").read_bytes()
    Path("theirs.skops").write_bytes(tab.get("model.skops").content)
    models = [load_model(Path(name)).model for name in ("m.skops", "theirs.skops")]
    assert np.array_equal(models[0][-1].coef_, models[1][-1].coef_)
    assert "plain.csv" in tab.get("report.html").text
    assert "patients.csv" not in tab.get("report.html").text
    assert "The search was not asked for" in tab.get("report.html").text


@pytest.mark.parametrize("name", ARGUMENTS)
def test_the_python_lines_give_the_same_answer(two_tabs, name, tmp_path, monkeypatch):
    """Run beside the table of the same page."""
    tab, state = two_tabs[name]
    monkeypatch.chdir(tmp_path)
    Path("table.csv").write_bytes(tab.get("table.csv").content)
    code = tab.get("same.py").text
    assert state["report"]["lines"] == code
    Path("same.py").write_text(code)
    reports = []
    monkeypatch.setattr(fl, "report", lambda *args, **how: reports.append((args, how)))
    found = runpy.run_path("same.py")["analysis"]
    scores = pl.read_csv(io.BytesIO(tab.get("scores.csv").content))
    assert np.allclose(found.scores.scores, scores["honest_score"], rtol=1e-9, atol=1e-12)
    assert found.auc.mean == pytest.approx(float(state["report"]["auc"].split()[0]), abs=5.1e-4)
    names = pl.read_csv("table.csv").columns
    how = {"path": "report.html", "feature_names": names[: names.index("y")], "level": 0.95, "seed": 0}
    how |= {"search": False} if name == "plain.csv" else {}
    assert reports == [((found,), how)]


def test_scores_name_rows_and_have_probabilities_where_there_are_some(two_tabs):
    """A ridge classifier has none."""
    patients, plain = (pl.read_csv(io.BytesIO(two_tabs[name][0].get("scores.csv").content)) for name in ARGUMENTS)
    assert patients.columns == ["id", "group", "class", "honest_score", "honest_probability"]
    assert plain.columns == ["id", "class", "honest_score"]
    assert patients["id"].to_list() == list(range(1, N + 1))
    assert patients["class"].to_list() == np.where(Y, "died", "alive").tolist()
    assert np.allclose(1 / (1 + np.exp(-patients["honest_score"])), patients["honest_probability"])


LINES = {
    "three classes": (lines(labels=np.arange(N) % 3), []),
    "lda on text": (lines(city=CITIES), ["--model", "lda", "--shrinkage", "0.3"]),
    "numbers with gaps": (lines(gap=["", "", *GAPS[2:]], more=["", *range(N - 1)]), ["--keep", "more", "--C", "0.1"]),
    "logarithms and decimal commas": (
        lines(rows=np.exp(X).round(4), separator=";").replace(".", ","), ["--log", "--no-standardize"],
    ),
    "names of all kinds": (lines(names=("a b", "quo'te", 'x"')).replace('x"', '"x"""'), ["--level", "0.9"]),
    "refits": (lines(labels=np.where(Y, "yes", "no")), ["--model", "l1", "--C", "0.1"]),
}  # fmt: skip


@pytest.mark.parametrize("case", LINES)
def test_python_lines_of_every_pipeline(case, tmp_path, monkeypatch):
    """The table and the code stand for what the command fits, whatever its steps."""
    content, words = LINES[case]
    monkeypatch.chdir(tmp_path)
    Path("x.csv").write_text(content)
    request = read_file(work.parsed.main(["x.csv", "--target", "y", *words], standalone_mode=False)[0])
    analysis = request.judged()
    Path("table.csv").write_bytes(work.used_table(request).write_csv().encode())
    code = work.python_lines(request, analysis)
    Path("same.py").write_text(code.partition("fl.report(")[0])
    found = runpy.run_path("same.py")["analysis"]
    assert found.method == analysis.method
    assert found.auc.interval(0.9) == pytest.approx(analysis.auc.interval(0.9), rel=1e-9)
    assert found.verdict == analysis.verdict
    assert f"level={request.options.level}" in code


# ---- the columns as they were read


class Here:
    """A worker in this process: what a real one does, without the start of Python."""

    returncode = None

    def __init__(self):
        self.stdin = self.stdout = self
        self.said = []

    def write(self, line):
        said = io.StringIO()
        with pytest.MonkeyPatch.context() as patch, redirect_stdout(said), redirect_stderr(said):
            patch.setattr("sys.stdin", io.StringIO(line.decode()))
            work.main()
        self.said = said.getvalue().splitlines(True)

    async def readline(self):
        return self.said.pop(0).encode() if self.said else b""

    def kill(self):
        self.returncode = -9

    async def wait(self):
        return self.returncode


@pytest.fixture(scope="module")
def quick():
    """A client whose workers, all but the first, are in this process."""

    async def started():
        return Here()

    with Client() as running:
        running.tabs._started = started
        yield running


def look(client, name, content, **choices):
    tab = Tab(client)
    assert tab.put(name, content).status == 200
    tab.begin("look", **choices)
    return tab.done()


def test_columns_before_and_after_the_target_is_known(quick):
    """Type, missing, levels; then roles, classes and what was done."""
    seen = look(quick, "patients.csv", PATIENTS)["look"]
    columns = {column["name"]: column for column in seen["columns"]}
    assert (seen["rows"], list(columns)) == (N, ["a", "b", "c", "patient", "gap", "city", "y"])
    assert columns["city"] == {
        "name": "city", "holds": "text", "missing": 0, "levels": 2, "shown": ["Rome", "Oslo"],
    }  # fmt: skip
    assert (columns["gap"]["holds"], columns["gap"]["missing"]) == ("numbers", 9)
    assert "classes" not in seen
    seen = look(quick, "patients.csv", PATIENTS, target="y", drop=["a"], na=["Oslo"])["look"]
    assert seen["roles"] == {
        "b": "feature", "c": "feature", "gap": "feature", "city": "feature", "patient": "groups", "y": "target",
    }  # fmt: skip
    assert (seen["positive"], dict(seen["classes"])) == ("died", {"alive": 30, "died": 30})
    assert "taken for missing, as --na says: 'city' (20 rows)" in seen["prepared"]


def test_what_keeps_a_report_from_being_made_is_said_beside_the_columns(quick):
    """The columns are shown all the same, so that a role can be changed."""
    seen = look(quick, "x.csv", lines(labels=np.arange(N) / 7), target="y")["look"]
    assert "60 different values" in seen["problem"]
    assert len(seen["columns"]) == 4
    numbers = np.arange(N) % 24
    sex = np.random.default_rng(0).integers(0, 2, 24)[numbers]
    seen = look(quick, "x.csv", lines(visit=numbers, sex=sex), target="y")["look"]
    assert "Use --groups visit if so" in seen["problem"]
    assert "problem" not in look(quick, "x.csv", lines(visit=numbers), target="y", groups="visit")["look"]


@pytest.mark.parametrize("name", ["x.parquet", "x.xlsx", "x.npz", "x.csv.gz", "x.sav", "x.dta"])
def test_kinds_of_files(quick, name, tmp_path):
    """Every kind that the command reads."""
    path, frame = tmp_path / name, pl.DataFrame({"a": X[:, 0], "b": X[:, 1], "y": Y})
    write = {
        "x.parquet": lambda: frame.write_parquet(path), "x.xlsx": lambda: frame.write_excel(path),
        "x.npz": lambda: np.savez(path, X=X[:, :2], y=Y, feature_names=["a", "b"]),
        "x.csv.gz": lambda: path.write_bytes(gzipped(frame.write_csv())),
        "x.sav": lambda: pyreadstat.write_sav(frame.to_pandas(), path),
        "x.dta": lambda: pyreadstat.write_dta(frame.to_pandas(), path),
    }  # fmt: skip
    write[name]()
    seen = look(quick, name, path.read_bytes(), **({} if name == "x.npz" else {"target": "y"}))["look"]
    assert dict(seen["classes"]) == {"0": 30, "1": 30}
    assert {"a": "feature", "b": "feature"}.items() <= seen["roles"].items()


# ---- files that cannot be used, or are made to do harm

FLAGS = ("--log", "--no-standardize")
BAD = {
    f"files: {case}": (name, content, {"target": "y", **{flag[2:]: True for flag in options}}, expected)
    for case, (name, content, options, expected) in FILES.items()
    if all(option in FLAGS for option in options) and case not in ("empty", "empty parquet", "empty npz")
}
# The four that take seconds are left to the tests of the command line.
BAD |= {
    f"hostile: {case}": (name, content, {"target": "y"}, words)
    for case, (name, content, words) in REFUSED.items()
    if not callable(content) and "million" not in case
}


def refused(client, name, content, choices):
    """What the page says when a report is asked for."""
    tab = Tab(client)
    assert tab.put(name, content).status == 200
    tab.begin("report", strict=True, **choices)
    said = tab.done()
    assert said.keys() == {"doing", "refused"}, said
    assert not CONTROL.search(said["refused"])
    assert "internal error" not in said["refused"]
    tab.begin("look", **choices)  # prepared or refused, but never a failure of the program itself
    seen = tab.done()
    assert "look" in seen or "internal error" not in seen["refused"]
    client.post(f"{tab.at}/close")
    return said["refused"]


@pytest.mark.parametrize("case", BAD)
def test_bad_files_are_refused_in_words(quick, case):
    """The list of the command line, uploaded: the same words."""
    name, content, choices, expected = BAD[case]
    assert expected in refused(quick, name, content, choices)


@pytest.mark.parametrize("case", ARCHIVES)
def test_bad_archives_are_refused_in_words(quick, case):
    arrays, options, expected = ARCHIVES[case]
    out = io.BytesIO()
    np.savez(out, **arrays)
    assert expected in refused(quick, "x.npz", out.getvalue(), {"sep": "comma"} if options else {})


@pytest.mark.parametrize("case", FRAMES)
def test_bad_frames_are_refused_in_words(quick, case):
    column, expected = FRAMES[case]
    out = io.BytesIO()
    pl.DataFrame({"a": X[:, 0], "z": column, "y": Y}).write_parquet(out)
    assert expected in refused(quick, "x.parquet", out.getvalue(), {"target": "y"})


def test_there_are_enough_bad_files():
    assert len(BAD) + len(ARCHIVES) + len(FRAMES) >= 80


@pytest.mark.parametrize("case", HOSTILE_NAMES)
def test_hostile_names_stay_names(quick, case):
    """As a column, as a class, as the name of the file."""
    name = HOSTILE_NAMES[case]
    tab = Tab(quick)
    stored = tab.put(f"{name}.csv", as_csv(name)).json["name"]
    assert not set('/\\\0:*?"<>|\r\n\x1b') & set(stored)
    assert len(stored) <= server.LONGEST_NAME
    tab.begin("look", target="no")
    state = tab.done()
    assert "internal error" not in state.get("refused", "")
    assert not CONTROL.search(state.get("refused", ""))


def test_empty_too_large_and_unfinished_uploads(quick, monkeypatch):
    """Nothing of them is kept."""
    tab = Tab(quick)
    tab.put("x.csv", b"")
    tab.begin("look")
    assert tab.done()["refused"] == "x.csv is empty: expected a header line and one line per row."
    monkeypatch.setattr(server, "MOST_BYTES", 2**20)
    said = tab.put("x.csv", b"a" * (2**20 + 1))
    assert (said.status, said.json["refused"]) == (
        400,
        "x.csv is larger than 1 MB: use the command line for it.",
    )
    assert tab.begin("look") == {"refused": "Choose a file first."}
    head = f"PUT /{TOKEN}/{tab.at}/file?name=x.csv HTTP/1.1\r\nhost: 127.0.0.1:{quick.port}\r\norigin: {quick.home}\r\n"
    with socket.create_connection(("127.0.0.1", quick.port)) as line:
        line.sendall(f"{head}content-length: 5000\r\n\r\na,b,y\n".encode())
        folder = quick.tabs.tabs[tab.key].folder / "in"
        while not folder.exists():
            time.sleep(0.005)
    while folder.exists():
        time.sleep(0.005)
    assert tab.begin("look") == {"refused": "Choose a file first."}


def test_a_full_disk_is_reported(quick, monkeypatch):
    def full(*args, **options):
        raise OSError(28, "No space left on device")

    tab = Tab(quick)
    monkeypatch.setattr(server.Path, "open", full)
    assert "No space left on device" in tab.put("x.csv", lines()).json["refused"]


@pytest.mark.parametrize(
    "choices",
    [{"model-file": "/etc/passwd"}, {"out": "x.html"}, {"target": {"a": 1}}, ["--target", "y"], "y", {"target": 3}],
)
def test_choices_outside_of_the_list_are_refused(quick, choices):
    tab = Tab(quick)
    tab.put("x.csv", lines())
    said = quick.post(f"{tab.at}/report", choices)
    assert said.status == 400
    assert "do not fit together" in said.json["refused"]


def test_choices_become_words():
    """Empty ones are left out."""
    choices = {"target": "y", "drop": ["age", "sex"], "log": True, "positive": "", "strict": False}
    words = ["a.csv", "--target", "y", "--drop", "age", "--drop", "sex", "--log"]
    assert server.words_of("a.csv", choices) == words


def test_a_value_is_never_an_option(quick):
    """A column called --model-file is a column that is not there."""
    seen = look(quick, "x.csv", lines(), target="--model-file=/etc/passwd")["look"]
    assert "no column '--model-file=/etc/passwd'" in seen["problem"]


def test_an_uploaded_program_is_not_run(tmp_path):
    """The worker works in the folder of the file, and imports nothing from there."""
    (tmp_path / "json.py").write_text(f"import os; os.system('touch {MARK}')")
    command = [*server.WORKER[:-1], "import json, sys; print(sys.path)"]
    path = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    assert not {"''", repr(str(tmp_path))} & set(path.strip("[]\n").split(", "))
    assert not (tmp_path / MARK).exists()


# ---- who may ask

OTHERS = (
    {"host": "evil.example:PORT"}, {"host": "127.0.0.1:9"}, {"host": "127.0.0.1"}, {"host": None},
    {"origin": "http://evil.example"}, {"origin": "null"}, {"origin": "http://127.0.0.1:9"},
    {"origin": "https://127.0.0.1:PORT"}, {"sec_fetch_site": "cross-site"}, {"sec_fetch_site": "same-site"},
)  # fmt: skip


@pytest.mark.parametrize("headers", OTHERS, ids=str)
def test_another_host_or_origin_is_refused(quick, headers):
    """Also for reading, and also with the token."""
    headers = {name: value and value.replace("PORT", str(quick.port)) for name, value in headers.items()}
    for method, path in (("GET", ""), ("POST", "tabs"), ("POST", "end"), ("GET", "app.js"), ("PUT", "tabs/x/file")):
        said = quick.ask(method, f"/{TOKEN}/{path}", **headers)
        assert said.status == 400 if headers.get("host", "") is None else said.status == 403, (method, path)
        assert "tab" not in (said.json or {})
    assert not quick.ended


@pytest.mark.parametrize(
    "path", ["/", "/tabs", "/wrong/", f"/{TOKEN[:-1]}/", f"/{TOKEN}x/", f"/{TOKEN}", "/app.js", "//"]
)
def test_without_the_token_there_is_nothing(quick, path):
    for method in ("GET", "POST"):
        said = quick.ask(method, path)
        assert said.status == 404
        assert TOKEN not in said.text


@pytest.mark.parametrize("name", ["localhost", "127.0.0.1"])
def test_the_page_itself_may_ask(quick, name):
    host = f"{name}:{quick.port}"
    said = quick.get("", host=host, origin=f"http://{host}", sec_fetch_site="none")
    assert said.status == 200
    assert "<title>foldless</title>" in said.text


def test_what_sends_something_must_say_where_it_comes_from(quick):
    """Browsers always do."""
    assert quick.get("app.js", origin=None).status == 200
    assert quick.post("tabs", origin=None).status == 403


OUTSIDE = (
    "../../etc/passwd", "..%2f..%2fetc%2fpasswd", "%2e%2e/%2e%2e/etc/passwd", "server.py", "same.py.j2", "__init__.py",
    "tabs/TAB/in/x.csv", "tabs/TAB/x.csv", "tabs/TAB/..%2fin%2fx.csv", "tabs/TAB/report.json", "tabs/TAB/look.json",
    "tabs/TAB/%2fetc%2fpasswd", "tabs/TAB/report.html%00", "tabs/..%2fTAB", "tabs//etc/passwd", "tabs/TAB/report.html",
    "/etc/passwd", "..//..//etc/passwd", "file:///etc/passwd",
)  # fmt: skip


@pytest.mark.parametrize("path", OUTSIDE)
def test_no_path_leads_outside(quick, path):
    """Neither a file of the machine nor the upload itself; and no report before there is one."""
    tab = Tab(quick)
    tab.put("x.csv", lines())
    said = quick.get(path.replace("TAB", tab.key))
    assert said.status == 404
    assert "root:" not in said.text
    assert "import" not in said.text


def test_every_answer_forbids_what_the_page_does_not_need(quick):
    """Nothing from elsewhere, nothing cached, nothing guessed; on mistakes too."""
    for path in ("", "app.js", "app.css", "page.css", "nothing/here", "tabs/none"):
        headers = quick.get(path).headers
        assert "default-src 'none'" in headers["content-security-policy"], path
        assert "unsafe" not in headers["content-security-policy"]
        assert headers["cache-control"] == "no-store"
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
    page = quick.get("").text
    assert "http" not in page  # nothing from elsewhere
    assert " style=" not in page
    assert "onclick" not in page


def test_tabs_do_not_see_each_other(quick):
    """A tab that was closed is not known any more, and one too many closes the oldest."""
    first, second = Tab(quick), Tab(quick)
    first.put("x.csv", lines())
    assert second.begin("look") == {"refused": "Choose a file first."}
    assert quick.post(f"{first.at}/close").status == 204
    assert first.state() == {"refused": "This tab is not known any more: load the page again."}
    many = [Tab(quick) for _ in range(server.MOST_TABS + 1)]
    assert "refused" in many[0].state()
    assert many[-1].state() == {"doing": None}


# ---- work that is stopped, and the end


def test_work_can_be_stopped_and_the_end_leaves_nothing(monkeypatch):
    """A new file takes the place of the work; with the program all files and workers are gone."""
    workers, start = [], server.Tabs._started

    async def started(self):
        workers.append(await start(self))
        return workers[-1]

    monkeypatch.setattr(server.Tabs, "_started", started)
    with Client() as running:
        tabs, tab = running.tabs, Tab(running)
        tab.put("x.csv", lines())
        assert tab.begin("report", target="y", model="forest")["doing"] == "report"
        assert running.post(f"{tab.at}/stop").json == {"doing": None}
        assert tab.begin("look")["doing"] == "look"
        tab.put("y.csv", lines())
        assert tab.state() == {"doing": None}
        assert running.post("end").status == 204
        assert running.ended
        assert tabs.folder.is_dir()
    assert not tabs.folder.exists()
    assert workers
    assert all(worker.returncode is not None for worker in workers)


def test_a_worker_that_dies_is_reported(client):
    """Killed by the system, for example for lack of memory."""
    tab = Tab(client)
    tab.put("x.csv", lines())
    worker = client.tabs.waiting[-1]
    tab.begin("report", target="y", model="forest")
    os.kill(worker.result().pid, 9)
    assert tab.done()["refused"] == server.CRASHED


@pytest.mark.parametrize("sent", [signal.SIGTERM, signal.SIGHUP])
def test_whatever_ends_the_program_leaves_nothing(sent, tmp_path):
    """Also when the window of the terminal is closed."""
    command = [sys.executable, "-m", "foldless", "app", "--no-browser"]
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment) as program:
        assert b"foldless is at http://127.0.0.1:" in program.stdout.readline()
        while not list(tmp_path.iterdir()):
            time.sleep(0.01)
        program.send_signal(sent)
        assert program.communicate(timeout=600)[1] == b""
    assert program.returncode in (0, -sent)
    assert list(tmp_path.iterdir()) == []


def test_a_port_that_is_taken(client):
    result = run("app", "--no-browser", "--port", client.port)
    assert result.exit_code == 2
    assert f"port {client.port} cannot be used (Address already in use)" in result.stderr


# ---- --scores and --save-model


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("x.csv").write_text(lines())
    return tmp_path


def scores_of(*words):
    assert run("auc", "x.csv", "--target", "y", "--scores", "s.csv", *words).exit_code == 0
    return pl.read_csv("s.csv")


@pytest.mark.parametrize("positive", [0, 1])
def test_scores_are_those_of_fits_without_the_row(folder, positive):
    """Ridge regression, where removal is exact: sixty refits give the same, towards the positive class."""
    found = scores_of("--model", "ridge", "--C", "0.5", "--no-standardize", "--positive", positive)
    sign = 1 if positive else -1
    for k in range(N):
        rest = np.arange(N) != k
        refit = RidgeClassifier(alpha=2.0).fit(X[rest], Y[rest]).decision_function(X[[k]])[0]
        assert found["honest_score"][k] == pytest.approx(sign * refit, rel=1e-9)


def test_rows_are_named_or_numbered_as_in_the_file(folder):
    """Rows without a class are left out, and the others keep their numbers."""
    labels = ["" if k in (0, 7) else str(Y[k]) for k in range(N)]
    Path("x.csv").write_text(lines(labels=labels))
    assert scores_of()["id"].to_list() == [k + 1 for k in range(N) if k not in (0, 7)]
    Path("x.csv").write_text(lines(sample=[f"s{k}" for k in range(N)]))
    assert scores_of("--id", "sample")["id"].to_list() == [f"s{k}" for k in range(N)]


def test_scores_of_three_classes(folder):
    """One score for each class; that of the own class is the largest for most rows that are told apart."""
    labels = np.arange(N) % 3
    Path("x.csv").write_text(lines(labels=labels, rows=X + 3 * np.eye(3)[labels]))
    found = scores_of("--model", "lda")
    kinds = ("honest_score", "honest_probability")
    assert found.columns == ["id", "class", *(f"{kind}_{k}" for kind in kinds for k in range(3))]
    for columns in (found[:, 2:5], found[:, 5:]):
        assert np.mean(np.argmax(columns.to_numpy(), axis=1) == labels) > 0.8


def test_names_in_scores_are_never_formulas(folder):
    Path("x.csv").write_text(lines(labels=np.where(Y, "=cmd()", "+1"), sample=[f"@{k}" for k in range(N)]))
    found = scores_of("--id", "sample")
    assert set(found["class"]) == {"'=cmd()", "+1"}
    assert found["id"][0] == "'@0"


WRONG = {
    "--scores=s.txt": "--scores s.txt: expected a name that ends in .csv",
    "--save-model=m.pkl": "--save-model m.pkl: expected a name that ends in .skops",
    "--scores=nowhere/s.csv": "there is no directory nowhere",
}


@pytest.mark.parametrize("option", WRONG)
def test_files_that_cannot_be_written_are_refused_before_the_work(folder, option):
    for command in (["auc"], ["report", "-o", "r.html"]):
        result = run(*command, "x.csv", "--target", "y", option)
        assert result.exit_code == 2
        assert WRONG[option] in result.stderr
    assert [path.name for path in folder.iterdir()] == ["x.csv"]


@pytest.mark.parametrize("option", ["--scores=s.csv", "--save-model=m.skops"])
def test_tables_read_in_blocks_have_neither(folder, option):
    pl.DataFrame({"a": X[:, 0], "y": Y}).write_parquet("x.parquet")
    result = run("auc", "x.parquet", "--target", "y", "--stream", option)
    assert result.exit_code == 2
    assert "needs the whole table in memory" in result.stderr


def test_a_saved_model_is_read_again(folder):
    """The same answer from the file."""
    first = run("auc", "x.csv", "--target", "y", "--save-model", "m.skops", "--json")
    again = run("auc", "x.csv", "--target", "y", "--model-file", "m.skops", "--json")
    assert json.loads(first.stdout)["auc"] == json.loads(again.stdout)["auc"]
    assert run("auc", "x.csv", "--target", "y", "--scores", "s.csv", "--save-model", "m.skops").stdout.endswith(
        "s.csv\nm.skops\n"
    )
