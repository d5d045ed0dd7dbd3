"""The experiments of the paper, again: every table and figure, with what it used and with what is usual.

An `item` is a table or a figure: a list of `cells`, each of which draws training samples with their truth, and the
estimators that are asked. `run` does the trials and keeps them in a folder; `summary` condenses them; `figure`,
`findings` and `story` show them.

Reading order: `cells`, `ovarian`, `meg` -> `items` -> `run` -> `summary` -> `findings`, `figure` -> `story`.

S. S. Hassan, H. Huttunen, J. Niemi and J. Tohka, "Bayesian receiver operating characteristic metric for linear
classifiers", Pattern Recognition Letters, 2019.
"""
