"""What a kernel is launched with: its types, and its parameters as the driver takes them."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

__all__ = ["Kind", "flatten", "kind_of", "parameters"]

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
_ELEMENTS = frozenset(_C_TYPES) - {"bool"} | {"uint8", "int8"}


def flatten(values: Sequence[Any]) -> list[Any]:
    """Return the arrays and numbers of nested tuples, in order."""
    flat: list[Any] = []
    for value in values:
        flat += flatten(value) if isinstance(value, tuple) else [value]
    return flat


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
    plain = _PYTHON.get(type(value))
    if plain is not None:
        return plain
    if isinstance(value, np.generic):
        name = _name(value.dtype)
        if name not in _C_TYPES:
            raise TypeError(f"a kernel takes no {name}")
        return name
    name = _name(value.dtype)
    element = "uint8" if name == "bool" else name
    if element not in _ELEMENTS or value.ndim != 1 or not value.flags.c_contiguous:
        raise TypeError(f"a kernel takes no array of {element} in {value.ndim} dimensions")
    return f"{element}*"


@cache
def _name(dtype: np.dtype[Any]) -> str:
    """Return a dtype's name, which NumPy puts together at every call."""
    return dtype.name


def parameters(values: Sequence[Any]) -> list[Any]:
    """Return a launch's arguments as C values: pointers for arrays, numbers as they are."""
    given = []
    for value in flatten(values):
        name = _PYTHON.get(type(value))
        if name is None and isinstance(value, np.generic):
            name = _name(value.dtype)
        given.append(ctypes.c_void_p(value.data.ptr) if name is None else _C_TYPES[name](value))
    return given
