"""Each pair of features of the model: what they mean together, or the refusal that names them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import features
import numpy as np
import pandas as pd
import phased
import pytest
import reference
from emulator.device import emulated
from fuzz.programs import load, quick_loops
from plans import planned
from shapes import random_edges
from verify import Edges
from zoo import difference, edges_found, edges_shown, found_by, shown

import cugraph_ws as ws

SIZE = 11
DIRECTED = random_edges(SIZE, 40, seed=6)
UNDIRECTED = replace(random_edges(SIZE, 24, seed=7), directed=False)
PROGRAMS = list(features.programs())
EVERY = 7  # one of so many programs is run on a kind of graph; 1 by hand

BOTH_WAYS = ws.phases(PROGRAMS[0][2], ws.phase(PROGRAMS[0][2], "out"), rounds=1)


@pytest.fixture(autouse=True, scope="module")
def once() -> Iterator[None]:
    with quick_loops():
        yield


def built(edges: Edges) -> tuple[ws.Graph, reference.Graph]:
    """Return a graph, and the same for the interpreter."""
    ends = {"source": edges.source, "destination": edges.destination}
    values = features.attributes(len(edges.source))
    graph = ws.Graph(
        pd.DataFrame({**ends, **values}),
        attributes=["w", "k"],
        directed=edges.directed,
        vertices=pd.DataFrame({"vertex": np.arange(edges.n)}),
    )
    pairs = list(zip(edges.source.tolist(), edges.destination.tolist(), strict=True))
    return graph, reference.Graph(edges.n, pairs, values, None, edges.directed)


def of_rows(graph: reference.Graph, kept: Any) -> reference.Graph:
    """Return an interpreter's graph with some of the edges."""
    rows = np.flatnonzero(kept).tolist()
    values = {name: column[rows] for name, column in graph.attributes.items()}
    return replace(graph, edges=[graph.edges[row] for row in rows], attributes=values)


def whole(edges: Edges) -> Any:
    graph, plain = built(edges)
    return graph, plain


def masked(edges: Edges) -> Any:
    """A mask of a graph on which all there is to keep has been kept."""
    graph, plain = built(edges)
    for program in (PROGRAMS[0][2], load(features.text_of("gather_list", "edge_state"))):
        for options in ({}, {"partitions": 2}):
            ws.run(program, graph, **planned(engine="python", **options))
            ws.run(BOTH_WAYS, graph, **planned(engine="python", **options))
        with emulated():
            ws.run(program, graph, engine="cuda")
    kept = plain.attributes["k"] != 2
    return graph.mask(lambda frame: frame["k"] != 2), of_rows(plain, kept)


def induced(edges: Edges) -> Any:
    graph, plain = built(edges)
    chosen = [v for v in range(SIZE) if v != 4]
    kept = [u in chosen and v in chosen for u, v in plain.edges]
    plain = of_rows(plain, kept)
    number = {v: place for place, v in enumerate(chosen)}
    return graph.subgraph(chosen), replace(
        plain, n=len(chosen), edges=[(number[u], number[v]) for u, v in plain.edges]
    )


GRAPHS = {
    "directed": (whole, DIRECTED),
    "undirected": (whole, UNDIRECTED),
    "masked": (masked, DIRECTED),
    "masked, undirected": (masked, UNDIRECTED),
    "induced": (induced, DIRECTED),
}
WAYS: list[dict[str, Any]] = [
    {"engine": "python"},
    {"engine": "python", "partitions": 3},
    {"engine": "cuda"},
    {"engine": "python", "max_iter": 2},
    {"engine": "cuda", "partitions": 2},
]


def same(program: Any, result: ws.Result, outcome: Any, n: int) -> None:
    expected = shown(program, outcome.states, n)
    wrong = difference(found_by(program, result), expected, 1e-12)
    assert wrong is None, wrong
    if getattr(outcome, "edges", None):
        wrong = difference(edges_found(result), edges_shown(outcome), 1e-12)
        assert wrong is None, wrong


@pytest.mark.parametrize("which", GRAPHS)
def test_what_they_mean_on_every_kind_of_graph(which: str) -> None:
    make, edges = GRAPHS[which]
    graph, plain = make(edges)
    turn = list(GRAPHS).index(which)
    with emulated():
        for place, (combine, _, program) in list(enumerate(PROGRAMS))[turn % EVERY :: EVERY]:
            options = WAYS[place % len(WAYS)]
            limit, message = options.get("max_iter"), features.message_of(combine)
            outcome = reference.run(program, plain, max_iter=limit, message=message)
            same(program, ws.run(program, graph, **planned(**options)), outcome, plain.n)


@pytest.mark.parametrize(("first", "second"), features.REFUSED)
def test_pairs_without_a_meaning_are_refused(first: str, second: str) -> None:
    some = (first, second) if first in features.COMBINES else ("sum", first, second)
    with pytest.raises(ws.ProgramError) as raised:
        load(features.text_of(*some))
    assert "Fuzzed" in str(raised.value)
    assert features.REFUSED[first, second] in str(raised.value)


@pytest.mark.parametrize("which", ["directed", "undirected"])
def test_what_they_mean_as_phases(which: str) -> None:
    """After a phase along in-edges, one of another program along out-edges."""
    graph, plain = built(GRAPHS[which][1])
    turn = ("directed", "undirected").index(which)
    other = load(features.text_of("gather_list", "dst"))
    with emulated():
        for place, (combine, some, program) in list(enumerate(PROGRAMS))[turn::EVERY]:
            if "edge_state" in some:
                with pytest.raises(ws.ProgramError, match="keeps `load` on edges, which phases"):
                    ws.phases(program, other)
                continue
            limits = (1 + place % 3, 2)
            both = ws.phases(
                ws.phase(program, ("in", "out")[place % 2], limits[0]),
                ws.phase(other, "out", limits[1]),
                rounds=2,
            )
            messages = (features.message_of(combine), int)
            outcome = phased.run(both, plain, messages=messages)
            result = ws.run(both, graph, **planned(**{**WAYS[place % len(WAYS)], "max_iter": None}))
            same(both, result, outcome, plain.n)


def test_a_run_that_is_resumed_after_each_superstep(tmp_path: Any) -> None:
    """A checkpoint has all that a program keeps; another engine, in other partitions, goes on from it."""
    graph, _ = built(DIRECTED)
    with emulated():
        for place, (_, _, program) in list(enumerate(PROGRAMS))[::EVERY]:
            expected = ws.run(program, graph, engine="python")
            file = tmp_path / f"{place}"
            for limit in (1, 2, 3, 4):
                options = WAYS[(place + limit) % len(WAYS)] | {"max_iter": limit}
                options["resume"] = file if limit > 1 else None
                result = ws.run(program, graph, **planned(checkpoint=file, every=1, **options))
            pd.testing.assert_frame_equal(result.frame, expected.frame)
            assert result.iterations == expected.iterations
            if program.edge_state:
                pd.testing.assert_frame_equal(result.edges, expected.edges)
