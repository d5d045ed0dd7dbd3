"""Honest scores of a classifier of more than two classes, from one fit.

remove       the whole way, from a classifier to `ClassScores`
view         weights and columns, checked against decision_function
targets      one class against the rest: ridge, squared hinge, OneVsRestClassifier, and the surrogate
softmax, logistic   multinomial logistic regression: its optimum, and rows removed with the block Hessian
lda          linear discriminant analysis in closed form
statistics   from honest scores to the statistic of an average of AUCs
"""

from foldless.honest.multi.remove import NO_GROUPS, evaluated_rows, remove_rows_of_classes

__all__ = ["NO_GROUPS", "evaluated_rows", "remove_rows_of_classes"]
