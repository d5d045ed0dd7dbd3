"""Honest scores from one fit: what each row would have scored had it not been in the training set.

remove       the whole way, from a classifier to `Removed`
notes        what the user must know about it
statistics, posterior, analysis   from there to the posterior of the effect
"""

from foldless.honest.objective import Objective
from foldless.honest.objectives import describe
from foldless.honest.remove import MAX_ROWS, remove_rows
from foldless.honest.result import Removed

__all__ = ["MAX_ROWS", "Objective", "Removed", "describe", "remove_rows"]
