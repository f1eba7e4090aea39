"""Numba-CUDA, the compiler of kernels: the only module that imports it.

`compile_to_ptx` is all that the host needs.  The other names are what `kernels/cuda/primitives.py`,
the language of kernels, is written in.  Which of Numba-CUDA's internals they rely on is the table of
`tests/runtime/test_cuda_target.py`.
"""

from __future__ import annotations

import types
from typing import TYPE_CHECKING, Any

from llvmlite import ir
from numba import cuda
from numba.core import cgutils
from numba.core import types as numba_types
from numba.cuda.extending import intrinsic

from cugraph_ws.errors import ProgramError
from cugraph_ws.runtime.signature import Kind

if TYPE_CHECKING:
    from cugraph_ws.runtime.device_compiler import Capability

__all__ = ["cgutils", "compile_to_ptx", "cuda", "intrinsic", "ir", "numba_types"]


def compile_to_ptx(function: Any, kinds: tuple[Kind, ...], capability: Capability) -> str:
    """Compile a kernel to PTX, without the assembler.

    Parameters
    ----------
    function, kinds, capability
        As in `compile_kernel`.

    Returns
    -------
    str

    Raises
    ------
    ProgramError
        If the compiler refuses the kernel.
    """
    import numba.cuda.dispatcher as dispatcher
    from numba import cuda
    from numba.core.errors import NumbaError

    # The dispatcher of an inner device function asks the current GPU for its capability.
    present = dispatcher.get_current_device
    stand_in = types.SimpleNamespace(compute_capability=capability)
    dispatcher.get_current_device = lambda: stand_in
    try:
        ptx, _ = cuda.compile(
            function, tuple(_numba_type(kind) for kind in kinds), cc=capability, device=False,
            abi="numba", output="ptx",
        )  # fmt: skip
    except (NumbaError, KeyError) as error:  # KeyError: a function that Numba's CUDA target lacks
        program = function.__module__.removeprefix("cugraph_ws_cuda_")
        reason = next(iter(str(error).strip().splitlines()), type(error).__name__)
        raise ProgramError(
            f"{program}: its kernel `{function.__name__}` cannot be compiled for a GPU: {reason}; use "
            "functions of math instead of NumPy's, or engine='cpu'"
        ) from error
    finally:
        dispatcher.get_current_device = present
    return str(ptx)


def _numba_type(kind: Kind) -> Any:
    if isinstance(kind, tuple):
        return numba_types.Tuple([_numba_type(part) for part in kind])
    if kind.endswith("*"):
        return numba_types.CPointer(getattr(numba_types, kind[:-1]))
    return getattr(numba_types, "boolean" if kind == "bool" else kind)
