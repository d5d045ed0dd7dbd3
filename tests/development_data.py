"""Real data sets for tests; they are not shipped, so a test that needs one is skipped where it is missing."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

FOLDER = Path(os.environ.get("FOLDLESS_DATA", Path(__file__).parents[2] / "shared" / "datasets"))


def load(name: str) -> dict[str, np.ndarray]:
    """X (float64), y and, where rows are dependent, groups."""
    path = FOLDER / f"{name}.npz"
    if not path.exists():
        pytest.skip(f"{path.name} is not in {FOLDER}: set FOLDLESS_DATA to the folder that holds it")
    with np.load(path, allow_pickle=False) as data:
        return {key: data[key].astype(float) if key == "X" else data[key] for key in data.files if key in "X y groups"}
