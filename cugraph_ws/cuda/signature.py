"""What a kernel is launched with: its types, and its parameters as the driver takes them."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np

__all__ = ["Kind", "Marshalled", "kind_of", "marshal"]

Kind = Any  # "float64" for a number, "float64*" for an array, a tuple of kinds for a tuple

_C_TYPES = {
    "bool": ctypes.c_uint8,
    "int32": ctypes.c_int32,
    "uint32": ctypes.c_uint32,
    "int64": ctypes.c_int64,
    "uint64": ctypes.c_uint64,
    "float32": ctypes.c_float,
    "float64": ctypes.c_double,
}
_PYTHON = {bool: "bool", int: "int64", float: "float64"}
_ARRAYS = {name: f"{name}*" for name in (*_C_TYPES, "uint8", "int8")} | {"bool": "uint8*"}


def kind_of(value: Any) -> Kind:
    """Return the type that a kernel is compiled for.

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
        If it is nothing that a kernel takes: an array of another shape or dtype, an object.
    """
    if isinstance(value, tuple):
        return tuple([kind_of(one) for one in value])
    return _kind_of_one(value)


def _kind_of_one(value: Any) -> str:
    plain = _PYTHON.get(type(value))
    if plain is not None:
        return plain
    name = _name(value.dtype)
    if isinstance(value, np.generic):
        if name not in _C_TYPES:
            raise TypeError(f"a kernel takes no {name}")
        return name
    kind = _ARRAYS.get(name)
    if kind is None or value.ndim != 1 or not value.flags.c_contiguous:
        raise TypeError(f"a kernel takes no array of {name} in {value.ndim} dimensions")
    return kind


@cache
def _name(dtype: np.dtype[Any]) -> str:
    """Return a dtype's name, which NumPy puts together at every call."""
    return dtype.name


class Marshalled(NamedTuple):
    """A launch's arguments as the driver takes them.

    Attributes
    ----------
    kinds : tuple
        Of each argument; see `kind_of`.
    values : list
        C values: pointers for arrays, numbers as they are.
    starts : list of int
        For each argument the place of its first value.
    """

    kinds: tuple[Kind, ...]
    values: list[Any]
    starts: list[int]


def marshal(arguments: Sequence[Any]) -> Marshalled:
    """Return a launch's arguments as the driver takes them, and of which kinds they are.

    Parameters
    ----------
    arguments : sequence
        Arrays of the device, numbers, and tuples of such.

    Returns
    -------
    Marshalled

    Raises
    ------
    TypeError
        As `kind_of`.
    """
    values: list[Any] = []
    kinds, starts = [], []

    def take(value: Any) -> Kind:
        if isinstance(value, tuple):
            return tuple([take(one) for one in value])
        kind = _kind_of_one(value)
        kept = _C_TYPES.get(kind)
        values.append(ctypes.c_void_p(value.data.ptr) if kept is None else kept(value))
        return kind

    for one in arguments:
        starts.append(len(values))
        kinds.append(take(one))
    return Marshalled(tuple(kinds), values, starts)
