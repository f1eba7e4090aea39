"""The operations of `engine="python"` against the compiler: every operator on every pair of types."""

from __future__ import annotations

import ast
import itertools
import math
from collections.abc import Callable
from typing import Any

import numba
import numpy as np
import pytest
from numba.core.registry import cpu_target

from cugraph_ws.program.arithmetic import OPERATORS as PYTHON
from cugraph_ws.program.arithmetic import call, numba_type, operation, power
from cugraph_ws.program.source import read_function
from cugraph_ws.program.typed import typed_function

VALUES: dict[str, list[Any]] = {
    "bool": [False, True],
    "int8": [-128, -3, 0, 7, 127],
    "int32": [-(2**31), -7, 0, 5, 2**31 - 1],
    "int64": [-(2**63), -9, 0, 3, 2**62, 2**63 - 1],
    "uint8": [0, 3, 10, 250],
    "uint64": [0, 1, 9, 2**63],
    "float32": [-2.5, 0.0, 0.1, 3.0, math.nan, math.inf],
    "float64": [-7.5, -0.0, 0.1, 2.5, 1e30, math.nan, math.inf],
}
NUMBERS = {kind: [np.array(one, kind)[()] for one in values] for kind, values in VALUES.items()}
BINARY = {
    "Add": "+", "Sub": "-", "Mult": "*", "Div": "/", "FloorDiv": "//", "Mod": "%", "Pow": "**",
    "LShift": "<<", "RShift": ">>", "BitAnd": "&", "BitOr": "|", "BitXor": "^",
    "Lt": "<", "LtE": "<=", "Gt": ">", "GtE": ">=", "Eq": "==", "NotEq": "!=",
}  # fmt: skip
UNARY = {"USub": "-", "UAdd": "+", "Invert": "~"}
ONE = [
    abs,
    int,
    bool,
    round,
    math.floor,
    math.ceil,
    math.sqrt,
    math.exp,
    math.fabs,
    np.int32,
    np.uint8,
    np.float32,
    np.sqrt,
]
TWO = [min, max, divmod, math.atan2, np.minimum, np.maximum]  # fmt: skip


def made(text: str) -> Callable[..., Any]:
    space: dict[str, Any] = {"math": math, "np": np}
    exec(text, space)
    return numba.njit(error_model="numpy")(space["f"])


def is_defined(name: str, a: Any, b: Any) -> bool:
    """Whether compiled code defines the operation: shifts, powers and the overflow of a division."""
    whole = "f" not in (a.dtype.kind, b.dtype.kind)
    if "Shift" in name:
        return not whole or 0 <= int(b) < 64
    if name == "Pow":
        return bool(b.dtype.kind == "f" or 0 <= int(b) < 70)
    if name in ("FloorDiv", "Mod") and whole:
        return int(b) not in (-1, 2**64 - 1)
    return True


def same(found: Any, expected: Any, near: float = 0.0) -> bool:
    if isinstance(expected, tuple):
        return len(found) == len(expected) and all(map(same, found, expected))
    if found != found or expected != expected:
        return bool(found != found and expected != expected)
    return bool(found == expected) or math.isclose(found, expected, rel_tol=near)


def check(
    compiled: Any, ours: Callable[..., Any], given: tuple[Any, ...], near: float = 0.0
) -> None:
    expected = compiled(*given)
    with np.errstate(all="ignore"):
        found = ours(*given)
    shown = f"{given}: {found!r}, compiled {expected!r}"
    assert same(found, expected, near), shown
    kinds = tuple(map(numba_type, given))
    assert numba_type(found) == compiled.overloads[kinds].signature.return_type, shown


def compiles(compiled: Any, given: tuple[Any, ...]) -> bool:
    try:
        compiled.compile(tuple(map(numba_type, given)))
    except numba.core.errors.NumbaError:
        return False
    return True


def known(name: str, *given: Any) -> bool:
    """Whether the compiler has an operation for numbers of these types."""
    context = cpu_target.typing_context
    context.refresh()
    try:
        context.resolve_function_type(PYTHON[name], tuple(map(numba_type, given)), {})
    except numba.core.errors.NumbaError:
        return False
    return True


def check_all(names: list[str], pattern: str, numbers: Any, pair: Callable[..., Any]) -> int:
    """Compare several operations, compiled in one function, on combinations of numbers."""
    returned = "".join(f"{pattern.format(BINARY[name])}, " for name in names)
    arguments = ", ".join("ab"[: len(numbers)])
    compiled = made(f"def f({arguments}):\n    return ({returned})")
    count = 0
    for given in itertools.product(*numbers):
        expected = compiled(*given)
        kinds = compiled.overloads[tuple(map(numba_type, given))].signature.return_type
        for name, value, kind in zip(names, expected, kinds, strict=True):
            two = pair(*given)
            if not is_defined(name, *map(np.asarray, two)):
                continue
            with np.errstate(all="ignore"):
                found = operation(name)(*two)
            where = f"{name}{two}: {found!r}, compiled {value!r}, {kind}"
            assert same(found, value), where
            assert numba_type(found) == kind, where
            count += 1
    return count


MOST = [name for name in BINARY if name != "Pow"]


@pytest.mark.parametrize("kind", NUMBERS)
def test_binary(kind: str) -> None:
    for other in NUMBERS:
        numbers = NUMBERS[kind], NUMBERS[other]
        names = [name for name in MOST if known(name, numbers[0][0], numbers[1][0])]
        assert check_all(names, "a {} b", numbers, lambda a, b: (a, b)) > 20


@pytest.mark.parametrize("literal", ["0.1", "2", "-3", "True", "7.0"])
def test_beside_a_number_of_the_source(literal: str) -> None:
    value = ast.literal_eval(literal)
    for kind in ("bool", "int64", "float32", "float64"):
        numbers = NUMBERS[kind]
        names = [name for name in MOST if known(name, numbers[0], value)]
        assert check_all(names, f"a {{}} {literal}", [numbers], lambda a: (a, value)) > 10
        assert check_all(names, f"{literal} {{}} a", [numbers], lambda a: (value, a)) > 10


@pytest.mark.parametrize("kind", ["bool", "int32", "int64", "uint8", "float32", "float64"])
def test_powers(kind: str) -> None:
    compiled = made("def f(a, b):\n    return a ** b")
    for other in ("int64", "uint8", "float64"):
        for a, b in itertools.product(NUMBERS[kind], NUMBERS[other]):
            if is_defined("Pow", a, b):
                check(compiled, operation("Pow"), (a, b), 1e-6)


@pytest.mark.parametrize("exponent", [-2, 0, 1, 2, 5])
def test_a_power_that_is_written_in_the_source(exponent: int) -> None:
    compiled = made(f"def f(a):\n    return a ** {exponent}")
    for kind, numbers in NUMBERS.items():
        if not compiles(compiled, (numbers[0],)) or (exponent < 0 and "float" not in kind):
            continue
        for a in numbers:
            if exponent >= 0 or a != 0:
                check(compiled, lambda one: power(one, exponent), (a,), 1e-6)


@pytest.mark.parametrize("name", UNARY)
def test_unary(name: str) -> None:
    compiled = made(f"def f(a):\n    return {UNARY[name]} a")
    for numbers in NUMBERS.values():
        for a in numbers if compiles(compiled, (numbers[0],)) else ():
            check(compiled, operation(name), (a,))


@pytest.mark.parametrize("function", [*ONE, *TWO], ids=lambda one: one.__name__)
def test_functions(function: Any) -> None:
    module = {"math": "math.", "numpy": "np."}.get(getattr(function, "__module__", ""), "")
    module = "np." if isinstance(function, np.ufunc) else module
    names = "a, b" if function in TWO else "a"
    compiled = made(f"def f({names}):\n    return {module}{function.__name__}({names})")
    kinds = [("int64", "int64"), ("float64", "int64"), ("float32", "float32"), ("uint8", "int32"),
             ("bool", "bool"), ("int8", "float64")]  # fmt: skip
    for first, second in kinds:
        groups = [NUMBERS[first], NUMBERS[second]][: 1 + (function in TWO)]
        if not compiles(compiled, tuple(one[0] for one in groups)):
            continue
        for given in itertools.product(*groups):
            beyond = any(not abs(float(one)) < 100 for one in given)
            if (
                function in (int, round, math.floor, math.ceil, math.exp, np.int32, np.uint8)
                and beyond
            ):
                continue  # of floats beyond the integers compiled code makes anything
            if function is divmod and (given[1] == 0 or given[1] == -1 or beyond):
                continue
            check(compiled, lambda *some: call(function, *some), given, 1e-6)


@pytest.mark.parametrize("places", [-1, 64])
def test_a_shift_that_is_not_defined_is_refused(places: int) -> None:
    with pytest.raises(ValueError, match=rf"shifts by {places} bits.*0 to 63"):
        operation("LShift")(np.int64(1), np.int64(places))


def test_a_negative_power_of_an_integer_is_refused() -> None:
    with pytest.raises(ValueError, match=r"3 \*\* -2.*float\(3\)"):
        operation("Pow")(np.int64(3), np.int64(-2))


# --------------------------------------------------------------------------------- whole functions


def flags(a, b):
    return (a >= 0) + (a < 9) + (b > 0.5)


def small(a, b):
    return np.uint8(250) + np.uint8(10), np.int32(a) * np.int32(2**31 - 1), np.float32(b) * 0.1


def branches(a, b):
    x = 1
    if a > 3:
        x = b
    y = 2**53 + 1 if a < 5 else 0.5
    return x / 2, y - 1, (a > 1 and b > 0) + 1, a or 7


def loops(a, b):
    x = a
    total = 0
    for i in range(3):
        x /= 2
        total += i * x
    while total > 1 and b < 100.0:
        total //= 2
    return x, total, -(a > 3), 0 < a < b


def helped(a, b):
    return twice(a) + twice(b), twice(a > 3), either(a, b)


def twice(x):
    return x * 2 if x else x


def either(x, y):
    if x > 4:
        return x
    return y


@pytest.mark.parametrize(
    "function", [flags, small, branches, loops, helped], ids=lambda one: one.__name__
)
def test_whole_functions(function: Any) -> None:
    source = read_function(function, f"user_{function.__name__}", owner="Test")
    space: dict[str, Any] = {"math": math, "np": np}
    exec(source.text, space)
    for name in [one for one in space if one.startswith("user_")]:
        space[name] = numba.njit(error_model="numpy")(space[name])
    compiled = space[f"user_{function.__name__}"]
    for a, b in itertools.product([0, 2, 4, 9, 2**53 + 3], [-1.5, 0.75, 1e9]):
        check(compiled, typed_function(source, "Test"), (np.int64(a), np.float64(b)))


def test_the_code_has_the_users_lines() -> None:
    source = read_function(helped, "user_helped", owner="Test")
    seen = set()
    main = typed_function(source, "Test")
    main(np.int64(5), np.float64(0.5))

    def trace(frame: Any, event: str, argument: Any) -> Any:
        if frame.f_code.co_filename == __file__:
            seen.add(frame.f_lineno)
        return trace

    import sys

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        main(np.int64(5), np.float64(0.5))
    finally:
        sys.settrace(before)
    expected = [helped.__code__.co_firstlineno + 1, twice.__code__.co_firstlineno + 1]
    assert seen.issuperset(expected)
