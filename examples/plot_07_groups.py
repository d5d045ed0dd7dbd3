"""
Six scans of each subject
=========================

Rows of one subject are alike, and there is no signal at all. Taken row by row the classifier seems nearly perfect.
With ``groups`` whole subjects are left out, and the answer is honest: we do not know.
"""

import numpy as np
from sklearn.linear_model import LogisticRegression

import foldless as fl

rng = np.random.default_rng(0)
subject = np.repeat(np.arange(24), 6)
y = (np.arange(24) % 2)[subject]
X = rng.normal(size=(24, 40))[subject] + 0.5 * rng.normal(size=(144, 40))
model = LogisticRegression(C=0.1).fit(X, y)
answers = {
    "row by row (wrong)": fl.auc_posterior(model, X, y),
    "groups = subject": fl.auc_posterior(model, X, y, groups=subject),
}
fl.AUCPosteriorDisplay.from_posterior(answers)
