"""Links between GPUs that outlive a run, and the lock that gives them to one run at a time.

Making links takes longer than most runs, so they are kept.  Two concurrent runs on the same GPUs
could deadlock.  A GPU executes its queue in order; if one GPU queues a message of the first run
before one of the second, and another GPU queues them in reverse order, neither message is
received.  So a run locks the GPUs of all its ranks.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from cugraph_ws.dask.nccl import NcclCommunicator, NcclLinks

__all__ = ["LinkPool"]

LOOK = 0.5  # seconds between two checks whether to go on waiting for the GPU


class LinkPool:
    """The links that one worker keeps, and the lock of its GPU.

    Parameters
    ----------
    make : callable, optional
        Takes a communicator and the workers' addresses, and makes links between the ranks;
        collective.
    """

    def __init__(self, make: Callable[[Any, Sequence[str]], Any] = NcclLinks) -> None:
        self._make = make
        self._turn = threading.Lock()
        self._held: dict[
            tuple[str, ...], tuple[str, Any]
        ] = {}  # name and links, by the workers' addresses

    @contextmanager
    def lend(self, comm: Any, addresses: Sequence[str], run: str) -> Iterator[NcclCommunicator]:
        """Lend kept or new links to a run, once the GPUs of all ranks are free; collective.

        Parameters
        ----------
        comm : DaskCommunicator
            This rank's communicator over Dask.
        addresses : sequence of str
            The workers, by rank.
        run : str
            The name of the run, and of links that are made for it.

        Yields
        ------
        NcclCommunicator
            This rank's communicator over the links.
        """
        key = tuple(addresses)
        turn = self._turn.acquire(blocking=False)
        try:
            # Ranks may differ on whether links are kept, while another run makes them.
            _, kept = self._held.get(key, ("", None))
            free = kept is not None and kept.are_free(run, turn, comm.is_called)
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
                self._held[key] = run, self._make(comm, addresses)
            links = self._held[key][1]
            links.check = comm.check
            links.begin(run)
            failed = True
            try:
                yield NcclCommunicator(comm, links)
                failed = False
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
