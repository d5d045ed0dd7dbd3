"""The work behind the page, in a process of its own: a look at the columns of a file, and the report.

A worker is started before it is needed. It loads the libraries, waits for a line with a task, does it with the
machinery of the command line, and writes its answer into files. So the page stays responsive, two tabs cannot mix, a
task can be stopped, and what goes wrong is the one line that the command would print.
"""

from __future__ import annotations

import inspect
import json
import os
import shlex
import sys
from collections.abc import Callable
from functools import partial
from importlib import import_module, resources
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from typing import Any

import click
import numpy as np

import foldless as fl
from foldless.cli.app import exit_code
from foldless.cli.columns import TEXT, look_at
from foldless.cli.models import CLASSIFIERS
from foldless.cli.options import CommandOptions, data_options, refuse_wrong_strength
from foldless.cli.outputs import Outputs
from foldless.cli.report import made, reasons
from foldless.cli.request import Request, read_file
from foldless.errors import FoldlessError
from foldless.files import write_atomically
from foldless.show.report.run import CHAPTERS
from foldless.tables import files
from foldless.tables.files.sheet import Loaded
from foldless.words import cleaned, cut, estimate, plain

REPORT, SCORES, TABLE, LINES, MODEL = "report.html", "scores.csv", "table.csv", "same.py", "model.skops"
MOST_SHOWN = 3  # values of a column
LABEL_TYPES = {"U": "String", "i": "Int64", "f": "Float64"}


def main() -> None:
    """Load what the work needs, and do one task after the other as they come."""
    for name in filter(find_spec, ("polars", "sklearn", "matplotlib", "jinja2")):
        import_module(name)  # now, not when somebody is waiting
    for line in sys.stdin:
        task, home = json.loads(line), Path.cwd()
        os.chdir(task["folder"])
        code = exit_code(partial(TASKS[task["do"]], task["words"], Path(task["out"])))
        os.chdir(home)  # not every system removes a folder that somebody is in
        print(json.dumps({"code": code}), flush=True)


@click.command()
@data_options()
@click.option("--no-search", is_flag=True)
@click.pass_context
def parsed(ctx: click.Context, /, options: CommandOptions, no_search: bool) -> tuple[CommandOptions, bool]:
    """The words of a command as its options, checked as on the command line; and whether to search over the penalty."""
    refuse_wrong_strength(ctx, options)
    return options, not no_search


def write_json(path: Path, content: dict[str, Any]) -> None:
    """Write an answer for the page."""
    write_atomically(path, json.dumps(plain(content, text=str), ensure_ascii=True).encode())


# ---- A look at the columns: what they hold as they were read and, once the target is known, what becomes of them.


def look(words: list[str], out: Path) -> None:
    """Write what the file holds; with a target also the classes, the role of each column and what will be done."""
    options, _ = parsed.main(words, standalone_mode=False)
    with files.opened(options.file, options.hints) as source:
        loaded = source.load(source.names)
        columns = [_column(loaded, k, name) for k, name in enumerate(source.names)]
        columns += [{"name": name, "holds": "an array beside X"} for name in source.others]
        seen = {"read_as": source.read_as, "rows": len(loaded.X), "columns": columns, "target": source.default_target}
    seen["models"] = [[name, kind.title] for name, kind in CLASSIFIERS.items()]
    seen |= _with_target(options) if options.target or seen["target"] else {}
    write_json(out / "look.json", seen)


def _column(loaded: Loaded, k: int, name: str) -> dict[str, Any]:
    """What a column holds, in words and counts."""
    if name in loaded.strange:
        return {"name": name, "holds": loaded.strange[name]}
    if name in loaded.texts:
        return _text_column(loaded, name)
    values = loaded.X[:, k]
    known = values[np.isfinite(values)]
    levels = np.unique(known)
    shown = [f"{levels[0]:g} to {levels[-1]:g}"] if levels.size > MOST_SHOWN else [f"{v:g}" for v in levels]
    whole = "whole numbers" if not np.any(known % 1) else "numbers"
    counts = {"missing": int(np.isnan(values).sum()), "levels": levels.size, "shown": shown}
    return {"name": name, "holds": whole if known.size else "nothing", **counts}


def _text_column(loaded: Loaded, name: str) -> dict[str, Any]:
    column = loaded.texts[name]
    looks = look_at(column, loaded.marks)
    known = column.drop_nulls()
    frequent = known.value_counts(sort=True).to_series(0).head(MOST_SHOWN).to_list()
    odd = [] if looks[0].kind == TEXT else [f"{look.kind} ({look.words})" for look in looks]
    shown = [cut(cleaned(value), 40) for value in frequent]
    counts = {"missing": column.null_count(), "levels": known.n_unique(), "shown": shown}
    return {"name": name, "holds": "; ".join(odd) or ("text" if len(known) else "nothing"), **counts}


def _with_target(options: CommandOptions) -> dict[str, Any]:
    """What the report would be made of, or why it cannot be made yet."""
    try:
        request = read_file(options)
        positive = request.positive
    except (FoldlessError, click.ClickException) as err:
        return {"problem": err.format_message() if isinstance(err, click.ClickException) else str(err)}
    sizes = sorted(request.sizes.items(), key=lambda item: -item[1])
    # A column may be both: that it has groups is what counts.
    named = {name: role for role in ("id", "groups") if (name := getattr(request.options, role)) is not None}
    return {
        "target": request.target,
        "classes": [[str(label), n] for label, n in sizes],
        "positive": None if positive is None else str(positive),
        "positive_words": request.positive_words.strip(),
        "roles": {**dict.fromkeys(request.features, "feature"), **named, request.target: "target"},
        "reasons": dict(request.left_out),
        "prepared": request.prepared,
        "notes": list(request.notes),
    }


# ---- The report, and what can be downloaded with it.


def report(words: list[str], out: Path) -> None:
    """Write the report, the scores, the table, the model and the Python lines; tell of each part on the way."""
    _tell("reading the file", 0)
    options, search = parsed.main(words, standalone_mode=False)
    keeps = find_spec("skops") is not None  # the fitted classifier, which then knows its columns
    request, steps = read_file(options, by_name=keeps), count(1)
    command = shlex.join(["foldless", "report", *words, "-o", REPORT])
    how = {"command": command, "path": out / REPORT, "search": search}
    page, analysis = made(request, **how, progress=lambda what: _tell(what, next(steps)))
    _tell("files to download", next(steps))
    Outputs(out / SCORES, out / MODEL if keeps else None).write(request, analysis)
    write_atomically(out / TABLE, used_table(request).write_csv().encode())
    lines = python_lines(request, analysis, search)
    write_atomically(out / LINES, lines.encode())
    summary = page.summary()
    area = estimate(*(summary["auc"][key] for key in ("auc", "low", "high")))
    answer = {"auc": area, "sentence": summary["sentence"], "verdict": page.verdict, "command": command, "lines": lines}
    why = [text[:1].upper() + text[1:] for text in reasons(page, analysis, request)]
    write_json(out / "report.json", {**answer, "reasons": why, "positive_words": request.positive_words.strip()})


def _tell(what: str, done: int) -> None:
    print(json.dumps({"part": what, "done": done, "of": len(CHAPTERS) + 3}), flush=True)


def used_table(request: Request) -> Any:
    """The table as the classifier gets it, with the target and the groups."""
    import polars as pl

    X = request.X if isinstance(request.X, pl.DataFrame) else pl.DataFrame(request.X, schema=list(request.features))
    groups = [] if request.groups is None else [pl.Series(str(request.options.groups), request.groups)]
    return X.with_columns(pl.Series(request.target, request.y), *groups)


# ---- The same in Python: lines that read the table above, fit the same pipeline and print the same answer.


def python_lines(request: Request, analysis: fl.Analysis, search: bool = True) -> str:
    """Python code that does the same, to be run beside the table."""
    from jinja2 import StrictUndefined, Template

    steps = request.preparation
    code = Code({"numbers": list(steps.numbers), "texts": list(steps.texts), "indicated": list(steps.indicated)})
    model = code.of(analysis.estimator)
    text = (resources.files("foldless.app") / "same.py.j2").read_text(encoding="utf-8")
    how = {"pos_label": request.positive, "method": analysis.options.method}
    template = Template(text, undefined=StrictUndefined, trim_blocks=True, keep_trailing_newline=True)
    return str(template.render(
        r=request, table=TABLE, report=REPORT, model=model, code=code, framed=bool(steps.texts or steps.indicated),
        texts=list(steps.texts), label_type=LABEL_TYPES[request.y.dtype.kind], repr=repr, search=search,
        how={key: value for key, value in how.items() if value not in (None, "auto")},
    ))  # fmt: skip


class Code:
    """Estimators as the Python code that makes them; `lists` are written as variables, `imports` are gathered."""

    def __init__(self, lists: dict[str, list[str]]) -> None:
        self.lists, self.used, self._imports = lists, set[str](), set[tuple[str, str]]()

    @property
    def imports(self) -> list[str]:
        """The lines that import what is used."""
        return [f"from {module} import {name}" for module, name in sorted(self._imports)]

    def of(self, item: Any) -> str:
        """The code of an estimator or of one of its settings."""
        name = next((name for name, columns in self.lists.items() if columns and item == columns), None)
        if name is not None:
            self.used.add(name)
            return name
        if isinstance(item, list | tuple):
            inside = ", ".join(map(self.of, item))
            return f"[{inside}]" if isinstance(item, list) else f"({inside})"  # none has a single item
        if isinstance(item, np.ufunc):
            return self._named("numpy", item.__name__)
        if type(item).__name__ == "Pipeline":
            return f"{self._named('sklearn.pipeline', 'make_pipeline')}({', '.join(self.of(s) for _, s in item.steps)})"
        return self._estimator(item) if hasattr(item, "get_params") else repr(item)

    def _estimator(self, item: Any) -> str:
        """A call with the settings that are not the default."""
        usual = {name: repr(p.default) for name, p in inspect.signature(type(item)).parameters.items()}
        given = {name: value for name, value in item.get_params(deep=False).items() if repr(value) != usual.get(name)}
        settings = ", ".join(f"{name}={self.of(value)}" for name, value in given.items())
        return f"{self._named(type(item).__module__.partition('._')[0], type(item).__name__)}({settings})"

    def _named(self, module: str, name: str) -> str:
        self._imports.add((module, name))
        return name


TASKS: dict[str, Callable[[list[str], Path], None]] = {"look": look, "report": report}
