"""A page in headless Chromium, over the DevTools protocol on a pipe: what it asked for, complained about and shows."""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--disable-extensions", "--disable-dev-shm-usage",
    "--hide-scrollbars", "--remote-debugging-pipe",
)  # fmt: skip
PATIENCE = 600.0  # a guard against hanging, not a measure of speed: machines are shared
# Chromium reads commands from descriptor 3 and writes to descriptor 4.
LAUNCHER = """
import fcntl, os, sys
ends = [fcntl.fcntl(int(end), fcntl.F_DUPFD, 10) for end in sys.argv[1:3]]
os.dup2(ends[0], 3), os.dup2(ends[1], 4)
os.execv(sys.argv[3], sys.argv[3:])
"""


def binary() -> str | None:
    """Where Chromium is, None if it is nowhere."""
    return next((found for name in NAMES if (found := shutil.which(name))), None)


class Browser:
    """One tab; `events` holds everything that the browser told, in order."""

    def __init__(self, folder: Path) -> None:
        to_browser, self._out = os.pipe()
        self._in, from_browser = os.pipe()
        ends = (to_browser, from_browser)
        command = [str(binary()), *FLAGS, f"--user-data-dir={folder}", "about:blank"]
        self.process = subprocess.Popen(
            [sys.executable, "-c", LAUNCHER, *map(str, ends), *command],
            pass_fds=ends,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        for end in ends:
            os.close(end)
        self._rest, self._last = b"", 0
        self.events: list[dict[str, Any]] = []
        self._session: str | None = None
        try:
            self._attach()
        except BaseException:
            self.close()
            raise

    def _attach(self) -> None:
        """Talk to the first tab."""
        target = next(t for t in self.call("Target.getTargets")["targetInfos"] if t["type"] == "page")
        self._talk_to(target["targetId"])

    def _talk_to(self, target: str) -> None:
        """Talk to a tab, and hear of everything that happens in it."""
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def another_tab(self) -> str | None:
        """Open another tab and talk to it from now on; the one before can be taken up again with `use`."""
        before = self._session
        self._talk_to(self.call("Target.createTarget", url="about:blank")["targetId"])
        return before

    def use(self, tab: str | None) -> str | None:
        """Talk to this tab; the one before is returned."""
        before, self._session = self._session, tab
        return before

    def call(self, method: str, **params: Any) -> Any:
        """The result of one command."""
        self._last += 1
        message = {"id": self._last, "method": method, "params": params}
        message |= {"sessionId": self._session} if self._session else {}
        os.write(self._out, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._receive()
            if answer.get("id") == self._last:
                assert "error" not in answer, f"{method}: {answer['error']}"
                return answer["result"]

    def _receive(self) -> dict[str, Any]:
        """The next message; events are kept."""
        deadline = time.monotonic() + PATIENCE
        while b"\0" not in self._rest:
            ready, _, _ = select.select([self._in], [], [], max(0.0, deadline - time.monotonic()))
            part = os.read(self._in, 1 << 20) if ready else b""
            assert part, "Chromium said nothing: it ended, or it hangs"
            self._rest += part
        message, _, self._rest = self._rest.partition(b"\0")
        found: dict[str, Any] = json.loads(message)
        if "method" in found:
            self.events.append(found)
        return found

    def open(self, url: str) -> None:
        """Load a page and wait until it is there; earlier events are forgotten."""
        self.events.clear()
        self.call("Page.navigate", url=url)
        while not self.seen("Page.loadEventFired"):
            self._receive()

    def seen(self, method: str) -> list[dict[str, Any]]:
        """Parameters of all events of a kind."""
        return [event["params"] for event in self.events if event["method"] == method]

    def evaluate(self, expression: str) -> Any:
        """The value of a JavaScript expression, promises awaited."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def wait_for(self, expression: str, patience: float = PATIENCE) -> Any:
        """The value of an expression as soon as it is true."""
        deadline = time.monotonic() + patience
        while not (value := self.evaluate(expression)):
            assert time.monotonic() < deadline, f"{expression} is not true: {self.evaluate('document.body.innerText')}"
            time.sleep(0.05)
        return value

    def choose_file(self, selector: str, path: Path) -> None:
        """Give a file to an input, as a user does in the dialogue."""
        root = self.call("DOM.getDocument")["root"]["nodeId"]
        node = self.call("DOM.querySelector", nodeId=root, selector=selector)["nodeId"]
        self.call("DOM.setFileInputFiles", nodeId=node, files=[str(path)])

    def press(self, key: str, code: int, text: str = "") -> None:
        """Press a key and let it go."""
        how = {"key": key, "code": key, "windowsVirtualKeyCode": code}
        self.call("Input.dispatchKeyEvent", type="keyDown", text=text, **how)
        self.call("Input.dispatchKeyEvent", type="keyUp", **how)

    def look(self, width: int, *, dark: bool = False, media: str = "") -> None:
        """Set the width of the window, light or dark, and the medium."""
        self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=width < 600
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", media=media, features=[scheme])

    def screenshot(self, path: Path) -> None:
        """The whole page as a picture."""
        size = self.call("Page.getLayoutMetrics")["cssContentSize"]
        clip = {"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1}
        shot = self.call("Page.captureScreenshot", captureBeyondViewport=True, clip=clip)
        path.write_bytes(base64.b64decode(shot["data"]))

    def close(self) -> None:
        """End the browser that was started here."""
        os.close(self._out)
        os.close(self._in)
        self.process.terminate()
        self.process.wait(timeout=PATIENCE)
