"""The text of a report: its origin, the answer in a sentence, and two paragraphs for a manuscript."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from inspect import Parameter, signature
from typing import Any

import numpy as np

from foldless import words
from foldless.model.steps import CONTAINERS, sklearn_names, thawed
from foldless.model.view import dismantled
from foldless.show.report import page
from foldless.show.report.parts import Case
from foldless.words import quoted, times_in_100

# ---- The origin of a report: the classifier as it would be written in code, and the call.

WEIGHTS = "given weights"
MOST_VALUES = 6  # longer lists among the settings of a step are not written out


def origin(case: Case, command: Any, data_name: Any, title: Any) -> dict[str, Any]:
    """Title, data, classifier, versions and command."""
    classifier, model, pipeline = _named(case)
    text = _call(case) if command is None else str(command)
    prior = case.analysis.options.prior
    return {
        "title": str(title) if title is not None and str(title).strip() else _title(case, classifier, data_name),
        "data_name": None if data_name is None else str(data_name),
        "model": model,
        "pipeline": pipeline,
        "classifier": classifier,
        "seed": case.seed,
        "versions": page.versions(),
        "home": page.home(),
        "command": {"made_by": "python" if command is None else "command", "text": text},
        **({} if prior is None else {"prior": repr(prior)}),
    }


def _named(case: Case) -> tuple[str, str, str]:
    """Name of the classifier, and the classifier with the steps before it: in words, and as code."""
    if case.is_weights:
        return WEIGHTS, WEIGHTS, WEIGHTS
    steps, final, _ = dismantled(case.analysis.estimator)
    inner = [_about(leaf) for _, step in steps for leaf in _leaves(step)]
    code = " → ".join([*(written(step) for _, step in steps), written(final)])
    return type(final).__name__, page.filled_in_text("model.txt.j2", final=_about(final), steps=inner), code


def _about(step: Any) -> dict[str, Any]:
    params = step.get_params(deep=False) if hasattr(step, "get_params") and not isinstance(step, type) else {}
    return {"kind": type(step).__name__, "code": written(step), "params": params}


def _leaves(step: Any) -> Iterator[Any]:
    """A step, or the steps inside a container; nothing for those that pass columns on or drop them."""
    kinds = sklearn_names(step := thawed(step))
    if kinds & set(CONTAINERS):
        held = (getattr(step, name, ()) for name in ("steps", "transformers", "transformer_list"))
        yield from (leaf for items in held for item in items for leaf in _leaves(item[1]))
    elif step is not None and not isinstance(step, str):
        yield step


def _title(case: Case, classifier: str, data_name: Any) -> str:
    if data_name is not None:
        return f"{classifier} on {data_name}"
    labels = [quoted(label) for label in case.counts]
    return f"{classifier}: {' against '.join(labels) if case.two_classes else f'{len(labels)} classes'}"


def _call(case: Case) -> str:
    """The call as it would be typed; arrays by their names."""
    options = case.analysis.options
    about = [f"{name}={name}" for name in ("groups", "sample_weight") if getattr(options, name) is not None]
    if options.pos_label is not None:
        about.append(f"pos_label={options.pos_label!r}")
    if options.method != "auto":
        about.append(f"method={options.method!r}")
    shown = [f"level={case.level:g}", f"seed={case.seed}", *([] if case.search else ["search=False"])]
    if options.prior is None and options.multi_class == "ovo":
        return f"foldless.report({', '.join(['estimator', 'X', 'y', *about, *shown])})"
    about += [f"{name}={getattr(options, name)!r}" for name in ("prior", "multi_class") if name in options.given]
    analysis = f"foldless.analyse({', '.join(['estimator', 'X', 'y', *about])})"
    return f"foldless.report({', '.join([analysis, *shown])})"


def written(step: Any) -> str:
    """A step as code, with the settings that are not the default; a container with the steps inside it."""
    step, kinds = thawed(step), sklearn_names(step)
    if "Pipeline" in kinds:
        return " → ".join(written(inner) for _, inner in step.steps)
    if kinds & set(CONTAINERS):
        held = getattr(step, "transformers", ()) or getattr(step, "transformer_list", ())
        return f"{type(step).__name__}({'; '.join(f'{item[0]}: {written(item[1])}' for item in held)})"
    if not hasattr(step, "get_params") or isinstance(step, type):
        return str(step) if isinstance(step, str) else type(step).__name__
    usual = {name: p.default for name, p in signature(type(step)).parameters.items()}
    given = {name: _setting(value) for name, value in step.get_params(deep=False).items()}
    changed = [f"{name}={text}" for name, text in given.items() if text != _setting(usual.get(name, Parameter.empty))]
    return f"{type(step).__name__}({', '.join(changed)})"


def _setting(value: Any) -> str:
    """A setting; for objects only the class, since their repr may differ from run to run."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | float | str):
        return repr(value)
    if isinstance(value, list | tuple | np.ndarray):
        few = len(value) <= MOST_VALUES and all(isinstance(v, int | float | str | np.number) for v in value)
        return f"[{', '.join(_setting(v) for v in value)}]" if few else f"{type(value).__name__} of {len(value)}"
    return written(value) if sklearn_names(value) else type(value).__name__


# ---- The answer in plain words, at the top of the page.


def around(parts: dict[str, Any], where_from: dict[str, Any], notes: list[str]) -> dict[str, Any]:
    """The whole content of a report: its origin, the answer, and the parts."""
    all_notes = [*parts["auc"]["notes"], *parts["rates"].get("notes", []), *notes]
    return {
        **where_from,
        "sentence": sentence(parts["auc"], parts["data"]),
        "verdict": parts["diagnosis"]["verdict"],
        "verdict_sentence": verdict_sentence(parts["diagnosis"], parts["calibration"].get("doubts", ())),
        "notes": list(dict.fromkeys(all_notes)),
        **parts,
    }


def sentence(auc: dict[str, Any], data: dict[str, Any]) -> str:
    """How often the classifier is right about two new rows, one of each class."""
    # One more digit where the mean would read like an end of the interval.
    rates = auc["auc"], auc["low"], auc["high"]
    coarse, fine = ([times_in_100(rate, digits) for rate in rates] for digits in (0, 1))
    mean, low, high = fine if coarse[0] in coarse[1:] else coarse
    often = f"about {mean} times in 100" if mean[0].isdigit() else f"{mean} times in 100"
    span = f"{low} to {high}" if low != high else low
    answer = f"{_task(data)} {often} ({words.percent(auc['level'])} interval: {span} times)."
    if auc["low"] > 0.5:
        return answer
    if auc["high"] > 0.5:
        return f"{answer} That may be no better than guessing, which is right 50 times in 100."
    return f"{answer} Guessing, which is right 50 times in 100, does better."


def _task(data: dict[str, Any]) -> str:
    labels = [quoted(entry["label"]) for entry in data["classes"]]
    if data["positive"] is None:
        return (
            f"Given two new rows of two different classes out of {len(labels)}, this classifier ranks them in the "
            f"right order"
        )
    return (
        f"Given two new rows, one of class {labels[0]} and one of class {labels[1]}, this classifier gives the higher "
        f"score to the {labels[0]} row"
    )


def verdict_sentence(diagnosis: dict[str, Any], doubts: Sequence[str] = ()) -> str:
    """Whether the answer can be trusted; the verdict is on the AUC, `doubts` are about predicted risks."""
    if diagnosis["verdict"] == "trust":
        answer = "Nothing was found in the data or the fit that speaks against this answer."
        return " ".join([answer, *(f"But {doubt}" for doubt in doubts)])
    worst = diagnosis["findings"][0]
    lead = "Read this with caution" if diagnosis["verdict"] == "caution" else "Do not use this number"
    return f"{lead}: {worst['text'].rstrip('.')}. {worst['advice']}".strip()


# ---- Methods and results that can be pasted into a manuscript, with their references.


def paragraphs(summary: dict[str, Any]) -> dict[str, Any]:
    """Methods, results and references, from the content of the report alone; the text is that of a template."""
    works: list[str] = []

    def cite(work: str) -> str:
        """The mark of a work, as in '[2]'; works are numbered in the order in which they are first cited."""
        if work not in works:
            works.append(work)
        return f"[{works.index(work) + 1}]"

    figures = {line["measure"]: line for line in summary["validation"].get("figures", ())}
    fewest = min(entry["rows"] for entry in summary["data"]["classes"])
    about = {"found": figures.get, "fewest": fewest, "weights": WEIGHTS, "cite": cite}
    text, results = (page.filled_in_text("methods.txt.j2", s=summary, part=p, **about) for p in ("methods", "results"))
    return {"text": text, "results": results, "references": works}
