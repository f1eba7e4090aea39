"""Segments of host memory that several processes share, and that a crash does not leave behind.

A segment has a name in `/dev/shm` only until all ranks have opened it, a few milliseconds.  After that the
operating system frees it when the last process that maps it ends, even by a crash.
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
ABANDONED = 600.0  # seconds after which a name must be left over from a process that crashed


class Segment:
    """A segment of shared memory, mapped into this process.

    Parameters
    ----------
    name : str
        Name of its file, which exists until `forget`.
    size : int
        Bytes.
    create : bool
        Whether to create it; else an existing one is opened.

    Attributes
    ----------
    bytes : ndarray of uint8, shape (size,)
        The memory; zero at first.

    Raises
    ------
    OSError
        If memory is full, or there is no such segment of this user and size.
    """

    def __init__(self, name: str, size: int, *, create: bool = False) -> None:
        self.name = name
        flags = os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC
        opened = os.open(_path(name), flags | (os.O_CREAT | os.O_EXCL if create else 0), 0o600)
        try:
            if create:
                try:
                    os.posix_fallocate(opened, 0, size)  # so that no later store can fail
                except OSError:
                    self.forget()
                    raise
            status = os.fstat(opened)
            if not stat.S_ISREG(status.st_mode) or (status.st_uid, status.st_size) != (
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
        """Create a segment with a new name."""
        return cls(PREFIX + secrets.token_hex(16), size, create=True)

    def forget(self) -> None:
        """Remove its name; processes that have opened it keep the memory."""
        with suppress(FileNotFoundError):
            _path(self.name).unlink()


def _path(name: str) -> Path:
    """Return the file of a segment; refuse a name, as received from a process, that is not a segment's."""
    if not name.startswith(PREFIX) or not name[len(PREFIX) :].isalnum():
        raise OSError(f"{name!r} is not the name of a segment")
    return FOLDER / name


def free_bytes() -> int:
    """Return how many bytes of shared memory are free; 0 if the system has none."""
    try:
        file_system = os.statvfs(FOLDER)
    except (OSError, AttributeError):
        return 0
    return file_system.f_bavail * file_system.f_frsize


def sweep() -> None:
    """Remove segments' names that crashed processes of this user left."""
    with suppress(OSError):
        for path in FOLDER.glob(f"{PREFIX}*"):
            with suppress(OSError):
                status = path.lstat()
                if status.st_uid == os.geteuid() and time.time() - status.st_mtime > ABANDONED:
                    path.unlink()
