"""A linear classifier of several classes, taken apart: one weight vector per class, and the columns they act on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from foldless import _check, anatomy
from foldless import _pullback as back
from foldless._check import Floats, Labels
from foldless._steps import sklearn_names
from foldless.anatomy import LinearView
from foldless.errors import EstimatorError, InputError
from foldless.honest.design import Ints
from foldless.moments import project

FEWEST_ROWS = 3  # two rows of a class are removed at a time, and one must stay


@dataclass(frozen=True, eq=False)
class ClassesView:
    """A linear classifier of K classes as a matrix, labels, weights and intercepts.

    Attributes
    ----------
    X : ndarray or CSR matrix
        The columns on which the weights act: as they were before the first step that saw y.
    codes : ndarray of int, shape (N,)
        Class of each row, as its place in `classes`.
    classes : tuple
        Labels, in the order of the estimator.
    weights, intercepts : ndarrays of shape (K, P) and (K,)
        ``decision_function(row) = weights @ x + intercepts``.
    estimator : object or None
        The final classifier if `X` is exactly what it was trained on.
    members : tuple
        The classifiers of a OneVsRestClassifier, one per class; empty for anything else.
    notes : tuple of str
        What a reader of the result has to know.
    """

    X: Any
    codes: Ints
    classes: tuple[Any, ...]
    weights: Floats
    intercepts: Floats
    estimator: Any | None
    members: tuple[Any, ...]
    notes: tuple[str, ...] = ()

    @property
    def counts(self) -> Ints:
        """Rows per class."""
        return np.bincount(self.codes, minlength=len(self.classes))

    def scores(self) -> Floats:
        """Decision values, shape (N, K)."""
        return np.asarray(project(self.X, self.weights.T) + self.intercepts)

    def against_rest(self, k: int, estimator: Any | None) -> LinearView:
        """One class against all others, as a classifier of two classes."""
        # 0 and 1 are what OneVsRestClassifier calls them, so class weights by name are found.
        labels = Labels(self.codes == k, 0, 1)
        return LinearView(self.X, labels, self.weights[k], float(self.intercepts[k]), estimator, False)


def has_several_classes(estimator: Any) -> bool:
    """True for a fitted classifier of three classes or more."""
    classes = getattr(estimator, "classes_", None)
    return isinstance(classes, np.ndarray) and classes.ndim == 1 and classes.size > 2


def take_classes_apart(estimator: Any, X: Any, y: Any) -> ClassesView:
    """Weights, intercepts and columns of a fitted linear classifier of more than two classes.

    As `foldless.anatomy.take_apart` does for two classes: nothing is refitted, a pipeline is cut at its first step that
    saw y, and the outcome is checked against the classifier's own ``decision_function``.
    """
    steps, final, notes = anatomy.dismantled(estimator)
    coef, intercepts, members = _coefficients(final)
    classes = tuple(np.asarray(final.classes_).tolist())
    codes = _codes(y, classes)
    X = anatomy.as_table(X)
    _check.same_length(back.n_rows(X), codes.size)
    notes += anatomy.same_columns(estimator, steps, X)
    opened = back.unfold(steps, X)
    pulled = [opened.pull(row) for row in coef]
    M = _check.as_matrix(opened.table)
    supervised = anatomy.notes_on_supervised(opened.supervised, M.shape[1])
    view = ClassesView(
        M,
        codes,
        classes,
        _trained(np.array([w for w, _ in pulled]), classes),
        intercepts + np.array([offset for _, offset in pulled]),
        None if opened.supervised else final,
        () if opened.supervised else members,
        notes + supervised + anatomy.notes_on_unknown(opened.unknown),
    )
    _check.finite_scores(view.scores(), M)
    _verify(view, estimator, X)
    return view


def _coefficients(final: Any) -> tuple[Floats, Floats, tuple[Any, ...]]:
    """One weight vector and one intercept per class, and the members of a OneVsRestClassifier."""
    name = type(final).__name__
    if "OneVsRestClassifier" in sklearn_names(final):
        members = tuple(final.estimators_)
        parts = [_of_member(member, name) for member in members]
        return np.array([w for w, _ in parts]), np.array([b for _, b in parts]), members
    if not (hasattr(final, "coef_") and hasattr(final, "classes_")):
        raise EstimatorError(anatomy.why_not_linear(final, name))
    coef = np.atleast_2d(_dense(final.coef_))
    if coef.shape[0] != len(final.classes_):
        raise EstimatorError(
            f"{name} has {coef.shape[0]} weight vectors for {len(final.classes_)} classes, expected one per class: "
            f"fit one class against the rest (LinearSVC, LogisticRegression, RidgeClassifier, OneVsRestClassifier)."
        )
    intercepts = np.ravel(np.asarray(getattr(final, "intercept_", 0.0), dtype=np.float64))
    return coef, np.broadcast_to(intercepts, (coef.shape[0],)).copy(), ()


def _of_member(member: Any, name: str) -> tuple[Floats, float]:
    if not hasattr(member, "coef_") or not hasattr(member, "decision_function"):
        raise EstimatorError(
            f"{name} holds a {type(member).__name__}, expected linear classifiers with coef_: put steps such as a "
            f"scaler in front of it, make_pipeline(StandardScaler(), {name}(LogisticRegression()))."
        )
    return _dense(member.coef_).ravel(), float(np.ravel(member.intercept_)[0])


def _dense(coef: Any) -> Floats:
    return np.asarray(coef.toarray() if _check.is_sparse(coef) else coef, dtype=np.float64)


def _codes(y: Any, classes: tuple[Any, ...]) -> Ints:
    values = _check.label_vector(y)
    place = {label: k for k, label in enumerate(classes)}
    strangers = [v for v in _check.distinct(values).tolist() if v not in place]
    if strangers:
        raise InputError(f"y has unknown labels: {_check.listed(strangers)}; the classes are {_check.listed(classes)}.")
    codes = np.array([place[v] for v in values.tolist()], dtype=np.intp)
    counts = np.bincount(codes, minlength=len(classes))
    if counts.min() < FEWEST_ROWS:
        label = classes[int(counts.argmin())]
        raise InputError(
            f"each class needs at least {FEWEST_ROWS} rows, since two at a time are left out, but class {label!r} has "
            f"{counts.min()}: pass X and y as given to fit, or leave that class out and fit again."
        )
    return codes


def _trained(weights: Floats, classes: tuple[Any, ...]) -> Floats:
    flat = np.flatnonzero(~np.any(weights, axis=1))
    if flat.size:
        raise EstimatorError(
            f"the fitted weights of class {classes[flat[0]]!r} are all zero: the classifier cannot tell which rows "
            f"belong to it. Penalise less, or check that the features vary."
        )
    _check.sane_length(np.asarray(_check.as_weights(weights.T, weights.shape[1])))
    return weights


def _verify(view: ClassesView, estimator: Any, X: Any) -> None:
    name = type(estimator).__name__
    if not hasattr(estimator, "decision_function"):
        raise EstimatorError(f"{name} has no decision_function to check its weights against: {back.WAY_OUT}")
    try:
        with back.quiet_names():
            expected = np.asarray(estimator.decision_function(back.sampled_rows(X, anatomy.VERIFIED_ROWS)))
    except Exception as err:
        told = " ".join(str(err).split())
        raise EstimatorError(f"{name} cannot score X ({told}): pass X as it was given to fit.") from err
    rows = back.sampled_rows(view.X, anatomy.VERIFIED_ROWS)
    per_class = zip(view.weights, view.intercepts, expected.T, strict=False)
    if expected.shape[1:] != (len(view.classes),) or not all(back.agrees(rows, w, b, z) for w, b, z in per_class):
        raise EstimatorError(
            f"the decision_function of {name} is not X @ coef_.T + intercept_, one column per class, so it is not "
            f"linear in X: {back.WAY_OUT}"
        )
