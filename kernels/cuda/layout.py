"""Where numbers stand in the arrays that kernels and the host share, and numbers that both must know.

No kernel is here: the host reads this without importing a compiler.
"""

from __future__ import annotations

__all__ = [
    "ACTIVE",
    "BY_ARC",
    "BY_SLOT",
    "BY_SOURCE",
    "COUNT",
    "CURSOR",
    "FIGURES",
    "FINISHED",
    "GREATEST",
    "L1",
    "LISTED",
    "MAXIMUM",
    "NUMBER",
    "PIECE",
    "QUEUED",
    "RECORDS",
    "ROW",
    "STEPS",
    "STOP",
    "TOTAL",
]

# `control` of dense supersteps, int64
STOP = 0  # not 0 once the run is over
NUMBER = 1  # of the superstep
FINISHED = 2  # blocks that have tallied
ROW = 3  # rows of `records` written so far; they are a ring
RECORDS = 64

# Columns of `tallies` and of `records`, float64; the aggregates follow
ACTIVE = 0  # vertices with news
TOTAL = 1  # sum of the changes of the residual's field
GREATEST = 2  # greatest of them
FIGURES = 3

# Norms of the residual
L1 = 1
MAXIMUM = 2

# `control` of pushes, int64: the frontier's size and the supersteps done; then three of each counter.
# A stage uses one of the three, the next stage reads it, and the one after clears it: so one barrier
# a stage is enough.
COUNT, STEPS, QUEUED, LISTED = 0, 1, 2, 5
PIECE = 512  # arcs of a row that are queued together

# Kinds of keys that arcs are sorted by: the row within its part above the source, above the slot,
# or the source above the slot
BY_SOURCE, BY_SLOT, BY_ARC = 0, 1, 2
CURSOR = 16  # numbers from one cursor to the next, so that no two are in one line of the L2
