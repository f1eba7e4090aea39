"""The arguments of a launch: their types, and their values as the driver reads them."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Sequence
from functools import lru_cache
from struct import Struct, pack_into
from typing import Any, NamedTuple

import numpy as np

__all__ = ["Kind", "Marshalled", "Parameters", "kind_of", "marshal"]

Kind = Any  # "float64" for a number, "float64*" for an array, a tuple of kinds for a tuple

# The formats of numbers for `struct`, each in eight bytes
_FORMATS = {
    "bool": "?7x",
    "int32": "i4x",
    "uint32": "I4x",
    "int64": "q",
    "uint64": "Q",
    "float32": "f4x",
    "float64": "d",
}
_POINTER = "Q"
_NUMBERS: dict[type, str] = {
    bool: "bool",
    int: "int64",
    float: "float64",
    np.longlong: "int64",
    np.ulonglong: "uint64",
    **{np.dtype(name).type: name for name in _FORMATS},
}
# Kernels see bool as uint8 and compare with 0.
_ARRAYS = {np.dtype(name): f"{name}*" for name in (*_FORMATS, "uint16", "uint8", "int8")} | {
    np.dtype("bool"): "uint8*"
}
# Strides of contiguous one-dimensional arrays, by kind: they are faster to read than flags
_STRIDES = {kind: (dtype.itemsize,) for dtype, kind in _ARRAYS.items()}


def kind_of(value: Any) -> Kind:
    """Return the type that a kernel is compiled for, given an argument.

    Parameters
    ----------
    value : array, number, or tuple of them
        An argument of a launch.  Arrays of bool are seen as uint8: kernels compare with 0.

    Returns
    -------
    str or tuple
        `"float64*"` for an array, `"float64"` for a number, a tuple for a tuple.

    Raises
    ------
    TypeError
        If a kernel cannot take it: an array of another rank or dtype, or another object.
    """
    if isinstance(value, tuple):
        return tuple([kind_of(one) for one in value])
    return _NUMBERS.get(type(value)) or _kind_of_array(value)


def _kind_of_array(value: Any) -> str:
    kind = _ARRAYS.get(value.dtype)
    if kind is None or (
        value.strides != _STRIDES[kind] and (value.ndim != 1 or not value.flags.c_contiguous)
    ):
        raise TypeError(f"a kernel takes no {value.dtype.name} in {value.ndim} dimensions")
    return kind


class Marshalled(NamedTuple):
    """A launch's arguments, with tuples flattened.

    Attributes
    ----------
    kinds : tuple
        The kind of each argument; see `kind_of`.
    values : list of numbers
        A pointer for each array, and the numbers.
    starts : list of int
        For each argument the index of its first value.
    """

    kinds: tuple[Kind, ...]
    values: list[Any]
    starts: list[int]


def marshal(arguments: Sequence[Any]) -> Marshalled:
    """Flatten a launch's arguments and return their kinds.

    Parameters
    ----------
    arguments : sequence
        Device arrays, numbers, and tuples of these.

    Returns
    -------
    Marshalled

    Raises
    ------
    TypeError
        As in `kind_of`.
    """
    values: list[Any] = []
    starts, kinds = [], []
    for one in arguments:
        starts.append(len(values))
        kinds.append(_take(one, values))
    return Marshalled(tuple(kinds), values, starts)


def _take(value: Any, values: list[Any]) -> Kind:
    """Append the values of an argument; return its kind."""
    kind = _NUMBERS.get(type(value))
    if kind is not None:
        values.append(value)
        return kind
    if isinstance(value, tuple):
        return tuple([_take(one, values) for one in value])
    kind = _kind_of_array(value)
    values.append(value.data.ptr)
    return kind


class Parameters:
    """A launch's parameters in memory: eight bytes for each value, then the address of each.

    Parameters
    ----------
    marshalled : Marshalled

    Attributes
    ----------
    table : ctypes.c_void_p
        Pointer to the array of addresses, for the driver.
    """

    def __init__(self, marshalled: Marshalled) -> None:
        kinds, values, self._starts = marshalled
        count = len(values)
        layout, self._formats = _layout(kinds)
        self._memory = (ctypes.c_uint64 * max(2 * count, 1))()
        base = ctypes.addressof(self._memory)
        layout.pack_into(self._memory, 0, *values, *range(base, base + 8 * count, 8))
        self.table = ctypes.c_void_p(base + 8 * count)

    def change(self, place: int, value: int) -> None:
        """Replace the value of an argument that is a number."""
        first = self._starts[place]
        pack_into(f"={self._formats[first]}", self._memory, 8 * first, value)


@lru_cache(maxsize=4096)
def _layout(kinds: tuple[Kind, ...]) -> tuple[Struct, tuple[str, ...]]:
    """Return the format of parameters with their addresses, and the format of each."""
    formats = tuple(_FORMATS.get(kind, _POINTER) for kind in _apart(kinds))
    return Struct(f"={''.join(formats)}{len(formats)}{_POINTER}"), formats


def _apart(kinds: tuple[Kind, ...]) -> Iterator[str]:
    for kind in kinds:
        if isinstance(kind, tuple):
            yield from _apart(kind)
        else:
            yield kind
