"""What workers that each have a copy of a graph divide among them: `Graph(ddf, spread="copies")`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from cugraph_ws.algorithms.registry import ALGORITHMS
from cugraph_ws.execution.options import Options

__all__ = ["division"]


def division(
    name: str,
    arguments: Mapping[str, Any],
    options: Options,
    copies: int,
    vertices: Callable[[], Any],
) -> list[dict[str, Any]]:
    """Return for each copy that makes a call the arguments that are its alone.

    Only the first makes it, unless the function declares what several can divide.

    Parameters
    ----------
    name : str
        Of the function.
    arguments : mapping
        Its arguments, by name.
    options : Options
        The run's.
    copies : int
    vertices : callable
        Returns the ids of all vertices, as a Dask frame; called if they are divided.
    """
    declared = ALGORITHMS.get(name)
    divides = "" if declared is None else declared.divides
    if not divides or options.checkpoint is not None or options.resume is not None:
        return [{}]
    if divides == "sources":
        return [{}] * copies
    if arguments.get("k") is not None or arguments.get("format", "long") != "long":
        return [{}]
    ids = arguments.get(divides)
    if ids is None:
        frame = vertices()
        ids = frame["vertex"].compute() if "vertex" in frame.columns else None
    chunks = _chunks(ids, copies, ordered=divides == "vertices")
    return [{divides: chunk} for chunk in chunks] or [{}]


def _chunks(ids: Any, number: int, *, ordered: bool) -> list[Any]:
    """Divide ids into so many chunks, sorted first if `ordered`; return none if they are in no array or list.

    Ids of several columns, a frame, are not divided.
    """
    if hasattr(ids, "to_arrow"):
        ids = ids.to_arrow()
    ids = ids.to_numpy(zero_copy_only=False) if hasattr(ids, "to_pylist") else ids
    if isinstance(ids, list) or hasattr(ids, "to_numpy"):
        ids = np.asarray(ids)
    is_flat = isinstance(ids, np.ndarray) and ids.ndim == 1 and ids.dtype.kind in "iuOU"
    if not is_flat or len(ids) < number:
        return []
    chunks = np.array_split(np.unique(ids) if ordered else ids, number)
    return [chunk.tolist() for chunk in chunks]
