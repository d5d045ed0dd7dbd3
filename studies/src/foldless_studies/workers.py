"""Who does the tasks: this process, other processes or threads, or a Dask cluster. joblib does the handing out."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import foldless as fl
from foldless.tables import clusters
from foldless_studies.task import quietly

Job = TypeVar("Job")
Perform = Callable[[Job], dict[str, Any]]


class Team(Protocol):
    """Takes tasks and a picklable function, and gives the results as they come, in any order."""

    def __call__(self, todo: Sequence[Job], perform: Perform[Job]) -> Iterator[dict[str, Any]]: ...


def alone(todo: Sequence[Job], perform: Perform[Job]) -> Iterator[dict[str, Any]]:
    """The team of this process only."""
    return map(perform, todo)


LOKY, THREADING, DASK = BACKENDS = ("loky", "threading", "dask")
LOST = (
    "a worker process ended in the middle of a task (was it killed, or out of memory?): what was finished is kept, and "
    "--resume does the rest; fewer jobs at a time need less memory."
)


@dataclass(frozen=True)
class Workers:
    """`jobs` processes (backend "loky"), threads ("threading"), or workers of a Dask cluster ("dask").

    The cluster is started here and closed afterwards, unless `scheduler` is the address of one that is running, which
    then decides how much is done at a time. Tasks share nothing, so none of this can change a result.
    """

    jobs: int = 1
    backend: str = LOKY
    scheduler: str | None = None

    def __post_init__(self) -> None:
        if self.backend not in BACKENDS:
            raise fl.InputError(f"unknown backend {self.backend!r}: choose from {', '.join(BACKENDS)}.")
        if self.jobs < 1:
            raise fl.InputError(f"jobs must be at least 1, got {self.jobs}.")
        if self.scheduler is not None and self.backend != DASK:
            raise fl.InputError(f"a scheduler is for backend {DASK}, got backend {self.backend}: add --backend {DASK}.")

    @contextmanager
    def ready(self) -> Iterator[Team]:
        """The team, with its processes or connections; closed at the end. What is wrong with it shows at once."""
        if self.backend == DASK:
            with clusters.opened(self.jobs, self.scheduler) as client, _backend(DASK, client=client):
                yield self._handed_out
        elif self.jobs == 1:
            yield alone
        elif self.backend == THREADING:
            # Warnings and threads of linear algebra are settings of the whole process: made once, around all threads.
            with quietly(), _backend(THREADING):
                yield self._handed_out
        else:
            with _backend(LOKY):
                self._start_processes()
                yield self._handed_out

    def _start_processes(self) -> None:
        """Start them deaf to Ctrl-C: it is for this process, which ends them; they would answer at length."""
        from joblib import Parallel, delayed

        with _interrupts_ignored():
            started = Parallel(n_jobs=self.jobs, return_as="generator")(delayed(int)() for _ in range(self.jobs))
        list(started)

    def _handed_out(self, todo: Sequence[Job], perform: Perform[Job]) -> Iterator[dict[str, Any]]:
        from joblib import Parallel, delayed
        from joblib.externals.loky.process_executor import TerminatedWorkerError

        everyone = Parallel(n_jobs=self.jobs, return_as="generator_unordered")
        try:
            yield from everyone(delayed(perform)(task) for task in todo)
        except TerminatedWorkerError as err:
            raise fl.InputError(LOST) from err


@contextmanager
def _interrupts_ignored() -> Iterator[None]:
    """For the moment in which processes are started, which go on ignoring them."""
    if threading.current_thread() is not threading.main_thread():
        yield  # signals are the main thread's business
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _backend(name: str, **options: Any) -> Any:
    from joblib import parallel_config

    return parallel_config(backend=name, **options)
