"""Arguments that users of cuGraph and NetworkX know: their order, and their names."""

from __future__ import annotations

import inspect
from typing import Any

import pandas as pd
import pytest

import cugraph_ws as ws
from cugraph_ws.algorithms.registry import ALGORITHMS
from cugraph_ws.execution.keywords import MEANT, with_own_names

# The arguments of cuGraph 26.10 after the graph, in order; an argument of ours with another name in brackets
CUGRAPH = {
    "betweenness_centrality": "k normalized weight endpoints seed random_state result_dtype",
    "bfs": "start depth_limit i_start directed return_predecessors",
    "core_number": "degree_type",
    "cosine": "vertex_pair use_weight",
    "degree": "vertex_subset(vertices)",
    "degrees": "vertex_subset(vertices)",
    "edge_betweenness_centrality": "k normalized weight seed result_dtype",
    "ego_graph": "n(vertex) radius center undirected distance",
    "eigenvector_centrality": "max_iter tol",
    "hits": "max_iter tol nstart normalized",
    "jaccard": "vertex_pair use_weight",
    "k_core": "k core_number degree_type",
    "k_truss": "k",
    "katz_centrality": "alpha beta max_iter tol nstart normalized",
    "leiden": "max_iter resolution random_state theta",
    "louvain": "max_level max_iter resolution threshold",
    "minimum_spanning_tree": "weight algorithm ignore_nan",
    "multi_source_bfs": "sources(starts) components depth_limit offload",
    "overlap": "vertex_pair use_weight",
    "pagerank": "alpha personalization precomputed_vertex_out_weight max_iter tol nstart dangling "
    "fail_on_nonconvergence",
    "sorensen": "vertex_pair use_weight",
    "sssp": "source(start) method directed return_predecessors unweighted overwrite indices cutoff",
    "strongly_connected_components": "directed connection return_labels",
    "subgraph": "vertices offsets",
    "triangle_count": "start_list(vertices)",
    "weakly_connected_components": "directed connection return_labels",
}
EDGES = pd.DataFrame({"source": [0, 1, 2, 3], "destination": [1, 2, 0, 4], "weight": [1, 2, 3, 4]})
# `source` is the start on a graph, and `method` an option of runs
OURS = {("sssp", "source"), ("sssp", "method")}


@pytest.mark.parametrize("name", CUGRAPH)
def test_positions_are_those_of_cugraph(name: str) -> None:
    theirs = [word.partition("(")[::2] for word in CUGRAPH[name].split()]
    order = [(own.rstrip(")") or name) for name, own in theirs]
    _, *parameters = inspect.signature(getattr(ws, name)).parameters.values()
    places = [one.name for one in parameters if one.kind is one.POSITIONAL_OR_KEYWORD]
    assert places == order[: len(places)]


@pytest.mark.parametrize("name", CUGRAPH)
def test_every_name_of_cugraph_is_taken_or_refused_with_a_reason(name: str) -> None:
    function = getattr(ws, name)
    needed = ALGORITHMS[name].arguments(range(5))
    for word in CUGRAPH[name].split():
        theirs = word.partition("(")[0]
        if theirs in inspect.signature(function).parameters:
            continue
        if theirs in MEANT:
            (own,) = with_own_names(function, {theirs: 1})
            assert own in inspect.signature(function).parameters
        elif (name, theirs) not in OURS:
            with pytest.raises(ws.InputError, match=rf"^{name}\(\) takes no {theirs}: "):
                function(EDGES, **needed, **{theirs: 1})
            function(EDGES, **needed, **{theirs: None})


def test_names_mean_the_same_as_ours() -> None:
    pairs: list[tuple[Any, dict[str, Any], dict[str, Any]]] = [
        (ws.triangle_count, {"start_list": [0]}, {"vertices": [0]}),
        (ws.degree, {"vertex_subset": [0, 4]}, {"vertices": [0, 4]}),
        (ws.degree, {"degree_type": "incoming"}, {"degree_type": "in"}),
        (ws.core_number, {"degree_type": "bidirectional"}, {}),
        (ws.bfs, {"sources": [0, 3]}, {"start": [0, 3]}),
        (ws.bfs, {"start": 0, "cutoff": 1}, {"start": 0, "depth_limit": 1}),
        (ws.multi_source_bfs, {"sources": [0, 3]}, {"starts": [0, 3]}),
        (ws.sssp, {"sources": [0, 3]}, {"start": [0, 3]}),
        (ws.betweenness_centrality, {"sources": [0, 3]}, {"k": [0, 3]}),
        (ws.betweenness_centrality, {"k": 2, "random_state": 5}, {"k": 2, "seed": 5}),
        (ws.closeness_centrality, {"distance": "weight"}, {"weighted": True}),
        (ws.harmonic_centrality, {"distance": None}, {}),
        (ws.ego_graph, {"n": 0}, {"vertex": 0}),
        (ws.ego_graph, {"vertex": 0, "undirected": False}, {"vertex": 0}),
        (ws.coloring, {"random_state": None}, {}),
    ]
    for function, theirs, ours in pairs:
        assert function(EDGES, **theirs).equals(function(EDGES, **ours)), theirs
    communities, quality = ws.leiden(EDGES, 5, 2.0, 3)
    expected, same = ws.leiden(EDGES, max_level=5, resolution=2.0, seed=3)
    assert communities.equals(expected)
    assert quality == same
    communities, quality = ws.louvain(EDGES, max_iter=5, random_state=3)
    assert communities.equals(ws.louvain(EDGES, 5, seed=3)[0])


def test_a_distance_limits_an_ego_graph() -> None:
    near = ws.ego_graph(EDGES, 0, 2.5, distance="weight")
    assert near[["source", "destination"]].to_numpy().tolist() == [[0, 1]]
    with (
        ws.Graph(EDGES, weight=None) as graph,
        pytest.raises(ws.InputError, match="give the weight to Graph"),
    ):
        ws.ego_graph(graph, 0, 2, distance="weight")
    zero = EDGES.assign(weight=[0, 2, 3, 4])
    assert len(ws.ego_graph(zero, 0, 2, False, distance="weight")) == 1
    with pytest.raises(ws.InputError, match="name different columns"):
        ws.ego_graph(EDGES, 0, 2, distance="weight", weight="other")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: ws.leiden(EDGES, theta=1.0), "theta=1.0: a vertex joins"),
        (lambda: ws.leiden(EDGES, 3, max_level=4), "the same limit"),
        (lambda: ws.louvain(EDGES, 3, 4), "the same limit"),
        (lambda: ws.leiden(EDGES, seed=1, random_state=2), "the same number"),
        (lambda: ws.louvain(EDGES, seed=1, random_state=2), "name the same argument"),
        (lambda: ws.bfs(EDGES, 0, targets=[1]), r"use shortest_path\(result, targets\)"),
        (lambda: ws.pagerank(EDGES, sources=[1]), "all vertices are sources"),
        (lambda: ws.pagerank(EDGES, undirected=True), "directed=False"),
        (lambda: ws.pagerank(EDGES, distance="weight"), "no lengths"),
        (lambda: ws.betweenness_centrality(EDGES, cutoff=3), "not limited"),
        (lambda: ws.ego_graph(EDGES, 0, undirected=True), "directed=False"),
        (lambda: ws.pagerank(EDGES, random_state=1), "random numbers"),
    ],
)
def test_what_means_nothing_is_refused_with_the_reason(call: Any, message: str) -> None:
    with pytest.raises(ws.InputError, match=message):
        call()
