"""Data sets and generators: graphs to try a function on, as edge frames.

`karate_club` and `southern_women` are observations that sociologists published; the tables here hold the
facts alone, in which there is no copyright, and each function names its source.  `streets` and `circles` are
made from a seed by the generators, which are public here too; like the library, they are under Apache-2.0.

Examples
--------
>>> import cugraph_ws as ws
>>> friends = ws.datasets.karate_club()
>>> len(friends), len(ws.datasets.grid(3, 3))
(78, 24)
"""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np

from cugraph_ws.graph.generators import (
    erdos_renyi,
    framed,
    grid,
    kronecker,
    preferential_attachment,
    rmat,
    stochastic_blocks,
)
from cugraph_ws.suggestions import did_you_mean

__all__ = [
    "circles",
    "erdos_renyi",
    "grid",
    "karate_club",
    "karate_factions",
    "kronecker",
    "preferential_attachment",
    "rmat",
    "southern_women",
    "stochastic_blocks",
    "streets",
]

# A member, then the friends of higher number, each with the number of contexts in which they met.
FRIENDS = """
 0  1:4 2:5 3:3 4:3 5:3 6:3 7:2 8:2 10:2 11:3 12:1 13:3 17:2 19:2 21:2 31:2
 1  2:6 3:3 7:4 13:5 17:1 19:2 21:2 30:2
 2  3:3 7:4 8:5 9:1 13:3 27:2 28:2 32:2
 3  7:3 12:3 13:3
 4  6:2 10:3
 5  6:5 10:3 16:3
 6  16:3
 8  30:3 32:3 33:4
 9  33:2
13  33:3
14  32:3 33:2
15  32:3 33:4
18  32:1 33:2
19  33:1
20  32:3 33:1
22  32:2 33:3
23  25:5 27:4 29:3 32:5 33:4
24  25:2 27:3 31:2
25  31:7
26  29:4 33:2
27  33:4
28  31:2 33:2
29  32:4 33:2
30  32:3 33:3
31  32:4 33:4
32  33:5
"""
MEMBERS = 34
FACTION_OF_HI = (0, 1, 2, 3, 4, 5, 6, 7, 8, 10, 11, 12, 13, 16, 17, 19, 21)

# Who attended which of fourteen events.
ATTENDANCE = """
Evelyn Jefferson: 1 2 3 4 5 6 8 9
Laura Mandeville: 1 2 3 5 6 7 8
Theresa Anderson: 2 3 4 5 6 7 8 9
Brenda Rogers: 1 3 4 5 6 7 8
Charlotte McDowd: 3 4 5 7
Frances Anderson: 3 5 6 8
Eleanor Nye: 5 6 7 8
Pearl Oglethorpe: 6 8 9
Ruth DeSand: 5 7 8 9
Verne Sanderson: 7 8 9 12
Myra Liddel: 8 9 10 12
Katherina Rogers: 8 9 10 12 13 14
Sylvia Avondale: 7 8 9 10 12 13 14
Nora Fayette: 6 7 9 10 11 12 13 14
Helen Lloyd: 7 8 10 11 12
Dorothy Murchison: 8 9
Olivia Carleton: 9 11
Flora Price: 9 11
"""


def karate_club(frame: str | None = "pandas") -> Any:
    """Return Zachary's karate club: which of 34 members met outside the club, before it split.

    Parameters
    ----------
    frame : {"pandas", "polars", "pyarrow", "cudf"} or None
        Kind of the result; None for a dict of NumPy arrays.

    Returns
    -------
    DataFrame, Table or dict of ndarray
        The 78 friendships, each once: source and destination (int64), numbered from 0 as in NetworkX, one
        less than in the paper, and weight (int64), the number of contexts in which the two met.  Read it
        with ``directed=False``.

    Raises
    ------
    InputError
        If there is no such kind of frame, or its library is not installed.

    References
    ----------
    Zachary, "An information flow model for conflict and fission in small groups", Journal of
    Anthropological Research 33, 1977, figure 3.  Facts, free to use.

    Examples
    --------
    >>> import cugraph_ws as ws
    >>> club = ws.datasets.karate_club()
    >>> ws.pagerank(club, directed=False, weight=None).nlargest(2, "pagerank")["vertex"].tolist()
    [33, 0]
    """
    rows = [
        (int(member), *map(int, friend.split(":")))
        for member, *friends in map(str.split, FRIENDS.strip().splitlines())
        for friend in friends
    ]
    source, destination, weight = np.array(rows, np.int64).T
    columns = {"source": source, "destination": destination, "weight": weight}
    return framed({name: column.copy() for name, column in columns.items()}, frame)


def karate_factions(frame: str | None = "pandas") -> Any:
    """Return which of the two clubs each member of Zachary's karate club joined.

    Parameters
    ----------
    frame : {"pandas", "polars", "pyarrow", "cudf"} or None
        Kind of the result; None for a dict of NumPy arrays.

    Returns
    -------
    DataFrame, Table or dict of ndarray
        Columns vertex (int64), from 0 to 33, and faction: "Mr. Hi" or "Officer".

    Raises
    ------
    InputError
        If there is no such kind of frame, or its library is not installed.

    References
    ----------
    As for `karate_club`, table 1.

    Examples
    --------
    >>> import cugraph_ws as ws
    >>> ws.datasets.karate_factions()["faction"].value_counts().tolist()
    [17, 17]
    """
    members = np.arange(MEMBERS)
    faction = np.where(np.isin(members, FACTION_OF_HI), "Mr. Hi", "Officer").astype(object)
    return framed({"vertex": members, "faction": faction}, frame)


def southern_women(frame: str | None = "pandas") -> Any:
    """Return which of 18 women attended which of 14 events: a graph of two kinds of vertices.

    Parameters
    ----------
    frame : {"pandas", "polars", "pyarrow", "cudf"} or None
        Kind of the result; None for a dict of NumPy arrays.

    Returns
    -------
    DataFrame, Table or dict of ndarray
        The 89 attendances: woman, a name, and event, "E1" to "E14".

    Raises
    ------
    InputError
        If there is no such kind of frame, or its library is not installed.

    References
    ----------
    Davis, Gardner and Gardner, "Deep South", University of Chicago Press, 1941, page 148.  Facts, free to
    use.

    Examples
    --------
    >>> import cugraph_ws as ws
    >>> edges = ws.datasets.southern_women()
    >>> degrees = ws.degree(edges, source="woman", destination="event", directed=False)
    >>> degrees.nlargest(1, "degree")["vertex"].tolist()
    ['E8']
    """
    rows = [
        (woman, f"E{event}")
        for woman, events in (line.split(": ") for line in ATTENDANCE.strip().splitlines())
        for event in events.split()
    ]
    women, events = zip(*rows, strict=True)
    return framed({"woman": np.array(women, object), "event": np.array(events, object)}, frame)


def streets(frame: str | None = "pandas") -> Any:
    """Return a made-up town: a grid of 40 by 30 crossings with gaps and one-way streets.

    Parameters
    ----------
    frame : {"pandas", "polars", "pyarrow", "cudf"} or None
        Kind of the result; None for a dict of NumPy arrays.

    Returns
    -------
    DataFrame, Table or dict of ndarray
        Columns source and destination (int64), and weight (int64), the metres to drive, from 60 to 200.  The
        crossing at (row, column) has the number row * 40 + column.

    Raises
    ------
    InputError
        If there is no such kind of frame, or its library is not installed.

    Examples
    --------
    >>> import cugraph_ws as ws
    >>> int(ws.sssp(ws.datasets.streets(), 0)["distance"].max())
    7217
    """
    return grid(30, 40, drop=0.1, seed=1, weights=(60, 200), frame=frame)


def circles(frame: str | None = "pandas") -> Any:
    """Return made-up friends: eight circles of 25 to 60 people, with few friendships between circles.

    Parameters
    ----------
    frame : {"pandas", "polars", "pyarrow", "cudf"} or None
        Kind of the result; None for a dict of NumPy arrays.

    Returns
    -------
    DataFrame, Table or dict of ndarray
        Columns source and destination (int64), each pair once; people are numbered circle by circle.  Read
        it with ``directed=False``.

    Raises
    ------
    InputError
        If there is no such kind of frame, or its library is not installed.

    Examples
    --------
    >>> import cugraph_ws as ws
    >>> communities, modularity = ws.leiden(ws.datasets.circles(), directed=False)
    >>> communities["partition"].nunique()
    8
    """
    return stochastic_blocks(range(25, 65, 5), 0.25, 0.004, seed=5, frame=frame)


def __getattr__(name: str) -> NoReturn:
    remedy = did_you_mean(name, __all__, "ws.datasets.") or f"; it has: {', '.join(__all__)}"
    raise AttributeError(f"ws.datasets has no {name!r}{remedy}", name=name)
