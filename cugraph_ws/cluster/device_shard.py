"""One member's share of a graph on its GPU, made there of edges that are there."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from cugraph_ws.cluster.agreement import attempt
from cugraph_ws.cluster.crew import Crew, total
from cugraph_ws.cluster.shard import ShardGraph
from cugraph_ws.cluster.vertices import ShardVertices
from cugraph_ws.cuda.arcs import DeviceArcs
from cugraph_ws.cuda.device import as_host, device
from cugraph_ws.cuda.graph import DeviceGraph, build
from cugraph_ws.cuda.grouping import Ends, number_dtype
from cugraph_ws.cuda.numbering import mark_present
from cugraph_ws.frames import FrameKind, VertexNumbers

__all__ = ["DeviceShard"]

DeviceArray = Any  # CuPy's or NumPy's


class DeviceShard(ShardGraph):
    """One member's share of a graph; see `ShardGraph` for what can be asked.

    Rows are laid out on the device, by falling in-degree; what is asked for on the host is copied
    there when it is first asked for.

    Parameters
    ----------
    crew : Crew
        The members, between whom arrays on the device travel.
    cuts : ndarray of int64, shape (crew.size + 1,)
        Member r owns the vertices numbered from cuts[r] to cuts[r + 1].
    ends : list of two device arrays of int32 or int64, shape (arcs,)
        Vertex numbers of the sources and of the destinations of all arcs into own vertices; the list
        is emptied.
    values : dict of str to device array, each of shape (arcs,)
        The edge columns kept, in the order of the arcs; the dictionary is emptied.
    vertices : callable
        Returns the vertices, given a device array of int32 or int64, the vertex number at each position:
        own ones', then ghosts'.
    kind, names, weight, directed
        See `ShardGraph`.
    loops : int, optional
        How many self-loops all members had, where they have been dropped.

    Raises
    ------
    GraphMemoryError
        If it does not fit on a member's GPU; for all members.
    """

    _arcs: ShardArcs

    def __init__(
        self,
        crew: Crew,
        cuts: npt.NDArray[np.int64],
        ends: list[DeviceArray],
        values: dict[str, DeviceArray],
        *,
        vertices: Callable[[DeviceArray], ShardVertices],
        kind: FrameKind,
        names: tuple[list[str], list[str]],
        weight: str | None = None,
        directed: bool = True,
        loops: int | None = None,
    ) -> None:
        carried = list(values)
        self._settle_in(crew, cuts, None, kind, names, carried, weight, directed)
        self._self_loops = loops
        xp = device().xp
        destinations, sources = ends.pop(), ends.pop()
        arcs = len(sources)
        self._all_arcs = self._edges = total(crew, arcs)
        if not directed:
            self._edges = total(crew, int(xp.count_nonzero(sources <= destinations)))
        low, owned, n = self.low, self.owned, int(cuts[-1])
        marks = xp.zeros(n, np.bool_)
        mark_present(marks, sources, 0)
        marks[low : low + owned] = False
        outside = xp.flatnonzero(marks).astype(number_dtype(n))
        del marks
        self._find_ghosts(as_host(xp.searchsorted(outside, xp.asarray(cuts, outside.dtype))))
        asked = crew.alltoall(
            [[outside[first - owned : last - owned]] for first, last in self.ghosts]
        )
        self._held = [wanted[0] - low for wanted in asked]
        index = number_dtype(self.length)
        places = xp.empty(n, index)
        places[low : low + owned] = xp.arange(owned, dtype=index)
        places[outside] = xp.arange(owned, self.length, dtype=index)
        own = [(destinations - destinations.dtype.type(low)).astype(index, copy=False)]
        del destinations
        own.append(xp.take(places, sources))
        del sources, places

        def lay_out() -> DeviceGraph:
            pair = Ends(own.pop(0), own.pop())
            return build(pair, values, self.length, undirected=False)

        graph = attempt(crew, lay_out)
        self._arcs = ShardArcs(graph, carried, self._below, owned, mirrored=not directed)
        numbers = xp.concatenate([xp.arange(low, low + owned, dtype=outside.dtype), outside])
        self._numbers = numbers  # by position of the share
        self._vertices = vertices(numbers)
        self._vertices.settle(self)
        self._laid = (
            graph,
            xp.take(numbers, graph.numbers),
            [xp.take(graph.positions, held) for held in self._held],
        )

    # ------------------------------------------------------------------------------ geometry

    @property
    def positions(self) -> npt.NDArray[np.int64]:
        """Vertex number at each position; copied to the host when first asked for."""
        with self._lock:
            if "positions" not in self.kept:
                self.kept["positions"] = as_host(self._numbers).astype(np.int64)
            return super().positions

    @property
    def boundaries(self) -> list[npt.NDArray[np.int64]]:
        """The own positions that each member holds; copied to the host when first asked for."""
        with self._lock:
            if "boundaries" not in self.kept:
                self.kept["boundaries"] = [as_host(one).astype(np.int64) for one in self._held]
            return super().boundaries

    @property
    def nbytes(self) -> int:
        """Bytes held now, on the device and on the host."""
        orders = sum(one.nbytes for one in self._orders.values())
        geometry = [self._numbers, self._laid[1], *self._held, *self._laid[2]]
        geometry += [one for one in self.kept.values() if isinstance(one, np.ndarray)]
        held = sum(int(one.nbytes) for one in geometry)
        return self._arcs.nbytes + int(self._vertices.nbytes) + held + orders

    @property
    def own_arcs(self) -> int:
        """Number of arcs into own vertices."""
        return self._arcs.number_of_arcs

    @property
    def binds_on_device(self) -> bool:
        """Whether arrays by vertex are made on the device where a run computes there."""
        return True

    def laid_out(self) -> tuple[DeviceGraph, Any, list[Any]]:
        """Return the share as the CUDA engine reads it; see `ShardGraph.laid_out`."""
        return self._laid

    def numbers_of(self, places: DeviceArray) -> DeviceArray:
        """Return the vertex numbers of positions, on the device."""
        return self._numbers[places]

    def places_of(self, numbers: DeviceArray) -> DeviceArray:
        """Return the positions of vertices, on the device: −1 for those neither own nor ghosts here.

        Parameters
        ----------
        numbers : device array of int64

        Returns
        -------
        device array of int64
        """
        xp, owned = device().xp, self.owned
        places = numbers - self.low
        outside = self._numbers[owned:]
        inside = (places >= 0) & (places < owned)
        if not len(outside):
            return xp.where(inside, places, -1)
        found = xp.minimum(xp.searchsorted(outside, numbers), len(outside) - 1)
        known = outside[found] == numbers
        return xp.where(inside, places, xp.where(known, found + owned, -1))

    def place(self, numbers: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Return the positions of vertices; see `ShardGraph.place`."""
        xp = device().xp
        given = xp.asarray(np.asarray(numbers, np.int64))
        return as_host(self.places_of(given)).astype(np.int64, copy=False)

    def _boundaries_for(self, *columns: Any) -> list[Any]:
        on_device = all(isinstance(column, device().xp.ndarray) for column in columns)
        return self._held if on_device else self.boundaries

    # ------------------------------------------------------------------------------- queries

    def _own_degrees(self, *, incoming: bool) -> DeviceArray:
        return self._arcs.degrees(incoming=incoming).astype(np.int64, copy=False)

    def _own_sums(self, name: str, *, incoming: bool) -> DeviceArray:
        return self._arcs.weight_sums(name, incoming=incoming)

    def _own_extreme(self, name: str, *, least: bool) -> list[Any] | None:
        """Return the least or greatest value of own arcs, and the numbers of an edge's ends."""
        if not self.own_arcs:
            return None
        value, arc = self._arcs.extreme(name, least=least)
        places = device().xp.asarray(self._arcs.ends(arc))
        return [np.asarray(value).item(), *as_host(self.numbers_of(places)).tolist()]

    def _count_repeated(self) -> int:
        """Count the edges beside the first between the same two vertices, together."""
        return total(self.crew, self._arcs.count_repeated())

    # ------------------------------------------------------------------------------- results

    def vertex_frame(self, columns: Mapping[str, Any]) -> Any:
        """Return a frame of the own vertices, sorted, together; see `ShardGraph.vertex_frame`."""
        self._open()
        own = VertexNumbers(self._numbers[: self.owned])
        return self._kind.make({**self._vertices.columns(None, own), **self._decoded(columns)})


class ShardArcs(DeviceArcs):
    """The arcs of a share; on the host, by rank: the order of own vertices' and ghosts' numbers.

    Parameters
    ----------
    graph : DeviceGraph
        Its vertex numbers are positions of the share.
    carried : sequence of str
    below : int
        How many ghosts have smaller numbers than own vertices.
    owned : int
    mirrored : bool
        Whether every edge is two arcs, of which each is where its destination is.
    """

    def __init__(
        self, graph: DeviceGraph, carried: Sequence[str], below: int, owned: int, *, mirrored: bool
    ) -> None:
        super().__init__(graph, carried)
        self._below, self._owned, self._both = below, owned, mirrored

    @property
    def _mirrored(self) -> bool:
        return self._both

    def _numbers(self) -> DeviceArray:
        places, owned, below = self.graph.numbers, self._owned, self._below
        xp = device().xp
        ghosts = xp.where(places - owned < below, places - owned, places)
        return xp.where(places < owned, places + below, ghosts)
