"""List the operations on CuPy's arrays that calls use, and compile them for GPUs that are not there.

    python ci/array_operations.py      lists them anew: on a machine with a GPU; two minutes

The list has the sources that CuPy makes, so that it serves one release of CuPy.  `ci/shipped.py --engine cuda`
compiles it, with that release installed.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any
from unittest.mock import patch

from cugraph_ws.runtime.array_operations import COMPILE, entry_name

LIST = Path(__file__).with_name("array_operations.json")
WEIGHTS = [word for kind in ("float64", "float32", "int64") for word in ("--weights", kind)]
CALLS = (  # modules, and their arguments
    ["cugraph_ws", "warm-up", "--engine", "cuda", *WEIGHTS],
    ["bench.gpu.first_calls", "child"],
)


class _Compiled(Exception):  # noqa: N818 - no error
    """Carries code out of CuPy, which would load it next."""


def listed() -> dict[str, Any]:
    """Return the list: `cupy`, its version; `headers`, its digest of its headers; `sources`."""
    contents: dict[str, Any] = json.loads(LIST.read_text("utf-8"))
    return contents


def record(folder: Path) -> list[str]:
    """Make calls with an empty cache of CuPy's, in a folder; return the sources that it compiled."""
    variables = {"CUPY_CACHE_DIR": str(folder), "CUPY_CACHE_SAVE_CUDA_SOURCE": "1"}
    search = [str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")]
    environment = {**os.environ, **variables, "PYTHONPATH": os.pathsep.join(search)}
    for module, *words in CALLS:
        subprocess.run([sys.executable, "-m", module, *words], env=environment, check=True)
    return sources_in(folder)


def sources_in(folder: Path) -> list[str]:
    """Return the sources that CuPy has saved in a folder, sorted."""
    return sorted({path.read_text("utf-8") for path in folder.glob("*.cu")})


def compile_operation(source: str, arch: str) -> tuple[str, bytes]:
    """Compile an operation as CuPy would on a GPU of a compute capability.

    Parameters
    ----------
    source : str
    arch : str
        `"90"` for 9.0.

    Returns
    -------
    (str, bytes)
        Name and code of its entry.
    """
    import cupy

    compiler, core = cupy.cuda.compiler, cupy._core.core
    compile_source = getattr(compiler, COMPILE)

    def compile_and_leave(source: str, options: tuple[str, ...], *rest: Any) -> None:
        raise _Compiled(options, compile_source(source, options, *rest)[0])

    replaced: dict[str, Any] = {
        "_get_arch": lambda: arch,
        "_get_arch_for_options_for_nvrtc": lambda arch: (f"-arch=sm_{arch}", "cubin"),
        COMPILE: compile_and_leave,
    }
    with tempfile.TemporaryDirectory() as folder:
        replaced["_kernel_cache_backend"] = type(compiler._kernel_cache_backend)(folder)
        try:
            with patch.multiple(compiler, **replaced):
                core.compile_with_cache(source, (), prepend_cupy_headers=False)
        except _Compiled as compiled:
            options, code = compiled.args
    cuda = cupy.cuda.nvrtc.getVersion()[0]
    return entry_name(source, options, core.CUPY_CACHE_KEY, cuda), code


def main() -> None:
    """Write the list."""
    import cupy

    with tempfile.TemporaryDirectory() as folder:
        sources = record(Path(folder))
    headers = cupy._core.core.CUPY_CACHE_KEY
    contents = {"cupy": cupy.__version__, "headers": headers, "sources": sources}
    LIST.write_text(json.dumps(contents, indent=1) + "\n", "utf-8")
    print(f"{LIST}: {len(sources)} operations of CuPy {cupy.__version__}")


if __name__ == "__main__":
    main()
