"""Compiled code on disk: nobody else's, and nothing that has changed since it was written.

Every entry carries a digest of its name and its content, which is checked before anything else looks
at the content.  An entry that is cut off, damaged or missing is compiled again; a disk that is full
costs the next process some time, and this one nothing.  Folders are used only if they belong to this
user and nobody else can write to them.  This module imports neither Numba nor the rest of the library.
"""

from __future__ import annotations

import hashlib
import inspect
import os
import pickle
import sys
import warnings
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

from cugraph_ws.runtime.atomic_files import (
    is_private,
    private_folder,
    read_private,
    sweep,
    temporary_folder,
    write_private,
)
from cugraph_ws.runtime.paths import kernels_folder, native_path

__all__ = ["CodeCache", "cache_folder", "code_folder", "file_stem", "read_entry", "write_entry"]

MAGIC = b"cugraph_ws entry 1\n"
DIGEST = 32  # bytes
STEM = 48  # characters of a name that a file's name keeps

_swept: set[Path] = set()
_warned: list[Path] = []


# ------------------------------------------------------------------------------------- folders


def cache_folder() -> Path:
    """Return where compiled code is kept, if that folder can be used.

    Returns
    -------
    Path
        `CUGRAPH_WS_CACHE_DIR`, else `cugraph_ws` in the user's cache.  A user without a home has none,
        and gets a temporary folder.
    """
    asked = os.environ.get("CUGRAPH_WS_CACHE_DIR")
    if asked:
        return native_path(asked)
    base = os.environ.get("XDG_CACHE_HOME")
    try:
        return (Path(base) if base else Path.home() / ".cache") / "cugraph_ws"
    except RuntimeError:  # HOME is not set, and the user has no entry in the system's list
        return temporary_folder()


def code_folder() -> Path | None:
    """Return the folder that compiled code is read from and written to.

    Returns
    -------
    Path or None
        `cache_folder()` if it is this user's alone, else a temporary folder of this process; None if
        there is no place for one.

    Warns
    -----
    RuntimeWarning
        Once, if the folder is another user's, a link, or one that others can write to.
    """
    try:
        folder = cache_folder().absolute()
        if private_folder(folder):
            _sweep_once(folder)
            return folder
    except OSError:  # a read-only home, or a full disk: each process compiles for itself
        return _own_folder()
    if not _warned:
        _warned.append(folder)
        warnings.warn(
            f"{folder}: compiled code is not kept there, because it is not a folder that belongs to "
            "this user and that only this user can write to; run `chmod go-w` on it, remove it, or set "
            "CUGRAPH_WS_CACHE_DIR to another folder",
            RuntimeWarning,
            stacklevel=2,
        )
    return _own_folder()


def _own_folder() -> Path | None:
    try:
        return temporary_folder()
    except OSError:
        return None


def _sweep_once(folder: Path) -> None:
    if folder not in _swept:
        _swept.add(folder)
        sweep(folder)


def file_stem(name: str) -> str:
    """Return what a file may be called after a name: short, and plain ASCII.

    Parameters
    ----------
    name : str
        Of a program, which may be any Python identifier.

    Returns
    -------
    str
    """
    return "".join(letter if letter.isascii() and letter.isalnum() else "_" for letter in name)[
        :STEM
    ]


# ------------------------------------------------------------------------------------- entries


def _digest(name: str, content: bytes) -> bytes:
    digest = hashlib.blake2b(digest_size=DIGEST)
    digest.update(f"{len(name)} {name} ".encode())
    digest.update(content)
    return digest.digest()


def read_entry(path: Path) -> bytes | None:
    """Read an entry of the cache.

    Parameters
    ----------
    path : Path

    Returns
    -------
    bytes or None
        Its content, exactly as `write_entry` was given it under this name; None if there is no such
        entry, or if it is damaged, a link, or another user's.
    """
    try:
        sealed = read_private(path)
    except OSError:
        return None
    start = len(MAGIC) + DIGEST
    content = sealed[start:]
    if sealed[:start] != MAGIC + _digest(path.name, content):
        return None
    return content


def write_entry(path: Path, content: bytes) -> bool:
    """Write an entry of the cache, as a whole or not at all.

    Parameters
    ----------
    path : Path
    content : bytes

    Returns
    -------
    bool
        Whether it could be written; a full disk is no error here.
    """
    return write_private(path, MAGIC + _digest(path.name, content) + content)


# ------------------------------------------------------------------------ what Numba compiles


@lru_cache
def _kernels_digest() -> str:
    """Hash what every compiled loop may contain: the CPU's kernels."""
    digest = hashlib.sha256()
    for path in sorted((kernels_folder() / "cpu").glob("*.py")):
        digest.update(path.name.encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


class CodeCache:
    """Numba's cache of one function; it takes the place of `numba.core.caching.FunctionCache`.

    Numba's own reads an index and a data file of each function by `pickle`, whatever they contain.
    Here every overload is an entry of its own, named by all that it depends on and read only if its digest
    is right.

    Parameters
    ----------
    function : callable
        The Python function.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        self._folder: Path | None = None

    @property
    def cache_path(self) -> str | None:
        """The folder of the function's entries, None if there is no place for one."""
        if self._folder is None or not is_private(self._folder):
            self._folder = _folder_for(inspect.getfile(self._function))
            if self._folder is not None:
                _sweep_once(self._folder)
        return None if self._folder is None else str(self._folder)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return what was compiled for a signature, None if that is not known.

        Parameters
        ----------
        sig : tuple of Numba types
        target_context : Numba's context

        Returns
        -------
        CompileResult or None
        """
        from numba.core.compiler import CompileResult

        target_context.refresh()
        path = self._path(sig, target_context.codegen())
        content = None if path is None else read_entry(path)
        if content is None:
            return None
        try:
            known, payload = pickle.loads(content)  # noqa: S301 - our own, whole by its digest
            if known != sig:
                return None
            return CompileResult._rebuild(target_context, *payload)
        except Exception:  # of another library's making: it is compiled again
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep what was compiled for a signature, if it can be kept.

        Parameters
        ----------
        sig : tuple of Numba types
        data : CompileResult
        """
        from numba.core.serialize import dumps

        if data.library.has_dynamic_globals or any(not one.can_cache for one in data.lifted):
            return
        path = self._path(sig, data.codegen)
        if path is None:
            return
        try:
            content = dumps((sig, data._reduce()))
        except Exception:  # a type that cannot be pickled: the next process compiles it too
            return
        write_entry(path, content)

    def enable(self) -> None:
        """Do nothing: the cache is always in use."""

    def disable(self) -> None:
        """Do nothing, as `enable`."""

    def flush(self) -> None:
        """Do nothing: entries are named by what they depend on, and never go out of date."""

    def _path(self, sig: Any, codegen: Any) -> Path | None:
        """Name an entry by everything that it depends on."""
        import llvmlite
        import numba

        folder, function = self.cache_path, self._function
        if folder is None:
            return None
        path = inspect.getfile(function)
        file = Path(path).name  # a generated module's has the hash of its text
        cells = [cell.cell_contents for cell in function.__closure__ or ()]
        facts = (
            file, _file_digest(path), function.__qualname__, function.__code__.co_firstlineno, function.__code__.co_code,
            repr(cells), _kernels_digest(), repr(sig), codegen.magic_tuple(), numba.__version__,
            llvmlite.__version__, sys.version, sys.abiflags,
        )  # fmt: skip
        key = hashlib.sha256(repr(facts).encode()).hexdigest()[:40]
        stem = f"{file_stem(Path(file).stem)}.{file_stem(function.__qualname__)}"
        return Path(folder) / f"{stem}-{key}.nbc"


def _file_digest(path: str) -> str:
    """Hash a source file, if there is one."""
    try:
        return hashlib.sha256(Path(path).read_bytes()).hexdigest()
    except OSError:
        return ""


def _folder_for(file: str) -> Path | None:
    """Return the folder for what is compiled of a source file.

    Below `NUMBA_CACHE_DIR` if that is set, else beside the file, else in the folder of all compiled
    code: the first that this user alone can write to.
    """
    from numba.core import config

    beside = Path(file).parent
    named = f"{file_stem(beside.name)}_{hashlib.sha256(os.fsencode(beside)).hexdigest()[:20]}"
    asked = [Path(config.CACHE_DIR).absolute() / named] if config.CACHE_DIR else []
    for folder in [*asked, beside / "__pycache__"]:
        if _may_use(folder):
            return folder
    shared = code_folder()
    last = None if shared is None else shared / named
    return last if last is not None and _may_use(last) else _own_folder()


def _may_use(folder: Path) -> bool:
    try:
        return private_folder(folder)
    except OSError:
        return False
