"""The vertices of a shard on a GPU: integer ids of owned vertices and ghosts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from cugraph_ws.backends.cuda.columns import widened
from cugraph_ws.backends.cuda.cudf_frames import Validity, empty_mask, id_column, ids_of_range
from cugraph_ws.backends.cuda.grouping import number_dtype, run
from cugraph_ws.backends.cuda.numbered_ids import Integers, look_up, name_vertices, ranks_of
from cugraph_ws.backends.cuda.vertex_values import Places, plain_rows
from cugraph_ws.frames.base import VertexNumbers
from cugraph_ws.frames.ids import IdType
from cugraph_ws.graph.numbering import Renumbered
from cugraph_ws.graph.owners import Owners
from cugraph_ws.graph.vertices import id_columns, value_column
from cugraph_ws.partition.halo import Halo
from cugraph_ws.partition.identities import OwnRange, ShardNumbering
from cugraph_ws.partition.partitioned_frame import (
    OpenedPartition,
    OpenedPartitions,
    Partitions,
    are_on_gpus,
)
from cugraph_ws.partition.vertices import ShardVertices
from cugraph_ws.runtime.arrays import any_true, as_host, count_on_device, read_scalars
from cugraph_ws.runtime.communicator import Communicator
from cugraph_ws.runtime.device import device

__all__ = ["DeviceShardVertices"]

DeviceArray = Any  # CuPy's or NumPy's

_INT64_MAX = np.iinfo(np.int64).max


class DeviceShardVertices(ShardVertices):
    """All vertices of a graph; each rank keeps the ids of its shard.  See `ShardVertices`.

    If all partitions of an argument are cuDF frames, its numbers are sent from GPU to GPU to the
    owners of their vertices.  All other arguments are sent over the host.  An algorithm's results
    on the device stay there.

    Parameters
    ----------
    comm : Communicator
    sources : sequence of str
        Names of the edge frame's source columns.
    kind : IdType
        Type of the id, an integer.
    cuts : ndarray of int64, shape (comm.size + 1,)
        Rank r owns the vertices numbered from cuts[r] to cuts[r + 1].
    form : dtype
        Dtype of the ids on the device.
    ids : device array, shape (length,), optional
        Ids by position in the shard, owned vertices first.  Without it, every id is its number.
    """

    def __init__(
        self,
        comm: Communicator,
        sources: Sequence[str],
        kind: IdType,
        cuts: npt.NDArray[np.int64],
        form: np.dtype[Any],
        ids: DeviceArray = None,
    ) -> None:
        low, high = int(cuts[comm.rank]), int(cuts[comm.rank + 1])
        numbering: Any = OwnRange(int(cuts[-1]), low)
        if ids is not None:
            owned_ids = _OwnIds(ids[: high - low])
            numbering = ShardNumbering(comm, cuts, owned_ids, [form], "compacted")
        super().__init__(comm, sources, [kind], numbering)
        self._ids = ids
        if ids is None:
            firsts = cuts[:-1].tolist()
        else:
            firsts = [None if parts is None else parts[0] for parts in numbering.ranges.firsts]
        self._id_ranges = _id_ranges(firsts, np.diff(cuts))
        # the least id of an owned vertex, and the greatest less the least
        self._least, self._span = low, high - low - 1
        if ids is not None and high > low:
            self._least, greatest = owned_ids.ends
            self._span = greatest - self._least

    @property
    def nbytes(self) -> int:
        """Bytes of the ids, ghosts' ids included."""
        return 0 if self._ids is None else int(self._ids.nbytes)

    def with_ghosts(
        self, comm: Communicator, halo: Halo, ghosts: DeviceArray
    ) -> DeviceShardVertices:
        """Return the same vertices for a shard with other ghosts; collective.

        Parameters
        ----------
        comm : Communicator
        halo : Halo
            Of this shard.
        ghosts : device array of int32 or int64
            The other ghosts' numbers, ascending.

        Returns
        -------
        DeviceShardVertices
            Without a shard: call its `align_to`.
        """
        vertices = self.join(comm)
        assert isinstance(vertices, DeviceShardVertices)
        if self._ids is not None:
            owned_ids = self._ids[: self._shard().owned]
            vertices._ids = device().xp.concatenate([owned_ids, halo.fetch(owned_ids, ghosts)])
        return vertices

    # --------------------------------------------------------------------------------- values

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
        """Align numbers given for vertices to positions; see `ShardVertices.values`.  Collective.

        Rows of this rank's own vertices are written to their places in one pass; each other row, sent or
        received, takes about the bytes of a value and 4 bytes more, and 8 bytes more if the ids of a rank
        span 2³¹ or more.
        """
        if isinstance(data, Partitions):
            received = self._receive_on_devices(data, argument, np.dtype(dtype), column)
            if received is not None:
                values, has_value, everywhere = received
                if not everywhere:
                    self._fill(values, has_value, argument, default)
                return (values, has_value) if on_device else (as_host(values), as_host(has_value))
        return super().values(data, argument, dtype, default, column, on_device=on_device)

    def _receive_on_devices(
        self, data: Partitions, argument: str, dtype: np.dtype[Any], column: str | None
    ) -> tuple[DeviceArray, DeviceArray, bool] | None:
        """Take values of owned vertices, and send all others to their owners, from GPU to GPU.  Collective.

        Returns
        -------
        values : device array of `dtype`, shape (length,)
        has_value : device array of bool, shape (length,)
        everywhere : bool
            Whether all vertices of all ranks have a value.

            None instead of all three, on all ranks, if this function cannot read the data or finds an
            error.  The data are then read over the hosts, which raises the error.
        """
        comm, xp = self._comm, device().xp
        if not comm.on_device or not are_on_gpus(comm, data.frames):
            return None
        parts = OpenedPartitions(comm, data, argument, on_device=True)
        if not all(isinstance(name, str) for name in parts.names):
            return None
        (name,) = id_columns(parts, self.sources)
        chosen = column or value_column(parts.names, [name], argument)
        shard = self._shard()
        values, has_value = xp.zeros(shard.length, dtype), xp.zeros(shard.length, np.bool_)
        buffers: list[list[DeviceArray]] = [[] for _ in range(comm.size)]
        written: int | None = 0  # rows
        for part in parts.own:
            if written is not None and len(part.frame):
                more = self._take_part(part, (name, chosen), argument, values, has_value, buffers)
                written = None if more is None else written + more
        shown = comm.allgather([written is not None, any(map(len, buffers))])
        if written is None or not all(simple for simple, _ in shown):
            return None
        if any(sends for _, sends in shown):
            written = self._store_received(comm.alltoall(buffers), values, has_value, written)
        del buffers
        with_value = int(read_scalars(count_on_device(has_value[: shard.owned]))[0])
        shown = comm.allgather([with_value == written, with_value == shard.owned])
        if not all(distinct for distinct, _ in shown):
            return None
        everywhere = all(all_given for _, all_given in shown)
        shard.halo.update(values, *([] if everywhere else [has_value]))
        if everywhere:
            has_value[shard.owned :] = True
        return values, has_value, everywhere

    def _take_part(
        self,
        part: OpenedPartition,
        names: tuple[str, str],
        argument: str,
        values: DeviceArray,
        has_value: DeviceArray,
        buffers: list[list[DeviceArray]],
    ) -> int | None:
        """Write a partition's rows of owned vertices, and put all others into the send buffers.  Not collective.

        Returns
        -------
        int or None
            How many rows have been written; None if the partition cannot be read here, or has an error.
        """
        rows = plain_rows(part, names, argument, values.dtype)
        if rows is None or not self._id_ranges:
            return None
        ids, numbers = rows
        counts = self._places().write(ids, numbers, values, has_value)
        if counts is None:
            nans = int(values.dtype.kind == "f" and any_true(device().xp.isnan(numbers)))
            counts = len(ids), 0, nans
        outside, unknown, nans = counts
        if unknown or nans or (outside and self._fill_buffers(ids, numbers, buffers) < outside):
            return None
        return len(ids) - outside

    def _places(self) -> Places:
        """Return where the owned vertices are."""
        owned = self._shard().owned
        owned_ids = None if self._ids is None else self._ids[:owned]
        return Places(owned_ids, owned, self._least, self._least + self._span)

    def _fill_buffers(
        self, ids: DeviceArray, values: DeviceArray, buffers: list[list[DeviceArray]]
    ) -> int:
        """Put the rows that `Places.write` leaves into the send buffers for their vertices' owners.  Not collective.

        A buffer gets two arrays: ids less the owner's least id, and the values.

        Returns
        -------
        int
            How many rows have been put into a buffer.
        """
        xp, written = device().xp, self._places().takes(ids)
        least, most = read_scalars(ids.min(), ids.max())
        lowest = self._id_ranges[0][1]
        if least < lowest or most > _INT64_MAX + min(0, lowest):  # int64 holds all differences
            return 0
        put = 0
        for rank, first, last in self._id_ranges:
            if last < least or first > most or (written and rank == self._comm.rank):
                continue
            # each bound used in a comparison is between two ids, so it fits their dtype
            of_rank = ids >= ids.dtype.type(first) if first > least else None
            if last < most:
                below = ids <= ids.dtype.type(last)
                of_rank = below if of_rank is None else of_rank & below
            some, their_values = (
                (ids, values) if of_rank is None else (ids[of_rank], values[of_rank])
            )
            beyond = xp.empty(len(some), number_dtype(min(last, most) - first + 1))
            look_up(some, first, None, beyond)
            buffers[rank] += [beyond, their_values]
            put += len(some)
        return put

    def _store_received(
        self,
        received: Sequence[Sequence[DeviceArray]],
        values: DeviceArray,
        has_value: DeviceArray,
        written: int,
    ) -> int:
        """Write received values to their places.  Not collective.

        Returns
        -------
        int
            `written` and the received rows; −1 if some of them are not for owned vertices.
        """
        places, strange = self._places(), False
        for buffer in received:
            for beyond, their_values in zip(buffer[::2], buffer[1::2], strict=True):
                counts = places.write(beyond, their_values, values, has_value, low=self._least)
                strange = strange or counts is None or any(counts)
                written += len(beyond)
        return -1 if strange else written

    # -------------------------------------------------------------------------------- results

    def own_columns(self, owners: Owners) -> dict[str, Any]:
        """Return the ids of owned vertices as result columns.  Not collective."""
        (name,), (kind,) = self.names, self.types
        ids = None if self._ids is None else self._ids[: owners.owned]
        low = int(owners.number_at(0))
        return {name: ids_of_range(ids, low, low + owners.owned, kind)}

    def _outputs(self, numbers: VertexNumbers) -> list[Any]:
        xp, shard = device().xp, self._shard()
        wanted = numbers.numbers
        if not isinstance(wanted, xp.ndarray):
            return super()._outputs(replace(numbers, near=False))
        (kind,) = self.types
        if self._ids is None:
            return [id_column(wanted, Validity.of(wanted >= 0), kind)]
        mask = empty_mask(len(wanted))
        named, nulls, strange = name_vertices(
            wanted, self._ids, mask, low=shard.low, owned=shard.owned, ranks=shard.ranks
        )
        if not numbers.near and shard.any_rank(strange > 0):
            self._ask_for(wanted, named)
        return [id_column(named, Validity(len(wanted), nulls, mask), kind, fresh=True)]

    def _ask_for(self, wanted: DeviceArray, ids: DeviceArray) -> None:
        """Fill in the ids of vertices that are neither owned nor ghosts, each requested once.  Collective."""
        gpu, shard, rows = device(), self._shard(), len(wanted)
        xp, places = gpu.xp, (wanted, rows, shard.low, shard.owned, *shard.ranks)
        asked = xp.zeros_like(shard.ranks[0])
        run(gpu, "mark_others", rows, *places, asked, module="ranks")
        ends = ranks_of(asked, rows)
        count = int(gpu.to_host(ends[-1:])[0])
        distinct = xp.empty(count, np.int64)
        run(gpu, "list_bits", len(asked), asked, len(asked), ends, distinct, module="ranks")
        (decoded,) = self.numbering.decode(as_host(distinct))
        if count:
            names = xp.asarray(decoded.to_numpy(zero_copy_only=False), ids.dtype)
            run(gpu, "name_others", rows, *places, asked, ends, names, ids, module="ranks")


def _id_ranges(firsts: Sequence[Any], owned: npt.NDArray[np.int64]) -> list[tuple[int, int, int]]:
    """Return the id range of each rank that owns vertices: rank, least id, greatest id.

    Parameters
    ----------
    firsts : sequence of int or None
        The least id of each rank.
    owned : ndarray of int64
        Number of vertices that each rank owns.
    """
    ranks = np.flatnonzero(owned).tolist()
    begins = [*(int(firsts[rank]) for rank in ranks), _INT64_MAX + 1]
    return [
        (rank, first, after - 1)
        for rank, (first, after) in zip(ranks, pairwise(begins), strict=True)
    ]


class _OwnIds:
    """The ids of owned vertices on the device, for requests from the host."""

    renumbered: Renumbered = "compacted"

    def __init__(self, ids: DeviceArray) -> None:
        self._integers = Integers(widened(ids), len(ids), self.renumbered)

    @property
    def ends(self) -> tuple[int, int]:
        """The least and the greatest id; see `Integers.ends`."""
        return self._integers.ends

    @property
    def size(self) -> int:
        """Number of ids."""
        return self._integers.size

    @property
    def nbytes(self) -> int:
        """Bytes of the ids."""
        return self._integers.nbytes

    def encode(self, columns: Sequence[Any]) -> npt.NDArray[np.int64]:
        """Return the places of ids of any integer dtype, -1 where unknown."""
        return self._integers.find(*columns)

    def decode(self, places: Any) -> list[pa.Array]:
        """Return the ids at places."""
        return [
            pa.array(as_host(part)) for part in self._integers.decode(device().xp.asarray(places))
        ]
