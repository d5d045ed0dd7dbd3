"""Defects that fuzzing found in tables that come piece by piece. What is wanted is said in the name."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import RidgeClassifier

import foldless as fl

Y = np.arange(40) % 2
X = np.random.default_rng(0).normal(size=(40, 3)) + 0.7 * Y[:, None]


def in_pieces(X, y, height=8):
    """A function that serves the table a few rows at a time."""
    return lambda: ((X[k : k + height], y[k : k + height]) for k in range(0, len(y), height))


def test_numbers_whose_squares_overflow_are_refused_before_they_are_squared():
    """They were squared first, with a warning of NumPy's, and refused afterwards."""
    huge = X.copy()
    huge[20, 1] = 1e200
    model = RidgeClassifier().fit(X, Y)
    model.coef_[..., 1] = 0.0  # so that the scores themselves are tame
    with pytest.raises(fl.InputError, match="squares are lost: rescale X"):
        fl.auc_posterior(model, in_pieces(huge, Y))


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int8"])
def test_chunks_of_whole_numbers_and_truth_values(dtype):
    """The size of a block was sought with a minus sign, which truth values do not know and unsigned numbers wrap."""
    wide = np.random.default_rng(1).normal(size=(40, 12)) + 0.5 * Y[:, None]
    table = (wide > 0.3).astype(dtype) * (np.int8(-128) if dtype == "int8" else np.array(1, dtype=dtype))
    model = RidgeClassifier().fit(table.astype(float), Y)
    whole = fl.auc_posterior(model, table.astype(float), Y)
    assert fl.auc_posterior(model, in_pieces(table, Y)).mean == pytest.approx(whole.mean, abs=1e-9)


def test_adaptive_prior_on_a_stream_is_refused():
    """Of a classifier, that is; weights were refused already. It ended in an AttributeError."""
    model = RidgeClassifier().fit(X, Y)
    with pytest.raises(fl.PriorError, match=r"spectrum of X.*load X"):
        fl.auc_posterior(model, in_pieces(X, Y), method="in-sample", prior=fl.Prior.adaptive())
