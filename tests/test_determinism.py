"""The same call gives the same bits, whatever `n_jobs` is, and leaves the global random state alone."""

from __future__ import annotations

import io
import os
import pickle
import random
import subprocess
import sys
import warnings

import matplotlib.pyplot
import numpy as np
import pytest
from click.testing import CliRunner
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import foldless as fl
from foldless import baselines
from foldless.baselines import folds, given, resampling
from foldless.cli.app import app
from foldless.streaming import fit_logistic, in_blocks

X, Y = make_classification(60, 6, n_informative=3, flip_y=0.2, random_state=0)
X3, Y3 = make_classification(60, 6, n_informative=4, n_classes=3, flip_y=0.1, random_state=1)
MODEL = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, Y)
OTHER = RidgeClassifier().fit(X, Y)
TRIALS = X.reshape(60, 2, 3)  # trials, features, times
THREE = LogisticRegression().fit(X3, Y3)
FOREST = RandomForestClassifier(5).fit(X, Y)  # no seed of its own
LEVELS = np.linspace(0.0, 1.0, 11)
GRID = {"alpha": [0.1, 1.0, 10.0]}
TWO_KINDS = [{"alpha": [0.1, 1.0]}, {"solver": ["lsqr", "cholesky"]}]


def law(post):
    """Everything a posterior has to say, as numbers."""
    return post.mean, post.sd, *post.interval(), *post.cdf(LEVELS), *post.sample(5, rng=3)


def searched(n_jobs=None, grid=GRID):
    found = fl.FoldlessSearch(RidgeClassifier(), grid, n_jobs=n_jobs).fit(X, Y)
    return found.best_index_, found.optimism_, *found.results_["mean"], *found.results_["upper"]


def ranked():
    found = fl.compare_many({"a": MODEL, "b": OTHER, "c": np.ones(6)}, X, Y)
    return *found.prob_best.values(), *(model.auc.mean for model in found.models)


def drawn(display):
    """A display as the bytes of its picture."""
    matplotlib.use("Agg")
    canvas = io.BytesIO()
    figure = display().ax_.figure
    figure.savefig(canvas, format="png", dpi=40)
    matplotlib.pyplot.close(figure)
    return (canvas.getvalue(),)


def told(*words):
    """What a command prints, on a file of its own."""
    runner = CliRunner()
    with runner.isolated_filesystem():
        np.savetxt("t.csv", np.column_stack([X, Y]), delimiter=",", header="a,b,c,d,e,f,y", comments="")
        result = runner.invoke(app, [words[0], *(["t.csv", "--target", "y"] if words[0] != "plan" else []), *words[1:]])
    assert result.exit_code == 0, result.output
    return (result.output,)


def compared(method="auto"):
    found = fl.compare(MODEL, OTHER, X, Y, method=method, rope=0.01)
    return found.difference.mean, *found.difference.interval(), found.prob_rope, *found.difference.sample(5, rng=1)


CALLS = {
    "analyse": lambda: law(fl.analyse(MODEL, X, Y).auc),
    "auc_posterior": lambda: law(fl.auc_posterior(MODEL, X, Y)),
    "auc_posterior, groups": lambda: law(fl.auc_posterior(MODEL, X, Y, groups=np.arange(60) // 2)),
    "auc_posterior, weights": lambda: law(fl.auc_posterior(np.ones(6), X, Y)),
    "auc_posterior, in-sample": lambda: law(fl.auc_posterior(MODEL, X, Y, method="in-sample")),
    "auc_posterior, adaptive": lambda: law(
        fl.auc_posterior(MODEL, X, Y, method="in-sample", prior=fl.Prior.adaptive())
    ),
    "auc_posterior, refit": lambda: law(fl.auc_posterior(FOREST, X, Y, method="refit")),
    "auc_posterior, three classes": lambda: law(fl.auc_posterior(THREE, X3, Y3)),
    "auc_posterior_from_scores": lambda: law(fl.auc_posterior_from_scores(Y, X[:, 0])),
    "roc_posterior_from_scores": lambda: tuple(fl.roc_posterior_from_scores(Y, X[:, 0]).mean(LEVELS)),
    "error_posterior_from_scores": lambda: tuple(
        fl.error_posterior_from_scores(Y, X[:, 0], threshold=0.0).ppv.interval()
    ),
    "roc_posterior": lambda: tuple(fl.roc_posterior(MODEL, X, Y).mean(LEVELS)),
    "error_posterior": lambda: tuple(fl.error_posterior(MODEL, X, Y).ppv.interval()),
    "validate": lambda: (fl.validate(MODEL, X, Y).to_json(),),
    "honest_scores": lambda: tuple(fl.honest_scores(MODEL, X, Y).scores),
    "cbauc": lambda: (fl.cbauc(np.ones(6), X, Y),),
    "ScoreStats": lambda: (float(fl.ScoreStats.from_data(X, Y, np.ones(6)).scatter1),),
    "auc_posterior_many": lambda: tuple(fl.auc_posterior_many(np.eye(6), X, Y).mean),
    "report": lambda: (fl.report(OTHER, X, Y, search=False).html,),
    "compare": compared,
    "compare, in-sample": lambda: compared("in-sample"),
    "compare_many": ranked,
    "diagnose": lambda: (str(fl.diagnose(MODEL, X, Y)),),
    "plan_sample_size": lambda: (fl.plan_sample_size(0.8, 0.05), fl.plan_sample_size(0.8, above=0.7)),
    "learning_curve": lambda: tuple(post.mean for post in fl.learning_curve(MODEL, X, Y).posteriors),
    "permutation_test": lambda: tuple(fl.permutation_test(MODEL, X, Y, 50).null),
    "decode": lambda: tuple(fl.decode(MODEL, TRIALS, Y, n_permutations=50).null),
    "FoldlessSearch": searched,
    "FoldlessSearch, fits of its own": lambda: searched(grid=TWO_KINDS),
    "auc_scorer": lambda: (fl.auc_scorer(MODEL, X, Y),),
    "cv_auc": lambda: (float(folds.cv_auc(OTHER, X, Y, repeats=2)),),
    "bootstrap632plus_auc": lambda: (float(resampling.bootstrap632plus_auc(OTHER, X, Y, n_bootstraps=5)),),
    "loo_auc": lambda: (float(resampling.loo_auc(OTHER, X, Y)),),
    "leave_pair_out_auc": lambda: (float(resampling.leave_pair_out_auc(OTHER, X, Y, max_pairs=20)),),
    "ebauc": lambda: (float(given.ebauc(OTHER, X, Y)),),
    "binormal_auc": lambda: (float(given.binormal_auc(OTHER, X, Y)),),
    "resubstitution_auc": lambda: (float(given.resubstitution_auc(OTHER, X, Y)),),
    "delong": lambda: tuple(given.delong(Y, X[:, 0]).interval()),
    "delong_test": lambda: tuple(given.delong_test(Y, X[:, 0], X[:, 1])),
    "true_auc, bayes_auc": lambda: (baselines.true_auc([1, 0], 0, [1, 1], 1), baselines.bayes_auc([0, 0], [1, 1], 1)),
    "in_blocks": lambda: law(fl.auc_posterior(MODEL, in_blocks(X, Y, elements=60))),
    "fit_logistic": lambda: tuple(fit_logistic(in_blocks(X, Y, elements=60))[-1].coef_.ravel()),
    "AUCPosteriorDisplay": lambda: drawn(lambda: fl.AUCPosteriorDisplay.from_estimator(MODEL, X, Y)),
    "ROCPosteriorDisplay": lambda: drawn(lambda: fl.ROCPosteriorDisplay.from_estimator(MODEL, X, Y)),
    "ComparisonDisplay": lambda: drawn(lambda: fl.ComparisonDisplay.from_estimators(MODEL, OTHER, X, Y)),
    "CalibrationDisplay": lambda: drawn(lambda: fl.CalibrationDisplay.from_estimator(MODEL, X, Y)),
    "DecisionCurveDisplay": lambda: drawn(lambda: fl.DecisionCurveDisplay.from_estimator(MODEL, X, Y)),
    "PrecisionRecallPosteriorDisplay": lambda: drawn(
        lambda: fl.PrecisionRecallPosteriorDisplay.from_estimator(MODEL, X, Y)
    ),
    "LearningCurveDisplay": lambda: drawn(lambda: fl.LearningCurveDisplay.from_estimator(MODEL, X, Y)),
    "PermutationDisplay": lambda: drawn(lambda: fl.PermutationDisplay.from_estimator(MODEL, X, Y, n_permutations=50)),
    "DecodingDisplay": lambda: drawn(lambda: fl.DecodingDisplay.from_estimator(MODEL, TRIALS, Y, n_permutations=50)),
    "PairwiseAUCDisplay": lambda: drawn(lambda: fl.PairwiseAUCDisplay.from_estimator(THREE, X3, Y3)),
    "SearchDisplay": lambda: drawn(
        lambda: fl.SearchDisplay.from_estimator(fl.FoldlessSearch(RidgeClassifier(), GRID).fit(X, Y))
    ),
    "foldless auc": lambda: told("auc", "--json"),
    "foldless compare": lambda: told("compare", "--models", "logistic,ridge", "--json"),
    "foldless search": lambda: told("search", "--json"),
    "foldless permute": lambda: told("permute", "--permutations", "50", "--json"),
    "foldless plan": lambda: told("plan", "--auc", "0.8", "--half-width", "0.05", "--json"),
    "notebook output": lambda: (fl.auc_posterior(MODEL, X, Y)._repr_html_(),),
}
JOBS = {
    "permutation_test": lambda jobs: tuple(fl.permutation_test(MODEL, X, Y, 600, n_jobs=jobs).null),
    "decode": lambda jobs: tuple(fl.decode(MODEL, TRIALS, Y, n_permutations=50, n_jobs=jobs).null),
    "FoldlessSearch": lambda jobs: searched(jobs, TWO_KINDS),
    "cv_auc": lambda jobs: (float(folds.cv_auc(OTHER, X, Y, repeats=2, n_jobs=jobs)),),
    "bootstrap632plus_auc": lambda jobs: (
        float(resampling.bootstrap632plus_auc(OTHER, X, Y, n_bootstraps=6, n_jobs=jobs)),
    ),
    "loo_auc": lambda jobs: (float(resampling.loo_auc(OTHER, X[:20], Y[:20], n_jobs=jobs)),),
    "leave_pair_out_auc": lambda jobs: (float(resampling.leave_pair_out_auc(OTHER, X, Y, max_pairs=20, n_jobs=jobs)),),
}


def random_state():
    """The state of both global generators, as bytes."""
    return pickle.dumps((random.getstate(), np.random.get_state()))  # noqa: NPY002


def called(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return CALLS[name]()


@pytest.mark.parametrize("name", CALLS)
def test_same_bits_and_global_random_state_left_alone(name):
    """Two calls under different global seeds agree bit for bit, and neither moves the global generators."""
    answers = []
    for seed in (1, 2):
        np.random.seed(seed)  # noqa: NPY002
        random.seed(seed)
        before = random_state()
        answers.append(called(name))
        assert random_state() == before
    assert pickle.dumps(answers[0]) == pickle.dumps(answers[1])


def test_every_public_function_is_called():
    """A public function that is added must be added here."""
    functions = {name for name in fl.__all__ if name[0].islower() and name not in fl._SUBPACKAGES}
    functions |= {name for name in baselines.__all__ if name[0].islower()}
    functions |= {"fit_logistic", "in_blocks"}
    functions |= {name for name in fl.__all__ if name.endswith("Display")}
    called = {name for call in CALLS for name in call.split(", ")}
    assert not functions - called


@pytest.mark.parametrize("name", JOBS)
def test_same_bits_for_any_n_jobs(name):
    """One process and two give the same bits."""
    assert pickle.dumps(JOBS[name](None)) == pickle.dumps(JOBS[name](2))


def test_seed_of_sample_is_the_only_randomness():
    """Draws depend on the seed that is passed, a fresh generator is made without one."""
    post = fl.auc_posterior(MODEL, X, Y)
    assert np.array_equal(post.sample(4, rng=7), post.sample(4, rng=7))
    assert not np.array_equal(post.sample(4), post.sample(4))


def test_row_subset_of_large_data_is_fixed():
    """Above the limit pairs are evaluated on a random subset, and that subset is always the same."""
    rng = np.random.default_rng(0)
    wide, labels = rng.normal(size=(4500, 2)), np.arange(4500) % 2
    model = RidgeClassifier().fit(wide, labels)
    first, second = (fl.auc_posterior(model, wide, labels) for _ in range(2))
    assert law(first) == law(second)


@pytest.fixture(scope="module")
def patients(tmp_path_factory):
    """Two classes, numbers and a column of words."""
    rng = np.random.default_rng(0)
    path = tmp_path_factory.mktemp("data") / "patients.csv"
    rows = [f"{a:.6f},{b:.6f},{'uvw'[k % 3]},{k % 2}" for k, (a, b) in enumerate(rng.normal(size=(60, 2)))]
    path.write_text("a,b,word,y\n" + "\n".join(rows) + "\n")
    return path


COMMANDS = {
    "auc": ["auc", "FILE", "--target", "y", "--one-hot", "--out", "p.svg"],
    "search": ["search", "FILE", "--target", "y", "--one-hot", "--out", "p.svg"],
    "compare": ["compare", "FILE", "--target", "y", "--one-hot", "--models", "logistic,ridge,lda", "--out", "p.svg"],
    "report": ["report", "FILE", "--target", "y", "--one-hot", "-o", "p.html"],
    "plan": ["plan", "FILE", "--target", "y", "--one-hot", "--out", "p.pdf"],
}


@pytest.mark.slow
@pytest.mark.parametrize("name", COMMANDS)
def test_commands_give_the_same_bytes_whatever_the_hash_seed(name, patients, tmp_path):
    """Two processes that order their sets differently print the same and write the same files, pictures included."""
    found = []
    for seed in ("1", "2"):
        folder = tmp_path / seed
        folder.mkdir()
        words = [str(patients) if word == "FILE" else word for word in COMMANDS[name]]
        call = [sys.executable, "-c", "from foldless.cli import main; main()", *words]
        done = subprocess.run(
            call, cwd=folder, env={**os.environ, "PYTHONHASHSEED": seed}, capture_output=True, check=True
        )
        found.append((done.stdout, {path.name: path.read_bytes() for path in folder.iterdir()}))
    assert found[0] == found[1]
    assert len(found[0][1]) == 1
