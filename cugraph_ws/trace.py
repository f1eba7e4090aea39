"""One row for each superstep of a run: what ran, how much work, how long, bytes sent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

__all__ = ["Trace"]


@dataclass
class Trace:
    """The rows of a run so far; `columns()` gives them as arrays.

    Attributes
    ----------
    superstep, active, edges, bytes_sent : list of int
        Number of the superstep from 0, vertices that sent or computed, arcs read, bytes exchanged.
    direction, filter : list of str
        What the plan chose, and how the frontier was held ("all", "list" or "bitmap").
    milliseconds, residual : list of float
        Wall-clock time, and the norm of the change (NaN where the program has none).
    fused : list of bool
        Whether the superstep ran inside one call with others. Their common time is shared out by
        the arcs and vertices that each of them read.
    """

    superstep: list[int] = field(default_factory=list)
    direction: list[str] = field(default_factory=list)
    filter: list[str] = field(default_factory=list)
    active: list[int] = field(default_factory=list)
    edges: list[int] = field(default_factory=list)
    milliseconds: list[float] = field(default_factory=list)
    residual: list[float] = field(default_factory=list)
    bytes_sent: list[int] = field(default_factory=list)
    fused: list[bool] = field(default_factory=list)

    def add(
        self,
        direction: str,
        filter: str,  # noqa: A002 - the papers' word for the form of the frontier
        history: list[tuple[int, int]],
        seconds: float,
        residuals: Sequence[float],
        bytes_sent: int,
    ) -> None:
        """Add the supersteps of one call.

        Parameters
        ----------
        direction, filter : str
            What ran.
        history : list of (int, int)
            Active vertices and arcs of each superstep.
        seconds : float
            Wall-clock time of the call.
        residuals : sequence of float
            Norm of each superstep's change, or one of all.
        bytes_sent : int
            Bytes exchanged after the call.
        """
        weights = [active + edges + 1 for active, edges in history]
        norms = residuals if len(residuals) == len(history) else [residuals[-1]] * len(history)
        for (active, edges), weight, residual in zip(history, weights, norms, strict=True):
            self.superstep.append(len(self.superstep))
            self.direction.append("push" if direction == "fused" else direction)
            self.filter.append(filter)
            self.active.append(active)
            self.edges.append(edges)
            self.milliseconds.append(1000.0 * seconds * weight / sum(weights))
            self.residual.append(residual)
            self.bytes_sent.append(bytes_sent)
            self.fused.append(direction == "fused")

    def columns(self) -> dict[str, npt.NDArray[np.generic] | list[str]]:
        """Return the rows as columns, by name."""
        return {
            "superstep": np.array(self.superstep, np.int64),
            "direction": self.direction,
            "filter": self.filter,
            "active": np.array(self.active, np.int64),
            "edges": np.array(self.edges, np.int64),
            "milliseconds": np.array(self.milliseconds, np.float64),
            "residual": np.array(self.residual, np.float64),
            "bytes_sent": np.array(self.bytes_sent, np.int64),
            "fused": np.array(self.fused, np.bool_),
        }
