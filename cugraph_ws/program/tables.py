"""Tables in a program: tuples, lists and arrays of numbers outside of its functions, which they read by index.

`RATE[src.kind]` becomes the entry of a tuple in the function's source, so that every engine compiles it, and a
table that has changed is other source.  An index may count from the end, as in Python.  Past the ends, plain
Python raises an error; compiled functions, which cannot, read the last entry of that tuple: NaN, the least
int64 or False.
"""

from __future__ import annotations

import ast
import math
from typing import Any, NamedTuple

import numpy as np

from cugraph_ws.runtime.parsing import parse_expression

__all__ = ["CELL", "MOST", "Table", "entry_of", "table_of"]

MOST = 256  # entries; compiling 1,024 takes seconds
PAST = {"bool": False, "int64": -(2**63), "float32": math.nan, "float64": math.nan}
CELL = """def ws_cell(row, column, rows, columns):
    row, column = row + rows * (row < 0), column + columns * (column < 0)
    within = 0 <= row < rows and 0 <= column < columns
    return row * columns + column if within else rows * columns"""


class Table(NamedTuple):
    """The numbers of a table.

    Attributes
    ----------
    entries : tuple
        Row by row.
    rows, columns : int
        A table of one dimension has one row.
    dimensions : int
    kind : str
        NumPy's name of the type that they have in functions: if any is a float, all are.
    """

    entries: tuple[Any, ...]
    rows: int
    columns: int
    dimensions: int
    kind: str


def table_of(value: Any) -> Table | None:
    """Return the table that an outer name's value is; None if it is no tuple, list or array.

    Parameters
    ----------
    value : object

    Raises
    ------
    ValueError
        If it is one, but no table; the message says why.
    """
    if not isinstance(value, (tuple, list, np.ndarray)):
        return None
    try:
        numbers = np.asarray(value)
    except ValueError:
        raise ValueError("has rows of different lengths; give all the same") from None
    if numbers.dtype.kind not in "biuf" or numbers.ndim not in (1, 2) or not numbers.size:
        what = f"{numbers.ndim} dimensions of {numbers.dtype}" if numbers.size else "no entries"
        raise ValueError(f"has {what}; a table has numbers, in one or two dimensions")
    if numbers.size > MOST:
        raise ValueError(
            f"has {numbers.size} entries; a table has at most {MOST}: give larger ones to vertices or edges, "
            "by ws.vertex_value or as a column"
        )
    kinds = {"b": "bool", "f": "float32" if numbers.dtype == np.float32 else "float64"}
    kind = kinds.get(numbers.dtype.kind, "int64")
    if kind == "int64" and int(numbers.max()) >= 2**63:
        raise ValueError(f"has the entry {numbers.max()}, which int64 does not hold")
    rows = 1 if numbers.ndim == 1 else len(numbers)
    entries = tuple(numbers.astype(kind).ravel().tolist())
    return Table(entries, rows, numbers.shape[-1], numbers.ndim, kind)


def entry_of(table: Table, row: ast.expr, column: ast.expr) -> ast.expr:
    """Write the entry of a table at an index; functions that read one have `CELL` in their text.

    Parameters
    ----------
    table : Table
    row, column : expr
    """
    numbers = ", ".join(map(_written, (*table.entries, PAST[table.kind])))
    text = f"({numbers})[ws_cell(0, 0, {table.rows}, {table.columns})]"
    entry = parse_expression(f"np.float32({text})" if table.kind == "float32" else text)
    call = next(
        node for node in ast.walk(entry) if isinstance(node, ast.Call) and len(node.args) == 4
    )
    call.args[:2] = [row, column]
    return entry


def _written(number: Any) -> str:
    """Write a number so that Python makes it a constant when it compiles the tuple."""
    if isinstance(number, float) and not math.isfinite(number):
        infinity = "1e309" if number > 0 else "-1e309"
        return "1e309 - 1e309" if number != number else infinity
    return repr(number)
