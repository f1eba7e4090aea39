"""What partitions send each other, by method: Table I of the Warp Segmentation paper, with VR beside it.

    python ci/bench/traffic.py
    python ci/bench/traffic.py --scale 20 --parts 2 3 4

No times: bytes of a run do not depend on the machine, so one process and the CPU engine serve.  A byte is
useful if it is of the value of a vertex that the last superstep has changed.
"""

import argparse
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))  # its programs

import numpy as np
import pandas as pd
from programs import Labels
from rich.console import Console
from rich.table import Table

import cugraph_ws as ws
from cugraph_ws import generators

DENSE_SUPERSTEPS = 20  # of programs whose every superstep reads all edges


def main() -> None:
    """Run every program with every method, and print a table for each graph and number of parts."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--scale", type=int, default=18, help="of the RMAT graph, 16 edges a vertex"
    )
    parser.add_argument("--parts", type=int, nargs="+", default=[2, 4], help="how many partitions")
    arguments = parser.parse_args()
    side = 1 << (arguments.scale // 2)
    graphs = {
        f"RMAT {arguments.scale} x 16": generators.rmat(arguments.scale, seed=7, frame="pandas"),
        f"grid {side} x {side}": generators.grid(side, side, seed=7, frame="pandas"),
    }
    console = Console()
    for name, edges in graphs.items():
        weighted = edges.assign(weight=_weights(edges))
        for parts in arguments.parts:
            console.print(_table(name, weighted, parts))


def _weights(edges: pd.DataFrame) -> Any:
    """Return weights of which those into a vertex add up to less than 1, as heat needs."""
    degrees = edges.groupby("destination")["source"].transform("size")
    return (np.random.default_rng(7).random(len(edges)) / degrees).astype(np.float32)


def _programs(edges: pd.DataFrame) -> dict[str, tuple[Any, dict[str, Any]]]:
    """Return the paper's eight programs with their arguments, by its names for them."""
    ids = np.unique(edges[["source", "destination"]])
    values = pd.DataFrame({"vertex": ids, "value": (ids % 97 + 1) / 97.0})
    ends = values[::1000]
    start = int(edges["source"].mode()[0])
    dense = {"max_iter": DENSE_SUPERSTEPS, "tol": 0.0}
    return {
        "BFS": (ws.BFS, {"start": start}),
        "CC": (Labels, {}),
        "CS": (ws.Circuit, {"sources": ends, **dense}),
        "HS": (ws.Heat, {"temperature": values, **dense}),
        "NN": (ws.NeuralNetwork, {"activation": values, **dense}),
        "PR": (ws.PageRank, dense),
        "SSSP": (ws.SSSP, {"start": start}),
        "SSWP": (ws.WidestPath, {"start": start}),
    }


def _table(name: str, edges: pd.DataFrame, parts: int) -> Table:
    """Run everything on one graph."""
    table = Table(title=f"{name}, {parts} partitions")
    for column in ("program", "supersteps", "ALL useful %", "MS useful %", "VR useful %",
                   "ALL, MB", "MS, MB", "VR, MB", "auto, MB"):  # fmt: skip
        table.add_column(column, justify="left" if column == "program" else "right")
    with ws.Graph(edges, weight="weight") as graph:
        for program, (definition, options) in _programs(edges).items():
            sent, useful, steps = {}, {}, 0
            for method in ("all", "ms", "vr", "auto"):
                result = ws.run(
                    definition, graph, partitions=parts, exchange=method, predecessors=False,
                    **options,
                )  # fmt: skip
                sent[method] = int(result.trace.bytes_sent.sum())
                useful[method] = int(result.trace.bytes_useful.sum())
                steps = result.iterations
            shares = (f"{100 * useful[one] / max(sent[one], 1):.1f}" for one in ("all", "ms", "vr"))
            table.add_row(
                program, str(steps), *shares, *(f"{one / 1e6:.2f}" for one in sent.values())
            )
    return table


if __name__ == "__main__":
    main()
