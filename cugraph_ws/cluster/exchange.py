"""How partitions bring each other's ghosts up to date after a superstep."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from cugraph_ws.engines import Executor

__all__ = ["Exchange", "NoExchange"]


class Exchange(Protocol):
    """Moves boundary state between partitions."""

    def deliver(self, executors: Sequence[Executor]) -> int:
        """Bring ghosts up to date and mark them active; return the bytes sent."""


class NoExchange:
    """The exchange of a graph with one partition: nothing to move."""

    def deliver(self, executors: Sequence[Executor]) -> int:
        """Return 0: there are no ghosts."""
        assert len(executors) == 1
        return 0
