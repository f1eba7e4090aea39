"""A walk as a loop: walkers on a whole graph take steps."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from cugraph_ws.arguments import check_count, is_one_vertex
from cugraph_ws.backends import loops
from cugraph_ws.errors import InputError, ProgramError
from cugraph_ws.execution.loop import Column, Loop, Step
from cugraph_ws.execution.options import Options
from cugraph_ws.frames.base import VertexNumbers
from cugraph_ws.graph.footprints import Sizes
from cugraph_ws.graph.view import GraphView
from cugraph_ws.program.walk_binding import bind_walk
from cugraph_ws.program.walk_program import WalkProgram
from cugraph_ws.runtime.arrays import array_module
from cugraph_ws.runtime.saved_state import SavedState

__all__ = ["WalkLoop"]

Array = Any  # NumPy's or CuPy's

MOST_STEPS = 1 << 16  # that walkers take at a time
ROW = 65  # bytes of a row of the result while it is made of the paths, with these
SORTED = 44  # bytes of an arc while a GPU sorts rows by number: the rows, keys and places, these two twice


class WalkLoop(Loop):
    """Runs a walk; see `cugraph_ws.execution.loop.Loop` for the interface.

    Each step lets some walkers take some of their steps.

    Parameters
    ----------
    program : WalkProgram
    arguments : mapping
        Its parameters; and `length`, `starts` and `seed`.
    options : Options
        Options of the run.
    """

    by_vertex = False
    ends_within_steps = True
    checkpoints = "none"
    most_steps: int | None = None  # of the first walkers alone, for `ws.check`

    def __init__(
        self, program: WalkProgram, arguments: Mapping[str, Any], options: Options
    ) -> None:
        if refused := options.for_programs():
            raise InputError(
                f"{program.name} is a walk, which has no supersteps; leave out {', '.join(refused)}"
            )
        self.program = program.current()
        self.name = program.name
        self._arguments = dict(arguments)
        self._starts = self._arguments.pop("starts", None)
        self._seed = self._arguments.pop("seed", 0)
        self._length = self._arguments.pop("length", None)
        if self._length is None:
            raise InputError(f"{program.name} needs length=, the most steps of a walk")
        check_count("length", self._length)
        check_count("seed", self._seed)
        self._plain = options.engine == "python"

    def memory(self, sizes: Sizes) -> float:
        """Return the bytes that the run takes: the paths, the result, and what it reads of the edges."""
        starts = self._starts
        walkers = sizes.vertices if starts is None else 1 if is_one_vertex(starts) else len(starts)
        # Values by source are the graph's own if it is undirected; sums are made of each.
        columns = len(self.program.weights) + (len(self.program.edges) if sizes.directed else 0)
        arc = 8 * columns + (SORTED if sizes.on_device else 0)
        return float(ROW * walkers * (self._length + 1) + sizes.csr + arc * sizes.arcs)

    def start(self, graph: GraphView, *, on_device: bool = False) -> None:
        """Bind the walk, and place the walkers."""
        workers = graph.comm.size
        if workers > 1:
            raise InputError(
                f"{self.name} walks over a whole graph, and this one is spread over {workers} workers; build "
                "it with spread='one', so that one worker holds it"
            )
        bound = bind_walk(self.program, graph, self._arguments, plain=self._plain)
        xp = self._xp = array_module(on_device)
        if self._starts is None:
            starts = xp.arange(graph.number_of_vertices)
        else:
            given = [self._starts] if is_one_vertex(self._starts) else self._starts
            starts = xp.asarray(graph.numbers(given, "starts", on_device=on_device))
        self.starts_given = len(starts)
        if self.most_steps is not None:
            starts = starts[: max(1, self.most_steps // max(self._length, 1))]
        backend = loops("walks", on_device=on_device)
        self._walkers = backend.Walkers(
            bound, graph, starts, self._length, self._seed, plain=self._plain
        )
        at_once = min(max(self._length, 1), MOST_STEPS)
        group = max(backend.STEPS_AT_ONCE // at_once, 1)
        self._pieces = [
            (
                range(low, min(low + group, len(starts))),
                range(first, min(first + at_once, self._length)),
            )
            for low in range(0, len(starts), group)
            for first in range(0, self._length, at_once)
        ]
        self._done = 0

    @property
    def converged(self) -> bool:
        """Whether all walks have ended."""
        return self._done >= len(self._pieces)

    def step(self) -> Step:
        """Let the next walkers take their next steps."""
        walkers, steps = self._pieces[self._done]
        taken = self._walkers.advance(walkers, steps)
        if self._walkers.beyond:
            raise ProgramError(
                f"{self.name} reads or returns an edge that its vertex does not have; give an index from 0 to "
                "len(edges) - 1, or return -1 to end the walk (engine='python' shows where)"
            )
        self._done += 1
        left = len(self._pieces) - self._done
        return Step(left and len(walkers), taken, direction="walk", filter="all")

    @property
    def paths(self) -> Array:
        """The number of the vertex before each step and after the last, by step and walker; -1 after an end."""
        return self._walkers.paths

    def arrays(self) -> dict[str, Array]:
        """Return the number of each walk and step, and the number of the vertex."""
        xp, paths = self._xp, self.paths
        if not self.converged:  # the step may have been abandoned
            walkers, steps = self._pieces[self._done]
            paths[steps.start + 1 : steps.stop + 1, walkers.start : walkers.stop] = -1
        by_walk = paths.T
        walks, steps = xp.nonzero(by_walk >= 0)
        return {"walk": walks, "step": steps, "vertex": by_walk[walks, steps].astype(np.int64)}

    def columns(self) -> dict[str, Column]:
        """Return one row for each vertex of each walk."""
        arrays = self.arrays()
        return {**arrays, "vertex": VertexNumbers(arrays["vertex"])}

    def state(self) -> dict[str, npt.NDArray[Any]]:
        """Return nothing: runs of walks have no checkpoints."""
        return {}

    def check(self, state: SavedState, graph: Any) -> None:
        """Accept nothing; see `state`."""

    def restore(self, state: dict[str, npt.NDArray[Any]]) -> None:
        """Restore nothing; see `state`."""
