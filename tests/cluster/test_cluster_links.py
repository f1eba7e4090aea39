"""Links between GPUs that are kept from run to run."""

from __future__ import annotations

import threading
import time
import zlib
from concurrent.futures import ThreadPoolExecutor
from typing import Any, ClassVar

import pytest
from emulator.device import emulated
from thread_ranks import ThreadCommunicator, on_ranks

from cugraph_ws.dask import links
from cugraph_ws.dask.links import LinkPool
from cugraph_ws.errors import InputError

WHO = ["tcp://a", "tcp://b"]


class Links:
    """Links that send nothing."""

    made = 0
    lock = threading.Lock()
    said = threading.Condition()
    words: ClassVar[dict[str, dict[int, Any]]] = {}  # by run

    def __init__(self, comm: ThreadCommunicator, addresses: Any, wanted: str) -> None:
        assert addresses == WHO
        with Links.lock:
            Links.made += 1
        comm.allgather(None)
        self.rank, self.alive = comm.rank, True
        self.check: Any = None
        self.runs: list[Any] = []

    def are_free(self, run: str, here: bool, is_called: Any) -> bool | None:
        assert self.alive, "what has ended is not asked: other ranks may not have heard of that"
        with Links.said:
            words = Links.words.setdefault(run, {})
            words[self.rank] = here
            Links.said.notify_all()
            while not Links.said.wait_for(lambda: len(words) == len(WHO), 0.01):
                if is_called():
                    return None
        return all(words.values())

    def begin(self, run: str) -> None:
        self.runs.append(run)

    def end(self, *, failed: bool) -> None:
        self.runs[-1] += ", failed" if failed else ", done"
        self.alive = not failed

    def close(self) -> None:
        self.alive = False


@pytest.fixture
def pools() -> Any:
    Links.made = 0
    Links.words.clear()
    ThreadCommunicator.check = staticmethod(lambda: None)
    ThreadCommunicator.is_called = lambda comm: comm._barrier.n_waiting > 0
    with emulated():
        yield [LinkPool(Links) for _ in WHO]
    del ThreadCommunicator.check, ThreadCommunicator.is_called


def lent(pools: Any, run: str, work: Any = lambda links: None) -> list[Any]:
    """Lend links to a run of all ranks; return what each was given."""

    def on_rank(comm: ThreadCommunicator) -> Any:
        with pools[comm.rank].lend(comm, WHO, run) as joined:
            work(joined.links)
            return joined.links

    return on_ranks(len(WHO), on_rank)


def test_a_run_takes_what_the_last_one_left(pools: Any) -> None:
    first = lent(pools, "one")
    assert lent(pools, "two") == first
    assert Links.made == 2


@pytest.mark.parametrize("everywhere", [True, False])
def test_links_outlive_an_error_that_all_ranks_raise(pools: Any, everywhere: bool) -> None:
    """Otherwise a misspelt vertex would cost the next call new links."""
    first = lent(pools, "one")

    def refuse(_: Any) -> None:
        error = InputError("start: 7 is not a vertex of the graph")
        error.on_all_ranks = everywhere
        raise error

    with pytest.raises(InputError, match="7 is not a vertex"):
        lent(pools, "two", refuse)
    assert (lent(pools, "three") == first) == everywhere


def test_links_that_only_some_ranks_know_of_yet_are_not_asked(pools: Any) -> None:
    """Another run is making them: the ranks that do not see them wait in a collective, and call the others."""
    first = lent(pools, "one")
    pools[1]._held.clear()
    assert lent(pools, "two") != first
    assert lent(pools, "three") == [pool._held[("auto", *WHO)][1] for pool in pools]


def test_free_gpus_are_signalled_over_kept_links(pools: Any, monkeypatch: Any) -> None:
    """And not over the slower communicator."""
    first = lent(pools, "one")

    def meet(comm: ThreadCommunicator, value: Any) -> Any:
        raise AssertionError("no collective is needed")

    with monkeypatch.context() as patch:
        patch.setattr(ThreadCommunicator, "allgather", meet)
        assert lent(pools, "two") == first


def test_runs_take_turns(pools: Any) -> None:
    """In any order of arrival: a GPU does one run's work at a time, and no run waits for ever."""
    inside, most, done = [0, 0], [0, 0], []
    counting = threading.Lock()

    def run(name: str) -> None:
        def on_rank(comm: ThreadCommunicator) -> None:
            time.sleep((zlib.crc32(f"{name} {comm.rank}".encode()) % 5) / 200)
            with pools[comm.rank].lend(comm, WHO, name):
                with counting:
                    inside[comm.rank] += 1
                    most[comm.rank] = max(most[comm.rank], inside[comm.rank])
                comm.allgather(None)
                with counting:
                    inside[comm.rank] -= 1

        on_ranks(len(WHO), on_rank)
        done.append(name)

    with ThreadPoolExecutor(8) as executor:
        list(executor.map(run, [f"run {number}" for number in range(24)]))
    assert len(done) == 24
    assert most == [1, 1]
    assert Links.made == 2, "all take the same links"


def test_a_wait_for_a_turn_can_be_abandoned(pools: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr(links, "LOOK", 0.01)

    def give_up() -> None:
        raise TimeoutError("the run is over")

    with pools[1]._turn:
        monkeypatch.setattr(ThreadCommunicator, "check", staticmethod(give_up))
        with pytest.raises(TimeoutError, match="the run is over"):
            lent(pools, "one")
    monkeypatch.setattr(ThreadCommunicator, "check", staticmethod(lambda: None))
    assert len(lent(pools, "two")) == 2, "no run has kept its turn"


def test_links_that_one_rank_has_lost_are_given_up_by_all(pools: Any) -> None:
    first = lent(pools, "one")
    first[0].alive = False
    second = lent(pools, "two")
    assert all(one is not other for one, other in zip(first, second, strict=True))
    assert not first[1].alive, "no run will use them"
    assert all(one.alive for one in second)
    assert lent(pools, "three") == second


def test_links_of_a_run_that_fails_are_made_anew(pools: Any) -> None:
    first = lent(pools, "one")

    here = threading.Barrier(len(WHO))

    def fail(links: Any) -> None:
        here.wait(10.0)
        raise KeyError("all ranks alike")

    with pytest.raises(KeyError, match="all ranks alike"):
        lent(pools, "two", fail)
    third = lent(pools, "three")
    assert first[0].runs == ["one, done", "two, failed"]
    assert third[0].runs == ["three, done"]
    assert Links.made == 4


def test_a_worker_that_ends_gives_them_back(pools: Any) -> None:
    first = lent(pools, "one")
    for pool in pools:
        pool.close()
    assert not any(links.alive for links in first)
