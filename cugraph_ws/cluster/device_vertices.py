"""The vertices of a share on a GPU: integers, kept there for own vertices and ghosts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from cugraph_ws.cluster.crew import Crew
from cugraph_ws.cluster.identities import OwnRange, ShardNumbering
from cugraph_ws.cluster.vertices import ShardVertices
from cugraph_ws.cuda.device import as_host, device
from cugraph_ws.cuda.numbering import Integers
from cugraph_ws.frames import VertexNumbers
from cugraph_ws.frames_cudf import id_column
from cugraph_ws.ids import IdType
from cugraph_ws.numbering import Renumbered

__all__ = ["DeviceShardVertices"]

DeviceArray = Any  # CuPy's or NumPy's


class DeviceShardVertices(ShardVertices):
    """All vertices of a graph, of which each member keeps its own; see `ShardVertices`.

    What callers give comes over the host; what an algorithm returns on the device stays there.

    Parameters
    ----------
    crew : Crew
    sources : sequence of str
        Names of the edge frame's source columns.
    kind : IdType
        Of the id, an integer.
    cuts : ndarray of int64, shape (crew.size + 1,)
        Who owns which vertices.
    form : dtype
        Of the ids.
    ids : device array, shape (length,), optional
        Ids by position of the share, own vertices first; every id is its own number without.
    """

    def __init__(
        self,
        crew: Crew,
        sources: Sequence[str],
        kind: IdType,
        cuts: npt.NDArray[np.int64],
        form: np.dtype[Any],
        ids: DeviceArray = None,
    ) -> None:
        low, high = int(cuts[crew.rank]), int(cuts[crew.rank + 1])
        numbering: Any = OwnRange(int(cuts[-1]), low)
        if ids is not None:
            own = _OwnIds(ids[: high - low])
            numbering = ShardNumbering(crew, cuts, own, [form], "compacted")
        super().__init__(crew, sources, [kind], numbering)
        self._ids = ids

    @property
    def nbytes(self) -> int:
        """Bytes of the ids, those of ghosts included."""
        return 0 if self._ids is None else int(self._ids.nbytes)

    def _outputs(self, numbers: VertexNumbers) -> list[Any]:
        xp, shard = device().xp, self._shard()
        wanted = numbers.numbers
        if not isinstance(wanted, xp.ndarray):
            return super()._outputs(numbers)
        ids, valid = wanted, wanted >= 0
        if self._ids is not None:
            places = shard.places_of(wanted)
            ids = xp.zeros(len(places), self._ids.dtype)
            if len(places) and len(self._ids):
                ids = self._ids[xp.maximum(places, 0)]
            strange = xp.flatnonzero(valid & (places < 0))
            if shard.any_member(bool(len(strange))):
                self._ask_for(strange, wanted, ids)
        missing = bool((~valid).any())
        (kind,) = self.types
        return [id_column(ids, valid if missing else None, kind)]

    def _ask_for(self, strange: DeviceArray, wanted: DeviceArray, ids: DeviceArray) -> None:
        """Fill in ids of vertices that are not known here, each asked for once, together."""
        xp = device().xp
        distinct, back = wanted[strange], strange
        if len(strange):
            distinct, back = xp.unique(distinct, return_inverse=True)
        (told,) = self.numbering.decode(as_host(distinct))
        if len(strange):
            ids[strange] = xp.asarray(told.to_numpy(zero_copy_only=False), ids.dtype)[back]


class _OwnIds:
    """The ids of own vertices on the device, for who asks on the host."""

    renumbered: Renumbered = "compacted"

    def __init__(self, ids: DeviceArray) -> None:
        self._integers = Integers(ids, len(ids), "compacted")
        self._ids = ids

    @property
    def size(self) -> int:
        """How many there are."""
        return len(self._ids)

    @property
    def nbytes(self) -> int:
        """Bytes that they take."""
        return int(self._ids.nbytes)

    def encode(self, columns: Sequence[Any]) -> npt.NDArray[np.int64]:
        """Return the places of ids, -1 where unknown."""
        (wanted,) = columns
        return as_host(self._integers.encode([device().xp.asarray(wanted)]))

    def decode(self, places: Any) -> list[pa.Array]:
        """Return the ids at places."""
        return [pa.array(as_host(self._ids[device().xp.asarray(places)]))]
