"""The profile of a run: rows, bytes, and that nothing is wrapped when there is none."""

from __future__ import annotations

import sys
import threading
from types import SimpleNamespace
from unittest.mock import patch

import numpy as np
import pandas as pd
import pytest
from emulator.device import EmulatedKernels, emulated
from emulator.memory import Array
from phased import Authorities, Hubs
from shapes import SHAPES, build, rmat

import cugraph_ws as ws
from cugraph_ws.execution import profile as profiles
from cugraph_ws.runtime.device import device
from cugraph_ws.runtime.launch_times import Launch, Launches, recorded_launches

EDGES = rmat(6, 4, seed=61)
START = int(EDGES.source[0])


@pytest.fixture(autouse=True)
def small_copies(monkeypatch):
    monkeypatch.setattr(profiles, "COPIED", 1 << 20)
    yield
    profiles._host_rate.cache_clear()


@pytest.mark.parametrize(
    ("program", "options", "known"),
    [
        (ws.BFS, {"start": START}, True),
        (ws.BFS, {"start": START, "plan": ws.Plan(direction="pull")}, True),
        (ws.PageRank, {"max_iter": 5}, True),
        (ws.PageRank, {"max_iter": 3, "plan": ws.Plan(partitions=2)}, True),
        (ws.CoreNumber(), {}, True),
        (ws.StronglyConnectedComponents(), {}, False),
    ],
    ids=["push", "pull", "gather", "partitions", "loop", "unknown"],
)
def test_a_row_for_each_superstep_on_a_cpu(program, options, known):
    with build(EDGES) as graph:
        result = ws.run(program, graph, engine="cpu", profile=True, **options)
        rows, trace = result.profile.frame, result.trace
    assert rows["superstep"].tolist() == trace["superstep"].tolist()
    assert rows["milliseconds"].tolist() == trace["milliseconds"].tolist()
    assert rows["supersteps"].tolist() == rows["launches"].tolist() == [1] * len(trace)
    assert rows["occupancy"].isna().all()
    assert rows["bytes_read"].notna().all() == known
    assert ((rows["bandwidth"] > 0) == rows["bytes_read"].notna()).all()


def test_bytes_of_a_gather():
    """Each arc: a neighbour's number, a weight and a distance; each vertex: two offsets and its distance."""
    with build(EDGES) as graph:
        plan = ws.Plan(direction="gather")
        result = ws.run(ws.SSSP, graph, start=START, engine="cpu", plan=plan, profile=True)
        vertices, arcs = graph.number_of_vertices, graph.number_of_arcs
        rows = result.profile.frame
    assert set(rows["bytes_read"]) == {arcs * (4 + 8 + 8) + vertices * (16 + 8)}
    assert set(rows["bytes_written"]) == {vertices * 8}
    moved = rows["bytes_read"] + rows["bytes_written"]
    rate = moved / rows["milliseconds"] * 1000 / rows["bandwidth"]
    np.testing.assert_allclose(rate, result.profile.rate)


def test_a_push_reads_the_arcs_of_its_frontier():
    with build(SHAPES["path"]) as graph:
        result = ws.run(ws.BFS, graph, start=0, engine="cpu", profile=True)
        rows, trace = result.profile.frame, result.trace
    assert rows["bytes_read"].tolist() == (trace["edges"] * (4 + 4) + 16 + 4).tolist()
    assert rows["bytes_written"].tolist() == [4] * (len(rows) - 1) + [0]


class Loads:
    """The bytes that kernels of a name load from arrays of the graph: rows, edges, states and constants."""

    ARRAYS = ("adjacency", "forward", "edges", "state", "program", "constants")

    def __init__(self, kernel):
        self.kernel, self.counting, self.bytes = kernel, False, 0

    def __enter__(self):
        launch, read, fresh = EmulatedKernels.launch, Array._read, Array.load_fresh

        def launched(kernels, name, *arguments, **options):
            self.counting = name == self.kernel
            launch(kernels, name, *arguments, **options)
            self.counting = False

        def counted(load):
            def loaded(array, index, frame):
                if self.counting and array.name.startswith(self.ARRAYS):
                    self.bytes += array.cells.itemsize
                return load(array, index, frame)

            return loaded

        self._patches = [
            patch.object(EmulatedKernels, "launch", launched),
            patch.object(Array, "_read", counted(read)),
            patch.object(Array, "load_fresh", counted(fresh)),
        ]
        for one in self._patches:
            one.start()
        return self

    def __exit__(self, *_):
        for one in self._patches:
            one.stop()


@pytest.mark.parametrize(
    ("program", "options", "kernel", "least"),
    [
        (ws.SSSP, {"start": START, "plan": ws.Plan(direction="gather")}, "superstep", 0.85),
        (
            ws.BFS,
            {"start": START},
            "traverse",
            0.4,
        ),  # compare-and-swap loads again what it replaces
    ],
    ids=["dense", "frontier"],
)
def test_bytes_are_those_that_the_emulator_loads(program, options, kernel, least):
    """Not more than kernels load; the emulator also loads what a compiler would drop, since nothing uses it."""
    with emulated(), build(EDGES) as graph, Loads(kernel) as loads:
        result = ws.run(program, graph, engine="cuda", profile=True, **options)
        rows = result.profile.frame
    assert least * loads.bytes < rows["bytes_read"].sum() <= loads.bytes
    assert set(rows["kernel"][rows["bytes_read"].notna()]) == {kernel}
    assert rows.drop_duplicates("superstep")["supersteps"].sum() == result.iterations


def test_launches_on_a_gpu():
    with emulated() as emulator, build(EDGES) as graph:
        result = ws.run(ws.PageRank, graph, engine="cuda", max_iter=6, profile=True)
        rows = result.profile.frame
        assert rows["kernel"].tolist() == ["superstep"] * len(rows)
        assert rows["launches"].sum() == 6
        assert (rows["milliseconds"] > 0).all()
        assert rows["program"].tolist() == ["PageRank"] * len(rows)
        with recorded_launches() as launches:
            device().module("running_sums").launch("sum_rows", 0, 32, *[np.zeros(1)] * 3, 0)
            assert launches.take() == []
        count = emulator.launches
        assert ws.run(ws.PageRank, graph, engine="cuda", max_iter=6).profile is None
        assert emulator.launches > count
        assert device() is emulator


class Event:
    """Stands for CuPy's event; a launch takes 2.5 ms."""

    now = 0.0

    def record(self):
        self.time, self.waited = Event.now, False

    def synchronize(self):
        self.waited = True


def test_events_time_launches_on_a_gpu():
    def passes():
        Event.now += 2.5

    def between(before, after):
        assert after.waited
        return after.time - before.time

    xp = SimpleNamespace(cuda=SimpleNamespace(Event=Event, get_elapsed_time=between))
    launches, gpu = Launches(), SimpleNamespace(xp=xp, threads_at_once=2048)
    passes.resident_threads = 1536
    launches.record(gpu, "superstep", passes)
    assert launches.take() == [Launch("superstep", 2.5, 0.75)]
    assert launches.take() == []


def test_phases_are_named():
    phases = ws.phases(ws.phase(Authorities, supersteps=1), ws.phase(Hubs, "out", 1), rounds=2)
    with build(EDGES) as graph:
        result = ws.run(phases, graph, engine="cpu", profile=True)
        rows, trace = result.profile.frame, result.trace
    assert rows["phase"].tolist() == trace["phase"].tolist()
    assert set(rows["program"]) == {"Authorities", "Hubs"}


def test_a_function_gives_the_profile_of_each_of_its_runs():
    seen = []
    frame = pd.DataFrame({"source": EDGES.source, "destination": EDGES.destination})
    graph = ws.Graph(frame)
    ws.pagerank(graph, engine="cpu", profile=seen.append)
    assert [set(one.program) for one in seen] == [{"PageRank"}]
    assert list(seen[0].frame.columns[:4]) == ["program", "phase", "superstep", "supersteps"]
    with pytest.raises(ws.InputError, match="profile='x' must be True, False or a function"):
        ws.pagerank(frame, profile="x")


def test_profiles_in_several_threads_have_rows_of_their_own():
    """Also if they end in another order than they began, and beside a run without a profile."""
    seen = {}
    begun, ended = threading.Event(), threading.Event()

    def nothing():
        pass

    nothing.resident_threads = 0

    def first():
        with recorded_launches() as launches:
            begun.set()
            assert ended.wait(60)
            seen["first"] = device()
            launches.record(seen["first"], "of the first", nothing)
            seen["launches"] = [launch.kernel for launch in launches.take()]

    with emulated() as gpu:
        thread = threading.Thread(target=first)
        thread.start()
        assert begun.wait(60)
        with recorded_launches() as launches, build(SHAPES["clique"]) as graph:
            ws.run(ws.BFS, graph, start=0, engine="cuda")
            kernels = {launch.kernel for launch in launches.take()}
        assert device() is gpu  # not wrapped, though the first still is
        ended.set()
        thread.join()
        assert device() is gpu
    assert "of the first" not in kernels
    assert kernels
    assert seen["launches"] == ["of the first"]


def test_ranges_for_profilers(monkeypatch):
    names = []
    stand_in = SimpleNamespace(push_range=names.append, pop_range=lambda: names.append("end"))
    monkeypatch.setitem(sys.modules, "nvtx", stand_in)
    profiles._ranges.cache_clear()
    with build(SHAPES["clique"]) as graph:
        ws.run(ws.PageRank, graph, engine="python", max_iter=2, profile=True)
    profiles._ranges.cache_clear()
    assert names == ["PageRank, superstep 0", "end", "PageRank, superstep 1", "end"]


def test_a_plot_has_a_colour_for_each_kernel():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    with build(EDGES) as graph:
        profile = ws.run(ws.BFS, graph, start=START, engine="cpu", profile=True).profile
    axes = profile.plot()
    (points,) = axes.figure.axes[1].get_lines()  # bytes, along an axis of their own
    moved = np.array(profile.bytes_read) + np.array(profile.bytes_written)
    assert points.get_ydata().tolist() == moved.tolist()
    assert [text.get_text() for text in axes.get_legend().get_texts()] == list(
        dict.fromkeys(profile.kernel)
    )
    heights = sum(
        segment[1][1] - segment[0][1]
        for lines in axes.collections
        for segment in lines.get_segments()
    )
    assert heights == pytest.approx(sum(profile.milliseconds))


def test_traversed_edges_per_second():
    """Both directions of an edge are one edge, a self-loop is one, and other components are none."""
    frame = pd.DataFrame({"source": [0, 1, 1, 5, 0], "destination": [1, 2, 1, 6, 1]})
    for directed, start, edges in ((False, 0, 4), (True, 0, 4), (True, 1, 2), (False, 5, 1)):
        with ws.Graph(frame, directed=directed) as graph:
            result = ws.run(ws.BFS, graph, start=start)
            seconds = result.trace["milliseconds"].sum() / 1000
            assert result.teps == pytest.approx(edges / seconds)
    with ws.Graph(frame) as graph:
        result = ws.run(ws.PageRank, graph)
        with pytest.raises(ws.InputError, match=r"run ws\.BFS or ws\.SSSP"):
            _ = result.teps
