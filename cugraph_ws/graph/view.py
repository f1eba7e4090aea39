"""The graph view: what engines, programs and users read from a graph.

A graph is on the host or on the device.  Values are read there and copied to where they are
wanted: to the host unless `on_device` is set.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from cugraph_ws.arguments import check_choice, check_flag, check_word, is_number, shown
from cugraph_ws.errors import InputError
from cugraph_ws.graph.adjacency import Adjacency
from cugraph_ws.graph.arcs import Arcs, Order
from cugraph_ws.graph.vertices import Vertices
from cugraph_ws.runtime.communicator import Communicator, SingleRank
from cugraph_ws.runtime.device import array_module, as_host, mark

if TYPE_CHECKING:
    from cugraph_ws.backends.cuda.arcs import DeviceArcs

__all__ = ["EXAMPLES", "GraphView"]

Array = npt.NDArray[Any]

EXAMPLES = 4  # number of example vertices


class GraphView:
    """The reading part of `Graph`."""

    _arcs: Arcs | DeviceArcs | None
    _vertices: Vertices
    _carried: list[str]
    _extremes: dict[tuple[str, bool], tuple[Any, int]]  # cached, since every run needs them
    # Cached sums of columns by name, direction, and whether on the device, since every run needs
    # them. Degrees have the name "", and as float64 None.
    _sums: dict[tuple[str | None, bool, bool], Any]

    @property
    def number_of_arcs(self) -> int:
        """Number of arcs: an undirected edge is two, a self-loop one."""
        arcs = self._open()
        return arcs.csc.number_of_arcs if isinstance(arcs, Arcs) else arcs.number_of_arcs

    @property
    def length(self) -> int:
        """Length of an array by vertex; on a shard, the number of owned vertices and ghosts."""
        return self._numbered()

    @property
    def owned(self) -> int:
        """Number of owned entries in an array by vertex; they come first."""
        return self._numbered()

    # Further properties of a rank's part of a graph; a whole graph is the part of a single rank.

    comm: Communicator = SingleRank()
    low = 0
    whole = True  # false for any shard, even a single rank's, since its checkpoints differ

    @property
    def cuts(self) -> npt.NDArray[np.int64]:
        """Rank r owns the vertices numbered from cuts[r] to cuts[r + 1]."""
        return np.array([0, self._numbered()])

    @property
    def ghosts(self) -> list[tuple[int, int]]:
        """For each rank, the range of positions of its vertices that are ghosts here."""
        return [(self._numbered(), self._numbered())]

    @property
    def boundaries(self) -> list[Array]:
        """For each rank, the owned positions that it holds as ghosts."""
        return [np.empty(0, np.int64)]

    @property
    def positions(self) -> npt.NDArray[np.int64]:
        """Vertex number at each position."""
        return np.arange(self._numbered())

    @property
    def binds_on_device(self) -> bool:
        """Whether arrays by vertex are made on the device if a run computes there."""
        return True

    def _numbered(self) -> int:
        self._open()
        return self._vertices.size

    @property
    def numbers_are_ids(self) -> bool:
        """Whether the ids are the integers 0 … n-1, and so equal to the vertex numbers."""
        self._open()
        return bool(self._vertices.numbering.renumbered == "no")

    @property
    def device_resident(self) -> bool:
        """Whether the graph was built on a GPU, from a cuDF frame or arrays there.

        Its results are made there, and `engine="auto"` computes there.
        """
        return not isinstance(self._open(), Arcs)

    @property
    def csc(self) -> Adjacency:
        """In-neighbours of every vertex, on the host; made when first read, then kept."""
        return self._host().csc

    @property
    def csr(self) -> Adjacency:
        """Out-neighbours of every vertex, on the host; made when first read, then kept."""
        return self._host().csr

    @property
    def in_degrees(self) -> npt.NDArray[np.int64]:
        """Number of edges into every vertex, on the host; int64, shape (vertices,)."""
        return np.asarray(self.degrees(incoming=True))

    @property
    def out_degrees(self) -> npt.NDArray[np.int64]:
        """Number of edges out of every vertex, on the host; int64, shape (vertices,)."""
        return np.asarray(self.degrees(incoming=False))

    def degrees(self, *, incoming: bool, on_device: bool = False) -> Any:
        """Return the number of edges into, or out of, every vertex.

        Parameters
        ----------
        incoming : bool
        on_device : bool
            Whether to return a device array.

        Returns
        -------
        array of int64, shape (vertices,)
            By vertex number; read-only.  Made when first needed, then kept until `close()`.
        """
        check_flag("incoming", incoming)
        return self._kept_sums(
            "", incoming, lambda: self._counted(incoming=incoming), on_device=on_device
        )

    def _counted(self, *, incoming: bool) -> Any:
        """Count the edges into, or out of, every vertex, where the graph is."""
        arcs = self._open()
        if not isinstance(arcs, Arcs):
            return arcs.degrees(incoming=incoming)
        return arcs.csc.degrees if incoming else arcs.out_degrees

    def weight_sums(self, name: str | None, *, incoming: bool, on_device: bool = False) -> Any:
        """Return the sum of an edge column over the edges into, or out of, every vertex.

        Parameters
        ----------
        name : str or None
            The weight, or one of `attributes`; None counts each edge as 1.
        incoming : bool
        on_device : bool
            Whether to return a device array.

        Returns
        -------
        array of float64, shape (vertices,)
            By vertex number; read-only.  Made when first needed, then kept until `close()`.

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
            sums: Any = arcs.weight_sums(name, incoming=incoming)
            bad = arcs.first_infinite(sums)
            if bad is not None:
                raise InputError(
                    f"column {name!r}: the weights at vertex {self.describe(bad)} add up to more than "
                    "a float64 holds; scale the weights down"
                )
            return sums

        return self._kept_sums(name, incoming, add_up, on_device=on_device)

    def _kept_sums(
        self, name: str | None, incoming: bool, make: Callable[[], Any], *, on_device: bool
    ) -> Any:
        """Return an array by vertex that depends on the graph alone.

        It is made where the graph is, and copied to where it is wanted; both are kept.
        """
        made_on_device = not isinstance(self._open(), Arcs)
        own, wanted = (name, incoming, made_on_device), (name, incoming, on_device)
        if own not in self._sums:
            self._sums[own] = make()
        if wanted not in self._sums:
            self._sums[wanted] = _placed(self._sums[own], on_device)
        return self._sums[wanted]

    def least_edge_value(self, name: str) -> tuple[Any, int] | None:
        """Return the smallest value of an edge column, and an edge that has it.

        Parameters
        ----------
        name : str
            The weight, or one of `attributes`.

        Returns
        -------
        value : NumPy scalar
        arc : int
            For `describe_edge`.  Without any edge, None is returned instead of both.

        Raises
        ------
        InputError
            If the graph did not keep such a column.
        """
        return self._extreme(name, least=True)

    def greatest_edge_value(self, name: str) -> tuple[Any, int] | None:
        """Return the greatest value of an edge column, and an edge; see `least_edge_value`.

        Parameters
        ----------
        name : str
            The weight, or one of `attributes`.

        Returns
        -------
        value : NumPy scalar
        arc : int
            For `describe_edge`.  Without any edge, None is returned instead of both.
        """
        return self._extreme(name, least=False)

    def describe_edge(self, arc: int) -> str:
        """Return the ids of an edge's ends as text, for errors: 'a' to 'b'.

        Parameters
        ----------
        arc : int
            From `least_edge_value`.

        Returns
        -------
        str
        """
        source, destination = self._open().ends(arc)
        return f"{self.describe(source)} to {self.describe(destination)}"

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
        arcs = self._open()
        values: Any = arcs.values(name, "csc") if isinstance(arcs, Arcs) else arcs.values(name)
        dtype: np.dtype[Any] = np.dtype(values.dtype)
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

    def number(self, value: Any, argument: str) -> int:
        """Return the number of a vertex.

        Parameters
        ----------
        value : object
            An id; a tuple for an id of several columns.
        argument : str
            The caller's name for it, for errors.

        Returns
        -------
        int

        Raises
        ------
        InputError
            If it is not a vertex of the graph.
        """
        self._open()
        return self._vertices.number(value, argument)

    def numbers(self, values: Any, argument: str, *, on_device: bool = False) -> Any:
        """Return the numbers of vertices.

        Parameters
        ----------
        values : sequence, array, Series or frame
            Ids; tuples or a frame for ids of several columns.  They are looked up where the graph
            is.
        argument : str
            The caller's name for it, for errors.
        on_device : bool
            Whether to return a device array.

        Returns
        -------
        array of int64

        Raises
        ------
        InputError
            If one is not a vertex of the graph.
        """
        self._open()
        return self._vertices.numbers(values, argument, on_device=on_device)

    def members(self, values: Any, argument: str, *, on_device: bool = False) -> Any:
        """Return a mask of the given vertices.

        Parameters
        ----------
        values, argument, on_device
            See `numbers`.

        Returns
        -------
        array of bool, shape (length,)
        """
        self._open()
        marks = array_module(on_device).zeros(self.length, dtype=np.bool_)
        found = self._vertices.find(values, argument)
        mark(marks, found if on_device else as_host(found))
        return marks

    def vertex_sum(self, values: Any) -> Any:
        """Return the sum over all vertices of an array by vertex.

        Parameters
        ----------
        values : array, shape (length,)

        Returns
        -------
        scalar
        """
        return values.sum()

    def vertex_max(self, values: Any) -> Any:
        """Return the maximum over all vertices of an array by vertex.

        Parameters
        ----------
        values : array of float64, shape (length,)
            Numbers of 0 or more.

        Returns
        -------
        scalar
            0.0 if there are no vertices.
        """
        return values.max() if len(values) else np.float64(0.0)

    def examples(self, *columns: Any) -> list[Any]:
        """Return the entries of a few vertices in arrays by vertex.

        Parameters
        ----------
        *columns : array, each of shape (length,), or with one entry that holds for all
            Arrays with one entry are returned unchanged.

        Returns
        -------
        list of ndarray
            On the host; those by vertex have equal lengths.
        """
        places = list(range(0, self.length, max(1, self.length // EXAMPLES)))
        return [
            as_host(column[places] if len(column) == self.length else column) for column in columns
        ]

    def any_rank(self, truth: bool) -> bool:
        """Tell whether a condition holds on any rank; collective.

        Parameters
        ----------
        truth : bool
            Whether it holds here.

        Returns
        -------
        bool
        """
        return truth

    def describe(self, number: int) -> str:
        """Return the id of a vertex as text, for errors.

        Parameters
        ----------
        number : int
            A vertex number.

        Returns
        -------
        str
        """
        self._open()
        return self._vertices.describe(number)

    def describe_vertices(self, numbers: Sequence[int]) -> list[str]:
        """Return the ids of vertices as text for errors; collective, with the same vertices.

        Parameters
        ----------
        numbers : sequence of int

        Returns
        -------
        list of str
        """
        return [self.describe(number) for number in numbers]

    def vertex_values(
        self,
        data: Any,
        argument: str,
        dtype: npt.DTypeLike,
        default: float | None = None,
        column: str | None = None,
        *,
        on_device: bool = False,
    ) -> tuple[Any, Any]:
        """Return values that are given for vertices, by vertex number.

        Parameters
        ----------
        data : frame, dict, number or str
            A frame of ids and one column of values, a mapping from ids to values, one number for
            all vertices, or the name of a vertex attribute given in `vertices=`.
        argument : str
            The caller's name for it, for errors.
        dtype : dtype
        default : number, optional
            Value of vertices that are not given; without a default, all must be given.
        column : str, optional
            Column of the frame with the values, if there are several.
        on_device : bool
            Whether to return device arrays.

        Returns
        -------
        values : array of `dtype`, shape (vertices,)
        given : array of bool, shape (vertices,)
            Which vertices were given a value.

        Raises
        ------
        InputError
            If a vertex is unknown, repeated or, without a default, missing; or if a value is null,
            NaN, not numeric, or does not fit the dtype.
        """
        self._open()
        if default is not None and not (
            is_number(default) or isinstance(default, (bool, np.bool_))
        ):
            raise InputError(f"{argument}: default={shown(default)} must be a number, or None")
        if column is not None:
            check_word("column", column)
        return self._vertices.values(data, argument, dtype, default, column, on_device=on_device)

    def _extreme(self, name: str, *, least: bool) -> tuple[Any, int] | None:
        self._check_carried(name)
        if not self.number_of_arcs:
            return None
        if (name, least) not in self._extremes:
            self._extremes[name, least] = self._open().extreme(name, least=least)
        return self._extremes[name, least]

    def _check_carried(self, name: str) -> None:
        if not isinstance(name, (str, int)) or name not in self._carried:
            raise InputError(
                f"the graph keeps no edge column {shown(name)}, it keeps "
                f"{', '.join(map(repr, self._carried)) or 'none'}; name it in "
                f"Graph(weight=...) or Graph(attributes=[...])"
            )

    def _open(self) -> Arcs | DeviceArcs:
        """Return the arcs of a graph that is not closed."""
        if self._arcs is None:
            raise InputError("the graph is closed; use it before close() or inside its `with`")
        return self._arcs

    def _host(self) -> Arcs:
        """Return the arcs on the host."""
        arcs = self._open()
        return arcs if isinstance(arcs, Arcs) else arcs.host()


def _placed(array: Any, on_device: bool) -> Any:
    """Return an array on the device, or on the host."""
    from cugraph_ws.runtime.device import device

    return device().xp.asarray(array) if on_device else device().to_host(array)
