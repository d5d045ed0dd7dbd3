"""The same question put to 5-fold cross-validation and to the paper's estimator."""

from __future__ import annotations

import warnings
from typing import Any

from foldless._html import numbers
from foldless.baselines import cv_auc
from foldless.display import style
from foldless.errors import FoldlessError, OptimismWarning
from foldless.estimate import auc_posterior
from foldless.reporting import pictures
from foldless.reporting.case import TWO_ONLY, Case, Part

FOLDS = 5
NAMES = {"foldless": "foldless", "cross_validation": f"{FOLDS}-fold CV", "paper": "the paper's, in-sample"}


def part(case: Case) -> Part:
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
    return Part(content, {"comparison": _picture(content, case.level)})


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


def _picture(content: dict[str, Any], level: float) -> str:
    rows = {NAMES[key]: content[key] for key in NAMES if "skipped" not in content[key]}
    words = "; ".join(f"{name} {numbers.estimate(r['auc'], r['low'], r['high'])}" for name, r in rows.items())

    def draw(ax: Any) -> None:
        for height, row in enumerate(reversed(rows.values())):
            ours = row is content["foldless"]
            colour = pictures.ACCENT if ours else style.FAINT
            ax.plot([row["low"], row["high"]], [height] * 2, color=colour, linewidth=4, solid_capstyle="butt")
            ax.plot(row["auc"], height, "o", color=colour, markersize=8 if ours else 6, markeredgecolor="white")
        ax.set_yticks(range(len(rows)), list(reversed(rows)))
        ax.set(ylim=(-0.6, len(rows) - 0.4), xlabel=f"AUC on new data and {numbers.percent(level)} interval")
        ax.tick_params(axis="y", length=0)
        low, high = ax.get_xlim()
        ax.set_xlim(low, min(high, 1.005))
        if low < 0.5:
            style.chance_line(ax, (0.5, 0.5), ax.get_ylim())
        style.open_frame(ax, left=False)

    return pictures.svg("comparison", f"AUC with interval: {words}.", draw, 0.75 + 0.33 * len(rows))
