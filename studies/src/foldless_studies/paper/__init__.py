"""The experiments of the paper, again: every table and figure, with what it used and with what is usual.

An `item` is a table or a figure: a list of `cells`, each of which draws training samples with their truth, and the
estimators that are asked. `run` does the trials and keeps them in a folder; `summary` condenses them; `figure`,
`story` and `page` show them.

Reading order: `population` -> `cells`, `attempts`, `ovarian`, `meg` -> `recipes`, `estimators` -> `items` -> `trial`,
`run` -> `summary` -> `findings`, `figure` -> `story`, `index`, `page`.

S. S. Hassan, H. Huttunen, J. Niemi and J. Tohka, "Bayesian receiver operating characteristic metric for linear
classifiers", Pattern Recognition Letters, 2019.
"""

from foldless_studies.paper.items import ITEMS
from foldless_studies.paper.run import Settings, publish, run

__all__ = ["ITEMS", "Settings", "publish", "run"]
