"""Whole-array steps over neighbours, for loops that run on a CPU, a GPU and ranks of both.

An algorithm in such steps is written once, over arrays by position (see `Part`): `sums` and `words`
fold the values of neighbours, `followers` lists the vertices that have given vertices as neighbours,
and `update` sends owned values to their ghosts.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt

from cugraph_ws.backends import loops
from cugraph_ws.execution.loop import Column, Loop
from cugraph_ws.graph.footprints import LISTED
from cugraph_ws.graph.view import GraphView
from cugraph_ws.kernels.cpu.folds import MAX, MIN, OR
from cugraph_ws.partition.neighbourhoods import row_numbers
from cugraph_ws.partition.part import Part
from cugraph_ws.partition.symmetrise import all_neighbours
from cugraph_ws.runtime.arrays import as_host
from cugraph_ws.runtime.launch_times import note_bytes, note_rows
from cugraph_ws.runtime.looks import look, look_together
from cugraph_ws.runtime.mixing import mixed
from cugraph_ws.runtime.saved_state import SavedState

__all__ = [
    "LEAST",
    "MOST",
    "ArrayLoop",
    "Direction",
    "Neighbourhood",
    "Operation",
    "edge_frame",
    "frame_of_arcs",
    "listed_by_searches",
    "numbers_of",
    "order_of_pairs",
    "pieces",
    "priorities",
    "row_of_arcs",
]

Array = Any  # NumPy's or CuPy's
Operation = Literal["min", "max", "or"]
Direction = Literal["in", "out", "all"]

LEAST, MOST = np.iinfo(np.int64).min, np.iinfo(np.int64).max
OPERATIONS: dict[str, tuple[int, int]] = {"min": (MIN, MOST), "max": (MAX, LEAST), "or": (OR, 0)}
VALUE = 8  # bytes of a word or a float
CELLS_AT_ONCE = 1 << 22  # of a matrix, between two looks
MANY = 8  # the arcs of fewer than 1 / MANY of the vertices are listed, else all arcs are read
ON_HOST = 1 << 16  # most arcs that are listed at a time, on a CPU
FEWEST = 1 << 16  # and for searches on a GPU, which otherwise list a quarter of the arcs


class Neighbourhood:
    """Folds over the neighbours of a part's vertices.

    Parameters
    ----------
    graph : Graph
        A graph, or a rank's shard of one.
    on_device : bool
        Whether to compute on the GPU.
    symmetric : bool
        Whether the direction of edges does not matter.

    Attributes
    ----------
    part : Part
    xp : module
        NumPy or CuPy.
    own : array of int64, shape (owned,)
        The positions of the owned vertices.
    """

    def __init__(self, graph: GraphView, *, on_device: bool, symmetric: bool = False) -> None:
        self._loops = loops("folds", on_device=on_device)
        make = all_neighbours if symmetric else Part
        self.part: Any = make(graph, on_device=on_device)
        self.xp = self.part.xp
        self.own = self.xp.arange(self.part.owned)
        self._directed = bool(self.part.directed)
        self._plain = not symmetric
        self._kept = on_device and self.part.whole and self._plain
        self._converted: dict[tuple[str, Any], Array] = {}
        self._found_classes: dict[int, tuple[Any, Any]] = {}  # by the id of the offsets, and those

    def filled(self, shape: tuple[int, int], value: float, dtype: npt.DTypeLike) -> Array:
        """Return an array filled with a value; written in pieces, since first writes to memory take long.

        Parameters
        ----------
        shape : (int, int)
        value : float
        dtype : dtype

        Returns
        -------
        array of `dtype`
        """
        array = self.xp.empty(shape, dtype)
        for some in pieces(*shape):
            array[some].fill(value)
        return array

    def owned_among(self, numbers: Array) -> tuple[Array, Array]:
        """Find which of some vertices this rank owns.

        Parameters
        ----------
        numbers : ndarray of int64
            Vertex numbers.

        Returns
        -------
        here : ndarray of int64
            Their places in `numbers`.
        positions : array of int64
        """
        graph = self.part.graph
        owned_places = np.flatnonzero(graph.owners.holds(numbers))
        return owned_places, self.part.placed(self.xp.asarray(numbers[owned_places])).astype(
            np.int64
        )

    def sums(
        self, values: Array, direction: Direction, which: Array = None, weight: str | None = None,
        marks: Array = None,
    ) -> Array:  # fmt: skip
        """Add up neighbours' values; collective.

        Parameters
        ----------
        values : array of float64, shape (size,) or (size, columns)
            By position, ghosts too.  A one-dimensional array is possible only without `which` and
            `marks`.
        direction : {"in", "out"}
            Which neighbours: those with an edge to the vertex, or from it.
        which : array of int64, optional
            Owned positions whose sums are returned; by default all, in order.
        weight : str, optional
            Edge column to multiply by.
        marks : array of uint8, shape (size,), optional
            Which vertices have values other than 0.

        Returns
        -------
        array of float64, shape (len(which),) or (len(which), columns)
        """
        if values.ndim == 1:
            assert which is None
            assert marks is None

            def fold_all(rows: Any, chosen: Array, weights: Array) -> Array:
                note_rows(rows, arc=VALUE * (1 + (weights is not None)), written=VALUE)
                classes = self._classes(rows, len(chosen))
                return self._loops.sums_of_all(rows, classes, values, weights, weight or "")

            return self._by_arcs(fold_all, direction, self.own, weight, self.xp.add)

        columns = VALUE * values.shape[1]

        def fold(rows: Any, chosen: Array, weights: Array) -> Array:
            if marks is None:
                arc = columns + VALUE * (weights is not None)
                note_rows(rows, chosen, arc=arc, written=columns)
            else:
                note_bytes(math.nan)  # which values are read depends on the marks
            return self._loops.sums(rows, chosen, values, weights, marks)

        chosen = self.own if which is None else which
        return self._by_arcs(fold, direction, chosen, weight, self.xp.add)

    def folded(self, direction: Direction, weight: str | None) -> tuple[Any, Any, Array]:
        """Return rows of a whole graph, how all are added up, and float64 weights or None.

        Parameters
        ----------
        direction : {"in", "out"}
        weight : str, optional
            Edge column to multiply by.
        """
        assert self.part.halo.alone

        def fold(rows: Any, chosen: Array, weights: Array) -> Any:
            return rows, self._classes(rows, len(chosen)), weights

        result: tuple[Any, Any, Array] = self._by_arcs(fold, direction, self.own, weight, None)
        return result

    def _classes(self, rows: Any, count: int) -> Any:
        """Return how the first rows are added up, found once; a whole graph on a GPU keeps it."""
        part, key = self.part, id(rows.offsets)
        if key not in self._found_classes:
            cache = part.graph.derived if self._kept else {}
            order = "csc" if rows.offsets is part.csc.offsets else "csr"
            name = "row classes", order
            if name not in cache:
                is_whole = order == "csc" and part.whole and part.halo.alone and not part.on_device
                cache[name] = self._loops.classes_of(rows, count, whole=is_whole and self._plain)
            self._found_classes[key] = rows.offsets, cache[name]
        return self._found_classes[key][1]

    def nearest(self, distances: Array, direction: Direction, which: Array, weight: str) -> Array:
        """Find the least distance through a neighbour; collective.

        Parameters
        ----------
        distances : array of float64, shape (size, columns)
            By position, ghosts too.
        direction : {"in", "out"}
            Which neighbours: those with an edge to the vertex, or from it.
        which : array of int64
            Owned positions whose distances are returned.
        weight : str
            Edge column of lengths.

        Returns
        -------
        array of float64, shape (len(which), columns)
            Infinite without neighbours.
        """
        columns = VALUE * distances.shape[1]

        def fold(rows: Any, chosen: Array, weights: Array) -> Array:
            note_rows(rows, chosen, arc=columns + VALUE, written=columns)
            return self._loops.nearest(rows, chosen, distances, weights)

        return self._by_arcs(fold, direction, which, weight, self.xp.minimum)

    def tight(
        self, values: Array, distances: Array, direction: Direction, which: Array, weight: str
    ) -> Array:
        """Add up neighbours' values along shortest paths; collective.

        An edge is on one if its length is the difference of the distances of its ends.

        Parameters
        ----------
        values, distances : array of float64, shape (size, columns)
            By position, ghosts too.
        direction : {"in", "out"}
            Which neighbours: those before a vertex on paths, or those after it.
        which : array of int64
            Owned positions whose sums are returned.
        weight : str
            Edge column of lengths.

        Returns
        -------
        array of float64, shape (len(which), columns)
        """
        columns = VALUE * values.shape[1]

        def fold(rows: Any, chosen: Array, weights: Array) -> Array:
            forward = direction == "out"
            # Values are read along shortest paths alone: at least one for each row and column
            note_rows(rows, chosen, arc=columns + VALUE, vertex=columns, written=columns)
            return self._loops.tight(rows, chosen, values, distances, weights, forward)

        return self._by_arcs(fold, direction, which, weight, self.xp.add)

    def _by_arcs(
        self, fold: Any, direction: Direction, which: Array, weight: str | None, combine: Any
    ) -> Array:
        """Fold over arcs into vertices, or out of them; collective."""
        look_together()
        part = self.part
        if direction == "in" or not self._directed:
            return fold(part.csc, which, self._weights(weight, "csc"))
        weights = self._weights(weight, "csr")
        if part.halo.alone:
            return fold(part.csr, which, weights)
        shares = fold(part.csr, self.xp.arange(part.size), weights)
        part.halo.reduce(shares, combine)
        return shares[which]

    def words(
        self, values: Array, direction: Direction, operation: Operation, which: Array = None
    ) -> Array:
        """Combine neighbours' 64-bit words; collective.

        Parameters
        ----------
        values : array of int64, shape (size,)
            By position, ghosts too.
        direction : {"in", "out", "all"}
            Which neighbours' words; "all" is for a symmetric neighbourhood.
        operation : {"min", "max", "or"}
        which : array of int64, optional
            Owned positions whose results are returned; by default all, in order.

        Returns
        -------
        array of int64, shape (len(which),)
            MOST, LEAST or 0 without neighbours.
        """
        part, chosen = self.part, self.own if which is None else which
        code, identity = OPERATIONS[operation]
        look_together()

        def fold(rows: Any, which: Array) -> Array:
            note_rows(rows, which, arc=VALUE, written=VALUE)
            return self._loops.words(rows, which, values, code, identity)

        if not self._directed or direction == "in":
            return fold(part.csc, chosen)
        if part.halo.alone:
            words = fold(part.csr, chosen)
            return (
                self._combine(operation)(words, fold(part.csc, chosen))
                if direction == "all"
                else words
            )
        assert direction == "out", "a shard's rows of all neighbours are symmetrised"
        shares = fold(part.csr, self.xp.arange(part.size))
        part.halo.reduce(shares, self._combine(operation))
        return shares[chosen]

    def _combine(self, operation: Operation) -> Any:
        xp = self.xp
        return {"min": xp.minimum, "max": xp.maximum, "or": xp.bitwise_or}[operation]

    def _weights(self, name: str | None, order: Any) -> Array:
        """Return an edge column as float64, or None."""
        if name is None:
            return None
        if (name, order) not in self._converted:
            values = self.part.arc_values(name, order).astype(np.float64, copy=False)
            self._converted[name, order] = values
        return self._converted[name, order]

    def followers(
        self, places: Array, direction: Direction = "in", *, or_all: bool = False
    ) -> Array:
        """Return the owned vertices that have given vertices as neighbours; not collective.

        Parameters
        ----------
        places : array of int64
            Positions, perhaps of ghosts.
        direction : {"in", "out", "all"}
            Which neighbours, as in `words`.
        or_all : bool
            Whether a GPU may return all owned positions instead, if it would list most of the arcs.

        Returns
        -------
        array of int64
            Distinct positions, ascending.  For "out" in a directed graph on several ranks, all owned
            positions, since no rank has the rows of ghosts.
        """
        part, xp = self.part, self.xp
        if direction == "out" and self._directed and not part.halo.alone:
            return self.own
        rows = [part.csc] if direction == "out" and self._directed else [part.csr]
        if direction == "all" and self._directed:
            rows.append(part.csc)
        or_all = or_all and part.on_device
        arcs = sum(len(side.indices) for side in rows)
        most = ON_HOST if xp is np else listed_by_searches(arcs) if or_all else LISTED
        listings = [_listed(xp, side, places, most) for side in rows]
        listed = sum(total for total, _ in listings)
        if or_all and 2 * listed > arcs:
            return self.own
        if listed * MANY < part.size:
            together = [piece for _, pieces in listings for piece in pieces]
            look()
            return xp.unique(xp.concatenate([places[:0], *together]))
        marks = xp.zeros(part.size, np.bool_)
        for _, pieces in listings:
            for piece in pieces:
                marks[piece] = True
        return xp.flatnonzero(marks[: part.owned])

    def update(self, column: Array, changed: Array = None) -> Array:
        """Send owned values to their ghosts; collective.

        Parameters
        ----------
        column : array, shape (size, ...)
            Modified in place.
        changed : array of int64, optional
            Owned positions that have changed.

        Returns
        -------
        array of int64
            The positions that have changed, ghosts included; empty if `changed` is not given.
        """
        part, xp = self.part, self.xp
        if changed is None:
            part.halo.update(column)
            return self.own[:0]
        if part.halo.alone:
            return changed
        marks = xp.zeros(part.size, np.bool_)
        marks[changed] = True
        updates = part.halo.update_changed(
            marks[part.halo.ends], lambda boundary: [column[boundary].ravel()]
        )
        for ghosts, (values,) in updates:
            column[ghosts] = values.reshape(len(ghosts), *column.shape[1:])
        return xp.concatenate([changed, *[ghosts for ghosts, _ in updates]])

    def total(self, number: Any) -> int:
        """Sum a number over all ranks; collective."""
        sums: list[int] = self.part.halo.totals(int(number))
        return sums[0]


def pieces(rows: int, columns: int) -> Iterator[slice]:
    """Cut the rows of a matrix into ranges of a bounded number of cells; look before each.

    Parameters
    ----------
    rows, columns : int

    Yields
    ------
    slice
        A range of rows.
    """
    most = max(1, CELLS_AT_ONCE // max(1, columns))
    for first in range(0, rows, most):
        look()
        yield slice(first, min(first + most, rows))


def listed_by_searches(arcs: int) -> int:
    """Return how many arcs a GPU lists at a time for a search."""
    return min(LISTED, max(FEWEST, arcs // 4))


def _listed(xp: Any, rows: Any, places: Array, most: int) -> tuple[int, Iterator[Array]]:
    """Return how many neighbours are in some rows, and these, one row after the other, in pieces of `most`."""
    shifts = rows.offsets[places]
    lengths = rows.offsets[places + 1]
    lengths -= shifts
    ends = xp.cumsum(lengths)
    total = int(ends[-1]) if len(places) else 0
    shifts += lengths
    shifts -= ends  # from a place in the list to the arc
    del lengths

    def in_pieces() -> Iterator[Array]:
        for low in range(0, total, most):
            arcs = xp.arange(low, min(low + most, total))
            arcs += shifts[xp.searchsorted(ends, arcs, side="right")]
            look()
            yield rows.indices[arcs]

    return total, in_pieces()


def priorities(part: Part, seed: int) -> Array:
    """Return a pseudo-random number for each position, which depends on the vertex alone.

    Parameters
    ----------
    part : Part
    seed : int

    Returns
    -------
    array of int64, shape (size,)
        All different: a bijection of the vertex numbers (SplitMix64).
    """
    key = _key_of(seed)
    with np.errstate(over="ignore"):
        value = mixed(part.numbers.astype(np.uint64) + key)
        value ^= value >> np.uint64(31)
    return value.view(np.int64)


def numbers_of(values: Array, seed: int) -> Array:
    """Return the vertex numbers of given priorities: the inverse of `priorities`.

    Parameters
    ----------
    values : array of int64
    seed : int

    Returns
    -------
    array of int64
    """
    with np.errstate(over="ignore"):
        value = values.view(np.uint64)
        value = value ^ (value >> np.uint64(31)) ^ (value >> np.uint64(62))
        value = value * np.uint64(0x319642B2D24D8EC3)  # the inverse modulo 2**64
        value = value ^ (value >> np.uint64(27)) ^ (value >> np.uint64(54))
        value = value * np.uint64(0x96DE1B173F119089)
        value = value ^ (value >> np.uint64(30)) ^ (value >> np.uint64(60))
        value = value - _key_of(seed)
    return value.view(np.int64)


def _key_of(seed: int) -> np.uint64:
    key: np.uint64 = np.random.SeedSequence(int(seed)).generate_state(1, np.uint64)[0]
    return key


def row_of_arcs(part: Part) -> Array:
    """Return the owned position that each arc of `part.csc` leads to.

    Parameters
    ----------
    part : Part

    Returns
    -------
    array of int64, shape (arcs,)
    """
    return row_numbers(part.xp, part.csc.offsets, len(part.csc.indices))


def edge_frame(part: Part, arcs: Array, extra: Mapping[str, Array]) -> Any:
    """Return edges into owned vertices as a frame; collective.

    Parameters
    ----------
    part : Part
    arcs : array of int64, or None
        The arcs of `part.csc` to return, as for `frame_of_arcs`; all edges if None.
    extra : mapping of str to array, each of shape (all arcs,)
        Further columns.

    Returns
    -------
    DataFrame
        As `Graph.edge_frame`: sorted by destination, then source; an undirected edge once.
    """
    xp = part.xp
    if arcs is None:
        chosen, rows = xp.arange(len(part.csc.indices)), row_of_arcs(part)
    else:
        chosen, rows = arcs, xp.searchsorted(part.csc.offsets[1:], arcs, side="right")
    source = part.numbers[part.csc.indices[chosen]].astype(np.int64)
    destination = part.numbers[rows].astype(np.int64)
    if arcs is None and not part.graph.directed:
        once = xp.flatnonzero(source <= destination)
        chosen, source, destination = chosen[once], source[once], destination[once]
    return frame_of_arcs(part, chosen, source, destination, extra)


def frame_of_arcs(
    part: Part, arcs: Array, source: Array, destination: Array, extra: Mapping[str, Array]
) -> Any:
    """Return edges into owned vertices as a frame, given the numbers of their ends; collective.

    Parameters
    ----------
    part : Part
    arcs : array of int64
        Arcs of `part.csc`, of an undirected edge the one to the greater vertex.  Ascending if vertex
        numbers are positions; parallel arcs are ascending in any case.
    source, destination : array of int64, shape (len(arcs),)
    extra : mapping of str to array, each of shape (all arcs,)
        Further columns.

    Returns
    -------
    DataFrame
        As for `edge_frame`.
    """
    xp, graph = part.xp, part.graph
    if not part.numbers_are_positions:  # else arcs are in this order
        order = order_of_pairs(xp, destination, source, graph.number_of_vertices)
        arcs, source, destination = arcs[order], source[order], destination[order]
    carried = {name: part.arc_values(name)[arcs] for name in graph.edge_attributes}
    columns = {**carried, **{name: values[arcs] for name, values in extra.items()}}
    if not graph.device_resident:
        columns = {name: as_host(values) for name, values in columns.items()}
        source, destination = as_host(source), as_host(destination)
    return graph.frame_of_edges(source, destination, columns)


def order_of_pairs(xp: Any, first: Array, second: Array, size: int) -> Array:
    """Return the order of pairs by `first`, then `second`, then place.

    Parameters
    ----------
    xp : module
    first, second : array of int64
        At least 0 and below `size`.
    size : int

    Returns
    -------
    array of int64
    """
    if size < 2**31:  # one word is sorted by radix
        return xp.argsort(first * size + second, kind="stable")
    return xp.lexsort(xp.stack((second, first)))


class ArrayLoop(Loop):
    """Base of loops for `run` whose state is arrays by vertex.

    A subclass has `start` and `step`, sets `converged`, keeps the arrays named in `saved` as
    attributes by position, and its count of finished pieces of work in `done`.
    """

    saved: ClassVar[dict[str, tuple[float, float] | None]]  # the range of integers; None for floats
    near: Neighbourhood
    done = 0

    @property
    def by_vertex_state(self) -> tuple[str, ...]:
        """Names of the arrays of `state` with an entry for each owned vertex."""
        return tuple(self.saved)

    def state(self) -> dict[str, npt.NDArray[Any]]:
        """Return the kept arrays of owned vertices, and the work done."""
        arrays = {
            name: as_host(self.near.part.by_number(getattr(self, f"_{name}")))
            for name in self.saved
        }
        return {**arrays, "done": np.array([self.done], np.int64)}

    def check(self, state: SavedState, graph: Any) -> None:
        """Refuse a state that this run cannot have saved; not collective."""
        for name, bounds in self.saved.items():
            if bounds is None:
                state.floats(name, graph.owned)
            else:
                state.integers(name, graph.owned, *bounds)
        state.number("done", 0, MOST)

    def restore(self, state: dict[str, npt.NDArray[Any]]) -> None:
        """Resume from the kept arrays."""
        part = self.near.part
        for name in self.saved:
            dtype = getattr(self, f"_{name}").dtype
            setattr(self, f"_{name}", part.with_ghosts(state[name].astype(dtype)))
        self.done = int(state["done"][0])

    def columns(self) -> dict[str, Column]:
        """Return the kept arrays of owned vertices."""
        return {name: self.near.part.by_number(getattr(self, f"_{name}")) for name in self.saved}
