"""Model selection without folds: one fit per candidate, each judged by the calibrated posterior of its AUC."""
