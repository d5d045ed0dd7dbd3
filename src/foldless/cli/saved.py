"""A fitted model from a file: read with skops, which builds nothing that it does not know. Never unpickled."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click
import numpy as np

import foldless as fl
from foldless.tables.files.sheet import refuse_zip_bomb
from foldless.words import one_line, quoted_list

PICKLES = (".pkl", ".pickle", ".joblib", ".sav")
# Types that skops does not vouch for, and which do nothing when they are built.
HARMLESS = (
    "numpy.dtype",
    "sklearn.feature_selection._univariate_selection.chi2",
    "sklearn.feature_selection._univariate_selection.f_classif",
    "sklearn.metrics._scorer._PassthroughScorer",
    "sklearn.model_selection._split.StratifiedKFold",
)
HOW_TO_SAVE = "save the model with skops.io.dump(model, 'model.skops')"


@dataclass(frozen=True, eq=False)
class Saved:
    """A fitted model, where it came from, and the columns that it was fitted on."""

    path: Path
    model: Any

    @property
    def name(self) -> str:
        """Class of the classifier at the end of the pipeline."""
        steps = getattr(self.model, "steps", None)
        return type(steps[-1][1] if steps else self.model).__name__

    @property
    def names(self) -> tuple[str, ...] | None:
        """Columns by name, if the model was fitted on named ones."""
        names = getattr(self.model, "feature_names_in_", None)
        return None if names is None else tuple(str(name) for name in names)

    def columns(self, offered: tuple[str, ...], file: Path) -> tuple[tuple[str, ...], list[str]]:
        """The columns of the file that the model takes, and a note about those that it does not."""
        if self.names is None:
            self._refuse_other_width(offered, file)
            return offered, []
        missing = [name for name in self.names if name not in set(offered)]
        if missing:
            raise fl.InputError(
                f"{self.path} was fitted on columns that {file} does not offer: {quoted_list(missing)}."
            )
        unused = [name for name in offered if name not in set(self.names)]
        note = [f"columns that {self.path.name} was not fitted on were left out: {quoted_list(unused)}."]
        return self.names, note if unused else []

    def _refuse_other_width(self, offered: tuple[str, ...], file: Path) -> None:
        width = getattr(self.model, "n_features_in_", len(offered))
        if width != len(offered):
            raise fl.InputError(
                f"{self.path} was fitted on {width} columns, and {file} offers {len(offered)}: leave out the others "
                "with --drop."
            )

    def labels(self, y: Any, target: str) -> Any:
        """Labels as the model knows them: 0 and 1 may have been False and True, or texts."""
        known = np.asarray(getattr(self.model, "classes_", np.unique(y))).tolist()
        found = np.unique(y).tolist()
        if set(known) == set(found) and not any(isinstance(k, bool) for k in known):
            return y
        place = {_spelled(label): k for k, label in enumerate(known)}
        if {_spelled(v) for v in found} != set(place):
            raise fl.InputError(
                f"{self.path} knows the classes {quoted_list(known)}, and the target column '{target}' has "
                f"{quoted_list(found)}."
            )
        return np.asarray(known)[[place[_spelled(v)] for v in y.tolist()]]


def _spelled(label: Any) -> str:
    text = str(label).strip().lower()
    return {"true": "1", "false": "0"}.get(text, text.removesuffix(".0"))


def load(path: Path) -> Saved:
    """Read a model that skops.io.dump wrote, if it holds nothing but known types."""
    with path.open("rb") as stream:
        start = stream.read(2)
    if path.suffix.lower() in PICKLES or start[:1] == b"\x80":
        raise fl.InputError(f"{path} is a pickle, and reading one runs whatever is in it: {HOW_TO_SAVE}.")
    if find_spec("skops") is None:
        raise fl.InputError("a saved model needs skops: pip install 'foldless[models]'.")
    if start != b"PK":
        raise fl.InputError(f"{path} is not a skops file: {HOW_TO_SAVE}.")
    refuse_zip_bomb(path)
    model = _built(path)
    if not hasattr(model, "predict"):
        raise fl.InputError(f"{path} holds a {type(model).__name__}, expected a fitted classifier.")
    return Saved(path, model)


def _built(path: Path) -> Any:
    from skops import io

    try:
        unknown = io.get_untrusted_types(file=path)
        strangers = [name for name in unknown if name not in HARMLESS]
        if strangers:
            raise fl.InputError(f"{path} holds types that are not known to be harmless: {quoted_list(strangers)}.")
        return io.load(path, trusted=unknown)
    except fl.InputError:
        raise
    except Exception as err:  # whatever a damaged or foreign archive makes of the reader
        raise fl.InputError(f"{path} cannot be read as a skops file ({one_line(str(err))}): {HOW_TO_SAVE}.") from err


OWN_STEPS = ("model", "C", "shrinkage", "standardize", "log", "impute", "one_hot")


def refuse_own_steps(ctx: click.Context) -> None:
    """A saved model brings its classifier and its steps."""
    from foldless.cli.options import given

    for option in ctx.command.params:
        if option.name in OWN_STEPS and given(ctx, option.name):
            raise click.UsageError(f"{option.opts[0]} does not go with --model-file: the model brings its own steps.")


model_file_option = click.option(
    "--model-file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="A model that was fitted on these rows and saved with skops, instead of fitting one.",
)
