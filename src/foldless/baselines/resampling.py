"""The .632+ bootstrap, and leave-one-out and leave-pair-out by brute-force refits."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from foldless.baselines.estimate import AUCEstimate, rank_auc
from foldless.baselines.scores import Progress, Rows, Sample, as_count, as_sample, random_source, run_all
from foldless.checks import Floats, rows_of_groups
from foldless.errors import InputError

NO_INFORMATION = 0.5
# 1 - 1/e, the expected share of distinct rows in a bootstrap sample, rounded as in the name.
SHARE = 0.632


def bootstrap632plus_auc(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    n_bootstraps: int = 200,
    random_state: Any = 0,
    n_jobs: int | None = None,
    progress: Progress | None = None,
    pos_label: Any = None,
) -> AUCEstimate:
    """AUC by the .632+ bootstrap of Efron and Tibshirani, with 0.5 as the value of no information.

    With A the resubstitution AUC and B the mean out-of-bag AUC (not below 0.5),

        R = (A - B) / (A - 0.5), within [0, 1], 0 when A <= B or A <= 0.5,
        weight = 0.632 / (1 - 0.368 R),   estimate = (1 - weight) A + weight B.

    Rows are drawn within each class, so that every replicate has both; a replicate whose out-of-bag rows lack a class
    does not enter B. ``details``: resubstitution, out_of_bag, overfitting_rate, weight, n_used.

    Parameters
    ----------
    n_bootstraps : int
        Number of replicates.
    random_state : int, RandomState, Generator or None
        Draws the replicates.
    estimator, X, y, n_jobs, progress, pos_label :
        As in `cv_auc`.

    References
    ----------
    B. Efron and R. Tibshirani, "Improvements on cross-validation: the .632+ bootstrap method", JASA 92(438), 1997.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import RidgeClassifier
    >>> X = np.random.default_rng(0).normal(size=(30, 20))
    >>> y = np.arange(30) % 2  # nothing to learn
    >>> auc = bootstrap632plus_auc(RidgeClassifier(), X, y, n_bootstraps=20)
    >>> auc.details["out_of_bag"] < auc < auc.details["resubstitution"]
    True
    """
    sample = as_sample(estimator, X, y, pos_label)
    if min(sample.labels.n0, sample.labels.n1) < 2:
        counts = f"{sample.labels.n0} and {sample.labels.n1}"
        raise InputError(f"the bootstrap needs at least two rows of each class, got {counts}: collect more rows.")
    bags = _bags(sample, as_count(n_bootstraps, "n_bootstraps", 1), random_state)
    splits = [(bag, np.flatnonzero(np.bincount(bag, minlength=sample.size) == 0)) for bag in bags]
    splits = [(bag, out_of_bag) for bag, out_of_bag in splits if sample.has_both_classes(out_of_bag)]
    if not splits:
        raise InputError(f"no row of some class was left out in {n_bootstraps} replicates: raise n_bootstraps.")
    everything = np.arange(sample.size)
    apparent, *held_out = run_all(partial(_split_auc, sample), [(everything, everything), *splits], n_jobs, progress)
    return _combined(apparent, float(np.mean(held_out)), len(splits))


def _combined(apparent: float, out_of_bag: float, n_used: int) -> AUCEstimate:
    # The relative overfitting rate decides how much the out-of-bag AUC counts.
    lost = apparent - max(out_of_bag, NO_INFORMATION)
    rate = lost / (apparent - NO_INFORMATION) if lost > 0 and apparent > NO_INFORMATION else 0.0
    weight = SHARE / (1 - (1 - SHARE) * rate)
    value = (1 - weight) * apparent + weight * max(out_of_bag, NO_INFORMATION)
    details = {"resubstitution": apparent, "out_of_bag": out_of_bag, "overfitting_rate": rate, "weight": weight}
    return AUCEstimate(value, method="bootstrap-632+", details={**details, "n_used": n_used})


def _bags(sample: Sample, n_bootstraps: int, random_state: Any) -> list[Rows]:
    # All drawn before any fit: the replicates cannot depend on how the fits are scheduled.
    rng = random_source(random_state)
    # Sorted labels, so that the choice of pos_label does not change the draws.
    classes = [np.flatnonzero(sample.target == label) for label in np.unique(sample.target)]
    return [np.concatenate([rng.choice(rows, rows.size) for rows in classes]) for _ in range(n_bootstraps)]


def _split_auc(sample: Sample, train: Rows, test: Rows) -> float:
    return rank_auc(sample.positive[test], sample.held_out_scores(train, test))


def loo_auc(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    groups: Any = None,
    sample_weight: Any = None,
    n_jobs: int | None = None,
    progress: Progress | None = None,
    pos_label: Any = None,
) -> AUCEstimate:
    """AUC of the pooled leave-one-out scores: each row scored by a model fitted without it.

    The pooled AUC is biased downwards, most where the truth is near 0.5: a model that lacks a row of a class has a
    slightly smaller prior for that class and gives that row a lower score. `leave_pair_out_auc` is free of this bias.
    ``details["scores"]`` has the held-out score of each row.

    Parameters
    ----------
    groups : array of shape (N,), optional
        All rows of a group are left out together.
    sample_weight : array of shape (N,), optional
        Passed to fit; the AUC itself is not weighted.
    estimator, X, y, n_jobs, progress, pos_label :
        As in `cv_auc`.

    References
    ----------
    B. J. Parker, S. Günter and J. Bedo, "Stratification bias in low signal microarray studies",
    BMC Bioinformatics 8:326, 2007.

    Examples
    --------
    >>> from sklearn.linear_model import RidgeClassifier
    >>> loo_auc(RidgeClassifier(), [[0.0], [1.0], [2.0], [4.0], [5.0], [6.0]], [0, 0, 0, 1, 1, 1])
    AUCEstimate(1, method='leave-one-out')
    """
    sample = as_sample(estimator, X, y, pos_label, sample_weight)
    codes = sample.group_codes(groups)
    _trainable(sample, codes, np.arange(codes.max() + 1)[:, None])
    tasks = [(np.array([g]), rows) for g, rows in enumerate(rows_of_groups(codes))]
    scores = np.empty(sample.size)
    held_out = run_all(partial(_scores_without, sample, codes), tasks, n_jobs, progress)
    for (_, rows), values in zip(tasks, held_out, strict=True):
        scores[rows] = values
    value = rank_auc(sample.positive, scores)
    reason = "the scores come from N different models, so they are not one sample"
    return AUCEstimate(value, method="leave-one-out", reason=reason, details={"scores": scores})


def leave_pair_out_auc(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    groups: Any = None,
    max_pairs: int | None = None,
    sample_weight: Any = None,
    random_state: Any = 0,
    n_jobs: int | None = None,
    progress: Progress | None = None,
    pos_label: Any = None,
) -> AUCEstimate:
    """AUC as the share of pairs (positive, negative) that a model fitted without both ranks correctly.

    ``mean over i, j of [z_i > z_j] + [z_i = z_j] / 2``, both scored by the model fitted without rows i and j (or
    without their groups): one fit per pair of groups, n0 * n1 fits if there are none. ``details``: n_pairs, n_refits.

    Parameters
    ----------
    max_pairs : int, optional
        Draw this many pairs at random, without replacement, when there are more.
    random_state : int, RandomState, Generator or None
        Chooses those pairs.
    estimator, X, y, groups, sample_weight, n_jobs, progress, pos_label :
        As in `loo_auc`.

    References
    ----------
    A. Airola, T. Pahikkala, W. Waegeman, B. De Baets and T. Salakoski, "An experimental comparison of cross-validation
    techniques for estimating the area under the ROC curve", Comput. Stat. Data Anal. 55(4), 2011.

    Examples
    --------
    >>> from sklearn.linear_model import RidgeClassifier
    >>> auc = leave_pair_out_auc(RidgeClassifier(), [[0.0], [1.0], [2.0], [4.0], [5.0], [6.0]], [0, 0, 0, 1, 1, 1])
    >>> auc, auc.details["n_refits"]
    (AUCEstimate(1, method='leave-pair-out'), 9)
    """
    sample = as_sample(estimator, X, y, pos_label, sample_weight)
    codes = sample.group_codes(groups)
    pairs = _pairs(sample, None if max_pairs is None else as_count(max_pairs, "max_pairs", 1), random_state)
    keys, owner = np.unique(np.sort(codes[pairs], axis=1), axis=0, return_inverse=True)
    _trainable(sample, codes, keys)
    tasks = [(key, pairs[part]) for key, part in zip(keys, rows_of_groups(owner.ravel()), strict=True)]
    wins = np.concatenate(run_all(partial(_wins, sample, codes), tasks, n_jobs, progress))
    details = {"n_pairs": len(pairs), "n_refits": len(tasks)}
    reason = "its pairs share rows and models, so they are not a sample of independent values"
    return AUCEstimate(float(wins.mean()), method="leave-pair-out", reason=reason, details=details)


def _pairs(sample: Sample, max_pairs: int | None, random_state: Any) -> Rows:
    """All pairs (positive row, negative row), or a random part of them."""
    positive, negative = np.flatnonzero(sample.positive), np.flatnonzero(~sample.positive)
    total = positive.size * negative.size
    chosen = np.arange(total)
    if max_pairs is not None and max_pairs < total:
        chosen = np.sort(random_source(random_state).choice(total, max_pairs, replace=False))
    return np.column_stack([positive[chosen // negative.size], negative[chosen % negative.size]])


def _scores_without(sample: Sample, codes: Rows, left_out: Rows, rows: Rows) -> Floats:
    """Scores of these rows by a fit without some groups; the worker lists the training rows, to save memory."""
    return sample.held_out_scores(np.flatnonzero(~np.isin(codes, left_out)), rows)


def _wins(sample: Sample, codes: Rows, left_out: Rows, pairs: Rows) -> Floats:
    """1, 1/2 or 0 for each of the pairs that one fit decides."""
    rows, place = np.unique(pairs, return_inverse=True)
    z = _scores_without(sample, codes, left_out, rows)[place.reshape(pairs.shape)]
    return np.asarray((np.sign(z[:, 0] - z[:, 1]) + 1) / 2, dtype=np.float64)


def _trainable(sample: Sample, codes: Rows, left_out: Rows) -> None:
    """Refuse when leaving out one of these sets of groups removes the last row of a class."""
    labels = sample.labels
    for rows, label in ((sample.positive, labels.positive_label), (~sample.positive, labels.negative_label)):
        held = np.bincount(codes, weights=rows, minlength=int(codes.max()) + 1)
        # A pair inside one group lists that group twice; its rows are removed once.
        gone = np.where(np.diff(left_out, axis=1, prepend=-1) == 0, 0, held[left_out]).sum(axis=1)
        if np.any(gone >= np.count_nonzero(rows)):
            raise InputError(
                f"expected rows of both classes to train on, but leaving out a row (or its group) takes all "
                f"{np.count_nonzero(rows)} of class {label!r}: collect more rows or groups of that class."
            )
