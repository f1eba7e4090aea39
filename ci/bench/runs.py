"""Compare the memory that `ws.estimate_memory` predicts for a run with the memory that it takes.

Functions run on graphs of several shapes, one after the other in a new process (Linux).  On the CPU the peak
is that of resident memory beside the built graph, with the result; see `bench.cpu.estimates` for how it is read.
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
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager, nullcontext
from functools import partial
from types import SimpleNamespace
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np
import pandas as pd

from bench.checkout import MEASUREMENTS, files_hash
from bench.cpu.estimates import in_clean_process, in_mebibytes, on_gpu, resident
from bench.machine import machine
from bench.page import add
from bench.record import outcome, placed, read, when
from bench.run_calls import CASES, PAIRS, TEXT, named
from bench.tables import Table

K = 1000
LEFT_OUT, TOO_LITTLE = "left out", "refused with what is told"
TRACE = 190  # bytes of a superstep in a trace
BLURRED = 30e6  # bytes of a peak below which allocators and pages of code blur it
TITLE = "Peak memory of runs beside the graph"
COLUMNS = [
    "function", "shape", "vertices", "arcs", "told, MiB", "taken, MiB", "told / taken", "tree"
]  # fmt: skip


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
    words = ["runs", "--engine", engine, "--scale", str(scale), "--child", "--functions", *names]
    lines = in_clean_process("bench", *words, "--shapes", *shapes)
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
                figures = one(name, SHAPES[key], frames[key], engine)
                row = {"function": name, "shape": key, **figures}
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
            shares = case.shares and engine == "cuda"
            with limited(row["told"] + 1) if shares else nullcontext():
                result = case.call(ws, graph, argument, {"engine": engine})
            row["taken"] = peak()
        if case.counted:
            searched = name == "ego_graph"
            memory = partial(subgraph_memory, edges=len(result), searched=searched)
            row["told"] = told(SimpleNamespace(memory=memory))
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
    facts: dict[str, Any] = {"part": "runs", "graph": engine, "machine": machine()}
    name = f"runs {engine}{placed('bench-runs', facts['machine'])}"
    before = read(MEASUREMENTS)["bench"].get(name, {"tables": [{"rows": []}]})
    rows_by_call = {(row[0], row[1]): row for row in before["tables"][0]["rows"]}
    rows_by_call.update({(row[0], row[1]): row for row in tabled(rows)})
    ordered = [rows_by_call[key] for key in sorted(rows_by_call)]
    table = {"title": TITLE, "columns": COLUMNS, "rows": ordered}
    off = sum(row[6].endswith("off") for row in ordered)
    status = outcome(f"{off} estimates are off" if off else None)
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
