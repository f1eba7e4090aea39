"""The largest package that each package needs, directly or indirectly, and its size.

Sizes flow against the dependencies, from a package to those that need it, so the graph is built
from `depends_on` to `package`.  A message is a tuple, and `combine` a function of two messages.
"""

import cugraph_ws as ws


def heavier(first, second):
    """Return the larger one; of two of the same size, the one with the smaller id."""
    if second[0] > first[0] or (second[0] == first[0] and second[1] < first[1]):
        return second
    return first


@ws.vertex_program
class HeaviestDependency:
    """Size in KiB and name of the largest package that a package needs, itself included."""

    size: ws.int64
    heaviest: ws.vertex_id
    installed_kib: ws.vertex_value(ws.int64)

    def init(vertex, p, own):
        return own.installed_kib, vertex

    def compute(src):
        return src.size, src.heaviest

    def combine(first, second):
        return heavier(first, second)

    identity = (-1, -1)

    def apply(old, gathered):
        return heavier((old.size, old.heaviest), gathered)
