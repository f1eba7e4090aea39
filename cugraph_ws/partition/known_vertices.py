"""Checks of the vertices in a call's arguments, on the client, before the workers start the call.

If ids are 0 … n-1, the client checks them itself.  Otherwise it asks the ranks that would own
them.  Ids are read by the same code as for a graph of one process, so the errors are the same.  Ranks
look up all ids again when the call starts.  So if there is no answer, such as after the loss of a
worker, the check is left to them.  So it is for short lists between GPUs, whose ranks ask each other
in a tenth of the time.
"""

from __future__ import annotations

import numbers as abstract
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from cugraph_ws.arguments import is_one_vertex
from cugraph_ws.errors import InputError
from cugraph_ws.frames.base import is_dask_frame, is_frame, open_frame
from cugraph_ws.frames.ids import IdType
from cugraph_ws.graph.numbering import DenseIntegers, IdValues
from cugraph_ws.graph.vertices import Vertices, id_columns, value_column
from cugraph_ws.partition.identities import IdRanges
from cugraph_ws.program.declarations import (
    Constant,
    Distribution,
    VectorType,
    VertexParameter,
    VertexSet,
    VertexValue,
)
from cugraph_ws.program.phases import Phases, programs_of

__all__ = ["GIVEN", "SENT", "Directory", "KnownVertices", "NoAnswerError"]

Numbers = npt.NDArray[np.int64]
# Takes for each rank the ids that it would own; returns their numbers, or None without an answer
Ask = Callable[[Mapping[int, Sequence[Any]]], Mapping[int, Numbers] | None]

MOST = 1 << 20  # most ids that the client looks up; longer lists are left to the ranks
SENT = 1 << 10  # most ids of a list whose numbers the client sends with a call


class NoAnswerError(Exception):
    """A look-up got no answer; it is left to the ranks."""


@dataclass(frozen=True)
class Directory:
    """The data that a client needs to look up a graph's vertices.

    Attributes
    ----------
    sources : list of str
        Names of the edge frame's source columns.
    types : list of IdType
        One for each column of the id.
    size : int
        Number of vertices.
    ranges : IdRanges or None
        Which rank owns which ids; None if ids are 0 … size-1.
    attributes : list of str
        Names of the vertex attributes.
    """

    sources: list[str]
    types: list[IdType]
    size: int
    ranges: IdRanges | None
    attributes: list[str]


class _AskedNumbering:
    """Numbering whose ids are looked up by the ranks.

    Parameters
    ----------
    size : int
        Number of vertices.
    ranges : IdRanges
    ask : callable
    left_to_ranks : int
        Lists of at most so many ids are left to the ranks.
    """

    def __init__(self, size: int, ranges: IdRanges, ask: Ask, left_to_ranks: int) -> None:
        self.size, self._ranges, self._ask, self._left = size, ranges, ask, left_to_ranks
        self.found: list[tuple[list[Any], Numbers]] = []  # short lists of ids, and their numbers

    def encode(self, columns: Sequence[IdValues]) -> Numbers:
        """Return the numbers of ids, −1 where unknown."""
        if not self._left < len(columns[0]) <= MOST:
            raise NoAnswerError
        split = self._ranges.split(columns)
        asked = {rank: buffer for rank, (places, buffer) in enumerate(split) if len(places)}
        answers = self._ask(asked) if asked else {}
        if answers is None:
            raise NoAnswerError
        numbers = np.full(len(columns[0]), -1, np.int64)
        for rank, answer in answers.items():
            numbers[split[rank][0]] = answer
        if len(numbers) <= SENT:
            self.found.append((self._ranges.packed(columns), numbers))
        return numbers


class KnownVertices(Vertices):
    """The vertices of a graph on a cluster, on its client.

    Parameters
    ----------
    directory : Directory
    ask : callable
        Returns numbers of ids from the ranks.
    left_to_ranks : int
        Lists of at most so many ids are left to the ranks.
    """

    has_all_ids = False

    def __init__(self, directory: Directory, ask: Ask, left_to_ranks: int = 0) -> None:
        size, ranges = directory.size, directory.ranges
        numbering: Any = DenseIntegers(size)
        if ranges is not None:
            numbering = _AskedNumbering(size, ranges, ask, left_to_ranks)
        super().__init__(directory.sources, directory.types, numbering)
        self._names = directory.attributes

    @property
    def found(self) -> list[tuple[list[Any], Numbers]]:
        """Ids that ranks have looked up, encoded, and their numbers; see `ShardGraph.know`."""
        return list(getattr(self.numbering, "found", ()))

    def check(self, options: Mapping[str, Any]) -> None:
        """Refuse arguments with unknown vertices or missing columns.

        Parameters
        ----------
        options : mapping
            The arguments of a function, by name.

        Raises
        ------
        InputError
            The error that the function raises for a graph of one process.
        """
        for argument, value, look in _given(options):
            if value is not None:
                with suppress(NoAnswerError):
                    look(self, value, argument)

    def check_set(self, vertices: Any, argument: str) -> None:
        """Refuse an unknown vertex, or one in a list, an array, a column or a frame."""
        if is_one_vertex(vertices):
            vertices = vertices if is_dask_frame(vertices) else [vertices]
        self.check_list(
            list(vertices) if isinstance(vertices, (set, frozenset)) else vertices, argument
        )

    def check_list(self, vertices: Any, argument: str) -> None:
        """Refuse an unknown vertex in a list, an array, a column or a frame."""
        if is_dask_frame(vertices):
            raise InputError(
                f"{argument}: a list, a Series or a frame of ids is needed, not a Dask frame; "
                f"compute() it first"
            )
        if is_one_vertex(vertices):
            return  # the function itself refuses it, or accepts it with another meaning
        if not (isinstance(vertices, np.ndarray) and vertices.dtype == np.bool_):
            self.find(vertices, argument)

    def check_side(self, side: Any, argument: str) -> None:
        """Refuse an unknown vertex in a list, or an unknown attribute name."""
        if isinstance(side, str):
            self._check_name(side, argument)
        else:
            self.check_list(side, argument)

    def check_values(self, values: Any, argument: str) -> None:
        """Refuse an unknown vertex in a frame or a mapping, or an unknown attribute name."""
        if isinstance(values, str):
            self._check_name(values, argument)
        elif is_dask_frame(values):  # its rows are on the workers
            frame = open_frame(values._meta, argument, on_device=True)
            value_column(frame.names, id_columns(frame, self.sources), argument)
        elif not isinstance(values, (abstract.Real, np.generic, np.ndarray)):
            self._pairs(values, argument, None)

    def check_columns(self, columns: Any, argument: str) -> None:
        """Refuse an unknown vertex in a frame of several columns, or an unknown attribute name."""
        if is_dask_frame(columns):
            id_columns(open_frame(columns._meta, argument, on_device=True), self.sources)
        elif is_frame(columns):
            self.find(columns, argument)
        elif isinstance(columns, (list, tuple)) and all(isinstance(name, str) for name in columns):
            for name in columns:
                self._check_name(name, argument)

    def _check_name(self, name: str, argument: str) -> None:
        if name not in self._names:
            self._refuse_name(name, argument, self._names)

    def _distinct(self, rows: Any, argument: str) -> Any:
        """Return vertex numbers; the ranks refuse repeated ones."""
        return rows


Look = Callable[[KnownVertices, Any, str], None]

# The arguments that contain vertices, in the order in which functions read them, with their checks
GIVEN: dict[str, Look] = {
    "start": KnownVertices.check_set,
    "starts": KnownVertices.check_list,
    "seeds": KnownVertices.check_list,
    "vertex": KnownVertices.check_set,
    "vertices": KnownVertices.check_list,
    "left": KnownVertices.check_side,
    "priors": KnownVertices.check_columns,
    "precomputed_vertex_out_weight": KnownVertices.check_values,
    "personalization": KnownVertices.check_values,
    "dangling": KnownVertices.check_values,
    "nstart": KnownVertices.check_values,
    "sources": KnownVertices.check_values,
    "temperature": KnownVertices.check_values,
    "activation": KnownVertices.check_values,
    "fixed": KnownVertices.check_set,
}


def _given(options: Mapping[str, Any]) -> Iterator[tuple[str, Any, Look]]:
    """Yield the name, value and check of each argument that contains vertices."""
    program: Any = options.get("program")
    if isinstance(program, Phases):
        for phase in program.programs:
            yield from _given({**options, "program": phase})
        return
    if not programs_of(program):
        named = options if program is None else getattr(program, "vertices_given", {})
        yield from ((name, named[name], look) for name, look in GIVEN.items() if name in named)
        return
    for name, declared in program.constants.items():
        if isinstance(declared, VertexSet):
            alias = options.get(declared.alias) if declared.alias is not None else None
            yield name, options.get(name, alias), KnownVertices.check_set
        elif isinstance(declared, (Constant, VertexValue, Distribution)):
            argument = getattr(declared, "argument", None) or name
            vectors = isinstance(getattr(declared, "type", None), VectorType)
            check = KnownVertices.check_columns if vectors else KnownVertices.check_values
            yield argument, options.get(argument), check
    for name, parameter in program.parameters.items():
        if isinstance(parameter, VertexParameter) and options.get(name) is not None:
            yield name, [options[name]], KnownVertices.check_list
