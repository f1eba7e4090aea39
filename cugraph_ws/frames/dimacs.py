"""DIMACS files: a problem line `p sp 5 3`, comments `c`, and a line `a 1 2 7` for each edge."""

from __future__ import annotations

import re
from collections.abc import Sequence

from pyarrow import compute

from cugraph_ws.errors import FileError
from cugraph_ws.frames.graph_file import (
    GraphFile,
    listed_once,
    numbered_vertices,
    refuse_numbers,
)
from cugraph_ws.frames.textfiles import Layout, TextFile, Wanted

__all__ = ["read_dimacs"]

# By problem: the letter of its lines of edges, and whether edges have a direction
PROBLEMS = {
    "sp": ("a", True),
    "max": ("a", True),
    "edge": ("e", False),
    "edges": ("e", False),
    "col": ("e", False),
    "tw": ("", False),
}
PROBLEM = re.compile(r"p\s+(\w+)\s+(\d{1,18})\s+(\d{1,18})\s*")
NOT_EDGES = re.compile(rb"^[ \t]*[cpndvx]\b.*\n?", re.MULTILINE)  # the last four describe vertices
COMMENT = re.compile(rb"^[ \t]*c\b.*\n?", re.MULTILINE)


def read_dimacs(text: TextFile, names: Sequence[str]) -> GraphFile:
    """Return the graph of a DIMACS file.

    Parameters
    ----------
    text : TextFile
    names : sequence of str
        Names for sources, destinations and weights.

    Returns
    -------
    GraphFile
        Vertices 1 to n.  Problems `sp` and `max` have directions, and lengths or capacities as weights;
        `edge`, `col` and `tw` have none, and may list every edge in both directions.

    Raises
    ------
    FileError
        If the problem is another one, or the edges are not as it says.
    GraphMemoryError
        If the edges or the vertices would not fit in memory.

    References
    ----------
    Ninth DIMACS Implementation Challenge: Shortest Paths, "File formats", 2005.
    """
    line = "".join(text.first_rows(1, COMMENT))
    problem = PROBLEM.fullmatch(line.strip())
    if problem is None or problem[1] not in PROBLEMS:
        raise FileError(
            f"{text.path}: line {text.line_of(1, COMMENT)} is {line[:60]!r}; DIMACS files that are read have a "
            f"problem line, such as 'p sp 5 3', of one of: {', '.join(PROBLEMS)}; give --format snap if it "
            "is a list of edges"
        )
    letter, directed = PROBLEMS[problem[1]]
    vertices, edges = int(problem[2]), int(problem[3])
    least = 2 + bool(letter) + directed
    row = "".join(text.first_rows(1, NOT_EDGES))
    width = len(row.split()) or least
    if not least <= width <= 3 + bool(letter):
        raise FileError(
            f"{text.path}: line {text.line_of(1, NOT_EDGES)} is {row[:60]!r}; a line of an edge of a problem "
            f"{problem[1]!r} has {least} words"
        )
    columns = ["letter", *names][1 - bool(letter) :][:width]
    text.check_size(layout := Layout(" ", columns, skip=0, comments=NOT_EDGES))
    table = text.table(layout, Wanted(columns, 2, ()))
    if letter and table.num_rows:
        fits = compute.equal(table["letter"].cast("string"), letter)
        row = compute.index(fits, False).as_py()
        if row >= 0:
            raise FileError(
                f"{text.path}: line {text.line_of(row + 1, NOT_EDGES)} does not begin with {letter!r}, as lines "
                f"of edges of a problem {problem[1]!r} do"
            )
    table = table.select([name for name in columns if name != "letter"])
    refuse_numbers(table, vertices, text.path)
    listed = (edges,) if directed else (edges, 2 * edges, edges / 2)  # some count both directions
    if table.num_rows not in listed:
        raise FileError(
            f"{text.path}: has {table.num_rows} edges, and its problem line says {edges}; "
            "the file may be truncated: make or fetch it again"
        )
    if not directed:
        once = listed_once(table)
        table = table if once is None else once
    return GraphFile(table, numbered_vertices(vertices, text.path), undirected=not directed)
