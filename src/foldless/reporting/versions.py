"""Where a report comes from: the versions and the exact command, the title and the name of the data."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, metadata, version
from typing import Any

from foldless.reporting.case import Case
from foldless.reporting.text import quoted

PACKAGES = ("foldless", "numpy", "scipy", "scikit-learn")


def versions() -> dict[str, str]:
    """Versions of Python and of what the numbers rest on."""
    return {**{name: _version(name) for name in PACKAGES}, "Python": platform.python_version()}


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:  # a copy of the source that was never installed
        return "(not installed)"


def home() -> str | None:
    """Where the project lives, as the installed package says; None where it does not."""
    try:
        places = metadata("foldless").get_all("Project-URL") or []
    except PackageNotFoundError:
        return None
    found = {label.strip().lower(): url.strip() for label, _, url in (place.partition(",") for place in places)}
    return next((found[label] for label in ("repository", "source", "homepage") if label in found), None)


def origin(command: Any, data_name: Any, title: Any, case: Case) -> dict[str, Any]:
    """Title, data, classifier, versions and command."""
    return {
        "title": str(title) if title is not None and str(title).strip() else _title(case, data_name),
        "data_name": None if data_name is None else str(data_name),
        "model": case.model,
        "classifier": case.classifier,
        "seed": case.seed,
        "versions": versions(),
        "home": home(),
        "command": {
            "made_by": "python" if command is None else "command",
            "text": _call(case) if command is None else str(command),
        },
    }


def _title(case: Case, data_name: Any) -> str:
    if data_name is not None:
        return f"{case.classifier} on {data_name}"
    labels = [quoted(label) for label in case.counts]
    what = f"{labels[0]} against {labels[1]}" if case.two_classes else f"{len(labels)} classes"
    return f"{case.classifier}: {what}"


def _call(case: Case) -> str:
    """The call as one would type it; arrays by their names."""
    given = [f"{name}={name}" for name in ("groups", "sample_weight") if getattr(case, name) is not None]
    if case.pos_label is not None:
        given.append(f"pos_label={case.pos_label!r}")
    given += [f"level={case.level:g}", f"seed={case.seed}"]
    if not case.search:
        given.append("search=False")
    return f"foldless.report(estimator, X, y, {', '.join(given)})"
