"""float32 numbers that plain Python computes with as compiled code does.

For compiled code a number in the source is an int64 or a float64, so a float32 beside one is widened:
`edge.w / 3` is a float64.  For NumPy such a number has no type of its own, and the result is a
float32.  `engine="python"` gives the functions of a program numbers of this type instead of NumPy's.
"""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["Single"]

BINARY = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow")
COMPARISONS = ("lt", "le", "eq", "ne", "gt", "ge")
UNARY = ("neg", "pos", "abs", "round")


class Single(np.float32):
    """A float32 that is widened beside a Python int or float."""

    __slots__ = ()
    __hash__ = np.float32.__hash__


def _kept(value: Any) -> Any:
    """Return a float32 as `Single`, and any other value as it is."""
    return Single(value) if type(value) is np.float32 else value


def _binary(name: str) -> Any:
    narrow, wide = getattr(np.float32, name), getattr(np.float64, name)

    def operator(self: Single, other: Any) -> Any:
        whole_power = name == "__pow__" and type(other) is int  # repeated multiplication
        if type(other) in (int, float) and not whole_power:
            return wide(np.float64(self), float(other))
        return _kept(narrow(self, other))

    return operator


def _unary(name: str) -> Any:
    plain = getattr(np.float32, name)

    def operator(self: Single, *digits: Any) -> Any:
        return _kept(plain(self, *digits))

    return operator


for _name in (*BINARY, *(f"r{one}" for one in BINARY), *COMPARISONS):
    setattr(Single, f"__{_name}__", _binary(f"__{_name}__"))
for _name in UNARY:
    setattr(Single, f"__{_name}__", _unary(f"__{_name}__"))
