"""The rows of a frame by group, and the results of groups as one frame."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import narwhals as nw
import numpy as np
import numpy.typing as npt

from cugraph_ws.arguments import shown
from cugraph_ws.errors import InputError
from cugraph_ws.frames.base import Frame, FrameKind

__all__ = ["Pieces", "joined"]


class Pieces:
    """The rows of each group of a frame, in their order, without the columns that name the group.

    Parameters
    ----------
    frame : Frame
        On the host.
    by : sequence of str
        The columns that name the group.
    groups : ndarray of int64, shape (rows,)
        The group of each row, below `count`.
    count : int

    Attributes
    ----------
    keys : narwhals.DataFrame
        The columns `by`, a row for each group that has rows, in the order of groups.
    """

    def __init__(
        self, frame: Frame, by: Sequence[str], groups: npt.NDArray[np.int64], count: int
    ) -> None:
        order = np.argsort(groups, kind="stable")
        self._bounds = np.searchsorted(groups[order], np.arange(count + 1))
        filled = self._bounds[:-1] < self._bounds[1:]
        self.keys = frame.table.select(nw.col(*by))[order[self._bounds[:-1][filled]]]
        rest = [name for name in frame.names if name not in by]
        self._rows = frame.table.select(nw.col(*rest))[order]

    def __getitem__(self, group: int) -> Any:
        """Return the rows of a group as a frame of the library of the whole one."""
        return self._rows[int(self._bounds[group]) : int(self._bounds[group + 1])].to_native()


def joined(frame: Frame, keys: nw.DataFrame[Any], results: Sequence[Any], name: str) -> Any:
    """Return the results of groups as one frame, with the columns that name the group first.

    Parameters
    ----------
    frame : Frame
        The frame that the groups are of.
    keys : narwhals.DataFrame
        A row for each group.
    results : sequence of frame, or of number
        One for each group.
    name : str
        The column of results that are numbers.

    Returns
    -------
    DataFrame or Table
        Of the library of `frame`.

    Raises
    ------
    InputError
        If a column of the results has the name of one of `keys`.
    """
    tables = [nw.from_native(result, pass_through=True, eager_only=True) for result in results]
    if isinstance(tables[0], nw.DataFrame):
        lengths = [len(table) for table in tables]
        filled = [table for table in tables if len(table)] or tables[:1]
        values = nw.concat([_unlabelled(table) for table in filled])
    else:
        lengths = [1] * len(results)
        values = nw.from_dict({name: list(results)}, backend=keys.implementation)
    if twice := [column for column in keys.columns if column in values.columns]:
        raise InputError(
            f"by={shown(twice[0])} names a column of the result too; rename it in the frame of edges"
        )
    repeated = keys[np.repeat(np.arange(len(keys)), lengths[: len(keys)])]
    parts = [_unlabelled(repeated), _unlabelled(values[: len(repeated)])]
    native = nw.concat(parts, how="horizontal").to_native()
    if frame.backend != "cudf":
        return native
    return FrameKind("cudf", proxy=frame.proxy).wrapped(type(frame.native).from_arrow(native))


def _unlabelled(table: nw.DataFrame[Any]) -> nw.DataFrame[Any]:
    """Return a table whose rows have no labels but their places; only pandas has others."""
    return nw.maybe_reset_index(table)
