"""A new process, from its start to the answer for a graph of 30,000 edges, with warm caches.

It ranks by the built-in PageRank, or by a user's program (`bench.programs.Ranks`) that has been edited since the process
before, so that no cache has its machine code.  Run as a module with a folder, this file is that process.
"""

from __future__ import annotations

import importlib.util
import sys
import tempfile
from pathlib import Path
from typing import Any

import networkx
import numpy as np
import pandas as pd

import cugraph_ws as ws
from bench import programs
from bench.children import in_new_process
from bench.timing import OURS, Entrant, Section, race

EDGES, BOUND = 30_000, 2.5  # seconds


def first_result(name: str, section: Section, repeats: int) -> None:
    """Time both; compare the ranks with NetworkX'."""
    from cugraph_ws.graph.generators import rmat

    ends = rmat(11, 15, seed=1, frame=None)
    edges = pd.DataFrame({key: ends[key][:EDGES] for key in ("source", "destination")})
    graph = networkx.MultiDiGraph()
    graph.add_edges_from(edges.to_numpy().tolist())
    expected = pd.Series(networkx.pagerank(graph, tol=1e-6 / len(graph)))

    def check(ranks: pd.DataFrame) -> float:
        off = float((ranks.set_index("vertex").iloc[:, 0] - expected).abs().sum())
        assert off < 1e-4, f"the new process's ranks are off by {off}"
        return off

    with tempfile.TemporaryDirectory() as folder:
        edges.to_parquet(Path(folder, "edges.parquet"))
        edits = iter(np.random.default_rng().integers(2, 1 << 40, 2 * repeats + 2).tolist())

        source = programs.source_of(programs.Ranks.name)

        def run(*, edited: bool) -> pd.DataFrame:
            if edited:
                edit = f"(0.15 + 0.0 * {next(edits)})"
                Path(folder, "program.py").write_text(source.replace("0.15", edit))
            in_new_process("bench.cpu.first_result", folder, *["edited"] * edited)
            return pd.read_parquet(Path(folder, "ranks.parquet"))

        for job, edited in (
            ("edges to ranks", False),
            ("edges to ranks by an edited program", True),
        ):
            entrant = Entrant(OURS, lambda edited=edited: run(edited=edited), check)
            timings = race(section, f"new process, {job}", [entrant], repeats, few=repeats)
            if OURS in timings and not edited:
                seconds = timings[OURS].median
                section.target("second process, start to exit, seconds", seconds, BOUND)


def child(folder: Path, *, edited: bool) -> None:
    """Rank the edges of the folder."""
    edges = pd.read_parquet(folder / "edges.parquet")
    if edited:
        spec: Any = importlib.util.spec_from_file_location("edited", folder / "program.py")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        ranks = ws.run(module.Ranks, edges).frame
    else:
        ranks = ws.pagerank(edges)
    ranks.to_parquet(folder / "ranks.parquet")


if __name__ == "__main__":
    child(Path(sys.argv[1]), edited="edited" in sys.argv[2:])
