"""Modularity and conductance against NetworkX, on every engine and on ranks."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np
import oracles
import pandas as pd
import pytest
from emulator.device import emulated
from shapes import FRAME_KINDS, SHAPES, build, column, frame, random_edges, undirected
from thread_ranks import on_ranks, share
from verify import Array, Edges

import cugraph_ws as ws

pytestmark = pytest.mark.filterwarnings("ignore:directed=False:cugraph_ws.GraphWarning")


def grouped(edges: Edges) -> Array:
    """Return communities, one of them of a single vertex."""
    groups = np.arange(edges.n) % 4
    groups[:1] = 9
    return groups


def by_community(found: Any) -> dict[Any, float | None]:
    values = column(found, "conductance", null=-1.0)
    known = [None if value == -1.0 else value for value in values.tolist()]
    return dict(zip(column(found, "community").tolist(), known, strict=True))


def check(edges: Edges, graph: Any, communities: Any, **options: Any) -> None:
    groups = grouped(edges)
    for resolution in (1.0, 0.5):
        found = ws.modularity(graph, communities, resolution, **options)
        assert found == pytest.approx(
            oracles.modularity(edges, groups, resolution), abs=1e-12, nan_ok=True
        )
    table = ws.conductance(graph, communities, **options)
    expected = oracles.conductances(edges, groups)
    assert by_community(table) == {
        one: None if value is None else pytest.approx(value, abs=1e-12)
        for one, value in expected.items()
    }
    counts = np.unique(groups, return_counts=True)[1]
    assert column(table, "vertices").tolist() == counts.tolist()


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize("directed", [True, False], ids=["directed", "undirected"])
def test_every_shape(name: str, directed: bool) -> None:
    edges = SHAPES[name] if directed else undirected(SHAPES[name])
    with build(edges) as graph:
        check(edges, graph, pd.DataFrame({"vertex": range(edges.n), "c": grouped(edges)}))


@pytest.mark.parametrize("name", ["empty", "self-loops", "duplicates", "random sparse", "clique"])
def test_on_a_gpu(name: str) -> None:
    for edges in (SHAPES[name], undirected(SHAPES[name])):
        told = pd.DataFrame({"vertex": range(edges.n), "c": grouped(edges)})
        with build(edges) as graph, emulated():
            check(edges, graph, told, engine="cuda")


def measured(graph: ws.Graph, table: Any, engine: Any, comm: Any) -> Any:
    return ws.conductance(share(graph, comm), table, engine=engine)


@pytest.mark.parametrize("engine", ["cpu", "cuda"])
@pytest.mark.parametrize("name", ["random sparse", "self-loops", "duplicates", "empty"])
def test_ranks(name: str, engine: str) -> None:
    for edges in (SHAPES[name], undirected(SHAPES[name])):
        table = pd.DataFrame({"vertex": range(edges.n), "c": grouped(edges)})
        with build(edges) as graph, emulated():
            expected = ws.conductance(graph, table)
            one = ws.modularity(graph, table)

            work = partial(measured, graph, table, engine)
            found = pd.concat(on_ranks(3, work), ignore_index=True)
        pd.testing.assert_frame_equal(found, expected)
        assert one == pytest.approx(oracles.modularity(edges, grouped(edges)), nan_ok=True)


@pytest.mark.parametrize("kind", FRAME_KINDS)
def test_text_ids_and_text_communities(kind: str) -> None:
    edges = frame({"source": ["a", "c", "b"], "destination": ["b", "d", "c"]}, kind)
    told = frame({"vertex": ["d", "c", "b", "a"], "group": ["y", "y", "x", "x"]}, kind)
    assert ws.modularity(edges, told, directed=False) == pytest.approx(1 / 6)
    found = ws.conductance(edges, told, directed=False)
    assert type(found) is type(edges)
    assert column(found, "community").tolist() == ["x", "y"]
    assert column(found, "conductance").tolist() == pytest.approx([1 / 3, 1 / 3])


def test_codes_of_categories_do_not_matter() -> None:
    edges = pd.DataFrame({"source": [0, 1], "destination": [1, 2]})
    told = pd.DataFrame({"vertex": [0, 1, 2], "group": pd.Categorical(["b", "a", "a"])})
    numbers = {0: 1, 1: 0, 2: 0}
    assert ws.modularity(edges, told) == ws.modularity(edges, numbers)
    assert column(ws.conductance(edges, told), "community").tolist() == ["a", "b"]


def test_a_vertex_attribute() -> None:
    edges = random_edges(20, 60, seed=8)
    vertices = pd.DataFrame({"vertex": range(20), "team": grouped(edges)})
    with ws.Graph(
        pd.DataFrame({"source": edges.source, "destination": edges.destination}), vertices=vertices
    ) as graph:
        plain = Edges(edges.source, edges.destination, 20)
        check(plain, graph, "team")


def test_what_is_refused() -> None:
    edges = pd.DataFrame({"source": [0, 1], "destination": [1, 2], "weight": [1.0, -2.0]})
    with pytest.raises(ws.InputError, match="from 1 to 2 has the weight -2"):
        ws.modularity(edges, {0: 0, 1: 0, 2: 1})
    with pytest.raises(ws.InputError, match="resolution"):
        ws.modularity(edges, {0: 0, 1: 0, 2: 1}, -1.0, weight=None)
    with pytest.raises(ws.InputError, match="vertex 2 has no value"):
        ws.conductance(edges, {0: 0, 1: 0}, weight=None)
    with pytest.raises(ws.InputError, match="scale the weights down"):
        ws.modularity(edges.assign(weight=1e308), {0: 0, 1: 0, 2: 1})
    missing = pd.DataFrame({"vertex": [0, 1, 2], "group": ["a", None, "b"]})
    with pytest.raises(ws.InputError, match="row 1 is null"):
        ws.modularity(edges, missing, weight=None)
    assert math.isnan(ws.modularity(edges.assign(weight=0.0), {0: 0, 1: 0, 2: 1}))


def test_communities_are_a_list_of_sets() -> None:
    edges = pd.DataFrame({"source": ["a", "c", "b"], "destination": ["b", "d", "c"]})
    given = {"a": 0, "b": 0, "c": 1, "d": 1}
    for sets in ([{"a", "b"}, {"c", "d"}], [frozenset("ab"), ["c", "d"]]):
        assert ws.modularity(edges, sets) == ws.modularity(edges, given)
        assert ws.conductance(edges, sets).equals(ws.conductance(edges, given))
    for sets, message in (
        ([{"a", "b"}, {"b", "c", "d"}], "vertex 'b' is in sets 0 and 1"),
        ([{"a", "b"}, {"c"}], "'d'"),
        ([0, 0, 1, 1], "item 0 is 0"),
        ([["a", ["b"]], {"c", "d"}], "item 0 has"),
    ):
        with pytest.raises(ws.InputError, match=message):
            ws.modularity(edges, sets)
    pairs = pd.DataFrame({"a": [0, 0], "b": [1, 2], "c": [0, 1], "d": [2, 1]})
    names = {"source": ["a", "b"], "destination": ["c", "d"]}
    sets = [{(0, 1)}, {(0, 2), (1, 1)}]
    assert ws.conductance(pairs, sets, **names).vertices.tolist() == [1, 2]
