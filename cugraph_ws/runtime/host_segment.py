"""Memory of this host that several processes share: segments without a name that outlives a crash.

A segment has a name in `/dev/shm` only until all ranks have opened it, a few milliseconds.  After that the kernel frees it
when the last process that maps it ends, however it ends.
"""

from __future__ import annotations

import mmap
import os
import secrets
import stat
import time
from contextlib import suppress
from pathlib import Path

import numpy as np
import numpy.typing as npt

__all__ = ["Segment", "free_bytes", "sweep"]

FOLDER = Path("/dev/shm")  # noqa: S108 - POSIX shared memory
PREFIX = "cugraph_ws-hub-"
ABANDONED = (
    600.0  # seconds after which a name is of a process that has ended before it took it away
)


class Segment:
    """A segment of shared memory, mapped into this process.

    Parameters
    ----------
    name : str
        Of its file, until `forget`.
    size : int
        Bytes.
    create : bool
        Whether to make it; else it is opened.

    Attributes
    ----------
    bytes : ndarray of uint8, shape (size,)
        Zeros at first.

    Raises
    ------
    OSError
        If there is no room, no such segment, or if it is another user's or of another size.
    """

    def __init__(self, name: str, size: int, *, create: bool = False) -> None:
        self.name = name
        flags = os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC
        opened = os.open(_path(name), flags | (os.O_CREAT | os.O_EXCL if create else 0), 0o600)
        try:
            if create:
                try:
                    os.posix_fallocate(opened, 0, size)  # else a store could end the process
                except OSError:
                    self.forget()
                    raise
            found = os.fstat(opened)
            if not stat.S_ISREG(found.st_mode) or (found.st_uid, found.st_size) != (
                os.geteuid(),
                size,
            ):
                raise OSError(f"{name} is not a segment of {size} bytes of this user")
            self._map = mmap.mmap(opened, size)
        finally:
            os.close(opened)
        self.bytes: npt.NDArray[np.uint8] = np.frombuffer(self._map, np.uint8)

    @classmethod
    def new(cls, size: int) -> Segment:
        """Make a segment of a name of its own."""
        return cls(PREFIX + secrets.token_hex(16), size, create=True)

    def forget(self) -> None:
        """Take its name away; processes that have opened it keep it."""
        with suppress(FileNotFoundError):
            _path(self.name).unlink()


def _path(name: str) -> Path:
    """Return the file of a segment; a name from another process must be one."""
    if not name.startswith(PREFIX) or not name[len(PREFIX) :].isalnum():
        raise OSError(f"{name!r} is not the name of a segment")
    return FOLDER / name


def free_bytes() -> int:
    """Return how many bytes of shared memory are free; 0 if the system has none."""
    try:
        found = os.statvfs(FOLDER)
    except (OSError, AttributeError):
        return 0
    return found.f_bavail * found.f_frsize


def sweep() -> None:
    """Take away names that crashed processes of this user have left."""
    with suppress(OSError):
        for path in FOLDER.glob(f"{PREFIX}*"):
            with suppress(OSError):
                found = path.lstat()
                if found.st_uid == os.geteuid() and time.time() - found.st_mtime > ABANDONED:
                    path.unlink()
