"""Thousands of classifiers at once: the answers of one at a time, from one blocked product in bounded memory."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

import foldless as fl
from foldless.laws import moments
from foldless.tables import block, matrix


@pytest.fixture
def data(make_data):
    X, y, _ = make_data(5, 300, 200, 12)
    return X, y, np.random.default_rng(1).normal(size=(12, 9)) + 0.3


@pytest.mark.parametrize("prior", [fl.Prior.paper(), fl.Prior.improper(), fl.Prior.scaled_identity()], ids=repr)
def test_each_column_gets_the_answer_that_it_gets_alone(data, prior):
    """cbauc of a matrix is cbauc of its columns."""
    X, y, W = data
    alone = [fl.cbauc(W[:, k], X, y, prior=prior) for k in range(W.shape[1])]
    np.testing.assert_allclose(fl.cbauc(W, X, y, prior=prior), alone, rtol=1e-13)


def test_block_borders_do_not_matter(data, monkeypatch):
    """Blocks of a few rows, of a few classifiers and of a few scores give the same numbers."""
    X, y, W = data
    expected = fl.cbauc(W, X, y)
    monkeypatch.setattr(moments, "BLOCK_ELEMENTS", 40)
    monkeypatch.setattr(moments, "MIN_HEIGHT", 7)
    monkeypatch.setattr(matrix, "BLOCK_ELEMENTS", 13)
    monkeypatch.setattr(block, "CACHED", 20)
    np.testing.assert_allclose(fl.cbauc(W, X, y), expected, rtol=1e-13)
    np.testing.assert_allclose(fl.cbauc(W, X.astype(np.float32).astype(float), y), expected, rtol=1e-5)


@pytest.mark.parametrize("size", [1e-250, 1e-12, 1e12, 1e250])
def test_the_length_of_the_weights_does_not_matter(data, size):
    """Tiny and huge weights, in one column or in all, leave every answer where it is."""
    X, y, W = data
    lengths = np.where(np.arange(9) % 2, size, 1.0)
    np.testing.assert_allclose(fl.cbauc(W * lengths, X, y), fl.cbauc(W, X, y, prior=fl.Prior.paper()), rtol=1e-9)


def test_memory_does_not_grow_with_the_number_of_classifiers():
    """4,000 rows x 8,000 classifiers would be 256 MB of scores; the peak is a tenth of that, W not counted."""
    rng = np.random.default_rng(0)
    X, y, W = rng.normal(size=(4000, 20)), np.arange(4000) % 2, rng.normal(size=(20, 8000))
    fl.cbauc(W, X, y)
    tracemalloc.start()
    fl.cbauc(W, X, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 4000 * 8000 * 8 / 10


def test_posteriors_are_those_of_single_classifiers(data):
    """Mean, sd, interval and probabilities of every classifier equal those of auc_posterior on its weights."""
    X, y, W = data
    W = np.column_stack([W, -W[:, 0], np.full(12, 1.0)])
    many = fl.auc_posterior_many(W, X, y)
    assert len(many) == 11
    for k, post in enumerate(many):
        one = fl.auc_posterior(W[:, k], X, y, method="in-sample")
        assert (post.n0, post.n1, post.method) == (one.n0, one.n1, one.method)
        assert many.mean[k] == pytest.approx(one.mean, abs=1e-12)
        assert many.sd[k] == pytest.approx(one.sd, abs=1e-12)
        assert [e[k] for e in many.interval(0.9)] == pytest.approx(one.interval(0.9), abs=1e-9)
        assert many.prob_above(0.7)[k] == pytest.approx(one.prob_above(0.7), abs=1e-9)
    assert many.prob_above(-1).tolist() == [1.0] * 11
    assert many.prob_above(1).tolist() == [0.0] * 11
    assert "11 classifiers" in repr(many)


def test_posteriors_where_the_scale_is_what_is_uncertain():
    """Few rows and a large separation: the other branch of the quadrature gives the same intervals."""
    rng = np.random.default_rng(2)
    y = np.arange(40) % 2
    X = rng.normal(size=(40, 1)) + 9.0 * y[:, None]
    many = fl.auc_posterior_many(np.array([[1.0, -1.0]]), X, y, prior=fl.Prior.improper())
    assert np.all(np.abs(many.loc) > many.spread * np.sqrt(2 * many.df)) or many.df > 20
    for k in (0, 1):
        one = fl.auc_posterior(np.array([1.0, -1.0])[k : k + 1], X, y, method="in-sample", prior=fl.Prior.improper())
        assert [e[k] for e in many.interval()] == pytest.approx(one.interval(), abs=1e-9)


def test_optimism_is_told(make_data):
    """The warning and the note of the in-sample method come once for all classifiers."""
    X, y, _ = make_data(5, 30, 30, 12)
    with pytest.warns(fl.OptimismWarning):
        many = fl.auc_posterior_many(np.eye(12), X, y)
    assert "optimistic" in many.notes[0]
    assert "optimistic" in many[3].notes[0]


def test_a_vector_is_refused(data):
    """One classifier has its own function."""
    X, y, W = data
    with pytest.raises(fl.InputError, match=r"shape \(P, K\).*use auc_posterior"):
        fl.auc_posterior_many(W[:, 0], X, y)
    with pytest.raises(fl.PriorError, match="adaptive"):
        fl.auc_posterior_many(W, X, y, prior=fl.Prior.adaptive())
