"""What an edge program means: a plain interpreter, which every engine is held to.

Neighbours are a set; the messages of common ones are combined in the order of their numbers.  An
edge attribute is the sum, or another fold, over all edges between two vertices, whatever their direction
unless the program says which.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import reference
from reference import Graph, record

__all__ = ["edges_of", "neighbours_of", "run_pairs"]


FOLDS: dict[str, Any] = {"sum": sum, "min": min, "max": max, "first": lambda values: values[0]}


def neighbours_of(graph: Graph, way: str = "any") -> list[set[int]]:
    """Return the distinct neighbours of each vertex: all, or those along edges "out" of it or "in"."""
    near: list[set[int]] = [set() for _ in range(graph.n)]
    for u, v in graph.edges:
        if u != v and (way != "in" or not graph.directed):
            near[u].add(v)
        if u != v and (way != "out" or not graph.directed):
            near[v].add(u)
    return near


def edges_of(graph: Graph, way: str = "any") -> list[tuple[int, int]]:
    """Return the pairs of neighbours, each once, in order; those along directed edges in their direction."""
    ordered = graph.directed and way != "any"
    rows = enumerate(neighbours_of(graph, "out" if way == "through" else way))
    return sorted((u, v) for u, row in rows for v in row if ordered or u < v)


def run_pairs(
    program: Any,
    graph: Graph,
    arguments: Mapping[str, Any] | None = None,
    *,
    pairs: Iterable[tuple[int, int]] | None = None,
    message: type | tuple[type, ...] = int,
) -> dict[str, list[Any]]:
    """Run an edge program.

    Parameters
    ----------
    program : EdgeProgram
    graph : Graph
    arguments : mapping
        Its parameters and vertex constants, with vertices by number.
    pairs : iterable of (int, int)
        By default all pairs of neighbours.
    message : type or tuple of type
        What messages are, which tells the identity of min and max.

    Returns
    -------
    dict of list
        By value, one for each pair.

    Raises
    ------
    Unfit
        If a value is given that its type does not hold.
    """
    with np.errstate(all="ignore"):
        return _Pairs(program, graph, arguments or {}, message).all_of(pairs)


class _Pairs(reference._Run):
    """One run: the program and the graph, prepared."""

    def __init__(self, program: Any, graph: Graph, given: Mapping[str, Any], message: Any) -> None:
        self.program, self.graph, self.message = program, graph, message
        self.rows = graph.rows()
        way = program.neighbours
        self.near = neighbours_of(graph, "out" if way == "through" else way)
        self.others = neighbours_of(graph, "in") if way == "through" else self.near
        self.kinds = [declared.type.name for declared in program.state.values()]
        self.endless = [False] * len(self.kinds)  # numbers of pairs are never null
        self.between: dict[tuple[int, int], Any] = defaultdict(
            list
        )  # attributes of edges, by their ends
        for place, (u, v) in enumerate(graph.edges):
            values = [float(graph.attributes[name][place]) for name in program.edges]
            both = way == "any" or not graph.directed
            for key in {(u, v), (v, u)} if both else [(v, u) if way == "in" else (u, v)]:
                self.between[key].append(values)
        constants = [self.constant(*one, given) for one in program.constants.items()]
        vertex = record("Vertex", program.constants)
        rows = zip(*constants, strict=True) if constants else [()] * graph.n
        self.own = [vertex(*row) for row in rows]
        self.parameters = {
            name: self.parameter(name, declared, given)
            for name, declared in program.parameters.items()
        }

    def of_arcs(self, way: str, what: str) -> list[Any]:
        """Return numbers of neighbours, degrees, or sums of weights."""
        if way == "neighbour":
            return [np.int64(len(row)) for row in self.near]
        return super().of_arcs(way, what)

    def edge(self, u: int, v: int) -> Any:
        """Return the attributes of the edge between two vertices."""
        several = self.between[u, v] if u != v else []
        values = (
            [
                FOLDS[declared.parallel or "sum"](column)
                for declared, column in zip(
                    self.program.edges.values(), zip(*several, strict=True), strict=True
                )
            ]
            if several
            else [0.0] * len(self.program.edges)
        )
        return record("Edge", self.program.edges)(*map(np.float64, values))

    def all_of(self, pairs: Iterable[tuple[int, int]] | None) -> dict[str, list[Any]]:
        """Return the values of pairs."""
        if pairs is None:
            pairs = edges_of(self.graph, self.program.neighbours)
        rows = [self.of_pair(*pair) for pair in pairs]
        columns = zip(*rows, strict=True) if rows else [()] * len(self.kinds)
        return {name: list(one) for name, one in zip(self.program.state, columns, strict=True)}

    def of_pair(self, u: int, v: int) -> tuple[Any, ...]:
        """Return the values of a pair."""
        ends, p = {"u": self.own[u], "v": self.own[v]}, self.p()
        messages = [
            reference._call(
                self.program.functions["common"],
                w=self.own[w], uw=self.edge(u, w), vw=self.edge(*self.second(v, w)), p=p, **ends,
            )
            for w in sorted(self.near[u] & self.others[v])
        ]  # fmt: skip
        gathered = self.fold(messages) if messages else self.none()
        value = self.program.functions["value"]
        return self.kept(reference._call(value, common=gathered, edge=self.edge(u, v), p=p, **ends))

    def second(self, v: int, w: int) -> tuple[int, int]:
        """Return between which vertices the edge of a common neighbour to the second of a pair is."""
        return (w, v) if self.program.neighbours == "through" else (v, w)

    def fold(self, messages: list[Any]) -> Any:
        """Combine messages in order; numbers as programs see them."""
        if self.program.combine != "any":
            return super().fold(messages)
        flags = [one for one in messages if isinstance(one, (bool, np.bool_))]
        return any(flags) if flags else messages[0]

    def none(self) -> Any:
        """Return what is combined from no messages."""
        if self.program.combine == "any":
            return np.bool_(False) if self.message is bool else self.message(0)
        return super().fold([])
