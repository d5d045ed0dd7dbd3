"""R's `rms::validate` beside foldless: the same samples, no penalty, known truth.

    python -m foldless_studies.evidence.rms > results/rms.md

Needs Rscript with the package rms (Debian: r-cran-rms). Ten minutes; a number of samples may be given.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import timeit
import warnings
from functools import partial
from io import StringIO
from pathlib import Path
from time import process_time

import numpy as np
from sklearn.linear_model import LogisticRegression

import foldless as fl
from foldless_studies.evidence import begin, begin_table, print_row
from foldless_studies.evidence.validation import COLUMNS, EVENTS, RESAMPLES, ROWS, bootstrap, drawn, measured
from foldless_studies.sampling import Floats, Labels

SAMPLES, NO_PENALTY = 40, 1e6
MEASURES = ("AUC", "slope", "Brier score")
SCRIPT = """
suppressMessages(library(rms))
args <- commandArgs(TRUE)
rows <- read.csv(args[1])
begun <- proc.time()
for (k in unique(rows$sample)) {
  set.seed(k)
  fit <- lrm(y ~ ., data = rows[rows$sample == k, -1], x = TRUE, y = TRUE, maxit = 50)
  found <- validate(fit, B = as.integer(args[2]))[c("Dxy", "Slope", "B"), ]
  cat((1 + found["Dxy", "index.corrected"]) / 2, found[-1, "index.corrected"], found["B", "n"], "\\n")
}
cat(sum((proc.time() - begun)[1:2]), "\\n")
"""
TEXT = """\
Logistic regression without a penalty; normal columns, five of which carry the label (as on the page of the
[validation](validation.md)), with at least {least} positive and as many negative rows for each column. Mean absolute
errors over {samples} samples of each cell: foldless, `rms::validate` of R with B = {B} (rms {version}), and the same
bootstrap as `foldless_studies` computes it, the rival of the page of the validation. A sample whose classes can be
separated has no such fit, and is drawn again. AUC: (1 + Dxy) / 2. The calibration intercept of rms is that of a line
with a free slope, ours is calibration in the large: they are not the same figure. Held: 90 % intervals of foldless that
hold the truth; `rms::validate` gives none. Time: processor seconds of a sample, R's without its start."""
LEAST, CLEAR = 3, 20.0  # rows of the smaller class for each column; log odds that only separated classes have


def samples(n: int, columns: int, events: float, count: int) -> list[int]:
    """Numbers of the first samples that have a fit without penalty."""
    found: list[int] = []
    number = 0
    while len(found) < count:
        X, y, *_ = drawn(n, columns, events, NO_PENALTY, number)
        if LEAST * columns <= min(y.sum(), n - y.sum()) and np.abs(_fitted(X, y).decision_function(X)).max() < CLEAR:
            found.append(number)
        number += 1
    return found


def _fitted(X: Floats, y: Floats) -> LogisticRegression:
    return LogisticRegression(C=NO_PENALTY, tol=1e-8, max_iter=5000).fit(X, y)


def area(p: Floats, q: Floats) -> float:
    """AUC of predictions p where the rows are positive with probability q."""
    order = np.argsort(p, kind="stable")
    q, (p, place) = q[order], np.unique(p[order], return_inverse=True)
    ones, zeros = (np.bincount(place, weights=w, minlength=p.size) for w in (q, 1 - q))
    below = np.cumsum(zeros) - zeros / 2
    return float(ones @ below / (ones.sum() * zeros.sum()))


def by_r(tables: dict[int, tuple[Floats, Labels]]) -> tuple[Floats, float]:
    """AUC, slope, Brier score and resamples used, a line for each table; and the processor time of one."""
    with tempfile.TemporaryDirectory() as folder:
        script, rows = Path(folder, "validate.R"), Path(folder, "rows.csv")
        script.write_text(SCRIPT, encoding="utf-8")
        each = [np.column_stack([np.full(y.size, k), y, X]) for k, (X, y) in tables.items()]
        names = ["sample", "y", *(f"x{j}" for j in range(each[0].shape[1] - 2))]
        np.savetxt(rows, np.vstack(each), delimiter=",", header=",".join(names), comments="", fmt="%.17g")
        *lines, seconds = said_by_r(str(script), str(rows), str(RESAMPLES)).splitlines()
    return np.loadtxt(StringIO("\n".join(lines)), ndmin=2), float(seconds) / len(tables)


def said_by_r(*words: str) -> str:
    """The lines of figures that Rscript prints; validate says in words which resamples it left out."""
    if shutil.which("Rscript") is None:
        raise fl.InputError("this page needs Rscript with the package rms: apt-get install r-cran-rms.")
    done = subprocess.run(["Rscript", "--vanilla", *words], capture_output=True, text=True, check=False)
    if done.returncode:
        raise fl.InputError(f"R ended with exit code {done.returncode}: {done.stderr.strip()}")
    return "\n".join(line for line in done.stdout.splitlines() if line[:1].isdigit() or line[:1] == "-")


def ours(X: Floats, y: Floats) -> Floats:
    """Means and both ends of the 90 % intervals."""
    a = fl.analyse(_fitted(X, y), X, y)
    return np.array([(m.mean, *m.interval(0.9)) for m in (a.auc, a.calibration.slope, a.brier)])


def cell(n: int, columns: int, events: float, count: int) -> tuple[Floats, Floats]:
    """Truth, ours with both ends, rms and the bootstrap of the studies, (samples, 6, 3); seconds of ours and of R."""
    numbers = samples(n, columns, events, count)
    tables = {k: drawn(n, columns, events, NO_PENALTY, k) for k in numbers}
    theirs, seconds = by_r({k: (X, y.astype(np.int64)) for k, (X, y, *_) in tables.items()})
    found, spent = [], 0.0
    for line, (number, (X, y, _, truth)) in zip(theirs, tables.items(), strict=True):
        model = _fitted(X, y)
        new, chances = truth(model)
        slope, _, brier, *_ = measured(new, chances)[0]
        own = model.predict_proba(X)[:, 1]
        copied = bootstrap(X, y, NO_PENALTY, measured(own, y)[0], number)[[0, 2]]
        call = partial(fl.validate, model, X, y)
        spent += min(timeit.repeat(call, timer=process_time, repeat=2, number=1))  # the first call imports
        found.append([(area(new, chances), slope, brier), *ours(X, y).T, line[:3], (np.nan, *copied)])
    return np.array(found), np.array([spent / count, seconds])


def main() -> None:
    """Print the page."""
    warnings.simplefilter("ignore")
    count = int(sys.argv[1]) if len(sys.argv) > 1 else SAMPLES
    version = said_by_r("-e", 'cat(as.character(packageVersion("rms")))')
    text = TEXT.format(least=LEAST, samples=count, B=RESAMPLES, version=version)
    begin("rms", "Against rms::validate of R", text)
    shapes = [(n, p, e) for n in ROWS for p in COLUMNS for e in EVENTS if e * n >= (LEAST + 1) * p]
    cells = {shape: cell(*shape, count) for shape in shapes}
    for k, measure in enumerate(MEASURES):
        print(f"\n## {measure}\n")
        begin_table("rows x columns, positive | foldless | rms::validate | the studies' bootstrap | held")
        for (n, columns, events), (found, _) in cells.items():
            print_row(f"{n} x {columns}, {events:g}", *_row(found[:, :, k]))
        print_row("all", *_row(np.concatenate([found[:, :, k] for found, _ in cells.values()])))
    print("\n## Time\n")
    begin_table("rows x columns, positive | foldless, everything | rms::validate | ratio")
    for (n, columns, events), (_, (one, other)) in cells.items():
        print_row(f"{n} x {columns}, {events:g}", f"{one:.3f}", f"{other:.3f}", f"{other / one:.0f}")


def _row(found: Floats) -> list[str]:
    """Mean absolute errors, and the share held."""
    truth, mean, low, high, theirs, copied = found.T
    errors = [f"{np.mean(np.abs(each - truth)):.4f}" for each in (mean, theirs, copied)]
    return [*(each if each != "nan" else "-" for each in errors), f"{np.mean((low <= truth) & (truth <= high)):.3f}"]


if __name__ == "__main__":
    main()
