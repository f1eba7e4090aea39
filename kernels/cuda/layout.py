"""Places in the arrays that kernels and the host share, and numbers that both must know.

No kernel is here: the host imports this without importing a compiler.
"""

from __future__ import annotations

__all__ = [
    "ABOVE",
    "ACTIVATED",
    "ACTIVE",
    "AHEAD",
    "ALLOWED",
    "ALONE",
    "ATTACHED",
    "AUTO",
    "BALLOT",
    "BEGAN",
    "BEYOND",
    "BY_ARC",
    "BY_SLOT",
    "BY_SOURCE",
    "CODELESS",
    "CODES",
    "CONTROL",
    "COUNT",
    "CURSOR",
    "DEGREES",
    "ELSEWHERE",
    "ENTRIES",
    "FIGURES",
    "FILLED",
    "FINISHED",
    "FIRST_ARCS",
    "FRONTIER_BLOCK",
    "FRONTIER_FIGURES",
    "GOING",
    "GREATEST",
    "GROUP",
    "GROUP_BITS",
    "KEPT",
    "L1",
    "LARGE",
    "LEAST",
    "LEAST_ROWS",
    "LEVELS",
    "LIMIT",
    "LISTED",
    "LOCAL_BITS",
    "LOWEST",
    "MAXIMUM",
    "MODE",
    "NEAR_ROWS",
    "NOBODY",
    "NO_PLACE",
    "NUMBER",
    "OUT",
    "OVER",
    "PHASE",
    "PIECE",
    "PIECES_QUEUED",
    "PULL",
    "PULL_BLOCK",
    "PUSH",
    "QUEUED",
    "READ",
    "RECORDS",
    "ROLES",
    "ROW",
    "RUN_BITS",
    "SKEW_BITS",
    "SMALL",
    "STEPS",
    "STILL_WAITING",
    "STOP",
    "TIGHT_SHARE",
    "TOTAL",
    "TURN",
    "UNCHOSEN",
    "UNREAD",
    "UNSENT",
    "WAITERS",
    "WAITERS_LEFT",
    "WAITING",
    "WIDTH",
    "WOKEN",
]

# `control` of dense supersteps, int64
STOP = 0  # not 0 once the run is over
NUMBER = 1  # of the superstep
FINISHED = 2  # blocks that have tallied
ROW = 3  # rows of `records` written so far; they are a ring
RECORDS = 64
BEYOND = (
    4  # an error that is noted: a message, or an index of a list, out of range; 0 if there was none
)
CONTROL = 5

# Columns of `tallies` and of `records`, float64; the aggregates follow
ACTIVE = 0  # active vertices
TOTAL = 1  # sum of the changes of the residual's field
GREATEST = 2  # greatest of them
FIGURES = 3

# Norms of the residual
L1 = 1
MAXIMUM = 2
ELSEWHERE = -1  # instead of one: a partition alone cannot tell whether the run is over

# `control` of frontiers, int64: what the next superstep finds, and the supersteps done
COUNT = 0  # vertices of the frontier
AHEAD = 1  # their out-arcs
UNREAD = 2  # arcs of vertices that have not been in a frontier; all arcs, if they may come again
KEPT = 3  # 0: the frontier is in its bitmap only; 1: it is listed; 2: with its rows, as far as there is room
STEPS = 4  # since the host cleared it, and all that follows
TURN = 5  # which of three of each counter below comes next
BEGAN = 6  # the number of the pull that has been begun, counted in `STEPS` and from 1
ENTRIES = (
    7  # of a worklist: beside the frontier, vertices that have changed without becoming active
)
# Three of each counter: a superstep uses one, the next reads it, and the one after clears it, so that
# one barrier is enough.
LISTED, QUEUED, DEGREES, FILLED, ACTIVATED = 8, 11, 14, 17, 20
ROLES = 5
WOKEN = 23  # up to seven numbers, for blocks that have waited for a single block
# In queued supersteps of several GPUs: how many there may be before the next exchange, and what comes next
ALLOWED, PHASE = 30, 31
SMALL = 0  # a frontier that `traverse_linked` handles
LARGE = 1  # a superstep by `pull_alone` and `traverse`, and its exchange
UNSENT = 2  # the exchange of a superstep that `traverse_linked` has done
OVER = 3  # nothing

# A rank's record of a frontier's superstep, float64, after `ACTIVE`: out-arcs of active vertices on the
# rank, arcs read, and the direction
OUT, READ, MODE = 1, 2, 3
FRONTIER_FIGURES = 4

# `horizon` of frontiers, float64
LIMIT = 0  # priorities up to it are due
WIDTH = 1  # between the least priority that waited and the limit
LEAST, ABOVE, WAITERS = 2, 3, 4  # of waiting vertices: least priority, sum, number

AUTO, PULL, PUSH = 0, 1, 2  # what a frontier may do
BALLOT, ALONE = (
    2,
    4,
)  # beside PULL, how a superstep ran: from a list made of the bitmap; by one block
PIECE = 512  # arcs of a row that are queued together
FRONTIER_BLOCK = 512  # threads: few blocks, and large ones, arrive sooner at the grid's barrier
PULL_BLOCK = 256  # threads at most, of a kernel in which warps have shared memory of their own
NEAR_ROWS = 1 << 16  # entries of a list that come with their row
LEAST_ROWS = 8  # of a frontier for one warp
FIRST_ARCS = 8  # in-arcs that a lane reads by itself, in search of one that settles its vertex

# `control` of `grow`, int64: undecided vertices, the levels so far, whether the last one attached a
# vertex; then three of each counter, as above
WAITERS_LEFT, LEVELS, GOING = 0, 1, 2
PIECES_QUEUED, STILL_WAITING, ATTACHED = 3, 6, 9
CODELESS = 12  # reached states without a code, less those with one
WAITING = 1 << 30  # a level that is not reached
NOBODY = 1 << 62  # above every vertex number
TIGHT_SHARE = 128  # slots for tight arcs that a warp takes at a time, the most it needs at once
CODES = 256  # that a state may have; the last says that it has none

# Kinds of keys that arcs are sorted by: the row within its part above the source, above the slot,
# or the source above the slot
BY_SOURCE, BY_SLOT, BY_ARC = 0, 1, 2
CURSOR = 16  # numbers from one cursor to the next, so that no two are in one line of the L2

# Shards of arcs
GROUP_BITS = 3
GROUP = 1 << GROUP_BITS  # slots that are written together: a sector of four-byte values
NO_PLACE = 0xFFFF  # of a slot that fills a group up, or has no arc
# Buckets of arcs: 2**RUN_BITS entries of a row are sorted by comparing all with all; LOCAL_BITS hold a
# place in a bucket
RUN_BITS = 5
LOCAL_BITS = 16
# After so many places in shared memory one is left free, so that rows of 2, 4, 8 … arcs begin in
# different banks
SKEW_BITS = 5

# Of the runs of equal messages in a row: before any is ranked, and before any is chosen
LOWEST = -(2**63)
UNCHOSEN = 2**63 - 1
