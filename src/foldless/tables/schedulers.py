"""A Dask cluster to work on: one that runs somewhere, or one of this machine's processes, closed afterwards."""

from __future__ import annotations

import asyncio
import logging
import signal
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from importlib.util import find_spec
from typing import Any

from foldless import __version__
from foldless.errors import InputError

# Seconds to wait for an answer. A scheduler that runs answers in milliseconds.
PATIENCE = 3.0
NEEDED = ("dask", "distributed", "joblib")


@contextmanager
def opened(jobs: int, scheduler: str | None) -> Iterator[Any]:
    """A client of the cluster at an address, or of a local one with `jobs` processes."""
    _refuse_missing("backend dask", NEEDED)
    kept = "what was finished is kept, and --resume does the rest"
    with _silent_logs(), _local(jobs) if scheduler is None else _remote(scheduler) as client, _losses_told(kept):
        yield client


@contextmanager
def joined(address: str) -> Iterator[Any]:
    """A client of the cluster at an address, which Dask uses for whatever it computes meanwhile."""
    _refuse_missing("--scheduler", ("dask", "distributed"))
    with _silent_logs(), _remote(address) as client, client.as_current(), _losses_told("then run it again"):
        yield client


def _refuse_missing(what: str, names: tuple[str, ...]) -> None:
    missing = [name for name in names if find_spec(name) is None]
    if missing:
        raise InputError(f"{what} needs {', '.join(missing)}: pip install 'foldless[dask]'.")


@contextmanager
def _losses_told(advice: str) -> Iterator[None]:
    try:
        yield
    except _losses() as err:
        raise InputError(
            f"the Dask cluster gave up a task ({type(err).__name__}): look at the logs of its workers; {advice}."
        ) from err


@contextmanager
def _silent_logs() -> Iterator[None]:
    """What goes wrong is raised, and said in one line: not also logged by every part of Dask that notices it."""
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
def _remote(address: str) -> Iterator[Any]:
    from distributed import Client

    _refuse_unless_ready(address)
    with Client(address, timeout=PATIENCE, set_as_default=False) as client:
        _refuse_other_versions(client)
        yield client


def _refuse_unless_ready(address: str) -> None:
    # Asked before there is a client: one that could not connect complains again when Python ends.
    try:
        identity = asyncio.run(asyncio.wait_for(_identity(address), PATIENCE))
    except Exception as err:  # whatever listens there may send anything at all
        raise InputError(
            f"no Dask scheduler answers at {address!r} ({_reason(err)}): start one with 'dask scheduler', or give the "
            f"address that it prints, such as tcp://host:8786."
        ) from err
    if not identity.get("workers"):
        raise InputError(f"the Dask scheduler at {address!r} has no workers: start some with 'dask worker {address}'.")


async def _identity(address: str) -> dict[str, Any]:
    from distributed.core import rpc

    async with rpc(address) as scheduler:
        found: dict[str, Any] = await scheduler.identity()
    return found


def _reason(err: Exception) -> str:
    if isinstance(err, TimeoutError):
        return f"nothing within {PATIENCE:g} s"
    return str(err) if isinstance(err, ValueError | OSError) and str(err) else "not its protocol"


def _refuse_other_versions(client: Any) -> None:
    """Tasks are sent by name: the workers must have the same foldless."""
    found = client.run(version, "foldless", on_error="return")
    other = {where: what for where, what in found.items() if what != __version__}
    if other:
        where, what = next(iter(other.items()))
        has = f"foldless {what}" if isinstance(what, str) else "no foldless"
        raise InputError(f"the Dask worker at {where} has {has}: install foldless {__version__} there.")
