"""The ovarian cancer spectra: 216 x 4000, from a file, or from the authors' public repository."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

import foldless as fl
from foldless_studies.data import VARIABLE, matlab, present, split
from foldless_studies.paper.cells import PaperCell, Where
from foldless_studies.sampling import AtChance, Floats, HeldOut, Labels, Sample, rotate, source, standardized

FILE, ARRAYS = "ovarian_cancer_ex.mat", "ovarian.npz"
COMMIT = "1d55e04dc145a7b8c6e18dbad9a2785771735901"
URL = f"https://raw.githubusercontent.com/sakira/BAUC/{COMMIT}/ovarian_case/{FILE}"
SHA256 = "788249f09a0d911632d7514d80bb58a55d87137c0b4299bc8020ab800426bf51"
SHAPE, COUNTS = (216, 4000), (95, 121)
SHARES = tuple(range(10, 100, 5))


def find() -> Path:
    """The file with the spectra: in the data folder, else downloaded once and kept in pooch's cache."""
    return present(FILE, ARRAYS) or _fetched()


def _fetched(url: str = URL, known_hash: str = SHA256) -> Path:
    if find_spec("pooch") is None:
        raise fl.InputError(_advice("pooch, which would download it, is not installed"))
    import pooch

    try:
        return Path(pooch.retrieve(url, f"sha256:{known_hash}", fname=FILE, path=pooch.os_cache("foldless")))
    except ValueError as err:
        raise fl.InputError(_advice("what was downloaded is not the published file")) from err
    except OSError as err:
        raise fl.InputError(_advice(f"it could not be downloaded ({type(err).__name__})")) from err


def _advice(why: str) -> str:
    return (
        f"the ovarian cancer data are not here, and {why}: put {FILE} from {URL} (or {ARRAYS} with X and y) into a "
        f"folder and set {VARIABLE} to it, or install pooch and go online."
    )


@lru_cache(maxsize=2)
def load(path: Path) -> tuple[Floats, Labels]:
    """X (216, 4000), and y: 0 normal, 1 cancer."""
    X, y = _read(path)
    if X.shape != SHAPE or y.shape != SHAPE[:1] or tuple(np.bincount(y, minlength=2)) != COUNTS:
        raise fl.InputError(
            f"{path} is not the ovarian data: expected X {SHAPE} with {COUNTS[0]} normal (1) and {COUNTS[1]} cancer "
            f"(2) rows, got X {X.shape} and y {y.shape}."
        )
    return X, y


def _read(path: Path) -> tuple[Floats, Labels]:
    if path.suffix == ".mat":
        _refuse_other_file(path)
        content: Any = matlab(path)
    else:
        content = np.load(path, allow_pickle=False)
    if "X" not in content or ("Y" not in content and "y" not in content):
        raise fl.InputError(f"{path}: expected X and Y in it, got {', '.join(content)}.")
    codes = np.asarray(content["Y" if "Y" in content else "y"]).ravel()
    # 1 and 2 in the MATLAB file; any two codes, the later one for cancer, elsewhere.
    return np.asarray(content["X"], dtype=np.float64), np.unique(codes, return_inverse=True)[1].astype(np.int64)


def _refuse_other_file(path: Path) -> None:
    found = hashlib.sha256(path.read_bytes()).hexdigest()
    if found != SHA256:
        raise fl.InputError(f"{path} is not the published file: its SHA-256 is {found}, expected {SHA256}.")


@dataclass(frozen=True)
class OvarianCell(PaperCell):
    """A share of the rows (percent) for training, the others for the truth; or shuffled labels, truth 0.5.

    Columns are standardised on the training part. The sample is rotated into the space of its rows, which changes
    nothing: the penalty, CBAUC and EBAUC depend on w through |w| and the scores only.
    """

    path: Path
    share: int
    recipe: str
    where: Where
    shuffled: bool = False

    bayes = None

    @property
    def held_out(self) -> bool:
        return not self.shuffled

    def draw(self, seed: int, replicate: int) -> Sample:
        X, y = load(self.path)
        train = split(y, rows(self.share), source(seed, "ovarian", self.share, replicate))
        Z, scale = standardized(X[train])
        if self.recipe == "authors":
            # MATLAB's std divides by n - 1.
            sample_sd = np.sqrt(1 - 1 / train.size)
            Z, scale = Z * sample_sd, scale * sample_sd
        if self.shuffled:
            target = source(seed, "ovarian", self.share, replicate, "shuffled").permutation(y[train])
            return rotate(Sample(Z, target, AtChance(), X.shape[1]))
        test = np.setdiff1d(np.arange(y.size), train)
        return rotate(Sample(Z, y[train], HeldOut(X[test], y[test], scale), X.shape[1]))


def rows(share: int) -> int:
    """Training rows for a share in percent."""
    return round(SHAPE[0] * share / 100)
