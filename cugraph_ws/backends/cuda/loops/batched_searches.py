"""Searches with a bit for each on the GPU; see `cugraph_ws.algorithms.batched_searches`.

Arguments and results are as in `cugraph_ws.backends.cpu.loops.batched_searches`, but on the device; the ends of
levels are on the host.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from cugraph_ws.kernels.cuda.layout import PIECE
from cugraph_ws.runtime.device import device
from cugraph_ws.runtime.launch_times import OFFSET, is_profiled, note_bytes

__all__ = ["FusedLevels", "add_to_vertices", "counts", "memory"]

Array = Any  # CuPy's
Ends = npt.NDArray[np.int64]

BLOCK = 256
BITS, WORD = 64, 8  # searches of a batch, and the bytes of a bit for each
# As in kernels/cuda/word_searches.py; CONTROL is a length
LEVELS, BEGIN, END, CONTROL = 0, 1, 2, 12
# Vertices of the levels of a launch: so many times all, or at most so many; all at least
TIMES, ROOM = 4, 1 << 22
MOST_LEVELS = 1 << 12  # of a launch, between two looks


def memory(vertices: int, arcs: int) -> int:
    """Return the bytes of levels of a whole graph, beside the words of what is reached, and of the frontier."""
    queued = 12 * (vertices + arcs // PIECE)
    last, counted = 16 * vertices, 8 * (BITS + 1) * MOST_LEVELS
    return 8 * vertices + 16 * _room(vertices) + queued + last + counted


def _room(vertices: int) -> int:
    """Return how many vertices the levels of a launch have at most."""
    return max(vertices, min(TIMES * vertices, ROOM))


class FusedLevels:
    """Levels of a whole graph, many in one launch.

    Parameters
    ----------
    rows : Rows
        Rows of the neighbours to which searches go on.
    reached : array of int64, shape (size,)
        Bits of the searches that have reached a vertex.
    front : array of int64, shape (size,)
        Bits of the searches whose frontier a vertex is in, else 0; a call leaves those of its last level.
    """

    def __init__(self, rows: Any, reached: Array, front: Array) -> None:
        gpu, size, arcs = device(), len(reached), len(rows.indices)
        xp = gpu.xp
        self._rows, self._marks = rows, front
        self._words = reached, front, xp.empty(size, np.int64)
        pieces = size + arcs // PIECE
        self._queue = xp.empty(pieces, rows.indices.dtype), xp.empty(pieces, np.int32)
        room = _room(size)
        self._vertices, self._found = xp.empty(room, np.int64), xp.empty(room, np.int64)
        self._ends = xp.empty(MOST_LEVELS, np.int64)
        self._limits = MOST_LEVELS, room, size
        self._items = max(size, arcs)

    def run(self, frontier: Array) -> tuple[Ends, Array, Array, Array]:
        """Search on from a frontier while there is room for levels; what is returned is valid until the next call."""
        gpu = device()
        control = gpu.xp.zeros(CONTROL, np.int64)
        gpu.module("word_searches").prepare_together(
            "follow_levels", self._items, BLOCK, (self._rows.offsets, self._rows.indices), self._words, self._queue,
            frontier, len(frontier), self._vertices, self._found, self._ends, self._limits, control,
        )()  # fmt: skip
        numbers = gpu.to_host(control)
        levels, begin, end = (int(numbers[place]) for place in (LEVELS, BEGIN, END))
        if is_profiled():
            self._note(frontier, begin, end)
        following = self._vertices[begin:end].copy()
        self._marks[following] = self._found[begin:end]
        ends = gpu.to_host(self._ends[:levels])
        return ends, self._vertices[:end], self._found[:end], following

    def _note(self, frontier: Array, begin: int, end: int) -> None:
        """Note the bytes of levels: their vertices, and the arcs of all but the last."""
        offsets, index = self._rows.offsets, self._rows.indices.itemsize
        arcs = sum(
            int((offsets[spreading + 1] - offsets[spreading]).sum())
            for spreading in (frontier, self._vertices[:begin])
        )
        vertices = len(frontier) + end
        # Of an arc the neighbour and what has reached it; of a vertex its place in the lists, marks, bits and row
        note_bytes(arcs * (index + WORD) + vertices * (4 * WORD + 2 * OFFSET), vertices * 6 * WORD)


def counts(words: Array, ends: Ends, width: int) -> Ends:
    """Return how many vertices of each level each of the first searches reaches."""
    gpu = device()
    totals = gpu.xp.zeros(BITS * len(ends), np.int64)
    note_bytes(WORD * len(words))
    if len(words):
        gpu.module("word_searches").launch(
            "count_levels", gpu.blocks_for(len(words), BLOCK), BLOCK, words, len(words), gpu.xp.asarray(ends), len(ends),
            totals,
        )  # fmt: skip
    counted: Ends = gpu.to_host(totals).reshape(-1, BITS)[:, :width]
    return counted


def add_to_vertices(
    vertices: Array, words: Array, ends: Ends, first: int, sums: tuple[Array, Array, Array]
) -> None:
    """Add what each level reaches to three sums by vertex."""
    gpu = device()
    note_bytes(5 * WORD * len(words), 3 * WORD * len(words))
    if len(words):
        gpu.module("word_searches").prepare_together(
            "add_levels", len(words), BLOCK, vertices, words, gpu.xp.asarray(ends), len(ends), first, *sums,
        )()  # fmt: skip
