"""Run an item: every trial that is not done yet, then its table, summary, picture and page."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from time import thread_time
from typing import Any

import numpy as np

import foldless as fl
from foldless_studies import runs
from foldless_studies.choices import LOGISTIC, PAPER_CLASSIFIERS
from foldless_studies.classifiers import unfitted
from foldless_studies.estimators import ESTIMATORS, Answer, asked
from foldless_studies.paper import figure, story
from foldless_studies.paper.cells import PaperCell
from foldless_studies.paper.items import ITEMS, Item, Scope
from foldless_studies.paper.summary import as_csv, gather, summarize
from foldless_studies.sampling import Known, Task, small_seed
from foldless_studies.store import Store, read_object

RUNS = "runs"
QUICK_ITERATIONS = 20


@dataclass(frozen=True)
class PaperSettings(runs.Settings):
    """Which item, and how much of it.

    `iterations` None stands for the item's own number (the published one), or a few when `quick`.
    """

    item: str
    iterations: int | None = None
    classifier: str = LOGISTIC
    seed: int = 0
    quick: bool = False
    columns: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        runs.refuse_unknown("item", [self.item], ITEMS)
        runs.refuse_unknown("classifier", [self.classifier], PAPER_CLASSIFIERS)
        item = ITEMS[self.item]
        for P in self.columns or ():
            if P not in item.columns:
                choices = f"{item.name} has P = {', '.join(map(str, item.columns))}" if item.columns else "it has none"
                raise fl.InputError(f"{item.name} has no choice P = {P}: {choices}.")
        if (self.iterations is not None and self.iterations < 1) or self.seed < 0:
            raise fl.InputError("iterations must be at least 1, and seed not below 0.")

    def resolved(self) -> PaperSettings:
        """The same with the number of iterations filled in."""
        usual = QUICK_ITERATIONS if self.quick else ITEMS[self.item].iterations
        return replace(self, iterations=self.iterations or usual)

    def as_dict(self) -> dict[str, Any]:
        """Plain data, as JSON gives it back."""
        return super(PaperSettings, self.resolved()).as_dict()

    def command(self) -> str:
        """The command line that gives this run."""
        words = [f"foldless reproduce {self.item}", f"--iterations {self.resolved().iterations}"]
        words += ["--quick"] if self.quick else []
        words += [f"--P {','.join(map(str, self.columns))}"] if self.columns else []
        words += [f"--classifier {self.classifier}"] if self.classifier != LOGISTIC else []
        words += [f"--seed {self.seed}"] if self.seed else []
        return " ".join(words)


def trials(settings: PaperSettings) -> tuple[Task[PaperCell], ...]:
    """Everything there is to do, iteration by iteration, so that an unfinished run has something of every cell."""
    cells = ITEMS[settings.item].cells(Scope(settings.quick, settings.columns, settings.classifier))
    return tuple(Task(cell, r) for r in range(settings.resolved().iterations or 0) for cell in cells)


# ---- One trial: draw a sample, fit the classifier once, ask every estimator, compare with the truth.


def perform(trial: Task[PaperCell], *, seed: int, classifier: str, estimators: Sequence[str]) -> dict[str, Any]:
    """The result as plain data: the truth, and one entry per estimator."""
    from sklearn import config_context

    # Simulated rows are finite and the parameters are ours: checking both anew costs as much as a small fit.
    with runs.quietly(), config_context(assume_finite=True, skip_parameter_validation=True):
        sample = trial.cell.draw(seed, trial.replicate)
        start = thread_time()
        model = unfitted(trial.cell.recipe, classifier, sample).fit(sample.X, sample.y)
        seconds = thread_time() - start
        (known,) = sample.truth(np.asarray(model.coef_, dtype=np.float64).reshape(-1, 1))
        folds = small_seed(seed, trial.key, "folds")
        place = partial(rank, known=known, held_out=trial.cell.held_out)
        answers = {name: asked(ESTIMATORS[name].ask, model, sample, folds, rank=place) for name in estimators}
    n1 = int(sample.y.sum())
    return {
        "task": trial.key,
        "n0": sample.y.size - n1,
        "n1": n1,
        "truth": runs.short(known.auc),
        "truth_se": runs.short(known.se),
        "fit_seconds": round(seconds, 6),
        "answers": answers,
    }


def rank(answer: Answer, known: Known, *, held_out: bool) -> float | None:
    """Where the truth lies in the estimate's distribution, from 0 to 1; None where it has none.

    A truth measured on a test set is compared with posterior plus test noise; where the classifier separates the
    test set that noise is unknown, and there is no rank. An exact truth is compared to the digits that are kept, so
    that an interval that ends at 1 holds a truth that is 1 to nine digits.
    """
    if answer.cdf is None:
        return None
    if held_out:
        return answer.rank(known)
    near = known.auc + 10.0**-runs.DIGITS * np.array([-1, 1])
    return float(np.mean(answer.cdf(near)))


# ---- The run, and the index of all items.


def run(
    settings: PaperSettings,
    folder: Path,
    *,
    team: runs.Team = runs.alone,
    resume: bool = False,
    progress: runs.Progress | None = None,
) -> dict[str, Any]:
    """Do all trials of an item and publish them; the summary.

    `folder`/runs/ITEM holds every trial and results.csv; `folder` gets ITEM.json, ITEM.png, ITEM.svg and ITEM.md.
    """
    if find_spec("matplotlib") is None:
        raise fl.InputError(
            "the figures are drawn with matplotlib, which is not installed: pip install 'foldless[plot]'."
        )
    item, store, todo = ITEMS[settings.item], Store(folder / RUNS / settings.item), trials(settings)
    record = {**settings.as_dict(), "versions": runs.versions()}
    ask = partial(perform, seed=settings.seed, classifier=settings.classifier, estimators=item.estimators)
    lines = runs.completed(todo, ask, store, record, team=team, resume=resume, progress=progress)
    results = gather(todo, lines)
    store.write("results.csv", as_csv(item, results))
    return conclude(settings, item, summarize(item, results), Store(folder))


def conclude(settings: PaperSettings, item: Item, figures: dict[str, Any], shelf: Store) -> dict[str, Any]:
    """Summary, picture and page of all finished trials."""
    head = {"item": item.name, "title": item.title, "command": settings.command(), "settings": settings.as_dict()}
    summary = {**head, "versions": runs.versions(), **figures}
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
    page, shelf = story.index(summaries, left_out or {}), Store(folder)
    return [shelf.write("index.md", page.markdown()), shelf.write("index.html", page.html())]


def _summary(path: Path) -> dict[str, Any]:
    found = read_object(path) or {}
    if found.get("item") != path.stem or not {"command", "settings", "table", "truths"} <= found.keys():
        raise fl.InputError(
            f"{path} is damaged, or not the summary of {path.stem}: delete it, and run 'foldless reproduce "
            f"{path.stem}' again with --resume and the same --out."
        )
    return found
