"""The vertices of a graph whose frame is on the device: ids are looked up and returned there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from cugraph_ws.backends.cuda.cudf_frames import (
    Validity,
    as_series,
    empty_mask,
    id_column,
    ids_of_range,
    move_to_device,
)
from cugraph_ws.backends.cuda.numbered_ids import Integers, name_vertices
from cugraph_ws.backends.cuda.vertex_values import Places, plain_rows
from cugraph_ws.errors import InputError
from cugraph_ws.frames.base import Column, VertexNumbers, is_cudf_frame, open_frame
from cugraph_ws.frames.ids import conform, read_ids
from cugraph_ws.graph.numbering import DenseIntegers
from cugraph_ws.graph.vertices import Vertices, id_columns, value_column
from cugraph_ws.runtime.arrays import as_host, count_true, read_scalars
from cugraph_ws.runtime.device import device

__all__ = ["DeviceVertices", "with_ids_there"]

FEW = 4096  # ids from the host that are looked up and checked one by one


class DeviceVertices(Vertices):
    """All vertices of a graph, their ids and attributes on the device.

    Arguments on the host are copied to the device; arguments on the device stay there.
    """

    on_device: ClassVar[bool] = True

    def everyone(self) -> dict[str, Any]:
        """Return the ids of all vertices as result columns."""
        numbering = self.numbering
        if not isinstance(numbering, Integers):
            return super().everyone()
        (name,), (kind,) = self.names, self.types
        return {name: ids_of_range(numbering.ids, 0, self.size, kind)}

    def _placed(
        self, data: Any, argument: str, dtype: np.dtype[Any], column: str | None
    ) -> tuple[Any, Any] | None:
        """Return values by vertex, and which vertices have one, of a frame on the device, placed in one pass.

        None if the ids are no integers, or if ids or values are not plain numbers; and if there is an error, which
        the usual way finds again and raises.
        """
        numbering, xp = self.numbering, device().xp
        if not (is_cudf_frame(data) and isinstance(numbering, Integers)):
            return None
        if self.types[0].family != "integer":
            return None
        try:
            frame = open_frame(data, argument, on_device=True)
            (name,) = id_columns(frame, self.sources)
            chosen = column or value_column(frame.names, [name], argument)
        except InputError:
            return None
        rows = plain_rows(frame, (name, chosen), argument, dtype)
        if rows is None:
            return None
        values, has_value = xp.zeros(self.size, dtype), xp.zeros(self.size, np.bool_)
        counts = Places(numbering.ids, self.size, *numbering.ends).write(*rows, values, has_value)
        if counts is None or any(counts) or count_true(has_value) != len(rows[0]):
            return None
        return values, has_value

    def _outputs(self, numbers: VertexNumbers) -> list[Any]:
        places = device().xp.asarray(numbers.numbers)
        if isinstance(self.numbering, Integers) and self.numbering.ids is not None:
            mask = empty_mask(len(places))
            named, nulls, _ = name_vertices(places, self.numbering.ids, mask)
            (kind,) = self.types
            return [id_column(named, Validity(len(places), nulls, mask), kind, fresh=True)]
        valid = Validity.of(places >= 0)
        return [
            id_column(part, valid, kind, fresh=part is not places)
            for kind, part in zip(self.types, self.numbering.decode(places), strict=True)
        ]

    def _plain_parts(self, numbers: Any) -> list[pa.Array]:
        return [as_series(column).to_arrow() for column in self._outputs(VertexNumbers(numbers))]

    def _encode(self, columns: Sequence[Column], argument: str) -> Any:
        column, kind = columns[0], self.types[0]
        if (
            not isinstance(self.numbering, Integers)
            or column.on_device
            or kind.family != "integer"
            or not 0 < len(column) <= FEW
        ):
            return super()._encode(columns, argument)
        numbers = self.numbering.find(conform(read_ids(column), kind))
        unknown = np.flatnonzero(numbers < 0)
        if len(unknown):
            self._refuse_unknown(self._shown(columns, int(unknown[0])), len(unknown), argument)
        return numbers

    @property
    def _xp(self) -> Any:
        return device().xp

    def _here(self, column: Column) -> Column:
        return move_to_device(column)

    def _place(self, array: Any, on_device: bool) -> Any:
        return device().xp.asarray(array) if on_device else as_host(array)

    def _scalar(self, value: Any) -> int:
        return int(read_scalars(value)[0])

    def _bytes(self, column: Column) -> int:
        if hasattr(column.values, "memory_usage"):
            return int(column.values.memory_usage(index=False, deep=True))
        return int(column.values.nbytes)


def with_ids_there(vertices: Vertices) -> DeviceVertices | None:
    """Return a graph's vertices, without attributes, with a copy of their ids on the device.

    Parameters
    ----------
    vertices : Vertices
        With ids on the host.

    Returns
    -------
    DeviceVertices or None
        None if ids are not one integer in each vertex, or would take over half of the free memory.
    """
    kind, numbering = vertices.types[0], vertices.numbering
    if len(vertices.types) > 1 or kind.family != "integer" or kind.categorical:
        return None
    if 2 * numbering.nbytes > device().free_memory():
        return None
    dense = isinstance(numbering, DenseIntegers)
    ids = None if dense else device().xp.asarray(numbering.ids)
    there = replace(kind, dtype=np.dtype(kind.arrow.to_pandas_dtype()))
    return DeviceVertices(
        vertices.sources, [there], Integers(ids, vertices.size, numbering.renumbered)
    )
