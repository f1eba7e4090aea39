"""The arguments of a launch: their types, and their values as the driver reads them."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
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
# With the strides of contiguous one-dimensional arrays: they are faster to read than flags
_CONTIGUOUS = {dtype: (kind, (dtype.itemsize,)) for dtype, kind in _ARRAYS.items()}
_NO_ARRAY = (None, None)


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
        return tuple([kind_of(part) for part in value])
    return _NUMBERS.get(type(value)) or _kind_of_array(value)


def _kind_of_array(value: Any) -> str:
    kind, strides = _CONTIGUOUS.get(value.dtype, _NO_ARRAY)
    if kind is None or (
        value.strides != strides and (value.ndim != 1 or not value.flags.c_contiguous)
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
    """

    kinds: tuple[Kind, ...]
    values: list[Any]


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
    return Marshalled(_take(arguments, values), values)


def _take(arguments: Sequence[Any], values: list[Any]) -> tuple[Kind, ...]:
    """Append the values of arguments; return their kinds."""
    kinds: list[Kind] = []
    for argument in arguments:  # no calls for each: a launch has dozens of arguments
        kind: Kind = _NUMBERS.get(type(argument))
        if kind is not None:
            values.append(argument)
        elif isinstance(argument, tuple):
            kind = _take(argument, values)
        else:
            kind, strides = _CONTIGUOUS.get(argument.dtype, _NO_ARRAY)
            if kind is None or argument.strides != strides:
                kind = _kind_of_array(argument)
            values.append(argument.data.ptr)
        kinds.append(kind)
    return tuple(kinds)


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
        kinds, values = marshalled
        layout = _layout(kinds)
        self._layout = layout
        self._memory = layout.memory()
        base = ctypes.addressof(self._memory)
        table = base + layout.table
        layout.format.pack_into(self._memory, 0, *values, *range(base, table, 8))
        self.table = ctypes.c_void_p(table)

    def change(self, place: int, value: int) -> None:
        """Replace the value of an argument that is a number."""
        first = self._layout.starts[place]
        pack_into(f"={self._layout.formats[first]}", self._memory, 8 * first, value)


class _Layout(NamedTuple):
    """Where the parameters of a signature are.

    Attributes
    ----------
    format : Struct
        The format of all values, followed by their addresses.
    formats : tuple of str
        The format of each value.
    starts : tuple of int
        For each argument the index of its first value.
    table : int
        Byte at which the addresses begin.
    memory : type
        A ctypes array that has room for both.
    """

    format: Struct
    formats: tuple[str, ...]
    starts: tuple[int, ...]
    table: int
    memory: Any


@lru_cache(maxsize=4096)
def _layout(kinds: tuple[Kind, ...]) -> _Layout:
    """Find the layout of parameters, once for a signature."""
    formats: list[str] = []
    starts = []
    for kind in kinds:
        starts.append(len(formats))
        formats.extend(_FORMATS.get(part, _POINTER) for part in _apart(kind))
    count = len(formats)
    return _Layout(
        format=Struct(f"={''.join(formats)}{count}{_POINTER}"),
        formats=tuple(formats),
        starts=tuple(starts),
        table=8 * count,
        memory=ctypes.c_uint64 * max(2 * count, 1),
    )


def _apart(kind: Kind) -> list[str]:
    """Return the kinds of the values of an argument."""
    if not isinstance(kind, tuple):
        return [kind]
    return [inner for part in kind for inner in _apart(part)]
