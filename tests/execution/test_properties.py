"""What must not matter does not: names, order, repetition, direction, kind of frame."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from plans import planned
from shapes import (
    FRAME_KINDS,
    build,
    column,
    edge_frame,
    grid,
    rmat,
    undirected,
    vertex_frame,
)
from stopping import EndsAfter
from verify import Array, Edges

import cugraph_ws as ws


def some_steps(program: ws.VertexProgram, argument: str) -> Callable[..., Any]:
    """Return a function that iterates a fixed number of times, settled or not."""

    def call(graph: ws.Graph, value: Any, **options: Any) -> Any:
        values = {argument: value}
        return ws.run(program, graph, **planned(tol=0.0, max_iter=20, **values, **options)).frame

    return call


# name -> the call, from vertex number 0 where it needs a start, and its column
CALLS: dict[str, tuple[Callable[..., Any], tuple[Any, ...], str]] = {
    "bfs": (ws.bfs, (0,), "distance"),
    "sssp": (ws.sssp, (0,), "distance"),
    "widest_path": (ws.widest_path, (0,), "width"),
    "pagerank": (ws.pagerank, (), "pagerank"),
    "components": (ws.weakly_connected_components, (), "labels"),
    "core_number": (ws.core_number, (), "core_number"),
    "heat": (some_steps(ws.Heat, "temperature"), ("temperature",), "temperature"),
    "circuit": (some_steps(ws.Circuit, "sources"), ({0: 8.0},), "voltage"),
    "neural_network": (some_steps(ws.NeuralNetwork, "activation"), (0.5,), "activation"),
}
UNAFFECTED_BY_COPIES = ("bfs", "sssp", "widest_path", "components")
UNREACHED = -7.0

every_call = pytest.mark.parametrize("call", CALLS)


@st.composite
def graphs(draw: st.DrawFn) -> Edges:
    """Draw up to a dozen vertices and weights that sum to less than 1 into every vertex."""
    n = draw(st.integers(1, 12))
    vertices = st.integers(0, n - 1)
    ends = draw(st.lists(st.tuples(vertices, vertices), max_size=30))
    weight = draw(st.lists(st.integers(1, 16), min_size=len(ends), max_size=len(ends)))
    source, destination = np.array(ends, np.int64).reshape(-1, 2).T
    return Edges(source, destination, n, np.array(weight) / 512, draw(st.booleans()))


def solve(call: str, edges: Edges, kind: str = "pandas", **options: Any) -> Array:
    """Return the column of a call in the order of vertex numbers."""
    function, arguments, name = CALLS[call]
    if call == "heat":
        arguments = (vertex_frame(edges, values=np.arange(edges.n) * 5.0),)
    with build(edges, kind) as graph:
        result = function(graph, *arguments, **options)
    return column(result, name, UNREACHED)


def assert_same(call: str, found: Array, expected: Array) -> None:
    """Compare exactly what is exact, and sums in any order up to rounding."""
    if call in {"pagerank", "heat", "circuit", "neural_network"}:
        np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-13)
    else:
        assert np.array_equal(found, expected)


def permuted(edges: Edges, seed: int) -> Edges:
    order = np.random.default_rng(seed).permutation(len(edges.source))
    return replace(edges, source=edges.source[order], destination=edges.destination[order],
                   weight=edges.weight[order])  # fmt: skip


seeds = st.integers(0, 2**32 - 1)


@every_call
@given(edges=graphs(), seed=seeds)
def test_the_order_of_edges_does_not_matter(call, edges, seed):
    assert_same(call, solve(call, permuted(edges, seed)), solve(call, edges))


@every_call
@given(edges=graphs(), kind=st.sampled_from(FRAME_KINDS))
def test_the_kind_of_frame_does_not_matter(call, edges, kind):
    assert_same(call, solve(call, edges, kind), solve(call, edges))


@every_call
@given(edges=graphs())
def test_the_engine_does_not_matter(call, edges):
    assert_same(call, solve(call, edges, engine="python"), solve(call, edges))


@every_call
@given(edges=graphs(), flips=st.lists(st.booleans(), min_size=30, max_size=30))
def test_undirected_edges_may_be_written_either_way(call, edges, flips):
    edges = undirected(edges)
    flip = np.array(flips)[: len(edges.source)]
    flipped = replace(
        edges,
        source=np.where(flip, edges.destination, edges.source),
        destination=np.where(flip, edges.source, edges.destination),
    )
    assert_same(call, solve(call, flipped), solve(call, edges))


@every_call
@given(edges=graphs())
def test_an_undirected_edge_is_two_directed_ones(call, edges):
    edges = undirected(edges)
    source, destination, weight = edges.arcs()
    both_ways = Edges(source, destination, edges.n, weight)
    options = {"degree_type": "in"} if call == "core_number" else {}
    assert_same(call, solve(call, both_ways, **options), solve(call, edges))


@pytest.mark.parametrize("call", UNAFFECTED_BY_COPIES)
@given(edges=graphs(), seed=seeds)
def test_copies_of_edges_do_not_matter(call, edges, seed):
    twice = Edges(*(np.tile(part, 2) for part in (edges.source, edges.destination)), edges.n,
                  np.tile(edges.weight, 2), edges.directed)  # fmt: skip
    assert_same(call, solve(call, permuted(twice, seed)), solve(call, edges))


@every_call
@given(edges=graphs(), extra=st.integers(1, 40))
def test_isolated_vertices_change_no_other_vertex(call, edges, extra):
    found = solve(call, replace(edges, n=edges.n + extra))
    expected = solve(call, edges)
    if call == "pagerank":  # they take their part of the ranks, and spread it evenly
        found, expected = (values[: edges.n] / values[: edges.n].sum() for values in
                           (found, expected))  # fmt: skip
        np.testing.assert_allclose(found, expected, rtol=1e-4)
    else:
        assert_same(call, found[: edges.n], expected)


@every_call
@given(edges=graphs(), seed=seeds, kind=st.sampled_from(FRAME_KINDS))
def test_the_names_of_vertices_do_not_matter(call, edges, seed, kind):
    generator = np.random.default_rng(seed)
    names = generator.choice([f"{a}{b}" for a in "xyzäß" for b in "abc"], edges.n, replace=False)
    renamed = edge_frame(replace(edges, weight=None)).assign(
        source=names[edges.source], destination=names[edges.destination], weight=edges.weight
    )
    function, arguments, name = CALLS[call]
    heat = pd.DataFrame({"vertex": names, "values": np.arange(edges.n) * 5.0})
    renaming = {"0": names[0], "temperature": heat, str({0: 8.0}): {names[0]: 8.0}}
    arguments = tuple(renaming.get(str(argument), argument) for argument in arguments)
    with ws.Graph(renamed, weight="weight", directed=edges.directed,
                  vertices=pd.DataFrame({"vertex": names})) as graph:  # fmt: skip
        result = function(graph, *arguments)
    assert column(result, "vertex").tolist() == sorted(names)
    order = np.argsort(names)
    if call == "components":
        labels = solve(call, edges)
        least = {label: min(names[labels == label]) for label in set(labels)}
        assert column(result, name).tolist() == [least[label] for label in labels[order]]
    else:
        assert_same(call, column(result, name, UNREACHED), solve(call, edges)[order])


@given(edges=graphs(), shift=st.integers(-(2**40), 2**40), stretch=st.sampled_from([1, 2, 10**6]))
def test_the_numbering_of_integer_ids_does_not_matter(edges, shift, stretch):
    ids = np.arange(edges.n) * stretch + shift
    frame = pd.DataFrame({"source": ids[edges.source], "destination": ids[edges.destination]})
    with ws.Graph(frame, directed=edges.directed, vertices=pd.DataFrame({"vertex": ids})) as graph:
        result = ws.bfs(graph, int(ids[0]))
    assert column(result, "vertex").tolist() == ids.tolist()
    plain = ws.bfs(build(replace(edges, weight=None)), 0)
    assert np.array_equal(column(result, "distance", -1), column(plain, "distance", -1))
    predecessor = column(plain, "predecessor", -1)
    expected = np.where(predecessor < 0, -1 - 2**50, ids[predecessor])
    assert np.array_equal(column(result, "predecessor", -1 - 2**50), expected)


@given(edges=graphs(), factor=st.sampled_from([2, 4, 1024]))
def test_distances_and_widths_scale_with_the_weights(edges, factor):
    scaled = replace(edges, weight=edges.weight * factor)
    for call in ("sssp", "widest_path"):
        plain = solve(call, edges)
        finite = np.isfinite(plain) & (plain > 0)
        assert np.array_equal(solve(call, scaled)[finite], plain[finite] * factor)
    assert_same("pagerank", solve("pagerank", scaled), solve("pagerank", edges))


@given(edges=graphs())
def test_shortest_hops_are_shortest_paths_of_unit_weights(edges):
    units = replace(edges, weight=np.ones(len(edges.source), np.int64))
    assert np.array_equal(solve("bfs", edges), solve("sssp", units))


# What the plan chooses by itself can be forced, and changes nothing but the speed.
SEARCHES: dict[str, tuple[ws.VertexProgram, dict[str, Any]]] = {
    "bfs": (ws.BFS, {"start": 0}),
    "sssp": (ws.SSSP, {"source": 0}),
    "widest_path": (ws.WidestPath, {"source": 0}),
}
CHOICES = st.fixed_dictionaries(
    {},
    optional={
        "direction": st.sampled_from(["auto", "push", "pull", "gather"]),
        "in_place": st.booleans(),
        "priorities": st.booleans(),
        "fused": st.booleans(),
        "engine": st.sampled_from(["cpu", "python"]),
    },
)


@pytest.mark.parametrize("search", SEARCHES)
@given(edges=graphs(), choices=CHOICES)
def test_forced_choices_do_not_matter(search, edges, choices):
    program, start = SEARCHES[search]
    assume(search != "bfs" or choices.get("direction") != "gather")  # refused: see below
    assume(choices.get("engine") != "python" or not choices.get("in_place"))  # refused as well
    with build(edges) as graph:
        forced = ws.run(program, graph, **planned(**start, **choices)).frame
        free = ws.run(program, graph, **planned(**start)).frame
    pd.testing.assert_frame_equal(forced, free)


@pytest.mark.parametrize("search", SEARCHES)
@pytest.mark.parametrize("direction", ["push", "pull", "gather"])
def test_forced_choices_do_not_matter_on_larger_graphs(search, direction):
    program, start = SEARCHES[search]
    for edges in (rmat(10, 8, seed=20), grid(30, 30, 0.28, seed=21)):
        with build(edges) as graph:
            if (search, direction) == ("bfs", "gather"):
                with pytest.raises(ws.InputError, match="gather"):
                    ws.run(program, graph, **planned(**start, direction=direction))
                continue
            free = ws.run(program, graph, **planned(**start))
            for fused, in_place in ((True, None), (False, False), (False, True)):
                forced = ws.run(program, graph, **planned(**start, direction=direction, fused=fused, in_place=in_place))  # fmt: skip
                pd.testing.assert_frame_equal(forced.frame, free.frame)


@every_call
@given(edges=graphs(), threads=st.integers(1, 5))
def test_the_number_of_threads_does_not_matter(call, edges, threads):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CUGRAPH_WS_THREADS", str(threads))
        found = solve(call, edges)
    assert_same(call, found, solve(call, edges))


@pytest.mark.parametrize("call", ["sssp", "widest_path", "pagerank", "components", "core_number"])
def test_an_interrupted_run_resumes_to_the_same_answer(call, tmp_path):
    function, arguments, name = CALLS[call]
    with build(grid(20, 20, 0.1, seed=22)) as graph:
        whole = function(graph, *arguments)
        options = {"checkpoint": tmp_path / "state.parquet", "every": 1}
        with contextlib.suppress(ws.ConvergenceError):
            function(graph, *arguments, progress=EndsAfter(3), **options)
        resumed = function(graph, *arguments, resume=options["checkpoint"])
    assert_same(call, column(resumed, name, UNREACHED), column(whole, name, UNREACHED))


@given(edges=graphs(), picks=st.lists(st.integers(0, 11), min_size=1, max_size=5))
def test_many_sources_are_searched_as_each_alone(edges, picks):
    sources = [pick % edges.n for pick in picks]
    with build(edges) as graph:
        for many, one in ((ws.multi_source_bfs, ws.bfs), (ws.multi_source_sssp, ws.sssp)):
            expected = pd.concat(
                [one(graph, source).assign(source=source) for source in sources],
                ignore_index=True,
            )
            found = many(graph, sources)
            pd.testing.assert_frame_equal(found, expected[found.columns])


@pytest.mark.parametrize("search", SEARCHES)
def test_threads_that_race_give_one_answer(search, monkeypatch, pytestconfig):
    program, start = SEARCHES[search]
    scale = 12 if pytestconfig.getoption("battery") == "full" else 6
    edges = undirected(rmat(scale, 16, seed=23))
    with build(edges) as graph:
        monkeypatch.setenv("CUGRAPH_WS_THREADS", "1")
        alone = ws.run(program, graph, **planned(**start)).frame
        monkeypatch.setenv("CUGRAPH_WS_THREADS", "4")
        for direction in ("auto", "push", "pull") * 3:
            together = ws.run(
                program, graph, **planned(**start, direction=direction, fused=False)
            ).frame
            pd.testing.assert_frame_equal(together, alone)
