"""The MEG figure: whether its data are the recording, and what its dip comes from."""

from __future__ import annotations

from typing import Any

from foldless_studies.paper.meg import SIMULATED


def is_stand_in(summary: dict[str, Any]) -> bool:
    """True when a simulation stands in for the recording."""
    return any(row.get("data") == SIMULATED for row in summary["truths"])


def points(summary: dict[str, Any]) -> list[str]:
    """Where published and standard cross-validation are best on the second day; nothing without such a dip."""
    day2 = summary["table"][0]["split"]
    rows = {r["share"]: r["n0"] + r["n1"] for r in summary["truths"] if r["split"] == day2}
    published, standard = (
        [r for r in summary["table"] if r["split"] == day2 and r["estimator"] == name and r["units"]]
        for name in ("cv-published", "cv5")
    )
    if not (published and standard and published[0]["bias"] < 0 < published[-1]["bias"]):
        return []
    best = [min(found, key=lambda r: r["mae"])["share"] for found in (published, standard)]
    return [
        f"The paper's CV-AUC is most accurate at about 150 rows and gets worse with more. Here, on the {day2}, CV as "
        f"published is best at {rows[best[0]]} rows, standard CV at {rows[best[1]]}. The published one's bias goes "
        f"from {published[0]['bias']:+.3f} at {rows[published[0]['share']]} rows to {published[-1]['bias']:+.3f} at "
        f"{rows[published[-1]['share']]}, that of the standard one from {standard[0]['bias']:+.3f} to "
        f"{standard[-1]['bias']:+.3f}: what starts too low and ends too high is right in between, for no good reason."
    ]
