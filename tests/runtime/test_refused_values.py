"""Values that no argument may be: nested without an end, masked, infinite, of too many digits."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import cugraph_ws as ws
from cugraph_ws.arguments import shown
from cugraph_ws.frames.base import Column
from cugraph_ws.frames.values import read_numbers
from cugraph_ws.graph.generators import rmat

EDGES = pd.DataFrame({"source": [0, 1], "destination": [1, 2], "weight": [0.5, 0.25]})


def lists_without_an_end():
    """Return a list that contains itself, and one of 100,000 levels."""
    itself, deep = [], []
    itself.append(itself)
    for _ in range(100_000):
        deep = [deep]
    return itself, deep


TWO_COLUMNS = pd.DataFrame({"a": [0, 1], "b": [0, 0], "c": [1, 2], "d": [0, 0]})


@pytest.mark.parametrize("nested", lists_without_an_end(), ids=["itself", "deep"])
@pytest.mark.parametrize(
    "call",
    [
        lambda r: ws.bfs(EDGES, r),
        lambda r: ws.bfs(TWO_COLUMNS, [(r, 0)], source=["a", "b"], destination=["c", "d"]),
        lambda r: ws.bfs(TWO_COLUMNS, r, source=["a", "b"], destination=["c", "d"]),
        lambda r: ws.multi_source_bfs(EDGES, [0, r]),
        lambda r: ws.personalized_pagerank(EDGES, r),
        lambda r: ws.pagerank(EDGES, personalization={0: r}),
        lambda r: ws.heat(EDGES, pd.DataFrame({"vertex": [0], "x": [r]})),
        lambda r: ws.heat(EDGES, {0: r}),
        lambda r: ws.modularity(EDGES, {0: r, 1: r, 2: r}),
        lambda r: ws.modularity(EDGES, pd.DataFrame({"vertex": [0, 1, 2], "x": [r, r, r]})),
        lambda r: ws.jaccard(EDGES, pd.DataFrame({"first": [r], "second": [0]})),
        lambda r: ws.ego_graph(EDGES, r),
        lambda r: ws.subgraph(EDGES, r),
        lambda r: ws.closeness_centrality(EDGES, vertices=r),
        lambda r: ws.shortest_path(ws.bfs(EDGES, 0), r),
        lambda r: ws.Graph.from_arrays(r, [0]),
        lambda r: ws.Graph(EDGES).mask(r),
        lambda r: ws.Graph(pd.DataFrame({"source": [r], "destination": [0]})),
        lambda r: ws.Graph(EDGES, vertices=pd.DataFrame({"vertex": [r]})),
        lambda r: ws.Graph(EDGES, vertices=r),
        lambda r: ws.Graph(EDGES, source=r),
        lambda r: ws.belief_propagation(EDGES, EDGES, r),
        lambda r: ws.run(ws.BFS, EDGES, start=0, engine=r),
        lambda r: ws.run(ws.BFS, EDGES, start=0, every=r),
    ],
)
def test_lists_nested_without_an_end_are_refused(call, nested):
    with pytest.raises(ws.InputError):
        call(nested)


def test_the_error_of_a_nested_value_names_the_argument():
    with pytest.raises(
        ws.InputError, match=r"^start: .*a list among them, and each must be a sing"
    ):
        ws.bfs(EDGES, [[0, 1]])


@pytest.mark.parametrize(
    "call",
    [
        lambda m: ws.bfs(EDGES, m([0, 1])),
        lambda m: ws.multi_source_bfs(EDGES, m([0, 1])),
        lambda m: ws.personalized_pagerank(EDGES, m([0, 1])),
        lambda m: ws.Graph.from_arrays(m([0, 1]), np.array([1, 2])),
        lambda m: ws.Graph.from_arrays([0, 1], [1, 2], m([0.5, 1.0])),
        lambda m: ws.Graph(EDGES).mask(m([True, False])),
        lambda m: ws.run(ws.Heat, EDGES, temperature=m([1.0, 2.0, 3.0])),
        lambda m: ws.run(ws.BFS, EDGES, start=m([True, False, False])),
        lambda m: ws.run(ws.PageRank, EDGES, nstart=m([1.0, 2.0, 3.0])),
        lambda m: ws.belief_propagation(
            EDGES,
            pd.DataFrame({"vertex": [0, 1, 2], "x": 1.0, "y": 2.0}),
            m([[2.0, 1.0], [1.0, 2.0]]),
        ),
    ],
)
def test_masked_entries_are_refused_and_an_empty_mask_is_no_mask(call):
    def with_the_last_masked(values):
        masked = np.ma.masked_array(values, mask=False)
        masked[-1] = np.ma.masked
        return masked

    call(lambda values: np.ma.masked_array(values, mask=False))
    with pytest.raises(ws.InputError, match=r"entry \[\d(, \d)?\] is masked; drop the entries"):
        call(with_the_last_masked)


@pytest.mark.parametrize("tol", [math.inf, math.nan, -1.0, np.float32("inf")])
@pytest.mark.parametrize(
    "call",
    [
        lambda tol: ws.hits(EDGES, tol=tol),
        lambda tol: ws.eigenvector_centrality(EDGES, tol=tol),
        lambda tol: ws.eigenvector_centrality(EDGES, tol=tol, directed=False),
        lambda tol: ws.katz_centrality(EDGES, tol=tol),
        lambda tol: ws.pagerank(EDGES, tol=tol),
        lambda tol: ws.personalized_pagerank(EDGES, [0], tol=tol),
        lambda tol: ws.heat(EDGES, 1.0, tol=tol),
        lambda tol: ws.circuit(EDGES, {0: 1.0}, tol=tol),
        lambda tol: ws.neural_network(EDGES, 0.5, tol=tol),
        lambda tol: ws.belief_propagation(EDGES, EDGES, [[1.0]], tol=tol),
        lambda tol: ws.louvain(EDGES, threshold=tol),
        lambda tol: ws.leiden(EDGES, threshold=tol),
        lambda tol: ws.phases(ws.PageRank, rounds=2, until=ws.l1_norm("pagerank"), tol=tol),
        lambda tol: ws.run(ws.PageRank, EDGES, tol=tol),
        lambda tol: ws.run(ws.DeltaPageRank, EDGES, tolerance=tol),
    ],
)
def test_tolerances_are_finite_and_not_negative(call, tol):
    with pytest.raises(ws.InputError, match=r"^(tol|threshold|tolerance)="):
        call(tol)


def test_a_program_declares_a_finite_tolerance():
    with pytest.raises(ws.ProgramError, match="tol=inf must be a finite number"):

        @ws.vertex_program
        class Endless:
            x: ws.float64
            residual = ws.l1_norm("x")
            tol = math.inf

            def init(vertex):
                return 1.0

            def compute(src):
                return src.x

            combine = sum

            def apply(old, gathered):
                return gathered


@pytest.mark.parametrize("weights", [math.inf, -math.inf, -1.0])
@pytest.mark.parametrize(
    ("program", "argument", "given"),
    [
        (ws.PageRank, "precomputed_vertex_out_weight", {}),
        (ws.DeltaPageRank, "out_weight", {}),
        (ws.Heat, "total", {"temperature": 1.0}),
        (ws.Circuit, "total", {"sources": {0: 1.0}}),
    ],
)
def test_given_sums_of_weights_are_finite_and_not_negative(program, argument, given, weights):
    for values in ({1: weights}, np.array([1.0, weights, 1.0])):
        with pytest.raises(
            ws.InputError, match=f"^{argument} (is|has) -?(inf|1(.0)?) for vertex 1"
        ):
            ws.run(program, EDGES, **{argument: values}, **given)


@pytest.mark.parametrize(
    ("program", "arguments"),
    [
        *((ws.SSSP, {"start": 0, "cutoff": cutoff}) for cutoff in (-1.0, -math.inf)),
        *((ws.DeltaPageRank, {"alpha": alpha}) for alpha in (-1.0, 1.5, math.inf)),
    ],
)
def test_parameters_of_programs_are_in_their_range(program, arguments):
    with pytest.raises(ws.InputError, match=r"^(cutoff|alpha)="):
        ws.run(program, EDGES, **arguments)


HUGE = 10**5000


@pytest.mark.parametrize(
    "call",
    [
        lambda: ws.pagerank(EDGES, alpha=HUGE),
        lambda: ws.pagerank(EDGES, max_iter=HUGE),
        lambda: ws.bfs(EDGES, HUGE),
        lambda: ws.bfs(EDGES, [HUGE, 0]),
        lambda: ws.bfs(EDGES, 0, source=HUGE),
        lambda: ws.bfs(TWO_COLUMNS, (HUGE, 0), source=["a", "b"], destination=["c", "d"]),
        lambda: ws.heat(EDGES, HUGE),
        lambda: ws.heat(EDGES, {0: HUGE}),
        lambda: ws.heat(EDGES, {HUGE: 1.0}),
        lambda: ws.heat(EDGES, pd.DataFrame({"vertex": [0], HUGE: [1], "x": [1]})),
        lambda: ws.closeness_centrality(EDGES, vertices=HUGE),
        lambda: ws.closeness_centrality(EDGES, k=HUGE),
        lambda: ws.sssp(EDGES, 0, cutoff=-HUGE),
        lambda: ws.modularity(EDGES, {0: HUGE}),
        lambda: ws.run(ws.BFS, EDGES, start=0, engine=HUGE),
        lambda: ws.run(ws.BFS, EDGES, start=0, progress=HUGE),
        lambda: ws.estimate_memory(number_of_edges=HUGE),
        lambda: rmat(HUGE, 5),
        lambda: rmat(5, 5, seed=HUGE),
        lambda: ws.k_core(EDGES, degree_type=HUGE),
        lambda: ws.belief_propagation(EDGES, EDGES, [[HUGE]]),
        lambda: ws.shortest_path(EDGES, HUGE),
        lambda: ws.Graph(EDGES).vertex_values({}, "x", float, HUGE),
        lambda: ws.Graph(EDGES).vertex_values({}, "x", np.int64, math.nan),
    ],
)
def test_integers_of_too_many_digits_are_refused(call):
    with pytest.raises(ws.InputError):
        call()


@pytest.mark.parametrize(
    "call",
    [
        lambda: ws.multi_source_bfs(EDGES, np.array(0)),
        lambda: ws.personalized_pagerank(EDGES, np.array(0)),
        lambda: ws.jaccard(EDGES, np.array(0)),
        lambda: ws.belief_propagation(EDGES, np.array(0), np.array(0)),
        lambda: ws.closeness_centrality(EDGES, vertices=np.array(0)),
        lambda: ws.betweenness_centrality(EDGES, k=np.array(0)),
        lambda: ws.edge_betweenness_centrality(EDGES, k=np.array(0)),
    ],
)
def test_arrays_without_a_length_are_refused(call):
    """The memory of a run is asked for before its arguments are read."""
    with pytest.raises(ws.InputError):
        call()


@pytest.mark.parametrize("name", [0, -1, 1.5, math.nan, None, True, b"x", HUGE], ids=shown)
def test_columns_of_any_name_hold_values(name):
    frame = pd.DataFrame({"vertex": [0, 1, 2], name: [0, 0, 1]})
    values, given = ws.Graph(EDGES).vertex_values(frame, "x", np.int64)
    assert values.tolist() == [0, 0, 1]
    assert given.all()
    texts = pd.DataFrame({"vertex": [0, 1, 2], name: ["a", "a", "b"]})
    numbered, named = ws.conductance(EDGES, frame), ws.conductance(EDGES, texts)
    assert named.community.tolist() == ["a", "b"]
    assert numbered.drop(columns="community").equals(named.drop(columns="community"))
    assert ws.modularity(EDGES, texts) == ws.modularity(EDGES, frame)


def test_communities_of_vertices_whose_columns_are_named_by_integers():
    edges = TWO_COLUMNS.set_axis([0, 1, 2, 3], axis=1)
    graph = ws.Graph(edges, source=[0, 1], destination=[2, 3])
    labels = pd.DataFrame({0: [0, 1, 2], 1: [0, 0, 0], "c": ["a", "a", "b"]})
    assert ws.conductance(graph, labels).vertices.tolist() == [2, 1]


@pytest.mark.parametrize(
    "call",
    [
        lambda graph, values: graph.numbers(5, "vertices"),
        lambda graph, values: graph.numbers([5], "vertices"),
        lambda graph, values: ws.bfs(graph, 5),
        lambda graph, values: ws.subgraph(graph, 5),
        lambda graph, values: ws.closeness_centrality(graph, vertices=5),
        lambda graph, values: graph.vertex_values(values, "vertices", float),
    ],
)
def test_errors_about_ids_of_columns_that_are_named_by_integers(call):
    graph = ws.Graph(TWO_COLUMNS.set_axis([0, 1, 2, 3], axis=1), source=[0, 1], destination=[2, 3])
    values = pd.DataFrame({0: [0], 1: [0], "x": [1.0], "y": [2.0]})
    with pytest.raises(
        ws.InputError, match=r"a tuple of \(0, 1\)$|besides 0, 1, not 2 \('x', 'y'\)"
    ):
        call(graph, values)


def test_communities_are_single_values():
    lists = {"vertex": [0, 1, 2], "x": [[0], [0], [1]]}
    for frame in (pd.DataFrame(lists), pl.DataFrame(lists), pa.table(lists)):
        with pytest.raises(ws.InputError, match=r"^column 'x' \(communities\)"):
            ws.modularity(EDGES, frame)
    letters = pa.DictionaryArray.from_arrays(pa.array([0, 1, 0]), pa.array(["a", None]))
    with pytest.raises(ws.InputError, match=r"^column 'x' \(communities\): row 1 is null"):
        ws.modularity(EDGES, pa.table({"vertex": [0, 1, 2], "x": letters}))


def test_polars_names_with_a_nul():
    edges = pl.DataFrame({"a\0": [0, 1], "destination": [1, 2], "\0": [0.5, 0.25]})
    found = ws.sssp(edges, 0, source="a\0", weight="\0")
    assert found["distance"].to_list() == [0.0, 0.5, 0.75]
    values = pl.DataFrame({"vertex": [0, 1, 2], "\0": [1.0, 1.0, 1.0]})
    assert ws.heat(EDGES, values).temperature.tolist() == [1.0, 1.0, 1.0]
    records = pl.DataFrame({"vertex": [0], "x": [{"\0": 1}]})
    with pytest.raises(ws.InputError, match="column 'x'"):
        ws.heat(EDGES, records)


def test_values_at_the_ends_of_their_types():
    """A value fits or does not: one beyond the end is refused, the end itself is exact."""
    graph = ws.Graph(EDGES)

    def read(value, dtype):
        return graph.vertex_values({0: value, 1: 0, 2: 0}, "x", dtype)[0][0]

    assert read(np.float64(3e38), np.float32) == np.float32(3e38)
    assert read(math.inf, np.float32) == math.inf
    for dtype in (np.int8, np.int32, np.int64):
        ends = np.iinfo(dtype)
        assert read(ends.min, dtype) == ends.min
        assert read(ends.max, dtype) == ends.max
    for value, dtype in [
        *((1e300, np.float32), (-1e300, np.float32), (128, np.int8), (-129, np.int8)),
        *((2**31, np.int32), (-(2**31) - 1, np.int32), (0.5, np.int64), (-1, np.uint8)),
        *((2**63, np.int64), (2**64 - 1, np.int64), (-1, np.uint64), (2, np.bool_)),
    ]:
        with pytest.raises(ws.InputError, match=r"row 0 is .*, which is not a value of"):
            read(value, dtype)


def test_weights_at_the_end_of_int64():
    last = np.array([2**63 - 1, 1], np.uint64)
    graph = ws.Graph(EDGES.assign(weight=last), weight="weight")
    assert graph.edge_values("weight").tolist() == [2**63 - 1, 1]
    with pytest.raises(ws.InputError, match=r"row 0 is 9223372036854775808, above int64's"):
        ws.Graph(EDGES.assign(weight=last + np.uint64(1)), weight="weight")


def test_errors_count_rows_of_the_whole_frame_and_the_vertices_without_a_value():
    part = Column("w", "weight", np.array([1.0, math.nan]), np.dtype(float), first_row=10)
    with pytest.raises(ws.InputError, match=r"^column 'w' \(weight\): row 11 is nan"):
        read_numbers(part)
    graph = ws.Graph(EDGES)
    with pytest.raises(ws.InputError, match=r"^x: vertex 2 has no value; give one"):
        graph.vertex_values({0: 1.0, 1: 1.0}, "x", float)
    with pytest.raises(ws.InputError, match=r"^x: vertex 1 has no value, nor have 1 others; give"):
        graph.vertex_values({0: 1.0}, "x", float)
    with pytest.raises(ws.InputError, match=r"^start: 7 is not a vertex of the graph, and 1 more;"):
        graph.numbers([7, 8], "start")
