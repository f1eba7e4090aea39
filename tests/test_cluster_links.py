"""Links between GPUs that are kept from run to run."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from crews import ThreadCrew, together
from emulator.device import emulated

from cugraph_ws.cluster.links import LinkPool

WHO = ["tcp://a", "tcp://b"]


class Links:
    """Links that send nothing."""

    made = 0
    lock = threading.Lock()

    def __init__(self, crew: ThreadCrew) -> None:
        with Links.lock:
            Links.made += 1
        crew.allgather(None)
        self.alive = True
        self.check: Any = None

    def close(self) -> None:
        self.alive = False


@pytest.fixture
def pools() -> Any:
    Links.made = 0
    ThreadCrew.check = staticmethod(lambda: None)
    with emulated():
        yield [LinkPool(Links) for _ in WHO]
    del ThreadCrew.check


def lent(pools: Any, run: str, work: Any = lambda links: None) -> list[Any]:
    """Lend links to a run of all members; return what each was given."""

    def member(crew: ThreadCrew) -> Any:
        with pools[crew.rank].lend(crew, WHO, run) as joined:
            work(joined.links)
            return joined.links

    return together(len(WHO), member)


def test_a_run_takes_what_the_last_one_left(pools: Any) -> None:
    first = lent(pools, "one")
    assert lent(pools, "two") == first
    assert Links.made == 2


def test_runs_at_once_have_links_of_their_own(pools: Any) -> None:
    inside: list[Any] = []

    def member(crew: ThreadCrew) -> Any:
        with pools[crew.rank].lend(crew, WHO, "outer") as outer:
            with pools[crew.rank].lend(crew, WHO, "inner") as inner:
                inside.append((outer.links, inner.links))
                assert outer.links is not inner.links
            with pools[crew.rank].lend(crew, WHO, "again") as again:
                assert again.links is inner.links

    together(2, member)
    assert Links.made == 4
    assert len({id(one) for pair in inside for one in pair}) == 4


def test_links_that_one_member_has_lost_are_given_up_by_all(pools: Any) -> None:
    first = lent(pools, "one")
    first[0].alive = False
    second = lent(pools, "two")
    assert all(one is not other for one, other in zip(first, second, strict=True))
    assert not first[1].alive, "nobody will come to them"
    assert all(one.alive for one in second)
    assert lent(pools, "three") == second


def test_a_run_that_fails_leaves_links_that_still_work(pools: Any) -> None:
    first = lent(pools, "one")

    def fail(links: Any) -> None:
        raise KeyError("all members alike")

    with pytest.raises(KeyError, match="all members alike"):
        lent(pools, "two", fail)
    assert lent(pools, "three") == first


def test_a_worker_that_ends_gives_them_back(pools: Any) -> None:
    first = lent(pools, "one")
    for pool in pools:
        pool.close()
    assert not any(links.alive for links in first)
