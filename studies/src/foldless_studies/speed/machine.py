"""On what it was measured: processor, memory, and the libraries of linear algebra with their threads."""

from __future__ import annotations

import os
import platform
from pathlib import Path
from typing import Any

from foldless_studies.task import quietly

CPUINFO = Path("/proc/cpuinfo")


def machine() -> dict[str, Any]:
    """Plain data; threads are counted under the limit that the measurements set."""
    return {"processor": _processor(), "cores": os.cpu_count(), "system": platform.system(), "blas": _blas()}


def _processor() -> str:
    if CPUINFO.exists():
        for line in CPUINFO.read_text(encoding="utf-8", errors="replace").splitlines():
            name, _, value = line.partition(":")
            if name.strip() == "model name":
                return value.strip()
    return platform.processor() or platform.machine()


def _blas() -> list[str]:
    from threadpoolctl import threadpool_info  # type: ignore[import-untyped]

    with quietly():
        found = [library for library in threadpool_info() if library["user_api"] == "blas"]
    return sorted({f"{b['internal_api']} {b['version']}, {_threads(b['num_threads'])}" for b in found})


def _threads(count: int) -> str:
    return "1 thread" if count == 1 else f"{count} threads"
