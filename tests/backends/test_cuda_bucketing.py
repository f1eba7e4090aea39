"""Rows that are filled in buckets, in the emulator, are those of the host's adjacency."""

import numpy as np
import pytest
from emulator import device as emulator
from emulator.device import emulated
from shapes import SHAPES, hub, undirected
from test_cuda_graph import assert_same, host_graph
from verify import Edges

from cugraph_ws.backends.cuda import bucketing, rows
from cugraph_ws.backends.cuda import graph as device_graph
from cugraph_ws.backends.cuda.grouping import Ends

# The last has a row that no bucket holds
BATTERY = {name: SHAPES[name] for name in ("self-loops", "duplicates", "33 vertices", "rmat")} | {
    "hub": hub(400)
}


@pytest.fixture
def small_buckets(monkeypatch):
    """Give even small graphs many buckets, spread twice, of which each holds few rows."""
    monkeypatch.setattr(bucketing, "LEAST_ARCS", 1)
    monkeypatch.setattr(bucketing, "SPAN", 16)
    monkeypatch.setattr(bucketing, "TILE", 128)
    monkeypatch.setattr(bucketing, "MOST_BINS", 16)
    monkeypatch.setattr(bucketing, "LENGTHS", (32, 40))
    monkeypatch.setattr(emulator, "THREADS", 32)
    monkeypatch.setattr(emulator, "SHARED", 12 * (128 + 16))


def check(edges, seed, dtype=np.int32, **values):
    with emulated(seed=seed):
        ends = Ends(edges.destination.astype(dtype), edges.source.astype(dtype))
        graph = device_graph.build(ends, dict(values), edges.n, undirected=not edges.directed)
        assert graph.csc.indices.dtype == np.int32
        assert_same(graph, host_graph(edges), tuple(values), orders=("csc",))
        graph.close()


@pytest.mark.parametrize("turn", [lambda edges: edges, undirected], ids=["directed", "undirected"])
@pytest.mark.parametrize("name", BATTERY)
def test_rows_agree_with_the_host_graph(name, turn, small_buckets, monkeypatch):
    edges = turn(BATTERY[name])
    monkeypatch.setattr(rows, "Grouping", None)  # nothing is sorted by it
    check(edges, 1)
    check(edges, 2, np.int64, weight=edges.weight)
    number = np.arange(len(edges.source))
    check(edges, 3, weight=edges.weight, number=number)


def test_equal_arcs_stay_in_input_order(small_buckets):
    """Parallel edges are told apart by their values, in runs, in merges and in the row that is too long."""
    generator = np.random.default_rng(1)
    heads = np.repeat([0, 1, 2], [200, 38, 20])
    order = generator.permutation(len(heads))
    tails = generator.integers(3, 7, len(heads))
    edges = Edges(tails, heads[order], 7, generator.permutation(len(heads)) / 8)
    check(edges, 4, weight=edges.weight)
    check(edges, 5, weight=edges.weight, number=np.arange(len(heads)))


@pytest.mark.parametrize(
    ("change", "remedy"),
    [
        ({"LEAST_ARCS": 1 << 20}, "few arcs"),
        ({"MOST_BINS": 1}, "more buckets than are spread"),
        ({"KEY_BITS": 8}, "keys of more bits"),
        ({"LENGTHS": (1 << 12,)}, "no room for a bucket"),
    ],
    ids=lambda one: one if isinstance(one, str) else "",
)
def test_graphs_that_buckets_do_not_serve_are_sorted(change, remedy, small_buckets, monkeypatch):
    for name, value in change.items():
        monkeypatch.setattr(bucketing, name, value)
    monkeypatch.setattr(rows, "fill_rows", None)
    check(BATTERY["hub"], 6, weight=BATTERY["hub"].weight)


def test_memory_decides_too(small_buckets):
    with emulated(memory=10_000) as device:
        assert bucketing.is_served(device, 300, 10, keep=False, value_bytes=0)
        assert not bucketing.is_served(device, 300, 10, keep=True, value_bytes=4)
