"""How far off are the estimates? Methods against the truth, on simulations and on folders of data sets.

A `cell` describes where samples come from, a `task` is one replicate of a cell, a `method` turns a fitted
classifier and its training data into an estimate. `accuracy` runs the tasks and keeps every result in a folder;
`summary` condenses them. Everything is asked through the public API, so a reader can repeat it.

Reading order: `sample` -> `simulated`, `real` -> `methods` -> `task` -> `store`, `accuracy` -> `summary`.
"""

from foldless_studies.accuracy import run
from foldless_studies.settings import Settings

__all__ = ["Settings", "run"]
