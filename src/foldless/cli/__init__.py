"""The command line. `main` is the ``foldless`` command; everything else is loaded when it runs."""

from __future__ import annotations

import sys
from typing import TextIO

EXTRA = ("click", "rich", "polars", "charset_normalizer")


def main() -> None:
    """Run the command line, or say in one line what has to be installed first."""
    try:
        _tolerant(sys.stdout)
        from foldless.cli.app import app

        app(prog_name="foldless")
    except ImportError as err:
        if (err.name or "").partition(".")[0] not in EXTRA:
            raise  # a fault of ours, which a hint about extras would hide
        sys.exit(_complaint(f"the command line needs {err.name}: pip install 'foldless[cli]'", 2))
    except KeyboardInterrupt:
        sys.exit(_complaint("interrupted", 130))


def _complaint(message: str, code: int) -> int:
    print(f"foldless: {message}", file=sys.stderr)
    return code


def _tolerant(stream: TextIO) -> None:
    # A label with an accent must not end in a traceback on a terminal that cannot show it.
    if hasattr(stream, "reconfigure"):
        stream.reconfigure(errors="replace")
