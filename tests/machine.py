"""Numbers as compiled code has them, for the reference interpreter.

A `Number` has a type and an exact value: a Python integer, which is reduced to the type's range after each
operation, or a float.  So it shares nothing with the library, which asks the compiler for types and NumPy for
values.  An integer may be infinite: it is the float math.inf then, and Python's arithmetic of floats says
what becomes of it.

The rules: whole numbers compute in int64, or in uint64 if both are unsigned; flags count as whole numbers,
but `&`, `|` and `^` of flags are flags; a float32 stays one beside a float32, a flag, and integers of 8 and 16
bits, and is a float64 beside any other number; quotients of whole numbers are float64.
"""

from __future__ import annotations

import math
import types
from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = ["Number", "plain", "retyped", "whole"]

SMALL = {"bool", "int8", "uint8", "int16", "uint16"}  # a float32 holds them


class Number:
    """A number of a NumPy type.

    Attributes
    ----------
    kind : str
        NumPy's name of the type.
    value : bool, int or float
        Of an integer that is infinite, a float.
    """

    __slots__ = ("kind", "value")
    __array_ufunc__ = None  # NumPy's scalars leave operations to it

    def __init__(self, kind: str, value: Any) -> None:
        self.kind, self.value = kind, _reduced(kind, value)

    @classmethod
    def of(cls, value: Any) -> Number:
        """Return a Python or NumPy number as a `Number`."""
        if isinstance(value, Number):
            return value
        if isinstance(value, np.generic):
            return cls(value.dtype.name, value.item())
        if isinstance(value, bool):
            return cls("bool", value)
        return cls("int64" if isinstance(value, int) else "float64", value)

    def __repr__(self) -> str:
        return f"{self.kind}({self.value})"

    def __bool__(self) -> bool:
        return bool(self.value)

    def __int__(self) -> int:
        return int(self.value)

    def __float__(self) -> float:
        return float(self.value)

    def __index__(self) -> int:
        return int(self.value)

    def __hash__(self) -> int:
        return hash(self.value)

    def item(self) -> Any:
        """Return the value."""
        return self.value

    @property
    def is_float(self) -> bool:
        """Whether the type is a float."""
        return self.kind.startswith("float")

    def __round__(self, digits: Any = None) -> Number:
        if digits is None:
            return Number("int64", round(self.value)) if math.isfinite(self.value) else self
        return Number("float64" if not self.is_float else self.kind, round(self.value, int(digits)))

    def __divmod__(self, other: Any) -> Any:
        return self // other, self % other

    def __abs__(self) -> Number:
        return Number(self.kind, abs(self.value))

    def __neg__(self) -> Number:
        return Number(self.kind if self.is_float else _whole_kind(self, self), -self.value)

    def __pos__(self) -> Number:
        return Number(self.kind if self.is_float else _whole_kind(self, self), +self.value)

    def __invert__(self) -> Number:
        if self.kind == "bool":
            return Number("bool", not self.value)
        return Number(_whole_kind(self, self), ~self.value)


def _reduced(kind: str, value: Any) -> Any:
    """Return the value that a type holds in place of a number."""
    if kind == "bool":
        return bool(value)
    if kind == "float32":
        with np.errstate(all="ignore"):
            return float(np.float32(value))
    if kind == "float64":
        return float(value)
    if isinstance(value, float) and not math.isfinite(value):
        return value
    bits = int(kind.removeprefix("u").removeprefix("int"))
    value = int(value) & (1 << bits) - 1
    return value - (1 << bits) if not kind.startswith("u") and value >> bits - 1 else value


def _whole_kind(a: Number, b: Number) -> str:
    both = {a.kind[0], b.kind[0]}
    return "uint64" if both == {"u"} else "int64"


def _common(a: Number, b: Number) -> str:
    """Return the type in which a sum of two numbers is computed."""
    if not (a.is_float or b.is_float):
        return _whole_kind(a, b)
    single = all(one.kind in ("float32", *SMALL) for one in (a, b))
    return "float32" if single else "float64"


def _floats(kind: str, function: Callable[[Any, Any], Any], a: Any, b: Any) -> Any:
    """Compute with floats of a type, as IEEE 754 has it."""
    made = np.dtype(kind).type
    with np.errstate(all="ignore"):
        return function(made(a), made(b)).item()


def _infinite(a: Number, b: Number) -> bool:
    return any(isinstance(one.value, float) and not one.is_float for one in (a, b))


def _arithmetic(name: str, python: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    def operator(self: Number, other: Any) -> Any:
        if isinstance(other, tuple):
            return NotImplemented
        a, b = self, Number.of(other)
        kind = _common(a, b)
        if name == "truediv" and kind in ("int64", "uint64"):
            kind = "float64"
        if kind.startswith("float"):
            whole_power = name == "pow" and not b.is_float
            if whole_power and a.is_float:
                kind = a.kind
            return Number(kind, _floats(kind, python, a.value, b.value))
        if name == "floordiv" and _infinite(a, b):
            quotient = math.inf * (1 if b.value > 0 else -1) if a.value == math.inf else 0
            return Number(kind, quotient)
        if name == "mul" and _infinite(a, b) and 0 in (a.value, b.value):
            return Number(kind, 0)
        if name in ("floordiv", "mod") and b.value == 0:
            return Number(kind, 0)
        if name in ("and", "or", "xor") and a.kind == b.kind == "bool":
            return Number("bool", python(a.value, b.value))
        if name in ("lshift", "rshift"):
            kind = _whole_kind(a, a)
            assert 0 <= b.value < 64, "a shift that is not defined"
        return Number(kind, python(a.value, b.value))

    return operator


def _comparison(python: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    def operator(self: Number, other: Any) -> Any:
        b = Number.of(other)
        if self.is_float or b.is_float:
            return Number("bool", python(float(self.value), float(b.value)))
        return Number("bool", python(self.value, b.value))

    return operator


PYTHON: dict[str, Callable[[Any, Any], Any]] = {
    "add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b,
    "truediv": lambda a, b: a / b, "floordiv": lambda a, b: a // b, "mod": lambda a, b: a % b,
    "pow": lambda a, b: a**b, "and": lambda a, b: a & b, "or": lambda a, b: a | b,
    "xor": lambda a, b: a ^ b, "lshift": lambda a, b: a << b, "rshift": lambda a, b: a >> b,
}  # fmt: skip
for _name, _python in PYTHON.items():
    _operator = _arithmetic(_name, _python)
    setattr(Number, f"__{_name}__", _operator)
    setattr(
        Number, f"__r{_name}__", lambda self, other, made=_operator: made(Number.of(other), self)
    )
for _name, _python in {
    "lt": lambda a, b: a < b, "le": lambda a, b: a <= b, "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b, "eq": lambda a, b: a == b, "ne": lambda a, b: a != b,
}.items():  # fmt: skip
    setattr(Number, f"__{_name}__", _comparison(_python))


# ----------------------------------------------------------------------- what functions call


def plain(value: Any) -> Any:
    """Return a number, or a tuple of numbers, as NumPy has it."""
    if isinstance(value, tuple):
        return tuple(map(plain, value))
    if not isinstance(value, Number):
        return value
    if isinstance(value.value, float) and not value.is_float:
        return value  # an integer that is infinite
    return np.dtype(value.kind).type(value.value)


def whole(value: Any) -> Any:
    """Return `int(value)`; of an infinite integer, the same."""
    number = Number.of(value)
    if number.is_float:
        return Number("int64", int(number.value))
    return number


class _Module:
    """A module for functions that take `Number`s; its types make them."""

    def __init__(self, module: types.ModuleType) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._module, name)
        if isinstance(found, type) and issubclass(found, np.generic):
            return lambda value: Number(np.dtype(found).name, Number.of(value).value)
        if not callable(found):
            return found

        def called(*given: Any) -> Any:
            if self._module is math and name in ("floor", "ceil", "trunc"):
                return Number("int64", found(Number.of(given[0]).value))
            values = [float(one) if isinstance(one, Number) else one for one in map(plain, given)]
            single = all(isinstance(one, np.float32) for one in values)
            with np.errstate(all="ignore"):
                result = found(*values)
            if isinstance(result, (int, float, np.generic)):
                return Number.of(
                    np.float32(result) if single and isinstance(result, float) else result
                )
            return result

        return called


def _float(value: Any) -> Any:
    number = Number.of(value)
    return Number("float32" if number.kind == "float32" else "float64", number.value)


def _extreme(python: Callable[..., Any]) -> Callable[..., Any]:
    """Return min or max: what it returns has the type that all its arguments have together."""

    def called(*given: Any) -> Any:
        if len(given) == 1 or isinstance(given[0], tuple):
            return python(*given)
        numbers = [Number.of(one) for one in given]
        found = python(numbers)
        kind = numbers[0].kind
        for one in numbers[1:]:
            kind = kind if kind == one.kind else _common(Number(kind, 0), one)
        infinite = found.value if isinstance(found.value, float) else None
        if infinite in (math.inf, -math.inf) and all(
            not one.is_float or abs(one.value) == math.inf for one in numbers
        ):
            kinds = [one.kind for one in numbers if not one.is_float]
            kind = kinds[0] if kinds else kind
        return Number(kind, found.value)

    return called


MODULES = {id(math): _Module(math), id(np): _Module(np)}
BUILTINS = {"int": whole, "float": _float, "bool": lambda value: Number("bool", bool(value)),
            "min": _extreme(min), "max": _extreme(max)}  # fmt: skip


def retyped(function: Any, known: dict[Any, Any] | None = None) -> Any:
    """Return a function whose globals make `Number`s: `math`, NumPy, `int`, `float`, and its helpers.

    Parameters
    ----------
    function : function
    known : dict, optional
        Functions that were made before.
    """
    if known is None:
        known = _recent(function)
    if function not in known:
        space = _Space(function, known)
        made = types.FunctionType(
            function.__code__,
            space,
            function.__name__,
            function.__defaults__,
            function.__closure__,
        )
        made.__kwdefaults__ = function.__kwdefaults__
        known[function] = made
    return known[function]


def _recent(function: Any) -> dict[Any, Any]:
    """Return the functions that were made while globals had their present values."""
    now = [function.__globals__.get(name) for name in function.__code__.co_names]
    before = _made.get(function)
    if before is None or any(a is not b for a, b in zip(before[0], now, strict=True)):
        _made[function] = before = now, {}
    return before[1]


_made: dict[Any, Any] = {}


class _Space(dict[str, Any]):
    """Globals as they are when they are read; functions look them up here first."""

    def __init__(self, function: Any, known: dict[Any, Any]) -> None:
        super().__init__(BUILTINS)
        self["__builtins__"] = __builtins__
        for name in function.__code__.co_names:
            value = function.__globals__.get(name)
            value = getattr(value, "py_func", value)
            if id(value) in MODULES:
                self[name] = MODULES[id(value)]
            elif isinstance(value, types.FunctionType) and value is not function:
                self[name] = retyped(value, known)
            elif name in function.__globals__:
                self[name] = value
