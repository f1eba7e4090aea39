"""Binding a program to a graph: types, arguments, and errors of the trial before the first superstep."""

from __future__ import annotations

import enum
import math
import os
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pytest
from conftest import COMPILED
from programs import Peel, values_of
from shapes import SHAPES, build, random_edges

import cugraph_ws as ws
from cugraph_ws.program.binding import bind


def spread_init(vertex, p, own):
    return own.start


def send(src):
    return src.value


def keep_greatest(old, gathered):
    return max(old.value, gathered)


def define(declared, **members) -> ws.VertexProgram:
    """Define a program that is right but for what is given."""
    space = {
        "init": spread_init, "compute": send, "combine": max, "apply": keep_greatest,
        "__annotations__": declared, "__module__": __name__,
    }  # fmt: skip
    return ws.vertex_program(type("Program", (), space | members))


Spread = define({"value": ws.float64, "start": ws.vertex_value(ws.float64, default=-1.0)})


@pytest.fixture
def path():
    """Vertices 0 → 1 → 2 → 3 → 4, weights 1 to 4."""
    edges = pd.DataFrame(
        {"source": [0, 1, 2, 3], "destination": [1, 2, 3, 4], "weight": [1, 2, 3, 4]}
    )
    with ws.Graph(
        edges,
        weight="weight",
        vertices=pd.DataFrame({"vertex": range(5), "height": [3.0, 1, 4, 1, 5]}),
    ) as graph:
        yield graph


def values(program, graph, name="value", **arguments):
    arguments.setdefault("engine", "python")
    return values_of(ws.run(program, graph, **arguments))[name]


class TestVertexValues:
    """Constants of each vertex, in every form in which they may come."""

    @pytest.mark.parametrize(
        ("given", "expected"),
        [
            ({0: 2.0, 3: 7.0}, [2, 2, 2, 7, 7]),
            (pd.DataFrame({"vertex": [3], "x": [5.0]}), [-1, -1, -1, 5, 5]),
            (pl.DataFrame({"vertex": [3], "x": [5.0]}), [-1, -1, -1, 5, 5]),
            (1.5, [1.5] * 5),
            ("height", [3, 3, 4, 4, 5]),
            (np.array([0.0, 9, 0, 0, 0]), [0, 9, 9, 9, 9]),
            (None, [-1] * 5),
        ],
        ids=["mapping", "pandas", "Polars", "number", "column", "array", "default"],
    )
    def test_forms(self, path, given, expected):
        assert values(Spread, path, start=given) == expected

    @pytest.mark.parametrize(
        "given",
        [
            {99: 1.0}, {0: math.nan}, {0: "high"}, "depth",
            np.array(list("abcde")), np.array([0, 1, math.nan, 3, 4]), np.zeros(4), [1.0],
        ],
        ids=str,
    )  # fmt: skip
    def test_invalid_arguments_are_refused(self, path, given):
        with pytest.raises(ws.InputError, match="start"):
            values(Spread, path, start=given)

    def test_a_required_one(self, path):
        required = define({"value": ws.float64, "start": ws.vertex_value(ws.float64)})
        with pytest.raises(ws.InputError, match=r"Program needs start=: a frame"):
            values(required, path)
        with pytest.raises(ws.InputError, match="start"):
            values(required, path, start={0: 1.0})

    def test_nan_as_a_default_stands_for_not_given(self, path):
        partly = define(
            {"value": ws.float64, "start": ws.vertex_value(ws.float64, default=math.nan)},
            init=zero_where_not_given,
        )
        assert values(partly, path, start={1: 8.0}) == [0, 8, 8, 8, 8]
        with pytest.raises(ws.InputError, match="needs start="):
            values(partly, path)

    def test_another_name_for_the_argument(self, path):
        renamed = define(
            {"value": ws.float64, "start": ws.vertex_value(ws.float64, 0.0, argument="height")}
        )
        assert values(renamed, path, height={0: 2.0})[0] == 2
        with pytest.raises(ws.InputError, match="no parameter 'start'; it has: height"):
            values(renamed, path, start=1.0)


def zero_where_not_given(vertex, p, own):
    return 0.0 if math.isnan(own.start) else own.start


class TestVertexSets:
    """Sets of vertices, and whether they may be left out."""

    Chosen = define({"value": ws.boolean, "start": ws.vertex_set})
    Optional = define({"value": ws.boolean, "start": ws.optional_vertex_set})

    @pytest.mark.parametrize(
        "given",
        [3, [3], {3}, frozenset([3]), np.array([3]), pd.Series([3]), pl.Series([3]),
         pd.DataFrame({"vertex": [3]}), np.array([False, False, False, True, False])],
        ids=lambda given: type(given).__name__,
    )  # fmt: skip
    def test_forms(self, path, given):
        assert values(self.Chosen, path, start=given) == [False] * 3 + [True] * 2

    def test_left_out(self, path):
        assert values(self.Optional, path) == [False] * 5
        with pytest.raises(ws.InputError, match=r"Program needs start=, a vertex or a list"):
            values(self.Chosen, path)

    def test_unknown_vertices(self, path):
        with pytest.raises(ws.InputError, match="start"):
            values(self.Chosen, path, start=[3, 99])

    def test_ids_of_several_columns(self):
        edges = pd.DataFrame({"a": [1, 1], "b": [1, 2], "c": [1, 2], "d": [2, 1]})
        with ws.Graph(edges, ["a", "b"], ["c", "d"]) as graph:
            assert values(self.Chosen, graph, start=(1, 2)) == [False, True, True]


def value_of_p(vertex, p):
    return p.a


def declared_parameter(kind, default=None) -> ws.VertexProgram:
    return define({"value": kind, "a": ws.parameter(kind, default)}, init=value_of_p)


class TestParameters:
    """One number each."""

    @pytest.mark.parametrize(
        ("kind", "given", "seen"),
        [
            (ws.float64, 2, 2.0), (ws.float64, np.float32(0.5), 0.5), (ws.int64, 3.0, 3),
            (ws.int32, np.int64(7), 7), (ws.boolean, True, True), (ws.float32, 0.25, 0.25),
        ],
    )  # fmt: skip
    def test_numbers(self, path, kind, given, seen):
        assert values(declared_parameter(kind), path, a=given)[0] == seen

    def test_a_default(self, path):
        assert values(declared_parameter(ws.int64, 4), path) == [4] * 5
        assert values(declared_parameter(ws.int64, 4), path, a=None) == [4] * 5
        with pytest.raises(ws.InputError, match="Program needs a=, a number"):
            values(declared_parameter(ws.int64), path)

    @pytest.mark.parametrize(
        ("kind", "given"),
        [
            (ws.float64, "half"), (ws.float64, "0.5"), (ws.float64, [0.5]), (ws.float64, [1.0, 2.0]),
            (ws.float64, math.nan), (ws.float64, np.float32("nan")), (ws.float64, 1j),
            (ws.int64, 1.5), (ws.int64, math.inf), (ws.int64, [1]), (ws.int64, "1"),
            (ws.int32, 2**40), (ws.boolean, "no"), (ws.int64, ...), (ws.float32, 1e300),
        ],
        ids=str,
    )  # fmt: skip
    def test_invalid_arguments_are_refused(self, path, kind, given):
        with pytest.raises(ws.InputError, match="a="):
            values(declared_parameter(kind), path, a=given, max_iter=3)

    def test_an_unknown_one(self, path):
        with pytest.raises(ws.InputError, match=r"Program has no parameter 'b'; it has: a"):
            values(declared_parameter(ws.int64, 1), path, b=1)
        with pytest.raises(ws.InputError, match="no parameter 'b'; it has: none"):
            values(define({"value": ws.vertex_id}, init=number), path, b=1)

    def test_a_vertex(self, path):
        chosen = define({"value": ws.boolean, "a": ws.vertex_parameter}, init=is_chosen)
        assert values(chosen, path, a=3) == [False] * 3 + [True] * 2
        with pytest.raises(ws.InputError, match="Program needs a=, a vertex of the graph"):
            values(chosen, path)
        with pytest.raises(ws.InputError, match="a"):
            values(chosen, path, a=99)


def number(vertex):
    return vertex


def is_chosen(vertex, p):
    return vertex == p.a


class TestDistributions:
    """Shares that sum to 1."""

    Shares = define({"value": ws.float64, "start": ws.distribution}, max_iter=0)

    def test_equal_or_scaled(self, path):
        assert values(self.Shares, path) == [0.2] * 5
        assert values(self.Shares, path, start={1: 3.0, 2: 1.0}) == [0, 0.75, 0.25, 0, 0]

    @pytest.mark.parametrize("given", [{0: 0.0}, {0: -1.0, 1: 2.0}, {0: math.inf}])
    def test_invalid_arguments_are_refused(self, path, given):
        with pytest.raises(ws.InputError, match="start"):
            values(self.Shares, path, start=given)

    def test_an_empty_graph(self):
        with build(SHAPES["empty"]) as graph:
            assert values(self.Shares, graph) == []


class TestConstantsOfTheGraph:
    """Degrees, and sums of weights."""

    @pytest.mark.parametrize("directed", [True, False])
    @pytest.mark.parametrize("weighted", [True, False])
    def test_degrees_and_weights(self, directed, weighted):
        edges = replace(random_edges(20, 50, seed=31), directed=directed)
        weight = edges.weight if weighted else np.ones(50)
        ends = {"in": edges.destination, "out": edges.source}
        with build(edges, weighted=weighted) as graph:
            for side in ends:
                constant = getattr(ws, f"{side}_weight")
                program = define({"value": ws.float64, "start": constant}, max_iter=0)
                expected = np.bincount(ends[side], weight, 20)
                if not directed:
                    other = ends["out" if side == "in" else "in"]
                    loop = edges.source == edges.destination
                    expected += np.bincount(other, weight * ~loop, 20)
                assert values(program, graph) == pytest.approx(expected.tolist())
                degree = define({"value": ws.int64, "start": getattr(ws, f"{side}_degree")})
                counted = values(degree, graph, max_iter=0)
                assert counted == getattr(graph, f"{side}_degrees").tolist()

    def test_weights_that_add_up_to_infinity(self):
        program = define({"value": ws.float64, "start": ws.in_weight}, max_iter=0)
        frame = pd.DataFrame({"source": [0, 1], "destination": [2, 2], "weight": [1e308, 1e308]})
        with pytest.raises(ws.InputError, match=r"the weights at vertex 2 add up to more than"):
            values(program, ws.Graph(frame, weight="weight"))

    def test_others_may_be_given_instead(self, path):
        program = define({"value": ws.float64, "start": ws.out_weight}, max_iter=0)
        assert values(program, path, start=dict.fromkeys(range(5), 8)) == [8.0] * 5


def send_along(src, edge):
    return src.value + edge.weight


class TestEdgeAttributes:
    """Found by name, as the only weight, or replaced by their default."""

    def test_the_type_is_the_columns(self, path):
        program = define(
            {
                "value": ws.like("weight"),
                "weight": ws.edge(),
                "start": ws.vertex_value(ws.int64, 0),
            },
            compute=send_along,
        )
        bound = bind(program, path, {})
        assert bound.types.state == ("int64",)
        assert values(program, path) == [0, 1, 3, 6, 10]

    @pytest.mark.parametrize(("default", "kind"), [(2, "int64"), (2.0, "float64")])
    def test_a_default_stands_in(self, default, kind):
        program = define(
            {"value": ws.like("weight"), "weight": ws.edge(default=default),
             "start": ws.vertex_value(ws.int64, 0)},
            compute=send_along,
        )  # fmt: skip
        with build(SHAPES["path"], weighted=False) as graph:
            assert bind(program, graph, {}).types.state == (kind,)
            assert values(program, graph) == [2 * place for place in range(50)]

    @pytest.mark.parametrize(
        ("column", "kind"),
        [("float32", "float32"), ("float64", "float64"), ("int32", "float64"), (None, "float64")],
    )
    def test_floating_is_the_columns_type_or_float64(self, column, kind):
        program = define(
            {"value": ws.like("weight"), "weight": ws.edge(ws.floating, default=2),
             "start": ws.vertex_value(ws.int64, 0)},
            compute=send_along,
        )  # fmt: skip
        frame = pd.DataFrame({"source": [0, 1], "destination": [1, 2], "weight": [2, 2]})
        kinds = {} if column is None else {"weight": column}
        frame = frame[["source", "destination", *kinds]].astype(kinds)
        weight = "weight" if kinds else None
        result = ws.run(program, frame, weight_column=weight)
        assert result.frame["value"].tolist() == [0, 2, 4]
        assert result.frame["value"].dtype == kind

    def test_an_attribute_that_the_graph_lacks(self):
        program = define(
            {"value": ws.float64, "weight": ws.edge(ws.float64),
             "start": ws.vertex_value(ws.float64, 0.0)},
            compute=send_along,
        )  # fmt: skip
        with (
            build(SHAPES["path"], weighted=False) as graph,
            pytest.raises(ws.InputError, match=r"edge attribute 'weight', .*\(it has: none\)"),
        ):
            values(program, graph)

    def test_several_are_read_by_name_from_a_frame(self):
        program = define(
            {"value": ws.float64, "length": ws.edge(ws.float64), "toll": ws.edge(ws.float64),
             "start": ws.vertex_value(ws.float64, 0.0)},
            compute=toll_and_length,
        )  # fmt: skip
        frame = pl.DataFrame({"source": ["a", "b"], "destination": ["b", "c"],
                              "length": [1.0, 2.0], "toll": [10.0, 20.0], "unread": ["x", "y"]})  # fmt: skip
        assert values(program, frame) == [0, 11, 33]
        assert values(program, frame.to_arrow()) == [0, 11, 33]

    @pytest.mark.parametrize(
        ("kind", "column"), [(ws.int64, [0.5] * 4), (ws.int32, [2**40, 1, 1, 1])]
    )
    @pytest.mark.parametrize("alike", [True, False])
    def test_a_column_that_does_not_fit_the_declared_type(self, kind, column, alike):
        program = define(
            {"value": ws.like("weight") if alike else ws.int64, "weight": ws.edge(kind),
             "start": ws.vertex_value(ws.int64, 0)},
            compute=send_along,
        )  # fmt: skip
        frame = pd.DataFrame(
            {"source": [0, 1, 2, 3], "destination": [1, 2, 3, 4], "weight": column}
        )
        with pytest.raises(ws.InputError, match="column 'weight'"):
            values(program, frame, weight_column="weight")

    def test_a_value_below_the_least(self, path):
        program = define(
            {"value": ws.float64, "weight": ws.edge(ws.float64, least=2),
             "start": ws.vertex_value(ws.float64, 0.0)},
            compute=send_along,
        )  # fmt: skip
        with pytest.raises(
            ws.InputError, match=r"'weight' has the value 1 on the edge 0 to 1; Program needs 2 or"
        ):
            values(program, path)

    def test_integers_with_sums_that_could_overflow(self):
        frame = pd.DataFrame({"source": [0], "destination": [1], "weight": [2**61]})
        with pytest.raises(ws.InputError, match=r"paths could exceed what int64 holds"):
            values(ws.SSSP, frame, "distance", source=0, weight_column="weight")

    @pytest.mark.parametrize(("kind", "great"), [("float32", 3e38), ("float64", 1e308)])
    def test_floats_with_sums_that_could_overflow_may_be_compared(self, kind, great):
        frame = pd.DataFrame({"source": [0, 1], "destination": [1, 2], "weight": [great, great]})
        frame = frame.astype({"weight": kind})
        with pytest.raises(ws.InputError, match=f"paths could exceed what {kind} holds"):
            values(ws.SSSP, frame, "distance", source=0, weight_column="weight")
        widths = values(ws.WidestPath, frame, "width", source=0, weight_column="weight")
        assert widths == [np.inf, np.dtype(kind).type(great), np.dtype(kind).type(great)]

    def test_a_program_that_adds_elsewhere_than_in_its_messages(self):
        def weight_alone(src, edge):
            return edge.weight

        def keep_sum(old, gathered):
            return old.value + gathered

        frame = pd.DataFrame({"source": [0], "destination": [1], "weight": [2**61]})
        declared = {
            "value": ws.like("weight"),
            "weight": ws.edge(),
            "start": ws.vertex_value(ws.int64, 0),
        }
        for members in ({"apply": keep_sum}, {"combine": sum}):
            program = define(declared, compute=weight_alone, **members)
            with pytest.raises(ws.InputError, match="paths could exceed what int64 holds"):
                values(program, frame, weight_column="weight")
        same = define(declared, compute=weight_alone)
        assert values(same, frame, weight_column="weight") == [0, 2**61]


def toll_and_length(src, edge):
    return src.value + edge.length + edge.toll


# Functions that the compiler refuses, and a trial explains.


def returns_nothing(src):
    return None


def reads_what_is_not_there(src):
    alias = src
    return alias.height


def returns_a_fraction(old, gathered):
    return old.value + 0.5


def returns_a_pair(old, gathered):
    return old.value, gathered


def returns_too_much(vertex):
    return 2**80


class TestTheTrial:
    """What the compiler refuses is explained by plain Python, before the first superstep."""

    def refused(self, path, declared=None, **members):
        program = define(
            declared or {"value": ws.float64, "start": ws.vertex_value(ws.float64, 0.0)}, **members
        )
        with pytest.raises(ws.ProgramError) as caught:
            values(program, path)
        return str(caught.value)

    def test_a_message_that_is_none(self, path):
        message = self.refused(path, compute=returns_nothing)
        line = returns_nothing.__code__.co_firstlineno
        assert (
            f"Program.compute ({__file__}:{line}): returns None on some path; return a number"
            in message
        )

    def test_an_exception_names_its_line(self, path):
        message = self.refused(path, compute=reads_what_is_not_there)
        line = reads_what_is_not_there.__code__.co_firstlineno + 2
        assert f"Program.compute, line {line} of {__file__}: " in message

    def test_a_fraction_for_an_integer(self, path):
        integers = {"value": ws.int64, "start": ws.vertex_value(ws.int64, 0)}
        message = self.refused(path, integers, apply=returns_a_fraction)
        assert f"({__file__}:{returns_a_fraction.__code__.co_firstlineno})" in message
        assert "for `value`, which is int64; declare it as a float, or return a whole" in message

    def test_a_pair_for_one_field(self, path):
        message = self.refused(path, apply=returns_a_pair)
        assert "Program.apply" in message
        assert "the state has one field, return a number" in message

    def test_one_number_for_two_fields(self, path):
        two = {"value": ws.float64, "other": ws.float64, "start": ws.vertex_value(ws.float64, 0.0)}
        message = self.refused(path, two)
        assert "return a tuple of 2 numbers: value, other" in message

    def test_infinity_for_an_integer_that_cannot_be_null(self, path):
        message = self.refused(
            path, {"value": ws.int32, "start": ws.optional_vertex_set}, init=zero_or_infinity
        )
        line = zero_or_infinity.__code__.co_firstlineno
        assert f"Program.init ({__file__}:{line}): returns inf for `value`" in message
        assert "declare it as ws.nullable(ws.int32, math.inf)" in message

    def test_errors_of_numpy_name_the_line(self, path):
        message = self.refused(path, {"value": ws.int64}, init=number, compute=negative_power)
        line = negative_power.__code__.co_firstlineno + 1
        assert (
            f"Program.compute, line {line} of {__file__}, at vertex 0: ValueError: 0 ** -1: a nega"
            in message
        )

    @pytest.mark.parametrize("kind", [ws.int32, ws.int64])
    def test_an_integer_out_of_range(self, path, kind):
        message = self.refused(path, {"value": kind}, init=returns_too_much)
        assert f"`value` is {kind.name}, which cannot hold {2**80}; declare `value`" in message


def left_only(first, second):
    return first


def first_or_mean(first, second):
    return (first + second) / 2.0


def total(first, second):
    return first + second


def negative_power(src):
    return src.value**-1


def one_over(src):
    return 1.0 / float(src.value)


class TestTheUsersCombine:
    """A combine has to be commutative, associative, and to have its identity."""

    @pytest.mark.parametrize(
        ("combine", "identity", "message"),
        [
            (left_only, 0.0, r"is not commutative: combine\(1\.0, 2\.0\) = 1\.0"),
            (first_or_mean, 0.0, "is not associative: over "),
            (total, 1.0, "identity 1.0 changes 1.0; it must"),
        ],
    )
    def test_what_messages_contradict_is_a_warning(self, path, combine, identity, message):
        declared = {"value": ws.float64, "start": ws.vertex_value(ws.float64, 1.0)}
        program = define(declared, combine=combine, identity=identity, max_iter=2)
        line = combine.__code__.co_firstlineno
        with pytest.warns(ws.GraphWarning, match=message) as caught:
            values(program, path, start={v: 2.0**v for v in range(5)})
        assert f"Program.combine ({__file__}:{line})" in str(caught[0].message)
        assert "ws.check compares" in str(caught[0].message)

    def test_an_identity_of_another_shape_is_refused(self, path):
        declared = {"value": ws.float64, "start": ws.vertex_value(ws.float64, 1.0)}
        program = define(declared, combine=total, identity=(0.0, 0.0), max_iter=2)
        with pytest.raises(ws.ProgramError, match="does not have the message's shape"):
            values(program, path)

    def test_an_identity_that_is_no_number(self):
        with pytest.raises(ws.ProgramError, match=r"Program.identity is 'zero'"):
            define({"value": ws.float64}, combine=total, identity="zero")

    def test_messages_of_two_numbers(self, path):
        program = define(
            {"value": ws.float64, "start": ws.vertex_value(ws.float64, 1.0)},
            compute=value_and_one, combine=add_pairs, identity=(0.0, 0), apply=mean, max_iter=1,
        )  # fmt: skip
        start = {0: 1.0, 1: 2.0, 2: 4.0, 3: 8.0, 4: 16.0}
        for engine in ("cpu", "python"):
            assert values(program, path, start=start, engine=engine) == [1, 1, 2, 4, 8]


def value_and_one(src):
    return src.value, 1


def add_pairs(first, second):
    return first[0] + second[0], first[1] + second[1]


def mean(old, gathered):
    return gathered[0] / gathered[1] if gathered[1] > 0 else old.value


def log_of(src):
    return math.log(src.value)


def log_sum(first, second):
    return math.log(math.exp(first) + math.exp(second))


class TestWhatIsRightIsNotRefused:
    """The trial's values are made up: what fails on them alone is no error."""

    def test_a_logarithm(self, path):
        program = define(
            {"value": ws.float64, "start": ws.vertex_value(ws.float64, 1.0)}, compute=log_of
        )
        assert values(program, path) == [1.0] * 5

    def test_a_division(self, path):
        program = define(
            {"value": ws.float64, "start": ws.vertex_value(ws.float64, 1.0)}, compute=one_over
        )
        assert values(program, path, start={0: 0.25}) == [0.25, 4.0, 1.0, 1.0, 1.0]

    def test_a_logarithm_of_a_sum(self, path):
        program = define(
            {"value": ws.float64, "start": ws.vertex_value(ws.float64, 0.0)},
            combine=log_sum, identity=-math.inf, apply=keep_greatest, max_iter=2,
        )  # fmt: skip
        assert values(program, path, engine="cpu") == [0.0] * 5


class Colour(enum.IntEnum):
    RED = 3


RED = Colour.RED


def red(vertex):
    return RED


def picks_from_a_pair(src):
    return (src.value, 1)[1 if src.value > 0.5 else 0]


def test_a_named_integer_is_a_number(path):
    program = define({"value": ws.int64}, init=red)
    for engine in ("cpu", "python"):
        assert values(program, path, engine=engine) == [3] * 5


@pytest.mark.skipif(not COMPILED, reason="plain Python understands it")
def test_code_that_only_python_runs_is_a_program_error(path):
    program = define(
        {"value": ws.float64, "start": ws.vertex_value(ws.float64, 0.0)}, compute=picks_from_a_pair
    )
    with pytest.raises(ws.ProgramError, match=r"Program.*compil"):
        values(program, path, engine="cpu")


def test_a_second_run_is_not_tried_again(path):
    before = set(Peel.memory)
    ws.run(Peel, path, k=77, engine="python")
    after = set(Peel.memory)
    assert after > before
    ws.run(Peel, path, k=77, engine="python")
    assert set(Peel.memory) == after


class TestNullsInTheResult:
    """The value for 'none' becomes null; every other number is unchanged."""

    def test_an_integer_of_the_users_choice(self, path):
        program = define(
            {"value": ws.nullable(ws.int64, -1), "start": ws.vertex_value(ws.int64, -1)}
        )
        assert values(program, path, start={2: 5}) == [None, None, 5, 5, 5]

    def test_infinity_in_an_integer(self, path):
        program = define(
            {"value": ws.nullable(ws.int32, math.inf), "start": ws.vertex_set},
            init=zero_or_infinity, combine=min, apply=keep_least,
        )  # fmt: skip
        assert values(program, path, start=[3]) == [None, None, None, 0, 0]

    @pytest.mark.parametrize(("kind", "large"), [(ws.int32, 2**31 - 1), (ws.int64, 2**63 - 1)])
    def test_large_integers_are_no_nulls(self, path, kind, large):
        program = define({"value": kind, "start": ws.vertex_value(kind)})
        assert values(program, path, start=large) == [large] * 5

    def test_infinity_for_a_vertex(self, path):
        program = define(
            {"value": ws.vertex_id, "start": ws.vertex_set}, init=self_or_infinity, combine=min,
            apply=keep_least,
        )  # fmt: skip
        frame = ws.run(program, path, start=[3], engine="python").frame
        assert frame["value"].isna().tolist() == [True] * 3 + [False] * 2
        assert frame["value"].tolist()[3:] == [3, 3]


def zero_or_infinity(vertex, p, own):
    return 0 if own.start else math.inf


def self_or_infinity(vertex, p, own):
    return vertex if own.start else math.inf


def keep_least(old, gathered):
    return min(old.value, gathered)


def test_a_nan_state_does_not_run_for_ever(path):
    program = define(
        {"value": ws.float64, "start": ws.vertex_value(ws.float64, 0.0)}, apply=nothing_at_all
    )
    for engine in ("cpu", "python"):
        result = ws.run(program, path, max_iter=50, engine=engine)
        assert result.converged


def nothing_at_all(old, gathered):
    return old.value * math.nan


def test_division_by_zero_is_infinite_in_every_engine(path):
    program = define(
        {"value": ws.float64, "start": ws.out_degree}, init=one_over_degree, max_iter=0
    )
    for engine in ("cpu", "python"):
        assert values(program, path, engine=engine) == [1, 1, 1, 1, math.inf]


def one_over_degree(vertex, p, own):
    return 1.0 / own.start


@ws.vertex_program
class Counted:
    """How many in-neighbours are alive, and the sum of their weights."""

    count: ws.int64
    weight: ws.int64
    alive: ws.boolean
    share: ws.int32
    max_iter = 1

    def init(vertex):
        return 0, 0, True, 2**30

    def compute(src):
        return src.alive, src.share

    combine = sum

    def apply(old, gathered):
        return gathered[0], gathered[1], old.alive, old.share


@pytest.mark.parametrize("engine", ["cpu", "python"])
def test_sums_of_flags_and_small_integers_are_whole(engine):
    with build(SHAPES["star inwards"]) as graph:
        result = values_of(ws.run(Counted, graph, engine=engine))
    assert result["count"][-1] == 8
    assert result["weight"][-1] == 8 * 2**30


def square_and_divide(src):
    return src.value * src.value // 100_000


def test_small_integers_are_computed_with_in_full(path):
    program = define(
        {"value": ws.int32}, init=hundred_thousand, compute=square_and_divide, combine=sum,
        apply=take_gathered, max_iter=1,
    )  # fmt: skip
    for engine in ("cpu", "python"):
        assert values(program, path, engine=engine) == [0] + [100_000] * 4


def take_gathered(old, gathered):
    return gathered


def hundred_thousand(vertex):
    return 100_000


@pytest.mark.parametrize("given", [[1.5] * 5, [2**40] * 5])
def test_an_array_that_does_not_fit_the_declared_type(path, given):
    program = define({"value": ws.int32, "start": ws.vertex_value(ws.int32)})
    with pytest.raises(ws.InputError, match="start"):
        values(program, path, start=np.array(given))


def test_a_number_too_large_for_float32():
    program = define(
        {"value": ws.float32, "weight": ws.edge(ws.float32), "start": ws.vertex_value(ws.float32, 0)},
        compute=send_along,
    )  # fmt: skip
    frame = pd.DataFrame({"source": [0], "destination": [1], "weight": [1e300]})
    with pytest.raises(ws.InputError, match="column 'weight'"):
        values(program, frame, weight_column="weight")


@pytest.mark.skipif(not COMPILED, reason="types are the compiler's")
def test_types_are_inferred_in_several_threads_at_once(tmp_path):
    """The compiler keeps one context for all of them, and fills it when it is first used."""
    script = tmp_path / "script.py"
    script.write_text("""
import sys, threading
from concurrent.futures import ThreadPoolExecutor
import pandas as pd
import cugraph_ws as ws
from cugraph_ws.program.binding import bind

@ws.vertex_program
class Own:
    x: ws.float64
    combine = sum
    def init(vertex):
        return vertex * 0.5
    def compute(src):
        return src.x + 1
    def apply(gathered):
        return gathered

def work(graph):
    barrier.wait(60)
    return bind(Own, graph, {}).types.message

barrier = threading.Barrier(8)
graphs = [ws.Graph(pd.DataFrame({"source": [0, 1], "destination": [1, 2]})) for _ in range(8)]
sys.setswitchinterval(1e-6)
with ThreadPoolExecutor(8) as pool:
    assert [*pool.map(work, graphs)] == [("float64",)] * 8
""")
    surroundings = {**os.environ, "CUGRAPH_WS_CACHE_DIR": str(tmp_path)}
    subprocess.run([sys.executable, str(script)], check=True, env=surroundings, timeout=120)
