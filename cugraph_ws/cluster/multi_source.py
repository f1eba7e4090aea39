"""Searches from many sources on a graph that a crew holds: all members work on one at a time.

The rows of a member are those of its own vertices: sources in the order in which they were given
and, within each, vertices ascending.  Of all members together, source by source, they are the rows
that one machine returns: in this order the client puts them together, a partition for each source and
member.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from cugraph_ws.algorithms.multi_source import MultiSource
from cugraph_ws.cluster.shard import ShardGraph
from cugraph_ws.cuda.device import array_module, as_host
from cugraph_ws.run import Loop, Step
from cugraph_ws.saved_state import SavedState

__all__ = ["CrewSearches", "OwnRows"]

FIELDS = ("distance", "valid", "predecessor")


class OwnRows:
    """What checkpoints have of a member's searches: rows of own vertices, on the host or the device."""

    _numbers: npt.NDArray[np.int64]
    _done: int
    _distance: Any

    @property
    def by_vertex_state(self) -> tuple[str, ...]:
        """Names of what `state` returns with an entry for each own vertex."""
        return tuple(f"{field}_{place}" for place in range(len(self._numbers)) for field in FIELDS)

    def state(self) -> dict[str, npt.NDArray[Any]]:
        """Return the searches, one array for each source and column, and how many are done."""
        columns = {
            f"{field}_{place}": row
            for field in FIELDS
            for place, row in enumerate(as_host(getattr(self, f"_{field}")))
        }
        return {**columns, "done": np.array([self._done])}

    def check(self, state: SavedState, graph: Any) -> None:
        """Refuse what is no state of such a run; alone."""
        state.number("done", 0, len(self._numbers))
        for place in range(len(self._numbers)):
            state.like(f"distance_{place}", graph.owned, self._distance.dtype)
            state.flags(f"valid_{place}", graph.owned)
            state.integers(f"predecessor_{place}", graph.owned, -1, graph.number_of_vertices - 1)

    def restore(self, state: dict[str, npt.NDArray[Any]]) -> None:
        """Go on after the finished searches."""
        self._done = int(state["done"][0])
        for field in FIELDS:
            rows = getattr(self, f"_{field}")
            xp = array_module(not isinstance(rows, np.ndarray))
            for place in range(len(rows)):
                rows[place] = xp.asarray(state[f"{field}_{place}"].astype(rows.dtype, copy=False))


class CrewSearches(OwnRows, MultiSource):
    """The loop on a share of a graph: each step is one search; see `MultiSource` for parameters."""

    _threads = None
    _graph: ShardGraph

    def on_cuda(self) -> Loop:
        """Return the loop for members that have a GPU each, if it is of `BFS` or `SSSP`."""
        if self._program.name not in ("BFS", "SSSP"):
            return self  # members' executors search from one source after the other
        from cugraph_ws.cluster.device_multi_source import DeviceCrewSearches

        return DeviceCrewSearches(
            self._program,
            self._argument,
            self._starts,
            max_iter=self._limit,
            parameters=self._parameters,
        )

    def on_crew(self) -> CrewSearches:
        """Return the loop itself."""
        return self

    def step(self) -> Step:
        """Search from the next source, together."""
        arcs, sent = self._search(self._done)
        self._done += 1
        left = len(self._numbers) - self._done
        return Step(left, arcs, direction="push", filter="list", bytes_sent=sent)

    def inputs(self) -> dict[str, Any]:
        """Return what the searches depend on beside the graph."""
        return {**super().inputs(), "sources": self._numbers.tolist()}  # no array by vertex

    def _members(self, number: np.int64) -> npt.NDArray[np.bool_]:
        """Mark one vertex, by position, where it is known."""
        members: npt.NDArray[np.bool_] = self._graph.positions == number
        return members

    def _vertices(self) -> npt.NDArray[np.int64]:
        """Return the own vertices."""
        return self._graph.positions[: self._graph.owned]
