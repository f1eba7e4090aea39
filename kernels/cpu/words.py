"""Read unaligned eight-byte words of byte arrays, mix them, and reverse their bytes.

Numba reads arrays one element at a time, so these functions emit LLVM instructions.  Words are
int64 and little-endian, as on every processor that Numba compiles for.  If compilation is switched
off, plain Python replaces them.
"""

from __future__ import annotations

from typing import Any

import numba
from llvmlite import ir
from numba.core import cgutils, types
from numba.core.extending import intrinsic

__all__ = ["fold", "load_word", "reverse_bytes"]

_WORD = ir.IntType(64)
_MASK = (1 << 64) - 1


def _signed(word: int) -> int:
    """Return 64 bits as a signed integer."""
    return (word & _MASK ^ 1 << 63) - (1 << 63)


def plain_load_word(data: Any, at: Any) -> int:
    """Return the eight bytes from `at` on, all within the array."""
    return int.from_bytes(data[at : at + 8].tobytes(), "little", signed=True)


def plain_fold(first: Any, second: Any) -> int:
    """Return the exclusive or of both halves of the unsigned 128-bit product."""
    product = (int(first) & _MASK) * (int(second) & _MASK)
    return _signed(product ^ product >> 64)


def plain_reverse_bytes(word: Any) -> int:
    """Return a word with its bytes in reverse order."""
    return int.from_bytes((int(word) & _MASK).to_bytes(8, "little"), "big", signed=True)


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
def _load_word(typing_context: Any, data: Any, at: Any) -> Any:
    known = isinstance(data, types.Array) and data.dtype == types.uint8 and data.layout == "C"
    return (types.int64(data, at), _emit_load_word) if known else None


@intrinsic
def _fold(typing_context: Any, first: Any, second: Any) -> Any:
    return types.int64(types.int64, types.int64), _emit_fold


@intrinsic
def _reverse_bytes(typing_context: Any, word: Any) -> Any:
    return types.int64(types.int64), _emit_reverse_bytes


_compiled = not numba.config.DISABLE_JIT
load_word = _load_word if _compiled else plain_load_word
fold = _fold if _compiled else plain_fold
reverse_bytes = _reverse_bytes if _compiled else plain_reverse_bytes
