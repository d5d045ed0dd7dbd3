"""The server behind the page: who may ask, the tabs and their files, and the workers that do the work.

Every tab of the browser has a folder of its own. A request names a tab and one of a few fixed names, never a path, so
no file of the machine can be read; what a worker gets is the uploaded file and options from a list.
"""

from __future__ import annotations

import asyncio
import json
import secrets
import shutil
import sys
from asyncio import subprocess
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from importlib.resources import files
from os import environ
from pathlib import Path, PurePosixPath
from time import monotonic
from typing import Any

from starlette.applications import Starlette
from starlette.datastructures import MutableHeaders
from starlette.requests import ClientDisconnect, Request
from starlette.responses import FileResponse, JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from foldless.tables.files import scratch_folder
from foldless.words import cleaned, one_line

MOST_BYTES, MOST_CHOICES = 500 * 2**20, 2**20  # of a file, and of what was chosen for it
MOST_TABS, MOST_AT_ONCE, LONGEST_NAME, LONGEST_LINE = 20, 2, 100, 2**22

# ---- Who may ask: only a page of this server, in a browser on this machine, that knows the token.

SAME = ("same-origin", "none")  # of Sec-Fetch-Site: the page itself, or an address that somebody typed
CONTENT = "default-src 'none'; base-uri 'none'; form-action 'none'; img-src data:; "
PAGE = CONTENT + "script-src 'self'; style-src 'self'; connect-src 'self'; frame-src 'self'; frame-ancestors 'none'"
SHOWN = CONTENT + "style-src 'unsafe-inline'; frame-ancestors 'self'"  # the report, inside the page
HEADERS = {
    "cache-control": "no-store",
    "content-security-policy": PAGE,
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
}


@dataclass(frozen=True)
class Guard:
    """An application behind checks of the Host, the Origin and the token, which is the first part of every path."""

    app: ASGIApp
    token: str
    port: int

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def sent(message: Message) -> None:
            if message["type"] == "http.response.start":
                for name, value in HEADERS.items():
                    MutableHeaders(scope=message).setdefault(name, value)
            await send(message)

        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
        elif scope["type"] == "http":  # the server speaks nothing else
            app = self.refusal(scope) or self.app
            await app({**scope, "root_path": f"/{self.token}"}, receive, sent)

    def refusal(self, scope: Scope) -> Response | None:
        """Why a request is refused, None for one of our own page."""
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        hosts = {f"{name}:{self.port}" for name in ("127.0.0.1", "localhost")}
        origin = headers.get("origin")
        if headers.get("host") not in hosts:
            return said("This address is for this machine only.", 403)
        ours = origin is None or origin in {f"http://{host}" for host in hosts}
        if not ours or headers.get("sec-fetch-site", "none") not in SAME:
            return said("Another page may not use this one.", 403)
        if origin is None and scope["method"] not in ("GET", "HEAD"):
            return said("Only the page itself may send something.", 403)
        first, slash, _ = scope["path"].removeprefix("/").partition("/")
        if not slash or not secrets.compare_digest(first.encode(), self.token.encode()):
            return said("There is nothing here: use the whole address that `foldless app` has printed.", 404)
        return None


def said(message: str, status: int = 400) -> Response:
    """An answer in words."""
    return JSONResponse({"refused": message}, status)


# ---- What was chosen on the page, as words of the command line. Nothing else reaches a worker.

ROLES = ("target", "positive", "groups", "id")
SINGLE = (*ROLES, "model", "C", "shrinkage", "censored", "sep", "encoding", "decimal", "thousands", "sheet", "level")
REPEATED = ("drop", "keep", "na")
FLAGS = ("log", "strict", "no-standardize", "no-search")


def words_of(name: str, choices: Any) -> list[str]:
    """The file and the options; choices that are not on the list are refused."""
    known = isinstance(choices, dict) and choices.keys() <= {*SINGLE, *REPEATED, *FLAGS}
    if not known or not all(isinstance(v, str | bool | list) for v in choices.values()):
        raise ValueError("The page and the program do not fit together: start both again.")
    words = [name]
    for key in SINGLE:
        words += [f"--{key}", str(choices[key])] if choices.get(key) else []
    for key in REPEATED:
        words += [word for value in choices.get(key, []) for word in (f"--{key}", str(value))]
    return words + [f"--{key}" for key in FLAGS if choices.get(key)]


def safe_name(name: str) -> str:
    r"""The last part of a file's name, without marks that a system or a shell acts on.

    >>> safe_name("C:\\data\\my table.csv"), safe_name("../../etc/passwd"), safe_name("-o.csv"), safe_name("..")
    ('my table.csv', 'passwd', 'o.csv', 'table')
    """
    last = name.replace("\\", "/").rpartition("/")[2]
    plain = "".join("_" if c in '<>:"|?*\ufffd' else c for c in cleaned(last)).lstrip("-. ").rstrip(". ")
    suffix = "".join(PurePosixPath(plain).suffixes[-2:])[-20:]
    return (plain if len(plain) <= LONGEST_NAME else plain[: LONGEST_NAME - len(suffix)] + suffix) or "table"


# ---- Tabs and workers.

WORKER = (sys.executable, "-P", "-c", "from foldless.app.work import main; main()")
IDLE: dict[str, Any] = {"doing": None}
DOWNLOADS = ("report.html", "scores.csv", "table.csv", "same.py", "model.skops")
CRASHED = "the work ended without an answer: there may not be enough memory for this file; leave out some columns."


@dataclass(eq=False)
class Tab:
    """A tab of the browser: its folder, its file, and how far the work on it is."""

    folder: Path
    name: str = ""
    state: dict[str, Any] = field(default_factory=lambda: dict(IDLE))
    seen: float = field(default_factory=monotonic)
    work: asyncio.Task[None] | None = None

    def place(self, do: str) -> Path:
        """Where the answer of a kind of work is: looking at columns again leaves the report and its downloads alone."""
        return self.folder / do

    async def stop(self) -> None:
        """End the work, if any."""
        if self.work is not None:
            self.work.cancel()
            await asyncio.wait([self.work])
            self.work = None
        self.state = dict(IDLE)


class Tabs:
    """All tabs, and the workers; one worker more than needed waits with its libraries loaded."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.tabs = folder, dict[str, Tab]()
        self.room = asyncio.Semaphore(MOST_AT_ONCE)
        self.waiting: list[asyncio.Task[subprocess.Process]] = []
        self.fill()

    async def new(self) -> str:
        """A new tab; the one that was not heard of for the longest makes room."""
        if len(self.tabs) >= MOST_TABS:
            await self.close(min(self.tabs, key=lambda key: self.tabs[key].seen))
        key = secrets.token_urlsafe(12)
        self.tabs[key] = Tab(self.folder / key)
        self.tabs[key].folder.mkdir(mode=0o700)
        return key

    async def close(self, key: str) -> None:
        """Forget a tab and its files."""
        tab = self.tabs.pop(key)
        await tab.stop()
        shutil.rmtree(tab.folder, ignore_errors=True)

    async def end(self) -> None:
        """Stop everything."""
        for key in list(self.tabs):
            await self.close(key)
        for worker in self.waiting:
            await _ended(await worker)

    def fill(self) -> None:
        """See to it that a worker waits; not while another works, which it would slow down."""
        if not self.waiting:
            self.waiting.append(asyncio.create_task(self._started()))

    async def _started(self) -> subprocess.Process:
        """A new worker, which loads its libraries and waits for a task."""
        # Ctrl-C is for the server, which ends its workers; what they write for themselves is removed with our folder.
        return await asyncio.create_subprocess_exec(
            *WORKER, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True,
            limit=LONGEST_LINE, env={**environ, **dict.fromkeys(("TMPDIR", "TEMP", "TMP"), str(self.folder))},
        )  # fmt: skip

    async def begin(self, tab: Tab, do: str, words: list[str]) -> None:
        """Begin to work for a tab; earlier work for it ends."""
        await tab.stop()
        shutil.rmtree(tab.place(do), ignore_errors=True)
        tab.place(do).mkdir()
        tab.state = {"doing": do, "part": "waiting for another tab" if self.room.locked() else "reading the file"}
        tab.work = asyncio.create_task(self._work(tab, {"do": do, "words": words}))

    async def _work(self, tab: Tab, task: dict[str, Any]) -> None:
        complaint, out = "", tab.place(task["do"])
        async with self.room:
            self.fill()
            waiting = self.waiting.pop()
            worker = await waiting
            try:
                line = {**task, "folder": str(tab.folder / "in"), "out": str(out)}
                worker.stdin.write(json.dumps(line).encode() + b"\n")  # type: ignore[union-attr]
                while "code" not in tab.state and (told := await worker.stdout.readline()):  # type: ignore[union-attr]
                    if told.startswith(b"{"):
                        tab.state |= json.loads(told)
                    elif told.startswith(b"foldless: "):
                        complaint = told.decode(errors="replace").removeprefix("foldless: ")
            finally:
                # A report may have taken much memory, which goes back with the worker.
                if task["do"] == "look" and "code" in tab.state:
                    self.waiting.append(waiting)
                else:
                    await _ended(worker)
                    self.fill()
        tab.state = {**IDLE, **outcome(task["do"], out, tab.state.get("code", 1), complaint)}


async def _ended(worker: subprocess.Process) -> None:
    if worker.returncode is None:
        worker.kill()
    await worker.wait()


def outcome(do: str, out: Path, code: int, complaint: str) -> dict[str, Any]:
    """The answer of a worker, or its complaint."""
    if code == 0 and (answer := out / f"{do}.json").exists():
        return {do: json.loads(answer.read_text(encoding="utf-8"))}
    return {"refused": one_line(complaint) or CRASHED}


# ---- The addresses.


async def page(request: Request) -> Response:
    """The page and what belongs to it."""
    name = request.path_params.get("name", "page.html")
    kinds = {"page.html": "text/html", "app.js": "text/javascript", "app.css": "text/css", "page.css": "text/css"}
    if name not in kinds:
        return said("There is no such page.", 404)
    folder = files("foldless.show.report" if name == "page.css" else "foldless.app")
    return Response((folder / name).read_bytes(), media_type=kinds[name])


def of_tab(answer: Callable[[Request, Tab], Awaitable[Response]]) -> Callable[[Request], Awaitable[Response]]:
    """An address below a tab; one that is not there is refused."""

    async def answered(request: Request) -> Response:
        tab = request.app.state.tabs.tabs.get(request.path_params["tab"])
        if tab is None:
            return said("This tab is not known any more: load the page again.", 404)
        tab.seen = monotonic()
        try:
            return await answer(request, tab)
        except (ValueError, OSError, ClientDisconnect) as err:
            return said(str(err))

    return answered


async def new_tab(request: Request) -> Response:
    """A new tab."""
    return JSONResponse({"tab": await request.app.state.tabs.new(), "most": MOST_BYTES})


@of_tab
async def state(request: Request, tab: Tab) -> Response:
    """How far the work is, and its answer."""
    return JSONResponse(tab.state)


@of_tab
async def upload(request: Request, tab: Tab) -> Response:
    """The body of the request becomes the file of the tab, in place of an earlier one."""
    await tab.stop()
    shutil.rmtree(tab.folder, ignore_errors=True)
    (tab.folder / "in").mkdir(parents=True, mode=0o700)
    tab.name, name = "", safe_name(request.query_params.get("name", ""))
    try:
        with (tab.folder / "in" / name).open("wb") as file:
            async for block in limited(request, MOST_BYTES, f"{name} is larger than {MOST_BYTES // 2**20} MB"):
                file.write(block)
    except (ValueError, OSError, ClientDisconnect):
        shutil.rmtree(tab.folder / "in")
        raise
    tab.name = name
    return JSONResponse({"name": name})


async def limited(request: Request, most: int, refusal: str) -> AsyncIterator[bytes]:
    """The body of a request; one that is too large is refused."""
    size = 0
    async for block in request.stream():
        size += len(block)
        if size > most:
            raise ValueError(f"{refusal}: use the command line for it.")
        yield block


@of_tab
async def begin(request: Request, tab: Tab) -> Response:
    """Begin to look at the file, or to make the report."""
    if not tab.name:
        return said("Choose a file first.")
    body = [block async for block in limited(request, MOST_CHOICES, "That is too much to choose")]
    words = words_of(tab.name, json.loads(b"".join(body)))
    await request.app.state.tabs.begin(tab, request.url.path.rpartition("/")[2], words)
    return JSONResponse(tab.state)


@of_tab
async def stop(request: Request, tab: Tab) -> Response:
    """End the work for a tab."""
    await tab.stop()
    return JSONResponse(tab.state)


@of_tab
async def close(request: Request, tab: Tab) -> Response:
    """The tab was closed."""
    await request.app.state.tabs.close(request.path_params["tab"])
    return Response(status_code=204)


@of_tab
async def download(request: Request, tab: Tab) -> Response:
    """One of the files that a report comes with; the report itself is shown unless it is asked for as a file."""
    name = request.path_params["name"]
    if name not in DOWNLOADS or not (path := tab.place("report") / name).is_file():
        return said("There is no such file.", 404)
    if name == "report.html" and "save" not in request.query_params:
        return FileResponse(path, headers={"content-security-policy": SHOWN})
    return FileResponse(path, filename=name)


ACTIONS = {"look": begin, "report": begin, "stop": stop, "close": close}


async def end(request: Request) -> Response:
    """End the program."""
    request.app.state.stop()
    return Response(status_code=204)


def application(token: str, port: int, stop_server: Callable[[], None]) -> Guard:
    """The whole application; its folder is there while it runs."""

    @asynccontextmanager
    async def running(app: Starlette) -> AsyncIterator[None]:
        with scratch_folder() as folder:
            app.state.tabs, app.state.stop = Tabs(folder), stop_server
            try:
                yield
            finally:
                await app.state.tabs.end()

    below = "/tabs/{tab}"
    routes = [
        Route("/", page),
        Route("/tabs", new_tab, methods=["POST"]),
        Route(below, state),
        Route(f"{below}/file", upload, methods=["PUT"]),
        *(Route(f"{below}/{name}", call, methods=["POST"]) for name, call in ACTIONS.items()),
        Route(f"{below}/{{name}}", download),
        Route("/end", end, methods=["POST"]),
        Route("/{name}", page),
    ]
    return Guard(Starlette(routes=routes, lifespan=running), token, port)
