"""Dask: tables whose statistics are computed where the blocks are and merged as a tree, and clusters to compute them.

Only statistics travel. The cluster of the current `dask.distributed` client does the work, and repeats the blocks of
a worker that is lost; without a client, Dask's threads do it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial, reduce
from importlib.metadata import version
from importlib.util import find_spec
from operator import add
from typing import Any

import numpy as np

from foldless import checks
from foldless.checks import Array
from foldless.errors import InputError
from foldless.tables.block import Block, Source, Statistic, no_rows

FAN_IN = 8  # statistics merged by one task


def recognises(X: Any, y: Any) -> bool:
    """A Dask array, without importing Dask."""
    return type(X).__module__.split(".")[0] == "dask" and hasattr(X, "to_delayed")


def open_source(X: Any, y: Any) -> DaskSource:
    """A Dask array with labels: a Dask array again, or anything with one label per row."""
    import dask.array as da

    if hasattr(X, "columns"):
        raise InputError("X is a Dask data frame: pass X.to_dask_array(lengths=True) and y likewise.")
    if X.ndim != 2:
        raise InputError(f"X must have two dimensions (rows x features), got {X.ndim}.")
    X = _with_known_shape(X)
    if 0 in X.shape:
        raise InputError(f"X is empty: got shape {X.shape}, expected at least one row and one column.")
    y = _with_known_shape(y) if recognises(y, None) else checks.label_vector(y)
    checks.same_length(int(X.shape[0]), int(y.shape[0]))
    rows = X.chunks[0]
    labels = y.rechunk((rows, *y.shape[1:])) if recognises(y, None) else da.from_array(y, chunks=(rows,))
    return DaskSource(X.rechunk({1: X.shape[1]}), labels)


@dataclass(frozen=True, eq=False)
class DaskSource(Source):
    """Blocks of rows of a Dask array, and a Dask array of labels cut in the same places."""

    X: Any
    y: Any

    @property
    def n_features(self) -> int:
        return int(self.X.shape[1])

    def blocks(self) -> Iterator[Block]:
        import dask

        for X, y, start, _ in self._parts():
            values, labels = dask.compute(X, y)
            yield Block.of(values, labels, start)

    def total(self, statistic: Statistic, *vectors: Array) -> Any:
        from dask import delayed

        task = delayed(_apply, pure=False)
        return tree_total(
            task(statistic, X, y, start, *(v[start : start + n] for v in vectors)) for X, y, start, n in self._parts()
        )

    def labels(self) -> Array:
        return np.asarray(self.y.compute())

    def _parts(self) -> Iterator[tuple[Any, Any, int, int]]:
        start = 0
        for X, y, n in zip(self.X.to_delayed().ravel(), self.y.to_delayed().ravel(), self.X.chunks[0], strict=True):
            if n:
                yield X, y, start, n
            start += n


def total_of_parts(parts: Iterable[tuple[Source, int]], statistic: Statistic, *vectors: Array) -> Any:
    """Sum of the statistics of consecutive sources, each given with its number of rows."""
    from dask import delayed

    task = delayed(_part_total, pure=False)
    tasks, start = [], 0
    for part, n in parts:
        tasks.append(task(part, statistic, start, *(v[start : start + n] for v in vectors)))
        start += n
    return tree_total(tasks)


def tree_total(parts: Iterable[Any]) -> Any:
    """Sum of delayed statistics; neighbours are added first, which keeps the order of the rows."""
    from dask import delayed

    level, merge = list(parts), delayed(partial(reduce, add), pure=False)
    if not level:
        raise no_rows()
    while len(level) > 1:
        level = [merge(level[i : i + FAN_IN]) for i in range(0, len(level), FAN_IN)]
    return level[0].compute()


def _part_total(part: Any, statistic: Statistic, offset: int, *vectors: Array) -> Any:
    def here(block: Block) -> Any:
        rows = slice(block.start - offset, block.start - offset + len(block.y))
        return statistic(block, *(v[rows] for v in vectors))

    return part.total(here)


def _apply(statistic: Statistic, X: Any, y: Any, start: int, *vectors: Array) -> Any:
    return statistic(Block.of(X, y, start), *vectors)


def _with_known_shape(array: Any) -> Any:
    return array.compute_chunk_sizes() if np.isnan(array.shape).any() else array


# ---- A cluster to work on that is already running.

PATIENCE = 10.0  # seconds to wait for a scheduler, which normally answers in milliseconds


@contextmanager
def joined(address: str, timeout: float | None = None, what: str = "--scheduler") -> Iterator[Any]:
    """A client of the cluster at an address; Dask computes everything there in the meantime."""
    refuse_missing(what, ("dask", "distributed"))
    with (
        silent_logs(),
        remote(address, timeout) as client,
        client.as_current(),
        losses_explained("then run it again"),
    ):
        yield client


def refuse_missing(what: str, names: tuple[str, ...]) -> None:
    """Refuse what needs packages that are not installed."""
    missing = [name for name in names if find_spec(name) is None]
    if missing:
        raise InputError(f"{what} needs {', '.join(missing)}: pip install 'foldless[dask]'.")


@contextmanager
def losses_explained(advice: str) -> Iterator[None]:
    """What Dask raises for a task that it gave up, as an error with this advice."""
    from distributed import CancelledError, KilledWorker

    try:
        yield
    except (KilledWorker, CancelledError) as err:
        raise InputError(
            f"the Dask cluster gave up on a task ({type(err).__name__}): look at the logs of its workers; {advice}."
        ) from err


@contextmanager
def silent_logs() -> Iterator[None]:
    """Errors are raised and reported in one line; Dask's own components do not log them as well."""
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


@contextmanager
def remote(address: str, timeout: float | None = None) -> Iterator[Any]:
    """A client of the cluster at an address, if it is ready and has the same foldless."""
    from distributed import Client

    timeout = PATIENCE if timeout is None else timeout
    _refuse_unless_ready(address, timeout)
    with Client(address, timeout=timeout, set_as_default=False) as client:
        _refuse_other_versions(client)
        yield client


def _refuse_unless_ready(address: str, timeout: float) -> None:
    # Asked before there is a client: one that could not connect logs another error when Python exits.
    try:
        with ThreadPoolExecutor(1) as thread:  # with its own event loop: in a notebook this thread has one running
            identity = thread.submit(asyncio.run, asyncio.wait_for(_identity(address), timeout)).result()
    except Exception as err:  # whatever listens there may send anything
        raise InputError(
            f"no Dask scheduler answers at {address!r} ({_reason(err, timeout)}): start one with 'dask scheduler', or "
            f"give the address that it prints, such as tcp://host:8786."
        ) from err
    if not identity.get("workers"):
        raise InputError(f"the Dask scheduler at {address!r} has no workers: start some with 'dask worker {address}'.")


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
    own = version("foldless")
    for where, other in client.run(version, "foldless", on_error="return").items():
        if other != own:
            has = f"foldless {other}" if isinstance(other, str) else "no foldless"
            raise InputError(f"the Dask worker at {where} has {has}: install foldless {own} there.")
