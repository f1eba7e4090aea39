"""Bytes that partitions send each other, by method: Table I of the Warp Segmentation paper, and VR.

Nothing is timed.  The bytes of a run do not depend on the machine, so one process and the CPU engine suffice.
A byte is useful if it belongs to a vertex that the last superstep changed.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

import cugraph_ws as ws
from bench.programs import PROGRAMS
from bench.tables import Table
from cugraph_ws.graph import generators

__all__ = ["main"]

FEW = 1000  # one in so many vertices has an initial value, where only a few have


def main(arguments: Sequence[str] | None = None) -> int:
    """Run every program with every method, and print a table for each graph and number of parts."""
    parser = argparse.ArgumentParser(prog="bench traffic", description=__doc__)
    parser.add_argument(
        "--scale", type=int, default=18, help="scale of the RMAT graph, with 16 edges per vertex"
    )
    parser.add_argument("--parts", type=int, nargs="+", default=[2, 4], help="how many partitions")
    given = parser.parse_args(arguments)
    side = 1 << (given.scale // 2)
    graphs = {
        f"RMAT {given.scale} x 16": generators.rmat(given.scale, seed=7, frame="pandas"),
        f"grid {side} x {side}": generators.grid(side, side, seed=7, frame="pandas"),
    }
    for name, edges in graphs.items():
        weighted = edges.assign(weight=_weights(edges))
        for parts in given.parts:
            print(_table(name, weighted, parts).markdown(), flush=True)
    return 0


def _weights(edges: pd.DataFrame) -> Any:
    """Return weights that sum to less than 1 into each vertex, as the heat simulation needs."""
    degrees = edges.groupby("destination")["source"].transform("size")
    return (np.random.default_rng(7).random(len(edges)) / degrees).astype(np.float32)


def _table(name: str, edges: pd.DataFrame, parts: int) -> Table:
    """Run every program with every method on one graph."""
    ids = np.unique(edges[["source", "destination"]])
    values = pd.DataFrame({"vertex": ids, "value": (ids % 97 + 1) / 97.0})
    start = int(edges["source"].mode()[0])
    rows = []
    with ws.Graph(edges, weight="weight") as graph:
        for program in sorted(PROGRAMS.values(), key=lambda one: one.label):
            options = program.arguments(start, lambda few: values[:: FEW if few else 1])
            sent, useful, steps = {}, {}, 0
            for method in ("all", "ms", "vr", "auto"):
                result = ws.run(
                    program.program, graph, plan=ws.Plan(partitions=parts, exchange=method), predecessors=False,
                    **options, **program.stop(),
                )  # fmt: skip
                sent[method] = int(result.trace.bytes_sent.sum())
                useful[method] = int(result.trace.bytes_useful.sum())
                steps = result.iterations
            shares = (f"{100 * useful[one] / max(sent[one], 1):.1f}" for one in ("all", "ms", "vr"))
            sizes = (f"{one / 1e6:.2f}" for one in sent.values())
            rows.append([program.label, str(steps), *shares, *sizes])
    columns = ["program", "supersteps", "ALL useful %", "MS useful %", "VR useful %", "ALL, MB",
               "MS, MB", "VR, MB", "auto, MB"]  # fmt: skip
    return Table(f"{name}, {parts} partitions", columns, rows)
