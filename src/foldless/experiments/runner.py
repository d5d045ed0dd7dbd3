"""Do the tasks that are not done yet, on several processes, and keep each result as soon as it is there."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from time import monotonic
from typing import Any, TypeVar

from foldless.experiments.store import Store, append

Job = TypeVar("Job")
Perform = Callable[[Job], dict[str, Any]]
# Called with tasks done, tasks in all, and the seconds that remain at the present pace (None at first).
Progress = Callable[[int, int, float | None], object]


def work(
    todo: Sequence[Job], perform: Perform[Job], store: Store, *, done: int, jobs: int, progress: Progress | None
) -> None:
    """Append the result of every task to the store; `done` were there before. `perform` must be picklable."""
    start, total = monotonic(), done + len(todo)
    with store.appender() as file:
        for count, result in enumerate(_performed(todo, perform, jobs), 1):
            append(file, result)
            if progress is not None:
                remaining = (monotonic() - start) / count * (len(todo) - count)
                progress(done + count, total, remaining)


def _performed(todo: Sequence[Job], perform: Perform[Job], jobs: int) -> Iterator[dict[str, Any]]:
    """Results as they come; workers share nothing, so their number cannot matter."""
    from joblib import Parallel, delayed

    if jobs == 1:
        yield from map(perform, todo)
    else:
        yield from Parallel(n_jobs=jobs, return_as="generator_unordered")(delayed(perform)(task) for task in todo)
