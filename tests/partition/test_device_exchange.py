"""Vertex programs on ranks with a GPU each, in the emulator: answers, bytes, and waits."""

from __future__ import annotations

import sys
import threading
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from cuda_cases import Rumour, Steps, set_classes
from emulator.device import emulated
from plans import planned
from programs import Fading, Hops, Nearest, Peel, Rank
from shapes import SHAPES, build, rmat
from thread_ranks import on_ranks, over_hub, over_links, share, with_ordered_ghosts
from verify import Edges

import cugraph_ws as ws
from cugraph_ws.backends.cuda import exchange as device_exchange
from cugraph_ws.backends.cuda.refinement import DeviceRefinement
from cugraph_ws.dask.control_channel import Transport
from cugraph_ws.dask.nccl import NcclLinks
from cugraph_ws.errors import WorkerLostError
from cugraph_ws.execution import driver
from cugraph_ws.runtime.communicator import SingleRank

EXCHANGES = ("vr", "ms", "all", "auto")
GATHER = {"direction": "gather"}
PROGRAMS: dict[str, tuple[Any, dict[str, Any]]] = {
    "rank": (Rank, {"max_iter": 4, "tol": 0.0}),
    "steps": (Steps, {}),
    "pairs": (Nearest, {"seeds": [0]}),
    "peeled": (Peel, {"k": 2}),
    "rumour": (Rumour, {"start": [0, 3]}),
    "gathered": (ws.SSSP, {"source": [0], **GATHER}),
}
GRAPH = rmat(4, 3, seed=11)
WHOLE = ("superstep", "active", "edges", "residual", "bytes_sent", "bytes_useful")


@pytest.fixture(autouse=True)
def small_classes(monkeypatch):
    set_classes(monkeypatch, block=32, hub=12, chunk=8, middle=5)


def runs_of(graph, ranks, program, options, cuts=None):
    """Run a program over links, and over the host alone; return every rank's results of both."""

    def work(comm):
        result = ws.run(program, share(graph, comm, cuts), **planned(engine="cuda", **options))
        return result.frame, result.trace[list(WHOLE)], result.stopped

    return over_links(ranks, work), on_ranks(ranks, work)


def assert_same(linked, mailed):
    for (frame, trace, stopped), (other, expected, why) in zip(linked, mailed, strict=True):
        pd.testing.assert_frame_equal(trace, expected)
        pd.testing.assert_frame_equal(frame, other)
        assert stopped == why


CASES = [  # two ways for each program, and all ways for two of them
    (name, exchange)
    for place, name in enumerate(PROGRAMS)
    for way, exchange in enumerate(EXCHANGES)
    if name in ("rank", "peeled") or (place + way) % 2
]


@pytest.mark.parametrize(("name", "exchange"), CASES)
def test_the_same_as_over_the_host(name, exchange):
    program, options = PROGRAMS[name]
    ranks = 2 + (len(name) + len(exchange)) % 2
    with build(GRAPH) as graph, emulated(seed=3):
        assert_same(*runs_of(graph, ranks, program, {"exchange": exchange, **options}))


@pytest.mark.parametrize("exchange", EXCHANGES)
def test_in_place_changes_are_unknown(exchange):
    given = {"start": 0, "direction": "gather", "in_place": True, "exchange": exchange}
    with build(GRAPH) as graph, emulated(seed=3):
        linked, mailed = runs_of(graph, 2, Hops, given)
    for (frame, trace, _), (other, expected, _) in zip(linked, mailed, strict=True):
        pd.testing.assert_frame_equal(frame, other)
        for column in ("bytes_sent", "bytes_useful"):
            assert set(trace[column]) == set(expected[column]), "always everything"


@pytest.mark.parametrize(
    ("name", "cuts"),
    [
        ("rank", (0, 0, 5, 16)),
        ("peeled", (0, 9, 9, 16)),
        ("pairs", (0, 16, 16, 16)),
        ("steps", (0, 0, 16, 16)),
    ],
)
@pytest.mark.parametrize("exchange", ["all", "auto"])
def test_ranks_without_vertices(name, cuts, exchange):
    program, options = PROGRAMS[name]
    with build(GRAPH) as graph, emulated(seed=1):
        given = {**options, "exchange": exchange}
        assert_same(*runs_of(graph, len(cuts) - 1, program, given, cuts))


@pytest.mark.parametrize("exchange", EXCHANGES)
def test_ranks_without_arcs_between_them(exchange):
    """The first and the second share vertices, the third is alone."""
    graph = Edges(np.array([0, 2, 3, 4, 6]), np.array([2, 1, 0, 5, 5]), 7)
    with build(graph) as graph, emulated(seed=2):
        given = {"max_iter": 3, "exchange": exchange}
        assert_same(*runs_of(graph, 3, Rank, given, (0, 2, 4, 7)))


def test_no_vertices_at_all():
    with build(SHAPES["empty"]) as graph, emulated():
        assert_same(*runs_of(graph, 2, Rank, {"max_iter": 2}))


@pytest.mark.parametrize("program", [ws.SSSP, ws.WidestPath])
@pytest.mark.parametrize("way", [{}, GATHER])
def test_predecessors(program, way):
    edges = Edges(GRAPH.source, GRAPH.destination, GRAPH.n, np.full(len(GRAPH.source), 0.5))
    with build(edges) as graph, emulated(seed=6):
        linked, mailed = runs_of(graph, 2, program, {"source": [0], **way})
    if way:
        assert_same(linked, mailed)
    for (frame, _, _), (other, _, _) in zip(linked, mailed, strict=True):
        pd.testing.assert_frame_equal(frame, other)
    assert "predecessor" in linked[0][0]


def test_a_run_goes_on_from_a_checkpoint(tmp_path):
    options = {"engine": "cuda", "tol": 0.0, "exchange": "ms"}

    def work(comm):
        path = tmp_path / "state"
        graph_here = share(graph, comm)
        whole = ws.run(Rank, graph_here, **planned(max_iter=4, **options))
        ws.run(Rank, graph_here, **planned(max_iter=2, checkpoint=path, **options))
        resumed = ws.run(Rank, graph_here, **planned(max_iter=4, resume=path, **options))
        assert resumed.iterations == 4
        pd.testing.assert_frame_equal(resumed.frame, whole.frame)

    with build(GRAPH) as graph, emulated(seed=5):
        over_links(2, work)


@pytest.mark.parametrize("exchange", ["vr", "ms"])
def test_a_superstep_has_one_wait_and_no_download(exchange, monkeypatch):
    monkeypatch.setattr(driver, "StopVote", Silent)
    waits, downloads, launches = {}, {}, {}
    with build(GRAPH) as graph:
        for most in (2, 2, 5):  # the first time a program is looked at together
            with emulated() as device:
                given = {"max_iter": most, "tol": 0.0, "exchange": exchange, "engine": "cuda"}

                def work(comm, given=given):
                    ws.run(Rank, share(graph, comm), **planned(**given))
                    return comm.links.waits

                waits[most] = over_links(2, work)
                downloads[most], launches[most] = device.downloads, device.launches
    assert waits[5] == [one + 3 for one in waits[2]]
    assert downloads[5] == downloads[2]
    # of two ranks: superstep, packing, header, aggregates, and unpacking of what has places
    assert launches[5] - launches[2] == 3 * 2 * (5 if exchange == "vr" else 4)


@ws.vertex_program
class Halting:
    """Values rise four times, then every fifth one once more, and then stay; their sums show how old they are."""

    value: ws.float64
    number: ws.float64
    seen: ws.float64
    residual = ws.l1_norm("seen")

    def init(vertex):
        return 1.0, 1.0 * vertex, 0.0

    def compute(src):
        return src.value

    combine = sum

    def apply(old, gathered, p):
        rises = p.superstep < 4 or (p.superstep == 4 and old.number % 5.0 == 0.0)
        return old.value + (1.0 if rises else 0.0), old.number, gathered


@pytest.mark.parametrize("ranks", [2, 3])
def test_ghosts_are_up_to_date_where_nothing_comes_after_everything_came(ranks):
    """After a superstep with few changes, sent as a whole boundary, into one copy of the state."""
    with build(GRAPH) as graph, emulated(seed=3):
        given = {"max_iter": 9, "tol": 0.0, "exchange": "auto"}
        linked, mailed = runs_of(graph, ranks, Halting, given)
    assert_same(linked, mailed)
    useful = linked[0][1]["bytes_useful"].tolist()
    assert useful[3] > useful[4] > useful[5] == 0


@ws.vertex_program
class Still:
    """What neighbours read rises three times and then stays; the run goes on."""

    value: ws.float64
    turn: ws.float64
    residual = ws.l1_norm("turn")

    def init(vertex):
        return 1.0, 0.0

    def compute(src):
        return src.value

    combine = sum

    def apply(old, gathered, p):
        return old.value + (1.0 if p.superstep < 3 else 0.0), 1.0 * p.superstep


@pytest.mark.parametrize("ranks", [2, 3])
def test_all_vertices_of_a_boundary_are_sent_where_all_are_computed(ranks):
    """Also where in the end nothing changes; results are those of lists."""

    def runs(exchange):
        def work(comm):
            plan = ws.Plan(direction="gather", exchange=exchange)
            result = ws.run(Still, share(graph, comm), engine="cuda", plan=plan, max_iter=8)
            return result.trace.drop(columns="milliseconds"), result.frame

        with build(GRAPH) as graph, emulated(seed=3):
            return over_links(ranks, work)

    (trace, frame), *others = runs("auto")
    assert set(trace["exchange"]) == {"ms"}
    assert all(other.equals(trace) for other, _ in others)
    pd.testing.assert_frame_equal(frame, runs("vr")[0][1])


@pytest.mark.parametrize("hub", [False, True], ids=["between GPUs", "hub"])
def test_frontiers_send_the_fewest_bytes_that_the_last_superstep_suggests(hub):
    """Lists where few vertices changed, bits where their values are alike, else whole boundaries."""

    def runs(exchange):
        plan = ws.Plan(exchange=exchange)
        with build(ring) as graph, emulated(seed=3):
            ranks = (over_hub if hub else over_links)(
                2, lambda comm: ws.run(Hops, share(graph, comm), engine="cuda", plan=plan, start=0)
            )
        return ranks[0]

    ends = np.arange(32)
    ring = Edges(ends, (ends + 17) % 32, 32)  # between the two ranks, but for two edges
    chosen, listed = runs("auto"), runs("vr")
    pd.testing.assert_frame_equal(chosen.frame, listed.frame)
    assert set(chosen.trace["exchange"]) <= {"vr", "bits"}
    assert (chosen.trace["bytes_sent"] <= listed.trace["bytes_sent"]).all()


APART = {
    **PROGRAMS,
    "gone back": (Fading, {"max_iter": 6}),
    "at rest": (Rank, {"max_iter": 36, "tol": 0.0}),  # in the end little changes, and is listed
}


@pytest.mark.parametrize(
    ("name", "cuts", "exchange"),
    [
        ("rank", (0, 5, 16), "ms"),
        ("rank", (0, 0, 5, 16), "auto"),
        ("steps", (0, 7, 16), "ms"),
        ("steps", (0, 7, 16), "auto"),
        ("gathered", (0, 8, 16), "ms"),
        ("gathered", (0, 8, 16), "auto"),
        ("gone back", (0, 4, 9, 16), "auto"),
        ("at rest", (0, 6, 16), "auto"),
    ],
)
def test_most_leaves_before_a_superstep_ends(name, cuts, exchange, monkeypatch):
    """The tail's vertices have gone when the head's are computed; results and bytes are the same."""
    program, options = APART[name]
    monkeypatch.setattr(device_exchange, "LEAST_APART", 1)
    tails = []
    real = DeviceRefinement.pack_tail
    monkeypatch.setattr(
        DeviceRefinement,
        "pack_tail",
        lambda *given: tails.append(given[2:]) or real(*given),
    )
    given = {"exchange": exchange, "engine": "cuda", **options}

    def work(comm):
        shard = with_ordered_ghosts(share(graph, comm, cuts))
        result = ws.run(program, shard, **planned(**given))
        return result.frame, result.trace[list(WHOLE)], result.stopped

    with build(GRAPH) as graph, emulated(seed=3):
        linked = over_links(len(cuts) - 1, work)
        mailed = on_ranks(
            len(cuts) - 1,
            lambda comm: (
                (found := ws.run(program, share(graph, comm, cuts), **planned(**given))).frame,
                found.trace[list(WHOLE)],
                found.stopped,
            ),
        )
    assert_same(linked, mailed)
    assert tails or (name == "gathered" and exchange == "auto"), "little changes there"


def test_progress_stops_all_ranks():
    def work(comm):
        report = (lambda update: update.superstep < 2) if comm.rank == 0 else False
        given = {"max_iter": 1000, "tol": 0.0, "engine": "cuda", "progress": report}
        result = ws.run(Rank, share(graph, comm), **planned(**given))
        return result.stopped, result.iterations

    with build(SHAPES["path"]) as graph, emulated():
        first, second = over_links(2, work)
    assert first == second
    assert first[0] == "callback"


class Silent:
    """A stop vote that never takes place."""

    def __init__(self, comm):
        pass

    def ask(self, request):
        return request


# --------------------------------------------------------------------------------- NCCL, by its calls


class Calls:
    """Stands for CuPy's communicator, groups, events and streams; notes what is called."""

    NCCL_INT8 = 0
    ptr = 77

    def __init__(self, *given, **named):
        self.noted = []
        self.done = True

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return lambda *given: self.noted.append((name, *given))


class Array:
    """Stands for an array on the GPU."""

    def __init__(self, pointer, nbytes):
        self.data, self.nbytes = SimpleNamespace(ptr=pointer), nbytes


class Checked(SingleRank):
    """A communicator of one rank that may be abandoned."""

    given_up = False
    transport = Transport("run", ["127.0.0.1"])

    def check(self):
        if self.given_up:
            raise TimeoutError("the run is given up")


@pytest.fixture
def nccl(monkeypatch):
    communicator, groups, event = Calls(), Calls(), Calls()
    groups.NcclCommunicator = lambda size, name, rank: communicator
    groups.get_unique_id = lambda: (1, 2)
    cuda = SimpleNamespace(
        Event=lambda **_: event, get_current_stream=lambda: event, nccl=groups, Device=nullcontext
    )
    monkeypatch.setitem(sys.modules, "cupy", SimpleNamespace(cuda=cuda))
    monkeypatch.setitem(sys.modules, "cupy.cuda", cuda)
    return communicator, groups, event


@pytest.fixture
def links(nccl):
    communicator, groups, event = nccl
    made = NcclLinks(Checked(), ["tcp://127.0.0.1:1"])
    yield made, communicator, groups, event
    made.close()


def test_calls_of_nccl(links):
    made, communicator, groups, event = links
    made.gather(Array(10, 24), Array(20, 48))
    made.post([[], []], [[], []])  # nothing at all
    made.post([[], [Array(30, 8)]], [[], [Array(40, 5), Array(50, 6)]])
    made.wait(made.mark())
    assert communicator.noted == [
        ("allGather", 10, 20, 24, 0, 77),
        ("send", 30, 8, 0, 1, 77),
        ("recv", 40, 5, 0, 1, 77),
        ("recv", 50, 6, 0, 1, 77),
    ]
    assert groups.noted == [("groupStart",), ("groupEnd",)]
    assert event.noted == [("record", event)]


def test_a_wait_for_a_lost_rank_gives_up(links):
    made, communicator, _, event = links
    event.done = False
    gone = Checked()
    gone.given_up = True
    made.check = gone.check
    with pytest.raises(TimeoutError, match="given up"):
        made.wait(made.mark())
    assert communicator.noted == [("abort",)]
    assert not made.alive
    made.close()
    assert communicator.noted == [("abort",)], "what is aborted is not destroyed again"


def test_a_failed_run_ends_its_links_at_once(links):
    """What this rank has queued waits for others that will not answer; they may have queued something else."""
    made, communicator, *_ = links
    made.end(failed=False)
    assert made.alive
    assert not communicator.noted
    made.end(failed=True)
    assert not made.alive
    assert communicator.noted == [("abort",)]


def test_links_end_with_a_rank_in_any_wait(links):
    """Also if no thread asks: a wait for the GPU cannot be called off."""
    made, communicator, groups, _ = links
    made._fail(WorkerLostError("worker tcp://a was lost"))
    assert communicator.noted == [("abort",)]
    assert not made.alive
    for ask in (
        lambda: made.wait(made.mark()),  # what has ended has come to nothing
        lambda: made.gather(Array(10, 24), Array(20, 48)),
        lambda: made.post([[], [Array(30, 8)]], [[], []]),
    ):
        with pytest.raises(WorkerLostError, match="worker tcp://a was lost"):
            ask()
    assert groups.noted == []
    assert communicator.noted == [("abort",)]


def test_links_that_are_never_made_are_given_up(nccl, monkeypatch):
    communicator, groups, _ = nccl
    begun, over = threading.Event(), threading.Event()
    comm = Checked()

    def never(size, name, rank):
        begun.set()
        over.wait(60.0)
        return communicator

    groups.NcclCommunicator = never
    threading.Thread(target=lambda: begun.wait(60.0) and setattr(comm, "given_up", True)).start()
    with pytest.raises(TimeoutError, match="given up"):
        NcclLinks(comm, ["tcp://127.0.0.1:1"])
    over.set()
