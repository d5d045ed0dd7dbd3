"""The accuracy benchmark: how far off are the estimates? Every task, then the tables and the picture."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import foldless as fl
from foldless_studies import runs
from foldless_studies.accuracy.cells import AccuracyCell, data_cells, simulated_cells
from foldless_studies.accuracy.report import draw, page
from foldless_studies.accuracy.results import Results, as_csv, summarize
from foldless_studies.choices import DEFAULT_METHODS
from foldless_studies.classifiers import CLASSIFIERS, ROTATABLE, weights_of
from foldless_studies.estimators import METHODS, Answer, asked
from foldless_studies.sampling import Task, narrowed, small_seed
from foldless_studies.store import Store


@dataclass(frozen=True)
class AccuracySettings(runs.Settings):
    """Where samples come from, how many of them, which classifier and which methods.

    `sizes` are the training rows of data sets; the Gaussian simulations have sizes of their own.
    """

    data: str | None = None
    simulations: bool = True
    replicates: int = 100
    splits: int = 8
    sizes: tuple[int, ...] = (30, 40, 80, 120)
    Cs: tuple[float, ...] = (1.0,)
    classifier: str = "logistic"
    methods: tuple[str, ...] = DEFAULT_METHODS
    seed: int = 0
    rotate: bool = True
    quick: bool = False

    def __post_init__(self) -> None:
        runs.refuse_unknown("classifier", [self.classifier], CLASSIFIERS)
        runs.refuse_unknown("method", self.methods, METHODS)
        for name in ("sizes", "Cs", "methods"):
            values = getattr(self, name)
            if not values or len(set(values)) < len(values):
                raise fl.InputError(f"{name} must be given, each once, got {list(values)}.")
        if min(self.Cs) <= 0 or min(self.sizes) < 10 or min(self.replicates, self.splits) < 1 or self.seed < 0:
            raise fl.InputError(
                "C must be above 0, sizes at least 10, replicates and splits at least 1, seed not below 0."
            )
        if self.data is None and not self.simulations:
            raise fl.InputError("nothing to do: give a folder of data sets, or leave the simulations on.")

    @property
    def rotates(self) -> bool:
        """Whether wide samples are rotated into the space of their rows."""
        return self.rotate and self.classifier in ROTATABLE

    def cells(self) -> tuple[list[tuple[AccuracyCell, int]], list[str]]:
        """Every cell with its number of replicates, and what had to be left out."""
        found: list[tuple[AccuracyCell, int]] = []
        skipped: list[str] = []
        if self.simulations:
            found += [(cell, self.replicates) for cell in simulated_cells(quick=self.quick)]
        if self.data is not None:
            cells, skipped = data_cells(Path(self.data), self.sizes)
            found += [(cell, self.splits) for cell in cells]
        return found, skipped


@dataclass(frozen=True)
class Plan:
    """Everything there is to do for some settings."""

    settings: AccuracySettings
    tasks: tuple[Task[AccuracyCell], ...]
    skipped: tuple[str, ...]

    @classmethod
    def of(cls, settings: AccuracySettings) -> Plan:
        cells, skipped = settings.cells()
        # Replicate by replicate, so that an unfinished run has something of every cell.
        most = max(count for _, count in cells)
        tasks = tuple(Task(cell, r) for r in range(most) for cell, count in cells if r < count)
        return cls(settings, tasks, tuple(skipped))


# ---- One task: draw a sample, fit the classifier at every C, ask every method, compare with the truth.


def perform(task: Task[AccuracyCell], settings: AccuracySettings) -> dict[str, Any]:
    """The result of a task as plain data: one entry per C, in each one per method."""
    with runs.quietly():
        return _performed(task, settings)


def _performed(task: Task[AccuracyCell], settings: AccuracySettings) -> dict[str, Any]:
    sample = task.cell.draw(settings.seed, task.replicate)
    sample = narrowed(sample) if settings.rotates else sample
    models = [CLASSIFIERS[settings.classifier](C, sample).fit(sample.X, sample.y) for C in settings.Cs]
    truths = sample.truth(np.column_stack([weights_of(m) for m in models]))
    seed = small_seed(settings.seed, task.key, "method")
    fits = []
    for C, model, known in zip(settings.Cs, models, truths, strict=True):
        place = partial(Answer.rank, known=known)
        ask = partial(asked, model=model, sample=sample, seed=seed, rank=place, also=_spread)
        answers = {name: ask(METHODS[name]) for name in settings.methods}
        truth = {"truth": known.auc, "truth_se": known.se, "second_sample": known.second_sample(*sample.counts)}
        fits.append({"C": C, **{name: runs.short(value) for name, value in truth.items()}, "methods": answers})
    return {"task": task.key, "p": sample.n_features, "fits": fits}


def _spread(answer: Answer) -> dict[str, Any]:
    return {"sd": answer.sd, "ends": answer.ends()}


# ---- The run.


def run(
    settings: AccuracySettings,
    folder: Path,
    *,
    team: runs.Team = runs.alone,
    resume: bool = False,
    progress: runs.Progress | None = None,
) -> dict[str, Any]:
    """Do all tasks, write results.csv, summary.json, summary.md and (with matplotlib) accuracy.png; the summary."""
    plan, store = Plan.of(settings), Store(folder)
    record = {**settings.as_dict(), "versions": runs.versions()}
    lines = runs.completed(
        plan.tasks, partial(perform, settings=settings), store, record, team=team, resume=resume, progress=progress
    )
    return conclude(plan, lines, store)


def conclude(plan: Plan, lines: list[dict[str, Any]], store: Store) -> dict[str, Any]:
    """Tables and picture of all finished tasks."""
    results = Results.of(plan.tasks, plan.settings.methods, lines)
    table = summarize(results)
    summary = {
        "settings": plan.settings.published(),
        "seed": plan.settings.seed,
        "versions": runs.versions(),
        "tasks": len(plan.tasks),
        "skipped": list(plan.skipped),
        "table": table,
    }
    store.write("results.csv", as_csv(results))
    store.write("summary.json", json.dumps(summary, indent=1, allow_nan=False) + "\n")
    store.write("summary.md", page(table).markdown())
    drawn = draw(table)
    if drawn is not None:
        store.write("accuracy.png", drawn)
    return summary
