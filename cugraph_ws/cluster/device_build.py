"""A graph built by a crew whose frames and members are on GPUs: nothing of it comes to the host.

For edges whose ids are integers that nearly fill a range, which may be parallel, and without a frame of
vertices; what is asked for beside goes over the host, as `build_shard` does it.

Of n vertices and m edges on k members, with ids from a range of r, a member holds beside its partitions
at most about: 5 r bytes while ids are numbered; 8 m/k of numbers and 8 m/k of the order in which edges
are sent; then each column as it is sent and as it has come; then what `DeviceGraph` takes of m/k arcs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow.types as pt

from cugraph_ws.adjacency import index_dtype
from cugraph_ws.cluster import wire
from cugraph_ws.cluster.agreement import attempt
from cugraph_ws.cluster.crew import Crew, total
from cugraph_ws.cluster.cuts import balanced_cuts
from cugraph_ws.cluster.device_shard import DeviceShard
from cugraph_ws.cluster.device_vertices import DeviceShardVertices
from cugraph_ws.cluster.parts import Parts
from cugraph_ws.cluster.routes import Route
from cugraph_ws.cuda.device import device
from cugraph_ws.cuda.memory import check_device_memory, estimate
from cugraph_ws.cuda.numbering import look_up, mark_present, read_scalars, signed
from cugraph_ws.errors import InputError
from cugraph_ws.ids import IdType

__all__ = ["NumberedOnDevices", "are_integers", "build_on_devices", "number_on_devices"]

DeviceArray = Any  # CuPy's or NumPy's


@dataclass
class NumberedOnDevices:
    """Ids from a range as vertex numbers, in their order.

    Attributes
    ----------
    low : int
        The least id.
    size : int
        Number of distinct ids.
    table : device array of int32 or int64, optional
        The number of id i is `table[i - low]`, or `i - low` itself where there is none.
    """

    low: int
    size: int
    table: DeviceArray = None

    def numbers(self, columns: Sequence[DeviceArray]) -> DeviceArray:
        """Return the numbers of several columns' ids, one after the other.

        Parameters
        ----------
        columns : sequence of device array of int32 or int64

        Returns
        -------
        device array of int32 or int64
        """
        xp = device().xp
        found = xp.empty(sum(map(len, columns)), index_dtype(self.size))
        place = 0
        for column in columns:
            look_up(column, self.low, self.table, found[place : place + len(column)])
            place += len(column)
        return found

    def ids(self, numbers: DeviceArray, form: np.dtype[Any]) -> DeviceArray:
        """Return the ids of vertex numbers; None where every id is its own number.

        Parameters
        ----------
        numbers : device array of int32 or int64
        form : dtype
            Of the ids.

        Returns
        -------
        device array of `form`, or None
        """
        if self.table is None:
            return None if self.low == 0 else (numbers.astype(np.int64) + self.low).astype(form)
        # of the ids that have a number's place in the table, the first is the one that is there
        places = device().xp.searchsorted(self.table, numbers)
        return (places + self.low).astype(form)


def are_integers(crew: Crew, parts: Parts, names: tuple[list[str], list[str]]) -> bool:
    """Tell whether the ids of all members' edges are single integers, together.

    Parameters
    ----------
    crew : Crew
    parts : Parts
    names : pair of list of str
        The id columns.
    """
    single = all(len(one) == 1 for one in names)
    try:
        own = single and all(
            pt.is_integer(part.column(name, argument).arrow_type)
            for part in parts.own
            for (name,), argument in zip(names, ("source", "destination"), strict=True)
        )
    except InputError:  # which is raised where it is found out what is wrong
        own = False
    return all(crew.allgather(own))


def number_on_devices(
    crew: Crew, columns: Sequence[DeviceArray], dense_up_to: int
) -> NumberedOnDevices | None:
    """Give numbers to integers of all members, together.

    Each member marks its own ids in a table over the range; each counts an even piece of it.

    Parameters
    ----------
    crew : Crew
    columns : sequence of device array of int32 or int64
        The own ones, perhaps none.
    dense_up_to : int
        Largest range to number so, the same for all members.

    Returns
    -------
    NumberedOnDevices or None
        None, for all members, where the range is larger.
    """
    xp = device().xp
    filled = [column for column in columns if len(column)]
    ends = []
    if filled:
        told = read_scalars(
            *(one.min().astype(np.int64) for one in filled),
            *(one.max().astype(np.int64) for one in filled),
        )
        ends = [min(told[: len(filled)]), max(told[len(filled) :])]
    shown = [one for one in crew.allgather(ends) if one]
    if not shown:
        return NumberedOnDevices(0, 0)
    low, high = min(one[0] for one in shown), max(one[1] for one in shown)
    span = high - low + 1
    if span > max(dense_up_to, 1):
        return None
    present = xp.zeros(span, np.bool_)
    for column in filled:
        mark_present(present, column, low)
    if crew.size > 1:
        bounds = [span * rank // crew.size for rank in range(crew.size + 1)]
        came = crew.alltoall([[present[first:last]] for first, last in pairwise(bounds)])
        piece = came[0][0]
        for (one,) in came[1:]:
            piece = piece | one
        told = [one[0] for one in crew.alltoall([[piece]] * crew.size)]
        for (first, last), one in zip(pairwise(bounds), told, strict=True):
            present[first:last] = one
        del came, piece, told
    (size,) = read_scalars(present.sum())
    if size == span:
        return NumberedOnDevices(low, span)
    table = xp.cumsum(present, dtype=index_dtype(size))
    table -= 1
    return NumberedOnDevices(low, int(size), table)


def build_on_devices(
    crew: Crew,
    parts: Parts,
    names: tuple[list[str], list[str]],
    kind: IdType,
    columns: list[DeviceArray],
    values: dict[str, DeviceArray],
    *,
    weight: str | None,
    directed: bool,
    self_loops: str,
    weights: Sequence[float] | None,
) -> DeviceShard | None:
    """Build a member's share of a graph, together; see `build_shard`.

    Parameters
    ----------
    crew : Crew
        Between whose members arrays on the device travel.
    parts : Parts
        Of the edge frame, opened on the device.
    names : pair of list of str
        The id columns.
    kind : IdType
        Of the ids: integers.
    columns : list of device array
        Those of own partitions: sources, then destinations.
    values : dict of str to device array, each of shape (rows,)
        Edge columns of own rows; emptied, if a graph is made.
    weight, directed, self_loops, weights
        See `build_shard`.

    Returns
    -------
    DeviceShard or None
        None, for all members, where ids are to be numbered over the host, or a self-loop named.

    Raises
    ------
    GraphMemoryError
        If a member's share would not fit on its GPU; for all members.
    """
    xp, form = device().xp, wire.form_of(kind)
    wide = form.itemsize == 8 or form == np.uint32
    own = [signed(one, np.dtype(np.int64 if wide else np.int32)) for one in columns]
    # what is above int64 in a column of uint64 is negative here
    high = form == np.uint64 and any(bool((one < 0).any()) for one in own)
    if any(crew.allgather(high)):
        return None
    dense = 8 * parts.rows // crew.size + (1 << 20)
    numbered = number_on_devices(crew, own, dense)
    if numbered is None:
        return None
    count = len(parts.own)
    sources, destinations = numbered.numbers(own[:count]), numbered.numbers(own[count:])
    del own
    loops = None
    if self_loops != "keep":
        loops = total(crew, int(xp.count_nonzero(sources == destinations)))
        if loops and self_loops == "error":
            return None
    starts = np.cumsum([0, *(len(part.frame) for part in parts.own)])
    places = [part.place[0] for part in parts.own]
    keep = self_loops == "keep"
    route = Route(sources, destinations, starts, places, keep, directed, xp)
    del sources, destinations
    cuts = balanced_cuts(crew, numbered.size, route.targets(), weights)
    arcs = route.aim(crew, cuts)
    owned = int(cuts[crew.rank + 1] - cuts[crew.rank])
    wide_values = sum(column.dtype.itemsize for column in values.values())
    came_in = (wide_values + 2 * index_dtype(numbered.size).itemsize) * arcs
    needed = estimate(arcs, owned, wide_values, False)
    attempt(crew, partial(check_device_memory, needed, beside=came_in))
    came = {name: route.send(crew, values.pop(name)) for name in list(values)}
    ends = list(route.send_ends(crew))
    del route

    def vertices(numbers: DeviceArray) -> DeviceShardVertices:
        ids = numbered.ids(numbers, form)
        return DeviceShardVertices(crew, names[0], kind, cuts, form, ids)

    return DeviceShard(
        crew,
        cuts,
        ends,
        came,
        vertices=vertices,
        kind=parts.kind_like(names[0][0]),
        names=names,
        weight=weight,
        directed=directed,
        loops=loops,
    )
