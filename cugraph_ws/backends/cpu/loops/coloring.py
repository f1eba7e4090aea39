"""Colours of vertices in an order of priorities; see `cugraph_ws.algorithms.independent_set`."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from cugraph_ws.kernels.cpu.coloring import color_ready

__all__ = ["InOrder"]

Integers = npt.NDArray[np.int64]
Rows = tuple[Integers, npt.NDArray[Any]]

ARCS_A_CALL = 1 << 20  # less than a tenth of a second


class InOrder:
    """Colours vertices by falling priority, those of a rank in one pass.

    Parameters
    ----------
    sides : list of (offsets, indices)
        Rows of neighbours of owned vertices: one side, or two which together have all.
    priority : ndarray of int64, shape (size,)
    undecided : ndarray of int64
        The owned vertices without colours.
    """

    def __init__(self, sides: list[Rows], priority: Integers, undecided: Integers) -> None:
        self._sides, self._priority = sides, priority
        self._listed = undecided[np.argsort(-priority[undecided], kind="stable")]
        degrees = sum(np.diff(offsets) for offsets, _ in sides)
        longest = int(np.max(degrees, initial=0))
        self._marks = np.zeros(longest + 1, np.int64)

    def color(self, color: Integers) -> tuple[Integers, int]:
        """Colour the vertices that are ready, within a bounded number of arcs.

        Parameters
        ----------
        color : ndarray of int64, shape (size,)
            Modified in place.

        Returns
        -------
        ndarray of int64
            The vertices that were coloured.
        int
            How many arcs were read.
        """
        first, *later_sides = self._sides
        second = later_sides[0] if later_sides else (first[0], first[1][:0])
        self._marks[:] = 0
        waiting, arcs = color_ready(
            first, second, self._listed, self._priority, color, self._marks, ARCS_A_CALL
        )
        listed, self._listed = self._listed, self._listed[:waiting]
        return listed[waiting:], arcs
