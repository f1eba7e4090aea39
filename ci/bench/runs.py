"""Compare the memory that `ws.estimate_memory` predicts for a run with the memory that it takes.

Functions run on graphs of several shapes, one after the other in a new process (Linux).  On the CPU the peak
is that of resident memory beside the built graph, with the result; see `bench estimates` for how it is read.
With `--engine cuda` it is that of the memory allocated by RMM, without a cache.  A function runs once on a small graph of the
shape before it is measured: the pages of its code and of libraries are not the run's.  What takes a share of a
GPU's free memory runs as if no more were free than the estimate says.  With `--record` a row
of the record is replaced for each call; from 30 MB on it says whether the estimate is off.
"""

from __future__ import annotations

import argparse
import datetime
import json
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager, nullcontext
from functools import partial
from types import SimpleNamespace
from typing import Any, NamedTuple
from unittest.mock import patch

from bench.checkout import MEASUREMENTS, files_hash
from bench.cpu.estimates import in_mebibytes, in_new_process, on_gpu, resident
from bench.tables import Table

K = 1000
PAIRS = 30e6  # half a minute
LEFT_OUT, TOO_LITTLE = "left out", "refused with what is told"
TRACE = 190  # bytes of a superstep in a trace
BLURRED = 30e6  # bytes of a peak below which allocators and pages of code blur it
TITLE = "Peak memory of runs beside the graph"
COLUMNS = [
    "function", "shape", "vertices", "arcs", "told, MiB", "taken, MiB", "told / taken", "tree"
]  # fmt: skip
TEXT = "vertex {:09}"  # a vertex of a shape with text ids


class Shape(NamedTuple):
    """A graph: how its edges are drawn, and how they are read.

    Attributes
    ----------
    kind : str
        See `edges`.
    vertices, edges : int
        The kinds without a random choice have as many edges as their vertices imply.
    directed, weighted : bool
    integers : bool
        Whether weights are integers.
    text : bool
        Whether ids are text, not 0 … n-1.
    """

    kind: str
    vertices: int
    edges: int
    directed: bool
    weighted: bool
    integers: bool = False
    text: bool = False


SHAPES = {
    "random": Shape("random", 200 * K, 1000 * K, True, True),
    "powers": Shape("powers", 130 * K, 800 * K, False, False),
    "sparse undirected": Shape("random", 500 * K, 500 * K, False, True),
    "sparse": Shape("random", 500 * K, 500 * K, True, True),
    "dense": Shape("random", 40 * K, 1600 * K, True, True),
    "dense undirected": Shape("random", 40 * K, 800 * K, False, False),
    "parallel": Shape("parallel", 200 * K, 700 * K, False, True, integers=True),
    "text": Shape("random", 300 * K, 1200 * K, True, False, text=True),
    "powers directed": Shape("powers", 130 * K, 1000 * K, True, True),
    "powers wide": Shape("powers", 500 * K, 1000 * K, True, False),
    "grid": Shape("grid", 160 * K, 0, False, True),
    "paths": Shape("paths", 400 * K, 0, True, True, integers=True),
    "tree": Shape("tree", 500 * K, 0, False, False),
    "star": Shape("star", 400 * K, 0, False, False),
    "bipartite": Shape("bipartite", 250 * K, 1000 * K, True, True, integers=True),
    "clusters": Shape("clusters", 150 * K, 900 * K, False, True),
}


def edges(shape: Shape) -> Any:
    """Return the edge frame of a shape; ids are 0 … n-1 or text, and every vertex has an edge.

    The kinds are random edges; edges of which each is there four times or is a self-loop; skewed degrees; a
    square grid; paths of 200 vertices; a tree with three children a vertex; a star; edges from the lower half of
    the vertices to the upper one; and communities of 50 vertices that no edges connect.
    """
    import numpy as np
    import pandas as pd

    rng = np.random.default_rng(7)
    n, m = shape.vertices, shape.edges
    every = np.arange(n)
    if shape.kind == "grid":
        side = int(n**0.5)
        places = np.arange(side * side).reshape(side, side)
        tails = np.concatenate([places[:, :-1].ravel(), places[:-1].ravel()])
        heads = np.concatenate([places[:, 1:].ravel(), places[1:].ravel()])
    elif shape.kind == "paths":
        tails = every[every % 200 < 199]
        heads = tails + 1
    elif shape.kind == "tree":
        tails, heads = every[1:], (every[1:] - 1) // 3
    elif shape.kind == "star":
        tails, heads = every[1:], 0 * every[1:]
    elif shape.kind == "clusters":
        tails = rng.integers(0, n, m)
        heads = tails // 50 * 50 + rng.integers(0, 50, m)
    else:
        tails, heads = rng.integers(0, n, (2, m))
        if shape.kind == "powers":
            tails, heads = ((n * (draw / n) ** 3).astype(np.int64) for draw in (tails, heads))
            tails, heads = np.concatenate([tails, every[1:]]), np.concatenate([heads, every[:-1]])
        if shape.kind == "parallel":
            tails, heads = (np.repeat(draw[: m // 4], 4) for draw in (tails, heads))
            tails[:: n // 1000 + 1] = heads[:: n // 1000 + 1]
        if shape.kind == "bipartite":
            tails, heads = tails // 2, n // 2 + heads // 2
    ends = np.unique(np.concatenate([tails, heads]), return_inverse=True)[1].reshape(2, -1)
    frame = {"source": ends[0], "destination": ends[1]}
    if shape.text:
        names = np.array([TEXT.format(number) for number in range(ends.max() + 1)], object)
        frame = {name: names[end] for name, end in frame.items()}
    if shape.weighted:
        weights = rng.integers(1, 9, ends.shape[1])
        frame["weight"] = weights if shape.integers else weights / 8
    return pd.DataFrame(frame)


Call = Callable[[Any, Any, Any, dict[str, Any]], Any]


class Case(NamedTuple):
    """A function as it is called.

    Attributes
    ----------
    call : callable
        Takes the library, a graph, what `input` returned, and options.
    program : str or callable, optional
        What the estimate is of, or a function that returns it given the library and the input; by
        default the function with the case's name.
    sources : int
        Starts, seeds or sources.
    input : callable, optional
        Makes another argument, given the number of vertices, before memory is measured.
    edges : {"all", "acyclic", "sides", "light"}
        Which edges the graph has: all, those to greater vertices, those between two sides, or all with
        small weights.
    decided : bool
        Whether the data decide how much it takes, so that an estimate may be twice as much.
    counted : bool
        Whether it counts the edges of its result, for which the estimate is then.
    lists_pairs : bool
        Whether it computes a coefficient for every two neighbours of a vertex; graphs with more than `PAIRS`
        are left out.
    supersteps : callable, optional
        Returns how many supersteps a run took, given its result, if they may be as many as vertices: then the
        trace counts.
    shares : bool
        Whether it takes a share of what a GPU has free.
    """

    call: Call
    program: Any = None
    sources: int = 1
    input: Callable[[int], Any] | None = None
    edges: str = "all"
    decided: bool = False
    counted: bool = False
    lists_pairs: bool = False
    supersteps: Callable[[Any], int] | None = None
    shares: bool = False


def column(name: str) -> Callable[[int], Any]:
    """Return a function that makes a frame with a number for every vertex."""

    def made(n: int) -> Any:
        import numpy as np
        import pandas as pd

        return pd.DataFrame({"vertex": np.arange(n), name: np.ones(n)})

    return made


def communities(n: int) -> Any:
    """Return a frame of communities of 50 vertices."""
    import numpy as np
    import pandas as pd

    return pd.DataFrame({"vertex": np.arange(n), "partition": np.arange(n) // 50})


def pairs(n: int) -> Any:
    """Return a frame of random pairs, five for each vertex."""
    import numpy as np
    import pandas as pd

    ends = np.random.default_rng(3).integers(0, n, (2, 5 * n))
    return pd.DataFrame({"first": ends[0], "second": ends[1]})


def priors(n: int) -> Any:
    """Return a frame of beliefs of two vertices."""
    import pandas as pd

    return pd.DataFrame({"vertex": [0, 1], "no": [0.4, 0.5], "yes": [0.6, 0.5]})


def every_other(n: int) -> Any:
    """Return every other vertex."""
    import numpy as np

    return np.arange(0, n, 2)


def all_vertices(n: int) -> Any:
    """Return all vertices."""
    import numpy as np

    return np.arange(n)


def named(argument: Any) -> Any:
    """Return another argument with text for vertices."""
    import numpy as np

    def texts(numbers: Any) -> Any:
        return np.array([TEXT.format(number) for number in numbers], object)

    if isinstance(argument, np.ndarray):
        return texts(argument)
    ends = [name for name in ("vertex", "first", "second") if name in argument]
    return argument.assign(**{name: texts(argument[name]) for name in ends})


def first(graph: Any, count: int) -> list[Any]:
    """Return the first vertices."""
    return [n if graph.numbers_are_ids else TEXT.format(n) for n in range(count)]


def quiet(call: Callable[[], Any]) -> Any:
    """Return the result of a call, also if it has not converged."""
    from cugraph_ws import ConvergenceError

    try:
        return call()
    except ConvergenceError as error:
        return error.result.frame


def by_name(*names: str, started: bool = False, **facts: Any) -> dict[str, Case]:
    """Return cases of functions that are called with a graph, and with its first vertex if `started`."""

    def call(name: str, ws: Any, graph: Any, _: Any, options: dict[str, Any]) -> Any:
        start = first(graph, 1) if started else []
        return getattr(ws, name)(graph, *start, **options)

    return {name: Case(partial(call, name), **facts) for name in names}


MATRIX = [[1.3, 1.0], [1.0, 1.3]]
CASES: dict[str, Case] = {
    **by_name("assortativity", "clustering_coefficient", "coloring", "core_number", "maximal_independent_set", "triangle_count", "weakly_connected_components"),
    **by_name("articulation_points", "bridges", "leiden", "louvain", "maximum_spanning_forest", "minimum_spanning_forest", "pagerank", "strongly_connected_components", "truss_number", decided=True),
    **by_name("bfs", "sssp", "widest_path", started=True),
    "adamic_adar top": Case(
        lambda ws, g, _, o: ws.adamic_adar(g, top=3, **o),
        lambda ws, _: ws.Similarity("adamic_adar", top=3), decided=True, lists_pairs=True, shares=True,
    ),
    "belief_propagation": Case(
        lambda ws, g, given, o: quiet(lambda: ws.belief_propagation(g, given, MATRIX, max_iter=3, **o)),
        input=priors,
    ),
    "betweenness_centrality": Case(
        lambda ws, g, _, o: ws.betweenness_centrality(g, 8, **o), sources=8, decided=True
    ),
    "betweenness_centrality 1": Case(
        lambda ws, g, _, o: ws.betweenness_centrality(g, 1, **o), "betweenness_centrality",
        decided=True,
    ),
    "betweenness_centrality weighted": Case(
        lambda ws, g, _, o: ws.betweenness_centrality(g, 2, weighted=True, **o),
        lambda ws, _: ws.algorithms.betweenness.WeightedBetweenness(2), decided=True,
    ),
    "bipartite_projection top": Case(
        lambda ws, g, given, o: ws.bipartite_projection(g, given, top=3, **o),
        lambda ws, given: ws.algorithms.projection.Projection(given, top=3), input=every_other, edges="sides", decided=True,
        lists_pairs=True, shares=True,
    ),
    "circuit": Case(
        lambda ws, g, _, o: quiet(
            lambda: ws.circuit(g, dict(zip(first(g, 2), (1.0, 0.0), strict=True)), max_iter=5, **o)
        )
    ),
    "closeness_centrality": Case(
        lambda ws, g, _, o: ws.closeness_centrality(g, first(g, 64), **o), sources=64, decided=True
    ),
    "closeness_centrality weighted": Case(
        lambda ws, g, _, o: ws.closeness_centrality(g, first(g, 4), weighted=True, **o),
        lambda ws, _: ws.algorithms.closeness.WeightedDistanceSums(list(range(4))), decided=True,
    ),
    "coloring by seed": Case(
        lambda ws, g, _, o: ws.coloring(g, seed=1, **o), lambda ws, _: ws.Coloring(1), decided=True
    ),
    "conductance": Case(lambda ws, g, given, o: ws.conductance(g, given, **o), input=communities),
    "cosine of pairs": Case(
        lambda ws, g, given, o: ws.cosine(g, given, **o),
        lambda ws, given: ws.Similarity("cosine", given), input=pairs,
    ),
    "diameter": Case(  # the bounds of a few searches, on a GPU after its kernels are compiled
        lambda ws, g, _, o: ws.run(
            ws.algorithms.distances.Diameter(connected=False), g,
            timeout=1 if o["engine"] == "cpu" else 8, **o,
        ),
        decided=True,
    ),
    "eccentricity": Case(
        lambda ws, g, _, o: ws.eccentricity(g, first(g, 64), False, **o), sources=64, decided=True
    ),
    "edge_betweenness_centrality": Case(
        lambda ws, g, _, o: ws.edge_betweenness_centrality(g, 4, **o), sources=4, decided=True
    ),
    "ego_graph": Case(
        lambda ws, g, _, o: ws.ego_graph(g, first(g, 1), 3, **o), decided=True, counted=True
    ),
    "eigenvector_centrality": Case(
        lambda ws, g, _, o: quiet(lambda: ws.eigenvector_centrality(g, max_iter=60, **o)),
        decided=True,
    ),
    "harmonic_centrality": Case(
        lambda ws, g, _, o: ws.harmonic_centrality(g, k=64, **o),
        lambda ws, _: ws.algorithms.closeness.DistanceSums(k=64), decided=True,
    ),
    "heat": Case(
        lambda ws, g, given, o: quiet(lambda: ws.heat(g, given, max_iter=5, **o)),
        input=column("temperature"), edges="light",
    ),
    "hits": Case(lambda ws, g, _, o: quiet(lambda: ws.hits(g, max_iter=60, **o)), decided=True),
    "jaccard of edges": Case(
        lambda ws, g, _, o: ws.jaccard(g, "edges", **o), lambda ws, _: ws.Similarity("jaccard", "edges")
    ),
    "katz_centrality": Case(lambda ws, g, _, o: ws.katz_centrality(g, 1e-4, **o)),
    "label_propagation": Case(
        lambda ws, g, _, o: quiet(lambda: ws.label_propagation(g, max_iter=6, **o)), decided=True, shares=True
    ),
    "maximal_bipartite_matching": Case(
        lambda ws, g, given, o: ws.maximal_bipartite_matching(g, given, **o),
        input=every_other, edges="sides",
    ),
    "modularity": Case(lambda ws, g, given, o: ws.modularity(g, given, **o), input=communities),
    "multi_source_bfs": Case(
        lambda ws, g, _, o: ws.multi_source_bfs(g, first(g, 8), **o), sources=8
    ),
    "multi_source_sssp": Case(
        lambda ws, g, _, o: ws.multi_source_sssp(g, first(g, 8), **o), sources=8
    ),
    "neural_network": Case(
        lambda ws, g, given, o: ws.neural_network(g, given, **o),
        input=column("activation"), edges="acyclic",
    ),
    "neighbor_sample": Case(
        lambda ws, g, _, o: ws.neighbor_sample(g, first(g, 64) * 1000, [3, 3], batches=range(64_000), **o),
        lambda ws, _: ws.NeighborSample(range(64_000), [3, 3], range(64_000)), decided=True,
    ),
    "node2vec_walks": Case(
        lambda ws, g, _, o: ws.node2vec_walks(g, first(g, 64), 80, 0.5, 2.0, **o), sources=64
    ),
    "personalized_pagerank": Case(
        lambda ws, g, _, o: ws.personalized_pagerank(g, first(g, 8), tol=1e-2, **o), sources=8
    ),
    "personalized_pagerank columns": Case(
        lambda ws, g, _, o: ws.personalized_pagerank(g, first(g, 8), tol=1e-2, format="columns", **o),
        lambda ws, _: ws.PersonalizedPageRank(list(range(8)), format="columns"), decided=True,
    ),
    "personalized_pagerank top": Case(
        lambda ws, g, _, o: ws.personalized_pagerank(g, first(g, 8), tol=1e-2, top=10, **o),
        lambda ws, _: ws.PersonalizedPageRank(list(range(8)), top=10),
    ),
    "random_walks": Case(
        lambda ws, g, _, o: ws.random_walks(g, first(g, 64), 80, **o), sources=64
    ),
    "subgraph": Case(
        lambda ws, g, given, o: ws.subgraph(g, given), input=every_other, decided=True, counted=True
    ),
    "subgraph of all": Case(
        lambda ws, g, given, o: ws.subgraph(g, given), "subgraph", input=all_vertices, decided=True,
        counted=True,
    ),
    "topological_levels": Case(
        lambda ws, g, _, o: ws.topological_levels(g, **o), edges="acyclic", decided=True,
        supersteps=lambda levels: int(levels.level.max()) + 1,
    ),
}  # fmt: skip


def measure(
    names: Sequence[str], shapes: Sequence[str], engine: str = "cpu", scale: float = 1.0
) -> list[dict[str, Any]]:
    """Run functions on shapes in a new process; return predicted and measured bytes.

    Parameters
    ----------
    names : sequence of str
        Keys of `CASES`.
    shapes : sequence of str
        Keys of `SHAPES`.
    engine : {"cpu", "cuda"}
    scale : float
        Factor of the vertices and edges.

    Returns
    -------
    list of dict
        One for each call, with the shape's sizes; or with the text of its error.
    """
    words = ["runs", "--engine", engine, "--scale", str(scale), "--child"]
    lines = in_new_process([*words, "--functions", *names, "--shapes", *shapes]).splitlines()
    rows: list[dict[str, Any]] = [json.loads(line) for line in lines]
    return rows


def child(names: Sequence[str], shapes: Sequence[str], engine: str, scale: float) -> None:
    """Print a line of JSON for each call."""
    frames = {key: edges(scaled(SHAPES[key], scale)) for key in shapes}
    small = {key: edges(scaled(SHAPES[key], scale / 50)) for key in shapes}
    for name in names:
        for key in shapes:
            one(name, SHAPES[key], small[key], engine)  # loads code
            for _ in range(2):  # what is off is measured again, once all code is loaded
                row = {
                    "function": name,
                    "shape": key,
                    **one(name, SHAPES[key], frames[key], engine),
                }
                if not is_off(row):
                    break
            print(json.dumps(row), flush=True)


def scaled(shape: Shape, scale: float) -> Shape:
    """Return a shape with more or fewer vertices and edges."""
    return shape._replace(vertices=int(shape.vertices * scale), edges=int(shape.edges * scale))


def opened(name: str, shape: Shape, frame: Any) -> tuple[Any, Any]:
    """Return a new graph of a shape, with the edges that a function can read, and its other argument."""
    import cugraph_ws as ws

    case = CASES[name]
    if case.edges == "sides" and shape.text:
        frame = frame.assign(source="from " + frame.source)
    elif case.edges == "sides":
        frame = frame.assign(source=2 * frame.source, destination=2 * frame.destination + 1)
    if case.edges == "acyclic":
        ends = frame[["source", "destination"]].to_numpy()
        frame = frame.assign(source=ends.min(axis=1), destination=ends.max(axis=1))
        frame = frame[frame.source < frame.destination]
    if case.edges == "light":
        frame = frame.assign(weight=1 / 4096)
    weight = "weight" if "weight" in frame else None
    graph = ws.Graph(frame, weight=weight, directed=shape.directed or case.edges == "acyclic")
    if case.edges == "sides":
        return graph, frame.source.unique()
    argument = None if case.input is None else case.input(graph.number_of_vertices)
    return graph, named(argument) if shape.text and argument is not None else argument


@contextmanager
def limited(most: int) -> Iterator[None]:
    """Let a GPU have so many bytes for what is allocated from now on."""
    import rmm.statistics

    from cugraph_ws.runtime.device import device

    def free() -> int:
        return most - int(rmm.statistics.get_statistics().current_bytes)

    with patch.object(device(), "free_memory", free):
        yield


def one(name: str, shape: Shape, frame: Any, engine: str) -> dict[str, Any]:
    """Run a function on a new graph of a shape."""
    import cugraph_ws as ws
    from cugraph_ws.algorithms.footprints import subgraph_memory

    case = CASES[name]
    graph, argument = opened(name, shape, frame)
    n, arcs, directed = graph.number_of_vertices, graph.number_of_arcs, graph.directed
    weighted = graph.weight is not None
    _ = graph.on_device() if engine == "cuda" else graph.csc
    program = case.program or name

    def told(program: Any) -> int:
        estimate = ws.estimate_memory(
            number_of_edges=arcs if directed else (arcs + 1) // 2,  # a self-loop is one arc
            number_of_vertices=n,
            weighted=graph.edge_dtype(graph.weight).name if weighted else False,
            directed=directed,
            text_bytes=len(TEXT.format(0)) if shape.text else None,
            engine=engine,  # type: ignore[arg-type]
            program=program,
            sources=case.sources,
        )
        return estimate.run

    row = {"vertices": n, "arcs": arcs, "directed": directed, "weighted": weighted}
    row["told"] = told(program(ws, argument) if callable(program) else program)
    if case.lists_pairs and float((graph.in_degrees.astype(float) ** 2).sum()) > PAIRS:
        graph.close()
        return {**row, "error": LEFT_OUT}
    try:
        with (on_gpu if engine == "cuda" else resident)() as peak:
            bounded = (
                limited(row["told"] + 1) if case.shares and engine == "cuda" else nullcontext()
            )
            with bounded:
                result = case.call(ws, graph, argument, {"engine": engine})
            row["taken"] = peak()
        if case.counted:
            row["told"] = told(
                SimpleNamespace(
                    memory=partial(subgraph_memory, edges=len(result), searched=name == "ego_graph")
                )
            )
        if case.supersteps is not None and engine == "cpu":  # a trace is on the host
            row["told"] += TRACE * case.supersteps(result)
        del result
    except ws.InputError as error:  # a shape that the function refuses
        row["error"] = str(error)
    except ws.GraphMemoryError:
        row["error"] = TOO_LITTLE
    graph.close()
    return row


def is_off(row: Mapping[str, Any]) -> bool:
    """Return whether the estimate of a call is too low or too high for what it took."""
    if "taken" not in row:
        return row.get("error") == TOO_LITTLE
    peak, most = row["taken"], 2.0 if CASES[row["function"]].decided else 1.25
    slack = 6e6 if peak < BLURRED else 0.0
    return not 0.95 * peak - slack <= row["told"] <= most * peak + slack


def tabled(rows: Sequence[Mapping[str, Any]]) -> list[list[str]]:
    """Return the rows of a table: a call each, with the tree that was measured."""
    cells = []
    for row in rows:
        sizes = [row["function"], row["shape"], f"{row['vertices']:,}", f"{row['arcs']:,}"]
        if "taken" not in row:
            outcome = LEFT_OUT if row.get("error") == LEFT_OUT else "refused"
            cells.append([*sizes, "", "", outcome + ", off" * is_off(row), row["tree"]])
            continue
        *memory, ratio = in_mebibytes(row["told"], row["taken"])
        cells.append([*sizes, *memory, ratio + ", off" * is_off(row), row["tree"]])
    return cells


def record(rows: Sequence[Mapping[str, Any]], engine: str, begun: datetime.datetime) -> None:
    """Put calls into the record of this checkout, in place of those of the same functions and shapes."""
    from bench.machine import machine
    from bench.page import add
    from bench.record import placed, read, when

    facts: dict[str, Any] = {"part": "runs", "graph": engine, "machine": machine()}
    name = f"runs {engine}{placed('bench-runs', facts['machine']).removeprefix('bench-runs')}"
    before = read(MEASUREMENTS)["bench"].get(name, {"tables": [{"rows": []}]})
    rows_by_call = {(row[0], row[1]): row for row in before["tables"][0]["rows"]}
    rows_by_call.update({(row[0], row[1]): row for row in tabled(rows)})
    table = {
        "title": TITLE,
        "columns": COLUMNS,
        "rows": [rows_by_call[key] for key in sorted(rows_by_call)],
    }
    off = sum(row[6].endswith("off") for row in table["rows"])
    status = (
        {"status": "failed", "problem": f"{off} estimates are off"} if off else {"status": "passed"}
    )
    add(MEASUREMENTS, "bench", name, {**status, **when(begun), **facts, "tables": [table]})


def main(arguments: Sequence[str] | None = None) -> int:
    """Print a table, or, as a child, JSON."""
    parser = argparse.ArgumentParser(prog="bench runs", description=__doc__)
    parser.add_argument("--engine", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--scale", type=float, default=1.0, help="factor of the edges and vertices")
    parser.add_argument("--functions", nargs="+", choices=CASES, default=list(CASES))
    parser.add_argument("--shapes", nargs="+", choices=SHAPES, default=list(SHAPES))
    parser.add_argument(
        "--jobs", type=int, default=1, help="processes at a time, each for a function"
    )
    parser.add_argument("--record", action="store_true",
                        help="also put the results into docs/measurements")  # fmt: skip
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args(arguments)
    if asked.child:
        warnings.simplefilter("ignore")
        child(asked.functions, asked.shapes, asked.engine, asked.scale)
        return 0
    begun, tree = datetime.datetime.now(datetime.UTC), files_hash()
    measured = partial(measure, shapes=asked.shapes, engine=asked.engine, scale=asked.scale)
    rows = []
    with ThreadPoolExecutor(asked.jobs) as processes:
        for done in as_completed(processes.submit(measured, [name]) for name in asked.functions):
            calls = [{**row, "tree": tree[:6]} for row in done.result()]
            if asked.record:  # now, as later functions may not come to their end
                record(calls, asked.engine, begun)
            rows += calls
    print(Table(TITLE, COLUMNS, tabled(rows)).markdown(), end="")
    return 0
