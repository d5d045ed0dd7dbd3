"""Which of several classifiers is better: the joint posterior of their AUCs on the rows that they share."""
