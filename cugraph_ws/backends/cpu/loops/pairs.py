"""Loops of edge programs on the CPU; see `cugraph_ws.execution.edge_loop`."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from cugraph_ws.backends.cpu.context import running
from cugraph_ws.partition.pair_rows import PairRows
from cugraph_ws.program.edge_binding import BoundEdgeProgram
from cugraph_ws.program.edge_codegen import compiled_pairs, plain_pairs
from cugraph_ws.runtime.threads import cut_evenly, number_of_threads, parallel, serial

__all__ = ["PairFold"]

Array = npt.NDArray[Any]

PAIRS_A_TASK = 1 << 10
TASKS_A_THREAD = 16


class PairFold:
    """Computes the values of pairs by an edge program.

    Parameters
    ----------
    bound : BoundEdgeProgram
    plain : bool
        Whether the user's functions are executed as plain Python.
    """

    def __init__(self, bound: BoundEdgeProgram, *, plain: bool = False) -> None:
        self._bound, self._plain = bound, plain
        make = plain_pairs if plain else compiled_pairs
        self._module: Any = make(bound.program, bound.types)

    def fold(self, rows: PairRows) -> list[Array]:
        """Combine the messages of common neighbours; return the values of all pairs.

        Parameters
        ----------
        rows : PairRows

        Returns
        -------
        list of array, each of shape (pairs,)
            One for each declared value.
        """
        return self._run(self._module.fold_pairs, rows)

    def finish(self, rows: PairRows, counts: Array) -> list[Array]:
        """Return the values of all pairs, given the numbers of their common neighbours.

        Parameters
        ----------
        rows : PairRows
        counts : array of int64, shape (pairs,)

        Returns
        -------
        list of array, each of shape (pairs,)
        """
        return self._run(self._module.value_pairs, rows, counts)

    def _run(self, kernel: Any, rows: PairRows, *arrays: Array) -> list[Array]:
        """Run a kernel on all pairs."""
        count = len(rows.firsts)
        columns = tuple(np.empty(count, np.dtype(kind)) for kind in self._bound.types.state)
        head = (
            (rows.offsets, rows.indices), rows.pairs, rows.constants, rows.edges,
            self._bound.values, columns, *arrays,
        )  # fmt: skip
        run, pieces = parallel, 1 + count // PAIRS_A_TASK
        if self._plain:
            run = serial
        else:
            pieces = min(TASKS_A_THREAD * number_of_threads(), pieces)
        with running(self._bound.program):
            run(kernel, [(*head, *cut) for cut in cut_evenly(count, pieces)])
        return list(columns)
