"""What engines, programs and people ask of a graph: neighbours, degrees, values, numbers of ids.

A graph is on the host or on the device.  Whatever is asked for comes from there, and is copied where
it is wanted elsewhere: on the host unless `on_device` says otherwise.
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

__all__ = ["EXAMPLES", "Queries"]

Array = npt.NDArray[Any]

EXAMPLES = 4  # vertices of whose kind no more are needed


class Queries:
    """The part of `Graph` that reads; see there."""

    _arcs: Arcs | DeviceArcs | None
    _vertices: Vertices
    _carried: list[str]
    _extremes: dict[tuple[str, bool], tuple[Any, int]]  # found so far: every run asks for them
    # Sums of columns by name, direction, and whether on the device: every run asks for them.  Degrees
    # are under the name "", and as float64 under None.
    _sums: dict[tuple[str | None, bool, bool], Any]

    @property
    def number_of_arcs(self) -> int:
        """Number of arcs: an undirected edge is two, a self-loop one."""
        arcs = self._open()
        return arcs.csc.number_of_arcs if isinstance(arcs, Arcs) else arcs.number_of_arcs

    @property
    def length(self) -> int:
        """Entries of an array by vertex: one for each; of a share, for its own and for ghosts."""
        return self._numbered()

    @property
    def owned(self) -> int:
        """Entries that are no ghosts' in an array by vertex; they come first."""
        return self._numbered()

    # What a rank's part of a graph has besides; a whole graph is the part of a single rank.

    comm: Communicator = SingleRank()
    low = 0
    whole = True  # not a rank's shard; that of a single rank is still one, whose checkpoints differ

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
        """Whether arrays by vertex are made on the device where a run computes there."""
        return True

    def _numbered(self) -> int:
        self._open()
        return self._vertices.size

    @property
    def numbers_are_ids(self) -> bool:
        """Whether the ids are the integers 0 … n-1, and so the vertices' numbers."""
        self._open()
        return bool(self._vertices.numbering.renumbered == "no")

    @property
    def device_resident(self) -> bool:
        """Whether the graph was made on a GPU, of a cuDF frame or arrays there.

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
            Whether the array is to be on the device.

        Returns
        -------
        array of int64, shape (vertices,)
            By vertex number; not to be written to.  Made when first asked for, then kept until
            `close()`.
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
            Whether the array is to be on the device.

        Returns
        -------
        array of float64, shape (vertices,)
            By vertex number; not to be written to.  Made when first asked for, then kept until
            `close()`.

        Raises
        ------
        InputError
            If the graph did not keep such a column, or a sum is more than a float64 holds.
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
        """Return an array by vertex that the graph alone determines.

        It is made where the graph is, and copied where it is wanted elsewhere; both are kept.
        """
        made_on_device = not isinstance(self._open(), Arcs)
        own, wanted = (name, incoming, made_on_device), (name, incoming, on_device)
        if own not in self._sums:
            self._sums[own] = make()
        if wanted not in self._sums:
            self._sums[wanted] = _placed(self._sums[own], on_device)
        return self._sums[wanted]

    def least_edge_value(self, name: str) -> tuple[Any, int] | None:
        """Return the least value of an edge column, and an edge that has it.

        Parameters
        ----------
        name : str
            The weight, or one of `attributes`.

        Returns
        -------
        value : NumPy scalar
        arc : int
            As `describe_edge` takes it.  Without any edge, None is returned instead of both.

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
            As `describe_edge` takes it.  Without any edge, None is returned instead of both.
        """
        return self._extreme(name, least=False)

    def describe_edge(self, arc: int) -> str:
        """Return the ids of an edge's ends as text, for errors: 'a' to 'b'.

        Parameters
        ----------
        arc : int
            As `least_edge_value` gives it.

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
            Smaller integers and bools widen to int64, float16 to float32.  Not to be written to.

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
            An id, of several columns a tuple.
        argument : str
            The caller's name for it, for errors.

        Returns
        -------
        int

        Raises
        ------
        InputError
            If it is no vertex of the graph.
        """
        self._open()
        return self._vertices.number(value, argument)

    def numbers(self, values: Any, argument: str, *, on_device: bool = False) -> Any:
        """Return the numbers of vertices.

        Parameters
        ----------
        values : sequence, array, Series or frame
            Ids; of several columns, tuples or a frame.  They are looked up where the graph is.
        argument : str
            The caller's name for it, for errors.
        on_device : bool
            Whether the array is to be on the device.

        Returns
        -------
        array of int64

        Raises
        ------
        InputError
            If one is no vertex of the graph.
        """
        self._open()
        return self._vertices.numbers(values, argument, on_device=on_device)

    def members(self, values: Any, argument: str, *, on_device: bool = False) -> Any:
        """Mark vertices.

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
        """Return the greatest entry over all vertices of an array by vertex.

        Parameters
        ----------
        values : array of float64, shape (length,)
            Of numbers that are 0 or more.

        Returns
        -------
        scalar
            0.0 without vertices.
        """
        return values.max() if len(values) else np.float64(0.0)

    def examples(self, *columns: Any) -> list[Any]:
        """Return the entries of a few vertices in arrays by vertex.

        Parameters
        ----------
        *columns : array, each of shape (length,), or with one entry that holds for all
            The latter come back as they are.

        Returns
        -------
        list of ndarray
            On the host, the former of one length.
        """
        places = list(range(0, self.length, max(1, self.length // EXAMPLES)))
        return [
            as_host(column[places] if len(column) == self.length else column) for column in columns
        ]

    def any_member(self, truth: bool) -> bool:
        """Tell whether something is so for any who holds a share of the graph.

        Parameters
        ----------
        truth : bool
            Whether it is so here.

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
        """Return the ids of any vertices as text for errors; collective, all ranks for the same ones.

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
        """Align numbers that are given for vertices to vertex numbers.

        Parameters
        ----------
        data : frame, dict, number or str
            A frame of ids and one column of values, ids to values, one number for all vertices, or
            the name of a vertex attribute given in `vertices=`.
        argument : str
            The caller's name for it, for errors.
        dtype : dtype
        default : number, optional
            Of vertices that are not given; without one, every vertex must be.
        column : str, optional
            Which column of the frame has the values, where it has several.
        on_device : bool
            Whether the arrays are to be on the device.

        Returns
        -------
        values : array of `dtype`, shape (vertices,)
        given : array of bool, shape (vertices,)
            Which vertices had a value.

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
