"""The diagnosis: all findings, and the verdict."""

from __future__ import annotations

from typing import Any

from foldless.diagnosis.run import diagnose
from foldless.reporting.case import TWO_ONLY, Case, Part


def part(case: Case) -> Part:
    """The findings of `diagnose`, the worst first; the AUC is told elsewhere."""
    if not case.two_classes:
        return Part.skipped(f"{TWO_ONLY} Notes on the fit, if any, stand at the top.")
    found = diagnose(case.estimator, case.X, case.y, **case.about)
    content: dict[str, Any] = {key: value for key, value in found.summary().items() if key != "auc"}
    return Part(content)
