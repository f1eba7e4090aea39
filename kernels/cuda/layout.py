"""Where numbers stand in the arrays that supersteps and the host share."""

from __future__ import annotations

__all__ = [
    "ACTIVE",
    "FIGURES",
    "FINISHED",
    "GREATEST",
    "L1",
    "MAXIMUM",
    "NUMBER",
    "RECORDS",
    "ROW",
    "STOP",
    "TOTAL",
]

# `control`, int64
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
