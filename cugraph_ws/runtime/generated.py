"""Kernels' source files, and modules of generated text."""

from __future__ import annotations

import sys
import types
from pathlib import Path
from typing import Literal

from cugraph_ws.runtime.atomic_files import read_private, write_private
from cugraph_ws.runtime.machine_code import code_folder
from cugraph_ws.runtime.paths import kernels_folder

__all__ = ["import_text", "kernel_file"]


def kernel_file(hardware: Literal["cpu", "cuda"], name: str) -> Path:
    """Return the source file of a kernel module.

    Parameters
    ----------
    hardware : {"cpu", "cuda"}
        The package.
    name : str
        The module in it.

    Returns
    -------
    Path
    """
    return kernels_folder() / hardware / f"{name}.py"


def import_text(name: str, text: str) -> types.ModuleType:
    """Import a module of generated text, which is also written to a file for debuggers and tracebacks.

    Parameters
    ----------
    name : str
        Of the module: ASCII, with a hash of the text.
    text : str

    Returns
    -------
    module
        Executed from `text`, whatever the file contains; a disk that is full is no obstacle.
    """
    folder = code_folder()
    path = Path(f"<{name}>") if folder is None else folder / f"{name}.py"
    if folder is not None:
        _write_once(path, text.encode())
    module = types.ModuleType(name)
    module.__file__ = str(path)
    sys.modules[name] = module  # compiled code on disk names its named tuples by their module
    try:
        exec(compile(text, str(path), "exec"), module.__dict__)  # noqa: S102 - our own text
    except BaseException:
        del sys.modules[name]
        raise
    return module


def _write_once(path: Path, content: bytes) -> None:
    """Write a module's file unless it is there; other processes see all of it or nothing."""
    try:
        whole = read_private(path) == content
    except OSError:
        whole = False
    if not whole:
        write_private(path, content)
