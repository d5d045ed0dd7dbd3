"""The .632+ bootstrap, for the AUC."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from foldless.baselines.curve import rank_auc
from foldless.baselines.estimate import AUCEstimate
from foldless.baselines.refit import (
    Progress,
    Rows,
    Sample,
    as_count,
    as_sample,
    held_out_scores,
    random_source,
    run_all,
)
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

    Rows are drawn within each class, so that every replicate has both; a replicate that leaves no
    row of some class out of the bag does not enter B.

    Parameters
    ----------
    estimator : scikit-learn classifier or pipeline
        Cloned for every fit, so it may be fitted or not.
    X, y : rows and labels
    n_bootstraps : int
        Number of replicates.
    random_state : int, RandomState, Generator or None
        Draws the replicates.
    n_jobs, progress, pos_label :
        As in `cv_auc`.

    Returns
    -------
    AUCEstimate
        With ``details``: resubstitution, out_of_bag, overfitting_rate, weight, n_used.

    References
    ----------
    B. Efron and R. Tibshirani, "Improvements on cross-validation: the .632+ bootstrap method",
    J. Am. Stat. Assoc. 92(438), 1997.

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
    _need_two_rows(sample)
    bags = _bags(sample, as_count(n_bootstraps, "n_bootstraps", 1), random_state)
    splits = [(bag, out) for bag in bags if _both_classes(sample, out := _out_of_bag(sample, bag))]
    if not splits:
        raise InputError(f"no row of some class was left out in {n_bootstraps} replicates: raise n_bootstraps.")
    everything = np.arange(sample.size)
    task = partial(_split_auc, estimator, sample)
    apparent, *held_out = run_all(task, [(everything, everything), *splits], n_jobs, progress)
    return _combined(apparent, float(np.mean(held_out)), len(splits))


def _combined(apparent: float, out_of_bag: float, n_used: int) -> AUCEstimate:
    rate, weight = _weight(apparent, out_of_bag)
    value = (1 - weight) * apparent + weight * max(out_of_bag, NO_INFORMATION)
    details = {"resubstitution": apparent, "out_of_bag": out_of_bag, "overfitting_rate": rate, "weight": weight}
    return AUCEstimate(value, method="bootstrap-632+", details={**details, "n_used": n_used})


def _weight(apparent: float, out_of_bag: float) -> tuple[float, float]:
    """Relative overfitting rate, and the weight that it gives to the out-of-bag AUC."""
    lost = apparent - max(out_of_bag, NO_INFORMATION)
    rate = lost / (apparent - NO_INFORMATION) if lost > 0 and apparent > NO_INFORMATION else 0.0
    return rate, SHARE / (1 - (1 - SHARE) * rate)


def _bags(sample: Sample, n_bootstraps: int, random_state: Any) -> list[Rows]:
    # All drawn before any fit: the replicates cannot depend on how the fits are scheduled.
    rng = random_source(random_state)
    # Sorted labels, so that the choice of pos_label does not change the draws.
    classes = [np.flatnonzero(sample.target == label) for label in np.unique(sample.target)]
    return [np.concatenate([rng.choice(rows, rows.size) for rows in classes]) for _ in range(n_bootstraps)]


def _out_of_bag(sample: Sample, bag: Rows) -> Rows:
    return np.flatnonzero(np.bincount(bag, minlength=sample.size) == 0)


def _both_classes(sample: Sample, rows: Rows) -> bool:
    return bool(0 < np.count_nonzero(sample.positive[rows]) < rows.size)


def _split_auc(estimator: Any, sample: Sample, train: Rows, test: Rows) -> float:
    return rank_auc(sample.positive[test], held_out_scores(estimator, sample, train, test))


def _need_two_rows(sample: Sample) -> None:
    if min(sample.labels.n0, sample.labels.n1) < 2:
        raise InputError(
            f"the bootstrap needs at least two rows of each class, got {sample.labels.n0} and {sample.labels.n1}: "
            f"a single row is in every replicate and can never be held out; collect more rows."
        )
