"""The graph on the device, its kernels in the emulator, against the host graph's adjacency."""

import gc
import weakref
from contextlib import contextmanager

import numpy as np
import pytest
from emulator import device as emulator
from emulator.device import emulated
from hypothesis import given, settings
from hypothesis import strategies as st
from shapes import SHAPES, build, edge_frame, hub, random_edges, undirected, vertex_frame

import cugraph_ws as ws
from cugraph_ws.backends.cuda import graph as device_graph
from cugraph_ws.backends.cuda import grouping, rows
from cugraph_ws.backends.cuda.grouping import Ends
from cugraph_ws.errors import GraphMemoryError, InputError
from cugraph_ws.runtime.device import device

BATTERY = {**SHAPES, "hub": hub(200)}
IN_PARTS = ["star inwards", "self-loops", "duplicates", "33 vertices", "rmat", "random", "hub"]


@pytest.fixture
def small_parts(monkeypatch):
    """Cut even small graphs into many parts, and those for several warps, in odd blocks."""
    monkeypatch.setattr(grouping, "LEAST_PIECE", 7)
    monkeypatch.setattr(grouping, "LEAST_TILE", 90)
    monkeypatch.setattr(emulator, "THREADS", 96)


@contextmanager
def on_device(edges, *, dtype=np.int32, seed=0, **values):
    """Build a shape on the device, with values of its edges."""
    with emulated(seed=seed):
        ends = Ends(edges.destination.astype(dtype), edges.source.astype(dtype))
        graph = device_graph.build(ends, values, edges.n, undirected=not edges.directed)
        yield graph
        graph.close()


def host_graph(edges):
    """The same on the host, with each edge's number as an attribute."""
    frame = edge_frame(edges).assign(number=np.arange(len(edges.source)))
    return ws.Graph(
        frame,
        weight="weight",
        attributes="number",
        directed=edges.directed,
        vertices=vertex_frame(edges),
    )


def assert_same(graph, host, names=(), orders=("csc", "csr")):
    """Positions by falling in-degree; rows, by number, as on the host; values with them."""
    numbers = graph.numbers
    assert np.array_equal(numbers, np.lexsort((np.arange(graph.size), -host.in_degrees)))
    assert np.array_equal(graph.positions[numbers], np.arange(graph.size))
    for order in orders:
        here, there = getattr(graph, order), getattr(host, order)
        assert here.offsets.dtype == np.int64
        assert np.array_equal(np.diff(here.offsets), there.degrees[numbers])
        # The host's arcs, each by the position of its row, then of its neighbour, else as they are.
        row, neighbour = graph.positions[there.rows()], graph.positions[there.indices]
        moved = np.lexsort((neighbour, row))
        assert np.array_equal(here.indices, neighbour[moved])
        for name in names:
            assert np.array_equal(graph.values(name, order), host.edge_values(name, order)[moved])


@pytest.mark.parametrize("turn", [lambda edges: edges, undirected], ids=["directed", "undirected"])
@pytest.mark.parametrize("name", BATTERY)
def test_build_agrees_with_the_host_graph(name, turn):
    """With values of edges, and without: each shape one way directed, the other undirected."""
    edges = turn(BATTERY[name])
    host = host_graph(edges)
    values = {}
    if (list(BATTERY).index(name) + (turn is undirected)) % 2:
        values = {"weight": edges.weight, "number": np.arange(len(edges.source))}
    with on_device(edges, seed=len(values), **values) as graph:
        assert (graph.size, graph.arcs) == (edges.n, host.csc.number_of_arcs)
        assert graph.csc.indices.dtype == np.int32
        assert (graph.csr is graph.csc) == graph.undirected
        assert graph.edge_attributes == tuple(values)
        assert_same(graph, host, tuple(values))


@pytest.mark.parametrize("turn", [lambda edges: edges, undirected], ids=["directed", "undirected"])
@pytest.mark.parametrize("name", IN_PARTS)
def test_build_in_parts_agrees_with_the_host_graph(name, turn, small_parts):
    edges = turn(BATTERY[name])
    host = host_graph(edges)
    with on_device(edges, seed=2) as graph:
        assert_same(graph, host)
    with on_device(edges, seed=3, dtype=np.int64, number=np.arange(len(edges.source))) as graph:
        assert_same(graph, host, ("number",))


@pytest.mark.parametrize("key_bits", [63, 14])
@pytest.mark.parametrize("turn", [lambda edges: edges, undirected], ids=["directed", "undirected"])
def test_wide_positions_and_narrow_keys(key_bits, turn, monkeypatch):
    """As from 2**31 vertices: 64-bit positions, and few rows that a key has bits for."""
    monkeypatch.setattr(grouping, "INT32_NUMBERS", 0)
    monkeypatch.setattr(grouping, "KEY_BITS", key_bits)
    edges = turn(random_edges(200, 400, seed=1))
    host = host_graph(edges)
    number = np.arange(len(edges.source))
    with on_device(edges, dtype=np.int64) as graph:
        assert graph.csc.indices.dtype == graph.numbers.dtype == np.int64
        assert_same(graph, host)
    if key_bits == 14:
        message = "edges with attributes are too many to sort"
        with pytest.raises(InputError, match=message), on_device(edges, number=number):
            pass
        return
    with on_device(edges, dtype=np.int64, number=number) as graph:
        assert_same(graph, host, ("number",))


def test_parts_hold_their_share_unless_a_row_is_longer(small_parts):
    edges = hub(200)
    with on_device(edges) as graph:
        columns = (edges.destination, edges.source)
        parts = grouping.Grouping(
            device(), columns, graph.csc.offsets, graph.size, positions=graph.positions
        ).parts
        assert len(parts) > 2
        assert parts[0].rows == 1
        assert parts[0].arcs == 100  # the hub's
        assert all(part.arcs <= grouping.part_size(graph.arcs) for part in parts[1:])
        assert [part.first_arc for part in parts[1:]] == [part.last_arc for part in parts[:-1]]
        assert parts[-1].last_arc == graph.arcs


def test_mixed_dtypes_of_ends():
    edges = SHAPES["random"]
    with emulated(seed=0):
        ends = Ends(edges.destination.astype(np.int32), edges.source.astype(np.int64))
        graph = device_graph.build(ends, {}, edges.n, undirected=True)
        assert_same(graph, host_graph(undirected(edges)))


@settings(deadline=None, max_examples=10)
@given(
    pairs=st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), max_size=40),
    seed=st.integers(0, 99),
)
def test_the_order_of_edges_does_not_matter(pairs, seed):
    ends = np.array(pairs, np.int32).reshape(-1, 2)
    shuffled = np.random.default_rng(seed).permutation(ends)
    built = []
    for source, destination in (ends.T, shuffled.T):
        with emulated(seed=seed):
            ends = Ends(destination.copy(), source.copy())
            built.append(device_graph.build(ends, {}, 7, undirected=False))
    one, two = built
    for here, there in zip((one.numbers, *one.csc), (two.numbers, *two.csc), strict=True):
        assert np.array_equal(here, there)


@pytest.mark.parametrize("turn", [lambda edges: edges, undirected], ids=["directed", "undirected"])
@pytest.mark.parametrize("name", ["empty", "all isolated", "duplicates", "self-loops", "random"])
def test_a_host_graph_is_copied(name, turn):
    edges = turn(BATTERY[name])
    host = host_graph(edges)
    with emulated(seed=1):
        graph = device_graph.from_host(host)
        assert graph.undirected is not host.directed
        assert_same(graph, host, ("weight", "number"))
    with emulated(seed=1):
        plain = device_graph.from_host(build(edges, weighted=False))
        assert_same(plain, host)
        assert plain.edge_attributes == ()


def test_values_of_a_host_graph_move_when_first_read(monkeypatch):
    host = host_graph(SHAPES["random"])
    asked = []
    read = type(host).edge_values
    monkeypatch.setattr(
        type(host), "edge_values", lambda self, *args: asked.append(args[0]) or read(self, *args)
    )
    with emulated(seed=1):
        graph = device_graph.from_host(host)
        assert asked == []
        assert graph.values("number") is graph.values("number")
        assert asked == ["number"]
        del host
        gc.collect()
        with pytest.raises(InputError, match="'weight' is lost, because its graph was deleted"):
            graph.values("weight")


@pytest.mark.parametrize("name", ["empty", "all isolated", "rows of 0 to 1023", "star inwards"])
def test_vertices_with_a_degree_come_first(name):
    with on_device(BATTERY[name]) as graph:
        degrees = graph.in_degrees
        before = device().downloads
        for degree in (0, 1, 2, 3, 8, 32, 33, 1023, 1 << 39):
            assert graph.vertices_with(degree) == np.count_nonzero(degrees >= degree)
        assert device().downloads <= before + 5  # powers of two with the first
        assert graph.vertices_with(1 << 20) == 0
        assert graph.vertices_with(3) == np.count_nonzero(degrees >= 3)


@pytest.mark.parametrize("turn", [lambda edges: edges, undirected], ids=["directed", "undirected"])
@pytest.mark.parametrize("name", ["all isolated", "self-loops", "rmat"])
def test_degrees_before_and_after_the_csr(name, turn):
    edges = turn(BATTERY[name])
    host = build(edges)
    with on_device(edges) as graph:
        assert np.array_equal(graph.in_degrees, host.in_degrees[graph.numbers])
        for _ in range(2):
            assert graph.out_degrees.dtype == np.int64
            assert np.array_equal(graph.out_degrees, host.out_degrees[graph.numbers])
            _ = graph.csr


def test_by_number_inverts_by_position():
    with on_device(SHAPES["rmat"]) as graph:
        values = np.arange(graph.size) * 1.5
        assert np.array_equal(graph.by_position(values), values[graph.numbers])
        assert np.array_equal(graph.by_number(graph.by_position(values)), values)


@pytest.mark.parametrize("turn", [lambda edges: edges, undirected], ids=["directed", "undirected"])
@pytest.mark.parametrize("name", ["empty", "all isolated", "self-loops", "duplicates", "hub"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64])
def test_weight_sums(name, turn, dtype, small_parts, monkeypatch):
    monkeypatch.setattr(rows, "LONG_ROW", 40)
    monkeypatch.setattr(rows, "LONG_PIECES", 3)
    edges = turn(BATTERY[name])
    weight = (edges.weight * 8).astype(dtype)  # whole, so that sums are exact
    source, destination, moved = undirected_or_not(edges, weight)
    into, out = (np.bincount(end, moved, edges.n) for end in (destination, source))
    with on_device(edges, weight=weight) as graph:
        for _ in range(2):
            sums = graph.in_weight_sums("weight"), graph.out_weight_sums("weight")
            assert sums[0].dtype == sums[1].dtype == np.float64
            assert np.array_equal(graph.by_number(sums[0]), into)
            assert np.array_equal(graph.by_number(sums[1]), out)
            _ = graph.csr


def undirected_or_not(edges, weight):
    """The arcs of edges that have another weight than their own."""
    source, destination = edges.source, edges.destination
    if edges.directed:
        return source, destination, weight
    back = source != destination
    return (
        np.concatenate([source, destination[back]]),
        np.concatenate([destination, source[back]]),
        np.concatenate([weight, weight[back]]),
    )


def test_weight_sums_are_the_same_for_any_launch(monkeypatch):
    edges = hub(200)
    weight = np.random.default_rng(1).random(200)
    monkeypatch.setattr(rows, "LONG_ROW", 40)
    seen = []
    for seed, block in ((1, 32), (2, 160)):
        monkeypatch.setattr(emulator, "THREADS", block)
        with on_device(edges, seed=seed, weight=weight) as graph:
            seen.append((graph.in_weight_sums("weight"), graph.out_weight_sums("weight")))
            sums = np.bincount(edges.destination, weight, edges.n)
            np.testing.assert_allclose(graph.by_number(seen[-1][0]), sums, rtol=200 * 2.0**-53)
    for one, two in zip(*seen, strict=True):
        assert one.tobytes() == two.tobytes()


def test_consumed_columns_are_let_go():
    edges = SHAPES["random"]
    columns = [edges.source.astype(np.int32), edges.destination.astype(np.int32)]
    values = {"weight": edges.weight.copy()}
    watched = [weakref.ref(array) for array in (*columns, values["weight"])]
    with emulated(seed=0):
        graph = device_graph.build(
            Ends(columns.pop(), columns.pop()), values, edges.n, undirected=False
        )
        assert values == {}
        assert all(one() is None for one in watched)
        assert_same(graph, host_graph(edges), ("weight",))


def test_the_ends_are_not_written_to():
    edges = SHAPES["random"]
    columns = [edges.destination.copy(), edges.source.copy()]
    with emulated(seed=0):
        device_graph.build(Ends(*columns), {}, edges.n, undirected=True)
    assert np.array_equal(columns[0], edges.destination)
    assert np.array_equal(columns[1], edges.source)


def test_a_build_reads_little_back(monkeypatch):
    edges = SHAPES["rmat"]
    with emulated(seed=0) as owner:
        read, sizes = type(owner).to_host, []
        monkeypatch.setattr(
            type(owner), "to_host", lambda self, one: sizes.append(one.size) or read(self, one)
        )
        ends = Ends(edges.destination, edges.source)
        graph = device_graph.build(ends, {"weight": edges.weight}, edges.n, undirected=False)
        assert len(sizes) == 2
        _ = graph.csr, graph.values("weight", "csr"), graph.out_weight_sums("weight")
        assert len(sizes) == 3
        assert max(sizes) < 100


def test_an_unknown_attribute_is_refused():
    with on_device(SHAPES["random"], weight=SHAPES["random"].weight) as graph:
        message = "has no edge column 'length'; it has: 'weight'"
        with pytest.raises(InputError, match=message):
            graph.values("length")
        assert graph.values("weight").size == graph.arcs


def test_a_closed_graph_holds_nothing():
    with on_device(SHAPES["random"], weight=SHAPES["random"].weight) as graph:
        graph.values("weight", "csr")
        watched = [
            weakref.ref(array)
            for array in (
                graph.numbers,
                graph.csc.indices,
                graph.csr.indices,
                graph.values("weight"),
            )
        ]
        kept = graph.nbytes
        assert kept > sum(array().nbytes for array in watched)
        graph.close()
        assert graph.nbytes == 0
        assert all(one() is None for one in watched)
        for read in ("numbers", "positions", "csc", "csr", "in_degrees", "out_degrees"):
            with pytest.raises(InputError, match="the graph is closed"):
                getattr(graph, read)
        with pytest.raises(InputError, match="the graph is closed"):
            graph.values("weight")
        with pytest.raises(InputError, match="the graph is closed"):
            graph.vertices_with(1)


def test_a_graph_that_does_not_fit_is_refused_before_it_is_built():
    edges, host = SHAPES["random"], build(SHAPES["random"])
    ends = Ends(edges.destination, edges.source)
    with emulated(seed=0) as owner:
        graph = device_graph.build(ends, {}, edges.n, undirected=False)
        owner.memory, before = 1000, owner.launches
        with pytest.raises(GraphMemoryError, match="of GPU memory while it is built and 1000 B"):
            device_graph.build(ends, {}, edges.n, undirected=False)
        with pytest.raises(GraphMemoryError, match="of GPU memory while it is built"):
            device_graph.from_host(host)
        with pytest.raises(GraphMemoryError, match="out-neighbours need"):
            _ = graph.csr
        assert owner.launches == before
