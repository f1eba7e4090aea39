"""How much memory a graph takes, told before it is built."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import psutil

from cugraph_ws.engines.threads import number_of_threads
from cugraph_ws.errors import GraphMemoryError, InputError

__all__ = ["MemoryEstimate", "available_memory", "check_memory", "estimate_memory"]

_LIMIT = "CUGRAPH_WS_MEMORY_LIMIT"
_CGROUP = Path("/sys/fs/cgroup")


@dataclass(frozen=True)
class MemoryEstimate:
    """Bytes that a graph and its construction take; `str()` of it is readable.

    Attributes
    ----------
    input : int
        The columns of the edge frame that are read.
    numbering : int
        Vertex ids, and what it takes to number them.
    csc, csr : int
        One adjacency, and the other where it is another one (0 for an undirected graph).
    values : int
        Weights and attributes, in one order.
    peak : int
        The most at any time until the CSC is built, without the input.
    """

    input: int
    numbering: int
    csc: int
    csr: int
    values: int
    peak: int

    def __str__(self) -> str:
        return (
            f"input {format_bytes(self.input)}, numbering {format_bytes(self.numbering)}, "
            f"CSC {format_bytes(self.csc)}, CSR {format_bytes(self.csr)}, "
            f"values {format_bytes(self.values)}, peak {format_bytes(self.peak)} beside the input"
        )


def estimate_memory(
    edges: Any = None,
    *,
    number_of_edges: int | None = None,
    number_of_vertices: int | None = None,
    weighted: bool = False,
    directed: bool = True,
    attributes: int = 0,
    dense: bool = True,
    engine: Literal["cpu", "cuda"] = "cpu",
) -> MemoryEstimate:
    """Tell how much memory a graph would take.

    Parameters
    ----------
    edges : frame, optional
        An edge frame; only its number of rows is read.
    number_of_edges : int, optional
        Instead of `edges`.
    number_of_vertices : int, optional
        Half the number of edges, where it is not given.
    weighted : bool
        Whether there is a weight column.
    directed : bool
        An undirected edge is stored in both directions.
    attributes : int
        Number of further edge columns.
    dense : bool
        Whether ids are integers of a range not much larger than the edges; others are hashed.
    engine : {"cpu", "cuda"}
        Whose memory: "cuda" tells what a graph takes on a GPU that is built there, whose ids, where
        they are dense, are 0 … n-1.

    Returns
    -------
    MemoryEstimate

    Raises
    ------
    InputError
        If neither `edges` nor `number_of_edges` is given, a number is negative, or there is no such
        engine.
    """
    if engine not in ("cpu", "cuda"):
        raise InputError(f"engine={engine!r}: choose one of 'cpu', 'cuda'")
    if edges is not None:
        from cugraph_ws.frames import open_frame

        number_of_edges = len(open_frame(edges, "edges", on_device=True))
    if number_of_edges is None:
        raise InputError("estimate_memory: give edges=, a frame, or number_of_edges=")
    if number_of_vertices is None:
        number_of_vertices = number_of_edges // 2
    for name, value in (
        ("number_of_edges", number_of_edges),
        ("number_of_vertices", number_of_vertices),
        ("attributes", attributes),
    ):
        if value < 0:
            raise InputError(f"{name}={value}: give 0 or more")
    columns = int(weighted) + attributes
    arcs = number_of_edges * (1 if directed else 2)
    index = 4 if number_of_vertices < 2**31 else 8
    given = number_of_edges * 8 * (2 + columns)
    if engine == "cuda":
        return _on_device(number_of_edges, number_of_vertices, columns, given, directed, dense)
    adjacency = arcs * index + 8 * (number_of_vertices + 1)
    values = arcs * 8 * columns
    numbering = 8 * number_of_vertices + (0 if dense else 4 * index * number_of_edges)
    cursors = min(8 * number_of_vertices * number_of_threads(), 2 * arcs + 8 * number_of_vertices)
    peak = numbering + 2 * adjacency + values + (8 * arcs if columns else 0) + 2 * cursors
    return MemoryEstimate(
        input=given,
        numbering=numbering,
        csc=adjacency,
        csr=adjacency if directed else 0,
        values=values,
        peak=peak,
    )


def _on_device(
    edges: int, vertices: int, columns: int, given: int, directed: bool, dense: bool
) -> MemoryEstimate:
    """Tell how much memory of a GPU a graph would take."""
    from cugraph_ws.cuda.memory import estimate

    arcs = edges * (1 if directed else 2)
    built = estimate(arcs, vertices, 8 * columns, not directed)
    ids, sorting, numbers = 0, vertices, 0  # one byte for each integer of the range
    if not dense:
        ids = 8 * vertices
        sorting = 17 * edges + 2 * ids  # a copy, its sort's buffer, a mask; the distinct ones
        numbers = 2 * (4 if vertices < 2**31 else 8) * edges
    return MemoryEstimate(
        input=given,
        numbering=built.numbering + ids,
        csc=built.csc,
        csr=built.csr,
        values=built.values,
        peak=max(sorting + numbers, numbers + ids + built.peak),
    )


def available_memory() -> int:
    """Bytes that this process may still take: the machine's, its container's, or the set limit.

    The environment variable `CUGRAPH_WS_MEMORY_LIMIT` sets a limit in bytes.
    """
    limits: list[int] = [psutil.virtual_memory().available]
    asked = os.environ.get(_LIMIT, "")
    if asked.isdigit():
        limits.append(int(asked))
    try:
        allowed = (_CGROUP / "memory.max").read_text("utf-8").strip()
        if allowed.isdigit():
            limits.append(int(allowed) - int((_CGROUP / "memory.current").read_text("utf-8")))
    except (OSError, ValueError):
        pass  # no control group, or one of another version: the machine's figure stands
    return max(0, min(limits))


def check_memory(estimate: MemoryEstimate) -> None:
    """Raise GraphMemoryError if a graph would not fit.

    Parameters
    ----------
    estimate : MemoryEstimate

    Raises
    ------
    GraphMemoryError
        With the estimate and the remedies.
    """
    available = available_memory()
    if estimate.peak > available:
        raise GraphMemoryError(
            f"the graph needs {format_bytes(estimate.peak)} while it is built and "
            f"{format_bytes(available)} are available ({estimate}); leave out weight= and "
            f"attributes=, let the input go with consume=True, or use a larger machine"
        )


def format_bytes(size: float) -> str:
    """Return a size for people: 1.5 MiB."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if size < 1024:
            return f"{size:.0f} B" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1024
    return f"{size:.1f} TiB"
