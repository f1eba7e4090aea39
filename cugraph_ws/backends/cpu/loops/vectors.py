"""Supersteps of programs with vectors on the CPU; see `cugraph_ws.execution.vector_loop`."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from cugraph_ws.backends.cpu.context import running
from cugraph_ws.contract import folded_terms, terms_of_none
from cugraph_ws.partition.part import ProgramPart
from cugraph_ws.program.modules import compiled_module
from cugraph_ws.program.vector_binding import BoundVectors
from cugraph_ws.program.vector_codegen import vector_source
from cugraph_ws.program.vector_plain import plain_vectors
from cugraph_ws.runtime.threads import cut_evenly, cut_offsets, number_of_tasks, parallel, serial

__all__ = ["Supersteps"]

Array = npt.NDArray[Any]

ELEMENTS_A_TASK = 1 << 16  # at least
MOST_A_TASK = 1 << 22
SUMMED_TOGETHER = 1 << 15  # vertices; fixed, so that rounding does not depend on the threads


class Supersteps:
    """The states of a part's vertices, and what computes the next ones.

    Parameters
    ----------
    bound : BoundVectors
    part : ProgramPart
    plain : bool
        Whether the user's functions are executed as plain Python.

    Attributes
    ----------
    state : tuple of ndarray, of shape (size,) or (size, length)
        The state fields by position.
    active : ndarray of bool, shape (size,)
        Which vertices are active.
    """

    def __init__(self, bound: BoundVectors, part: ProgramPart, *, plain: bool = False) -> None:
        self._bound, self._part = bound, part
        program = bound.program
        self._module: Any = (
            plain_vectors(bound) if plain else compiled_module(program, bound.types, vector_source)
        )
        self._parallel = serial if plain else parallel
        self.state, self._fresh = (bound.empty_state(np, part.size) for _ in range(2))
        self.active = np.zeros(part.size, np.bool_)
        self._next_active = np.zeros(part.size, np.bool_)
        offsets = part.csc.offsets
        elements = (int(offsets[-1]) + part.owned) * program.length
        pieces = 1 if plain else number_of_tasks(elements, ELEMENTS_A_TASK, MOST_A_TASK)
        self._ranges = cut_offsets(offsets, pieces)

    @property
    def source(self) -> str:
        """Text of the module that was generated for the program."""
        return vector_source(self._bound.program, self._bound.types)

    def start(self, values: tuple[Any, ...]) -> None:
        """Write the first states, also of ghosts, and which are active."""
        part = self._part
        tasks = [
            (*bounds, part.numbers, self.state, part.constants, values, self.active)
            for bounds in cut_evenly(part.size, len(self._ranges))
        ]
        with running(self._bound.program):
            self._parallel(self._module.initialise_vectors, tasks)

    def superstep(self, values: tuple[Any, ...]) -> tuple[int, float, float]:
        """Compute the next states of the owned vertices.

        Parameters
        ----------
        values : tuple
            What the program reads as `p`.

        Returns
        -------
        active : int
            Number of vertices that are active then.
        total, greatest : float
            Sum of the vertices' changes, and the greatest.
        """
        part = self._part
        totals = np.zeros((len(self._ranges), 3))
        rows = part.csc.offsets, part.csc.indices
        tasks = [
            (
                *bounds, rows, part.edges("csc"), self.state, self._fresh, part.constants, values,
                self.active, self._next_active, totals[place],
            )
            for place, bounds in enumerate(self._ranges)
        ]  # fmt: skip
        with running(self._bound.program):
            self._parallel(self._module.gather_vectors, tasks)
        self.state, self._fresh = self._fresh, self.state
        self.active, self._next_active = self._next_active, self.active
        active, total, greatest = (
            totals[:, 0].sum(),
            totals[:, 1].sum(),
            totals[:, 2].max(initial=0.0),
        )
        return int(active), float(total), float(greatest)

    def terms(self, values: tuple[Any, ...]) -> npt.NDArray[np.float64]:
        """Return this part's share of each of the program's aggregates."""
        part, folds = self._part, self._bound.program.aggregate_folds
        ranges = cut_evenly(part.owned, 1 + part.owned // SUMMED_TOGETHER)
        totals = np.tile(terms_of_none(folds), (len(ranges), 1))
        if not folds:
            return np.zeros(0)
        tasks = [
            (*bounds, self.state, part.constants, values, totals[place])
            for place, bounds in enumerate(ranges)
        ]
        with running(self._bound.program):
            self._parallel(self._module.sum_vector_terms, tasks)
        return folded_terms(list(totals), folds)
