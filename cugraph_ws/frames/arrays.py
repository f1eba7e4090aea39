"""Edges given as arrays or as a sparse matrix, read like a frame.

Arrays on a GPU stay there, and results are cuDF frames; for arrays on the host they are pandas
frames.  If the library of the results is not installed, this is an error before any work is done.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from cugraph_ws.arguments import shown
from cugraph_ws.errors import InputError
from cugraph_ws.frames.base import Column, Frame, FrameKind, is_on_device, open_values
from cugraph_ws.runtime.extras import install_command

__all__ = ["ArrayFrame", "edges_of_arrays", "edges_of_matrix"]

Array = Any  # from any library


class ArrayFrame(Frame):
    """A frame of arrays.

    Parameters
    ----------
    columns : mapping of str to array
        Of equal length, all on the host or all on the device.
    argument : str
        The caller's name for them, for errors.

    Raises
    ------
    InputError
        If the columns differ in length, some are on the host and some on a device, or the library of
        the results is not installed.
    """

    def __init__(self, columns: Mapping[str, Array], argument: str) -> None:
        self.native = None
        self.argument = argument
        self.proxy = False
        self._columns = {name: _open(name, values) for name, values in columns.items()}
        places = {column.on_device for column in self._columns.values()}
        lengths = {name: len(column) for name, column in self._columns.items()}
        if len(places) > 1:
            on_host = [name for name, column in self._columns.items() if not column.on_device]
            raise InputError(
                f"{argument}: {', '.join(on_host)} on the host, the other arrays on a GPU; move all to "
                f"one of the two"
            )
        if len(set(lengths.values())) > 1:
            listed = ", ".join(f"{length:,} in {name}" for name, length in lengths.items())
            raise InputError(f"{argument}: arrays of equal length are needed, not {listed}")
        self.on_device = places == {True}
        self.backend = "cudf" if self.on_device else "pandas"
        _need(self.backend)

    def __len__(self) -> int:
        return len(next(iter(self._columns.values())))

    @property
    def names(self) -> list[str]:
        """Names of the columns."""
        return list(self._columns)

    def kind_like(self, name: str) -> FrameKind:
        """Return the kind of frame for results."""
        return FrameKind(self.backend)

    def _read(self, name: str, argument: str) -> Column:
        return replace(self._columns[name], argument=argument)


def _open(name: str, values: Array) -> Column:
    """Read an array as a column, whose dtype is one of the results' library, or None."""
    column = open_values(values, name, on_device=True)
    home = type(column.dtype).__module__.partition(".")[0]
    return column if home in ("numpy", "pandas", "cudf") else replace(column, dtype=None)


def edges_of_arrays(
    source: Array, destination: Array, weight: Array | None, attributes: Mapping[str, Array] | None
) -> ArrayFrame:
    """Return arrays of edges as a frame.

    Parameters
    ----------
    source, destination : array
    weight : array, optional
        Becomes the column `weight`.
    attributes : mapping of str to array, optional

    Returns
    -------
    ArrayFrame

    Raises
    ------
    InputError
        See `ArrayFrame`; also if an attribute's name is already used.
    """
    columns = {"source": source, "destination": destination}
    if weight is not None:
        columns["weight"] = weight
    if attributes is not None and not isinstance(attributes, Mapping):
        raise InputError(
            f"attributes: a dict of names and arrays is needed, not {type(attributes).__name__}"
        )
    for name, values in (attributes or {}).items():
        if not isinstance(name, str):
            raise InputError(f"attributes: {shown(name)} is not a column name; names are text")
        if name in columns:
            raise InputError(
                f"attributes: {shown(name)} is the name of another column; choose another"
            )
        columns[name] = values
    return ArrayFrame(columns, "arrays")


def edges_of_matrix(matrix: Any, *, directed: bool) -> tuple[ArrayFrame, ArrayFrame]:
    """Return a frame of a sparse matrix's entries, and a frame of all vertices.

    Parameters
    ----------
    matrix : sparse array or matrix of SciPy or CuPy
        Square; every stored entry is an edge from its row to its column, including zeros.
    directed : bool
        If False, the matrix must be symmetric, and two entries (i, j) and (j, i) are one edge.

    Returns
    -------
    edges, vertices : ArrayFrame
        `edges` has the columns source, destination and weight; `vertices` the column vertex.

    Raises
    ------
    InputError
        If it is not such a matrix.
    """
    if not hasattr(matrix, "tocoo") or len(getattr(matrix, "shape", ())) != 2:
        raise InputError(
            f"matrix: a sparse matrix of SciPy or CuPy is needed, not {type(matrix).__name__}; "
            f"scipy.sparse.csr_array(matrix) converts a dense one"
        )
    rows, columns = matrix.shape
    if rows != columns:
        raise InputError(
            f"matrix: a square matrix is needed, not {rows:,} by {columns:,}; give the edges of a "
            f"bipartite graph to Graph.from_arrays"
        )
    try:
        entries = matrix.tocoo()
    except (TypeError, ValueError) as error:  # entries of a dtype that its library does not support
        raise InputError(f"matrix: it cannot be read: {error}") from error
    xp: Any = np
    if is_on_device(entries.data):
        from cugraph_ws.runtime.device import device

        xp = device().xp
    source, destination, weight = entries.row, entries.col, entries.data
    if not directed:
        is_upper = _upper(xp, source, destination, weight, rows)
        source, destination, weight = source[is_upper], destination[is_upper], weight[is_upper]
    wide = np.int32 if rows <= np.iinfo(np.int32).max else np.int64
    edges = edges_of_arrays(source, destination, weight, None)
    return edges, ArrayFrame({"vertex": xp.arange(rows, dtype=wide)}, "matrix")


def _upper(xp: Any, source: Array, destination: Array, weight: Array, size: int) -> Array:
    """Mark the entries on and above the diagonal; refuse a matrix that is not symmetric."""
    sides = []
    for side in (source < destination, source > destination):
        ends = source[side], destination[side]
        keys = xp.minimum(*ends).astype(np.int64) * size + xp.maximum(*ends)
        order = xp.argsort(weight[side], kind="stable")  # parallel entries may be in any order
        order = order[xp.argsort(keys[order], kind="stable")]
        sides.append((keys[order], weight[side][order]))
    (keys, weights), (other_keys, other_weights) = sides
    same = len(keys) == len(other_keys)
    if not (same and bool((keys == other_keys).all() & (weights == other_weights).all())):
        raise InputError(
            "matrix: directed=False needs a symmetric matrix; give directed=True, or add its transpose"
        )
    return source <= destination


def _need(backend: str) -> None:
    """Raise InputError if the library of the result frames is not installed."""
    if backend in sys.modules or importlib.util.find_spec(backend) is not None:
        return
    if backend == "cudf":
        raise InputError(
            "results of a graph made of arrays on a GPU are cuDF frames, and cuDF is missing: "
            f"{install_command('cu13')} (for CUDA 12: the same with cu12), or copy the arrays to the host"
        )
    raise InputError(
        "results of a graph made of arrays are pandas frames, and pandas is missing: "
        f"{install_command('pandas')}, or give a pyarrow.table of the arrays"
    )
