"""How the AUC depends on the strength of the penalty: a search without folds along C, or along alpha of ridge."""

from __future__ import annotations

from dataclasses import replace
from textwrap import shorten
from typing import Any

import numpy as np

from foldless import _check
from foldless._html import numbers
from foldless.display import style
from foldless.display.candidates import candidates_of
from foldless.display.search import SearchDisplay
from foldless.errors import FoldlessError
from foldless.reporting import pictures
from foldless.reporting.case import Case, Part
from foldless.search.candidates import final_classifier, is_strength, l2_strength

DECADES = 3
STEPS = {"shared": 4, "general": 2}  # values in two decades: many where they share one factorisation
LEAST_GAIN = 0.0005
LONGEST = 300  # letters of a reason
FINE_AT_MOST = 2000  # rows; beyond, also a shared path takes its time


def part(case: Case) -> Part:
    """The AUC at strengths around the present one, and whether another would be better."""
    if not case.search:
        return Part.skipped("Not asked for (search=False).")
    if case.is_weights:
        return Part.skipped("Given weights have no penalty to vary.")
    model = getattr(case.estimator, "best_estimator_", case.estimator)
    name, present = own_strength(model)
    if name is None or present is None:
        what = type(final_classifier(model)[0]).__name__
        return Part.skipped(f"{what}, as it was fitted, has no penalty C or alpha that could be varied.")
    return _searched(case, model, name, present)


def own_strength(model: Any) -> tuple[str | None, float | None]:
    """Full name and value of the strength of a classifier's penalty; (None, None) where there is none."""
    final, prefix = final_classifier(model)
    params = final.get_params(deep=False) if hasattr(final, "get_params") else {}
    short = "alpha" if l2_strength(model) == f"{prefix}alpha" else "C"
    if not is_strength(params.get(short)) or params.get("penalty", "") in (None, "none"):
        return None, None
    return prefix + short, float(params[short])


def grid_around(present: float, per_two_decades: int) -> list[float]:
    """Values from a thousandth to a thousand times the present one, which is among them."""
    half = DECADES * per_two_decades // 2
    # Round factors, so that labels read 0.01 and 0.03 rather than 0.0316.
    factors = {10.0 ** (k / (per_two_decades / 2)) for k in range(-half, half + 1)}
    return sorted(present if f == 1 else float(f"{present * f:.2g}") for f in factors)


def _searched(case: Case, model: Any, name: str, present: float) -> Part:
    from sklearn.base import clone

    from foldless.search.meta import FoldlessSearch

    several = not case.two_classes
    fine = l2_strength(model) == name and not several and len(case.y) <= FINE_AT_MOST
    values = grid_around(present, STEPS["shared" if fine else "general"])
    extra = {} if case.sample_weight is None else {_weight_argument(model): case.sample_weight}
    try:
        search = FoldlessSearch(clone(model), {name: values}, level=case.level)
        search.fit(case.X, _plain_labels(case.y), groups=case.groups, **extra)
    except (FoldlessError, ValueError) as err:  # of the clones that are fitted: scikit-learn's own words
        return Part.skipped(f"Not possible here: {shorten(str(err), LONGEST)}")
    content = _content(search, name, present, values)
    return Part(content, {"search": _picture(search, content)})


def _plain_labels(y: Any) -> Any:
    """Labels as scikit-learn fits them: it refuses numbers in an array of objects."""
    labels = _check.label_vector(y)
    return np.array(labels.tolist()) if labels.dtype == object else y


def _weight_argument(model: Any) -> str:
    # A pipeline hands fit arguments only to a step that is named.
    return f"{final_classifier(model)[1]}sample_weight"


def _content(search: Any, name: str, present: float, values: list[float]) -> dict[str, Any]:
    table = search.results_
    rows = [
        {"value": v, "auc": float(m), "low": float(lo), "high": float(hi)}
        for v, m, lo, hi in zip(values, table["mean"], table["lower"], table["upper"], strict=True)
    ]
    content = {
        "parameter": name,
        "brief": name.split("__")[-1],
        "present": next(row for row in rows if row["value"] == present),
        "best": rows[search.best_index_],
        "optimism": float(search.optimism_),
        "level": search.level,
        "candidates": rows,
    }
    return {**content, "text": _judged(content)}


def _judged(found: dict[str, Any]) -> str:
    """What to make of the search, in words."""
    brief, present, best, optimism = (found[key] for key in ("brief", "present", "best", "optimism"))
    now, count = f"{brief} = {present['value']:g}", len(found["candidates"])
    if not np.isfinite(present["auc"]):
        return f"The present {now} could not be judged; of {count} values, {brief} = {best['value']:g} is best."
    gain = best["auc"] - present["auc"]
    if gain < LEAST_GAIN:
        return f"No: of {count} values from its thousandth to its thousandfold, none is better than the present {now}."
    luck = f"{optimism:.3f}" if optimism >= LEAST_GAIN else "less than 0.001"
    words = (
        f"Of {count} values, {brief} = {best['value']:g} has the largest AUC, {numbers.rate(best['auc'])} against "
        f"{numbers.rate(present['auc'])} at the present {now}. The largest of so many is expected to be {luck} "
        f"too high by luck alone, "
    )
    if gain <= optimism:
        return f"{words}so a gain of {gain:.3f} is no reason to change {brief}."
    return f"{words}less than the gain of {gain:.3f}: another {brief} may be worth a try, judged on new rows."


def _picture(search: Any, content: dict[str, Any]) -> str:
    brief, present, best = content["brief"], content["present"], content["best"]
    largest = f"largest AUC: {brief} = {best['value']:g}"
    words = f"AUC against {brief}. {largest}, {numbers.rate(best['auc'])}; present {brief} = {present['value']:g}."
    found = replace(candidates_of(search, content["parameter"]), notes=())

    def draw(ax: Any) -> None:
        now = f"present {brief} = {present['value']:g}"
        if found.numeric:  # else values stand side by side
            ax.axvline(present["value"], color=style.FAINT, linewidth=1, linestyle=(0, (4, 4)), label=now)
        drawn = SearchDisplay(found).plot(ax)
        if drawn.chosen_ is not None:
            drawn.chosen_.set_label(largest)
        style.legend(ax, loc="best")
        ax.get_legend().set_frame_on(False)  # a frame would look like a hole in the band
        ax.set(xlabel=brief, ylabel="AUC on new data")

    return pictures.svg("search", words, draw, 3.1)
