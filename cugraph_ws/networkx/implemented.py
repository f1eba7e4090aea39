"""`implements`: what is common to the backend's functions: which calls they take, and how they fail."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sized
from functools import wraps
from typing import Any, NamedTuple, TypeVar, get_args

import networkx as nx

from cugraph_ws.errors import ConvergenceError, GraphMemoryError, InputError
from cugraph_ws.execution.options import Engine
from cugraph_ws.networkx.converted import ConvertedGraph
from cugraph_ws.runtime.device import has_device

__all__ = [
    "ALL_PAIRS",
    "ITERATION",
    "LINEAR",
    "SEARCHES",
    "TRAVERSAL",
    "Implemented",
    "Least",
    "engine",
    "implements",
]

FunctionT = TypeVar("FunctionT", bound=Callable[..., Any])
WEIGHTS = ("weight", "distance")
NODES, PAIRS = ("u", "v", "nodes", "nbunch"), "ebunch"  # arguments that ask for some results
SHARE = 0.1  # of the results, below which computing all of them does not pay


class Least(NamedTuple):
    """The number of arcs of a graph from which on a function is faster than NetworkX's.

    Attributes
    ----------
    unconverted : int
        With the conversion of the graph.
    converted : int
        If the graph was converted for an earlier call.
    """

    unconverted: int
    converted: int


# Measured on two cores, on scale-free graphs of 4 or 5 edges a node: the first size at which the slowest
# function of each kind took less time than in NetworkX.  Converting an arc takes about 0.3 to 0.5 µs.
TRAVERSAL = Least(200_000, 25_000)  # one search by edges, or weak components
LINEAR = Least(25_000, 8_000)  # a few passes with more than a search's work
ITERATION = Least(8_000, 2_500)  # many passes, or pairs of neighbours
SEARCHES = Least(30_000, 30_000)  # distances from each of many nodes, returned one by one
ALL_PAIRS = Least(1_000, 500)  # sums over the shortest paths between all nodes


def engine() -> Engine:
    """Return the engine of `nx.config.backends.cugraph_ws.engine`; by default a GPU if there is one."""
    chosen: Engine = nx.config.backends.cugraph_ws.engine
    if chosen not in get_args(Engine):
        raise ValueError(
            f"nx.config.backends.cugraph_ws.engine={chosen!r} is not known; "
            f"choose one of {', '.join(get_args(Engine))}"
        )
    return ("cuda" if has_device() else "cpu") if chosen == "auto" else chosen


class Implemented:
    """Which calls of a function this backend takes, and when it is faster than NetworkX.

    Parameters
    ----------
    function : callable
        With NetworkX's signature.
    least : Least
    only : mapping of str to object
        Arguments of which one value is taken.
    directed, multigraph : bool
        Whether such graphs are taken.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        least: Least,
        only: Mapping[str, Any],
        *,
        directed: bool,
        multigraph: bool,
    ) -> None:
        self.signature = inspect.signature(function)
        self.least = least
        self._only, self._directed, self._multigraph = only, directed, multigraph

    def refusal(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> str | None:
        """Return why the function does not take a call; None if it does."""
        try:
            bound = self.signature.bind(*args, **kwargs)
        except TypeError as error:
            return str(error)
        bound.apply_defaults()
        graph = next(iter(bound.arguments.values()))
        if not self._directed and graph.is_directed():
            return "the graph is directed"
        if not self._multigraph and graph.is_multigraph():
            return "the graph is a multigraph"
        for name, value in bound.arguments.items():
            if name in WEIGHTS and callable(value):
                return f"{name} is a function"
            if name in self._only and value != self._only[name]:
                return f"{name} is not {self._only[name]!r}"
        return None

    def loss(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> str | None:
        """Return why NetworkX is faster for a call; None if it is not, or the graph is converted."""
        arguments = self.signature.bind(*args, **kwargs).arguments
        graph = next(iter(arguments.values()))
        if isinstance(graph, ConvertedGraph):
            return None
        cache = graph.__networkx_cache__ or {}
        converted = cache.get("backends", {}).get("cugraph_ws")
        least = self.least.converted if converted else self.least.unconverted
        arcs = sum(map(len, graph._adj.values()))
        if arcs < least:
            return f"the graph has {arcs} arcs, fewer than {least}"
        for name, results in {**dict.fromkeys(NODES, len(graph)), PAIRS: arcs}.items():
            asked = arguments.get(name)
            if asked is None:
                continue
            if asked in graph or not isinstance(asked, Sized) or len(asked) < SHARE * results:
                return f"{name} asks for less than {SHARE:.0%} of the results"
        return None


def implements(
    least: Least,
    *,
    only: Mapping[str, Any] | None = None,
    directed: bool = True,
    multigraph: bool = True,
) -> Callable[[FunctionT], FunctionT]:
    """Declare a function of the backend; its errors become NetworkX's.

    A call that this library refuses, such as one with negative weights, raises NotImplementedError: the
    dispatcher then tries NetworkX, whose answer or error the caller gets.

    Parameters
    ----------
    least, only, directed, multigraph
        See `Implemented`.

    Returns
    -------
    callable
        A decorator.
    """

    def decorate(function: FunctionT) -> FunctionT:
        implemented = Implemented(
            function, least, only or {}, directed=directed, multigraph=multigraph
        )

        @wraps(function)
        def run(*args: Any, **kwargs: Any) -> Any:
            try:
                return function(*args, **kwargs)
            except ConvergenceError as error:
                bound = implemented.signature.bind(*args, **kwargs)
                bound.apply_defaults()
                raise nx.PowerIterationFailedConvergence(bound.arguments["max_iter"]) from error
            except (InputError, GraphMemoryError) as error:
                raise NotImplementedError(str(error)) from error

        run.implemented = implemented  # type: ignore[attr-defined]
        return run  # type: ignore[return-value]

    return decorate
