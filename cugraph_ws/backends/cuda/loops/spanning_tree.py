"""Minimum spanning forests on the GPU; see `cugraph_ws.algorithms.spanning_tree`.

Edges are never all listed or sorted, unless they are few: the forest of light ones comes first, and then
the edges that join two of its trees.  The host waits for a sample of the weights, for the length of each
of the two lists, and for the length of the forest.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from cugraph_ws.partition.part import Part
from cugraph_ws.runtime.device import device
from cugraph_ws.runtime.ordered_words import GREATEST, weight_words

__all__ = ["LIGHT", "Forest", "forest_of_edges", "forest_of_part"]

Array = Any  # CuPy's

BLOCK = 256
ARCS = 32  # that a thread takes in turn: a lane of the warps of kernels/cuda/spanning_tree.py
COUNTS = 5  # of a launch that joins trees
LIGHT = 3  # light edges per vertex; their forest is found first
SAMPLED = 4096  # weights sampled to decide which edges are light
SPARE = 1.25  # room for light edges, relative to their number by the sample
LEAST = 1024  # further edges that there is room for


class Forest(NamedTuple):
    """The edges of a forest, in any order.

    Attributes
    ----------
    arcs, tails, heads : array of int64, shape (edges,)
        Arc, or index, and the vertex numbers of both ends.
    words : array of int64, shape (edges,)
        The weights as words; see `weight_words`.
    """

    arcs: Array
    tails: Array
    heads: Array
    words: Array


class _Lists(NamedTuple):
    """Edges, and room for the lists of those that join trees; see kernels/cuda/spanning_tree.py."""

    edges: tuple[Array, ...]
    lists: tuple[Array, ...]
    room: int


class _Trees:
    """Trees of `size` vertices, each of one vertex at first, and the edges of the forest so far."""

    def __init__(self, size: int, dtype: np.dtype[Any]) -> None:
        self.device, self.size = device(), size
        xp = self.device.xp
        self.label = xp.arange(size, dtype=dtype)
        self._lowest = xp.full(size, GREATEST, np.int64)
        self._best = xp.full(size, -1, np.int64)
        self._found = tuple(xp.empty(size, np.int64) for _ in range(4))
        self._picked = xp.zeros(1, np.int64)

    def lists(self, room: int, number: np.dtype[Any]) -> _Lists:
        """Return room for edges whose ends' numbers are of the dtype `number`."""
        empty, wide, place = self.device.xp.empty, np.dtype(np.int64), self.label.dtype
        edges = tuple(empty(room, dtype) for dtype in (wide, number, number, wide))
        return _Lists(edges, tuple(empty(2 * room, dtype) for dtype in (wide, place, place)), room)

    def join(self, lists: _Lists, counts: Array, length: int) -> None:
        """Join trees along the `length` listed edges."""
        if length:
            self.device.module("spanning_tree").prepare_together(
                "join_trees", max(length, self.size), BLOCK, lists.edges, lists.lists, lists.room,
                self.label, self.size, self._lowest, self._best, self._found, self._picked, counts,
            )()  # fmt: skip

    def forest(self) -> Forest:
        """Return the edges."""
        count = int(self.device.to_host(self._picked)[0])
        return Forest(*[column[:count] for column in self._found])


def forest_of_part(part: Part, name: str | None) -> Forest:
    """Return the minimum spanning forest of a part's edges, each once and without self-loops.

    Parameters
    ----------
    part : Part
    name : str, optional
        Column of the weights.  Without one all words are 0.

    Returns
    -------
    Forest
    """
    gpu = device()
    rows, arcs = len(part.csc.offsets) - 1, len(part.csc.indices)
    trees = _Trees(part.size, part.index)
    edges = arcs if part.graph.directed else arcs // 2
    values, form = _form(part, name)
    bound, share = GREATEST, 1.0
    if name is not None and edges > 2 * LIGHT * part.size:
        sample = gpu.to_host(part.arc_values(name)[:: max(1, arcs // SAMPLED)])
        bound, share = _light(sample, LIGHT * part.size / edges)
    threads = -(-arcs // ARCS)

    def add(lists: _Lists, counts: Array, light: bool) -> None:
        gpu.module("spanning_tree").launch(
            "list_edges", gpu.blocks_for(threads, BLOCK), BLOCK, tuple(part.csc), (rows, arcs),
            part.numbers, values, form, (bound, int(light), int(part.graph.directed)), trees.label,
            lists.edges, lists.lists, lists.room, counts,
        )  # fmt: skip

    if arcs:
        room = edges if share == 1.0 else int(SPARE * share * edges)
        lists = trees.lists(room + LEAST, part.numbers.dtype)
        lists = _listed(trees, lists, lambda into, counts: add(into, counts, True))
        if share < 1.0:
            _listed(trees, lists, lambda into, counts: add(into, counts, False))
    forest = trees.forest()
    if name is None:
        forest = forest._replace(words=gpu.xp.zeros(len(forest.arcs), np.int64))
    return forest


def forest_of_edges(size: int, tails: Array, heads: Array, words: Array) -> Array:
    """Return the indices of the edges of the minimum spanning forest, in any order.

    Parameters
    ----------
    size : int
        Number of vertices.
    tails, heads : array of int64, shape (edges,)
        Vertex numbers of the ends; no edge is a self-loop.
    words : array of int64, shape (edges,)
        The weights as words.  Edges of the same weight are ordered by `heads`, `tails` and index.

    Returns
    -------
    array of int64
    """
    xp, count = device().xp, len(words)
    index = np.dtype(np.int32 if size < 2**31 else np.int64)
    trees, places = _Trees(size, index), xp.arange(count)
    tails, heads = tails.astype(index, copy=False), heads.astype(index, copy=False)
    lists = trees.lists(count, index)._replace(edges=(words, tails, heads, places))
    for column, values in zip(lists.lists, (places, tails, heads), strict=True):
        column[:count] = values
    counts = xp.zeros(COUNTS, np.int64)
    counts[0] = count
    trees.join(lists, counts, count)
    return trees.forest().arcs


def _listed(trees: _Trees, lists: _Lists, add: Callable[[_Lists, Array], None]) -> _Lists:
    """List edges, with more room if need be, and join trees along them; return the lists."""
    while True:
        counts = trees.device.xp.zeros(COUNTS, np.int64)
        add(lists, counts)
        length = int(trees.device.to_host(counts[:1])[0])
        if length <= lists.room:
            trees.join(lists, counts, length)
            return lists
        lists = trees.lists(length, lists.edges[1].dtype)


def _form(part: Part, name: str | None) -> tuple[Array, tuple[int, int, int, int]]:
    """Return the weights' bits, and how words are made of them; see `list_edges`."""
    if name is None:
        size = part.graph.number_of_vertices
        return device().xp.empty(0, np.int64), (0, 0, 0, size if size < 2**31 else 0)
    values = part.arc_values(name)
    if values.dtype.kind != "f":
        return values, (1, 0, 0, 0)
    bits = np.dtype(np.int64 if values.dtype.itemsize == 8 else np.int32)
    infinity = int(np.array(np.inf, values.dtype).view(bits))
    return values.view(bits), (1, (1 << (8 * bits.itemsize - 1)) - 1, infinity, 0)


def _light(sample: Array, wanted: float) -> tuple[int, float]:
    """Return the greatest word of a light edge, and the share of the edges that are light.

    `wanted` is the share that is wanted.  All are light if many have the same weight.
    """
    words = np.sort(weight_words(sample))
    bound = int(words[int(len(words) * wanted)])
    share = float(np.count_nonzero(words <= bound)) / len(words)
    return (bound, share) if 2 * share <= 1 else (GREATEST, 1.0)
