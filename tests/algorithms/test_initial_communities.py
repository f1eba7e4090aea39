"""`initial=` of Louvain and Leiden: communities to start from."""

from __future__ import annotations

from functools import partial
from typing import Any

import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from emulator.device import emulated
from shapes import SHAPES, build, rmat, undirected
from thread_ranks import on_ranks, share

import cugraph_ws as ws

FUNCTIONS = (ws.leiden, ws.louvain)
EDGES = undirected(rmat(7, 4, seed=5))


def random_communities(graph: Any, count: int, seed: int) -> pd.DataFrame:
    vertices = graph.vertices["vertex"]
    drawn = np.random.default_rng(seed).integers(0, count, len(vertices))
    return pd.DataFrame({"vertex": vertices, "community": drawn * 7 - 20})


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("seed", range(3))
def test_the_result_is_not_below_the_start(function, seed):
    with build(EDGES) as graph:
        initial = random_communities(graph, (2, 9, 40)[seed], seed)
        frame, quality = function(graph, initial=initial)
        assert quality >= ws.modularity(graph, initial)
        assert quality == pytest.approx(ws.modularity(graph, frame))
        again, higher = function(graph, initial=frame)
        assert higher >= quality
        assert ws.modularity(graph, again) == pytest.approx(higher)


def test_vertices_alone_are_the_usual_start():
    with build(EDGES) as graph:
        vertices = graph.vertices["vertex"]
        alone = pd.DataFrame({"vertex": vertices, "community": vertices})
        frame, quality = ws.louvain(graph, initial=alone)
        usual, expected = ws.louvain(graph)
        assert frame.equals(usual)
        assert quality == expected


@pytest.mark.parametrize("function", FUNCTIONS)
def test_no_vertex_moves_from_the_best_communities(function):
    pairs = [(a, b) for low in (0, 5) for a in range(low, low + 5) for b in range(low, a)]
    edges = pd.DataFrame([*pairs, (0, 5)], columns=["source", "destination"])
    halves = [set(range(5)), set(range(5, 10))]
    frame, quality = function(edges, directed=False, initial=halves)
    assert frame["partition"].tolist() == [0] * 5 + [1] * 5
    assert quality == pytest.approx(ws.modularity(edges, halves, directed=False))


@pytest.mark.parametrize("function", FUNCTIONS)
def test_communities_come_in_every_form(function):
    edges = pd.DataFrame({"source": list("abcabc"), "destination": list("bcadef")})
    vertices = pd.DataFrame({"vertex": list("abcdef"), "team": [4, 4, 4, 9, 9, -1]})
    text = vertices.assign(team=vertices["team"].map({4: "x", 9: "y", -1: "z"}))
    mapping = dict(zip(vertices["vertex"], vertices["team"], strict=True))
    with ws.Graph(edges, vertices=vertices, directed=False) as graph:
        expected, quality = function(graph, initial=vertices)
        for initial in (text, mapping, "team", [set("abc"), set("de")], mapping | {"f": 77}):
            frame, other_quality = function(graph, initial=initial)
            assert frame.equals(expected)
            assert other_quality == quality
        del mapping["f"]  # a vertex that is left out is a community of its own
        assert function(graph, initial=mapping)[0].equals(expected)
        assert function(graph, initial_membership=mapping)[0].equals(expected)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_ranks_and_gpus_begin_alike(function):
    with build(EDGES) as graph, emulated():
        initial = random_communities(graph, 12, 1).iloc[:100]
        expected, quality = function(graph, initial=initial)
        for ranks, engine in ((3, "cpu"), (2, "cuda")):
            parts = on_ranks(ranks, partial(found_on_ranks, function, graph, initial, engine))
            assert pd.concat([one for one, _ in parts], ignore_index=True).equals(expected)
            assert {one for _, one in parts} == {quality}


def found_on_ranks(function: Any, graph: Any, initial: Any, engine: Any, comm: Any) -> Any:
    return function(share(graph, comm), initial=initial, engine=engine)


@pytest.mark.parametrize("kind", [ws.Louvain, ws.Leiden])
def test_a_checkpoint_belongs_to_its_start(kind, tmp_path):
    path = tmp_path / "state.parquet"
    with build(EDGES) as graph:
        initial = random_communities(graph, 12, 1)
        loop = kind(initial=initial)
        whole = ws.run(loop, graph)
        for stop in (1, whole.iterations - 1):
            ws.run(
                loop,
                graph,
                progress=lambda update, last=stop: update.superstep < last,
                checkpoint=path,
            )
            resumed = ws.run(loop, graph, resume=path)
            assert resumed.frame.equals(whole.frame)
        for other in (kind(), kind(initial=random_communities(graph, 12, 2))):
            with pytest.raises(ws.InputError, match="same program, graph and arguments"):
                ws.run(other, graph, resume=path)


@pytest.mark.parametrize(
    ("initial", "message"),
    [
        ({10**6: 0}, "initial: 1000000 is not a vertex of the graph"),
        ({0: 0.5}, "0.5, which is not a value of int64"),
        ([[0, 1], [1, 2]], "initial: vertex 1 is in sets 0 and 1"),
        ([0, 0, 1], "initial: item 0 is 0; give sets or lists"),
        ("team", "initial='team': the graph has no such vertex attribute"),
        (
            dd.from_pandas(pd.DataFrame({"vertex": [0], "c": [0]}), npartitions=1),
            r"compute\(\) it first",
        ),
    ],
)
def test_what_is_refused(initial, message):
    with build(SHAPES["grid"]) as graph, pytest.raises(ws.InputError, match=message):
        ws.louvain(graph, initial=initial)


def test_a_graph_without_vertices():
    empty = pd.DataFrame({"source": [], "destination": []}, dtype="int64")
    frame, quality = ws.leiden(empty, initial={})
    assert len(frame) == 0
    assert np.isnan(quality)
