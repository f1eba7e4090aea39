"""Arrays in files that have no names: written once, then mapped into memory.

The files cannot be opened, cut or changed by anyone else, and the system frees their space when the process
ends, however it ends.  They are written by calls rather than through the mapping, so that a full disk is an
error and not a signal.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from typing import Any
from weakref import finalize

import numpy as np
import numpy.typing as npt

from cugraph_ws.errors import FileError
from cugraph_ws.runtime.memory import format_bytes

__all__ = ["FileFolder", "MappedFile"]

Array = npt.NDArray[Any]


class FileFolder:
    """A folder for files without names.

    Parameters
    ----------
    path : path-like, optional
        By default the system's folder of temporary files, which `TMPDIR` names.

    Attributes
    ----------
    nbytes : int
        Bytes that were written.

    Raises
    ------
    FileError
        If it is not a folder.
    """

    def __init__(self, path: str | os.PathLike[str] | None = None) -> None:
        self.path = Path(tempfile.gettempdir() if path is None else path)
        self.nbytes = 0
        self.lock = Lock()
        if not self.path.is_dir():
            raise FileError(f"folder={str(self.path)!r}: there is no such folder; make it first")

    def reserve(self, needed: int) -> None:
        """Raise FileError if so many more bytes would not fit."""
        free = shutil.disk_usage(self.path).free
        if needed > free:
            raise self._full(needed, f"{format_bytes(free)} are free")

    @contextmanager
    def writing(self, needed: int) -> Iterator[None]:
        """Convert the system's errors while so many bytes are written to one that names the folder."""
        try:
            yield
        except OSError as error:
            raise self._full(needed, error.strerror or str(error)) from error
        with self.lock:
            self.nbytes += needed

    def _full(self, needed: int, why: str) -> FileError:
        return FileError(
            f"{self.path}: a graph on disk needs {format_bytes(needed)} there besides the "
            f"{format_bytes(self.nbytes)} that are written ({why}); free space, or give another folder="
        )

    def filled(self, length: int, dtype: npt.DTypeLike) -> Array:
        """Return an array in a file of its own, with space on the disk, to write into."""
        file = MappedFile(self, dtype)
        file.allocate(length)
        return file.mapped()


class MappedFile:
    """One array in a file without a name.

    Parameters
    ----------
    folder : FileFolder
    dtype : dtype
    """

    def __init__(self, folder: FileFolder, dtype: npt.DTypeLike) -> None:
        self._folder, self._dtype = folder, np.dtype(dtype)
        with folder.writing(0):
            self._file = tempfile.TemporaryFile(dir=folder.path, buffering=0)  # noqa: SIM115 - closed when mapped
        finalize(self, self._file.close)  # if an error keeps it from being mapped
        self._length = 0

    def append(self, values: Array) -> None:
        """Write values after those that are written."""
        self.write(self._length, values)

    def write(self, place: int, values: Array) -> None:
        """Write values from the entry `place` on; several threads may, each at its places."""
        unwritten = np.ascontiguousarray(values, self._dtype).data.cast("B")
        with self._folder.lock:
            self._length = max(self._length, place + len(values))
        at = place * self._dtype.itemsize
        with self._folder.writing(len(unwritten)):
            while unwritten:
                written = os.pwrite(self._file.fileno(), unwritten, at)
                unwritten, at = unwritten[written:], at + written

    def allocate(self, length: int) -> None:
        """Take the disk space of so many entries, whose values are 0 until they are written."""
        size = length * self._dtype.itemsize
        if size and hasattr(os, "posix_fallocate"):
            with self._folder.writing(size):
                os.posix_fallocate(self._file.fileno(), 0, size)
        else:
            for low in range(0, length, 1 << 20):
                self.write(low, np.zeros(min(1 << 20, length - low), self._dtype))
        self._length = length

    def mapped(self) -> Array:
        """Return all entries, mapped; the space is free when no array refers to them any more."""
        with self._file as file:
            if not self._length:
                return np.empty(0, self._dtype)
            return np.asarray(np.memmap(file, self._dtype, "r+", shape=(self._length,)))
