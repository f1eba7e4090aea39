"""The emulator's numbers against Numba's own: types of results, and values to the last bit."""

from __future__ import annotations

import itertools
import math
import operator
import struct

import numba
import numpy as np
import pytest
from conftest import COMPILED
from emulator import faults, load
from emulator.scalars import KINDS, Float32, Int64, UInt64, scalar
from hypothesis import example, given, settings
from hypothesis import strategies as st

pytestmark = pytest.mark.skipif(not COMPILED, reason="Numba's arithmetic is the oracle")

TEXT = """
import math
import numpy as np

def integers(a, b):
    return (
        a + b, a - b, a * b, a // b, a % b, a & b, a | b, a ^ b, a / b,
        a < b, a <= b, a == b, a != b, -a, +b, ~a, abs(b), int(a), float(b), bool(a),
    )

def shifts(a, amount):
    return a << amount, a >> amount

def floats(a, b):
    return (
        a + b, a - b, a * b, a / b, a < b, a <= b, a == b, a != b, -a, +b, abs(b), float(a), bool(b),
        math.isnan(a), math.isinf(b),
    )

def floors(a, b):
    return a // b, a % b

def literals(a):
    return a + 1, a - 3, 2 * a, a + 0.5, 2.5 * a, a / 2, a // 2, a % 3, 1 - a, a * -1

def powers(a, b):
    return a ** b

def casts(a):
    return (
        np.int8(a), np.uint8(a), np.int16(a), np.uint16(a), np.int32(a), np.uint32(a), np.int64(a),
        np.uint64(a), np.float32(a), np.float64(a), np.bool_(a),
    )

def counted(n):
    last = n - n
    for i in range(n):
        last = last + i
    return last

def chained(a, b):
    total = np.int32(a)
    for i in range(3):
        total += b * i
        total ^= a >> 3
    return total, total * total * total, min(total, 7), max(1, total)
"""
OURS = load(TEXT)
THEIRS: dict[str, object] = {}
exec(TEXT, THEIRS)

SCALARS = ("bool", "int8", "uint8", "int32", "uint32", "int64", "uint64", "float32", "float64")
NATIVE = {name: np.dtype(name).type for name in SCALARS}


def integer(name):
    limits = np.iinfo(name)
    edges = [limits.min, limits.min + 1, limits.max - 1, limits.max, 0, 1, 2, 7]
    return st.sampled_from(edges) | st.integers(int(limits.min), int(limits.max))


def real(name, bound=None):
    width = int(name[5:])
    if bound is None:
        return st.floats(width=width)
    return st.floats(-bound, bound, width=width)


def value_of(name):
    return real(name) if name.startswith("float") else integer(name)


def compiled(function, *names):
    """Return the compiled function, and the names of its results' types."""
    types = tuple(numba.from_dtype(np.dtype(name)) for name in names)
    made = numba.njit(types, error_model="numpy")(THEIRS[function])
    result = made.nopython_signatures[0].return_type
    members = result.types if isinstance(result, numba.types.BaseTuple) else (result,)
    return made, [str(member) for member in members]


def bits(value):
    if isinstance(value, float):
        return "nan" if math.isnan(value) else struct.pack("d", value)
    return int(value)


def agree(function, made, types, names, values, close=None):
    native = [NATIVE[name](value) for name, value in zip(names, values, strict=True)]
    with np.errstate(all="ignore"):
        theirs = made(*native)
    ours = OURS[function](*(scalar(value) for value in native))
    if not isinstance(theirs, tuple):
        theirs, ours = (theirs,), (ours,)
    for place, (one, other, name) in enumerate(zip(ours, theirs, types, strict=True)):
        assert type(scalar(one)) is KINDS[name], (function, place, values)
        if close is None:
            assert bits(one) == bits(other), (function, place, values, one, other)
        else:
            assert one == pytest.approx(other, rel=close, nan_ok=True), (function, place, values)


def check(function, names, strategies, close=None):
    made, types = compiled(function, *names)

    @settings(max_examples=150)
    @given(st.tuples(*strategies))
    def run(values):
        agree(function, made, types, names, values, close)

    run()


WHOLE = ("int8", "uint8", "int32", "uint32", "int64", "uint64")


@pytest.mark.parametrize(
    "names",
    [("int32", "int32"), ("int32", "uint32"), ("uint32", "uint32"), ("int64", "int64"),
     ("uint64", "int64"), ("uint64", "uint64"), ("int8", "uint8")],
)  # fmt: skip
def test_integers(names):
    check("integers", names, [integer(name) for name in names])


@pytest.mark.parametrize("name", ["int32", "uint32", "int64", "uint64"])
def test_shifts(name):
    check("shifts", (name, "int64"), [integer(name), st.integers(0, 63)])
    check("shifts", (name, "uint32"), [integer(name), st.integers(0, 63)])


@pytest.mark.parametrize(
    "names",
    [("float32", "float32"), ("float32", "float64"), ("float64", "float64"), ("float32", "int8")],
)
def test_floats(names):
    check("floats", names, [value_of(name) for name in names])


@pytest.mark.parametrize("names", [("float32", "int64"), ("uint32", "float32")])
def test_floats_with_wide_integers(names):
    # comparisons of numbers above 2**53 are exact in Python, and rounded first on the device
    check(
        "floats",
        names,
        [
            real(name) if name.startswith("float") else st.integers(0, min(2**53, 2**32 - 1))
            for name in names
        ],
    )


@pytest.mark.parametrize("names", [("float64", "float64"), ("float64", "int32")])
def test_floor_division(names):
    check("floors", names, [real(n, 1e6) if n[0] == "f" else integer(n) for n in names])


@pytest.mark.parametrize("name", ["int32", "uint32", "int64", "float32"])
def test_literals(name):
    if name == "float32":
        check("literals", (name,), [real(name, 1e6)])
    else:
        check("literals", (name,), [integer(name)])


@pytest.mark.parametrize("names", [("int32", "int64"), ("uint32", "int32"), ("float32", "int64")])
def test_powers(names):
    base = st.integers(1, 60) if names[0] != "float32" else real("float32", 60)
    check("powers", names, [base, st.integers(0, 9)], close=1e-6)


@pytest.mark.parametrize("name", WHOLE)
def test_casts_of_integers(name):
    check("casts", (name,), [integer(name)])


@pytest.mark.parametrize("name", ["float32", "float64"])
def test_casts_of_floats(name):
    check("casts", (name,), [st.floats(0, 127, width=int(name[5:]))])


@pytest.mark.parametrize("name", ["int32", "int64", "uint32", "uint64"])
def test_loops(name):
    check("counted", (name,), [st.integers(0, 20)])


def test_a_chain_of_operations():
    check("chained", ("int32", "int64"), [integer("int32"), integer("int64")])


# -------------------------------------------------------------------------- all pairs of types

OPERATORS = {
    operator.add: None, operator.sub: None, operator.mul: None, operator.truediv: None,
    operator.floordiv: None, operator.mod: None, operator.lshift: "integers",
    operator.rshift: "integers", operator.and_: "integers", operator.or_: "integers",
    operator.xor: "integers", operator.lt: None, operator.eq: None,
}  # fmt: skip


def resolved(function, names):
    """Return the type that Numba finds for a call, or None where it has none."""
    from numba.core.registry import cpu_target

    context = cpu_target.typing_context
    context.refresh()
    types = tuple(numba.from_dtype(np.dtype(name)) for name in names)
    try:
        signature = context.resolve_function_type(context.resolve_value_type(function), types, {})
    except numba.errors.NumbaError:
        return None
    return None if signature is None else str(signature.return_type)


@pytest.mark.parametrize("function", OPERATORS, ids=lambda function: function.__name__)
def test_type_of_every_operator(function):
    for names in itertools.product(SCALARS, repeat=2):
        one, other = (KINDS[name](3) for name in names)
        expected = resolved(function, names)
        if expected is None:
            with pytest.raises(TypeError):
                function(one, other)
            continue
        assert type(scalar(function(one, other))) is KINDS[expected], names


@pytest.mark.parametrize("function", [min, max])
def test_type_of_extremes(function):
    ours = OURS["__builtins__"][function.__name__]
    for names in itertools.product(SCALARS, repeat=2):
        one, other = (KINDS[name](3) for name in names)
        if names in {("int8", "uint8"), ("uint8", "int8")}:
            continue  # int16, which arrays of ours never are
        expected = resolved(function, names)
        if expected is None:
            with pytest.raises(TypeError):
                ours(one, other)
            continue
        assert type(ours(one, other)) is KINDS[expected], names
        assert ours(KINDS[names[0]](1), KINDS[names[1]](0)) == function(1, 0)


# ----------------------------------------------------------------------- by definition, not Numba


def test_extremes_of_floats_leave_nan_aside_as_the_device_does():
    least, greatest = OURS["__builtins__"]["min"], OURS["__builtins__"]["max"]
    for pair in ((math.nan, 2.0), (2.0, math.nan)):
        assert least(*pair) == greatest(*pair) == 2.0
    assert math.isnan(least(math.nan, math.nan))
    assert least(3, 1, 2) == 1
    assert greatest(3, 1, 2.5) == 3.0
    with pytest.raises(TypeError, match="two numbers"):
        least(3)


@pytest.mark.parametrize("amount", [-1, 64, 2**40])
def test_a_shift_that_is_undefined(amount):
    with pytest.raises(faults.UndefinedArithmetic, match="shift"):
        OURS["shifts"](Int64(1), Int64(amount))


@pytest.mark.parametrize(
    ("kind", "value"),
    [("int32", math.nan), ("int64", math.inf), ("int32", 2.0**31), ("uint32", -1.0)],
)
def test_a_cast_that_is_undefined(kind, value):
    with pytest.raises(faults.UndefinedArithmetic, match=kind):
        KINDS[kind](value)


def test_a_power_that_is_undefined():
    with pytest.raises(faults.UndefinedArithmetic):
        _ = Int64(0) ** Int64(-1)
    assert Int64(-1) ** Int64(-3) == -1
    assert Int64(5) ** Int64(-3) == 0


@example(2**63 - 1)
@example(2**24 + 1)
@example(2**53 + 2**29 + 1)  # twice rounded it would be another
@given(st.integers(-(2**63), 2**64 - 1))
def test_integers_are_rounded_to_float32_once(value):
    kind = Int64 if value < 2**63 else UInt64
    exact = np.int64(value) if value < 2**63 else np.uint64(value)
    assert float(Float32(kind(value))) == float(np.float32(exact))


@pytest.mark.parametrize("name", ["sqrt", "exp", "log", "floor", "ceil", "fabs", "sin", "atan"])
@given(value=st.floats(allow_nan=False))
def test_functions_of_math_stay_silent_and_single(name, value):
    function = getattr(OURS["math"], name)
    with np.errstate(all="ignore"):
        for kind, native in ((Float32, np.float32), (KINDS["float64"], np.float64)):
            number = native(value)
            expected = getattr(np, {"atan": "arctan"}.get(name, name))(number)
            found = function(kind(float(number)))
            assert type(found) is kind
            assert found == pytest.approx(float(expected), rel=1e-6, nan_ok=True)


def test_functions_of_two_and_constants():
    text = """
import math
import numpy as np

def some(a, b):
    return (
        math.pow(a, b), math.hypot(a, b), math.atan2(a, b), math.copysign(a, -b), math.erf(a),
        math.gamma(0.0), math.lgamma(-1.0), math.gamma(200.0), math.erfc(a), math.degrees(math.pi),
        math.radians(180.0), math.isfinite(a), np.sqrt(b), np.minimum(a, b), np.inf, math.inf,
        np.iinfo(np.int32).max, np.finfo(np.float32).eps, round(2.5), round(2.25, 1), pow(a, 2), round(2**53 + 1),
        divmod(7, 2), float(np.float32(2)), int(3.7), len((1, 2)), 0xFFFFFFFFFFFFFFFF,
        -9223372036854775808,
    )
"""
    some = load(text)["some"](scalar(3.0), scalar(4.0))
    expected = (
        81.0, 5.0, math.atan2(3, 4), -3.0, math.erf(3), math.inf, math.inf, math.inf, math.erfc(3),
        180.0, math.pi, True, 2.0, 3.0, math.inf, math.inf, 2**31 - 1, float(np.float32(2**-23)),
        2, 2.2, 9.0, 2**53, (3, 1), 2.0, 3, 2, 2**64 - 1, -(2**63),
    )  # fmt: skip
    for one, other in zip(some, expected, strict=True):
        assert one == pytest.approx(other, rel=1e-12)
    kinds = {place: type(value).__name__ for place, value in enumerate(some)}
    assert [kinds[place] for place in (16, 18, 23, 26, 27)] == [
        "Int32", "Int64", "Float32", "UInt64", "Int64",
    ]  # fmt: skip


def test_values_that_are_not_device_numbers():
    for value in ("text", None, np.float16(1), np.complex64(1), 1j):
        with pytest.raises(TypeError):
            scalar(value)
    for text, error in (
        ("import numpy as np\ndef f():\n    return np.zeros(3)", TypeError),
        ("import numpy as np\ndef f():\n    return np.random", faults.NotOnDevice),
        ("def f():\n    return sorted((2, 1))", faults.NotOnDevice),
        ("def f():\n    return range(2.5)", faults.NotOnDevice),
    ):
        with pytest.raises(error):
            load(text)["f"]()


def test_bools():
    text = "def f(a, b):\n    return ~a, a & b, a | b, a + b, not a, -a, a * 1.5"
    assert load(text)["f"](True, False) == (False, False, True, 1, False, -1, 1.5)
