"""What an import costs: a fresh interpreter that imports, less one that does not."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from functools import partial
from time import perf_counter
from typing import Any

from foldless_studies.speed.clock import Clock, Effort, in_turns
from foldless_studies.speed.measurement import Measurement, timed

SUBJECT = "imports"
NOTHING, NUMPY = "nothing", "import numpy"
CODES = {
    NOTHING: "",
    NUMPY: NUMPY,
    "import foldless": "import foldless",
    "foldless.cbauc": "import foldless; foldless.cbauc",
    "foldless.auc_posterior": "import foldless; foldless.auc_posterior",
    "import sklearn.linear_model": "import sklearn.linear_model",
}


QUICK = (NOTHING, NUMPY, "import foldless")


def measurements(*, quick: bool, effort: Effort) -> list[Measurement]:
    """One: all imports are timed in turns."""
    names = QUICK if quick else tuple(CODES)
    return [Measurement(SUBJECT, "a fresh interpreter", partial(measure, names, effort))]


def measure(names: Sequence[str], effort: Effort) -> dict[str, Any]:
    """Time of each, and relative to NumPy."""
    kind, clock = childrens_clock()
    timings = in_turns({name: partial(start, CODES[name]) for name in names}, effort, clock)
    bare = timings[NOTHING].seconds
    cost = {name: t.seconds - bare for name, t in timings.items() if name != NOTHING}
    return {
        "clock": kind,
        "seconds": cost,
        "ratio_numpy": {name: s / cost[NUMPY] for name, s in cost.items()},
        **timed(timings),
    }


def childrens_clock() -> tuple[str, Clock]:
    """Processor time of finished child processes; where the system does not count it, the clock on the wall."""
    try:
        from resource import RUSAGE_CHILDREN, getrusage
    except ImportError:
        return "wall time", perf_counter

    def used() -> float:
        usage = getrusage(RUSAGE_CHILDREN)
        return usage.ru_utime + usage.ru_stime

    return "processor time", used


def start(code: str) -> None:
    """Run a line of Python in an interpreter of its own."""
    subprocess.run([sys.executable, "-c", code], check=True)
