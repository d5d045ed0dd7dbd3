"""Cross-validation of the AUC: the standard one, and the one behind the figures of the CBAUC paper."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from scipy.special import stdtrit

from foldless.baselines.estimate import AUCEstimate, Interval, area, rank_auc
from foldless.baselines.scores import (
    Progress,
    Rows,
    Sample,
    as_count,
    as_sample,
    direction_scores,
    fewest_rows,
    random_source,
    run_all,
)
from foldless.checks import Floats, one_of
from foldless.errors import InputError

Split = tuple[Rows, Rows]

# The CV-AUC behind the figures of the CBAUC paper differs from the textbook in three ways:
#
# 1. The thresholds of every fold are the training scores of the *full* model (without the intercept), although the
#    fold's own model has another scale.
# 2. The sign of the fold's weights is chosen so that the positive class has the higher mean on the *test* fold.
# 3. The curve is integrated from its first to its last point, without the corners (0, 0) and (1, 1).
#
# With few training rows the first dominates: the full model separates its training scores, and most held-out scores
# fall into the gap, where there is no threshold. At 10 % of the ovarian data (60 splits) 85 % of them did: the mean was
# 0.64, with the corners 0.66, with each fold's own scores as thresholds 0.96, by the textbook 0.95.


def full_model_thresholds(sample: Sample) -> Floats:
    """Training scores of the model fitted on every row, in decreasing order."""
    everything = np.arange(sample.size)
    return np.sort(_oriented_scores(sample, everything, everything))[::-1]


def fold_area(sample: Sample, thresholds: Floats, train: Rows, test: Rows) -> float:
    """Unanchored area of one fold's points (FPR, TPR) at the full model's thresholds."""
    positive, scores = sample.positive[test], _oriented_scores(sample, train, test)
    return area(_share_above(scores[~positive], thresholds), _share_above(scores[positive], thresholds), anchored=False)


def _oriented_scores(sample: Sample, train: Rows, test: Rows) -> Floats:
    """Scores of the test rows, their sign such that the positive class has the higher mean."""
    scores = direction_scores(sample.refit(train), sample.part(test), sample.labels.positive_label)[1]
    positive = sample.positive[test]
    return -scores if scores[~positive].mean() > scores[positive].mean() else scores


def _share_above(scores: Floats, thresholds: Floats) -> Floats:
    below = np.searchsorted(np.sort(scores), thresholds, side="left")
    return np.asarray(1 - below / scores.size, dtype=np.float64)


def cv_auc(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    folds: int = 5,
    repeats: int = 1,
    aggregate: str = "mean",
    variant: str = "standard",
    random_state: Any = 0,
    n_jobs: int | None = None,
    groups: Any = None,
    progress: Progress | None = None,
    pos_label: Any = None,
) -> AUCEstimate:
    """AUC by stratified, shuffled K-fold cross-validation.

    The interval is Student's t over the ``folds * repeats`` values, as usually reported. It is too narrow: the folds
    share training rows, so their values are correlated, and no unbiased estimate of their variance exists (Bengio and
    Grandvalet). Where all folds agree it is a point. ``details["values"]`` of the result are the averaged values in
    order: of the folds, or of the repeats when pooled.

    Parameters
    ----------
    estimator : scikit-learn classifier or pipeline
        Cloned for every fit, so it may be fitted or not.
    X, y : rows and labels
        Array, sparse matrix, or pandas or polars frame.
    folds, repeats : int
        Folds in each repeat (at least 2), and repeats with new folds.
    aggregate : {"mean", "pooled"}
        Mean of the folds' AUCs, or one AUC of all held-out scores of a repeat, averaged over repeats.
    variant : {"standard", "published"}
        "published" is the computation behind the paper's CV-AUC (see the source, `foldless.baselines.folds`); it needs
        a linear classifier and is far too low when training rows are few.
    random_state : int, RandomState, Generator or None
        Shuffles the folds; with a seed and one repeat as ``StratifiedKFold(folds, shuffle=True, random_state=seed)``.
    n_jobs : int, optional
        Workers (joblib); the result does not depend on it.
    groups : array of shape (N,), optional
        Rows of a group stay together (StratifiedGroupKFold).
    progress : callable, optional
        Called as ``progress(done, total)`` after each fit.
    pos_label : label, optional
        The positive class; by default the later one in sorted order.

    References
    ----------
    Y. Bengio and Y. Grandvalet, "No unbiased estimator of the variance of K-fold cross-validation", JMLR 5, 2004.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import RidgeClassifier
    >>> X = np.random.default_rng(0).normal(size=(40, 3))
    >>> y = X[:, 0] > 0
    >>> auc = cv_auc(RidgeClassifier(), X, y, folds=4)
    >>> auc.method, len(auc.details["values"]), auc > 0.9
    ('cv-mean', 4, True)
    """
    one_of(aggregate, "aggregate", ("mean", "pooled"))
    one_of(variant, "variant", ("standard", "published"))
    if variant == "published" and aggregate == "pooled":
        raise InputError("variant='published' is a mean over folds: use aggregate='mean', or variant='standard'.")
    sample = as_sample(estimator, X, y, pos_label)
    splits = _splits(sample, as_count(folds, "folds", 2), as_count(repeats, "repeats", 1), random_state, groups)
    _refuse_one_class(sample, splits, test_too=aggregate == "mean")
    if variant == "published":
        task = partial(fold_area, sample, full_model_thresholds(sample))
        return _fold_mean(run_all(task, splits, n_jobs, progress), "cv-published")
    scores = run_all(sample.held_out_scores, splits, n_jobs, progress)
    if aggregate == "pooled":
        return _pooled(sample, splits, scores, folds)
    values = [rank_auc(sample.positive[test], z) for (_, test), z in zip(splits, scores, strict=True)]
    return _fold_mean(values, "cv-mean")


def _fold_mean(values: list[float], method: str) -> AUCEstimate:
    center = float(np.mean(values))
    se = float(np.std(values, ddof=1) / np.sqrt(len(values)))
    bounds = partial(_student_t, center=center, se=se, df=len(values) - 1)
    return AUCEstimate(center, method=method, se=se, bounds=bounds, details={"values": tuple(values)})


def _student_t(level: float, *, center: float, se: float, df: int) -> Interval:
    half = float(stdtrit(df, (1 + level) / 2)) * se
    return center - half, center + half


def _pooled(sample: Sample, splits: list[Split], scores: list[Floats], folds: int) -> AUCEstimate:
    values = []
    for start in range(0, len(splits), folds):
        rows = np.concatenate([test for _, test in splits[start : start + folds]])
        values.append(rank_auc(sample.positive[rows], np.concatenate(scores[start : start + folds])))
    reason = "the pooled scores come from different models, so they are not one sample"
    details = {"values": tuple(values)}
    return AUCEstimate(float(np.mean(values)), method="cv-pooled", reason=reason, details=details)


def _splits(sample: Sample, folds: int, repeats: int, random_state: Any, groups: Any) -> list[Split]:
    from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold

    _refuse_few_rows(sample, folds)
    codes = sample.group_codes(groups)
    n_groups = int(codes.max()) + 1
    if n_groups < folds:
        raise InputError(f"expected at least one group per fold, got {n_groups} groups for {folds} folds: use fewer.")
    # One splitter drawing on one source: each call continues it, so repeats differ.
    kind = StratifiedKFold if groups is None else StratifiedGroupKFold
    splitter = kind(folds, shuffle=True, random_state=random_source(random_state))
    together = None if groups is None else codes
    return [split for _ in range(repeats) for split in splitter.split(codes, sample.target, together)]


def _refuse_few_rows(sample: Sample, folds: int) -> None:
    n, label = fewest_rows(sample.labels)
    if n >= folds:
        return
    advice = f"use folds={n} or fewer, or leave_pair_out_auc" if n > 1 else "it cannot be held out and trained on too"
    raise InputError(f"expected at least {folds} rows of each class for {folds} folds, got {n} of {label!r}: {advice}.")


def _refuse_one_class(sample: Sample, splits: list[Split], *, test_too: bool) -> None:
    for train, test in splits:
        for part, rows in (("training", train), ("test", test)):
            if not sample.has_both_classes(rows) and (part == "training" or test_too):
                raise InputError(
                    f"expected both classes in every fold, got a {part} part with one class because of the groups: use "
                    f"fewer folds, another random_state, or aggregate='pooled'."
                )
