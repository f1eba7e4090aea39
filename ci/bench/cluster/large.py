"""From Parquet to ranks in Parquet, on all GPUs of this host: each stage's time, edges never on the host.

Workers draw the graph and write it, several files each, into a temporary folder (TMPDIR says where: the
largest graph takes 17 GB at most).  A small graph goes all the way first, so that compilation does not
count.
"""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cugraph_ws as ws
from bench.cluster.partitions import PartitionedGraph, frame_of_part
from bench.cluster.workers import workers
from bench.graphs import RMAT
from bench.programs import SUPERSTEPS
from bench.timing import OURS, Measured, Section, clocked

__all__ = ["large", "write_part"]

STAGES = ("read and build", "PageRank, 20 supersteps", "write ranks")
WARM_UP = "RM14"
PASSES = 3
PATIENCE = 20.0  # seconds; a pass that takes longer is not repeated


def write_part(name: str, place: int, places: int, folder: str) -> int:
    """Draw a partition and write it as a Parquet file; return its edges."""
    frame = frame_of_part(name, place, places, None)
    frame.to_parquet(str(Path(folder, f"part-{place:04d}.parquet")), index=False)
    return len(frame)


def large(name: str, section: Section, repeats: int) -> None:
    """Time reading and building, ranking, and writing."""
    if name not in RMAT:
        raise ValueError(f"{name}: give one of {', '.join(RMAT)}")
    with workers() as client:
        _passes(WARM_UP, client, 1)
        written, passes, facts = _passes(name, client, min(repeats, PASSES))
        count = len(client.nthreads())
    taken = {stage: [one[stage] for one in passes] for stage in STAGES}
    edges = RMAT[name][1]
    section.timings += [
        Measured(f"Parquet to Parquet: {stage}", name, OURS, seconds, edges=edges)
        for stage, seconds in taken.items()
    ]
    rows = [["draw and write edges, once", f"{written:.2f}", f"{edges / written / 1e6:,.0f}"]]
    for stage, seconds in taken.items():
        median = statistics.median(seconds)
        rows.append([stage, f"{median:.2f}", f"{edges / median / 1e6:,.0f}"])
    total = sum(statistics.median(seconds) for seconds in taken.values())
    rows.append(["from edges to ranks", f"{total:.2f}", f"{edges / total / 1e6:,.0f}"])
    rows.append(["a superstep, by the trace", f"{facts['superstep']:.4f}", ""])
    section.table(
        f"Parquet to Parquet, {count} GPUs, {facts['vertices']:,} vertices, {edges:,} edges",
        ["stage", "seconds", "M edges/s"], rows,
    )  # fmt: skip


def _passes(
    name: str, client: Any, most: int
) -> tuple[float, list[dict[str, float]], dict[str, Any]]:
    """Write a graph, and go all the way; return seconds of writing, of each pass's stages, facts."""
    with tempfile.TemporaryDirectory() as folder:
        edges, ranks = Path(folder, "edges"), Path(folder, "ranks")
        edges.mkdir()
        several = PartitionedGraph(name, client)

        def write_all() -> Any:
            parts = [
                client.submit(
                    write_part, name, place, several.places, str(edges), pure=False,
                    workers=[several.addresses[place % several.workers]],
                )
                for place in range(several.places)
            ]  # fmt: skip
            return client.gather(parts)

        written, counts = clocked(write_all)
        assert sum(counts) == RMAT[name][1], f"{sum(counts):,} edges were written"
        passes: list[dict[str, float]] = []
        for turn in range(most):
            seconds, facts = _one_pass(str(edges), str(ranks / str(turn)))
            passes.append(seconds)
            print(
                f"  {name}: " + ", ".join(f"{a} {b:.2f} s" for a, b in seconds.items()), flush=True
            )
            if sum(seconds.values()) > PATIENCE:
                break
        _check(str(ranks / "0"), facts["vertices"])
    return written, passes, facts


def _one_pass(edges: str, ranks: str) -> tuple[dict[str, float], dict[str, Any]]:
    """Go from a folder of edges to one of ranks."""
    import dask_cudf

    seconds: dict[str, float] = {}

    def timed(stage: str, do: Callable[[], Any]) -> Any:
        seconds[stage], found = clocked(do)
        return found

    graph = timed(STAGES[0], lambda: ws.Graph(dask_cudf.read_parquet(edges), consume=True))
    with graph:
        result = timed(STAGES[1], lambda: ws.run(ws.PageRank, graph, max_iter=SUPERSTEPS, tol=0.0))
        timed(STAGES[2], lambda: result.frame.to_parquet(ranks))
        facts = {
            "vertices": graph.number_of_vertices,
            "superstep": float(result.trace["milliseconds"].mean()) / 1e3,
        }
    return seconds, facts


def _check(ranks: str, vertices: int) -> None:
    """Check the number and the sum of the ranks that were written."""
    import dask_cudf

    found = dask_cudf.read_parquet(ranks)
    assert len(found) == vertices, f"{len(found):,} ranks for {vertices:,} vertices"
    total = float(found["pagerank"].sum().compute())
    assert abs(total - 1.0) < 1e-6, f"the ranks sum to {total}"
