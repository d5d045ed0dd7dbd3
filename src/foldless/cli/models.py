"""The classifiers that a command can fit, the steps before them, and fitted models from a file."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click
import numpy as np

from foldless.errors import InputError
from foldless.tables.files.sheet import refuse_zip_bomb
from foldless.words import listed, one_line

# ---- Classifiers

# The default tolerance stops early on wide tables, and the answer would carry a note about it.
PRECISE: dict[str, Any] = {"tol": 1e-7, "max_iter": 10_000}
REACH = 1e-30, 1e30  # of C, and of the largest number in X: far outside, liblinear never ends


@dataclass(frozen=True)
class Classifier:
    """A kind of classifier with one number that says how strongly it is regularised."""

    title: str
    parameter: str
    path: str  # of the class, which is imported when it is needed
    settings: dict[str, Any]

    def make(self, value: Any, seed: int) -> Any:
        """An unfitted classifier; a solver that draws random numbers gets the seed."""
        module, name = self.path.rsplit(".", 1)
        model = getattr(import_module(module), name)(**{self.parameter: value}, **self.settings)
        return model.set_params(random_state=seed) if "random_state" in model.get_params() else model

    def strength(self, C: float, shrinkage: float | str) -> Any:
        """The value of its parameter: C, alpha = 1/C, or the shrinkage."""
        return {"C": C, "alpha": 1 / C, "shrinkage": shrinkage}[self.parameter]

    def setting(self, value: Any) -> str:
        """Its parameter with a value, as text."""
        return f"{self.parameter} = {value:g}" if isinstance(value, float) else f"{self.parameter} = {value}"

    def accepts(self, value: float) -> bool:
        """Whether the value is legal: above 0, and below 1 for a shrinkage, which at 1 leaves no covariance."""
        return 0 < value < (1 if self.parameter == "shrinkage" else np.inf)

    @property
    def legal(self) -> str:
        """Which values are legal, in words."""
        return "above 0 and below 1" if self.parameter == "shrinkage" else "above 0"


CLASSIFIERS = {
    "logistic": Classifier("logistic regression", "C", "sklearn.linear_model.LogisticRegression", PRECISE),
    "ridge": Classifier("ridge classifier", "alpha", "sklearn.linear_model.RidgeClassifier", {}),
    "lda": Classifier(
        "linear discriminant analysis",
        "shrinkage",
        "sklearn.discriminant_analysis.LinearDiscriminantAnalysis",
        {"solver": "lsqr"},
    ),
    # The dual solver, the default for wide tables, is seldom at its optimum after 1000 rounds.
    "svm": Classifier("linear support vector machine", "C", "sklearn.svm.LinearSVC", {"dual": False, **PRECISE}),
}


def refuse_endless(C: float, largest: float) -> None:
    """Refuse a support vector machine whose solver would never finish; `largest` is the size of the numbers in X."""
    low, high = REACH
    if not low <= C <= high:
        raise InputError(f"C of svm must lie between {low:g} and {high:g}, got {C:g}: use one nearer to 1.")
    if 0 < largest < low or high < largest < np.inf:
        raise InputError(
            f"the largest number that reaches the svm is {largest:.1g}, and its solver needs it between {low:g} and "
            f"{high:g}: rescale the columns."
        )


# ---- Steps before the classifier


@dataclass(frozen=True)
class Preparation:
    """What happens to the columns before the classifier, inside the pipeline."""

    standardize: bool = True
    log: bool = False
    impute: str | None = None
    numbers: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()
    indicated: tuple[str, ...] = ()  # columns with a second one that says "was missing"

    def pipeline(self, classifier: Any) -> Any:
        """Unfitted: the steps, and the classifier at the end."""
        from sklearn.pipeline import make_pipeline

        dense_only = type(classifier).__name__ == "LinearDiscriminantAnalysis"
        steps = [self._columns(dense_only)] if self.texts or self.indicated else self._steps()
        return make_pipeline(*steps, classifier)

    @property
    def words(self) -> str:
        """The steps, as they are printed."""
        done = ["standardized"] * self.standardize + ["log(1 + x)"] * self.log
        done += [f"{self.impute} for missing values"] * (self.impute is not None) + ["one-hot text"] * bool(self.texts)
        return ", ".join(done) or "as they are"

    def _steps(self) -> list[Any]:
        from sklearn.impute import SimpleImputer
        from sklearn.preprocessing import FunctionTransformer, StandardScaler

        steps = [SimpleImputer(strategy=self.impute)] if self.impute else []
        steps += [FunctionTransformer(np.log1p, feature_names_out="one-to-one")] if self.log else []
        return steps + ([StandardScaler()] if self.standardize else [])

    def _columns(self, dense: bool) -> Any:
        from sklearn.compose import ColumnTransformer
        from sklearn.impute import MissingIndicator
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import OneHotEncoder

        steps = self._steps()
        parts = (
            ("numbers", make_pipeline(*steps) if steps else "passthrough", list(self.numbers)),
            ("gaps", MissingIndicator(features="all"), list(self.indicated)),
            ("words", OneHotEncoder(handle_unknown="ignore"), list(self.texts)),
        )
        return ColumnTransformer(
            [part for part in parts if part[2]],
            verbose_feature_names_out=False,
            sparse_threshold=0 if dense else 0.3,
        )


# ---- A fitted model from a file: read with skops, which builds nothing that it does not know. Never unpickled.

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

model_file_option = click.option(
    "--model-file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="A model that was fitted on these rows and saved with skops, instead of fitting one.",
)


method_option = click.option(
    "--method",
    type=click.Choice(["auto", "refit"]),
    default="auto",
    show_default=True,
    help="refit: fit the classifier and its steps 20 more times, for any saved model, linear or not.",
)


@dataclass(frozen=True, eq=False)
class SavedModel:
    """A fitted model and the file that it came from."""

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
            width = getattr(self.model, "n_features_in_", len(offered))
            if width != len(offered):
                raise InputError(
                    f"{self.path} was fitted on {width} columns, and {file} offers {len(offered)}: leave out the "
                    f"others with --drop."
                )
            return offered, []
        missing = [name for name in self.names if name not in set(offered)]
        if missing:
            raise InputError(f"{self.path} was fitted on columns that {file} does not offer: {listed(missing)}.")
        unused = [name for name in offered if name not in set(self.names)]
        note = [f"columns that {self.path.name} was not fitted on were left out: {listed(unused)}."]
        return self.names, note if unused else []

    def labels(self, y: Any, target: str) -> Any:
        """Labels as the model knows them: 0 and 1 may have been False and True, or texts."""
        known = np.asarray(getattr(self.model, "classes_", np.unique(y))).tolist()
        present = np.unique(y).tolist()
        if set(known) == set(present) and not any(isinstance(k, bool) for k in known):
            return y
        place = {_spelled(label): k for k, label in enumerate(known)}
        if {_spelled(v) for v in present} != set(place):
            raise InputError(
                f"{self.path} was fitted to the classes {listed(known)}, and the target column '{target}' has "
                f"{listed(present)}."
            )
        return np.asarray(known)[[place[_spelled(v)] for v in y.tolist()]]


def _spelled(label: Any) -> str:
    text = str(label).strip().lower()
    return {"true": "1", "false": "0"}.get(text, text.removesuffix(".0"))


def load_model(path: Path | None) -> SavedModel | None:
    """Read a model that skops.io.dump wrote, if it holds nothing but known types; None without a path."""
    if path is None:
        return None
    with path.open("rb") as stream:
        start = stream.read(2)
    if path.suffix.lower() in PICKLES or start[:1] == b"\x80":
        raise InputError(f"{path} is a pickle, and reading one runs any code in it: {HOW_TO_SAVE}.")
    if find_spec("skops") is None:
        raise InputError("a saved model needs skops: pip install 'foldless[models]'.")
    if start != b"PK":
        raise InputError(f"{path} is not a skops file: {HOW_TO_SAVE}.")
    refuse_zip_bomb(path)
    model = _built(path)
    if not hasattr(model, "predict"):
        raise InputError(f"{path} holds a {type(model).__name__}, expected a fitted classifier.")
    return SavedModel(path, model)


def _built(path: Path) -> Any:
    from skops import io

    try:
        unknown = io.get_untrusted_types(file=path)
        suspect = [name for name in unknown if name not in HARMLESS]
        if suspect:
            raise InputError(f"{path} holds types that are not known to be harmless: {listed(suspect)}.")
        return io.load(path, trusted=unknown)
    except InputError:
        raise
    except Exception as err:  # a damaged or foreign archive may raise anything
        raise InputError(f"{path} cannot be read as a skops file ({one_line(str(err))}): {HOW_TO_SAVE}.") from err
