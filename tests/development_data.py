"""Real data sets for tests; they are not shipped, so a test that needs one is skipped where it is missing."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest


def load(name: str) -> dict[str, np.ndarray]:
    """X (float64), y and, where rows are dependent, groups, from the folder named by FOLDLESS_DATA."""
    path = Path(os.environ.get("FOLDLESS_DATA", "")) / f"{name}.npz"
    if not path.exists():
        pytest.skip(f"no {path.name}: set FOLDLESS_DATA to the folder that holds the development data")
    with np.load(path, allow_pickle=False) as data:
        return {key: data[key].astype(float) if key == "X" else data[key] for key in data.files if key in "X y groups"}
