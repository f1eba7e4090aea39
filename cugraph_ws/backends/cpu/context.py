"""The data that all parts of one CPU executor use: program, partition, state and threads."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from cugraph_ws.partition.part import ProgramPart
from cugraph_ws.program.binding import BoundProgram
from cugraph_ws.program.codegen import Types
from cugraph_ws.program.inference import compile_error
from cugraph_ws.program.modules import compiled_module, python_module
from cugraph_ws.runtime.threads import cut_offsets, number_of_threads, parallel, serial

__all__ = ["Array", "Context", "running"]

Array = npt.NDArray[Any]

SMALL_WORK = 1 << 16  # arcs and vertices below which a second thread costs more than it helps
RANGES_A_THREAD = 8  # to balance the load


@lru_cache
def _never_nan(types: Types) -> Types:
    return replace(types, never_nan=True)


@contextmanager
def running(program: Any) -> Iterator[None]:
    """Run loops of a program with IEEE 754 arithmetic, and translate compile errors for the user.

    Parameters
    ----------
    program : VertexProgram or EdgeProgram
        The program.

    Raises
    ------
    ProgramError
        If Numba cannot compile one of the user's functions.
    """
    try:
        with np.errstate(all="ignore"):
            yield
    except Exception as error:
        from numba.core.errors import NumbaError

        if isinstance(error, NumbaError):
            raise compile_error(program, error) from error
        raise


class Context:
    """One program on one partition, on the CPU.

    Parameters
    ----------
    bound : BoundProgram
        The program, its types and its arguments.
    part : ProgramPart
        Adjacency, edge attributes and constants.
    plain : bool
        Whether to run as plain Python, in one thread.
    threads : int, optional
        Most threads; by default one per core.

    Attributes
    ----------
    types : Types
        With which they are instantiated.
    loops : module
        The loops of `kernels/cpu`, instantiated for the program.
    run : callable
        Calls a loop for each task of a list, on all threads.
    look_and_run : callable
        Does the same, and looks before each task whether the run is to end; see `runtime.looks`.
    state : tuple of ndarray, each of shape (part.size,)
        The state fields.
    sums : ndarray of float64
        The program's aggregates over all partitions, from before the superstep.
    number : int
        Number of the superstep.
    """

    def __init__(
        self,
        bound: BoundProgram,
        part: ProgramPart,
        *,
        plain: bool = False,
        threads: int | None = None,
    ) -> None:
        self.bound = bound
        self.part = part
        if plain:
            self.types = bound.types
            self.loops = python_module(bound.program, bound.types)
        else:
            self.types = _never_nan(bound.types) if bound.never_nan else bound.types
            self.loops = compiled_module(bound.program, self.types)
        self.threads = 1 if plain else threads or number_of_threads()
        self.look_and_run = serial if self.threads == 1 else parallel
        self.run = partial(self.look_and_run, looks=False)
        self.index = np.int64 if part.size > np.iinfo(np.int32).max else np.int32
        self.state: tuple[Array, ...] = tuple(
            np.empty(part.size, kind) for kind in bound.types.state
        )
        self.sums = np.zeros(len(bound.program.aggregates))
        self.number = 0
        self._row_ranges: list[tuple[int, int]] | None = None

    @property
    def values(self) -> tuple[Any, ...]:
        """What the program reads as `p`: parameters, aggregates, and values common to all programs."""
        sums = tuple(np.float64(value) for value in self.sums)
        vertices, number = np.int64(self.part.vertices), np.int64(self.number)
        return (*self.bound.values, *sums, vertices, number)

    def rows(self, order: Literal["csc", "csr"]) -> tuple[Array, Array]:
        """Return offsets and indices of the in-neighbours or the out-neighbours."""
        adjacency = self.part.csc if order == "csc" else self.part.csr
        return adjacency.offsets, adjacency.indices

    def row_ranges(self) -> list[tuple[int, int]]:
        """Split the rows of owned vertices into ranges of about equal work."""
        if self._row_ranges is None:
            offsets, indices = self.rows("csc")
            pieces = self.pieces(len(indices) + self.part.owned)
            self._row_ranges = cut_offsets(offsets, pieces)
        return self._row_ranges

    def pieces(self, work: int) -> int:
        """Return into how many ranges to cut work: enough to balance it, but few calls."""
        if self.threads == 1 or work < SMALL_WORK:
            return 1
        return min(RANGES_A_THREAD * self.threads, max(self.threads, work // SMALL_WORK))
