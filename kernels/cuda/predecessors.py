"""Predecessors: for every vertex, the least in-neighbour whose message alone gives the vertex its state.

In-neighbours are compared by vertex number, as in `kernels/cpu/tree.py`, so all engines give the same
forest.  An arc with such a message is tight.  First, vertices choose among tight in-neighbours with a strictly
better state.  Then, level by level, the others choose among equally good ones that were attached in an
earlier level.

All kernels of the forest take `program`: the states, the constants, the parameters and the sums that the program
reads, and `trees`: the levels, the parents and the codes of states.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cugraph_ws.kernels.cuda.interface import (
    CODED,
    NO_TARGET,
    code_at,
    code_of,
    initial,
    is_active,
    keep,
    load,
    load_coded,
    message,
    message_near,
    replace,
    same,
    update,
    with_sums,
)
from cugraph_ws.kernels.cuda.layout import (
    ATTACHED,
    CODELESS,
    CODES,
    GOING,
    LEVELS,
    NOBODY,
    PIECES_QUEUED,
    STILL_WAITING,
    WAITERS_LEFT,
    WAITING,
)
from cugraph_ws.kernels.cuda.primitives import (
    FULL,
    any_of,
    atomic_add,
    atomic_min,
    block,
    blocks,
    inline,
    kernel,
    lane,
    load_fresh,
    shuffle,
    sync_block,
    sync_grid,
    sync_warp,
    thread,
    threads,
)
from cugraph_ws.kernels.cuda.rows import (
    arc_at,
    least_of_lanes,
    reserve,
    scan,
    sum_of_lanes,
    take_rows,
)

__all__ = ["choose", "grow", "start_trees", "write_out"]


@inline
def source_along(row: Any, place: Any, degree: Any, vertex: Any, indices: Any) -> Any:
    """Return the position of an in-neighbour by its place in the row; past the last, of the vertex."""
    return np.int64(indices[row + place]) if place < degree else np.int64(vertex)


@inline
def makes(gathered: Any, own: Any, before: Any, values: Any) -> Any:
    """Return whether one message alone turns a vertex's first state into its own."""
    return same(own, update(before, gathered, values))


@inline
def is_tight(source: Any, own: Any, before: Any, edges: Any, arc: Any, values: Any) -> Any:
    """Return whether an arc is tight: its message alone turns a vertex's first state into its own."""
    return makes(message(source, NO_TARGET, edges, arc, values), own, before, values)


@inline
def leads(
    belongs: Any, source: Any, own: Any, before: Any, edges: Any, arc: Any, values: Any
) -> Any:  # fmt: skip
    """Return whether an arc of the row is tight and comes from a better in-neighbour."""
    better = belongs and is_active(own, keep(source), values)
    return better and makes(
        message_near(source, NO_TARGET, edges, arc, values), own, before, values
    )


@inline
def number_if(leading: Any, position: Any, vertex: Any, numbers: Any) -> Any:
    """Return the number of an in-neighbour if its arc `leads`, else `NOBODY`."""
    number = np.int64(numbers[position if leading else vertex])
    return number if leading else np.int64(NOBODY)


@inline
def four_along(
    row: Any, place_0: Any, stride: Any, degree: Any, vertex: Any, indices: Any, codes: Any, coded: Any,
    state: Any, constants: Any,
) -> Any:  # fmt: skip
    """Return four places of a row, their vertices and states; all codes are read before a state."""
    place_1 = np.int32(place_0 + stride)
    place_2 = np.int32(place_1 + stride)
    place_3 = np.int32(place_2 + stride)
    at_0 = source_along(row, place_0, degree, vertex, indices)
    at_1 = source_along(row, place_1, degree, vertex, indices)
    at_2 = source_along(row, place_2, degree, vertex, indices)
    at_3 = source_along(row, place_3, degree, vertex, indices)
    code_0, code_1 = code_at(codes, coded, at_0), code_at(codes, coded, at_1)
    code_2, code_3 = code_at(codes, coded, at_2), code_at(codes, coded, at_3)
    return (
        (place_0, place_1, place_2, place_3),
        (at_0, at_1, at_2, at_3),
        load_coded(code_0, state, constants, at_0),
        load_coded(code_1, state, constants, at_1),
        load_coded(code_2, state, constants, at_2),
        load_coded(code_3, state, constants, at_3),
    )


@inline
def least_tight(
    vertex: Any, row: Any, degree: Any, begin: Any, stride: Any, numbers: Any, indices: Any,
    edges: Any, state: Any, constants: Any, values: Any, codes: Any, coded: Any,
) -> Any:  # fmt: skip
    """Return the least number of a better in-neighbour with a tight arc, of every `stride`-th arc.

    States are read before numbers, since few arcs are tight: one in seven for BFS on an R-MAT graph, one
    in 25 for shortest paths.  The states of four arcs are loaded together, and the four are judged before
    the first number is read, so a warp waits for memory once per four arcs.
    """
    own_state = load(state, constants, vertex)
    before = replace(own_state, initial(constants, vertex, np.int64(numbers[vertex]), values))
    least = np.int64(NOBODY)
    for place_0 in range(np.int32(begin), degree, np.int32(4 * stride)):
        places, ats, first, second, third, fourth = four_along(
            row, place_0, stride, degree, vertex, indices, codes, coded, state, constants
        )
        _, place_1, place_2, place_3 = places
        at_0, at_1, at_2, at_3 = ats
        receiver = own_state, before, edges
        leads_0 = leads(place_0 < degree, first, *receiver, row + place_0, values)
        leads_1 = leads(place_1 < degree, second, *receiver, row + place_1, values)
        leads_2 = leads(place_2 < degree, third, *receiver, row + place_2, values)
        leads_3 = leads(place_3 < degree, fourth, *receiver, row + place_3, values)
        number_0 = number_if(leads_0, at_0, vertex, numbers)
        number_1 = number_if(leads_1, at_1, vertex, numbers)
        number_2 = number_if(leads_2, at_2, vertex, numbers)
        number_3 = number_if(leads_3, at_3, vertex, numbers)
        least = min(least, number_0, number_1, number_2, number_3)
    return least


@kernel
def start_trees(
    size: Any, vertices: Any, numbers: Any, program: Any, number: Any, trees: Any, control: Any
) -> None:  # fmt: skip
    """Set level 0 for the vertices, ghosts included, that are still in their first state.

    If states have codes of one byte, `codes` is filled, and `control[CODELESS]` counted; see `layout`.
    """
    state, constants, parameters, sums = program
    levels, parents, codes = trees
    values = with_sums(parameters, sums, vertices, number)
    without = np.int64(0)
    for vertex in range(block() * threads() + thread(), size, blocks() * threads()):
        own_state = load(state, constants, vertex)
        first = initial(constants, vertex, np.int64(numbers[vertex]), values)
        begins = same(own_state, first)
        levels[vertex] = 0 if begins else WAITING
        parents[vertex] = NOBODY
        if CODED:
            code = code_of(own_state)
            codes[vertex] = code
            if not begins:
                without += 1 if code == CODES - 1 else -1
    if CODED:
        without = sum_of_lanes(without)
        if lane() == 0 and without != 0:
            atomic_add(control, CODELESS, without)


@inline
def list_those(waits: Any, vertex: Any, undecided: Any, control: Any, which: Any) -> None:
    """List the undecided vertices of a warp's lanes."""
    if any_of(FULL, waits):
        slot = reserve(control, which, np.int32(waits))
        if waits:
            undecided[slot] = vertex


@kernel
def choose(
    low: Any, high: Any, lanes: Any, vertices: Any, numbers: Any, adjacency: Any, edges: Any,
    program: Any, number: Any, trees: Any, undecided: Any, control: Any,
) -> None:  # fmt: skip
    """Find the least better in-neighbour of the undecided vertices in [low, high).

    Each vertex has `lanes` threads: a power of two up to 32, or a whole block.  It gets level 0, or is
    listed in `undecided`.  Codes of floats are compared first if most vertices have one.
    """
    offsets, indices = adjacency
    state, constants, parameters, sums = program
    levels, parents, codes = trees
    values = with_sums(parameters, sums, vertices, number)
    coded = control[CODELESS] <= 0
    lanes = np.int32(min(lanes, threads()))  # of a whole block there may be fewer
    thread_number = np.int32(block() * threads() + thread())
    first = (thread_number - lane()) // lanes  # of the groups of threads in the warp
    for base in range(low + first, high, blocks() * threads() // lanes):
        vertex = min(base + thread_number // lanes - first, high - 1)
        # Loaded together with its row, although it may not be needed
        row, end, level = offsets[vertex], offsets[vertex + 1], levels[vertex]
        waits = base + thread_number // lanes - first < high and level >= WAITING
        degree = np.int32(end - row if waits else 0)  # as in `frontier.py`: registers are scarce
        least = least_tight(
            vertex, row, degree, thread() % lanes, lanes, numbers, indices, edges, state,
            constants, values, codes, coded,
        )  # fmt: skip
        least = least_of_lanes(least, min(lanes, 32))
        if lanes > 32:
            if waits and lane() == 0:
                atomic_min(parents, vertex, least)
            sync_block()
            least = np.int64(load_fresh(parents, vertex))
        waits = waits and thread() % lanes == 0
        sync_warp(FULL)  # all have read the level
        if waits and least < NOBODY:
            if lanes <= 32:
                parents[vertex] = least
            levels[vertex] = 0
            waits = False
        list_those(waits, vertex, undecided, control, WAITERS_LEFT)


@inline
def attach_or_list(
    first: Any, count: Any, vertex: Any, level: Any, levels: Any, parents: Any, undecided: Any,
    control: Any, which: Any,
) -> Any:  # fmt: skip
    """Give `level` to a vertex that has found a predecessor, else list it; return 1 if it has, else 0."""
    attached = np.int64(0)
    waits = False
    if first + lane() < count and levels[vertex] == WAITING:
        if parents[vertex] < NOBODY:
            levels[vertex] = level
            attached += 1
        else:
            waits = True
    list_those(waits, vertex, undecided, control, which)
    return attached


@kernel
def grow(
    vertices: Any, numbers: Any, adjacency: Any, edges: Any, program: Any, number: Any, trees: Any,
    queue: Any, lists: Any, most: Any, control: Any,
) -> None:  # fmt: skip
    """Attach undecided vertices to equally good ones of an earlier level.  Cooperative.

    Runs up to `most` levels, until no vertex is undecided or none can be attached.  `lists` are two of
    int[vertices], the first with the undecided vertices; `queue` is scratch for pieces of long rows.
    `control` begins with the number of undecided vertices, the levels so far, and whether the last level
    attached a vertex.
    """
    offsets, indices = adjacency
    state, constants, parameters, sums = program
    levels, parents, _ = trees
    values = with_sums(parameters, sums, vertices, number)
    warp, warps = thread() // 32 * blocks() + block(), blocks() * threads() // 32
    leads = block() == 0 and thread() == 0
    count, grown = control[WAITERS_LEFT], control[LEVELS]
    going = True
    done, turn = 0, 0
    while count > 0 and going and done < most:
        listed, undecided = lists[0], lists[1]
        if (grown + done) & 1:
            listed, undecided = lists[1], lists[0]
        level = grown + done + 1
        if leads:
            for role in range(3):
                control[PIECES_QUEUED + 3 * role + (turn + 1) % 3] = 0
        size = np.int64(0)
        for stage in range(2):
            top, pace = (count + 31) // 32, warps
            if stage == 1:
                top, pace = size, 32 * warps
            for base in range(warp, top, pace):
                row, begin, share = take_rows(
                    stage, listed, count, base, 32, offsets, queue, size, warps, control,
                    PIECES_QUEUED + turn,
                )  # fmt: skip
                ends = scan(share)
                start = np.int32(ends - share)
                total = shuffle(FULL, ends, 31)
                for at in range(0, total, 32):
                    vertex, arc = arc_at(at + lane(), ends, start, row, begin, 1)
                    if at + lane() < total:
                        position = np.int64(indices[arc])
                        name = np.int64(numbers[position])
                        if levels[position] < level and name < load_fresh(parents, vertex):
                            own_state = load(state, constants, vertex)
                            before = replace(
                                own_state,
                                initial(constants, vertex, np.int64(numbers[vertex]), values),
                            )
                            source = load(state, constants, position)
                            if is_tight(source, own_state, before, edges, arc, values):
                                atomic_min(parents, vertex, name)
            sync_grid()
            size = control[PIECES_QUEUED + turn]
            if size == 0:
                break
        attached = np.int64(0)
        for first in range(32 * warp, count, 32 * warps):
            vertex = np.int64(0)
            if first + lane() < count:
                vertex = np.int64(listed[first + lane()])
            attached += attach_or_list(
                first, count, vertex, level, levels, parents, undecided, control,
                STILL_WAITING + turn,
            )  # fmt: skip
        attached = sum_of_lanes(attached)
        if lane() == 0 and attached > 0:
            atomic_add(control, ATTACHED + turn, attached)
        sync_grid()
        count = control[STILL_WAITING + turn]
        going = control[ATTACHED + turn] > 0
        turn = (turn + 1) % 3
        done += 1
    if leads and done > 0:
        control[WAITERS_LEFT] = count
        control[LEVELS] = grown + done
        control[GOING] = 1 if going else 0


@kernel
def write_out(owned: Any, positions: Any, parents: Any, predecessors: Any) -> None:
    """Write each owned vertex's predecessor, a vertex number, −1 for none, in the order of `positions`."""
    for vertex in range(block() * threads() + thread(), owned, blocks() * threads()):
        number = np.int64(parents[positions[vertex]])
        predecessors[vertex] = number if number < NOBODY else -1
