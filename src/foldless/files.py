"""Files that are written whole or not at all, and checked before the work that fills them."""

from __future__ import annotations

import os
from pathlib import Path

from foldless.errors import InputError


def refuse_unwritable(path: Path) -> None:
    """Check before the work, not after it, that a file can be written."""
    if path.is_dir() or (path.exists() and not path.is_file()):
        raise InputError(f"{path} is not a file that can be replaced: choose another name.")
    if not path.parent.is_dir():
        raise InputError(f"{path} cannot be written: there is no directory {path.parent}.")
    if not os.access(path.parent, os.W_OK):
        raise InputError(f"{path} cannot be written: no permission to write in {path.parent}.")


def write_atomically(path: Path, content: bytes) -> None:
    """Write a file so that a reader sees the old one or the new one, never a part."""
    path = path.resolve()  # replace what a link points to, not the link
    refuse_unwritable(path)
    draft = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with draft.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())  # else a power failure could leave the new name without the content
        os.replace(draft, path)
    except OSError as err:
        raise InputError(f"{path} cannot be written: {err.strerror or err}.") from err
    finally:
        draft.unlink(missing_ok=True)
