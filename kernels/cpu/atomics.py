"""Atomic operations on elements of integer arrays, sequentially consistent.

Numba has no atomics for the CPU, so these functions emit LLVM instructions.  They also order the
plain reads and writes around them, as a lock requires.  If Numba's compiler is switched off,
everything runs in one thread, and plain Python replaces them.
"""

from __future__ import annotations

from typing import Any

import numba
from numba.core import cgutils, types
from numba.core.extending import intrinsic

from cugraph_ws.kernels.cpu import plain_atomics as plain

__all__ = ["compare_and_swap", "load", "store"]

ORDER = "seq_cst"


def _is_integer_array(array: Any) -> bool:
    return (
        isinstance(array, types.Array)
        and array.ndim == 1
        and array.layout == "C"
        and isinstance(array.dtype, types.Integer)
    )


def _address(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    """Emit the address of `array[index]`; the index is neither wrapped nor checked."""
    array_type = signature.args[0]
    array = context.make_array(array_type)(context, builder, arguments[0])
    index = context.cast(builder, arguments[1], signature.args[1], types.intp)
    return cgutils.get_item_pointer(context, builder, array_type, array, [index], wraparound=False)


def _element(context: Any, builder: Any, signature: Any, arguments: Any, place: int) -> Any:
    """Emit the argument at `place`, cast to the array's dtype."""
    dtype = signature.args[0].dtype
    return context.cast(builder, arguments[place], signature.args[place], dtype)


def _bytes(context: Any, signature: Any) -> int:
    size: int = context.get_abi_sizeof(context.get_value_type(signature.args[0].dtype))
    return size


def _emit_load(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    address = _address(context, builder, signature, arguments)
    return builder.load_atomic(address, ordering=ORDER, align=_bytes(context, signature))


def _emit_store(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    address = _address(context, builder, signature, arguments)
    new = _element(context, builder, signature, arguments, 2)
    builder.store_atomic(new, address, ordering=ORDER, align=_bytes(context, signature))
    return context.get_dummy_value()


def _emit_compare_and_swap(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    address = _address(context, builder, signature, arguments)
    old = _element(context, builder, signature, arguments, 2)
    new = _element(context, builder, signature, arguments, 3)
    return builder.extract_value(builder.cmpxchg(address, old, new, ORDER, ORDER), 1)


@intrinsic
def _load(typing_context: Any, array: Any, index: Any) -> Any:
    return (array.dtype(array, index), _emit_load) if _is_integer_array(array) else None


@intrinsic
def _store(typing_context: Any, array: Any, index: Any, value: Any) -> Any:
    return (types.void(array, index, value), _emit_store) if _is_integer_array(array) else None


@intrinsic
def _compare_and_swap(
    typing_context: Any, array: Any, index: Any, expected: Any, value: Any
) -> Any:
    if not _is_integer_array(array):
        return None
    return types.boolean(array, index, expected, value), _emit_compare_and_swap


_compiled = not numba.config.DISABLE_JIT
load = _load if _compiled else plain.load
store = _store if _compiled else plain.store
compare_and_swap = _compare_and_swap if _compiled else plain.compare_and_swap
