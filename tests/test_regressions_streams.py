"""Defects that fuzzing found in tables that come piece by piece. What is wanted is said in the name."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.linear_model import RidgeClassifier

import foldless as fl
from foldless.streaming import fit_logistic, in_blocks

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
    with pytest.raises(fl.InputError, match="too large or too small to be squared: rescale X"):
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


def test_sparse_columns_whose_squares_overflow_are_refused_by_the_fit():
    """NumPy warned of the overflow before they were refused."""
    table = sp.csr_matrix(X * np.array([1.0, 1e200, 1.0]))
    with pytest.raises(fl.InputError, match="squares overflow"):
        fl.streaming.fit_logistic(in_pieces(table, Y))


def test_sparse_columns_whose_squares_overflow_are_refused_under_the_scaled_identity_prior():
    """The other user of those moments."""
    table = sp.csr_matrix(X * np.array([1.0, 1e200, 1.0]))
    with pytest.raises(fl.InputError, match="overflow"):
        fl.cbauc([1.0, 0.0, 1.0], in_pieces(table, Y), prior=fl.Prior.scaled_identity())


def test_rows_with_equal_columns_tie_in_memory_and_in_blocks():
    """Three binary columns: rounding decided between such rows, so memory and blocks gave 0.545 and 0.521."""
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 2, size=(40, 3)).astype(float), np.arange(40) % 2
    model = RidgeClassifier().fit(X, y)
    whole, blocks = fl.auc_posterior(model, X, y), fl.auc_posterior(model, in_blocks(X, y, elements=30))
    assert whole.details["pair_auc"] == blocks.details["pair_auc"]
    assert whole.mean == pytest.approx(blocks.mean, abs=1e-9)


def test_a_fit_of_columns_whose_means_have_no_squares():
    """A mean of 1e160 was squared, with a warning of NumPy's."""
    rng = np.random.default_rng(0)
    far, y = 1e160 + 1e150 * rng.normal(size=(40, 2)), np.arange(40) % 2
    assert np.all(np.isfinite(fit_logistic(in_blocks(far, y, elements=20))[-1].coef_))
