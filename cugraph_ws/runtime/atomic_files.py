"""Atomic writes of files, and folders that only this user can write to.

New content is written to a temporary file in the same folder, which then replaces the file.  The
temporary file has a random name and is opened exclusively, without following links.  It is locked
while it is written.  A lock ends with its process, so the file of a killed run can be
distinguished from one that another run is writing.  This module imports nothing of the library.
"""

from __future__ import annotations

import atexit
import contextlib
import fcntl
import os
import re
import secrets
import shutil
import stat
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import IO

__all__ = [
    "is_private",
    "new_beside",
    "private_folder",
    "read_private",
    "replacing",
    "sweep",
    "temporary_folder",
    "write_private",
]

ABANDONED = 600  # seconds without a change; a lock may be invisible from another machine
TEMPORARY = re.compile(r"\.cugraph_ws-[0-9a-f]{32}\.part")
ATTEMPTS = 8


def new_beside(path: Path) -> Path:
    """Return a path with a random name in a file's folder, so on the same disk.

    Parameters
    ----------
    path : Path
        The file.

    Returns
    -------
    Path
        `.cugraph_ws-`, 32 hexadecimal digits and `.part`; `sweep` recognises it.
    """
    return path.with_name(f".cugraph_ws-{secrets.token_hex(16)}.part")


@contextmanager
def replacing(path: Path, *, mode: int | None = None, durable: bool = True) -> Iterator[IO[bytes]]:
    """Open a new file that replaces `path` if the `with` block ends without an error.

    Parameters
    ----------
    path : Path
        The file to write.  If it is a link, the link is replaced.
    mode : int, optional
        Permissions.  By default those of the replaced file, with its owner and group as far as this
        process may set them, or for a new file those that the umask allows.
    durable : bool
        Whether to wait for the disk, so that the file survives a crash of the machine.

    Yields
    ------
    binary file
        Its content is in `path` when the block has ended.

    Raises
    ------
    OSError
        If it cannot be written.  Then the old file is unchanged, and no temporary file is left.
    """
    before = _replaced(path)
    first = 0o666 if mode is None and before is None else 0o600
    temporary, descriptor = _create(path, first)
    try:
        with os.fdopen(descriptor, "w+b") as file:
            yield file
            file.flush()
            if mode is not None:
                _set_mode(file.fileno(), mode)
            elif before is not None:
                _take_over(file.fileno(), before)
            if durable:
                os.fsync(file.fileno())
            os.replace(temporary, path)  # still locked, so no sweep removes it
        if durable:
            _sync_folder(path.parent)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise


def _replaced(path: Path) -> os.stat_result | None:
    """Return the status of the regular file `path`, None if there is none."""
    try:
        status = os.lstat(path)
    except FileNotFoundError:
        return None
    return status if stat.S_ISREG(status.st_mode) else None


def _create(path: Path, mode: int) -> tuple[Path, int]:
    """Create a temporary file beside `path`, and lock it."""
    for _ in range(ATTEMPTS):
        temporary = new_beside(path)
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        descriptor = os.open(temporary, flags, mode)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            # The file system has no locks, or a sweep holds this one; a sweep does not remove new files.
            return temporary, descriptor
        if os.fstat(descriptor).st_nlink:
            return temporary, descriptor
        os.close(descriptor)  # a sweep with a clock far ahead removed it between the two calls
    raise OSError(f"temporary files beside {path} are removed as soon as they are made")


def _take_over(descriptor: int, before: os.stat_result) -> None:
    """Set a file's owner, group and permissions to those of the replaced file."""
    mode = stat.S_IMODE(before.st_mode) & 0o777
    now = os.fstat(descriptor)
    if now.st_uid != before.st_uid:
        with contextlib.suppress(OSError):
            os.fchown(descriptor, before.st_uid, -1)
    if now.st_gid != before.st_gid:
        try:
            os.fchown(descriptor, -1, before.st_gid)
        except OSError:
            mode &= ~0o070  # meant for another group
    _set_mode(descriptor, mode)


def _set_mode(descriptor: int, mode: int) -> None:
    """Set a file's permissions, if the file system supports them."""
    if stat.S_IMODE(os.fstat(descriptor).st_mode) != mode:
        with contextlib.suppress(OSError):
            os.fchmod(descriptor, mode)


def _sync_folder(folder: Path) -> None:
    """Flush a folder's entries to the disk."""
    with contextlib.suppress(OSError):  # some file systems cannot sync a folder; the rename is done
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def sweep(folder: Path) -> int:
    """Remove the temporary files that killed runs left in a folder.

    A file is removed only if its name has the form of `new_beside`, it is a regular file of this
    user, no process holds its lock, and it has not changed for ten minutes.

    Parameters
    ----------
    folder : Path
        Its subfolders are not swept.

    Returns
    -------
    int
        Number of files removed.
    """
    removed = 0
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if TEMPORARY.fullmatch(entry.name):
                with contextlib.suppress(OSError):
                    removed += _remove_abandoned(entry.path)
    return removed


def _remove_abandoned(path: str) -> bool:
    """Remove a temporary file unless a process is writing it."""
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    descriptor = os.open(path, flags)
    try:
        status = os.fstat(descriptor)
        ours = stat.S_ISREG(status.st_mode) and status.st_uid == os.geteuid()
        if not ours or time.time() - status.st_mtime < ABANDONED:
            return False
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.unlink(path)
        return True
    finally:
        os.close(descriptor)


# ---------------------------------------------------------------------------- private folders


def private_folder(path: Path) -> bool:
    """Make a folder that only this user can write to, or check an existing one.

    Parameters
    ----------
    path : Path
        Made with permissions 0700 if it is missing; missing folders above it get the default
        permissions.

    Returns
    -------
    bool
        Whether it is a folder, not a link, that belongs to this user and that neither its group nor
        others can write to.

    Raises
    ------
    OSError
        If the folder cannot be made or written to.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with contextlib.suppress(FileExistsError):
        path.mkdir(mode=0o700)
    if stat.S_ISREG(os.lstat(path).st_mode):
        raise NotADirectoryError(f"{path} is a file")
    if not is_private(path):
        return False
    if not os.access(path, os.W_OK | os.X_OK):
        raise PermissionError(f"{path} is not writable")
    return True


def is_private(path: Path) -> bool:
    """Return whether a path is a folder, not a link, that only this user can write to.

    Parameters
    ----------
    path : Path

    Returns
    -------
    bool
        False also if the path does not exist.
    """
    try:
        status = os.lstat(path)
    except OSError:
        return False
    is_own = status.st_uid == os.geteuid()
    return stat.S_ISDIR(status.st_mode) and is_own and not status.st_mode & 0o022


def read_private(path: Path) -> bytes:
    """Read a regular file of this user, without following a link.

    Parameters
    ----------
    path : Path

    Returns
    -------
    bytes

    Raises
    ------
    OSError
        If there is no such file, it belongs to another user, or others can write to it.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(file.fileno())
        is_own = status.st_uid == os.geteuid() and not status.st_mode & 0o022
        if not stat.S_ISREG(status.st_mode) or not is_own:
            raise PermissionError(f"{path} is not a regular file that only this user can write to")
        return file.read()


def write_private(path: Path, content: bytes) -> bool:
    """Write a file atomically that only this user can read.

    Parameters
    ----------
    path : Path
    content : bytes

    Returns
    -------
    bool
        Whether it could be written; a full disk is not an error.
    """
    try:
        with replacing(path, mode=0o600, durable=False) as file:
            file.write(content)
    except OSError:
        return False
    return True


_one_at_a_time = threading.Lock()


def temporary_folder() -> Path:
    """Return a private folder of this process, removed when the process ends.

    Returns
    -------
    Path
        The same at every call; a forked process has its own.

    Raises
    ------
    OSError
        If no temporary folder can be made.
    """
    with _one_at_a_time:
        return _temporary_folder(os.getpid())


@lru_cache
def _temporary_folder(process: int) -> Path:
    folder = tempfile.mkdtemp(prefix="cugraph_ws-")  # 0700
    atexit.register(_remove, folder, process)
    return Path(folder)


def _remove(folder: str, process: int) -> None:
    if os.getpid() == process:  # not in a process that was forked
        shutil.rmtree(folder, ignore_errors=True)
