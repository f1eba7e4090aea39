"""The Graph contract: adjacency, values, policies, frames back, report, life cycle."""

import gc
import weakref

import networkx as nx
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import cugraph_ws.runtime.memory as memory
from cugraph_ws.algorithms.sssp import sssp
from cugraph_ws.errors import GraphMemoryError, InputError
from cugraph_ws.frames.base import VertexNumbers
from cugraph_ws.graph.arcs import Arcs
from cugraph_ws.graph.estimates import estimate_memory
from cugraph_ws.graph.graph import Graph, as_graph
from cugraph_ws.runtime.memory import available_memory, format_bytes

NUMBER = st.integers(0, 7)
EDGES = st.lists(st.tuples(NUMBER, NUMBER, st.integers(1, 9)), max_size=25)


def frame_of(edges, **more):
    columns = list(zip(*edges, strict=True)) or [[], [], []]
    frame = pd.DataFrame(
        {
            "source": np.array(columns[0], np.int64),
            "destination": np.array(columns[1], np.int64),
            "w": np.array(columns[2], np.float64),
        }
    )
    return frame.assign(**more)


def dense(graph, order):
    """The sum of weights from row to column."""
    adjacency = getattr(graph, order)
    n = graph.number_of_vertices
    parts = (graph.edge_values("w", order), adjacency.indices, adjacency.offsets)
    matrix = sp.csr_matrix(parts, (n, n)).toarray()
    return matrix.T if order == "csc" else matrix


@settings(deadline=None, max_examples=40)
@given(edges=EDGES)
def test_directed_adjacency_agrees_with_scipy(edges):
    graph = Graph(frame_of(edges), weight="w", vertices=pd.DataFrame({"vertex": range(8)}))
    expected = np.zeros((8, 8))
    for source, destination, weight in edges:
        expected[source, destination] += weight
    assert np.array_equal(dense(graph, "csc"), expected)
    assert np.array_equal(dense(graph, "csr"), expected)
    for adjacency in (graph.csc, graph.csr):
        assert adjacency.offsets.dtype == np.int64
        assert adjacency.indices.dtype == np.int32
        rows = np.split(adjacency.indices, adjacency.offsets[1:-1])
        assert all((np.diff(row) >= 0).all() for row in rows)
    assert graph.in_degrees.tolist() == [sum(e[1] == v for e in edges) for v in range(8)]
    assert graph.out_degrees.tolist() == [sum(e[0] == v for e in edges) for v in range(8)]
    assert graph.number_of_edges == graph.csc.number_of_arcs == len(edges)


@settings(deadline=None, max_examples=40)
@given(edges=EDGES)
def test_undirected_adjacency_has_both_directions(edges):
    graph = Graph(
        frame_of(edges), weight="w", directed=False, vertices=pd.DataFrame({"vertex": range(8)})
    )
    expected = np.zeros((8, 8))
    for source, destination, weight in edges:
        expected[source, destination] += weight
        if source != destination:
            expected[destination, source] += weight
    assert graph.csr is graph.csc
    assert np.array_equal(dense(graph, "csc"), expected)
    assert graph.edge_values("w", "csr") is graph.edge_values("w", "csc")
    assert graph.number_of_edges == len(edges)
    back = graph.edge_frame()
    assert sorted(zip(back["source"], back["destination"], back["w"], strict=True)) == sorted(
        (min(s, d), max(s, d), w) for s, d, w in edges
    )


@settings(deadline=None, max_examples=25)
@given(edges=EDGES, seed=st.integers(0, 99), directed=st.booleans())
def test_order_of_edges_and_names_of_vertices_do_not_matter(edges, seed, directed):
    rng = np.random.default_rng(seed)
    plain = frame_of(edges)
    names = np.sort(rng.choice(10**12, 8, replace=False))  # ascending, so ranks stay
    renamed = plain.sample(frac=1, random_state=seed)
    for end in ("source", "destination"):
        renamed[end] = names[renamed[end].to_numpy()]
    one, two = (
        Graph(frame, weight="w", directed=directed, duplicates="sum") for frame in (plain, renamed)
    )
    assert one.csc.indices.tolist() == two.csc.indices.tolist()
    assert one.csc.offsets.tolist() == two.csc.offsets.tolist()
    assert one.edge_values("w").tolist() == two.edge_values("w").tolist()
    assert one.csr.indices.tolist() == two.csr.indices.tolist()
    if edges:
        back = two.vertex_frame({})["vertex"].tolist()
        assert back == [int(names[v]) for v in one.vertex_frame({})["vertex"]]


@settings(deadline=None, max_examples=40)
@given(
    edges=EDGES,
    directed=st.booleans(),
    policy=st.sampled_from(["sum", "min", "max", "mean", "first"]),
)
def test_duplicates_are_merged_as_pandas_groups_them(edges, directed, policy):
    frame = frame_of(edges)
    graph = Graph(frame, weight="w", directed=directed, duplicates=policy)
    grouped = frame.copy()
    if not directed:
        ends = np.sort(frame[["source", "destination"]].to_numpy(), axis=1)
        grouped["source"], grouped["destination"] = ends[:, 0], ends[:, 1]
    expected = grouped.groupby(["destination", "source"])["w"].agg(policy).reset_index()
    back = graph.edge_frame()
    assert back["source"].tolist() == expected["source"].tolist()
    assert back["destination"].tolist() == expected["destination"].tolist()
    assert np.allclose(back["w"], expected["w"], rtol=1e-15)
    assert graph.number_of_edges == len(expected)
    assert graph.report.duplicates == len(edges) - len(expected)
    merged = graph.csr
    assert np.array_equal(dense(graph, "csc"), dense(graph, "csr"))
    assert graph.out_degrees.tolist() == merged.degrees.tolist()


@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize(
    ("policy", "weights", "kind", "value"),
    [
        ("sum", [1e308, 1e308], "float64", "inf"),
        ("sum", [3e38, 3e38], "float32", "inf"),
        ("sum", [-1e308, -1e308], "float64", "-inf"),
        ("mean", [1e308, 1e308], "float64", "inf"),
    ],
)
def test_weights_that_are_merged_to_no_number_are_refused(policy, weights, kind, value, directed):
    frame = pd.DataFrame(
        {"source": ["a", "b", "b"], "destination": ["b", "c", "c"], "w": [1.0, *weights]}
    ).astype({"w": kind})
    edge = "'b' to 'c'" if directed else "'c' to 'b'"
    with pytest.raises(InputError, match=rf"'{policy}'.*'w' on the edges {edge} come to {value};"):
        Graph(frame, weight="w", directed=directed, duplicates=policy)
    assert Graph(frame, weight="w", directed=directed, duplicates="max").number_of_edges == 2
    infinite = frame.assign(w=[1.0, np.inf, np.inf])  # attributes may be so, and stay so
    kept = Graph(infinite, attributes="w", directed=directed, duplicates="sum", weight=None)
    assert sorted(set(kept.edge_values("w").tolist())) == [1.0, np.inf]


def test_unweighted_duplicates_are_dropped():
    graph = Graph(frame_of([(0, 1, 1), (0, 1, 1), (1, 0, 1)]), duplicates="first", directed=False)
    assert graph.number_of_edges == 1
    assert graph.csc.indices.tolist() == [1, 0]


def test_duplicates_error_names_an_edge():
    edges = [(5, 9, 1), (9, 5, 1), (5, 9, 1)]
    with pytest.raises(InputError, match=r"1 edges repeat another, such as 5 to 9; choose"):
        Graph(frame_of(edges), duplicates="error")
    assert Graph(frame_of(edges[:2]), duplicates="error").number_of_edges == 2
    with pytest.raises(InputError, match="repeat another"):
        Graph(frame_of(edges[:2]), duplicates="error", directed=False)


@pytest.mark.parametrize("directed", [True, False])
def test_self_loops(directed):
    frame = frame_of([(3, 3, 1), (3, 5, 2), (5, 5, 3), (5, 3, 4)])
    kept = Graph(frame, weight="w", directed=directed)
    assert (kept.number_of_edges, kept.report.self_loops) == (4, 2)
    dropped = Graph(frame, weight="w", directed=directed, self_loops="drop")
    assert (dropped.number_of_edges, dropped.report.self_loops) == (2, 2)
    assert sorted(dropped.edge_frame()["w"]) == [2, 4]
    with pytest.raises(InputError, match=r"row 0 joins 3 to itself, and 1 more"):
        Graph(frame, directed=directed, self_loops="error")
    assert Graph(frame[1:2], self_loops="error").report.self_loops == 0


def test_a_dropped_self_loop_leaves_its_vertex():
    graph = Graph(frame_of([(7, 7, 1), (1, 2, 1)]), self_loops="drop")
    assert graph.number_of_vertices == 3
    assert graph.report.isolated == 1


@pytest.mark.parametrize(
    ("dtype", "kept"),
    [
        ("int8", np.int64),
        ("uint16", np.int64),
        ("int64", np.int64),
        ("uint64", np.int64),
        ("bool", np.int64),
        ("float32", np.float32),
        ("float64", np.float64),
        ("Int32", np.int64),
        ("float[pyarrow]", np.float32),
    ],
)
def test_values_widen(dtype, kept):
    frame = frame_of([(0, 1, 1), (1, 2, 0)])
    frame["w"] = frame["w"].astype(dtype)
    graph = Graph(frame, weight="w")
    assert graph.edge_values("w").dtype == kept
    assert graph.edge_values("w").tolist() == [1, 0]


def test_float16_widens_to_float32():
    table = pa.table(
        {"source": [0], "destination": [1], "w": pa.array(np.array([0.5], np.float16))}
    )
    assert Graph(table, weight="w").edge_values("w").dtype == np.float32


def test_attributes_follow_their_edges():
    frame = frame_of([(2, 0, 5), (1, 0, 6), (0, 2, 7)], a=[10, 20, 30], b=[0.5, 1.5, np.inf])
    graph = Graph(frame, weight="w", attributes=["a", "b", "w"])
    assert graph.edge_attributes == ("w", "a", "b")
    assert graph.edge_values("a").tolist() == [20, 10, 30]
    assert graph.edge_values("b", "csr").tolist() == [np.inf, 1.5, 0.5]
    assert graph.edge_values("b", "csr") is graph.edge_values("b", "csr")
    back = graph.edge_frame(np.array([True, False, True]))
    assert back.columns.tolist() == ["source", "destination", "w", "a", "b"]
    assert back["a"].tolist() == [20, 30]
    single = Graph(frame, attributes="a")
    assert single.edge_attributes == ("a",)
    with pytest.raises(
        InputError, match=r"no edge column 'w'; it has: 'a'; name the column in Graph"
    ):
        single.edge_values("w")
    with pytest.raises(InputError, match="order='coo': choose one of 'csc', 'csr'"):
        single.edge_values("a", "coo")


def test_undirected_edges_are_kept_once():
    graph = Graph(frame_of([(0, 1, 5), (2, 1, 6), (2, 2, 7)]), weight="w", directed=False)
    keep = graph.csc.rows() > 0  # all arcs into 1 and 2
    back = graph.edge_frame(keep)
    assert list(zip(back["source"], back["destination"], back["w"], strict=True)) == [
        (0, 1, 5),
        (1, 2, 6),
        (2, 2, 7),
    ]


def test_out_degrees_without_the_csr():
    frame = frame_of([(0, 1, 1), (0, 2, 1), (2, 0, 1)])
    for touch in ([], ["csc"], ["csr"]):
        graph = Graph(frame)
        for name in touch:
            getattr(graph, name)
        assert graph.out_degrees.tolist() == [2, 0, 1]
        assert graph.out_degrees is graph.out_degrees
    merged = Graph(frame, duplicates="first")
    assert merged.out_degrees.tolist() == [2, 0, 1]
    doubled = Graph(pd.concat([frame, frame]), duplicates="first")
    assert doubled.out_degrees.tolist() == [2, 0, 1]


def test_changing_the_frame_later_changes_nothing():
    frame = frame_of([(0, 1, 1), (1, 2, 2)])
    vertices = pd.DataFrame({"vertex": [0, 1, 2], "x": [1, 2, 3]})
    graph = Graph(frame, weight="w", vertices=vertices)
    for one in (frame, vertices):
        for name in one:
            one[name].array._ndarray.setflags(write=True)
            one[name].array._ndarray[:] = 7
    assert frame["source"].tolist() == [7, 7]
    assert graph.csc.indices.tolist() == [0, 1]
    assert graph.edge_values("w").tolist() == [1, 2]
    assert graph.vertex_values("x", "x", np.int64)[0].tolist() == [1, 2, 3]


# vertices= and vertex_values


@pytest.mark.parametrize(
    "vertices",
    [
        pd.DataFrame({"vertex": ["d", "a"]}),
        pd.DataFrame({"source": ["d", "a"]}),
        pl.DataFrame({"anything": ["d", "a"]}),
        pa.table({"x": [1, 2], "vertex": ["d", "a"]}),
    ],
    ids=["vertex", "source", "one-column", "other-kind"],
)
def test_vertices_add_isolated_ones(vertices):
    graph = Graph(pd.DataFrame({"source": ["a"], "destination": ["b"]}), vertices=vertices)
    assert graph.vertex_frame({})["vertex"].tolist() == ["a", "b", "d"]
    assert graph.report.isolated == 1
    assert graph.csc.degrees.tolist() == [0, 1, 0]


def test_vertices_alone():
    empty = pa.table({"source": pa.array([], pa.int32()), "destination": pa.array([], pa.int32())})
    graph = Graph(empty, vertices=pa.table({"vertex": pa.array([5, 3], pa.int32())}))
    assert graph.vertex_frame({}).column("vertex").to_pylist() == [3, 5]
    untyped = pd.DataFrame({"source": [], "destination": []}, dtype=object)
    graph = Graph(untyped, vertices=pd.DataFrame({"vertex": [5, 3]}))
    assert graph.vertex_frame({})["vertex"].tolist() == [3, 5]
    graph = Graph(untyped, vertices=pd.DataFrame({"vertex": ["b", "a"]}))
    assert graph.vertex_frame({})["vertex"].tolist() == ["a", "b"]


@pytest.fixture
def three():
    """Vertices 1, 5, 9, with the attributes x (of all), part (of two) and name (text)."""
    return Graph(
        frame_of([(9, 5, 1), (5, 1, 1)]),
        vertices=pd.DataFrame({"vertex": [9, 1, 5], "x": [0.9, 0.1, 0.5], "name": list("abc")}),
    )


@pytest.mark.parametrize(
    "data",
    [
        pd.DataFrame({"vertex": [9, 1, 5], "anything": [0.9, 0.1, 0.5]}),
        pl.DataFrame({"source": [9, 1, 5], "values": [0.9, 0.1, 0.5]}),
        {9: 0.9, 1: 0.1, 5: 0.5},
        "x",
    ],
    ids=["frame", "polars", "dict", "attribute"],
)
def test_vertex_values_are_aligned(three, data):
    values, given = three.vertex_values(data, "nstart", np.float64)
    assert values.tolist() == [0.1, 0.5, 0.9]
    assert given.all()


def test_vertex_values_of_some(three):
    values, given = three.vertex_values({5: 2}, "fixed", np.float32, default=7)
    assert values.tolist() == [7, 2, 7]
    assert values.dtype == np.float32
    assert given.tolist() == [False, True, False]
    with pytest.raises(InputError, match=r"fixed: vertex 1 has no value, nor have 1 others"):
        three.vertex_values({5: 2}, "fixed", np.float32)
    values, given = three.vertex_values({}, "fixed", np.float32, default=7)
    assert values.tolist() == [7, 7, 7]
    assert not given.any()


def test_vertex_values_choose_a_column(three):
    frame = pd.DataFrame({"vertex": [9, 1, 5], "a": [1, 2, 3], "b": [True, False, True]})
    with pytest.raises(InputError, match=r"one column of values is needed besides 'vertex', not 2"):
        three.vertex_values(frame, "left", bool)
    assert three.vertex_values(frame, "left", bool, column="b")[0].tolist() == [False, True, True]
    with pytest.raises(InputError, match=r"left='c'.*its columns are 'vertex', 'a', 'b'"):
        three.vertex_values(frame, "left", bool, column="c")


@pytest.mark.parametrize("scalar", [3, 3.0, np.float32(3), np.int8(3), np.uint64(3)])
def test_vertex_values_of_a_scalar(three, scalar):
    values, given = three.vertex_values(scalar, "x", np.int64)
    assert values.tolist() == [3, 3, 3]
    assert given.all()


@pytest.mark.parametrize(
    ("data", "dtype", "message"),
    [
        ("y", float, r"no such vertex attribute; it has: 'x', 'name'"),
        ("name", float, r"column 'name' \(vertices\) holds .*string; numbers are needed"),
        ({1: 1.0, 7: 2.0}, float, r"7 is not a vertex of the graph;"),
        ({7: 1.0, 8: 2.0}, float, r"7 is not a vertex of the graph, and 1 more"),
        ({1: None}, float, r"holds null"),
        ({1: None, 5: 2.0}, float, r"row 0 is null"),
        ({1: np.nan}, float, r"row 0 is nan"),
        ({1: "a"}, float, r"numbers are needed"),
        ({1: 0.5}, int, r"row 0 is 0.5, which is not a value of int64"),
        ({1: -1}, np.uint64, r"row 0 is -1, which is not a value of uint64"),
        ({1: 2**63}, int, r"is not a value of int64|too large"),
        ({1: 1e300}, np.float32, r"row 0 is 1e\+300, which is not a value of float32"),
        ({1: 2}, bool, r"row 0 is 2, which is not a value of bool"),
        (np.nan, float, r"row 0 is nan"),
        (1j, float, r"not complex"),
        ([1, 2, 3], float, r"not list"),
        (-(2**63) - 1, float, r"prior: values of one kind are needed"),
        (np.datetime64("2024-01-01", "s"), float, r"numbers are needed"),
        (pd.DataFrame({"vertex": [1, 1], "v": [1, 2]}), float, r"vertex 1 is given 2 times"),
        (pd.DataFrame({"id": [1], "v": [1]}), float, r"must be in 'vertex' or 'source'.*'id', 'v'"),
        (
            pd.DataFrame({"vertex": ["a"], "v": [1]}),
            float,
            r"holds text .* graph's ids are integer",
        ),
        (pd.DataFrame({"vertex": [1.0], "v": [1]}), float, r"not exact ids"),
    ],
)
def test_vertex_values_that_are_refused(three, data, dtype, message):
    with pytest.raises(InputError, match=message):
        three.vertex_values(data, "prior", dtype, default=0)


def test_infinite_vertex_values_are_kept(three):
    values, _ = three.vertex_values({1: np.inf}, "x", np.float32, default=0)
    assert values[0] == np.inf


def test_an_attribute_that_cannot_be_read_is_an_error_only_when_asked_for():
    mixed = pd.DataFrame({"vertex": [0, 1], "odd": [1, "a"]})
    graph = Graph(frame_of([(0, 1, 1)]), vertices=mixed)
    with pytest.raises(InputError, match="column 'odd'"):
        graph.vertex_values("odd", "x", float)


def test_no_attributes():
    with pytest.raises(InputError, match="it has: none"):
        Graph(frame_of([(0, 1, 1)])).vertex_values("x", "x", float)


@pytest.mark.parametrize(
    "values",
    [
        [9, 1],
        (9, 1),
        np.array([9, 1]),
        pd.Series([9, 1]),
        pl.Series([9, 1]),
        pa.array([9, 1]),
        pd.DataFrame({"vertex": [9, 1]}),
        pl.DataFrame({"any": [9, 1]}),
        pa.table({"v": [9, 1]}),
    ],
    ids=lambda values: type(values).__module__ + "." + type(values).__name__,
)
def test_numbers_of_any_sequence(three, values):
    assert three.numbers(values, "start").tolist() == [2, 0]


@pytest.mark.parametrize("bad", [2, -1, 10**30, "9", 9.0, None, True, (9,), [9]])
def test_numbers_of_no_vertex(three, bad):
    with pytest.raises(InputError, match="start"):
        three.number(bad, "start")


# frames and life cycle


def test_empty_frames_give_empty_results_of_the_right_types():
    frame = pd.DataFrame({"source": [], "destination": []}, dtype="uint16").assign(w=np.empty(0))
    for directed in (True, False):
        graph = Graph(frame, weight="w", directed=directed, duplicates="sum", self_loops="drop")
        out = graph.vertex_frame({"p": VertexNumbers(np.empty(0, np.int64)), "x": np.empty(0)})
        assert [str(dtype) for dtype in out.dtypes] == ["uint16", "uint16", "float64"]
        assert len(out) == len(graph.edge_frame()) == graph.number_of_edges == 0
        assert graph.csr.offsets.tolist() == [0]
        assert graph.edge_values("w", "csr").dtype == np.float64
        assert graph.report.isolated == 0


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame({"source": [], "destination": []}, dtype=object),
        pd.DataFrame({"source": [], "destination": []}, dtype="str"),
        pd.DataFrame({"source": [], "destination": []}, dtype="datetime64[ns]"),
        pd.DataFrame({"source": [], "destination": []}, dtype="category"),
        pl.DataFrame({"source": [], "destination": []}),
        pl.DataFrame({"source": [], "destination": []}, schema_overrides={"source": pl.String}),
        pa.table({"source": pa.nulls(0), "destination": pa.nulls(0)}),
        pa.table({"source": pa.array([], pa.date32()), "destination": pa.array([], pa.date32())}),
    ],
    ids=lambda frame: str(
        frame["source"].type if isinstance(frame, pa.Table) else frame["source"].dtype
    ),
)
def test_empty_frames_of_any_type(frame):
    graph = Graph(frame)
    out = graph.vertex_frame({})
    assert type(out) is type(frame)
    assert len(out) == 0
    name = "type" if isinstance(frame, pa.Table) else "dtype"
    assert getattr(out["vertex"], name) == getattr(frame["source"], name)
    with pytest.raises(InputError, match="start"):
        graph.number("a", "start")


def test_describe_names_a_vertex_as_errors_do():
    assert Graph(pa.table({"source": ["a"], "destination": ["b"]})).describe(1) == "'b'"
    several = Graph(pa.table({"a": ["x"], "b": [1], "c": ["y"], "d": [0]}), ["a", "b"], ["c", "d"])
    assert several.describe(1) == "('y', 0)"


def test_one_edge():
    graph = Graph(frame_of([(4, 4, 2)]), weight="w", directed=False)
    assert graph.csc.indices.tolist() == [0]
    assert graph.number_of_edges == graph.number_of_vertices == 1


def test_report():
    graph = Graph(
        frame_of([(1, 2, 1), (1, 2, 1), (2, 1, 1), (2, 2, 1)]),
        vertices=pd.DataFrame({"vertex": [7]}),
    )
    report = graph.report
    assert (report.vertices, report.edges, report.isolated) == (3, 4, 1)
    assert (report.duplicates, report.self_loops, report.renumbered) == (1, 1, "compacted")
    before = report.bytes
    assert str(report) == (
        "3 vertices (1 isolated), 4 edges (1 duplicates, 1 self-loops), "
        f"renumbered: compacted, {before} B"
    )
    graph.csr  # noqa: B018 - reading it builds it
    assert graph.report.bytes == before + graph.csr.nbytes
    undirected = Graph(frame_of([(1, 2, 1), (2, 1, 1), (2, 2, 1), (2, 2, 1)]), directed=False)
    assert (undirected.report.duplicates, undirected.report.self_loops) == (2, 2)


@pytest.mark.parametrize("directed", [True, False])
def test_closed_graphs_are_refused(directed):
    with Graph(frame_of([(0, 1, 1)]), weight="w", directed=directed) as graph:
        assert "1 edges" in repr(graph)
        held = weakref.ref(graph.csc)
    gc.collect()
    assert held() is None
    assert repr(graph) == "<Graph, closed>"
    for use in (
        lambda: graph.csc,
        lambda: graph.csr,
        lambda: graph.number_of_edges,
        lambda: graph.number_of_vertices,
        lambda: graph.out_degrees,
        lambda: graph.in_degrees,
        lambda: graph.report,
        lambda: graph.edge_values("w"),
        lambda: graph.number(0, "start"),
        lambda: graph.numbers([0], "start"),
        lambda: graph.vertex_values(1, "x", float),
        lambda: graph.vertex_frame({}),
        lambda: graph.frame_like({}),
        graph.edge_frame,
        graph.__enter__,
    ):
        with pytest.raises(InputError, match="the graph is closed"):
            use()
    graph.close()


class Tracked(np.ndarray):
    """An array that can be weakly referenced."""


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow"])
def test_consume_takes_the_columns(kind):
    frame = frame_of([(0, 1, 1), (1, 2, 2)], other=[1, 2])
    if kind != "pandas":
        frame = pl.from_pandas(frame)
    if kind == "pyarrow":
        frame = frame.to_arrow()
    graph = Graph(frame, weight="w", consume=True)
    left = frame.column_names if kind == "pyarrow" else list(frame.columns)
    assert left == (["source", "destination", "w", "other"] if kind == "pyarrow" else ["other"])
    assert graph.edge_values("w").tolist() == [1, 2]
    assert type(graph.edge_frame()) is type(frame)


def test_consume_frees_the_columns_memory():
    arrays = [np.array(values).view(Tracked) for values in ([0, 1], [1, 2])]
    held = [weakref.ref(array) for array in arrays]
    frame = pd.DataFrame(dict(zip(("source", "destination"), arrays, strict=True)), copy=False)
    del arrays
    gc.collect()
    alive = [one() is not None for one in held]
    graph = Graph(frame, consume=True)
    gc.collect()
    assert [one() for one in held] == [None, None], f"before: {alive}"
    assert graph.number_of_edges == 2


def test_a_refused_frame_is_not_consumed():
    frame = frame_of([(0, 1, np.nan)])
    with pytest.raises(InputError):
        Graph(frame, weight="w", consume=True)
    assert frame.columns.tolist() == ["source", "destination", "w"]


def test_as_graph():
    frame = frame_of([(0, 1, 1)]).rename(columns={"source": "a", "destination": "b"})
    graph = as_graph(frame, source="a", destination="b", weight="w", attributes=["w"])
    assert graph.weight == "w"
    assert as_graph(graph) is graph
    assert as_graph(graph, weight="w") is graph
    with pytest.raises(InputError, match=r"weight='x': the graph was built with weight='w'"):
        as_graph(graph, weight="x")
    with pytest.raises(InputError, match=r"directed=False: the graph was built directed"):
        as_graph(graph, directed=False)
    undirected = as_graph(frame, source="a", destination="b", directed=False)
    assert not undirected.directed
    assert as_graph(undirected) is undirected


def test_a_real_graph_against_networkx():
    karate = nx.karate_club_graph()
    frame = nx.to_pandas_edgelist(karate)
    graph = Graph(frame, destination="target", weight="weight", directed=False)
    assert graph.report.renumbered == "no"
    assert graph.in_degrees.tolist() == [degree for _, degree in karate.degree()]
    assert graph.number_of_edges == karate.number_of_edges()


def test_two_threads_may_ask_at_once():
    from concurrent.futures import ThreadPoolExecutor

    rng = np.random.default_rng(0)
    graph = Graph(
        pd.DataFrame(rng.integers(0, 1000, (20_000, 2)), columns=["source", "destination"])
    )
    with ThreadPoolExecutor(4) as pool:
        got = list(pool.map(lambda name: getattr(graph, name), ["csc", "csr"] * 4))
    assert all(one is graph.csc or one is graph.csr for one in got)


# memory


def test_estimate_from_a_frame_and_from_numbers():
    frame = frame_of([(0, 1, 1)] * 1000)
    assert estimate_memory(frame) == estimate_memory(number_of_edges=1000, number_of_vertices=2)
    small = estimate_memory(number_of_edges=1000, number_of_vertices=10)
    assert small.csc == small.csr == 4000 + 88
    assert small.input == 16_000
    undirected = estimate_memory(number_of_edges=1000, number_of_vertices=10, directed=False)
    assert (undirected.csc, undirected.csr) == (8000 + 88, 0)
    more = estimate_memory(number_of_edges=1000, weighted=True, attributes=1, dense=False)
    assert more.values == 16_000
    assert more.peak > small.peak
    assert "peak" in str(more)
    wide = estimate_memory(number_of_edges=10, number_of_vertices=2**31)
    assert wide.csc == 80 + 8 * (2**31 + 1)


def test_the_estimate_covers_what_a_graph_holds():
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(rng.integers(0, 500, (5000, 2)), columns=["source", "destination"])
    graph = Graph(frame.assign(w=1.0), weight="w")
    graph.edge_values("w", "csr")
    graph.csr  # noqa: B018 - reading it builds it
    told = estimate_memory(frame, number_of_vertices=graph.number_of_vertices, weighted=True)
    held = graph.report.bytes
    assert held <= told.csc + told.csr + 2 * told.values + told.numbering


@pytest.mark.parametrize(
    "wrong", [{}, {"number_of_edges": -1}, {"number_of_edges": 1, "attributes": -1}]
)
def test_wrong_arguments_of_the_estimate(wrong):
    with pytest.raises(InputError, match=r"give|must be a whole number, 0 or more"):
        estimate_memory(**wrong)


def test_a_graph_that_does_not_fit_is_refused_before_it_is_built(monkeypatch):
    frame = frame_of([(0, 1, 1)] * 1000)
    monkeypatch.setenv("CUGRAPH_WS_MEMORY_LIMIT", "5000")
    assert available_memory() == 5000
    with pytest.raises(GraphMemoryError, match=r"KiB while it is built and 4\.9 KiB are available"):
        Graph(frame, weight="w", consume=True)
    assert list(frame.columns) == ["source", "destination", "w"]
    monkeypatch.setenv("CUGRAPH_WS_MEMORY_LIMIT", "1000000")
    assert Graph(frame, weight="w").number_of_edges == 1000


def test_many_vertices_are_refused_once_they_are_counted(monkeypatch):
    frame = pd.DataFrame({"source": np.arange(1000), "destination": 0})
    monkeypatch.setenv("CUGRAPH_WS_MEMORY_LIMIT", "20000")
    with pytest.raises(GraphMemoryError, match="consume=True"):
        Graph(frame)
    few = pd.DataFrame({"source": np.arange(1000) % 3, "destination": 0})
    assert Graph(few).number_of_vertices == 3


def test_the_limit_of_a_container_counts(monkeypatch, tmp_path):
    monkeypatch.delenv("CUGRAPH_WS_MEMORY_LIMIT", raising=False)
    monkeypatch.setattr(memory, "_CGROUP", tmp_path)
    whole = available_memory()
    assert whole > 1 << 20
    (tmp_path / "memory.max").write_text("5000\n")
    (tmp_path / "memory.current").write_text("3000\n")
    assert available_memory() == 2000
    (tmp_path / "memory.current").write_text("9000\n")
    assert available_memory() == 0
    (tmp_path / "memory.max").write_text("max\n")
    assert available_memory() > 1 << 20


def test_bytes_for_people():
    shown = [format_bytes(size) for size in (0, 1023, 1024, 1.5 * 2**20, 2**30, 2**40, 2**50)]
    assert shown == ["0 B", "1023 B", "1.0 KiB", "1.5 MiB", "1.0 GiB", "1.0 TiB", "1024.0 TiB"]


def test_extreme_edge_values_are_looked_for_once(monkeypatch):
    """Every run with weights asks for both."""
    looked = []
    extreme = Arcs.extreme

    def noted(self, name, *, least):
        looked.append((name, least))
        return extreme(self, name, least=least)

    monkeypatch.setattr(Arcs, "extreme", noted)
    frame = pd.DataFrame({"source": [0, 1], "destination": [1, 2], "w": [2.0, 5.0]})
    with Graph(frame, weight="w") as graph:
        for _ in range(2):
            sssp(graph, 0)
        assert graph.least_edge_value("w") == (2.0, 0)
        assert graph.greatest_edge_value("w") == (5.0, 1)
    assert sorted(looked) == [("w", False), ("w", True)]


@pytest.mark.parametrize("name", ["length", 7, ["weight"]])
def test_sums_and_values_of_a_column_that_the_graph_did_not_keep(name):
    frame = pd.DataFrame({"source": [0, 1], "destination": [1, 2], "weight": [2.0, 3.0]})
    with Graph(frame, weight="weight") as graph:
        for ask in (
            lambda: graph.weight_sums(name, incoming=True),
            lambda: graph.edge_values(name),
        ):
            with pytest.raises(InputError, match=r"has no edge column .*it has: 'weight'"):
                ask()
        assert graph.weight_sums("weight", incoming=True).tolist() == [0.0, 2.0, 3.0]
