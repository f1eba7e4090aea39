"""Read unaligned eight-byte words of byte arrays, mix them, and reverse their bytes.

Words are int64 and little-endian, as on every processor that Numba compiles for.  `word_instructions` has what
is compiled; if compilation is switched off, plain Python replaces it.
"""

from __future__ import annotations

from typing import Any

from cugraph_ws.kernels.cpu.jit import instruction

__all__ = ["fold", "load_word", "reverse_bytes"]

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


load_word = instruction("word_instructions", plain_load_word)
fold = instruction("word_instructions", plain_fold)
reverse_bytes = instruction("word_instructions", plain_reverse_bytes)
