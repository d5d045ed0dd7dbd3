"""What an estimator or a step of a pipeline is, whether it saw y, and the threshold of a classifier."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from foldless.checks import Floats
from foldless.errors import EstimatorError

Steps = list[tuple[str, Any]]

# scikit-learn marks these as not requiring y (a prefit model, an unsupervised score), but in a classification
# pipeline they use it. Mistaking an unsupervised one for supervised only costs time.
USES_Y = {"SelectKBest", "SelectPercentile", "SelectFromModel", "SequentialFeatureSelector", "_PLS", "PLSSVD"}

CONTAINERS = {"Pipeline": "steps", "FeatureUnion": "transformer_list", "ColumnTransformer": "transformers_"}


def is_estimator(model: Any) -> bool:
    """An estimator, fitted or not; False for a bare vector of weights."""
    return any(hasattr(model, a) for a in ("fit", "predict", "decision_function", "predict_proba"))


def flattened(name: str, step: Any) -> Steps:
    """A step as a list of plain ones: nested pipelines expanded, frozen steps unwrapped, empty ones dropped."""
    step = thawed(step)
    if "Pipeline" in sklearn_names(step):
        return [inner for sub, s in step.steps for inner in flattened(f"{name}.{sub}", s)]
    return [] if step is None or step == "passthrough" else [(name, step)]


def thawed(step: Any) -> Any:
    """What a FrozenEstimator holds; anything else as it is."""
    while "FrozenEstimator" in sklearn_names(step):
        step = step.estimator
    return step


def innermost(estimator: Any) -> Any:
    """The classifier at the end of searches and pipelines."""
    estimator = thawed(estimator)
    if hasattr(estimator, "best_estimator_"):
        return innermost(estimator.best_estimator_)
    if "OneVsRestClassifier" in sklearn_names(estimator) and len(getattr(estimator, "estimators_", ())) == 1:
        return innermost(estimator.estimators_[0])
    return innermost(estimator.steps[-1][1]) if getattr(estimator, "steps", None) else estimator


def search_in(estimator: Any) -> Any:
    """The finished search that an estimator is, or ends in; None for any other."""
    estimator = thawed(estimator)
    if hasattr(estimator, "best_estimator_") or type(estimator).__name__.endswith("CV"):
        return estimator
    return search_in(estimator.steps[-1][1]) if "Pipeline" in sklearn_names(estimator) else None


def ends_in_pls(estimator: Any) -> bool:
    """PLS-DA: a PLSRegression, alone or at the end of pipelines and searches, on the targets 0 and 1."""
    return "PLSRegression" in sklearn_names(innermost(estimator))


def saw_y(step: Any) -> bool:
    """True when a fitted step, or one inside it, used the labels (or may have, and can be mapped back)."""
    step = thawed(step)
    inner = inner_steps(step)
    if inner:
        return any(saw_y(s) for s in inner)
    kind, needs_y = kind_and_need(step)
    known = needs_y or kind in ("classifier", "regressor") or hasattr(step, "best_estimator_")
    return known or bool(USES_Y & sklearn_names(step)) or (is_unknown(step) and hasattr(step, "get_support"))


def kind_and_need(step: Any) -> tuple[str | None, bool]:
    """What scikit-learn's tags say: the kind of estimator, and whether fitting it needs y."""
    from sklearn.utils import get_tags

    try:
        tags = get_tags(step)
    except Exception:  # a foreign class without tags, or a string such as "drop"
        return None, False
    return tags.estimator_type, bool(tags.target_tags.required)


def inner_steps(step: Any) -> list[Any]:
    """The transformers in a ColumnTransformer or a FeatureUnion; of some only a word, such as "drop"."""
    held = next((attribute for kind, attribute in CONTAINERS.items() if kind in sklearn_names(step)), None)
    return [item[1] for item in getattr(step, held, ())] if held else []


def sklearn_names(step: Any) -> set[str]:
    # Names of all base classes, so that a user's subclass of SelectKBest is recognised.
    return {c.__name__ for c in type(step).__mro__ if c.__module__.startswith("sklearn.")}


def is_unknown(step: Any) -> bool:
    """True when the code that fits a step, or a step inside it, is not scikit-learn's."""
    step = thawed(step)
    fits = [getattr(type(step), m, None) for m in ("fit", "fit_transform")]
    foreign = any(f and not str(getattr(f, "__module__", "")).startswith("sklearn.") for f in fits)
    return foreign or any(is_unknown(s) for s in inner_steps(step))


# ---- Columns that were divided by something learned from them.

SCALERS = {"StandardScaler": "sd", "MinMaxScaler": "range", "MaxAbsScaler": "size"}
STANDARDISED = 1e-6  # means and standard deviations this close to 0 and 1 are those of standardised columns


@dataclass(frozen=True, eq=False)
class ScaledColumns:
    """Columns that a scaler divided by their standard deviation ("sd"), their range or their largest size.

    `centred` says whether it also took off their means, `weight` holds the weights of the rows in its statistics, and
    `given` is True where no scaler is known, but the columns came standardised. `scale` says how their scale follows
    from the rows (`foldless.honest.scales`), and `mean` (p,) is their mean, where all rows are in memory.
    """

    columns: slice
    kind: str
    centred: bool = False
    weight: Floats | None = None
    given: bool = False
    scale: Any = None
    mean: Floats | None = None

    @property
    def width(self) -> int:
        return int(self.columns.stop - self.columns.start)


def scaled_columns(steps: Steps, X: Any) -> tuple[ScaledColumns, ...]:
    """The columns of X, the output of the steps, that the last step scaled; without steps, those that came so."""
    width = slice(0, int(X.shape[1]))
    if steps:
        return _scaled_by(steps[-1][1], width)
    return (ScaledColumns(width, "sd", centred=True, given=True),) if looks_standardised(X) else ()


def _scaled_by(step: Any, place: slice) -> tuple[ScaledColumns, ...]:
    names = sklearn_names(step)
    if "ColumnTransformer" in names:
        branches = [(flattened(name, inner), step.output_indices_[name]) for name, inner, _ in step.transformers_]
        return tuple(part for inner, at in branches if inner for part in _scaled_by(inner[-1][1], at))
    kind = next((SCALERS[name] for name in SCALERS if name in names), None)
    if kind is None or is_unknown(step) or not getattr(step, "with_std", True) or place.stop <= place.start:
        return ()
    return (ScaledColumns(place, kind, centred=bool(getattr(step, "with_mean", False))),)


# Steps that learn from X without y, and that cost more than 0.005 of AUC for being kept as fitted to all rows: the mean
# distance from refits of the whole pipeline without two rows (the table in docs/guides/limits.md).
COSTLY = {"PCA", "KBinsDiscretizer", "Nystroem"}
MANY_CENTRED = 0.5  # columns per row up to which scores move by less than a third of their spread as means leave


def costly_steps(steps: Steps) -> Steps:
    """Steps before the classifier that had better not be kept: those named above, and scalers that others follow."""
    found = [s for k, s in enumerate(steps) if _is_costly(s[1], last=k == len(steps) - 1)]
    return [s for s in found if not is_unknown(s[1])]


def _is_costly(step: Any, last: bool) -> bool:
    inner = [flattened("", s) for s in inner_steps(thawed(step))]
    if inner:
        return any(_is_costly(s, last and k == len(branch) - 1) for branch in inner for k, (_, s) in enumerate(branch))
    names = sklearn_names(step)
    return bool(COSTLY & names) or bool(not last and names & set(SCALERS) and getattr(step, "with_std", True))


def loose_centres(steps: Steps, scaled: tuple[ScaledColumns, ...], classifier: Any, shape: tuple[int, int]) -> Steps:
    """The scaler before a classifier whose intercept cannot follow its means as they move with rows that leave.

    There is no intercept, or a penalised one (liblinear) and columns that are not centred. Where columns are many, the
    mean of the other rows then points at the row that left, and moves its score.
    """
    centred = sum(part.width for part in scaled if part.centred)
    penalised = "LinearSVC" in sklearn_names(classifier) or getattr(classifier, "solver", "") == "liblinear"
    tied = (penalised and centred < shape[1]) or not getattr(classifier, "fit_intercept", True)
    return steps[-1:] if tied and centred > MANY_CENTRED * shape[0] else []


def looks_standardised(X: Any) -> bool:
    """Whether every column that varies has mean 0 and standard deviation 1, with N or with N - 1 in its denominator."""
    if not isinstance(X, np.ndarray):
        return False
    with np.errstate(all="ignore"):  # numbers of any size, and those that are not finite, are reported elsewhere
        if not np.all(np.abs(X[:, :1].mean(axis=0, dtype=np.float64)) <= STANDARDISED):  # nor are all columns, then
            return False
        means, squares = X.mean(axis=0, dtype=np.float64), np.einsum("ij,ij->j", X, X, dtype=np.float64)
    return are_standardised(means, squares / len(X), len(X))


def are_standardised(means: Floats, squares: Floats, n: float) -> bool:
    """The same from means, of the columns and of their squares, over n rows."""
    if not np.all(np.abs(means) <= STANDARDISED):
        return False
    squares = squares[squares > 0]
    return bool(squares.size) and any(np.all(np.abs(squares * n / m - 1) < STANDARDISED) for m in (n, n - 1))


WRAPPERS = {"FixedThresholdClassifier", "TunedThresholdClassifierCV"}
TINY, EPS = np.finfo(float).tiny, np.finfo(float).eps  # keep the decision at a threshold of 0 or 1 finite


def own_threshold(estimator: Any) -> float:
    """0 for most classifiers; where a wrapper moved it, its threshold in units of ``decision_function``."""
    wrapper = moved_by(estimator)
    if wrapper is None:
        return 0.0
    value, positive = _settings(wrapper)
    if _response(wrapper) == "predict_proba":
        decision = _decision_at(0.5 if value == "auto" else value, wrapper)
    else:
        decision = 0.0 if value == "auto" else float(value)
    return -decision if positive is not None and positive != wrapper.classes_[1] else decision


def own_probability(estimator: Any) -> float:
    """The same for a classifier without ``decision_function``: 0.5, or where a wrapper has moved it."""
    wrapper = moved_by(estimator)
    if wrapper is None:
        return 0.5
    value, positive = _settings(wrapper)
    share = 0.5 if value == "auto" else float(value)
    return 1 - share if positive is not None and positive != wrapper.classes_[1] else share


def why_unknown(estimator: Any) -> str | None:
    """Why a classifier's own threshold cannot be determined, or None; one of probabilities always can."""
    if not hasattr(estimator, "decision_function"):
        return None
    try:
        own_threshold(estimator)
    except EstimatorError as err:
        return str(err)
    return None


def moved_by(estimator: Any) -> Any | None:
    """The wrapper that moves the threshold, if there is one inside."""
    inner = innermost(estimator)
    return inner if sklearn_names(inner) & WRAPPERS and hasattr(inner, "estimator_") else None


def notes_on_threshold(estimator: Any) -> tuple[str, ...]:
    """What to know about rates at the classifier's own threshold."""
    wrapper = moved_by(estimator)
    if wrapper is None or "TunedThresholdClassifierCV" not in sklearn_names(wrapper):
        return ()
    return (f"{type(wrapper).__name__} chose its threshold by looking at y; that choice is not accounted for.",)


def _settings(wrapper: Any) -> tuple[Any, Any]:
    """The threshold, and the class whose score is compared with it; None for the second of ``classes_``."""
    if hasattr(wrapper, "best_threshold_"):
        return wrapper.best_threshold_, wrapper._curve_scorer._get_pos_label()
    return wrapper.threshold, wrapper.pos_label


def _response(wrapper: Any) -> str:
    if wrapper.response_method != "auto":
        return str(wrapper.response_method)
    return "predict_proba" if hasattr(wrapper.estimator_, "predict_proba") else "decision_function"


def _decision_at(probability: float, wrapper: Any) -> float:
    """The decision value at which the classifier inside has that probability."""
    from foldless.model.probabilities import link_by_itself

    final = innermost(wrapper.estimator_)
    try:
        return float(link_by_itself(final).decision(np.clip(probability, TINY, 1 - EPS)))
    except EstimatorError as err:
        raise EstimatorError(
            f"{type(wrapper).__name__} decides by the probabilities of {type(final).__name__}, which are not a known "
            f"function of its decision_function: give the threshold in units of decision_function (threshold=...)."
        ) from err
