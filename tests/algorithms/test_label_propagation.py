"""Label propagation against plain Python, on every engine and on ranks."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import oracles
import pandas as pd
import pytest
from emulator.device import emulated
from hypothesis import given
from hypothesis import strategies as st
from label_tables import every_kind_of_row
from shapes import (
    FRAME_KINDS,
    SHAPES,
    build,
    column,
    edge_frame,
    frame,
    random_edges,
    rmat,
    undirected,
)
from thread_ranks import on_ranks, share
from verify import Array, Edges

import cugraph_ws as ws
from cugraph_ws.backends.cpu.loops import label_propagation as on_cpu

pytestmark = pytest.mark.filterwarnings("ignore:directed=False:cugraph_ws.GraphWarning")
FEW = ("empty", "self-loops", "duplicates", "two components", "star", "random sparse")


@pytest.fixture(autouse=True)
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let even small graphs be cut into several tasks, and have rows of every kind."""
    monkeypatch.setattr(on_cpu, "ARCS_A_TASK", 32)
    every_kind_of_row(monkeypatch)


def labels(graph: Any, max_iter: int = 10, **options: Any) -> Array:
    return column(ws.label_propagation(graph, max_iter, **options), "label")


@pytest.mark.parametrize("weighted", [True, False], ids=["weighted", "plain"])
@pytest.mark.parametrize("directed", [True, False], ids=["directed", "undirected"])
@pytest.mark.parametrize("name", SHAPES)
def test_every_shape(name: str, directed: bool, weighted: bool) -> None:
    edges = SHAPES[name] if directed else undirected(SHAPES[name])
    with build(edges, weighted=weighted) as graph:
        for count in (0, 1, 10):
            expected = oracles.label_propagation(edges, count, weighted=weighted)
            assert labels(graph, count).tolist() == expected.tolist()


@pytest.mark.parametrize("weighted", [True, False], ids=["weighted", "plain"])
@pytest.mark.parametrize("name", FEW)
def test_on_a_gpu(name: str, weighted: bool) -> None:
    for edges in (SHAPES[name], undirected(SHAPES[name])):
        with build(edges, weighted=weighted) as graph, emulated():
            expected = oracles.label_propagation(edges, 4, weighted=weighted)
            assert labels(graph, 4, engine="cuda").tolist() == expected.tolist()


def shared(graph: ws.Graph, engine: Any, comm: Any) -> Array:
    found = ws.run(ws.LabelPropagation(4), share(graph, comm), engine=engine)
    return found.arrays["label"].numbers


@pytest.mark.parametrize("engine", ["cpu", "cuda"])
@pytest.mark.parametrize("weighted", [True, False], ids=["weighted", "plain"])
@pytest.mark.parametrize("name", FEW)
def test_ranks(name: str, weighted: bool, engine: str) -> None:
    for edges in (SHAPES[name], undirected(SHAPES[name])):
        expected = oracles.label_propagation(edges, 4, weighted=weighted).tolist()
        with build(edges, weighted=weighted) as graph, emulated():
            for ranks in (1, 3) if engine == "cpu" else (2,):
                parts = on_ranks(ranks, partial(shared, graph, engine))
                assert np.concatenate(parts).tolist() == expected


@given(
    st.integers(1, 12).flatmap(
        lambda n: st.tuples(
            st.just(n),
            st.lists(
                st.tuples(st.integers(0, n - 1), st.integers(0, n - 1), st.floats(0, 1e6)),
                max_size=40,
            ),
        )
    ),
    st.booleans(),
)
def test_random_graphs(drawn: Any, directed: bool) -> None:
    """Weights are rounded to multiples of 1/8, whose sums are exact."""
    n, rows = drawn
    source, destination, weight = np.array(rows, float).reshape(-1, 3).T
    edges = Edges(
        source.astype(np.int64), destination.astype(np.int64), n, np.rint(8 * weight) / 8, directed
    )
    with build(edges) as graph:
        assert labels(graph).tolist() == oracles.label_propagation(edges).tolist()


@pytest.mark.parametrize("kind", FRAME_KINDS)
def test_text_ids(kind: str) -> None:
    edges = frame({"source": ["a", "b", "d"], "destination": ["b", "c", "e"]}, kind)
    found = ws.label_propagation(edges, 1)
    assert type(found) is type(edges)
    assert column(found, "label").tolist() == ["b", "a", "b", "e", "d"]
    assert ws.modularity(edges, found) == pytest.approx(
        ws.modularity(edges, {"a": 0, "b": 1, "c": 0, "d": 2, "e": 3})
    )


def test_it_stops_when_no_label_changes() -> None:
    edges = undirected(SHAPES["clique"])
    with build(edges) as graph:
        result = ws.run(ws.LabelPropagation(100), graph)
    assert result.converged
    assert result.iterations < 10
    with build(undirected(SHAPES["one edge"])) as graph:  # two labels that change places
        result = ws.run(ws.LabelPropagation(7), graph)
    assert (result.stopped, result.iterations) == ("max_iter", 7)


def test_a_stopped_run_resumes(tmp_path: Any) -> None:
    edges = edge_frame(rmat(6, 4, seed=9))
    path = tmp_path / "state.parquet"
    stopped = ws.run(
        ws.LabelPropagation(5), edges, progress=lambda update: update.superstep < 1, checkpoint=path
    )
    assert stopped.iterations == 1
    resumed = ws.run(ws.LabelPropagation(5), edges, resume=path)
    assert resumed.frame.equals(ws.label_propagation(edges, 5))


def test_weights_that_no_float_can_add_up() -> None:
    edges = pd.DataFrame(
        {"source": [0, 1, 2], "destination": [3, 3, 3], "weight": [1e308, 1e-300, 1.0]}
    )
    assert labels(edges, 1).tolist() == [3, 3, 3, 0]
    tiny = edges.assign(weight=[5e-324, 5e-324, 1e-323])
    assert labels(tiny, 1).tolist() == [3, 3, 3, 2]


def test_what_is_refused() -> None:
    edges = edge_frame(random_edges(9, 20, seed=3))
    with pytest.raises(ws.InputError, match="max_iter"):
        ws.label_propagation(edges, -1)
    with pytest.raises(ws.InputError, match="weights must be 0 or more"):
        ws.label_propagation(edges.assign(weight=-1.0))


# -------------------------------------------------------------------- one after the other


def one_by_one(edges: Edges, colors: Array, max_iter: int, *, weighted: bool) -> list[int]:
    """Let vertices take labels in the order of their colours, then numbers."""
    source, destination = edges.source.tolist(), edges.destination.tolist()
    weights = edges.weight.tolist() if weighted else [1] * len(source)
    heard: list[list[tuple[int, Any]]] = [[] for _ in range(edges.n)]
    for one, other, weight in zip(source, destination, weights, strict=True):
        heard[other].append((one, weight))
        if edges.directed or one != other:
            heard[one].append((other, weight))
    labels = list(range(edges.n))
    for _ in range(max_iter):
        for vertex in np.argsort(colors, kind="stable").tolist():
            sums: dict[int, Any] = {}
            for other, weight in heard[vertex]:
                sums[labels[other]] = sums.get(labels[other], 0) + weight
            labels[vertex] = min(sums, key=lambda one: (-sums[one], one), default=labels[vertex])
    return labels


@pytest.mark.parametrize("weighted", [True, False], ids=["weighted", "plain"])
@pytest.mark.parametrize("name", FEW)
def test_one_after_the_other(name: str, weighted: bool) -> None:
    for edges in (SHAPES[name], undirected(SHAPES[name])):
        with build(edges, weighted=weighted) as graph:
            colors = column(ws.coloring(graph, seed=3), "color")
            expected = one_by_one(edges, colors, 3, weighted=weighted and edges.weight is not None)
            assert labels(graph, 3, seed=3).tolist() == expected
            for ranks in (2, 4):
                assert np.concatenate(on_ranks(ranks, partial(settled, graph))).tolist() == expected
            if len(edges.source) < 20:
                with emulated():
                    assert labels(graph, 3, seed=3, engine="cuda").tolist() == expected
                    parts = on_ranks(2, partial(settled, graph, engine="cuda"))
                    assert np.concatenate(parts).tolist() == expected


def settled(graph: ws.Graph, comm: Any, **options: Any) -> Array:
    return ws.label_propagation(share(graph, comm), 3, seed=3, **options).label.to_numpy()


def test_labels_that_would_swing_settle_with_a_seed() -> None:
    edges = undirected(Edges(np.zeros(6, np.int64), np.arange(1, 7), 7))  # a star
    with build(edges) as graph:
        with_seed = ws.run(ws.LabelPropagation(100, seed=0), graph)
        assert with_seed.converged
        assert len(set(column(with_seed.frame, "label"))) == 1
        assert not ws.run(ws.LabelPropagation(100), graph).converged


def test_planted_communities_are_found_with_any_seed(tmp_path: Any) -> None:
    blocks = [np.array(np.triu_indices(12, 1)) + 12 * block for block in range(5)]
    bridges = np.array([[11, 23, 35, 47], [12, 24, 36, 48]])
    source, destination = np.concatenate([*blocks, bridges], axis=1)
    found = set()
    with build(undirected(Edges(source, destination, 60))) as graph:
        for seed in range(3):
            label = labels(graph, 100, seed=seed)
            assert [len(set(label[place : place + 12])) for place in range(0, 60, 12)] == [1] * 5
            assert len(set(label)) == 5
            found.add(tuple(label))
        path = tmp_path / "state.parquet"
        ws.label_propagation(graph, 1, seed=1, checkpoint=path)
        assert (
            labels(graph, 100, seed=1, resume=path).tolist() == labels(graph, 100, seed=1).tolist()
        )
        with pytest.raises(ws.InputError, match="seed"):
            ws.label_propagation(graph, seed=2, resume=path)
        with pytest.raises(ws.InputError, match="seed"):
            ws.label_propagation(graph, seed=-1)
    assert len(found) > 1
