"""What Numba emits for the functions of `words`: it reads arrays one element at a time by itself."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.core.extending import intrinsic

__all__ = ["fold", "load_word", "reverse_bytes"]

_WORD = ir.IntType(64)


def _emit_load_word(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    kind = signature.args[0]
    array = context.make_array(kind)(context, builder, arguments[0])
    index = context.cast(builder, arguments[1], signature.args[1], types.intp)
    address = cgutils.get_item_pointer(context, builder, kind, array, [index], wraparound=False)
    return builder.load(builder.bitcast(address, _WORD.as_pointer()), align=1)


def _emit_fold(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    wide = ir.IntType(128)
    first, second = (builder.zext(word, wide) for word in arguments)
    product = builder.mul(first, second)
    high = builder.lshr(product, ir.Constant(wide, 64))
    return builder.trunc(builder.xor(product, high), _WORD)


def _emit_reverse_bytes(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    return builder.bswap(arguments[0])


@intrinsic
def load_word(typing_context: Any, data: Any, at: Any) -> Any:
    """See `words`."""
    known = isinstance(data, types.Array) and data.dtype == types.uint8 and data.layout == "C"
    return (types.int64(data, at), _emit_load_word) if known else None


@intrinsic
def fold(typing_context: Any, first: Any, second: Any) -> Any:
    """See `words`."""
    return types.int64(types.int64, types.int64), _emit_fold


@intrinsic
def reverse_bytes(typing_context: Any, word: Any) -> Any:
    """See `words`."""
    return types.int64(types.int64), _emit_reverse_bytes
