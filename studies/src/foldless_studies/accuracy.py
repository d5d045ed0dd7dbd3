"""Run an experiment: every task that is not done yet, on several processes, then the tables and the picture."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from foldless_studies import picture
from foldless_studies.markdown import markdown
from foldless_studies.results import Results, as_csv
from foldless_studies.runner import Progress, work
from foldless_studies.settings import Settings, versions
from foldless_studies.store import Store
from foldless_studies.summary import summarize
from foldless_studies.task import Task, perform
from foldless_studies.workers import Team, alone


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
    settings: Settings, folder: Path, *, team: Team = alone, resume: bool = False, progress: Progress | None = None
) -> dict[str, Any]:
    """Do all tasks, write results.csv, summary.json, summary.md and (with matplotlib) accuracy.png; the summary."""
    plan, store = Plan.of(settings), Store(folder)
    store.begin({**settings.as_dict(), "versions": versions()}, resume=resume)
    done = {line["task"] for line in store.finished()}
    todo = [task for task in plan.tasks if task.key not in done]
    work(todo, partial(perform, settings=settings), store, done=len(done), team=team, progress=progress)
    return conclude(plan, store)


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
