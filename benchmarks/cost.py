"""What an answer costs, as ratios within one run. `make bench` runs it with one BLAS thread.

1. `fl.cbauc` on 20,000 x 1,000 against the bare product ``X @ w``, and the memory that it allocates.
2. Ovarian-sized data (216 x 4,000): fit plus calibrated posterior against 5-fold cross-validation.
   Uses ovarian.npz from the folder in FOLDLESS_DATA if it is there, Gaussian data of that shape otherwise.
3. ``import foldless`` against ``import numpy``.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tracemalloc
from pathlib import Path

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.preprocessing import StandardScaler

import foldless as fl
from _timing import seconds


def closed_form() -> None:
    """CBAUC against one pass over X."""
    rng = np.random.default_rng(0)
    X, y, w = rng.standard_normal((20_000, 1_000)), rng.integers(0, 2, 20_000), rng.standard_normal(1_000)
    product, answer = seconds(lambda: X @ w), seconds(lambda: fl.cbauc(w, X, y))
    tracemalloc.start()
    fl.cbauc(w, X, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    print(f"cbauc, 20,000 x 1,000: {1e3 * answer:.1f} ms, X @ w {1e3 * product:.1f} ms, ratio {answer / product:.2f}")
    print(f"  peak of new memory: {peak / 1e6:.2f} MB = {peak / (8 * len(y)):.1f} score vectors")


def ovarian() -> tuple[str, np.ndarray, np.ndarray]:
    """The ovarian data if at hand, else Gaussian data of the same shape."""
    path = Path(os.environ.get("FOLDLESS_DATA", "")) / "ovarian.npz"
    if path.exists():
        with np.load(path) as data:
            return "ovarian", data["X"].astype(float), data["y"].astype(int)
    rng = np.random.default_rng(0)
    y = np.r_[np.zeros(95, int), np.ones(121, int)]
    return "Gaussian", rng.standard_normal((216, 4_000)) + 0.1 * y[:, None], y


def calibrated() -> None:
    """Fit and posterior against 5-fold cross-validation, lbfgs."""
    name, X, y = ovarian()
    X = StandardScaler().fit_transform(X)
    model, folds = LogisticRegression(), StratifiedKFold(5, shuffle=True, random_state=0)
    fit = seconds(lambda: model.fit(X, y))
    posterior = seconds(lambda: fl.auc_posterior(model, X, y))
    rival = seconds(lambda: cross_val_score(model, X, y, scoring="roc_auc", cv=folds), 3)
    print(f"{name}, 216 x 4,000: fit {1e3 * fit:.0f} ms, posterior {1e3 * posterior:.0f} ms, CV5 {1e3 * rival:.0f} ms")
    print(f"  (fit + posterior) / CV5 {(fit + posterior) / rival:.2f}, posterior / fit {posterior / fit:.2f}")


def imports() -> None:
    """Time of a fresh interpreter that imports, less that of one that does not."""

    def start(code: str) -> float:
        return seconds(lambda: subprocess.run([sys.executable, "-c", code], check=True), 5)

    bare, numpy, ours = start(""), start("import numpy"), start("import foldless")
    everything = start("import foldless; foldless.auc_posterior; foldless.cbauc")
    print(f"import foldless {1e3 * (ours - bare):.0f} ms, numpy {1e3 * (numpy - bare):.0f} ms, ", end="")
    print(
        f"ratio {(ours - bare) / (numpy - bare):.2f}; with the entry points loaded {1e3 * (everything - bare):.0f} ms"
    )


if __name__ == "__main__":
    closed_form()
    calibrated()
    imports()
