"""Peaks of memory, of the process (Linux) and of a GPU; those of builds beside what `ws.estimate_memory` predicts.

Graphs with each kind of ids are built one by one in a new process.  The peak is that of resident memory, from the
frame in memory to the CSC.  glibc keeps freed arrays below 32 MiB, up to as much as is in use;
`MALLOC_MMAP_THRESHOLD_` makes it return those above 64 KiB to the system, as it does with the arrays of larger
graphs.  Run as a module with a kind of ids, this file is that process.
"""

from __future__ import annotations

import ctypes
import gc
import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import cugraph_ws as ws
from bench.children import in_new_process

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


def measure(kind: str) -> list[dict[str, Any]]:
    """Build the shapes with a kind of ids in a new process; return predicted and measured bytes."""
    rows: list[dict[str, Any]] = json.loads(in_clean_process("bench.cpu.estimates", kind)[-1])
    return rows


def in_clean_process(module: str, *words: str) -> list[str]:
    """Return the lines that a module prints in a new process, which returns freed arrays to the system."""
    return in_new_process(module, *words, MALLOC_MMAP_THRESHOLD_=str(1 << 16))


def in_mebibytes(told: int, taken: int) -> list[str]:
    """Return the cells of a table: MiB that are told and taken, and the one ÷ the other."""
    ratio = f"{told / taken:.2f}" if taken else "none taken"
    return [f"{told / 2**20:.1f}", f"{taken / 2**20:.1f}", ratio]


def edges(kind: str, rows: int, vertices: int, weighted: bool) -> Any:
    """Return an edge frame, with one or more columns for an end, by the kind of ids."""
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


def child(kind: str) -> list[dict[str, Any]]:
    """Build every shape with a kind of ids in this process."""
    build(kind, 1000, 100, True, True)  # loads all code that building needs
    build(kind, 1000, 100, False, False)
    build(kind, 100_000, 50_000, True, False)
    return [{"ids": kind, **build(kind, *shape)} for shape in SHAPES[kind]]


def build(kind: str, rows: int, vertices: int, directed: bool, weighted: bool) -> dict[str, Any]:
    """Build a graph; return the predicted peak, the measured peak, and the bytes kept."""
    frame = edges(kind, rows, vertices, weighted)
    source, destination = names_of(frame, "source"), names_of(frame, "destination")
    columns = {"source": source, "destination": destination, "weight": "w" if weighted else None}
    estimate = ws.estimate_memory(frame, **columns, directed=directed)
    with resident() as measured:
        graph = ws.Graph(frame, **columns, directed=directed)
        assert graph.csc.number_of_arcs
        peak = measured()
    bytes_of_graph = graph.report.bytes
    graph.close()
    return {
        "edges": rows, "directed": directed, "weighted": weighted, "told": estimate.peak, "taken": peak,
        "csc": estimate.csc, "kept": estimate.csc + estimate.values + estimate.numbering, "held": bytes_of_graph,
    }  # fmt: skip


@contextmanager
def resident() -> Iterator[Callable[[], int]]:
    """Measure by how much this process grows, after it has returned all free memory to the system."""
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


if __name__ == "__main__":
    print(json.dumps(child(sys.argv[1])))
