"""The command line. `main` is the ``foldless`` command; everything else is loaded when it runs."""

from __future__ import annotations

import os
import sys
from typing import TextIO

# Bytes of address space below which polars cannot start its threads, and waits for them forever.
LEAST_MEMORY = 768 * 2**20
EXTRA = ("click", "rich", "polars", "charset_normalizer")


def main() -> None:
    """Run the command line, or say in one line what has to be installed first."""
    if too_little := _memory_limit():
        sys.exit(_complaint(too_little, 2))
    try:
        _tolerant(sys.stdout)
        _tolerant(sys.stderr)
        from foldless.cli.app import app

        app(prog_name="foldless")
    except ImportError as err:
        if "map segment" in str(err):  # the loader's words for too little memory
            sys.exit(_complaint("there is not enough memory to load the libraries: raise the limit (ulimit -v).", 2))
        if (err.name or "").partition(".")[0] not in EXTRA:
            sys.exit(fault(err))  # ours, which a hint about extras would hide
        sys.exit(_complaint(f"the command line needs {err.name}: pip install 'foldless[cli]'", 2))
    except KeyboardInterrupt:
        sys.exit(_complaint("interrupted", 130))


def fault(err: Exception) -> int:
    """One line about a mistake of foldless itself; with FOLDLESS_DEBUG=1 Python's own account of it."""
    if os.environ.get("FOLDLESS_DEBUG"):
        raise err
    words = " ".join(f"{type(err).__name__}: {err}".split())
    return _complaint(f"this is a mistake of foldless, not yours ({words}): please report it with FOLDLESS_DEBUG=1.", 1)


def _complaint(message: str, code: int) -> int:
    print(f"foldless: {message}", file=sys.stderr, flush=True)
    return code


def _tolerant(stream: TextIO) -> None:
    # A label with an accent must not end in a traceback on a terminal that cannot show it.
    if hasattr(stream, "reconfigure"):
        stream.reconfigure(errors="replace")


def _memory_limit() -> str | None:
    """What is wrong with the limit of this process, or None."""
    if sys.platform == "win32":
        return None
    import resource

    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    if limit == resource.RLIM_INFINITY or limit >= LEAST_MEMORY:
        return None
    least = LEAST_MEMORY // 2**20
    return f"memory is limited to {limit // 2**20} MiB, and the libraries alone need {least}: raise it (ulimit -v)."
