"""The greatest vertex number that reaches each vertex along arcs: what `algorithms/NAME.py` would hold."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from cugraph_ws.backends import loops
from cugraph_ws.execution.loop import Loop, Step
from cugraph_ws.frames.base import VertexNumbers
from cugraph_ws.graph.footprints import Sizes
from cugraph_ws.partition.part import Part
from cugraph_ws.runtime.arrays import as_host

__all__ = ["GreatestAncestor"]


class GreatestAncestor(Loop):
    """A loop for `run`: in each step every vertex takes the greatest label of its in-neighbours."""

    name = "greatest_ancestor"
    outputs: ClassVar = {"ancestor": True}
    by_vertex_state = ("label",)

    def memory(self, sizes: Sizes) -> float:
        return 40 * sizes.vertices

    def start(self, graph: Any, *, on_device: bool = False) -> None:
        self._part = part = Part(graph, on_device=on_device)
        self._loops = loops("greatest_ancestor", on_device=on_device)
        self._label = part.numbers.astype(np.int64)
        self._changed = part.owned

    @property
    def converged(self) -> bool:
        return self._changed == 0

    def step(self) -> Step:
        part, label = self._part, self._label
        before = label[: part.owned].copy()
        read = self._loops.raise_labels(part, label)
        changed = label[: part.owned] != before
        tell = changed[part.halo.ends]
        for ghosts, (told,) in part.halo.update_changed(tell, lambda own: [label[own]]):
            label[ghosts] = told
        self._changed, read, sent = part.halo.totals(int(changed.sum()), read)
        return Step(self._changed, read, direction="gather", filter="all", bytes_sent=sent)

    def state(self) -> dict[str, Any]:
        return {"label": as_host(self._part.by_number(self._label))}

    def check(self, state: Any, graph: Any) -> None:
        state.integers("label", graph.owned, 0, graph.number_of_vertices - 1)

    def restore(self, state: dict[str, Any]) -> None:
        self._label = self._part.with_ghosts(state["label"].astype(np.int64))

    def columns(self) -> dict[str, VertexNumbers]:
        return {"ancestor": VertexNumbers(self._part.by_number(self._label))}
