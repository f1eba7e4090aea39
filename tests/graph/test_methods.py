"""A graph as people try it: length, membership, frames, methods, other libraries, and names that do not exist."""

from __future__ import annotations

import copy
import inspect
import pickle
import pydoc
import re
import sys
from types import ModuleType
from typing import Any

import igraph
import networkx as nx
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from emulator.device import emulated

import cugraph_ws as ws
from cugraph_ws.algorithms.registry import ALGORITHMS
from cugraph_ws.graph import view
from cugraph_ws.graph.methods import PUBLIC
from cugraph_ws.suggestions import OF_GRAPHS, OURS

EDGES = pd.DataFrame(
    {
        "source": ["a", "b", "a", "d"],
        "destination": ["b", "c", "c", "a"],
        "weight": [1.0, 2.0, 5.0, 0.5],
    }
)
TOWNS = pd.DataFrame({"vertex": ["a", "c", "x"], "people": [10, 30, 99], "name": ["A", None, "X"]})


@pytest.fixture(params=[True, False], ids=["directed", "undirected"])
def graph(request: Any) -> Any:
    return ws.Graph(EDGES, directed=request.param, vertices=TOWNS)


def test_a_graph_answers_pythons_questions(graph: Any) -> None:
    assert len(graph) == 5
    assert "a" in graph
    assert "x" in graph
    assert "q" not in graph
    assert 7 not in graph
    assert None not in graph
    assert ("a", "b") not in graph
    assert "5" in graph._repr_html_()
    assert list(graph) == ["a", "b", "c", "d", "x"]


def test_a_closed_graph_says_so(graph: Any) -> None:
    graph.close()
    assert "closed" in graph._repr_html_()
    for question in (
        lambda: len(graph),
        lambda: "a" in graph,
        lambda: graph.vertices,
        graph.pagerank,
        graph.to_scipy,
    ):
        with pytest.raises(ws.InputError, match="closed"):
            question()


def test_vertices_have_their_attributes(graph: Any) -> None:
    vertices = graph.vertices
    assert vertices["vertex"].tolist() == ["a", "b", "c", "d", "x"]
    assert vertices["people"].dropna().tolist() == [10, 30, 99]
    assert vertices["people"].isna().tolist() == [False, True, False, True, False]
    assert [name if isinstance(name, str) else None for name in vertices["name"]] == [
        "A", None, None, None, "X",
    ]  # fmt: skip


@pytest.mark.parametrize("make", [pl.from_pandas, pa.Table.from_pandas], ids=["polars", "arrow"])
def test_vertices_and_edges_are_frames_of_the_callers_kind(make: Any) -> None:
    graph = ws.Graph(make(EDGES), vertices=make(TOWNS))
    assert type(graph.vertices) is type(make(EDGES))
    assert next(str(value) for value in graph.vertices["people"]).startswith("10")
    assert len(graph.edges) == 4


def test_attributes_with_nulls_and_of_other_types_are_kept() -> None:
    towns = pa.table(
        {
            "vertex": [0, 1],
            "rank": pa.array([None, 2], pa.int64()),
            "open": pa.array([True, None]),
            "day": pa.array([1, None], pa.date32()),
        }
    )
    vertices = ws.Graph(pa.table({"source": [0], "destination": [2]}), vertices=towns).vertices
    assert vertices["rank"].to_pylist() == [None, 2, None]
    assert vertices["open"].to_pylist() == [True, None, None]
    assert [day and day.day for day in vertices["day"].to_pylist()] == [2, None, None]


def test_edges_on_a_device_are_those_of_the_host() -> None:
    with emulated():
        graph = ws.Graph.from_arrays(np.array([0, 1]), np.array([1, 2]))
        ws.bfs(graph, 0, engine="cuda")
        assert graph.edges.to_dict("list") == {"source": [0, 1], "destination": [1, 2]}
        assert graph.reverse().bfs(2, engine="cuda")["distance"].tolist() == [2, 1, 0]


def test_a_reversed_graph_is_that_of_reversed_edges() -> None:
    graph = ws.Graph(EDGES)
    turned = EDGES.rename(columns={"source": "destination", "destination": "source"})
    expected = ws.Graph(turned)
    reverse = graph.reverse()
    for function in (ws.pagerank, ws.hits, lambda g: ws.sssp(g, "c"), lambda g: g.degrees()):
        pd.testing.assert_frame_equal(function(reverse), function(expected))
    pd.testing.assert_frame_equal(reverse.edges, expected.edges[reverse.edges.columns])
    pd.testing.assert_frame_equal(reverse.reverse().edges, graph.edges)
    assert reverse.mask(lambda edges: edges["weight"] > 1).number_of_edges == 2
    reverse.close()
    assert ws.bfs(graph, "a")["distance"].dropna().tolist() == [0, 1, 1]
    undirected = ws.Graph(EDGES, directed=False)
    assert undirected.reverse() is undirected


def test_an_error_names_the_edge_of_the_reversed_graph() -> None:
    reverse = ws.Graph(EDGES.assign(weight=[1.0, 2.0, -5.0, 0.5])).reverse()
    with pytest.raises(ws.InputError, match="'c' to 'a'"):
        ws.sssp(reverse, "c")


@pytest.mark.parametrize("name", sorted(ALGORITHMS))
def test_every_function_is_a_method(name: str) -> None:
    if name in vars(view.GraphView):  # a graph's own, which returns a graph
        assert name == "subgraph"
    else:
        assert inspect.getattr_static(ws.Graph, name) is getattr(ws, name)


def test_methods_call_the_functions(graph: Any) -> None:
    pd.testing.assert_frame_equal(graph.pagerank(), ws.pagerank(graph))
    pd.testing.assert_frame_equal(graph.bfs("a"), ws.bfs(graph, "a"))
    pd.testing.assert_frame_equal(
        graph.run(ws.PageRank, max_iter=3).frame, ws.run(ws.PageRank, graph, max_iter=3).frame
    )
    assert graph.check(ws.SSSP, start="a")
    assert graph.explain(ws.SSSP, start="a").program == "SSSP"


def test_completion_lists_what_is_public(graph: Any) -> None:
    listed = [name for name in dir(graph) if not name.startswith("__")]
    assert {"pagerank", "run", "vertices", "reverse", "to_scipy"} <= set(listed)
    assert set(listed) <= {
        *PUBLIC,
        *ALGORITHMS,
        "run",
        "run_many",
        "check",
        "explain",
        "layout",
        "plot",
        "shortest_path",
    }
    for name in listed:
        assert getattr(type(graph), name, None) is not None or name in vars(graph), name


def test_names_of_other_libraries_lead_to_ours(graph: Any) -> None:
    for name, meant in OURS.items():
        assert not hasattr(ws, name), name
        words = " or ".join(f"ws.{word}" for word in meant.split(" or "))
        assert all(hasattr(ws, word) for word in meant.split(" or ")), (name, meant)
        with pytest.raises(AttributeError, match=re.escape(f"did you mean {words}?")):
            getattr(ws, name)
    for name, meant in OF_GRAPHS.items():
        assert meant in dir(graph), (name, meant)
        with pytest.raises(AttributeError, match=rf"did you mean graph\.{meant}"):
            getattr(graph, name)
    with pytest.raises(AttributeError, match=r"did you mean ws\.pagerank"):
        ws.pagernak  # noqa: B018
    with pytest.raises(AttributeError, match=r"no 'nothing_like_it'$"):
        ws.nothing_like_it  # noqa: B018
    with pytest.raises(AttributeError, match=r"did you mean graph\.number_of_vertices"):
        graph.number_of_vertexes  # noqa: B018


def test_arguments_of_other_libraries_lead_to_ours() -> None:
    for name, meant in (("src", "source"), ("edge_attr", "weight"), ("wieght", "weight")):
        with pytest.raises(ws.InputError, match=rf"Graph takes no {name}=.*did you mean.*{meant}"):
            ws.Graph(EDGES, **{name: "x"})


def test_the_signature_of_a_graph_is_real() -> None:
    assert list(inspect.signature(ws.Graph).parameters)[:5] == [
        "edges", "source", "destination", "weight", "directed",
    ]  # fmt: skip


def test_a_graph_is_copied_as_before(graph: Any) -> None:
    twin = copy.copy(graph)
    assert len(twin) == len(graph)
    with pytest.raises(ws.InputError, match=r"pickle graph\.edges"):
        pickle.dumps(graph)  # it holds a lock


# ------------------------------------------------------------------------------ other libraries


def dense(matrix: Any) -> Any:
    return matrix.toarray()


def test_the_matrix_is_that_of_the_edges(graph: Any) -> None:
    expected = np.zeros((5, 5))
    order = {vertex: place for place, vertex in enumerate("abcdx")}
    for source, destination, weight in EDGES.itertuples(index=False):
        expected[order[source], order[destination]] = weight
        if not graph.directed:
            expected[order[destination], order[source]] = weight
    matrix = graph.to_scipy()
    assert np.array_equal(dense(matrix), expected)
    again = ws.Graph.from_matrix(matrix, directed=graph.directed)
    assert again.number_of_edges == graph.number_of_edges


def test_a_matrix_without_weights_has_ones() -> None:
    edges = pd.DataFrame({"source": [0, 0, 2], "destination": [1, 1, 2]})
    assert dense(ws.Graph(edges).to_scipy()).tolist() == [[0, 2, 0], [0, 0, 0], [0, 0, 1]]
    empty = ws.Graph(edges[:0])
    assert empty.to_scipy().shape == (0, 0)


def test_the_networkx_graph_has_ids_and_attributes(graph: Any) -> None:
    made = graph.to_networkx()
    assert type(made) is (nx.DiGraph if graph.directed else nx.Graph)
    assert dict(made.nodes(data=True)) == {
        "a": {"people": 10, "name": "A"}, "b": {}, "c": {"people": 30}, "d": {},
        "x": {"people": 99, "name": "X"},
    }  # fmt: skip
    assert made.edges["a", "c"] == {"weight": 5.0}
    ranks = nx.pagerank(made, tol=1e-10)
    ours = dict(zip(*graph.pagerank(tol=1e-10).to_dict("list").values(), strict=True))
    assert ranks == pytest.approx(ours, abs=1e-6)


def test_parallel_edges_make_a_multigraph() -> None:
    edges = pd.DataFrame({"x": [0, 0], "y": [1, 1], "u": [2, 2], "v": [3, 3]})
    made = ws.Graph(edges, ["x", "y"], ["u", "v"]).to_networkx()
    assert type(made) is nx.MultiDiGraph
    assert list(made.edges()) == [((0, 1), (2, 3))] * 2


def test_the_igraph_graph_has_names(graph: Any) -> None:
    made = graph.to_igraph()
    assert isinstance(made, igraph.Graph)
    assert made.vs["name"] == ["a", "b", "c", "d", "x"]
    assert made.vs["vertex_name"] == ["A", None, None, None, "X"]
    assert made.vs["people"] == [10, None, 30, None, 99]
    assert made.is_directed() == graph.directed
    assert sorted(made.es["weight"]) == [0.5, 1.0, 2.0, 5.0]
    assert made.distances("d", "c", weights="weight")[0][0] == pytest.approx(3.5)


def test_pyg_and_cupy_get_arrays(graph: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """With stand-ins: their tensors are NumPy's arrays."""

    class Data(dict[str, Any]):
        def __init__(self, **parts: Any) -> None:
            super().__init__(parts)

    torch: Any = ModuleType("torch")
    torch.from_numpy = lambda array: array
    data: Any = ModuleType("torch_geometric.data")
    data.Data = Data
    for name, module in (("torch", torch), ("torch_geometric.data", data)):
        monkeypatch.setitem(sys.modules, name, module)
    made = graph.to_pyg()
    assert made["num_nodes"] == 5
    pairs = set(zip(*made["edge_index"].tolist(), strict=True))
    assert pairs >= {(0, 1), (1, 2), (0, 2), (3, 0)}
    assert len(pairs) == (4 if graph.directed else 8)
    assert made["edge_weight"].shape == made["edge_index"].shape[1:]
    assert "people" not in made  # it has nulls
    assert "name" not in made

    cupy: Any = ModuleType("cupy")
    cupy.asarray = np.asarray
    sparse: Any = ModuleType("cupyx.scipy.sparse")
    sparse.csr_matrix = lambda parts, shape: (*parts, shape)
    for name, module in (("cupy", cupy), ("cupyx.scipy.sparse", sparse)):
        monkeypatch.setitem(sys.modules, name, module)
    values, columns, offsets, shape = graph.to_cupy()
    assert shape == (5, 5)
    assert len(values) == len(columns) == offsets[-1]


@pytest.mark.parametrize("method", ["to_pyg", "to_cupy"])
def test_a_library_that_is_missing_is_named(graph: Any, method: str) -> None:
    with pytest.raises(ws.InputError, match=rf"{method}\(\) needs .*pip install"):
        getattr(graph, method)()


# ------------------------------------------------------------------------------ weights, programs


def test_no_weights_are_read_of_a_graph_that_has_them(graph: Any) -> None:
    plain = ws.Graph(EDGES.drop(columns="weight"), directed=graph.directed, vertices=TOWNS)
    for call in (
        lambda g: ws.sssp(g, "a", weight=None),
        lambda g: ws.pagerank(g, weight=None),
        lambda g: ws.louvain(g, weight=None)[0],
        lambda g: ws.run(ws.PageRank, g, weight_column=None).frame,
        lambda g: ws.minimum_spanning_forest(g, weight=None)[["source", "destination"]],
    ):
        pd.testing.assert_frame_equal(call(graph), call(plain))
    assert graph.weight == "weight"
    assert ws.sssp(graph, "a")["distance"].tolist()[2] == 3.0


def test_a_path_in_a_graph(graph: Any) -> None:
    assert ws.shortest_path(graph, "a", "c")["vertex"].tolist() == ["a", "b", "c"]
    by_hops = ws.shortest_path(EDGES.drop(columns="weight"), "a", "c")
    assert by_hops["vertex"].tolist() == ["a", "c"]
    assert ws.shortest_path(ws.bfs(graph, "a"), targets="c")["vertex"].tolist() == ["a", "c"]
    with pytest.raises(ws.InputError, match="takes result, start, targets by position"):
        ws.shortest_path(graph, "a", "b", "c")  # type: ignore[call-overload]


def test_programs_say_what_they_are() -> None:
    @ws.vertex_program
    class Reach:
        """How far a vertex is reached."""

        hops: ws.int64
        start = ws.vertex_set
        far = ws.parameter(ws.float64, default=2.5)

        def init(own):
            return 0 if own.start else 9

        def compute(src):
            return src.hops + 1

        combine = min

        def apply(old, gathered):
            return min(old.hops, gathered)

    text = pydoc.render_doc(Reach, renderer=pydoc.plaintext)
    for line in (
        "How far a vertex is reached.", "ws.run(Reach, graph, ...)", "start : list of ids",
        "far : float64, by default 2.5", "hops : int64",
    ):  # fmt: skip
        assert line in text
    with pytest.raises(TypeError, match=r"Reach is a program.*ws\.run\(Reach, graph\)"):
        Reach(EDGES)
    with pytest.raises(TypeError, match=r"ws\.run\(PageRank, graph\)"):
        ws.PageRank(EDGES)  # type: ignore[call-arg]
    for program in (ws.SSSP, ws.PageRank, ws.WidestPath, ws.Circuit):
        assert "Columns of the result" in pydoc.render_doc(program, renderer=pydoc.plaintext)


def test_mistaken_calls_say_what_to_write() -> None:
    with pytest.raises(ws.InputError, match="the program first, then the graph"):
        ws.run(EDGES, ws.PageRank)  # type: ignore[arg-type]
    with pytest.raises(ws.InputError, match="max_level=<DataFrame of 4 rows> must be"):
        ws.Louvain(EDGES)  # type: ignore[arg-type]
    with pytest.raises(ws.InputError, match="<DataFrame of 4 rows>"):
        ws.pagerank(EDGES, tol=EDGES)  # type: ignore[arg-type]


# ---------------------------------------------------------------------------------- results


@pytest.mark.parametrize("make", [lambda frame: frame, pl.from_pandas, pa.Table.from_pandas])
def test_a_result_is_read_in_any_library(make: Any) -> None:
    result = ws.run(ws.PageRank, make(EDGES))
    assert len(result.head()) == 4
    assert len(result.head(2)) == 2
    assert next(iter(result["vertex"])) is not None
    assert result[["vertex"]].shape == (4, 1)
    frames = result.to_pandas(), result.to_polars(), result.to_arrow()
    assert [type(frame) for frame in frames] == [pd.DataFrame, pl.DataFrame, pa.Table]
    for frame in frames:
        assert [str(value) for value in frame["vertex"]] == ["a", "b", "c", "d"]
    html = result._repr_html_()
    assert "converged" in html
    assert "pagerank" in html
    with pytest.raises(ws.InputError, match="needs cudf"):
        result.to_cudf()
