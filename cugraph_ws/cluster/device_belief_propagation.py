"""Belief propagation on a graph that a crew holds on GPUs.

A member computes both messages of each arc that it has, by the kernels of one GPU: for that it needs to
know what the ends believe, of which one may be a ghost.  So not messages travel but sums: what a ghost
hears along arcs that are here is added up and sent to its owner, who shows in turn what it believes.

An edge of an undirected graph is two arcs, where its ends are.  If these are two members', both compute
both messages, which are the same ones, and hear only of those along their own arcs.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from cugraph_ws.algorithms.belief_propagation import (
    GREATEST_STRENGTH,
    strength_error,
)
from cugraph_ws.cluster.agreement import attempt
from cugraph_ws.cluster.belief_propagation import CrewBelief, names_of_state
from cugraph_ws.cluster.device_post import DevicePost
from cugraph_ws.cluster.shard import ShardGraph
from cugraph_ws.cuda import belief_propagation
from cugraph_ws.cuda.device import as_host, device
from cugraph_ws.cuda.graph import DeviceGraph
from cugraph_ws.cuda.order import arc_rows, sort_ends
from cugraph_ws.run import Step

__all__ = ["DeviceCrewBelief"]

DeviceArray = Any  # CuPy's or NumPy's


class DeviceCrewBelief(CrewBelief):
    """The loop on a share of a graph on a GPU; see `CrewBelief`.

    Messages are those along own arcs, in the order of the rows, then those against them, in that of the
    rows turned round.

    Parameters
    ----------
    wanted : BeliefPropagation
        The loop for one machine, which knows the arguments.
    """

    _post: DevicePost
    _graph: DeviceGraph
    _factors: tuple[DeviceArray, ...]  # for the messages along arcs, and against them
    _messages: DeviceArray

    def on_cuda(self) -> DeviceCrewBelief:
        """Return the loop itself."""
        return self

    def start(self, graph: Any) -> None:
        """Read priors and couplings, pair the arcs, and start from messages that say nothing."""
        self._shard: ShardGraph = graph
        self._post = DevicePost(graph)
        xp = device().xp
        self._graph, self._numbers, _ = graph.laid_out()
        there, arcs = self._graph, self._graph.arcs
        given, matrix = self._wanted.read(graph, as_host if graph.binds_on_device else None)
        self._matrix, self._states = matrix, given.shape[1]
        self._own = there.positions[: graph.owned]
        self._log_priors = xp.zeros((there.size, self._states))  # what ghosts hear here is added
        self._log_priors[self._own] = xp.asarray(given)
        turned = xp.argsort(there.csc.indices, kind="stable")  # as `csr` has the arcs
        places = xp.arange(arcs)
        self._reverse = xp.empty(2 * arcs, np.int64)
        self._reverse[turned] = arcs + places
        self._reverse[arcs:] = turned
        if matrix is None:
            strengths = attempt(graph.crew, self._strengths)
            self._factors = strengths, strengths[turned]
        else:
            self._factors = (xp.asarray(matrix.ravel()),) * 2
            loops = there.count_self_loops()
            self._log_priors += loops[:, np.newaxis] * xp.asarray(np.log(np.diagonal(matrix)))
        del turned, places
        self.by_arc_state = names_of_state(self._states, directed=graph.directed)
        self._believed = xp.empty_like(self._log_priors)
        self._messages = xp.zeros((2 * arcs, self._states))
        # Those along self-loops are never written: they say nothing.
        self._next = xp.zeros_like(self._messages)
        self._blocks = device().blocks_for(arcs, belief_propagation.BLOCK)
        self._changes = xp.zeros(2 * self._blocks)
        self._residual = math.inf if graph.number_of_arcs else 0.0
        self._hear()

    def step(self) -> Step:
        """Send all messages once, from those of the last step, and add up what all believe."""
        shard, there = self._shard, self._graph
        name = "send_potts" if self._matrix is None else "send_coupled"
        for part, (rows, factor) in enumerate(
            zip((there.csc, there.csr), self._factors, strict=True)
        ):
            self._launch(
                name, self._blocks, rows, part, self._reverse, self._believed.reshape(-1),
                self._messages.reshape(-1), self._next.reshape(-1), factor, self._wanted.damping,
                (there.size, there.arcs, self._states), self._changes,
            )  # fmt: skip
        self._messages, self._next = self._next, self._messages
        change = self._changes.max()
        self._hear()
        self._residual = max(shard.crew.allgather(float(as_host(change))))
        heard, sent = self._post.totals(there.arcs * (2 if shard.directed else 1))
        return Step(
            shard.number_of_vertices,
            heard,
            self._residual,
            direction="gather",
            filter="all",
            bytes_sent=sent,
        )

    def inputs(self) -> dict[str, Any]:
        """Return priors, couplings and damping, to the last bit as on other engines; together."""
        self._priors, _ = self._wanted.read(self._shard)
        return super().inputs()

    def state(self) -> dict[str, npt.NDArray[Any]]:
        """Return the messages along each own arc, and against it where the graph is directed."""
        order = self._order()
        ways = [self._messages[order]]
        if self._shard.directed:
            ways.append(self._messages[self._reverse[order]])
        columns = [np.ascontiguousarray(column) for way in ways for column in as_host(way).T]
        named = dict(zip(self.by_arc_state, columns, strict=True))
        return {**named, "residual": np.array([self._residual])}

    def restore(self, state: dict[str, npt.NDArray[Any]]) -> None:
        """Go on from messages, together."""
        xp, order = device().xp, self._order()
        given = xp.asarray(
            np.column_stack([state[name] for name in self.by_arc_state]).astype(np.float64)
        )
        along = given[:, : self._states]
        against = given[:, self._states :] if self._shard.directed else self._answers(order, along)
        self._messages[order] = along
        self._messages[self._reverse[order]] = against
        self._residual = float(state["residual"][0])
        self._hear()

    def columns(self) -> dict[str, DeviceArray]:
        """Return the beliefs of each own vertex."""
        xp = device().xp
        beliefs = self._believed[self._own]
        if len(beliefs):
            beliefs -= beliefs.max(axis=1, keepdims=True)
        beliefs = xp.exp(beliefs)
        beliefs /= beliefs.sum(axis=1, keepdims=True)
        return {f"belief_{state}": beliefs[:, state].copy() for state in range(self._states)}

    def _hear(self) -> None:
        """Sum up what each vertex believes, as logarithms, up to a constant; together."""
        there, parts = self._graph, 2 if self._shard.directed else 1
        offsets = there.csc.offsets, there.csr.offsets
        items = self._believed.size
        self._launch(
            "add_messages", device().blocks_for(items, belief_propagation.BLOCK), offsets, parts,
            there.arcs, self._messages.reshape(-1), self._log_priors.reshape(-1), self._believed.reshape(-1),
            there.size, self._states,
        )  # fmt: skip
        if self._shard.directed:
            self._post.add_up(self._believed)
        self._post.refresh(self._believed)

    def _launch(self, name: str, blocks: int, *arguments: Any) -> None:
        device().module("belief").launch(name, blocks, belief_propagation.BLOCK, *arguments)

    def _strengths(self) -> DeviceArray:
        """Return the strengths of own arcs, having refused what a message cannot hold."""
        name = self._wanted.coupling
        values = self._graph.values(name, "csc").astype(np.float64)
        wrong = ~(abs(values) <= GREATEST_STRENGTH)
        if as_host(wrong.any()):
            order = self._order()
            raise strength_error(name, as_host(values[order[wrong[order]]][:1])[0])
        return values

    def _ends(self) -> tuple[DeviceArray, DeviceArray]:
        """Return the numbers of own arcs' destinations and sources, in the order of the rows."""
        csc = self._graph.csc
        return self._numbers[arc_rows(csc.offsets, self._graph.arcs)], self._numbers[csc.indices]

    def _order(self) -> DeviceArray:
        """Return the own arcs in the order that they have on the host."""
        return sort_ends(*self._ends(), self._shard.number_of_vertices)

    def _answers(self, order: DeviceArray, along: DeviceArray) -> DeviceArray:
        """Return the messages against own arcs of an undirected graph, given those along, together.

        The arc that leads back is the owner's of its source, who goes through such arcs by their
        destinations here.
        """
        xp, shard = device().xp, self._shard
        sources = self._ends()[1][order]
        cuts = xp.asarray(shard.cuts)
        owners = xp.searchsorted(cuts, sources.astype(cuts.dtype), side="right") - 1
        theirs = [xp.flatnonzero(owners == rank) for rank in range(shard.crew.size)]
        came = self._post.exchange([[along[one].ravel()] for one in theirs])
        against = xp.empty_like(along)
        for one, (messages,) in zip(theirs, came, strict=True):
            back = one[xp.argsort(sources[one], kind="stable")]
            against[back] = messages.reshape(len(back), self._states)
        return against
