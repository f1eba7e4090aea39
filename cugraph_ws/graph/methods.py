"""`GraphMethods`: the library's functions as methods of a graph, and Python's questions to one."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Generic, NoReturn

from cugraph_ws.arguments import shown
from cugraph_ws.errors import InputError
from cugraph_ws.frames.conversions import to_arrow
from cugraph_ws.frames.types import FrameT
from cugraph_ws.suggestions import did_you_mean

__all__ = ["GraphMethods", "add_methods", "table_of"]

# What `dir` lists, and so completion, besides the library's functions.
PUBLIC = [
    *("close", "contract", "directed", "edge_attributes", "edges", "from_arrays", "from_matrix"),
    *("mask", "nbytes", "number_of_edges", "number_of_vertices", "partitions", "report", "reverse"),
    *(
        "subgraph",
        "to_cupy",
        "to_igraph",
        "to_networkx",
        "to_pyg",
        "to_scipy",
        "vertices",
        "weight",
    ),
]
METHODS: list[str] = []  # the functions that `add_methods` has added


class GraphMethods(Generic[FrameT]):
    """A graph with the library's functions as methods, which `add_methods` adds once they are imported.

    `graph.bfs(0)` is `cugraph_ws.bfs(graph, 0)`.  `cugraph_ws.methods` lists them, for type checkers.
    """

    is_partitioned = False  # over the workers of a cluster
    directed: bool
    weight: str | None

    @property
    @abstractmethod
    def number_of_vertices(self) -> int:
        """Number of vertices, isolated ones included."""

    @property
    @abstractmethod
    def number_of_edges(self) -> int:
        """Number of edges kept; an undirected edge counts once."""

    @abstractmethod
    def _has(self, vertex: Any) -> bool:
        """Return whether the graph has a vertex; raise InputError if the id has another type."""

    @abstractmethod
    def _id_frame(self) -> Any:
        """Return the ids of all vertices as a frame, sorted."""

    def __len__(self) -> int:
        return self.number_of_vertices

    def __iter__(self) -> Iterator[Any]:
        ids = [column.to_pylist() for column in to_arrow(self._id_frame()).columns]
        return iter(ids[0]) if len(ids) == 1 else zip(*ids, strict=True)

    def __getitem__(self, key: Any) -> NoReturn:
        raise InputError(
            f"graph[{shown(key)}]: a graph has no items; select rows of graph.edges or graph.vertices, "
            "which are frames, or call graph.ego_graph(vertex) for the edges around a vertex"
        )

    def __contains__(self, vertex: Any) -> bool:
        try:
            return self._has(vertex)
        except InputError:  # another type than the ids', so none of them
            self.number_of_vertices  # noqa: B018 - raises if the graph is closed
            return False

    def __dir__(self) -> list[str]:
        special = [name for name in object.__dir__(self) if name.startswith("__")]
        members = (name for name in PUBLIC if hasattr(type(self), name) or name in vars(self))
        return sorted({*members, *METHODS, *special})

    if not TYPE_CHECKING:  # checkers would take any name for an attribute

        def __getattr__(self, name: str) -> Any:
            if name == "_vertices":
                raise InputError("the graph is closed; use it before close() or inside its `with`")
            remedy = (
                "" if name.startswith("_") else did_you_mean(name, [*PUBLIC, *METHODS], "graph.")
            )
            raise AttributeError(
                f"a graph has no {name!r}{remedy}", name=name, obj=None if remedy else self
            )

    def _repr_html_(self) -> str:
        try:
            self.number_of_vertices  # noqa: B018 - raises if the graph is closed
        except InputError:
            return table_of("Graph, closed", {})
        rows = {
            "vertices": f"{self.number_of_vertices:,}",
            "edges": f"{self.number_of_edges:,}",
            "directed": "yes" if self.directed else "no",
            "weight": self.weight if self.weight is not None else "none",
        }
        return table_of("Graph", rows)


def table_of(title: str, rows: Mapping[str, Any]) -> str:
    """Return names and values as a table for notebooks.

    Parameters
    ----------
    title : str
    rows : mapping of str to object

    Returns
    -------
    str
        HTML.
    """
    from html import escape

    body = "".join(
        f"<tr><th style='text-align:left'>{escape(name)}</th><td>{escape(str(value))}</td></tr>"
        for name, value in rows.items()
    )
    return f"<table><caption>{escape(title)}</caption>{body}</table>"


def add_methods(functions: Mapping[str, Callable[..., Any]]) -> None:
    """Add functions of a graph to all graphs as methods; a name that graphs have already is left.

    Parameters
    ----------
    functions : mapping of str to callable
        By name; the first parameter is the graph.
    """
    for name, function in functions.items():
        METHODS.append(name)
        setattr(GraphMethods, name, function)
