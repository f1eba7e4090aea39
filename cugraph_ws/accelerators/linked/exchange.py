"""The exchange of ranks whose launches exchange updates themselves: what they leave is left to the hosts."""

from __future__ import annotations

import numpy as np

from cugraph_ws.accelerators.linked.executor import LinkedFrontierExecutor
from cugraph_ws.backends.cuda.exchange import DeviceRankExchange
from cugraph_ws.contract import Choice, Counts, Executor
from cugraph_ws.partition.exchange import Traffic
from cugraph_ws.partition.ways import bit_of

__all__ = ["LinkedRankExchange"]


class LinkedRankExchange(DeviceRankExchange):
    """Moves boundary state between GPUs after launches that have exchanged most of it; see `DeviceRankExchange`."""

    def exchange(self, executor: Executor, choice: Choice) -> tuple[Counts, Traffic]:
        """Update ghosts after supersteps; return the counts of all ranks, and what was sent."""
        if choice.direction != "fused":
            return super().exchange(executor, choice)
        assert isinstance(executor, LinkedFrontierExecutor)
        return self._exchange_linked(executor, choice)

    def _exchange_linked(
        self, executor: LinkedFrontierExecutor, choice: Choice
    ) -> tuple[Counts, Traffic]:
        """Return what launches did that exchanged updates themselves; do the exchange that is left."""
        steps = executor.linked.read(self._links)
        executor.finish_linked(steps)
        width = executor.refinement.width
        each = sum(self._chosen.entry(width)[:2])
        finished = steps.history[: len(steps.history) - steps.pending]
        history, bytes_sent, modes, ways = [], [], [], []
        for step in finished:
            history.append((self._active, step.read))
            bytes_sent.append(
                (step.listed * each + step.nbytes, (step.listed + step.marked) * width)
            )
            modes.append(("pull", "bitmap") if step.pulling else ("push", "online"))
            ways.append(bool(step.listed) * bit_of("vr") | bool(step.nbytes) * bit_of("bits"))
            self._active = step.active
        counts = Counts(active=self._active, sums=np.zeros(0))
        if finished:
            counts.arcs = finished[-1].arcs * self._arcs // max(1, self._inner)
        if steps.pending:
            counts, traffic = super().exchange(executor, choice)
            history += counts.history
            bytes_sent.append((traffic.sent, traffic.useful))
            modes += counts.modes
            ways.append(traffic.ways)
            counts.unlike = choice.rounds > 0
        counts.history, counts.modes = history, modes
        counts.ways, counts.exchanges = ways, bytes_sent
        counts.read = sum(read for _, read in history)
        total, useful = map(sum, zip(*bytes_sent, strict=True))
        return counts, Traffic(total, useful)
