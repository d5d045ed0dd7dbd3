"""One run at a time: a lock on an open file, which the system takes back when the process ends, however it ends."""

from __future__ import annotations

import os
import sys


def acquire(descriptor: int) -> bool:
    """Lock an open file until it is closed; False where somebody else holds it. An OSError where that is impossible."""
    try:
        _lock(descriptor)
    except (BlockingIOError, PermissionError):
        return False
    return True


if sys.platform == "win32":
    import msvcrt

    # Far behind the end: on Windows nobody else could read the bytes that are locked.
    FAR = 2**40

    def _lock(descriptor: int) -> None:
        os.lseek(descriptor, FAR, os.SEEK_SET)
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)

else:
    import fcntl

    def _lock(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
