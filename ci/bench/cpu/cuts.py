"""Bytes that two partitions of a graph send if they own ranges of ids, and with `cut="arcs"`.  Counts are exact, and need no quiet machine."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import parquet

import cugraph_ws as ws
from bench.checkout import ROOT
from bench.timing import Section
from cugraph_ws.partition.cut import shards_of
from cugraph_ws.runtime.thread_ranks import ThreadRanks

SIDE = 400
DEPENDENCIES = ROOT / "examples/data/debian-dependencies.parquet"
# Names, the most bytes over those of ranges, and whether graphs are directed
GRAPHS = {"shuffled grid of 400²": (1 / 20, False), "Debian's dependencies": (1 / 3, True)}
PARTS = 2


def cuts(name: str, section: Section, repeats: int) -> None:
    """Compare what is sent; results must be equal."""
    bound, directed = GRAPHS[name]
    frame = _dependencies() if directed else _grid()
    rows = []
    plan = ws.Plan(partitions=PARTS)
    with (
        ws.Graph(frame, directed=directed) as ranges,
        ws.Graph(frame, directed=directed, cut="arcs") as arcs,
    ):
        ids, most = np.unique(frame["source"].to_numpy(zero_copy_only=False), return_counts=True)
        start = ids[most.argmax()]
        runs: dict[str, tuple[Any, dict[str, Any]]] = {
            "BFS": (ws.BFS, {"start": start}),
            "PageRank, 20 supersteps": (ws.PageRank, {"tol": 0.0, "max_iter": 20}),
        }
        for run, (program, options) in runs.items():
            results = [ws.run(program, graph, plan=plan, **options) for graph in (ranges, arcs)]
            _check(*(result.frame for result in results))
            before, after = (sum(result.trace["bytes_sent"].to_pylist()) for result in results)
            rows.append([run, f"{before:,}", f"{after:,}", f"{after / before:.4f}"])
            section.target(f"{run}: bytes sent ÷ those of ranges", after / before, bound)
        before, after = (_ghosts(graph) for graph in (ranges, arcs))
        rows.append(["ghosts", f"{before:,}", f"{after:,}", f"{after / before:.4f}"])
    columns = ["", "ranges", 'cut="arcs"', "ratio"]
    section.table(f"{name}, {PARTS} partitions: bytes sent, and ghosts", columns, rows)


def _check(ranges: pa.Table, arcs: pa.Table) -> None:
    """Compare two results; sums over all vertices are added in the order of parts."""
    for name in ranges.column_names:
        column, expected = arcs[name], ranges[name]
        if pa.types.is_floating(expected.type):
            np.testing.assert_allclose(column.to_numpy(), expected.to_numpy(), rtol=1e-12)
        else:
            assert column.equals(expected), f"{name} depends on the cut"


def _ghosts(graph: Any) -> int:
    """Return how many copies of other parts' vertices the parts hold."""
    return sum(shard.length - shard.owned for shard in shards_of(graph, ThreadRanks(PARTS)))


def _grid() -> pa.Table:
    """Return the edges of a square grid with shuffled ids."""
    ids = np.random.default_rng(0).permutation(SIDE * SIDE).reshape(SIDE, SIDE)
    return pa.table(
        {
            "source": np.concatenate([ids[:, :-1].ravel(), ids[:-1].ravel()]),
            "destination": np.concatenate([ids[:, 1:].ravel(), ids[1:].ravel()]),
        }
    )


def _dependencies() -> pa.Table:
    """Return the dependencies of Debian's packages."""
    names = ["source", "destination"]
    return parquet.read_table(DEPENDENCIES, columns=["package", "depends_on"]).rename_columns(names)
