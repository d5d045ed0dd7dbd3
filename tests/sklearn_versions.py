"""What differs between versions of scikit-learn, from 1.6 on: for the tests, which run with all of them."""

from __future__ import annotations

from typing import Any

import sklearn

VERSION = tuple(int(part) for part in sklearn.__version__.split(".")[:2])
NEW = VERSION >= (1, 8)
# What keeps LogisticRegressionCV from announcing changes to come.
CV_QUIET: dict[str, Any] = {"l1_ratios": (0.0,), "use_legacy_attributes": False} if NEW else {}


def l1(share: float = 1.0) -> dict[str, Any]:
    """Arguments of a LogisticRegression with this share of L1 in its penalty; the rest is L2."""
    if NEW:
        return {"l1_ratio": share}
    return {"penalty": "l1"} if share == 1.0 else {"penalty": "elasticnet", "l1_ratio": share}


def cv_l1(share: float) -> dict[str, Any]:
    """The same for LogisticRegressionCV."""
    return {**CV_QUIET, "l1_ratios": (share,)} if NEW else {"penalty": "elasticnet", "l1_ratios": (share,)}
