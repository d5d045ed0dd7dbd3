"""
What leaving a row out does to its score
========================================

Training scores (above) and honest scores (below) of the same fit. On its own rows the classifier separates the
classes perfectly; without having seen them it does not.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LogisticRegression

import foldless as fl

rng = np.random.default_rng(1)
y = np.arange(80) % 2
X = rng.normal(size=(80, 100))
X[:, :10] += 0.7 * y[:, None]
model = LogisticRegression(C=0.1).fit(X, y)
honest = fl.honest_scores(model, X, y)

fig, axes = plt.subplots(2, sharex=True, figsize=(6.4, 4.2), layout="constrained")
pictures = (("training scores", model.decision_function(X)), ("honest scores", honest.scores))
bins = np.linspace(-3, 3, 25)
for ax, (title, scores) in zip(axes, pictures, strict=True):
    ax.hist(
        [scores[y == 0], scores[y == 1]],
        bins,
        stacked=False,
        histtype="stepfilled",
        alpha=0.6,
        label=["class 0", "class 1"],
    )
    ax.set_title(title, loc="left", fontsize="medium")
    ax.set_yticks([])
axes[0].legend()
axes[1].set_xlabel(f"score (leave-pair-out AUC {honest.pair_auc:.2f})")
