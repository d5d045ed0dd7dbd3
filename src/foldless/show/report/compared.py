"""The parts of a report that fit clones: cross-validation beside the answer, and a search over the penalty."""

from __future__ import annotations

import warnings
from dataclasses import replace
from textwrap import shorten
from typing import Any

import numpy as np

from foldless import checks, words
from foldless.baselines.folds import cv_auc
from foldless.errors import FoldlessError, OptimismWarning
from foldless.estimate import auc_posterior
from foldless.search.candidates import final_classifier, is_strength, l2_strength
from foldless.show import style
from foldless.show.report import page
from foldless.show.report.case import TWO_ONLY, Case, Part
from foldless.show.search import SearchDisplay, candidates_of

# ---- The same question put to 5-fold cross-validation and to the paper's estimator.

FOLDS = 5
NAMES = {"foldless": "foldless", "cross_validation": f"{FOLDS}-fold CV", "paper": "the paper's, in-sample"}


def comparison_part(case: Case) -> Part:
    """The three answers side by side."""
    if not case.two_classes:
        return Part.skipped(TWO_ONLY)
    post = auc_posterior(case.estimator, case.X, case.y, **case.about)
    ours = dict(zip(("auc", "low", "high"), (post.mean, *post.interval(case.level)), strict=True))
    content: dict[str, Any] = {
        "level": case.level,
        "foldless": {**ours, "text": "From one fit on all rows, each row judged as if it had been left out."},
        "cross_validation": _cross_validated(case),
        "paper": _in_sample(case, post.mean),
    }
    return Part(content, {"comparison": _comparison_picture(content, case.level)})


def _cross_validated(case: Case) -> dict[str, Any]:
    if case.is_weights:
        return {"skipped": "Given weights cannot be fitted again on a part of the rows."}
    how = {"folds": FOLDS, "random_state": case.seed, "groups": case.groups, "pos_label": case.pos_label}
    try:
        found = cv_auc(case.estimator, case.X, case.y, **how)
    except FoldlessError as err:
        return {"skipped": f"Not possible here: {err}"}
    low, high = found.interval(case.level)
    text = (
        "Mean over the folds, each by a model trained on four fifths of the rows. The usual interval: a t interval "
        "from the spread over the folds, which ignores that their models share training rows."
    )
    if case.groups is not None:
        text += " Rows of a group stayed together."
    if case.sample_weight is not None:
        text += " The sample weights were not used in these fits."
    return {
        "auc": float(found), "low": low, "high": high, "folds": list(found.details["values"]), "seed": case.seed,
        "text": text,
    }  # fmt: skip


def _in_sample(case: Case, ours: float) -> dict[str, Any]:
    """CBAUC, the posterior mean of the paper's model on the training scores, and whether it can be believed."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            post = auc_posterior(case.estimator, case.X, case.y, method="in-sample", pos_label=case.pos_label)
        except FoldlessError as err:
            return {"skipped": f"Not possible here: {err}"}
    told = [str(w.message) for w in caught if issubclass(w.category, OptimismWarning)]
    low, high = post.interval(case.level)
    text = _believed(told[0] if told else None, post.mean - ours)
    if case.groups is not None or case.sample_weight is not None:
        text += " It knows neither groups nor sample weights."
    return {"auc": post.mean, "low": low, "high": high, "optimistic": bool(told), "text": text}


def _believed(warning: str | None, above: float) -> str:
    if warning is None:
        return "Judges the classifier on the rows that it was fitted to; with so few features that does little harm."
    # "... is optimistic with 30 features and 120 rows: on labels without any signal it would read about 0.78. Use ..."
    shape = warning.partition("optimistic ")[2].partition(". Use")[0]
    word = f"Optimistic, {above:.3f} above our answer," if above > 0 else "Apt to be optimistic"
    return f"{word} {shape}. It judges the classifier on the very rows that it was fitted to: do not report it."


def _comparison_picture(content: dict[str, Any], level: float) -> str:
    rows = {NAMES[key]: content[key] for key in NAMES if "skipped" not in content[key]}
    alt = "; ".join(f"{name} {words.estimate(r['auc'], r['low'], r['high'])}" for name, r in rows.items())

    def draw(ax: Any) -> None:
        for height, row in enumerate(reversed(rows.values())):
            ours = row is content["foldless"]
            colour = page.ACCENT if ours else style.FAINT
            ax.plot([row["low"], row["high"]], [height] * 2, color=colour, linewidth=4, solid_capstyle="butt")
            ax.plot(row["auc"], height, "o", color=colour, markersize=8 if ours else 6, markeredgecolor="white")
        ax.set_yticks(range(len(rows)), list(reversed(rows)))
        ax.set(ylim=(-0.6, len(rows) - 0.4), xlabel=f"AUC on new data and {words.percent(level)} interval")
        ax.tick_params(axis="y", length=0)
        low, high = ax.get_xlim()
        ax.set_xlim(low, min(high, 1.005))
        if low < 0.5:
            style.chance_line(ax, (0.5, 0.5), ax.get_ylim())
        style.open_frame(ax, left=False)

    return page.svg("comparison", f"AUC with interval: {alt}.", draw, 0.75 + 0.33 * len(rows))


# ---- How the AUC depends on the strength of the penalty: a search without folds along C, or along alpha of ridge.

DECADES = 3
STEPS = {"shared": 4, "general": 2}  # values in two decades: many where they share one factorisation
LEAST_GAIN = 0.0005
LONGEST = 300  # letters of a reason
FINE_AT_MOST = 2000  # rows; beyond, also a shared path takes its time


def search_part(case: Case) -> Part:
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
    return Part(content, {"search": _search_picture(search, content)})


def _plain_labels(y: Any) -> Any:
    """Labels as scikit-learn fits them: it refuses numbers in an array of objects."""
    labels = checks.label_vector(y)
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
    sentence = (
        f"Of {count} values, {brief} = {best['value']:g} has the largest AUC, {words.rate(best['auc'])} against "
        f"{words.rate(present['auc'])} at the present {now}. The largest of so many is expected to be {luck} "
        f"too high by luck alone, "
    )
    if gain <= optimism:
        return f"{sentence}so a gain of {gain:.3f} is no reason to change {brief}."
    return f"{sentence}less than the gain of {gain:.3f}: another {brief} may be worth a try, judged on new rows."


def _search_picture(search: Any, content: dict[str, Any]) -> str:
    brief, present, best = content["brief"], content["present"], content["best"]
    largest = f"largest AUC: {brief} = {best['value']:g}"
    sentence = f"AUC against {brief}. {largest}, {words.rate(best['auc'])}; present {brief} = {present['value']:g}."
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

    return page.svg("search", sentence, draw, 3.1)
