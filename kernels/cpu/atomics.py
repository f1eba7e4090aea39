"""Atomic operations on elements of integer arrays, sequentially consistent.

Numba has none for the CPU, so these emit LLVM's own instructions.  They also order the plain
reads and writes around them, which is what a lock needs.  Where Numba's compilation is switched
off, everything runs in one thread and plain Python does the same.
"""

from __future__ import annotations

from typing import Any

import numba
from numba.core import cgutils, types
from numba.core.extending import intrinsic

__all__ = ["compare_and_swap", "exchange", "fetch_add", "load", "store"]


def _element(
    context: Any, builder: Any, array_type: Any, array: Any, index_type: Any, index: Any
) -> Any:
    """Address of `array[index]`; the index is not wrapped and not checked."""
    data = context.make_array(array_type)(context, builder, array)
    wide = context.cast(builder, index, index_type, types.intp)
    return cgutils.get_item_pointer(context, builder, array_type, data, [wide], wraparound=False)


def _is_integer_array(array: Any) -> bool:
    return (
        isinstance(array, types.Array)
        and array.ndim == 1
        and array.layout == "C"
        and isinstance(array.dtype, types.Integer)
    )


if numba.config.DISABLE_JIT:

    def load(array: Any, index: Any) -> Any:
        """Return `array[index]`, as every other thread has written it."""
        return array[index]

    def store(array: Any, index: Any, value: Any) -> None:
        """Set `array[index]` for every thread to see."""
        array[index] = value

    def fetch_add(array: Any, index: Any, value: Any) -> Any:
        """Add `value` to `array[index]` and return what was there before."""
        old = array[index]
        array[index] += value
        return old

    def exchange(array: Any, index: Any, value: Any) -> Any:
        """Set `array[index]` and return what was there before."""
        old = array[index]
        array[index] = value
        return old

    def compare_and_swap(array: Any, index: Any, expected: Any, value: Any) -> bool:
        """Set `array[index]` to `value` if it is `expected`; return whether it was."""
        if array[index] != expected:
            return False
        array[index] = value
        return True

else:

    @intrinsic
    def load(typing_context: Any, array: Any, index: Any) -> Any:
        """Return `array[index]`, as every other thread has written it."""
        if not _is_integer_array(array):
            return None

        def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            address = _element(
                context, builder, array, arguments[0], signature.args[1], arguments[1]
            )
            size = context.get_abi_sizeof(context.get_value_type(array.dtype))
            return builder.load_atomic(address, ordering="seq_cst", align=size)

        return array.dtype(array, index), emit

    @intrinsic
    def store(typing_context: Any, array: Any, index: Any, value: Any) -> Any:
        """Set `array[index]` for every thread to see."""
        if not _is_integer_array(array):
            return None

        def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            address = _element(
                context, builder, array, arguments[0], signature.args[1], arguments[1]
            )
            new = context.cast(builder, arguments[2], signature.args[2], array.dtype)
            size = context.get_abi_sizeof(context.get_value_type(array.dtype))
            builder.store_atomic(new, address, ordering="seq_cst", align=size)
            return context.get_dummy_value()

        return types.void(array, index, value), emit

    @intrinsic
    def fetch_add(typing_context: Any, array: Any, index: Any, value: Any) -> Any:
        """Add `value` to `array[index]` and return what was there before."""
        if not _is_integer_array(array):
            return None

        def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            address = _element(
                context, builder, array, arguments[0], signature.args[1], arguments[1]
            )
            term = context.cast(builder, arguments[2], signature.args[2], array.dtype)
            return builder.atomic_rmw("add", address, term, "seq_cst")

        return array.dtype(array, index, value), emit

    @intrinsic
    def exchange(typing_context: Any, array: Any, index: Any, value: Any) -> Any:
        """Set `array[index]` and return what was there before."""
        if not _is_integer_array(array):
            return None

        def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            address = _element(
                context, builder, array, arguments[0], signature.args[1], arguments[1]
            )
            new = context.cast(builder, arguments[2], signature.args[2], array.dtype)
            return builder.atomic_rmw("xchg", address, new, "seq_cst")

        return array.dtype(array, index, value), emit

    @intrinsic
    def compare_and_swap(
        typing_context: Any, array: Any, index: Any, expected: Any, value: Any
    ) -> Any:
        """Set `array[index]` to `value` if it is `expected`; return whether it was."""
        if not _is_integer_array(array):
            return None

        def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            address = _element(
                context, builder, array, arguments[0], signature.args[1], arguments[1]
            )
            old = context.cast(builder, arguments[2], signature.args[2], array.dtype)
            new = context.cast(builder, arguments[3], signature.args[3], array.dtype)
            outcome = builder.cmpxchg(address, old, new, "seq_cst", "seq_cst")
            return builder.extract_value(outcome, 1)

        return types.boolean(array, index, expected, value), emit
