"""Tries out an edge program: its functions on a few values, as plain Python."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from cugraph_ws.program.edge_program import EdgeProgram
from cugraph_ws.program.inference import Inference
from cugraph_ws.program.trial import Trial

__all__ = ["EdgeTrial"]


class EdgeTrial(Trial):
    """Runs a program's functions as plain Python on a few values, to find errors.

    Parameters
    ----------
    program : EdgeProgram
    state : tuple of str
        NumPy type names of the values of a pair.
    constants : sequence of ndarray
        The vertex constants of a few vertices.
    uniform : tuple of bool
        Which of them hold one entry for all vertices.
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
        uniform: tuple[bool, ...],
        values: tuple[Any, ...],
        vertices: int,
    ) -> None:
        given: Any = program
        edges = ("float64",) * len(program.edges)
        super().__init__(given, state, edges, constants, uniform, values, vertices)

    def run_pairs(self) -> Inference:
        """Try both functions; return the types of the messages that they give for the few values."""
        samples = [self.Edge(*[x] * len(self.edges)) for x in (1.0, 0.25)]
        corners = list(itertools.islice(itertools.product(self.own, repeat=3), 64))
        results = [
            self.call("common", w=w, u=u, v=v, uw=one, vw=other)
            for (w, u, v), one, other in itertools.product(corners, samples, samples)
        ]
        parts = [self.numbers("common", one, None) for one in results]
        is_tuple = isinstance(results[0], tuple)
        kinds = tuple(_kind(column, self.program.combine) for column in zip(*parts, strict=True))
        self.messages = [self._cast_message(one, kinds, is_tuple) for one in results]
        if self.program.combine == "custom":
            self.check_combine(kinds, is_tuple)
        for (_, u, v), common in itertools.product(corners[:16], self.messages[:8]):
            self.as_state("value", self.call("value", u=u, v=v, edge=samples[0], common=common))
        return Inference(kinds, is_tuple)


def _kind(column: Sequence[Any], combine: str) -> str:
    """Return the type in which messages are combined; a sum of flags is a count."""
    dtype = np.result_type(*[np.asarray(one).dtype for one in column])
    if dtype.kind == "f":
        return "float32" if dtype.name == "float32" else "float64"
    return "bool" if dtype.kind == "b" and combine != "sum" else "int64"
