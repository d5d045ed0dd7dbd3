"""Which of several classifiers is better: the joint posterior of their AUCs on the rows that they share.

paired       honest scores of all models -> how the errors of their estimates go together     (docs/compare.md)
loo          that evidence x a prior of the differences -> posterior of a difference, on a grid
in_sample    the paper's model, seen along several weight vectors at once
difference   the law of a difference of two AUCs
two, many    the public functions and their results
"""
