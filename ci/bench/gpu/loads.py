"""Loads of arcs by layout: sectors of global memory and active lanes, counted from addresses.

CuSha's slides report, on average, a global load efficiency of 28, 80 and 78 % for CSR by virtual warps,
G-Shards and Concatenated Windows, and a warp execution efficiency of 34, 89 and 92 %.  Hardware counters
may be unavailable, so each warp's loads are counted here exactly, from the arrays of the layout: for each
load of a warp the distinct sectors of 32 bytes, the distinct bytes that its lanes use, and the active
lanes.  Efficiency is the bytes used ÷ the bytes of the sectors.  Caches are ignored, as by Nsight Compute's
metric of the same name.

Where Nsight Compute is installed and may read counters, it measures the same for whole kernels.  It
profiles this file run as a module: `python -m bench.gpu.loads GRAPH LAYOUT`.

Counted are all loads whose number grows with the arcs: offsets of rows, sources, places and slots of arcs,
and the source value of each arc (4 bytes).  Vertices' own states, and loads made once for each shard, task
or hub's chunk, are left out.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

import cugraph_ws as ws
from bench.gpu.cases import cases
from bench.places import environment
from bench.summaries import read_metric
from bench.timing import Section
from cugraph_ws.accelerators.gshards import arc_shards
from cugraph_ws.backends.cuda import schedule
from cugraph_ws.kernels.cuda.layout import GROUP, GROUP_BITS, NO_PLACE
from cugraph_ws.runtime.device import device

__all__ = ["Loads", "by_layout", "csc_loads", "loads", "shard_loads", "virtual_warp_loads"]

Array = Any  # NumPy's or CuPy's

SECTOR = 32  # bytes
READ = 4  # bytes of the source value of an arc: PageRank's share, in float32
LAYOUTS = ("gshards", "windows")
VIRTUAL = (4, 32)  # lanes
SLIDES = {"virtual": (28.18, 34.48), "gshards": (80.15, 88.90), "windows": (77.59, 91.57)}
METRICS = (  # nvprof's gld_efficiency and warp_execution_efficiency
    "smsp__sass_average_data_bytes_per_sector_mem_global_op_ld.pct",
    "smsp__thread_inst_executed_per_inst_executed.ratio",
)
MEASURED = "layout", "kernel", "load efficiency", "lanes active"
KERNELS = {
    "csc": ("superstep",), "virtual warps of 32": ("virtual_warps",), "gshards": ("gather_shards",),
    "windows": ("fill_slots", "gather_shards"),
}  # fmt: skip
PATIENCE = 60.0  # seconds for one profile
MOST = 1 << 62
COLUMNS = (
    "layout", "loads", "sectors/load", "efficiency", "slides'", "lanes active", "slides'", "B/arc",
)  # fmt: skip
PIECE = 1 << 24  # loads of lanes that are counted at a time


class Loads(NamedTuple):
    """Loads of some arrays by warps.

    Attributes
    ----------
    requests : int
        Loads, each by a warp.
    lanes : int
        Total number of active lanes.
    sectors : int
        Distinct sectors of each load, summed.
    used : int
        Distinct bytes that lanes use of each load, summed.
    """

    requests: int = 0
    lanes: int = 0
    sectors: int = 0
    used: int = 0

    def __add__(self, other: object) -> Loads:
        """Add up."""
        assert isinstance(other, Loads)
        return Loads(*(one + two for one, two in zip(self, other, strict=True)))

    @property
    def efficiency(self) -> float:
        """Bytes used ÷ bytes of the sectors."""
        return self.used / max(1, SECTOR * self.sectors)

    @property
    def active(self) -> float:
        """Mean part of the 32 lanes that is active."""
        return self.lanes / max(1, 32 * self.requests)


def count(xp: Any, request: Array, index: Array, itemsize: int) -> Loads:
    """Count loads.

    Parameters
    ----------
    xp : module
    request : array of int64, shape (loads of lanes,)
        The warp's load to which each lane's load belongs.
    index : array of int, shape (loads of lanes,)
        The loaded element of an array that is aligned to sectors.
    itemsize : int
        Bytes of an element, at most those of a sector.
    """
    if not len(request):
        return Loads()
    index, request = index.astype(np.int64), request.astype(np.int64)
    least = int(index.min()) * itemsize // SECTOR * SECTOR // itemsize
    index, request = index - least, request - request.min()
    base = int(index.max()) + 1
    if int(request.max()) >= MOST // base:
        request = xp.unique(request, return_inverse=True)[1]
    pairs = xp.unique(request * base + index)
    sector = (pairs // base) * base + (pairs % base) * itemsize // SECTOR
    return Loads(_distinct(pairs // base), len(request), _distinct(sector), itemsize * len(pairs))


def _distinct(ascending: Array) -> int:
    return 1 + int((ascending[1:] != ascending[:-1]).sum())


def _most(values: Array) -> int:
    return int(values.max()) if len(values) else 0


def _gathers(xp: Any, indices: Array, arcs: Array, request: Array) -> Loads:
    """Count the loads of arcs' sources, and of the sources' values."""
    source = indices[arcs]
    return count(xp, request, arcs, indices.dtype.itemsize) + count(xp, request, source, READ)


def _pieces(size: int) -> Iterator[tuple[int, int]]:
    for low in range(0, size, PIECE):
        yield low, min(low + PIECE, size)


# ------------------------------------------------------------------------------------- the CSC


def csc_loads(xp: Any, laid: Any) -> Loads:
    """Count the loads of a dense superstep over the CSC, by `kernels/cuda/superstep.py`.

    Parameters
    ----------
    xp : module
    laid : DeviceGraph
    """
    offsets, indices = laid.csc
    owned = len(offsets) - 1
    middle, low = schedule.class_starts(laid, len(indices))
    begins = laid.chunks(middle, schedule.CHUNK)[1]
    bases = xp.arange(low, owned, 32)
    # Threads stride over 32 arcs at a time from where a chunk, a row or 32 rows begin.
    starts = xp.concatenate([begins, offsets[middle:low], offsets[bases]])
    ends = xp.concatenate([starts[1:], offsets[owned : owned + 1]])
    found = _strides(xp, indices, starts.astype(np.int64), ends.astype(np.int64))
    rows = xp.arange(low, -(-(owned - low) // 32) * 32 + low)
    found += count(xp, (rows - low) // 32, xp.minimum(rows, owned), 8)
    found += count(xp, (rows - low) // 32, xp.minimum(rows + 1, owned), 8)
    # A row of the middle class has two words read by all lanes of its warp.
    return found + Loads(
        2 * (low - middle), 64 * (low - middle), 2 * (low - middle), 16 * (low - middle)
    )


def _strides(xp: Any, indices: Array, starts: Array, ends: Array) -> Loads:
    """Count loads of segments of arcs, 32 consecutive ones at a time."""
    found = Loads()
    for low, high in _pieces(len(indices)):
        arcs = xp.arange(low, high)
        segment = xp.searchsorted(starts, arcs, side="right") - 1
        place = (arcs - starts[segment]) >> 5
        groups = (ends - starts + 31) >> 5
        before = xp.cumsum(groups) - groups
        found += _gathers(xp, indices, arcs, before[segment] + place)
    return found


def virtual_warp_loads(xp: Any, laid: Any, lanes: int) -> Loads:
    """Count the loads of a dense superstep by virtual warps: CuSha's and Hong's CSR.

    Parameters
    ----------
    xp : module
    laid : DeviceGraph
    lanes : int
        Of a virtual warp.
    """
    offsets, indices = laid.csc
    owned, each = len(offsets) - 1, 32 // lanes
    found = Loads()
    for low, high in _pieces(len(indices)):
        arcs = xp.arange(low, high)
        row = xp.searchsorted(offsets, arcs, side="right") - 1
        turn = (arcs - offsets[row]) // lanes
        found += _gathers(xp, indices, arcs, (row // each) * (_most(turn) + 1) + turn)
    rows = xp.arange(-(-owned // each) * each)
    for ahead in (0, 1):
        one = count(xp, rows // each, xp.minimum(rows + ahead, owned), offsets.dtype.itemsize)
        found += one._replace(lanes=one.lanes * lanes)
    return found


# ------------------------------------------------------------------------------------ the shards


def shard_loads(xp: Any, laid: Any, shards: Any, threads: int) -> Loads:
    """Count the loads of a dense superstep over shards, by `kernels/accelerators/gshards/arc_shards.py`.

    Parameters
    ----------
    xp : module
    laid : DeviceGraph
    shards : Shards
    threads : int
        Of a block.
    """
    found = _by_source(xp, shards, threads) + _rows(xp, laid, shards, threads)
    if shards.slots is not None:
        found += _filling(xp, laid, shards, threads) + _taking(xp, shards.slots, threads)
    return found


def _by_source(xp: Any, shards: Any, threads: int) -> Loads:
    """Count what `take_sources` loads: four arcs of each thread at a time."""
    found, total, firsts = Loads(), len(shards.sources), shards.firsts
    for low, high in _pieces(total):
        arc = xp.arange(low, high)
        shard = xp.searchsorted(firsts, arc, side="right") - 1
        place = arc - firsts[shard]
        begins = (place // threads) % 4 == 0
        arc, shard, place = arc[begins], shard[begins], place[begins]
        warp = (shard * (_most(place) // 32 + 1) + place // 32) * 4
        last = firsts[shard + 1]
        for ahead in range(4):
            there = arc + ahead * threads
            held = xp.minimum(there, last - 1)  # threads without an arc read the last one again
            found += _gathers(xp, shards.sources, held, warp + ahead)
            inside = there < last
            found += count(xp, warp[inside] + ahead, there[inside], 2)
    return found


def _rows(xp: Any, laid: Any, shards: Any, threads: int) -> Loads:
    """Count the offsets that the fold of whole rows loads: a row for some lanes of a warp each."""
    offsets = laid.csc[0]
    row, after = shards.rows[:-1].copy(), shards.rows[1:].copy()
    stop = xp.minimum((xp.arange(shards.count) + 1) * shards.sizes.capacity, len(laid.csc[1]))
    after -= ((after > row) & (offsets[after] > stop)).astype(np.int64)
    lanes = xp.full(shards.count, 32)
    for _ in range(5):
        lanes = xp.where((lanes > 1) & ((after - row) * lanes > threads), lanes >> 1, lanes)
    rows = xp.arange(int(shards.rows[-1]))
    shard = xp.searchsorted(shards.rows, rows, side="right") - 1
    whole = rows < after[shard]
    rows, shard = rows[whole], shard[whole]
    group = (rows - row[shard]) * lanes[shard] // 32
    request = shard * (_most(group) + 1) + group
    found = Loads()
    for ahead in (0, 1):
        one = count(xp, request, rows + ahead, offsets.dtype.itemsize)
        found += one._replace(lanes=int(lanes[shard].sum()))
    return found


def _four_at_a_time(
    xp: Any, firsts: Array, threads: int, arrays: tuple[tuple[int, int, Array], ...]
) -> Loads:
    """Count loads of ranges, each by a block whose threads take four items at a time, then one.

    `firsts` has the begins of the ranges, and the end of the last one.  `arrays` has for each array that is
    read: the bits by which an item is shifted to get the element, the element's bytes, and an array that
    marks the items that the loop over single items reads, or None for all.

    Threads leave the loop over four items one turn apart.  Then a warp's threads are at the same turn of
    the loop over single items, whichever their items are.
    """
    found, total = Loads(), int(firsts[-1])
    most = _most(firsts[1:] - firsts[:-1]) // threads + 1
    warps = threads // 32
    for low, high in _whole_pieces(device().to_host(firsts), total):
        item = xp.arange(low, high)
        block = xp.searchsorted(firsts, item, side="right") - 1
        place, size = item - firsts[block], firsts[block + 1] - firsts[block]
        turn = place // threads
        fourth = turn % 4
        alone = place + (3 - fourth) * threads >= size
        turn = xp.where(alone, most + fourth, turn)
        request = (block * (most + 4) + turn) * warps + place % threads // 32
        for shift, itemsize, only in arrays:
            read = ... if only is None else xp.flatnonzero(~alone | only[low:high])
            found += count(xp, request[read], item[read] >> shift, itemsize)
    return found


def _filling(xp: Any, laid: Any, shards: Any, threads: int) -> Loads:
    """Count what `fill_slots` loads: windows of sources, then items."""
    slots, width = shards.slots, shards.sizes.width
    windows, firsts, lasts, _ = slots.tasks
    sizes = xp.minimum(width, laid.size - windows.astype(np.int64) * width)
    held = int(sizes.sum())  # 32 consecutive ones at a time, from the beginning of a sector
    found = Loads(
        int((-(-sizes // 32)).sum()), held, int((-(-sizes // (SECTOR // READ))).sum()), READ * held
    )
    bounds = xp.concatenate([firsts, lasts[-1:]])
    mapper = GROUP_BITS, slots.mapper.dtype.itemsize, None
    return found + _four_at_a_time(xp, bounds, threads, ((0, 2, None), mapper))


def _taking(xp: Any, slots: Any, threads: int) -> Loads:
    """Count what `take_slots` loads: places, and what `fill_slots` has written."""
    read = (0, READ, slots.places != NO_PLACE)
    return _four_at_a_time(xp, GROUP * slots.firsts, threads, ((0, 2, None), read))


def _whole_pieces(firsts: Any, total: int) -> Iterator[tuple[int, int]]:
    """Yield ranges that begin and end at one of `firsts`."""
    low = 0
    while low < total:
        cut = int(np.searchsorted(firsts, low + PIECE, side="right")) - 1
        high = int(firsts[cut])
        if high <= low:
            high = int(firsts[int(np.searchsorted(firsts, low, side="right"))])
        yield low, high
        low = high


# ----------------------------------------------------------------------------------- the bench


def by_layout(graph: Any, run: Any) -> dict[str, Loads]:
    """Return the loads of each layout of a graph's arcs.

    Parameters
    ----------
    graph : Graph
    run : callable
        Takes the name of a layout, and makes the layout by a run.
    """
    laid = graph.on_device()
    found = {
        f"virtual warps of {one}": virtual_warp_loads(device().xp, laid, one) for one in VIRTUAL
    }
    found["csc"] = csc_loads(device().xp, laid)
    for name in LAYOUTS:
        run(name)
        found[name] = shard_loads(device().xp, laid, laid._layouts[name][1], arc_shards.BLOCK)
    return found


def loads(case: Any, section: Section, repeats: int) -> None:
    """Count the loads of each layout; measure them with Nsight Compute if possible."""
    graph = case.graph()
    found = by_layout(
        graph,
        lambda name: ws.run(
            ws.PageRank, graph, plan=ws.Plan(layout=name), engine="cuda", max_iter=1, tol=0.0
        ),
    )
    rows = []
    for name, one in found.items():
        theirs = SLIDES.get(name.split()[0])
        rows.append(
            [
                name, f"{one.requests:,}", f"{one.sectors / max(1, one.requests):.2f}",
                f"{one.efficiency:.1%}", "" if theirs is None else f"{theirs[0]:.1f}%",
                f"{one.active:.1%}", "" if theirs is None else f"{theirs[1]:.1f}%",
                f"{SECTOR * one.sectors / graph.number_of_arcs:.1f}",
            ]
        )  # fmt: skip
    section.table(f"Loads of arcs, counted from addresses, {case.name}", COLUMNS, rows)
    section.figures["loads"] = {name: list(one) for name, one in found.items()}
    section.keep()
    rows = measured(case.name)
    section.table(f"Loads of kernels, by Nsight Compute, {case.name}", MEASURED, rows)
    section.keep()


def measured(graph: str) -> list[list[str]]:
    """Return Nsight Compute's metrics of each layout's kernels, or one row with the reason why not."""
    if shutil.which("ncu") is None:
        return [["not measured: ncu is not in PATH", "", "", ""]]
    rows = []
    for layout, kernels in KERNELS.items():
        for kernel in kernels:
            try:
                values = look(graph, layout, kernel)
            except (RuntimeError, subprocess.TimeoutExpired) as error:
                return [*rows, [f"not measured: {error}", kernel, "", ""]]
            rows.append([layout, kernel, f"{values[0]:.1f}%", f"{values[1] / 32:.1%}"])
    return rows


def look(graph: str, layout: str, kernel: str) -> list[float]:
    """Return the metrics of one launch of a kernel.

    Raises
    ------
    RuntimeError
        If there are none; with `ncu`'s reason.
    """
    command = [
        "ncu", "--clock-control", "none", "-k", f"regex:{kernel}", "-c", "1", "--metrics", ",".join(METRICS),
        sys.executable, "-m", "bench.gpu.loads", graph, layout,
    ]  # fmt: skip
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=PATIENCE, check=False, env=environment()
    )
    found = [read_metric(done.stdout, metric) for metric in METRICS]
    if all(found):
        return [values[-1] for values in found]
    told = [line for line in (done.stdout + done.stderr).splitlines() if "ERR" in line]
    raise RuntimeError(told[0].strip("= ") if told else "ncu gave no figure")


def _run(graph: ws.Graph, layout: Any) -> None:
    """Run a superstep of PageRank."""
    given = (
        {"plan": ws.Plan(method=f"vwc-{layout.split()[-1]}")}
        if " " in layout
        else {"plan": ws.Plan(layout=layout)}
    )
    ws.run(ws.PageRank, graph, engine="cuda", max_iter=1, tol=0.0, **given)


def main() -> None:
    """Run a superstep on a graph."""
    graph, layout = sys.argv[1:]
    for case in cases([graph], None):
        _run(case.graph(), layout)


if __name__ == "__main__":
    main()
