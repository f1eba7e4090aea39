"""File names that the system's encoding cannot represent.

In an ASCII locale Python encodes paths as ASCII, which has no `ä`.  A name read from the system
has a surrogate for each byte that is not ASCII.  Arrow encodes paths as UTF-8, which has no
surrogates.  Names on disk are UTF-8 in either case.
"""

from __future__ import annotations

import os
import sys
from importlib.util import find_spec
from pathlib import Path

__all__ = ["argument_text", "arrow_path", "kernels_folder", "native_path"]


def native_path(path: str | os.PathLike[str]) -> Path:
    """Return a path that Python's own functions accept in any locale.

    Parameters
    ----------
    path : path-like

    Returns
    -------
    Path
        The same path, unless the system's encoding cannot represent it.
    """
    text = os.fspath(path)
    try:
        os.fsencode(text)
    except UnicodeEncodeError:
        return Path(os.fsdecode(text.encode("utf-8", "surrogateescape")))
    return Path(text)


def arrow_path(path: str | os.PathLike[str]) -> str:
    """Return a path that Arrow accepts in any locale.

    Parameters
    ----------
    path : path-like
        A path of `native_path`.

    Returns
    -------
    str
    """
    return _text(os.fspath(path))


def argument_text(word: str) -> str:
    """Decode an argument of the command line as UTF-8.

    Parameters
    ----------
    word : str
        One of `sys.argv`.

    Returns
    -------
    str
        The same text, unless the system's encoding is ASCII.
    """
    return _text(word)


def _text(text: str) -> str:
    """Decode surrogates as UTF-8, if the system's encoding is ASCII."""
    if sys.getfilesystemencoding() != "ascii":
        return text
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "surrogateescape")


def kernels_folder() -> Path:
    """Return the folder of `cugraph_ws.kernels`, without importing it."""
    spec = find_spec("cugraph_ws.kernels")
    assert spec is not None
    assert spec.submodule_search_locations
    return Path(next(iter(spec.submodule_search_locations)))
