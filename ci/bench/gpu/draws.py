"""Random walks and samples of neighbours beside pylibcugraph's, and searches from many sources beside as many searches."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import product
from typing import Any

import numpy as np

import cugraph_ws as ws
from bench.forms import CUGRAPH, Case, library
from bench.timing import OURS, Entrant, Section, race

WALKS, LENGTH, RETURN, IN_OUT = 1_000_000, 80, 0.5, 2.0
FEW_WALKS = 20_000  # by node2vec: a million of them take the peer minutes
FANOUTS, STARTS, BATCHES = [25, 10], 1024, (1, 16, 128)
SOURCES = 64
UNIFORM, BY_WEIGHT, NODE2VEC = "walks, uniform", "walks, by weight", "walks, node2vec"
SAMPLES = {  # by job the number of batches, and whether a neighbour may be drawn again
    f"samples, {count} batches{', replaced' if replace else ''}": (count, replace)
    for count, replace in product(BATCHES, (False, True))
}
PEER, IN_TURN, OWN_WALK = "pylibcugraph", "one after the other", "the same walk by @ws.walk"
AGAINST_WALKS, AGAINST_SAMPLES, AGAINST_SEARCHES, OWN_TIMES = 2.0, 1.5, 5.0, 1.3

Calls = dict[str, Callable[[], Any]]  # by job


@ws.walk
def uniformly(walker, edges):  # type: ignore[no-untyped-def]
    """Take any edge."""
    return walker.random_integer(len(edges))


def draws(case: Case, section: Section, repeats: int) -> None:
    """Time walks, samples and searches; the peer's graph has the same directed edges."""
    starts = case.xp.random.RandomState(3).permutation(case.xp.flatnonzero(case.out_degree > 0))
    graph = case.ours("weighted")
    peers = {} if library(CUGRAPH) is None else _peers(case, starts)
    for job, call in _ours(graph, case.frames.Series(starts)).items():
        entrants = [Entrant(OURS, call)]
        if job in peers:
            entrants.append(Entrant(PEER, peers[job]))
        if job == UNIFORM:
            many = case.frames.Series(starts[:WALKS])
            run = partial(ws.run, uniformly, graph, starts=many, length=LENGTH)
            entrants.append(Entrant(OWN_WALK, lambda run=run: run().frame))
        timings = race(section, job, entrants, repeats)
        bound = AGAINST_SAMPLES if job in SAMPLES else AGAINST_WALKS
        section.ratio(f"{job}: {PEER}'s ÷ ours", timings, PEER, bound)
        section.ratio(f"{job}: {OWN_WALK} ÷ ours", timings, OWN_WALK, OWN_TIMES, at_least=False)
    peers.clear()
    sources = starts[:SOURCES].tolist()
    searches = [
        Entrant(OURS, lambda: ws.multi_source_bfs(graph, sources)),
        Entrant(IN_TURN, lambda: [ws.bfs(graph, source) for source in sources]),
    ]
    job = f"bfs from {SOURCES} sources"
    timings = race(section, job, searches, repeats)
    section.ratio(f"{job}: {IN_TURN} ÷ at once", timings, IN_TURN, AGAINST_SEARCHES)


def _ours(graph: ws.Graph, starts: Any) -> Calls:
    many = starts[:WALKS]

    def sample(count: int, replace: bool) -> Any:
        return ws.neighbor_sample(
            graph, starts[: count * STARTS], FANOUTS, batches=np.repeat(np.arange(count), STARTS),
            replace=replace, direction="out",
        )  # fmt: skip

    return {
        UNIFORM: lambda: ws.random_walks(graph, many, LENGTH, weight=None),
        BY_WEIGHT: lambda: ws.random_walks(graph, many, LENGTH),
        NODE2VEC: lambda: ws.node2vec_walks(graph, many[:FEW_WALKS], LENGTH, RETURN, IN_OUT, weight=None),
        **{job: partial(sample, *kind) for job, kind in SAMPLES.items()},
    }  # fmt: skip


def _peers(case: Case, starts: Any) -> Calls:
    """Return pylibcugraph's calls."""
    import pylibcugraph

    handle = pylibcugraph.ResourceHandle()
    graph = pylibcugraph.SGGraph(
        handle, pylibcugraph.GraphProperties(is_symmetric=False, is_multigraph=True), case.source, case.destination,
        weight_array=case.weights("weighted"), store_transposed=False, renumber=True, do_expensive_check=False,
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

    return {
        UNIFORM: lambda: pylibcugraph.uniform_random_walks(handle, graph, many, LENGTH),
        BY_WEIGHT: lambda: pylibcugraph.biased_random_walks(handle, graph, many, LENGTH, None),
        NODE2VEC: lambda: pylibcugraph.node2vec_random_walks(
            handle, graph, many[:FEW_WALKS], LENGTH, RETURN, IN_OUT
        ),
        **{job: partial(sample, *kind) for job, kind in SAMPLES.items()},
    }  # fmt: skip
