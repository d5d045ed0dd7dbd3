"""
What a positive result means where the disease is rare
======================================================

Sensitivity and specificity belong to the classifier, the predictive values also to the place where it is used. The
same fit, asked for several prevalences.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import foldless as fl

X, progression = load_diabetes(return_X_y=True)
X, y = X[:150], progression[:150] > 140
model = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, y)

prevalence = np.array([0.01, 0.03, 0.1, 0.2, 0.3, 0.5])
fig, ax = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
for rate, colour in (("ppv", "C0"), ("npv", "C1")):
    found = [getattr(fl.error_posterior(model, X, y, prevalence=p), rate) for p in prevalence]
    low, high = np.transpose([f.interval(0.95) for f in found])
    ax.plot(prevalence, [f.mean for f in found], "o-", color=colour, label=rate.upper())
    ax.fill_between(prevalence, low, high, color=colour, alpha=0.2)
ax.set(xscale="log", xlabel="prevalence", ylabel="predictive value", ylim=(0, 1.02))
ax.set_xticks(prevalence, [f"{p:.0%}" for p in prevalence])
ax.minorticks_off()
ax.legend()
