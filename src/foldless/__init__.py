"""foldless: how good a linear classifier is, from the data it was trained on and one fit.

    import foldless as fl
    post = fl.auc_posterior(fitted_classifier, X, y)
    post.mean, post.interval()

Names are loaded on first use (PEP 562), so that ``import foldless`` costs little more than NumPy.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_HOME = {
    "AUCPosterior": "auc",
    "AUCPosteriorDisplay": "display",
    "AUCPosteriors": "given_weights",
    "Comparison": "comparison.two",
    "ComparisonDisplay": "display",
    "Diagnosis": "diagnosis.result",
    "EffectPrior": "honest.posterior",
    "ErrorPosterior": "error",
    "Finding": "findings.finding",
    "FoldlessSearch": "search.meta",
    "HonestScores": "honest.analysis",
    "LearningCurve": "plan.learning",
    "LearningCurveDisplay": "display",
    "MulticlassAUCPosterior": "multiclass",
    "PairwiseAUCDisplay": "display",
    "Prior": "prior",
    "Ranking": "comparison.many",
    "Report": "reporting.result",
    "ROCPosterior": "roc",
    "ROCPosteriorDisplay": "display",
    "SamplePlan": "plan.sample_size",
    "ScoreStats": "moments",
    "SearchDisplay": "display",
    "auc_posterior": "estimate",
    "auc_posterior_from_scores": "estimate",
    "auc_posterior_many": "given_weights",
    "auc_scorer": "search.scorer",
    "cbauc": "given_weights",
    "compare": "comparison.two",
    "compare_many": "comparison.many",
    "diagnose": "diagnosis.run",
    "error_posterior": "estimate",
    "honest_scores": "estimate",
    "learning_curve": "plan.learning",
    "plan_sample_size": "plan.sample_size",
    "report": "reporting.run",
    "roc_posterior": "estimate",
    "EstimatorError": "errors",
    "FoldlessError": "errors",
    "FoldlessWarning": "errors",
    "InputError": "errors",
    "OptimismWarning": "errors",
    "PriorError": "errors",
    "TrustWarning": "errors",
}
_SUBPACKAGES = ("baselines", "streaming")

__all__ = ["__version__", *_HOME, *_SUBPACKAGES]

if TYPE_CHECKING:
    from foldless import baselines as baselines
    from foldless import streaming as streaming
    from foldless.auc import AUCPosterior as AUCPosterior
    from foldless.comparison.many import Ranking as Ranking
    from foldless.comparison.many import compare_many as compare_many
    from foldless.comparison.two import Comparison as Comparison
    from foldless.comparison.two import compare as compare
    from foldless.diagnosis.result import Diagnosis as Diagnosis
    from foldless.diagnosis.run import diagnose as diagnose
    from foldless.display import AUCPosteriorDisplay as AUCPosteriorDisplay
    from foldless.display import ComparisonDisplay as ComparisonDisplay
    from foldless.display import LearningCurveDisplay as LearningCurveDisplay
    from foldless.display import PairwiseAUCDisplay as PairwiseAUCDisplay
    from foldless.display import ROCPosteriorDisplay as ROCPosteriorDisplay
    from foldless.display import SearchDisplay as SearchDisplay
    from foldless.error import ErrorPosterior as ErrorPosterior
    from foldless.errors import EstimatorError as EstimatorError
    from foldless.errors import FoldlessError as FoldlessError
    from foldless.errors import FoldlessWarning as FoldlessWarning
    from foldless.errors import InputError as InputError
    from foldless.errors import OptimismWarning as OptimismWarning
    from foldless.errors import PriorError as PriorError
    from foldless.errors import TrustWarning as TrustWarning
    from foldless.estimate import auc_posterior as auc_posterior
    from foldless.estimate import auc_posterior_from_scores as auc_posterior_from_scores
    from foldless.estimate import error_posterior as error_posterior
    from foldless.estimate import honest_scores as honest_scores
    from foldless.estimate import roc_posterior as roc_posterior
    from foldless.findings.finding import Finding as Finding
    from foldless.given_weights import AUCPosteriors as AUCPosteriors
    from foldless.given_weights import auc_posterior_many as auc_posterior_many
    from foldless.given_weights import cbauc as cbauc
    from foldless.honest.analysis import HonestScores as HonestScores
    from foldless.honest.posterior import EffectPrior as EffectPrior
    from foldless.moments import ScoreStats as ScoreStats
    from foldless.multiclass import MulticlassAUCPosterior as MulticlassAUCPosterior
    from foldless.plan.learning import LearningCurve as LearningCurve
    from foldless.plan.learning import learning_curve as learning_curve
    from foldless.plan.sample_size import SamplePlan as SamplePlan
    from foldless.plan.sample_size import plan_sample_size as plan_sample_size
    from foldless.prior import Prior as Prior
    from foldless.reporting.result import Report as Report
    from foldless.reporting.run import report as report
    from foldless.roc import ROCPosterior as ROCPosterior
    from foldless.search.meta import FoldlessSearch as FoldlessSearch
    from foldless.search.scorer import auc_scorer as auc_scorer


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
