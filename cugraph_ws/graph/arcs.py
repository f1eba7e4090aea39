"""A graph's edges in the orders in which algorithms read them, each made when first needed.

The build leaves rows of sources in input order.  One transposition makes the CSC, with ascending
rows, and the input order is freed; another makes the CSR.
"""

from __future__ import annotations

from collections.abc import Sequence
from threading import RLock
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt

from cugraph_ws.graph.adjacency import Adjacency, lengths
from cugraph_ws.graph.duplicates import (
    PARALLEL_RANK,
    Policy,
    merge_parallel,
    parallel_ranks,
    repeats,
)
from cugraph_ws.graph.masks import chosen_rows

__all__ = ["Arcs", "Order"]

Array = npt.NDArray[Any]
Degrees = npt.NDArray[np.int64]
Order = Literal["csc", "csr"]


class Arcs:
    """The edges of a graph; an undirected edge is two arcs, a self-loop one.

    Thread-safe: what one thread needs first is made once for all.

    Parameters
    ----------
    base : Adjacency
        Rows of sources in input order.
    values : dict of str to ndarray, shape (arcs,)
        The edge columns that the graph keeps, in that order.
    directed : bool
        Whether the CSR differs from the CSC.
    mirrored : bool, optional
        Whether every edge is two arcs, and the one opposite to the edge as given is marked (see
        `Adjacency.strip_marks`); by default True for an undirected graph.
    """

    on_device: ClassVar[bool] = False

    def __init__(
        self,
        base: Adjacency,
        values: dict[str, Array],
        *,
        directed: bool,
        mirrored: bool | None = None,
    ) -> None:
        self._directed = directed
        self._mirrored = not directed if mirrored is None else mirrored
        self._lock = RLock()
        self._base: Adjacency | None = base
        self._base_values = values
        self._csc: Adjacency | None = None
        self._csr: Adjacency | None = None
        self._values: dict[tuple[str, Order], Array] = {}
        self._ranks: dict[Order, Array] = {}
        self._out_degrees: Degrees | None = None
        self._starts: Array | None = None  # offsets of rows of sources
        self._both_ways = 0

    @classmethod
    def of_csc(
        cls, csc: Adjacency, values: dict[str, Array], *, directed: bool, mirrored: bool
    ) -> Arcs:
        """Make one from a CSC, and the edge columns in its order."""
        arcs = cls(csc, {}, directed=directed, mirrored=mirrored)
        arcs._base, arcs._csc = None, csc
        arcs._values = {(name, "csc"): array for name, array in values.items()}
        return arcs

    @property
    def csc(self) -> Adjacency:
        """In-neighbours of every vertex."""
        with self._lock:
            if self._csc is None:
                assert self._base is not None
                csc, moved = self._base.transpose(*self._base_values.values())
                if self._mirrored:
                    self._both_ways = csc.strip_marks()
                self._csc = csc
                for name, values in zip(self._base_values, moved, strict=True):
                    self._values[name, "csc"] = values
                self._starts = self._base.offsets
                self._base, self._base_values = None, {}
            return self._csc

    @property
    def csr(self) -> Adjacency:
        """Out-neighbours of every vertex; for an undirected graph, the CSC itself."""
        with self._lock:
            if not self._directed:
                return self.csc
            if self._csr is None:
                self._csr, _ = self.csc.transpose()
            return self._csr

    @property
    def number_of_arcs(self) -> int:
        """Number of arcs."""
        with self._lock:
            return (self._base or self.csc).number_of_arcs

    @property
    def has_csr(self) -> bool:
        """Whether the CSR exists, or is the CSC."""
        return not self._directed or self._csr is not None

    @property
    def out_degrees(self) -> Degrees:
        """Number of arcs out of every vertex; no adjacency is made for it."""
        with self._lock:
            if self._base is not None:
                return self._base.degrees
            if self._out_degrees is None:
                starts, self._starts = self._starts, None
                self._out_degrees = self.csc.count_targets() if starts is None else lengths(starts)
            return self._out_degrees

    def degrees(self, *, incoming: bool) -> Degrees:
        """Return the number of arcs into or out of every vertex."""
        return self.csc.degrees if incoming else self.out_degrees

    @property
    def mapped_bytes(self) -> int:
        """Bytes of arcs in files: none."""
        return 0

    @property
    def nbytes(self) -> int:
        """Bytes of everything that is held now."""
        adjacencies = [
            adjacency for adjacency in (self._base, self._csc, self._csr) if adjacency is not None
        ]
        arrays = [*self._base_values.values(), *self._values.values(), *self._ranks.values()]
        layouts = [] if self._csc is None else self._csc.kept.values()
        return sum(
            sum(stored.nbytes for stored in several) for several in (adjacencies, arrays, layouts)
        )

    @property
    def layouts(self) -> dict[str, int]:
        """Bytes of each layout that is held now, by name."""
        adjacencies = {"csc": self._csc, "csr": self._csr}
        sizes = {
            name: adjacency.nbytes
            for name, adjacency in adjacencies.items()
            if adjacency is not None
        }
        layouts = {} if self._csc is None else self._csc.kept
        return sizes | {name: layout.nbytes for name, layout in layouts.items() if layout.nbytes}

    @property
    def choices(self) -> dict[str, str]:
        """Which layout the last run of each program chose, and why."""
        layouts = [] if self._csc is None else self._csc.kept.values()
        return {program: why for layout in layouts for program, why in layout.choices.items()}

    def values(self, name: str, order: Order) -> Array:
        """Return an edge column in an adjacency's order, or `PARALLEL_RANK`, made when first read."""
        with self._lock:
            csc = self.csc
            order = order if self._directed else "csc"
            if name == PARALLEL_RANK:
                if order not in self._ranks:
                    self._ranks[order] = self._parallel_ranks(csc if order == "csc" else self.csr)
                return self._ranks[order]
            if order == "csc":
                return self._values[name, "csc"]
            if (name, order) not in self._values:
                self._values[name, order] = csc.carry(self._values[name, "csc"])
            return self._values[name, order]

    def _parallel_ranks(self, adjacency: Adjacency) -> Array:
        """Return the rank of each arc among parallel ones."""
        return parallel_ranks(adjacency)

    def merge(self, policy: Policy, repeated: npt.NDArray[np.bool_]) -> None:
        """Merge parallel arcs; only the CSC may have been made before."""
        with self._lock:
            values = {name: array for (name, _), array in self._values.items()}
            self._csc, merged = merge_parallel(self.csc, values, policy, repeated)
            self._both_ways = 0
            self._ranks = {}
            self._values = {(name, "csc"): array for name, array in merged.items()}
            self._out_degrees = self._starts = None

    def chosen(self, mask: npt.NDArray[np.bool_]) -> Arcs:
        """Return the arcs that `mask` marks in the order of the CSC."""
        with self._lock:
            values = {name: self.values(name, "csc") for name in self.names}
            return self.chosen_of(self.csc, values, mask)

    def chosen_of(
        self, rows: Adjacency, values: dict[str, Array], mask: npt.NDArray[np.bool_]
    ) -> Arcs:
        """Return marked arcs of some rows, where these arcs are."""
        kept = {name: array[mask] for name, array in values.items()}
        return Arcs.of_csc(
            chosen_rows(rows, mask), kept, directed=self._directed, mirrored=self._mirrored
        )

    @property
    def names(self) -> Sequence[str]:
        """Names of the edge columns."""
        with self._lock:
            return list(dict.fromkeys([*self._base_values, *(name for name, _ in self._values)]))

    def none(self) -> Arcs:
        """Return no arcs of the same vertices, without edge columns."""
        csc = self.csc
        rows = Adjacency(np.zeros_like(csc.offsets), np.empty(0, csc.indices.dtype))
        return Arcs.of_csc(rows, {}, directed=self._directed, mirrored=self._mirrored)

    @property
    def both_ways(self) -> int:
        """Pairs of vertices with edges that were given in both directions, if arcs were marked."""
        with self._lock:
            _ = self.csc  # counted while it is made
            return self._both_ways

    def once(self) -> npt.NDArray[np.bool_] | None:
        """Mark one arc of each undirected edge, from the smaller vertex; None for a directed graph."""
        return self.csc.indices <= self.csc.rows() if self._mirrored else None

    def count(self, marked: npt.NDArray[np.bool_]) -> int:
        """Count the edges among marked arcs of the CSC."""
        once = self.once()
        return int(np.count_nonzero(marked if once is None else marked & once))

    def count_loops(self) -> int:
        """Count the edges from a vertex to itself."""
        return int(np.count_nonzero(self.csc.indices == self.csc.rows()))

    def count_isolated(self) -> int:
        """Count the vertices without any edge."""
        return int(np.count_nonzero((self.csc.degrees == 0) & (self.out_degrees == 0)))

    def repeated(self) -> npt.NDArray[np.bool_]:
        """Mark the arcs of the CSC that repeat the one before."""
        return repeats(self.csc)

    def count_repeated(self) -> int:
        """Count the edges after the first between the same two vertices."""
        return self.count(self.repeated())

    def weight_sums(self, name: str, *, incoming: bool) -> npt.NDArray[np.float64]:
        """Sum an edge column over the arcs into or out of every vertex; may overflow."""
        adjacency = self.csc if incoming else self.csr
        weights = self.values(name, "csc" if incoming else "csr")
        filled = np.flatnonzero(np.diff(adjacency.offsets))
        sums = np.zeros(len(adjacency.offsets) - 1)
        if len(filled):
            with np.errstate(over="ignore"):
                sums[filled] = np.add.reduceat(
                    weights.astype(np.float64), adjacency.offsets[filled]
                )
        return sums

    @staticmethod
    def first_infinite(values: Array) -> int | None:
        """Return the first index at which an array is not finite, None if there is none."""
        finite = np.isfinite(values)
        return None if finite.all() else int(np.argmin(finite))

    def extreme(self, name: str, *, least: bool) -> tuple[Any, int]:
        """Return an edge column's smallest or greatest value, and an arc of the CSC with it."""
        values = self.values(name, "csc")
        arc = int(values.argmin() if least else values.argmax())
        return values[arc], arc

    def listed(
        self, names: Sequence[str], keep: Any, among: Any
    ) -> tuple[Array, Array, dict[str, Array]]:
        """List edges; see `Graph.edge_frame`.

        Returns
        -------
        sources, destinations : ndarray
            Vertex numbers.
        values : dict of str to ndarray
            The edge columns.
        """
        csc, mask = self.csc, self.once()
        if keep is not None:
            mask = keep if mask is None else np.logical_and(mask, keep, out=mask)
        if among is not None:
            inside = among[csc.indices]
            inside &= np.repeat(among, csc.degrees)
            mask = inside if mask is None else np.logical_and(mask, inside, out=inside)
            del inside
        which: Any = slice(None) if mask is None else np.flatnonzero(mask)
        del mask
        rows = csc.rows()
        values = {name: self.values(name, "csc")[which] for name in names}
        return csc.indices[which], rows[which], values

    def ends(self, arc: int) -> tuple[int, int]:
        """Return the source and the destination of an arc of the CSC."""
        row = int(np.searchsorted(self.csc.offsets, arc, side="right")) - 1
        return int(self.csc.indices[arc]), row
