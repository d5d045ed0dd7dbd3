"""Where recordings are looked for: the folder named by FOLDLESS_DATA."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import foldless as fl

VARIABLE = "FOLDLESS_DATA"


def present(*names: str) -> Path | None:
    """The first of these files that is in the data folder; None without folder or file."""
    folder = os.environ.get(VARIABLE)
    if not folder:
        return None
    if not Path(folder).is_dir():
        raise fl.InputError(f"{VARIABLE} is {folder!r}, which is not a folder: set it to the folder with the data.")
    return next((path for name in names if (path := Path(folder) / name).is_file()), None)


def matlab(path: Path) -> dict[str, Any]:
    """The variables of a MATLAB file; fields of structures get names such as 'train.data'."""
    from scipy.io import loadmat

    try:
        content = loadmat(path, simplify_cells=True)
    except OSError:
        raise
    except Exception as err:  # a damaged file makes the parser fail in any of a dozen ways
        raise fl.InputError(f"{path} is not a MATLAB file of version 7 or older: download it again.") from err
    return dict(_flat({key: value for key, value in content.items() if not key.startswith("__")}))


def _flat(content: dict[str, Any], before: str = "") -> list[tuple[str, Any]]:
    found: list[tuple[str, Any]] = []
    for key, value in content.items():
        found += _flat(value, f"{before}{key}.") if isinstance(value, dict) else [(before + key, value)]
    return found
