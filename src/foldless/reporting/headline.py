"""The answer in plain words, at the head of the content."""

from __future__ import annotations

from typing import Any

from foldless._html import numbers
from foldless.reporting.text import quoted, times_in_100

GUESSING = {
    "may": " That may be no better than guessing, which is right 50 times in 100.",
    "is": " Guessing, which is right 50 times in 100, does better.",
}


def around(parts: dict[str, Any], origin: dict[str, Any], notes: list[str]) -> dict[str, Any]:
    """The whole content of a report: where it comes from, the answer, and the parts."""
    verdict = parts["diagnosis"].get("verdict")
    kept = [*parts["auc"]["notes"], *parts["rates"].get("notes", []), *notes]
    return {
        **origin,
        "sentence": sentence(parts["auc"], parts["data"]),
        "verdict": verdict,
        "verdict_sentence": verdict_sentence(parts["diagnosis"]),
        "notes": list(dict.fromkeys(kept)),
        **parts,
    }


def sentence(auc: dict[str, Any], data: dict[str, Any]) -> str:
    """How often the classifier is right about two new rows, one of each class."""
    mean, low, high = _told_apart(auc["auc"], auc["low"], auc["high"])
    often = f"about {mean} times in 100" if mean[0].isdigit() else f"{mean} times in 100"
    span = f"{low} to {high}" if low != high else low
    words = f"{_task(data)} {often} ({numbers.percent(auc['level'])} interval: {span} times)."
    if auc["low"] > 0.5:
        return words
    return words + GUESSING["may" if auc["high"] > 0.5 else "is"]


def _told_apart(mean: float, low: float, high: float) -> list[str]:
    """As times in 100; with one more digit where the mean would read like a bound of the interval."""
    coarse, fine = ([times_in_100(rate, digits) for rate in (mean, low, high)] for digits in (0, 1))
    return fine if coarse[0] in coarse[1:] else coarse


def _task(data: dict[str, Any]) -> str:
    labels = [quoted(entry["label"]) for entry in data["classes"]]
    if data["positive"] is None:
        return (
            f"Given two new rows of two different classes out of {len(labels)}, this classifier ranks them in the "
            f"right order"
        )
    return (
        f"Given two new rows, one of class {labels[0]} and one of class {labels[1]}, this classifier gives the higher "
        f"score to the {labels[0]} row"
    )


def verdict_sentence(diagnosis: dict[str, Any]) -> str:
    """May that be trusted?"""
    if "skipped" in diagnosis:
        return "The checks that lead to a verdict exist for two classes only."
    if diagnosis["verdict"] == "trust":
        return "Nothing was found in the data or the fit that speaks against this answer."
    worst = diagnosis["findings"][0]
    lead = "Read this with caution" if diagnosis["verdict"] == "caution" else "Do not use this number"
    return f"{lead}: {worst['text'].rstrip('.')}. {worst['advice']}".strip()
