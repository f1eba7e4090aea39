"""The CUDA engine on a GPU against the CPU engine: the emulated tests' cases, and larger graphs."""

from __future__ import annotations

import multiprocessing
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import lru_cache
from unittest.mock import patch

import numpy as np
import pandas as pd
import pytest
import zoo
import zoo_vectors
from cuda_cases import (
    CASES,
    EXACT,
    FUNCTIONS,
    METHODS,
    PUSHES,
    SUMS,
    WORKLISTS,
    Case,
    check_same,
    graph_of,
    medley,
    set_classes,
    stable,
)
from plans import planned
from programs import Hops, Labels, Nearest, Paths, Peel, Rank, Reached
from shapes import SHAPES, build, grid, hub, random_edges, rmat, undirected

import cugraph_ws as ws
from cugraph_ws.backends.cuda import frontier, predecessors
from cugraph_ws.runtime.arrays import as_host
from cugraph_ws.runtime.device import device, has_device

if not has_device():
    pytest.skip("there is no GPU", allow_module_level=True)
pytest.importorskip("cupy")

BY_NAME = {case.name: case for case in [*CASES, *PUSHES, *WORKLISTS]}
BATTERY = {**SHAPES, "hub": hub(100_000)}
LARGE = {
    "rmat": rmat(14, 16, seed=3),
    "hub": hub(100_000),
    "random": random_edges(50_000, 400_000, seed=4),
    "sparse": random_edges(100_000, 60_000, seed=5),
}
ON_LARGE = [
    Case("minimum in place", Hops, {"start": 0}),
    Case("minimum pulled", Hops, {"start": 0}, {"direction": "pull"}),
    Case("tuple messages", Nearest, {"seeds": [0, 7]}),
    Case("labels", Labels),
    Case("sums of a frontier", Peel, {"k": 4}, {"direction": "pull"}, counted=True),
    Case("any", Reached, {"start": [0, 1]}),
    Case("custom combine", Paths, {}, {"max_iter": 2}, 1e-9, counted=True),
    Case("sums", Rank, {}, {"max_iter": 20, "tol": 0.0}, 1e-11, counted=True),
    Case("shortest paths", ws.SSSP, {"source": [0]}),
    Case("widest paths", ws.WidestPath, {"source": [0]}),
    Case("labels pushed", Labels, {}, {"direction": "push"}),
    Case("shortest paths pushed", ws.SSSP, {"source": [0]}, {"direction": "push"}),
]


@lru_cache
def medley_graph() -> ws.Graph:
    return graph_of(medley())


@lru_cache
def large_graph(name: str) -> ws.Graph:
    return graph_of(LARGE[name])


@lru_cache
def expected_of(name: str) -> ws.Result:
    # Superstep by superstep a worklist pull does what a pull does.
    options = {"direction": "pull"} if name in {case.name for case in WORKLISTS} else {}
    return BY_NAME[name].run(medley_graph(), engine="python", fused=False, **options)


@lru_cache
def expected_on(name: str, place: int) -> ws.Result:
    return ON_LARGE[place].run(large_graph(name), engine="cpu")


@pytest.mark.parametrize("exchange", ["auto", "vr", "ms", "all"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_programs_on_partitions(case, exchange):
    for partitions in (2, 3, 50):
        found = case.run(medley_graph(), engine="cuda", partitions=partitions, exchange=exchange)
        check_same(found, expected_of(case.name), case)


GATHERED = [place for place, case in enumerate(ON_LARGE) if "pushed" not in case.name]


@pytest.mark.parametrize("place", GATHERED, ids=lambda place: ON_LARGE[place].name)
@pytest.mark.parametrize("name", LARGE)
def test_large_graphs_on_partitions(name, place):
    case = ON_LARGE[place]
    found = case.run(large_graph(name), engine="cuda", partitions=3)
    check_same(found, expected_on(name, place), case)


@pytest.mark.parametrize("small", [True, False], ids=["small classes", "classes as they are"])
@pytest.mark.parametrize("case", BY_NAME.values(), ids=BY_NAME)
def test_programs(case, small, monkeypatch):
    if small:
        set_classes(monkeypatch, block=64, hub=24, chunk=16, middle=6)
    found = case.run(medley_graph(), engine="cuda")
    check_same(found, expected_of(case.name), case)


@pytest.mark.parametrize("partitions", [1, 3])
@pytest.mark.parametrize("name", ["rmat", "sparse"])
@pytest.mark.parametrize("program", [zoo.Hooking, zoo.Named, zoo.SharedHome], ids=repr)
def test_jumps(program, name, partitions):
    graph = zoo.graph_of(LARGE[name])
    expected = ws.run(program, graph, engine="cpu", max_iter=6).frame
    found = ws.run(
        program, graph, engine="cuda", max_iter=6, plan=ws.Plan(partitions=partitions)
    ).frame
    pd.testing.assert_frame_equal(found, expected, check_exact=True)


@pytest.mark.parametrize("method", METHODS)
def test_methods(method):
    case = BY_NAME["custom combine of tuples"]
    found = case.run(medley_graph(), engine="cuda", method=method)
    check_same(found, expected_of(case.name), case)


@pytest.mark.parametrize("name", BATTERY)
def test_every_shape(name):
    sums = Case(name, Rank, {}, {"max_iter": 3}, SUMS, counted=True)
    with graph_of(BATTERY[name]) as graph:
        search = Case(name, ws.SSSP, {"source": [0] if graph.number_of_vertices else []})
        for case in (sums, search):
            check_same(case.run(graph, engine="cuda"), case.run(graph, engine="cpu"), case)


@pytest.mark.parametrize("directed", [True, False], ids=["directed", "undirected"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions(name, directed):
    function, tolerance = FUNCTIONS[name]
    edges = stable(SHAPES["rmat"] if directed else undirected(SHAPES["random"]))
    with graph_of(edges) as graph:
        expected = function(graph, edges, engine="python")
        found = function(graph, edges, engine="cuda")
    assert list(found) == list(expected)
    if tolerance == EXACT:
        pd.testing.assert_frame_equal(found, expected)
    else:
        pd.testing.assert_frame_equal(found, expected, rtol=tolerance, atol=1e-13)


@pytest.mark.parametrize("name", LARGE)
@pytest.mark.parametrize("place", range(len(ON_LARGE)), ids=[case.name for case in ON_LARGE])
def test_large_graphs(name, place):
    case = ON_LARGE[place]
    check_same(case.run(large_graph(name), engine="cuda"), expected_on(name, place), case)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("place", [1, 7], ids=["minimum pulled", "sums"])
def test_methods_on_a_large_graph(place, method):
    case = ON_LARGE[place]
    found = case.run(large_graph("rmat"), engine="cuda", method=method)
    check_same(found, expected_on("rmat", place), case)


@pytest.mark.parametrize("name", ["rmat", "hub"])
@pytest.mark.parametrize("program", ["Beliefs", "MinHash", "Sketch", "Smoothed"])
def test_programs_with_vectors(program, name):
    graph = build(LARGE[name])
    values = np.random.default_rng(6).random((graph.number_of_vertices, zoo_vectors.WIDE)) + 0.1
    given = {"Beliefs": {"prior": values}, "Smoothed": {"features": values[:, : zoo_vectors.K]}}
    expected, computed = (
        ws.run(getattr(zoo_vectors, program), graph, engine=engine, **given.get(program, {})).frame
        for engine in ("cpu", "cuda")
    )
    pd.testing.assert_frame_equal(computed, expected, rtol=1e-3, atol=1e-4)


def test_a_long_road_takes_a_superstep_a_level():
    with graph_of(grid(700, 40, drop=0.2, seed=6)) as graph:
        found = ws.run(ws.BFS, graph, start=0, engine="cuda", plan=ws.Plan(direction="push"))
        expected = ws.run(ws.BFS, graph, start=0, engine="cpu")
    check_same(found, expected, Case("", ws.BFS))
    distance = found.arrays["distance"]
    levels = as_host(distance.values)[as_host(distance.valid)]
    assert found.iterations == levels.max() + 1
    assert found.rows.active == np.bincount(levels).tolist()


@lru_cache
def searched_on(name: str, place: int) -> ws.Result:
    return PUSHES[place].run(large_graph(name), engine="cpu")


@pytest.mark.parametrize("fused", [True, False], ids=["fused", "not fused"])
@pytest.mark.parametrize("kept", ["auto", "online", "ballot"])
@pytest.mark.parametrize("direction", ["auto", "push", "pull"])
@pytest.mark.parametrize("place", [5, 6, 7], ids=["hops", "shortest paths", "widest paths"])
@pytest.mark.parametrize("name", ["rmat", "hub"])
def test_every_combination_of_a_frontier(name, place, direction, kept, fused):
    case = PUSHES[place]
    options = {"direction": direction, "filter": kept, "fused": fused}
    expected = searched_on(name, place)
    check_same(case.run(large_graph(name), engine="cuda", **options), expected, case)
    if direction == "push":
        unordered = case.run(large_graph(name), engine="cuda", priorities=False, **options)
        check_same(unordered, expected, case)
        with patch.object(frontier, "LEAST_LARGE", 0):
            apart = case.run(large_graph(name), engine="cuda", priorities=False, **options)
        check_same(apart, expected, case)


@lru_cache
def worklist_on(name: str, place: int) -> ws.Result:
    return WORKLISTS[place].run(large_graph(name), engine="cpu", direction="pull", fused=False)


@pytest.mark.parametrize("fused", [True, False], ids=["fused", "not fused"])
@pytest.mark.parametrize("kept", ["auto", "online", "ballot"])
@pytest.mark.parametrize("direction", ["auto", "push"])
@pytest.mark.parametrize("place", range(len(WORKLISTS)), ids=[case.name for case in WORKLISTS])
@pytest.mark.parametrize("name", ["rmat", "hub"])
def test_every_combination_of_a_worklist_pull(name, place, direction, kept, fused):
    case = WORKLISTS[place]
    if case.tolerance != EXACT:  # rows are longer here
        case = replace(case, tolerance=1e-9, counted=False)
    options = {"direction": direction, "filter": kept, "fused": fused}
    found = case.run(large_graph(name), engine="cuda", **options)
    check_same(found, worklist_on(name, place), case)


def test_sums_of_a_frontier_are_the_same_each_time():
    ranks = {
        as_host(
            ws.run(ws.DeltaPageRank, large_graph("rmat"), engine="cuda").arrays["pagerank"]
        ).tobytes()
        for _ in range(4)
    }
    assert len(ranks) == 1


@pytest.mark.parametrize("layout", ["csc", "windows"])
def test_extrapolated_ranks_are_within_the_bound_and_the_same_each_time(layout):
    graph, tol = graph_of(grid(200, 200, drop=0.3, seed=6)), 1e-6
    plain = ws.run(
        ws.PageRank,
        graph,
        engine="cpu",
        tol=1e-12,
        max_iter=1000,
        plan=ws.Plan(extrapolate="never"),
    )
    given = {"engine": "cuda", "tol": tol, "layout": layout}
    slow = ws.run(ws.PageRank, graph, **planned(extrapolate="never", **given))
    runs = [ws.run(ws.PageRank, graph, **planned(extrapolate="always", **given)) for _ in range(3)]
    ranks = [as_host(one.arrays["pagerank"]) for one in runs]
    assert {one.tobytes() for one in ranks} == {ranks[0].tobytes()}
    assert np.abs(ranks[0] - as_host(plain.arrays["pagerank"])).sum() <= 6 * tol
    assert sum(runs[0].rows.extrapolated) > 0
    assert runs[0].iterations < slow.iterations


@pytest.mark.parametrize("blocks", [1, 2, 7, 131])
def test_a_frontier_in_a_grid_of_any_size(blocks, monkeypatch):
    most = type(device()).most_blocks
    monkeypatch.setattr(
        type(device()), "most_blocks", lambda *arguments: min(blocks, most(*arguments))
    )
    for place in (5, 6):
        found = PUSHES[place].run(large_graph("rmat"), engine="cuda", direction="push")
        check_same(found, searched_on("rmat", place), PUSHES[place])
    for place in range(4):
        found = WORKLISTS[place].run(large_graph("rmat"), engine="cuda", direction="push")
        check_same(found, worklist_on("rmat", place), WORKLISTS[place])


@pytest.mark.parametrize("how", ["auto", "pull", "along ties"])
@pytest.mark.parametrize("program", [ws.SSSP, ws.WidestPath])
def test_predecessors_where_paths_tie(program, how, monkeypatch):
    """Searched from attached vertices, along all arcs or only tight ones, or from waiting vertices."""
    options = {"direction": how}
    if how == "along ties":
        options = {}
        monkeypatch.setattr(predecessors, "TIGHT_FROM", 0)
        monkeypatch.setattr(predecessors, "TIGHT_PART", 1)
    streets = grid(120, 90, drop=0.2, seed=8)
    ties = replace(streets, weight=np.minimum(streets.weight, 0.25) - 0.125)
    few = undirected(LARGE["rmat"])
    coarse = replace(few, weight=np.ceil(few.weight * 8))  # ties of hubs, whose rows are long
    case = Case("ties", program, {"source": [0]})
    for edges in (ties, few, coarse):
        with graph_of(edges) as graph:
            check_same(
                case.run(graph, engine="cuda", **options), case.run(graph, engine="cpu"), case
            )


@pytest.mark.parametrize("name", list(LARGE))
@pytest.mark.parametrize("giving", [0, 2, 1 << 40])
def test_predecessors_without_reading_all_arcs(name, giving, monkeypatch):
    """Given along arcs, or one of the four of least number; the first search of a graph reads all."""
    for constant, value in (("MANY_ARCS", 0), ("WORTH", 0), ("GIVING", giving), ("WIDEST", 500)):
        monkeypatch.setattr(predecessors, constant, value)
    case = Case("levels", ws.BFS, {"start": [0, 5]})
    for edges in (LARGE[name], undirected(LARGE[name])):
        with graph_of(edges) as graph:
            expected = case.run(graph, engine="cpu")
            for _ in range(3):
                check_same(case.run(graph, engine="cuda"), expected, case)


def _walk_roads(times: int) -> int:
    with graph_of(grid(300, 30, drop=0.2, seed=6)) as graph:
        return sum(
            ws.run(ws.BFS, graph, start=0, engine="cuda", plan=ws.Plan(direction="push")).iterations
            for _ in range(times)
        )


def test_cooperative_launches_of_two_processes_do_not_wait_for_each_other():
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=context) as pool:
        there = pool.submit(_walk_roads, 20)
        here = _walk_roads(20)
        assert there.result(timeout=60) == here


@pytest.mark.parametrize("name", ["rmat", "hub"])
def test_the_same_bits_each_time(name):
    """Sums are added up in an order that depends on the graph alone."""
    case = ON_LARGE[7]
    ranks = [
        np.asarray(device().to_host(case.run(large_graph(name), engine="cuda").arrays["rank"]))
        for _ in range(3)
    ]
    assert np.array_equal(ranks[0], ranks[1])
    assert np.array_equal(ranks[0], ranks[2])


def test_downloads_do_not_grow_with_supersteps():
    here, counted, graph = device(), {}, large_graph("rmat")
    ws.run(Rank, graph, engine="cuda", max_iter=0, tol=0.0)  # what is read of a graph only once
    for most in (0, 4, 12, 28):
        before = here.downloads
        ws.run(Rank, graph, engine="cuda", max_iter=most, tol=0.0)
        counted[most] = here.downloads - before
    assert 0 < counted[4] - counted[0] <= 2
    assert counted[12] - counted[4] == counted[28] - counted[12] == counted[4] - counted[0]


@pytest.mark.parametrize(
    "engines", [("cuda", "cuda"), ("cuda", "cpu"), ("cpu", "cuda")], ids="to".join
)
@pytest.mark.parametrize("place", [4, 7, 8], ids=["sums of a frontier", "sums", "shortest paths"])
def test_checkpoints_go_from_engine_to_engine(place, engines, tmp_path):
    case, path = ON_LARGE[place], tmp_path / "state.parquet"
    graph = large_graph("rmat")
    first = case.run(
        graph,
        engine=engines[0],
        fused=False,
        progress=lambda update: update.superstep < 1,
        checkpoint=path,
    )
    resumed = case.run(graph, engine=engines[1], fused=False, resume=path)
    assert resumed.iterations >= first.iterations
    check_same(resumed, expected_on("rmat", place), case)
