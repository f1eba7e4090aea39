"""Machine code of CuPy's array operations that comes with the library.

CuPy compiles a kernel for each operation and type when it is first used, a tenth of a second each, and some hundred
are used by a first graph, a few first runs and their results.  `ci/shipped.py` compiles those that
`ci/array_operations.py` has listed, an archive for each compute capability.  Where CuPy would compile one of them,
it gets this code, and puts it into its own cache.  An entry is named by what it was made from: the operation's
source, CuPy's options and headers, and CUDA's major version.  So another release of CuPy finds none, and compiles.
"""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Sequence
from contextlib import suppress
from hashlib import sha256
from typing import Any

from cugraph_ws.runtime import shipped

__all__ = ["COMPILE", "archive_name", "entry_name", "serve"]

COMPILE = "_compile_using_nvrtc_no_warning"  # CuPy's function of a source that its cache lacks


def archive_name(arch: str) -> str:
    """Return the name of the archive for a compute capability, `"90"` for 9.0."""
    return f"array-operations-{arch}.zip"


def entry_name(source: str, options: Sequence[str], headers: str, cuda: int) -> str:
    """Return the name of an operation's code.

    Parameters
    ----------
    source : str
        CUDA C++.
    options : sequence of str
        The compiler's.  Folders of headers do not count.
    headers : str
        CuPy's digest of its headers.
    cuda : int
        CUDA's major version.

    Returns
    -------
    str
    """
    counted = [option for option in options if not option.startswith("-I")]
    return sha256("\0".join([source, *counted, headers, str(cuda)]).encode()).hexdigest()


def serve(xp: Any) -> None:
    """Let CuPy take code that is shipped in place of compiling, in this process.

    Parameters
    ----------
    xp : module
        `cupy`.  A release without what is named here is left as it is.
    """
    try:
        compiler, headers = xp.cuda.compiler, xp._core.core.CUPY_CACHE_KEY
        compile_source: Callable[..., Any] = getattr(compiler, COMPILE)
        cuda = xp.cuda.nvrtc.getVersion()[0]
    except AttributeError:
        return
    if getattr(compile_source, "serves", False):
        return

    def load_or_compile(*arguments: Any, **named: Any) -> Any:
        # Those after the fourth ask for the names of C++ templates, or for another form of code
        if len(arguments) >= 4 and not any(arguments[4:]) and not named:
            source, options, arch, _ = arguments[:4]
            archive = shipped.archive_of(shipped.FOLDER / archive_name(arch))
            if archive is not None:
                with suppress(KeyError, zipfile.BadZipFile):
                    return archive.read(entry_name(source, options, headers, cuda)), None
        return compile_source(*arguments, **named)

    load_or_compile.serves = True  # type: ignore[attr-defined]
    setattr(compiler, COMPILE, load_or_compile)
