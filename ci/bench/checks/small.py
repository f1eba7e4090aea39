"""Every function and schedule on small graphs, verified; it runs under compute-sanitizer.

The graphs have a hub, vertices of middle degree and of low degree, so that every branch of a schedule
runs.  A function that fails is printed, the others go on; the exit status is the number of failures.

    python -m bench small            everything
    python -m bench small 2 8        the third of eight shares
"""

from __future__ import annotations

import argparse
import traceback
from collections.abc import Callable, Sequence
from typing import Any
from unittest.mock import patch

import numpy as np
import verify
from verify import Array, Edges

import cugraph_ws as ws
from bench.programs import Second
from cugraph_ws.backends.cuda import frontier

__all__ = ["main"]

METHODS = ("auto", "ws", "vwc-2", "vwc-4", "vwc-8", "vwc-16", "vwc-32")
STEADY = 1e-5


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a share of everything on every graph; return the number of failures."""
    parser = argparse.ArgumentParser(
        prog="bench small",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("share", type=int, nargs="?", default=0)
    parser.add_argument("shares", type=int, nargs="?", default=1)
    given = parser.parse_args(arguments)
    import cupy

    cupy.cuda.set_allocator(None)  # in a pool a read past the end of an array goes unnoticed
    failures = 0
    everything = [
        (f"{name}: {job}", run)
        for name, edges in graphs().items()
        for job, run in jobs(edges).items()
    ]
    for label, run in everything[given.share :: given.shares]:
        try:
            run()
        except Exception:  # the next one still runs
            failures += 1
            print(f"FAILED {label}\n{traceback.format_exc(limit=-4)}", flush=True)
        else:
            print(label, flush=True)
    return min(failures, 100)


def graphs() -> dict[str, Edges]:
    """Return edges by name; weights are integers, so that sums are exact in any order."""
    random = np.random.default_rng(1)

    def edges(source: Array, destination: Array, n: int) -> Edges:
        return Edges(source, destination, n, random.integers(1, 64, len(source)))

    leaves = np.arange(1, 5001)
    few = random.integers(0, 5003, (2, 9000)) ** 2 // 5003  # denser among the low numbers
    return {
        "hub": edges(
            np.concatenate([leaves, np.zeros(700, np.int64), few[0]]),
            np.concatenate([np.zeros(5000, np.int64), leaves[:700], few[1]]),
            5003,
        ),
        "33 vertices": edges(np.arange(31), np.arange(31) * 7 % 29, 33),
        "path": edges(np.arange(39), np.arange(1, 40), 40),
    }


def jobs(edges: Edges) -> dict[str, Callable[[], None]]:
    """Return the functions to run on a graph, by name; each verifies its result."""
    n, start = edges.n, 0
    both = Edges(edges.source, edges.destination, n, edges.weight, directed=False)
    inward = np.bincount(edges.destination, edges.weight, n)
    gentle = edges.weight / (2 * inward[edges.destination])
    shares = Edges(edges.source, edges.destination, n, gentle)
    warm = {i: float(i % 7) for i in range(n)}

    def ranks(**options: Any) -> None:
        result = ws.run(ws.PageRank, graph(edges), tol=1e-9, max_iter=500, **options)
        verify.check_pagerank(edges, column(result.frame, "pagerank"), 1e-5)

    def distances(**options: Any) -> None:
        frame = ws.run(ws.SSSP, graph(edges), start=start, **options).frame
        verify.check_shortest_paths(edges, start, column(frame, "distance"), tree(frame))

    def hops(**options: Any) -> None:
        frame = ws.run(ws.BFS, graph(edges), start=start, **options).frame
        plain = Edges(edges.source, edges.destination, n)
        verify.check_shortest_paths(plain, start, column(frame, "distance"), tree(frame))

    def large(search: Callable[..., None], **options: Any) -> None:
        with patch.object(frontier, "LEAST_LARGE", 0):
            search(**options)

    def widths() -> None:
        frame = ws.widest_path(graph(edges), start)
        verify.check_widest_paths(edges, start, column(frame, "width"), tree(frame))

    def components() -> None:
        for one in (edges, both):
            found = column(ws.weakly_connected_components(graph(one)), "labels")
            verify.check_components(one, found.astype(np.int64))

    def cores() -> None:
        for one in (edges, both):
            found = column(ws.core_number(graph(one)), "core_number")
            verify.check_core_numbers(one, found.astype(np.int64))

    def heat() -> None:
        found = ws.heat(graph(shares), warm, fixed=[start], tol=STEADY, max_iter=100_000)
        verify.check_heat(shares, column(found, "temperature"), {start: warm[start]}, 2 * STEADY)

    def values() -> None:
        ids = 3 * np.arange(n)
        made = ws.Graph(frame_of({"source": ids, "destination": ids[::-1].copy()}))
        numbers = np.arange(n) / 8.0
        for some in (ids, ids[::-1], ids[n // 2 :: 2]):
            given = frame_of({"vertex": some.copy(), "v": numbers[some // 3]})
            found, marks = made.vertex_values(given, "values", np.float64, default=-1.0)
            assert np.array_equal(found, np.where(np.isin(ids, some), numbers, -1.0))
            assert marks.sum() == len(some)

    def circuit() -> None:
        held = {start: 1.0, n - 1: 0.0}
        found = ws.circuit(graph(both), held, tol=STEADY, max_iter=100_000)
        verify.check_circuit(both, column(found, "voltage"), held, 2 * STEADY)

    def neurons() -> None:
        found = ws.neural_network(graph(shares), 0.5, fixed=[start], tol=STEADY)
        verify.check_neural_network(shares, column(found, "activation"), {start: 0.5}, 2 * STEADY)

    def several() -> None:
        starts = [start, n // 2, n - 1]
        found = ws.multi_source_sssp(graph(edges), starts)
        distance = column(found, "distance").reshape(len(starts), n)
        for one, row in zip(starts, distance, strict=True):
            verify.check_shortest_paths(edges, one, row)
        reached = column(ws.multi_source_bfs(graph(edges), starts), "distance").reshape(-1, n)
        for one, row in zip(starts, reached, strict=True):
            verify.check_shortest_paths(Edges(edges.source, edges.destination, n), one, row)

    def matching() -> None:
        across = Edges(edges.source, n + edges.destination, 2 * n)
        found = ws.maximal_bipartite_matching(graph(across), list(range(n)))
        mate = np.nan_to_num(column(found, "mate"), nan=-1).astype(np.int64)
        verify.check_matching(across, np.arange(2 * n) < n, mate)

    def beliefs() -> None:
        priors = frame_of({"vertex": np.arange(n), "a": np.full(n, 0.6), "b": np.full(n, 0.4)})
        found = ws.belief_propagation(graph(both), priors, [[0.501, 0.499], [0.499, 0.501]])
        total = column(found, "belief_0") + column(found, "belief_1")
        assert np.abs(total - 1).max() < 1e-9, "beliefs do not sum to 1"

    def deltas() -> None:
        result = ws.run(ws.DeltaPageRank, graph(edges), tolerance=1e-9)
        found = column(result.frame, "pagerank")
        expected = column(
            ws.run(ws.PageRank, graph(edges), tol=1e-12, max_iter=500).frame, "pagerank"
        )
        assert np.abs(found / found.sum() - expected).sum() < 2e-8, "ranks are off"

    def program(**options: Any) -> None:
        found = ws.run(Second, graph(edges), **options).frame
        first, second = column(found, "first"), column(found, "second")
        source, destination = edges.source, edges.destination
        earlier = (first[source] < first[destination]) | (
            (first[source] == first[destination]) & (second[source] < second[destination])
        )
        assert not earlier.any(), "a pair could still be lowered"
        assert (second == first + 1_000_000).all(), "a pair was torn"

    return {
        **{f"pagerank, {one}": lambda one=one: ranks(plan=ws.Plan(method=one)) for one in METHODS},
        **{f"sssp, {one}": lambda one=one: distances(plan=ws.Plan(method=one)) for one in METHODS},
        "sssp, active vertices only": lambda: distances(plan=ws.Plan(direction="pull")),
        "sssp, pushed": lambda: distances(plan=ws.Plan(direction="push")),
        "sssp, synchronous": lambda: distances(plan=ws.Plan(in_place=False)),
        "bfs": hops,
        "bfs, active vertices only": lambda: hops(plan=ws.Plan(direction="pull")),
        "bfs, pushed": lambda: hops(plan=ws.Plan(direction="push")),
        "bfs, large pushes": lambda: large(hops),
        "sssp, large pushes": lambda: large(
            distances, plan=ws.Plan(direction="push", priorities=False)
        ),
        "bfs, ballot filter": lambda: hops(plan=ws.Plan(direction="push", filter="ballot")),
        "sssp, a superstep a launch": lambda: distances(plan=ws.Plan(fused=False)),
        "widest path": widths,
        "components": components,
        "core numbers": cores,
        "heat": heat,
        "values of a frame": values,
        "circuit": circuit,
        "neural network": neurons,
        "several sources": several,
        "matching": matching,
        "belief propagation": beliefs,
        "a program of one's own": program,
        "a program of one's own, pushed": lambda: program(plan=ws.Plan(direction="push")),
        "a program of one's own, ballot filter": lambda: program(
            plan=ws.Plan(direction="push", filter="ballot")
        ),
        "a program of one's own, gathered": lambda: program(plan=ws.Plan(direction="gather")),
        "pagerank by changes": deltas,
    }


def graph(edges: Edges) -> ws.Graph:
    """Return a graph of a frame on the GPU, in which a vertex's number is its id."""
    columns = {"source": edges.source, "destination": edges.destination}
    if edges.weight is not None:
        columns["weight"] = edges.weight
    return ws.Graph(
        frame_of(columns),
        weight=None if edges.weight is None else "weight",
        directed=edges.directed,
        vertices=frame_of({"vertex": np.arange(edges.n)}),
    )


def frame_of(columns: dict[str, Array]) -> Any:
    """Return a cuDF frame."""
    import cudf

    return cudf.DataFrame(columns)


def column(frame: Any, name: str) -> Array:
    """Return a column on the host, in float64, NaN for null."""
    return frame.to_pandas()[name].to_numpy(np.float64, na_value=np.nan)


def tree(frame: Any) -> Array:
    """Return predecessors, -1 for none."""
    return np.nan_to_num(column(frame, "predecessor"), nan=-1).astype(np.int64)
