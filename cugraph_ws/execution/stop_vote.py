"""The stop vote: rank 0 decides when and why a run of several ranks ends early."""

from __future__ import annotations

import time

from cugraph_ws.runtime.communicator import Communicator

__all__ = ["StopVote"]

EVERY = 0.1  # approximate seconds between votes
FIRST = 2  # ranks vote first at this call, when one superstep has been timed
SHORT = 8  # the interval between votes may grow by this factor while it is below EVERY / SHORT


class StopVote:
    """Votes at intervals on whether the run should end.

    Parameters
    ----------
    comm : Communicator
        All of its ranks must call `ask` equally often.
    """

    def __init__(self, comm: Communicator) -> None:
        self._comm = comm
        self._left = FIRST  # calls until the next vote
        self._asked = 0  # calls since the last vote
        self._met = time.perf_counter()
        self._request: str | None = None

    def ask(self, request: str | None) -> str | None:
        """Return why the run ends now, or None; collective.

        Parameters
        ----------
        request : str or None
            This rank's request to end the run.  Only requests of rank 0 count; they are kept until
            the next vote.

        Returns
        -------
        str or None
            The same on all ranks.
        """
        self._request = self._request or request
        self._asked += 1
        self._left -= 1
        if self._left:
            return None
        now = time.perf_counter()
        share = EVERY / max(now - self._met, 1e-6)
        # The next interval is not much longer than the last one, since supersteps may become slow.
        most = max(2 * self._asked, min(SHORT * self._asked, int(self._asked * share / SHORT)))
        pause = max(1, min(most, int(self._asked * share)))
        requested, self._left = self._comm.allgather((self._request or self._comm.request, pause))[
            0
        ]
        self._asked, self._met = 0, now
        return requested
