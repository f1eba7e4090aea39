"""Random walks and samples of neighbours beside pylibcugraph's, and searches from many sources beside as many searches."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

import cugraph_ws as ws
from bench.forms import CUGRAPH, Case, library
from bench.timing import OURS, Entrant, Section, by_library, compare, race

WALKS, LENGTH, RETURN, IN_OUT = 1_000_000, 80, 0.5, 2.0
FEW_WALKS = 20_000  # by node2vec: a million of them take the peer minutes
FANOUTS, STARTS, BATCHES = [25, 10], 1024, (1, 16, 128)
SOURCES, UNIFORM = 64, "walks, uniform"
PEER, IN_TURN, OWN_WALK = "pylibcugraph", "one after the other", "the same walk by @ws.walk"
AGAINST_WALKS, AGAINST_SAMPLES, AGAINST_SEARCHES, OWN_TIMES = 2.0, 1.5, 5.0, 1.3


@ws.walk
def uniformly(walker, edges):  # type: ignore[no-untyped-def]
    """Take any edge."""
    return walker.random_integer(len(edges))


def draws(case: Case, section: Section, repeats: int) -> None:
    """Time walks, samples and searches; the peer's graph has the same directed edges."""
    starts = case.xp.random.RandomState(3).permutation(case.xp.flatnonzero(case.out_degree > 0))
    peers = {} if library(CUGRAPH) is None else _peers(case, starts)
    graph, series = case.ours("weighted"), case.frames.Series(starts)
    many = series[:WALKS]
    ours = {
        UNIFORM: lambda: ws.random_walks(graph, many, LENGTH, weight=None),
        "walks, by weight": lambda: ws.random_walks(graph, many, LENGTH),
        "walks, node2vec": lambda: ws.node2vec_walks(
            graph, many[:FEW_WALKS], LENGTH, RETURN, IN_OUT, weight=None),
    }  # fmt: skip

    def own() -> Any:
        return ws.run(uniformly, graph, starts=many, length=LENGTH).frame

    for count in BATCHES:
        for replace in (False, True):
            options = {
                "batches": np.repeat(np.arange(count), STARTS),
                "replace": replace,
                "direction": "out",
            }
            ours[_sampled(count, replace)] = partial(
                ws.neighbor_sample, graph, series[: count * STARTS], FANOUTS, **options
            )  # fmt: skip
    for job, call in ours.items():
        entrants = [Entrant(OURS, call)]
        if job in peers:
            entrants.append(Entrant(PEER, peers[job]))
        if job == UNIFORM:
            entrants.append(Entrant(OWN_WALK, own))
        measured = race(section, job, entrants, repeats)
        bound = AGAINST_WALKS if job.startswith("walks") else AGAINST_SAMPLES
        compare(section, f"{job}: {PEER}'s ÷ ours", measured, PEER, bound)
        timings = by_library(measured)
        if {OURS, OWN_WALK} <= set(timings):
            ratio = timings[OWN_WALK].median / timings[OURS].median
            section.target(f"{job}: {OWN_WALK} ÷ ours", ratio, OWN_TIMES)
    case.release(CUGRAPH)
    sources = starts[:SOURCES].tolist()
    searches = [
        Entrant(OURS, lambda: ws.multi_source_bfs(graph, sources)),
        Entrant(IN_TURN, lambda: [ws.bfs(graph, source) for source in sources]),
    ]
    job = f"bfs from {SOURCES} sources"
    measured = race(section, job, searches, repeats)
    compare(section, f"{job}: {IN_TURN} ÷ at once", measured, IN_TURN, AGAINST_SEARCHES)


def _sampled(batches: int, replace: bool) -> str:
    return f"samples, {batches} batches{', replaced' if replace else ''}"


def _peers(case: Case, starts: Any) -> dict[str, Any]:
    """Return pylibcugraph's calls by job."""
    import pylibcugraph

    handle = pylibcugraph.ResourceHandle()
    weights = case.weights("weighted")
    graph = pylibcugraph.SGGraph(
        handle, pylibcugraph.GraphProperties(is_symmetric=False, is_multigraph=True), case.source, case.destination,
        weight_array=weights, store_transposed=False, renumber=True, do_expensive_check=False,
    )  # fmt: skip
    many = starts[:WALKS].astype(case.source.dtype)

    def sample(count: int, replace: bool) -> Any:
        return pylibcugraph.homogeneous_uniform_neighbor_sample(
            resource_handle=handle, input_graph=graph, start_vertex_list=many[: count * STARTS],
            starting_vertex_label_offsets=case.xp.arange(0, count * STARTS + 1, STARTS, dtype="int64"),
            h_fan_out=np.array(FANOUTS, np.int32), with_replacement=replace, do_expensive_check=False,
            prior_sources_behavior="exclude", deduplicate_sources=True, return_hops=True, renumber=False,
            retain_seeds=False, compression="COO", compress_per_hop=False, random_state=3,
        )  # fmt: skip

    walks = pylibcugraph.uniform_random_walks, pylibcugraph.biased_random_walks
    calls: dict[str, Any] = {
        UNIFORM: lambda: walks[0](handle, graph, many, LENGTH),
        "walks, by weight": lambda: walks[1](handle, graph, many, LENGTH, None),
        "walks, node2vec": lambda: pylibcugraph.node2vec_random_walks(handle, graph, many[:FEW_WALKS], LENGTH, RETURN, IN_OUT),
    }  # fmt: skip
    return calls | {
        _sampled(count, replace): partial(sample, count, replace)
        for count in BATCHES
        for replace in (False, True)
    }
