"""What a program's functions may not do, and that the error names the function and its line."""

from __future__ import annotations

import functools
import inspect
import math
import re
import signal
import statistics
import sys
from math import sqrt as root

import numpy
import numpy as np
import pytest
from numpy import maximum

import cugraph_ws as ws
from cugraph_ws.program.source import read_function

COUNT = 0
ITEMS: list[float] = []
TABLE = {"weight": 2.0}
SCALE = np.float32(0.5)
NOTHING = -math.inf


def define(role: str, function) -> ws.VertexProgram:
    """Define a program whose function of that role is the given one."""
    members = {
        "init": right_init,
        "compute": right_compute,
        "combine": sum,
        "apply": right_apply,
        role: function,
        "__annotations__": {"width": ws.float64, "weight": ws.edge(ws.float64, default=1.0)},
        "__module__": __name__,
    }
    return ws.vertex_program(type("Wrong", (), members))


def right_init(vertex):
    return 0.0


def right_compute(src):
    return src.width


def right_apply(old, gathered):
    return gathered


# Each of these is wrong in the line that says so.


def unknown_name(src):
    return src.width + hight  # noqa: F821 # wrong


def unknown_field(src):
    return src.hight  # wrong


def misspelt_field(src):
    return src.widht  # wrong


def unknown_attribute(src, edge):
    width = src.width
    return width * edge.length  # wrong


def unknown_parameter(src, edge, p):
    return src.width * p.alpha  # wrong


def assigns_to_the_state(src):
    src.width = 1.0  # wrong
    return src.width


def assigns_to_an_element(src):
    value = src.width
    ITEMS[0] = value  # wrong
    return value


def augments_the_state(src):
    src.width += 1.0  # wrong
    return src.width


def prints(src):
    print(src.width)  # wrong
    return src.width


def prints_in_an_expression(src):
    value = src.width
    return value if print(value) else 0.0  # wrong


def appends(src):
    ITEMS.append(src.width)  # wrong
    return src.width


def uses_a_list(src):
    return ITEMS[0] + src.width  # wrong


def counts_globally(src):
    global COUNT  # wrong
    COUNT += 1
    return src.width


def imports(src):
    import math  # wrong

    return math.sqrt(src.width)


def imports_from(src):
    from math import sqrt  # wrong

    return sqrt(src.width)


def defines_inside(src):
    def double(value):  # wrong
        return 2 * value

    return double(src.width)


def makes_a_lambda(src):
    double = lambda value: 2 * value  # noqa: E731 # wrong
    return double(src.width)


def makes_a_list(src):
    values = [src.width, 1.0]  # wrong
    return max(values)


def comprehends(src):
    return max(value for value in (src.width, 1.0))  # wrong


def makes_a_string(src):
    return len(f"{src.width}")  # wrong


def catches(src):
    try:  # wrong
        return 1.0 / src.width
    except ZeroDivisionError:
        return 0.0


def raises(src):
    if src.width < 0:
        raise ValueError  # wrong
    return src.width


def opens_a_file(src):
    with open("/dev/null"):  # wrong
        return src.width


def deletes(src):
    value = src.width
    del value  # wrong
    return src.width


def yields(src):
    yield src.width  # wrong


def reads_by_text(src, edge):
    return edge["weight"] * src.width  # wrong


def reads_a_table_by_text(src):
    return TABLE["weight"] * src.width  # wrong


def compares_with_text(src):
    return 1.0 if src.width == "wide" else 0.0  # wrong


def reads_no_number(src):
    return src.width + float("wide")  # wrong


def reads_a_file(src):
    return np.load(src.width)  # wrong


def declares_without_a_value(src):
    value: float  # wrong
    value = src.width
    return value


def draws_random_numbers(src):
    return src.width * np.random.random()  # noqa: NPY002 # wrong


def uses_another_module(src):
    return statistics.fmean((src.width, 1.0))  # wrong


def misspells_a_function(src):
    return math.squareroot(src.width)  # wrong


def has_a_default(src, edge=None):  # wrong
    return src.width


def takes_any_number(*src):  # wrong
    return 0.0


def calls_a_wrong_helper(src):
    return helper_that_prints(src.width)


def helper_that_prints(value):
    print(value)  # wrong
    return value


def calls_itself(src):
    return factorial(src.width)


def factorial(value):
    return 1.0 if value < 2 else value * factorial(value - 1)  # wrong


def calls_itself_through_another(src):
    return ping(src.width)


def ping(value):
    return pong(value)


def pong(value):
    return ping(value)  # wrong


WRONG = {
    unknown_name: "`hight` is not defined",
    unknown_field: "`src.hight` is not declared; `src` has: width",
    misspelt_field: "`src.widht` is not declared; `src` has: width; did you mean `width`?",
    unknown_attribute: "`edge.length` is not declared; `edge` has: weight; declare `length = ws.edge(ws.float64)`",
    unknown_parameter: "`p.alpha` is not declared; `p` has: number_of_vertices, superstep; declare `alpha = ws.parameter(",
    assigns_to_the_state: "writes to `src.width`, a side effect",
    assigns_to_an_element: "writes to `ITEMS[0]`, a side effect",
    augments_the_state: "writes to `src.width`, a side effect",
    prints: "`print(src.width)`: programs do not print",
    prints_in_an_expression: "uses `print`; of Python's builtins only",
    appends: "`ITEMS.append(src.width)` only has a side effect",
    uses_a_list: "`ITEMS` has no entries; a table has numbers",
    counts_globally: "declares a global",
    imports: "imports",
    imports_from: "imports",
    defines_inside: "defines a function inside",
    makes_a_lambda: "makes a function",
    makes_a_list: "makes a list",
    comprehends: "makes a generator",
    makes_a_string: "makes a string",
    catches: "catches exceptions",
    raises: "raises",
    opens_a_file: "enters a context",
    deletes: "deletes something",
    yields: "yields",
    reads_by_text: "uses `edge['weight']`; write `edge.weight`",
    reads_a_table_by_text: "`TABLE` is a dict; only numbers",
    compares_with_text: "uses 'wide'; only numbers are allowed",
    reads_no_number: "uses 'wide'; only numbers are allowed",
    reads_a_file: "uses `np.load`; only arithmetic on numbers is allowed",
    declares_without_a_value: "declares a variable without a value",
    draws_random_numbers: "`np.random.random`",
    uses_another_module: "uses `statistics.fmean`; of other modules",
    misspells_a_function: "`math.squareroot`: math has no `squareroot`",
    has_a_default: "has default values",
    takes_any_number: "takes * or keyword-only parameters",
    calls_a_wrong_helper: "`print(value)`: programs do not print",
    calls_itself: "`factorial` calls itself",
    calls_itself_through_another: "`ping` calls itself",
}
HELPERS = {
    calls_a_wrong_helper: helper_that_prints,
    calls_itself: factorial,
    calls_itself_through_another: pong,
}


@pytest.mark.parametrize("function", WRONG, ids=lambda function: function.__name__)
def test_errors_name_the_fault_and_the_line(function):
    with pytest.raises(ws.ProgramError) as caught:
        define("compute", function)
    message = str(caught.value)
    assert WRONG[function] in message
    named = HELPERS.get(function, function)
    lines, first = inspect.getsourcelines(named)
    wrong = [place for place, line in enumerate(lines) if line.rstrip().endswith("# wrong")]
    assert f"Wrong.{named.__name__}, line {first + wrong[0]} of {__file__}: " in message


@pytest.mark.parametrize(
    ("role", "known"), [("apply", "old, gathered, p"), ("active", "old, new, p")]
)
def test_an_argument_of_another_name(role, known):
    with pytest.raises(ws.ProgramError) as caught:
        define(role, right_init)
    line = right_init.__code__.co_firstlineno
    assert f"Wrong.{role} ({__file__}:{line}) asks for `vertex`" in str(caught.value)
    assert f"{role} has: {known}" in str(caught.value)


def reads_the_target(src, target, edge):
    return src.width


def test_an_argument_that_compute_does_not_have():
    with pytest.raises(
        ws.ProgramError, match=r"asks for `target`; .* compute has: src, dst, edge, p"
    ):
        define("compute", reads_the_target)


def too_many(state, p, more):
    return 0.0


def test_an_aggregate_with_an_argument_that_it_does_not_have():
    with pytest.raises(ws.ProgramError, match=r"Wrong.total .* asks for `more`.* has: state, p"):
        define("total", ws.aggregate(too_many))


def twofold(function):
    @functools.wraps(function)
    def wrapper(value):
        return 2.0 * function(value)

    return wrapper


@twofold
def decorated(src):
    return src.width


def calls_a_decorated_helper(src):
    return decorated_helper(src.width)


@twofold
def decorated_helper(value):
    return value


class TestNoPlainFunction:
    """Things that can be called but have no source of their own."""

    def test_a_lambda(self):
        with pytest.raises(ws.ProgramError, match=r"write it as a def, not as a lambda"):
            define("compute", lambda src: src.width)

    def test_a_lambda_as_an_argument_over_two_lines(self):
        with pytest.raises(ws.ProgramError, match=r"Wrong.*lambda"):
            define(
                "compute", (
                lambda src:
                src.width),
            )  # fmt: skip

    def test_a_ufunc(self):
        with pytest.raises(
            ws.ProgramError, match=r"Wrong.compute is .*, a ufunc; write it as a plain"
        ):
            define("compute", np.sqrt)

    def test_a_builtin(self):
        with pytest.raises(
            ws.ProgramError, match=r"Wrong.compute is .*, a builtin_function_or_method; write"
        ):
            define("compute", math.sqrt)

    def test_a_decorated_function(self):
        """Its source is that of the function inside: compiled, the decorator would be lost."""
        with pytest.raises(ws.ProgramError, match=r"Wrong.*decorat"):
            define("compute", decorated)
        with pytest.raises(ws.ProgramError, match=r"Wrong.*decorat"):
            define("compute", calls_a_decorated_helper)

    def test_no_source(self):
        space: dict = {"ws": ws}
        exec(  # as `python -c` does
            "class Typed:\n"
            "    width: ws.float64\n"
            "    def init(vertex): return 0.0\n"
            "    def compute(src): return src.width\n"
            "    combine = sum\n"
            "    def apply(old, gathered): return gathered\n",
            space,
        )
        with pytest.raises(ws.ProgramError, match=r"Typed.init: its source cannot be found .*file"):
            ws.vertex_program(space["Typed"])


# What functions may do.


def uses_numbers_in_text(src):
    return min(src.width, float("inf")) if src.width > float("-Infinity") else float("1e3")


def uses_numbers_from_outside(src):
    return SCALE * src.width + NOTHING


def double(value):
    return 2.0 * value


def square_of_double(value: float) -> float:
    """Return (2 · value)²."""
    return double(value) ** 2


def uses_helpers(src):
    return square_of_double(src.width) + double(src.width)


def uses_modules(src):
    root: float = numpy.sqrt(src.width)
    return math.hypot(root, np.pi) + max(root, math.tau)


def uses_names_out_of_modules(src):
    return root(maximum(src.width, 1.0)) + sys.maxsize * 0 + signal.SIGINT


def uses_control_flow(src):
    total = 0.0
    for step in range(4):
        if step == 2:
            continue
        total += step * src.width
    while total > 10.0:
        total -= 10.0
    return total


def text_of(function) -> str:
    return read_function(function, "user_compute", owner="Right").text


def run_text(function, width: float) -> float:
    """Execute the self-contained text as it would be compiled."""
    space: dict = {"math": math, "np": np}
    exec(text_of(function), space)
    return space["user_compute"](type("Vertex", (), {"width": width}))


@pytest.mark.parametrize(
    "function",
    [
        uses_numbers_from_outside,
        uses_numbers_in_text,
        uses_helpers,
        uses_modules,
        uses_names_out_of_modules,
        uses_control_flow,
    ],
)
def test_the_text_stands_alone_and_means_the_same(function):
    for width in (0.0, 0.25, 9.0):
        vertex = type("Vertex", (), {"width": width})
        assert run_text(function, width) == function(vertex)


def test_outer_names_are_written_out():
    assert text_of(uses_numbers_from_outside).endswith("return 0.5 * src.width + -math.inf")
    assert text_of(uses_numbers_in_text).endswith(
        "return min(src.width, math.inf) if src.width > -math.inf else 1000.0"
    )
    assert "numpy" not in text_of(uses_modules)
    assert text_of(uses_helpers).count("def ") == 4, "a helper of a helper belongs to it"


def scaled(factor):
    def scale(value):
        return value * factor

    return scale


twice, thrice = scaled(2.0), scaled(3.0)


def uses_two_helpers_of_one_name(src):
    return twice(src.width) + 100.0 * thrice(src.width)


def test_helpers_of_one_name_are_distinguished():
    assert run_text(uses_two_helpers_of_one_name, 1.0) == 302.0


def test_variables_of_an_enclosing_function():
    offset, ratio = 3, np.float64(0.25)

    def compute(src):
        return src.width * ratio + offset

    assert run_text(compute, 8.0) == 5.0


def test_a_variable_that_is_set_later_is_refused():
    def compute(src):
        return src.width * later

    with pytest.raises(ws.ProgramError, match="has no value yet; assign it first"):
        define("compute", compute)
    later = 2.0
    assert define("compute", compute).sources["compute"].text.endswith("src.width * 2.0")


def test_text_at_the_left_margin_is_no_obstacle(tmp_path, monkeypatch):
    (tmp_path / "margin.py").write_text(
        "class Holder:\n"
        "    def compute(src):\n"
        "# a remark at the left margin\n"
        '        """Text that goes on\nat the left margin."""\n'
        "        return src.width\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    import margin

    assert run_text(margin.Holder.compute, 2.0) == 2.0


def test_attributes_that_are_read_are_known():
    source = read_function(unknown_attribute, "f", owner="Right", attributes={"src": {"width"}})
    assert source.attributes == {"src": {"width"}, "edge": set()}
    assert source.parameters == ("src", "edge")
    assert re.fullmatch(
        rf"{re.escape(__file__)}:{unknown_attribute.__code__.co_firstlineno}", source.location
    )


FACTOR = 2.5


def uses_a_factor(src):
    return FACTOR * src.width


@pytest.mark.parametrize("value", [3.5, 2, math.nan, "2.5", None])
def test_a_source_knows_whether_a_name_has_another_value(value, monkeypatch):
    source = read_function(uses_a_factor, "user_compute", owner="Right")
    assert not source.has_changed()
    monkeypatch.setitem(globals(), "FACTOR", 5.0 / 2.0)
    assert not source.has_changed(), "an equal number of the same type is no other value"
    monkeypatch.setitem(globals(), "FACTOR", value)
    assert source.has_changed()
    monkeypatch.delitem(globals(), "FACTOR")
    assert source.has_changed()


def test_nan_stays_nan(monkeypatch):
    monkeypatch.setitem(globals(), "FACTOR", math.nan)
    source = read_function(uses_a_factor, "user_compute", owner="Right")
    monkeypatch.setitem(globals(), "FACTOR", float("nan"))
    assert not source.has_changed()
