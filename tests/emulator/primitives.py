"""The names of `cugraph_ws.kernels.cuda.primitives`, for the emulator."""

from __future__ import annotations

import inspect
import struct
import sys
from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np

from .faults import NotOnDevice
from .memory import Array, Shadow, now
from .scalars import KINDS, Float32, Float64, Int32, Int64, UInt32, UInt64, kind_of, unified
from .warps import ALL, FULL, dynamic_array, meet, shared_array, wait_block, wait_grid

__all__ = ["SERVED", "Kernel"]

SHUFFLED = (Int32, Int64, UInt32, Float32, Float64)
COUNTED = (Int32, UInt32, Int64, UInt64)


class Kernel:
    """An entry point: launched, never called."""

    def __init__(self, function: Any) -> None:
        self.function = function
        self.__name__ = function.__name__
        self.__doc__ = function.__doc__

    @cached_property
    def signature(self) -> inspect.Signature:
        """The function's parameters."""
        return inspect.signature(self.function)

    def __call__(self, *arguments: Any) -> Any:
        raise NotOnDevice(f"a call of the kernel {self.__name__}")


def kernel(function: Any) -> Kernel:
    """Make an entry point."""
    return Kernel(function)


def bounded(threads: int) -> Any:
    """Leave a kernel as it is: lanes have no registers."""
    return lambda function: function


def lean(registers: int) -> Any:
    """Leave a kernel as it is."""
    return lambda function: function


def inline(function: Any) -> Any:
    """Make a device function: here, a function."""
    return function


jit = inline


def interface(role: str | None) -> Any:
    """Leave an interface function as it is: here, nothing is opaque."""
    return inline


def opaque_types(roles: dict[str, Any]) -> dict[str, Any]:
    """Return the roles, which nothing reads here."""
    return roles


# --------------------------------------------------------------------------------- indices


def thread() -> Any:
    return Int32.make(now.lane.thread)


def block() -> Any:
    return Int32.make(now.lane.block.index)


def threads() -> Any:
    return Int32.make(len(now.lane.block.lanes))


def blocks() -> Any:
    return Int32.make(now.machine.grid)


def lane() -> Any:
    return Int32.make(now.lane.lane)


# ------------------------------------------------------------------------------------ warps


def sync_warp(mask: Any) -> None:
    meet("sync_warp", mask, None, lambda values: values)


def _ballot(values: dict[int, Any]) -> dict[int, Any]:
    bits = UInt32(sum(1 << place for place, value in values.items() if value))
    return dict.fromkeys(values, bits)


def ballot(mask: Any, predicate: Any) -> Any:
    return meet("ballot", mask, bool(predicate), _ballot)


def any_of(mask: Any, predicate: Any) -> Any:
    return meet(
        "any_of", mask, bool(predicate), lambda given: dict.fromkeys(given, any(given.values()))
    )


def all_of(mask: Any, predicate: Any) -> Any:
    return meet(
        "all_of", mask, bool(predicate), lambda given: dict.fromkeys(given, all(given.values()))
    )


def _match(values: dict[int, Any]) -> dict[int, Any]:
    kind = unified(*(kind_of(value) for value in values.values()))
    bits: dict[bytes, int] = {}
    pattern = {
        place: np.dtype(kind.__name__.lower()).type(kind(value)).tobytes()
        for place, value in values.items()
    }
    for place, word in pattern.items():
        bits[word] = bits.get(word, 0) | 1 << place
    return {place: UInt32(bits[word]) for place, word in pattern.items()}


def match(mask: Any, value: Any) -> Any:
    return meet("match", mask, value, _match)


def _garbage(kind: Any) -> Any:
    """Return what a lane gets from one that gave nothing: anything."""
    if issubclass(kind, float):
        return kind(np.nan)
    return kind.make(now.machine.random.getrandbits(64))


def _shuffled(source: Callable[[int, int], int]) -> Any:
    """Make the rule of a shuffle; `source` gives the lane that a lane reads, or one beyond."""

    def finish(values: dict[int, Any]) -> dict[int, Any]:
        kinds = {type(value) for value, _ in values.values()}
        kind = kinds.pop()
        if not kinds and kind in SHUFFLED and len(values) == 32:
            return {
                place: values[other][0] if 0 <= (other := source(place, argument)) < 32 else value
                for place, (value, argument) in values.items()
            }
        if kinds or kind not in SHUFFLED:
            kind = unified(*(kind_of(value) for value, _ in values.values()))
            if kind not in SHUFFLED:
                raise NotOnDevice(f"a shuffle of {kind.__name__.lower()}")
            values = {place: (kind(value), given) for place, (value, given) in values.items()}
        results = {}
        for place, (value, argument) in values.items():
            other = source(place, argument)
            if not 0 <= other < 32:
                results[place] = value
            elif other in values:
                results[place] = values[other][0]
            else:
                results[place] = _garbage(kind)
        return results

    return finish


_indexed = _shuffled(lambda place, source: source)
_up = _shuffled(lambda place, distance: place - distance)
_down = _shuffled(lambda place, distance: place + distance)
_xor = _shuffled(lambda place, bits: place ^ bits)


def shuffle(mask: Any, value: Any, source: Any) -> Any:
    return meet("shuffle", mask, (value, int(source) & 31), _indexed)


def shuffle_up(mask: Any, value: Any, distance: Any) -> Any:
    return meet("shuffle_up", mask, (value, int(distance) & 31), _up)


def shuffle_down(mask: Any, value: Any, distance: Any) -> Any:
    return meet("shuffle_down", mask, (value, int(distance) & 31), _down)


def shuffle_xor(mask: Any, value: Any, bits: Any) -> Any:
    return meet("shuffle_xor", mask, (value, int(bits) & 31), _xor)


def sync_block() -> None:
    wait_block()


def sync_grid() -> None:
    wait_grid()


# ------------------------------------------------------------------------------------- bits


def popc(word: Any) -> Any:
    return UInt32((int(word) & ALL).bit_count())


def ffs(word: Any) -> Any:
    bits = int(word) & ALL
    return UInt32((bits & -bits).bit_length())


def clz(word: Any) -> Any:
    return UInt32(32 - (int(word) & ALL).bit_length())


def product(first: Any, second: Any) -> Any:
    return Float64(first) * Float64(second)


# ----------------------------------------------------------------------------------- memory


def shared(size: Any, dtype: Any) -> Any:
    kind = dtype if dtype in KINDS.values() else KINDS[np.dtype(dtype).name]
    real = np.dtype(kind.__name__.lower())

    def make(elements: int, name: str) -> Array:
        return Array(np.ones(elements, real), name, Shadow(elements), shared=True)

    return shared_array(size, make, real.itemsize, sys._getframe(1))


def dynamic_shared(start: Any, size: Any, dtype: Any) -> Any:
    kind = dtype if dtype in KINDS.values() else KINDS[np.dtype(dtype).name]
    real = np.dtype(kind.__name__.lower())

    def make(elements: int, name: str) -> Array:
        return Array(np.ones(elements, real), name, Shadow(elements), shared=True)

    return dynamic_array(int(start), int(size), make, real.itemsize, now.machine.shared)


def fence() -> None:
    now.machine.pause()
    now.lane.fence()


def fence_system() -> None:
    fence()


def pause() -> None:
    now.machine.let_other_launches_run()


def load_system(array: Any, index: Any) -> Any:
    now.machine.pause()
    now.lane.fence()
    return array.load_fresh(index, sys._getframe(1))


def store_system(array: Any, index: Any, value: Any) -> None:
    now.machine.pause()
    now.lane.fence()
    array.store_fresh(index, value, sys._getframe(1))


def load_once(array: Any, index: Any) -> Any:
    return array.load_once(index, sys._getframe(1))


def load_fresh(array: Any, index: Any) -> Any:
    now.machine.pause()
    return array.load_fresh(index, sys._getframe(1))


def load_cached(array: Any, index: Any) -> Any:
    now.machine.pause()
    return array.load_cached(index, sys._getframe(1))


def store_fresh(array: Any, index: Any, value: Any) -> None:
    now.machine.pause()
    array.store_fresh(index, value, sys._getframe(1))


def _atomic(name: str, kinds: tuple[Any, ...], change: Callable[[Any, Any], Any]) -> Any:
    """Make an atomic; `change` gives the new element from the old one and the operand."""

    def operation(array: Any, index: Any, value: Any) -> Any:
        now.machine.pause()
        if array.kind not in kinds:
            raise NotOnDevice(f"{name} of {array.kind.__name__.lower()}")
        operand = array.cast(value)
        return array.atomic(
            index,
            lambda old: array.cast(change(old, operand)),
            sys._getframe(1),
            reads=name != "atomic_exchange",
        )

    operation.__name__ = name
    return operation


atomic_add = _atomic("atomic_add", (*COUNTED, Float32, Float64), lambda old, new: old + new)
atomic_min = _atomic("atomic_min", COUNTED, lambda old, new: new if new < old else old)
atomic_max = _atomic("atomic_max", COUNTED, lambda old, new: new if new > old else old)
atomic_or = _atomic("atomic_or", COUNTED, lambda old, new: old | new)
atomic_and = _atomic("atomic_and", COUNTED, lambda old, new: old & new)
atomic_exchange = _atomic("atomic_exchange", COUNTED, lambda old, new: new)


def atomic_compare_and_swap(array: Any, index: Any, expected: Any, value: Any) -> Any:
    now.machine.pause()
    if array.kind not in (*COUNTED, Float32, Float64):
        raise NotOnDevice(f"atomic_compare_and_swap of {array.kind.__name__.lower()}")
    wanted = _bits(array.cast(expected))
    operand = array.cast(value)
    return array.atomic(
        index, lambda old: operand if _bits(old) == wanted else None, sys._getframe(1)
    )


def _bits(value: Any) -> Any:
    """Return what is compared: of a float its bits, by which -0 is not 0 and NaN is NaN."""
    return struct.pack("d", value) if isinstance(value, float) else value


SERVED = {
    one.__name__: one
    for one in (
        all_of, any_of, atomic_add, atomic_and, atomic_compare_and_swap, atomic_exchange,
        atomic_max, atomic_min, atomic_or, ballot, block, blocks, bounded, clz, dynamic_shared, fence, fence_system,
        ffs, kernel, lane, lean, load_cached, load_fresh, load_once, load_system, match, pause, popc, product, shared, shuffle, shuffle_down, shuffle_up, shuffle_xor,
        store_fresh, store_system, sync_block, sync_grid, sync_warp, thread, threads,
    )
} | {"FULL": FULL, "inline": inline, "interface": interface, "jit": jit, "opaque_types": opaque_types}  # fmt: skip
