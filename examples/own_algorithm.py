"""Two algorithms that the library does not have: nearest depots, and reachability.

`NearestDepot` finds for every crossing the nearest of several depots and its distance.  Its messages
are tuples, and it combines them with a function of its own.  `Reachable` finds whether a crossing can
be reached at all, and stops reading a vertex's edges at the first one from a reached crossing.

`Reachable` is run once more as plain Python; so a program can be stepped through with pdb.
"""

import math

import polars as pl

import cugraph_ws as ws


def nearer(first, second):
    """Return the shorter one; of two of the same length, the one from the smaller depot."""
    if second[0] < first[0] or (second[0] == first[0] and second[1] < first[1]):
        return second
    return first


@ws.vertex_program
class NearestDepot:
    """Length of the way from the nearest depot, and which depot that is."""

    length: ws.float64
    depot: ws.vertex_id
    weight: ws.edge(ws.float64)
    depots: ws.vertex_set

    def init(vertex, p, own):
        if own.depots:
            return 0.0, vertex
        return math.inf, -1

    def compute(src, edge):
        return src.length + edge.weight, src.depot

    def combine(first, second):
        return nearer(first, second)

    identity = (math.inf, -1)

    def apply(old, gathered):
        return nearer((old.length, old.depot), gathered)


@ws.vertex_program
class Reachable:
    """Whether a path leads from `start` to a vertex."""

    reached: ws.boolean
    start: ws.vertex_parameter

    def init(vertex, p):
        return vertex == p.start

    def compute(src):
        return src.reached

    combine = any

    def apply(old, gathered):
        return old.reached or gathered


def main() -> pl.DataFrame:
    """Run both on a town of 40 by 40 crossings, a third of its roads closed."""
    roads = ws.datasets.grid(40, 40, drop=0.33, seed=7, weights=(1.0, 3.0), frame="polars")
    with ws.Graph(roads, weight="weight") as town:
        areas = ws.run(NearestDepot, town, depots=[65, 820, 1530]).frame
        print(areas.group_by("depot").agg(pl.len().alias("crossings")).sort("depot"))
        compiled = ws.run(Reachable, town, start=820).frame
        debuggable = ws.run(Reachable, town, start=820, engine="python").frame
    assert compiled.equals(debuggable)
    print(f"{compiled['reached'].sum()} of {len(areas)} crossings can be reached from 820")
    return areas


if __name__ == "__main__":
    main()
