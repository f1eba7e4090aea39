"""Links between GPUs that outlive a run, and whose turn it is to use them.

Making links takes longer than most runs.  And two runs that go on at once on the same GPUs could wait for
one another for ever: a GPU does what it is given in order, and if one has been given a message of the
first run before one of the second, and another has been given them the other way round, neither message
finds who takes it.  So a run has the GPUs of all its members to itself.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from cugraph_ws.dask.nccl import NcclCommunicator, NcclLinks

__all__ = ["LinkPool"]

LOOK = 0.5  # seconds between two looks whether who waits for a turn shall still wait


class LinkPool:
    """The links that one worker keeps, and the turn that its GPU gives to one run after another.

    Parameters
    ----------
    make : callable, optional
        Makes links between the members of a crew, together, given it and their workers' addresses.
    """

    def __init__(self, make: Callable[[Any, Sequence[str]], Any] = NcclLinks) -> None:
        self._make = make
        self._turn = threading.Lock()
        self._held: dict[
            tuple[str, ...], tuple[str, Any]
        ] = {}  # name, links: by who they are between

    @contextmanager
    def lend(self, comm: Any, addresses: Sequence[str], run: str) -> Iterator[NcclCommunicator]:
        """Lend links to a run, together, once all members' GPUs are free: those kept, or new ones.

        Parameters
        ----------
        crew : DaskCommunicator
            The member on a slower way.
        addresses : sequence of str
            The workers of all members, in order.
        run : str
            Names the run, and links that are made for it.

        Yields
        ------
        NcclCommunicator
            The member, whose mail goes over them.
        """
        key = tuple(addresses)
        turn = self._turn.acquire(blocking=False)
        try:
            # Whether something is kept need not show everywhere at once: another run may be making it.
            _, kept = self._held.get(key, ("", None))
            free = kept is not None and kept.are_free(run, turn, comm.is_called)
            names = {self._name(key)} if free else set()
            if not free:
                shown = comm.allgather([turn, self._name(key) if turn else ""])
                if not all(got for got, _ in shown):
                    if turn:
                        self._turn.release()
                    turn = False
                    # One after the other, by address: no two runs each have what the other waits for.
                    for address in sorted(addresses):
                        if address == addresses[comm.rank]:
                            while not turn:
                                turn = self._turn.acquire(timeout=LOOK)
                                comm.check()
                        shown = comm.allgather([turn, self._name(key) if turn else ""])
                names = {name for _, name in shown}
            if len(names) > 1 or "" in names:
                self._give_back(key)  # others have had to give theirs up
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
        """Return the name of what is kept and can still be used, empty if there is nothing."""
        name, links = self._held.get(key, ("", None))
        if links is not None and not links.alive:
            self._give_back(key)
            return ""
        return name

    def _give_back(self, key: tuple[str, ...]) -> None:
        """Close what is kept, if anything is."""
        _, links = self._held.pop(key, ("", None))
        if links is not None:
            links.close()

    def close(self) -> None:
        """Give all links back."""
        for key in list(self._held):
            self._give_back(key)
