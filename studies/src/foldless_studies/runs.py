"""A run: its settings, the tasks that are not done yet, who does them, and the store that keeps every result.

Tasks are done by this process, other processes or threads, or a Dask cluster; joblib distributes them.
"""

from __future__ import annotations

import logging
import platform
import signal
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path
from time import monotonic
from typing import Any, Protocol, TypeVar

import foldless as fl
from foldless.tables import clusters
from foldless_studies.choices import BACKENDS, DASK, LOKY, THREADING
from foldless_studies.store import Store, append

DIGITS = 9

# ---- What a run is defined by.


@dataclass(frozen=True)
class Settings:
    """The base of all settings: two runs with equal settings give equal results."""

    def as_dict(self) -> dict[str, Any]:
        """Plain data, as JSON gives it back."""
        return {key: list(v) if isinstance(v, tuple) else v for key, v in asdict(self).items()}

    def published(self) -> dict[str, Any]:
        """The same for files that are passed on: the name of the data folder, not where it lies."""
        plain = self.as_dict()
        return {**plain, "data": Path(plain["data"]).name} if plain.get("data") else plain


def refuse_unknown(what: str, given: Sequence[str], known: Any) -> None:
    """An error for the first name that is not among those known."""
    for name in given:
        if name not in known:
            raise fl.InputError(f"unknown {what} {name!r}: choose from {', '.join(known)}.")


def versions() -> dict[str, str]:
    """Versions of everything that the numbers depend on."""
    packages = {"numpy": "numpy", "scipy": "scipy", "sklearn": "scikit-learn"}
    installed = {name: version(package) for name, package in packages.items()}
    return {"foldless": fl.__version__, "python": platform.python_version(), **installed}


# ---- The conditions under which a task is done.


@contextmanager
def quietly() -> Iterator[None]:
    """One thread for linear algebra, as the processes share the cores, and no warnings.

    The results say how good they are; fits by the thousand would repeat it.
    """
    with _controller().limit(limits=1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@lru_cache(maxsize=1)
def _controller() -> Any:
    # Finding the libraries takes longer than a small fit, so it is done once, when all of them are loaded.
    import sklearn.linear_model  # noqa: F401
    from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]

    return ThreadpoolController()


def short(value: float | None) -> float | None:
    """Nine digits: what differs beyond is rounding, which need not be the same on every machine."""
    return None if value is None else round(float(value), DIGITS)


# ---- Who does the tasks.

Job = TypeVar("Job")
Perform = Callable[[Job], dict[str, Any]]


class Team(Protocol):
    """Takes tasks and a picklable function, and gives the results as they come, in any order."""

    def __call__(self, todo: Sequence[Job], perform: Perform[Job]) -> Iterator[dict[str, Any]]: ...


def alone(todo: Sequence[Job], perform: Perform[Job]) -> Iterator[dict[str, Any]]:
    """The team of this process only."""
    return map(perform, todo)


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
            with _cluster(self.jobs, self.scheduler) as client, _backend(DASK, client=client):
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

        # One by one: in batches, a slow task keeps quick ones waiting behind it while other workers are idle.
        everyone = Parallel(n_jobs=self.jobs, return_as="generator_unordered", batch_size=1)
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


@contextmanager
def _cluster(jobs: int, scheduler: str | None) -> Iterator[Any]:
    """A client of the cluster at an address, or of a local one with `jobs` processes."""
    clusters.refuse_missing("backend dask", ("dask", "distributed", "joblib"))
    kept = "what was finished is kept, and --resume does the rest"
    cluster = _local(jobs) if scheduler is None else clusters.remote(scheduler)
    with clusters.silent_logs(), cluster as client, clusters.losses_explained(kept):
        yield client


@contextmanager
def _local(jobs: int) -> Iterator[Any]:
    from distributed import Client, LocalCluster

    # One thread each: tasks are mostly Python, and set warnings and threads of linear algebra for their process.
    with (
        LocalCluster(
            n_workers=jobs, threads_per_worker=1, dashboard_address=":0", silence_logs=logging.CRITICAL
        ) as processes,
        Client(processes, set_as_default=False) as client,
    ):
        client.register_worker_callbacks(_settled)
        yield client


def _settled() -> None:
    """In each worker: no warnings; Ctrl-C is left to the process that started the worker and will close it."""
    # Dask's own threads also save and restore the filters, sometimes in the middle of a task that has set them.
    warnings.simplefilter("ignore")
    signal.signal(signal.SIGINT, signal.SIG_IGN)


# ---- The loop: do the tasks that are not done yet, and keep each result as soon as it is there.

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


class HasKey(Protocol):
    """A task, as far as the loop is concerned."""

    @property
    def key(self) -> str: ...


Keyed = TypeVar("Keyed", bound=HasKey)


def completed(
    tasks: Sequence[Keyed],
    perform: Perform[Keyed],
    store: Store,
    record: dict[str, Any],
    *,
    team: Team = alone,
    resume: bool = False,
    progress: Progress | None = None,
) -> list[dict[str, Any]]:
    """Begin or resume the run that `record` describes, and do what remains; the results in the order of the tasks."""
    store.begin(record, resume=resume)
    done = {line["task"] for line in store.finished()} & {task.key for task in tasks}
    todo = [task for task in tasks if task.key not in done]
    work(todo, perform, store, done=len(done), team=team, progress=progress)
    lines = {line["task"]: line for line in store.finished()}
    return [lines[task.key] for task in tasks]
