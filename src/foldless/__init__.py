"""foldless: how good a linear classifier is, from the data it was trained on and one fit.

    import foldless as fl
    post = fl.auc_posterior(fitted_classifier, X, y)
    post.mean, post.interval()

Names are loaded on first use (PEP 562), so that ``import foldless`` costs little more than NumPy.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

# The public names of each module.
_NAMES = {
    "analysis": "Analysis analyse",
    "comparison.answers": "Comparison Ranking compare compare_many",
    "errors": "EstimatorError FoldlessError FoldlessWarning InputError OptimismWarning PriorError TrustWarning",
    "estimate": "auc_posterior diagnose error_posterior honest_scores roc_posterior",
    "findings.finding": "Diagnosis Finding",
    "given_scores": "auc_posterior_from_scores error_posterior_from_scores roc_posterior_from_scores",
    "given_weights": "AUCPosteriors auc_posterior_many cbauc",
    "honest.posterior": "EffectPrior",
    "laws.moments": "ScoreStats",
    "laws.prior": "Prior",
    "measures": "NetBenefit",
    "permutation.answer": "PermutationTest permutation_test",
    "permutation.decoding": "Decoding decode",
    "plan.learning": "LearningCurve learning_curve",
    "plan.sample_size": "SamplePlan plan_sample_size",
    "results.auc": "AUCPosterior HonestScores",
    "results.classes": "MulticlassAUCPosterior",
    "results.error": "ErrorPosterior",
    "results.roc": "PrecisionRecall ROCPosterior",
    "results.calibration": "Calibration",
    "results.measure": "Measure",
    "search.meta": "FoldlessSearch auc_scorer",
    "show.auc": "AUCPosteriorDisplay PairwiseAUCDisplay",
    "show.comparison": "ComparisonDisplay LearningCurveDisplay",
    "show.permutation": "DecodingDisplay PermutationDisplay",
    "show.report.run": "Report report",
    "show.roc": "ROCPosteriorDisplay",
    "show.search": "SearchDisplay",
    "show.validation": "CalibrationDisplay DecisionCurveDisplay PrecisionRecallPosteriorDisplay",
    "validation": "Validation validate",
}
_HOME = {name: module for module, names in _NAMES.items() for name in names.split()}
_SUBPACKAGES = ("baselines", "streaming")

__all__ = ["__version__", *_HOME, *_SUBPACKAGES]

if TYPE_CHECKING:
    from foldless import baselines as baselines
    from foldless import streaming as streaming
    from foldless.analysis import Analysis as Analysis
    from foldless.analysis import analyse as analyse
    from foldless.comparison.answers import Comparison as Comparison
    from foldless.comparison.answers import Ranking as Ranking
    from foldless.comparison.answers import compare as compare
    from foldless.comparison.answers import compare_many as compare_many
    from foldless.errors import EstimatorError as EstimatorError
    from foldless.errors import FoldlessError as FoldlessError
    from foldless.errors import FoldlessWarning as FoldlessWarning
    from foldless.errors import InputError as InputError
    from foldless.errors import OptimismWarning as OptimismWarning
    from foldless.errors import PriorError as PriorError
    from foldless.errors import TrustWarning as TrustWarning
    from foldless.estimate import auc_posterior as auc_posterior
    from foldless.estimate import diagnose as diagnose
    from foldless.estimate import error_posterior as error_posterior
    from foldless.estimate import honest_scores as honest_scores
    from foldless.estimate import roc_posterior as roc_posterior
    from foldless.findings.finding import Diagnosis as Diagnosis
    from foldless.findings.finding import Finding as Finding
    from foldless.given_scores import auc_posterior_from_scores as auc_posterior_from_scores
    from foldless.given_scores import error_posterior_from_scores as error_posterior_from_scores
    from foldless.given_scores import roc_posterior_from_scores as roc_posterior_from_scores
    from foldless.given_weights import AUCPosteriors as AUCPosteriors
    from foldless.given_weights import auc_posterior_many as auc_posterior_many
    from foldless.given_weights import cbauc as cbauc
    from foldless.honest.posterior import EffectPrior as EffectPrior
    from foldless.laws.moments import ScoreStats as ScoreStats
    from foldless.laws.prior import Prior as Prior
    from foldless.measures import NetBenefit as NetBenefit
    from foldless.permutation.answer import PermutationTest as PermutationTest
    from foldless.permutation.answer import permutation_test as permutation_test
    from foldless.permutation.decoding import Decoding as Decoding
    from foldless.permutation.decoding import decode as decode
    from foldless.plan.learning import LearningCurve as LearningCurve
    from foldless.plan.learning import learning_curve as learning_curve
    from foldless.plan.sample_size import SamplePlan as SamplePlan
    from foldless.plan.sample_size import plan_sample_size as plan_sample_size
    from foldless.results.auc import AUCPosterior as AUCPosterior
    from foldless.results.auc import HonestScores as HonestScores
    from foldless.results.calibration import Calibration as Calibration
    from foldless.results.classes import MulticlassAUCPosterior as MulticlassAUCPosterior
    from foldless.results.error import ErrorPosterior as ErrorPosterior
    from foldless.results.measure import Measure as Measure
    from foldless.results.roc import PrecisionRecall as PrecisionRecall
    from foldless.results.roc import ROCPosterior as ROCPosterior
    from foldless.search.meta import FoldlessSearch as FoldlessSearch
    from foldless.search.meta import auc_scorer as auc_scorer
    from foldless.show.auc import AUCPosteriorDisplay as AUCPosteriorDisplay
    from foldless.show.auc import PairwiseAUCDisplay as PairwiseAUCDisplay
    from foldless.show.comparison import ComparisonDisplay as ComparisonDisplay
    from foldless.show.comparison import LearningCurveDisplay as LearningCurveDisplay
    from foldless.show.permutation import DecodingDisplay as DecodingDisplay
    from foldless.show.permutation import PermutationDisplay as PermutationDisplay
    from foldless.show.report.run import Report as Report
    from foldless.show.report.run import report as report
    from foldless.show.roc import ROCPosteriorDisplay as ROCPosteriorDisplay
    from foldless.show.search import SearchDisplay as SearchDisplay
    from foldless.show.validation import CalibrationDisplay as CalibrationDisplay
    from foldless.show.validation import DecisionCurveDisplay as DecisionCurveDisplay
    from foldless.show.validation import PrecisionRecallPosteriorDisplay as PrecisionRecallPosteriorDisplay
    from foldless.validation import Validation as Validation
    from foldless.validation import validate as validate


def __getattr__(name: str) -> Any:
    if name in _SUBPACKAGES:
        return import_module(f"foldless.{name}")
    if name not in _HOME:
        raise AttributeError(f"module 'foldless' has no attribute {name!r}")
    value = getattr(import_module(f"foldless.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
