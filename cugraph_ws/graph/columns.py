"""The columns of an edge frame that `source`, `destination`, `weight` and `attributes` select.

`weight` is by default the column named "weight", if there is one and something reads weights.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from cugraph_ws.arguments import is_label, shown
from cugraph_ws.errors import InputError

__all__ = ["AUTO", "WEIGHT", "Columns", "column_names", "is_auto", "named_columns", "weight_column"]

AUTO = "auto"
WEIGHT = "weight"  # the column for `weight="auto"`

Columns = str | Sequence[str]  # may be integers for pandas and cuDF frames


def column_names(frame: Any) -> list[Any]:
    """Return the names of a frame's columns; empty if it is not a frame, or is lazy.

    Parameters
    ----------
    frame : object

    Returns
    -------
    list
    """
    if hasattr(frame, "collect"):  # the columns of a lazy frame are not known yet
        return []
    names = getattr(frame, "column_names", None)  # a PyArrow table's; others have `columns`
    names = getattr(frame, "columns", ()) if names is None else names
    return list(names) if isinstance(names, Iterable) else []


def weight_column(frame: Any, weight: Any, *ids: Any) -> Any:
    """Return the weight column of an edge frame.

    Parameters
    ----------
    frame : frame
        The edge frame.
    weight : str or None
        The caller's value: a column, None for no weights, or "auto" for the column "weight", if there
        is one and it is not an id column.
    *ids : str or sequence of str
        The columns of the edges' ends.

    Returns
    -------
    str or None
    """
    if not is_auto(weight):
        return weight
    id_names = [
        name
        for end_columns in ids
        for name in ([end_columns] if isinstance(end_columns, str) else _listed(end_columns))
    ]
    return WEIGHT if WEIGHT in column_names(frame) and WEIGHT not in id_names else None


def is_auto(weight: Any) -> bool:
    """Return whether the weight column is chosen automatically."""
    return isinstance(weight, str) and weight == AUTO


def _listed(columns: Any) -> list[Any]:
    return list(columns) if isinstance(columns, Iterable) else [columns]


def named_columns(
    source: Columns, destination: Columns, weight: str | None, attributes: Columns
) -> tuple[tuple[list[str], list[str]], list[str]]:
    """Return the id columns of sources and destinations, and the edge columns that a graph keeps.

    Parameters
    ----------
    source, destination : str or sequence of str
    weight : str or None
    attributes : str or sequence of str
        See `Graph`.

    Returns
    -------
    names : pair of list of str
        The id columns of sources, and of destinations.
    carried : list of str
        The edge columns; the weight is first.

    Raises
    ------
    InputError
        If no column is named, or the numbers of columns for both ends differ.
    """
    names = _names(source, "source"), _names(destination, "destination")
    if len(names[0]) != len(names[1]):
        raise InputError(
            f"source names {len(names[0])} columns and destination {len(names[1])}; "
            f"give as many columns for both"
        )
    if weight is not None and not is_label(weight):
        raise InputError(f"weight={shown(weight)}: give the name of one column, or None")
    first = [] if weight is None else [weight]
    more = () if attributes is None else attributes
    return names, list(dict.fromkeys([*first, *_names(more, "attributes")]))


def _names(columns: Any, argument: str) -> list[str]:
    if is_label(columns):
        return [columns]
    if hasattr(columns, "tolist"):  # an array or an index
        columns = columns.tolist()
    if not isinstance(columns, Sequence) or isinstance(columns, (bytes, bytearray)):
        raise InputError(
            f"{argument}={shown(columns)}: give the name of a column, or a list of names; names are text "
            f"or whole numbers"
        )
    for name in columns:
        if isinstance(name, tuple):
            raise InputError(
                f"{argument}: {shown(name)} is a label of several levels; give the frame flat names, such "
                f"as frame.columns = ['_'.join(label) for label in frame.columns]"
            )
        if not is_label(name):
            raise InputError(
                f"{argument}: {shown(name)} is not a column name; names are text or whole numbers"
            )
    if not columns and argument != "attributes":
        raise InputError(f"{argument}=[]: name at least one column")
    return list(columns)
