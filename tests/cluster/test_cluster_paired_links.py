"""Links by pairs of ranks: two groups of ranks that pretend to be two hosts, whose ranks share a GPU, in the emulator."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
import stand_in_cudf
from cuda_cases import PUSHES, graph_of, medley, set_classes
from emulator.device import emulated
from paired_ranks import over_pairs, pretended
from plans import planned
from shapes import build, edge_frame, random_edges
from test_cuda_frontier import SETTINGS, tuned
from test_device_exchange import EXCHANGES, GRAPH, PROGRAMS, WHOLE
from thread_ranks import on_ranks, over_links, share, with_ordered_ghosts
from zoo_vectors import MinHash

import cugraph_ws as ws
from cugraph_ws.accelerators.hub import links as hub_links
from cugraph_ws.dask import gpu_links, paired_links
from cugraph_ws.dask.nccl import BY_NETWORK
from cugraph_ws.dask.paired_links import PairedLinks
from cugraph_ws.errors import EngineError, WorkerLostError
from cugraph_ws.partition.build import build_shard
from cugraph_ws.runtime.communicator import RunAbandonedError

TWO_AND_TWO = (0, 0, 2, 2)
LAYOUTS = (TWO_AND_TWO, (0, 1, 0, 1), (0, 0, 2))  # hosts of ranks


@pytest.fixture
def small_classes(monkeypatch: pytest.MonkeyPatch) -> None:
    set_classes(monkeypatch, block=32, hub=12, chunk=8, middle=5)


def assert_the_same(
    run: Any, graph: Any, hosts: Any, *, ordered: bool = False, traced: bool = True
) -> None:
    """Compare every rank's result, end and, if `traced`, trace with those over links of one kind, bit by bit."""

    def work(comm: Any) -> Any:
        shard = share(graph, comm)
        result = run(with_ordered_ghosts(shard) if ordered else shard)
        return result.frame, result.trace[list(WHOLE)], result.stopped

    pairs = zip(over_pairs(hosts, work), over_links(len(hosts), work), strict=True)
    for (frame, trace, stopped), (expected, expected_trace, why) in pairs:
        pd.testing.assert_frame_equal(frame, expected, check_exact=True)
        if traced:
            pd.testing.assert_frame_equal(trace, expected_trace)
        assert stopped == why


# ------------------------------------------------------------------------------------ exchanges


@pytest.mark.parametrize(
    ("name", "exchange"),
    [
        (name, exchange)
        for turn, name in enumerate(PROGRAMS)
        for place, exchange in enumerate(EXCHANGES)
        if name == "rank" or (turn + place) % 3 == 0
    ],
)
def test_the_same_as_one_hosts(
    small_classes: None, monkeypatch: pytest.MonkeyPatch, name: str, exchange: str
) -> None:
    """Dense supersteps whole, refined and as a list of frontiers; messages of several pieces."""
    monkeypatch.setattr(paired_links, "PIECE", 24)
    program, options = PROGRAMS[name]
    hosts = LAYOUTS[(len(name) + EXCHANGES.index(exchange)) % len(LAYOUTS)]
    with build(GRAPH) as graph, emulated(seed=3):
        given = planned(engine="cuda", exchange=exchange, **options)
        assert_the_same(
            lambda shard: ws.run(program, shard, **given), graph, hosts, ordered=exchange == "ms"
        )


@pytest.mark.parametrize("case", PUSHES[::4], ids=lambda case: case.name)
def test_frontiers_and_predecessors(case: Any) -> None:
    place = PUSHES.index(case)
    options = {"exchange": EXCHANGES[place % 4], "direction": "auto", "engine": "cuda"}
    setting = SETTINGS[list(SETTINGS)[place % len(SETTINGS)]]
    with tuned(**setting), graph_of(medley()) as graph, emulated(place, multiprocessors=2):
        assert_the_same(
            lambda shard: case.run(shard, **options),
            graph,
            LAYOUTS[place % len(LAYOUTS)],
            traced=False,  # pushes of one superstep may find a vertex in any order
        )


def test_vectors(small_classes: None) -> None:
    with build(GRAPH) as graph, emulated():
        assert_the_same(lambda shard: ws.run(MinHash, shard, engine="cuda"), graph, TWO_AND_TWO)


def test_builds_and_loops_of_their_own() -> None:
    """Edges are shuffled to their owners, then labels are exchanged."""
    frame = edge_frame(random_edges(40, 90, seed=3), weighted=True)

    def work(comm: Any) -> Any:
        parts = [
            (place, stand_in_cudf.DataFrame(frame.iloc[place::4].reset_index(drop=True)))
            for place in range(4)
            if place == comm.rank
        ]
        meta = stand_in_cudf.DataFrame(frame.iloc[:0])
        shard = build_shard(comm, parts, meta=meta, weight="weight")
        graph, _, boundaries = shard.laid_out()
        loop = ws.WeaklyConnectedComponents()
        loop.start(shard, on_device=True)
        while not loop.converged:
            loop.step()
        labels = np.asarray(loop.columns()["labels"].numbers)
        return [*map(np.asarray, (*graph.csc, graph.values("weight"), labels, *boundaries))]

    with emulated(), stand_in_cudf.installed():
        pairs = zip(over_pairs(TWO_AND_TWO, work), over_links(4, work), strict=True)
        for found, expected in pairs:
            for array, expected_array in zip(found, expected, strict=True):
                np.testing.assert_array_equal(array, expected_array)


# -------------------------------------------------------------------------------------- arrays


def made(comm: Any, hosts: Any = TWO_AND_TWO) -> PairedLinks:
    addresses = [f"tcp://rank:{rank}" for rank in range(len(hosts))]
    return PairedLinks(comm, addresses, hosts, hub_links.HubLinks, by_nccl=False)  # type: ignore[arg-type]


def test_each_pair_by_its_own_way(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ranks of other hosts are sent bytes, those of this host none; a pair that has nothing is left out."""
    monkeypatch.setattr(paired_links, "PIECE", 64)

    def work(comm: Any) -> Any:
        links, rank = made(comm), comm.rank
        peers = [peer for peer in range(4) if peer != rank]
        # Lengths differ by direction; between 1 and 2 nothing is sent, from 0 to 3 nothing back.
        counts = [[5 * (2 * source + target) for target in range(4)] for source in range(4)]
        counts[1][2] = counts[2][1] = counts[3][0] = 0
        going: list[list[Any]] = [[] for _ in range(4)]
        coming: list[list[Any]] = [[] for _ in range(4)]
        for peer in peers:
            going[peer] = [np.arange(counts[rank][peer]) + rank, np.full((1, 3), rank, np.int16)]
            coming[peer] = [np.zeros(counts[peer][rank], np.int64), np.zeros((1, 3), np.int16)]
            if {rank, peer} == {1, 2}:
                going[peer], coming[peer] = [], []
        links.post(going, coming)
        everyone = np.zeros(8)
        links.gather(np.array([rank, 0.5]), everyone)
        links.wait(links.mark())
        for peer in peers:
            if coming[peer]:
                np.testing.assert_array_equal(coming[peer][0], np.arange(counts[peer][rank]) + peer)
                assert (coming[peer][1] == peer).all()
        assert everyone.tolist() == [0, 0.5, 1, 0.5, 2, 0.5, 3, 0.5]
        assert links.alive
        sent = sorted({peer for peer, _ in links._heartbeat.sent})
        largest = max(nbytes for _, nbytes in links._heartbeat.sent)
        ways = links.carriers()
        comm.allgather(None)
        links.close()
        return sent, largest, ways

    with emulated(), pretended(4):
        found = on_ranks(4, work)
    assert [sent for sent, *_ in found] == [[2, 3], [2, 3], [0, 1], [0, 1]]
    assert {largest for _, largest, _ in found} == {64}
    here, there = "host memory", "network"
    assert [ways for *_, ways in found] == [
        ["", here, there, there], [here, "", there, there], [there, there, "", here],
        [there, there, here, ""],
    ]  # fmt: skip


def test_links_are_never_so_fast_that_messages_leave_in_two_pieces() -> None:
    def work(comm: Any) -> float:
        links = made(comm)
        links.byte = 1e-12
        links.close()
        return links.byte

    with emulated(), pretended(4):
        assert on_ranks(4, work) == [BY_NETWORK] * 4


def test_between_hosts_by_nccl_if_each_rank_has_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """The memory of the host is asked for, and serves no other host."""
    posted: dict[int, Any] = {}

    class Nccl(gpu_links.GpuLinks):
        carrier = "NCCL"

        def _open(self, comm: Any) -> None:
            self._rank = comm.rank

        def _abort(self) -> None:
            posted[self._rank] = [*posted.get(self._rank, []), "aborted"]

        def post(self, outgoing: Any, incoming: Any) -> None:
            posted[self._rank] = [[len(arrays) for arrays in some] for some in (outgoing, incoming)]

    monkeypatch.setattr(paired_links, "NcclLinks", Nccl)

    def work(comm: Any) -> Any:
        addresses = ["tcp://rank"] * 3
        links = PairedLinks(comm, addresses, (0, 0, 2), hub_links.HubLinks, by_nccl=True)  # type: ignore[arg-type]
        arrays = [[np.zeros(3)] if peer != comm.rank else [] for peer in range(3)]
        links.post(arrays, [[np.ones(3) for _ in some] for some in arrays])
        ways = links.carriers()
        links.close()
        return ways

    with emulated(), pretended(3):
        found = on_ranks(3, work)
    assert found == [["", "host memory", "NCCL"], ["host memory", "", "NCCL"], ["NCCL", "NCCL", ""]]
    assert posted[0] == [[0, 0, 1], [0, 0, 1], "aborted", "aborted"]
    assert posted[2] == [[1, 1, 0], [1, 1, 0], "aborted", "aborted"]


# --------------------------------------------------------------------------------------- the end


def test_a_lost_rank_ends_every_part_of_the_links() -> None:
    """Work that waits for ranks of this host is released, and nothing is sent or believed afterwards."""

    def work(comm: Any) -> None:
        links = made(comm)
        comm.allgather(None)
        if comm.rank == 0:
            links._fail(WorkerLostError("worker tcp://rank:3 was lost"))
            assert not links.alive
            for ask in (lambda: links.post([[]] * 4, [[]] * 4), lambda: links.wait(links.mark())):
                with pytest.raises(WorkerLostError, match="tcp://rank:3 was lost"):
                    ask()
        comm.allgather(None)
        if comm.rank == 1:  # released by rank 0
            with pytest.raises(RunAbandonedError, match="another rank has left"):
                links.wait(links.mark())
            going = [[], [], [np.zeros(3)], []]
            with pytest.raises(RunAbandonedError, match="another rank has left"):
                links.post(going, [[]] * 4)
            assert not links._heartbeat.sent, "what was released is not sent"
        if comm.rank == 2:  # of another host: its own heartbeat notices
            links.wait(links.mark())
        comm.allgather(None)
        links.close()

    with emulated(), pretended(4):
        on_ranks(4, work)


def test_each_run_has_its_own_check() -> None:
    """Parts ask what the run of the whole asks."""

    class EndedError(Exception):
        pass

    def work(comm: Any) -> None:
        links = made(comm)

        def ended() -> None:
            raise EndedError

        links.check = ended
        for part in links._parts:
            with pytest.raises(EndedError):
                part._look()
        comm.allgather(None)
        links.close()

    with emulated(), pretended(4):
        on_ranks(4, work)


def test_a_message_of_another_length_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    def work(comm: Any) -> None:
        links = made(comm)
        others = [peer for peer in range(4) if (peer < 2) != (comm.rank < 2)]
        arrays = [[np.zeros(3 + comm.rank // 2)] if peer in others else [] for peer in range(4)]
        with pytest.raises(WorkerLostError, match=r"has sent (24|32) bytes instead of (32|24)"):
            links.post(arrays, [[array.copy() for array in some] for some in arrays])
        comm.allgather(None)
        links.close()

    with emulated(), pretended(4):
        on_ranks(4, work)


def test_where_one_hosts_links_cannot_be_made_all_ranks_refuse(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def work(comm: Any) -> None:
        if comm.rank == 3:
            monkeypatch.setattr(hub_links.HubLinks, "_map", refuse)
        comm.allgather(None)
        with pytest.raises(EngineError, match="through the host's memory: no memory on rank 3"):
            made(comm)

    mapped = hub_links.HubLinks._map

    def refuse(links: Any, own: Any, names: Any) -> str:
        return "no memory on rank 3" if links._here[links._rank] == 3 else mapped(links, own, names)

    with emulated(), pretended(4):
        on_ranks(4, work)
