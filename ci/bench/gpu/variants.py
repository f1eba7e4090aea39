"""Supersteps over the CSC, CuSha's G-Shards and its Concatenated Windows, by size of the shards and by program."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, NamedTuple

import cugraph_ws as ws
from bench.forms import Case
from bench.gpu.programs import DENSE, entrant
from bench.programs import PROGRAMS
from bench.timing import Entrant, Section, clocked, race

LAYOUTS = ("csc", "gshards", "windows")
SHORT = {"pagerank": "PR", "heat": "HS", "circuit": "CS", "neural network": "NN"}
SIZES = (
    24,
    48,
    96,
)  # KiB of shared memory of a shard; shared memory and registers limit the blocks

Options = Mapping[str, Any]


class Variants(NamedTuple):
    """Variants of a run, by the names of the entrants, and the supersteps of a dense program's run."""

    options: Mapping[str, Options]
    supersteps: int = 20


VARIANTS = {
    "shards": Variants({layout: {"layout": layout} for layout in LAYOUTS}),
    "layouts": Variants({
        "csc": {"layout": "csc"},
        **{f"{layout}, {size} KiB": {"layout": layout, "shard_bytes": size << 10}
           for layout in LAYOUTS[1:] for size in SIZES},
    }),
}  # fmt: skip


def _race(case: Case, section: Section, repeats: int, name: str, kind: str) -> dict[str, float]:
    """Time the variants of a program of the paper; return the seconds of the algorithm alone by variant."""
    variants, work = VARIANTS[kind], PROGRAMS[name]

    def entrants() -> list[Entrant]:
        return [
            entrant(case, work, variant, supersteps=variants.supersteps, **options)
            for variant, options in variants.options.items()
        ]

    ready = section.attempt(f"preparing {name}", entrants) or []
    timings = race(section, f"{name} superstep", ready, repeats)
    return {timing.library: timing.best_known for timing in timings}


def layouts(case: Case, section: Section, repeats: int) -> None:
    """Time PageRank's superstep over each layout and size of shards; figures are milliseconds."""
    seconds = _race(case, section, repeats, "pagerank", "layouts")
    section.figures["layouts"] = [
        [options["layout"], options.get("shard_bytes", 0), 0, seconds[name] * 1e3]
        for name, options in VARIANTS["layouts"].options.items()
        if name in seconds
    ]


def shards(case: Case, section: Section, repeats: int) -> None:
    """Time supersteps by layout, count bytes, and split the time of a first PageRank."""
    section.figures |= {"vertices": case.vertices, "edges": len(case.source)}
    section.figures["shards"] = {
        SHORT[name]: _race(case, section, repeats, name, "shards") for name in DENSE
    }
    section.figures["space"] = section.attempt("bytes", partial(_space, case)) or {}
    parts = {
        layout: section.attempt(layout, partial(_breakdown, case, layout)) for layout in LAYOUTS
    }
    section.figures["breakdown"] = {layout: times for layout, times in parts.items() if times}
    section.keep()


def _pagerank(graph: ws.Graph, layout: Any, **stop: Any) -> ws.Result:
    stop = stop or {"max_iter": 1, "tol": 0.0}
    return ws.run(ws.PageRank, graph, plan=ws.Plan(layout=layout), engine="cuda", **stop)


def _space(case: Case) -> dict[str, int]:
    """Return the bytes of the arcs in each layout."""
    graph = case.ours()
    part = graph.on_device()
    sizes = {"csc": sum(int(array.nbytes) for array in part.csc)}
    for layout in LAYOUTS[1:]:
        _pagerank(graph, layout)
        sizes[layout] = part._layouts[layout][1].nbytes
    return sizes


def _breakdown(case: Case, layout: Any) -> dict[str, float]:
    """Return the seconds of the parts of a graph's first PageRank; kernels are compiled before."""
    build, graph = clocked(lambda: ws.Graph(case.table))
    with graph:
        prepared, _ = clocked(graph.on_device)
        first, _ = clocked(lambda: _pagerank(graph, layout))
        again, _ = clocked(lambda: _pagerank(graph, layout))
        run, result = clocked(lambda: _pagerank(graph, layout, max_iter=100, tol=1e-6))
        written, _ = clocked(lambda: result.frame)
    conversion = 0.0 if layout == "csc" else max(first - again, 0.0)
    return {
        "build": build + prepared, "conversion": conversion, "supersteps": run, "result": written,
    }  # fmt: skip
