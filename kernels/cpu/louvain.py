"""Moves of vertices to the community of a neighbour that raises modularity most.

Each community has a mark: its size, or in a refinement (`strict`) 1 if it is a single vertex of the
moving class that may move, else 0.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from cugraph_ws.kernels.cpu.jit import jit

__all__ = [
    "apply_moves",
    "choose_communities",
    "count_within",
    "list_movable",
    "list_within",
    "merge_rows",
    "move_classes",
    "sum_moves",
    "transpose_rows",
    "weight_inside",
]

Integers = npt.NDArray[np.int64]


@jit
def choose_communities(
    rows: tuple[Integers, Integers, Integers],
    degrees: Integers,
    communities: tuple[Integers, Integers, Integers],
    factor: float,
    strict: bool,
    listed: Integers,
    chosen: Integers,
    scratch: tuple[Integers, Integers],
    lo: int,
    hi: int,
) -> None:
    """Choose for listed vertices the best community, from the same state for all.

    The gain of a community is the weight of the edges to it, minus the degree times `factor` times
    the community's total, the vertex itself left out.  A vertex moves only if the gain is greater
    than that of its own community; ties go to the least community.  Of two communities with a mark
    of 1, only the one with the greater label may join the other; if strict, neither.

    Parameters
    ----------
    rows : tuple of (offsets, indices, weights)
        Neighbours without self-loops.
    degrees : ndarray of int64, shape (vertices,)
        Weighted.
    communities : tuple of (labels, totals, marks)
        By vertex; by community: sum of degrees, and mark.
    factor : float
        Resolution, divided by the sum of all degrees.
    strict : bool
    listed : ndarray of int64
    chosen : ndarray of int64
        Written: a community for each listed vertex.
    scratch : tuple of two ndarrays of int64, shape (vertices,)
        Weights by community, zeros before and after; room for a list of communities.
    lo, hi : int
        Range of the list.
    """
    offsets, indices, weights = rows
    labels, totals, marks = communities
    sums, near = scratch
    for place in range(lo, hi):
        vertex = listed[place]
        current, count = labels[vertex], 0
        for arc in range(offsets[vertex], offsets[vertex + 1]):
            label = labels[indices[arc]]
            near[count] = label
            count += sums[label] == 0  # a label of weight 0 so far may be listed twice
            sums[label] += weights[arc]
        rate = degrees[vertex] * factor
        best, most = current, sums[current] - rate * (totals[current] - degrees[vertex])
        sums[current] = 0
        for entry in range(count):
            label = near[entry]
            weight = sums[label]
            sums[label] = 0
            if label == current:
                continue
            if (strict or label > current) and marks[current] == 1 and marks[label] == 1:
                continue
            gain = weight - rate * totals[label]
            if gain > most or (gain == most and best != current and label < best):
                best, most = label, gain
        chosen[place] = best


@jit
def list_movable(
    communities: tuple[Integers, Integers, Integers],
    marks: Integers,
    may: Integers,
    members: Integers,
    listed: Integers,
) -> int:
    """List the vertices of a class that may move and are alone, and mark them; return how many."""
    labels, _, sizes = communities
    count = 0
    for vertex in members:
        if may[vertex] != 0 and sizes[labels[vertex]] == 1:
            marks[labels[vertex]] = 1
            listed[count] = vertex
            count += 1
    return count


@jit
def apply_moves(
    degrees: Integers,
    communities: tuple[Integers, Integers, Integers],
    marks: Integers,
    strict: bool,
    listed: Integers,
    chosen: Integers,
) -> int:
    """Move listed vertices to chosen communities; if strict, clear marks; return how many moved."""
    labels, totals, sizes = communities
    moved = 0
    for place in range(len(listed)):
        vertex, label = listed[place], chosen[place]
        old = labels[vertex]
        if strict:
            marks[old] = 0
        if label != old:
            labels[vertex] = label
            totals[old] -= degrees[vertex]
            totals[label] += degrees[vertex]
            sizes[old] -= 1
            sizes[label] += 1
            moved += 1
    return moved


@jit
def move_classes(
    rows: tuple[Integers, Integers, Integers],
    degrees: Integers,
    communities: tuple[Integers, Integers, Integers],
    marks: Integers,
    may: Integers,
    factor: float,
    strict: bool,
    order: Integers,
    ends: Integers,
    scratch: tuple[Integers, Integers],
) -> int:
    """Move the vertices of one class after the other, in one thread; return how many moved.

    Parameters
    ----------
    rows, degrees, factor, strict
        See `choose_communities`.
    communities : tuple of (labels, totals, sizes)
        Updated.
    marks : ndarray of int64, shape (vertices,)
        If strict, zeros; else the sizes.
    may : ndarray of int64, shape (vertices,)
        If strict, whether a vertex may move; else not read.
    order : ndarray of int64
        Vertices, class by class.
    ends : ndarray of int64, shape (classes,)
        Where each class ends in `order`.
    scratch
        See `choose_communities`.
    """
    labels, totals, _ = communities
    chosen, listed = np.empty(len(order), np.int64), np.empty(len(order), np.int64)
    first, moved = 0, 0
    for end in ends:
        members = order[first:end]
        if strict:
            members = listed[: list_movable(communities, marks, may, members, listed)]
        choose_communities(
            rows, degrees, (labels, totals, marks), factor, strict, members, chosen, scratch, 0,
            len(members),
        )  # fmt: skip
        moved += apply_moves(degrees, communities, marks, strict, members, chosen)
        first = end
    return moved


@jit
def weight_inside(
    rows: tuple[Integers, Integers, Integers], labels: Integers, lo: int, hi: int
) -> int:
    """Return the total weight of edges within communities, each counted once.

    Edges of the vertices from `lo` to `hi` to greater ones are read; rows are ascending.
    """
    offsets, indices, weights = rows
    total = 0
    for vertex in range(lo, hi):
        community = labels[vertex]
        arc = offsets[vertex + 1] - 1
        while arc >= offsets[vertex] and indices[arc] > vertex:
            if labels[indices[arc]] == community:
                total += weights[arc]
            arc -= 1
    return total


@jit
def count_within(
    rows: tuple[Integers, Integers, Integers], labels: Integers, ends: Integers, lo: int, hi: int
) -> None:
    """Count the arcs of positive weight within communities, of the vertices from `lo` to `hi`.

    Parameters
    ----------
    rows : tuple of (offsets, indices, weights)
    labels : ndarray of int64, shape (vertices,)
    ends : ndarray of int64, shape (vertices + 1,)
        Written: the count of vertex v in `ends[v + 1]`.
    lo, hi : int
    """
    offsets, indices, weights = rows
    for vertex in range(lo, hi):
        community, count = labels[vertex], 0
        for arc in range(offsets[vertex], offsets[vertex + 1]):
            count += labels[indices[arc]] == community and weights[arc] > 0
        ends[vertex + 1] = count


@jit
def list_within(
    rows: tuple[Integers, Integers, Integers],
    labels: Integers,
    within: tuple[Integers, Integers, Integers],
    lo: int,
    hi: int,
) -> None:
    """List the arcs that `count_within` counts: the offsets of `within` are given, the rest is written."""
    offsets, indices, weights = rows
    starts, to, weights_within = within
    for vertex in range(lo, hi):
        community, place = labels[vertex], starts[vertex]
        for arc in range(offsets[vertex], offsets[vertex + 1]):
            if labels[indices[arc]] == community and weights[arc] > 0:
                to[place] = indices[arc]
                weights_within[place] = weights[arc]
                place += 1


@jit
def sum_moves(
    rows: tuple[Integers, Integers, Integers],
    listed: Integers,
    labels: tuple[Integers, Integers],
    stirred: Integers,
    lo: int,
    hi: int,
) -> int:
    """Return what moves add to the weight of arcs within communities; update `stirred`.

    Parameters
    ----------
    rows : tuple of (offsets, indices, weights)
        Both ways.
    listed : ndarray of int64
        Vertices that may have moved, each once.
    labels : tuple of (ndarray of int64, ndarray of int64), shape (vertices,)
        Communities before and after the moves.
    stirred : ndarray of int64, shape (vertices,)
        Added to: by vertex, the weights, 1 at least, of arcs to neighbours that moved and are in
        another community.
    lo, hi : int
        Range of the list.
    """
    offsets, indices, weights = rows
    before, after = labels
    change = 0
    for place in range(lo, hi):
        vertex = listed[place]
        old, new = before[vertex], after[vertex]
        if old == new:
            continue
        for arc in range(offsets[vertex], offsets[vertex + 1]):
            neighbour, weight, gained = indices[arc], weights[arc], 0
            its_old, its_new = before[neighbour], after[neighbour]
            if its_new == new:
                gained = weight
            else:
                stirred[neighbour] += max(weight, 1)
            if its_old == old:
                gained -= weight
            # The reverse arc counts here too, unless its source moved and adds it.
            change += gained if its_old != its_new else 2 * gained
    return int(change)


@jit
def merge_rows(
    rows: tuple[Integers, Integers, Integers],
    labels: Integers,
    members: tuple[Integers, Integers],
    merged: tuple[Integers, Integers, Integers, Integers],
    scratch: tuple[Integers, Integers],
    lo: int,
    hi: int,
) -> None:
    """Add up, for communities from `lo` to `hi`, the weights of arcs to each other community.

    Parameters
    ----------
    rows : tuple of (offsets, indices, weights)
    labels : ndarray of int64, shape (vertices,)
        From 0, without gaps.
    members : tuple of (vertices, ends)
        The vertices of community c are those from place `ends[c]` to `ends[c + 1]`.
    merged : tuple of (begins, lengths, communities, weights)
        `begins` has where the space for each row begins; the others are written, each row in any
        order.
    scratch : tuple of two ndarrays of int64, shape (communities,)
        Weights by community, zeros before and after; room for a list of communities.
    lo, hi : int
        Range of communities.
    """
    offsets, indices, weights = rows
    vertices, ends = members
    begins, lengths, to, added = merged
    sums, near = scratch
    for community in range(lo, hi):
        count = 0
        for place in range(ends[community], ends[community + 1]):
            vertex = vertices[place]
            for arc in range(offsets[vertex], offsets[vertex + 1]):
                label = labels[indices[arc]]
                if label == community:
                    continue
                if sums[label] == 0:
                    near[count] = label
                    count += 1
                    sums[label] = 1  # so that one of weight 0 is listed once
                sums[label] += weights[arc]
        begin = begins[community]
        for entry in range(count):
            label = near[entry]
            to[begin + entry] = label
            added[begin + entry] = sums[label] - 1
            sums[label] = 0
        lengths[community] = count


@jit
def transpose_rows(
    merged: tuple[Integers, Integers, Integers, Integers],
    rows: tuple[Integers, Integers, Integers],
    lo: int,
    hi: int,
) -> None:
    """Write the rows from `lo` to `hi` of the transpose, ascending, without gaps between them.

    Parameters
    ----------
    merged : tuple of (begins, lengths, communities, weights)
        See `merge_rows`; all rows.
    rows : tuple of (offsets, indices, weights)
        `offsets` has where each row of the transpose begins; the others are written.
    lo, hi : int
        Range of rows.
    """
    begins, lengths, to, added = merged
    offsets, indices, weights = rows
    next_of = offsets[lo:hi].copy()
    for row in range(len(lengths)):
        for entry in range(begins[row], begins[row] + lengths[row]):
            target = to[entry]
            if lo <= target < hi:
                place = next_of[target - lo]
                next_of[target - lo] += 1
                indices[place] = row
                weights[place] = added[entry]
