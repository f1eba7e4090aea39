"""Work that several libraries can do: a row of a table says how each is called, and how the answers are compared.

Timed are calls on graphs that each library has built before, and the making of the result in its usual form: a vertex
frame with ids for cugraph_ws and cuGraph, lists for igraph, dictionaries for NetworkX; for NetworKit `run()` alone.
Our answer is verified by another method, or compared with all others'; theirs are compared with ours.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

import numpy as np

import cugraph_ws as ws
from bench import proofs
from bench.answers import Values
from bench.forms import CUGRAPH, NETWORKX, SCIPY, Case, library
from bench.graphs import HIGH_DIAMETER
from bench.timing import OURS, Entrant, Measured, Section, race

USERS, USERS_TIMES = "user's program", 1.2  # bound of its time ÷ ours
ALONE = f"{OURS}, distances alone"
AS_IT_COMES = f"{CUGRAPH} as it comes"  # it drops parallel edges: more work, other ranks
PULLING = "pylibcugraph, direction-optimised"
NETWORKX_TIMES = 100.0  # bound of NetworkX' time ÷ ours
QUALITY = 0.99  # of ours, and of the best
EACH = 0.8  # on two cores, bound of a library's time ÷ ours
MOST_PRODUCTS = 300_000_000  # most multiplications in a product of matrices
CLOSE = partial(proofs.close, bound=1e-3)

Call = Callable[[Any, Any, Case], Any]  # takes the library's module, its graph, and the case


class Work(NamedTuple):
    """A row of a table of work.

    Attributes
    ----------
    parts : tuple of str
        The part of `bench cpu` and that of `bench gpu` in which it is; "" for none.
    form : str or None
        The graph's; see `bench.forms`.  None if calls take a frame.
    ours : callable
        Our call; takes our graph, None without a form, and the case.
    values : callable, optional
        What is compared, of our answer and of those by cuGraph and users' programs.
    agree : callable, optional
        Takes our values and theirs; returns their difference, or raises.
    peers : mapping
        By library its call, and what is compared of its answer: None for `values`, "" for nothing.
    proof : callable, optional
        Takes the graph and our values, and verifies them by another method.
    bounds : tuple of float
        Of the best library's time ÷ ours on two cores, of cuGraph's on a GPU, and there on graphs of high diameter.
        In other tables than that of `bench.peers`: of our own time, on two cores and on a GPU.
    communities : bool
        Whether values are partitions, whose modularity is compared.
    products : bool
        Whether SciPy multiplies the adjacency with itself.
    transposed : bool
        Whether cuGraph's graph is.
    most_edges : int
        Of a graph on which it runs.
    release : callable
        Frees an answer of ours.
    calls : callable
        Returns the number of calls that an answer is of, by which times are divided.
    """

    parts: tuple[str, str]
    form: str | None
    ours: Callable[[Any, Case], Any]
    values: Values | None = None
    agree: Callable[[Any, Any], float] | None = None
    peers: Mapping[str, tuple[Call, Any]] = {}
    proof: Callable[[Case, Any], float | None] | None = None
    bounds: tuple[float | None, ...] = (EACH, 3.0)
    communities: bool = False
    products: bool = False
    transposed: bool = False
    most_edges: int = 1 << 62
    release: Callable[[Any], None] = lambda answer: None
    calls: Callable[[Any], int] = lambda answer: 1


def race_work(
    case: Case, name: str, work: Work, section: Section, repeats: int, **pace: Any
) -> tuple[dict[str, Measured], dict[str, Any]]:
    """Time a work in all libraries that are here; return timings and compared values by library.

    Parameters
    ----------
    case : Case
    name : str
        Of the work in the record.
    work : Work
    section : Section
        Gets timings and errors.
    repeats : int
        Runs that count.
    **pace : Any
        Options of `race`.
    """
    values: dict[str, Any] = {}
    ours = None if work.form is None else case.ours(work.form)
    check = partial(_check_ours, case, work, values)
    entrants = [
        Entrant(OURS, partial(work.ours, ours, case), check, None, work.release, work.calls)
    ]
    for by, (call, read) in work.peers.items():
        variant = by in (USERS, ALONE)  # of this library
        needs = CUGRAPH if by in (AS_IT_COMES, PULLING) else by
        slow = by == SCIPY and work.products and _products(case) > MOST_PRODUCTS
        if slow or (by == ALONE and not case.gpu) or not (variant or case.has(needs)):
            continue
        make = partial(case.graph_of, needs, work.form, transposed=work.transposed)
        graph = ours if variant or work.form is None else section.attempt(f"{name}, {by}", make)
        run = partial(call, None if variant else library(needs), graph, case)
        check_peer = partial(_check_peer, case, work, values, by, read)
        entrants.append(Entrant(by, run, check_peer, parts=work.calls))
    return race(section, name, entrants, repeats, **pace), values


def _check_ours(case: Case, work: Work, values: dict[str, Any], answer: Any) -> float | None:
    if work.values is None:
        return None
    values[OURS] = work.values(case, answer)
    return None if work.proof is None else work.proof(case, values[OURS])


def _check_peer(
    case: Case, work: Work, values: dict[str, Any], by: str, read: Any, answer: Any
) -> float | None:
    """Compare a library's values with ours; of totals, with the sum of ours."""
    if read == "" or OURS not in values:
        return None
    read = read or work.values
    values[by] = theirs = case.xp.asarray(read(case, answer))
    ours = case.xp.asarray(values[OURS])
    if len(theirs) < len(ours):  # a total
        return CLOSE(ours.sum(), theirs[0])
    return None if work.agree is None else work.agree(ours, theirs)


def _products(case: Case) -> int:
    """Return the multiplications of the adjacency matrix with itself."""
    degree = np.diff(case.graph_of(SCIPY, "simple").indptr).astype(np.int64)
    return int((degree * degree).sum())


def modularities(
    case: Case, name: str, section: Section, partitions: Mapping[str, Any]
) -> dict[str, float]:
    """Return the modularity of each library's communities; ours has a target."""
    if OURS not in partitions:
        return {}
    graph, frames = case.ours("simple"), case.frames
    ids = case.xp.flatnonzero(~case.xp.isnan(partitions[OURS])).astype(case.source.dtype)
    quality = {}
    for by, values in partitions.items():
        communities = case.xp.asarray(values)[ids].astype("int64")
        frame = frames.DataFrame({"vertex": ids, "partition": communities})
        quality[by] = float(ws.modularity(graph, frame))
    section.target(
        f"{name}: our modularity ÷ the best", quality[OURS] / max(quality.values()), QUALITY, at_least=True,
    )  # fmt: skip
    rows = [[by, f"{modularity:.4f}"] for by, modularity in quality.items()]
    section.table(f"Modularity, {name}", ["by", "modularity"], rows)
    return quality


def add_targets(
    case: Case, name: str, work: Work, section: Section, timings: Mapping[str, Measured],
    quality: Mapping[str, float],
) -> float | None:  # fmt: skip
    """Add the targets of a work; return the best library's time ÷ ours on two cores."""
    section.ratio(f"{name}: {USERS} ÷ ours", timings, USERS, USERS_TIMES, at_least=False)
    if case.gpu:
        bound = work.bounds[-1] if case.name in HIGH_DIAMETER else work.bounds[1]
        for by in (PULLING,) if PULLING in timings else (CUGRAPH, AS_IT_COMES):
            section.ratio(f"{name}: {by} ÷ ours", timings, by, bound)
        return None
    section.ratio(f"{name}: {NETWORKX} ÷ ours", timings, NETWORKX, NETWORKX_TIMES)
    least = QUALITY * quality.get(OURS, 0.0)
    able = [timing for by, timing in timings.items()
            if by not in (OURS, USERS, NETWORKX) and quality.get(by, 0.0) >= least]  # fmt: skip
    if not able or OURS not in timings or work.bounds[0] is None:
        return None
    best = min(timing.median for timing in able) / timings[OURS].median
    section.target(f"{name}: best of the libraries ÷ ours", best, work.bounds[0], at_least=True)
    return best
