"""Graphs of cuDF frames and of arrays on a GPU, against those of the same pandas frames."""

import datetime as dt
import gc

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from cugraph_ws.errors import InputError
from cugraph_ws.frames.base import Below, Masked, VertexNumbers
from cugraph_ws.graph.estimates import estimate_memory
from cugraph_ws.graph.graph import Graph
from cugraph_ws.runtime.device import device, has_device

if not has_device():
    pytest.skip("there is no GPU", allow_module_level=True)
cudf = pytest.importorskip("cudf")
cp = pytest.importorskip("cupy")

MOMENTS = [dt.datetime(2024, 2, 28, 12, 30, 15) + i * dt.timedelta(days=1) for i in range(9)]
WORDS = ["", "a", "aa", "ß", "日本", "z" * 40, "Z"]
TYPED = [
    ("str", WORDS),
    (pd.CategoricalDtype([*WORDS[::-1], "unused"]), WORDS),
    (pd.CategoricalDtype([200, 9, 5, 7]), [5, 9, 200, 7]),
    ("Int64", [5, 9, 200, 7]),
    ("datetime64[ms]", MOMENTS),
    ("datetime64[us, Europe/Berlin]", [one.replace(tzinfo=dt.UTC) for one in MOMENTS]),
    ("timedelta64[ns]", [i * dt.timedelta(hours=1) for i in range(5)]),
]


def edges(low, high, dtype="int64", rows=5000):
    rng = np.random.default_rng(high)
    ends = pd.DataFrame(rng.integers(low, high, (rows, 2)), columns=["source", "destination"])
    return ends.astype(dtype).assign(w=rng.integers(1, 9, rows) / 8)


def listed(frame):
    """Columns as lists of Python objects, None where null."""
    return {
        name: [None if pd.isna(one) else one for one in frame[name].astype(object)]
        for name in frame.columns
    }


def check_same(host, made):
    """Compare a graph of the GPU with the same one of the host."""
    assert made.device_resident
    told, expected = (vars(one.report) for one in (made, host))
    later = {"bytes": 0, "layouts": {}}  # the host's graph may have been asked for more already
    assert {**told, **later} == {**expected, **later}
    for order in ("csc", "csr"):
        mine, other = getattr(made, order), getattr(host, order)
        assert np.array_equal(mine.offsets, other.offsets)
        assert np.array_equal(mine.indices, other.indices)
        for name in host.edge_attributes:
            assert np.array_equal(made.edge_values(name, order), host.edge_values(name, order))
    assert listed(made.edge_frame().to_pandas()) == listed(host.edge_frame())
    n = host.number_of_vertices
    for xp in (np, cp):
        columns = {
            "x": xp.arange(n) / 2,
            "next": VertexNumbers(xp.arange(n) - 1),
            "some": Masked(xp.arange(n), xp.arange(n) % 3 != 0),
            "hops": Below(xp.arange(n, dtype=np.int32) % 5, 3),
            "length": Below(xp.where(xp.arange(n) % 4 == 2, np.inf, xp.arange(n)), np.inf),
        }
        out = made.vertex_frame(columns)
        if xp is np:
            expected = listed(host.vertex_frame(columns))
        assert isinstance(out, cudf.DataFrame)
        told = listed(out.to_pandas())
        for name in told:  # pandas makes floats of integers beside nulls
            if getattr(out[name].dtype, "kind", "") in ("i", "u"):
                told[name] = out[name].to_arrow().to_pylist()
        assert told == expected
    found = made.numbers(made.vertex_frame({}), "start", on_device=True)
    assert isinstance(found, cp.ndarray)
    assert found.tolist() == list(range(n))


@pytest.mark.parametrize("dtype", ["int8", "int32", "int64", "uint8", "uint32", "uint64"])
@pytest.mark.parametrize("low", [0, 5])
@pytest.mark.parametrize("directed", [True, False])
def test_integers(dtype, low, directed):
    frame = edges(low, 120, dtype)
    options = {"weight": "w", "directed": directed}
    check_same(Graph(frame, **options), Graph(cudf.from_pandas(frame), **options))


@pytest.mark.parametrize(("low", "high"), [(-(10**12), 10**12), (2**62, 2**63 - 1)])
def test_integers_of_large_ranges(low, high):
    frame = edges(low, high)
    check_same(Graph(frame, weight="w"), Graph(cudf.from_pandas(frame), weight="w"))


@pytest.mark.parametrize(("dtype", "values"), TYPED, ids=[str(dtype)[:30] for dtype, _ in TYPED])
def test_ids_of_other_types(dtype, values):
    pick = np.random.default_rng(1).integers(0, len(values), (2, 300))
    values = pd.Series(values, dtype=dtype)
    frame = pd.DataFrame(
        {"source": values.take(pick[0]).array, "destination": values.take(pick[1]).array}
    )
    given = cudf.from_pandas(frame)
    made = Graph(given)
    check_same(Graph(frame), made)
    assert made.vertex_frame({})["vertex"].dtype == given["source"].dtype


@pytest.mark.parametrize("policy", ["sum", "min", "max", "mean", "first"])
@pytest.mark.parametrize("directed", [True, False])
def test_duplicates(policy, directed):
    frame = edges(0, 40)
    options = {"weight": "w", "directed": directed, "duplicates": policy, "self_loops": "drop"}
    check_same(Graph(frame, **options), Graph(cudf.from_pandas(frame), **options))


@pytest.mark.parametrize("directed", [True, False])
def test_graphs_made_of_another(directed):
    frame = edges(0, 40)
    host, made = (
        Graph(one, weight="w", directed=directed) for one in (frame, cudf.from_pandas(frame))
    )
    label = pd.DataFrame({"vertex": np.arange(40), "label": np.arange(40) % 7})

    def derived(graph, labels):
        masked = graph.mask(lambda rows: rows["w"] > 0.5)
        return masked, masked.contract(labels), masked.subgraph(np.arange(0, 40, 3))

    pairs = zip(derived(host, label), derived(made, cudf.from_pandas(label)), strict=True)
    for one, other in pairs:
        check_same(one, other)


def test_several_columns():
    rng = np.random.default_rng(4)
    frame = pd.DataFrame(
        {
            "s": rng.choice(["x", "y", "z"], 300),
            "i": rng.integers(0, 30, 300),
            "d": rng.choice(["x", "w"], 300),
            "j": rng.integers(0, 30, 300),
        }
    )
    names = ["s", "i"], ["d", "j"]
    check_same(Graph(frame, *names), Graph(cudf.from_pandas(frame), *names))


def test_vertices_and_values():
    frame = cudf.DataFrame({"source": ["a"], "destination": ["b"]})
    vertices = pd.DataFrame({"vertex": ["d", "a"], "x": [0.5, 1.5]})
    for given in (vertices, cudf.from_pandas(vertices)):
        graph = Graph(frame, vertices=given)
        assert graph.vertex_frame({})["vertex"].to_pandas().tolist() == ["a", "b", "d"]
        values, known = graph.vertex_values("x", "x", np.float32, default=9, on_device=True)
        assert isinstance(values, cp.ndarray)
        assert values.tolist() == [1.5, 9, 0.5]
        assert known.tolist() == [True, False, True]
        assert graph.numbers(["d", "a"], "start").tolist() == [2, 0]


@pytest.mark.parametrize("kind", ["int32", "uint32", "int64"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64, np.int16, np.bool_])
@pytest.mark.parametrize("stride", [1, 3])
def test_values_of_a_frame_are_those_of_the_host(kind, dtype, stride):
    rng = np.random.default_rng(stride)
    ids = (np.arange(70_000) * stride).astype(kind)
    frame = pd.DataFrame({"source": ids, "destination": ids[::-1]})
    host, made = Graph(frame), Graph(cudf.from_pandas(frame))
    whole = pd.DataFrame({"vertex": ids, "v": rng.integers(0, 2, len(ids)).astype(dtype)})
    for given in (whole, whole[::7], whole.sample(frac=1.0, random_state=1), whole[:0]):
        given = given.reset_index(drop=True)
        expected = host.vertex_values(given, "v", dtype, default=1)
        found = made.vertex_values(cudf.from_pandas(given), "v", dtype, default=1, on_device=True)
        for one, other in zip(found, expected, strict=True):
            assert isinstance(one, cp.ndarray)
            assert np.array_equal(one.get(), other)
    repeated = pd.concat([whole, whole[5:6]], ignore_index=True)
    unknown = repeated.assign(vertex=repeated["vertex"].mask(repeated.index == 70_000, 3 * 70_000))
    for given, wrong in ((repeated, "is given 2 times"), (unknown, "210000 is not a vertex")):
        with pytest.raises(InputError, match=wrong):
            made.vertex_values(cudf.from_pandas(given), "v", dtype, default=1)


def test_only_small_numbers_pass_through_the_host(monkeypatch):
    here, sizes = device(), [0]
    original, to_arrow = here.to_host, cudf.Series.to_arrow
    monkeypatch.setattr(
        here, "to_host", lambda array: sizes.append(array.size) or original(array), raising=False
    )
    monkeypatch.setattr(
        cudf.Series, "to_arrow", lambda self: sizes.append(len(self)) or to_arrow(self)
    )
    frame = edges(0, 2000, rows=20_000)
    for given in (frame, frame.astype({"source": str, "destination": str})):
        graph = Graph(cudf.from_pandas(given), weight="w", duplicates="sum", directed=False)
        n = graph.number_of_vertices
        graph.vertex_frame({"x": cp.zeros(n), "p": VertexNumbers(cp.arange(n))})
        graph.edge_frame()
        assert graph.report.vertices == n
    assert max(sizes) <= 200


def test_changing_frames_later_changes_nothing():
    frame = cudf.DataFrame({"source": cp.asarray([0, 1, 2]), "destination": cp.asarray([1, 2, 0])})
    graph = Graph(frame)
    x, p = cp.arange(3.0), cp.arange(3)
    out = graph.vertex_frame({"x": x, "p": VertexNumbers(p)})
    for one in (frame, out):
        for name in one.columns:
            cp.asarray(one[name])[:] = 0
    assert graph.csc.indices.tolist() == [2, 0, 1]
    assert (x.tolist(), p.tolist()) == ([0, 1, 2], [0, 1, 2])


def test_memory_is_freed_and_is_as_estimated():
    frame = cudf.from_pandas(edges(0, 100_000, "int32", rows=2_000_000))
    pool, used = cp.get_default_memory_pool(), []
    for _ in range(3):
        with Graph(frame, weight="w") as graph:
            told = estimate_memory(
                frame, number_of_vertices=graph.number_of_vertices, weighted=True, engine="cuda"
            )
            held = graph.on_device().nbytes
        gc.collect()
        used.append(pool.used_bytes())
    assert used[2] <= used[1]
    assert held == pytest.approx(told.numbering + told.csc + told.values, rel=0.1)


def test_arrays_and_matrices():
    from cupyx.scipy import sparse

    rng = np.random.default_rng(9)
    parts = [rng.integers(0, 90, 400), rng.integers(0, 90, 400), rng.random(400)]
    host = Graph.from_arrays(*parts)
    check_same(host, Graph.from_arrays(*map(cp.asarray, parts)))
    check_same(host, Graph.from_arrays(*map(cudf.Series, parts)))
    half = sp.random(60, 60, 0.05, random_state=rng, format="csr")
    matrix = half + half.T
    for directed in (True, False):
        made = Graph.from_matrix(sparse.csr_matrix(matrix), directed)
        check_same(Graph.from_matrix(matrix, directed), made)
