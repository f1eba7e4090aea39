"""Supersteps of programs with vectors on the GPU; see `cugraph_ws.execution.vector_loop`.

Arguments and results are as in `cugraph_ws.backends.cpu.loops.vectors`, but on the device.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from cugraph_ws.backends.cuda.vector_codegen import vector_kernels, warps_of
from cugraph_ws.contract import terms_of_none
from cugraph_ws.partition.part import ProgramPart
from cugraph_ws.program.vector_binding import BoundVectors
from cugraph_ws.runtime.device import device

__all__ = ["Supersteps"]

Array = Any  # CuPy's


class Supersteps:
    """The states of a part's vertices, and what computes the next ones.

    Parameters
    ----------
    bound : BoundVectors
    part : ProgramPart
    plain : bool
        Must be False: plain Python does not run on a GPU.

    Attributes
    ----------
    state : tuple of array, of shape (size,) or (size, length)
        The state fields by position.
    active : array of uint8, shape (size,)
        Which vertices are active.
    """

    def __init__(self, bound: BoundVectors, part: ProgramPart, *, plain: bool = False) -> None:
        assert not plain
        self._bound, self._part, self._xp = bound, part, part.xp
        self._kernels = vector_kernels(device(), bound.program, bound.types)
        self._block = 32 * warps_of(bound.program, bound.types)
        self.state, self._fresh = (bound.empty_state(self._xp, part.size) for _ in range(2))
        self.active = self._xp.zeros(part.size, np.uint8)
        self._next_active = self._xp.zeros(part.size, np.uint8)
        self._constants = _flat(part.constants)

    def _launch(self, name: str, vertices: int, *arguments: Any) -> None:
        """Launch a kernel that has a warp for each vertex."""
        if vertices:
            blocks = device().blocks_for(32 * vertices, self._block)
            self._kernels.launch(name, blocks, self._block, *arguments, np.int64(vertices))

    def start(self, values: tuple[Any, ...]) -> None:
        """Write the first states, also of ghosts, and which are active."""
        part = self._part
        self._launch(
            "initialise_vectors", part.size, part.numbers, _flat(self.state), self._constants, values, self.active,
        )  # fmt: skip

    def superstep(self, values: tuple[Any, ...]) -> tuple[int, float, float]:
        """Compute the next states of the owned vertices; see the CPU's."""
        part, xp = self._part, self._xp
        measures = self._bound.program.residual is not None
        changes, count = xp.zeros(max(1, part.owned * measures)), xp.zeros(1, np.int64)
        rows = part.csc.offsets, part.csc.indices
        self._launch(
            "gather_vectors", part.owned, rows, part.edges("csc"), _flat(self.state), _flat(self._fresh),
            self._constants, values, self.active, self._next_active, changes, count,
        )  # fmt: skip
        active = int(count[0])
        self.state, self._fresh = self._fresh, self.state
        self.active, self._next_active = self._next_active, self.active
        return active, float(changes.sum()), float(changes.max())

    def terms(self, values: tuple[Any, ...]) -> npt.NDArray[np.float64]:
        """Return this part's share of each of the program's aggregates."""
        part, folds = self._part, self._bound.program.aggregate_folds
        totals = terms_of_none(folds)
        terms = self._xp.zeros((len(folds), part.owned))
        self._launch(
            "list_vector_terms",
            part.owned,
            _flat(self.state),
            self._constants,
            values,
            terms.reshape(-1),
        )
        for place, fold in enumerate(folds if part.owned else ()):
            column = terms[place]
            totals[place] = float(
                column.sum() if fold == "sum" else column.min() if fold == "min" else column.max()
            )
        return totals


def _flat(arrays: tuple[Array, ...]) -> tuple[Array, ...]:
    """Return arrays as kernels read them: vectors one after the other."""
    return tuple(array.reshape(-1) for array in arrays)
