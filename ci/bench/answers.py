"""What is compared of libraries' answers: each function takes the graph and an answer, and returns numbers by vertex, or totals."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import cugraph_ws as ws
from bench.calls import pairs_listed, sources
from bench.forms import Case

Values = Callable[[Case, Any], Any]


def column(name: str, missing: float = np.nan) -> Values:
    """Return what reads a column of a vertex frame by id."""
    return lambda case, frame: case.by_id(frame, name, missing)


def far(case: Case, frame: Any) -> Any:
    """Return distances by id, infinite for unreached vertices, for which libraries have their greatest number."""
    distance = case.by_id(frame, "distance", np.inf)
    return case.xp.where(distance < 2**31 - 1, distance, np.inf)


def total(name: str) -> Values:
    """Return what sums a column."""
    return lambda case, frame: np.array([float(frame[name].astype("float64").sum())])


def in_order(name: str) -> Values:
    """Return what reads a column as it stands."""
    return lambda case, frame: case.xp.asarray(frame[name].values)


def listed(case: Case, answer: Any) -> Any:
    """Return a list of numbers as an array."""
    return np.asarray(answer, np.float64)


def scores(case: Case, answer: Any) -> Any:
    """Return NetworKit's scores."""
    return np.array(answer.scores())


def members(case: Case, answer: Any) -> Any:
    """Return the class of each vertex, of a partition by igraph or NetworKit, or of a list of classes."""
    if hasattr(answer, "getPartition"):
        return np.array(answer.getPartition().getVector(), float)
    if not hasattr(answer, "membership"):
        values = np.empty(case.n)
        for number, vertices in enumerate(answer):
            values[list(vertices)] = number
        return values
    return np.array(answer.membership, float)


def mapped(case: Case, answer: Any) -> Any:
    """Return the values of a dictionary, infinite for vertices without any."""
    values = np.full(case.n, np.inf)
    values[list(answer)] = list(answer.values())
    return values


def levels(case: Case, answer: Any) -> Any:
    """Return distances of igraph's breadth-first order and the bounds of its levels."""
    order, bounds, _ = answer
    distance = np.full(case.n, np.inf)
    distance[order] = np.repeat(np.arange(len(bounds) - 1), np.diff(bounds))
    return distance


def networkit_distances(case: Case, answer: Any) -> Any:
    """Return distances, infinite where NetworKit has the largest float."""
    values = np.array(answer.getDistances())
    return np.where(values == np.finfo(np.float64).max, np.inf, values)


def sum_of(numbers: Callable[[Any], Any]) -> Values:
    """Return what makes an answer a single number."""
    return lambda case, answer: np.array([float(numbers(answer))])


def by_pair(case: Case, answer: Any) -> Any:
    """Return NetworKit's values, which have an order of their own, in the order of our pairs."""
    values = dict(answer)
    return np.array([values[pair] for pair in pairs_listed(case)])


def igraph_betweenness(case: Case, answer: Any) -> Any:
    """Return igraph's sums as means: a path that starts at a source is none through it."""
    starts = sources(case).to_numpy()
    searches = np.full(case.n, float(len(starts)))
    searches[starts] -= 1
    return np.array(answer) / searches


def rows_of_csc(case: Case, graph: ws.Graph) -> Any:
    """Return each vertex's in-degree, and the sum of its in-neighbours, by id."""
    xp, ids = case.xp, case.xp.flatnonzero(case.present)
    part = graph.on_device() if case.gpu else graph
    offsets, indices = part.csc.offsets, part.csc.indices
    order = part.numbers if case.gpu else xp.arange(len(ids))
    values = xp.zeros((2, case.n))
    sums = xp.concatenate([xp.zeros(1, "int64"), xp.cumsum(ids[order[indices]])])
    values[0, ids[order]] = offsets[1:] - offsets[:-1]
    values[1, ids[order]] = sums[offsets[1:]] - sums[offsets[:-1]]
    return values


RANK = column("pagerank", 0.0)
