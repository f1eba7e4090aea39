"""Random numbers of programs, as decision 66 says: Philox-4x32-10 of the seed and of what a draw depends on."""

from __future__ import annotations

import dis
import sys
from collections.abc import Callable
from functools import lru_cache
from types import CodeType
from typing import Any

from machine import Number

__all__ = ["MASK", "bits", "draws_of", "seed_of_parallel", "seed_of_phase", "unit", "words"]

MASK = 2**32 - 1
CALLS = 1024  # calls of a function that are told apart
NUMBERS = {
    "init": 0,
    "compute": 1,
    "gather_list": 2,
    "apply": 3,
    "active": 4,
    "starts": 5,
    "scatter": 11,
}


def words(key: int, counter: tuple[int, int, int, int]) -> list[int]:
    """Return the output of Philox-4x32-10, as its authors write it."""
    x, k, m = list(counter), key & MASK, key >> 32
    for _ in range(10):
        one, other = 0xD2511F53 * x[0], 0xCD9E8D57 * x[2]
        x = [(other >> 32) ^ x[1] ^ k, other & MASK, (one >> 32) ^ x[3] ^ m, one & MASK]
        k, m = (k + 0x9E3779B9) & MASK, (m + 0xBB67AE85) & MASK
    return x


def bits(seed: int, step: int, function: str, call: int, vertex: int, count: int = 0) -> int:
    """Return the 64 bits of a draw."""
    place = NUMBERS[function] * CALLS + call
    first, second, *_ = words(
        seed, (vertex & MASK, (vertex >> 32) | place << 16, count, step & MASK)
    )
    return first << 32 | second


def unit(*draw: Any) -> float:
    return (bits(*draw) >> 11) / 2**53


def seed_of_phase(seed: int, phase: int, round_: int) -> int:
    """Return the seed of a phase's run in a round."""
    first, second, *_ = words(seed, (phase, 0xFFFF << 16, round_, 0))
    return (first << 32 | second) >> 1


def seed_of_parallel(seed: int, rank: int) -> int:
    """Return the seed of the draws of an edge after `rank` others with the same ends."""
    if not rank:
        return seed
    first, second, *_ = words(seed, (rank, 0xFFFE << 16, 0, 0))
    return (first << 32 | second) >> 1


def draws_of(
    seed: int, step: int, function: str, vertex: int, count: int = 0
) -> dict[str, Callable[..., Any]]:
    """Return `p.random` and `p.random_integer` of a call of a program's function, which draws outside of loops."""

    def drawn() -> int:
        frame = sys._getframe(2)
        site = list(frame.f_code.co_positions())[frame.f_lasti // 2]
        call = _sites(frame.f_code).index((site[0], site[2]))
        return bits(seed, step, function, call, vertex, count)

    return {
        "random": lambda: Number("float64", (drawn() >> 11) / 2**53),
        "random_integer": lambda n: Number("int64", drawn() % max(int(Number.of(n).value), 1)),
    }


@lru_cache
def _sites(code: CodeType) -> list[tuple[int, int]]:
    """Return where a function draws, in the order of the source."""
    found = {
        (one.positions.lineno, one.positions.col_offset)
        for one in dis.get_instructions(code)
        if one.positions is not None and one.argval in ("random", "random_integer")
    }
    return sorted(found)
