"""Runs of the same program by options of this library: schedules, filters and directions, extrapolation, shards.

A row of `PARTS` has the programs of a part of `bench gpu`, and the variants that take turns.
* `schedules`: warp segmentation and virtual warps of 2 to 32 lanes, as in the Warp Segmentation paper;
* `frontiers`: after Table 4 and Figures 11 and 12 of SIMD-X (Liu and Huang, USENIX ATC 2019), with one filter only,
  without fusion, with one fixed direction;
* `extrapolation`: PageRank with and without it;
* `layouts`, `shards`: supersteps over the CSC, CuSha's G-Shards and its Concatenated Windows, by size of the shards and
  by program, and what the layouts take.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

import cugraph_ws as ws
from bench.forms import Case
from bench.gpu.programs import DENSE, entrant
from bench.graphs import HIGH_DIAMETER
from bench.programs import PROGRAMS, Core, Routes
from bench.timing import OURS, Entrant, Section, by_library, clocked, race

LAYOUTS = ("csc", "gshards", "windows")
LANES = (2, 4, 8, 16, 32)  # of virtual warps
SHORT = {"pagerank": "PR", "heat": "HS", "circuit": "CS", "neural network": "NN"}
TOLERANCES = (1e-6, 1e-9)
SIZES = (
    24,
    48,
    96,
)  # KiB of shared memory of a shard; shared memory and registers limit the blocks
BOUNDS = {
    "schedules": 1.05,  # of the time ÷ that of the case's best size of virtual warps
    "frontiers": 1.02,  # of what the choice of a filter costs where the online filter would do
    "extrapolation": 1.02,  # of the time by default ÷ the time without extrapolation
}

Options = Mapping[str, Any]


class Variants(NamedTuple):
    """Variants of a run, by the names of the entrants, and the supersteps of a dense program's run."""

    options: Mapping[str, Options]
    supersteps: int = 20


PUSH = {"direction": "push"}
VARIANTS = {
    "schedules": Variants(
        {OURS: {"method": "ws"}, **{f"virtual warps of {lanes}": {"method": f"vwc-{lanes}"} for lanes in LANES}}, 8
    ),
    "searches": Variants({
        OURS: {}, "pushed": {**PUSH, "priorities": False},
        "pushed, online filter": {**PUSH, "priorities": False, "filter": "online"},
        "pushed, ballot filter": {**PUSH, "priorities": False, "filter": "ballot"},
        "pulled": {"direction": "pull"}, "not fused": {"fused": False}, "by priority": PUSH,
        "gathered": {"direction": "gather"},
    }),
    "called": Variants({  # programs that run by worklist pull: marked vertices gather
        OURS: {}, "called": PUSH, "called, online filter": {**PUSH, "filter": "online"},
        "called, ballot filter": {**PUSH, "filter": "ballot"}, "not fused": {"fused": False},
        "all gather from active ones": {"direction": "pull"},
    }),
    "extrapolation": Variants({"plain": {"extrapolate": "never"}, OURS: {}, "always": {"extrapolate": "always"}}),
    "shards": Variants({layout: {"layout": layout} for layout in LAYOUTS}),
    "layouts": Variants({
        "csc": {"layout": "csc"},
        **{f"{layout}, {size} KiB": {"layout": layout, "shard_bytes": size << 10}
           for layout in LAYOUTS[1:] for size in SIZES},
    }),
}  # fmt: skip


def _race(
    case: Case, section: Section, repeats: int, name: str, kind: str, **flags: Any
) -> dict[str, float]:
    """Time the variants of a program of the paper; return the seconds of the algorithm alone by variant."""
    variants, work = VARIANTS[kind], PROGRAMS[name]

    def entrants() -> list[Entrant]:
        return [
            entrant(case, work, variant, supersteps=variants.supersteps, **flags, **options)
            for variant, options in variants.options.items()
            if _allowed(case, work.program, variant)
        ]

    ready = section.attempt(f"preparing {name}", entrants) or []
    job = f"{name} superstep" if flags.get("each", True) else name
    return {timing.library: timing.best_known for timing in race(section, job, ready, repeats)}


def _allowed(case: Case, program: Any, variant: str) -> bool:
    """Return whether a program can run so; where a search has thousands of supersteps, none reads all vertices."""
    if variant == "by priority":
        return "priority" in program.functions
    if variant == "gathered":
        return "settled" not in program.functions
    return variant != "pulled" or case.name not in HIGH_DIAMETER


def schedules(case: Case, section: Section, repeats: int) -> None:
    """Time the supersteps of every schedule for every program; programs that stop by themselves run to their end."""
    for work in sorted(
        PROGRAMS.values(), key=lambda work: str(work.weights)
    ):  # few graphs to build
        seconds = _race(case, section, repeats, work.name, "schedules", each=False)
        ours = seconds.pop(OURS, None)
        if ours is not None and seconds:
            speedups = [time / ours for time in seconds.values()]
            section.target(
                f"{work.name}: warp segmentation, times the best virtual warps", 1 / min(speedups),
                BOUNDS["schedules"], mean=statistics.mean(speedups),
            )  # fmt: skip


def frontiers(case: Case, section: Section, repeats: int) -> None:
    """Time every variant of each search, and of programs of several fields and with sums, without result frames."""
    for name in ("bfs", "sssp", "widest path"):
        seconds = _race(case, section, repeats, name, "searches", each=False)
        if {"pushed", "pushed, online filter"} <= set(seconds):
            ratio = seconds["pushed"] / seconds["pushed, online filter"]
            section.target(
                f"{name}: the choice of a filter ÷ online alone", ratio, BOUNDS["frontiers"]
            )
    graph = case.ours("weighted")
    for job, program, column, arguments in (
        ("two fields", Routes, "distance", {"source": case.start}), ("sums", Core, "alive", {"k": 3}),
    ):  # fmt: skip
        check = _as_the_first(lambda result, column=column: result.arrays[column])
        entrants = [
            Entrant(
                name, partial(ws.run, program, graph, **arguments, plan=ws.Plan(**options)), check,
                edges=lambda result: sum(result.rows.edges),
            )
            for name, options in VARIANTS["called"].options.items()
        ]  # fmt: skip
        race(section, job, entrants, repeats)
    check = _as_the_first(_shares, 1e-4)
    runs = {"PageRank": partial(ws.run, ws.PageRank, graph, tol=1e-6),
            "PageRank by changes": partial(ws.run, ws.DeltaPageRank, graph, tolerance=1e-6)}  # fmt: skip
    race(
        section, "PageRank to 1e-6", [Entrant(name, run, check) for name, run in runs.items()], repeats,
    )  # fmt: skip


def _shares(result: ws.Result) -> Any:
    return result.arrays["pagerank"] / result.arrays["pagerank"].sum()


def _as_the_first(values_of: Callable[[Any], Any], within: float = 0.0) -> Callable[[Any], float]:
    """Return a check that compares values with those of its first call; return the sum of all differences."""
    reference: list[Any] = []

    def check(result: Any) -> float:
        values = values_of(result)
        reference.append(getattr(values, "values", values))  # of a column that may be null
        different = reference[-1] != reference[0]
        off = (
            abs(reference[-1][different] * 1.0 - reference[0][different]).sum()
            if within
            else different.sum()
        )
        assert float(off) <= within, f"values differ by {float(off):.3g}"
        return float(off)

    return check


def extrapolation(case: Case, section: Section, repeats: int) -> None:
    """Time runs that extrapolate never, by default and always."""
    graph, rows = case.ours(), []
    for tol in TOLERANCES:
        check, supersteps = _as_the_first(_shares, 2 * tol * 0.85 / 0.15), {}

        def counted(
            result: ws.Result, name: str, check: Any = check, supersteps: Any = supersteps
        ) -> float:
            supersteps[name] = f"{result.iterations} ({sum(result.rows.extrapolated)})"
            return check(result)

        entrants = [
            Entrant(
                name, partial(ws.run, ws.PageRank, graph, tol=tol, max_iter=500, plan=ws.Plan(**options)),
                lambda result, name=name, counted=counted: counted(result, name),
            )
            for name, options in VARIANTS["extrapolation"].options.items()
        ]  # fmt: skip
        job = f"PageRank to {tol:.0e}"
        timings = by_library(race(section, job, entrants, repeats))
        if {"plain", OURS} <= set(timings):
            ratio = timings[OURS].median / timings["plain"].median
            section.target(f"{job}: by default ÷ plain", ratio, BOUNDS["extrapolation"])
        rows.append(
            [job, *(supersteps.get(name, "") for name in VARIANTS["extrapolation"].options)]
        )
    columns = ["supersteps, extrapolated in brackets", *VARIANTS["extrapolation"].options]
    section.table("Supersteps", columns, rows)


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
