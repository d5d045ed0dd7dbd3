"""Checks of the honest scores: shape, spread, outliers, perfect order, few rows; and the notes on an answer."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from foldless.checks import Floats
from foldless.findings.columns import Sketch
from foldless.findings.finding import Finding, present
from foldless.findings.naming import Names
from foldless.honest.class_statistic import RefittedRows
from foldless.honest.design import Bools, Ints
from foldless.honest.held_out import HeldOut
from foldless.honest.leave_one_out import FEW_ROWS, TOO_FEW, LeaveOneOut, on_few_rows
from foldless.honest.refits import Refits
from foldless.honest.rows import Removed
from foldless.results.auc import AUCPosterior

# All checks use the pair-removed scores that the answer was computed from; nothing is refitted.

WRONG_WAY = 3.0  # standard errors below chance
IQR_OF_NORMAL, QUARTERS = 1.349, np.array([0.25, 0.5, 0.75])
RATIO, RATIO_ERRORS = 2.0, 3.3  # a variance ratio worth mentioning, and its least number of standard errors (log scale)
LARGEST_LOG = 700.0  # logarithm of a ratio beyond which the ratio, or its inverse, is no number
FAR, FAR_SMALL = 5.0, 8.0  # an outlier is FAR (1 + FAR_SMALL / n) robust standard deviations from its class
MOVED = 0.5  # change of the AUC that matters, in posterior standard deviations
AGREED, SIGNAL = 0.7, 0.46  # correlation of refits: below, the answer is likely too low; mostly training noise
ENOUGH_TO_SPLIT = 20  # rows of the smaller class: fewer leave less than four for each fold


def score_findings(
    loo: LeaveOneOut, auc: AUCPosterior, names: Names, sketch: Sketch | None = None
) -> tuple[Finding, ...]:
    """All checks of this file. Given a `sketch` of the rows, the spread of all columns is checked too."""
    fewest, what = _fewest(loo)
    of_refits = (agreement(loo.held), few_to_split(fewest)) if isinstance(loo, Refits) else ()
    return present(
        *of_refits,
        few_rows(fewest, what),
        worse_than_chance(loo),
        perfect_order(loo, auc),
        unequal_spread(loo.removed, sketch),
        # Where refits score all rows alike, whatever row another refit scores is far from the others.
        None if isinstance(loo, Refits) and loo.held.idle else outliers(loo.removed, auc, names),
    )


def _fewest(analysis: LeaveOneOut) -> tuple[int, str]:
    statistic = analysis.statistic
    return min(statistic.units0, statistic.units1), "rows" if analysis.removed.groups is None else "groups"


def few_rows(fewest: int, what: str = "rows", which: str = "smaller") -> Finding | None:
    """A class with few independent rows, or too few to know its spread."""
    notes = on_few_rows(fewest, what, which)
    if not notes:
        return None
    return Finding(
        "few rows",
        # With 5 to 7 rows, 6 % of answers to noise are false alarms; with fewer, up to a tenth (results/few_rows.md).
        "caution" if fewest < TOO_FEW else "info",
        notes[0],
        f"Read the whole interval, not its middle; {FEW_ROWS} or more {what} of each class make it reliable.",
        float(fewest),
    )


FEW_GROUPS = 5  # with fewer, what differs between them cannot be told from what differs between the classes


def few_groups(codes: Ints | None) -> Finding | None:
    """So few groups that no answer can be had from them."""
    if codes is None or (n := int(codes.max()) + 1) >= FEW_GROUPS:
        return None
    return Finding(
        "few groups",
        "severe",
        f"there are {n} groups: so few decide nothing, whatever the AUC and its interval say.",
        f"Collect rows of more groups; {FEW_GROUPS} are the least, and 20 make the interval reliable.",
        float(n),
    )


def agreement(refits: HeldOut | RefittedRows) -> Finding | None:
    """Refits that agree little, or rank no rows."""
    idle = refits.idle
    q = refits.agreement if idle < refits.fits else 0.0
    if q >= AGREED:
        return None
    flat = f" {idle} of {refits.fits} refits gave every row the same score." if idle else ""
    what = "what refits share is less than their training noise" if q < SIGNAL else "the fit changes much with its rows"
    return Finding(
        "agreement",
        # Refits that rank nothing pull the answer to 0.5: of 55 situations drawn at random, 90 % intervals held the
        # truth in 78 %; of 593 others with less than 0.46, in 95 %, and of 376 with few rows besides, in 94 %.
        "caution" if q < SIGNAL and idle else "info",
        f"{what}: the scores of a row agree between refits by {q:.2f} (correlation). A fit to all rows is likely to be "
        f"better than those to a part of them, and the answer too low.{flat}",
        f"Penalise {'less' if idle else 'more, or choose fewer columns'}; or collect more rows.",
        q,
    )


def few_to_split(fewest: int) -> Finding | None:
    """Rows, or groups, enough for an answer and too few for good refits."""
    if not FEW_ROWS <= fewest < ENOUGH_TO_SPLIT:  # fewer still have a finding of their own
        return None
    return Finding(
        "few rows",
        "info",  # of 101 such situations, 90 % intervals held the truth in 93 %
        f"the smaller class has {fewest} rows or groups, and refits lack a fifth of them: the answer is likely to be a "
        f"little low.",
        f"Read the whole interval; {ENOUGH_TO_SPLIT} or more of each class are enough.",
        float(fewest),
    )


def worse_than_chance(analysis: LeaveOneOut) -> Finding | None:
    """Scores that rank the classes the wrong way round; checked on the rows, since the prior takes it for chance."""
    statistic = analysis.statistic
    if statistic.auc >= 0.5 - WRONG_WAY * 0.5 / np.sqrt(statistic.trials):
        return None
    return Finding(
        "worse than chance",
        "caution",
        f"the classifier ranks unseen rows the wrong way round (share of correctly ordered pairs "
        f"{statistic.pair_auc:.3f}). The answer takes that for chance: its prior hardly allows AUCs below 0.5.",
        "Check that y and pos_label are not swapped, and that every row occurs once, with its own label. If this is "
        "intended, use auc_posterior(..., prior=EffectPrior.flat()).",
        statistic.pair_auc,
    )


def perfect_order(analysis: LeaveOneOut, auc: AUCPosterior) -> Finding | None:
    """Every pair in the right order: the rows show that the AUC is high, not how high."""
    if analysis.statistic.pair_auc != 1.0:
        return None
    low = auc.interval()[0]
    return Finding(
        "separation",
        "info",
        f"every pair of honest scores is in the right order: these rows show an AUC above {low:.3f}, not how close to "
        f"1 it is.",
        "If that is too good to be true, look for a column that gives the label away, and for copies of rows.",
        1.0,
    )


def unequal_spread(removed: Removed, sketch: Sketch | None = None) -> Finding | None:
    """One class varies more than the other: in its honest scores or, given a sketch, over all columns."""
    negative, positive = removed.by_class
    ratios = {"honest scores": variance_ratio(positive[:, None], negative[:, None])}
    if sketch is not None:
        ratios["columns"] = variance_ratio(*sketch.by_class())
    clear = {what: r for what, (r, errors) in ratios.items() if max(r, 1 / r) > RATIO and errors > RATIO_ERRORS}
    if not clear:
        return None
    widest = max(clear.values(), key=lambda r: abs(np.log(r)))
    listing = ", ".join(f"{r:.2g} : 1 in the {what}" for what, r in clear.items())
    return Finding(
        "unequal variances",
        "info",  # of 68 such situations drawn at random, 90 % intervals held the truth in 91 %
        f"the classes vary unequally (variance of the positive to that of the negative class: {listing}).",
        "The AUC allows for it but is no longer the whole story: the ROC curve is asymmetric. Look at sensitivity and "
        "specificity at your threshold (error_posterior), and try a quadratic classifier. Do not use the in-sample "
        "method, which assumes equal variances.",
        widest,
    )


def variance_ratio(positive: Floats, negative: Floats) -> tuple[float, float]:
    """Ratio of the total variances of two samples of rows, and its logarithm in standard errors.

    The squared distance of each row from its class mean is the unit, so any correlation of the columns is allowed.
    """
    logs, variance = [], 0.0
    for rows in (positive, negative):
        squares = np.sum((rows - rows.mean(axis=0)) ** 2, axis=1) * len(rows) / (len(rows) - 1)
        level = float(squares.mean())
        if level <= 0:
            return 1.0, 0.0
        logs.append(np.log(level))
        variance += float((squares / level).var(ddof=1)) / len(rows)  # the square of a level may be 0
    if variance <= 0:
        return 1.0, 0.0
    apart = np.clip(logs[0] - logs[1], -LARGEST_LOG, LARGEST_LOG)
    return float(np.exp(apart)), float(abs(apart) / np.sqrt(variance))


def outliers(removed: Removed, auc: AUCPosterior, names: Names) -> Finding | None:
    """Rows far outside their class that matter, and what the AUC estimate becomes without them."""
    negative, positive = removed.by_class
    far1, far0 = far_off(positive), far_off(negative)
    n_far = int(far1.sum() + far0.sum())
    if n_far == 0 or min((~far1).sum(), (~far0).sum()) < 3:
        return None
    before, after = removed.pairs.ranks().mean, removed.pairs.share_without(far1, far0)
    moved = after - before
    if abs(moved) <= MOVED * auc.sd:
        return None
    rows = np.concatenate([removed.rows1[far1], removed.rows0[far0]])
    ordered = removed.pairs.ranks()
    order = np.argsort(-np.concatenate([_influence(ordered.by_row1)[far1], _influence(ordered.by_row0)[far0]]))
    several = f"{n_far} rows ({names.listed_rows(rows[order].tolist())}) are"
    which = f"{names.row(int(rows[0]))} is" if n_far == 1 else several
    return Finding(
        "outliers",
        "info",  # of 96 such situations, 90 % intervals held the truth in 90 %, however far the AUC moved
        f"{which} far outside the scores of {'its' if n_far == 1 else 'their'} class: the AUC estimate is "
        f"{before:.3f} with and {after:.3f} without.",
        "Look closer: wrong label, wrong unit, or a special case? Do not drop a row because it scores badly.",
        moved,
    )


def far_off(scores: Floats) -> Bools:
    """Which scores lie far from the median of their class, in robust standard deviations."""
    low, middle, high = np.interp(QUARTERS * (scores.size - 1), np.arange(scores.size), np.sort(scores))
    scale = max(float(high - low) / IQR_OF_NORMAL, 1e-3 * float(scores.std()), np.finfo(float).tiny)
    return np.abs(scores - float(middle)) > FAR * (1 + FAR_SMALL / scores.size) * scale


def _influence(own: Floats) -> Floats:
    """How far each row moves the share of ordered pairs, given the share of its own."""
    return np.asarray(np.abs(own - own.mean()) / max(own.size - 1, 1))


ALWAYS_SAID = ("few rows", "agreement", "outliers")  # how to read the number, even where it can be trusted


def auc_answer(analysis: LeaveOneOut, n0: int, n1: int, table_notes: tuple[str, ...], names: Names) -> AUCPosterior:
    """The posterior of the AUC with its notes; `table_notes` are `quick_notes`, the same for all models of a table."""
    post = auc_of(analysis, n0, n1, table_notes)
    found = score_findings(analysis, post, names)
    seen = tuple(finding.note for finding in found if finding.level > 0 or finding.name in ALWAYS_SAID)
    return replace(post, notes=post.notes + seen)


def auc_of(analysis: LeaveOneOut, n0: int, n1: int, table_notes: tuple[str, ...] = ()) -> AUCPosterior:
    """The same without the checks of the scores."""
    notes = analysis.notes + table_notes
    return AUCPosterior.from_effect(analysis.effect, analysis.method, n0, n1, notes, analysis.details())


def rate_notes(analysis: LeaveOneOut, table_notes: tuple[str, ...]) -> tuple[str, ...]:
    """Notes on results other than the AUC: error rates, curves, scores."""
    return analysis.notes + table_notes + on_few_rows(*_fewest(analysis))
