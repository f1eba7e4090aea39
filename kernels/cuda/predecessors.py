"""Predecessors: for every vertex, the least in-neighbour whose message alone gives the vertex its state.

In-neighbours are compared by vertex number, as in `kernels/cpu/tree.py`, so all engines give the same
forest.  An arc with such a message is tight.  First, vertices choose among tight in-neighbours with a strictly
better state.  Then, level by level, the others choose among equally good ones that were attached in an
earlier level.
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
    row: Any, one: Any, stride: Any, degree: Any, vertex: Any, indices: Any, codes: Any, coded: Any,
    state: Any, constants: Any,
) -> Any:  # fmt: skip
    """Return four places of a row, their vertices and states; all codes are read before a state."""
    two = np.int32(one + stride)
    three = np.int32(two + stride)
    four = np.int32(three + stride)
    at_one = source_along(row, one, degree, vertex, indices)
    at_two = source_along(row, two, degree, vertex, indices)
    at_three = source_along(row, three, degree, vertex, indices)
    at_four = source_along(row, four, degree, vertex, indices)
    code_one, code_two = code_at(codes, coded, at_one), code_at(codes, coded, at_two)
    code_three, code_four = code_at(codes, coded, at_three), code_at(codes, coded, at_four)
    return (
        (one, two, three, four),
        (at_one, at_two, at_three, at_four),
        load_coded(code_one, state, constants, at_one),
        load_coded(code_two, state, constants, at_two),
        load_coded(code_three, state, constants, at_three),
        load_coded(code_four, state, constants, at_four),
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
    own = load(state, constants, vertex)
    before = replace(own, initial(constants, vertex, np.int64(numbers[vertex]), values))
    least = np.int64(NOBODY)
    for one in range(np.int32(begin), degree, np.int32(4 * stride)):
        places, ats, first, second, third, fourth = four_along(
            row, one, stride, degree, vertex, indices, codes, coded, state, constants
        )
        _, two, three, four = places
        at_one, at_two, at_three, at_four = ats
        given = own, before, edges
        leads_one = leads(one < degree, first, *given, row + one, values)
        leads_two = leads(two < degree, second, *given, row + two, values)
        leads_three = leads(three < degree, third, *given, row + three, values)
        leads_four = leads(four < degree, fourth, *given, row + four, values)
        number_one = number_if(leads_one, at_one, vertex, numbers)
        number_two = number_if(leads_two, at_two, vertex, numbers)
        number_three = number_if(leads_three, at_three, vertex, numbers)
        number_four = number_if(leads_four, at_four, vertex, numbers)
        least = min(least, number_one, number_two, number_three, number_four)
    return least


@kernel
def start_trees(
    size: Any, vertices: Any, numbers: Any, state: Any, constants: Any, parameters: Any, sums: Any,
    number: Any, levels: Any, found: Any, codes: Any, control: Any,
) -> None:  # fmt: skip
    """Set level 0 for the vertices, ghosts included, that are still in their first state.

    If states have codes of one byte, `codes` is filled, and `control[CODELESS]` counted; see `layout`.
    """
    values = with_sums(parameters, sums, vertices, number)
    without = np.int64(0)
    for vertex in range(block() * threads() + thread(), size, blocks() * threads()):
        own = load(state, constants, vertex)
        first = initial(constants, vertex, np.int64(numbers[vertex]), values)
        begins = same(own, first)
        levels[vertex] = 0 if begins else WAITING
        found[vertex] = NOBODY
        if CODED:
            code = code_of(own)
            codes[vertex] = code
            if not begins:
                without += 1 if code == CODES - 1 else -1
    if CODED:
        without = sum_of_lanes(without)
        if lane() == 0 and without != 0:
            atomic_add(control, CODELESS, without)


@inline
def list_those(waits: Any, vertex: Any, left: Any, control: Any, which: Any) -> None:
    """List the undecided vertices of a warp's lanes."""
    if any_of(FULL, waits):
        slot = reserve(control, which, np.int32(waits))
        if waits:
            left[slot] = vertex


@kernel
def choose(
    low: Any, high: Any, lanes: Any, vertices: Any, numbers: Any, adjacency: Any, edges: Any,
    state: Any, constants: Any, parameters: Any, sums: Any, number: Any, levels: Any, found: Any,
    codes: Any, left: Any, control: Any,
) -> None:  # fmt: skip
    """Find the least better in-neighbour of the undecided vertices in [low, high).

    Each vertex has `lanes` threads: a power of two up to 32, or a whole block.  It gets level 0, or is
    listed in `left`.  Codes of floats are compared first if most vertices have one.
    """
    offsets, indices = adjacency
    values = with_sums(parameters, sums, vertices, number)
    coded = control[CODELESS] <= 0
    lanes = np.int32(lanes)
    here = np.int32(block() * threads() + thread())
    first = (here - lane()) // lanes  # of the groups of threads in the warp
    for base in range(low + first, high, blocks() * threads() // lanes):
        vertex = min(base + here // lanes - first, high - 1)
        # Loaded together with its row, although it may not be needed
        row, end, level = offsets[vertex], offsets[vertex + 1], levels[vertex]
        waits = base + here // lanes - first < high and level >= WAITING
        degree = np.int32(end - row if waits else 0)  # as in `frontier.py`: registers are scarce
        least = least_tight(
            vertex, row, degree, thread() % lanes, lanes, numbers, indices, edges, state,
            constants, values, codes, coded,
        )  # fmt: skip
        least = least_of_lanes(least, min(lanes, 32))
        if lanes > 32:
            if waits and lane() == 0:
                atomic_min(found, vertex, least)
            sync_block()
            least = np.int64(load_fresh(found, vertex))
        waits = waits and thread() % lanes == 0
        sync_warp(FULL)  # all have read the level
        if waits and least < NOBODY:
            if lanes <= 32:
                found[vertex] = least
            levels[vertex] = 0
            waits = False
        list_those(waits, vertex, left, control, WAITERS_LEFT)


@inline
def attach_or_list(
    first: Any, count: Any, vertex: Any, level: Any, levels: Any, found: Any, left: Any,
    control: Any, which: Any,
) -> Any:  # fmt: skip
    """Give `level` to a vertex that has found a predecessor, else list it; return 1 if it has, else 0."""
    attached = np.int64(0)
    waits = False
    if first + lane() < count and levels[vertex] == WAITING:
        if found[vertex] < NOBODY:
            levels[vertex] = level
            attached += 1
        else:
            waits = True
    list_those(waits, vertex, left, control, which)
    return attached


@kernel
def grow(
    vertices: Any, numbers: Any, adjacency: Any, edges: Any, state: Any, constants: Any,
    parameters: Any, sums: Any, number: Any, levels: Any, found: Any, queue: Any, lists: Any,
    most: Any, control: Any,
) -> None:  # fmt: skip
    """Attach undecided vertices to equally good ones of an earlier level.  Cooperative.

    Runs up to `most` levels, until no vertex is undecided or none can be attached.  `lists` are two of
    int[vertices], the first with the undecided vertices; `queue` is scratch for pieces of long rows.
    `control` begins with the number of undecided vertices, the levels so far, and whether the last level
    attached a vertex.
    """
    offsets, indices = adjacency
    values = with_sums(parameters, sums, vertices, number)
    warp, warps = thread() // 32 * blocks() + block(), blocks() * threads() // 32
    leads = block() == 0 and thread() == 0
    count, grown = control[WAITERS_LEFT], control[LEVELS]
    going = True
    done, turn = 0, 0
    while count > 0 and going and done < most:
        listed, left = lists[0], lists[1]
        if (grown + done) & 1:
            listed, left = lists[1], lists[0]
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
                        if levels[position] < level and name < load_fresh(found, vertex):
                            own = load(state, constants, vertex)
                            before = replace(
                                own, initial(constants, vertex, np.int64(numbers[vertex]), values)
                            )
                            source = load(state, constants, position)
                            if is_tight(source, own, before, edges, arc, values):
                                atomic_min(found, vertex, name)
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
                first, count, vertex, level, levels, found, left, control, STILL_WAITING + turn
            )
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
def write_out(owned: Any, positions: Any, found: Any, predecessors: Any) -> None:
    """Write each owned vertex's predecessor, a vertex number, −1 for none, in the order of `positions`."""
    for vertex in range(block() * threads() + thread(), owned, blocks() * threads()):
        number = np.int64(found[positions[vertex]])
        predecessors[vertex] = number if number < NOBODY else -1
