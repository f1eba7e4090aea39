"""Local search for communities of a small graph, from many starts.

A round takes the best communities so far, breaks some of them up into single vertices, and climbs:
vertices move one by one, then communities move as single vertices do, until neither gains.  Weights
are integers, and a round depends on its order of the vertices alone, so the result is the same on
any machine.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from cugraph_ws.kernels.cpu.jit import jit

__all__ = ["improve"]

Integers = npt.NDArray[np.int64]
Rows = tuple[Integers, Integers, Integers]

MOST_SWEEPS = 100  # sweeps that gain only by rounding end
GAIN = 1e-12  # of all degrees or weights: a smaller gain is rounding
BROKEN = 3  # most communities that a round breaks up
ALONE = 4  # one in so many rounds begins with all vertices alone


@jit
def copy_labels(source: Integers, target: Integers) -> None:
    """Copy element by element: for a slice, Numba compiles seconds of text that an error would have."""
    for vertex in range(len(source)):
        target[vertex] = source[vertex]


@jit
def renumber(label: Integers, order: Integers, numbers: Integers) -> int:
    """Renumber communities from 0 as they appear in an order of the vertices; return their number.

    Parameters
    ----------
    label : ndarray of int64, shape (vertices,)
        Modified in place.
    order : ndarray of int64, shape (vertices,)
    numbers : ndarray of int64
        Room for a number for each label.
    """
    numbers[:] = -1
    count = 0
    for vertex in order:
        if numbers[label[vertex]] < 0:
            numbers[label[vertex]] = count
            count += 1
        label[vertex] = numbers[label[vertex]]
    return count


@jit
def climb(rows: Rows, degrees: Integers, label: Integers, factor: float, order: Integers) -> bool:
    """Move vertices one by one, each to the community of the greatest gain, until none gains.

    A community's gain is as in `choose_communities`; a community of its own has the gain 0.

    Parameters
    ----------
    rows : tuple of (offsets, indices, weights)
        Neighbours without self-loops.
    degrees : ndarray of int64, shape (vertices,)
    label : ndarray of int64, shape (vertices,)
        Below the number of vertices; modified in place.
    factor : float
        Resolution, divided by the sum of all degrees.
    order : ndarray of int64, shape (vertices,)

    Returns
    -------
    bool
        Whether a vertex moved.
    """
    offsets, indices, weights = rows
    count = len(degrees)
    totals, sizes = np.zeros(count, np.int64), np.zeros(count, np.int64)
    sums, near = np.zeros(count, np.int64), np.empty(count + 1, np.int64)
    for vertex in range(count):
        totals[label[vertex]] += degrees[vertex]
        sizes[label[vertex]] += 1
    any_moved = False
    for _ in range(MOST_SWEEPS):
        moved = False
        for vertex in order:
            current, listed = label[vertex], 0
            for arc in range(offsets[vertex], offsets[vertex + 1]):
                community = label[indices[arc]]
                if weights[arc] > 0:
                    if sums[community] == 0:
                        near[listed] = community
                        listed += 1
                    sums[community] += weights[arc]
            rate = degrees[vertex] * factor
            best, most = current, sums[current] - rate * (totals[current] - degrees[vertex])
            for entry in range(listed):
                community = near[entry]
                gain = sums[community] - rate * totals[community]
                sums[community] = 0
                if community != current and gain > most:
                    best, most = community, gain
            if most < 0.0 and sizes[current] > 1:
                best = 0
                while sizes[best] > 0:
                    best += 1
            if best != current:
                totals[current] -= degrees[vertex]
                totals[best] += degrees[vertex]
                sizes[current] -= 1
                sizes[best] += 1
                label[vertex] = best
                moved = True
        if not moved:
            break
        any_moved = True
    return any_moved


@jit
def contracted(
    rows: Rows, degrees: Integers, label: Integers, count: int
) -> tuple[Integers, Integers, Integers, Integers]:
    """Return offsets, neighbours, weights and degrees of the graph of communities, without self-loops."""
    offsets, indices, weights = rows
    ends = np.zeros(count + 1, np.int64)
    totals = np.zeros(count, np.int64)
    for vertex in range(len(label)):
        ends[label[vertex] + 1] += 1
        totals[label[vertex]] += degrees[vertex]
    for community in range(count):
        ends[community + 1] += ends[community]
    places, members = ends[:count].copy(), np.empty(len(label), np.int64)
    for vertex in range(len(label)):
        members[places[label[vertex]]] = vertex
        places[label[vertex]] += 1
    sums, begins = np.zeros(count, np.int64), np.zeros(count + 1, np.int64)
    to, added = np.empty(len(indices), np.int64), np.empty(len(indices), np.int64)
    end = 0
    for community in range(count):
        for place in range(ends[community], ends[community + 1]):
            for arc in range(offsets[members[place]], offsets[members[place] + 1]):
                target = label[indices[arc]]
                if target != community and weights[arc] > 0:
                    if sums[target] == 0:
                        to[end] = target
                        end += 1
                    sums[target] += weights[arc]
        for entry in range(begins[community], end):
            added[entry] = sums[to[entry]]
            sums[to[entry]] = 0
        begins[community + 1] = end
    return begins, to[:end], added[:end], totals


@jit
def quality(rows: Rows, degrees: Integers, label: Integers, factor: float) -> float:
    """Return the weight of arcs within communities beyond that expected, without self-loops."""
    offsets, indices, weights = rows
    totals, inside, expected = np.zeros(len(label), np.int64), 0, 0.0
    for vertex in range(len(label)):
        totals[label[vertex]] += degrees[vertex]
        for arc in range(offsets[vertex], offsets[vertex + 1]):
            if label[indices[arc]] == label[vertex]:
                inside += weights[arc]
    for total in totals:
        expected += float(total) * float(total)
    return inside - factor * expected


@jit
def improve(
    rows: Rows, degrees: Integers, label: Integers, factor: float, orders: Integers
) -> bool:
    """Search for communities of higher modularity.

    Parameters
    ----------
    rows, degrees, factor
        See `climb`.
    label : ndarray of int64, shape (vertices,)
        Communities, below the number of vertices; replaced by the best.
    orders : ndarray of int64, shape (rounds, vertices)
        An order of the vertices for each round.

    Returns
    -------
    bool
        Whether better communities were found.
    """
    count, better, weights = len(label), False, rows[2]
    numbers = np.empty(2 * count, np.int64)
    best, least = quality(rows, degrees, label, factor), GAIN * max(degrees.sum(), weights.sum())
    for turn in range(len(orders)):
        order, improved = orders[turn], label.copy()
        if turn % ALONE == 1:
            copy_labels(order, improved)
        elif turn > 0:
            for entry in range(min(count, 1 + turn % BROKEN)):
                broken = improved[order[entry]]
                for vertex in range(count):
                    if improved[vertex] == broken:
                        improved[vertex] = count + vertex
        communities = renumber(improved, order, numbers)
        climb(rows, degrees, improved, factor, order)
        while True:
            communities = renumber(improved, order, numbers)
            offsets, indices, weights, totals = contracted(rows, degrees, improved, communities)
            between = offsets, indices, weights
            joined = np.arange(communities)
            if not climb(between, totals, joined, factor, np.arange(communities)):
                break
            for vertex in range(count):
                improved[vertex] = joined[improved[vertex]]
            climb(rows, degrees, improved, factor, order)
        gained = quality(rows, degrees, improved, factor)
        if gained > best + least:
            copy_labels(improved, label)
            best, better = gained, True
    return better
