"""The names that options accept. `foldless --help` reads this module, so it imports nothing; a test compares the names
with what the studies really have."""

LOKY, THREADING, DASK = BACKENDS = ("loky", "threading", "dask")

CLASSIFIERS = ("logistic", "ridge", "svm", "hinge", "lda", "l1")
METHODS = ("loo", "in-sample", "adaptive", "cv5", "cv5x5", "632+", "pairs")
# Leave-pair-out needs n0 n1 refits: by request only.
DEFAULT_METHODS = tuple(name for name in METHODS if name != "pairs")

LOGISTIC = "logistic"
PAPER_CLASSIFIERS = (LOGISTIC, "lda", "svm")
PAPER_ITEMS = ("table1", "fig1", "fig2", "fig3", "fig4", "fig5", "fig6", "fig7", "shuffled")
