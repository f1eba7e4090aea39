"""More than 2³¹ edges, from a folder of Parquet files to ranks on a GPU, within a limit of memory there and on the host.

The ranks are checked by another pass over the files, which computes one more superstep of PageRank of them.
"""

from __future__ import annotations

import gc
import tempfile
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import parquet

import cugraph_ws as ws
from bench.graphs import GRAPH500, rmat
from bench.timing import Section

FILES, ROWS, BITS = 43, 50_000_000, 26
LIMIT = 20_000_000_000  # bytes
ALPHA, TOL = 0.85, 1e-6


def large_folder(name: str, section: Section, repeats: int) -> None:
    """Time each stage once: a stage takes a minute."""
    import cupy

    seconds: dict[str, float] = {}

    def timed(stage: str, work: Any) -> Any:
        cupy.get_default_memory_pool().free_all_blocks()
        begun = time.perf_counter()
        result = work()
        cupy.cuda.Device().synchronize()
        seconds[stage] = time.perf_counter() - begun
        print(f"  {stage}: {seconds[stage]:.1f} s", flush=True)
        return result

    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        timed("edges drawn and written", lambda: _write(folder))
        with timed(
            "folder to graph", lambda: ws.Graph(folder, placement="disk", memory_limit=LIMIT)
        ) as graph:
            facts = f"{graph.number_of_vertices:,} vertices, {graph.number_of_edges:,} edges"
            frame = timed(
                "graph to ranks",
                lambda: ws.pagerank(graph, ALPHA, tol=TOL, engine="cuda", plan=ws.Plan(extrapolate="never")),
            )  # fmt: skip
        gc.collect()
        residual = timed("another pass", lambda: _residual(folder, frame))
    rows = [[stage, f"{taken:.1f}"] for stage, taken in seconds.items()]
    section.table(f"{facts}, at most {LIMIT / 1e9:.0f} GB", ["stage", "s"], rows)
    section.target("L1 norm of the change by one more pass ÷ tol", residual / TOL, 1.0)


def _write(folder: Path) -> None:
    for place in range(FILES):
        source, destination = rmat(1 << BITS, ROWS, GRAPH500, seed=place + 1)
        rows = pa.table({"source": source.get(), "destination": destination.get()})
        parquet.write_table(
            rows, folder / f"{place:02}.parquet", use_dictionary=False, compression="none",
            row_group_size=1 << 22,
        )  # fmt: skip


def _residual(folder: Path, frame: Any) -> float:
    """Return the L1 norm of what one superstep changes of the ranks of a result frame."""
    import cupy

    ids, known = (cupy.asarray(frame[name].to_numpy()) for name in ("vertex", "pagerank"))
    ranks, degrees, gathered = (cupy.zeros(1 << BITS, kind) for kind in ("f8", "i8", "f8"))
    ranks[ids] = known
    for source, _ in _edges(folder):
        degrees += cupy.bincount(source, minlength=1 << BITS)
    shares = cupy.where(degrees > 0, ranks / cupy.maximum(degrees, 1), 0.0)
    for source, destination in _edges(folder):
        gathered += cupy.bincount(destination, shares[source], minlength=1 << BITS)
    fallen = ranks[
        degrees == 0
    ].sum()  # of vertices without out-edges; ids without edges have rank 0
    changed = (1 - ALPHA + ALPHA * fallen) / len(ids) + ALPHA * gathered[ids]
    return float(abs(changed - known).sum())


def _edges(folder: Path) -> Any:
    import cupy

    for path in sorted(folder.iterdir()):
        rows = parquet.read_table(path)
        yield tuple(cupy.asarray(rows[name].to_numpy()) for name in ("source", "destination"))
