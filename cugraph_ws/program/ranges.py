"""Ranges of numbers, as the machine's arithmetic keeps them: for proofs about `compute`.

A range has every value that an expression can have.  Ends of ranges of floats are exact fractions, rounded
away from the range after every operation, so that rounding to the nearest float never leaves it.  An operation
on integers whose result might not fit in 64 bits has no range: it might wrap.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

import numpy as np

__all__ = [
    "ANYTHING", "FLAG", "End", "Kind", "Range", "added", "as_float", "divided", "hull", "multiplied",
    "negated", "of_integers", "of_number",
    "of_type", "picked_of", "whole",
]  # fmt: skip

LEAST, GREATEST = -(2**63), 2**63 - 1
Kind = Literal["int", "float", "bool"]
End = Any  # int, Fraction, or an infinite float


@dataclass(frozen=True)
class Range:
    """The values from `low` to `high`.

    Attributes
    ----------
    low, high : int, Fraction, or infinite float
        Both ends belong to the range.
    kind : {"int", "float", "bool"}
        What the machine computes with; flags are the integers 0 and 1.
    nan : bool
        Whether NaN is possible as well.
    single : bool
        Whether a float32 is among what it was computed from.
    """

    low: End
    high: End
    kind: Kind = "float"
    nan: bool = False
    single: bool = False

    @property
    def finite(self) -> bool:
        """Whether every value is a finite number."""
        return not self.nan and math.isfinite(self.low) and math.isfinite(self.high)

    @property
    def positive(self) -> bool:
        """Whether every value is a finite number above 0."""
        return self.finite and self.low > 0


ANYTHING = Range(-math.inf, math.inf, nan=True)
FLAG = Range(0, 1, "bool")


def whole(low: int, high: int) -> Range | None:
    """Return a range of integers; None if one of them does not fit in 64 bits, so that it would wrap.

    Parameters
    ----------
    low, high : int
    """
    return Range(low, high, "int") if low >= LEAST and high <= GREATEST else None


def of_number(value: Any, kind: str) -> Range:
    """Return the range of one number, as a value of NumPy's type `kind`.

    Parameters
    ----------
    value : number
    kind : str
    """
    number = np.dtype(kind).type(value)
    if np.dtype(kind).kind != "f":
        return Range(int(number), int(number), "bool" if kind == "bool" else "int")
    if math.isnan(number):
        return ANYTHING
    end = _exact(float(number))
    return Range(end, end, single=kind == "float32")


def of_type(kind: str) -> Range:
    """Return the range of all numbers of NumPy's type `kind`."""
    if kind == "bool":
        return FLAG
    if kind.startswith("float"):
        return Range(-math.inf, math.inf, single=kind == "float32")
    limits = np.iinfo(kind)
    return Range(int(limits.min), int(limits.max), "int")


def as_float(operand: Range, *, single: bool) -> Range:
    """Return the range of the values as float32 if `single`, else as float64."""
    low, high = _outward(operand.low, operand.high, single)
    return Range(low, high, nan=operand.nan, single=single or operand.single)


def hull(first: Range, second: Range) -> Range:
    """Return the least range with the values of both."""
    return _of(first, second, min(first.low, second.low), max(first.high, second.high))


def added(first: Range, second: Range) -> Range | None:
    """Return the range of sums; None if a sum of integers might wrap."""
    nan = (first.low == -math.inf and second.high == math.inf) or (
        first.high == math.inf and second.low == -math.inf
    )
    low = -math.inf if -math.inf in (first.low, second.low) else first.low + second.low
    high = math.inf if math.inf in (first.high, second.high) else first.high + second.high
    return _result(first, second, low, high, nan=nan)


def negated(operand: Range) -> Range | None:
    """Return the range of the negatives; None if an integer might wrap."""
    if operand.kind == "float":
        return Range(-operand.high, -operand.low, nan=operand.nan, single=operand.single)
    return whole(-operand.high, -operand.low)


def multiplied(first: Range, second: Range) -> Range | None:
    """Return the range of products; None if a product of integers might wrap."""
    ends = [
        _product(first_end, second_end)
        for first_end in (first.low, first.high)
        for second_end in (second.low, second.high)
    ]
    infinite = [
        not math.isfinite(factor.low) or not math.isfinite(factor.high)
        for factor in (first, second)
    ]
    zero = [factor.low <= 0 <= factor.high for factor in (first, second)]
    nan = (infinite[0] and zero[1]) or (infinite[1] and zero[0])
    return _result(first, second, min(ends), max(ends), nan=nan)


def divided(dividend: Range, divisor: Range, *, floor: bool) -> Range | None:
    """Return the range of quotients by finite numbers above 0; None if there is none.

    Parameters
    ----------
    dividend, divisor : Range
    floor : bool
        Whether the quotient is rounded down.  Then both must be integers.
    """
    if not divisor.positive:
        return None
    ends = [
        end if not math.isfinite(end) else Fraction(end) / Fraction(by)
        for end in (dividend.low, dividend.high)
        for by in (divisor.low, divisor.high)
    ]
    if floor:
        whole_numbers = "float" not in (dividend.kind, divisor.kind)
        return whole(math.floor(min(ends)), math.floor(max(ends))) if whole_numbers else None
    low, high = _outward(min(ends), max(ends), dividend.single or divisor.single)
    return Range(low, high, nan=dividend.nan, single=dividend.single or divisor.single)


def of_integers(operator: ast.operator, first: Range, second: Range) -> Range | None:
    """Return the range of a remainder, or of a power or shift of two known integers; None if it is not known."""
    if "float" in (first.kind, second.kind) or second.low != second.high:
        return None
    by = int(second.low)
    if isinstance(operator, ast.Mod) and by > 0:
        return whole(0, by - 1)
    if first.low != first.high or not 0 <= by < 64:
        return None
    if isinstance(operator, ast.LShift):
        return whole(int(first.low) << by, int(first.low) << by)
    return (
        whole(int(first.low) ** by, int(first.low) ** by) if isinstance(operator, ast.Pow) else None
    )


def picked_of(first: Range, second: Range, pick: Callable[[End, End], End]) -> Range:
    """Return the range of the minima, or of the maxima, of two values."""
    return _of(first, second, pick(first.low, second.low), pick(first.high, second.high))


def _of(first: Range, second: Range, low: End, high: End) -> Range:
    """Return a range of values of either, as a value of the wider type."""
    kinds = {first.kind, second.kind}
    kind: Kind = "float" if "float" in kinds else "int" if "int" in kinds else "bool"
    single = first.single or second.single
    if kind == "float":
        low, high = _outward(low, high, single)
    return Range(low, high, kind, first.nan or second.nan, single)


def _result(first: Range, second: Range, low: End, high: End, *, nan: bool) -> Range | None:
    """Return the range of an operation's results."""
    if "float" not in (first.kind, second.kind):
        return whole(low, high)
    single = first.single or second.single
    low, high = _outward(low, high, single)
    return Range(low, high, nan=nan or first.nan or second.nan, single=single)


def _product(first: End, second: End) -> End:
    """Multiply two ends; what is infinite times 0 is told by `nan` alone."""
    if first == 0 or second == 0:
        return 0
    if math.isfinite(first) and math.isfinite(second):
        return first * second
    return math.inf if (first > 0) == (second > 0) else -math.inf


def _exact(number: float) -> End:
    return Fraction(number) if math.isfinite(number) else number


def _outward(low: End, high: End, single: bool) -> tuple[End, End]:
    """Round the ends away from the range, to numbers that the machine has."""
    return _rounded(low, single, -math.inf), _rounded(high, single, math.inf)


def _rounded(end: End, single: bool, towards: float) -> End:
    if not math.isfinite(end):
        return end
    try:
        nearest = float(end)
    except OverflowError:
        nearest = math.inf if end > 0 else -math.inf
    kind: Any = np.float32 if single else np.float64
    with np.errstate(all="ignore"):
        number = kind(nearest)
        beyond = float(number) < end if towards > 0 else float(number) > end
        if beyond:
            number = np.nextafter(number, kind(towards))
    return _exact(float(number))
