"""
Why the training scores cannot be used
======================================

100 rows of pure noise and more and more columns. The paper's in-sample number climbs to 1, the leave-one-out
posterior stays near 0.5 (95 % interval shaded). Means of ten samples.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LogisticRegression

import foldless as fl

columns = [1, 3, 10, 30, 100, 300]
rng = np.random.default_rng(0)
y = np.arange(100) % 2
in_sample, mean, low, high = [], [], [], []
for P in columns:
    numbers, answers = [], []
    for _ in range(10):
        X = rng.normal(size=(100, P))
        model = LogisticRegression().fit(X, y)
        numbers.append(fl.cbauc(model.coef_.ravel(), X, y))
        answers.append(fl.auc_posterior(model, X, y))
    in_sample.append(np.mean(numbers))
    mean.append(np.mean([a.mean for a in answers]))
    low.append(np.mean([a.interval()[0] for a in answers]))
    high.append(np.mean([a.interval()[1] for a in answers]))

fig, ax = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
ax.plot(columns, in_sample, "o-", color="C2", label="the paper's number, in-sample")
ax.plot(columns, mean, "o-", color="C0", label="foldless")
ax.fill_between(columns, low, high, color="C0", alpha=0.2)
ax.axhline(0.5, color="0.5", linestyle="--", linewidth=1, label="truth")
ax.set(xscale="log", xlabel="columns of noise, 100 rows", ylabel="AUC", ylim=(0.35, 1.02))
ax.set_xticks(columns, columns)
ax.minorticks_off()
ax.legend(loc="upper left")
