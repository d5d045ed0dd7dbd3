"""What a run is defined by: two runs with equal settings give equal results."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import foldless as fl
from foldless_studies import real, simulated
from foldless_studies.classifiers import CLASSIFIERS, ROTATABLE
from foldless_studies.methods import DEFAULT, METHODS
from foldless_studies.sample import Cell


@dataclass(frozen=True)
class Settings:
    """Where samples come from, how many of them, which classifier and which methods.

    `sizes` are the training rows of data sets; the Gaussian simulations have sizes of their own.
    """

    data: str | None = None
    simulations: bool = True
    replicates: int = 100
    splits: int = 8
    sizes: tuple[int, ...] = (30, 40, 80, 120)
    Cs: tuple[float, ...] = (1.0,)
    classifier: str = "logistic"
    methods: tuple[str, ...] = DEFAULT
    seed: int = 0
    rotate: bool = True
    quick: bool = False

    def __post_init__(self) -> None:
        _known("classifier", [self.classifier], CLASSIFIERS)
        _known("method", self.methods, METHODS)
        for name in ("sizes", "Cs", "methods"):
            values = getattr(self, name)
            if not values or len(set(values)) < len(values):
                raise fl.InputError(f"{name} must be given, each once, got {list(values)}.")
        if min(self.Cs) <= 0 or min(self.sizes) < 10 or min(self.replicates, self.splits) < 1 or self.seed < 0:
            raise fl.InputError(
                "C must be above 0, sizes at least 10, replicates and splits at least 1, seed not below 0."
            )
        if self.data is None and not self.simulations:
            raise fl.InputError("nothing to do: give a folder of data sets, or leave the simulations on.")

    @property
    def rotates(self) -> bool:
        """Whether wide samples are rotated into the space of their rows."""
        return self.rotate and self.classifier in ROTATABLE

    def cells(self) -> tuple[list[tuple[Cell, int]], list[str]]:
        """Every cell with its number of replicates, and what had to be left out."""
        found: list[tuple[Cell, int]] = []
        skipped: list[str] = []
        if self.simulations:
            found += [(cell, self.replicates) for cell in simulated.catalogue(quick=self.quick)]
        if self.data is not None:
            cells, skipped = real.catalogue(Path(self.data), self.sizes)
            found += [(cell, self.splits) for cell in cells]
        return found, skipped

    def as_dict(self) -> dict[str, Any]:
        """Plain data, as JSON gives it back."""
        return {key: list(v) if isinstance(v, tuple) else v for key, v in asdict(self).items()}

    def published(self) -> dict[str, Any]:
        """The same for tables that are passed on: the folder's name says enough, its place is nobody's business."""
        return {**self.as_dict(), "data": Path(self.data).name if self.data else None}


def _known(what: str, given: Any, known: Any) -> None:
    for name in given:
        if name not in known:
            raise fl.InputError(f"unknown {what} {name!r}: choose from {', '.join(known)}.")


def versions() -> dict[str, str]:
    """Versions of everything that the numbers depend on."""
    import platform

    import numpy
    import scipy
    import sklearn

    found = {m.__name__: str(m.__version__) for m in (numpy, scipy, sklearn)}
    return {"foldless": fl.__version__, "python": platform.python_version(), **found}
