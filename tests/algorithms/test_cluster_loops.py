"""Algorithms with their own loops on several ranks: the answers of one machine, for any number of ranks and any range offsets."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import oracles
import pandas as pd
import pytest
from emulator.device import emulated
from hypothesis import given
from hypothesis import strategies as st
from shapes import (
    SHAPES,
    build,
    column,
    edge_frame,
    grid,
    random_edges,
    rmat,
    undirected,
    vertex_frame,
)
from thread_ranks import ThreadCommunicator, on_ranks, share
from verify import Array, Edges, check_matching
from whole import build as build_on_ranks
from whole import cut, deal

import cugraph_ws as ws
from cugraph_ws.algorithms import components
from cugraph_ws.algorithms.belief_propagation import BeliefPropagation
from cugraph_ws.algorithms.components import WeaklyConnectedComponents
from cugraph_ws.algorithms.core import CoreNumber
from cugraph_ws.algorithms.matching import MaximalBipartiteMatching
from cugraph_ws.backends.cpu.loops import belief_propagation as messages
from cugraph_ws.execution.rank_checkpoint import RankCheckpoints
from cugraph_ws.partition.part import Part
from cugraph_ws.partition.partitioned_frame import Partitions
from cugraph_ws.partition.shard import ShardGraph

SIZES = (1, 2, 3, 7)


def cuts_of(n: int, size: int, seed: int) -> Array:
    """Cut at random: some ranks have much, and some nothing."""
    inner = np.sort(np.random.default_rng(seed).integers(0, n + 1, size - 1))
    return np.concatenate([[0], inner, [n]])


def on_shards(graph: Any, size: int, work: Callable[[ShardGraph], Any], seed: int = 0) -> list[Any]:
    """Do the same on every rank's shard of a graph."""
    cuts = cuts_of(graph.number_of_vertices, size, seed)
    return on_ranks(size, lambda comm: work(share(graph, comm, cuts)))


def values(one: Any) -> Array:
    return np.asarray(getattr(one, "numbers", one))


def finish(
    make: Callable[[], Any], *, on_device: bool = False
) -> Callable[[ShardGraph], dict[str, Array]]:
    """Return a function that runs a loop to its end on a shard."""

    def work(shard: ShardGraph) -> dict[str, Array]:
        loop = make()
        loop.start(shard, on_device=on_device)
        while not loop.converged:
            loop.step()
        found = {name: values(one) for name, one in loop.columns().items()}
        assert {len(one) for one in found.values()} <= {shard.owned}
        return found

    return work


def found_by(
    graph: Any, size: int, make: Callable[[], Any], seed: int = 0, *, on_device: bool = False
) -> dict[str, Array]:
    shares = on_shards(graph, size, finish(make, on_device=on_device), seed)
    return {name: np.concatenate([one[name] for one in shares]) for name in shares[0]}


def alone(graph: Any, make: Callable[[], Any]) -> dict[str, Array]:
    result = ws.run(make(), graph)
    return {name: values(one) for name, one in result.arrays.items()}


def agree(graph: Any, make: Callable[[], Any], size: int, seed: int = 0) -> None:
    expected = alone(graph, make)
    for name, one in found_by(graph, size, make, seed).items():
        np.testing.assert_array_equal(one, expected[name])


def sides(edges: Edges) -> Edges:
    """Lead every edge across two sides, the even vertices and the odd ones."""
    odd = edges.destination - edges.destination % 2 + (edges.source % 2 == 0)
    within = odd < edges.n
    return replace(
        edges,
        source=edges.source[within],
        destination=odd[within],
        weight=None if edges.weight is None else edges.weight[within],
    )


def matching_of(edges: Edges) -> Callable[[], MaximalBipartiteMatching]:
    return lambda: MaximalBipartiteMatching(list(range(0, edges.n, 2)), seed=3)


@pytest.mark.parametrize("directed", [True, False], ids=["directed", "undirected"])
@pytest.mark.parametrize("size", SIZES)
def test_components_on_every_shape(shape, directed, size):
    edges = shape if directed else undirected(shape)
    with build(edges) as graph:
        agree(graph, WeaklyConnectedComponents, size, seed=size)


@pytest.mark.parametrize("directed", [True, False], ids=["directed", "undirected"])
@pytest.mark.parametrize("size", SIZES[1:])
def test_cores_on_every_shape(shape, directed, size):
    edges = shape if directed else undirected(shape)
    with build(edges) as graph:
        for degree_type in ("both", "in", "out"):
            agree(graph, lambda kind=degree_type: CoreNumber(kind), size, seed=size)


@pytest.mark.parametrize("directed", [True, False], ids=["directed", "undirected"])
@pytest.mark.parametrize("size", SIZES[1:])
def test_matchings_on_every_shape(shape, directed, size):
    edges = sides(shape if directed else undirected(shape))
    with build(edges) as graph:
        agree(graph, matching_of(edges), size, seed=size)
        mate = found_by(graph, size, matching_of(edges))["mate"]
    check_matching(edges, np.arange(edges.n) % 2 == 0, mate)


def random_graphs() -> Any:
    """Draw edges, whether they have a direction, and cuts."""
    return st.integers(1, 25).flatmap(
        lambda n: st.tuples(
            st.just(n),
            st.lists(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)), max_size=60),
            st.booleans(),
            st.lists(st.integers(0, n), max_size=4).map(sorted),
        )
    )


def drawn_edges(drawn: Any) -> tuple[Edges, list[int]]:
    n, pairs, directed, inner = drawn
    source, destination = np.array(pairs, np.int64).reshape(-1, 2).T
    return Edges(source, destination, n, None, directed), [0, *inner, n]


def drawn_result(edges: Edges, cuts: list[int], make: Callable[[], Any]) -> dict[str, Array]:
    with build(edges) as graph:
        size = len(cuts) - 1
        shares = on_ranks(size, lambda comm: finish(make)(share(graph, comm, cuts)))
    return {name: np.concatenate([one[name] for one in shares]) for name in shares[0]}


@given(random_graphs(), st.sampled_from([0, 3, 1 << 20]))
def test_components_of_random_graphs(drawn, shared):
    edges, cuts = drawn_edges(drawn)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(components, "SHARED", shared)
        found = drawn_result(edges, cuts, WeaklyConnectedComponents)
    assert np.array_equal(found["labels"], oracles.components(edges))


@given(random_graphs(), st.sampled_from(["both", "in", "out"]))
def test_cores_of_random_graphs(drawn, degree_type):
    edges, cuts = drawn_edges(drawn)
    found = drawn_result(edges, cuts, lambda: CoreNumber(degree_type))
    assert np.array_equal(found["core_number"], oracles.core_numbers(edges, degree_type))


@given(random_graphs())
def test_matchings_of_random_graphs(drawn):
    edges, cuts = drawn_edges(drawn)
    edges = sides(edges)
    found = drawn_result(edges, cuts, matching_of(edges))
    check_matching(edges, np.arange(edges.n) % 2 == 0, found["mate"])
    with build(edges) as graph:
        assert np.array_equal(found["mate"], alone(graph, matching_of(edges))["mate"])


# Components: rounds


def shuffled_path(n: int, seed: int) -> Edges:
    order = np.random.default_rng(seed).permutation(n)
    return Edges(order[:-1], order[1:], n)


def steps_of(graph: Any, size: int) -> tuple[Array, list[Any]]:
    def work(shard: ShardGraph) -> Any:
        loop = WeaklyConnectedComponents()
        loop.start(shard)
        steps = []
        while not loop.converged:
            steps.append(loop.step())
        return loop.columns()["labels"].numbers, steps

    shares = on_shards(graph, size, work)
    return np.concatenate([labels for labels, _ in shares]), shares[0][1]


@pytest.mark.parametrize("size", [2, 4])
def test_a_long_path_is_contracted_in_a_few_rounds(monkeypatch, size):
    monkeypatch.setattr(components, "SHARED", 0)
    with build(shuffled_path(3000, seed=5)) as graph:
        labels, steps = steps_of(graph, size)
    assert not labels.any()
    assert 3 < len(steps) < 30
    pairs = [step.active for step in steps if step.direction != "link"]
    assert pairs[-1] == 0
    assert (np.diff(pairs) < 0).all()


def test_few_pairs_are_solved_at_once():
    with build(shuffled_path(3000, seed=5)) as graph:
        labels, steps = steps_of(graph, 3)
    assert not labels.any()
    assert [step.direction for step in steps][-1] == "contract"
    assert [step.direction for step in steps].count("contract") == 1
    assert steps[-1].bytes_sent > 0


@pytest.mark.parametrize("shared", [0, 20, 300, 1 << 20])
def test_large_graphs(monkeypatch, shared):
    monkeypatch.setattr(components, "SHARED", shared)
    paths = [shuffled_path(700, seed) for seed in (1, 2)]
    two = Edges(*(np.concatenate([one, 700 + other]) for one, other in ends_of(*paths)), 1400)
    for edges in (grid(40, 40, 0.55, seed=9), rmat(9, 1, seed=8), two):
        with build(edges) as graph:
            labels, _ = steps_of(graph, 3)
        assert np.array_equal(labels, oracles.components(edges))


def ends_of(first: Edges, second: Edges) -> list[tuple[Array, Array]]:
    return [(first.source, second.source), (first.destination, second.destination)]


def test_labels_of_the_end_are_not_looked_for_again(tmp_path):
    path = tmp_path / "state.parquet"
    with build(SHAPES["random sparse"]) as graph:
        on_shards(
            graph, 3, lambda shard: ws.run(WeaklyConnectedComponents(), shard, checkpoint=path)
        )

        def resume(shard: ShardGraph) -> Any:
            loop = WeaklyConnectedComponents()
            loop.start(shard)
            RankCheckpoints(loop, shard, None, path).load()
            assert loop.converged
            return loop.columns()["labels"].numbers

        labels = np.concatenate(on_shards(graph, 2, resume, seed=3))
    assert np.array_equal(labels, oracles.components(SHAPES["random sparse"]))


# Belief propagation

SKEWED = [[1.0, 0.2, 3.0], [0.7, 2.0, 0.1], [0.5, 0.4, 5.0]]
EVEN = [[4.0, 1.0, 0.5], [1.0, 2.0, 0.25], [0.5, 0.25, 9.0]]


def beliefs_of(edges: Edges, coupling: Any, states: int) -> Callable[[], BeliefPropagation]:
    generator = np.random.default_rng(len(edges.source))
    given_ = np.setdiff1d(np.arange(edges.n), generator.integers(0, max(edges.n, 1), 3))
    columns = {f"state {state}": generator.random(len(given_)) + 0.1 for state in range(states)}
    priors = pd.DataFrame({"vertex": given_, **columns})
    return lambda: BeliefPropagation(priors, coupling, damping=0.2, tol=0.0, max_iter=12)


def with_strengths(edges: Edges) -> Edges:
    strengths = np.random.default_rng(8).normal(0, 1, len(edges.source))
    return replace(edges, weight=strengths)


def some_steps(make: Callable[[], Any], count: int) -> Callable[[ShardGraph], dict[str, Array]]:
    def work(shard: ShardGraph) -> dict[str, Array]:
        loop = make()
        loop.start(shard)
        for _ in range(count):
            if not loop.converged:
                loop.step()
        return {name: values(one) for name, one in loop.columns().items()}

    return work


@pytest.mark.parametrize("directed", [True, False], ids=["directed", "undirected"])
@pytest.mark.parametrize("size", [2, 5])
@pytest.mark.parametrize("coupled", [True, False], ids=["one coupling", "strengths"])
def test_beliefs_on_every_shape(tiny_shape, directed, size, coupled):
    edges = with_strengths(tiny_shape if directed else undirected(tiny_shape))
    coupling = (SKEWED if directed else EVEN) if coupled else "weight"
    make = beliefs_of(edges, coupling, 3)
    with build(edges) as graph:
        expected = alone(graph, make)
        shares = on_shards(graph, size, some_steps(make, 12), seed=size)
    for name, one in expected.items():
        found = np.concatenate([part[name] for part in shares])
        np.testing.assert_allclose(found, one, rtol=1e-9, atol=1e-300)


def test_the_residual_is_that_of_all_ranks():
    edges = with_strengths(SHAPES["random"])
    make = beliefs_of(edges, "weight", 2)

    def residuals(shard: ShardGraph) -> list[float]:
        loop = make()
        loop.start(shard)
        return [loop.step().residual for _ in range(6)]

    with build(edges) as graph:
        rows = on_shards(graph, 3, residuals)
        trace = column(ws.run(make(), graph).trace, "residual")[:6]
    for row in rows:
        np.testing.assert_allclose(row, trace, rtol=1e-9)


@pytest.mark.parametrize("directed", [True, False], ids=["directed", "undirected"])
@pytest.mark.parametrize("coupled", [True, False], ids=["one coupling", "strengths"])
def test_beliefs_equal_those_of_one_rank_bit_by_bit(monkeypatch, directed, coupled):
    """However the messages that a rank sends are cut into tasks."""
    monkeypatch.setattr(messages, "MESSAGES_A_TASK", 7)
    shape = random_edges(40, 160, seed=9)  # with self-loops and parallel edges
    edges = with_strengths(shape if directed else undirected(shape))
    make = beliefs_of(edges, (SKEWED if directed else EVEN) if coupled else "weight", 3)
    with build(edges) as graph:
        expected = alone(graph, make)
        shares = on_shards(graph, 3, some_steps(make, 12), seed=4)
    for name, one in expected.items():
        assert np.array_equal(np.concatenate([part[name] for part in shares]), one)


def test_a_strength_that_cannot_be_used_is_refused():
    edges = replace(SHAPES["path"], weight=np.full(49, 1000.0))
    with build(edges) as graph, pytest.raises(ws.InputError, match="a strength is 1000"):
        on_shards(graph, 2, finish(beliefs_of(edges, "weight", 2)))


def test_priors_that_cannot_be_used_are_refused():
    edges = SHAPES["short path"]
    priors = pd.DataFrame({"vertex": [7], "a": [0.0], "b": [0.0]})
    with build(edges) as graph, pytest.raises(ws.InputError, match="vertex 7 has"):
        on_shards(graph, 3, finish(lambda: BeliefPropagation(priors, np.ones((2, 2)))))


# Matching: sides


@pytest.mark.parametrize("directed", [True, False])
def test_an_edge_within_a_side_is_refused_by_all(directed):
    edges = Edges(np.array([0, 5]), np.array([1, 3]), 8, None, directed)
    with build(edges) as graph:

        def refusal(shard: ShardGraph) -> str:
            with pytest.raises(ws.InputError) as caught:
                MaximalBipartiteMatching([0, 2, 4]).start(shard)
            return str(caught.value)

        messages = on_shards(graph, 3, refusal)
        with pytest.raises(ws.InputError) as caught:
            ws.run(MaximalBipartiteMatching([0, 2, 4]), graph)
    assert set(messages) == {str(caught.value)}


def test_sides_by_an_attribute():
    edges = sides(SHAPES["random"])
    even = np.arange(edges.n) % 2 == 0
    graph = ws.Graph(edge_frame(edges), vertices=vertex_frame(edges, side=even))
    with graph:
        by_name = found_by(graph, 3, lambda: MaximalBipartiteMatching("side", seed=3))
        agree(graph, lambda: MaximalBipartiteMatching("side", seed=3), 3)
        np.testing.assert_array_equal(by_name["mate"], alone(graph, matching_of(edges))["mate"])


# The whole way: functions, their frames and checkpoints


def frames_of(graph: Any, size: int, work: Callable[[ShardGraph], Any]) -> pd.DataFrame:
    return pd.concat(on_shards(graph, size, work, seed=size), ignore_index=True)


@pytest.mark.parametrize("size", [2, 7])
@pytest.mark.parametrize("directed", [True, False], ids=["directed", "undirected"])
def test_ranks_return_their_own_rows(size, directed):
    edges = SHAPES["random"] if directed else undirected(SHAPES["random"])
    functions: list[Callable[[Any], Any]] = [
        ws.weakly_connected_components,
        ws.core_number,
        lambda graph: ws.core_number(graph, degree_type="in"),
        ws.k_core,
        lambda graph: ws.k_core(graph, 4),
        lambda graph: ws.k_core(graph, 99),
    ]
    with build(edges) as graph:
        for function in functions:
            expected = function(graph)
            pd.testing.assert_frame_equal(
                frames_of(graph, size, function), expected, check_index_type=False
            )


@pytest.mark.parametrize("size", [2, 7])
@pytest.mark.parametrize("directed", [True, False], ids=["directed", "undirected"])
@pytest.mark.parametrize(
    "search",
    [partial(ws.multi_source_bfs, depth_limit=6), partial(ws.multi_source_sssp, cutoff=6)],
    ids=["bfs", "sssp"],
)
def test_searches_from_many_sources(size, directed, search):
    edges = SHAPES["random sparse"] if directed else undirected(SHAPES["random sparse"])
    sources = [5, 0, 59, 5]
    with build(edges) as graph:
        expected = search(graph, sources)
        parts = on_shards(graph, size, lambda shard: search(shard, sources), seed=size)
    blocks = [
        part.iloc[place * (len(part) // 4) : (place + 1) * (len(part) // 4)]
        for place in range(4)
        for part in parts
    ]
    assert all(
        part["source"].tolist() == [s for s in sources for _ in range(len(part) // 4)]
        for part in parts
    )
    pd.testing.assert_frame_equal(pd.concat(blocks, ignore_index=True), expected)


def test_no_sources_and_unknown_ones():
    with build(SHAPES["random"]) as graph:
        assert len(frames_of(graph, 3, lambda shard: ws.multi_source_bfs(shard, []))) == 0
        with pytest.raises(ws.InputError, match="starts"):
            on_shards(graph, 3, lambda shard: ws.multi_source_bfs(shard, [0, 99]))


@pytest.mark.parametrize("size", [1, 2, 7])
def test_paths_are_walked_across_ranks(size):
    edges = grid(9, 9, drop=0.2, seed=4)
    targets = [80, 3, 44, 3, 0]
    with build(edges) as graph:
        expected = ws.shortest_path(ws.run(ws.SSSP, graph, source=0), targets)

        def walk(shard: ShardGraph) -> Any:
            return ws.shortest_path(ws.run(ws.SSSP, shard, source=0), targets)

        found = frames_of(graph, size, walk)
    ordered = expected.sort_values("target", kind="stable").reset_index(drop=True)
    found = found.sort_values("target", kind="stable").reset_index(drop=True)
    pd.testing.assert_frame_equal(found, ordered, check_index_type=False)


def test_paths_of_several_searches_are_refused_by_all():
    with build(SHAPES["random"]) as graph:

        def walk(shard: ShardGraph) -> None:
            result = ws.run(ws.MultiSource(ws.BFS, "start", [0, 1]), shard)
            with pytest.raises(ws.InputError, match="several searches"):
                ws.shortest_path(result, 3)

        on_shards(graph, 3, walk)


def test_loops_made_for_a_gpu_take_shards():
    edges = rmat(3, 3, seed=3)
    across = sides(edges)
    with emulated(), build(edges) as graph:
        for make in (WeaklyConnectedComponents, lambda: CoreNumber("in")):
            expected = alone(graph, make)
            found = found_by(graph, 3, make, on_device=True)
            for name, one in found.items():
                np.testing.assert_array_equal(one, expected[name])
    with emulated(), build(across) as graph:
        make = matching_of(across)
        found = found_by(graph, 3, make, on_device=True)
        np.testing.assert_array_equal(found["mate"], alone(graph, make)["mate"])


# Checkpoints: taken by three ranks, gone on from by two


CASES: dict[str, Callable[[Edges], Callable[[], Any]]] = {
    "components": lambda edges: WeaklyConnectedComponents,
    "cores": lambda edges: CoreNumber,
    "cores by out-degree": lambda edges: lambda: CoreNumber("out"),
    "matching": matching_of,
    "beliefs": lambda edges: beliefs_of(edges, SKEWED if edges.directed else EVEN, 3),
    "strengths": lambda edges: beliefs_of(edges, "weight", 2),
    "searches": lambda edges: lambda: ws.MultiSource(ws.SSSP, "source", [5, 0, 30, 7]),
}


@pytest.mark.parametrize("directed", [True, False], ids=["directed", "undirected"])
@pytest.mark.parametrize("after", [1, 2, 3])
@pytest.mark.parametrize("case", CASES)
def test_another_number_of_ranks_goes_on(monkeypatch, tmp_path, case, after, directed):
    monkeypatch.setattr(components, "SHARED", 0)
    edges = SHAPES["random"] if directed else undirected(SHAPES["random"])
    if case == "components":
        edges = replace(shuffled_path(200, seed=6), directed=directed)
    if case == "matching":
        edges = sides(edges)
    make = CASES[case](edges)
    path = tmp_path / "state.parquet"

    def begin(shard: ShardGraph) -> int:
        loop = make()
        loop.start(shard)
        taken = 0
        while taken < after and not loop.converged:
            loop.step()
            taken += 1
        RankCheckpoints(loop, shard, path, None).save({"iterations": taken, "residual": None})
        return taken

    def resume(shard: ShardGraph) -> Any:
        result = ws.run(make(), shard, resume=path)
        return result.iterations, {name: values_of(one) for name, one in result.arrays.items()}

    with build(edges) as graph:
        expected = ws.run(make(), graph)
        begun = on_shards(graph, 3, begin, seed=1)
        parts = on_shards(graph, 2, resume, seed=2)
    assert len({iterations for iterations, _ in parts}) == 1
    if case in (
        "beliefs",
        "strengths",
        "searches",
    ):  # each step is the same for any number of ranks
        assert begun == [after] * 3
        assert parts[0][0] == {"searches": 4}.get(case, 12)
    if case in ("components", "cores", "matching"):
        assert parts[0][0] > after  # it was not at its end
    for name, one in expected.arrays.items():
        if case == "searches":
            halves = [arrays[name].reshape(4, -1) for _, arrays in parts]
            found = np.concatenate(halves, axis=1).ravel()
        else:
            found = np.concatenate([arrays[name] for _, arrays in parts])
        np.testing.assert_allclose(found, values_of(one), rtol=1e-9)


@pytest.mark.parametrize("engine", ["cpu", "cuda"])
def test_a_single_rank_goes_on_with_vertices_that_wait_and_several_after_it(tmp_path, engine):
    """Of a level that others have begun, and with no step in between."""
    edges, path = SHAPES["random"], tmp_path / "state.parquet"

    def begin(shard: ShardGraph) -> int:
        loop = CoreNumber()
        loop.start(shard)
        steps, waiting = 0, 0
        while steps < 3 or waiting == 0:
            loop.step()
            steps, waiting = (
                steps + 1,
                sum(shard.comm.allgather(int(loop.state()["waiting"].sum()))),
            )
        RankCheckpoints(loop, shard, path, None).save({"iterations": steps, "residual": None})
        return waiting

    def save_again(shard: ShardGraph) -> Array:
        loop = CoreNumber()
        loop.start(shard, on_device=engine == "cuda")
        facts = RankCheckpoints(loop, shard, None, path).load()
        known = {name: facts[name] for name in ("iterations", "residual")}
        RankCheckpoints(loop, shard, path, None).save(known)
        while not loop.converged:
            loop.step()
        return values(loop.columns()["core_number"])

    def resume(shard: ShardGraph) -> Array:
        result = ws.run(CoreNumber(), shard, resume=path)
        return result.arrays["core_number"]

    with emulated(), build(edges) as graph:
        expected = alone(graph, CoreNumber)["core_number"]
        assert on_shards(graph, 3, begin, seed=1)[0] > 0
        (found,) = on_shards(graph, 1, save_again)
        np.testing.assert_array_equal(found, expected)
        parts = on_shards(graph, 3, resume, seed=2)
    np.testing.assert_array_equal(np.concatenate(parts), expected)


def values_of(one: Any) -> Array:
    """Return a column's values, with −1 for nulls."""
    if hasattr(one, "valid"):
        return np.where(one.valid, one.values, -1)
    return values(one)


# What is sent


def test_only_what_has_changed_is_sent():
    edges = undirected(SHAPES["path"])

    def work(rank_shard: ShardGraph) -> tuple[list[int], list[int]]:
        halo = Part(rank_shard, on_device=False).halo
        column_ = rank_shard.positions.copy()
        changed = np.zeros(rank_shard.owned, np.bool_)
        nothing = halo.update_changed(changed[halo.ends], lambda own: [column_[own]])
        quiet = halo.totals(1)
        changed[0] = True
        column_[0] = 99
        came = halo.update_changed(changed[halo.ends], lambda own: [column_[own]])
        loud = halo.totals(1)
        assert nothing == []
        for ghosts, (told,) in came:
            np.testing.assert_array_equal(told, 99)
            assert (ghosts >= rank_shard.owned).all()
        return quiet, loud

    with build(edges) as graph:
        shown = on_ranks(2, lambda comm: work(share(graph, comm)))
    # The first vertex of the second rank is the only one of them that another holds.
    assert shown == [([2, 0], [2, 4 + 8])] * 2


def test_reduced_arrays_may_be_overwritten_at_once():
    """Ranks that are threads read it when they get to it."""

    class Recorder(ThreadCommunicator):
        def alltoall(self, boxes: Any) -> Any:
            sent.extend(one for box in boxes for one in box)
            return super().alltoall(boxes)

    sent: list[Array] = []

    def work(comm: ThreadCommunicator) -> None:
        shard = share(graph, Recorder(comm.rank, comm.size, comm._board, comm._barrier))
        sent.clear()
        column_ = np.ones(shard.length)
        Part(shard, on_device=False).halo.reduce(column_)
        assert not any(np.shares_memory(column_, one) for one in sent)

    with build(SHAPES["cycle"]) as graph:
        on_ranks(2, work)
    assert sum(map(len, sent)) > 0


def test_rows_come_to_their_owners_in_the_order_of_the_senders():
    def work(comm: ThreadCommunicator) -> list[list[int]]:
        shard = share(graph, comm, [0, 4, 4, 10])
        numbers = np.array([9, 0, 4, 3])
        halo = shard.halo
        return [one.tolist() for one in halo.send_to_owners(numbers, numbers * 10 + comm.rank)]

    with build(SHAPES["short path"]) as graph:
        first, second, third = on_ranks(3, work)
    assert first == [[0, 3] * 3, [0, 30, 1, 31, 2, 32]]
    assert second == [[], []]
    assert third == [[9, 4] * 3, list(itertools.chain(*([90 + r, 40 + r] for r in range(3))))]


# Graphs built on ranks that know only their own ids


@pytest.mark.parametrize("directed", [True, False], ids=["directed", "undirected"])
@pytest.mark.parametrize("size", [1, 3])
def test_graphs_built_by_a_group(size, directed):
    generator = np.random.default_rng(12)
    left, right = generator.integers(0, 9, 40), generator.integers(0, 9, 40)
    ends = {"source": [f"left {one}" for one in left], "destination": [f"r {one}" for one in right]}
    edges = pd.DataFrame({**ends, "weight": generator.integers(-4, 5, 40) / 4})
    lefts = sorted(set(ends["source"]))
    priors = pd.DataFrame({"vertex": lefts, "a": 0.25, "b": generator.random(len(lefts))})
    functions: dict[str, Callable[[Any], Any]] = {
        "components": ws.weakly_connected_components,
        "cores": ws.core_number,
        "core": ws.k_core,
        "matching": lambda graph: ws.maximal_bipartite_matching(graph, lefts),
        "beliefs": lambda graph: ws.belief_propagation(graph, priors, "weight", 0.3, 1e-6),
        "spread priors": lambda graph: ws.belief_propagation(
            graph, spread(graph), [[2.0, 1.0], [1.0, 3.0]], 0.3
        ),
        "hops": lambda graph: ws.multi_source_bfs(graph, lefts[1:2]),
        "paths": lambda graph: ws.shortest_path(
            ws.run(ws.BFS, graph, start=lefts[:1]), ends["destination"][:1]
        ),
    }

    def spread(graph: Any) -> Any:
        """Give each rank some rows of the priors."""
        if not isinstance(graph, ShardGraph):
            return priors
        return Partitions([priors.iloc[graph.comm.rank :: graph.comm.size]])

    graph = ws.Graph(edges, weight="weight", directed=directed)
    hands = deal(cut(edges, 4), size)
    with graph:
        parts = build_on_ranks(
            size,
            hands,
            weight="weight",
            directed=directed,
            work=lambda shard: {name: function(shard) for name, function in functions.items()},
        )
        for name, function in functions.items():
            found = pd.concat([part[name] for part in parts], ignore_index=True)
            pd.testing.assert_frame_equal(found, function(graph), check_index_type=False)


def test_all_ranks_refuse_what_one_cannot_use():
    edges = replace(SHAPES["path"], weight=np.where(np.arange(49) == 40, 1000.0, 1.0))
    priors = pd.DataFrame({"vertex": [7], "a": [0.0], "b": [0.0]})
    with build(edges) as graph:

        def refusals(shard: ShardGraph) -> tuple[str, str]:
            with pytest.raises(ws.InputError) as strength:
                beliefs_of(edges, "weight", 2)().start(shard)
            with pytest.raises(ws.InputError) as prior:
                BeliefPropagation(priors, np.ones((2, 2))).start(shard)
            return str(strength.value), str(prior.value)

        told = on_shards(graph, 3, refusals)
    assert len(set(told)) == 1
    assert "a strength is 1000" in told[0][0]
    assert "vertex 7 has" in told[0][1]
