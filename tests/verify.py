"""Verifiers: is this the answer?  Each proves a result from its own conditions.

None of them runs the algorithm that it verifies.  A shortest-path tree is right because no edge
could improve a distance and every distance is the length of a path to its start; core numbers
are right because every vertex keeps enough neighbours and none could be kept a level higher;
ranks are right because one more application of the operator moves them by less than a bound.
All take plain arrays of vertex numbers, run in a few passes of NumPy over the edges (millions
are fine), and raise `Mismatch` naming the first vertex or edge that breaks a condition.
Weights of the graph are what the algorithm takes them for: lengths, widths, conductances.

Tests, examples and benchmarks share this module; it needs NumPy and SciPy alone.  For a script
outside of this folder: `sys.path.insert(0, "<repository>/tests")`, then `import verify`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.sparse import csgraph

__all__ = [
    "Edges",
    "Mismatch",
    "check_circuit",
    "check_components",
    "check_core_numbers",
    "check_heat",
    "check_matching",
    "check_neural_network",
    "check_pagerank",
    "check_shortest_paths",
    "check_widest_paths",
    "pagerank_residual",
]

Array = npt.NDArray[Any]


class Mismatch(AssertionError):
    """A result that breaks a condition which every right answer meets."""


@dataclass(frozen=True)
class Edges:
    """Edges between the vertices 0 … n-1, in plain arrays.

    Attributes
    ----------
    source, destination : ndarray of int, shape (edges,)
        Ends of each edge.
    n : int
        Number of vertices, isolated ones included.
    weight : ndarray, shape (edges,), optional
        Weight of each edge; None stands for ones.
    directed : bool
        If False, each edge leads both ways (a self-loop still counts once).
    """

    source: Array
    destination: Array
    n: int
    weight: Array | None = None
    directed: bool = True

    def arcs(self) -> tuple[Array, Array, Array]:
        """Return (source, destination, weight) with undirected edges in both directions."""
        source = np.asarray(self.source, np.int64)
        destination = np.asarray(self.destination, np.int64)
        weight = np.ones(len(source), np.int64) if self.weight is None else np.asarray(self.weight)
        if self.directed:
            return source, destination, weight
        back = source != destination
        return (
            np.concatenate([source, destination[back]]),
            np.concatenate([destination, source[back]]),
            np.concatenate([weight, weight[back]]),
        )

    def matrix(self) -> sparse.csr_array:
        """Sum of the weights from each row's vertex to each column's, in float64."""
        source, destination, weight = self.arcs()
        shape = (self.n, self.n)
        return sparse.coo_array((weight.astype(float), (source, destination)), shape).tocsr()


def check_shortest_paths(
    edges: Edges,
    starts: int | Iterable[int],
    distance: Array,
    predecessor: Array | None = None,
    *,
    limit: float | None = None,
) -> None:
    """Verify distances from the nearest of `starts`, and the tree of predecessors.

    With unit weights this is breadth-first search.  Sums are formed in the type of `distance`,
    where the least fixpoint of rounded sums is exact: no tolerance is needed.

    Parameters
    ----------
    edges : Edges
        The graph; weights must not be negative.
    starts : int or iterable of int
        Vertices at distance 0.
    distance : ndarray, shape (n,)
        Unreached is infinite or NaN in floats, negative or the type's maximum in integers.
    predecessor : ndarray of int, shape (n,), optional
        -1 for none.  Without it, it is proven that the tight edges hold some such tree.
    limit : float, optional
        Vertices further away than this count as unreached (`depth_limit`, `cutoff`).
    """
    distance, reached = _distances(edges, distance)
    roots = np.unique(np.atleast_1d(np.asarray(starts, np.int64)))
    _require(reached[roots] & (distance[roots] == 0), roots, "start {} is not at distance 0")
    if limit is not None:
        _require(~reached | (distance <= limit), None, "vertex {} is beyond the limit")
    source, destination, weight = edges.arcs()
    candidate = _reachable_sum(distance, reached, source, weight)
    relevant = reached[source] & ((candidate <= limit) if limit is not None else True)
    improves = relevant & (~reached[destination] | (candidate < distance[destination]))
    _require_arcs(~improves, source, destination, "edge {} -> {} would shorten the distance")
    tight = relevant & reached[destination] & (candidate == distance[destination])
    _check_tree(edges, roots, reached, predecessor, source[tight], destination[tight])


def check_widest_paths(
    edges: Edges, start: int, width: Array, predecessor: Array | None = None
) -> None:
    """Verify widths (the largest minimum over paths) from `start`, and the tree of predecessors.

    Parameters
    ----------
    edges : Edges
        The graph.
    start : int
        Vertex whose width has no bound; its own entry is not looked at.
    width : ndarray, shape (n,)
        Unreached is NaN, minus infinity, or 0 where no path of width 0 exists.
    predecessor : ndarray of int, shape (n,), optional
        -1 for none.
    """
    width = _of_length(edges, width, "width").astype(np.float64, copy=True)
    source, destination, weight = edges.arcs()
    reached = _reachable(edges.n, np.array([start]), source, destination)
    _require(reached | ~(width > 0), None, "vertex {} has a width, but no path leads there")
    _require(~reached | np.isfinite(width) | (np.arange(edges.n) == start), None,
             "vertex {} is reached, but has no finite width")  # fmt: skip
    width[~reached] = -np.inf
    width[start] = np.inf
    candidate = np.minimum(width[source], weight)
    _require_arcs(
        ~reached[source] | (candidate <= width[destination]),
        source, destination, "edge {} -> {} would widen the path",
    )  # fmt: skip
    tight = reached[source] & (candidate == width[destination])
    _check_tree(edges, np.array([start]), reached, predecessor, source[tight], destination[tight])


def pagerank_residual(
    edges: Edges,
    rank: Array,
    *,
    alpha: float = 0.85,
    personalization: Array | None = None,
    dangling: Array | None = None,
    out_weight: Array | None = None,
) -> float:
    """L1 distance between `rank` and one more step from it, in float64.

    The L1 distance to the true ranks is at most this over (1 - alpha).

    Parameters
    ----------
    edges : Edges
        The graph; a vertex whose out-weight is 0 is dangling.
    rank : ndarray, shape (n,)
        Ranks to judge.
    alpha : float
        Damping factor.
    personalization : ndarray, shape (n,), optional
        Where restarts go; even if not given.
    dangling : ndarray, shape (n,), optional
        Where the mass of dangling vertices goes; as restarts if not given.
    out_weight : ndarray, shape (n,), optional
        Sum of the weights leaving each vertex, if not that of the edges.

    Returns
    -------
    float
        The residual, 0 for no vertices.
    """
    if edges.n == 0:
        return 0.0
    rank = _of_length(edges, rank, "rank").astype(np.float64)
    source, destination, weight = edges.arcs()
    even = np.full(edges.n, 1.0 / edges.n)
    restart = even if personalization is None else personalization / personalization.sum()
    spread = restart if dangling is None else dangling / dangling.sum()
    if out_weight is None:
        out_weight = np.bincount(source, weight, edges.n)
    share = np.divide(rank, out_weight, out=np.zeros(edges.n), where=out_weight > 0)
    gathered = np.bincount(destination, share[source] * weight, edges.n)
    lost = rank[out_weight <= 0].sum()
    step = alpha * (gathered + lost * spread) + (1 - alpha) * restart
    return float(np.abs(step - rank).sum())


def check_pagerank(edges: Edges, rank: Array, bound: float, **parameters: Any) -> None:
    """Verify that ranks sum to 1 and that one more step moves them by at most `bound`.

    Parameters
    ----------
    edges : Edges
        The graph.
    rank : ndarray, shape (n,)
        Ranks to judge.
    bound : float
        Largest L1 residual, and largest distance of the sum from 1.
    **parameters
        Those of `pagerank_residual`.
    """
    rank = _of_length(edges, rank, "rank")
    _require(rank >= 0, None, "vertex {} has a negative or undefined rank")
    total = float(rank.sum(dtype=np.float64))
    if edges.n and not abs(total - 1) <= bound:
        raise Mismatch(f"ranks sum to {total}, not to 1 within {bound}")
    residual = pagerank_residual(edges, rank, **parameters)
    if not residual <= bound:
        raise Mismatch(f"one more step moves the ranks by {residual}, above {bound}")


def check_components(edges: Edges, label: Array) -> None:
    """Verify weakly connected components labelled by their smallest vertex.

    Parameters
    ----------
    edges : Edges
        The graph; directions do not matter.
    label : ndarray of int, shape (n,)
        Smallest vertex number of each vertex's component.
    """
    label = _of_length(edges, label, "label")
    number = np.arange(edges.n)
    _require((label >= 0) & (label <= number), None, "the label of vertex {} is above its number")
    _require(label[label] == label, None, "the label of vertex {} does not label itself")
    source, destination, _ = edges.arcs()
    same = label[source] == label[destination]
    _require_arcs(same, source, destination, "edge {} -> {} joins two labels")
    found = int((label == number).sum())
    matrix = sparse.coo_array(
        (np.ones(len(source), bool), (source, destination)), (edges.n, edges.n)
    )
    expected = csgraph.connected_components(matrix, directed=False)[0] if edges.n else 0
    if found != expected:
        raise Mismatch(f"{found} components, not {expected}")


def check_core_numbers(edges: Edges, core: Array, degree_type: str = "both") -> None:
    """Verify core numbers; self-loops do not count, parallel edges do.

    Every vertex must keep at least `core` neighbours of its own core number or above (so it is
    in that core), and taking away, over and over, the vertices of a level that keep no more
    than the level must empty it (so none is in a higher core).

    Parameters
    ----------
    edges : Edges
        The graph.
    core : ndarray of int, shape (n,)
        Core number of each vertex.
    degree_type : {"both", "in", "out"}
        Which edges of a directed graph count.
    """
    core = _of_length(edges, core, "core").astype(np.int64)
    source, destination, _ = edges.arcs()
    counts = source != destination
    giver, keeper = source[counts], destination[counts]  # a giver adds one to a keeper's degree
    if degree_type == "out":
        giver, keeper = keeper, giver
    elif degree_type == "both" and edges.directed:
        giver, keeper = np.concatenate([giver, keeper]), np.concatenate([keeper, giver])
    peers = core[giver] >= core[keeper]
    degree = np.bincount(keeper[peers], minlength=edges.n)
    _require(degree >= core, None, "vertex {} has too few neighbours for its core number")
    level = core[giver] == core[keeper]
    matrix = sparse.coo_array(
        (np.ones(level.sum(), np.int64), (keeper[level], giver[level])), (edges.n, edges.n)
    ).tocsc()
    left = np.ones(edges.n, bool)
    fringe = np.flatnonzero(degree <= core)
    while len(fringe):
        left[fringe] = False
        lost = matrix[:, fringe]
        np.subtract.at(degree, lost.indices, lost.data)
        touched = np.unique(lost.indices)
        fringe = touched[left[touched] & (degree[touched] <= core[touched])]
    _require(~left, None, "vertex {} belongs to a higher core")


def check_matching(edges: Edges, left: Array, mate: Array) -> None:
    """Verify a maximal matching of a bipartite graph.

    Parameters
    ----------
    edges : Edges
        The graph; directions do not matter.
    left : ndarray of bool, shape (n,)
        Which vertices are on the left.
    mate : ndarray of int, shape (n,)
        The vertex that each is matched with, -1 for none.
    """
    mate = _of_length(edges, mate, "mate").astype(np.int64)
    number = np.arange(edges.n)
    matched = mate >= 0
    mutual = ~matched | (mate[np.where(matched, mate, 0)] == number) if edges.n else matched
    _require(mutual, None, "vertex {} is not the mate of its mate")
    across = ~matched | (left != left[np.where(matched, mate, 0)]) if edges.n else matched
    _require(across, None, "vertex {} is matched on its own side")
    source, destination, _ = edges.arcs()
    keys = np.concatenate([source * edges.n + destination, destination * edges.n + source])
    joined = ~matched | np.isin(number * edges.n + mate, keys)
    _require(joined, None, "vertex {} is matched without an edge")
    covered = matched[source] | matched[destination]
    _require_arcs(covered, source, destination, "edge {} -> {} could join the matching")


def check_heat(edges: Edges, temperature: Array, fixed: dict[int, float], bound: float) -> None:
    """Verify a steady state of T(v) += sum over edges of c(u, v) (T(u) - T(v)).

    Parameters
    ----------
    edges : Edges
        The graph; weights are the coefficients c.
    temperature : ndarray, shape (n,)
        Temperature of each vertex.
    fixed : dict of int to float
        Vertices that keep their temperature.
    bound : float
        Largest change that one more step may make.
    """
    value = _of_length(edges, temperature, "temperature").astype(np.float64)
    source, destination, weight = edges.arcs()
    flow = np.bincount(destination, weight * (value[source] - value[destination]), edges.n)
    _check_steady(value + flow, value, fixed, bound)


def check_circuit(edges: Edges, voltage: Array, sources: dict[int, float], bound: float) -> None:
    """Verify Kirchhoff's law: V(v) is the mean of V(u), weighted by the conductances g(u, v).

    Parameters
    ----------
    edges : Edges
        The graph; weights are the conductances g.
    voltage : ndarray, shape (n,)
        Voltage of each vertex.
    sources : dict of int to float
        Vertices whose voltage is given.
    bound : float
        Largest change that one more step may make.  Vertices without conductance are passed.
    """
    value = _of_length(edges, voltage, "voltage").astype(np.float64)
    source, destination, weight = edges.arcs()
    weight = weight / (weight.max(initial=0) or 1)  # only ratios count, and these cannot overflow
    total = np.bincount(destination, weight, edges.n)
    current = np.bincount(destination, weight * value[source], edges.n)
    mean = np.divide(current, total, out=value.copy(), where=total > 0)
    _check_steady(mean, value, sources, bound)


def check_neural_network(
    edges: Edges, activation: Array, fixed: dict[int, float], bound: float
) -> None:
    """Verify a fixpoint of X(v) = tanh(sum over edges of w(u, v) X(u)).

    Parameters
    ----------
    edges : Edges
        The graph; weights are those of the network.
    activation : ndarray, shape (n,)
        Activation of each vertex.
    fixed : dict of int to float
        Vertices whose activation is given.
    bound : float
        Largest change that one more step may make.
    """
    value = _of_length(edges, activation, "activation").astype(np.float64)
    source, destination, weight = edges.arcs()
    gathered = np.bincount(destination, weight * value[source], edges.n)
    _check_steady(np.tanh(gathered), value, fixed, bound)


def _check_steady(step: Array, value: Array, fixed: dict[int, float], bound: float) -> None:
    free = np.ones(len(value), bool)
    for vertex, given in fixed.items():
        free[vertex] = False
        if not abs(value[vertex] - given) <= bound:
            raise Mismatch(f"vertex {vertex} has {value[vertex]}, not the given {given}")
    steady = ~free | (np.abs(step - value) <= bound)
    _require(steady, None, f"one more step moves vertex {{}} by more than {bound}")


def _check_tree(
    edges: Edges,
    roots: Array,
    reached: Array,
    predecessor: Array | None,
    source: Array,
    destination: Array,
) -> None:
    """Verify that tight arcs, and the predecessors among them, lead to every reached vertex."""
    linked = _reachable(edges.n, roots, source, destination)
    _require(linked | ~reached, None, "vertex {} has no path that explains its value")
    if predecessor is None:
        return
    predecessor = _of_length(edges, predecessor, "predecessor").astype(np.int64)
    is_root = np.zeros(edges.n, bool)
    is_root[roots] = True
    child = reached & ~is_root
    _require(child | (predecessor == -1), None, "vertex {} should have no predecessor")
    _require(~child | (predecessor >= 0), None, "vertex {} has no predecessor")
    children = np.flatnonzero(child)
    keys = np.unique(source * edges.n + destination)
    present = np.isin(predecessor[children] * edges.n + children, keys)
    _require(present, children, "the predecessor of vertex {} does not explain its value")
    ancestor = np.where(child, predecessor, np.arange(edges.n))
    for _ in range(max(edges.n - 1, 1).bit_length()):  # pointer jumping doubles the reach
        ancestor = ancestor[ancestor]
    _require(~child | is_root[ancestor], None, "the predecessors of vertex {} run in a circle")


def _distances(edges: Edges, distance: Array) -> tuple[Array, Array]:
    distance = _of_length(edges, distance, "distance")
    if distance.dtype.kind == "f":
        reached = np.isfinite(distance)
    else:
        reached = (distance >= 0) & (distance < np.iinfo(distance.dtype).max)
    _require(~reached | (distance >= 0), None, "vertex {} has a negative distance")
    return distance, reached


def _reachable_sum(distance: Array, reached: Array, source: Array, weight: Array) -> Array:
    start = np.where(reached, distance, distance.dtype.type(0))[source]
    with np.errstate(over="ignore"):  # an infinite sum is no shorter than any distance
        total: Array = start + weight.astype(distance.dtype)
    return total


def _reachable(n: int, roots: Array, source: Array, destination: Array) -> Array:
    """Which vertices the arcs lead to from any of `roots`, by SciPy's search from a super-root."""
    head = np.concatenate([source, np.full(len(roots), n)])
    tail = np.concatenate([destination, roots])
    matrix = sparse.coo_array((np.ones(len(head), np.int8), (head, tail)), (n + 1, n + 1)).tocsr()
    matrix.data[:] = 1  # parallel arcs were summed, and may have wrapped to 0
    order = csgraph.breadth_first_order(matrix, n, return_predecessors=False)
    found = np.zeros(n + 1, bool)
    found[order] = True
    return found[:n]


def _of_length(edges: Edges, values: Array, name: str) -> Array:
    values = np.asarray(values)
    if values.shape != (edges.n,):
        raise Mismatch(f"{name} has shape {values.shape}, not ({edges.n},)")
    return values


def _require(holds: Array, vertices: Array | None, message: str) -> None:
    wrong = np.flatnonzero(~holds)
    if len(wrong):
        first = int(wrong[0] if vertices is None else vertices[wrong[0]])
        raise Mismatch(f"{message.format(first)} ({len(wrong)} such)")


def _require_arcs(holds: Array, source: Array, destination: Array, message: str) -> None:
    wrong = np.flatnonzero(~holds)
    if len(wrong):
        first = message.format(int(source[wrong[0]]), int(destination[wrong[0]]))
        raise Mismatch(f"{first} ({len(wrong)} such)")
