"""The classifiers that a command can fit, the steps before them, and fitted models from a file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click
import numpy as np

from foldless.errors import InputError
from foldless.model.view import dismantled
from foldless.tables.files.sheet import refuse_zip_bomb
from foldless.words import listed, one_line

# ---- Classifiers

# The default tolerance stops early on wide tables, and the answer would carry a note about it.
PRECISE: dict[str, Any] = {"tol": 1e-7, "max_iter": 10_000}
SAGA: dict[str, Any] = {"solver": "saga", "max_iter": 10_000}
TREES, PARTS, MOST = "n_estimators", "n_components", 100_000  # parameters that are counts
REACH = 1e-30, 1e30  # of C, and of the largest number in X: far outside, liblinear never ends


@dataclass(frozen=True)
class Classifier:
    """A kind of classifier with one number, that says how strongly it is regularised or how many trees it has."""

    title: str
    parameter: str
    path: str  # of the class, which is imported when it is needed
    settings: dict[str, Any]
    closed_form: bool = True  # else it is refitted

    def make(self, value: Any, seed: int) -> Any:
        """An unfitted classifier; a solver that draws random numbers gets the seed."""
        module, name = self.path.rsplit(".", 1)
        value = int(value) if self.parameter in (TREES, PARTS) else value
        model = getattr(import_module(module), name)(**{self.parameter: value}, **self.settings)
        if "l1_ratio" in self.settings and model.penalty == "l2":  # scikit-learn before 1.8 asks for it by name, too
            model.set_params(penalty="elasticnet")
        return model.set_params(random_state=seed) if "random_state" in model.get_params() else model

    def strength(self, C: float, shrinkage: float | str) -> Any:
        """The value of its parameter: C, alpha = 1/C, the shrinkage, or scikit-learn's number of trees or parts."""
        return {"C": C, "alpha": 1 / C, "shrinkage": shrinkage, TREES: 100, PARTS: 2}[self.parameter]

    def setting(self, value: Any) -> str:
        """Its parameter with a value, as text."""
        return f"{self.parameter} = {value:g}" if isinstance(value, float) else f"{self.parameter} = {value}"

    def accepts(self, value: float) -> bool:
        """Whether the value is legal: above 0, and below 1 for a shrinkage, which at 1 leaves no covariance."""
        if self.parameter in (TREES, PARTS):
            return value in range(1, MOST + 1)
        return 0 < value < (1 if self.parameter == "shrinkage" else np.inf)

    @property
    def legal(self) -> str:
        """Which values are legal, in words."""
        if self.parameter in (TREES, PARTS):
            return f"from 1 to {MOST} without decimals"
        return "above 0 and below 1" if self.parameter == "shrinkage" else "above 0"


LOGISTIC = "sklearn.linear_model.LogisticRegression"
LDA = "sklearn.discriminant_analysis.LinearDiscriminantAnalysis"
CLASSIFIERS = {
    "logistic": Classifier("logistic regression", "C", LOGISTIC, PRECISE),
    "ridge": Classifier("ridge classifier", "alpha", "sklearn.linear_model.RidgeClassifier", {}),
    "lda": Classifier("linear discriminant analysis", "shrinkage", LDA, {"solver": "lsqr"}),
    # The dual solver, the default for wide tables, is seldom at its optimum after 1000 rounds.
    "svm": Classifier("linear support vector machine", "C", "sklearn.svm.LinearSVC", {"dual": False, **PRECISE}),
    "l1": Classifier("logistic regression with an L1 penalty", "C", LOGISTIC, {"l1_ratio": 1.0, **SAGA}, False),
    "elasticnet": Classifier("logistic regression, half L1, half L2", "C", LOGISTIC, {"l1_ratio": 0.5, **SAGA}, False),
    "pls": Classifier(
        "PLS-DA", PARTS, "sklearn.cross_decomposition.PLSRegression", {"scale": False}, closed_form=False
    ),
    "forest": Classifier("random forest", TREES, "sklearn.ensemble.RandomForestClassifier", {}, closed_form=False),
    "boosting": Classifier(
        "gradient boosting", TREES, "sklearn.ensemble.GradientBoostingClassifier", {}, closed_form=False
    ),
}


def refuse_refitted(name: str, command: str) -> None:
    """Refuse a classifier whose rows have no closed form, for a command that needs one."""
    if not CLASSIFIERS[name].closed_form:
        known = ", ".join(name for name, each in CLASSIFIERS.items() if each.closed_form)
        raise click.BadParameter(f"{command} never refits: choose from {known}.", param_hint="'--model'")


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
    chosen: bool = False  # these columns are not all that the table has

    def among(self, names: Iterable[str]) -> Preparation:
        """The same steps for some of the columns, which are chosen by name."""
        kept = set(names)
        parts = {"numbers": self.numbers, "texts": self.texts, "indicated": self.indicated}
        left = {kind: tuple(name for name in part if name in kept) for kind, part in parts.items()}
        return replace(self, chosen=True, **left)  # type: ignore[arg-type]

    def pipeline(self, classifier: Any) -> Any:
        """Unfitted: the steps, and the classifier at the end."""
        from sklearn.pipeline import make_pipeline

        dense_only = type(classifier).__name__ == "LinearDiscriminantAnalysis"
        by_name = self.texts or self.indicated or self.chosen
        return make_pipeline(*([self._columns(dense_only)] if by_name else self._steps()), classifier)

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
        filled = [part for part in parts if part[2]]
        return ColumnTransformer(filled, verbose_feature_names_out=False, sparse_threshold=0 if dense else 0.3)


# ---- A fitted model from a file: read with skops, which builds nothing that it does not know. Never unpickled.

PICKLES = (".pkl", ".pickle", ".joblib", ".sav")
# Types that skops does not vouch for, and which do nothing when they are built.
HARMLESS = (
    "numpy.dtype",
    *(f"sklearn._loss.{name}" for name in ("link.Interval", "link.LogitLink", "loss.HalfBinomialLoss")),  # boosting
    *(f"sklearn.feature_selection._univariate_selection.{name}" for name in ("chi2", "f_classif")),
    "sklearn.metrics._scorer._PassthroughScorer",
    "sklearn.model_selection._split.StratifiedKFold",
    "sklearn.tree._tree.Tree",  # after a look at its nodes
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


def method_for(asked: Any, *models: Any) -> Any:
    """The method that was asked for; refits where "auto" meets a classifier that is not linear."""
    finals = [dismantled(model)[1] for model in models]
    other = any(hasattr(final, "classes_") and not hasattr(final, "coef_") for final in finals)
    return "refit" if asked == "auto" and other else asked


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
        model = io.load(path, trusted=unknown)
        _refuse_wild_trees(model, path)
        return model
    except InputError:
        raise
    except Exception as err:  # a damaged or foreign archive may raise anything
        raise InputError(f"{path} cannot be read as a skops file ({one_line(str(err))}): {HOW_TO_SAVE}.") from err


def _refuse_wild_trees(model: Any, path: Path) -> None:
    """Refuse trees whose nodes point outside of their arrays, which scikit-learn would follow without a look."""
    for width, tree in _trees_in(model, set()):
        left, right, feature = tree.children_left, tree.children_right, tree.feature
        inner, place = left != -1, np.arange(left.size)
        sound = all(np.all((place < side) & (side < left.size), where=inner) for side in (left, right))
        if not (sound and np.all((feature >= 0) & (feature < width), where=inner)):
            raise InputError(
                f"{path} holds a tree whose nodes lead nowhere: the file is damaged, save the model again."
            )


def _trees_in(item: Any, seen: set[int], width: float = np.inf) -> Iterator[tuple[float, Any]]:
    """Every tree in a model, with the number of columns that whoever holds it expects."""
    if id(item) in seen:
        return
    seen.add(id(item))
    if type(item).__name__ == "Tree":
        yield min(width, item.n_features), item
        return
    if isinstance(item, dict):
        parts: Any = item.values()
    elif isinstance(item, list | tuple | set) or (isinstance(item, np.ndarray) and item.dtype == object):
        parts = np.ravel(item).tolist() if isinstance(item, np.ndarray) else item
    else:
        held = getattr(item, "__dict__", {})
        own = held.get("n_features_in_", np.inf)
        width, parts = min(width, own) if "tree_" in held else own, held.values()
    for part in parts:
        yield from _trees_in(part, seen, width)
