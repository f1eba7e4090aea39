"""The predecessor forest of a search's final state, grown within one partition."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from cugraph_ws.backends.cpu.context import Array, Context
from cugraph_ws.kernels.cpu.tree import UNDECIDED

__all__ = ["PredecessorTrees"]


class PredecessorTrees:
    """Predecessors of a partition's vertices; `kernels/cpu/tree.py` defines them.

    Parameters
    ----------
    context : Context
        The program and the partition; the run has ended.
    """

    def __init__(self, context: Context) -> None:
        self._context = context
        self._parents = np.full(context.part.size, UNDECIDED, np.int64)
        self._levels = np.empty(0, np.int64)
        self._level = 0
        self._attached: Array = np.empty(0, context.index)  # since the last `grow`

    def begin(self) -> int:
        """Choose predecessors where a strictly better one exists; return how many are missing."""
        context = self._context
        part, rows, values = context.part, context.rows("csc"), context.values
        tasks = [
            (
                *bounds, part.numbers, rows, part.edges("csc"), context.state, part.constants,
                values, self._parents,
            )
            for bounds in context.row_ranges()
        ]  # fmt: skip
        return int(sum(context.run(context.loops.choose_strictly_better, tasks)))

    def grow(self) -> int:
        """Attach undecided vertices to attached ones; return how many."""
        context = self._context
        part = context.part
        if self._level == 0:
            own_parents = self._parents[: part.owned]
            decided = np.flatnonzero(own_parents != UNDECIDED).astype(context.index)
            self._attached = np.concatenate([decided, self._attached])
            self._levels = np.zeros(part.size, np.int64)
        self._level += 1
        begun = len(self._attached)
        queue = np.empty(part.size, context.index)
        queue[:begun] = self._attached
        # Ghosts are attached between levels; without ghosts one call does all levels.
        most = 1 if part.size > part.owned else part.size
        size, last = context.loops.search_ties(
            part.numbers, context.rows("csr"), part.edges("csr"), context.state, part.constants,
            context.values, self._parents, self._levels, queue,
            np.array([begun, self._level, most]),
        )  # fmt: skip
        self._attached = queue[last:size].copy()
        return int(size - begun)

    def is_attached(self, vertices: Array) -> npt.NDArray[np.bool_]:
        """Return which of some owned vertices are attached to the forest."""
        attached: npt.NDArray[np.bool_] = self._parents[vertices] != UNDECIDED
        return attached

    def attach_ghosts(self, ghosts: Array) -> None:
        """Mark ghosts as attached to the forest."""
        new = ghosts[self._parents[ghosts] == UNDECIDED]
        self._parents[new] = 0  # any value that means decided: a ghost's predecessor is not read
        self._attached = np.concatenate([self._attached, new])

    def predecessors(self) -> npt.NDArray[np.int64]:
        """Return each owned vertex's predecessor as a vertex number, −1 for none.

        Vertices that are still undecided got their state from several messages combined.
        """
        parents = self._parents[: self._context.part.owned]
        numbers = self._context.part.numbers
        predecessors: npt.NDArray[np.int64] = np.where(parents >= 0, numbers[parents], -1)
        return predecessors
