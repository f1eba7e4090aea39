"""Vertex programs: what may be declared and set, and what is refused when the class is defined."""

from __future__ import annotations

import math

import numpy as np
import pytest
from programs import Paths, Peel, Reached, Widest

import cugraph_ws as ws
from cugraph_ws.program.declarations import Like, State


def init(vertex):
    return 0.0


def compute(src):
    return src.width


def apply(old, gathered):
    return gathered


def merged(first, second):
    return first + second


def define(declared=None, without=(), **members) -> ws.VertexProgram:
    """Define a program that is right but for what is given."""
    space = {
        "init": init, "compute": compute, "combine": sum, "apply": apply,
        "__annotations__": {"width": ws.float64} if declared is None else declared,
        "__module__": __name__,
    }  # fmt: skip
    space = {name: value for name, value in (space | members).items() if name not in without}
    return ws.vertex_program(type("Program", (), space))


def test_attributes_of_a_program():
    assert Paths.combine == "custom"
    assert Paths.identity == 1.0
    assert Paths.max_iter == 3
    assert Paths.doc.startswith("Product over in-neighbours")
    assert not Paths.idempotent
    assert Peel.contributors == "active"
    assert Peel.parameter_names == ("k", "number_of_vertices", "superstep")
    assert Widest.predecessor == "before"
    assert Widest.idempotent
    assert list(Widest.state) == ["width"]
    assert list(Widest.edges) == ["weight"]
    assert list(Reached.constants) == ["start"]
    assert repr(Peel) == "<vertex program Peel: left, alive>"


@pytest.mark.parametrize(
    ("combine", "known"),
    [(sum, "sum"), (min, "min"), (max, "max"), (any, "any"), (ws.any_message, "any")],
)
def test_combines_that_are_known(combine, known):
    assert define(combine=combine).combine == known


def test_any_message_is_the_first():
    assert ws.any_message(3, 4) == 3


@pytest.mark.parametrize("name", ["init", "compute", "apply", "combine"])
def test_a_missing_function(name):
    with pytest.raises(ws.ProgramError, match=rf"Program has no `{name}`; "):
        define(without=(name,))


@pytest.mark.parametrize("combine", ["mean", 3, math, len])
def test_a_combine_that_is_none(combine):
    with pytest.raises(
        ws.ProgramError, match=r"Program.combine is .*(set it to|write combine =) sum"
    ):
        define(combine=combine)


def test_a_combine_without_its_identity():
    with pytest.raises(ws.ProgramError, match=r"Program.combine .* needs `identity`"):
        define(combine=merged)


def test_static_methods_are_unwrapped():
    assert define(compute=staticmethod(compute)).functions["compute"] is compute


def test_a_member_without_a_role():
    with pytest.raises(ws.ProgramError, match=r"Program.gather has no role .*known: init, comp"):
        define(gather=apply)


def test_a_declaration_with_a_value_is_refused():
    with pytest.raises(ws.ProgramError, match=r"Program.width = 0.0: a state has no default"):
        define(width=0.0)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"contributors": "some"}, r"Program.contributors is 'some'; it is 'all' or 'active'"),
        ({"residual": "l1"}, r"Program.residual is 'l1'; use ws.l1_norm or ws.max_norm"),
        ({"residual": ws.l1_norm("hight")}, r"residual is over `hight`, .*fields: width"),
        ({"tol": 1e-3}, r"Program.tol needs `residual`, as in .*l1_norm\('width'\)"),
        ({"tol": -1.0, "residual": ws.max_norm("width")}, r"Program.*tol"),
        ({"max_iter": "ten"}, r"Program.*max_iter"),
        ({"max_iter": -1}, r"Program.*max_iter"),
        ({"in_place": "yes"}, r"Program.*in_place"),
    ],
)
def test_settings_that_make_no_sense(settings, message):
    with pytest.raises(ws.ProgramError, match=message):
        define(**settings)


@pytest.mark.parametrize(
    ("annotation", "remedy"),
    [
        (float, "as ws.float64"),
        ("float", "as ws.float64"),
        (bool, "as ws.boolean"),
        (np.int32, "as ws.int32"),
        (3, "with one of ws.float32"),
        (None, "with one of ws.float32"),
        ([], "with one of ws.float32"),
        (ws.Graph, "with one of ws.float32"),
    ],
)
def test_an_annotation_that_declares_nothing(annotation, remedy):
    with pytest.raises(ws.ProgramError, match=rf"Program.other is .*; declare it {remedy}"):
        define({"width": ws.float64, "other": annotation})


def test_an_annotation_that_cannot_be_evaluated():
    with pytest.raises(ws.ProgramError, match=r"Program: an annotation cannot be evaluated"):
        define({"width": "ws.float65"})


@pytest.mark.parametrize("name", ["superstep", "number_of_vertices", "_width"])
def test_names_that_are_taken(name):
    with pytest.raises(ws.ProgramError, match=rf"Program.{name}: that name is taken"):
        define({"width": ws.float64, name: ws.float64})


def total(state):
    return state.width


@pytest.mark.parametrize("name", ["alpha", "superstep", "_total"])
def test_an_aggregate_with_a_name_that_is_taken(name):
    with pytest.raises(ws.ProgramError, match=rf"Program.{name}"):
        define(
            {"width": ws.float64, "alpha": ws.parameter(ws.float64)}, **{name: ws.aggregate(total)}
        )


def test_no_state():
    with pytest.raises(ws.ProgramError, match=r"Program declares no state; annotate a field"):
        define({"weight": ws.edge(ws.float64)})


def test_declarations_may_be_assigned():
    given = define(
        {"start": ws.vertex_parameter},
        width=ws.nullable(ws.float64, math.inf), hops=ws.int32, weight=ws.edge(ws.float64),
        tol=ws.parameter(ws.float64),
    )  # fmt: skip
    annotated = define(
        {
            "start": ws.vertex_parameter, "width": ws.nullable(ws.float64, math.inf),
            "hops": ws.int32, "weight": ws.edge(ws.float64), "tol": ws.parameter(ws.float64),
        }
    )  # fmt: skip
    for kind in ("state", "edges", "parameters", "tol"):
        assert getattr(given, kind) == getattr(annotated, kind)
    assert list(given.state) == ["width", "hops"]


def test_assignments_win_over_annotations():
    assert define({"width": float}, width=ws.hidden(ws.float32)).state == {
        "width": State(ws.float32, visible=False)
    }


def test_fields_of_the_state_are_in_the_order_of_the_source():
    @ws.vertex_program
    class Mixed:
        first = ws.hidden(ws.int64)
        second: ws.float64
        third: float = ws.nullable(ws.float64, math.inf)
        fourth, fifth = ws.int32, 1
        sixth: ws.boolean
        combine = sum
        del fifth

        @staticmethod
        def init(vertex):
            return 0, 0.0, 0.0, 0, False

        def compute(src):
            return src.second

        def apply(old, gathered):
            return old.first, gathered, old.third, old.fourth, True

    assert list(Mixed.state) == ["first", "second", "third", "fourth", "sixth"]


def test_an_unknown_order_of_fields():
    with pytest.raises(ws.ProgramError, match=r"declare all of them in one way: more, width"):
        define({"width": ws.float64}, more=ws.int64)
    with pytest.raises(ws.ProgramError, match=r"its source cannot be found"):
        exec(UNSEEN, {"ws": ws})


UNSEEN = """
@ws.vertex_program
class Program:
    width: ws.float64
    more = ws.int64
    def init(vertex):
        return 0.0, 0
"""


def test_like_an_attribute_that_is_not_declared():
    with pytest.raises(
        ws.ProgramError, match=r"Program.width is like `weight`, which is not a decl"
    ):
        define({"width": ws.like("weight")})


@pytest.mark.parametrize("null", [2**70, 0.5])
def test_a_null_value_that_never_occurs_is_refused(null):
    with pytest.raises(ws.ProgramError, match=f"null={null}, which ws.int64 does not hold"):
        define({"width": ws.nullable(ws.int64, null)})


def test_predecessors():
    with pytest.raises(ws.ProgramError, match=r"Program.before: .*needs combine = min, max or any"):
        define({"width": ws.float64, "before": ws.predecessor})
    with pytest.raises(ws.ProgramError, match=r"Program declares 2 predecessors; one is enough"):
        define({"width": ws.float64, "a": ws.predecessor, "b": ws.predecessor}, combine=min)


def test_annotations_as_strings_see_the_enclosing_function():
    scalar = ws.float32

    @ws.vertex_program
    class Local:
        width: scalar

        def init(vertex):
            return 0.0

        def compute(src):
            return src.width

        combine = min

        def apply(old, gathered):
            return gathered

    assert Local.state == {"width": State(ws.float32)}


def test_declarations_say_what_they_are():
    assert repr(ws.float32) == "ws.float32"
    assert repr(ws.boolean) == "ws.boolean"
    assert repr(ws.vertex_id) == "ws.vertex_id"
    assert ws.int32.dtype.itemsize == 4
    assert ws.like("weight") == Like("weight")
    assert ws.hidden(ws.int64) == State(ws.int64, visible=False)
    assert ws.nullable(ws.int64, -1) == State(ws.int64, null=-1)
    assert ws.l1_norm("width") != ws.max_norm("width")
