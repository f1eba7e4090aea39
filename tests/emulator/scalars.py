"""Numbers of fixed width that behave as Numba's do, on the device.

Integers are subclasses of `int` and floats of `float`, so that comparisons, indexing and truth run
at Python's own speed; arithmetic goes by Numba's rules: integers are widened to 64 bits, signed if
one of the two is, and wrap around; an integer of more than 16 bits makes a float a float64.
A plain `int`, as `len` gives, counts as int64, and `bool` is Python's own.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from .faults import UndefinedArithmetic

__all__ = [
    "INTEGERS",
    "KINDS",
    "Float32",
    "Float64",
    "Int8",
    "Int16",
    "Int32",
    "Int64",
    "UInt8",
    "UInt16",
    "UInt32",
    "UInt64",
    "divide",
    "kind_of",
    "scalar",
    "unified",
]

SMALL = 1024  # integers up to here, and down to its negative, are made but once
_new_float = float.__new__
_cell = array("f", [0.0])


class Integer(int):
    """An integer of `BITS` bits; a call casts, around the ends if need be."""

    __slots__ = ()
    BITS = 64
    SIGNED = True
    LOW = -(2**63)
    HIGH = 2**63 - 1

    def __new__(cls, value: Any = 0) -> Any:
        if type(value) is cls:
            return value
        if isinstance(value, float):
            if not cls.LOW - 1 < value < cls.HIGH + 1:
                raise UndefinedArithmetic(f"{value!r} as {cls.__name__.lower()}")
            value = math.trunc(value)
        return cls.make(value)

    @staticmethod
    def make(value: int) -> Any:
        """Wrap a plain integer around into the type's range."""
        raise NotImplementedError  # each type has its own

    # of one operand: computed in its own width, and widened then

    def __neg__(self) -> Any:
        return _widest(type(self)).make(int(self.make(-int(self))))

    def __pos__(self) -> Any:
        return _widest(type(self)).make(int(self))

    def __invert__(self) -> Any:
        return _widest(type(self)).make(int(self.make(~int(self))))

    def __abs__(self) -> Any:
        return self.make(abs(int(self)))

    def __round__(self, digits: Any = None) -> Any:
        return Int64(float(self))  # Numba rounds no integers as such


def _integer(name: str, bits: int, signed: bool) -> Any:
    low = -(1 << bits - 1) if signed else 0
    body = {
        "__slots__": (),
        "BITS": bits,
        "SIGNED": signed,
        "LOW": low,
        "HIGH": low + (1 << bits) - 1,
    }
    kind: Any = type(name, (Integer,), body)
    kind.make = staticmethod(_Maker(kind).__getitem__)
    return kind


class _Maker(dict[int, Any]):
    """What makes a type's numbers of plain integers; small ones are made once.

    Much of the emulator's time is here: a number that is known is found without a call of Python.
    """

    def __init__(self, kind: Any) -> None:
        self.kind = kind
        small = range(max(kind.LOW, -SMALL), min(kind.HIGH, SMALL) + 1)
        super().__init__((value, int.__new__(kind, value)) for value in small)

    def __missing__(self, value: int) -> Any:
        kind = self.kind
        value = int(value)  # a number of another type would compute by its own rules
        if not kind.LOW <= value <= kind.HIGH:
            value = ((value - kind.LOW) & ((1 << kind.BITS) - 1)) + kind.LOW
        return int.__new__(kind, value)


Int8 = _integer("Int8", 8, True)
Int16 = _integer("Int16", 16, True)
Int32 = _integer("Int32", 32, True)
Int64 = _integer("Int64", 64, True)
UInt8 = _integer("UInt8", 8, False)
UInt16 = _integer("UInt16", 16, False)
UInt32 = _integer("UInt32", 32, False)
UInt64 = _integer("UInt64", 64, False)

INTEGERS = (Int8, Int16, Int32, Int64, UInt8, UInt16, UInt32, UInt64)
NARROW = (bool, Int8, Int16, UInt8, UInt16)  # with these, a float32 stays one


def _widest(kind: Any) -> Any:
    return Int64 if kind.SIGNED else UInt64


class Float64(float):
    """A float64; a call casts."""

    __slots__ = ()

    @classmethod
    def make(cls, value: float) -> Any:
        """Take a plain float."""
        return _new_float(cls, value)

    def __abs__(self) -> Any:
        return self.make(float.__abs__(self))

    def __neg__(self) -> Any:
        return self.make(float.__neg__(self))

    def __pos__(self) -> Any:
        return self

    def __round__(self, digits: Any = None) -> Any:
        if digits is not None:
            return self.make(float.__round__(self, digits))
        return Int64(float(np.rint(self)))


class Float32(Float64):
    """A float32, kept as the float64 of the same value; a call casts."""

    __slots__ = ()

    def __new__(cls, value: Any = 0.0) -> Any:
        if isinstance(value, int) and abs(value) > 1 << 24:  # round once, not twice
            exact = np.uint64(value) if value > Int64.HIGH else np.int64(value)
            return _new_float(cls, float(np.float32(exact)))
        _cell[0] = value
        return _new_float(cls, _cell[0])

    @classmethod
    def make(cls, value: float) -> Any:
        """Round a plain float to float32."""
        _cell[0] = value
        return _new_float(cls, _cell[0])


KINDS: dict[str, Any] = {
    "bool": bool,
    "float32": Float32,
    "float64": Float64,
    **{kind.__name__.lower(): kind for kind in INTEGERS},
}
_ALL = frozenset(KINDS.values())


# ------------------------------------------------------------------------------- operators


def _result_of_integers(left: Any, right: Any) -> Any:
    signed = any(getattr(kind, "SIGNED", True) for kind in (left, right))
    return Int64 if signed else UInt64


def divide(left: Any, right: Any) -> float:
    """Divide as IEEE 754 does, as plain floats."""
    try:
        return float(left) / float(right)
    except ZeroDivisionError:
        if left == 0 or left != left:
            return math.nan
        return math.copysign(math.inf, left) * math.copysign(1.0, right)


def _floor_float(left: Any, right: Any) -> float:
    return float(left) // float(right) if right else divide(left, right)


def _modulo_float(left: Any, right: Any) -> float:
    return float(left) % float(right) if right else math.nan


def _power_float(left: Any, right: Any) -> float:
    with np.errstate(all="ignore"):
        return float(np.power(np.float64(left), np.float64(right)))


def _wrapped(kind: Any, left: Any, right: Any) -> tuple[int, int]:
    return int(kind.make(int(left))), int(kind.make(int(right)))


def _floor_integer(kind: Any, left: Any, right: Any) -> int:
    if 0 <= left <= kind.HIGH and 0 < right <= kind.HIGH:
        return int.__floordiv__(left, right)
    left, right = _wrapped(kind, left, right)
    if right == 0 or (right == -1 and left == kind.LOW):
        return 0  # as Numba has it under NumPy's error model
    return int(left // right)


def _modulo_integer(kind: Any, left: Any, right: Any) -> int:
    if 0 <= left <= kind.HIGH and 0 < right <= kind.HIGH:
        return int.__mod__(left, right)
    left, right = _wrapped(kind, left, right)
    return int(left % right) if right else 0


def _power_integer(kind: Any, left: Any, right: Any) -> int:
    left, right = _wrapped(kind, left, right)
    if right >= 0:
        return pow(left, right, 1 << 64)
    if left == 0:
        raise UndefinedArithmetic("0 to a negative power")
    return left ** (right % 2) if abs(left) == 1 else 0


class _Row(dict[Any, Any]):
    """What makes the result, by the other operand's type; for any other type, nothing does."""

    def __missing__(self, kind: Any) -> Any:
        return _refused


def _refused(value: Any) -> Any:
    return NotImplemented


def _of_slot(operation: Any, row: _Row) -> Any:
    """Make a method of an operation of Python's own, which itself refuses other types."""

    def method(self: Any, other: Any) -> Any:
        return row[type(other)](operation(self, other))

    return method


def _with_result(operation: Callable[[Any, Any], Any], row: dict[Any, Any], swap: bool) -> Any:
    """Make a method: `row` has, for the other operand's type, what makes the result."""
    get = row.get
    if swap:

        def method(self: Any, other: Any) -> Any:
            made = get(type(other))
            return NotImplemented if made is None else made(operation(other, self))

    else:

        def method(self: Any, other: Any) -> Any:
            made = get(type(other))
            return NotImplemented if made is None else made(operation(self, other))

    return method


def _with_kind(operation: Callable[..., int], row: dict[Any, Any], swap: bool) -> Any:
    """Make a method of an operation that must know the integers' common type first."""

    def method(self: Any, other: Any) -> Any:
        kind = row.get(type(other))
        if kind is None:
            return NotImplemented
        return kind.make(operation(kind, other, self) if swap else operation(kind, self, other))

    return method


def _shifted(kind: Any, left: bool) -> tuple[Any, Any]:
    """Make a shift's two methods; the result is as wide as 64 bits, signed as what is shifted."""
    move = int.__lshift__ if left else int.__rshift__
    mine = _widest(kind).make

    def shift(make: Any, value: Any, amount: Any) -> Any:
        if not 0 <= amount < 64:
            raise UndefinedArithmetic(f"a shift by {int(amount)} bits")
        return make(move(value, amount))

    def method(self: Any, amount: Any) -> Any:
        return shift(mine, self, amount) if isinstance(amount, int) else NotImplemented

    def swapped(self: Any, value: Any) -> Any:  # an int or a bool
        return shift(Int64.make, value, self) if isinstance(value, int) else NotImplemented

    return method, swapped


def _equip_integer(kind: Any) -> None:
    others = (int, bool, *INTEGERS)
    kinds = {other: _result_of_integers(kind, other) for other in others}
    makers = _Row((other, result.make) for other, result in kinds.items())
    to_float = dict.fromkeys(others, Float64.make)
    plain = (("add", int.__add__), ("sub", int.__sub__), ("mul", int.__mul__),
             ("and", int.__and__), ("or", int.__or__), ("xor", int.__xor__))  # fmt: skip
    checked = (("floordiv", _floor_integer), ("mod", _modulo_integer), ("pow", _power_integer))
    for prefix, swap in (("__", False), ("__r", True)):
        for name, operation in plain:
            own = getattr(int, f"{prefix}{name}__") if swap else operation
            setattr(kind, f"{prefix}{name}__", _of_slot(own, makers))
        for name, operation in checked:
            setattr(kind, f"{prefix}{name}__", _with_kind(operation, kinds, swap))
        setattr(kind, f"{prefix}truediv__", _with_result(divide, to_float, swap))
    kind.__lshift__, kind.__rlshift__ = _shifted(kind, left=True)
    kind.__rshift__, kind.__rrshift__ = _shifted(kind, left=False)
    kind.__divmod__ = lambda self, other: (self // other, self % other)
    kind.__rdivmod__ = lambda self, other: (other // self, other % self)


def _equip_float(kind: Any) -> None:
    others = (int, float, bool, Float32, Float64, *INTEGERS)
    stays = {Float32, *NARROW} if kind is Float32 else set()
    row = _Row((other, (Float32 if other in stays else Float64).make) for other in others)
    powers = dict(row)
    if kind is Float32:  # an integer exponent, of whatever width, leaves a float32 as it is
        powers |= dict.fromkeys((int, *INTEGERS), Float32.make)
    operations: tuple[tuple[str, Any], ...] = (
        ("add", float.__add__), ("sub", float.__sub__), ("mul", float.__mul__),
        ("truediv", divide), ("floordiv", _floor_float), ("mod", _modulo_float),
    )  # fmt: skip
    for name, operation in operations:
        if name in ("add", "sub", "mul"):
            setattr(kind, f"__{name}__", _of_slot(operation, row))
            # the float's own method, since the other may be an integer
            setattr(kind, f"__r{name}__", _of_slot(getattr(float, f"__r{name}__"), row))
        else:
            setattr(kind, f"__{name}__", _with_result(operation, row, swap=False))
            setattr(kind, f"__r{name}__", _with_result(operation, row, swap=True))
    kind.__pow__ = _with_result(_power_float, powers, swap=False)
    kind.__rpow__ = _with_result(_power_float, row, swap=True)
    kind.__divmod__ = lambda self, other: (self // other, self % other)
    kind.__rdivmod__ = lambda self, other: (other // self, other % self)


for _kind in INTEGERS:
    _equip_integer(_kind)
_equip_float(Float64)
_equip_float(Float32)


# ------------------------------------------------------------------- types of several values


def kind_of(value: Any) -> Any:
    """Return the class of the device's number that a value is."""
    kind = type(value)
    return kind if kind in _ALL else type(scalar(value))


def scalar(value: Any) -> Any:
    """Return a Python or NumPy number as one of the device's.

    Raises
    ------
    TypeError
        If it is no number.
    """
    if isinstance(value, Integer | Float64 | bool):
        return value
    if isinstance(value, np.bool_):
        return bool(value)
    if isinstance(value, np.generic):
        if value.dtype.name not in KINDS:
            raise TypeError(f"{value.dtype} is no type of the device")
        return KINDS[value.dtype.name](value.item())
    if isinstance(value, int):
        return UInt64(value) if value > Int64.HIGH else Int64(value)
    if isinstance(value, float):
        return Float64(value)
    raise TypeError(f"{value!r} is no number of the device")


@lru_cache
def unified(*kinds: Any) -> Any:
    """Return the type that Numba gives a variable which may hold any of several."""
    unique = set(kinds)
    if len(unique) == 1:
        return unique.pop()
    result: Any = np.result_type(*(np.dtype(kind.__name__.lower()) for kind in unique))
    return KINDS[result.name]
