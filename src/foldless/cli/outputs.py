"""What `auc` and `report` write beside their answer: honest scores as CSV, and the fitted model as a skops file."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click

import foldless as fl
from foldless.cli.options import FILE
from foldless.cli.request import Request
from foldless.errors import EstimatorError, InputError
from foldless.files import refuse_unwritable, write_atomically
from foldless.tables.files.sheet import is_number


@dataclass(frozen=True)
class Outputs:
    """Where to write the scores and the model, if anywhere; checked before the work."""

    scores: Path | None = None
    model: Path | None = None

    def __post_init__(self) -> None:
        for option, path, suffix in (("--scores", self.scores, ".csv"), ("--save-model", self.model, ".skops")):
            if path is not None and path.suffix.lower() != suffix:
                raise click.UsageError(f"{option} {path}: expected a name that ends in {suffix}.")
            if path is not None:
                refuse_unwritable(path)
        if self.model is not None and find_spec("skops") is None:
            raise InputError("a saved model needs skops: pip install 'foldless[models]'.")

    def write(self, request: Request, analysis: fl.Analysis) -> dict[str, str]:
        """Write what was asked for; the paths, by name, for the answer."""
        if self.scores is not None:
            write_atomically(self.scores, score_table(request, analysis).write_csv().encode())
        if self.model is not None:
            from skops import io

            write_atomically(self.model, io.dumps(analysis.estimator))
        written = {"scores": self.scores, "saved_model": self.model}
        return {name: str(path) for name, path in written.items() if path is not None}


def output_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Decorator: --scores and --save-model."""
    scores = "A CSV file with the honest score and, where there is one, the honest probability of each row."
    with_model = click.option("--save-model", **FILE, help="The fitted classifier and its steps (.skops).")(command)
    return click.option("--scores", **FILE, help=scores)(with_model)


def score_table(request: Request, analysis: fl.Analysis) -> Any:
    """A polars frame: name of the row, class, honest score towards the positive class, and honest probability.

    Of more than two classes there are those of each class. A row without a name goes by its number in the file, from 1,
    and has its group beside it, where there are groups.
    """
    import polars as pl

    names = request.row_numbers if request.row_names is None else [harmless(name) for name in request.row_names]
    groups = {} if request.groups is None else {"group": [harmless(each) for each in request.groups.tolist()]}
    columns = {"id": names, **groups, "class": [harmless(label) for label in request.y.tolist()]}
    if len(request.labels) > 2:
        scores = zip(analysis.estimator.classes_.tolist(), analysis.class_scores.alone, strict=True)
        columns |= {f"honest_score_{label}": row for label, row in scores}
        with suppress(EstimatorError, InputError):
            shares = zip(analysis.estimator.classes_.tolist(), analysis.probabilities.T, strict=True)
            columns |= {f"honest_probability_{label}": row for label, row in shares}
        return pl.DataFrame(columns, strict=False)
    columns["honest_score"] = analysis.scores.scores
    with suppress(EstimatorError, InputError):  # a classifier without probabilities, such as ridge
        columns["honest_probability"] = analysis.probabilities
    return pl.DataFrame(columns, strict=False)


def harmless(cell: Any) -> Any:
    """A cell, behind an apostrophe where it is text that a spreadsheet would compute.

    >>> harmless("=1+1"), harmless("-0.5"), harmless(-1)
    ("'=1+1", '-0.5', -1)
    """
    active = isinstance(cell, str) and cell.startswith(("=", "+", "-", "@")) and not is_number(cell)
    return f"'{cell}" if active else cell
