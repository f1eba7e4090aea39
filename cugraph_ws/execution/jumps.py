"""Jumps: before each superstep, fields are read at the vertices that pointers name, or folded there.

Values are computed for owned vertices, sent to ghosts, and written into the arrays of constants that
supersteps read.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cugraph_ws.backends import loops
from cugraph_ws.contract import Executor
from cugraph_ws.errors import ProgramError
from cugraph_ws.graph.view import GraphView
from cugraph_ws.partition.part import Part
from cugraph_ws.program.binding import BoundProgram
from cugraph_ws.program.declarations import Jump
from cugraph_ws.runtime.arrays import any_true, as_host

__all__ = ["Jumps"]

Array = Any  # NumPy's or CuPy's


class Jumps:
    """The jumps of a program on a graph, or on a rank's shard of one.

    Parameters
    ----------
    bound : BoundProgram
    graph : GraphView
    executor : Executor
        The executor whose states are read and whose constants are written.
    on_device : bool
        Whether it computes on the GPU.
    """

    def __init__(
        self, bound: BoundProgram, graph: GraphView, executor: Executor, *, on_device: bool
    ) -> None:
        self._program, self._executor = bound.program, executor
        self._part = Part(graph, on_device=on_device)
        self._loops = loops("jumps", on_device=on_device)
        names = list(bound.program.constants)
        self._jumps = [
            (names.index(name), declared, np.dtype(bound.types.constants[names.index(name)]))
            for name, declared in bound.program.jumps.items()
        ]

    def write(self) -> None:
        """Compute all jumps from the current states; collective.

        Raises
        ------
        ProgramError
            If a pointer is neither -1 nor the number of a vertex; raised on all ranks.
        """
        columns = self._executor.columns()
        pointers = {declared.pointer for _, declared, _ in self._jumps}
        named = {
            name: columns[name].astype(np.int64) for name in self._program.state if name in pointers
        }
        self._refuse_others(named)
        for place, declared, dtype in self._jumps:
            values, numbers = columns[declared.field], named[declared.pointer]
            read = self._read if declared.fold == "at" else self._folded
            own_values = read(declared, values.astype(dtype, copy=False), numbers)
            self._executor.by_position(place)[:] = self._part.with_ghosts(own_values)

    def _refuse_others(self, named: dict[str, Array]) -> None:
        """Raise for the first pointer that names no vertex; collective."""
        part, vertices = self._part, self._part.graph.number_of_vertices
        own_error: Any = None
        for name, numbers in named.items():
            bad = (numbers < -1) | (numbers >= vertices)
            if own_error is None and any_true(bad):
                at = int(bad.argmax())
                own_error = [
                    int(part.owners.number_at(at)),
                    name,
                    int(as_host(numbers[at : at + 1])[0]),
                ]
        shown = [error for error in part.halo.comm.allgather(own_error) if error is not None]
        if shown:
            vertex, name, number = min(shown)
            raise ProgramError(
                f"{self._program.name}: `{name}` of vertex {part.graph.describe_vertices([vertex])[0]} is "
                f"{number}, which is not the number of a vertex; give 0 to {vertices - 1}, or -1 for none"
            )

    def _read(self, declared: Jump, values: Array, numbers: Array) -> Array:
        """Return the values of the vertices that this rank's pointers name; collective."""
        xp, halo = self._part.xp, self._part.halo
        some = numbers >= 0
        values_read = xp.full(len(numbers), declared.default, values.dtype)
        values_read[some] = halo.fetch(values, numbers[some])
        return values_read

    def _folded(self, declared: Jump, values: Array, numbers: Array) -> Array:
        """Return folds of values over the vertices whose pointers name this rank's vertices; collective."""
        part, fold = self._part, declared.fold
        some = numbers >= 0
        numbers, values = numbers[some], values[some]
        in_any_order = fold != "sum" or values.dtype.kind != "f"
        if not part.halo.alone and in_any_order:  # fold first, to send one value per named vertex
            numbers, places = part.xp.unique(numbers, return_inverse=True)
            values = self._loops.fold(fold, values, places, len(numbers))
        numbers, values = part.halo.send_to_owners(numbers, values)  # in vertex order
        folded: Array = self._loops.fold(fold, values, part.owners.places(numbers), part.owned)
        return folded
