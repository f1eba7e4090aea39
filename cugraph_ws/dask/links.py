"""Links between GPUs that outlive a run, and the lock that gives them to one run at a time.

Making links takes longer than most runs, so they are kept.  Two concurrent runs on the same GPUs
could deadlock.  A GPU executes its queue in order; if one GPU queues a message of the first run
before one of the second, and another GPU queues them in reverse order, neither message is
received.  So a run locks the GPUs of all its ranks.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from cugraph_ws.dask.gpu_links import GpuLinks
from cugraph_ws.dask.nccl import NcclCommunicator, NcclLinks
from cugraph_ws.dask.paired_links import PairedLinks
from cugraph_ws.errors import CugraphWsError, EngineError
from cugraph_ws.runtime.communicator import Communicator, WantedLinks
from cugraph_ws.runtime.dispatch import provider
from cugraph_ws.runtime.driver import installed_gpus
from cugraph_ws.runtime.host import host

__all__ = ["LinkPool", "make_links"]

LOOK = 0.5  # seconds between two checks whether to keep waiting for the GPU


def make_links(comm: Any, addresses: Sequence[str], wanted: WantedLinks = "auto") -> GpuLinks:
    """Make links between the GPUs of all ranks; collective.

    Parameters
    ----------
    comm : DaskCommunicator
    addresses : sequence of str
        The workers, by rank.
    wanted : {"auto", "nccl", "hub"}
        "auto" is NCCL, which chooses for each pair of ranks between peer access, host memory and the network.  If two
        ranks of a host share a GPU, NCCL refuses; then ranks of one host exchange through its memory, and those of
        different hosts over the network, through pinned memory.  "hub" asks for the host's memory between ranks of one
        host; NCCL then serves ranks of different hosts, unless two share a GPU.

    Returns
    -------
    NcclLinks, PairedLinks, or links through the memory of one host

    Raises
    ------
    EngineError
        If a worker has no GPU, or links through host memory cannot be made.
    WorkerLostError
        If a rank is lost.
    """
    if not all(comm.allgather(bool(installed_gpus()))):
        raise EngineError(
            f"links={wanted!r} needs a GPU on each worker, and one has none; leave it out"
        )
    gpus, hosts = _gpus(comm, addresses), _hosts(comm)
    is_shared = "" not in gpus and len(set(zip(hosts, gpus, strict=True))) < comm.size
    if wanted == "nccl" or not (is_shared or wanted == "hub") or len(set(hosts)) == comm.size:
        return NcclLinks(comm, addresses)
    host_links = provider("accelerators").host_links()
    if host_links is None:
        raise EngineError(
            f"links={wanted!r}: {'two workers share a GPU, and ' * is_shared}the accelerator for links through "
            "the host's memory is left out by CUGRAPH_WS_ACCELERATORS; unset it, or give each worker a GPU of its own"
        )
    if len(set(hosts)) > 1:
        return PairedLinks(comm, addresses, hosts, host_links, by_nccl=not is_shared)
    links: GpuLinks = host_links(comm, addresses)
    return links


def _hosts(comm: Communicator) -> list[int]:
    """Return a number for each rank's host; collective."""
    identities = [tuple(identity) for identity in comm.allgather(list(host()))]
    return [identities.index(identity) for identity in identities]


def _gpus(comm: Communicator, addresses: Sequence[str]) -> list[str]:
    """Return the UUID of each rank's GPU, empty if it is not known; collective.

    Refuses workers that CUDA_VISIBLE_DEVICES gives GPUs of their own and that are on one nevertheless: they would exchange
    as if there were no other GPU.
    """
    from cupy.cuda import Device

    shown = comm.allgather([installed_gpus()[int(Device().id)].uuid, _first_visible()])
    known: dict[str, tuple[str, str]] = {}
    for (gpu, number), address in zip(shown, addresses, strict=True):
        earlier_address, before = known.setdefault(gpu, (address, number))
        if gpu and number.isdigit() and before.isdigit() and number != before:
            raise EngineError(
                f"workers {earlier_address} and {address} are on one GPU, although CUDA_VISIBLE_DEVICES gives them GPUs {before} "
                f"and {number}: a module that they import uses CUDA before that is set, such as the script that "
                "started them; move what uses it there below `if __name__ == '__main__':`"
            )
    return [gpu for gpu, _ in shown]


def _first_visible() -> str:
    """Return which GPU this process is to take for the first one, as text; nothing if it sees only one."""
    if len(installed_gpus()) < 2:  # workers in containers number their own
        return ""
    return os.environ.get("CUDA_VISIBLE_DEVICES", "").partition(",")[0].strip()


class LinkPool:
    """The links that one worker keeps, and the lock of its GPU.

    Parameters
    ----------
    make : callable, optional
        Takes a communicator, the workers' addresses and the wanted links, and makes links between the
        ranks; collective.
    """

    def __init__(self, make: Callable[..., Any] | None = None) -> None:
        self._make = make_links if make is None else make
        self._turn = threading.Lock()
        self._held: dict[
            tuple[str, ...], tuple[str, Any]
        ] = {}  # name and links, by the wanted links and the workers' addresses

    @contextmanager
    def lend(
        self, comm: Any, addresses: Sequence[str], run: str, wanted: WantedLinks = "auto"
    ) -> Iterator[NcclCommunicator]:
        """Lend kept or new links to a run, once the GPUs of all ranks are free; collective.

        Parameters
        ----------
        comm : DaskCommunicator
            This rank's communicator over Dask.
        addresses : sequence of str
            The workers, by rank.
        run : str
            The name of the run, and of links that are made for it.
        wanted : {"auto", "nccl", "hub"}
            See `make_links`.

        Yields
        ------
        NcclCommunicator
            This rank's communicator over the links.
        """
        key = (wanted, *addresses)
        turn = self._turn.acquire(blocking=False)
        try:
            # Ranks may differ on whether links are kept, while another run makes them.
            _, kept_links = self._held.get(key, ("", None))
            # One whose links have ended asks over Dask, which ends `are_free` on the others.
            free = (
                kept_links is not None
                and kept_links.alive
                and kept_links.are_free(run, turn, comm.is_called)
            )
            names = {self._name(key)} if free else set()
            if not free:
                shown = comm.allgather([turn, self._name(key) if turn else ""])
                if not all(got for got, _ in shown):
                    if turn:
                        self._turn.release()
                    turn = False
                    # Lock in the order of addresses, so that two runs cannot deadlock.
                    for address in sorted(addresses):
                        if address == addresses[comm.rank]:
                            while not turn:
                                turn = self._turn.acquire(timeout=LOOK)
                                comm.check()
                        shown = comm.allgather([turn, self._name(key) if turn else ""])
                names = {name for _, name in shown}
            if len(names) > 1 or "" in names:
                self._give_back(key)  # not all ranks keep the same links
                self._held[key] = run, self._make(comm, addresses, wanted)
            links = self._held[key][1]
            links.check = comm.check
            links.begin(run)
            failed = True
            try:
                yield NcclCommunicator(comm, links)
                failed = False
            except CugraphWsError as error:
                failed = not error.on_all_ranks  # else no rank waits for another one
                raise
            finally:
                links.end(failed=failed)
        finally:
            if turn:
                self._turn.release()

    def _name(self, key: tuple[str, ...]) -> str:
        """Return the name of kept links that are still usable; empty if there are none."""
        name, links = self._held.get(key, ("", None))
        if links is not None and not links.alive:
            self._give_back(key)
            return ""
        return name

    def _give_back(self, key: tuple[str, ...]) -> None:
        """Close kept links, if there are any."""
        _, links = self._held.pop(key, ("", None))
        if links is not None:
            links.close()

    def close(self) -> None:
        """Close all links."""
        for key in list(self._held):
            self._give_back(key)
