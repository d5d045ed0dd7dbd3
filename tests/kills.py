"""Kill foldless at random moments, start it again, and compare what it leaves with an undisturbed run, byte by byte.

    python tests/kills.py --kills 30 --seed 0

Each command (`reproduce`, `benchmark accuracy`, `report`) is killed in turn, by SIGKILL or by SIGINT, at a moment drawn
uniformly from the length of an undisturbed run, or just after a further task was finished, and started again in the
same folder with --resume. After each kill
every file must be whole and every finished task still there; when a run comes to its end, every file must be that of
the undisturbed run, and the next run begins in a new folder. A run that ends before its kill does not count as one.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

# The clock of the processor advances by a millisecond whenever it is read: pages and summaries hold times, and could
# not be compared otherwise. The first line tells that the interpreter is up and foldless is in charge of signals, and
# when foldless is done, and only the interpreter tidies up, signals are ignored.
CHILD = """
import itertools, signal, sys, time
ticks = itertools.count()
time.thread_time = time.process_time = lambda: next(ticks) / 1000
from foldless.cli import main
print("begun", file=sys.stderr, flush=True)
try:
    main()
finally:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
"""
BEGUN = b"begun\n"
TABLE, TASKS, HIDDEN = "table.csv", "tasks.jsonl", "."
ENDS = {".png": b"IEND\xaeB`\x82", ".html": b"</html>", ".svg": b"</svg>", ".csv": b"\n", ".md": b"\n"}
SHORTLY = 0.05  # seconds after a task, the length of a few tasks
PATIENCE = 900  # seconds for a run that nobody disturbs; it takes a few


@dataclass(frozen=True)
class Victim:
    """A command, and where its results go; all of them run in a folder of their own, under the same names."""

    name: str
    words: tuple[str, ...]
    again: tuple[str, ...] = ("--resume",)


VICTIMS = (
    Victim("reproduce", ("reproduce", "fig3", "--quick", "--iterations", "10", "--out", "out")),
    Victim(
        "benchmark accuracy",
        ("benchmark", "accuracy", "--quick", "--replicates", "5", "--methods", "loo,cv5", "--out", "out"),
    ),
    Victim("report", ("report", TABLE, "--target", "y", "-o", "report.html"), again=()),
)


class Broken(AssertionError):
    """Something was lost, half-written, or said in the wrong way."""


@dataclass
class Tally:
    """What happened to one command."""

    kills: Counter[str] = field(default_factory=Counter)
    amid: int = 0
    runs: int = 0
    files: int = 0

    def __str__(self) -> str:
        how = ", ".join(f"{n} {name}" for name, n in sorted(self.kills.items()))
        amid = f", {self.amid} amid the tasks" if self.amid else ""
        return f"{self.kills.total()} kills ({how}){amid}; {self.runs} finished, each with the same {self.files} files"


def torment(victim: Victim, kills: int, rng: random.Random, place: Path) -> Tally:
    """Kill a command `kills` times, and compare every run that comes to its end with an undisturbed one."""
    whole, seconds = _undisturbed(victim, place / "whole")
    tally = Tally(files=len(whole))
    while tally.kills.total() < kills:
        folder = _prepared(place / f"run{tally.runs}")
        while _disturbed(victim, folder, rng, seconds, tally):
            if tally.kills.total() == kills:
                _finish(victim, folder)
                break
        _compare(folder, whole)
        tally.runs += 1
    return tally


def _prepared(folder: Path) -> Path:
    """A folder with the table that `report` reads: 60 rows, three columns, two classes."""
    folder.mkdir()
    draw = random.Random(1)
    rows = [[draw.gauss(0.6 * (k % 2), 1.0) for _ in range(3)] + [k % 2] for k in range(60)]
    text = "\n".join(["a,b,c,y", *(",".join(f"{value:.6g}" for value in row) for row in rows)])
    (folder / TABLE).write_text(text + "\n")
    return folder


def _started(victim: Victim, folder: Path, *, again: bool) -> subprocess.Popen[bytes]:
    words = [sys.executable, "-c", CHILD, *victim.words, *(victim.again if again else ())]
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "MPLBACKEND": "agg"}
    process = subprocess.Popen(
        words, cwd=folder, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, bufsize=0
    )
    if process.stderr is None or process.stderr.readline() != BEGUN:
        raise Broken(f"{victim.name} did not start: {process.communicate()[1].decode()}")
    return process


def _undisturbed(victim: Victim, folder: Path) -> tuple[dict[str, bytes], float]:
    """Every file of a run, and how long it takes."""
    _prepared(folder)
    start = time.monotonic()
    _finish(victim, folder, again=False)
    return _files(folder), time.monotonic() - start


def _finish(victim: Victim, folder: Path, *, again: bool = True) -> None:
    process = _started(victim, folder, again=again)
    _, said = process.communicate(timeout=PATIENCE)
    if process.returncode != 0:
        raise Broken(f"{victim.name} ended with {process.returncode}: {said.decode()}")


def _disturbed(victim: Victim, folder: Path, rng: random.Random, seconds: float, tally: Tally) -> bool:
    """Start, wait, kill, look; False where the run was over before the kill."""
    how, amid, share = rng.choice([signal.SIGKILL, signal.SIGINT]), rng.random() < 0.5, rng.random()
    before = _finished_tasks(folder)
    process = _started(victim, folder, again=True)
    if amid and victim.again:
        _await_task(process, folder, before)
    try:
        process.wait(share * (SHORTLY if amid and victim.again else seconds))
    except subprocess.TimeoutExpired:
        process.send_signal(how)
    _, said = process.communicate(timeout=PATIENCE)
    _check_end(victim, process.returncode, how, said.decode(errors="replace"))
    _check_whole(folder)
    after = _finished_tasks(folder)
    if not after.startswith(before):
        raise Broken(f"{victim.name}: finished tasks are gone")
    if process.returncode == 0:
        return False
    tally.kills[how.name] += 1
    tally.amid += after != before
    return True


def _await_task(process: subprocess.Popen[bytes], folder: Path, before: bytes) -> None:
    while process.poll() is None and _finished_tasks(folder) == before:
        time.sleep(0.001)


def _check_end(victim: Victim, code: int, how: signal.Signals, said: str) -> None:
    """Killed, or interrupted with one line, or done."""
    expected = {signal.SIGKILL: -signal.SIGKILL, signal.SIGINT: 130}[how]
    # Python itself swallows an interrupt that hits the clean-up of an object, and goes on.
    swallowed = code == 0 and said.startswith("Exception ignored in")
    if code not in (0, expected) or ("Traceback" in said and not swallowed):
        raise Broken(f"{victim.name} ended with {code} after {how.name}: {said}")
    if code == 130 and not re.search(r"foldless: interrupted(; what is finished is kept in [^\n]+)?\n$", said):
        raise Broken(f"{victim.name} said after {how.name}: {said}")


def _finished_tasks(folder: Path) -> bytes:
    """The whole lines of the file of finished tasks."""
    found = b"".join(path.read_bytes() for path in folder.rglob(TASKS))
    return found[: found.rfind(b"\n") + 1]


def _files(folder: Path) -> dict[str, bytes]:
    """Everything but drafts, which are hidden and which nobody takes for results."""
    paths = (path for path in folder.rglob("*") if path.is_file() and not path.name.startswith(HIDDEN))
    return {str(path.relative_to(folder)): path.read_bytes() for path in paths}


def _check_whole(folder: Path) -> None:
    for name, content in _files(folder).items():
        kind = Path(name).suffix
        try:
            whole = bool(json.loads(content)) if kind == ".json" else ENDS.get(kind, b"") in content[-20:]
        except ValueError:
            whole = False
        if not whole:
            raise Broken(f"{name} is not whole: it ends in {content[-40:]!r}")


def _compare(folder: Path, whole: dict[str, bytes]) -> None:
    found = _files(folder)
    if found.keys() != whole.keys():
        raise Broken(f"other files than in the undisturbed run: {sorted(found.keys() ^ whole.keys())}")
    different = sorted(name for name in found if found[name] != whole[name])
    if different:
        raise Broken(f"not what the undisturbed run gives: {', '.join(different)} in {folder}")


def main() -> None:
    """Kill every command in turn, and print what happened."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=30, help="in all, shared among the commands")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    total = 0
    for k, victim in enumerate(VICTIMS):
        share = options.kills // len(VICTIMS) + (k < options.kills % len(VICTIMS))
        with tempfile.TemporaryDirectory() as place:
            tally = torment(victim, share, random.Random(f"{options.seed} {victim.name}"), Path(place))
        total += tally.kills.total()
        print(f"{victim.name}: {tally}", flush=True)
    print(f"{total} kills, and every file of every run is byte for byte that of an undisturbed run")


if __name__ == "__main__":
    main()
