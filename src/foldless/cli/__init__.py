"""The command line. `main` is the ``foldless`` command; everything else is loaded when it runs."""

from __future__ import annotations

import os
import sys

# Bytes of address space below which polars cannot start its threads, and waits for them forever.
LEAST_MEMORY = 768 * 2**20
EXTRA = ("click", "rich", "polars", "charset_normalizer")


def main() -> None:
    """Run the command line, or say in one line what has to be installed first."""
    if too_little := _memory_limit():
        sys.exit(complain(too_little, 2))
    try:
        for stream in (sys.stdout, sys.stderr):
            # A label with an accent must not end in a traceback on a terminal that cannot show it.
            if hasattr(stream, "reconfigure"):
                stream.reconfigure(errors="replace")
        from foldless.cli.app import app

        app(prog_name="foldless")
    except ImportError as err:
        if "map segment" in str(err):  # the loader's words for too little memory
            sys.exit(complain("there is not enough memory to load the libraries: raise the limit (ulimit -v).", 2))
        missing = (err.name or "").partition(".")[0]
        if missing not in EXTRA:
            sys.exit(internal_error(err))  # a hint about extras would hide it
        sys.exit(complain(f"the command line needs {missing}: pip install 'foldless[cli]'", 2))
    except KeyboardInterrupt:
        sys.exit(complain("interrupted", 130))


def internal_error(err: Exception) -> int:
    """One line about an error of foldless itself; with FOLDLESS_DEBUG=1, Python's traceback."""
    cause: BaseException | None = err
    while cause is not None:
        if isinstance(cause, KeyboardInterrupt):  # Ctrl-C while a compiled module loads is an ImportError
            return complain("interrupted", 130)
        cause = cause.__cause__ or cause.__context__
    if os.environ.get("FOLDLESS_DEBUG"):
        raise err
    what = f"{type(err).__name__}: {err}"
    return complain(
        f"internal error in foldless ({what}): please report it; run again with FOLDLESS_DEBUG=1 for details.", 1
    )


def complain(message: str, code: int) -> int:
    """Print one line on stderr and return the exit code."""
    from foldless.words import one_line

    print(f"foldless: {one_line(message)}", file=sys.stderr, flush=True)
    return code


def _memory_limit() -> str | None:
    """What is wrong with the memory limit of this process, or None."""
    if sys.platform == "win32":
        return None
    import resource

    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    if limit == resource.RLIM_INFINITY or limit >= LEAST_MEMORY:
        return None
    least = LEAST_MEMORY // 2**20
    return f"memory is limited to {limit // 2**20} MiB, and the libraries alone need {least}: raise it (ulimit -v)."
