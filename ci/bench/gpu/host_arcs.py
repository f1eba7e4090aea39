"""Supersteps of PageRank on a graph whose arcs are in the host's memory, beside a copy of the arcs and the host's cores.

Searches there too.
"""

from __future__ import annotations

from typing import Any

import cugraph_ws as ws
from bench.forms import Case
from bench.gpu.supersteps import entrant
from bench.programs import PROGRAMS
from bench.timing import OURS, Entrant, Section, race

BOUND = 1.15  # of a superstep's time ÷ the time in which the link brings the arcs
GAIN = 3.0  # of a superstep on the host's cores ÷ one on the GPU
COPY, ON_DEVICE = "one copy of the arcs", f"{OURS}, arcs on the device"
ON_HOST = f"{OURS}, on the host's cores"


def host_arcs(case: Case, section: Section, repeats: int) -> None:
    """Time both placements; compare a superstep with the link."""
    with ws.Graph(case.table, placement="host") as graph:
        _supersteps(case, graph, section, repeats)
    with ws.Graph(case.frame("weighted"), placement="host") as graph:
        start, near = case.start, case.ours("weighted")
        calls = {
            "bfs": lambda graph: ws.bfs(graph, start), "sssp": lambda graph: ws.sssp(graph, start),
            "components": ws.weakly_connected_components,
        }  # fmt: skip
        for name, call in calls.items():
            entrants = [
                Entrant(OURS, lambda call=call: call(graph)),
                Entrant(ON_DEVICE, lambda call=call: call(near)),
            ]
            race(section, f"{name}, arcs on the host", entrants, repeats)
        case.let_go()


def _supersteps(case: Case, graph: ws.Graph, section: Section, repeats: int) -> None:
    work, xp = PROGRAMS["pagerank"], case.xp
    near = entrant(case, work)._replace(library=ON_DEVICE)
    on_host = entrant(case, work, engine="cpu")._replace(library=ON_HOST)
    apart: Any = entrant(case, work, graph)
    arcs = graph.on_device().csc.indices
    assert graph.on_device().arcs_on_host
    buffer = xp.empty_like(arcs)

    def copy() -> Any:
        buffer.data.copy_from_async(arcs.data, arcs.nbytes, xp.cuda.get_current_stream())

    job = "pagerank superstep, arcs on the host"
    entrants = [apart, near, Entrant(COPY, copy), on_host]
    timings = race(section, job, entrants, repeats)
    section.ratio(f"{job}: the host's cores' ÷ ours, alone", timings, ON_HOST, GAIN, alone=True)
    section.ratio(f"{job} ÷ {COPY}", timings, OURS, BOUND, under=COPY, at_least=False, alone=True)
