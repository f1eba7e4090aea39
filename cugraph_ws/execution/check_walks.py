"""Compares the runs of a walk with the reference; see `cugraph_ws.execution.check`."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import nullcontext
from typing import Any

import numpy as np
import numpy.typing as npt

from cugraph_ws.contract import choose_engine
from cugraph_ws.errors import EngineError
from cugraph_ws.execution.check_edges import PairDifference, PairReport
from cugraph_ws.execution.options import Options
from cugraph_ws.execution.walk_loop import WalkLoop
from cugraph_ws.graph.graph import Graph
from cugraph_ws.program.walk_program import WalkProgram
from cugraph_ws.runtime.arrays import as_host
from cugraph_ws.runtime.threads import threads_at_most

__all__ = ["compare_walks"]


def compare_walks(
    program: WalkProgram, graph: Graph, arguments: Mapping[str, Any], most: int
) -> PairReport:
    """Run a walk as the reference and in every other configuration, and compare vertices.

    Parameters
    ----------
    program : WalkProgram
    graph : Graph
    arguments : mapping
        As for `run`.
    most : int
        Most steps that are compared: those of the first walkers.

    Returns
    -------
    PairReport
        Of walks and steps in place of pairs.
    """
    expected, walkers = _paths(program, graph, arguments, "python", most)
    report = PairReport(sampled=expected.shape[1] < walkers)
    try:
        choose_engine("cuda")
    except EngineError as error:
        report.declined["engine='cuda'"] = str(error)
    for engine, threads in (("cpu", 1), ("cpu", 0), ("cuda", 0)):
        if f"engine={engine!r}" in report.declined:
            continue
        name = f"engine={engine!r}" + (", one thread" if threads else "")
        with threads_at_most(threads) if threads else nullcontext():
            found = _paths(program, graph, arguments, engine, most)[0]
        report.configurations.append(name)
        for walk, step in np.argwhere((found != expected).T)[:1].tolist():
            vertices = [
                graph.describe(int(paths[step, walk])) if paths[step, walk] >= 0 else "none"
                for paths in (expected, found)
            ]
            report.differences.append(
                PairDifference(name, f"walk {walk}, step {step}", "vertex", *vertices)
            )
    return report


def _paths(
    program: WalkProgram, graph: Graph, arguments: Mapping[str, Any], engine: Any, most: int
) -> tuple[npt.NDArray[Any], int]:
    """Return the vertices of the first walkers, shape (steps + 1, walkers), and how many walkers there are."""
    loop = WalkLoop(program, arguments, Options(engine=engine))
    loop.most_steps = most
    loop.start(graph, on_device=engine == "cuda")
    while not loop.converged:
        loop.step()
    return as_host(loop.paths), loop.starts_given
