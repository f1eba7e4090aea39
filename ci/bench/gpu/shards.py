"""CuSha's tables: time and memory of its shards, for the programs that read every edge.

Supersteps over the CSC (Warp Segmentation), G-Shards and Concatenated Windows run in turns; Tables V and VI of the
Warp Segmentation paper have their ratios.  Then follow the bytes of each layout, and the parts of the time of a
first PageRank: build of the CSC, conversion, supersteps, result.  CuSha's largest part, copies from the host, is
absent, since frames are on the GPU.  The sensitivity to the size of shards is in part `layouts`.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import cugraph_ws as ws
from bench.gpu.cases import Case
from bench.gpu.programs import DENSE, arguments_of, check, edges_of
from bench.programs import PROGRAMS, SUPERSTEPS, Program
from bench.timing import Entrant, Section, by_library, clocked, race

__all__ = ["LAYOUTS", "SHORT", "shards"]

LAYOUTS = ("csc", "gshards", "windows")
SHORT = {"pagerank": "PR", "heat": "HS", "circuit": "CS", "neural network": "NN"}
TOL = 1e-6


def shards(case: Case, section: Section, repeats: int) -> None:
    """Time supersteps by layout, count bytes, and split the time of a first run."""
    section.figures |= {"vertices": case.vertices, "edges": len(case.source)}
    times: dict[str, dict[str, float]] = {}
    for name in DENSE:
        work = PROGRAMS[name]
        made = section.attempt(f"preparing {name}", partial(_entrants, case, work))
        found = by_library(race(section, f"{name} superstep", made or [], repeats))
        times[SHORT[name]] = {layout: one.best_known for layout, one in found.items()}
    section.figures["shards"] = times
    section.figures["space"] = section.attempt("bytes", partial(_space, case)) or {}
    section.figures["breakdown"] = {
        layout: found
        for layout in LAYOUTS
        if (found := section.attempt(f"{layout}, by parts", partial(_breakdown, case, layout)))
    }
    section.keep()


def _entrants(case: Case, work: Program) -> list[Entrant]:
    """Return supersteps of a program over each layout."""
    graph, arguments = case.graph(work.weights), arguments_of(case, work)

    def run(layout: Any) -> ws.Result:
        return ws.run(
            work.program, graph, plan=ws.Plan(layout=layout), predecessors=False, **arguments,
            **work.stop(SUPERSTEPS),
        )  # fmt: skip

    return [
        Entrant(
            layout,
            partial(run, layout),
            lambda result: check(work, case, result),
            alone=lambda result: sum(result.rows.milliseconds) / 1e3,
            share=lambda result: result.iterations,
            edges=edges_of,
        )
        for layout in LAYOUTS
    ]


def _pagerank(graph: ws.Graph, layout: Any, **stop: Any) -> ws.Result:
    return ws.run(ws.PageRank, graph, plan=ws.Plan(layout=layout), engine="cuda", **stop)


def _space(case: Case) -> dict[str, int]:
    """Return the bytes of the arcs in each layout."""
    graph = case.graph()
    laid = graph.on_device()
    found = {"csc": sum(int(one.nbytes) for one in laid.csc)}
    for layout in LAYOUTS[1:]:
        _pagerank(graph, layout, max_iter=1, tol=0.0)
        found[layout] = laid._layouts[layout][1].nbytes
    return found


def _breakdown(case: Case, layout: Any) -> dict[str, float]:
    """Return the seconds of the parts of a graph's first PageRank; kernels are compiled before."""
    frame = case.frame()
    build, graph = clocked(lambda: ws.Graph(frame))
    with graph:
        prepared, _ = clocked(graph.on_device)
        first, _ = clocked(lambda: _pagerank(graph, layout, max_iter=1, tol=0.0))
        again, _ = clocked(lambda: _pagerank(graph, layout, max_iter=1, tol=0.0))
        whole, result = clocked(lambda: _pagerank(graph, layout, max_iter=100, tol=TOL))
        written, _ = clocked(lambda: result.frame)
    return {
        "build": build + prepared,
        "conversion": 0.0 if layout == "csc" else max(first - again, 0.0),
        "supersteps": whole,
        "result": written,
    }
