"""PageRank's superstep over the CSC, CuSha's G-Shards and its Concatenated Windows, by size of the shards."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from unittest.mock import patch

import numpy as np

import cugraph_ws as ws
from bench.gpu.cases import Case
from bench.timing import Section
from cugraph_ws.accelerators.gshards import arc_shards
from cugraph_ws.runtime.device import as_host, device

__all__ = ["SIZES", "Look", "layouts", "look", "rows_of"]

SUPERSTEPS = 20
OFF = 1e-5  # allowed relative difference of ranks: sums of float32 in another order
# (KiB of shared memory of a shard, threads of a block); shared memory and registers limit the blocks per
# multiprocessor
SIZES = ((24, 128), (24, 256), (48, 256), (48, 384), (96, 256), (96, 384))
COLUMNS = (
    "layout", "KiB", "threads", "arcs/shard", "shards", "slots/arc", "by source", "B/arc", "made ms",
    "superstep ms", "fill", "gather", "finish", "csc ÷",
)  # fmt: skip


@dataclass
class Look:
    """The measurements of a layout.

    Attributes
    ----------
    layout : str
    shared, threads : int
        Bytes of shared memory of a shard, and threads of a block; 0 for the CSC.
    superstep : list of float
        Milliseconds of a superstep in each run, by the host's clock.
    parts : dict of str to list of float
        Milliseconds of each launch of a superstep, by events.
    made : float
        Milliseconds in which the layout was made from the CSC.
    shards : Shards or None
    off : float
        Greatest relative difference of a rank from the CSC's.
    """

    layout: str
    shared: int = 0
    threads: int = 0
    superstep: list[float] = field(default_factory=list)
    parts: dict[str, list[float]] = field(default_factory=dict)
    made: float = 0.0
    shards: Any = None
    off: float = 0.0


def layouts(case: Case, section: Section, repeats: int) -> None:
    """Time supersteps over every layout and size; print one table."""
    graph = case.graph()
    found: list[Look] = []
    expected = None
    for layout, shared, threads in (
        ("csc", 0, 0),
        *(
            (layout, size << 10, block)
            for layout in ("gshards", "windows")
            for size, block in SIZES
        ),
    ):
        one = section.attempt(
            f"{layout}, {shared >> 10} KiB, {threads} threads",
            lambda layout=layout, shared=shared, threads=threads, expected=expected: look(
                graph, layout, shared, threads, repeats, events, expected
            ),
        )
        if one is not None:
            found.append(one[0])
            expected = one[1] if expected is None else expected
    arcs = graph.number_of_arcs
    section.table(f"PageRank's superstep by layout, {case.name}", COLUMNS, rows_of(found, arcs))
    section.figures["layouts"] = [
        [one.layout, one.shared, one.threads, statistics.median(one.superstep)] for one in found
    ]
    section.keep()


def look(
    graph: ws.Graph,
    layout: Any,
    shared: int,
    threads: int,
    repeats: int,
    clock: Callable[[Callable[[], None]], Callable[[], float]],
    expected: Any = None,
) -> tuple[Look, Any]:
    """Run supersteps over a layout.

    Parameters
    ----------
    graph : Graph
    layout : {"csc", "gshards", "windows"}
    shared, threads : int
        Bytes of shared memory of a shard, and threads of a block.
    repeats : int
        Runs that count, after one that does not.
    clock : callable
        Runs a launch, and returns a function of its milliseconds, to be called when all is done.
    expected : ndarray, optional
        Ranks to compare with.

    Returns
    -------
    look : Look
    ranks : ndarray

    Raises
    ------
    AssertionError
        If a rank is off.
    """
    found = Look(layout, shared, threads)
    with _sized(found):
        ranks = _run(graph, found).frame["pagerank"]
        ranks = np.asarray(
            as_host(ranks.to_cupy() if hasattr(ranks, "to_cupy") else ranks.to_numpy())
        )
        if expected is not None:
            found.off = float((np.abs(ranks - expected) / expected).max(initial=0.0))
            assert found.off <= OFF, f"ranks are off by {found.off:.2g}"
        for _ in range(repeats):
            result = _run(graph, found)
            found.superstep.append(sum(result.rows.milliseconds) / result.iterations)
        if layout != "csc":
            laid = graph.on_device()
            found.shards = laid._layouts[layout][1]
            with _clocked(found, clock):
                _run(graph, found)
    return found, ranks


def _run(graph: ws.Graph, found: Look) -> ws.Result:
    layout: Any = found.layout
    return ws.run(
        ws.PageRank, graph, engine="cuda", max_iter=SUPERSTEPS, tol=0.0,
        plan=ws.Plan(layout=layout, shard_bytes=None if layout == "csc" else found.shared),
    )  # fmt: skip


@contextmanager
def _sized(found: Look) -> Iterator[None]:
    """Set the threads of a block, and time the making of shards."""
    real = arc_shards.make

    def make(*arguments: Any, **options: Any) -> Any:
        device().synchronize()
        begun = time.perf_counter()
        made = real(*arguments, **options)
        device().synchronize()
        found.made = 1e3 * (time.perf_counter() - begun)
        return made

    if found.layout == "csc":
        yield
        return
    with (
        patch.object(arc_shards, "BLOCK", found.threads),
        patch.object(arc_shards, "make", make),
    ):
        yield


@contextmanager
def _clocked(
    found: Look, clock: Callable[[Callable[[], None]], Callable[[], float]]
) -> Iterator[None]:
    """Time each launch of each superstep."""
    real = arc_shards.Launches.__call__
    told: dict[str, list[Callable[[], float]]] = {}

    def launch(launches: arc_shards.Launches) -> None:
        names = ("fill", "gather", "finish")[-len(launches.each) :]
        for name, one in zip(names, launches.each, strict=True):
            told.setdefault(name, []).append(clock(one))

    arc_shards.Launches.__call__ = launch  # type: ignore[method-assign]
    try:
        yield
    finally:
        arc_shards.Launches.__call__ = real  # type: ignore[method-assign]
    device().synchronize()
    found.parts = {name: [one() for one in several] for name, several in told.items()}


def events(launch: Callable[[], None]) -> Callable[[], float]:
    """Run a launch between two events of the GPU."""
    import cupy

    before, after = cupy.cuda.Event(), cupy.cuda.Event()
    before.record()
    launch()
    after.record()
    return lambda: float(cupy.cuda.get_elapsed_time(before, after))


def rows_of(found: list[Look], arcs: int) -> list[list[str]]:
    """Return the measurements as rows of a table."""
    base = next((statistics.median(one.superstep) for one in found if one.layout == "csc"), None)
    return [_row(one, arcs, base) for one in found]


def _row(one: Look, arcs: int, base: float | None) -> list[str]:
    median = statistics.median(one.superstep)
    times = [
        f"{statistics.median(one.parts[name]):.3f}" if name in one.parts else ""
        for name in ("fill", "gather", "finish")
    ]
    ratio = "" if base is None else f"{base / median:.2f}"
    if one.shards is None:
        return [one.layout, *[""] * 8, f"{median:.3f}", *times, ratio]
    shards, slots = one.shards, one.shards.slots
    held = 0 if slots is None else len(slots.places)
    return [
        one.layout, str(one.shared >> 10), str(one.threads), str(shards.sizes.capacity),
        str(shards.count), f"{held / max(1, arcs - len(shards.sources)):.2f}",
        f"{len(shards.sources) / arcs:.1%}", f"{shards.nbytes / arcs:.1f}", f"{one.made:.1f}",
        f"{median:.3f}", *times, ratio,
    ]  # fmt: skip
