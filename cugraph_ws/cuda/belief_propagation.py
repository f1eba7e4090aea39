"""Loopy belief propagation on the device; see `cugraph_ws.algorithms.belief_propagation`.

Messages are computed as on the CPU, in float64, but sums are taken in another order, and
exponentials and logarithms may differ in the last place: beliefs agree to about 1e-12 times the
number of a vertex's neighbours, and to what `tol` leaves open where they do not converge fast.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from cugraph_ws.algorithms.belief_propagation import (
    GREATEST_STRENGTH,
    BeliefPropagation,
    strength_error,
)
from cugraph_ws.cuda.device import device
from cugraph_ws.cuda.order import arc_rows
from cugraph_ws.run import Loop, Step
from cugraph_ws.saved_state import SavedState

if TYPE_CHECKING:
    from cugraph_ws.graph import Graph

__all__ = ["DeviceBelief"]

BLOCK = 128  # the kernels' scratch is for as many


class DeviceBelief:
    """The loop on the CUDA engine: each step sends all messages once.

    Parameters
    ----------
    loop : BeliefPropagation
        The loop on the CPU, not started.
    """

    name = "belief_propagation"
    by_vertex = True
    diverged = False

    def __init__(self, loop: BeliefPropagation) -> None:
        self._loop = loop
        self.tol: float | None = loop.tol
        self.max_iter: int | None = loop.max_iter

    def on_cuda(self) -> DeviceBelief:
        """Return the loop itself."""
        return self

    def on_crew(self) -> Loop:
        """Return the same algorithm for a share of a graph."""
        return self._loop.on_crew()

    def start(self, graph: Graph) -> None:
        """Pair the arcs, read priors and couplings, and start from messages that say nothing."""
        self._device = device()
        self._module = self._device.module("belief")
        self._graph = there = graph.on_device()
        xp, arcs = self._device.xp, there.arcs
        self._parts = 1 if there.undirected else 2
        self._host_graph = graph
        log_priors, matrix = self._loop.read(graph, self._device.to_host)
        self._states = log_priors.shape[1]
        if matrix is None:
            self._strengths: tuple[Any, ...] | None = self._read_strengths()
        else:
            self._strengths = None
            loops = there.by_number(there.count_self_loops())
            log_priors += loops[:, np.newaxis] * xp.asarray(np.log(np.diagonal(matrix)))
            self._factor = xp.asarray(matrix.ravel())
        self._log_priors = xp.take(log_priors, there.numbers, axis=0).ravel()
        self._totals = xp.empty_like(self._log_priors)
        self._messages = xp.zeros(self._parts * arcs * self._states)
        # Arcs of self-loops are never written: their messages say nothing.
        self._next = xp.zeros_like(self._messages)
        self._reverse = xp.empty(self._parts * arcs, np.int64)
        self._blocks = self._device.blocks_for(arcs, BLOCK)
        self._changes = xp.zeros(self._parts * self._blocks)
        self._residual = math.inf if arcs else 0.0
        self._module.launch(
            "pair_arcs", self._blocks, BLOCK, *there.csc, *there.csr, there.size, arcs,
            (self._parts - 1) * arcs, self._reverse,
        )  # fmt: skip

    @property
    def converged(self) -> bool:
        """Whether no message changed by more than the tolerance."""
        assert self.tol is not None
        return self._residual <= self.tol

    def step(self) -> Step:
        """Send all messages once, from those of the last step."""
        graph = self._graph
        self._add()
        for part, rows in enumerate((graph.csc, graph.csr)[: self._parts]):
            factor = self._factor if self._strengths is None else self._strengths[part]
            self._module.launch(
                "send_coupled" if self._strengths is None else "send_potts", self._blocks, BLOCK,
                rows, part, self._reverse, self._totals, self._messages, self._next, factor,
                self._loop.damping, (graph.size, graph.arcs, self._states), self._changes,
            )  # fmt: skip
        self._messages, self._next = self._next, self._messages
        self._residual = float(self._device.to_host(self._changes.max()))
        arcs = self._parts * graph.arcs
        return Step(graph.size, arcs, self._residual, direction="gather", filter="all")

    def inputs(self) -> dict[str, Any]:
        """Return priors, couplings and damping, to the last bit as on other engines."""
        graph, here = self._graph, self._device
        log_priors, coupling = self._loop.read(self._host_graph)
        if coupling is None:
            strengths = here.xp.concatenate(self._strengths)
            coupling = here.to_host(strengths[self._order()])
        else:
            loops = here.to_host(graph.by_number(graph.count_self_loops()))
            log_priors += loops[:, np.newaxis] * np.log(np.diagonal(coupling))
        return {"priors": log_priors, "coupling": coupling, "damping": self._loop.damping}

    def state(self) -> dict[str, npt.NDArray[Any]]:
        """Return the messages, in the order of the vertices' numbers."""
        messages = self._messages.reshape(-1, self._states)[self._order()]
        return {
            "messages": self._device.to_host(messages).ravel(),
            "residual": np.array([self._residual]),
        }

    def check(self, state: SavedState, graph: Any) -> None:
        """Refuse what is no state of such a run; alone."""
        from cugraph_ws.algorithms.belief_propagation import LEAST_MESSAGE

        state.floats("messages", self._messages.size, LEAST_MESSAGE, 0.0)
        state.floats("residual", 1, 0.0)

    def restore(self, state: dict[str, npt.NDArray[Any]]) -> None:
        """Go on from messages."""
        messages = self._device.xp.asarray(state["messages"].astype(np.float64))
        self._messages.reshape(-1, self._states)[self._order()] = messages.reshape(-1, self._states)
        self._residual = float(state["residual"][0])

    def columns(self) -> dict[str, Any]:
        """Return the beliefs of each vertex."""
        self._add()
        xp = self._device.xp
        totals = self._totals.reshape(-1, self._states)
        beliefs = xp.take(totals, self._graph.positions, axis=0)
        beliefs -= beliefs.max(axis=1, keepdims=True)
        beliefs = xp.exp(beliefs)
        beliefs /= beliefs.sum(axis=1, keepdims=True)
        return {f"belief_{state}": beliefs[:, state].copy() for state in range(self._states)}

    def _add(self) -> None:
        """Sum up what each vertex believes, as logarithms, up to a constant."""
        graph = self._graph
        self._module.launch(
            "add_messages", self._device.blocks_for(len(self._totals), BLOCK), BLOCK,
            (graph.csc.offsets, graph.csr.offsets), self._parts, graph.arcs, self._messages,
            self._log_priors, self._totals, graph.size, self._states,
        )  # fmt: skip

    def _read_strengths(self) -> tuple[Any, ...]:
        """Return an edge column in the orders of the messages."""
        there, name = self._graph, self._loop.coupling
        values = [there.values(name, "csc").astype(np.float64)]
        wrong = ~(abs(values[0]) <= GREATEST_STRENGTH)
        if self._device.to_host(wrong.any()):
            raise strength_error(name, self._device.to_host(values[0][wrong][:1])[0])
        if self._parts > 1:
            values.append(there.values(name, "csr").astype(np.float64))
        return tuple(values)

    def _order(self) -> Any:
        """Return the places of the messages in the order of other engines.

        That is by receiver, those along the edges before those against them, and by sender, in
        numbers.  Parallel edges are in one order everywhere.
        """
        graph, xp = self._graph, self._device.xp
        both = (graph.csc, graph.csr)[: self._parts]
        receivers = [graph.numbers[arc_rows(rows.offsets, graph.arcs)] for rows in both]
        senders = [graph.numbers[rows.indices] for rows in both]
        groups = [2 * one.astype(np.int64) + part for part, one in enumerate(receivers)]
        order = xp.argsort(xp.concatenate(senders), kind="stable")
        return order[xp.argsort(xp.concatenate(groups)[order], kind="stable")]
