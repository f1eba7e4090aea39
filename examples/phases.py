"""Two programs over shared state: how much each junction lies on shortest paths from a start (Brandes).

`Forward` counts shortest paths along the edges; `Backward` adds up dependencies against them.  Run it
with `python examples/phases.py`.
"""

import pandas as pd

import cugraph_ws as ws


@ws.vertex_program
class Forward:
    """Levels of a search from `start`, and numbers of shortest paths."""

    level: ws.int64
    paths: ws.float64
    start: ws.vertex_parameter

    def init(vertex, p):
        return (0, 1.0) if vertex == p.start else (-1, 0.0)

    def starts(state):
        return state.level == 0

    def compute(src):
        return src.paths

    combine = sum
    contributors = "active"

    def apply(old, gathered, p):
        return (old.level, old.paths) if old.level >= 0 else (p.superstep + 1, gathered)


@ws.vertex_program
class Backward:
    """The sum over all targets of the share of shortest paths that lead through a vertex."""

    level: ws.int64
    paths: ws.float64
    dependency: ws.float64

    def init(vertex):
        return -1, 0.0, 0.0

    def compute(src, dst):
        return (1.0 + src.dependency) / src.paths if src.level == dst.level + 1 else 0.0

    combine = sum

    def apply(old, gathered):
        return old.level, old.paths, old.paths * gathered


Dependencies = ws.phases(Forward, ws.phase(Backward, direction="out"), rounds=1)


def main() -> pd.DataFrame:
    """Run both phases on a few roads."""
    roads = pd.DataFrame(
        [
            ("berlin", "hamburg"), ("berlin", "leipzig"), ("leipzig", "munich"), ("hamburg", "cologne"),
            ("leipzig", "cologne"), ("cologne", "munich"), ("munich", "berlin"), ("cologne", "bonn"),
        ],
        columns=["source", "destination"],
    )  # fmt: skip
    result = ws.run(Dependencies, roads, start="berlin")
    print(result.frame)
    print(result.trace[["phase", "direction", "active"]])
    return result.frame


if __name__ == "__main__":
    main()
