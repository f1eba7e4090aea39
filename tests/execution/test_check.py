"""`ws.check` compares every way of running a program with the reference, and tries what it declares."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from conftest import COMPILED
from programs import Hops, Nearest, Rank
from shapes import SHAPES, build, rmat

import cugraph_ws as ws


@ws.vertex_program
class Limited:
    """Takes only what is within its own limit, and says that order does not matter to it."""

    x: ws.float64
    first: ws.vertex_value(ws.float64)
    limit: ws.vertex_value(ws.float64)
    asynchronous = True

    def init(vertex, p, own):
        return own.first

    def compute(src):
        return src.x

    combine = max

    def apply(old, gathered):
        return old.x if gathered > old.limit else max(old.x, gathered)


def limited():
    frame = pd.DataFrame({"source": ["a", "b"], "destination": ["d", "d"]})
    first, limit = {"a": 50.0, "b": 900.0, "d": 10.0}, {"a": 0.0, "b": 0.0, "d": 500.0}
    return frame, {"first": first, "limit": limit}


def test_a_false_declaration_is_found_with_vertex_superstep_and_values():
    frame, arguments = limited()
    report = ws.check(Limited, frame, **arguments)
    assert not report
    declared = next(one for one in report.differences if one.configuration == "asynchronous")
    assert (declared.vertex, declared.superstep) == ("'d'", 0)
    assert (declared.expected, declared.found) == (10.0, 50.0)
    assert "asynchronous: after superstep 0, vertex 'd', x: expected 10.0, found 50.0" in str(
        report
    )
    runs = {one.configuration for one in report.differences} - {"asynchronous"}
    assert runs == {"engine='cpu', plan=Plan()"} | {
        one for one in report.configurations if one in runs
    }, "messages one by one are what a push does"


@pytest.mark.parametrize(
    ("program", "arguments"),
    [(Hops, {"start": 0}), (Nearest, {"seeds": [0, 7]}), (Rank, {}), (ws.BFS, {"start": 0})],
    ids=["hops", "nearest", "rank", "bfs"],
)
def test_a_right_program_passes(program, arguments):
    edges = rmat(5, 3, seed=3)
    with build(edges) as graph:
        report = ws.check(program, graph, **arguments)
    assert report, str(report)
    assert report.converged
    assert report.supersteps > 1
    assert not report.sampled
    assert any("partitions=4" in one for one in report.configurations)
    assert f"{len(report.configurations)} runs compared" in str(report)


@ws.vertex_program
class Narrow:
    """float32 beside numbers of the source, which is float64 for the compiler, and in functions of `math`."""

    x: ws.float64
    y: ws.float32
    single: ws.edge(ws.float32)
    rate: ws.parameter(ws.float32)

    def init():
        return 0.0, 0.0

    def compute(edge, src, p):
        far = edge.single > 0.1 or edge.single / 3 > 0.1
        return (
            edge.single / 3 + src.y * 0.1 - p.rate if far else math.sqrt(edge.single * edge.single)
        )

    combine = max

    def apply(old, gathered):
        return max(old.x, gathered), gathered * 0.3


def test_columns_are_named_as_for_run():
    edges = pd.DataFrame({"payer": [0, 1, 2], "payee": [1, 2, 0]})
    assert ws.check(ws.BFS, edges, source="payer", destination="payee", start=0)


def test_a_float32_is_widened_beside_a_number_as_by_the_compiler():
    """A difference in the last bit of a maximum would be reported."""
    singles = np.array([0.1, 0.3, 0.7, 0.2, 0.1], np.float32)
    graph = ws.Graph.from_arrays([0, 1, 2, 3, 1], [1, 2, 3, 0, 0], attributes={"single": singles})
    if COMPILED:
        report = ws.check(Narrow, graph, rate=0.01, max_iter=3)
        assert report, report
    frame = ws.run(Narrow, graph, rate=0.01, max_iter=1, engine="python").frame
    single, rate = np.float64(singles), np.float64(np.float32(0.01))
    assert frame["x"].tolist() == [single[3] / 3 - rate, *(single[:3] / 3 - rate)]


def test_a_large_graph_is_sampled_around_what_is_named():
    edges = rmat(10, 8, seed=5)
    start = int(edges.source[0])
    with build(edges) as graph:
        report = ws.check(ws.SSSP, graph, max_edges=200, start=start)
    assert report, str(report)
    assert report.sampled
    assert 200 <= report.edges < len(edges.source) // 4
    assert report.supersteps > 1, "the start is in the sample"


@ws.vertex_program
class Settles:
    """Two fields, of which messages would still change the settled vertices' first one."""

    x: ws.int64
    y: ws.int64
    max_iter = 3

    def init(vertex):
        return vertex % 2, 1 - vertex % 2

    def starts(state):
        return state.x == 0

    def settled(state):
        return state.x == 0

    def compute(src):
        return src.y

    combine = min

    def apply(old, gathered):
        return gathered, old.x


def test_what_starts_and_settled_return_is_no_claim():
    """A settled vertex takes no message, so that messages that would change it are no difference."""
    with build(SHAPES["cycle"]) as graph:
        report = ws.check(Settles, graph)
    assert not [one for one in report.differences if one.configuration in ("starts", "settled")]


@ws.vertex_program
class LaterWrong:
    """Its combine is right for the messages of the first superstep, and for no others."""

    x: ws.float64
    max_iter = 3
    identity = 0.0

    def init():
        return 1.0

    def compute(src):
        return src.x

    def combine(first, second):
        return first if first > 1.5 else second

    def apply(old, gathered):
        return old.x + gathered


def test_a_combine_that_depends_on_order_is_found_where_messages_tell():
    frame = pd.DataFrame({"source": [0, 1, 2, 3], "destination": [2, 2, 0, 2]})
    report = ws.check(LaterWrong, frame)
    assert any(one.configuration == "combine" for one in report.differences), str(report)


@ws.vertex_program
class Prior:
    x: ws.float64
    given = ws.vertex_value(ws.float64, default=math.nan)

    def init(own):
        return 0.0 if math.isnan(own.given) else own.given

    def compute(src):
        return src.x

    combine = max

    def apply(old, gathered):
        return max(old.x, gathered)


def test_values_that_are_missing_stay_missing_in_a_sample():
    edges = rmat(8, 6, seed=4)
    with build(edges) as graph:
        report = ws.check(Prior, graph, max_edges=100, given={int(edges.source[0]): 3.0})
    assert report, str(report)
    assert report.sampled


def test_invalid_arguments_of_check_are_refused():
    with pytest.raises(ws.InputError, match=r"program=<class 'int'> is not a program"):
        ws.check(int, pd.DataFrame({"source": [0], "destination": [1]}))
    with pytest.raises(ws.InputError, match=r"max_edges=0 "):
        ws.check(Hops, pd.DataFrame({"source": [0], "destination": [1]}), max_edges=0)


@ws.vertex_program
class Overflows:
    """Doubles an int32 until it does not fit."""

    x: ws.int32

    def init(vertex):
        return 1

    def compute(src):
        return src.x

    combine = sum
    max_iter = 40

    def apply(old, gathered):
        return 2 * old.x


def test_a_number_that_its_field_cannot_hold_is_refused_by_the_reference():
    frame = pd.DataFrame({"source": [0], "destination": [1]})
    with pytest.raises(ws.ProgramError, match=r"`x` is int32, which cannot hold 2147483648"):
        ws.check(Overflows, frame)
    with pytest.raises(ws.ProgramError, match=r"`x` is int32, which cannot hold 2147483648"):
        ws.run(Overflows, frame, engine="python")
    assert math.isfinite(np.float64(ws.run(Overflows, frame, max_iter=3).arrays["x"].sum()))
