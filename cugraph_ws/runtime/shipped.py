"""Machine code that comes with the library, compiled for a baseline processor.

`ci/shipped.py` writes it before a wheel is built.  An entry has the same name and digest as one of the
user's cache, but for the processor: the name is a hash of the function's code and of the versions of Numba
and Python, so code of other sources or versions is never found.  It is as trustworthy as the library's
own files beside it.  No entry contracts or reorders arithmetic, so answers are those of code for this
processor.
"""

from __future__ import annotations

import io
import zipfile
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

__all__ = ["BASELINE", "FOLDER", "FUNCTIONS", "archive_of", "baseline_target"]

FOLDER = Path(__file__).parents[1] / "shipped"
FUNCTIONS = "device-functions.zip"  # of `device_functions`
BASELINE = "x86-64-v3"  # the name that LLVM has for processors since 2013 with AVX2
FEATURES = (
    "avx2",
    "bmi",
    "bmi2",
    "f16c",
    "fma",
    "lzcnt",
    "movbe",
    "popcnt",
)  # its own, besides older ones


@lru_cache
def baseline_target(triple: str) -> tuple[str, str, str] | None:
    """Return what Numba calls the target of the code that is shipped.

    Parameters
    ----------
    triple : str
        LLVM's name of this platform.

    Returns
    -------
    tuple of str or None
        Platform, processor and further features; None if nothing is shipped that this processor runs.
    """
    from llvmlite import binding

    if not triple.startswith("x86_64-") or not FOLDER.is_dir():
        return None
    has = binding.get_host_cpu_features()
    return (triple, BASELINE, "") if all(has.get(name) for name in FEATURES) else None


@lru_cache
def archive_of(path: Path) -> zipfile.ZipFile | None:
    """Read an archive of entries into memory.

    Parameters
    ----------
    path : Path
        In `FOLDER`.

    Returns
    -------
    ZipFile or None
        None if none was shipped.
    """
    with suppress(OSError, zipfile.BadZipFile):
        # In memory, because a process and its forks would share a place in the file
        return zipfile.ZipFile(io.BytesIO(path.read_bytes()))
    return None
