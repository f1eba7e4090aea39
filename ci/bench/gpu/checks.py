"""Verify results on the GPU, each by another method than the one that computed it.

`tests/verify.py` does the same on the host, where a graph of 336 million edges takes minutes.
Values are arrays indexed by id.  A check raises if a result is wrong; for floats it returns the error.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from bench.gpu.cases import Case
from bench.graphs import DeviceArray, Weights

__all__ = ["by_id", "close", "components", "hops", "lengths", "ranks_alike", "search", "steps",
           "widths"]  # fmt: skip


def close(found: DeviceArray, expected: DeviceArray, bound: float) -> float:
    """Compare with a reference, relative to its greatest value; return the greatest difference."""
    import cupy

    scale = float(cupy.abs(expected).max()) or 1.0
    off = float(cupy.abs(found - expected).max()) / scale
    assert off <= bound, (
        f"the greatest difference is {off:.3g} of the greatest value, above {bound:g}"
    )
    return off


def by_id(case: Case, frame: Any, column: str) -> DeviceArray:
    """Return a column by id; for ids without an edge and for nulls, the largest distance or least width."""
    kind = np.dtype(str(frame[column].dtype).lower())
    far = -np.inf if column == "width" else np.iinfo(kind).max if kind.kind == "i" else np.inf
    return case.by_id(frame.fillna({column: far}), column, far)


def search(case: Case, name: str, frame: Any, *, both: bool = False) -> None:
    """Check the result frame of a search from `case.start`: "bfs", "sssp" or "widest path"."""
    import cupy

    if name == "widest path":
        widths(case, by_id(case, frame, "width"), case.start)
    elif name == "bfs":
        hops(case, by_id(case, frame, "distance"), case.start, both=both)
    else:
        distance = by_id(case, frame, "distance")
        far = np.finfo(np.float32).max  # of unreached vertices in some libraries
        lengths(case, cupy.where(distance < far, distance, cupy.inf), case.start)


def ranks_alike() -> Callable[[DeviceArray], float]:
    """Return a check that compares ranks with those of its first call, by the L1 norm."""
    reference: list[Any] = []

    def check(ranks: DeviceArray) -> float:
        reference.append(ranks)
        error = float(abs(ranks - reference[0]).sum())
        assert error < 1e-4, f"ranks are off by {error}"
        return error

    return check


def product(matrix: Any, vector: DeviceArray) -> DeviceArray:
    """Return the product of a matrix and a vector, by cuSPARSE."""
    from cupyx import cusparse

    return cusparse.spmv(matrix, vector)


def steps(case: Case, program: str, count: int, first: DeviceArray, held: DeviceArray) -> Any:
    """Return the state after `count` supersteps, in float64, by cuSPARSE.

    Parameters
    ----------
    case : Case
    program : {"pagerank", "heat", "circuit", "neural network"}
    count : int
        Supersteps.
    first : device array of float64, shape (n,)
        The first state.
    held : device array of bool, shape (n,)
        Vertices whose state never changes.
    """
    import cupy

    if program == "pagerank":
        matrix, degree = case.matrix(None), case.out_degree
        state = cupy.where(case.present, 1.0 / case.vertices, 0.0)
        sinks = case.present & (degree == 0)
        for _ in range(count):
            share = cupy.where(degree > 0, state / cupy.maximum(degree, 1), 0.0)
            gathered = product(matrix, share) + state[sinks].sum() / case.vertices
            state = cupy.where(case.present, 0.85 * gathered + 0.15 / case.vertices, 0.0)
        return state
    kinds: dict[str, Weights] = {"heat": "coefficients", "circuit": "lengths"}
    kind = kinds.get(program, "synapses")
    matrix, state = case.matrix(kind), first
    total = product(matrix, cupy.ones(case.n))
    for _ in range(count):
        gathered = product(matrix, state)
        if program == "heat":
            new = state + gathered - total * state
        elif program == "circuit":
            new = cupy.where(total > 0, gathered / cupy.where(total > 0, total, 1.0), state)
        else:
            new = cupy.tanh(gathered)
        state = cupy.where(held, state, new)
    return state


def hops(case: Case, distance: DeviceArray, start: int, *, both: bool = False) -> None:
    """Check hops from a vertex; unreached vertices have the greatest integer."""
    _proven(case, distance, start, 1, both=both)


def lengths(case: Case, distance: DeviceArray, start: int) -> None:
    """Check shortest paths by the positive weights `lengths`; unreached vertices have infinity."""
    _proven(case, distance, start, case.weights("lengths"))


def _proven(
    case: Case, distance: DeviceArray, start: int, weight: Any, *, both: bool = False
) -> None:
    """Check that no edge shortens a distance, and that every finite distance is reached by an edge.

    That proves distances, since weights are positive.
    """
    import cupy

    far = cupy.iinfo(distance.dtype).max if distance.dtype.kind == "i" else cupy.inf
    assert int(distance[start]) == 0, "the start is not at distance 0"
    reached = distance < far
    explained = cupy.zeros(case.n, bool)
    explained[start] = True
    ways = [(case.source, case.destination)]
    for source, destination in [*ways, ways[0][::-1]] if both else ways:
        there = reached[source]
        through = cupy.where(there, distance[source], 0).astype(distance.dtype) + weight
        assert not bool((there & (through < distance[destination])).any()), (
            "an edge shortens a distance"
        )
        explained[destination[there & (through == distance[destination])]] = True
    assert bool(explained[reached & case.present].all()), "a distance is of no path"


def widths(case: Case, width: DeviceArray, start: int) -> None:
    """Check widths by the weights `lengths`; unreached vertices have minus infinity or NaN."""
    import cupy

    width = cupy.where(cupy.isnan(width), -cupy.inf, width)
    width[start] = cupy.inf
    through = cupy.minimum(width[case.source], case.weights("lengths"))
    assert not bool((through > width[case.destination]).any()), "an edge widens a path"
    explained = cupy.zeros(case.n, bool)
    explained[start] = True
    explained[case.destination[through == width[case.destination]]] = True
    assert bool(explained[cupy.isfinite(width)].all()), "a width is of no path"


def components(case: Case, label: DeviceArray, expected: DeviceArray) -> None:
    """Check that the ends of each edge have one label, and that different components have different ones."""
    import cupy

    assert bool((label[case.source] == label[case.destination]).all()), "an edge joins two labels"
    # The first vertices of the expected components must have distinct labels.
    _, first = cupy.unique(expected[case.present], return_index=True)
    kept = cupy.flatnonzero(case.present)[first]
    assert len(cupy.unique(label[kept])) == len(kept), "two components have one label"
