"""A walk as plain Python: the user's own function, called with objects.

It is the reference, and what a debugger stops in.
"""

from __future__ import annotations

from collections import namedtuple
from typing import Any

import numpy as np
import numpy.typing as npt

from cugraph_ws.errors import ProgramError
from cugraph_ws.program.randomness import ws_random, ws_random_integer
from cugraph_ws.program.walk_binding import BoundWalk
from cugraph_ws.program.walk_program import CALL, NEXT

__all__ = ["PlainWalk"]

Array = npt.NDArray[Any]


class PlainWalk:
    """A walk on the rows of a graph; `advance` does what that of `kernels/cpu/walks.py` does.

    Parameters
    ----------
    bound : BoundWalk
    """

    def __init__(self, bound: BoundWalk) -> None:
        self._bound = bound
        self.name, self.function = bound.program.name, bound.program.functions[NEXT]
        # A tuple type with names that are known only at run time
        self.edge: Any = namedtuple("edge", ("dst", *bound.program.edges))  # type: ignore[misc]

    def advance(
        self,
        rows: Any,
        columns: tuple[Array, ...],
        sums: tuple[Array, ...],
        values: tuple[Any, ...],
        seed: int,
        paths: Array,
        arcs: npt.NDArray[np.int64],
        beyond: Array,
        first: int,
        last: int,
        lo: int,
        hi: int,
    ) -> int:
        """Take steps of walkers; see `kernels/cpu/walks.py`."""
        offsets, indices, _ = rows
        kinds = [np.dtype(kind).type for kind in self._bound.types.edges]
        taken = 0

        def edge_at(arc: int) -> Any:
            read = (kind(column[arc]) for kind, column in zip(kinds, columns, strict=True))
            return self.edge(np.int64(indices[arc]), *read)

        for number in range(lo, hi):
            for step in range(first, last):
                vertex, arc = int(paths[step, number]), int(arcs[number])
                if vertex < 0 or offsets[vertex] == offsets[vertex + 1]:
                    break
                begin, end = int(offsets[vertex]), int(offsets[vertex + 1])
                edges = Edges(self, [edge_at(place) for place in range(begin, end)])
                came_by = self.edge(np.int64(-1), *(kind(0) for kind in kinds))
                previous = np.int64(paths[step - 1, number] if step else -1)
                walker = Walker(
                    rows, seed, number, step, np.int64(vertex), previous, edge_at(arc) if arc >= 0 else came_by
                )  # fmt: skip
                place = self.function(walker, edges, *values)
                if place < 0:
                    break
                edges[place]  # raises an error if there is none
                arcs[number] = begin + place
                paths[step + 1, number] = indices[begin + place]
                taken += 1
        return taken


class Edges:
    """The out-edges of a walker's vertex.

    Parameters
    ----------
    walk : PlainWalk
    edges : list
    """

    def __init__(self, walk: PlainWalk, edges: list[Any]) -> None:
        self._walk, self._edges = walk, edges

    def __len__(self) -> int:
        return len(self._edges)

    def __getitem__(self, place: int) -> Any:
        if not 0 <= place < len(self._edges):
            raise ProgramError(
                f"{self._walk.name}: edges[{place}] is none of the {len(self._edges)} edges of a vertex; "
                "give an index from 0 to len(edges) - 1"
            )
        return self._edges[place]

    def __getattr__(self, column: str) -> Array:
        if column.startswith("_"):
            raise AttributeError(column)
        return np.array([getattr(edge, column) for edge in self._edges], np.float64)


class Walker:
    """A walker; see `ws.walk`.

    Parameters
    ----------
    rows : tuple of (offsets, indices, vertices)
    seed, number, step, vertex, previous : int
    edge : tuple
        The edge it came by.
    """

    def __init__(
        self, rows: Any, seed: int, number: int, step: int, vertex: Any, previous: Any, edge: Any
    ) -> None:
        self._rows, self._seed, self._draws = rows, seed, 0
        self.number, self.step, self.vertex = np.int64(number), np.int64(step), vertex
        self.previous, self.edge = previous, edge

    def _place(self) -> tuple[int, int, int, int, int]:
        self._draws += 1
        return self._seed, int(self.step), CALL, int(self.number), self._draws

    def random(self) -> Any:
        """Return a number from 0 to less than 1."""
        return ws_random(*self._place())

    def random_integer(self, end: int) -> Any:
        """Return an integer from 0 to less than `end`."""
        return ws_random_integer(*self._place(), end)

    def random_edge(self, weights: Array) -> Any:
        """Return the index of an edge, drawn in proportion to an attribute; -1 if all are 0."""
        sums, random = np.cumsum(weights), self.random()
        if sums[-1] <= 0:
            return np.int64(-1)
        later = (sums > random * sums[-1]) | (sums >= sums[-1])
        return np.int64(np.argmax(later))

    def has_edge(self, source: int, destination: int) -> bool:
        """Return whether the graph has an edge."""
        offsets, indices, vertices = self._rows
        if not 0 <= source < vertices:
            return False
        return bool((indices[offsets[source] : offsets[source + 1]] == destination).any())
