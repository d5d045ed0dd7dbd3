"""Faults planted in the library, and whole runs of the fuzzer for truth that must find each within 2,000 situations.

    python tests/planted.py --seed 0

Nobody tells a run where to look. The regions it begins with, `FIRST` of foldless_studies/truth/run.py, are the same in
every run: noise, and two where earlier versions were wrong for the reasons planted here. A run ends with the first
round after which a region is condemned; what is printed says which.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import pytest

from foldless.honest import held_out, removal, statistic
from foldless_studies.truth.regions import region_of
from foldless_studies.truth.run import FIRST, TruthSettings, run
from foldless_studies.truth.situations import Region

SITUATIONS = 2_000


def without_training_noise(patch: pytest.MonkeyPatch) -> None:
    """The share of training noise is taken for 0, in closed form and by refits."""
    patch.setattr(statistic, "_share", lambda influence, variance: 0.0)
    patch.setattr(held_out, "factor_of", lambda agreement, p: 1.0)


def with_the_scaler_kept(patch: pytest.MonkeyPatch) -> None:
    """Scalers stay as fitted to all rows."""
    patch.setattr(removal.Problem, "corrections", lambda self, model, rows: None)


def with_pairs_taken_for_rows(patch: pytest.MonkeyPatch) -> None:
    """Every pair counts as a comparison of its own, however few rows of a class they share."""
    patch.setattr(statistic.Rows, "trials", lambda self, auc, seen, shows: (1 / self._per_pair, 1e6))


FAULTS: dict[Callable[[pytest.MonkeyPatch], None], Region] = {  # and where each does much harm
    without_training_noise: FIRST[1],
    with_the_scaler_kept: FIRST[2],
    with_pairs_taken_for_rows: region_of(
        "question=auc;rows=41-80;columns=6-30;effect=strong;family=logistic;share=10-30 %;"
        "cells=normal;structure=independent;strength=medium penalty;pipeline=plain"
    ),
}


def condemned_with(fault: Callable[[pytest.MonkeyPatch], None], seed: int) -> tuple[int, list[dict[str, Any]]]:
    """How many situations a run with this fault took, and the regions that it condemned."""
    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory() as folder:
        fault(patch)
        found = run(TruthSettings(SITUATIONS, seed), Path(folder), until_condemned=True)
    return found["situations"], found["condemned"]


def main() -> int:
    """Run all, and say by the exit code whether any fault was missed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args()
    with ProcessPoolExecutor(options.jobs) as pool:
        runs = pool.map(partial(condemned_with, seed=options.seed), FAULTS)
        missed = 0
        for fault, (situations, condemned) in zip(FAULTS, runs, strict=True):
            print(f"{fault.__name__}, seed {options.seed}: {situations} situations", flush=True)
            for each in condemned or [{"region": "nothing condemned"}]:
                print("    " + ", ".join(f"{name} {value}" for name, value in each.items()), flush=True)
            missed += not condemned
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main())
