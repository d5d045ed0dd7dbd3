"""
How many rows does a study need?
================================

Rows that make the 95 % interval of the AUC as narrow as wanted, for held-out scores or few columns (lower end) and
for a classifier whose scores are mostly training noise (upper end).
"""

import matplotlib.pyplot as plt
import numpy as np

import foldless as fl

aucs = np.array([0.6, 0.7, 0.8, 0.9, 0.95])
fig, ax = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
for k, half_width in enumerate((0.1, 0.05)):
    plans = [fl.plan_sample_size(auc, half_width) for auc in aucs]
    ax.fill_between(
        aucs, [p.n for p in plans], [p.n_if_noisy for p in plans], alpha=0.3, color=f"C{k}", label=f"± {half_width:g}"
    )
    ax.plot(aucs, [p.n for p in plans], "o-", color=f"C{k}", markersize=4)
ax.set(yscale="log", xlabel="expected AUC", ylabel="rows, half of them positive")
ax.set_yticks([20, 50, 100, 200, 500, 1000], ["20", "50", "100", "200", "500", "1000"])
ax.minorticks_off()
ax.legend(title="half width of the interval")
