"""The AUC: its posterior, and the density drawn; with more than two classes the pairs as well."""

from __future__ import annotations

from typing import Any

from foldless._html import numbers
from foldless._html.density import density_curve
from foldless.display.auc import AUCPosteriorDisplay
from foldless.estimate import auc_posterior
from foldless.multiclass import MulticlassAUCPosterior
from foldless.reporting import pictures
from foldless.reporting.case import Case, Part


def part(case: Case) -> Part:
    """The answer of `auc_posterior`, and its picture."""
    post = auc_posterior(case.estimator, case.X, case.y, **case.about)
    content: dict[str, Any] = post.summary(case.level)
    if isinstance(post, MulticlassAUCPosterior):
        content["weakest"] = list(post.pairwise.weakest())
    curve = density_curve(post, case.level)
    quantity = "average AUC" if isinstance(post, MulticlassAUCPosterior) else "AUC"
    words = (
        f"Posterior density of the {quantity}: mean {numbers.rate(post.mean)}, {numbers.percent(case.level)} interval "
        f"{numbers.span(content['low'], content['high'])}."
    )

    def draw(ax: Any) -> None:
        AUCPosteriorDisplay({"": curve}, quantity=quantity).plot(ax)
        ax.set_yticks([])

    return Part(content, {"density": pictures.svg("density", words, draw, 2.1)})
