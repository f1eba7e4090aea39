"""Estimates of GPU memory against what a build really allocates, and the bound on its peak."""

import weakref
from contextlib import contextmanager

import numpy as np
import pytest
import stand_in_cudf
from emulator.device import emulated
from footprint import MeasuredDevice
from shapes import random_edges

from cugraph_ws.backends.cuda import grouping
from cugraph_ws.backends.cuda.graph import build
from cugraph_ws.backends.cuda.grouping import Ends
from cugraph_ws.backends.cuda.memory import check_device_memory, estimate, estimate_transpose
from cugraph_ws.errors import GraphMemoryError
from cugraph_ws.graph.estimates import estimate_memory
from cugraph_ws.graph.graph import Graph
from cugraph_ws.runtime.device import device, has_device, installed


class Ledger:
    """Bytes that are allocated, and the most there ever were."""

    def __init__(self):
        self.live = self.peak = 0

    def take(self, size):
        self.live += size
        self.peak = max(self.peak, self.live)

    def give(self, size):
        self.live -= size

    def restart(self):
        self.live = self.peak = 0


class Watched(np.ndarray):
    """An array that sorts as on the GPU: with as much memory again."""

    ledger = None

    def sort(self, *args, **options):
        self.ledger.take(self.nbytes)
        self.ledger.give(self.nbytes)
        super().sort(*args, **options)


class WatchedNumpy:
    """NumPy, with a ledger of the arrays that it makes."""

    def __init__(self, ledger):
        self.ledger = ledger

    def __getattr__(self, name):
        function = getattr(np, name)
        if isinstance(function, type):
            return function

        def watched(*args, **options):
            made = function(*args, **options)
            if not isinstance(made, np.ndarray) or isinstance(made, Watched) or not made.ndim:
                return made
            self.ledger.take(made.nbytes)
            weakref.finalize(made, self.ledger.give, made.nbytes)
            view = made.view(Watched)
            view.ledger = self.ledger
            return view

        return watched


@contextmanager
def in_emulator():
    ledger = Ledger()
    Watched.ledger = ledger
    with emulated(seed=1) as owner:
        owner.xp = WatchedNumpy(ledger)
        yield ledger


@contextmanager
def on_gpu():
    import cupy

    ledger = Ledger()

    class Hook(cupy.cuda.MemoryHook):
        name = "ledger"

        def malloc_postprocess(self, **block):
            ledger.take(block["mem_size"])

        def free_postprocess(self, **block):
            ledger.give(block["mem_size"])

    with Hook():
        yield ledger


@pytest.fixture(params=["emulator", "gpu"])
def ledger(request, monkeypatch):
    """Count allocations, and say how many edges to build of: in parts, but for few of them."""
    if request.param == "gpu":
        if not has_device():
            pytest.skip("no GPU")
        pytest.importorskip("cupy")
        with on_gpu() as counted:
            yield counted, 1 << 24
        return
    monkeypatch.setattr(grouping, "LEAST_PIECE", 50)
    with in_emulator() as counted:
        yield counted, 1000


@pytest.mark.parametrize("value_bytes", [0, 16])
@pytest.mark.parametrize("directed", [True, False], ids=["directed", "undirected"])
@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])
def test_estimates_are_true_to_a_tenth(ledger, value_bytes, directed, sparse):
    counted, edges = ledger
    size = edges * 2 if sparse else edges // 16
    listed = random_edges(size, edges, seed=1)
    loops = int(np.count_nonzero(listed.source == listed.destination))
    arcs = edges if directed else 2 * edges - loops
    kinds = {"a": np.float64, "b": np.float32, "c": np.float32} if value_bytes else {}
    ends = [np.asarray(end, np.int32) for end in (listed.source, listed.destination)]
    values = {name: listed.weight.astype(kind) for name, kind in kinds.items()}
    if hasattr(device().xp, "cuda"):
        ends, values = (
            map(device().xp.asarray, ends),
            dict(zip(values, map(device().xp.asarray, values.values()), strict=True)),
        )
    counted.restart()
    graph = build(Ends(*ends[::-1]), dict(values), size, undirected=not directed)
    told = estimate(arcs, size, value_bytes, undirected=not directed)
    assert counted.peak == pytest.approx(told.peak, rel=0.1)
    assert counted.live == pytest.approx(told.stays, rel=0.1)
    assert graph.nbytes == pytest.approx(told.stays, rel=0.01)
    if directed:
        before = counted.live
        counted.peak = before
        assert graph.csr.indices.size == arcs
        needed = estimate_transpose(arcs, size, keep=bool(values))
        assert counted.peak - before == pytest.approx(needed, rel=0.1)
        assert counted.live - before == pytest.approx(told.csr, rel=0.1)
    graph.close()
    assert counted.live == 0


@pytest.mark.parametrize("arcs", [2 * 10**7, 336 * 10**6, 3 * 10**9])
@pytest.mark.parametrize("degree", [1, 2, 10, 100, 1000])
@pytest.mark.parametrize("value_bytes", [0, 4, 8, 24])
@pytest.mark.parametrize("undirected", [False, True])
def test_peak_is_at_most_two_and_a_half_times_the_csc(arcs, degree, value_bytes, undirected):
    told = estimate(arcs, arcs // degree, value_bytes, undirected)
    assert told.peak <= 2.5 * (told.csc + told.values)


@pytest.mark.parametrize("directed", [True, False], ids=["directed", "undirected, weighted"])
@pytest.mark.parametrize("vertices", [60, 1500])
@pytest.mark.parametrize("kind", ["int32", "int64", "gaps", "random"])
def test_builds_of_every_kind_of_ids_take_the_estimate(monkeypatch, kind, vertices, directed):
    weight = None if directed else "weight"
    monkeypatch.setattr(grouping, "LEAST_PIECE", 50)
    rng, edges = np.random.default_rng(0), 1000
    names = np.arange(vertices)
    if kind == "gaps":
        names = 3 * names + 7
    elif kind == "random":
        names = rng.permutation(10**6)[:vertices] * 10**9
    ends = names[rng.integers(0, vertices, (2, edges))].astype(
        "int32" if kind == "int32" else "int64"
    )
    columns = {"source": ends[0], "destination": ends[1], "weight": rng.random(edges)}
    frame, here = stand_in_cudf.DataFrame(columns), MeasuredDevice()
    with installed(here), stand_in_cudf.installed():
        told = estimate_memory(frame, weight=weight, directed=directed, engine="cuda")
        peak, graph = here.peak(lambda: Graph(frame, weight=weight, directed=directed))
        numbering = graph._vertices.numbering.nbytes + 2 * 4 * graph.number_of_vertices
        graph.close()
    assert peak == pytest.approx(told.peak, rel=0.25)
    assert told.numbering == pytest.approx(numbering, rel=0.1)


def test_an_estimate_is_readable():
    told = estimate(1 << 20, 1 << 16, 8, undirected=False)
    assert str(told) == (
        "numbering 512.0 KiB, CSC 4.5 MiB, CSR 8.5 MiB, values 8.0 MiB, "
        "peak 33.0 MiB beside the input"
    )
    assert estimate(1 << 20, 1 << 16, 8, undirected=True).csr == 0


def test_a_row_of_many_arcs_needs_more_where_attributes_follow():
    arcs = 1 << 28
    needed = [
        estimate(arcs, arcs, value_bytes, undirected=False, longest_row=longest).peak
        for value_bytes in (0, 4)
        for longest in (0, arcs)
    ]
    assert needed[0] == needed[1] < needed[2] < needed[3]


def test_the_input_still_to_come_counts():
    needed = estimate(1000, 100, 8, undirected=False)
    with emulated(memory=needed.peak):
        check_device_memory(needed)
        with pytest.raises(GraphMemoryError, match=r"consume=True, give placement='host'"):
            check_device_memory(needed, beside=1)
