"""The disk cache of compiled code, which reads only unchanged entries of this user.

Every entry has a digest of its name and content, which is checked before the content is used.
Code is compiled again if its entry is truncated, damaged or missing.  If the disk is full, entries
are not written, and the next process compiles again.  A folder is used only if it belongs to this
user and only this user can write to it.  This module imports Numba only in functions, and nothing
of the library outside `runtime`.
"""

from __future__ import annotations

import hashlib
import inspect
import io
import logging
import os
import pickle
import sys
import time
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from cugraph_ws.runtime import shipped
from cugraph_ws.runtime.atomic_files import (
    is_private,
    private_folder,
    read_private,
    sweep,
    temporary_folder,
    write_private,
)
from cugraph_ws.runtime.function_identity import UnknownValueError, function_digest
from cugraph_ws.runtime.looks import look
from cugraph_ws.runtime.paths import native_path

__all__ = [
    "CodeCache",
    "cache_folder",
    "code_folder",
    "file_stem",
    "read_entry",
    "shipped_entry",
    "write_entry",
]

LOG = logging.getLogger("cugraph_ws")
MAGIC = b"cugraph_ws entry 1\n"
DIGEST = 32  # bytes
STEM = 48  # most characters of a program's name in a file's name

_swept: set[Path] = set()
_warned: list[Path] = []


# ------------------------------------------------------------------------------------- folders


def cache_folder() -> Path:
    """Return the folder for compiled code, without checking whether it can be used.

    Returns
    -------
    Path
        `CUGRAPH_WS_CACHE_DIR`, else `cugraph_ws` in the user's cache folder.  A user without a home
        gets a temporary folder.
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
        `cache_folder()` if only this user can write to it, else a temporary folder of this process;
        None if neither can be made.

    Warns
    -----
    RuntimeWarning
        Once, if the folder belongs to another user, is a link, or is writable by others.
    """
    try:
        folder = cache_folder().absolute()
        if private_folder(folder):
            _sweep_once(folder)
            return folder
    except OSError:  # a read-only home or a full disk: each process compiles again
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
    """Return a short ASCII file name for a program's name.

    Parameters
    ----------
    name : str
        Name of a program: any Python identifier.

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
        The content written by `write_entry` under this name; None if the entry is missing,
        damaged, a link, or another user's.
    """
    try:
        return _unsealed(path.name, read_private(path))
    except OSError:
        return None


def shipped_entry(name: str) -> bytes | None:
    """Read an entry that came with the library.

    Parameters
    ----------
    name : str
        Of its file.

    Returns
    -------
    bytes or None
        As of `read_entry`.
    """
    try:
        return _unsealed(name, (shipped.FOLDER / name).read_bytes())
    except OSError:
        return None


def _unsealed(name: str, sealed: bytes) -> bytes | None:
    """Return the content of an entry, None if its digest is another."""
    start = len(MAGIC) + DIGEST
    content = sealed[start:]
    return content if sealed[:start] == MAGIC + _digest(name, content) else None


def write_entry(path: Path, content: bytes) -> bool:
    """Write an entry of the cache atomically.

    Parameters
    ----------
    path : Path
    content : bytes

    Returns
    -------
    bool
        Whether it could be written; a full disk is not an error.
    """
    return write_private(path, MAGIC + _digest(path.name, content) + content)


# ----------------------------------------------------------------------- Numba's functions


class _Reader(pickle.Unpickler):
    """Reads an entry, which a module of another name may have written: an edited program's keeps the rest."""

    def __init__(self, content: bytes, function: Callable[..., Any]) -> None:
        super().__init__(io.BytesIO(content))  # our own, unchanged by its digest
        self._function = function

    def find_class(self, module: str, name: str) -> Any:
        """Return a class or function by name; the one that rebuilds environments uses the function's module."""
        value = super().find_class(module, name)
        if (module, name) == ("numba.core.environment", "_rebuild_env"):
            return partial(_environment, value, self._function.__module__)
        return value


def _environment(rebuild: Callable[..., Any], module: str, _writer: str, *rest: Any) -> Any:
    return rebuild(module, *rest)


class CodeCache:
    """Numba's cache of one function; it replaces `numba.core.caching.FunctionCache`.

    Numba's own cache unpickles an index and a data file of each function, whatever they contain.
    Here every overload is an entry of its own.  Its name is a hash of all that it depends on, and
    it is read only if its digest is correct.

    Parameters
    ----------
    function : callable
        The Python function.
    options : str
        How Numba compiles it.
    """

    def __init__(self, function: Callable[..., Any], options: str = "") -> None:
        self._function = function
        self._options = options
        self._digest: str | None = None  # of its code; asked when it is first called
        self._folder: Path | None = None
        self._missed = 0.0  # when code was last asked for and not there

    @property
    def cache_path(self) -> str | None:
        """The folder of the function's entries, None if none can be made."""
        if self._folder is None or not is_private(self._folder):
            self._folder = _folder_for(inspect.getfile(self._function))
            if self._folder is not None:
                _sweep_once(self._folder)
        return None if self._folder is None else str(self._folder)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the cached code for a signature, None if there is none: then Numba compiles.

        Compilation cannot be interrupted: a run that is to end ends before it, or after it.

        Parameters
        ----------
        sig : tuple of Numba types
        target_context : Numba's target context

        Returns
        -------
        CompileResult or None
        """
        compiled = self._kept(sig, target_context)
        if compiled is None:
            self._missed = time.perf_counter()
            look()
        return compiled

    def _kept(self, sig: Any, target_context: Any) -> Any:
        from numba.core.compiler import CompileResult
        from numba.core.runtime import rtsys

        content = self._content(sig, target_context.codegen().magic_tuple())
        if content is None:
            return None
        try:
            known, payload = _Reader(content, self._function).load()
            if known != sig:
                return None
            rtsys.initialize(target_context)  # no refresh: it imports what only compiling needs
            return CompileResult._rebuild(target_context, *payload)
        except Exception:  # an error in Numba: compile again
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Write compiled code for a signature to the cache, if possible.

        Parameters
        ----------
        sig : tuple of Numba types
        data : CompileResult
        """
        from numba.core.serialize import dumps

        name, seconds = self._function.__qualname__, time.perf_counter() - self._missed
        LOG.info("compiled %s in %.2f s", name, seconds)
        if data.library.has_dynamic_globals or any(not lifted.can_cache for lifted in data.lifted):
            return
        name, folder = self._name(sig, data.codegen.magic_tuple()), self.cache_path
        if folder is None or not self._code():
            return
        try:
            content = dumps((sig, data._reduce()))
        except Exception:  # a type that cannot be pickled: the next process compiles again
            return
        write_entry(Path(folder) / name, content)
        look()

    def enable(self) -> None:
        """Do nothing: the cache is always enabled."""

    def disable(self) -> None:
        """Do nothing: the cache is always enabled."""

    def flush(self) -> None:
        """Do nothing: an entry's name is a hash of its dependencies, so no entry is ever stale."""

    def _content(self, sig: Any, target: tuple[str, ...]) -> bytes | None:
        """Return an entry of the cache for this processor, or one that came with the library."""
        if not self._code():
            return None
        folder, name = self.cache_path, self._name(sig, target)
        content = None if folder is None else read_entry(Path(folder) / name)
        if content is None and (baseline := shipped.baseline_target(target[0])) is not None:
            content = shipped_entry(self._name(sig, baseline))
        return content

    def _name(self, sig: Any, target: tuple[str, ...]) -> str:
        """Return the name of an entry, with a hash of all that it depends on."""
        import llvmlite
        import numba

        facts = (
            self._code(), self._options, repr(sig), target, numba.__version__, llvmlite.__version__,
            numba.config.USING_SVML, sys.implementation.cache_tag, sys.abiflags,
        )  # fmt: skip
        key = hashlib.sha256(repr(facts).encode()).hexdigest()[:40]
        return f"{file_stem(self._function.__qualname__)}-{key}.nbc"

    def _code(self) -> str:
        """Return a hash of the function's code; empty if stale code could not be told from good code."""
        if self._digest is None:
            try:
                self._digest = function_digest(self._function)
            except UnknownValueError:
                self._digest = ""
        return self._digest


def _folder_for(file: str) -> Path | None:
    """Return the folder for the compiled code of a source file.

    It is the first that only this user can write to: in `NUMBA_CACHE_DIR` if that is set, in
    `__pycache__` beside the file, in `code_folder`, or a temporary folder.
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
