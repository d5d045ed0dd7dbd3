"""One trial of the paper's experiments: estimators against other code, ranks, and classes of one row."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import trapezoid
from sklearn.linear_model import LogisticRegression

import foldless as fl
from foldless_studies.choices import PAPER_CLASSIFIERS
from foldless_studies.classifiers import RECIPES
from foldless_studies.estimators import ESTIMATORS, STANDARD, Answer, _area, cv_area
from foldless_studies.paper.cells import PopulationCell, ones
from foldless_studies.paper.run import perform, rank
from foldless_studies.sampling import Known, Task

HERE = {"seed": 0, "classifier": "logistic", "estimators": STANDARD}


def trial(n0=10, n1=10, P=4, replicate=0, recipe="liblinear"):
    return Task(PopulationCell((("P", P), ("N", n0 + n1)), ones(P), n0, n1, recipe), replicate)


def timeless(result):
    """Without what differs from run to run."""
    answers = {k: {n: v for n, v in a.items() if n != "seconds"} for k, a in result["answers"].items()}
    return {**{k: v for k, v in result.items() if k != "fit_seconds"}, "answers": answers}


def test_a_trial_depends_on_its_name_only():
    first, again, other = (timeless(perform(trial(replicate=r), **HERE)) for r in (0, 0, 1))
    assert first == again
    assert first["answers"] != other["answers"]


def test_estimates_are_those_of_the_public_functions():
    cell = trial().cell
    sample = cell.draw(0, 0)
    model = RECIPES["liblinear"]().fit(sample.X, sample.y)
    w = model.coef_.ravel()
    got = perform(trial(), **HERE)
    estimates = {name: answer["estimate"] for name, answer in got["answers"].items()}
    posterior = fl.auc_posterior(model, sample.X, sample.y)
    assert got["truth"] == pytest.approx(fl.baselines.true_auc(w, 0.0, np.ones(4), 1.0), abs=1e-9)
    assert estimates["cbauc"] == pytest.approx(fl.cbauc(w, sample.X, sample.y), abs=1e-9)
    assert estimates["foldless"] == pytest.approx(posterior.mean, abs=1e-9)
    assert got["answers"]["foldless"]["rank"] == pytest.approx(float(posterior.cdf(got["truth"])), abs=1e-6)
    whole = float(fl.baselines.ebauc(w, sample.X, sample.y))
    assert estimates["ebauc"] == pytest.approx(whole, abs=1e-9)
    assert estimates["ebauc-published"] < whole


@pytest.mark.filterwarnings("ignore::foldless.OptimismWarning")
def test_cbauc_is_the_mean_of_the_law_that_its_coverage_is_read_from():
    sample = trial(30, 30).cell.draw(0, 0)
    model = RECIPES["liblinear"]().fit(sample.X, sample.y)
    answer = ESTIMATORS["cbauc"].ask(model, sample, 0)
    a = np.linspace(0, 1, 20_001)
    assert answer.estimate == pytest.approx(1 - trapezoid(answer.cdf(a), a), abs=1e-6)


@pytest.mark.parametrize("seed", range(3))
def test_the_dissected_cv_starts_from_the_published_one(seed):
    """Two implementations of the published computation; with own thresholds it is the textbook's, sign apart."""
    rng = np.random.default_rng(seed)
    y = np.repeat([0, 1], 25)
    X = rng.normal(size=(50, 30)) + 0.6 * y[:, None]
    model = LogisticRegression(solver="liblinear").fit(X, y)
    published = fl.baselines.cv_auc(model, X, y, variant="published", random_state=seed)
    assert cv_area(model, X, y, seed, corners=False, own_thresholds=False) == pytest.approx(float(published), abs=1e-12)
    textbook = fl.baselines.cv_auc(model, X, y, random_state=seed)
    assert min(textbook.details["values"]) > 0.5  # no fold's sign is turned
    assert cv_area(model, X, y, seed, corners=False, own_thresholds=True) == pytest.approx(float(textbook), abs=1e-12)
    assert cv_area(model, X, y, seed, corners=True, own_thresholds=False) >= float(published)


def test_corners_and_thresholds_by_hand():
    """Three held-out rows of each class, one threshold between them: half the square without corners, a trapezoid
    less than the square with them."""
    z, y = np.array([0.0, 1.0, 4.0, 2.0, 5.0, 6.0]), np.repeat([0, 1], 3)
    assert _area(z, y, np.array([4.5, 3.0]), corners=False) == pytest.approx((2 / 3) / 3)
    assert _area(z, y, np.array([4.5, 3.0]), corners=True) == pytest.approx((2 / 3) / 3 + (2 / 3) * (2 / 3 + 1) / 2)
    assert _area(z, y, np.r_[np.inf, np.sort(z)[::-1]], corners=False) == pytest.approx(8 / 9)


def test_a_class_of_one_row_leaves_cross_validation_missing():
    got = perform(trial(9, 1), **HERE)["answers"]
    assert {name for name, answer in got.items() if "failed" in answer} == {
        "cv-published", "cv5", "binormal", "foldless",
    }  # fmt: skip
    assert "rows of each class" in got["cv5"]["failed"]
    assert 0 < got["cbauc"]["estimate"] < 1


@pytest.mark.parametrize("classifier", PAPER_CLASSIFIERS)
def test_every_classifier_gets_all_estimates(classifier):
    got = perform(trial(20, 20), seed=0, classifier=classifier, estimators=STANDARD)
    assert not [name for name, answer in got["answers"].items() if "failed" in answer]
    assert 0.6 < got["truth"] < 1


def uniform(a):
    return np.clip(a, 0, 1)


def test_ranks():
    law = Answer(0.5, cdf=uniform)
    assert rank(law, Known(0.3), held_out=False) == pytest.approx(0.3)
    assert rank(Answer(0.5), Known(0.3), held_out=False) is None
    # A truth of 1 is inside an interval that ends at 1, and a point holds itself.
    assert rank(law, Known(1.0), held_out=False) == pytest.approx(1.0)
    assert rank(Answer(1.0, cdf=lambda a: (a >= 1) * 1.0), Known(1.0), held_out=False) == 0.5
    # Held out: noise is added; without any there is nothing to compare with.
    assert rank(law, Known(0.3, 0.1), held_out=True) == pytest.approx(0.3, abs=1e-3)
    assert rank(law, Known(1.0), held_out=True) is None
