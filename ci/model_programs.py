"""Programs that stand for those of users in `kernels/cuda/together.json`; see `launched_together.py`.

Each is compiled in another way.  The types of its state, edges, constants, parameters and messages all differ, so that in the
types of its kernels it can be seen which are which.
"""

import math

import cugraph_ws as ws

__all__ = ["MODELS"]


@ws.vertex_program
class Sums:
    """Gathers from all in-neighbours, what they send depends on the edge."""

    total: ws.float32
    flag: ws.boolean
    weight: ws.edge(ws.float64)
    share: ws.vertex_value(ws.float32, default=1.0)
    factor: ws.parameter(ws.float64, default=0.5)
    max_iter = 3
    combine = sum

    def init(vertex):
        return 1.0, False

    def compute(src, edge, p):
        return 1 if src.total * src.share + edge.weight > p.factor else 2

    def apply(old, gathered, p):
        return gathered * p.factor, gathered > 3


@ws.vertex_program
class SentSums:
    """Gathers from all in-neighbours, which send the same along all edges."""

    total: ws.float32
    flag: ws.boolean
    share: ws.vertex_value(ws.float32, default=1.0)
    factor: ws.parameter(ws.float64, default=0.5)
    max_iter = 3
    combine = sum

    def init(vertex):
        return 1.0, False

    def compute(src, p):
        return 1 if src.total * src.share > p.factor else 2

    def apply(old, gathered, p):
        return gathered * p.factor, gathered > 3


def least(*, of_some: bool, tree: bool) -> ws.VertexProgram:
    """Return a search whose one state only falls.

    Its messages may depend on the vertices (`of_some`), and it may have the tree of its paths.
    """

    @ws.vertex_program
    class Least:
        far: ws.float32
        weight: ws.edge(ws.int32)
        if of_some:
            open: ws.vertex_value(ws.boolean, default=True)
        start: ws.vertex_parameter
        if tree:
            before: ws.predecessor
        combine = min

        def init(vertex, p):
            return 0.0 if vertex == p.start else math.inf

        if of_some:

            def compute(src, edge):
                return src.far + edge.weight + (1 if src.open else 2)

        else:

            def compute(src, edge):
                return src.far + edge.weight

        def apply(old, gathered):
            return min(old.far, gathered)

    return Least


@ws.vertex_program
class Waves:
    """A search with several states."""

    since: ws.float32
    flag: ws.boolean
    weight: ws.edge(ws.float64)
    share: ws.vertex_value(ws.float32, default=1.0)
    factor: ws.parameter(ws.float64, default=2.0)
    start: ws.vertex_parameter
    combine = min

    def init(vertex, p):
        return 0.0 if vertex == p.start else 1000.0, False

    def starts(state):
        return state.since == 0.0

    def compute(src, edge, p):
        return 1 if edge.weight * src.share > p.factor else 2

    def apply(old, gathered):
        return min(old.since, gathered), old.flag


# Those without constants first: others are taken only for programs that have them
MODELS = (
    Sums, SentSums, *(least(of_some=some, tree=tree) for some in (False, True) for tree in (False, True)), Waves,
)  # fmt: skip
