"""Parallel edges made one: a thread goes through all edges of one run, in input order.

Runs are short but for pathological inputs, and their order makes sums the same in every run of the
program, which atomics would not.
"""

from __future__ import annotations

from typing import Any

from cugraph_ws.kernels.cuda.primitives import block, blocks, kernel, thread, threads

__all__ = ["add_runs", "greatest_of_runs", "least_of_runs"]


@kernel
def add_runs(values: Any, order: Any, starts: Any, runs: Any, zero: Any, out: Any) -> None:
    """Add up the values of every run, starting with `zero`, in its type.

    Run i is the edges `order[starts[i]]` to `order[starts[i + 1] - 1]`.
    """
    run = block() * threads() + thread()
    while run < runs:
        total = zero
        for place in range(starts[run], starts[run + 1]):
            total += values[order[place]]
        out[run] = total
        run += blocks() * threads()


@kernel
def least_of_runs(values: Any, order: Any, starts: Any, runs: Any, out: Any) -> None:
    """Find the least value of every run."""
    run = block() * threads() + thread()
    while run < runs:
        least = values[order[starts[run]]]
        for place in range(starts[run] + 1, starts[run + 1]):
            least = min(least, values[order[place]])
        out[run] = least
        run += blocks() * threads()


@kernel
def greatest_of_runs(values: Any, order: Any, starts: Any, runs: Any, out: Any) -> None:
    """Find the greatest value of every run."""
    run = block() * threads() + thread()
    while run < runs:
        greatest = values[order[starts[run]]]
        for place in range(starts[run] + 1, starts[run + 1]):
            greatest = max(greatest, values[order[place]])
        out[run] = greatest
        run += blocks() * threads()
