"""The vertices of a graph whose frame is on the device: ids are looked up and returned there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from cugraph_ws.backends.cuda.cudf_frames import (
    Validity,
    as_series,
    empty_mask,
    id_column,
    ids_of_range,
    move_to_device,
)
from cugraph_ws.backends.cuda.numbering import Integers, name_vertices, read_scalars
from cugraph_ws.backends.cuda.vertex_values import Places, integers_of, numbers_of
from cugraph_ws.errors import InputError
from cugraph_ws.frames.base import Column, VertexNumbers, is_cudf_frame, open_frame
from cugraph_ws.frames.ids import conform, read_ids
from cugraph_ws.graph.vertices import Vertices, id_columns, value_column
from cugraph_ws.runtime.device import as_host, device
from cugraph_ws.runtime.masks import count_true

__all__ = ["DeviceVertices"]

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

    def values(
        self,
        data: Any,
        argument: str,
        dtype: npt.DTypeLike,
        default: Any,
        column: str | None,
        *,
        on_device: bool = False,
    ) -> tuple[Any, Any]:
        """Return the values given for vertices as an array by vertex; see `Graph.vertex_values`.

        Those of a frame on the device with integer ids are placed in one pass.
        """
        found = None
        if is_cudf_frame(data) and isinstance(self.numbering, Integers):
            found = self._placed(data, argument, np.dtype(dtype), column)
        if found is None:  # which also raises the errors
            return super().values(data, argument, dtype, default, column, on_device=on_device)
        values, given, rows = found
        if rows < self.size:
            self._fill(values, given, argument, default)
        return self._place(values, on_device), self._place(given, on_device)

    def _placed(
        self, data: Any, argument: str, dtype: np.dtype[Any], column: str | None
    ) -> tuple[Any, Any, int] | None:
        """Return a frame's values by vertex, which vertices have one, and how many; None if it has an error.

        None also if ids or values are not plain numbers.
        """
        numbering, xp = self.numbering, device().xp
        assert isinstance(numbering, Integers)
        if self.types[0].family != "integer":
            return None
        try:
            frame = open_frame(data, argument, on_device=True)
            (name,) = id_columns(frame, self.sources)
            chosen = column or value_column(frame.names, [name], argument)
            columns = [frame.column(one, argument) for one in (name, chosen)]
        except InputError:
            return None
        wanted, numbers = integers_of(columns[0]), numbers_of(columns[1], dtype)
        if wanted is None or numbers is None:
            return None
        values, given = xp.zeros(self.size, dtype), xp.zeros(self.size, np.bool_)
        places = Places(numbering.ids, self.size, *numbering.ends)
        counts = places.write(wanted, numbers, values, given)
        if counts is None or any(counts) or count_true(given) != len(wanted):
            return None
        return values, given, len(wanted)

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

    def _plain(self, number: int) -> list[Any]:
        columns = self._outputs(VertexNumbers(device().xp.asarray([number])))
        return [as_series(column).to_arrow()[0].as_py() for column in columns]

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
