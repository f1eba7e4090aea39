"""`GraphView`: the interface of a graph, or of a rank's shard of one, for engines, programs and users.

Arrays by vertex are indexed by *position*: owned vertices first, then ghosts, which other ranks own.
A whole graph is the shard of a single rank: it owns all vertices, and positions are vertex numbers.

A graph is on the host or on the device.  Values are read there, and returned on the host unless
`on_device` is set.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from threading import RLock
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from cugraph_ws.arguments import check_choice, check_flag, listed, shown
from cugraph_ws.errors import InputError
from cugraph_ws.frames.base import FrameKind, VertexNumbers, open_frame
from cugraph_ws.frames.types import FrameT
from cugraph_ws.graph.adjacency import Adjacency
from cugraph_ws.graph.arcs import Arcs, Order
from cugraph_ws.graph.copied_arcs import refuse_marks
from cugraph_ws.graph.duplicates import PARALLEL_RANK, Policy, policy_of, refuse_infinite
from cugraph_ws.graph.edges import refuse_repeated
from cugraph_ws.graph.framed import Framed
from cugraph_ws.graph.masks import kept_arcs
from cugraph_ws.graph.owners import Owners
from cugraph_ws.graph.placement import PlacementName
from cugraph_ws.graph.report import GraphReport
from cugraph_ws.runtime.arrays import as_host, module_of
from cugraph_ws.runtime.communicator import Communicator, total
from cugraph_ws.runtime.device import device
from cugraph_ws.runtime.dispatch import provider

if TYPE_CHECKING:
    from cugraph_ws.backends.cuda.arcs import DeviceArcs
    from cugraph_ws.backends.cuda.graph import DeviceGraph

__all__ = ["ExampleArc", "Examples", "GraphView", "edges_of", "vertices_of"]

Array = npt.NDArray[Any]

EXAMPLES = 4  # pairs of neighbouring arcs that a rank shows as examples


class ExampleArc(NamedTuple):
    """An arc with what a program sees of it.

    Attributes
    ----------
    ends : tuple of int
        The vertex numbers of source and destination.
    own : tuple of tuple
        The constants of both.
    edge : tuple
        The values of edge columns.
    """

    ends: tuple[int, int]
    own: tuple[tuple[Any, ...], tuple[Any, ...]]
    edge: tuple[Any, ...]


Examples = list[ExampleArc]


def _example_arcs(constants: int, ends: Array, *columns: Array) -> Iterator[ExampleArc]:
    """Yield the arcs that a rank shows, from arrays by end and by arc."""
    constant_columns, edges = columns[:constants], columns[constants:]
    for place, (source, destination) in enumerate(ends.tolist()):
        both = [tuple(column[2 * place + end] for column in constant_columns) for end in (0, 1)]
        edge = tuple(column[place] for column in edges)
        yield ExampleArc((source, destination), (both[0], both[1]), edge)


DEGREES = ("degrees",)  # the key of degrees among cached sums; no column has such a name


class GraphView(Framed[FrameT]):
    """The interface of all graphs; `Graph` and `ShardGraph` implement it.

    Collective methods are called by all ranks, in the same order.

    Parameters
    ----------
    comm : Communicator
        The ranks that hold the graph.
    owners : Owners
        Which rank owns which vertices.
    kind, vertices, names, directed
        See `Framed`.
    carried : sequence of str
        The edge columns that the graph keeps.
    weight : str, optional
        Which of them is the weight.

    Attributes
    ----------
    comm, owners, weight, directed
        As given.
    owned : int
        How many vertices this rank owns.
    ghosts : list of (int, int)
        For each rank, the range of positions of its vertices that are ghosts here.
    learned : dict
        Other cached results; the same on all ranks.
    cut : str
        How vertices are divided among ranks; see `Graph`.
    placement, memory_limit
        Where arcs are, and the most bytes of memory that a run takes with the graph; see `Graph`.
    share : (int, int)
        Which of how many copies of a graph this is, in a call that divides its sources among them.
    whole : bool
        Whether this is a whole graph.  False for any shard, even a single rank's, since its
        checkpoints differ.
    """

    whole: ClassVar[bool]
    cut: str = "ranges"
    placement: PlacementName = "memory"
    memory_limit: int | None = None
    share: tuple[int, int] = (0, 1)
    owned: int
    ghosts: list[tuple[int, int]]

    def __init__(
        self,
        comm: Communicator,
        owners: Owners,
        kind: FrameKind,
        vertices: Any,
        names: tuple[list[str], list[str]],
        carried: Sequence[str],
        *,
        weight: str | None,
        directed: bool,
    ) -> None:
        super().__init__(kind, vertices, names, directed=directed)
        self.comm, self.owners, self.owned = comm, owners, owners.owned
        self.weight = weight
        self._carried = list(carried)
        self._arcs: Arcs | DeviceArcs | None = None
        self._edges = 0
        self._duplicates: int | None = None  # of the frame, if they were counted in the build
        self._parallel: int | None = None  # counted when first read
        self._self_loops: int | None = None
        self._lock = RLock()
        # Cached, since every run needs them: extremes of edge columns, by name and whether the
        # least, and sums of columns, by name, direction, and whether on the device.
        self._extremes: dict[tuple[str, bool], tuple[Any, Any]] = {}
        self._sums: dict[tuple[Any, bool, bool], Any] = {}
        self.learned: dict[str, Any] = {}
        # Of a graph of one rank: rows that algorithms derived from its arcs, by name.
        self.derived: dict[Any, Any] = {}

    # -------------------------------------------- what differs between a whole graph and a shard

    @property
    @abstractmethod
    def boundaries(self) -> list[Array]:
        """For each rank, the owned positions that it holds as ghosts, in that rank's order."""

    @property
    @abstractmethod
    def positions(self) -> npt.NDArray[np.int64]:
        """Vertex number at each position."""

    @property
    @abstractmethod
    def csc(self) -> Adjacency:
        """In-neighbours of owned vertices, as positions, on the host; made when first read."""

    @property
    @abstractmethod
    def csr(self) -> Adjacency:
        """Owned out-neighbours of all positions, on the host; made when first read."""

    @abstractmethod
    def laid_out(self) -> tuple[DeviceGraph, Any, list[Any]]:
        """Return the rows as the CUDA engine reads them; made when first needed, then kept.

        Returns
        -------
        graph : DeviceGraph
            Rows of owned vertices, by falling in-degree; ghosts have no rows.
        numbers : device array, shape (length,)
            Vertex number at each position of this layout.
        boundaries : list of device array
            As `boundaries`, in positions of this layout.
        """

    @property
    @abstractmethod
    def nbytes(self) -> int:
        """Bytes in use now, on this rank."""

    @abstractmethod
    def _find_extreme(self, name: str, *, least: bool) -> tuple[Any, Any]:
        """Return an edge column's least or greatest value, and its edge; the graph must have edges."""

    @abstractmethod
    def _ends(self, arc: int) -> Sequence[int]:
        """Return the vertex numbers of the ends of one of this rank's arcs."""

    @abstractmethod
    def _over_all_arcs(self, own: Any, *, incoming: bool) -> Any:
        """Return sums over all arcs, by position, given those over this rank's arcs; collective."""

    @abstractmethod
    def _count_isolated(self) -> int:
        """Count the owned vertices without any edge; collective."""

    @abstractmethod
    def _local(self, step: Callable[[], Any]) -> Any:
        """Run a step; if it fails on one rank, the same error is raised on all; collective."""

    def _merge_arcs(self, arcs: Arcs, policy: Policy, repeated: npt.NDArray[np.bool_]) -> None:
        """Merge parallel arcs; collective."""
        arcs.merge(policy, repeated)

    # ---------------------------------------------------------------------------------- geometry

    @property
    def length(self) -> int:
        """Length of an array by position: owned vertices and ghosts."""
        return self.ghosts[-1][1]

    @property
    def number_of_vertices(self) -> int:
        """Number of vertices of the whole graph, including isolated ones."""
        self._open()
        return self.owners.size

    @property
    def number_of_edges(self) -> int:
        """Number of edges kept; an undirected edge counts once."""
        self._open()
        return self._edges

    @property
    def number_of_arcs(self) -> int:
        """Number of arcs: an undirected edge is two, a self-loop one."""
        return self.own_arcs

    @property
    def own_arcs(self) -> int:
        """Number of arcs into owned vertices."""
        return int(self._open().number_of_arcs)

    @property
    def own_both_ways(self) -> int:
        """Pairs of vertices with edges given in both directions whose larger number is owned."""
        return int(self._open().both_ways)

    @property
    def has_csr(self) -> bool:
        """Whether the host has the rows of out-neighbours already."""
        return bool(self._open().has_csr)

    def arcs_apart(self, *, on_device: bool) -> bool:
        """Return whether arcs are not in the memory that runs take, the GPU's or the host's."""
        return not on_device and bool(self._open().mapped_bytes)

    def bytes_there(self, *, on_device: bool) -> int:
        """Return the bytes of the graph in the memory that runs take, the GPU's or the host's."""
        return self.nbytes

    @property
    def edge_attributes(self) -> tuple[str, ...]:
        """Names of the edge columns that were kept, including the weight."""
        return tuple(self._carried)

    @property
    def vertices(self) -> FrameT:
        """The vertices as a frame, sorted: ids, and the attributes of `vertices=`; collective.

        An attribute is null for vertices that the frame did not have.  On a cluster: the ids alone.
        """
        self._open()
        return self.vertex_frame(self._vertices.attribute_columns() if self.whole else {})

    @property
    def edges(self) -> FrameT:
        """The edges as a frame; see `edge_frame`."""
        return self.edge_frame()

    @property
    def device_resident(self) -> bool:
        """Whether the graph was built on a GPU, from a cuDF frame or arrays there.

        Its results are made there, and `engine="auto"` computes there.
        """
        return bool(self._open().on_device)

    @property
    def computes_on_device(self) -> bool:
        """Whether `engine="auto"` computes on a GPU: for graphs of frames there, wherever their arcs are, or placed there."""
        is_of_device = self._kind.backend == "cudf" or self.placement == "device"
        return self.device_resident or (self.placement != "memory" and is_of_device)

    @property
    def binds_on_device(self) -> bool:
        """Whether arrays by vertex are made on the device if a run computes there."""
        return self.whole or bool(self._open().on_device)

    # ---------------------------------------------------------------------------------- by vertex

    @property
    def in_degrees(self) -> npt.NDArray[np.int64]:
        """Number of edges into every vertex, on the host; see `degrees`."""
        return np.asarray(self.degree_array(incoming=True))

    @property
    def out_degrees(self) -> npt.NDArray[np.int64]:
        """Number of edges out of every vertex, on the host; see `degrees`."""
        return np.asarray(self.degree_array(incoming=False))

    def degree_array(self, *, incoming: bool, on_device: bool = False) -> Any:
        """Return the number of edges into, or out of, every vertex; collective.

        Parameters
        ----------
        incoming : bool
        on_device : bool
            Whether to return a device array.

        Returns
        -------
        array of int64, shape (length,)
            By position, in a `Graph` by vertex number; read-only.  Made when first needed, then
            kept until `close()`.
        """
        check_flag("incoming", incoming)
        return self._kept_sums(
            DEGREES, incoming, lambda: self._counted(incoming=incoming), on_device=on_device
        )

    def _counted(self, *, incoming: bool) -> Any:
        """Count the edges into, or out of, every position, where the graph is; collective."""
        return self._over_all_arcs(self._open().degrees(incoming=incoming), incoming=incoming)

    def weight_sums(self, name: str | None, *, incoming: bool, on_device: bool = False) -> Any:
        """Return the sum of an edge column over the edges into, or out of, every vertex; collective.

        Parameters
        ----------
        name : str or None
            The weight, or one of `attributes`; None counts each edge as 1.
        incoming : bool
        on_device : bool
            Whether to return a device array.

        Returns
        -------
        array of float64, shape (length,)
            By position, in a `Graph` by vertex number; read-only.  Made when first needed, then
            kept until `close()`.

        Raises
        ------
        InputError
            If the graph did not keep such a column, or a sum exceeds float64.
        """
        arcs = self._open()
        check_flag("incoming", incoming)
        if name is not None:
            self._check_carried(name)

        def add_up() -> Any:
            if name is None:
                return self._counted(incoming=incoming).astype(np.float64)
            rank_sums: Any = arcs.weight_sums(name, incoming=incoming)
            sums = self._over_all_arcs(rank_sums, incoming=incoming)
            self._refuse_infinite_sums(name, sums[: self.owned])
            return sums

        return self._kept_sums(name, incoming, add_up, on_device=on_device)

    def _refuse_infinite_sums(self, name: str, own: Any) -> None:
        """Raise InputError for the first vertex whose sum is not finite; collective."""
        bad = self._open().first_infinite(own) if len(own) else None
        first = None if bad is None else int(self.owners.number_at(int(bad)))
        shown = [number for number in self.comm.allgather(first) if number is not None]
        if shown:
            (vertex,) = self.describe_vertices([min(shown)])
            raise InputError(
                f"column {name!r}: the weights at vertex {vertex} add up to more than a float64 "
                "holds; scale the weights down"
            )

    def _kept_sums(
        self, name: Any, incoming: bool, make: Callable[[], Any], *, on_device: bool
    ) -> Any:
        """Return an array by position that depends on the graph alone.

        It is computed where the graph is, and copied to the host or device if needed; both are kept.
        """
        graph_key, wanted = (name, incoming, self._open().on_device), (name, incoming, on_device)
        if graph_key not in self._sums:
            self._sums[graph_key] = make()
        if wanted not in self._sums:
            array, current_device = self._sums[graph_key], device()
            self._sums[wanted] = (
                current_device.xp.asarray(array) if on_device else current_device.to_host(array)
            )
        return self._sums[wanted]

    def own_numbers(self, values: Any, argument: str) -> npt.NDArray[np.int64]:
        """Return the numbers of the given vertices that this rank owns; collective.

        Parameters
        ----------
        values, argument
            See `numbers`.

        Returns
        -------
        ndarray of int64
            Ascending, each once.
        """
        numbers = np.unique(as_host(self.numbers(values, argument)))
        owned_numbers: npt.NDArray[np.int64] = numbers[self.owners.holds(numbers)]
        return owned_numbers

    def frame_of_own(self, own: npt.NDArray[np.int64], columns: Mapping[str, Any]) -> FrameT:
        """Return a frame of some owned vertices; collective.

        Parameters
        ----------
        own : ndarray of int64
            From `own_numbers`.
        columns : mapping of str to array, each of shape (owned, ...) or longer
            By owned vertex.

        Returns
        -------
        DataFrame or Table
            See `frame_of`.
        """
        places = self.owners.places(own)
        chosen = {
            name: column[module_of(column).asarray(places)] for name, column in columns.items()
        }
        return self.frame_of(VertexNumbers(own), chosen)

    def integer_ids(self, program: str, name: str) -> npt.NDArray[np.int64]:
        """Return the ids of vertices, which must be integers of one column; collective.

        Parameters
        ----------
        program, name : str
            The program and its constant that asks for them, for errors.

        Returns
        -------
        ndarray of int64, shape (length,)
            By position, on the host; in a graph of groups, the ids within them.

        Raises
        ------
        InputError
            If ids are text, have several columns, or do not fit.
        """
        vertices = self._vertices
        kind, columns = vertices.types[-1], len(vertices.types) - vertices.groups
        if columns > 1 or kind.family not in ("integer", "nothing"):
            what = f"have {columns} columns" if columns > 1 else f"are {kind.arrow}"
            raise InputError(
                f"{program}.{name} is the integer id of a vertex, but ids of this graph {what}; declare it as "
                "ws.vertex_number, which every vertex has"
            )
        decoded = vertices.columns(None, VertexNumbers(self.positions))
        frame = open_frame(self._kind.make(decoded), "vertices")
        ids = np.asarray(frame.column(vertices.names[-1], "vertices").values)
        if len(ids) and int(ids.max()) >= 2**63:
            raise InputError(
                f"{program}.{name} is an int64, which cannot hold the id {ids.max()}; declare it as ws.vertex_number"
            )
        return ids.astype(np.int64)

    def vertex_sum(self, values: Any) -> Any:
        """Return the sum over all vertices of an array by position; collective.

        Parameters
        ----------
        values : array, shape (length,)

        Returns
        -------
        scalar
        """
        return self._over_ranks(values[: self.owned].sum(), np.sum)

    def vertex_max(self, values: Any) -> Any:
        """Return the maximum over all vertices of an array by position; collective.

        Parameters
        ----------
        values : array of float64, shape (length,)
            Numbers of 0 or more.

        Returns
        -------
        scalar
            0.0 if there are no vertices.
        """
        return self._over_ranks(
            values[: self.owned].max() if self.owned else np.float64(0.0), np.max
        )

    def _over_ranks(self, own: Any, combine: Callable[[Any], Any]) -> Any:
        """Combine a scalar of each rank; collective."""
        if self.whole:
            return own
        return combine(
            self.comm.allgather(own if isinstance(own, np.generic) else as_host(own)[()])
        )

    def examples(self, columns: Sequence[Any], edges: Sequence[str | float]) -> Examples:
        """Return a few arcs of every rank, with what programs see of them; collective.

        Parameters
        ----------
        columns : sequence of array, each of shape (length,), or with one entry that holds for all
            By position; in a `Graph` by vertex number.
        edges : sequence of str or number
            Names of edge columns, or numbers that hold for all arcs.

        Returns
        -------
        list of ExampleArc
            The same on all ranks.
        """
        arcs, count = self._open(), self.own_arcs
        starts = range(0, count, max(2, count // EXAMPLES))
        places = [
            place for start in starts[:EXAMPLES] for place in (start, start + 1) if place < count
        ]
        ends = np.array([self._ends(place) for place in places], np.int64).reshape(-1, 2)
        at = ends if self.whole else np.vectorize(self._position_of, otypes=[np.int64])(ends)
        shown = [
            as_host(column[at.ravel()]) if len(column) == self.length else np.repeat(as_host(column)[:1], at.size)
            for column in columns
        ]  # fmt: skip
        values = [
            as_host(arcs.values(name, "csc")[places]) if isinstance(name, str) else np.full(len(places), name)
            for name in edges
        ]  # fmt: skip
        parts = self.comm.alltoall([[ends, *shown, *values]] * self.comm.size)
        return [arc for part in parts for arc in _example_arcs(len(columns), *part)]

    def _position_of(self, number: int) -> int:
        """Return the position of a vertex that this rank holds."""
        return int(np.flatnonzero(self.positions == number)[0])

    def any_rank(self, truth: bool) -> bool:
        """Return whether a condition holds on any rank; collective.

        Parameters
        ----------
        truth : bool
            Whether it holds here.

        Returns
        -------
        bool
        """
        return any(self.comm.allgather(bool(truth)))

    # -------------------------------------------------------------------------------- edge columns

    def least_edge_value(self, name: str) -> tuple[Any, Any] | None:
        """Return the smallest value of an edge column, and an edge that has it; collective.

        Parameters
        ----------
        name : str
            The weight, or one of `attributes`.

        Returns
        -------
        value : NumPy scalar
        edge : int, or sequence of int
            For `describe_edge`.  Without any edge, None is returned instead of both.

        Raises
        ------
        InputError
            If the graph did not keep such a column.
        """
        return self._extreme(name, least=True)

    def greatest_edge_value(self, name: str) -> tuple[Any, Any] | None:
        """Return the greatest value of an edge column, and an edge; see `least_edge_value`."""
        return self._extreme(name, least=False)

    def describe_edge(self, edge: int | Sequence[int]) -> str:
        """Return the ids of an edge's ends as text, for errors: 'a' to 'b'; collective.

        Parameters
        ----------
        edge : int, or sequence of int
            From `least_edge_value`: an arc of a whole graph, or the vertex numbers of the ends.

        Returns
        -------
        str
        """
        ends = self._ends(edge) if isinstance(edge, int) else edge
        return " to ".join(self.describe_vertices(ends))

    def _extreme(self, name: str, *, least: bool) -> tuple[Any, Any] | None:
        self._check_carried(name)
        if not self.number_of_arcs:
            return None
        if (name, least) not in self._extremes:
            self._extremes[name, least] = self._find_extreme(name, least=least)
        return self._extremes[name, least]

    def edge_dtype(self, name: str) -> np.dtype[Any]:
        """Return the dtype of an edge column.

        Parameters
        ----------
        name : str
            The weight, or one of `attributes`.

        Returns
        -------
        dtype
            int64, float32 or float64.

        Raises
        ------
        InputError
            If the graph did not keep such a column.
        """
        self._check_carried(name)
        dtype: np.dtype[Any] = np.dtype(self._open().values(name, "csc").dtype)
        return dtype

    def edge_values(self, name: str, order: Order = "csc") -> Array:
        """Return an edge column in the order of an adjacency, on the host.

        Parameters
        ----------
        name : str
            The weight, or one of `attributes`.
        order : {"csc", "csr"}

        Returns
        -------
        ndarray of int64, float32 or float64, shape (arcs,)
            Smaller integers and bools widen to int64, float16 to float32.  Read-only.

        Raises
        ------
        InputError
            If the graph did not keep such a column.
        """
        check_choice("order", order, ("csc", "csr"))
        self._check_carried(name)
        return self._host().values(name, order)

    def _check_carried(self, name: str) -> None:
        if isinstance(name, str) and name == PARALLEL_RANK:
            return
        if not isinstance(name, (str, int)) or name not in self._carried:
            raise InputError(
                f"the graph has no edge column {shown(name)}; it has: "
                f"{listed(self._carried)}; name the column in "
                f"Graph(weight=...) or Graph(attributes=[...])"
            )

    # ------------------------------------------------------------------------------ other graphs

    def mask(self, edges: Any) -> Self:
        """Return the graph with some of the edges, and all of its vertices; collective.

        Vertices keep their numbers, and edges their order and columns; nothing is read from frames
        or numbered again.  On the host no edge is sorted.

        Parameters
        ----------
        edges : column of bool, or callable
            Which edges to keep, for each row of `edge_frame()`, in its order; an undirected edge is
            one row.  A callable is given that frame (on a cluster, each worker's part of it) and
            returns the column.

        Returns
        -------
        Graph
            It shares the ids and attributes of vertices with this one; each is closed separately.

        Raises
        ------
        InputError
            If the column has another type or length, or nulls.
        GraphMemoryError
            If the graph is on disk, and the marks or the frame would not fit in memory.

        Examples
        --------
        >>> import pandas as pd
        >>> import cugraph_ws as ws
        >>> roads = {"source": [0, 1], "destination": [1, 2], "weight": [2.0, 9.0]}
        >>> with ws.Graph(pd.DataFrame(roads)) as graph:
        ...     short = graph.mask(lambda edges: edges["weight"] < 5)
        ...     short.number_of_vertices, short.number_of_edges
        (3, 1)
        """
        arcs = self._open()
        refuse_marks(self)
        chosen, count = kept_arcs(self, edges)
        return self._with_arcs(arcs.chosen(chosen), total(self.comm, count))

    def contract(self, labels: Any, weight: str = "sum", self_loops: bool = False) -> Any:
        """Return the graph whose vertices are labels of this one's vertices; collective.

        All edges from vertices of one label to vertices of another become one edge.

        Parameters
        ----------
        labels : frame, mapping or str
            The label of every vertex: a frame of ids and one column of integers, text or other ids,
            as most functions return; a mapping from ids to integers; or the name of a vertex
            attribute of integers.  In a Dask frame, labels are integers.
        weight : {"sum", "min", "max"}
            How the weights of edges that become one are combined.  Without weights each edge counts 1.
        self_loops : bool
            Whether edges between vertices of the same label are kept, as a self-loop of the label.

        Returns
        -------
        Graph
            With a vertex for each label, and the edge columns of the weight (`weight` if this graph
            has none) and `count`, the number of edges that have become one.

        Raises
        ------
        InputError
            If an argument is invalid, or a vertex has no label.

        Examples
        --------
        >>> import pandas as pd
        >>> import cugraph_ws as ws
        >>> roads = {"source": [0, 1, 1], "destination": [1, 2, 3], "weight": [2.0, 9.0, 1.0]}
        >>> with ws.Graph(pd.DataFrame(roads)) as graph:
        ...     graph.contract({0: 5, 1: 5, 2: 8, 3: 8}).edge_frame()
           source  destination  weight  count
        0       5            8    10.0      2
        """
        self._open()
        contracted = provider("graphs of graphs").contracted
        return contracted(self, labels, weight, self_loops=self_loops)

    def subgraph(self, vertices: Any) -> Any:
        """Return the graph of some vertices, and all edges between them; collective.

        Parameters
        ----------
        vertices : sequence, array, Series or frame
            Ids of the vertices.

        Returns
        -------
        Graph
            With these vertices only, their attributes, and all edge columns.  See
            `mask` for a graph with all vertices, `cugraph_ws.subgraph` for a frame.

        Raises
        ------
        InputError
            If a vertex is unknown.
        GraphMemoryError
            If the graph is on disk, and the edges would not fit in memory.
        """
        self._open()
        return provider("graphs of graphs").induced(self, vertices)

    def without_weight(self) -> Self:
        """Return the graph as one whose edges have no weights; it shares all arrays with this one."""
        graph = self._with_arcs(self._open(), self._edges)
        graph._carried = [name for name in self._carried if name != self.weight]
        graph.weight = None
        return graph

    def without_edges(self) -> Self:
        """Return the graph of the same vertices without edges and their columns; collective."""
        graph = self._with_arcs(self._open().none(), 0)
        graph._carried, graph.weight = [], None
        return graph

    def _with_arcs(self, arcs: Any, edges: int) -> Self:
        """Return a graph of the same vertices with some of the arcs; collective."""
        graph = copy(self)
        graph._arcs, graph._edges, graph._lock = arcs, edges, RLock()
        graph._duplicates = graph._parallel = graph._self_loops = None
        graph._sums, graph._extremes, graph.learned, graph.derived = {}, {}, {}, {}
        return graph

    # ------------------------------------------------------------------------------- the build

    @property
    def parallel_edges(self) -> int:
        """Number of edges after the first between the same two vertices, counted when first read; collective."""
        if self._parallel is None:
            self._parallel = total(self.comm, self._open().count_repeated())
        return self._parallel

    @property
    def report(self) -> GraphReport:
        """Report on the build; the first read builds the CSC to count edges; collective."""
        arcs, comm = self._open(), self.comm
        if self._self_loops is None:
            self._self_loops = total(comm, arcs.count_loops())
        return GraphReport(
            vertices=self.number_of_vertices,
            edges=self._edges,
            isolated=total(comm, self._count_isolated()),
            duplicates=self.parallel_edges if self._duplicates is None else self._duplicates,
            self_loops=self._self_loops,
            renumbered=self._vertices.numbering.renumbered,
            bytes=total(comm, self.nbytes),
            both_ways=total(comm, self.own_both_ways),
            layouts=self._layouts(),
            choices=self._choices(),
            on_disk=arcs.mapped_bytes,
        )

    def _choices(self) -> dict[str, str]:
        """Return which layout the last run of each program has chosen, and why; a rank chooses none."""
        return {}

    def _layouts(self) -> dict[str, int]:
        """Return the bytes of each layout that is held now, by name; a rank's are not counted."""
        return {}

    def _merge(self, policy: Any) -> None:
        """Apply a policy on parallel edges of a graph on the host; collective."""
        arcs = self._host()
        repeated = arcs.repeated()
        surplus = self._duplicates = total(self.comm, arcs.count(repeated))
        if surplus and policy == "error":
            first = int(np.argmax(repeated)) if repeated.any() else None
            refuse_repeated(surplus, self._first_of_ranks(first, repeated)[1])
        if surplus:
            self._merge_arcs(arcs, policy, repeated)
            self._edges -= surplus
        if surplus and self.weight is not None:
            values = arcs.values(self.weight, "csc")
            value, edge = self._first_of_ranks(arcs.first_infinite(values), values)
            if edge:  # not in the frame, so the merge produced it
                refuse_infinite(policy_of(policy, self.weight), self.weight, value, edge)

    def _first_of_ranks(self, arc: int | None, values: Array) -> tuple[Any, str]:
        """Return the value and the ends of an arc that a rank found, None and "" if none did.

        It is the same on all ranks: that of the lowest one.  Collective.
        """
        value_and_ends = None if arc is None else [values[arc].item(), *self._ends(arc)]
        for candidate in self.comm.allgather(value_and_ends):
            if candidate is not None:
                return candidate[0], self.describe_edge(candidate[1:])
        return None, ""

    def _open(self) -> Any:
        """Return the arcs, `Arcs` or `DeviceArcs`, of a graph that is not closed."""
        if self._arcs is None:
            raise InputError("the graph is closed; use it before close() or inside its `with`")
        return self._arcs

    def _host(self) -> Arcs:
        """Return the arcs on the host."""
        arcs: Arcs | DeviceArcs = self._open()
        return arcs if isinstance(arcs, Arcs) else arcs.host()


def vertices_of(graph: GraphView[FrameT]) -> FrameT:
    """Return the vertices of a graph, as ranks are asked for them; collective."""
    return graph.vertices


def edges_of(graph: GraphView[FrameT]) -> FrameT:
    """Return the edges of a graph, as ranks are asked for them; collective."""
    return graph.edges
