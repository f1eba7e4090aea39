"""Views along reversed edges equal graphs that are built of reversed edges."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
import stand_in_cudf
from emulator.device import emulated
from shapes import SHAPES, random_edges, undirected
from thread_ranks import on_ranks, over_links, share
from verify import Edges
from zoo import attributes_of, graph_of

import cugraph_ws as ws
from cugraph_ws.backends.cuda.shard import DeviceShard
from cugraph_ws.graph.reversed import reversed_graph
from cugraph_ws.partition.build import build_shard
from cugraph_ws.partition.part import Part
from cugraph_ws.partition.reversed import reversed_view

GRAPHS = {
    **{name: SHAPES[name] for name in ("empty", "one edge", "star", "self-loops", "duplicates")},
    "random": random_edges(9, 30, seed=4),
}


def turned(edges: Edges) -> Edges:
    return Edges(edges.destination, edges.source, edges.n, directed=edges.directed)


def rows_of(graph: Any) -> dict[str, Any]:
    """Return all that engines read of a graph on the host."""
    found = {}
    for order in ("csc", "csr"):
        rows = getattr(graph, order)
        found[f"{order} offsets"], found[f"{order} indices"] = rows.offsets, rows.indices
        for name in graph.edge_attributes:
            found[f"{order} {name}"] = graph.edge_values(name, order)
    for incoming in (True, False):
        found[f"degrees {incoming}"] = graph.degree_array(incoming=incoming)
        found[f"weights {incoming}"] = graph.weight_sums("weight", incoming=incoming)
    return found


def on_device(edges: Edges) -> ws.Graph:
    """Build the graph from a cuDF frame."""
    columns = {"source": edges.source, "destination": edges.destination, **attributes_of(edges)}
    vertices = stand_in_cudf.DataFrame({"vertex": np.arange(edges.n)})
    rows = stand_in_cudf.DataFrame(columns)
    return ws.Graph(rows, weight="weight", attributes=["signed", "single"], vertices=vertices)


def check_alike(found: dict[str, Any], expected: dict[str, Any]) -> None:
    for name, array in expected.items():
        np.testing.assert_array_equal(found[name], array, err_msg=name)


@pytest.mark.parametrize("name", GRAPHS)
def test_a_view_has_the_rows_of_a_graph_of_reversed_edges(name: str) -> None:
    with graph_of(GRAPHS[name]) as graph, graph_of(turned(GRAPHS[name])) as expected:
        view = reversed_graph(graph)
        check_alike(rows_of(view), rows_of(expected))
        check_alike(rows_of(graph), rows_of(graph_of(GRAPHS[name])))
        assert view.number_of_edges == graph.number_of_edges
        if graph.number_of_arcs:
            value, edge = view.greatest_edge_value("weight")
            ends = zip(GRAPHS[name].source, GRAPHS[name].destination, strict=True)
            heaviest = attributes_of(GRAPHS[name])["weight"] == value
            named = {f"{u} to {v}" for (u, v), is_one in zip(ends, heaviest, strict=True) if is_one}
            assert view.describe_edge(edge) in named


def test_a_view_shares_its_arrays_and_is_kept_until_the_graph_is_closed() -> None:
    graph = graph_of(GRAPHS["random"])
    before = graph.csr.nbytes + graph.nbytes
    view = reversed_graph(graph)
    assert view.csc is graph.csr
    assert view.csr is graph.csc
    assert view.edge_values("weight") is graph.edge_values("weight", "csr")
    assert reversed_graph(graph) is view
    assert graph.nbytes <= before + 8 * graph.number_of_arcs
    graph.close()
    for one in (graph, view):
        with pytest.raises(ws.InputError, match="closed"):
            reversed_graph(one)


def test_an_undirected_graph_is_its_own_view() -> None:
    with graph_of(undirected(GRAPHS["random"])) as graph:
        assert reversed_graph(graph) is graph


@pytest.mark.parametrize("name", GRAPHS)
def test_a_view_of_a_graph_on_the_device(name: str) -> None:
    edges = GRAPHS[name]
    with stand_in_cudf.installed(), emulated():
        graph, expected = (on_device(one) for one in (edges, turned(edges)))
        view = reversed_graph(graph)
        assert view.device_resident
        laid, other = view.on_device(), expected.on_device()
        np.testing.assert_array_equal(laid.numbers, other.numbers)
        for order in ("csc", "csr"):
            for mine, its in zip(getattr(laid, order), getattr(other, order), strict=True):
                np.testing.assert_array_equal(mine, its)
            for column in graph.edge_attributes:
                np.testing.assert_array_equal(
                    laid.values(column, order), other.values(column, order)
                )
        graph.close()
        with pytest.raises(ws.InputError, match="closed"):
            view.on_device().csc  # noqa: B018


@pytest.mark.parametrize("ranks", [1, 2, 3])
@pytest.mark.parametrize("name", GRAPHS)
def test_a_shard_has_the_arcs_out_of_its_vertices(name: str, ranks: int) -> None:
    edges = GRAPHS[name]
    with graph_of(edges) as graph, graph_of(turned(edges)) as reverse:

        def work(comm: Any) -> dict[str, Any]:
            shard = share(graph, comm)
            before = shard.nbytes
            view = reversed_view(shard)
            assert shard.nbytes >= before + view.csc.indices.nbytes
            assert view.owned == shard.owned
            assert np.array_equal(view.owners.numbers(), shard.owners.numbers())
            assert reversed_view(shard).csc is view.csc
            own = slice(0, view.owned)
            return {
                "degrees": view.degree_array(incoming=True)[own],
                "weights": view.weight_sums("weight", incoming=False)[own],
                "indices": view.positions[view.csc.indices],
                **{name: view.edge_values(name) for name in view.edge_attributes},
            }

        shares = on_ranks(ranks, work)
        joined = {key: np.concatenate([one[key] for one in shares]) for key in shares[0]}
        expected = {
            "degrees": reverse.in_degrees,
            "weights": reverse.weight_sums("weight", incoming=False),
            "indices": reverse.csc.indices,
            **{column: reverse.edge_values(column) for column in reverse.edge_attributes},
        }
        check_alike(joined, expected)


@pytest.mark.parametrize("shift", [0, 100])
@pytest.mark.parametrize("ranks", [1, 2, 3])
@pytest.mark.parametrize("name", ["one edge", "star", "self-loops", "duplicates", "random"])
def test_a_shard_on_a_gpu_has_the_arcs_out_of_its_vertices(
    name: str, ranks: int, shift: int
) -> None:
    edges = GRAPHS[name]
    rows = pd.DataFrame({"source": edges.source, "destination": edges.destination})
    rows = (rows + shift).assign(**attributes_of(edges))
    options: dict[str, Any] = {"weight": "weight", "attributes": ["signed", "single"]}
    reverse = ws.Graph(rows, source="destination", destination="source", **options)

    def work(comm: Any) -> dict[str, Any]:
        cuts = np.linspace(0, len(rows), comm.size + 1).astype(int)
        own = rows.iloc[cuts[comm.rank] : cuts[comm.rank + 1]].reset_index(drop=True)
        make = stand_in_cudf.DataFrame
        shard = build_shard(comm, [(comm.rank, make(own))], meta=make(rows.iloc[:0]), **options)
        assert isinstance(shard, DeviceShard)
        before = shard.nbytes
        view = reversed_view(shard)
        assert isinstance(view, DeviceShard)
        assert shard.nbytes >= before + view.laid_out()[0].csc.indices.nbytes
        graph, numbers, sent = view.laid_out()
        positions = np.arange(len(numbers))
        np.testing.assert_array_equal(graph.positions[graph.numbers], positions)
        own_degrees = np.diff(graph.csc.offsets)
        assert (np.diff(own_degrees) <= 0).all()
        for boundary in sent:
            assert (np.diff(boundary) > 0).all()
        column = np.where(positions < view.owned, numbers, -1)
        Part(view, on_device=True).halo.update(column)
        np.testing.assert_array_equal(column, numbers)  # ghosts are their owners' vertices
        given, _ = view.vertex_values({int(rows.source[0]): 5}, "given", np.int64, 0)
        return {
            "indices": view.positions[view.csc.indices],
            "degrees": view.csc.degrees,
            "given": given[: view.owned],
            **{one: view.edge_values(one) for one in view.edge_attributes},
        }

    with emulated(), stand_in_cudf.installed():
        shares = over_links(ranks, work)
    joined = {key: np.concatenate([one[key] for one in shares]) for key in shares[0]}
    expected = {
        "indices": reverse.csc.indices,
        "degrees": reverse.in_degrees,
        "given": 5 * (np.arange(reverse.number_of_vertices) == reverse.number(rows.source[0], "x")),
        **{column: reverse.edge_values(column) for column in reverse.edge_attributes},
    }
    check_alike(joined, expected)
