"""Verify results, each by another method than the one that computed it, on the host and on a GPU.

`tests/verify.py` does the same on the host alone, where a graph of 336 million edges takes minutes.  Values are arrays
in float64 indexed by id.  A check raises if a result is wrong; for floats it returns the error.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import verify
from scipy.sparse import csgraph

from bench.forms import SIMPLE, Case, on_host
from bench.graphs import DeviceArray

MOST_FOR_HOST = 8_000_000  # edges
DAMPING = 0.85


# ---------------------------------------------------------------------------- against a reference


def close(values: DeviceArray, expected: DeviceArray, bound: float) -> float:
    """Compare with a reference, relative to its greatest value; return the greatest difference."""
    scale = float(abs(expected).max()) or 1.0
    off = float(abs(values - expected).max()) / scale
    assert off <= bound, (
        f"the greatest difference is {off:.3g} of the greatest value, above {bound:g}"
    )
    return off


def exactly(ours: Any, theirs: Any) -> float:
    """Require the same numbers."""
    different = ~((ours == theirs) | ((ours != ours) & (theirs != theirs)))
    assert not bool(different.any()), f"{int(different.sum())} values differ"
    return 0.0


def nearly(ours: Any, theirs: Any, within: float = 1e-3) -> float:
    """Require nearly equal values, each relative to the greatest: norms differ."""
    return close(theirs / theirs.max(), ours / ours.max(), within)


def alike(ours: Any, theirs: Any) -> float:
    """Require the same classes, whatever their labels."""
    known = (ours == ours) & (theirs == theirs)  # vertices without edges may have none
    first, second = (labels[known].astype("int64") for labels in (ours, theirs))
    distinct = sys.modules["cupy"].unique if hasattr(first, "get") else np.unique
    pairs = first * (int(second.max()) + 1) + second
    counts = [len(distinct(labels)) for labels in (first, second, pairs)]
    assert len(set(counts)) == 1, (
        f"classes: ours {counts[0]}, theirs {counts[1]}, in common {counts[2]}"
    )
    return 0.0


# ----------------------------------------------------------------------------- by another method


def distances(case: Case, form: str, distance: DeviceArray) -> None:
    """Check shortest paths from `case.start`, infinite for unreached vertices.

    No edge shortens a distance, and every finite one is reached by an edge: that proves distances, since weights
    are positive.
    """
    xp, weight = case.xp, case.weights(form)
    weight = 1 if weight is None else weight
    assert float(distance[case.start]) == 0, "the start is not at distance 0"
    explained = xp.zeros(case.n, bool)
    explained[case.start] = True
    ends = case.ends(form)
    for source, destination in (ends, ends[::-1])[: 2 if form in SIMPLE else 1]:
        through = distance[source] + weight
        assert not bool((through < distance[destination]).any()), "an edge shortens a distance"
        explained[destination[(through == distance[destination]) & xp.isfinite(through)]] = True
    assert bool(explained[xp.isfinite(distance)].all()), "a distance is of no path"


def widths(case: Case, width: DeviceArray) -> None:
    """Check widths of paths by lengths from `case.start`; unreached vertices have minus infinity or 0."""
    xp = case.xp
    width = xp.where(width > 0, width, -xp.inf)
    width[case.start] = xp.inf
    through = xp.minimum(width[case.source], case.weights("weighted"))
    assert not bool((through > width[case.destination]).any()), "an edge widens a path"
    explained = xp.zeros(case.n, bool)
    explained[case.start] = True
    explained[case.destination[through == width[case.destination]]] = True
    assert bool(explained[xp.isfinite(width)].all()), "a width is of no path"


def ranks(case: Case, form: str, rank: DeviceArray, bound: float = 1e-4) -> float:
    """Check that a superstep of PageRank in float64 changes the ranks little; return by how much, summed."""
    change = float(abs(_ranked(case, case.weights(form), rank) - rank).sum())
    assert change <= bound, f"a superstep changes ranks by {change:.3g}, above {bound:g}"
    return change


def _ranked(case: Case, weight: DeviceArray | None, rank: DeviceArray) -> DeviceArray:
    """Return the ranks after a superstep."""
    xp, counted = case.xp, case.counted
    total = case.out_degree if weight is None else xp.bincount(case.source, weight, case.n)
    share = xp.where(total > 0, rank / xp.maximum(total, 1e-300), 0.0)[case.source]
    gathered = xp.bincount(case.destination, share if weight is None else share * weight, case.n)
    count = int(counted.sum())
    gathered += rank[counted & (total == 0)].sum() / count
    return xp.where(counted, DAMPING * gathered + (1 - DAMPING) / count, 0.0)


def components(case: Case, label: DeviceArray) -> None:
    """Check that the ends of each edge have a label in common; on small graphs, that components have different ones."""
    source, destination = case.ends("simple")
    assert bool((label[source] == label[destination]).all()), "an edge joins two labels"
    if len(source) <= MOST_FOR_HOST:
        _, expected = csgraph.connected_components(case.edges("simple").matrix(), directed=False)
        counted = on_host(case.counted)
        alike(expected[counted].astype(float), on_host(label)[counted])


def cores(case: Case, core: DeviceArray) -> None:
    """Check core numbers on the host, unless the graph is so large that it would take minutes."""
    if len(case.ends("simple")[0]) <= MOST_FOR_HOST:
        verify.check_core_numbers(
            case.edges("simple"), np.nan_to_num(on_host(core)).astype(np.int64)
        )


def steps(
    case: Case, program: str, count: int, first: DeviceArray, fixed: DeviceArray
) -> DeviceArray:
    """Return the state of a program after supersteps, in float64.

    Parameters
    ----------
    case : Case
    program : {"pagerank", "heat", "circuit", "neural network"}
    count : int
        Supersteps.
    first : array of float64, shape (n,)
        The first state; PageRank has its own.
    fixed : array of bool, shape (n,)
        Vertices whose state never changes.
    """
    xp = case.xp
    if program == "pagerank":
        state = xp.where(case.counted, 1.0 / int(case.counted.sum()), 0.0)
        for _ in range(count):
            state = _ranked(case, None, state)
        return state
    weight = case.weights({"heat": "coefficients", "circuit": "weighted"}.get(program, "synapses"))
    weight, state = weight.astype("float64"), first
    total = xp.bincount(case.destination, weight, case.n)
    for _ in range(count):
        gathered = xp.bincount(case.destination, weight * state[case.source], case.n)
        if program == "heat":
            new = state + gathered - total * state
        elif program == "circuit":
            new = xp.where(total > 0, gathered / xp.where(total > 0, total, 1.0), state)
        else:
            new = xp.tanh(gathered)
        state = xp.where(fixed, state, new)
    return state
