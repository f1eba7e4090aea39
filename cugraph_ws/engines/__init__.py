"""Engines: how one program runs on one partition.  Arrays go in, arrays come out.

An engine provides an `Executor`.  The loop in `run.py` and the exchanges in `cluster/` know no
more of it than this file says; which loop over edges runs, and where, is the engine's own affair.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

import numpy as np
import numpy.typing as npt

__all__ = ["Choice", "Counts", "Direction", "Executor", "choose_engine"]

Direction = Literal["gather", "pull", "push", "fused", "scatter"]


@dataclass(frozen=True)
class Choice:
    """What the plan wants next.

    Attributes
    ----------
    direction : {"gather", "pull", "push", "fused", "scatter"}
        `gather`: every vertex reads all in-neighbours.  `pull`: every vertex reads its active
        in-neighbours.  `push`: active vertices change their out-neighbours.  `fused`: the same
        for several supersteps in one call.  `scatter`: through inboxes, each message once.
    supersteps : int
        The most that a fused call may take.
    number : int
        Number of the superstep, from 0; programs read it as `p.superstep`.
    """

    direction: Direction
    supersteps: int = 1
    number: int = 0


@dataclass
class Counts:
    """What a superstep did, and what it leaves for the next.

    Attributes
    ----------
    active : int
        Vertices that changed in a way that is news to their out-neighbours.
    arcs : int
        Their out-arcs: the work of a push.
    waiting : int
        Vertices in later priority buckets.
    read : int
        Arcs read.
    total_change, greatest_change : float
        The L1 and the maximum norm of the change of the program's residual field.
    history : list of (int, int)
        For each superstep in the call: active vertices that sent, and arcs read.
    """

    active: int = 0
    arcs: int = 0
    waiting: int = 0
    read: int = 0
    total_change: float = 0.0
    greatest_change: float = 0.0
    history: list[tuple[int, int]] = field(default_factory=list)

    @staticmethod
    def merged(parts: Sequence[Counts]) -> Counts:
        """Return the counts of all partitions together."""
        if len(parts) == 1:
            return parts[0]
        steps = max(len(part.history) for part in parts)
        padded = [part.history + [(0, 0)] * (steps - len(part.history)) for part in parts]
        return Counts(
            active=sum(part.active for part in parts),
            arcs=sum(part.arcs for part in parts),
            waiting=sum(part.waiting for part in parts),
            read=sum(part.read for part in parts),
            total_change=sum(part.total_change for part in parts),
            greatest_change=max(part.greatest_change for part in parts),
            history=[
                (sum(row[0] for row in rows), sum(row[1] for row in rows))
                for rows in zip(*padded, strict=True)
            ],
        )


class Executor(Protocol):
    """One program on one partition.

    State arrays hold the partition's owned vertices first, then its ghosts: copies of remote
    in-neighbours, which an exchange keeps up to date and marks active.  Supersteps compute owned
    vertices only.
    """

    def start(self) -> Counts:
        """Give every vertex its first state and find out who is active."""

    def sums(self) -> npt.NDArray[np.float64]:
        """Return this partition's share of each of the program's aggregates."""

    def superstep(self, choice: Choice, sums: npt.NDArray[np.float64]) -> Counts:
        """Run what the plan chose, with the aggregates over all partitions."""

    def changed(self) -> npt.NDArray[Any]:
        """Return the owned vertices whose ghosts elsewhere are out of date, ascending."""

    def pack(self, vertices: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], ...]:
        """Return the state fields of some vertices, for an outbox."""

    def unpack(self, vertices: npt.NDArray[Any], fields: tuple[npt.NDArray[Any], ...]) -> None:
        """Take an inbox: new states of ghosts, which become active."""

    def finish(self) -> npt.NDArray[np.int64] | None:
        """Return each owned vertex's predecessor, where the program declares one."""

    def snapshot(self) -> dict[str, npt.NDArray[Any]]:
        """Return the state fields, and what else is needed to go on from here."""

    def restore(self, arrays: dict[str, npt.NDArray[Any]]) -> Counts:
        """Go on from a snapshot."""


def choose_engine(name: str) -> Literal["cpu", "python"]:
    """Return the engine that an `engine=` argument stands for.

    Parameters
    ----------
    name : {"auto", "cpu", "python"}
        What the user asked for.

    Returns
    -------
    {"cpu", "python"}
        The engine.

    Raises
    ------
    InputError
        If there is no such engine.
    """
    from cugraph_ws.errors import InputError

    if name in ("auto", "cpu"):
        return "cpu"
    if name == "python":
        return "python"
    raise InputError(
        f"engine={name!r} is not known; choose 'auto', 'cpu', or 'python' (slow, for debugging)"
    )
