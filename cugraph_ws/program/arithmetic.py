"""The operations of a program's functions in plain Python, with the types of compiled code.

NumPy's scalars compute otherwise than Numba: a sum of two bools is a bool, one of two uint8 wraps
around, and a float32 beside a number of the source stays one.  So `engine="python"` calls these
operations instead.  Which types an operation has is Numba's own answer; the value is computed by NumPy
in these types, and wraps around as the machine's does.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from cugraph_ws.program.lists import Messages

__all__ = ["call", "cast", "converter", "numba_type", "operation", "power"]

Rule = Callable[..., Any]


@lru_cache(maxsize=1)
def _by_type() -> dict[type, Any]:
    """Return Numba's type of each type of number."""
    from numba.core import types

    known: dict[type, Any] = {
        np.dtype(name).type: getattr(types, name)
        for name in ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64")
    }  # fmt: skip
    return {
        **known,
        np.bool_: types.boolean,
        bool: types.boolean,
        int: types.int64,
        float: types.float64,
    }


@lru_cache(maxsize=1)
def _scalars() -> dict[Any, type]:
    """Return NumPy's scalar type for each of Numba's."""
    return {
        numba_kind: kind for kind, numba_kind in _by_type().items() if issubclass(kind, np.generic)
    }


def numba_type(value: Any) -> Any:
    """Return Numba's type of a number, a tuple or a list of numbers; None if it is not known."""
    from numba.core import types

    known = _by_type().get(type(value))
    if known is not None or not isinstance(value, tuple):
        return known
    if isinstance(value, Messages):
        kind = numba_type(value[0]) if value else None
        return None if kind is None else types.List(kind)
    parts = tuple(numba_type(part) for part in value)
    if None in parts:
        return None
    return types.NamedTuple(parts, type(value)) if hasattr(value, "_fields") else types.Tuple(parts)


@lru_cache(maxsize=10_000)
def _signature(function: Any, argument_types: tuple[Any, ...]) -> Any:
    """Return the signature by which Numba compiles a call; None if it cannot."""
    from numba.core.compiler_lock import global_compiler_lock
    from numba.core.errors import NumbaError
    from numba.core.registry import cpu_target

    context = cpu_target.typing_context
    try:
        with global_compiler_lock:
            context.refresh()
            return context.resolve_function_type(function, argument_types, {})
    except NumbaError:
        return None


def cast(kind: Any, value: Any) -> Any:
    """Convert a number, or a tuple of numbers, to one of Numba's types, as compiled code does."""
    return converter(kind)(value)


@lru_cache(maxsize=1000)
def converter(kind: Any) -> Rule:
    """Return what converts a number, or a tuple of numbers, to one of Numba's types."""
    parts = getattr(kind, "types", None)
    if parts is not None:
        converters = [converter(part) for part in parts]

        def converted(value: Any) -> Any:
            items = [convert(part) for convert, part in zip(converters, value, strict=True)]
            return value._make(items) if hasattr(value, "_make") else tuple(items)

        return converted
    scalar = _scalars().get(kind)
    if scalar is None:
        return lambda value: value
    return lambda value: value if type(value) is scalar else _to(scalar, value)


def _to(scalar: type[Any], value: Any) -> Any:
    """Convert a number to a NumPy type; what does not fit wraps around.

    Integers of the source that no type holds stay as they are: whoever stores them refuses them by name.
    """
    if type(value) is int:
        if not -(2**63) <= value < 2**64:
            return value
        value = np.uint64(value) if value > np.iinfo(np.int64).max else np.int64(value)
    elif not isinstance(value, np.generic):
        value = np.asarray(value)[()]
    return value.astype(scalar)


# ----------------------------------------------------------------------------------- operators


def _shift(function: Rule) -> Rule:
    def shifted(value: Any, places: Any) -> Any:
        if not 0 <= int(places) < 64:
            raise ValueError(
                f"shifts by {int(places)} bits, which compiled code leaves undefined; shift by 0 to 63"
            )
        return function(value, type(value)(places))

    return shifted


def _power(base: Any, exponent: Any) -> Any:
    """Return a power; with whole exponents by squaring, which wraps around."""
    if isinstance(exponent, np.floating):
        return np.power(base, exponent)
    if exponent < 0 and not isinstance(base, np.floating):
        raise ValueError(
            f"{int(base)} ** {int(exponent)}: a negative power of an integer is no integer; write float({int(base)})"
        )
    count = abs(int(exponent))
    result, factor = type(base)(1), base
    while count:
        if count & 1:
            result = result * factor
        count >>= 1
        factor = factor * factor
    return type(base)(1) / result if exponent < 0 else result


OPERATORS: dict[str, Rule] = {
    "Add": operator.add, "Sub": operator.sub, "Mult": operator.mul, "FloorDiv": operator.floordiv,
    "Mod": operator.mod, "BitAnd": operator.and_, "BitOr": operator.or_, "BitXor": operator.xor,
    "LShift": operator.lshift, "RShift": operator.rshift, "Div": operator.truediv, "Pow": operator.pow,
    "Lt": operator.lt, "LtE": operator.le, "Gt": operator.gt, "GtE": operator.ge, "Eq": operator.eq,
    "NotEq": operator.ne, "USub": operator.neg, "UAdd": operator.pos, "Invert": operator.invert,
}  # fmt: skip
COMPARISONS = {"Lt", "LtE", "Gt", "GtE", "Eq", "NotEq"}
OF_ITS_ARGUMENTS = {
    *COMPARISONS,
    "Div",
}  # computed in the types of the arguments, not of the result
VALUES = {"LShift": _shift(operator.lshift), "RShift": _shift(operator.rshift), "Pow": _power}


class _Operation:
    """An operator; its rule for each combination of types is found once."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.rules: dict[Any, Rule] = {}

    def __call__(self, *values: Any) -> Any:
        key = tuple(map(type, values))
        rule = self.rules.get(key)
        if rule is None:
            rule = self.rules[key] = self.rule(values)
        return rule(*values)

    def rule(self, values: tuple[Any, ...]) -> Rule:
        """Return what computes the operation for values of these types."""
        function = OPERATORS[self.name]
        argument_types = tuple(map(numba_type, values))
        if self.name in COMPARISONS and all(isinstance(value, tuple) for value in values):
            return lambda first, second: _compared(self.name, first, second)
        signature = None if None in argument_types else _signature(function, argument_types)
        if signature is None:
            return function
        compute, result = VALUES.get(self.name, function), signature.return_type
        if self.name == "Pow":
            arguments = (result, signature.args[1])
        elif self.name in OF_ITS_ARGUMENTS or (
            len(argument_types) == 1 and str(argument_types[0]) != "bool"
        ):
            arguments = signature.args
        else:
            arguments = (result,) * len(argument_types)
        if all(
            type(value) is _scalars()[kind] for value, kind in zip(values, arguments, strict=True)
        ):
            same = type(compute(*(kind(1) for kind in map(type, values)))) is _scalars()[result]
            if same:
                return compute
        return lambda *some: cast(
            result,
            compute(*[cast(kind, value) for kind, value in zip(arguments, some, strict=True)]),
        )


def _compared(name: str, first: tuple[Any, ...], second: tuple[Any, ...]) -> bool:
    """Compare tuples: by their first parts that differ, then by their lengths."""
    for first_part, second_part in zip(first, second, strict=False):
        if operation("NotEq")(first_part, second_part):
            return bool(operation(name)(first_part, second_part))
    return bool(OPERATORS[name](len(first), len(second)))


@lru_cache(maxsize=100)
def operation(name: str) -> _Operation:
    """Return an operator, by its name in `ast`.

    Parameters
    ----------
    name : str
        Such as "Add".

    Returns
    -------
    callable
        Takes one or two numbers.
    """
    return _Operation(name)


def power(base: Any, exponent: int) -> Any:
    """Return `base ** exponent` for an exponent that is written in the source."""
    from numba.core import types

    kind = numba_type(base)
    signature = None if kind is None else _signature(operator.pow, (kind, types.literal(exponent)))
    if signature is None:
        return base**exponent
    result = signature.return_type
    return cast(result, _power(cast(result, base), np.int64(exponent)))


# ----------------------------------------------------------------------------------- functions


def _least(*values: Any) -> Any:
    least = values[0]
    for value in values[1:]:
        least = value if value < least else least
    return least


def _greatest(*values: Any) -> Any:
    greatest = values[0]
    for value in values[1:]:
        greatest = value if value > greatest else greatest
    return greatest


def _rounded(value: Any, digits: Any = None) -> Any:
    """Round half to even; to decimal digits as compiled code does, by a multiplication."""
    if digits is None:
        return np.rint(value)
    scale = type(value)(10.0) ** abs(int(digits))
    if digits < 0:
        return np.rint(value / scale) * scale
    scaled = value * scale
    return np.rint(scaled) / scale if np.isfinite(scaled) else value


def _outside(function: Rule) -> Rule:
    """Return a function of `math` that returns NaN or infinity where Python's raises an error."""

    def called(*values: Any) -> Any:
        try:
            return function(*values)
        except ValueError:
            return math.nan
        except OverflowError:
            return math.inf

    return called


FUNCTIONS: dict[Any, Rule] = {
    min: _least, max: _greatest, round: _rounded, bool: lambda value: value != 0,
    int: lambda value: value, float: lambda value: value, pow: _power, divmod: np.divmod,
    math.floor: np.floor, math.ceil: np.ceil, math.trunc: np.trunc, math.sqrt: np.sqrt,
    math.exp: np.exp, math.expm1: np.expm1, math.log: np.log, math.log2: np.log2, math.log10: np.log10,
    math.log1p: np.log1p, math.sin: np.sin, math.cos: np.cos, math.tan: np.tan, math.asin: np.arcsin,
    math.acos: np.arccos, math.atan: np.arctan, math.atan2: np.arctan2, math.sinh: np.sinh,
    math.cosh: np.cosh, math.tanh: np.tanh, math.asinh: np.arcsinh, math.acosh: np.arccosh,
    math.atanh: np.arctanh, math.hypot: np.hypot, math.pow: np.power, math.fabs: np.fabs,
    math.copysign: np.copysign, math.isnan: np.isnan, math.isinf: np.isinf, math.isfinite: np.isfinite,
}  # fmt: skip
WHOLE = {math.floor, math.ceil, math.trunc}  # integers are left as they are
OF_THE_RESULT = {min, max, abs, np.abs}  # computed in the type of the result

_rules: dict[Any, Rule] = {}


def call(function: Any, *values: Any) -> Any:
    """Call a function of Python, `math` or NumPy as compiled code does.

    Parameters
    ----------
    function : callable
    *values
        Its arguments.

    Returns
    -------
    number, or tuple of numbers
    """
    key = (function, *map(type, values))
    rule = _rules.get(key)
    if rule is None or tuple in key:
        rule = _rules[key] = _rule_of(function, values)
    return rule(*values)


def _rule_of(function: Any, values: tuple[Any, ...]) -> Rule:
    """Return what computes a function for values of these types."""
    if isinstance(function, type) and issubclass(function, np.generic) and len(values) == 1:
        kind = _by_type().get(function)
        if kind is not None:
            return lambda value: cast(kind, value)
    argument_types = tuple(map(numba_type, values))
    if function is range and None not in argument_types:
        return lambda *ends: _range(ends)
    if function is len or None in argument_types:
        return function  # type: ignore[no-any-return]
    signature = _signature(function, argument_types)
    if signature is None:
        return function  # type: ignore[no-any-return]
    result = signature.return_type
    of_module = getattr(function, "__module__", None) == "math"
    compute = FUNCTIONS.get(function, _outside(function) if of_module else function)
    arguments = signature.args
    if function in OF_THE_RESULT or (isinstance(function, np.ufunc) and "float" in str(result)):
        arguments = (result,) * len(argument_types)
    elif function in WHOLE and all(
        str(argument_type) in _WHOLE_NAMES for argument_type in arguments
    ):
        compute = FUNCTIONS[int]

    def computed(*some: Any) -> Any:
        outcome = compute(*[cast(kind, value) for kind, value in zip(arguments, some, strict=True)])
        return cast(result, outcome[()] if isinstance(outcome, np.ndarray) else outcome)

    return computed


_WHOLE_NAMES = {"bool", "int64", "uint64"}


def _range(ends: tuple[Any, ...]) -> Any:
    """Yield the numbers of a range in the type that compiled code gives them."""
    signature = _signature(range, tuple(map(numba_type, ends)))
    numbers = range(*map(int, ends))
    if signature is None:
        return numbers
    kind = signature.return_type.dtype
    return [cast(kind, number) for number in numbers]
