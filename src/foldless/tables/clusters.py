"""Dask: tables whose statistics are computed where the blocks are and merged as a tree, and clusters to do it.

Only statistics travel. With a `dask.distributed` client in use, its cluster does the work and repeats the blocks of
a worker that is lost; without one, Dask's threads do.
"""

from __future__ import annotations

import asyncio
import logging
import signal
import warnings
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import reduce
from importlib.metadata import version
from importlib.util import find_spec
from operator import add
from typing import Any

import numpy as np

from foldless import checks
from foldless.checks import Array
from foldless.errors import InputError
from foldless.tables.block import Block, Source, Statistic, no_rows, same_rows

FAN_IN = 8  # statistics merged by one task


def recognises(X: Any, y: Any) -> bool:
    """A Dask array, without importing Dask."""
    return type(X).__module__.split(".")[0] == "dask" and hasattr(X, "to_delayed")


def open_source(X: Any, y: Any) -> DaskSource:
    """A Dask array with labels: a Dask array again, or anything with one label per row."""
    if hasattr(X, "columns"):
        raise InputError("X is a Dask data frame: pass X.to_dask_array(lengths=True) and y likewise.")
    if X.ndim != 2:
        raise InputError(f"X must have two dimensions (rows x features), got {X.ndim}.")
    X = _with_known_shape(X)
    rows = X.chunks[0]
    checks.same_length(int(X.shape[0]), _length(y))
    return DaskSource(X.rechunk({1: X.shape[1]}), _like_rows(y, rows))


@dataclass(frozen=True, eq=False)
class DaskSource(Source):
    """Blocks of rows of a Dask array, and a Dask array of labels cut in the same places."""

    X: Any
    y: Any

    @property
    def n_features(self) -> int:
        return int(self.X.shape[1])

    def blocks(self) -> Iterator[Block]:
        for X, y, start, _ in self._parts():
            values, labels = _compute(X, y)
            yield _block(values, labels, start)

    def total(self, statistic: Statistic, *vectors: Array) -> Any:
        from dask import delayed

        task = delayed(_apply, pure=False)
        return tree_total(
            task(statistic, X, y, start, *(v[start : start + n] for v in vectors)) for X, y, start, n in self._parts()
        )

    def labels(self) -> Array:
        return np.asarray(_compute(self.y)[0])

    def _parts(self) -> Iterator[tuple[Any, Any, int, int]]:
        start = 0
        for X, y, n in zip(self.X.to_delayed().ravel(), self.y.to_delayed().ravel(), self.X.chunks[0], strict=True):
            if n:
                yield X, y, start, n
            start += n


@dataclass(frozen=True)
class SpreadSource(Source):
    """A source in parts, such as the row groups of Parquet files, whose statistics Dask computes part by part."""

    whole: Any

    @property
    def n_features(self) -> int | None:
        features: int | None = self.whole.n_features
        return features

    def blocks(self) -> Iterator[Block]:
        yield from self.whole.blocks()

    def total(self, statistic: Statistic, *vectors: Array) -> Any:
        from dask import delayed

        task = delayed(_part_total, pure=False)
        tasks, start = [], 0
        for part, n in self.whole.parts():
            tasks.append(task(part, statistic, start, *(v[start : start + n] for v in vectors)))
            start += n
        return tree_total(tasks)

    def labels(self) -> Array:
        return np.asarray(self.whole.labels())

    def with_features(self, names: list[str]) -> SpreadSource:
        """The same with other columns."""
        return SpreadSource(self.whole.with_features(names))

    @property
    def features(self) -> tuple[str, ...]:
        names: tuple[str, ...] = self.whole.features
        return names


def tree_total(parts: Iterable[Any]) -> Any:
    """Sum of delayed statistics, neighbours first."""
    from dask import delayed

    level, merge = list(parts), delayed(_merged, pure=False)
    if not level:
        raise no_rows()
    while len(level) > 1:
        level = [merge(level[i : i + FAN_IN]) for i in range(0, len(level), FAN_IN)]
    return _compute(level[0])[0]


def _part_total(part: Any, statistic: Statistic, offset: int, *vectors: Array) -> Any:
    def here(block: Block) -> Any:
        rows = slice(block.start - offset, block.start - offset + len(block.y))
        return statistic(block, *(v[rows] for v in vectors))

    return part.total(here)


def _apply(statistic: Statistic, X: Any, y: Any, start: int, *vectors: Array) -> Any:
    return statistic(_block(X, y, start), *vectors)


def _block(X: Any, y: Any, start: int) -> Block:
    M = checks.as_matrix(X)
    return Block(M, same_rows(M.shape[0], y), start)


def _merged(parts: list[Any]) -> Any:
    return reduce(add, parts)


def _compute(*tasks: Any) -> tuple[Any, ...]:
    import dask

    computed: tuple[Any, ...] = dask.compute(*tasks)
    return computed


def _with_known_shape(X: Any) -> Any:
    if any(np.isnan(n) for sizes in X.chunks for n in sizes):
        X = X.compute_chunk_sizes()
    if 0 in X.shape:
        raise InputError(f"X is empty: got shape {X.shape}, expected at least one row and one column.")
    return X


def _length(y: Any) -> int:
    if recognises(y, None):
        return int(y.compute_chunk_sizes().shape[0]) if any(np.isnan(n) for n in y.chunks[0]) else int(y.shape[0])
    return int(checks.label_vector(y).size)


def _like_rows(y: Any, rows: tuple[int, ...]) -> Any:
    import dask.array as da

    if not recognises(y, None):
        return da.from_array(checks.label_vector(y), chunks=(rows,))
    if any(np.isnan(n) for n in y.chunks[0]):
        y = y.compute_chunk_sizes()
    return y.rechunk((rows,) if y.ndim == 1 else (rows, y.shape[1]))


# ---- A cluster to work on: one that runs somewhere, or one of this machine's processes, closed afterwards.

# Seconds to wait for an answer. A scheduler that runs answers in milliseconds.
PATIENCE = 3.0
NEEDED = ("dask", "distributed", "joblib")


@contextmanager
def opened(jobs: int, scheduler: str | None) -> Iterator[Any]:
    """A client of the cluster at an address, or of a local one with `jobs` processes."""
    _refuse_missing("backend dask", NEEDED)
    kept = "what was finished is kept, and --resume does the rest"
    with _silent_logs(), _local(jobs) if scheduler is None else _remote(scheduler) as client, _losses_explained(kept):
        yield client


@contextmanager
def joined(address: str, timeout: float | None = None, what: str = "--scheduler") -> Iterator[Any]:
    """A client of the cluster at an address, which Dask uses for whatever it computes meanwhile."""
    _refuse_missing(what, ("dask", "distributed"))
    with (
        _silent_logs(),
        _remote(address, timeout) as client,
        client.as_current(),
        _losses_explained("then run it again"),
    ):
        yield client


def _refuse_missing(what: str, names: tuple[str, ...]) -> None:
    missing = [name for name in names if find_spec(name) is None]
    if missing:
        raise InputError(f"{what} needs {', '.join(missing)}: pip install 'foldless[dask]'.")


@contextmanager
def _losses_explained(advice: str) -> Iterator[None]:
    try:
        yield
    except _losses() as err:
        raise InputError(
            f"the Dask cluster gave up a task ({type(err).__name__}): look at the logs of its workers; {advice}."
        ) from err


@contextmanager
def _silent_logs() -> Iterator[None]:
    """Errors are raised, and reported in one line: not also logged by every part of Dask that notices them."""
    import distributed  # noqa: F401  # creates its loggers

    names = [name for name in logging.root.manager.loggerDict if name.partition(".")[0] == "distributed"]
    before = {name: logging.getLogger(name).level for name in names}
    for name in names:
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        for name, level in before.items():
            logging.getLogger(name).setLevel(level)


def _losses() -> tuple[type[BaseException], ...]:
    from distributed import CancelledError, KilledWorker

    return KilledWorker, CancelledError


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
    """In each worker: no warnings, and Ctrl-C is for the process that started it and will close it."""
    # Dask's own threads save and restore the filters too, now and then in the middle of a task that has set them.
    warnings.simplefilter("ignore")
    signal.signal(signal.SIGINT, signal.SIG_IGN)


@contextmanager
def _remote(address: str, timeout: float | None = None) -> Iterator[Any]:
    from distributed import Client

    timeout = PATIENCE if timeout is None else timeout
    _refuse_unless_ready(address, timeout)
    with Client(address, timeout=timeout, set_as_default=False) as client:
        _refuse_other_versions(client)
        yield client


def _refuse_unless_ready(address: str, timeout: float | None = None) -> None:
    # Asked before there is a client: one that could not connect complains again when Python ends.
    timeout = PATIENCE if timeout is None else timeout
    try:
        identity = _in_a_loop(asyncio.wait_for(_identity(address), timeout))
    except Exception as err:  # whatever listens there may send anything
        raise InputError(
            f"no Dask scheduler answers at {address!r} ({_reason(err, timeout)}): start one with 'dask scheduler', or "
            f"give the address that it prints, such as tcp://host:8786."
        ) from err
    if not identity.get("workers"):
        raise InputError(f"the Dask scheduler at {address!r} has no workers: start some with 'dask worker {address}'.")


def _in_a_loop(task: Any) -> Any:
    """Run in an event loop of its own: a notebook has one running already, which cannot take a second task."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, task).result()


async def _identity(address: str) -> dict[str, Any]:
    from distributed.core import rpc

    async with rpc(address) as scheduler:
        identity: dict[str, Any] = await scheduler.identity()
    return identity


def _reason(err: Exception, timeout: float) -> str:
    if isinstance(err, TimeoutError):
        return f"nothing within {timeout:g} s"
    return str(err) if isinstance(err, ValueError | OSError) and str(err) else "not its protocol"


def _refuse_other_versions(client: Any) -> None:
    """Tasks are sent by name: the workers must have the same foldless."""
    versions = client.run(version, "foldless", on_error="return")
    own = version("foldless")
    other = {where: what for where, what in versions.items() if what != own}
    if other:
        where, what = next(iter(other.items()))
        has = f"foldless {what}" if isinstance(what, str) else "no foldless"
        raise InputError(f"the Dask worker at {where} has {has}: install foldless {own} there.")
