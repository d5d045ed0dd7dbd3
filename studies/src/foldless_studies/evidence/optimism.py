"""How optimistic the in-sample answer is on data without any signal: sets the rule behind `OptimismWarning`.

    python -m foldless_studies.evidence.optimism > results/optimism.md

Logistic regression (C = 1) on standard normal features and labels that have nothing to do with
them, so that the true AUC is 0.5. Printed: the mean of the in-sample posterior mean, and its sd.
"""

from __future__ import annotations

import warnings

import numpy as np
from sklearn.linear_model import LogisticRegression

import foldless as fl
from foldless_studies.evidence import begin, begin_table, print_row

ROWS = (20, 50, 100, 200, 500, 1000)
RATIOS = (0.02, 0.03, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0)
REPLICATES = 100
MAX_ADAPTIVE = 100  # features; the adaptive prior takes a tenth of a second a call
PRIORS = {
    "paper": fl.Prior.paper(),
    "improper": fl.Prior.improper(),
    "scaled identity": fl.Prior.scaled_identity(),
    "adaptive": fl.Prior.adaptive(),
}


def no_signal(N: int, P: int, rng: np.random.Generator) -> dict[str, tuple[float, float]]:
    """Posterior mean and sd under each prior, for one data set without signal."""
    X, y = rng.standard_normal((N, P)), np.arange(N) % 2
    model = LogisticRegression(tol=1e-8, max_iter=1000).fit(X, y)
    found = {}
    for name, prior in PRIORS.items():
        if (name == "improper" and P > N) or (name == "adaptive" and P > MAX_ADAPTIVE):
            continue
        post = fl.auc_posterior(model, X, y, method="in-sample", prior=prior)
        found[name] = (post.mean, post.sd)
    return found


def cells(N: int, P: int) -> list[str]:
    """Mean and sd under each prior; a dash where it was not asked."""
    rng = np.random.default_rng([N, P])
    replicates = REPLICATES if N * P < 100_000 else 10
    found = [no_signal(N, P, rng) for _ in range(replicates)]
    shown = []
    for name in PRIORS:
        values = np.array([f[name] for f in found if name in f])
        shown.append(f"{values[:, 0].mean():.3f} ({values[:, 1].mean():.3f})" if len(values) else "-")
    return shown


TEXT = """\
The true AUC is 0.5 throughout; logistic regression, C = 1. Mean of the posterior mean over replicates, in brackets the
mean posterior sd."""
END = """
The level depends on P/N and hardly on N, and exceeds 0.5 by more than the posterior sd from a handful of features on.
From 0.03 features per row noise reads 0.6: `OptimismWarning` is given beyond that ratio, and quotes the level of this
table (`NOISE_LEVEL`) for the paper's prior. The adaptive prior is exempt. A dash: refused (improper with P > N) or not
measured."""


def main() -> None:
    """Print the page."""
    warnings.simplefilter("ignore", fl.OptimismWarning)
    begin("optimism", "The in-sample answer on data without signal", TEXT)
    begin_table(" | ".join(["N", "P", "P/N", *PRIORS]), left=0)
    for N in ROWS:
        for P in sorted({round(ratio * N) for ratio in RATIOS} - {0}):
            print_row(N, P, f"{P / N:.2f}", *cells(N, P))
    print(END)


if __name__ == "__main__":
    main()
