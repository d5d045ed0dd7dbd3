"""What several commands say about the rows, in the same words."""

from __future__ import annotations

from typing import Any

from foldless.cli.problem import Problem


def class_counts(problem: Problem, positive: tuple[Any, int], negative: tuple[Any, int]) -> str:
    """Rows of each class, given as (label, rows)."""
    # Of two words, which one is positive is anybody's guess.
    hint = "; --positive chooses" if isinstance(positive[0], str) and problem.positive is None else ""
    return f"{positive[1]} '{positive[0]}' (positive{hint}), {negative[1]} '{negative[0]}' (negative)"


def group_facts(problem: Problem) -> dict[str, str]:
    """How many groups there are, where the user named some."""
    if problem.groups is None:
        return {}
    return {"groups": f"{len(set(problem.groups.tolist()))} values of '{problem.ask.groups}'"}
