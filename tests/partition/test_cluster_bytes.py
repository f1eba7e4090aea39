"""Bytes that ranks send: those that an oracle counts from the run's own history."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from plans import planned
from programs import Labels, Nearest, Peel, Rank
from shapes import SHAPES, build, random_edges, rmat, undirected
from thread_ranks import ThreadCommunicator, on_ranks, share
from verify import Edges

import cugraph_ws as ws
from cugraph_ws.execution.options import Options
from cugraph_ws.execution.vertex_loop import VertexLoop

GRAPHS = {
    "rmat": rmat(6, 4, seed=71),
    "undirected": undirected(rmat(5, 3, seed=72)),
    "path": SHAPES["path"],
    "star": SHAPES["star"],
    "all isolated": SHAPES["all isolated"],
}
RUNS: dict[str, tuple[Any, dict[str, Any], dict[str, Any]]] = {
    "ranks": (Rank, {}, {"max_iter": 6, "tol": 0.0}),
    "labels, all": (Labels, {}, {"direction": "gather"}),
    "labels, pulled": (Labels, {}, {"direction": "pull"}),
    "labels, pushed": (Labels, {}, {"direction": "push"}),
    "pairs": (Nearest, {"seeds": [0, 2]}, {"priorities": False}),
    "sums": (Peel, {"k": 3}, {}),
}
PLACE, FLAG = 4, 1  # bytes of a vertex's place in an update, and of whether it is active

State = dict[str, npt.NDArray[Any]]


def history(
    edges: Edges, run: str, exchange: str, cuts: list[int]
) -> tuple[list[str], list[tuple[int, int]], list[State]]:
    """Run on several ranks; return for each superstep the direction and the bytes, sent and useful, and all states."""
    program, arguments, options = RUNS[run]
    with build(edges) as graph:

        def work(comm: ThreadCommunicator) -> tuple[list[Any], list[State]]:
            loop = VertexLoop(
                program,
                arguments,
                Options(**planned(engine="python", exchange=exchange, **options)),
            )
            loop.start(share(graph, comm, cuts))
            steps, states = [], [copied(loop)]
            while not loop.converged and len(steps) != loop.max_iter:
                steps.append(loop.step())
                states.append(copied(loop))
            return steps, states

        ranks = on_ranks(len(cuts) - 1, work)
    steps = ranks[0][0]
    for others, _ in ranks:
        assert [one.bytes_sent for one in others] == [one.bytes_sent for one in steps]
        assert [one.bytes_useful for one in others] == [one.bytes_useful for one in steps]
    states = [
        {name: np.concatenate([one[name] for one in shares]) for name in shares[0]}
        for shares in zip(*(states for _, states in ranks), strict=True)
    ]
    bytes_ = [(one.bytes_sent, one.bytes_useful) for one in steps]
    return [one.direction for one in steps], bytes_, states


def copied(loop: VertexLoop) -> State:
    return {name: loop.state()[name].copy() for name in loop.by_vertex_state}


def readers(edges: Edges, cuts: list[int]) -> npt.NDArray[np.int64]:
    """Count, for each vertex, the ranks beside its owner that have an arc from it."""
    source, destination, _ = edges.arcs()
    owner = np.searchsorted(cuts, np.arange(edges.n), side="right") - 1
    pairs = {
        (u, owner[v]) for u, v in zip(source, destination, strict=True) if owner[u] != owner[v]
    }
    return np.bincount([u for u, _ in pairs], minlength=edges.n)


def expected_bytes(
    direction: str, before: State, after: State, copies: npt.NDArray[np.int64], exchange: str
) -> tuple[int, int]:
    """Count the bytes of one superstep, sent and useful: changed values, for each rank that reads them."""
    fields = [name for name in after if name != "_queue"]
    width = sum(after[name].dtype.itemsize for name in fields)
    if direction == "gather":
        news = np.any([before[name] != after[name] for name in fields], axis=0)
    else:
        news = after["_queue"] != 0
    useful = int(copies[news].sum())
    if exchange == "vr":
        return useful * (PLACE + width), useful * width
    return int(copies.sum()) * (width + (FLAG if direction != "gather" else 0)), useful * width


def check(edges: Edges, run: str, exchange: str, cuts: list[int]) -> list[tuple[int, int]]:
    directions, sent, states = history(edges, run, exchange, cuts)
    copies = readers(edges, cuts)
    assert sent == [
        expected_bytes(direction, before, after, copies, exchange)
        for direction, (before, after) in zip(directions, pairwise(states), strict=True)
    ]
    return sent


def even(n: int, size: int) -> list[int]:
    return [n * rank // size for rank in range(size + 1)]


@pytest.mark.parametrize("exchange", ["vr", "ms"])
@pytest.mark.parametrize("run", RUNS)
@pytest.mark.parametrize("name", GRAPHS)
def test_bytes_are_those_of_changed_values_that_are_read(name, run, exchange):
    edges = GRAPHS[name]
    size = (2, 3, 7)[(list(GRAPHS).index(name) + list(RUNS).index(run)) % 3]
    check(edges, run, exchange, even(edges.n, size))


@given(
    st.integers(2, 40),
    st.integers(0, 160),
    st.lists(st.integers(0, 40), min_size=1, max_size=4),
    st.sampled_from(sorted(RUNS)),
    st.sampled_from(["vr", "ms"]),
    st.integers(0, 1000),
)
def test_bytes_of_any_graph_cut_anywhere(n, m, inner, run, exchange, seed):
    edges = random_edges(max(n, 3), m, seed)
    cuts = [0, *sorted(min(one, edges.n) for one in inner), edges.n]
    check(edges, run, exchange, cuts)


def test_refined_exchanges_send_less_where_little_changes():
    edges = GRAPHS["rmat"]
    cuts = even(edges.n, 4)
    refined, whole = (
        np.sum(check(edges, "labels, all", one, cuts), axis=0) for one in ("vr", "ms")
    )
    assert 0 < refined[1] < refined[0] < whole[0]
    assert refined[1] == whole[1], "what is useful does not depend on how it travels"


def least_bytes(direction: str, after: State, edges: Edges, cuts: list[int]) -> tuple[int, int]:
    """Count what a superstep of a frontier sends if each update takes the least: list, subset or bits."""
    fields = [name for name in after if name != "_queue"]
    width = sum(after[name].dtype.itemsize for name in fields)
    news = after["_queue"] != 0
    source, destination, _ = edges.arcs()
    owner = np.searchsorted(cuts, np.arange(edges.n), side="right") - 1
    sent = useful = 0
    for here in range(len(cuts) - 1):
        for there in range(len(cuts) - 1):
            pairs = zip(source, destination, strict=True)
            held = sorted({u for u, v in pairs if owner[u] == here != there == owner[v]})
            changed = [u for u in held if news[u]]
            options = [len(changed) * (PLACE + width), len(held) * (FLAG + width)]
            values = {tuple(after[name][u] for name in fields) for u in changed}
            if len(values) == 1:
                options.append(-(-len(held) // 8) + width)
            sent += min(options)
            useful += min(len(changed) * width, min(options))
    return sent, useful


@pytest.mark.parametrize("size", [2, 3])
def test_levels_of_a_search_travel_as_bits(size):
    edges = undirected(rmat(8, 6, seed=73))
    cuts = even(edges.n, size)
    RUNS["levels"] = (ws.BFS, {"start": 0}, {"direction": "push"})
    try:
        (directions, sent, states), (_, refined, _) = (
            history(edges, "levels", exchange, cuts) for exchange in ("auto", "vr")
        )
    finally:
        del RUNS["levels"]
    expected = [
        least_bytes(direction, after, edges, cuts)
        for direction, after in zip(directions, states[1:], strict=True)
    ]
    assert sent == expected
    assert sum(bytes_ for bytes_, _ in sent) < sum(bytes_ for bytes_, _ in refined) / 2


@pytest.mark.parametrize("exchange", ["vr", "ms"])
def test_the_trace_has_them(exchange):
    edges = GRAPHS["rmat"]
    program, arguments, options = RUNS["labels, pulled"]
    with build(edges) as graph:

        def work(comm: ThreadCommunicator) -> list[tuple[int, int]]:
            result = ws.run(
                program,
                share(graph, comm),
                **planned(engine="python", exchange=exchange, **arguments, **options),
            )
            trace = result.trace
            return list(zip(trace["bytes_sent"], trace["bytes_useful"], strict=True))

        traces = on_ranks(3, work)
    assert traces == [check(edges, "labels, pulled", exchange, even(edges.n, 3))] * 3
