"""What `math`, `np` and the builtins are inside kernels."""

from __future__ import annotations

import builtins
import math
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from .faults import NotOnDevice
from .scalars import (
    INTEGERS,
    KINDS,
    Float32,
    Float64,
    Int32,
    Int64,
    UInt64,
    scalar,
    unified,
)

__all__ = ["BUILTINS", "MATH", "NUMPY", "invert", "steps"]

NAMES_IN_NUMPY = {
    "acos": "arccos", "acosh": "arccosh", "asin": "arcsin", "asinh": "arcsinh", "atan": "arctan",
    "atan2": "arctan2", "atanh": "arctanh", "pow": "power",
}  # fmt: skip
FUNCTIONS = (
    "acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "ceil", "copysign", "cos", "cosh",
    "erf", "erfc", "exp", "expm1", "fabs", "floor", "fmod", "gamma", "hypot", "lgamma", "log",
    "log10", "log1p", "log2", "pow", "sin", "sinh", "sqrt", "tan", "tanh", "trunc",
)  # fmt: skip
NOT_IN_NUMPY = ("erf", "erfc", "gamma", "lgamma")


def _numpy_value(value: Any) -> Any:
    value = scalar(value)
    return np.dtype(type(value).__name__.lower()).type(value)


def _by_numpy(function: Any) -> Callable[..., Any]:
    """Let a NumPy function take and give the device's numbers; NaN and infinities come silently."""

    def call(*values: Any) -> Any:
        with np.errstate(all="ignore"):
            return scalar(function(*(_numpy_value(value) for value in values)))

    return call


def _of_floats(name: str) -> Callable[..., Any]:
    """Make a function of `math`: float32 for float32 alone, else float64; also floor and ceil."""
    if name in NOT_IN_NUMPY:
        plain = getattr(math, name)

        def compute(value: Any) -> Any:
            try:
                return plain(float(value))
            except OverflowError:
                return math.inf
            except ValueError:  # a pole, or outside the domain
                if name == "lgamma":
                    return math.inf
                return math.nan if value else math.copysign(math.inf, value)
    else:
        compute = getattr(np, NAMES_IN_NUMPY.get(name, name))

    def call(*values: Any) -> Any:
        single = all(type(value) is Float32 for value in values)
        kind = np.float32 if single else np.float64
        with np.errstate(all="ignore"):
            result = float(compute(*(kind(value) for value in values)))
        return (Float32 if single else Float64)(result)

    return call


class _Module:
    """A module's stand-in."""

    def __init__(self, **members: Any) -> None:
        self.__dict__.update(members)


MATH = _Module(
    **{name: _of_floats(name) for name in FUNCTIONS},
    **{name: Float64(getattr(math, name)) for name in ("e", "inf", "nan", "pi", "tau")},
    isnan=lambda value: math.isnan(value),
    isinf=lambda value: math.isinf(value),
    isfinite=lambda value: math.isfinite(value),
    degrees=lambda value: value * Float64(180.0 / math.pi),
    radians=lambda value: value * Float64(math.pi / 180.0),
)


class _NumPy:
    """NumPy's stand-in: casts, constants, and functions of numbers."""

    def __init__(self) -> None:
        self.__dict__.update({name: kind for name, kind in KINDS.items() if name != "bool"})
        self.bool_ = bool
        self.intp = Int64
        self.uintp = UInt64

    def __getattr__(self, name: str) -> Any:
        found = getattr(np, name)
        if isinstance(found, float):
            return Float64(found)
        if isinstance(found, type) or not callable(found):
            raise NotOnDevice(f"np.{name}")
        return _by_numpy(found)

    def iinfo(self, kind: Any) -> Any:
        """Return the limits of an integer type."""
        return _Module(min=kind(kind.LOW), max=kind(kind.HIGH), bits=kind.BITS)

    def finfo(self, kind: Any) -> Any:
        """Return the limits of a float type."""
        real = np.finfo(kind.__name__.lower())
        names = ("min", "max", "eps", "tiny", "resolution")
        return _Module(**{name: kind(float(getattr(real, name))) for name in names})


NUMPY = _NumPy()


# -------------------------------------------------------------------------------- builtins


def steps(*bounds: Any) -> Any:
    """Be `range`: of int32 bounds int32 numbers, else 64 bits wide."""
    return map(_step(*map(type, bounds)), builtins.range(*bounds))


@cache
def _step(*kinds: Any) -> Any:
    """Return what makes the numbers of a range whose bounds have these types."""
    if any(issubclass(kind, float) for kind in kinds):
        raise NotOnDevice("a range of floats")
    if set(kinds) == {Int32}:
        return Int32.make
    if all(kind in INTEGERS and not kind.SIGNED for kind in kinds):
        return UInt64.make
    return Int64.make


def _extreme(values: tuple[Any, ...], least_wanted: bool) -> Any:
    """Return the least or greatest; of floats, NaN only if there is nothing else."""
    values = tuple(scalar(value) for value in values)
    if len(values) < 2:
        raise TypeError("min and max take two numbers or more")
    kind = unified(*(type(value) for value in values))
    if kind is bool:
        return all(values) if least_wanted else any(values)
    if any(isinstance(value, bool) for value in values):
        raise TypeError("min and max of a bool and a number")
    best = kind(values[0])
    for value in values[1:]:
        one = kind(value)
        if best != best or (one < best if least_wanted else one > best):
            best = one
    return best


def least(*values: Any) -> Any:
    """Be `min` of two or more numbers."""
    if len(values) == 2 and type(values[0]) is type(values[1]) and type(values[0]) in INTEGERS:
        one, other = values
        return other if other < one else one
    return _extreme(values, least_wanted=True)


def greatest(*values: Any) -> Any:
    """Be `max` of two or more numbers."""
    if len(values) == 2 and type(values[0]) is type(values[1]) and type(values[0]) in INTEGERS:
        one, other = values
        return other if other > one else one
    return _extreme(values, least_wanted=False)


def power(base: Any, exponent: Any) -> Any:
    """Be `pow` of two numbers."""
    return scalar(base) ** exponent


def whole(value: Any = 0) -> Any:
    """Be `int`: an integer keeps its type."""
    value = scalar(value)
    return Int64(value) if isinstance(value, float | bool) else value


def real(value: Any = 0.0) -> Any:
    """Be `float`: a float32 stays one."""
    value = scalar(value)
    return value if isinstance(value, float) else Float64(value)


def invert(value: Any) -> Any:
    """Be `~`, which on the device is `not` for a bool."""
    return not value if isinstance(value, bool) else ~scalar(value)


def _forbidden(name: str) -> Callable[..., Any]:
    def call(*arguments: Any, **options: Any) -> Any:
        raise NotOnDevice(f"{name}()")

    return call


BUILTINS: dict[str, Any] = {
    **vars(builtins),
    "range": steps,
    "min": least,
    "max": greatest,
    "abs": lambda value: abs(scalar(value)),
    "round": lambda value, *digits: round(scalar(value), *digits),
    "int": whole,
    "float": real,
    "pow": power,
    "len": lambda values: Int64(len(values)),
    **{name: _forbidden(name) for name in ("open", "input", "eval", "exec", "sorted", "print")},
}
