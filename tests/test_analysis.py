"""One `Analysis`: every public answer is read off it, nothing is computed twice, and warnings are data."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import foldless as fl
import foldless.computation
import foldless.honest.leave_one_out

X, Y = make_classification(60, 6, n_informative=3, flip_y=0.2, random_state=0)
MODEL = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, Y)
GROUPS = np.arange(60) // 2
LEVELS = np.linspace(0.0, 1.0, 11)


def noise_of_three_classes(seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(60, 10)), np.arange(60) % 3


@pytest.fixture
def calls(monkeypatch):
    """How often a classifier was taken apart, and rows were removed."""
    counts = {"take_apart": 0, "remove_rows": 0}

    def counting(module, name):
        original = getattr(module, name)

        def counted(*args, **kwargs):
            counts[name] += 1
            return original(*args, **kwargs)

        monkeypatch.setattr(module, name, counted)

    counting(foldless.computation, "take_apart")
    counting(foldless.honest.leave_one_out, "remove_rows")
    return counts


OPTIONS = [{}, {"groups": GROUPS}, {"pos_label": 0}, {"method": "in-sample"}]


@pytest.mark.parametrize("options", OPTIONS, ids=lambda o: ",".join(o))
def test_the_public_functions_read_off_an_analysis(options):
    """Each function gives exactly what the analysis gives."""
    a = fl.analyse(MODEL, X, Y, **options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", fl.FoldlessWarning)
        assert np.array_equal(fl.auc_posterior(MODEL, X, Y, **options).cdf(LEVELS), a.auc.cdf(LEVELS))
        assert np.array_equal(fl.roc_posterior(MODEL, X, Y, **options).mean(LEVELS), a.roc.mean(LEVELS))
        error = fl.error_posterior(MODEL, X, Y, threshold=0.2, prevalence=0.3, **options)
    assert error.summary() == a.error(threshold=0.2, prevalence=0.3).summary()
    if a.method == "loo":
        about = {key: value for key, value in options.items() if key != "method"}
        assert np.array_equal(fl.honest_scores(MODEL, X, Y, **about).scores, a.scores.scores)
        assert fl.diagnose(MODEL, X, Y, **about).summary() == a.diagnosis.summary()
        assert a.verdict == a.diagnosis.verdict
        assert a.findings == a.diagnosis.findings


def test_all_answers_take_one_look(calls):
    """AUC, curve, rates, scores and findings: one take-apart and one removal, made when the first is asked for."""
    a = fl.analyse(MODEL, X, Y)
    assert repr(a) == "Analysis(Pipeline, 60 rows x 6 columns)"
    assert calls == {"take_apart": 1, "remove_rows": 0}
    assert a.auc is a.auc
    assert a.roc.tpr_at(0.2).mean > 0.2
    assert 0 < a.error().error.mean < 1
    assert 0 < a.error(threshold=1.0).error.mean < 1
    assert a.scores.scores.shape == (60,)
    assert a.verdict in ("trust", "caution", "do not use")
    assert set(a.summary()) >= {"auc", "verdict", "findings"}
    assert repr(a).startswith("Analysis(Pipeline, 60 rows x 6 columns, AUC 0.")
    assert repr(a).endswith(f"verdict={a.verdict!r})")
    assert calls == {"take_apart": 1, "remove_rows": 1}


def test_learning_curve_and_compare_take_analyses(calls):
    """Nothing is computed again for them, and the answers are those of the classifiers."""
    a, b = fl.analyse(MODEL, X, Y), fl.analyse(RidgeClassifier().fit(X, Y), X, Y)
    curve, pair = fl.learning_curve(a, factors=(1, 2)), fl.compare(a, b, rope=0.01)
    ranking = fl.compare_many({"a": a, "b": b})
    assert calls == {"take_apart": 2, "remove_rows": 2}
    assert curve.summary() == fl.learning_curve(MODEL, X, Y, (1, 2)).summary()
    assert pair.summary() == fl.compare(MODEL, b.estimator, X, Y, rope=0.01).summary()
    assert ranking.prob_best == fl.compare_many({"a": MODEL, "b": b.estimator}, X, Y).prob_best


def test_an_analysis_and_a_classifier_can_be_compared():
    """The classifier is analysed on the rows that are given with it."""
    a = fl.analyse(MODEL, X, Y)
    other = RidgeClassifier().fit(X, Y)
    assert fl.compare(a, other, X, Y).summary() == fl.compare(MODEL, other, X, Y).summary()


def test_analyses_of_other_rows_are_not_compared():
    """Nor of other methods."""
    a, b = fl.analyse(MODEL, X, Y), fl.analyse(MODEL, X[::-1], Y[::-1])
    with pytest.raises(fl.InputError, match="differ in their rows"):
        fl.compare(a, b)
    with pytest.raises(fl.InputError, match="differ in their method"):
        fl.compare(a, fl.analyse(MODEL, X, Y, method="in-sample"))


@pytest.mark.parametrize("other", [None, np.arange(60) // 3])
def test_analyses_with_other_groups_are_not_compared(other):
    """Their honest scores lack different rows: the interval of the difference would be wrong without a word."""
    a, b = fl.analyse(MODEL, X, Y, groups=GROUPS), fl.analyse(MODEL, X, Y, groups=other)
    with pytest.raises(fl.InputError, match="differ in their groups"):
        fl.compare(a, b)
    with pytest.raises(fl.InputError, match="differ in their groups"):
        fl.compare(a, RidgeClassifier().fit(X, Y), X, Y, groups=other)


def test_equal_priors_agree():
    """The default, written out or not, is one prior; another one is not."""
    a, b = fl.analyse(MODEL, X, Y), fl.analyse(MODEL, X, Y, prior=fl.EffectPrior.default())
    assert fl.compare(a, b).difference.exactly_zero
    with pytest.raises(fl.InputError, match="differ in their prior"):
        fl.compare(a, fl.analyse(MODEL, X, Y, prior=fl.EffectPrior.flat()))


def test_nothing_given_beside_analyses_is_dropped():
    """Data and options without a model that they could concern are refused."""
    a = fl.analyse(MODEL, X, Y)
    with pytest.raises(fl.InputError, match="leave 'groups' out"):
        fl.compare(a, a, groups=GROUPS)
    with pytest.raises(fl.InputError, match="leave 'X', 'y' out"):
        fl.compare(a, a, X[:5], Y[:5])


def test_an_optimistic_in_sample_answer_is_not_trusted():
    """On noise with many columns the paper's number is far too high; the verdict beside it says so."""
    rng = np.random.default_rng(5)
    noise, y = rng.normal(size=(100, 40)), np.arange(100) % 2
    a = fl.analyse(LogisticRegression().fit(noise, y), noise, y, method="in-sample")
    assert a.auc.mean > 0.7
    assert a.verdict == "do not use"
    assert a.diagnosis.auc is a.auc
    assert a.findings[0].name == "in-sample answer"
    with pytest.raises(fl.InputError, match="method='loo'"):
        fl.learning_curve(a)


def test_a_prior_is_not_reported_as_an_effect_of_copies():
    """Both figures of the finding on copies are under the prior of the analysis."""
    rng = np.random.default_rng(0)
    half, y = rng.normal(size=(30, 5)), np.arange(30) % 2
    twice, labels = np.vstack([half, half]), np.r_[y, y]
    model = LogisticRegression().fit(twice, labels)
    together = fl.analyse(model, twice, labels, prior=fl.EffectPrior.flat(), groups=np.tile(np.arange(30), 2))
    text = fl.analyse(model, twice, labels, prior=fl.EffectPrior.flat()).diagnosis.find("copies").text
    assert f"and {together.auc.mean:.3f} if copies are left out together" in text


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_fit_without_a_solution_is_a_finding(n_classes):
    """Separable classes without a penalty: no AUC, but a verdict, a summary and a repr."""
    y = np.arange(60) % n_classes
    X = np.random.default_rng(0).normal(size=(60, 3)) + 50.0 * np.eye(3)[y]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        a = fl.analyse(LogisticRegression(C=np.inf, max_iter=50).fit(X, y), X, y)
    assert repr(a) == "Analysis(LogisticRegression, 60 rows x 3 columns)"
    assert a.verdict == "do not use"
    assert a.diagnosis.find("no answer").severity == "severe"
    assert a.summary()["auc"] is None
    with pytest.raises(fl.EstimatorError, match="without a penalty"):
        _ = a.auc


def test_what_an_analysis_has_already_is_refused():
    """Data and options beside an analysis would be ignored: that is said."""
    a = fl.analyse(MODEL, X, Y)
    with pytest.raises(fl.InputError, match="leave 'X', 'y', 'groups' out"):
        fl.auc_posterior(a, X, Y, groups=GROUPS)
    with pytest.raises(fl.InputError, match="an Analysis already"):
        fl.analyse(a, X, Y)


def test_unusable_input_is_refused_at_once():
    """Not when the first answer is asked for."""
    with pytest.raises(fl.EstimatorError, match="not fitted"):
        fl.analyse(LogisticRegression(), X, Y)
    with pytest.raises(fl.InputError, match="method"):
        fl.analyse(MODEL, X, Y, method="bootstrap")
    with pytest.raises(fl.PriorError, match="EffectPrior"):
        fl.analyse(MODEL, X, Y, prior="x")
    for wrong in ({"groups": [1, 2]}, {"sample_weight": [1.0, 2.0]}):
        with pytest.raises(fl.InputError, match="2"):
            fl.analyse(MODEL, X, Y, **wrong)
    with pytest.raises(fl.InputError, match="X is missing"):
        fl.auc_posterior(MODEL)
    with pytest.raises(fl.InputError, match="no groups"):
        fl.analyse(MODEL, X, Y, method="in-sample", groups=GROUPS)


def test_warnings_are_data():
    """An analysis emits nothing; the public functions emit what it carries."""
    model = LogisticRegression(max_iter=2, C=100.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it stops far from its optimum, on purpose
        model.fit(1e3 * X, Y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        a = fl.analyse(model, 1e3 * X, Y, method="loo")
        assert 0 < a.auc.mean < 1
        carried = a.warnings
        assert fl.analyse(MODEL, X, Y, method="in-sample").warnings[0].__class__ is fl.OptimismWarning
    with warnings.catch_warnings(record=True) as emitted:
        warnings.simplefilter("always")
        fl.auc_posterior(model, 1e3 * X, Y, method="loo")
    assert [(type(w), str(w)) for w in carried] == [(w.category, str(w.message)) for w in emitted]
    assert carried


def test_noise_of_three_classes_with_every_row_twice_is_noticed():
    """A copy of a row gives its label away, with three classes as with two: the answer says so."""
    half, codes = noise_of_three_classes()
    twice, y = np.vstack([half, half]), np.r_[codes, codes]
    a = fl.analyse(LogisticRegression().fit(twice, y), twice, y)
    assert a.auc.mean > 0.65  # wrong, so
    assert any("an earlier one in every column" in note for note in a.auc.notes)
    assert a.diagnosis.find("copies").severity == "severe"
    assert a.verdict == "do not use"
    clean = fl.analyse(LogisticRegression().fit(half, codes), half, codes)
    assert not any("equal to another" in note for note in clean.notes)
    assert clean.diagnosis.find("copies") is None


@pytest.mark.parametrize("column", [lambda y: y, lambda y: y == 2, lambda y: np.array([5.0, -1.0, 3.0])[y]])
def test_a_column_that_is_the_label_of_three_classes_is_noticed(column):
    """Whether it numbers the classes in another way or marks one of them."""
    noise, y = noise_of_three_classes(1)
    leaking = np.column_stack([noise, column(y).astype(float)])
    a = fl.analyse(RidgeClassifier().fit(leaking, y), leaking, y)
    assert any("column 10" in note and "is the label" in note for note in a.notes)
    assert a.diagnosis.find("leak").severity == "severe"
    assert a.verdict == "do not use"
    assert not any("is the label" in note for note in fl.auc_posterior(RidgeClassifier().fit(noise, y), noise, y).notes)


def test_diagnose_takes_three_classes():
    """The findings that need no single score per row are the same for any number of classes."""
    noise, y = noise_of_three_classes(2)
    ordered = np.cumsum(noise, axis=0)
    diagnosis = fl.diagnose(RidgeClassifier().fit(ordered, y), ordered, y)
    assert "neighbours" in diagnosis.flagged
    assert diagnosis.auc.classes == (0, 1, 2)
    few = np.r_[0:4, 20:40, 40:60]
    unequal = fl.diagnose(RidgeClassifier().fit(noise[few], np.sort(y)[few]), noise[few], np.sort(y)[few])
    assert "few rows" in unequal.flagged


def test_a_stream_is_never_trusted_unseen():
    """Rows and columns of a table that is read in blocks cannot be checked: the verdict says so."""

    def chunks():
        yield X[:30], Y[:30]
        yield X[30:], Y[30:]

    a = fl.analyse(MODEL, chunks)
    assert a.auc.mean == pytest.approx(fl.auc_posterior(MODEL, X, Y).mean, abs=1e-8)
    assert a.verdict == "caution"
    assert a.diagnosis.find("not checked") is not None


@pytest.mark.parametrize(
    "words", [["auc"], ["auc", "--out", "p.png"], ["report", "--no-search", "-o", "r.html"], ["plan"]], ids=" ".join
)
def test_a_command_makes_one_analysis(calls, tmp_path, monkeypatch, words):
    """One take-apart and one removal, whatever is printed and drawn of them."""
    from click.testing import CliRunner

    from foldless.cli.app import app

    monkeypatch.chdir(tmp_path)
    np.savetxt("t.csv", np.column_stack([X, Y]), delimiter=",", header="a,b,c,d,e,f,y", comments="")
    result = CliRunner().invoke(app, [words[0], "t.csv", "--target", "y", *words[1:]])
    assert result.exit_code == 0, result.output
    assert calls == {"take_apart": 1, "remove_rows": 1}
