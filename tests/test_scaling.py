"""Rows leave the scaler as well: honest scores against refits of the whole pipeline, scaler included."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, OneHotEncoder, StandardScaler
from sklearn.svm import LinearSVC

import foldless as fl
from data import gaussian
from foldless.honest import pairs, scales, scaling
from foldless.honest.classes import log_odds, remove_rows_of_classes
from foldless.honest.leave_one_out import remove_rows
from foldless.model.view import take_apart
from test_honest_groups import refit_group_pairs
from test_honest_refits import TIGHT, refit_scores, removed

LOGISTIC = LogisticRegression(C=1.0, **TIGHT)
HINGE = LinearSVC(C=0.1, tol=1e-10, max_iter=100_000)


def rare(P, N=40, seed=1):
    """X, y: most entries of a column are near 0, so that single rows hold up much of its spread."""
    rng = np.random.default_rng(seed)
    y = np.arange(N) % 2
    X = rng.poisson(0.15, size=(N, P)) * rng.exponential(size=(N, P)) + 0.02 * rng.normal(size=(N, P))
    X[:, : max(1, P // 3)] += 0.4 * y[:, None] * rng.random((N, max(1, P // 3)))
    return X, y


def kept(model, X, y, **options):
    """Honest scores with the scaler kept as it was fitted."""
    return remove_rows(replace(take_apart(model.fit(X, y), X, y), scaled=()), **options)


def refit_singles(model, X, y, weight=None):
    return np.array([refit_scores(model, X, y, [i], [i], weight)[0] for i in range(len(y))])


def error_of_pairs(result, model, X, y, count=40):
    """Root mean square error of differences within pairs, over their standard deviation, on some of the pairs."""
    rng = np.random.default_rng(0)
    chosen = rng.permutation(result.pairs.complete.size)[:count]
    i, j = np.unravel_index(chosen, result.pairs.complete.shape)
    pairs = np.column_stack([result.rows1[i], result.rows0[j]])
    truth = np.array([np.subtract(*refit_scores(model, X, y, pair, pair)) for pair in pairs])
    return float(np.sqrt(np.mean((result.pairs.complete[i, j] - truth) ** 2)) / truth.std())


# ---- Ridge is exact for single rows of which one column changes its scale


def test_ridge_on_one_column_is_exact():
    X, y = rare(1)
    model = make_pipeline(StandardScaler(), RidgeClassifier(alpha=5.0))
    np.testing.assert_allclose(removed(model, X, y).loo, refit_singles(model, X, y), atol=1e-9)
    assert np.abs(kept(model, X, y).loo - refit_singles(model, X, y)).max() > 1e-3


@pytest.mark.parametrize("P", [6, 60])
def test_ridge_is_exact_where_one_column_of_several_is_scaled(P):
    X, y = rare(P)
    only = ColumnTransformer([("rest", "passthrough", list(range(1, P))), ("first", StandardScaler(), [0])])
    model = make_pipeline(only, RidgeClassifier(alpha=5.0))
    assert take_apart(model.fit(X, y), X, y).scaled[0].columns == slice(P - 1, P)
    np.testing.assert_allclose(removed(model, X, y).loo, refit_singles(model, X, y), atol=1e-9)
    assert np.abs(kept(model, X, y).loo - refit_singles(model, X, y)).max() > 1e-3


@pytest.mark.parametrize("P", [6, 45])
@pytest.mark.parametrize("scaler", [MinMaxScaler(), MaxAbsScaler()])
def test_ridge_is_exact_for_rows_with_one_extreme(scaler, P):
    X, y = rare(P)
    model = make_pipeline(scaler, RidgeClassifier(alpha=1.0))
    values = X if isinstance(scaler, MinMaxScaler) else np.abs(X)
    extreme = values == values.max(axis=0)
    if isinstance(scaler, MinMaxScaler):
        extreme |= values == values.min(axis=0)
    simple = extreme.sum(axis=1) <= 1
    assert np.any(extreme[simple])
    truth = refit_singles(model, X, y)
    np.testing.assert_allclose(removed(model, X, y).loo[simple], truth[simple], atol=1e-9)


@pytest.mark.parametrize("P", [20, 60])
def test_ridge_is_exact_for_rows_that_hold_several_columns(P):
    """Columns that a row holds nearly alone are solved for together: exact where no other scale changes."""
    X, y = rare(P)
    X[:, 1] += 0.5 * X[:, 0]  # the columns are related
    model = make_pipeline(MaxAbsScaler(), RidgeClassifier(alpha=1.0))
    top = -np.sort(-np.abs(X), axis=0)[:2]
    fall = np.where(np.abs(X) == top[0], 1 - (top[1] / top[0]) ** 2, 0.0)
    several = (np.count_nonzero(fall, axis=1) > 1) & ~np.any((fall > 0) & (fall < 0.15), axis=1)
    assert np.count_nonzero(several) >= 2
    truth = refit_singles(model, X, y)
    np.testing.assert_allclose(removed(model, X, y).loo[several], truth[several], atol=1e-9)


def test_a_row_that_holds_many_columns_alone():
    """The block of columns against the diagonal form, which is off by 0.08 of the spread of the scores here."""
    X, y = rare(90)
    model = make_pipeline(StandardScaler(), RidgeClassifier())
    truth = refit_singles(model, X, y)
    assert np.sqrt(np.mean((removed(model, X, y).loo - truth) ** 2)) < 0.02 * truth.std()


# ---- Close to refits where all columns change


@pytest.mark.parametrize(
    ("classifier", "P", "most"),
    [
        (RidgeClassifier(), 8, 0.01),
        (RidgeClassifier(), 90, 0.4),
        (LOGISTIC, 8, 0.1),
        (LOGISTIC, 90, 0.35),
        (HINGE, 8, 0.1),
        (HINGE, 90, 0.35),
    ],
)
def test_pairs_are_close_to_refits_of_the_pipeline(classifier, P, most):
    """With 90 columns of which most rows hold some nearly alone, the diagonal form has its limit."""
    X, y = rare(P)
    model = make_pipeline(StandardScaler(), classifier)
    before, after = (error_of_pairs(result(model, X, y), model, X, y) for result in (kept, removed))
    assert after < most
    assert after < 0.5 * before


def rare_with_gaps(P, N=40, seed=3):
    """X, y: columns that are 1 in a few rows, in some of them in one row alone, and a tenth of the cells missing."""
    rng = np.random.default_rng(seed)
    y = np.arange(N) % 2
    X = np.asarray(rng.random((N, P)) < 0.04 + 0.12 * y[:, None] * (np.arange(P) % 3 == 0), dtype=np.float64)
    X[rng.random((N, P)) < 0.1] = np.nan
    X[:, ::4] *= 0.0
    X[np.arange(P) % N, np.arange(P)] = 1.0
    return X, y


SCALERS = [StandardScaler(), StandardScaler(with_mean=False), MinMaxScaler(), MaxAbsScaler()]


@pytest.mark.parametrize("scaler", SCALERS, ids=str)
def test_means_that_fill_gaps_leave_with_the_row(scaler):
    """What is left of a column that one row alone holds are not the cells that its mean had filled."""
    X, y = rare_with_gaps(20)
    steps = make_pipeline(SimpleImputer(), scaler).fit(X)
    (part,) = scales.measured(
        steps.transform(X), take_apart(make_pipeline(*steps, LOGISTIC).fit(X, y), X, y).scaled, None
    )

    def refitted(rows):
        kept = np.setdiff1d(np.arange(len(y)), rows)
        again = make_pipeline(SimpleImputer(), clone(scaler)).fit(X[kept])
        now, before = (p[-1].scale_ for p in (again, steps))
        ratio = (now / before if isinstance(scaler, (StandardScaler, MaxAbsScaler)) else before / now) ** 2
        return np.where(again.transform(X[kept]).std(axis=0) < 1e-9, 0.0, ratio)  # constant: not scaled at all

    alone = part.scale.without_row(steps.transform(X), None)
    np.testing.assert_allclose(alone, [refitted([i]) for i in range(len(y))], atol=1e-9)
    units = scales.Units.of(part, steps.transform(X), np.arange(len(y)) // 2)
    sets = np.array([[0, 3], [4, 9]])
    together = [refitted(np.r_[2 * a, 2 * a + 1, 2 * b, 2 * b + 1]) for a, b in sets]
    np.testing.assert_allclose(units.ratio(sets), together, atol=1e-9)


@pytest.mark.parametrize("P", [12, 200])
@pytest.mark.parametrize("scaler", SCALERS, ids=str)
def test_pairs_are_close_to_refits_of_imputer_and_scaler(scaler, P):
    X, y = rare_with_gaps(P)
    model = make_pipeline(SimpleImputer(), scaler, LOGISTIC)
    result = removed(model, X, y)
    assert error_of_pairs(result, model, X, y) < 0.15


def test_a_penalised_intercept_follows_the_centre():
    """With many standardised columns liblinear's intercept hardly moves, and the centre of the others must not."""
    X, y = rare(90)
    model = make_pipeline(StandardScaler(), HINGE)
    truth, result = refit_singles(model, X, y), removed(model, X, y)
    assert np.abs(result.loo - truth).max() < 0.5
    assert np.abs(kept(model, X, y).loo - truth).max() > 3.0


@pytest.mark.parametrize("P", [6, 60])
def test_a_free_intercept_is_what_the_rank_one_update_gives(P):
    """Balanced classes and a centred X: ridge with its intercept penalised or free has the same weights and slopes."""
    from foldless.honest.design import build_design, curvature_at, with_free_intercept

    X, _ = gaussian(2, P, N=30)
    X, D, lam = X - X.mean(axis=0), np.linspace(0.5, 2.0, 30), 3.0
    bound, free = (build_design(X, constant=c, free_intercept=c == 0) for c in (2.0, 0.0))
    curvature, _ = with_free_intercept(bound, curvature_at(bound, D, lam, False), lam, 2.0)
    B = curvature.influence_rows(bound, np.arange(30))
    expected = curvature_at(free, D, lam, True).influence_rows(free, np.arange(30))
    np.testing.assert_allclose(B @ B.T, expected @ expected.T, atol=1e-10)


# ---- Identities


def test_gaussian_columns_change_little():
    X, y = gaussian(5, 12, N=80)
    model = make_pipeline(StandardScaler(), LOGISTIC).fit(X, y)
    view = take_apart(model, X, y)
    plain, frozen = (fl.auc_posterior(model, X, y).mean, remove_rows(replace(view, scaled=())))
    differences = frozen.pairs.complete
    assert abs(np.mean(remove_rows(view).pairs.complete > 0) - np.mean(differences > 0)) < 2e-3
    assert plain == pytest.approx(fl.auc_posterior(model[-1], model[:-1].transform(X), y).mean, abs=1e-12)


@pytest.mark.parametrize("alpha", [0.0, 1.0])
def test_no_penalty_or_no_division_is_no_change(alpha):
    X, y = rare(6)
    scaler = StandardScaler(with_std=alpha == 0)
    model = make_pipeline(scaler, RidgeClassifier(alpha=alpha))
    np.testing.assert_array_equal(removed(model, X, y).loo, kept(model, X, y).loo)
    np.testing.assert_allclose(removed(model, X, y).loo, refit_singles(model, X, y), atol=1e-8)


@pytest.mark.parametrize("ddof", [0, 1])
def test_columns_that_come_standardised_are_treated_alike(ddof):
    X, y = rare(8)
    Z = (X - X.mean(axis=0)) / X.std(axis=0, ddof=ddof)
    alpha = 1.0 if ddof == 0 else 39 / 40
    outside = removed(RidgeClassifier(alpha=alpha), Z, y)
    inside = removed(make_pipeline(StandardScaler(), RidgeClassifier()), X, y)
    np.testing.assert_allclose(outside.without_pair1, inside.without_pair1, atol=1e-10)
    assert any("standardised on these very rows" in note for note in outside.provenance.notes)
    assert inside.provenance.notes == ()


def test_sparse_and_dense_columns_agree():
    X, y = rare(50)
    X[X < 0.1] = 0.0
    for P in (5, 50):
        model = make_pipeline(StandardScaler(with_mean=False), RidgeClassifier(tol=1e-12))
        dense, sparse = removed(model, X[:, :P], y), removed(model, csr_matrix(X[:, :P]), y)
        np.testing.assert_allclose(sparse.without_pair1, dense.without_pair1, atol=1e-9)
        assert error_of_pairs(dense, model, X[:, :P], y) < (0.01 if P == 5 else 0.4)


def test_columns_and_row_space_agree():
    """The same fit with P < N and, after a copy of each column at a lower scale, with P >= N."""
    X, y = rare(22)
    model = make_pipeline(StandardScaler(), RidgeClassifier(alpha=2.0))
    doubled = np.hstack([X, X])
    # Two copies with weights w/2 each: half the penalty on the sum.
    single = make_pipeline(StandardScaler(), RidgeClassifier(alpha=1.0))
    assert error_of_pairs(removed(model, doubled, y), model, doubled, y) < 0.2
    np.testing.assert_allclose(refit_singles(model, doubled, y), refit_singles(single, X, y), atol=1e-9)


# ---- Weights, groups, subsets


def test_weights_of_the_scaler_leave_too():
    X, y = rare(1)
    weight = np.random.default_rng(0).uniform(0.2, 3.0, size=len(y))
    model = make_pipeline(StandardScaler(), RidgeClassifier(alpha=5.0))

    def fitted(rows):
        named = {"standardscaler__sample_weight": weight[rows], "ridgeclassifier__sample_weight": weight[rows]}
        return make_pipeline(StandardScaler(), RidgeClassifier(alpha=5.0)).fit(X[rows], y[rows], **named)

    view = take_apart(fitted(np.arange(len(y))), X, y)
    truth = [fitted(np.delete(np.arange(len(y)), i)).decision_function(X[[i]])[0] for i in range(len(y))]
    np.testing.assert_allclose(remove_rows(view, sample_weight=weight).loo, truth, atol=1e-9)
    model.fit(X, y, ridgeclassifier__sample_weight=weight)  # the scaler counts rows alike
    alone = remove_rows(take_apart(model, X, y), sample_weight=weight).loo
    for i in range(0, len(y), 7):
        rows = np.delete(np.arange(len(y)), i)
        model.fit(X[rows], y[rows], ridgeclassifier__sample_weight=weight[rows])
        assert alone[i] == pytest.approx(model.decision_function(X[[i]])[0], abs=1e-9)


@pytest.mark.parametrize("P", [1, 8, 60])
def test_groups_leave_the_scaler_whole(P):
    X, y = rare(P, N=36)
    groups = np.random.default_rng(3).permutation(np.repeat(np.arange(12), 3))
    model = make_pipeline(StandardScaler(), RidgeClassifier(alpha=2.0))
    result, before = removed(model, X, y, groups=groups), kept(model, X, y, groups=groups)
    truth = refit_group_pairs(model, X, y, groups)
    own = truth[np.arange(36), groups]
    pairs = truth[result.rows1][:, groups[result.rows0]] - truth[result.rows0][:, groups[result.rows1]].T
    errors = [float(np.std(each.pairs.complete - pairs) / pairs.std()) for each in (before, result)]
    assert errors[1] < (0.05 if P < 60 else 0.3)
    assert errors[1] < 0.5 * errors[0]
    if P == 1:
        np.testing.assert_allclose(result.loo, own, atol=1e-9)


@pytest.mark.parametrize("P", [8, 300])
def test_rows_need_not_be_sorted_by_group(P):
    """The scores without a row's own group, whatever the order of the rows."""
    X, y = gaussian(2, P, N=36)
    groups = np.random.default_rng(3).permutation(np.repeat(np.arange(12), 3))
    model = make_pipeline(StandardScaler(), RidgeClassifier(alpha=2.0))
    own = [refit_scores(model, X, y, np.flatnonzero(groups == groups[i]), [i])[0] for i in range(36)]
    np.testing.assert_allclose(removed(model, X, y, groups=groups).loo, own, rtol=0, atol=0.02 * np.std(own))


def test_extremes_leave_with_their_group():
    X, y = rare(1, N=36)
    groups = np.arange(36) // 3
    for scaler in (MinMaxScaler(), MaxAbsScaler()):
        model = make_pipeline(scaler, RidgeClassifier(alpha=2.0))
        own = refit_group_pairs(model, X, y, groups)[np.arange(36), groups]
        np.testing.assert_allclose(removed(model, X, y, groups=groups).loo, own, atol=1e-9)


@pytest.mark.parametrize("grouped", [False, True])
@pytest.mark.parametrize("classifier", [RidgeClassifier(0.01), LogisticRegression(C=1e-3), LogisticRegression(C=100.0)])
def test_single_precision_is_enough_for_many_columns(monkeypatch, classifier, grouped):
    """Columns far from 0, and some that single rows nearly hold alone; the correction itself is of the order of 1."""
    X, y = rare(300)
    X[:, 100:] += 1e4
    model = make_pipeline(StandardScaler(with_mean=False), classifier)
    groups = np.arange(y.size) // 4 if grouped else None
    found = [kept(model, X, y, groups=groups)]
    for many in (scaling.MANY, 0):
        monkeypatch.setattr(scaling, "MANY", many)
        found.append(removed(model, X, y, groups=groups))
    without, double, single = (np.concatenate([each.loo, each.pairs.complete.ravel()]) for each in found)
    assert np.abs(double - without).max() > 0.05 * double.std()
    assert 0 < np.abs(single - double).max() < (1e-3 if grouped else 1e-4) * double.std()


@pytest.mark.parametrize("P", [6, 90])
def test_rows_outside_the_sample_lose_the_scaler_too(monkeypatch, P):
    X, y = rare(P, N=60)
    model = make_pipeline(StandardScaler(), RidgeClassifier())
    all_rows = removed(model, X, y)
    monkeypatch.setattr(pairs, "LEAST", 10)
    monkeypatch.setattr(pairs, "MOST", 10)
    some = removed(model, X, y)
    assert some.sampled1.size < all_rows.rows1.size
    np.testing.assert_allclose(some.loo, all_rows.loo, atol=1e-10)
    places = np.ix_(np.searchsorted(all_rows.rows1, some.sampled1), np.searchsorted(all_rows.rows0, some.sampled0))
    np.testing.assert_allclose(some.without_pair1, all_rows.without_pair1[places], atol=1e-10)


@pytest.mark.parametrize("P", [8, 60])
@pytest.mark.parametrize("classifier", [RidgeClassifier(), HINGE])
def test_several_classes_one_against_the_rest(classifier, P):
    X, _ = rare(P, N=45)
    y = np.arange(45) % 3
    X[:, 0] += 0.3 * y
    model = make_pipeline(StandardScaler(), classifier).fit(X, y)
    view = take_apart(model, X, y, several=True)
    after, before = (remove_rows_of_classes(each).tensor.alone for each in (view, replace(view, scaled=())))
    truth = np.array([refit_scores(model, X, y, [i], [i])[0] for i in range(45)]).T
    assert np.std(after - truth) < 0.3 * np.std(before - truth)


SEVERAL = {
    "softmax": (LogisticRegression(C=0.1, **TIGHT), 0.1),
    "softmax, C = 1": (LOGISTIC, 0.25),
    "discriminant": (LinearDiscriminantAnalysis(solver="lsqr", shrinkage=0.2), 0.1),
}


@pytest.mark.parametrize("scaler", [StandardScaler(), MinMaxScaler()])
@pytest.mark.parametrize("P", [8, 90])
@pytest.mark.parametrize("name", SEVERAL)
def test_several_classes_at_once(name, P, scaler):
    """Log odds without each row, and without pairs of rows, against refits of scaler and classifier."""
    X, _ = rare(P, N=45)
    y = np.arange(45) % 3
    X[:, 0] += 0.3 * y
    classifier, most = SEVERAL[name]
    model = make_pipeline(scaler, classifier).fit(X, y)
    view = take_apart(model, X, y, several=True)
    after, before = (remove_rows_of_classes(each).tensor for each in (view, replace(view, scaled=())))

    def refitted(rows):
        return log_odds(refit_scores(model, X, y, rows, rows).T)

    chosen = [[i, (7 * i + 1) % 45] for i in range(0, 45, 2)]
    truth = np.hstack([refitted([i]) for i in range(45)]), np.hstack([refitted(pair) for pair in chosen])

    def errors(tensor):
        of_pairs = np.hstack([tensor.without[:, [i, j], [j, i]] for i, j in chosen])
        return [np.std(a - b) / np.std(b) for a, b in zip((tensor.alone, of_pairs), truth, strict=True)]

    (alone, in_pairs), (alone_kept, in_pairs_kept) = errors(after), errors(before)
    assert alone < most
    assert alone < 0.3 * alone_kept
    assert in_pairs < 0.4 * in_pairs_kept


@pytest.mark.parametrize("held", [1, 3])
def test_discriminant_scores_of_a_row_that_holds_columns_alone(held):
    """Scaled without it the row lies thousands of deviations away, which says nothing about the spread of the others.

    With three such columns the fit without the row was once taken to leave no scatter, and refused.
    """
    X, y = rare(20, N=60)
    X[:, :held] *= 0.001
    X[0, :held] = 5.0 * np.arange(1, held + 1)
    X[0, held - 1] *= -1.0
    model = make_pipeline(StandardScaler(), LinearDiscriminantAnalysis(solver="lsqr", shrinkage=0.2))
    truth = refit_scores(model, X, y, [0], [0])[0]
    assert abs(truth) > 100 * np.abs(removed(model, X, y).z).max()
    assert removed(model, X, y).loo[0] == pytest.approx(truth, rel=0.25)
    groups = np.repeat(np.arange(59), np.r_[1, 2, np.ones(57, dtype=int)])
    of_groups = removed(model, X, y, groups=groups).loo[0]  # which have columns solved for one by one
    assert of_groups == pytest.approx(truth, rel=0.25 if held == 1 else 0.7)


# ---- Which columns went through a scaler


def test_only_a_scaler_right_before_the_classifier_counts():
    X, y = rare(6)
    pca = make_pipeline(StandardScaler(), PCA(3), LOGISTIC).fit(X, y)
    view = take_apart(pca, X, y)
    assert view.scaled == ()
    assert "'standardscaler' (StandardScaler), 'pca' (PCA) are kept as fitted to all rows" in view.notes[0]
    kept = fl.analyse(pca, X, y, method="loo")
    (finding,) = (f for f in kept.findings if "kept as fitted" in f.text)
    assert finding.severity == "caution"
    nested = make_pipeline(SimpleImputer(), make_pipeline(StandardScaler()), LOGISTIC).fit(X, y)
    (scaled,) = take_apart(nested, X, y).scaled
    assert take_apart(nested, X, y).notes == ()
    assert (scaled.columns, scaled.kind, scaled.centred, scaled.given) == (slice(0, 6), "sd", True, False)


def test_each_branch_of_a_column_transformer_has_its_own_scaler():
    X, y = rare(5)
    X[:, 4] = np.arange(40) % 3
    branches = ColumnTransformer(
        [
            ("a", make_pipeline(SimpleImputer(), StandardScaler()), [0, 1]),
            ("b", OneHotEncoder(), [4]),
            ("c", MinMaxScaler(), [2]),
            ("d", "drop", [3]),
        ]
    )
    model = make_pipeline(branches, RidgeClassifier(alpha=2.0)).fit(X, y)
    scaled = take_apart(model, X, y).scaled
    assert [(part.columns, part.kind) for part in scaled] == [(slice(0, 2), "sd"), (slice(5, 6), "range")]
    assert error_of_pairs(removed(model, X, y), model, X, y) < 0.3 * error_of_pairs(kept(model, X, y), model, X, y)


@pytest.mark.parametrize(
    "classifier", [LogisticRegression(C=100.0), RidgeClassifier(), LinearSVC(dual=False)], ids=repr
)
def test_equal_rows_tie_whatever_leaves(classifier):
    """Rare columns: most rows are equal, and their order, once wrong in the ninth digit, decided the answer."""
    rng = np.random.default_rng(0)
    X, y = (rng.random((60, 2)) < 0.08).astype(float), np.arange(60) % 3
    two = y > 0
    model = make_pipeline(StandardScaler(), classifier).fit(X, two)
    ours, refits = fl.honest_scores(model, X, two).pair_auc, float(fl.baselines.leave_pair_out_auc(model, X, two))
    assert ours == pytest.approx(refits, abs=0.02)
    grouped = fl.honest_scores(model, X, two, groups=np.arange(60) // 2).pair_auc
    assert 0.4 < grouped < 0.6
    three = fl.auc_posterior(model.fit(X, y), X, y)
    assert 0.4 < three.mean < 0.6


@pytest.mark.parametrize(
    ("classifier", "refitted"),
    [(HINGE, True), (LogisticRegression(solver="liblinear"), True), (RidgeClassifier(), False)],
    ids=["LinearSVC", "liblinear", "ridge"],
)
def test_no_free_intercept_makes_up_for_means_that_move(classifier, refitted):
    """Means of some columns, and no intercept that follows them: kept, they moved scores by twice their spread."""
    X, y = gaussian(1, 60, N=40)
    some = ColumnTransformer([("a", StandardScaler(), slice(0, 30))], remainder="passthrough")
    assert (fl.honest_scores(make_pipeline(some, classifier).fit(X, y), X, y).method == "refit") == refitted
    # All centred, the closed form holds; a few centred columns move little.
    assert fl.honest_scores(make_pipeline(StandardScaler(), classifier).fit(X, y), X, y).method == "loo"
    assert fl.honest_scores(make_pipeline(some, classifier).fit(X[:, :33], y), X[:, :33], y).method == (
        "refit" if refitted else "loo"
    )
    assert fl.honest_scores(make_pipeline(StandardScaler(), classifier).fit(X[:, :9], y), X[:, :9], y).method == "loo"


@pytest.mark.parametrize("coordinates", [6, 40])
def test_columns_that_a_row_nearly_holds_alone_are_solved_for_together(coordinates):
    """In the coordinates of the rows as among the columns themselves: E_JJ = (I + Delta H_S^-1)^-1 Delta."""
    rng, lam, p, n = np.random.default_rng(4), 0.7, 40, 9
    Q, root = np.linalg.qr(rng.normal(size=(p, coordinates)))[0].T, rng.normal(size=(coordinates, coordinates)) / 9
    S = np.linalg.inv(lam * np.eye(coordinates) + root @ root.T)
    inverse = (np.eye(p) - Q.T @ Q) / lam + Q.T @ S @ Q
    reach, coef, d = rng.normal(size=(n, coordinates)) / 9, rng.normal(size=coordinates), rng.random(n) / 9
    ratio = np.where(rng.random((n, p)) < rng.random((n, 1)), 0.8 * rng.random((n, p)), 1.02)
    space = reach, coef, S
    about = None, rng.normal(size=(n, p)), coef @ Q, reach @ Q, np.diag(inverse)
    columns = scaling.Columns(*about, lambda *_: space, lambda J: Q.T[J].transpose(0, 2, 1), lam)
    table = columns.table(d, scaling.Changes(ratio, columns.lifted))
    found = np.zeros((3, n, n))
    scaling._act(table, np.arange(n), np.arange(n), *found)
    assert max(J.shape[1] for _, J, *_ in table.changes.several) > 6
    for i in range(n):
        J, rest, M = np.flatnonzero(ratio[i] < 1), np.flatnonzero(ratio[i] > 1), reach @ Q
        change, without = np.diag(lam * (ratio[i] - 1)), inverse + d[i] * np.outer(M[i], M[i])
        E = np.zeros((p, p))
        at = np.ix_(J, J)
        E[at] = np.linalg.solve(np.eye(J.size) + change[at] @ without[at], change[at])
        E[rest, rest] = change[rest, rest] / (1 + change[rest, rest] * without[rest, rest])
        expected = M @ E @ (coef @ Q), np.diag(M @ E @ M.T), M @ E @ M[i]
        assert np.allclose(found[:, :, i], expected, rtol=1e-9, atol=1e-9)


def test_what_the_columns_of_a_row_share_is_factored_once_for_all_penalties(monkeypatch):
    X, y = rare(200, N=30)
    factored = []
    own = scaling.Changes._factor
    monkeypatch.setattr(scaling.Changes, "_factor", lambda *given: factored.append(1) or own(*given))
    for Cs in ([0.1], [0.01, 0.1, 1.0, 10.0]):
        factored.clear()
        fl.FoldlessSearch(make_pipeline(StandardScaler(), LOGISTIC), {"logisticregression__C": [*Cs, 0.1]}).fit(X, y)
        assert 0 < len(factored) <= 3


@pytest.mark.parametrize("grouped", [False, True])
@pytest.mark.parametrize("P", [4, 200])
@pytest.mark.parametrize("C", [1e-5, 1e-3, 0.01, 0.1])
def test_an_intercept_that_its_penalty_holds_stays_when_rows_leave(C, P, grouped):
    """It does not follow the means of the scaler; where the rows are stronger, it does.

    With 200 columns and classes of unequal size, scores were off by up to three times their spread where the means were
    kept for its sake, and all rows came out positive.
    """
    rng = np.random.default_rng(7)
    y = (np.arange(60) % 3 == 0).astype(int)
    X = rng.normal(size=(60, P))
    X[:, 0] += 0.8 * y
    codes = rng.permutation(60) // 3 if grouped else np.arange(60)
    model = make_pipeline(StandardScaler(), LinearSVC(C=C, tol=1e-9, max_iter=200_000))
    truth = np.empty(60)
    for code in range(codes.max() + 1):
        out = codes == code
        truth[out] = clone(model).fit(X[~out], y[~out]).decision_function(X[out])
    gap = fl.honest_scores(model.fit(X, y), X, y, groups=codes if grouped else None).scores - truth
    assert np.sqrt(np.mean(gap**2)) < (0.15 if P == 200 and C == 0.1 else 0.07) * truth.std()


@pytest.mark.parametrize("P", [5, 60])
@pytest.mark.parametrize("C", [1e-4, 0.01])
def test_a_held_intercept_stays_when_pairs_leave(C, P):
    """Levels as well as order: where the penalty is strong, the free intercept moves much further than the scores."""
    X, y = gaussian(4, P, N=30)
    model = make_pipeline(StandardScaler(), LogisticRegression(C=C, solver="liblinear", tol=1e-9, max_iter=5000))
    found = removed(model, X, y)
    i, j = found.sampled1[:4], found.sampled0[:4]
    truth = np.array(
        [
            [clone(model).fit(np.delete(X, [a, b], 0), np.delete(y, [a, b])).decision_function(X[[a, b]]) for b in j]
            for a in i
        ]
    )
    ours = np.stack([found.without_pair1[:4, :4], found.without_pair0[:4, :4]], axis=2)
    assert np.sqrt(np.mean((ours - truth) ** 2)) < 0.03 * truth.std()
