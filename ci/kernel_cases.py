"""The calls that launch every CUDA kernel for every type, on small graphs, for the table of registers.

A case is `(label, call)`.  A label names the programs of a call in the table; if it is empty, a program goes
by its own name.  A kernel of a module goes by the module's name, whatever the label.  To put a new kernel into
the table, append a case that launches it to the list of `_builds`, `_loops` or `_programs`.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeAlias
from unittest.mock import patch

import cuda_cases
import numpy as np
import pandas as pd
import stand_in_cudf
import thread_ranks
import zoo
from cuda_cases import graph_of
from phased import PHASED
from plans import planned
from shapes import random_edges
from verify import Edges
from zoo_edges import EDGE_ZOO
from zoo_scatter import Auction, DividedFlow
from zoo_vectors import WIDE, Beliefs, K, Sketch, Smoothed

import cugraph_ws as ws
from cugraph_ws.accelerators.extrapolation import cuda as extrapolation
from cugraph_ws.accelerators.gshards import arc_shards
from cugraph_ws.accelerators.linked import planner as linked_planner
from cugraph_ws.algorithms import components, louvain
from cugraph_ws.algorithms.krylov import PrincipalVector
from cugraph_ws.backends.cuda import (
    bucketing,
    frontier,
    grouping,
    label_tables,
    modes,
    out_edges,
    rows,
)
from cugraph_ws.backends.cuda import graph as device_graph
from cugraph_ws.backends.cuda.loops import (
    betweenness,
    folds,
    jumps,
    layout,
    rayleigh_ritz,
    similarity,
    triangles,
)
from cugraph_ws.backends.cuda.loops import louvain as sweeps
from cugraph_ws.frames.base import VertexNumbers
from cugraph_ws.partition.build import build_shard
from cugraph_ws.runtime.communicator import SingleRank
from cugraph_ws.runtime.device import device

__all__ = ["Case", "cases", "wide_cases"]

Case: TypeAlias = tuple[str, Callable[[], Any]]

INTEGERS = ("int32", "int64", "uint32")
NUMBERS = (np.int64, np.float32, np.float64)
FLOATS = (np.float32, np.float64)
# Programs of the tests: of `CASES`; of `WORKLISTS`
SHOWN = (
    "minimum pulled", "tuple messages", "sums of a frontier", "any from an outbox", "changes for one",
    "custom combine from an outbox", "custom combine of tuples", "superstep, parameter, aggregates",
    "destinations read", "destinations read by pulls", "state on edges",
)  # fmt: skip
ON_PHASES = ("there and back",)  # one begins with a list of fields, one by compare-and-swap
TRIANGLES = (ws.TriangleCount(), ws.ClusteringCoefficient(), ws.TrussNumber())
CALLED = (
    "pairs", "sums of those who go", "any, of two fields", "custom combine, never at rest",
    "destinations read by those called", "any, of destinations",
)  # fmt: skip


def cases() -> list[Case]:
    """Return all calls, each over graphs that no other call has used."""
    return [*_builds(), *_loops(), *_programs(), *_edge_programs(), *_walks(), *_vectors()]


def wide_cases() -> list[Case]:
    """Return the calls whose kernels have other types if positions have 64 bits."""
    graph = graph_of(cuda_cases.medley())
    return [*_builds(), *_loops(), ("PageRank", _superstep(ws.PageRank, graph))]


# ------------------------------------------------------------------------------ graphs are built


def _builds() -> list[Case]:
    """Return builds of graphs: edges of every type, in parts and at once, merged, over ranks."""
    edges = cuda_cases.medley((6, 2), 9)
    frame = pd.DataFrame({"source": edges.source, "destination": edges.destination})
    cases: list[Case] = [
        ("", partial(_group, edges, dtype, kind, undirected, piece))
        for dtype, kind in product((np.int32, np.int64), NUMBERS)
        for undirected, piece in ((False, 7), (True, 1 << 20))
    ]
    cases.append(("", partial(_group_by_short_keys, edges)))
    cases += [
        ("", partial(_fill_buckets, edges, *kinds))
        for kinds in product((np.int32, np.int64), NUMBERS)
    ]
    for kind, policy in product(NUMBERS, ("sum", "min", "mean", "max")):
        weighted = frame.assign(w=edges.weight.astype(kind))
        cases.append(("", partial(_graph, weighted, weight="w", duplicates=policy)))
    cases += [
        ("", partial(_graph, (3 * frame + 1).astype(kind)))
        for kind in ("int32", "int64", "uint16", "int8")
    ]
    for kind, value in product(INTEGERS, NUMBERS):
        weighted = frame.astype(kind).assign(w=edges.weight.astype(value))
        cases += [
            ("", partial(build, weighted, weight, directed))
            for directed, weight in product((True, False), (None, "w"))
            for build in (_shard, _shards)
        ]
    for kind in INTEGERS:
        cases += [
            ("", partial(_search_shards, named.astype(kind), directed))
            for named, directed in ((frame, False), (3 * frame + 1, True))
        ]
        cases += [
            ("", partial(_place_values, (3 * frame + 1).astype(kind), value)) for value in FLOATS
        ]
    return cases


def _ends(edges: Edges, dtype: Any) -> grouping.Ends:
    return grouping.Ends(edges.destination.astype(dtype), edges.source.astype(dtype))


def _group(edges: Edges, dtype: Any, kind: Any, undirected: bool, piece: int) -> None:
    """Group arcs by their ends, with their weights."""
    values = {"w": edges.weight.astype(kind)}
    with patch.multiple(grouping, LEAST_PIECE=piece, LEAST_TILE=90):
        graph = device_graph.build(_ends(edges, dtype), values, edges.n, undirected=undirected)
        with patch.multiple(rows, LONG_ROW=4, LONG_PIECES=2):
            graph.out_weight_sums("w")  # before the CSR is made
        _ = graph.out_degrees, graph.csr
        graph.values("w", "csr")


def _group_by_short_keys(edges: Edges) -> None:
    """Group arcs whose keys do not hold both ends."""
    with patch.multiple(grouping, LEAST_PIECE=7, KEY_BITS=10):
        _ = device_graph.build(_ends(edges, np.int64), {}, edges.n, undirected=False).csr


def _fill_buckets(edges: Edges, dtype: Any, kind: Any) -> None:
    """Group arcs in buckets: alone, with a value, and with the edges of two."""
    room = patch.object(device(), "shared_memory", 12 * (128 + 16))
    with room, patch.multiple(bucketing, LEAST_ARCS=1, SPAN=2, TILE=128, MOST_BINS=4):
        for count in range(3):
            values = {f"w{which}": edges.weight.astype(kind) for which in range(count)}
            device_graph.build(_ends(edges, dtype), values, edges.n, undirected=False)


def _graph(frame: pd.DataFrame, **options: Any) -> None:
    """Build a graph of a cuDF frame."""
    with stand_in_cudf.installed():
        ws.Graph(stand_in_cudf.DataFrame(frame), **options)


def _shard(frame: pd.DataFrame, weight: str | None, directed: bool) -> None:
    """Build the shard of a single rank."""
    with stand_in_cudf.installed():
        edges = stand_in_cudf.DataFrame(frame)
        build_shard(SingleRank(), [(0, edges)], weight=weight, directed=directed)


def _shards(frame: pd.DataFrame, weight: str | None, directed: bool) -> None:
    """Build the shards of two ranks."""
    with stand_in_cudf.installed():
        edges = stand_in_cudf.DataFrame(frame)
        thread_ranks.over_links(2, partial(_rank_shard, edges, weight, directed))


def _rank_shard(frame: Any, weight: str | None, directed: bool, comm: Any) -> Any:
    share = frame.iloc[comm.rank :: 2].reset_index(drop=True)
    return build_shard(comm, [(comm.rank, share)], weight=weight, directed=directed)


def _search_shards(frame: pd.DataFrame, directed: bool) -> None:
    """Build the shards of two ranks, search them from a vertex, and name the vertices of both."""

    def search(comm: Any) -> None:
        shard = _rank_shard(edges, None, directed, comm)
        result = ws.run(ws.BFS, shard, start=start, engine="cuda", max_iter=1)
        assert len(result.frame) == shard.owned
        everyone = device().xp.arange(shard.number_of_vertices)
        assert len(shard.frame_of(VertexNumbers(everyone), {})) == len(everyone)

    with stand_in_cudf.installed():
        edges = stand_in_cudf.DataFrame(frame)
        start = int(edges["source"].iloc[0])
        thread_ranks.over_links(2, search)


def _place_values(frame: pd.DataFrame, kind: Any) -> None:
    """Give some vertices of a graph values, in a cuDF frame."""
    with stand_in_cudf.installed():
        graph = ws.Graph(stand_in_cudf.DataFrame(frame))
        values = stand_in_cudf.DataFrame({"vertex": frame["source"].unique()}).assign(v=kind(0.5))
        graph.vertex_values(values, "v", kind, default=0.0, on_device=True)


# ----------------------------------------------------- algorithms that are not vertex programs


def _loops() -> list[Case]:
    """Return the algorithms that are not vertex programs, on directed and on undirected graphs."""
    edges = cuda_cases.medley((7, 3, 1), 9)
    left_side = np.arange(edges.n)
    priors = pd.DataFrame({"vertex": left_side, "p0": 0.5 + left_side / 99.0, "p1": 0.5})
    across = edges.source % 2 != edges.destination % 2
    cases: list[Case] = []
    for directed in (True, False):
        graph = _weighted(edges, np.float64, directed=directed)
        cases += [
            ("", _loop(loop, graph))
            for loop in (
                ws.WeaklyConnectedComponents(),
                *[ws.CoreNumber(kind) for kind in ("both", "in", "out")],
                _sources(ws.BFS),
                ws.HITS(max_iter=1),
                PrincipalVector(ws.EigenvectorCentrality, 1, None, 1.0),
                ws.Betweenness([0, 3]),
                ws.DistanceSums(),
                ws.DistanceSums(k=2),
                ws.PersonalizedPageRank([0, 3], max_iter=1),
                ws.MaximalIndependentSet(),
                ws.StronglyConnectedComponents(),
                *TRIANGLES,
                *[ws.Similarity("jaccard", None, use_weight) for use_weight in (False, True)],
            )
        ]
        cases += [("", partial(_hashed, loop, graph)) for loop in TRIANGLES]
        cases += [("", partial(_marked, graph)), ("", partial(_paths_by_levels, graph))]
        cases.append(("", partial(_paths_on_ranks, graph)))
        cases += [("", partial(_communities, graph)), ("", partial(_cut_rows, graph))]
        apart = graph_of(replace(edges, weight=1.0 + edges.weight, directed=directed))
        for function in (ws.closeness_centrality, ws.betweenness_centrality):
            cases.append(("", partial(function, apart, k=2, weighted=True, engine="cuda")))
        cases.append(("", partial(_components_of_shards, graph)))
        for coupling in ("weight", [[3.0, 1.0], [1.0, 2.0]]):  # one for each edge; one for all
            loop = ws.BeliefPropagation(priors, coupling, max_iter=1)
            cases.append(("", _loop(loop, graph)))
        ends = edges.source[across], edges.destination[across]
        bipartite = graph_of(Edges(*ends, edges.n, None, directed))
        cases.append(("", _loop(ws.MaximalBipartiteMatching(left_side[::2], 0), bipartite)))
        for kind in NUMBERS:
            valued = _weighted(edges, kind, directed=directed)
            cases.append(("", _loop(_sources(ws.SSSP), valued)))
            cases.append(("", partial(ws.minimum_spanning_forest, valued, engine="cuda")))
        plain = graph_of(Edges(edges.source, edges.destination, edges.n, None, directed))
        cases.append(("", _loop(_sources(ws.SSSP), plain)))
    cases.append(("", partial(_resume_components, graph)))
    cases.append(("", _jumps))
    cases.append(("", _moves))
    cases.append(("", _hub))
    cases.append(("", _combined))
    cases.append(("", _improved))
    return cases


def _weighted(edges: Edges, kind: Any, **options: Any) -> ws.Graph:
    weight = (2 * edges.weight).astype(kind)
    return graph_of(Edges(edges.source, edges.destination, edges.n, weight, **options))


def _sources(program: Any) -> ws.MultiSource:
    return ws.MultiSource(program, "start", [0, 3], engine="cpu")


def _loop(loop: Any, graph: ws.Graph) -> Callable[[], Any]:
    return partial(ws.run, loop, graph, engine="cuda")


def _combined() -> None:
    """Combine the vectors of six supersteps."""
    vectors = [device().xp.asarray(2.0 ** -(k * np.arange(1.0, 6.0))) for k in range(6)]
    extrapolation.products(vectors)
    extrapolation.combine(vectors, [0.2] * 5, vectors[0].copy())


def _improved() -> None:
    """Improve the vector of an accelerated run of HITS."""
    vectors = [device().xp.arange(4.0) + k for k in range(6)]
    rayleigh_ritz.products(vectors)
    rayleigh_ritz.combine(vectors, [0.5] * 5)


def _hashed(loop: Any, graph: ws.Graph) -> None:
    """Find triangles by hashing every row."""
    with patch.object(triangles, "LEAST_HASHED", 0):
        ws.run(loop, graph, engine="cuda")


def _paths_by_levels(graph: ws.Graph) -> None:
    """Count shortest paths with a few launches for each level."""
    with patch.multiple(betweenness, LONG=-1, MANY=0):
        ws.run(ws.Betweenness([0, 3]), graph, engine="cuda")


def _paths_on_ranks(graph: ws.Graph) -> None:
    """Count shortest paths by array operations, on two ranks."""

    def find(comm: Any) -> None:
        ws.run(ws.Betweenness([0, 3]), thread_ranks.share(graph, comm), engine="cuda")

    thread_ranks.over_links(2, find)


def _marked(graph: ws.Graph) -> None:
    """Compare vertices by bitmaps of all rows."""
    with patch.multiple(similarity, FEW=0, LEAST_MARKED=0):
        ws.run(ws.Similarity("jaccard"), graph, engine="cuda")


def _cut_rows(graph: ws.Graph) -> None:
    """Add up long rows piece by piece."""
    with patch.multiple(folds, SHORT=0, PIECE=1), patch.dict(graph.derived, clear=True):
        ws.run(ws.HITS(max_iter=1), graph, engine="cuda")


def _communities(graph: ws.Graph) -> None:
    """Find communities by labels and by modularity, on the device however small a level is."""
    ws.run(ws.LabelPropagation(1), graph, engine="cuda")
    in_global_memory = patch.multiple(
        label_tables, BY_THREAD=0, BY_WARP=0, BY_BLOCK=0, CHUNK=label_tables.LEAST_SLOTS
    )  # chunks divide the tables of short rows, too
    with patch.multiple(louvain, ON_HOST=0, ONE_BY_ONE=0), in_global_memory:
        ws.run(ws.Leiden(1), graph, engine="cuda")
    counter = device().xp.zeros(1, np.int64)  # as after a sweep that is taken back
    sweeps.sum_inside((counter, counter, counter), counter, counter)


def _components_of_shards(graph: ws.Graph) -> None:
    """Find the components of a graph that two ranks hold."""

    def find(comm: Any) -> None:
        ws.run(ws.WeaklyConnectedComponents(), thread_ranks.share(graph, comm), engine="cuda")

    with patch.object(components, "LEAST_SHOWN", 0):
        thread_ranks.over_links(2, find)


def _jumps() -> None:
    """Fold words and numbers by the vertices that they are sent to."""
    places = np.array([2, 0, 2])
    for kind, values in (("least", places), ("sum", places), ("sum", places / 4.0)):
        jumps.fold(kind, values, places, 3)


def _moves() -> None:
    """Move the vertices of a path, and group them; indices of coarser levels are wide."""
    for kind in (np.int32, np.int64):
        rows = np.array([0, 1, 3, 4]), np.array([1, 0, 2, 1], kind), np.ones(4, np.int64)
        layout.coarser(rows, np.ones(3))
        for few in (layout.FEW, 0):
            with patch.object(layout, "FEW", few):
                layout.relax(rows, np.ones(3), (np.arange(3.0), np.zeros(3)), 0.5, 1)


def _hub() -> None:
    """Read outboxes of every width."""
    gpu = device()
    xp, launch = gpu.xp, gpu.module("hub.outboxes").launch
    ghosts, picked, counted = xp.arange(4, dtype=np.int32), xp.zeros(4, np.int64), xp.zeros(1)
    bits = xp.ones(1, np.uint32)
    launch("spread_bits", 1, 32, 0, 4, ghosts, bits, xp.zeros_like(bits))
    launch("list_held", 1, 32, 0, 4, ghosts, 4, ghosts, xp.zeros_like(ghosts), picked, counted, 0)
    for kind in (np.uint8, np.uint32, np.uint64):
        values = xp.ones(4, kind)
        launch("place_held", 1, 32, 0, 4, ghosts, values, xp.zeros_like(values))
        launch("pick_held", 1, 32, 0, 4, picked, counted, 0, values, xp.zeros_like(values))


def _resume_components(graph: ws.Graph) -> None:
    """Find components, and go on from the checkpoint."""
    with TemporaryDirectory() as folder:
        saved = Path(folder) / "state.parquet"
        loop = ws.WeaklyConnectedComponents()
        ws.run(loop, graph, engine="cuda", checkpoint=saved)
        ws.run(loop, graph, engine="cuda", resume=saved)


# -------------------------------------------------------------------------------- vertex programs


def _programs() -> list[Case]:
    """Return runs of the library's programs, and of test programs that represent users' ones."""
    edges = cuda_cases.stable(cuda_cases.medley((5, 2), 10))
    graph, bare = graph_of(edges), graph_of(edges, weighted=False)
    narrow = _weighted(edges, np.float32)
    number = {v: 1.0 + v for v in range(edges.n)}
    ranks = {"personalization": number, "nstart": number}
    cases: list[Case] = [
        ("PageRank", _superstep(ws.PageRank, bare)),
        ("PageRank weighted", _superstep(ws.PageRank, graph)),
        ("PageRank to 1e-9", _superstep(ws.PageRank, graph, tol=1e-9)),
        ("PageRank personalized", _superstep(ws.PageRank, graph, **ranks)),
        ("Heat", _superstep(ws.Heat, graph, temperature=1.0, fixed=[0])),
        ("Circuit", _superstep(ws.Circuit, graph, sources={0: 1.0})),
        ("NeuralNetwork", _superstep(ws.NeuralNetwork, graph, activation=0.5)),
        ("BFS", partial(ws.bfs, bare, 0, engine="cuda")),
        ("WidestPath", partial(ws.widest_path, graph, 0, engine="cuda")),
        ("SSSP", partial(ws.sssp, graph, 0, engine="cuda")),
        ("SSSP in supersteps", _superstep(ws.SSSP, graph, start=0)),
        ("SSSP gathered", _search(ws.SSSP, graph, direction="gather")),
        ("SSSP pushed", _search(ws.SSSP, graph, direction="push")),
        ("SSSP pulled", _search(ws.SSSP, graph, direction="pull")),
        ("WidestPath pulled", _search(ws.WidestPath, graph, direction="pull")),
        ("DeltaPageRank", _superstep(ws.DeltaPageRank, graph)),
        ("SSSP int64", partial(ws.sssp, _weighted(edges, np.int64), 0, engine="cuda")),
        ("SSSP float32", partial(ws.sssp, narrow, 0, engine="cuda")),
        ("WidestPath float32", partial(ws.widest_path, narrow, 0, engine="cuda")),
    ]
    cases += [
        (f"test: {case.name}", partial(case.run, graph, engine="cuda"))
        for case in cuda_cases.CASES
        if case.name in SHOWN
    ]
    cases += [
        (f"test: {case.name}", partial(case.run, graph, engine="cuda", direction="push"))
        for case in cuda_cases.WORKLISTS
        if case.name in CALLED
    ]
    listed = zoo.graph_of(edges)
    cases += [
        (f"zoo: {program.name}", _superstep(program, listed))
        for program in (
            zoo.Communities,
            zoo.WeighedCommunities,
            zoo.WeighedFlags,
            zoo.Median,
            zoo.InOrder,
            zoo.ColoursAround,
        )
    ]
    cases.append(("zoo: WeighedCommunities", partial(_in_order, zoo.WeighedCommunities, listed)))
    cut = [
        phased
        for phased in cuda_cases.CASES
        if phased.name in ("sums of a frontier", "custom combine of tuples")
    ]
    for exchange in ("vr", "ms"):
        halves: dict[str, Any] = {"partitions": 2, "exchange": exchange}
        cases += [
            ("PageRank on partitions", _superstep(ws.PageRank, graph, **halves)),
            ("SSSP on partitions", _search(ws.SSSP, graph, **halves)),
            *[
                (
                    f"test: {case.name}, on partitions",
                    partial(case.run, graph, engine="cuda", **halves),
                )
                for case in cut
            ],
        ]
    order = np.arange(12).reshape(2, 6).T.ravel()  # a chain of ties, each over the boundary
    chain = graph_of(Edges(order[:-1], order[1:], 12, np.zeros(11)))
    for program, arguments_given in (
        (ws.PageRank, {}),
        (ws.BFS, {"start": 0}),
        (ws.SSSP, {"start": 0}),
    ):
        label = f"{program.name} on GPUs of a cluster"
        cases += [
            (
                label,
                partial(
                    _run_shards, program, graph, max_iter=3, exchange=exchange, **arguments_given
                ),
            )
            for exchange in ("vr", "ms")
        ]
    cases.append(("SSSP on GPUs of a cluster", partial(_run_shards, ws.SSSP, chain, start=0)))
    cases += [
        (
            f"{label} on GPUs of a host",
            partial(_run_shards, program, arguments_given, capacity=64, start=0),
        )
        for label, program, arguments_given in (
            ("BFS", ws.BFS, bare),
            ("SSSP", ws.SSSP, graph),
            ("SSSP float32", ws.SSSP, narrow),
            ("WidestPath", ws.WidestPath, graph),
        )
    ]
    cases += [
        (f"{label} in {layout}", partial(_run_over, program, arguments_given, layout, **arguments))
        for label, program, arguments_given, layout, arguments in (
            ("PageRank", ws.PageRank, bare, "gshards", {}),
            ("PageRank", ws.PageRank, bare, "windows", {}),
            ("PageRank weighted", ws.PageRank, graph, "windows", {}),
            ("Heat", ws.Heat, graph, "windows", {"temperature": 1.0, "fixed": [0]}),
            ("test: custom combine of tuples", cuda_cases.Pairs, graph, "gshards", {}),
            ("test: custom combine from an outbox", cuda_cases.Paths, graph, "windows", {}),
        )
    ]
    cases += [
        (
            f"test: phases, {phased}",
            partial(ws.run, phased.program, graph, engine="cuda", **phased.given(edges.n)),
        )
        for phased in PHASED
        if phased.name in ON_PHASES
    ]
    cases += [
        (f"PageRank {method}", _superstep(ws.PageRank, bare, method=method))
        for method in cuda_cases.METHODS[1:]
    ]
    return cases


def _superstep(program: Any, graph: ws.Graph, **options: Any) -> Callable[[], Any]:
    return partial(ws.run, program, graph, **planned(max_iter=1, engine="cuda", **options))


def _search(program: Any, graph: ws.Graph, **options: Any) -> Callable[[], Any]:
    def search() -> None:
        with patch.object(frontier, "LEAST_LARGE", 0):  # push large frontiers, too
            ws.run(program, graph, **planned(start=0, engine="cuda", **options))

    return search


def _run_shards(program: Any, graph: ws.Graph, capacity: int = 0, **options: Any) -> None:
    """Run a program over a graph that two ranks hold; with a capacity, their kernels exchange."""

    def run(comm: Any) -> None:
        ws.run(program, thread_ranks.share(graph, comm), **planned(engine="cuda", **options))

    # Queue large frontiers, too, and push them
    with patch.object(linked_planner, "LEAST_PULLED", 0), patch.object(frontier, "LEAST_LARGE", 0):
        thread_ranks.over_links(2, run, capacity=capacity)


def _in_order(program: Any, graph: ws.Graph) -> None:
    """Run a superstep in which no sums of weights are exact."""
    with patch.object(modes, "DIGITS", 0):
        _superstep(program, graph)()


def _run_over(program: Any, graph: ws.Graph, layout: Any, **options: Any) -> None:
    """Run a superstep over a layout."""
    with patch.object(arc_shards, "LEAST", 0):
        _superstep(program, graph, layout=layout, **options)()


# ---------------------------------------------------------------------------------- edge programs


def _edge_programs() -> list[Case]:
    """Return runs of the edge programs of the zoo over all edges, and over given pairs."""
    edges = random_edges(8, 16, seed=5)
    graph = zoo.graph_of(edges)
    pairs = pd.DataFrame({"first": [0, 1], "second": [1, 2]})
    return [
        (
            program.program.name,
            partial(
                ws.run, program.program, graph, engine="cuda", **program.given(edges.n), **which
            ),
        )
        for program in EDGE_ZOO
        for which in ({}, {"pairs": pairs})
    ]


# -------------------------------------------------------------------------------------------- walks


def _walks() -> list[Case]:
    """Return runs of the library's walks, by weights of every type, and a sample of neighbours."""
    edges = random_edges(8, 16, seed=5)
    frame = pd.DataFrame({"source": edges.source, "destination": edges.destination})
    walks = {"starts": None, "length": 2, "engine": "cuda"}
    sample = {"starts": [0], "fanouts": [2], "engine": "cuda"}
    weighed = frame.assign(weight=edges.weight)
    return [
        ("", partial(ws.neighbor_sample, frame, **sample)),
        ("", partial(ws.neighbor_sample, weighed, weighted=True, **sample)),
    ] + [
        ("", partial(function, given, **walks))
        for function in (ws.random_walks, ws.node2vec_walks)
        for given in (frame, *(frame.assign(weight=edges.weight.astype(kind)) for kind in NUMBERS))
    ]


# ------------------------------------------------------------------------------------------ vectors


def _vectors() -> list[Case]:
    """Return runs of programs with vectors: with reductions, functions of NumPy, aggregates, a residual; and some of `scatter`."""
    edges = random_edges(4, 8, seed=5)
    frame = pd.DataFrame(
        {"source": edges.source, "destination": edges.destination, "weight": edges.weight}
    )

    def run(program: Any, **given: Any) -> None:
        graph = ws.Graph(frame, vertices=pd.DataFrame({"vertex": range(4)}))
        ws.run(program, graph, max_iter=1, engine="cuda", **given)

    def run_long(program: Any) -> None:
        with patch.object(out_edges, "LONG", 0):
            run(program)

    return [
        ("", partial(run_long, Auction)),
        ("", partial(run_long, DividedFlow)),
        ("", partial(run, Beliefs, prior=np.ones((4, WIDE)))),
        ("", partial(run, Sketch)),
        ("", partial(run, Smoothed, features=np.ones((4, K)))),
    ]
