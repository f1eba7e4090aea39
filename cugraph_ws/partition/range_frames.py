"""Result frames of a shard whose owners are no ranges: rows go to the ranks of their ranges.

So frames are in the order of numbers over all ranks, whoever owns the vertices.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from cugraph_ws.frames.base import Masked, VertexNumbers
from cugraph_ws.graph.framed import ResultColumn
from cugraph_ws.graph.home import to_ranges
from cugraph_ws.graph.view import GraphView
from cugraph_ws.runtime.arrays import as_host
from cugraph_ws.runtime.communicator import Communicator

__all__ = ["RangeFrames"]

Array = npt.NDArray[Any]


class RangeFrames(GraphView[Any]):
    """The frames of `Framed`; if owners are ranges, each rank's are those of its own vertices."""

    def vertex_frame(self, columns: Mapping[str, ResultColumn]) -> Any:
        """Return a frame of the vertices of this rank's range; collective; see `Framed.vertex_frame`."""
        return super().vertex_frame(self._in_ranges(self.owners.numbers, columns)[1])

    def frame_of(self, vertices: VertexNumbers, columns: Mapping[str, ResultColumn]) -> Any:
        """Return a frame of some vertices of this rank's range; collective; see `Framed.frame_of`."""
        numbers, moved = self._in_ranges(lambda: vertices.numbers, columns)
        return super().frame_of(replace(vertices, numbers=numbers()), moved)

    def frame_of_edges(
        self, sources: Any, destinations: Any, values: Mapping[str, ResultColumn]
    ) -> Any:
        """Return a frame of edges into this rank's range; collective; see `Framed.frame_of_edges`."""
        if self.owners.in_ranges:
            return super().frame_of_edges(sources, destinations, values)
        # Edge columns may have any name, but none is a position
        columns = {(0, "sources"): sources, **{(1, name): array for name, array in values.items()}}
        ends, moved = self._in_ranges(lambda: destinations, columns)
        sources = moved.pop((0, "sources"))
        return super().frame_of_edges(
            sources, ends(), {name: array for (_, name), array in moved.items()}
        )

    def frame_of_rows(
        self, columns: Mapping[str, ResultColumn], rows_by: tuple[str, bool] | None
    ) -> Any:
        """Return a frame of the rows of this rank's range; collective; see `Framed.frame_of_rows`."""
        if rows_by is None or self.owners.in_ranges or not columns:
            return self.frame_like(columns)
        name, repeated = rows_by
        length = len(as_host(columns[name].numbers))
        turns = np.arange(length) // max(1, self.owned) if repeated else np.zeros(length, np.int64)
        _, moved = self._in_ranges(lambda: columns[name].numbers, {**columns, ("turn",): turns})
        order = np.argsort(moved.pop(("turn",)), kind="stable")
        return self.frame_like({name: _taken(column, order) for name, column in moved.items()})

    def _in_ranges(
        self, numbers: Callable[[], Any], columns: Mapping[Any, ResultColumn]
    ) -> tuple[Callable[[], Any], dict[Any, ResultColumn]]:
        """Send rows of vertices, in the order of numbers, to the ranks of their ranges; collective.

        Unless owners are ranges: then nothing is sent, nor are the numbers computed.
        """
        if self.owners.in_ranges:
            return numbers, dict(columns)
        packed = [packed_column(self.comm, column) for column in columns.values()]
        arrays = [array for column in packed for array in column.arrays]
        keys = np.asarray(as_host(numbers()))
        moved_keys, received = to_ranges(self.comm, self.owners, keys, *arrays)
        moved = {}
        for name, column in zip(columns, packed, strict=True):
            taken = [received.pop(0) for _ in column.arrays]
            moved[name] = column.unpack(*taken)
        return lambda: moved_keys, moved


class PackedColumn(NamedTuple):
    """A result column as arrays by row, and the function that makes a column of such arrays."""

    arrays: list[Array]
    unpack: Callable[..., Any]


def packed_column(comm: Communicator, column: Any) -> PackedColumn:
    """Return a result column as arrays that can be sent; collective.

    Parameters
    ----------
    comm : Communicator
    column : array, VertexNumbers, Masked or list of str

    Returns
    -------
    PackedColumn
    """
    if isinstance(column, VertexNumbers):
        # Those of another rank's vertices need not be known here
        unpack = partial(VertexNumbers, nullable=column.nullable)
        return PackedColumn([as_host(column.numbers)], unpack)
    if isinstance(column, Masked):
        return PackedColumn([as_host(column.values), as_host(column.valid)], Masked)
    if isinstance(column, list):
        names = sorted({name for shown in comm.allgather(sorted(set(column))) for name in shown})
        code_of = {name: code for code, name in enumerate(names)}
        codes = np.array([code_of[name] for name in column], np.int64)
        return PackedColumn([codes], lambda received: [names[code] for code in received])
    return PackedColumn([as_host(column)], lambda received: received)


def _taken(column: ResultColumn, order: Array) -> ResultColumn:
    """Return a result column of host arrays in another order."""
    if isinstance(column, VertexNumbers):
        return replace(column, numbers=column.numbers[order])
    if isinstance(column, Masked):
        return Masked(column.values[order], column.valid[order])
    return column[order]
