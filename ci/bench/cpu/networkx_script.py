"""Calls of NetworkX, unchanged, in NetworkX itself and dispatched to backends: this one and others that are installed."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial
from typing import Any

import networkx
import numpy as np

from bench.forms import NETWORKX, Case
from bench.timing import OURS, Entrant, Section, race

PEERS = {"parallel": "nx-parallel", "graphblas": "graphblas-algorithms", "cugraph": "nx-cugraph"}
CONVERTED = f"{OURS}, with conversion"
# Functions and their arguments; on two cores NetworkX takes seconds at most.
CALLS: dict[str, dict[str, Any]] = {
    "pagerank": {},
    "core_number": {},
    "triangles": {},
    "number_connected_components": {},
    "betweenness_centrality": {"k": 16, "seed": 1},
    "single_source_shortest_path_length": {"source": 0},
}


def networkx_script(case: Case, section: Section, repeats: int) -> None:
    """Time each call on the simple undirected graph of a case."""
    no_loop = case.source != case.destination
    graph = networkx.Graph()
    graph.add_nodes_from(range(case.n))
    graph.add_edges_from(
        np.stack([case.source[no_loop], case.destination[no_loop]], axis=1).tolist()
    )
    with networkx.config(warnings_to_ignore={"cache"}):
        for name, arguments in CALLS.items():
            call = partial(getattr(networkx, name), graph, **arguments)
            check = partial(_check, call(backend="networkx"))
            entrants = [
                Entrant(NETWORKX, partial(call, backend="networkx"), check),
                Entrant(OURS, partial(call, backend="cugraph_ws"), check),
                Entrant(CONVERTED, partial(_converting, call), check),
            ]
            entrants += [
                Entrant(PEERS[peer], partial(call, backend=peer), check) for peer in _peers(name)
            ]
            timings = race(section, name, entrants, repeats)
            section.ratio(f"{name}, times faster than NetworkX", timings, NETWORKX, 1.0)


def _converting(call: partial[Any]) -> Any:
    """Call this backend on a graph that it has not converted."""
    with networkx.config(cache_converted_graphs=False):
        return call(backend="cugraph_ws")


def _peers(name: str) -> Iterator[str]:
    """Yield the installed backends that have a function."""
    functions = networkx.utils.backends._registered_algorithms[name].backends
    return (peer for peer in PEERS if peer in functions)


def _check(expected: Any, answer: Any) -> float:
    """Return the greatest difference of an answer from NetworkX's; raise if it is not small."""
    if isinstance(expected, int):
        assert answer == expected, f"{answer} instead of {expected}"
        return 0.0
    assert set(answer) == set(expected), "the answer is for other nodes"
    off = max(abs(answer[node] - value) for node, value in expected.items())
    assert math.isfinite(off), "the answer has values that are not finite"
    assert off < 1e-4, f"the answer is off by {off}"
    return float(off)
