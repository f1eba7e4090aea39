"""Tries out an edge program: its functions as plain Python, on values that occur in a graph."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from cugraph_ws.errors import ProgramError
from cugraph_ws.program.budget import OutOfSteps
from cugraph_ws.program.edge_program import EdgeProgram
from cugraph_ws.program.inference import Inference
from cugraph_ws.program.trial import MESSAGES, Trial, wide

__all__ = ["CORNERS", "EdgeTrial"]

CORNERS = 3  # vertices, and edges, of which common neighbours are made up


class EdgeTrial(Trial):
    """Runs a program's functions as plain Python, each call under a budget of steps.

    Parameters
    ----------
    program : EdgeProgram
    state : tuple of str
        NumPy type names of the values of a pair.
    constants : sequence of ndarray
        The vertex constants of a few vertices; those with one entry hold for all.
    edges : sequence of tuple
        The attributes of a few edges.
    values : tuple
        The run's parameters.
    vertices : int
        Number of vertices.
    """

    def __init__(
        self,
        program: EdgeProgram,
        state: tuple[str, ...],
        constants: Sequence[npt.NDArray[Any]],
        edges: Sequence[tuple[Any, ...]],
        values: tuple[Any, ...],
        vertices: int,
    ) -> None:
        any_program: Any = program
        super().__init__(any_program, state, values, vertices)
        length = max([1, *map(len, constants)])
        rows = zip(*[np.resize(array, length) for array in constants], strict=True)
        self.own = [self.Own(*wide(row)) for row in rows][:CORNERS] or [self.Own()]
        ones = [np.float64(1)] * len(program.edges)  # for a graph without edges
        self.edges = [
            self.Edge(*map(np.float64, edge_values)) for edge_values in edges[:CORNERS]
        ] or [self.Edge(*ones)]

    def common(self) -> Iterator[tuple[Any, Any, Any, Any]]:
        """Yield both ends of pairs, an edge, and a common neighbour's message."""
        corners = itertools.product(self.own, repeat=3)
        for (w, u, v), uw, vw in itertools.product(corners, self.edges, self.edges):
            message = self.call("common", w=w, u=u, v=v, uw=uw, vw=vw)
            self.numbers("common", message, None)
            if "lift" in self.functions:
                message = self._called("lift", (message,))
            yield u, v, uw, message

    def pair_complaint(self) -> ProgramError | None:
        """Return what is wrong with a function; None if nothing is."""
        try:
            for u, v, edge, message in self.common():
                self.as_state("value", self.call("value", u=u, v=v, edge=edge, common=message))
        except OutOfSteps:
            return None
        except ProgramError as error:
            return error
        return None

    def pair_types(self) -> Inference:
        """Return the types of messages, for a program that the compiler does not take."""
        return Inference(*self.kinds_of([message for *_, message in self.common()]))

    def pair_doubt(self, types: Inference) -> str | None:
        """Return why messages contradict the declared combine; None if they do not."""
        try:
            messages = [self.cast(message, types) for *_, message in self.common()]
            return self.doubt_combine(messages[:: max(1, len(messages) // MESSAGES)], types)
        except (OutOfSteps, ProgramError):
            return None
