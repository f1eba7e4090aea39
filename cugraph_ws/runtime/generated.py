"""Kernels' source files, and modules of generated text."""

from __future__ import annotations

import sys
import types
from pathlib import Path
from typing import Literal

from cugraph_ws.runtime.atomic_files import read_private, write_private
from cugraph_ws.runtime.machine_code import code_folder
from cugraph_ws.runtime.parsing import in_pieces
from cugraph_ws.runtime.paths import kernels_folder

__all__ = ["import_text", "kernel_file", "kernel_module"]


def kernel_file(hardware: Literal["cpu", "cuda"], name: str) -> Path:
    """Return the source file of a kernel module.

    Parameters
    ----------
    hardware : {"cpu", "cuda"}
        The package.
    name : str
        The module in it; or PACKAGE.MODULE, which is in `kernels/accelerators`.

    Returns
    -------
    Path
    """
    return kernels_folder().joinpath(*_place(hardware, name)).with_suffix(".py")


def kernel_module(hardware: Literal["cpu", "cuda"], name: str) -> str:
    """Return the name by which a kernel module is imported; see `kernel_file`."""
    return ".".join(["cugraph_ws.kernels", *_place(hardware, name)])


def _place(hardware: str, name: str) -> tuple[str, ...]:
    return ("accelerators", *name.split(".")) if "." in name else (hardware, name)


def import_text(name: str, text: str) -> types.ModuleType:
    """Import a module from generated source, and write the source to a file for debuggers and tracebacks.

    Parameters
    ----------
    name : str
        Name of the module: ASCII, with a hash of the text.
    text : str
        The source.

    Returns
    -------
    module
        Always executed from `text`, not from the file, which may be missing.
    """
    text = in_pieces(text)
    folder = code_folder()
    path = Path(f"<{name}>") if folder is None else folder / f"{name}.py"
    if folder is not None:
        _write_once(path, text.encode())
    module = types.ModuleType(name)
    module.__file__ = str(path)
    vars(module)["__source__"] = text
    sys.modules[name] = module  # cached code refers to its named tuples by module
    try:
        exec(compile(text, str(path), "exec"), module.__dict__)  # noqa: S102 - our own text
    except BaseException:
        del sys.modules[name]
        raise
    return module


def _write_once(path: Path, content: bytes) -> None:
    """Write a module's file atomically, unless it has this content."""
    try:
        is_written = read_private(path) == content
    except OSError:
        is_written = False
    if not is_written:
        write_private(path, content)
