"""From an analysis to what users get: the posterior of the AUC, and the notes that a reader must know.

`table_notes` are what one look at the table told (`foldless.findings.quick`), the same for all models of that table.
"""

from __future__ import annotations

from dataclasses import replace

from foldless.auc import AUCPosterior
from foldless.findings.finding import found
from foldless.findings.scores import few_rows, score_findings
from foldless.honest.analysis import Analysis


def auc_answer(analysis: Analysis, n0: int, n1: int, table_notes: tuple[str, ...]) -> AUCPosterior:
    """The posterior of the AUC; `foldless.diagnose` looks closer."""
    post = AUCPosterior.from_effect(
        analysis.effect, analysis.removed.method, n0, n1, analysis.notes + table_notes, analysis.details()
    )
    seen = tuple(finding.note for finding in score_findings(analysis, post) if finding.level > 0)
    return replace(post, notes=post.notes + seen)


def rate_notes(analysis: Analysis, table_notes: tuple[str, ...]) -> tuple[str, ...]:
    """Notes of results that are not about the AUC: error rates, curves, scores."""
    return analysis.notes + table_notes + tuple(finding.note for finding in found(few_rows(analysis)))
