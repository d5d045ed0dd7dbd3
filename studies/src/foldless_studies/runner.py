"""Do the tasks that are not done yet, and keep each result as soon as it is there."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import monotonic

from foldless_studies.store import Store, append
from foldless_studies.workers import Job, Perform, Team, alone

# Called with tasks done, tasks in all, and the seconds that remain at the present pace (None at first).
Progress = Callable[[int, int, float | None], object]


def work(
    todo: Sequence[Job],
    perform: Perform[Job],
    store: Store,
    *,
    done: int,
    progress: Progress | None,
    team: Team = alone,
) -> None:
    """Append the result of every task to the store; `done` were there before."""
    start, total = monotonic(), done + len(todo)
    with store.appender() as file:
        for count, result in enumerate(team(todo, perform), 1):
            append(file, result)
            if progress is not None:
                remaining = (monotonic() - start) / count * (len(todo) - count)
                progress(done + count, total, remaining)
