"""Levels of a layout and moves of their vertices on the GPU; see `cugraph_ws.pictures.forces`.

Arguments and results are as in `cugraph_ws.backends.cpu.loops.layout`, but on the device, and weights are int64, in
`UNIT`: sums of them do not depend on the order of additions.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from cugraph_ws.backends.cuda.loops.louvain import components_within, merged
from cugraph_ws.kernels.cuda.force_layout import CONTROLS, PARTS, STEP, THREADS
from cugraph_ws.partition.neighbourhoods import flattened, row_numbers
from cugraph_ws.runtime.arrays import as_host
from cugraph_ws.runtime.bins import bin_counts, bin_sums
from cugraph_ws.runtime.device import Prepared, device
from cugraph_ws.runtime.looks import look

__all__ = ["UNIT", "Components", "coarser", "relax"]

Array = Any  # CuPy's
Rows = tuple[Array, Array, Array]

BLOCK = 128
FEW = 1024  # vertices of a level that one block moves by itself; of a component, that a CPU moves sooner than a GPU
MOST = 2**30  # vertices, of which there are up to twice as many nodes, in 32 bits
UNIT = 2.0**-24  # of weights, whose mean is 1 in the finest graph
ROUNDS = 6  # of proposals


class Components:
    """The connected components of a graph, the largest first; rows of small ones are on the host.

    Parameters and attributes are as on the CPU, but the rows are on the device.
    """

    def __init__(self, offsets: Array, indices: Array, weights: Array | None) -> None:
        xp, size = device().xp, len(offsets) - 1
        alike = xp.ones(len(indices), np.int64)
        sources = row_numbers(xp, offsets, len(indices))
        firsts = components_within((offsets, indices, alike), sources, xp.zeros(size, np.int64))
        sizes = xp.take(bin_counts(firsts, size), firsts)
        order = xp.argsort((size - sizes) * size + firsts, kind="stable")
        begins = xp.flatnonzero(xp.take(firsts, order) == order)  # its first vertex is the least
        self.order = as_host(order)
        self.starts = np.append(as_host(begins), size)
        place = xp.empty(size, np.int64)
        place[order] = xp.arange(size)
        self._offsets, self._sources, arcs = flattened(
            xp, xp.take(offsets, order), xp.take(xp.diff(offsets), order)
        )
        self._indices = xp.take(place, xp.take(indices, arcs))
        self._weights = xp.full(len(indices), int(1 / UNIT), np.int64)
        if weights is not None:
            self._weights = xp.rint(xp.take(weights, arcs) / UNIT).astype(np.int64)
        self._small: tuple[int, Rows] | None = None

    def rows(self, lo: int, hi: int) -> tuple[Rows, float | None]:
        """Return the rows of the vertices order[lo:hi]; without a unit, they are on the host."""
        if FEW < hi - lo < MOST:
            return _cut(self._rows, lo, hi), UNIT
        if self._small is None:  # what comes after is no larger
            offsets, indices, weights = map(as_host, _cut(self._rows, lo, len(self.order)))
            self._small = lo, (offsets, indices, weights * UNIT)
        first, rows = self._small
        return _cut(rows, lo - first, hi - first), None

    @property
    def _rows(self) -> Rows:
        return self._offsets, self._indices, self._weights

    def mean_length(self, laid: npt.NDArray[np.float64]) -> float:
        """Return the mean length of edges."""
        xp = device().xp
        x, y = map(xp.asarray, laid.T.copy())
        squares = (
            (xp.take(part, self._sources) - xp.take(part, self._indices)) ** 2 for part in (x, y)
        )
        return float(xp.sqrt(sum(squares)).mean())


def _cut(rows: Rows, lo: int, hi: int) -> Rows:
    """Return the rows lo to hi of whole components, numbered from 0."""
    offsets, indices, weights = rows
    first, last = int(offsets[lo]), int(offsets[hi])
    return offsets[lo : hi + 1] - first, indices[first:last] - lo, weights[first:last]


def coarser(rows: Rows, masses: Array) -> tuple[Array, Rows, Array]:
    """Group vertices with their neighbours."""
    xp, size = device().xp, len(masses)
    mates, proposals = xp.full(size, -1, np.int64), xp.empty(size, np.int64)
    for _ in range(ROUNDS):
        look()
        _launch("propose_mates", rows, masses, mates, proposals, size=size, lanes=32)
        _launch("accept_mates", proposals, mates, size=size)
    leaders = proposals
    _launch("join_groups", rows, masses, mates, leaders, size=size, lanes=32)
    numbers = xp.cumsum(leaders == xp.arange(size)) - 1
    group, count = xp.take(numbers, leaders), int(numbers[-1]) + 1
    sources = row_numbers(xp, rows[0], len(rows[1]))
    contracted = merged(rows, sources, group, count, weighted=True)
    return group, contracted, bin_sums(group, masses, count)


def relax(
    rows: Rows, masses: Array, positions: tuple[Array, Array], step: float, iterations: int
) -> None:
    """Move vertices by the forces between them."""
    gpu, xp, size = device(), device().xp, len(masses)
    control = xp.zeros(CONTROLS)
    force = xp.zeros(size), xp.zeros(size)
    begins = xp.asarray([step, math.inf, 0.0])
    if size <= FEW:
        control[STEP:] = begins
        _launch(
            "relax_few", rows, np.float64(UNIT), positions, masses, force, control, np.int64(iterations),
            size=size, module="force_layout", blocks=1, block=THREADS,
        )  # fmt: skip
        return
    codes, terms = xp.empty(size, np.int64), xp.zeros(4 * (size + 1), np.int64)
    sums = xp.empty_like(terms)
    ordered = tuple(xp.empty(size) for _ in range(3))
    ranges, cells = xp.empty(6 * size, np.int32), xp.empty(8 * size)
    folding = gpu.blocks_for(size, THREADS)
    parts = xp.empty(PARTS * folding)

    def prepared(name: str, *arguments: Any, lanes: int = 1) -> Prepared:
        blocks = gpu.blocks_for(lanes * size, BLOCK)
        return gpu.module("force_layout").prepare(name, blocks, BLOCK, *arguments, np.int64(size))

    write_codes = prepared("write_codes", positions, control, codes)
    order = prepared("order_vertices", codes, positions, masses, control, ordered, terms)
    build = prepared("write_nodes", codes, sums, control, ranges, cells)
    repel = prepared("repel", codes, ordered, sums, ranges, cells, *force)
    attract = prepared("attract", rows, np.float64(UNIT), positions, *force, lanes=32)
    module = gpu.module("force_layout")
    move = module.prepare(
        "move_vertices", folding, THREADS, positions, *force, masses, control, parts, np.int64(size)
    )
    choose = module.prepare("prepare_move", 1, THREADS, parts, control, np.int64(folding))
    move()  # nowhere, without forces: this finds the extent
    choose()
    control[STEP:] = begins
    for _ in range(iterations):
        look()
        write_codes()
        codes.sort()
        order()
        xp.cumsum(terms, out=sums)
        build()
        repel()
        attract()
        move()
        choose()


def _launch(
    name: str, *arguments: Any, size: int, lanes: int = 1, module: str = "coarsening", blocks: int = 0,
    block: int = BLOCK,
) -> None:  # fmt: skip
    gpu = device()
    blocks = blocks or gpu.blocks_for(lanes * size, block)
    gpu.module(module).launch(name, blocks, block, *arguments, np.int64(size))
