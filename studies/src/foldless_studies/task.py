"""One task: draw a sample, fit the classifier at every C, ask every method, compare with the truth."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from time import thread_time
from typing import Any

import numpy as np

import foldless as fl
from foldless_studies.classifiers import CLASSIFIERS, weights_of
from foldless_studies.methods import METHODS, Answer
from foldless_studies.sample import Cell, Known, Sample, narrowed
from foldless_studies.seeds import small_seed
from foldless_studies.settings import Settings

DIGITS = 9


@dataclass(frozen=True)
class Task:
    """One replicate of a cell."""

    cell: Cell
    replicate: int

    @property
    def key(self) -> str:
        return f"{self.cell.name}#{self.replicate}"


def perform(task: Task, settings: Settings) -> dict[str, Any]:
    """The result of a task as plain data: one entry per C, in each one per method."""
    with quietly():
        return _performed(task, settings)


@contextmanager
def quietly() -> Iterator[None]:
    """One thread for linear algebra, as the processes share the cores, and no warnings.

    The results say how good they are; fits by the thousand would repeat it.
    """
    with _controller().limit(limits=1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@lru_cache(maxsize=1)
def _controller() -> Any:
    # Finding the libraries takes longer than a small fit, so it is done once, when all of them are loaded.
    import sklearn.linear_model  # noqa: F401
    from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]

    return ThreadpoolController()


def _performed(task: Task, settings: Settings) -> dict[str, Any]:
    sample = task.cell.draw(settings.seed, task.replicate)
    sample = narrowed(sample) if settings.rotates else sample
    models = [CLASSIFIERS[settings.classifier](C, sample).fit(sample.X, sample.y) for C in settings.Cs]
    truths = sample.truth(np.column_stack([weights_of(m) for m in models]))
    seed = small_seed(settings.seed, task.key, "method")
    fits = [
        {
            "C": C,
            "truth": short(known.auc),
            "truth_se": short(known.se),
            "methods": _asked(model, sample, known, settings.methods, seed),
        }
        for C, model, known in zip(settings.Cs, models, truths, strict=True)
    ]
    return {"task": task.key, "p": sample.n_features, "fits": fits}


def _asked(model: Any, sample: Sample, known: Known, methods: Sequence[str], seed: int) -> dict[str, Any]:
    return {name: _one(name, model, sample, known, seed) for name in methods}


def _one(name: str, model: Any, sample: Sample, known: Known, seed: int) -> dict[str, Any]:
    # Processor time of this thread: on a busy machine the clock on the wall measures the others.
    start = thread_time()
    try:
        answer = METHODS[name](model, sample, seed)
        ends = answer.ends()
    except fl.FoldlessError as err:
        return {"failed": str(err)}
    seconds = thread_time() - start
    return {**_measured(answer, ends, known), "seconds": round(seconds, 6)}


def _measured(answer: Answer, ends: list[float | None], known: Known) -> dict[str, Any]:
    return {
        "estimate": short(answer.estimate),
        "sd": short(answer.sd),
        "ends": [short(end) for end in ends],
        "rank": short(answer.rank(known)),
    }


def short(value: float | None) -> float | None:
    """Nine digits: what differs beyond is rounding, which need not be the same on every machine."""
    return None if value is None else round(float(value), DIGITS)
