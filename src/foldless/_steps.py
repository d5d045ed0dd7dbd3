"""What an estimator, or one step of a fitted pipeline, is: which scikit-learn class, whose code, whether it saw y."""

from __future__ import annotations

from typing import Any

Steps = list[tuple[str, Any]]

# scikit-learn marks these as able to do without y (a prefit model, an unsupervised score), but in a
# classification pipeline they look at it. Taking one for supervised when it is not costs nothing but a detour.
USES_Y = {"SelectKBest", "SelectPercentile", "SelectFromModel", "SequentialFeatureSelector", "_PLS", "PLSSVD"}

CONTAINERS = {"Pipeline": "steps", "FeatureUnion": "transformer_list", "ColumnTransformer": "transformers_"}


def is_estimator(model: Any) -> bool:
    """An estimator, fitted or not; False for a bare vector of weights."""
    return any(hasattr(model, a) for a in ("fit", "predict", "decision_function", "predict_proba"))


def flattened(name: str, step: Any) -> Steps:
    """A step as a list of plain ones: nested pipelines are spelled out, frozen steps thawed, empty ones dropped."""
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
    return innermost(estimator.steps[-1][1]) if getattr(estimator, "steps", None) else estimator


def saw_y(step: Any) -> bool:
    """True when a fitted step, or one inside it, used the labels (or may have, and can be mapped back)."""
    step = thawed(step)
    inner = _inner_steps(step)
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


def _inner_steps(step: Any) -> list[Any]:
    held = next((attribute for kind, attribute in CONTAINERS.items() if kind in sklearn_names(step)), None)
    return [item[1] for item in getattr(step, held, ())] if held else []


def sklearn_names(step: Any) -> set[str]:
    # Names along the ancestry, so that a user's subclass of SelectKBest is still known for what it is.
    return {c.__name__ for c in type(step).__mro__ if c.__module__.startswith("sklearn.")}


def is_unknown(step: Any) -> bool:
    """True when the code that fits a step, or a step inside it, is not scikit-learn's."""
    step = thawed(step)
    fits = [getattr(type(step), m, None) for m in ("fit", "fit_transform")]
    foreign = any(f and not str(getattr(f, "__module__", "")).startswith("sklearn.") for f in fits)
    return foreign or any(is_unknown(s) for s in _inner_steps(step))
