"""The parts of a report that fit clones: a comparison with cross-validation, and a search over the penalty."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from foldless import checks, words
from foldless.baselines.folds import cv_auc
from foldless.errors import FoldlessError
from foldless.honest.penalties import final_classifier, is_strength, l2_strength
from foldless.model.pullback import NotLinear
from foldless.show import style
from foldless.show.report import page
from foldless.show.report.parts import Case, Part
from foldless.show.search import SearchDisplay, candidates_of

# ---- The answer compared with 5-fold cross-validation and the paper's estimator.

FOLDS = 5
ROW_NAMES = {"foldless": "foldless", "cross_validation": f"{FOLDS}-fold CV", "paper": "the paper's, in-sample"}


def comparison_part(case: Case) -> Part:
    """The three answers side by side."""
    post = case.analysis.auc
    text = "From one fit on all rows, each row judged as if it had been left out."
    if case.analysis.by_refits:
        text = f"From {post.details['fits']} refits of the whole pipeline, each row judged by models that lack it."
    content: dict[str, Any] = {
        "level": case.level,
        "foldless": _row(post.mean, post.interval(case.level), text=text),
        "cross_validation": _cross_validated(case),
        "paper": _in_sample(case),
    }
    return Part(content, {"comparison": _comparison_picture(content, case.level)})


def _row(auc: float, interval: tuple[float, float], **more: Any) -> dict[str, Any]:
    return {"auc": auc, "low": interval[0], "high": interval[1], **more}


def _impossible(err: Exception) -> dict[str, str]:
    reason = "it is for linear classifiers" if isinstance(err, NotLinear) else str(err).rstrip(".")
    return {"skipped": f"Not possible here: {reason}."}


def _cross_validated(case: Case) -> dict[str, Any]:
    if case.is_weights:
        return {"skipped": "Given weights cannot be fitted again on a part of the rows."}
    a, options = case.analysis, case.analysis.options
    how = {"folds": FOLDS, "random_state": case.seed, "groups": options.groups, "pos_label": options.pos_label}
    try:
        estimate = cv_auc(a.estimator, a.X, a.y, **how)
    except FoldlessError as err:
        return _impossible(err)
    text = (
        "Mean over the folds, each by a model trained on four fifths of the rows. The usual interval: a t interval "
        "from the spread over the folds, which ignores that their models share training rows."
    )
    if options.groups is not None:
        text += " Rows of a group stayed together."
    if options.sample_weight is not None:
        text += " The sample weights were not used in these fits."
    folds = list(estimate.details["values"])
    return _row(float(estimate), estimate.interval(case.level), folds=folds, seed=case.seed, text=text)


def _in_sample(case: Case) -> dict[str, Any]:
    """CBAUC, the posterior mean of the paper's model on the training scores, and whether it can be trusted."""
    try:
        post, optimism = case.analysis.in_sample_auc()
    except FoldlessError as err:
        return _impossible(err)
    text = _believed(optimism, post.mean - case.analysis.auc.mean)
    options = case.analysis.options
    if options.groups is not None or options.sample_weight is not None:
        text += " It knows neither groups nor sample weights."
    return _row(post.mean, post.interval(case.level), optimistic=optimism is not None, text=text)


def _believed(optimism: str | None, above: float) -> str:
    if optimism is None:
        return "Judges the classifier on the rows that it was fitted to; with so few features that does little harm."
    # "... is optimistic with 30 features and 120 rows: on labels without any signal it would read about 0.78. Use ..."
    shape = optimism.partition("optimistic ")[2].partition(". Use")[0]
    word = f"Optimistic, {above:.3f} above our answer," if above > 0 else "Apt to be optimistic"
    return f"{word} {shape}. It judges the classifier on the very rows that it was fitted to: do not report it."


def _comparison_picture(content: dict[str, Any], level: float) -> page.Picture:
    rows = {name: content[key] for key, name in ROW_NAMES.items() if "skipped" not in content[key]}
    alt = "; ".join(f"{name} {words.estimate(r['auc'], r['low'], r['high'])}" for name, r in rows.items())

    def draw(ax: Any) -> None:
        for height, row in enumerate(reversed(rows.values())):
            ours = row is content["foldless"]
            colour = "C0" if ours else style.FAINT
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

    return page.Picture(f"AUC with interval: {alt}.", draw, 0.75 + 0.33 * len(rows))


# ---- How the AUC depends on the strength of the penalty: a search without folds along C, or along alpha of ridge.

DECADES = 3
FINE, COARSE = 4, 2  # values in two decades; more where they share one factorisation
LEAST_GAIN = 0.0005
MOST_GROUPS = 1000
FINE_AT_MOST = 2000  # rows; with more, even a shared factorisation is slow


def search_part(case: Case) -> Part:
    """The AUC at strengths around the present one, and whether another one would be better."""
    if not case.search:
        return Part.skipped("The search was not asked for.")
    if case.is_weights:
        return Part.skipped("Given weights have no penalty to vary.")
    groups = case.analysis.options.groups
    if groups is not None and not case.two_classes:
        return Part.skipped("With groups, penalties are searched for two classes only.")
    if groups is not None and (count := int(checks.group_codes(groups, len(case.analysis.y)).max()) + 1) > MOST_GROUPS:
        return Part.skipped(f"Left out: each value takes long with {count:,} groups. Use foldless search.")
    model = getattr(case.analysis.estimator, "best_estimator_", case.analysis.estimator)
    final, prefix = final_classifier(model)
    params = final.get_params(deep=False) if hasattr(final, "get_params") else {}
    brief = "alpha" if l2_strength(model) == f"{prefix}alpha" else "C"
    if not is_strength(params.get(brief)) or params.get("penalty", "") in (None, "none"):
        reason = f"{type(final).__name__}, as it was fitted, has no penalty C or alpha that could be varied."
        return Part.skipped(reason)
    return _searched(case, model, prefix + brief, float(params[brief]))


def grid_around(present: float, per_two_decades: int) -> list[float]:
    """Values from a thousandth to a thousand times the present one, including it."""
    half = DECADES * per_two_decades // 2
    # Round factors, so that labels read 0.01 and 0.03 rather than 0.0316.
    factors = {10.0 ** (k / (per_two_decades / 2)) for k in range(-half, half + 1)}
    return sorted(present if f == 1 else float(f"{present * f:.2g}") for f in factors)


def _searched(case: Case, model: Any, name: str, present: float) -> Part:
    from sklearn.base import clone

    from foldless.search.meta import FoldlessSearch

    a, options = case.analysis, case.analysis.options
    fine = l2_strength(model) == name and case.two_classes and len(a.y) <= FINE_AT_MOST
    values = grid_around(present, FINE if fine else COARSE)
    # A pipeline passes fit arguments only to the step that is named.
    weights = {f"{final_classifier(model)[1]}sample_weight": options.sample_weight}
    extra = {} if options.sample_weight is None else weights
    try:
        search = FoldlessSearch(clone(model), {name: values}, level=case.level)
        search.fit(a.X, _plain_labels(a.y), groups=options.groups, **extra)
    except (FoldlessError, ValueError) as err:  # the latter from scikit-learn, in the fit of a clone
        return Part(_impossible(err))
    content = _content(search, name, present, values)
    return Part(content, {"search": _search_picture(search, content)})


def _plain_labels(y: Any) -> Any:
    """Labels as scikit-learn accepts them: it rejects numbers in an array of objects."""
    labels = checks.label_vector(y)
    return np.array(labels.tolist()) if labels.dtype == object else y


def _content(search: Any, name: str, present: float, values: list[float]) -> dict[str, Any]:
    table = search.results_
    rows = [
        {"value": value, **_row(float(mean), (float(low), float(high)))}
        for value, mean, low, high in zip(values, table["mean"], table["lower"], table["upper"], strict=True)
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
    return {**content, "text": _advice(content)}


def _advice(content: dict[str, Any]) -> str:
    """What the search suggests, in words."""
    brief, present, best, optimism = (content[key] for key in ("brief", "present", "best", "optimism"))
    now, count = f"{brief} = {present['value']:g}", len(content["candidates"])
    if not np.isfinite(present["auc"]):
        return f"The present {now} could not be judged; of {count} values, {brief} = {best['value']:g} is best."
    gain = best["auc"] - present["auc"]
    if gain < LEAST_GAIN:
        most = "" if best is present else f" (that of {brief} = {best['value']:g} is {gain:.4f} higher)"
        return (
            f"No: of {count} values from its thousandth to its thousandfold, none has an AUC that exceeds that of the "
            f"present {now} by {LEAST_GAIN:g}{most}."
        )
    luck = f"{optimism:.3f}" if optimism >= LEAST_GAIN else "less than 0.001"
    sentence = (
        f"Of {count} values, {brief} = {best['value']:g} has the largest AUC, {words.rate(best['auc'])} against "
        f"{words.rate(present['auc'])} at the present {now}. The largest of so many is expected to be {luck} "
        f"too high by luck alone, "
    )
    if round(gain, 3) <= round(optimism, 3):
        return f"{sentence}so a gain of {gain:.3f} is no reason to change {brief}."
    return f"{sentence}less than the gain of {gain:.3f}: another {brief} may be worth a try, judged on new rows."


def _search_picture(search: Any, content: dict[str, Any]) -> page.Picture:
    brief, present, best = content["brief"], content["present"], content["best"]
    largest = f"largest AUC: {brief} = {best['value']:g}"
    sentence = f"AUC against {brief}. {largest}, {words.rate(best['auc'])}; present {brief} = {present['value']:g}."
    candidates = replace(candidates_of(search, content["parameter"]), notes=())

    def draw(ax: Any) -> None:
        if candidates.numeric:  # otherwise values are placed side by side
            ax.axvline(present["value"], label=f"present {brief} = {present['value']:g}", **style.DASHED)
        display = SearchDisplay(candidates).plot(ax)
        if display.chosen_ is not None:
            display.chosen_.set_label(largest)
        style.legend(ax, loc="best")
        ax.get_legend().set_frame_on(False)  # a frame would look like a hole in the band
        ax.set(xlabel=brief, ylabel="AUC on new data")

    return page.Picture(sentence, draw, 3.1)
