"""A custom vertex program in ten lines: the widest path from a city to every other.

A path is as wide as its narrowest road.  Run it with `python examples/widest_path.py`, or on a
file of edges: `cugraph-ws run examples/widest_path.py:WidestPath roads.parquet start=berlin`.
"""

import math

import pandas as pd

import cugraph_ws as ws


@ws.vertex_program
class WidestPath:
    """Width of the widest path from `start` to every vertex."""

    width: ws.float32  # state, and a column of the result
    capacity: ws.edge(ws.float32)  # read from the edge frame
    start: ws.vertex_parameter  # given to run(), as an id of the frame

    def init(vertex, p):
        return math.inf if vertex == p.start else 0.0

    def compute(src, edge):
        return min(src.width, edge.capacity)

    combine = max

    def apply(old, gathered):
        return max(old.width, gathered)


def main() -> pd.DataFrame:
    """Run the program on a few roads."""
    roads = pd.DataFrame(
        [
            ("berlin", "hamburg", 4.0),
            ("berlin", "leipzig", 6.0),
            ("leipzig", "munich", 3.0),
            ("hamburg", "cologne", 2.0),
            ("leipzig", "cologne", 5.0),
            ("cologne", "munich", 4.0),
        ],
        columns=["source", "destination", "capacity"],
    )
    result = ws.run(WidestPath, roads, directed=False, start="berlin")
    print(result.frame)
    print(f"{result.iterations} supersteps, stopped: {result.stopped}")
    return result.frame


if __name__ == "__main__":
    main()
