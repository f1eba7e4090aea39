"""One process at a time makes an entry of the disk cache; the others wait, and then read it.

The lock is a file beside the entry, locked by `flock`, so it ends with its process, even by a crash.
Only speed depends on the lock: a process that cannot take it makes the entry without it.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from cugraph_ws.runtime.atomic_files import private_folder

__all__ = ["single_flight"]

PATIENCE = 60.0  # seconds to wait for a lock: a suspended process keeps its lock
PAUSE = 0.01  # seconds between two attempts
TAKEN = (errno.EWOULDBLOCK, errno.EACCES)


@contextmanager
def single_flight(path: Path, patience: float = PATIENCE) -> Iterator[bool]:
    """Hold the lock of a cache entry; the `with` block must look for the entry before it makes it.

    Parameters
    ----------
    path : Path
        The entry.  Its folder is made if it is missing.
    patience : float
        Seconds to wait for another process.

    Yields
    ------
    bool
        True with the lock; False without it, if `patience` has passed, if the folder is not private or cannot be
        written to, or if its file system has no locks.
    """
    lock = path.with_name(f"{path.name}.lock")
    descriptor = _opened(lock)
    try:
        is_locked = descriptor is not None and _locked(descriptor, time.monotonic() + patience)
        try:
            yield is_locked
        finally:
            if is_locked:  # a process that waits for the removed file gets its lock nevertheless
                with contextlib.suppress(OSError):
                    lock.unlink()
    finally:
        if descriptor is not None:
            os.close(descriptor)


def _opened(lock: Path) -> int | None:
    """Open the lock's file; return its descriptor, or None if it cannot be made."""
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    with contextlib.suppress(OSError):
        if private_folder(lock.parent):
            return os.open(lock, flags, 0o600)
    return None


def _locked(descriptor: int, end: float) -> bool:
    """Lock a file; return False if another process holds it until `end`, or locks are not supported."""
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno not in TAKEN or time.monotonic() >= end:
                return False
            time.sleep(PAUSE)
        else:
            return True
