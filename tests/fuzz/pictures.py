"""The displays: lines and areas of finite points, texts of words and numbers, and a canvas that renders."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from hypothesis import strategies as st

import foldless as fl
from fuzz.answers import must
from fuzz.cases import Built, Case, cases, keywords
from fuzz.models import linear_models
from fuzz.pages import NAN
from fuzz.searching import search_cases, searched
from fuzz.tables import mostly

NAMES = (None, "", "$a_{$", "x" * 200, "two\nlines", "_hidden", "%", "\u202e")
SHOWN = ("auc", "auc posterior", "auc several", "roc", "roc posterior", "comparison", "comparison posterior", "curve",
         "curve posterior", "pairwise", "pairwise posterior")  # fmt: skip
ESTIMATION = ("method", "prior", "groups", "sample_weight", "pos_label")
OF_A_CURVE = ("prior", "groups", "sample_weight", "pos_label")
OF_CLASSES = ("prior", "sample_weight", "multi_class")


def picture_cases() -> st.SearchStrategy[Case]:
    """Cases with a display, on axes of its own or on given ones."""
    return cases(
        other=linear_models(),
        shown=st.sampled_from(SHOWN),
        name=mostly(None, NAMES, 2),
        given=st.booleans(),
        rope=mostly(0.0, (0.01, 0.9), 2),
        threshold=mostly("own", (None, 0.0, 1e300, "high"), 3),
    )


def axes(case: Case) -> Any:
    """New axes outside pyplot, or None."""
    if not case.more["given"]:
        return None
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure()
    FigureCanvasAgg(figure)
    return figure.subplots()


def drawn(case: Case, built: Built) -> Any:
    """The display of a case."""
    import matplotlib

    matplotlib.use("Agg")
    return SHOW[case.more["shown"]](case, built, {"level": case.option.level, "ax": axes(case)})


def _auc_posterior(c: Case, b: Built) -> Any:
    return fl.auc_posterior(b.model, b.X, b.y, **keywords(c, b, *ESTIMATION, "multi_class"))


def _roc_posterior(c: Case, b: Built, how: dict[str, Any]) -> Any:
    curve = fl.roc_posterior(b.model, b.X, b.y, **keywords(c, b, *ESTIMATION))
    return fl.ROCPosteriorDisplay.from_posterior(curve, name=c.more["name"], **how)


SHOW: dict[str, Callable[[Case, Built, dict[str, Any]], Any]] = {
    "auc": lambda c, b, how: fl.AUCPosteriorDisplay.from_estimator(
        b.model, b.X, b.y, name=c.more["name"], **how, **keywords(c, b, *ESTIMATION, "multi_class")
    ),
    "auc posterior": lambda c, b, how: fl.AUCPosteriorDisplay.from_posterior(
        _auc_posterior(c, b), name=c.more["name"], **how
    ),
    "auc several": lambda c, b, how: fl.AUCPosteriorDisplay.from_estimator(
        {c.more["name"] or "a": b.model, "b": b.other}, b.X, b.y, **how, **keywords(c, b, *ESTIMATION)
    ),
    "roc": lambda c, b, how: fl.ROCPosteriorDisplay.from_estimator(
        b.model, b.X, b.y, name=c.more["name"], threshold=c.more["threshold"], **how, **keywords(c, b, *ESTIMATION)
    ),
    "roc posterior": _roc_posterior,
    "comparison": lambda c, b, how: fl.ComparisonDisplay.from_estimators(
        b.model, b.other, b.X, b.y, rope=c.more["rope"], **how, **keywords(c, b, *ESTIMATION)
    ),
    "comparison posterior": lambda c, b, how: fl.ComparisonDisplay.from_comparison(
        fl.compare(b.model, b.other, b.X, b.y, rope=c.more["rope"], names=(c.more["name"] or "a", "b")), **how
    ),
    "curve": lambda c, b, how: fl.LearningCurveDisplay.from_estimator(
        b.model, b.X, b.y, **how, **keywords(c, b, *OF_A_CURVE)
    ),
    "curve posterior": lambda c, b, how: fl.LearningCurveDisplay.from_curve(
        fl.learning_curve(b.model, b.X, b.y, (1, 1000)), **how
    ),
    "pairwise": lambda c, b, how: fl.PairwiseAUCDisplay.from_estimator(
        b.model, b.X, b.y, **how, **keywords(c, b, *OF_CLASSES)
    ),
    "pairwise posterior": lambda c, b, how: fl.PairwiseAUCDisplay.from_posterior(_auc_posterior(c, b), **how),
}


def check(display: Any, case: Case, built: Built) -> None:
    """All that was drawn, and that it can be rendered."""
    import matplotlib.pyplot as plt

    try:
        for ax in display.figure_.axes:
            _finite(ax)
        display.figure_.canvas.draw()
    finally:
        plt.close("all")


def _finite(ax: Any) -> None:
    must(ax.lines or ax.collections or ax.images, "nothing was drawn")
    for line in ax.lines:
        must(_is_finite(line.get_xydata()), f"a line with {line.get_xydata()!r}")
    for area in ax.collections:
        for path in area.get_paths():
            must(np.all(np.isfinite(path.vertices)), f"an area with {path.vertices!r}")
    for image in ax.images:
        must(np.all(np.isfinite(np.ma.compressed(image.get_array()))), "an image with holes")
    must(np.all(np.isfinite([*ax.get_xlim(), *ax.get_ylim()])), "limits that are not finite")
    words = [ax.get_xlabel(), ax.get_ylabel(), ax.get_title(), *(text.get_text() for text in ax.texts)]
    words += [label.get_text() for label in (*ax.get_xticklabels(), *ax.get_yticklabels())]
    words += [text.get_text() for text in (ax.get_legend().get_texts() if ax.get_legend() else ())]
    must(not NAN.search(" ".join(words)), f"a text with nan: {words}")


def _is_finite(points: np.ndarray) -> bool:
    """Whether all points are finite, but for a gap after every second one: so bars are drawn as one line."""
    bars = len(points) % 3 == 0 and np.all(np.isnan(points[2::3, 1])) and len(points) > 0
    return bool(np.all(np.isfinite(np.delete(points, np.s_[2::3], axis=0) if bars else points)))


def search_picture_cases() -> st.SearchStrategy[Case]:
    """Searches, and the parameter along which they are drawn."""
    return search_cases(given=st.booleans(), param=mostly(None, ("C", "alpha", "nothing"), 3))


def drawn_search(case: Case, built: Built) -> Any:
    """The display of a search."""
    import matplotlib

    matplotlib.use("Agg")
    return fl.SearchDisplay.from_estimator(searched(case, built), param=case.more["param"], ax=axes(case))
