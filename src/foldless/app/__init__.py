"""``foldless app``: a page on the user's own machine, for people without a terminal."""

from __future__ import annotations

import os
import secrets
import signal
import socket
import threading
import webbrowser
from contextlib import suppress
from importlib.util import find_spec
from typing import Any

import click

from foldless.cli import console
from foldless.errors import InputError

HOST = "127.0.0.1"
QUIET: dict[str, Any] = {"log_level": "error", "access_log": False, "server_header": False, "ws": "none"}
EXAMPLES = """\b
Examples:
  foldless app
  foldless app --port 8123 --no-browser
"""


@click.command(epilog=EXAMPLES)
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="The port of the page; by default any free one.")
@click.option("--no-browser", is_flag=True, help="Print the address, and leave it to you to open it.")
def app(port: int, no_browser: bool) -> None:
    """Open a page in the browser: drop a file, see its columns, read the report.

    The page is on this machine: its address works here only, the file never leaves the machine, and nothing is kept
    after the program ends, with Ctrl-C or with the button on the page.
    """
    absent = [name for name in ("starlette", "uvicorn", "jinja2", "matplotlib") if find_spec(name) is None]
    if absent:
        raise InputError(f"the page needs {' and '.join(absent)}: pip install 'foldless[app]'.")
    door, token = _opened(port), secrets.token_urlsafe(24)
    address = f"http://{HOST}:{door.getsockname()[1]}/{token}/"
    console.say(f"foldless is at {address}")
    console.say("Only this machine can see it. Ctrl-C ends it, and nothing is kept.")
    if not no_browser:
        threading.Thread(target=webbrowser.open, args=[address], daemon=True).start()
    _serve(door, token)
    console.say("foldless has ended; nothing was kept.")


def _opened(port: int) -> socket.socket:
    """A socket that only this machine can reach."""
    try:
        return socket.create_server((HOST, port))
    except OSError as err:
        why = os.strerror(err.errno or 0)
        raise InputError(f"port {port} cannot be used ({why}): choose another, or leave --port out.") from err


def _serve(door: socket.socket, token: str) -> None:
    """Serve the page until Ctrl-C, or until its button is pressed."""
    import uvicorn

    from foldless.app.server import application

    def stop() -> None:
        server.should_exit = True

    page = application(token, door.getsockname()[1], stop)
    server = uvicorn.Server(uvicorn.Config(page, timeout_graceful_shutdown=2, **QUIET))
    if hasattr(signal, "SIGHUP"):  # the window of the terminal was closed: end as after Ctrl-C, and remove all files
        signal.signal(signal.SIGHUP, lambda *_: stop())
    with suppress(KeyboardInterrupt):  # raised once more by uvicorn, after everything has ended
        server.run(sockets=[door])
