"""Run an item: every trial that is not done yet, then its table, summary, picture and page."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import foldless as fl
from foldless_studies.paper import figure, index, story
from foldless_studies.paper.items import ITEMS, Item, Scope
from foldless_studies.paper.recipes import CHOICES, LOGISTIC
from foldless_studies.paper.summary import as_csv, gather, summarize
from foldless_studies.paper.trial import Trial, perform
from foldless_studies.runner import Progress, work
from foldless_studies.settings import versions
from foldless_studies.store import Store, read_object
from foldless_studies.workers import Team, alone

RUNS = "runs"
QUICK_ITERATIONS = 20


@dataclass(frozen=True)
class Settings:
    """What a run is defined by: two runs with equal settings give equal results.

    `iterations` None stands for the item's own number (the published one), or a few when `quick`.
    """

    item: str
    iterations: int | None = None
    classifier: str = LOGISTIC
    seed: int = 0
    quick: bool = False
    columns: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        _one_of("item", self.item, ITEMS)
        _one_of("classifier", self.classifier, CHOICES)
        item = ITEMS[self.item]
        for P in self.columns or ():
            if P not in item.columns:
                choices = f"{item.name} has P = {', '.join(map(str, item.columns))}" if item.columns else "it has none"
                raise fl.InputError(f"{item.name} has no choice P = {P}: {choices}.")
        if (self.iterations is not None and self.iterations < 1) or self.seed < 0:
            raise fl.InputError("iterations must be at least 1, and seed not below 0.")

    def resolved(self) -> Settings:
        """The same with the number of iterations filled in."""
        usual = QUICK_ITERATIONS if self.quick else ITEMS[self.item].iterations
        return replace(self, iterations=self.iterations or usual)

    def as_dict(self) -> dict[str, Any]:
        """Plain data, as JSON gives it back."""
        return {key: list(v) if isinstance(v, tuple) else v for key, v in asdict(self.resolved()).items()}

    def command(self) -> str:
        """The command line that gives this run."""
        words = [f"foldless reproduce {self.item}", f"--iterations {self.resolved().iterations}"]
        words += ["--quick"] if self.quick else []
        words += [f"--P {','.join(map(str, self.columns))}"] if self.columns else []
        words += [f"--classifier {self.classifier}"] if self.classifier != LOGISTIC else []
        words += [f"--seed {self.seed}"] if self.seed else []
        return " ".join(words)


def _one_of(what: str, given: str, known: Any) -> None:
    if given not in known:
        raise fl.InputError(f"unknown {what} {given!r}: choose from {', '.join(known)}.")


def trials(settings: Settings) -> tuple[Trial, ...]:
    """Everything there is to do, iteration by iteration, so that an unfinished run has something of every cell."""
    cells = ITEMS[settings.item].cells(Scope(settings.quick, settings.columns, settings.classifier))
    return tuple(Trial(cell, r) for r in range(settings.resolved().iterations or 0) for cell in cells)


def run(
    settings: Settings, folder: Path, *, team: Team = alone, resume: bool = False, progress: Progress | None = None
) -> dict[str, Any]:
    """Do all trials of an item and publish them; the summary.

    `folder`/runs/ITEM holds every trial and results.csv; `folder` gets ITEM.json, ITEM.png, ITEM.svg and ITEM.md.
    """
    if find_spec("matplotlib") is None:
        raise fl.InputError(
            "the figures are drawn with matplotlib, which is not installed: pip install 'foldless[plot]'."
        )
    item, store, todo = ITEMS[settings.item], Store(folder / RUNS / settings.item), trials(settings)
    store.begin({**settings.as_dict(), "versions": versions()}, resume=resume)
    done = {line["task"] for line in store.finished()} & {trial.key for trial in todo}
    ask = partial(perform, seed=settings.seed, classifier=settings.classifier, estimators=item.estimators)
    work([t for t in todo if t.key not in done], ask, store, done=len(done), team=team, progress=progress)
    return conclude(settings, item, todo, store, folder)


def conclude(settings: Settings, item: Item, todo: tuple[Trial, ...], store: Store, folder: Path) -> dict[str, Any]:
    """Table, summary, picture and page of all finished trials."""
    results = gather(todo, store.finished())
    store.write("results.csv", as_csv(item, results))
    head = {"item": item.name, "title": item.title, "command": settings.command(), "settings": settings.as_dict()}
    summary = {**head, "versions": versions(), **summarize(item, results)}
    shelf = Store(folder)
    shelf.write(f"{item.name}.json", json.dumps(summary, indent=1, allow_nan=False) + "\n")
    for kind, drawn in figure.draw(item, summary).items():
        shelf.write(f"{item.name}.{kind}", drawn)
    shelf.write(f"{item.name}.md", story.page(item, summary).markdown())
    return summary


def publish(folder: Path, left_out: dict[str, str] | None = None) -> list[Path]:
    """Write index.md and index.html about every item whose summary is in the folder; `left_out` says why others are
    not."""
    found = [folder / f"{name}.json" for name in ITEMS]
    summaries = [_summary(path) for path in found if path.exists()]
    page, shelf = index.page(summaries, left_out or {}), Store(folder)
    return [shelf.write("index.md", page.markdown()), shelf.write("index.html", page.html())]


def _summary(path: Path) -> dict[str, Any]:
    found = read_object(path) or {}
    if found.get("item") != path.stem or not {"command", "settings", "table", "truths"} <= found.keys():
        raise fl.InputError(
            f"{path} is damaged, or not the summary of {path.stem}: delete it, and run 'foldless reproduce "
            f"{path.stem}' again with --resume and the same --out."
        )
    return found
