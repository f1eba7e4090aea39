"""Names of files where the system's encoding cannot spell them.

In an ASCII locale Python encodes a path as ASCII, in which `ä` has no code; a name that comes from the
system has a surrogate for each byte instead.  Arrow encodes paths as UTF-8, which has no surrogates.
Names on disk are UTF-8 in either case.
"""

from __future__ import annotations

import os
import sys
from importlib.util import find_spec
from pathlib import Path

__all__ = ["argument_text", "arrow_path", "kernels_folder", "native_path"]


def native_path(path: str | os.PathLike[str]) -> Path:
    """Return a path as Python's own functions take it, in any locale.

    Parameters
    ----------
    path : path-like

    Returns
    -------
    Path
        The same path, unless the system's encoding cannot spell it.
    """
    text = os.fspath(path)
    try:
        os.fsencode(text)
    except UnicodeEncodeError:
        return Path(os.fsdecode(text.encode("utf-8", "surrogateescape")))
    return Path(text)


def arrow_path(path: str | os.PathLike[str]) -> str:
    """Return a path as Arrow takes it, in any locale.

    Parameters
    ----------
    path : path-like
        As `native_path` returns it.

    Returns
    -------
    str
    """
    return _text(os.fspath(path))


def argument_text(word: str) -> str:
    """Return a word of the command line as what its bytes spell in UTF-8.

    Parameters
    ----------
    word : str
        One of `sys.argv`.

    Returns
    -------
    str
        The same, unless the system's encoding is ASCII.
    """
    return _text(word)


def _text(text: str) -> str:
    """Decode what Python could not, if the system's encoding is ASCII."""
    if sys.getfilesystemencoding() != "ascii":
        return text
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "surrogateescape")


def kernels_folder() -> Path:
    """Return the folder of `cugraph_ws.kernels`, which is found without being imported."""
    spec = find_spec("cugraph_ws.kernels")
    assert spec is not None
    assert spec.submodule_search_locations
    return Path(next(iter(spec.submodule_search_locations)))
