"""Predecessors from few arcs, for programs with `settled` whose messages depend on states alone.

The answer is that of `predecessors.choose`: the least better in-neighbour with a tight arc.  States are codes of
a byte; two codes say whether an in-neighbour is better.

- Where most in-neighbours are tight, so is one of the four of least number (`kernels/cuda/min_neighbours.py`).
  These four are read in order, and no others.
- Where few are tight, and the candidates have few out-arcs in all, the candidates send their numbers along
  their arcs (`grow_forward`, level -1).

A search that pulls and pushes leaves levels of both kinds (Beamer, Asanović, Patterson 2012): vertices reached
early have few tight in-neighbours among many, vertices reached from a large frontier have many.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cugraph_ws.kernels.cuda.interface import (
    code_at,
    initial,
    is_active,
    keep,
    load_coded,
    replace,
    with_sums,
)
from cugraph_ws.kernels.cuda.layout import AHEAD, CODES, NOBODY, STEPS, WAITERS_LEFT, WAITING
from cugraph_ws.kernels.cuda.predecessors import leads, least_tight, list_those
from cugraph_ws.kernels.cuda.primitives import (
    FULL,
    atomic_add,
    ballot,
    block,
    blocks,
    ffs,
    inline,
    kernel,
    lane,
    shared,
    shuffle,
    sync_block,
    thread,
    threads,
)
from cugraph_ws.kernels.cuda.rows import least_of_lanes, sum_of_lanes
from cugraph_ws.kernels.cuda.tree_growth import add_to_list

__all__ = ["choose_of_least", "count_codes", "list_senders", "weigh_codes"]

SEEKERS = 8  # lanes that look through a row
SUMS = 2 * CODES  # of arcs out of vertices with each code, and of arcs into them


@kernel
def count_codes(
    size: Any, owned: Any, step: Any, codes: Any, levels: Any, forward: Any, backward: Any,
    counts: Any,
) -> None:  # fmt: skip
    """Count arcs by code, for 32 vertices of every 32 * `step`.

    `counts` is int64[SUMS]: the arcs out of vertices with each code, then the arcs into owned undecided
    vertices.  `forward` and `backward` are rows' offsets.
    """
    local = shared(SUMS, np.int64)
    for place in range(thread(), SUMS, threads()):
        local[place] = 0
    sync_block()
    for place in range(block() * threads() + thread(), size // step, blocks() * threads()):
        vertex = place // 32 * (32 * step) + place % 32
        if vertex < size:
            code = np.int32(codes[vertex])
            atomic_add(local, code, np.int64(forward[vertex + 1] - forward[vertex]))
            if vertex < owned and levels[vertex] >= WAITING:
                arcs = np.int64(backward[vertex + 1] - backward[vertex])
                atomic_add(local, CODES + code, arcs)
    sync_block()
    for place in range(thread(), SUMS, threads()):
        if local[place] != 0:
            atomic_add(counts, place, local[place])


@inline
def is_above(code: Any, other_code: Any, state: Any, constants: Any, values: Any) -> Any:
    """Return whether a state with one code is worse than a state with another, as far as codes show."""
    receiver = load_coded(np.uint8(code), state, constants, np.int64(0))
    source = load_coded(np.uint8(other_code), state, constants, np.int64(0))
    return other_code == CODES - 1 or is_active(receiver, keep(source), values)


@kernel
def weigh_codes(
    step: Any, counts: Any, giving: Any, worth: Any, vertices: Any, program: Any, number: Any,
    roles: Any, control: Any,
) -> None:  # fmt: skip
    """Choose the codes of senders, which send their numbers along their arcs, and of receivers.

    All better in-neighbours of a receiver are senders.  The alternative, a search among in-neighbours,
    is estimated by the share of arcs that come from better vertices: with that probability each of the
    four cached in-neighbours leads, and the row is read only if none does.  One block.

    Parameters
    ----------
    step : int
        How many arcs each counted arc represents.
    counts : int64[SUMS]
        See `count_codes`.
    giving, worth : int
        The cost of sending a number along an arc, as a multiple of reading an arc; and how many arcs must
        be saved from being read for numbers to be sent.
    roles : uint8[SUMS + 1]
        Output: 1 for each sender's code, then for each receiver's code, then whether there are any.
    control : int64[32]
        That of `grow_forward`; set to begin with level -1.
    """
    state, constants, parameters, sums = program
    values = with_sums(parameters, sums, vertices, number)
    rows, ahead = shared(CODES, np.float64), shared(CODES, np.int64)
    order, new = shared(CODES, np.int32), shared(2, np.int64)
    for code in range(thread(), CODES, threads()):
        roles[code] = roles[CODES + code] = 0
        order[code] = -1
        total, before = np.int64(0), np.int64(-1)
        into = counts[CODES + code] if code < CODES - 1 else np.int64(0)
        rows[code] = 0.0
        if into > 0:
            before = np.int64(0)
            for other_code in range(CODES):
                total += counts[other_code]
                if is_above(code, other_code, state, constants, values):
                    before += counts[other_code]
            missed = 1.0 - np.float64(before) / np.float64(total if total > 0 else 1)
            rows[code] = np.float64(into) * missed * missed * missed * missed
        ahead[code] = before
    if thread() < 2:
        new[thread()] = 0
    sync_block()
    for code in range(thread(), CODES, threads()):
        if ahead[code] >= 0:
            place = 0
            for other_code in range(CODES):
                as_soon = ahead[other_code] == ahead[code] and other_code < code
                sooner = ahead[other_code] < ahead[code] or as_soon
                place += 1 if ahead[other_code] >= 0 and sooner else 0
            order[place] = code
    sync_block()
    gained = 0.0
    for place in range(CODES):
        code = order[place]
        if code < 0:
            break
        arcs = np.int64(0)
        for other_code in range(thread(), CODES, threads()):
            if roles[other_code] == 0 and is_above(code, other_code, state, constants, values):
                arcs += counts[other_code]
        arcs = sum_of_lanes(arcs)
        if lane() == 0:
            atomic_add(new, place % 2, arcs)
        sync_block()
        gives = np.float64(giving) * np.float64(new[place % 2]) < rows[code]
        if gives:
            gained += rows[code]
            for other_code in range(thread(), CODES, threads()):
                if is_above(code, other_code, state, constants, values):
                    roles[other_code] = 1
            if code % threads() == thread():
                roles[CODES + code] = 1
        sync_block()
        if thread() == 0:
            new[place % 2] = 0
    pays = gained > 0.0 and np.float64(step) * gained >= np.float64(worth)
    if not pays:
        for code in range(thread(), CODES, threads()):
            roles[code] = roles[CODES + code] = 0
    if thread() == 0:
        roles[SUMS] = np.uint8(pays)
        control[STEPS] = -1


@kernel
def list_senders(
    size: Any, codes: Any, roles: Any, offsets: Any, listed: Any, control: Any
) -> None:  # fmt: skip
    """List the vertices that have a sender's code, and count their out-arcs, for `grow_forward`."""
    top = size if roles[SUMS] != 0 else 0
    arcs = np.int64(0)
    for first in range(block() * threads() + thread() - lane(), top, blocks() * threads()):
        vertex = first + lane()
        sends = False
        if vertex < size:
            sends = roles[codes[vertex]] != 0
        arcs += add_to_list(sends, vertex, offsets, listed, control)
    arcs = sum_of_lanes(arcs)
    if lane() == 0 and arcs > 0:
        atomic_add(control, AHEAD, arcs)


@inline
def ask(
    at: Any, vertex: Any, own: Any, before: Any, numbers: Any, edges: Any, state: Any, constants: Any,
    values: Any, codes: Any,
) -> Any:  # fmt: skip
    """Return the number of the in-neighbour at a position if its arc `leads`, else `NOBODY`; -1 is none."""
    position = np.int64(at) if at >= 0 else np.int64(vertex)
    source = load_coded(code_at(codes, True, position), state, constants, position)
    if leads(at >= 0, source, own, before, edges, np.int64(0), values):
        return np.int64(numbers[position])
    return np.int64(NOBODY)


@kernel
def choose_of_least(
    wide: Any, owned: Any, vertices: Any, numbers: Any, adjacency: Any, edges: Any, program: Any,
    number: Any, trees: Any, receivers: Any, least: Any, undecided: Any, control: Any,
) -> None:  # fmt: skip
    """Find the least better in-neighbours of undecided vertices; from `wide` on, of all of them.

    Vertices with a receiver's code have received a number.  Others try the four in-neighbours in `least`;
    if none of them leads, a few lanes read the row.  A vertex that is decided gets level 0, others are
    listed in `undecided`.  Positions below `wide` have long rows; of these only receivers are decided here.
    """
    offsets, indices = adjacency
    state, constants, parameters, sums = program
    levels, parents, codes = trees
    values = with_sums(parameters, sums, vertices, number)
    for first in range(block() * threads() + thread() - lane(), owned, blocks() * threads()):
        vertex = min(first + lane(), owned - 1)
        waits = first + lane() < owned and levels[vertex] >= WAITING
        code = code_at(codes, True, vertex)
        is_receiver = waits and receivers[code] != 0
        best = np.int64(parents[vertex] if is_receiver else NOBODY)
        seeks = waits and not is_receiver and vertex >= wide
        own_state = load_coded(code, state, constants, vertex)
        before = replace(own_state, initial(constants, vertex, np.int64(numbers[vertex]), values))
        reads = vertex, own_state, before, numbers, edges, state, constants, values, codes
        if seeks:
            best = ask(least[0][vertex], *reads)
        more = False
        if seeks and best == NOBODY:
            position_1, position_2, position_3 = (
                least[1][vertex], least[2][vertex], least[3][vertex],
            )  # fmt: skip
            best = min(ask(position_1, *reads), ask(position_2, *reads), ask(position_3, *reads))
            more = best == NOBODY and position_3 >= 0
        mask = ballot(FULL, more)
        while mask != 0:
            group = np.int32(lane() // SEEKERS)
            place = np.int32(-1)  # of the lane that has the vertex of this group of lanes
            for turn in range(32 // SEEKERS):
                if turn == group:
                    place = np.int32(ffs(mask) - 1)
                mask = np.uint32(mask & (mask - 1)) if mask != 0 else mask
            row = shuffle(FULL, np.int64(vertex), max(place, 0))
            begin = offsets[row]
            length = np.int32(offsets[row + 1] - begin if place >= 0 else 0)
            result = least_tight(
                row, begin, length, lane() % SEEKERS, np.int32(SEEKERS), numbers, indices,
                edges, state, constants, values, codes, True,
            )  # fmt: skip
            result = least_of_lanes(result, SEEKERS)
            for turn in range(32 // SEEKERS):
                first_lane = np.int32(turn * SEEKERS)
                group_least, of_lane = (
                    shuffle(FULL, result, first_lane), shuffle(FULL, place, first_lane),
                )  # fmt: skip
                if lane() == of_lane:
                    best = group_least
        if waits and best < NOBODY:
            parents[vertex] = best
            levels[vertex] = 0
            waits = False
        list_those(waits and vertex >= wide, vertex, undecided, control, WAITERS_LEFT)
