"""What the backend's functions read of a converted graph."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import networkx as nx
import pytest
from networkx_calls import GRAPHS

from cugraph_ws.networkx.convert import convert_from_nx


def test_graphs_are_built_once() -> None:
    converted = convert_from_nx(GRAPHS["directed"], edge_attrs={"weight": 1, "missing": 1})
    assert converted.built() is converted.built()
    assert converted.built("missing") is converted.built()  # all weights are 1
    assert converted.built("weight") is converted.built("weight") is not converted.built()
    assert converted.built(backward=True) is not converted.built()
    assert converted.built(simple=True) is converted.built()


@pytest.mark.parametrize("copied", [lambda graph: pickle.loads(pickle.dumps(graph)), copy.deepcopy])
def test_a_graph_that_was_converted_is_copied_without_what_was_built(
    copied: Callable[[Any], Any],
) -> None:
    graph = nx.karate_club_graph()
    with nx.config(warnings_to_ignore={"cache"}):
        expected = nx.pagerank(graph, backend="cugraph_ws")
        assert nx.pagerank(copied(graph), backend="cugraph_ws") == expected


def test_an_undirected_graph_is_its_reverse() -> None:
    converted = convert_from_nx(GRAPHS["undirected"])
    assert converted.built(backward=True) is converted.built()


def test_the_least_of_parallel_weights() -> None:
    graph = nx.MultiDiGraph()
    graph.add_weighted_edges_from([(1, 2, 5), (1, 2, 3)])
    converted = convert_from_nx(graph, edge_attrs={"weight": 1})
    assert converted.built("weight").number_of_edges == 2
    simple = converted.built("weight", simple=True)
    assert simple.number_of_edges == 1
    assert simple.edge_frame()["weight"].to_pylist() == [3]


def test_an_attribute_that_was_not_converted() -> None:
    converted = convert_from_nx(GRAPHS["undirected"])
    with pytest.raises(NotImplementedError, match="'weight' was not converted"):
        converted.weight("weight")


def test_degrees() -> None:
    graph = nx.Graph([(1, 1), (1, 2)])
    converted = convert_from_nx(graph)
    assert converted.degrees().tolist() == [degree for _, degree in graph.degree]
    assert converted.degrees(loops=0).tolist() == [1, 1]


def test_chosen_nodes() -> None:
    converted = convert_from_nx(nx.path_graph("abc"))
    assert converted.chosen(None) == [0, 1, 2]
    assert converted.chosen("b") == [1]
    assert converted.chosen(["c", "?", "a"]) == [2, 0]
    with pytest.raises(nx.NetworkXError, match="5 is neither a node"):
        converted.chosen(5)
    assert [] not in converted
