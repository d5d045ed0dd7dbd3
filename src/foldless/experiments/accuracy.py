"""Run an experiment: every task that is not done yet, on several processes, then the tables and the picture."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import Any

from foldless.experiments import picture
from foldless.experiments.markdown import markdown
from foldless.experiments.results import Results, as_csv
from foldless.experiments.settings import Settings, versions
from foldless.experiments.store import Store, append
from foldless.experiments.summary import summarize
from foldless.experiments.task import Task, perform

# Called with tasks done, tasks in all, and the seconds that remain at the present pace (None at first).
Progress = Callable[[int, int, float | None], object]


@dataclass(frozen=True)
class Plan:
    """Everything there is to do for some settings."""

    settings: Settings
    tasks: tuple[Task, ...]
    skipped: tuple[str, ...]

    @classmethod
    def of(cls, settings: Settings) -> Plan:
        cells, skipped = settings.cells()
        # Replicate by replicate, so that an unfinished run has something of every cell.
        most = max(count for _, count in cells)
        tasks = tuple(Task(cell, r) for r in range(most) for cell, count in cells if r < count)
        return cls(settings, tasks, tuple(skipped))


def run(
    settings: Settings, folder: Path, *, jobs: int = 1, resume: bool = False, progress: Progress | None = None
) -> dict[str, Any]:
    """Do all tasks, write results.csv, summary.json, summary.md and (with matplotlib) accuracy.png; the summary."""
    plan, store = Plan.of(settings), Store(folder)
    store.begin({**settings.as_dict(), "versions": versions()}, resume=resume)
    done = {line["task"] for line in store.finished()}
    todo = [task for task in plan.tasks if task.key not in done]
    _work(todo, len(done), settings, store, jobs, progress)
    return conclude(plan, store)


def _work(todo: list[Task], done: int, settings: Settings, store: Store, jobs: int, progress: Progress | None) -> None:
    start, total = monotonic(), done + len(todo)
    with store.appender() as file:
        for count, result in enumerate(_performed(todo, settings, jobs), 1):
            append(file, result)
            if progress is not None:
                remaining = (monotonic() - start) / count * (len(todo) - count)
                progress(done + count, total, remaining)


def _performed(todo: list[Task], settings: Settings, jobs: int) -> Iterator[dict[str, Any]]:
    """Results as they come; workers share nothing, so their number cannot matter."""
    from joblib import Parallel, delayed

    if jobs == 1:
        yield from (perform(task, settings) for task in todo)
    else:
        yield from Parallel(n_jobs=jobs, return_as="generator_unordered")(delayed(perform)(t, settings) for t in todo)


def conclude(plan: Plan, store: Store) -> dict[str, Any]:
    """Tables and picture of all finished tasks."""
    results = Results.of(plan.tasks, plan.settings, store.finished())
    table = summarize(results)
    summary = {
        "settings": plan.settings.published(),
        "seed": plan.settings.seed,
        "versions": versions(),
        "tasks": len(plan.tasks),
        "skipped": list(plan.skipped),
        "table": table,
    }
    store.write("results.csv", as_csv(results))
    store.write("summary.json", json.dumps(summary, indent=1, allow_nan=False) + "\n")
    store.write("summary.md", markdown(table))
    drawn = picture.draw(results)
    if drawn is not None:
        store.write("accuracy.png", drawn)
    return summary
