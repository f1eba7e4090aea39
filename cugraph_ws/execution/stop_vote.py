"""Who ends a run of a crew early, and when: the first member decides, and all do so together."""

from __future__ import annotations

import time

from cugraph_ws.runtime.communicator import Communicator

__all__ = ["StopVote"]

EVERY = 0.1  # seconds between meetings, about


class StopVote:
    """Asks now and then whether the run shall end.

    Parameters
    ----------
    crew : Communicator
        All of its members ask equally often.
    """

    def __init__(self, comm: Communicator) -> None:
        self._comm = comm
        self._left = 1  # questions until the next meeting
        self._asked = 0  # since the last one
        self._met = time.perf_counter()
        self._wish: str | None = None

    def ask(self, wish: str | None) -> str | None:
        """Return why the run ends now, or None.

        Parameters
        ----------
        wish : str or None
            Why this member would end it; only the first member's wishes count, and they are kept
            until the next meeting.

        Returns
        -------
        str or None
            The same for all members.
        """
        self._wish = self._wish or wish
        self._asked += 1
        self._left -= 1
        if self._left:
            return None
        now = time.perf_counter()
        share = EVERY / max(now - self._met, 1e-6)
        # Twice as long as the last one at most: supersteps may become slow.
        pause = max(1, min(2 * self._asked, int(self._asked * share)))
        wished, self._left = self._comm.allgather((self._wish or self._comm.wish, pause))[0]
        self._asked, self._met = 0, now
        return wished
