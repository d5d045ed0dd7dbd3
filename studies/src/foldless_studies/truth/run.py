"""The run: rounds of situations, half of each drawn at large and half for regions that look bad; the report.

The first regions that are looked at are always the same, and are drawn until their claims are decided. Noise that is
taken for signal is the worst that can happen, and a fault that does so a little everywhere stands out nowhere. The
others are where faults of earlier versions did most harm: too narrow for chance to lead there soon.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import foldless as fl
from foldless_studies import runs
from foldless_studies.pages import Block, Heading, Page, Table, Text, cell_text, escaped
from foldless_studies.store import Store
from foldless_studies.truth.questions import perform
from foldless_studies.truth.regions import (
    ALARMS,
    FAMILY_WISE,
    HELD,
    LEAST,
    Figures,
    Ledger,
    Line,
    figures_of,
    needed,
    region_of,
    regions,
    smallest_condemned,
    suspects,
    text_of,
)
from foldless_studies.truth.situations import FACTORS, FEWEST, Region, Situation, slowness

ROUNDS = 20
SHOWN = 25
DRAWS = 50  # situations for each suspect of a round
FIRST = (
    region_of("question=auc;effect=none"),
    region_of(  # training noise was forgotten
        "question=auc;rows=41-80;columns=31-200;share=10-30 %;effect=strong;family=ridge;"
        "cells=normal;structure=independent;strength=weak penalty;pipeline=plain"
    ),
    region_of(  # the scaler was kept as fitted to all rows
        "question=auc;rows=41-80;columns=201-2000;effect=very strong;family=logistic;cells=spikes;"
        "structure=blocks;strength=medium penalty;pipeline=scaler"
    ),
)
HALF = 2  # of the level of all suspects: the first ones have it, the others share the rest


@dataclass(frozen=True)
class TruthSettings(runs.Settings):
    """How many situations, and which."""

    situations: int = 2_000
    seed: int = 0

    def __post_init__(self) -> None:
        if self.situations < ROUNDS or self.seed < 0:
            raise fl.InputError(f"expected at least {ROUNDS} situations and a seed of 0 or more.")


def run(
    settings: TruthSettings,
    folder: Path,
    *,
    team: runs.Team = runs.alone,
    resume: bool = False,
    progress: runs.Progress | None = None,
    until_condemned: bool = False,
) -> dict[str, Any]:
    """Do all rounds, or those up to the first that condemns a region; write summary.json and summary.md; the summary.

    What a round looks at depends on the rounds before it alone, so that a run that is stopped and resumed, or shared
    by many workers, gives the same situations.
    """
    store = Store(folder)
    record = {**settings.as_dict(), "versions": runs.versions()}
    tasks: list[Situation] = []
    lines: list[Line] = []
    for number, size in enumerate(_sizes(settings.situations)):
        tasks += _round(settings.seed, size, len(tasks), lines)
        lines = runs.completed(tasks, perform, store, record, team=team, resume=resume or number > 0, progress=progress)
        if until_condemned and summarized(lines)["condemned"]:
            break
    summary = summarized(lines)
    store.write("summary.json", json.dumps({"settings": record, **summary}, indent=1) + "\n")
    store.write("summary.md", page(summary).markdown())
    return summary


def _sizes(situations: int) -> list[int]:
    return [len(part) for part in np.array_split(np.arange(situations), ROUNDS)]


def _round(seed: int, size: int, first: int, lines: list[Line]) -> list[Situation]:
    """The first round is drawn at large; of each later one, half, or more where suspects are slow."""
    found = _looked_at(Ledger.of(lines), _most_suspects(size)) if lines else []
    counts = [round(size // 2 // len(found) / slowness(dict(region).values())) for region in found]
    chosen = [region for region, count in zip(found, counts, strict=True) for _ in range(count)]
    drawn = (Situation(seed, first + k, chosen[k] if k < len(chosen) else ()) for k in range(size))
    return sorted(drawn, key=lambda situation: -situation.cost)


def _looked_at(ledger: Ledger, most: int) -> list[Region]:
    """The first regions until they are decided, then the suspects."""
    among = HALF * len(FIRST)
    open_ones = [region for region in FIRST if figures_of(region, ledger, text_of(region)).undecided(among)]
    return open_ones or suspects(ledger, most)


def _most_suspects(size: int) -> int:
    return max(1, size // 2 // DRAWS)


def _count_for(region: Region, most: int) -> int:
    """Among how many suspects their level would be shared, for each to have what this one has."""
    return HALF * (len(FIRST) if region in FIRST else (ROUNDS - 1) * most)


# ---- The report.


def summarized(lines: list[Line]) -> dict[str, Any]:
    """The figures of the run, its worst regions first."""
    ledger, everywhere = Ledger.of(lines), regions()
    suspected = dict.fromkeys(line["task"].partition(":")[2] for line in lines if not line["task"].endswith(":"))
    most = _most_suspects(len(lines) // ROUNDS)
    at_large = sorted((figures_of(region, ledger) for region in everywhere), key=lambda each: -each.evidence)
    looked_at = [figures_of(region_of(text), ledger, text) for text in suspected]
    looked_at.sort(key=lambda each: -each.evidence)
    condemned = [each for each in at_large if each.condemned(len(everywhere))]
    condemned += [each for each in looked_at if each.condemned(_count_for(each.region, most))]
    drawn = [line for line in lines if line["task"].endswith(":")]
    answered = [line for line in drawn if "held" in line]
    return {
        "situations": len(lines),
        "at_large": len(drawn),
        "refused": sum("refused" in line for line in drawn),
        "refusals": _refusals(drawn),
        "judged": sum(each.answers >= LEAST for each in at_large),
        "crashed": [line["task"] + " " + line["crashed"] for line in lines if "crashed" in line],
        "cautions": sum(bool(line["doubts"]) for line in answered),
        "all": _overall(answered, doubted=False),
        "with_caution": _overall(answered, doubted=True),
        "regions": len(everywhere),
        "suspects": (ROUNDS - 1) * most,
        "condemned": [_named(each) for each in condemned],
        "worst": [_named(each) for each in at_large if each.answers >= LEAST][:SHOWN],
        "suspected": [_named(each) for each in looked_at[:SHOWN]],
        "doubts": _by_doubt(answered),
        "questions": [_named(figures_of((("question", q),), ledger)) for q in dict.fromkeys(FACTORS["question"])],
    }


def _overall(lines: list[Line], doubted: bool) -> dict[str, Any]:
    mine = [line for line in lines if bool(line["doubts"]) == doubted]
    return {"answers": len(mine), **_shares(mine)}


def _shares(lines: list[Line]) -> dict[str, float | None]:
    return {name: _share([line[name] for line in lines if line[name] is not None]) for name in ("held", "alarm")}


def _share(values: list[bool]) -> float | None:
    return round(float(np.mean(values)), 4) if values else None


def _refusals(lines: list[Line]) -> list[dict[str, Any]]:
    """How often each refusal was met, by how it begins."""
    said = Counter(re.split(r"\d|:|,", line["refused"])[0].strip() for line in lines if "refused" in line)
    return [{"begins": text, "situations": count} for text, count in said.most_common(SHOWN)]


def _by_doubt(lines: list[Line]) -> list[dict[str, Any]]:
    """How answers do that call for caution for one reason alone: whether the reason is one."""
    names = sorted({name for line in lines for name in line["doubts"]})
    alone = {name: [line for line in lines if line["doubts"] == [name]] for name in names}
    among = {name: sum(name in line["doubts"] for line in lines) for name in names}
    return [{"doubt": name, "named": among[name], "alone": len(alone[name]), **_shares(alone[name])} for name in names]


def _named(each: Figures) -> dict[str, Any]:
    shares = {"held": each.held, "alarm": each.alarms, "bias": each.bias}
    return {
        "region": text_of(each.region),
        "answers": each.answers,
        **{name: None if np.isnan(value) else round(value, 4) for name, value in shares.items()},
        "evidence": round(each.evidence, 2) if np.isfinite(each.evidence) else None,
        "example": each.example,
    }


INTRODUCTION = f"""\
Command: `foldless benchmark truth`. Situations are drawn at random, slow ones less often: rows, columns, cells,
structure, classifier, penalty, pipeline and question; the truth is known by construction. Held: share of 90 %
intervals that hold it. Alarm: where there is nothing to find, share of answers that find something (nominally 5 %).
Counted are answers without a caution of their own: those to the situation's own question, and in regions that name a
question, all answers to it. A region is condemned if it has at least {LEAST} of them, and fewer than {100 * HELD:.0f} %
hold the truth or more than {100 * ALARMS:.0f} % are alarms, beyond what chance explains in any region of the run
({100 * FAMILY_WISE:.0f} %); evidence is the logarithm of the stake in `regions.py`, which must exceed that of the last
line here. Suspects are regions that looked bad in the rounds before; the first of all are noise that is asked for its
AUC and {len(FIRST) - 1} regions where earlier versions were wrong, each drawn until it is condemned or
looks harmless. Bias: mean of (answer - truth), in widths of the interval. Every class has at least {FEWEST} rows.
An example is run again with `python -m foldless_studies.truth.show 'EXAMPLE' --seed SEED`."""


def page(summary: dict[str, Any]) -> Page:
    """The report."""
    blocks: list[Block] = [Text(INTRODUCTION), Text(_counted(summary))]
    parts = {
        "Condemned regions": "condemned",
        "Levels and pairs of levels that look worst, of situations drawn at large": "worst",
        "Suspects that look worst, of situations drawn for them": "suspected",
        "By question": "questions",
        "Cautions: answers with one reason for caution alone": "doubts",
        "Refused in words": "refusals",
    }
    for title, name in parts.items():
        blocks += [Heading(title), _table(summary[name])]
    blocks += [Text(f"Crashed: {escaped(text)}") for text in summary["crashed"]]
    return Page("Where the answers miss the truth", blocks)


def _counted(summary: dict[str, Any]) -> str:
    answered = summary["at_large"] - summary["refused"]
    plain, doubted = summary["all"], summary["with_caution"]
    missed, alarms = (smallest_condemned(summary["regions"], claim) for claim in (HELD, 1 - ALARMS))
    return (
        f"{summary['situations']} situations, {summary['at_large']} of them drawn at large: {summary['refused']} "
        f"refused in words, {len(summary['crashed'])} crashed, {summary['cautions']} of {answered} answered with "
        f"caution. Without caution {_said(plain)}; with caution {_said(doubted)}. Of {summary['regions']} regions "
        f"{summary['judged']} have {LEAST} answers; one with just as many is condemned where {1 - missed:.0%} hold the "
        f"truth or {alarms:.0%} are alarms, and one with more nearer to the claims. A region at large is condemned "
        f"with an evidence above {needed(summary['regions']):.1f}, the first suspects above "
        f"{needed(HALF * len(FIRST)):.1f}, one of up to {summary['suspects']} others above "
        f"{needed(HALF * summary['suspects']):.1f}."
    )


def _said(part: dict[str, Any]) -> str:
    return f"held {cell_text(part['held'])}, alarms {cell_text(part['alarm'])} ({part['answers']} answers)"


def _table(rows: list[dict[str, Any]]) -> Block:
    if not rows:
        return Text("None.")
    return Table(list(rows[0]), [[escaped(cell_text(value)) for value in row.values()] for row in rows], left=1)
