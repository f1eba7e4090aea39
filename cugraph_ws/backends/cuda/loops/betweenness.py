"""Levels of a search from several sources on a single GPU; see `cugraph_ws.algorithms.betweenness`."""

from __future__ import annotations

from typing import Any

import numpy as np

from cugraph_ws.backends.cuda.loops import folds
from cugraph_ws.partition.part import Part
from cugraph_ws.runtime.device import device
from cugraph_ws.runtime.launch_times import OFFSET, is_profiled, note_bytes

__all__ = ["LONG", "ByEntries", "ByRows", "batches_at_once", "has_short_rows"]

Array = Any  # CuPy's

WARP = 32
# A thread for an entry:
BLOCK = 1024
LEVEL, PATHS = 4, 8  # bytes of a level or an entry of the stack, and of a number of paths
LONG = 256  # arcs of a row that a thread reads alone, at most
LEVELS = 1024  # levels that a launch finds, at most
FEW = 1 << 16  # entries of a level that a launch goes on from, however small the graph
PART = 8  # as many as 1 / PART of the vertices and arcs, for each 32 sources
ENTRY = 48  # bytes by vertex and source, those of the caller's temporary arrays included
# A warp for a row:
THREADS = 512  # as MOST in kernels/cuda/path_rows.py; sums are in the order of those of `folds`
MANY = 32  # a level with fewer than 1 / MANY of the arcs lists the vertices that it may reach
SIZES = 5  # counters of a level
ROOM = 64  # levels whose counters are allocated at once


def has_short_rows(part: Part) -> bool:
    """Return whether no row is long, in either direction."""
    gpu = device()
    if not part.owned or not len(part.csc.indices):
        return False
    rows = [part.csc, part.csr] if part.directed else [part.csc]
    longest = max(int(gpu.to_host(gpu.xp.diff(adjacency.offsets).max())) for adjacency in rows)
    return longest <= LONG


def batches_at_once(part: Part, width: int, most: int) -> int:
    """Return how many batches of a width are searched in one, `most` at most.

    They take half of the free memory at most, unless it is one.
    """
    room = device().free_memory() // 2 // (ENTRY * width * max(part.size, 1))
    return max(1, min(most, int(room)))


def _long_rows(rows: tuple[Array, Array]) -> Array:
    """Return the rows that blocks read."""
    xp = device().xp
    return xp.flatnonzero(xp.diff(rows[0]) > folds.LONG)


class ByRows:
    """The levels of a batch of sources, and the paths to their vertices: a few launches for each level.

    Parameters
    ----------
    part : Part
        Of a whole graph.
    starts : array of int64
        Positions of the sources; 32 at most.
    high, low : float
        As for `ByEntries`.
    """

    def __init__(self, part: Part, starts: Array, high: float, low: float) -> None:
        self._device, self._part, self._bounds = device(), part, (high, low)
        xp, size, count = self._device.xp, part.size, len(starts)
        self._ins = part.csc.offsets, part.csc.indices
        self._outs = (part.csr.offsets, part.csr.indices) if part.directed else self._ins
        columns = xp.arange(count)
        self.levels = xp.full((size, count), -1, np.int32)
        self.levels[starts, columns] = 0
        self.paths = xp.zeros((size, count))
        self.paths[starts, columns] = 1.0
        self._masks = [xp.zeros(size, np.uint32) for _ in range(3)]
        self._masks[0][starts] = xp.left_shift(np.uint32(1), columns.astype(np.uint32))
        self._stack = xp.empty(size * count, np.int32)
        self._stack[:count] = starts
        self._ends = [0, count]
        self._even = xp.ones(WARP)
        self._scales: dict[int, Array] = {}
        self._count()

    def rows(self, group: int) -> int:
        """Return the number of vertices in all levels, once for each level."""
        return self._ends[-1]

    def _count(self) -> None:
        """Find levels until one is empty."""
        gpu, xp, size = self._device, self._device.xp, self._part.size
        columns, arcs = self.levels.shape[1], len(self._outs[1])
        state = self.levels.reshape(-1), self.paths.reshape(-1)
        visited, readers = self._masks[0].copy(), xp.empty(size, np.int32)
        stamps, longs = xp.zeros(size, np.int32), _long_rows(self._ins)
        going, longest = arcs, 0  # arcs out of a level, and the most of a vertex
        while self._ends[-1] > self._ends[-2]:
            depth = len(self._ends) - 2
            if depth % ROOM == 0:
                sizes = xp.zeros(ROOM * SIZES, np.int64)
            first = depth % ROOM * SIZES
            now, (begin, end) = sizes[first : first + SIZES], self._ends[-2:]
            front, after, before = self._turned(depth)
            listed = going * MANY < arcs and longest <= folds.LONG
            most = min(going, size) if listed else size
            if listed:
                self._launch(
                    "list_readers", (end - begin) * WARP, self._outs, front, visited, stamps,
                    self._stack, begin, end, depth, readers, now,
                )  # fmt: skip
            self._launch(
                "count_level", max(most, len(longs)) * WARP, self._ins, columns, state,
                (front, after), visited, depth, stamps, readers, size, int(listed), longs, len(longs),
                folds.LONG, self._bounds[0], now,
            )  # fmt: skip
            past = self._ends[-3] if depth else begin
            self._launch(
                "list_level", most, self._outs[0], (after, before), visited, self._stack,
                (past, begin, end), readers, size, int(listed), now,
            )  # fmt: skip
            count, over, going, longest, _ = gpu.to_host(now).tolist()
            self._ends.append(end + count)
            if over:
                self._scale(depth + 1)
        self._ends.pop()

    def _turned(self, turn: int) -> tuple[Array, Array, Array]:
        """Return the bits of a level, and of the next one in the direction of the search, and room."""
        front, after, room = (self._masks[(turn + step) % 3] for step in range(3))
        return front, after, room

    def _scale(self, level: int) -> None:
        """Divide the numbers of paths of a level by the greatest of their column, if that is high."""
        xp, (high, low) = self._device.xp, self._bounds
        rows = self._stack[self._ends[level] : self._ends[level + 1]]
        at, paths = self.levels[rows] == level, self.paths[rows]
        top = xp.where(at, paths, 0.0).max(axis=0)
        scale = xp.where(top < high, 1.0, top)
        self.paths[rows] = xp.where(at, xp.maximum(paths / scale, low), paths)
        self._scales[level] = scale

    def depend(self) -> tuple[Array, Array]:
        """Return the dependency of each source on each vertex but sources, and shares of a path."""
        xp = self._device.xp
        dependency, shares = xp.zeros(self.paths.shape), xp.zeros(self.paths.shape)
        state = tuple(array.reshape(-1) for array in (self.levels, self.paths, shares, dependency))
        for mask in self._masks:
            mask.fill(0)
        longs = _long_rows(self._outs)
        ends = [*self._ends, self._ends[-1], self._ends[-1]]
        for level in range(len(self._ends) - 2, 0, -1):
            self._launch(
                "depend_level", (ends[level + 1] - ends[level]) * WARP, self._outs, self.levels.shape[1],
                state, self._turned(-level), self._stack,
                (ends[level], ends[level + 1], ends[level + 2], ends[level + 3]), level,
                self._scales.get(level, self._even), longs, len(longs), folds.LONG,
            )  # fmt: skip
        return dependency, shares

    def _launch(self, name: str, items: int, *arguments: Any) -> None:
        """Launch a kernel with a thread for each item."""
        grid = self._device.blocks_for(items, THREADS)
        self._device.module("path_rows").launch(name, grid, THREADS, *arguments)


class ByEntries:
    """The levels of a batch of sources, and the paths to their vertices: many levels in one launch.

    Parameters
    ----------
    part : Part
        Of a whole graph without long rows.
    starts : array of int64
        Positions of the sources.
    high : float
        If a number of paths reaches it, those of the same level and source are divided by the
        greatest among them.
    low : float
        Quotients below it are raised to it.

    Attributes
    ----------
    levels : array of int32, shape (size, len(starts))
        −1 if not reached.
    paths : array of float64, shape (size, len(starts))
        Numbers of paths, divided by a number for each level and source.
    crowded : bool
        Whether a level has so many entries that `ByRows` is faster; the rest is not found then.
    """

    def __init__(self, part: Part, starts: Array, high: float, low: float) -> None:
        self._device, self._part, self._bounds = device(), part, (high, low)
        self._scales: list[Array] = []
        xp, size, count = self._device.xp, part.size, len(starts)
        self._ins = part.csc.offsets, part.csc.indices
        self._outs = (part.csr.offsets, part.csr.indices) if part.directed else self._ins
        self._columns = count
        columns = xp.arange(count)
        self.levels = xp.full((size, count), -1, np.int32)
        self.levels[starts, columns] = 0
        self.paths = xp.zeros((size, count))
        self.paths[starts, columns] = 1.0
        self._stack = xp.empty(size * count, np.int32)
        self._stack[:count] = starts * count + columns
        self._ends = [0, count]
        arcs = len(self._ins[1]) + (len(self._outs[1]) if part.directed else 0)
        self._most = max(FEW, (size + arcs) * count // WARP // PART)
        self.crowded = False
        self._count()

    def rows(self, group: int) -> int:
        """Return the number of vertices in all levels, once for each level and group of sources."""
        gpu, size = self._device, self._part.size
        if not size:
            return 0
        total = gpu.xp.zeros(1, np.int64)
        gpu.module("betweenness").launch(
            "count_rows", gpu.blocks_for(size * WARP, THREADS), THREADS, self.levels.reshape(-1), size,
            self._columns, group, total,
        )  # fmt: skip
        return int(gpu.to_host(total)[0])

    def _count(self) -> None:
        """Find levels until one is empty."""
        gpu, xp, columns = self._device, self._device.xp, self._columns
        paths = self.paths.reshape(-1)
        while self._ends[-1] > self._ends[-2]:
            if self._ends[-1] - self._ends[-2] > self._most:
                self.crowded = True
                return
            ends = xp.zeros(LEVELS + 2, np.int64)
            ends[:2] = xp.asarray(np.array(self._ends[-2:], np.int64))
            scales = xp.ones(LEVELS * columns, np.float64)
            gpu.module("betweenness").prepare_together(
                "count_paths", BLOCK * gpu.multiprocessors, BLOCK, self._ins, self._outs,
                int(not self._part.directed), columns, self.levels.reshape(-1),
                (paths, paths.view(np.int64)), self._stack, ends, (scales, scales.view(np.int64)),
                xp.zeros(6, np.int64), len(self._ends) - 2, LEVELS, self._most,
                *self._bounds,
            )()  # fmt: skip
            level_ends = [end for end in gpu.to_host(ends)[2:].tolist() if end]
            self._ends += level_ends
            self._scales.append(scales[: columns * len(level_ends)])
        self._ends.pop()

    def depend(self) -> tuple[Array, Array]:
        """Return the dependency of each source on each vertex, and their shares of a path."""
        gpu, xp = self._device, self._device.xp
        dependency, shares = xp.zeros(self.paths.shape), xp.zeros(self.paths.shape)
        gpu.module("betweenness").prepare_together(
            "add_dependencies", BLOCK * gpu.multiprocessors, BLOCK, self._outs, self._columns,
            self.levels.reshape(-1), self.paths.reshape(-1), shares.reshape(-1),
            dependency.reshape(-1), self._stack, xp.asarray(np.array(self._ends, np.int64)),
            xp.concatenate(self._scales), len(self._ends) - 1,
        )()  # fmt: skip
        if is_profiled():
            self._note()
        return dependency, shares

    def _note(self) -> None:
        """Note a neighbour and its level for each arc, thrice in a directed graph, else twice; and the entries.

        Paths and shares are read along shortest paths alone: at least one of each for an entry.
        """
        ways = (self._ins, self._outs) if self._part.directed else (self._ins,)
        entries = self._ends[-1]
        vertices = self._stack[:entries] // self._columns
        for offsets, indices in (*ways, self._outs):
            arcs = int(self._device.xp.diff(offsets)[vertices].sum())
            note_bytes(arcs * (indices.itemsize + LEVEL) + entries * (2 * OFFSET + LEVEL))
        note_bytes(self.levels.nbytes + entries * 4 * PATHS, entries * (2 * LEVEL + 3 * PATHS))
