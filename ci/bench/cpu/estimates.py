"""Compare the memory that `ws.estimate_memory` predicts for a build with the memory that it takes.

Graphs with each kind of ids are built one by one in a new process (Linux).  On the CPU the peak is that of
resident memory, from the frame in memory to the CSC.  glibc keeps freed arrays below 32 MiB, up to as much
as is in use; `MALLOC_MMAP_THRESHOLD_` makes it return those above 64 KiB to the system, as it does with the
arrays of larger graphs.  With `--engine cuda` the peak is that of the memory allocated by RMM, without a cache.
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import json
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from bench.checkout import environment
from bench.tables import Table

KINDS = ("int32", "int64", "sparse", "random", "text", "pairs", "text and integers", "pandas")
M = 10**6
# Edges, vertices to draw from, directed, weighted
SHAPES = {
    "int32": [(2 * M, 250_000, True, False), (2 * M, 2 * M, False, True)],
    "int64": [(2 * M, 50_000, True, True), (1 * M, 500_000, False, False)],
    "sparse": [(2 * M, 250_000, True, False), (1 * M, 1 * M, False, True)],
    "random": [(2 * M, 250_000, True, False), (1 * M, 2 * M, False, True), (1 * M, 2 * M, True, False)],
    "text": [(1 * M, 100_000, True, True), (1 * M, 500_000, False, False), (4 * M, 500_000, True, False)],
    "pairs": [(1 * M, 250_000, True, False), (1 * M, 2 * M, False, True)],
    "text and integers": [(1 * M, 500_000, True, True), (1 * M, 50_000, False, False)],
    "pandas": [(2 * M, 1 * M, True, True), (1 * M, 100_000, False, True)],
}  # fmt: skip
ON_GPUS = ("int32", "int64", "sparse", "random")  # kinds of ids that are numbered on the GPU


def measure(kind: str, engine: str = "cpu", scale: int = 1) -> list[dict[str, Any]]:
    """Build the shapes with a kind of ids in a new process; return predicted and measured bytes."""
    words = ["estimates", "--engine", engine, "--scale", str(scale), "--child", kind]
    rows: list[dict[str, Any]] = json.loads(in_new_process(words))
    return rows


def in_new_process(words: Sequence[str]) -> str:
    """Return what a command of `bench` prints in a new process, which returns freed arrays to the system."""
    done = subprocess.run(
        [sys.executable, "-m", "bench", *words], check=False, capture_output=True, text=True,
        env=environment(MALLOC_MMAP_THRESHOLD_=str(1 << 16)),
    )  # fmt: skip
    if done.returncode:
        raise RuntimeError(f"bench {' '.join(words)}: {done.stderr}")
    return done.stdout


def in_mebibytes(told: int, taken: int) -> list[str]:
    """Return the cells of a table: MiB that are told and taken, and the one ÷ the other."""
    ratio = f"{told / taken:.2f}" if taken else "none taken"
    return [f"{told / 2**20:.1f}", f"{taken / 2**20:.1f}", ratio]


def edges(kind: str, rows: int, vertices: int, weighted: bool) -> Any:
    """Return an edge frame, with one or more columns for an end, by the kind of ids."""
    import numpy as np
    import pyarrow as pa

    rng = np.random.default_rng(rows + vertices)
    names = rng.integers(-(2**62), 2**62, vertices)
    texts = pa.array(
        [f"v{number & 0xFFFFFFFF:08x}" for number in names.tolist()] if "text" in kind else []
    )

    def ends(numbers: Any) -> list[Any]:
        if kind in ("int32", "int64"):
            return [numbers.astype(kind)]
        if kind in ("sparse", "pandas"):
            return [3 * numbers + 7]
        if kind == "random":
            return [names[numbers]]
        if kind == "text":
            return [texts.take(pa.array(numbers)).cast(pa.large_string())]
        if kind == "pairs":
            return [numbers // 1000 * 10**13, numbers % 1000]
        return [texts.take(pa.array(numbers // 7)), numbers % 7]

    columns = {}
    for name in ("source", "destination"):
        for which, end in enumerate(ends(rng.integers(0, vertices, rows))):
            columns[f"{name}{which or ''}"] = end
    if weighted:
        columns["w"] = rng.random(rows)
    table = pa.table({name: pa.array(column) for name, column in columns.items()})
    return table.to_pandas() if kind == "pandas" else table


def names_of(frame: Any, end: str) -> str | list[str]:
    """Return the columns of one end of the edges."""
    every = frame.column_names if hasattr(frame, "column_names") else list(frame.columns)
    names = [name for name in every if name.startswith(end)]
    return names if len(names) > 1 else names[0]


def child(kind: str, engine: str, scale: int) -> list[dict[str, Any]]:
    """Build every shape with a kind of ids in this process."""
    rows = []
    build(kind, 1000, 100, True, True, engine)  # loads all code that building needs
    build(kind, 1000, 100, False, False, engine)
    build(kind, 100_000, 50_000, True, False, engine)
    for count, vertices, directed, weighted in SHAPES[kind]:
        told_and_taken = build(kind, count * scale, vertices * scale, directed, weighted, engine)
        rows.append({"ids": kind, "edges": count * scale, "directed": directed, **told_and_taken})
    return rows


def build(
    kind: str, rows: int, vertices: int, directed: bool, weighted: bool, engine: str
) -> dict[str, Any]:
    """Build a graph; return the predicted peak, the measured peak, and the bytes kept."""
    import cugraph_ws as ws

    frame = edges(kind, rows, vertices, weighted)
    source, destination = names_of(frame, "source"), names_of(frame, "destination")
    columns = {"source": source, "destination": destination, "weight": "w" if weighted else None}
    estimate = ws.estimate_memory(frame, **columns, directed=directed, engine=engine)
    if engine == "cuda":
        import cudf

        frame = cudf.DataFrame.from_arrow(frame) if kind != "pandas" else cudf.from_pandas(frame)
    with (on_gpu if engine == "cuda" else resident)() as measured:
        graph = ws.Graph(frame, **columns, directed=directed)
        arcs = graph.on_device() if engine == "cuda" else graph.csc
        peak = measured()
    kept_bytes = arcs.nbytes if engine == "cuda" else graph.report.bytes
    graph.close()
    return {
        "weighted": weighted, "told": estimate.peak, "taken": peak, "csc": estimate.csc,
        "kept": estimate.csc + estimate.values + estimate.numbering, "held": kept_bytes,
    }  # fmt: skip


@contextmanager
def resident() -> Iterator[Callable[[], int]]:
    """Measure by how much this process grows, after it has returned all free memory to the system."""
    import pyarrow as pa

    gc.collect()
    pa.default_memory_pool().release_unused()
    ctypes.CDLL(None).malloc_trim(0)
    before = kilobytes("VmRSS")
    restart_peak()
    yield lambda: (kilobytes("VmHWM") - before) * 1024


def restart_peak() -> None:
    """Reset the kernel's record of this process's peak resident memory (Linux)."""
    Path("/proc/self/clear_refs").write_text("5")


def kilobytes(field: str) -> int:
    """Return a figure of this process from the kernel, as VmRSS or VmHWM (Linux)."""
    status = Path("/proc/self/status").read_text()
    (line,) = [line for line in status.splitlines() if line.startswith(field + ":")]
    return int(line.split()[1])


@contextmanager
def on_gpu() -> Iterator[Callable[[], int]]:
    """Measure the most bytes that arrays have at a time, besides those made before.

    Every array comes from RMM: a cache would serve some from memory that was freed earlier, and keep that of
    arrays that are gone.
    """
    import cupy
    import rmm.statistics
    from rmm.allocators.cupy import rmm_cupy_allocator

    gc.collect()
    cached = cupy.cuda.get_allocator()
    cupy.cuda.set_allocator(partial(rmm_cupy_allocator))  # itself would be replaced by the cache
    try:
        with rmm.statistics.statistics():
            yield lambda: int(rmm.statistics.get_statistics().peak_bytes)
    finally:
        cupy.cuda.set_allocator(cached)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print a table, or, as a child, JSON."""
    parser = argparse.ArgumentParser(prog="bench estimates", description=__doc__)
    parser.add_argument("--engine", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--scale", type=int, default=1, help="factor of the edges and vertices")
    parser.add_argument("--kinds", nargs="+", choices=KINDS, help="kinds of ids; by default all")
    parser.add_argument("--child", choices=KINDS, help=argparse.SUPPRESS)
    asked = parser.parse_args(arguments)
    if asked.child:
        print(json.dumps(child(asked.child, asked.engine, asked.scale)))
        return 0
    rows = []
    for kind in asked.kinds or (KINDS if asked.engine == "cpu" else ON_GPUS):
        rows += [
            [kind, f"{row['edges']:,}", str(row["directed"]), str(row["weighted"]),
             *in_mebibytes(row["told"], row["taken"]), f"{row['taken'] / row['kept']:.2f}"]
            for row in measure(kind, asked.engine, asked.scale)
        ]  # fmt: skip
    columns = ["ids", "edges", "directed", "weighted", "told, MiB", "taken, MiB", "told / taken",
               "taken / kept"]  # fmt: skip
    print(Table("Peak memory of builds", columns, rows).markdown(), end="")
    return 0
