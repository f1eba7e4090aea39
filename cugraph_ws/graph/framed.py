"""`Framed`: what a graph reads from frames, and the frames that it returns.

Vertices, and their values, are given by the caller's ids; vertex and edge frames of the caller's kind
are returned.  On a shard, the methods marked so are collective: all ranks call them in the same order.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, Generic, cast

import numpy as np
import numpy.typing as npt

from cugraph_ws.arguments import check_word, is_number, shown
from cugraph_ws.errors import InputError
from cugraph_ws.frames.base import FrameKind, VertexNumbers, is_frame, open_frame
from cugraph_ws.frames.types import FrameT
from cugraph_ws.graph.vertices import Vertices, id_columns
from cugraph_ws.runtime.arrays import array_module, as_host, in_default_stream, mark, module_of

__all__ = ["Framed", "ResultColumn"]

ResultColumn = Any  # an array on the host or the device, VertexNumbers, Masked or list of str


class Framed(ABC, Generic[FrameT]):
    """The ids of a graph's vertices, and its frames; the lower half of `GraphView`.

    Parameters
    ----------
    kind : FrameKind
        The kind of result frames.
    vertices : Vertices
        Converts ids to numbers and back.
    names : pair of list of str
        The id columns of sources and of destinations.
    directed : bool
    """

    _vertices: Vertices

    def __init__(
        self, kind: FrameKind, vertices: Any, names: tuple[list[str], list[str]], *, directed: bool
    ) -> None:
        self.directed = directed
        self._kind = kind
        self._vertices = vertices
        self._source_names, self._destination_names = names

    @property
    def groups(self) -> int:
        """Number of id columns that name the group of a vertex, in a graph of groups; else 0."""
        return self._vertices.groups

    def first_of_groups(self) -> Any:
        """Return the first vertex number of each group, and the number of vertices.

        Returns
        -------
        array of int64, shape (groups + 1,)
            On the host or the device, where the graph's ids are.
        """
        assert self.groups
        return self._vertices.numbering.firsts()

    @property
    def _naming(self) -> Vertices:
        """The vertices, where the ids of results are looked up."""
        return self._vertices

    # What differs between a whole graph and a shard of one:

    @abstractmethod
    def _open(self) -> Any:
        """Return the arcs; raise InputError if the graph is closed."""

    @property
    @abstractmethod
    def length(self) -> int:
        """Length of an array by vertex; on a shard, the number of owned vertices and ghosts."""

    @abstractmethod
    def _own_ids(self) -> Mapping[str, Any]:
        """Return the ids of owned vertices as result columns."""

    @abstractmethod
    def _places_here(self, numbers: Any) -> Any:
        """Return the positions of the given vertices that are owned or ghosts on this rank."""

    @abstractmethod
    def _listed(self, keep: Any, among: Any) -> tuple[Any, Any, Mapping[str, Any]]:
        """List edges of this rank: numbers of sources and destinations, and edge columns."""

    # ------------------------------------------------------------------------------ ids come in

    @property
    def numbers_are_ids(self) -> bool:
        """Whether the ids are the integers 0 … n-1, and so equal to the vertex numbers."""
        self._open()
        return bool(self._vertices.numbering.renumbered == "no")

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

    def vertex_pairs(self, data: Any, argument: str) -> tuple[Any, Any]:
        """Return the numbers of pairs of vertices; on a shard, of its share of the pairs; collective.

        Parameters
        ----------
        data : frame
            The ids in columns `first` and `second`.
        argument : str
            The caller's name for it, for errors.

        Returns
        -------
        firsts, seconds : array of int64
            Where the graph is: on the device, or the host.

        Raises
        ------
        InputError
            If it is not such a frame, or one is not a vertex of the graph.
        """
        self._open()
        return self._vertices.pairs(data, argument)

    def members(self, values: Any, argument: str, *, on_device: bool = False) -> Any:
        """Return a mask of the given vertices; collective.

        Parameters
        ----------
        values, argument, on_device
            See `numbers`.

        Returns
        -------
        array of bool, shape (length,)
            By position, in a `Graph` by vertex number.
        """
        self._open()
        marks = array_module(on_device).zeros(self.length, dtype=np.bool_)
        places = self._places_here(self._vertices.find(values, argument))
        mark(marks, places if on_device else as_host(places))
        return marks

    def describe(self, place: int) -> str:
        """Return the id of an owned vertex as text, for errors.

        Parameters
        ----------
        place : int
            Its position; in a whole graph, its vertex number.

        Returns
        -------
        str
        """
        self._open()
        return self._vertices.describe_own(place)

    def describe_vertices(self, numbers: Sequence[int]) -> list[str]:
        """Return the ids of vertices as text for errors; collective, all ranks ask for the same ones.

        Parameters
        ----------
        numbers : sequence of int

        Returns
        -------
        list of str
        """
        return [self._vertices.describe(number) for number in numbers]

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
        """Return values that are given for vertices; collective.

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
        values : array of `dtype`, shape (length,)
            By position, in a `Graph` by vertex number.
        given : array of bool, shape (length,)
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
        if default is not None:
            kind: np.dtype[Any] = np.dtype(dtype)
            try:
                kind.type(default)
            except (OverflowError, ValueError) as error:
                raise InputError(
                    f"{argument}: default={shown(default)} is not a value of {kind}; give one"
                ) from error
        if column is not None:
            check_word("column", column)
        return self._vertices.values(data, argument, dtype, default, column, on_device=on_device)

    def value_columns(
        self, data: Any, argument: str, *, on_device: bool = False
    ) -> list[str] | None:
        """Return the names of the columns of a vertex frame that are not ids; collective.

        Parameters
        ----------
        data : frame, or anything else
        argument : str
            The caller's name for it, for errors.
        on_device : bool
            Whether the frame is read on the device.

        Returns
        -------
        list of str, or None
            None if it is not a frame.

        Raises
        ------
        InputError
            If the frame has no columns of ids.
        """
        if not is_frame(data):
            return None
        return self._beside_ids(open_frame(data, argument, on_device=on_device))

    def _beside_ids(self, frame: Any) -> list[str]:
        """Return the names of a frame's columns that are not ids."""
        ids = id_columns(frame, self._vertices.sources)
        return [name for name in frame.names if name not in ids]

    def check_outputs(self, outputs: Mapping[str, bool]) -> None:
        """Refuse columns of a vertex frame that would overwrite the ids, or one another.

        Parameters
        ----------
        outputs : mapping of str to bool
            For each column besides the ids, whether it holds vertices.  For ids of several columns,
            such a column becomes several, for example `predecessor_a` and `predecessor_b`.

        Raises
        ------
        InputError
            Names the column and the remedy.
        """
        self._open()
        self._vertices.check_outputs(outputs)

    # ---------------------------------------------------------------------------- frames go out

    @in_default_stream
    def vertex_frame(self, columns: Mapping[str, ResultColumn]) -> FrameT:
        """Return a frame of the owned vertices, of the caller's kind, sorted; collective.

        Parameters
        ----------
        columns : mapping of str to array, VertexNumbers, Masked or list of str
            Each of shape (owned,); arrays on the host or the device.

        Returns
        -------
        DataFrame or Table
            The ids in `vertex` (or, for ids of several columns, under the source columns' names),
            then the columns.
        """
        self._open()
        ids = self._own_ids()
        self.check_outputs(
            {name: isinstance(column, VertexNumbers) for name, column in columns.items()}
        )
        return cast(FrameT, self._kind.make({**ids, **self._decoded(columns)}))

    @in_default_stream
    def frame_of(self, vertices: VertexNumbers, columns: Mapping[str, ResultColumn]) -> FrameT:
        """Return a frame of some vertices, of the caller's kind; collective.

        Parameters
        ----------
        vertices : VertexNumbers
            The vertices, in the order of the rows.
        columns : mapping of str to array, VertexNumbers, Masked or list of str
            Their values, in the same order.

        Returns
        -------
        DataFrame or Table
            The ids, named as in `vertex_frame`, then the columns.
        """
        self._open()
        self.check_outputs(
            {name: isinstance(column, VertexNumbers) for name, column in columns.items()}
        )
        ids = self._naming.columns(None, vertices)
        return cast(FrameT, self._kind.make({**ids, **self._decoded(columns)}))

    @in_default_stream
    def frame_like(self, columns: Mapping[str, ResultColumn]) -> FrameT:
        """Return a frame of the caller's kind.

        Parameters
        ----------
        columns : mapping of str to array, VertexNumbers, Masked or list of str
            Columns of equal length; arrays on the host or the device.

        Returns
        -------
        DataFrame or Table
            With the groups first, in a graph of groups, if a column holds vertices.
        """
        self._open()
        groups: dict[str, Any] = {}
        vertices = [column for column in columns.values() if isinstance(column, VertexNumbers)]
        if self._vertices.groups and vertices:
            groups = self._vertices.group_columns(vertices[0])
        return cast(FrameT, self._kind.make({**groups, **self._decoded(columns)}))

    def frame_of_rows(
        self, columns: Mapping[str, ResultColumn], rows_by: tuple[str, bool] | None
    ) -> FrameT:
        """Return a frame of a result's rows; collective.

        Parameters
        ----------
        columns : mapping of str to array, VertexNumbers, Masked or list of str
            Columns of equal length.
        rows_by : (str, bool), optional
            See `Loop.rows_by`.

        Returns
        -------
        DataFrame or Table
            See `frame_like`.
        """
        return self.frame_like(columns)

    @in_default_stream
    def edge_frame(self, keep: Any = None, *, among: Any = None) -> FrameT:
        """Return edges into owned vertices as a frame, under their original names; collective.

        Parameters
        ----------
        keep : array of bool, shape (arcs,), or callable, optional
            Arcs of this rank's CSC to keep; all if not given.  An undirected edge is kept if its
            arc from the vertex with the smaller id is kept.  A callable takes arrays of the arcs' sources
            and destinations, in any order, and returns which to keep; so fewer arcs are sorted.
        among : array of bool, shape (length,), optional
            Marks vertices, by position; an edge is kept only if both of its ends are marked.

        Returns
        -------
        DataFrame or Table
            Ordered by destination, then source; an undirected edge once, with the smaller id as
            source.
        """
        self.check_edge_names()
        return self.frame_of_edges(*self._listed(keep, among))

    @abstractmethod
    def arc_ends(self) -> tuple[Any, Any]:
        """Return sources and destinations of this rank's arcs, in the order of `edge_frame`'s `keep`.

        Returns
        -------
        sources, destinations : array of int64, shape (arcs,)
            Vertex numbers; on the device if the graph, not a shard, was built there.
        """

    @property
    def end_names(self) -> tuple[str, str]:
        """Names, or prefixes of names, of the two columns of a result that hold edges' ends."""
        if len(self._source_names) == self.groups + 1:
            return self._source_names[-1], self._destination_names[-1]
        return "source", "destination"

    @abstractmethod
    def edges_among(self, marks: Any) -> Any:
        """Return the edges into owned vertices between marked ones, as a frame; collective.

        Parameters
        ----------
        marks : array of bool, shape (owned,)
            By vertex number; on the host or the device.

        Returns
        -------
        DataFrame or Table
            See `edge_frame`.
        """

    def check_edge_names(self) -> None:
        """Refuse to make an edge frame in which one end's column would overwrite the other's.

        Raises
        ------
        InputError
            If the graph is undirected, so that either end may come first, and the ids of sources
            and destinations use the same column for different parts.
        """
        if self.directed:
            return
        ends = zip(self._source_names, self._destination_names, strict=True)
        for source, destination in ends:
            if source != destination and source in self._destination_names:
                raise InputError(
                    f"column {source!r} has another place in source= than in destination=, "
                    f"but an undirected edge may be returned with its ends exchanged; give each end "
                    f"columns of its own"
                )

    def check_edge_outputs(self, names: Sequence[str]) -> None:
        """Refuse columns of an edge frame that would have the name of a column of ids.

        Parameters
        ----------
        names : sequence of str
            The columns besides the ids.

        Raises
        ------
        InputError
            Names the column and the remedy; see `check_edge_names` too.
        """
        self._open()
        self.check_edge_names()
        for name in names:
            if name in (*self._source_names, *self._destination_names):
                raise InputError(
                    f"column {name!r} holds ids in the edge frame, and would hold values of edges in the "
                    "result; rename it"
                )

    @in_default_stream
    def frame_of_arcs(self, values: Mapping[str, Any]) -> FrameT:
        """Return a frame of this rank's arcs; collective.

        Parameters
        ----------
        values : mapping of str to array, each of shape (arcs,)
            By arc in the order of the CSC, on the host or the device.

        Returns
        -------
        DataFrame or Table
            Source, destination and values; each direction of an undirected edge has a row.
        """
        sources, destinations = self.arc_ends()
        where = module_of(sources)
        columns = {
            name: as_host(array) if where is np else where.asarray(array)
            for name, array in values.items()
        }
        return self.frame_of_edges(sources, destinations, columns)

    @in_default_stream
    def frame_of_edges(self, sources: Any, destinations: Any, values: Mapping[str, Any]) -> FrameT:
        """Return a frame of edges; collective.

        Parameters
        ----------
        sources, destinations : array of int
            Vertex numbers.
        values : mapping of str to array
            The edge columns.

        Returns
        -------
        DataFrame or Table
        """
        columns: dict[str, Any] = {}
        for names, numbers in (
            (self._source_names, sources),
            (self._destination_names, destinations),
        ):
            parts = self._vertices.columns(None, VertexNumbers(numbers))
            columns.update(zip(names, parts.values(), strict=True))
        for name, array in values.items():
            columns.setdefault(name, array)
        return cast(FrameT, self._kind.make(columns))

    def _decoded(self, columns: Mapping[str, ResultColumn]) -> dict[str, Any]:
        decoded: dict[str, Any] = {}
        for name, column in columns.items():
            if isinstance(column, VertexNumbers):
                decoded.update(self._naming.columns(name, column))
            else:
                decoded[name] = column
        return decoded
