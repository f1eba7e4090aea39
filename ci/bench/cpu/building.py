"""Costs besides the algorithms: building a graph, starting a process, memory."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

import networkx
import numpy as np
import pandas as pd
import scipy.sparse
from verify import Edges

import cugraph_ws as ws
from bench.cpu.cases import Case, frame, generated
from bench.places import environment
from bench.timing import OURS, Entrant, Measured, Section, Target, by_library, clocked, race

__all__ = ["first_result", "make_csc", "peak_memory"]

FIRST_RESULT_SECONDS = 2.5
PEAK_TIMES_CSC = 3.0


def make_csc(case: Case, section: Section, repeats: int) -> None:
    """Time a pandas frame to CSC against SciPy's `tocsc` of a ready COO matrix.

    SciPy's time does not include checking and narrowing the indices, and SciPy sums parallel edges; its
    time from arrays on is shown too.
    """
    edges = case.directed
    unweighted = frame(Edges(edges.source, edges.destination, edges.n))
    ones = np.ones(len(edges.source))
    shape = (edges.n, edges.n)

    def coo() -> Any:
        return scipy.sparse.coo_matrix((ones, (edges.source, edges.destination)), shape)

    prepared = coo()
    expected = coo().tocsc()

    def check_ours(graph: ws.Graph) -> None:
        ids = np.unique(np.concatenate([edges.source, edges.destination]))
        csc = graph.csc
        data = np.ones(csc.number_of_arcs)
        found = scipy.sparse.csc_matrix((data, csc.indices, csc.offsets), (len(ids),) * 2)
        _same(found, expected[ids][:, ids])

    def ours() -> ws.Graph:
        graph = ws.Graph(unweighted)
        assert graph.csc.number_of_arcs == len(ones)
        return graph

    others = {
        "SciPy tocsc": prepared.tocsc,
        "SciPy coo_matrix, tocsc": lambda: coo().tocsc(),
    }
    entrants = [Entrant(OURS, ours, check_ours)]
    entrants += [
        Entrant(name, run, lambda made: _same(made, expected)) for name, run in others.items()
    ]
    found = by_library(race(section, "csc", entrants, repeats))
    if {OURS, "SciPy tocsc"} <= set(found):
        share = found[OURS].median / found["SciPy tocsc"].median
        section.targets.append(Target("frame to CSC, times SciPy's tocsc", case.name, share, 1.0))


def first_result(name: str, section: Section, repeats: int) -> None:
    """Time a new process from its start to ranks of a graph of 30,000 edges, with warm caches."""
    edges = generated(11, 15).directed
    edges = Edges(edges.source[:30_000], edges.destination[:30_000], edges.n)
    with tempfile.TemporaryDirectory() as folder:
        given, output = Path(folder, "edges.parquet"), Path(folder, "ranks.parquet")
        frame(edges).to_parquet(given)
        call = partial(_child, "first_result", str(given), str(output))
        seconds = [clocked(call)[0] for _ in range(repeats + 1)]  # the first fills caches of code
        ranks = pd.read_parquet(output)
    graph = networkx.MultiDiGraph()
    graph.add_edges_from(zip(edges.source.tolist(), edges.destination.tolist(), strict=True))
    expected = pd.Series(networkx.pagerank(graph, tol=1e-6 / len(graph)))
    difference = (ranks.set_index("vertex")["pagerank"] - expected).abs().sum()
    assert difference < 1e-4, f"the new process's ranks are off by {difference}"
    median = statistics.median(seconds[1:])
    section.timings.append(
        Measured("new process, edges to ranks", name, OURS, seconds[1:], first=seconds[0])
    )
    section.targets.append(
        Target("second process, start to exit, seconds", name, median, FIRST_RESULT_SECONDS)
    )


def peak_memory(case: Case, section: Section, repeats: int) -> None:
    """Measure by how much a process grows while it turns a pandas frame into CSC.

    The bound is three times the CSC's bytes plus those of the input frame.  Growth is relative to the
    interpreter with all libraries loaded, so it includes the frame.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "edges.npy")
        np.save(path, np.stack([case.directed.source, case.directed.destination]))
        facts = json.loads(_child("peak_memory", str(path)))
    bound = PEAK_TIMES_CSC * facts["csc"] + facts["frame"]
    rows = int(np.count_nonzero(np.bincount(case.directed.destination)))
    assert facts["rows"] == rows, "the new process's CSC has other rows"
    section.figures["memory"] = facts
    name = "peak memory, share of 3 x CSC + frame"
    section.targets.append(Target(name, case.name, facts["peak"] / bound, 1.0))


def _child(module: str, *arguments: str) -> str:
    """Run a module of this folder in a new process and return its output."""
    command = [sys.executable, "-m", f"bench.cpu.{module}", *arguments]
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment())
    return done.stdout


def _same(found: Any, expected: Any) -> None:
    found.sum_duplicates()
    assert (found != expected).nnz == 0, "the matrices differ"
