"""The ovarian figure beside the authors' own results, and why its cross-validation is so low."""

from __future__ import annotations

from typing import Any

from foldless_studies.paper import published
from foldless_studies.paper.page import Block, Points, Table, Text, number

WITHIN = 0.03
Rows = list[dict[str, Any]]


def blocks(summary: dict[str, Any]) -> list[Block]:
    """Findings and tables of the published variant; nothing without it."""
    rows = [r for r in summary["table"] if r["variant"] == "published"]
    if not rows:
        return []
    return [Text("The published variant beside the authors' own results (means over the splits):"), _beside(rows),
            Points(points(summary))]  # fmt: skip


THREE = {"cv-published": "CV-AUC", "ebauc-published": "EBAUC", "cbauc": "CBAUC"}


def _beside(rows: Rows) -> Table:
    lines = []
    for share in dict.fromkeys(r["share"] for r in rows):
        at = published.OVARIAN_SHARES.index(share)
        cells = []
        for name in THREE:
            row = next(r for r in rows if r["share"] == share and r["estimator"] == name)
            mean, mae = published.OVARIAN_MEAN[name][at], published.OVARIAN_MAE[name][at]
            cells += [f"{number(row['mean'])} / {mean:.3f}", f"{number(row['mae'])} / {mae:.3f}"]
        lines.append([f"{share} %", *cells])
    return Table(["ours / authors'", *(f"{title} {q}" for title in THREE.values() for q in ("mean", "MAE"))], lines)


def points(summary: dict[str, Any]) -> list[str]:
    """Agreement with the authors' results, and what the published CV-AUC is made of."""
    rows = [r for r in summary["table"] if r["variant"] == "published"]
    at = {(r["share"], r["estimator"]): r for r in rows}
    shares = list(dict.fromkeys(r["share"] for r in rows))
    off = {(s, n): at[s, n]["mean"] - published.OVARIAN_MEAN[n][published.OVARIAN_SHARES.index(s)]
           for s in shares for n in THREE}  # fmt: skip
    outside = [f"{THREE[n]} at {s} % ({d:+.3f})" for (s, n), d in off.items() if abs(d) > WITHIN]
    agree = f"Largest difference from the authors' means: {max(map(abs, off.values())):.3f}."
    agree += f" Outside {WITHIN}: {', '.join(outside)}." if outside else f" All within {WITHIN}."
    few = shares[0]
    parts = {n: at[few, n]["mean"] for n in ("cv-published", "cv-corners", "cv-own-thresholds", "cv5")}
    return [
        agree,
        f"Why the published CV-AUC is low, at {few} % training rows: {parts['cv-published']:.3f} as published, "
        f"{parts['cv-corners']:.3f} with the corners (0, 0) and (1, 1) added, {parts['cv-own-thresholds']:.3f} with "
        f"each fold thresholded at its own scores, {parts['cv5']:.3f} by the textbook. The curve is evaluated at the "
        f"training scores of the full model; these leave a gap between the classes, and most held-out scores fall into "
        f"it, where there is no threshold. The thresholds cost the area, not the missing corners.",
        f"The mean of CBAUC is at least {min(at[s, 'cbauc']['mean'] for s in shares):.4f} at every size: with 4000 "
        f"columns the training scores are separated whatever the labels. Its error is small because the truth is near "
        f"1; on shuffled labels it says the same.",
    ]
