"""The host hub: messages through segments that all ranks address, and exchanges over it, in the emulator."""

from __future__ import annotations

import sys
import threading
from contextlib import nullcontext
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from cuda_cases import PUSHES, graph_of, medley, set_classes
from emulator.device import emulated
from hub_workers import ProcessQueue
from plans import planned
from programs import Rank
from shapes import build, rmat, undirected
from test_cuda_frontier import SETTINGS, tuned
from test_device_exchange import EXCHANGES, GRAPH, PROGRAMS, WHOLE
from thread_ranks import (
    ThreadCommunicator,
    on_ranks,
    over_hub,
    over_links,
    share,
    with_ordered_ghosts,
)
from verify import Edges

import cugraph_ws as ws
from cugraph_ws.accelerators.hub import links as hub_links
from cugraph_ws.accelerators.hub import segment as host_segment
from cugraph_ws.accelerators.hub import stream_words
from cugraph_ws.accelerators.hub.links import StreamQueue
from cugraph_ws.accelerators.hub.messages import HostHub, segment_size
from cugraph_ws.backends.cuda import exchange as device_exchange
from cugraph_ws.backends.cuda.refinement import DeviceRefinement
from cugraph_ws.dask import gpu_links, links
from cugraph_ws.runtime import driver
from cugraph_ws.runtime.communicator import RunAbandonedError

SMALL = 1 << 11  # bytes of a buffer: messages go in pieces
ROOMS = (SMALL, 1 << 16)


def test_messages_to_all_and_to_one():
    """Several in turn, of several pieces; a rank that a message is not for skips it."""
    numbers = np.arange(5000, dtype=np.int32)

    def work(comm):
        hub, rank = comm.links.hub, comm.rank
        for turn in range(5):
            hub.publish(
                [numbers[: 9 + rank] + turn, numbers[:1].astype(np.uint8)],
                [one for one in (0, 2) if one != rank],
            )
            for owner in range(3):
                if owner == rank:
                    continue
                if rank == 1:
                    hub.skip(owner)
                    continue
                values, one = hub.receive(owner, [(np.int32, 9 + owner), (np.uint8, 1)])
                np.testing.assert_array_equal(values, numbers[: 9 + owner] + turn)
                assert one[0] == 0
                hub.release(owner)
        everyone = np.zeros(6, np.float64)
        comm.links.gather(np.array([rank, 0.5]), everyone)
        assert everyone.tolist() == [0, 0.5, 1, 0.5, 2, 0.5]
        sent = [
            [numbers[: 1000 * peer] + rank, numbers[:3]] if peer != rank else []
            for peer in range(3)
        ]
        taken = [
            [np.zeros(1000 * rank, np.int32), np.zeros(3, np.int32)] if peer != rank else []
            for peer in range(3)
        ]
        comm.links.post(sent, taken)
        for peer, arrays in enumerate(taken):
            if peer != rank:
                np.testing.assert_array_equal(arrays[0], numbers[: 1000 * rank] + peer)
                np.testing.assert_array_equal(arrays[1], numbers[:3])

    over_hub(3, work, room=SMALL)


@pytest.fixture
def small_classes(monkeypatch):
    set_classes(monkeypatch, block=32, hub=12, chunk=8, middle=5)


def results(run, graph, ranks, cuts=None, *, ordered=False, room=SMALL):
    """Return each rank's result over links, and through a hub."""

    def work(comm):
        shard = share(graph, comm, cuts)
        result = run(with_ordered_ghosts(shard) if ordered else shard)
        return result.frame, result.trace[list(WHOLE)], result.stopped

    return over_links(ranks, work), over_hub(ranks, work, room=room)


def assert_same(linked, through, *, traced=False):
    """Compare results; traces of two ranks too, if `traced`: one peer is sent what all are."""
    for (frame, trace, stopped), (other, expected, why) in zip(through, linked, strict=True):
        pd.testing.assert_frame_equal(frame, other)
        assert stopped == why
        if traced and len(linked) == 2:
            pd.testing.assert_frame_equal(trace, expected)


@pytest.mark.parametrize(
    ("name", "exchange"),
    [
        (name, exchange)
        for turn, name in enumerate(PROGRAMS)
        for place, exchange in enumerate(EXCHANGES)
        if name == "rank" or (turn + place) % 4 == 0
    ],
)
def test_the_same_as_from_gpu_to_gpu(small_classes, name, exchange):
    program, options = PROGRAMS[name]
    ranks = 2 + (len(name) + EXCHANGES.index(exchange)) % 2
    with build(GRAPH) as graph, emulated(seed=3):

        def run(shard):
            return ws.run(program, shard, **planned(engine="cuda", exchange=exchange, **options))

        found = results(run, graph, ranks, ordered=exchange == "ms", room=ROOMS[ranks % 2])
        assert_same(*found, traced=exchange != "all")


@pytest.mark.parametrize("case", PUSHES[::3], ids=lambda case: case.name)
def test_frontiers(case):
    place = PUSHES.index(case)
    setting = list(SETTINGS)[place % len(SETTINGS)]
    edges = undirected(medley()) if place % 2 else medley()
    options = {"exchange": EXCHANGES[place % 4], "direction": "auto"}
    with tuned(**SETTINGS[setting]), graph_of(edges) as graph, emulated(place, multiprocessors=2):
        assert_same(
            *results(lambda shard: case.run(shard, engine="cuda", **options), graph, 2 + place % 3)
        )


@pytest.mark.parametrize("cuts", [(0, 0, 5, 16), (0, 9, 9, 16), (0, 16, 16, 16)])
@pytest.mark.parametrize("exchange", ["all", "auto"])
def test_ranks_without_vertices(cuts, exchange):
    with graph_of(rmat(4, 5, seed=2)) as graph, tuned(), emulated(seed=1):
        options = {"exchange": exchange, "direction": "auto", "engine": "cuda"}
        assert_same(*results(lambda shard: PUSHES[6].run(shard, **options), graph, 3, cuts))


@pytest.mark.parametrize(("ranks", "exchange"), [(2, "ms"), (4, "vr"), (3, "all")])
def test_an_outbox_leaves_its_gpu_once(ranks, exchange):
    """All other ranks read vertex 0, and nobody reads theirs; the trace counts what was copied to the host."""
    n = 8 * ranks
    edges = Edges(np.zeros(n - 8, np.int64), np.arange(8, n), n)

    def work(comm):
        def copied():
            return getattr(getattr(comm.links, "queue", None), "copied", 0)

        given = {"tol": 0.0, "exchange": exchange, "engine": "cuda"}
        shard, at = share(graph, comm), []
        for most in (1, 1, 2):  # the first prepares
            before = copied()
            result = ws.run(Rank, shard, **planned(max_iter=most, **given))
            at.append(copied() - before)
        return result.trace["bytes_sent"].tolist(), at[2] - at[1]

    with build(edges) as graph, emulated():
        through, linked = over_hub(ranks, work), over_links(ranks, work)
    (sent, first), *others = through
    assert {tuple(one) for one, _ in others} == {tuple(sent)}
    (header,) = {one for _, one in others}
    assert sent[1] == first - header
    peers = (ranks - 1) if exchange != "all" else ranks * (ranks - 1)
    assert [one * peers for one in sent] == linked[0][0]


def test_nothing_leaves_beforehand(monkeypatch):
    """However fast the links are: between GPUs, most of a whole message would leave while a superstep computes."""
    monkeypatch.setattr(device_exchange, "LEAST_APART", 1)
    monkeypatch.setattr(device_exchange, "SLOWEST_APART", 1.0)  # seconds of a byte
    tails = []
    monkeypatch.setattr(DeviceRefinement, "pack_tail", lambda *given: tails.append(given))

    def work(comm):
        given = {"max_iter": 3, "tol": 0.0, "exchange": "ms", "engine": "cuda"}
        return ws.run(Rank, share(graph, comm), **planned(**given)).rows

    with build(GRAPH) as graph, emulated():
        rows = over_hub(2, work)[0]
    assert len(rows.superstep) == 3
    assert not tails


# ------------------------------------------------------------------------------ the driver, by its calls


class Driver:
    """CUDA's driver: notes what is called; registered memory has addresses that are 1 << 40 higher."""

    def __init__(self):
        self.noted = []

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)

        def call(*given):
            if name.startswith("cuMemHostGetDevicePointer"):
                given[0]._obj.value = given[1].value + HIGHER
            else:
                self.noted.append((name.split("_")[0], *(one.value for one in given)))
            return 0

        return call


class Stream:
    def __init__(self, pointer, noted):
        self.ptr, self.noted = pointer, noted

    def wait_event(self, event):
        self.noted.append(("waits", self.ptr))


HIGHER = 1 << 40


def test_calls_of_the_driver(monkeypatch):
    """A long message is copied beside, and what follows `join` waits for it; a short one in line."""
    library = Driver()
    monkeypatch.setattr(driver, "_library", lambda: library)
    noted = library.noted
    main, side = Stream(1, noted), Stream(2, noted)
    runtime = SimpleNamespace(
        memcpyDefault=4,
        memcpyAsync=lambda target, source, size, kind, stream: noted.append(
            ("copy", target, source, size, stream)
        ),
    )
    event = SimpleNamespace(record=lambda stream: noted.append(("records", stream.ptr)))
    cuda = SimpleNamespace(
        runtime=runtime, Stream=lambda **_: side, Event=lambda **_: event,
        get_current_stream=lambda: main,
        UnownedMemory=lambda pointer, size, owner, gpu: (pointer, size),
        MemoryPointer=lambda memory, offset: memory,
        Device=lambda: SimpleNamespace(id=0, synchronize=lambda: noted.append(("synchronize",))),
    )  # fmt: skip
    cupy = SimpleNamespace(cuda=cuda, ndarray=lambda shape, kind, at: at)
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    room = 1 << 17
    held = [np.zeros(segment_size(2, room), np.uint8) for _ in range(2)]
    queue = StreamQueue([SimpleNamespace(bytes=one) for one in held])
    hub = HostHub(queue, 0, 2, room)
    own, other = (one.ctypes.data + HIGHER for one in held)
    registered, noted[:] = list(noted), []
    assert [one[1:3] for one in registered] == [(one.ctypes.data, len(one)) for one in held]
    long = SimpleNamespace(nbytes=1 << 16, data=SimpleNamespace(ptr=77))
    short = SimpleNamespace(nbytes=8, data=SimpleNamespace(ptr=99))
    begin = own + 4096 + room
    hub.publish([long], [1])
    assert noted == [
        ("records", 1), ("waits", 2), ("copy", begin, 77, 1 << 16, 2),
        ("cuStreamWriteValue64", 2, own + 8, 1, 0),
    ]  # fmt: skip
    noted.clear()
    hub.join()
    hub.join()
    assert noted == [("records", 2), ("waits", 1)]
    hub.publish([short], [])
    noted.clear()
    hub.publish([short, short], [1])  # the half of the first message
    acknowledged = own + 8 * (2 * 3 + 2 + 1)
    assert noted[0] == ("cuStreamWaitValue64", 1, acknowledged, 1, 0)
    assert [one[1] for one in noted[1:3]] == [begin, begin + 16]
    noted.clear()
    (came,) = hub.receive(1, [(np.int32, 3)])
    assert came == (other + 4096 + room, 12)
    hub.release(1)
    assert noted == [
        ("cuStreamWaitValue64", 1, other + 8, 1, 0),
        ("cuStreamWriteValue64", 1, other + 8 * (2 * 3 + 1), 1, 0),
    ]
    noted.clear()
    queue.close()
    assert noted == [
        ("synchronize",), *(("cuMemHostUnregister", one.ctypes.data) for one in held)
    ]  # fmt: skip


def test_segments_are_unlocked_if_one_cannot_be(monkeypatch):
    """Else their pages would stay locked, and the next segment at their address be refused."""
    noted = []

    def refuse(pointer, size):
        if noted:
            raise ws.EngineError("locking host memory: the CUDA driver says 'no'")
        noted.append(pointer)

    monkeypatch.setitem(sys.modules, "cupy", SimpleNamespace(cuda=None))
    monkeypatch.setattr(stream_words, "register", refuse)
    monkeypatch.setattr(stream_words, "address_on_gpu", lambda pointer: pointer)
    monkeypatch.setattr(stream_words, "unregister", noted.append)
    held = [SimpleNamespace(bytes=np.zeros(4096, np.uint8)) for _ in range(2)]
    with pytest.raises(ws.EngineError, match="locking"):
        StreamQueue(held)
    assert noted == 2 * [held[0].bytes.ctypes.data]


def test_a_driver_that_lacks_a_function(monkeypatch):
    monkeypatch.setattr(driver, "_library", lambda: SimpleNamespace())
    with pytest.raises(ws.EngineError, match="too old, it has no cuStreamWriteValue64_v2"):
        stream_words.store_word(0, 8, 1)


# ----------------------------------------------------------------------------------- their end


@pytest.fixture
def making(monkeypatch, tmp_path):
    """Returns what makes hub links of two ranks that nothing watches; no names of segments are left."""
    stand_in = SimpleNamespace(
        watch=lambda on_error: None,
        begin=lambda run: None,
        end=lambda failed: None,
        close=lambda: None,
    )
    event = SimpleNamespace(record=lambda stream: None, done=True)
    cuda = SimpleNamespace(Event=lambda **_: event, get_current_stream=lambda: None)
    monkeypatch.setitem(sys.modules, "cupy.cuda", cuda)
    monkeypatch.setattr(gpu_links, "Heartbeat", lambda comm, addresses: stand_in)
    monkeypatch.setattr(hub_links, "StreamQueue", ProcessQueue)
    monkeypatch.setattr(hub_links, "free_bytes", lambda: 1 << 21)
    monkeypatch.setattr(host_segment, "FOLDER", tmp_path)
    monkeypatch.setattr(ThreadCommunicator, "check", lambda comm: None, raising=False)

    def make():
        with emulated():
            both = on_ranks(2, lambda comm: hub_links.HubLinks(comm, ["a", "b"]))
        opened.extend(both)
        return both

    opened = []
    yield make
    assert not list(tmp_path.iterdir())
    for one in opened:
        one.close()


@pytest.fixture
def made(making):
    """Hub links of two ranks that nothing watches."""
    return making()


def test_there_is_room_for_all_segments(made):
    assert made[0].hub.room == made[1].hub.room
    assert 2 * segment_size(2, made[0].hub.room) <= 1 << 20


def test_who_was_released_by_another_rank_believes_nothing(made):
    first, second = made
    numbers = np.arange(8)
    second.wait(second.mark())
    first._fail(ws.WorkerLostError("worker tcp://c was lost"))
    second.post([[numbers], []], [[numbers.copy()], []])  # does not wait for ever
    with pytest.raises(RunAbandonedError, match="another rank has left"):
        second.wait(second.mark())
    assert not second.alive
    for ask in (lambda: first.wait(first.mark()), lambda: first.post([], [])):
        with pytest.raises(ws.WorkerLostError, match="tcp://c was lost"):
            ask()


def test_what_waits_is_released_again(made):
    """A number that another rank's GPU has stored since then would be too low."""
    first, _ = made
    first.close()
    first._closed.clear()
    first._words(1)[:-1] = 3
    first._release()
    assert (first._words(1)[:-1] == stream_words.MOST).all()


def test_links_of_a_failed_run_are_not_used_again(made):
    """Nothing waits in the GPU's queue until they are made anew."""
    first, second = made
    first.end(failed=False)
    assert first.alive
    assert not first._over.is_set()
    first.end(failed=True)
    assert not first.alive
    first.post([[], [np.arange(8)]], [[], [np.arange(8)]])  # nobody sends or reads
    second.end(failed=True)
    assert (second._words(0)[:-1] == stream_words.MOST).all()


# -------------------------------------------------------------------------------- their beginning


def refusing(**broken):
    """Return a queue of which some methods do something else."""
    return type("Refusing", (ProcessQueue,), broken)


def refuse(*given):
    raise ws.EngineError("awaiting a number in the GPU's queue: the CUDA driver says 'no'")


@pytest.mark.parametrize(
    ("broken", "both", "why"),
    [
        ({"put": refuse}, True, "awaiting a number in the GPU's queue"),
        ({"take": lambda queue, source, target: None}, False, "what arrives is not what was sent"),
        ({"__init__": lambda queue, segments: 1 // 0}, False, "division"),
    ],
)
def test_a_gpu_that_reads_nothing_is_found_out_before_a_run(making, monkeypatch, broken, both, why):
    """If it is one rank's alone, it is an error on both."""
    queues = [refusing(**broken) if both else ProcessQueue, refusing(**broken)]
    monkeypatch.setattr(hub_links, "StreamQueue", lambda segments: queues.pop()(segments))
    with pytest.raises(ws.EngineError, match=f"through the host's memory: .*{why}"):
        making()


def test_a_number_that_never_comes_is_an_error_in_time(making, monkeypatch):
    monkeypatch.setattr(hub_links, "PATIENCE", 0.05)
    late = SimpleNamespace(record=lambda stream: None, done=False)
    monkeypatch.setattr(sys.modules["cupy.cuda"], "Event", lambda **_: late)
    with pytest.raises(ws.EngineError, match="no message has come within 0 s"):
        making()


def test_a_name_is_taken_away_however_the_making_ends(making, monkeypatch):
    def lost(links, own, names):
        raise ws.WorkerLostError("worker tcp://b was lost")

    monkeypatch.setattr(hub_links.HubLinks, "_map", lost)
    with pytest.raises(ws.WorkerLostError):
        making()


# ---------------------------------------------------------------------------------- which links


def through_host(monkeypatch, make):
    """Have links through host memory made by a function; none if it is None."""
    registered = SimpleNamespace(host_links=lambda: make)
    monkeypatch.setattr(links, "provider", lambda what: registered)


@pytest.mark.parametrize(
    ("wanted", "hosts", "gpus", "found"),
    [
        ("auto", "aa", "12", "nccl"),
        ("auto", "aa", "11", "hub"),
        ("auto", "ab", "11", "nccl"),
        ("auto", "ab", "12", "nccl"),
        ("auto", "aa", ("", ""), "nccl"),
        ("hub", "aa", "12", "hub"),
        ("hub", "ab", "12", "nccl"),
        ("nccl", "aa", "12", "nccl"),
    ],
)
def test_which_links_are_made(monkeypatch, wanted, hosts, gpus, found):
    place = threading.local()
    cuda = SimpleNamespace(Device=lambda: SimpleNamespace(id=gpus.index(gpus[place.rank])))
    monkeypatch.setitem(sys.modules, "cupy", SimpleNamespace(cuda=cuda))
    monkeypatch.setitem(sys.modules, "cupy.cuda", cuda)
    listed = [SimpleNamespace(uuid=one) for one in gpus]
    monkeypatch.setattr(links, "installed_gpus", lambda: listed)
    monkeypatch.setattr(links, "host", lambda: (hosts[place.rank], ""))
    monkeypatch.setattr(links, "NcclLinks", lambda comm, addresses: "nccl")
    through_host(monkeypatch, lambda comm, addresses: "hub")

    def work(comm):
        place.rank = comm.rank
        return links.make_links(comm, ["a", "b"], wanted)

    assert on_ranks(2, work) == [found] * 2


@pytest.mark.parametrize("wanted", ["auto", "nccl", "hub"])
@pytest.mark.parametrize(
    ("gpus", "asked", "refused"),
    [
        ("11", ("0", "1"), True),
        ("11", ("0", "0"), False),
        ("11", ("0", "GPU-11"), False),  # names of one
        ("11", ("", ""), False),
        ("12", ("0", "1"), False),
        (("", ""), ("0", "1"), False),
    ],
)
def test_workers_that_are_not_where_they_were_sent(monkeypatch, wanted, gpus, asked, refused):
    """As CUDA has begun in them before their environment was set."""
    place = threading.local()
    cuda = SimpleNamespace(Device=lambda: SimpleNamespace(id=0))
    monkeypatch.setitem(sys.modules, "cupy", SimpleNamespace(cuda=cuda))
    monkeypatch.setitem(sys.modules, "cupy.cuda", cuda)
    monkeypatch.setattr(links, "installed_gpus", lambda: [SimpleNamespace(uuid=gpus[place.rank])])
    monkeypatch.setattr(links, "_first_visible", lambda: asked[place.rank])
    monkeypatch.setattr(links, "NcclLinks", lambda comm, addresses: "links")
    through_host(monkeypatch, lambda comm, addresses: "links")

    def work(comm):
        place.rank = comm.rank
        return links.make_links(comm, ["tcp://a", "tcp://b"], wanted)

    says = r"tcp://a and tcp://b are on one GPU.*GPUs 0 and 1.*__main__"
    with pytest.raises(ws.EngineError, match=says) if refused else nullcontext():
        assert on_ranks(2, work) == ["links"] * 2


def test_the_first_visible_gpu(monkeypatch):
    for asked, gpus, first in (("1, 0", 2, "1"), ("1", 1, ""), ("", 2, "")):
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", asked)
        monkeypatch.setattr(links, "installed_gpus", lambda gpus=gpus: [None] * gpus)
        assert links._first_visible() == first


def test_where_ranks_share_a_gpu_and_a_hub_cannot_be_made(monkeypatch):
    """NCCL would refuse the shared GPU, and say less."""

    def refuse(comm, addresses):
        raise ws.EngineError("no memory")

    monkeypatch.setattr(links, "_gpus", lambda comm, addresses: ["1", "1"])
    monkeypatch.setattr(links, "installed_gpus", lambda: ["1"])
    monkeypatch.setattr(links, "NcclLinks", lambda comm, addresses: "nccl")
    through_host(monkeypatch, refuse)
    with pytest.raises(ws.EngineError, match="no memory"):
        on_ranks(2, lambda comm: links.make_links(comm, ["a", "b"]))


@pytest.mark.parametrize(
    ("wanted", "gpus", "says"),
    [("hub", "12", "links='hub': the accelerator"), ("auto", "11", "two workers share a GPU")],
)
def test_without_the_accelerator_links_are_refused(monkeypatch, wanted, gpus, says):
    monkeypatch.setattr(links, "_gpus", lambda comm, addresses: list(gpus))
    monkeypatch.setattr(links, "installed_gpus", lambda: ["1"])
    through_host(monkeypatch, None)
    with pytest.raises(ws.EngineError, match=f"{says}.*CUGRAPH_WS_ACCELERATORS"):
        on_ranks(2, lambda comm: links.make_links(comm, ["a", "b"], wanted))
