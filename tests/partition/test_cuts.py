"""`cut=`: who owns a vertex changes what is sent, and nothing else."""

from __future__ import annotations

import re
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from plans import planned
from thread_ranks import on_ranks

import cugraph_ws as ws
from cugraph_ws.algorithms.registry import ALGORITHMS
from cugraph_ws.partition import owner_choice
from cugraph_ws.partition.build import build_shard
from cugraph_ws.partition.cut import shards_of
from cugraph_ws.runtime.thread_ranks import ThreadRanks


def grid_frame(side: int, seed: int = 7) -> pd.DataFrame:
    """Return the edges of a square grid whose ids are shuffled text, with weights."""
    draws = np.random.default_rng(seed)
    ids = draws.permutation(side * side).reshape(side, side)
    tails = np.concatenate([ids[:, :-1].ravel(), ids[:-1].ravel()])
    heads = np.concatenate([ids[:, 1:].ravel(), ids[1:].ravel()])
    text = np.array([f"v{number}" for number in range(side * side)])
    weight = draws.integers(1, 9, len(tails)).astype(float)
    return pd.DataFrame({"source": text[tails], "destination": text[heads], "weight": weight})


def random_frame() -> pd.DataFrame:
    """Return random edges, without structure."""
    ends = np.random.default_rng(3).integers(0, 60, (2, 240))
    return pd.DataFrame(
        {"source": ends[0], "destination": ends[1], "weight": np.arange(240.0) % 7 + 1}
    )


def regions(graph: ws.Graph, count: int = 5) -> pd.DataFrame:
    """Return a vertex frame with a region for each vertex, in no order of ids."""
    ids = graph.vertices["vertex"]
    names = np.array(["north", "east", "west", "south", "middle"])[:count]
    return pd.DataFrame({"vertex": ids, "region": names[np.arange(len(ids)) * 7 % count]})


@ws.vertex_program
class Flows:
    """Keeps on every edge the last value that went along it, and folds these."""

    level: ws.float64
    max_iter = 4
    flow = ws.edge_state(ws.float64)

    def init(vertex):
        return vertex % 5 + 0.25

    def compute(src, edge):
        return src.level * 0.5 + edge.flow

    combine = sum

    def update_edge(src, dst, edge):
        return src.level - dst.level

    def apply(old, gathered):
        return old.level * 0.25 + gathered * 0.125


@ws.edge_program
class Shared:
    """The number of common neighbours of each pair of neighbours, and both degrees."""

    shared: ws.int64
    degree: ws.neighbour_count
    combine = sum

    def common():
        return 1

    def value(u, v, common):
        return common + 10 * u.degree + 100 * v.degree


FRAMES = {
    "grid": (lambda: grid_frame(7), False),
    "directed grid": (lambda: grid_frame(6), True),
    "random": (random_frame, True),
}


@pytest.mark.parametrize("name", FRAMES)
@pytest.mark.parametrize("cut", ["arcs", "region"])
def test_results_are_those_of_ranges(name, cut):
    make, directed = FRAMES[name]
    frame = make()
    with ws.Graph(frame, directed=directed) as plain:
        vertices = regions(plain)
        start = vertices["vertex"][4]
        with ws.Graph(frame, directed=directed, vertices=vertices, cut=cut) as graph:
            for program, options in (
                (ws.BFS, {"start": start}),
                (ws.SSSP, {"source": start}),
                (ws.PageRank, {"tol": 0.0, "max_iter": 9}),
            ):
                for exchange in ("vr", "all"):
                    plan = ws.Plan(partitions=3, exchange=exchange)
                    expected = ws.run(program, plain, plan=plan, **options)
                    found = ws.run(program, graph, plan=plan, **options)
                    pd.testing.assert_frame_equal(found.frame, expected.frame, check_exact=True)
                    assert found.iterations == expected.iterations or not found.synchronous


def test_state_of_edges_pairs_and_checkpoints(tmp_path):
    """What is in the order of arcs or of pairs of neighbours is so for any owners."""
    frame = grid_frame(5)
    with ws.Graph(frame) as plain:
        vertices = regions(plain, 4)
        with ws.Graph(frame, vertices=vertices, cut="region") as graph:
            options = {"partitions": 2, "engine": "python"}
            results = [ws.run(Flows, given, **planned(**options)) for given in (plain, graph)]
            pd.testing.assert_frame_equal(*(result.edges for result in results))
            pd.testing.assert_frame_equal(*(result.frame for result in results))
            ws.run(Flows, graph, checkpoint=tmp_path / "half", **planned(max_iter=2, **options))
            resumed = ws.run(Flows, plain, resume=tmp_path / "half", **planned(**options))
            pd.testing.assert_frame_equal(resumed.frame, results[0].frame)
            pairs = [ws.run(Shared, given, **planned(**options)).frame for given in (plain, graph)]
            pd.testing.assert_frame_equal(*pairs)


def sent(graph: ws.Graph, program, **options) -> int:
    result = ws.run(program, graph, plan=ws.Plan(partitions=2), **options)
    return int(result.trace["bytes_sent"].sum())


def test_bytes_of_a_road_like_graph():
    frame = grid_frame(70)
    with (
        ws.Graph(frame, directed=False) as plain,
        ws.Graph(frame, directed=False, cut="arcs") as graph,
    ):
        options = {"tol": 0.0, "max_iter": 5}
        assert 20 * sent(graph, ws.PageRank, **options) <= sent(plain, ws.PageRank, **options)
        shards = shards_of(graph, ThreadRanks(2))
        works = [shard.own_arcs + 4 * shard.owned for shard in shards]
        assert max(works) <= 1.1 * sum(works) / 2


def test_ranges_are_kept_where_there_is_no_structure(monkeypatch):
    told: list[str] = []
    monkeypatch.setattr(owner_choice, "LOG", SimpleNamespace(info=told.append))
    with ws.Graph(random_frame(), cut="arcs") as graph:
        assert shards_of(graph, ThreadRanks(2))[0].owners.in_ranges
    assert "no division halves the messages" in told[0]


def test_vertices_of_one_value_are_together():
    frame = grid_frame(6)
    with ws.Graph(frame) as plain:
        vertices = regions(plain)
    with ws.Graph(frame, vertices=vertices, cut="region") as graph:
        region = vertices.set_index("vertex")["region"]
        owned = [
            set(region[graph.vertices["vertex"].iloc[shard.owners.numbers()]])
            for shard in shards_of(graph, ThreadRanks(3))
        ]
    assert sorted(name for names in owned for name in names) == sorted(set(region))
    assert all(owned)


@pytest.mark.parametrize(
    ("column", "given", "message"),
    [
        ("country", None, "cut='country': the graph has no such vertex attribute"),
        ("part", [0, 1], "cut: vertex 'c' has no value; give one for every vertex"),
        ("part", [0, None, 2], "null"),
        ("part", [[0], [1], [2]], "each must be a single value"),
    ],
)
def test_columns_that_give_no_parts(column, given, message):
    frame = pd.DataFrame({"source": ["a", "b"], "destination": ["b", "c"]})
    vertices = None
    if given is not None:
        ids = ["a", "b", "c"][: len(given)]
        vertices = pd.DataFrame({"vertex": ids, "part": pd.Series(given, dtype=object)})
    with pytest.raises(ws.InputError, match=message):
        ws.Graph(frame, vertices=vertices, cut=column)


def test_cut_is_a_word():
    frame = pd.DataFrame({"source": ["a"], "destination": ["b"]})
    with pytest.raises(ws.InputError, match="cut=3 must be text"):
        ws.Graph(frame, cut=3)


# ---------------------------------------------------------------------------------- on several ranks

ACYCLIC = pd.DataFrame(
    {
        "source": ["b", "b", "f", "c", "d", "a", "g"],
        "destination": ["f", "c", "d", "d", "e", "c", "e"],
        "weight": [0.125, 0.5, 0.25, 0.375, 0.0625, 0.25, 0.125],
    }
)
PARTS = pd.DataFrame({"vertex": list("abcdefg"), "part": list("xyxyxyx")})


def on_parts(work, vertices=PARTS, cut="part", **options):
    """Return what two ranks make of a graph; frames are joined."""

    def on_rank(comm):
        hand = [(comm.rank, ACYCLIC.iloc[:3] if comm.rank == 0 else ACYCLIC.iloc[3:])]
        shard = build_shard(comm, hand, weight="weight", vertices=vertices, cut=cut, **options)
        assert shard.owners.in_ranges is (cut == "ranges")
        result = work(shard)
        return result[-1] if isinstance(result, tuple) else result

    results = on_ranks(2, on_rank)
    if isinstance(results[0], pd.DataFrame):
        return pd.concat(results, ignore_index=True)
    return results[0]


@pytest.mark.parametrize("name", ALGORITHMS)
def test_functions_give_the_same_frames_on_ranks(name):
    def work(graph):
        return getattr(ws, name)(graph, **ALGORITHMS[name].arguments(list("abcdefg")))

    try:
        expected = on_parts(work, cut="ranges")
    except ws.InputError as error:  # a walk, or edges that the function does not take
        with pytest.raises(ws.InputError, match=re.escape(str(error)[:12])):
            on_parts(work)
        return
    found = on_parts(work)
    if isinstance(expected, pd.DataFrame):
        pd.testing.assert_frame_equal(found, expected, rtol=1e-12)
    else:
        assert found == pytest.approx(expected, rel=1e-12)


def test_edges_and_their_masks_on_ranks():
    with ws.Graph(ACYCLIC, weight="weight", directed=False) as graph:
        heavy = graph.edge_frame()["weight"] > 0.2
        expected = graph.edge_frame(), graph.mask(heavy).edge_frame()
    shown = on_parts(lambda shard: shard.edge_frame(), directed=False)
    pd.testing.assert_frame_equal(shown, expected[0])
    for given in (heavy, lambda edges: edges["weight"] > 0.2):
        masked = on_parts(lambda shard, given=given: shard.mask(given).edge_frame(), directed=False)
        pd.testing.assert_frame_equal(masked, expected[1])


def test_owners_by_arcs_on_ranks():
    frame = grid_frame(12)
    hands = [frame.iloc[:100], frame.iloc[100:]]

    def work(comm):
        hand = [(comm.rank, hands[comm.rank])]
        shard = build_shard(comm, hand, weight="weight", directed=False, cut="arcs")
        ranks = ws.run(ws.PageRank, shard, tol=0.0, max_iter=6).frame
        return ranks, shard.length - shard.owned

    results = on_ranks(2, work)
    with ws.Graph(frame, directed=False) as graph:
        expected = ws.run(ws.PageRank, graph, tol=0.0, max_iter=6).frame
    found = pd.concat([ranks for ranks, _ in results], ignore_index=True)
    pd.testing.assert_frame_equal(found, expected, rtol=1e-12)
    assert sum(ghosts for _, ghosts in results) <= 48


@pytest.mark.parametrize(
    ("vertices", "message"),
    [
        (PARTS.iloc[1:-1], "has no value"),
        (PARTS.assign(part=["x", None, *"xyxyx"]), "null"),
        (PARTS[["vertex"]], "no such vertex attribute"),
    ],
)
def test_columns_that_give_no_parts_on_ranks(vertices, message):
    with pytest.raises(ws.InputError, match=message):
        on_parts(lambda shard: shard, vertices=vertices)
