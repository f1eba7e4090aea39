"""Belief propagation written as a program: edges keep messages, two for each direction.

Who in a group has heard a rumour?  For some people the probability is known, and for every two that
talk, how strongly they agree.  A message from `src` to `dst` leaves out what `dst` has told `src`, so
each direction of an edge keeps both messages: the other direction computes the same two.

On a tree the beliefs are exact.  `Result.edges` shows what was said along each edge.
"""

import math

import pandas as pd

import cugraph_ws as ws


def heard(odds, agreement):
    """Return what remains of log odds that an agreement passes on."""
    return 2.0 * math.atanh(math.tanh(odds / 2.0) * math.tanh(agreement / 2.0))


@ws.vertex_program
class Rumour:
    """Log odds that a vertex has heard it; the sum-product algorithm for two states."""

    odds: ws.float64
    prior: ws.hidden(ws.float64)
    known: ws.vertex_value(ws.float64, default=0.0)
    agreement: ws.edge(ws.float64)
    said = ws.edge_state(ws.float64)
    answered = ws.edge_state(ws.float64)

    def init(own):
        return own.known, own.known

    def compute(edge):
        return edge.said

    combine = sum

    def apply(old, gathered):
        return old.prior + gathered, old.prior

    def update_edge(src, dst, edge):
        said = heard(src.odds - edge.answered, edge.agreement)
        return said, heard(dst.odds - edge.said, edge.agreement)


def main() -> tuple[pd.DataFrame, pd.DataFrame]:
    """Ask a group of six; return the beliefs, and what was said along each edge."""
    talks = pd.DataFrame(
        {
            "source": ["ann", "ann", "bob", "bob", "eve"],
            "destination": ["bob", "eve", "cat", "dan", "fay"],
            "agreement": [1.5, 0.5, 2.0, -1.0, 3.0],
        }
    )
    known = {"cat": 2.0, "fay": -1.0, "dan": 0.5}
    with ws.Graph(talks, weight="agreement", directed=False) as group:
        result = ws.run(Rumour, group, known=known)
        print(result.frame.assign(chance=1.0 / (1.0 + (-result.frame["odds"]).map(math.exp))))
        print(result.edges)
        return result.frame, result.edges


if __name__ == "__main__":
    main()
