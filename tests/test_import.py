"""`import foldless` is light, and every public name is there."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import foldless as fl

ROOT, NEEDS = Path(__file__).parents[1], re.compile("^(import|from) torch", re.MULTILINE)
HEAVY = ("sklearn", "scipy.stats", "scipy.optimize", "matplotlib", "click", "rich", "polars", "pandas", "dask", "torch")
# The public names; add a new one here.
NAMES = (
    "AUCPosterior", "AUCPosteriorDisplay", "AUCPosteriors", "auc_posterior_many",
    "Comparison", "ComparisonDisplay", "Diagnosis", "EffectPrior",
    "ErrorPosterior", "EstimatorError", "Finding", "FoldlessError", "FoldlessSearch", "FoldlessWarning",
    "HonestScores", "InputError", "LearningCurve", "LearningCurveDisplay", "MulticlassAUCPosterior",
    "OptimismWarning", "PairwiseAUCDisplay", "Prior", "PriorError", "ROCPosterior", "ROCPosteriorDisplay", "Ranking",
    "Report", "report",
    "SamplePlan", "ScoreStats", "SearchDisplay", "TrustWarning", "auc_posterior", "auc_posterior_from_scores",
    "auc_scorer", "baselines", "streaming", "cbauc", "compare", "compare_many", "diagnose", "error_posterior",
    "honest_scores", "learning_curve", "plan_sample_size", "roc_posterior", "Calibration", "Measure", "NetBenefit",
    "PrecisionRecall", "Validation", "validate", "CalibrationDisplay", "DecisionCurveDisplay",
    "PrecisionRecallPosteriorDisplay",
    "PermutationDisplay", "PermutationTest", "permutation_test", "error_posterior_from_scores",
    "roc_posterior_from_scores",
    "Decoding", "DecodingDisplay", "decode",
)  # fmt: skip


def loaded_after(statement: str) -> set[str]:
    """Modules in sys.modules after a statement in a fresh interpreter."""
    code = f"{statement}; import sys; print(' '.join(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_import_is_light():
    """`import foldless` loads none of the heavy libraries, and neither does dir()."""
    assert not loaded_after("import foldless; dir(foldless)") & set(HEAVY)


def test_the_paper_number_needs_no_sklearn():
    """cbauc and ScoreStats work without scikit-learn and scipy.stats being loaded."""
    loaded = loaded_after(
        "import foldless as fl; fl.cbauc([1.0], [[0.0], [1.0], [2.0], [3.0]], [0, 1, 0, 1]); "
        "fl.ScoreStats.from_scores([0, 1], [0.0, 1.0])"
    )
    assert not loaded & {"sklearn", "scipy.stats", "matplotlib", "pandas", "polars"}


@pytest.mark.parametrize("name", NAMES)
def test_public_names(name):
    """Each name can be reached, is listed by dir() and by __all__, and has a docstring."""
    assert getattr(fl, name).__doc__
    assert name in dir(fl)
    assert name in fl.__all__


def test_dir_lists_nothing_that_is_not_there():
    """Everything that dir() promises exists."""
    for name in dir(fl):
        assert getattr(fl, name) is not None


def test_unknown_name_is_an_attribute_error():
    """A misspelt name fails like any other attribute, and names the module."""
    with pytest.raises(AttributeError, match=r"foldless.*auc_posteriors"):
        fl.auc_posteriors  # noqa: B018


def test_star_import_and_errors():
    """`from foldless import *` works, and all errors are ValueErrors, all warnings UserWarnings."""
    loaded_after("from foldless import *")
    assert all(issubclass(e, ValueError) for e in (fl.InputError, fl.PriorError, fl.EstimatorError))
    assert all(issubclass(w, UserWarning) for w in (fl.OptimismWarning, fl.TrustWarning))


def test_modules_that_need_pytorch_are_not_looked_through_for_doctests():
    """The development extra leaves PyTorch out: `make test` would fail on a fresh machine."""
    options = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["pytest"]["ini_options"]["addopts"]
    left_out = re.findall(r"--ignore-glob=(\S+)", options)
    need = [
        file
        for part in ("src", "studies/src")
        for file in (ROOT / part).rglob("*.py")
        if NEEDS.search(file.read_text())
    ]
    assert len(need) >= 3
    assert [file for file in need if not any(file.match(each) for each in left_out)] == []
