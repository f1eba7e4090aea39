"""Indices of the arrays by which GPUs that address each other exchange: headers, and a ledger of each rank."""

from __future__ import annotations

__all__ = [
    "ARRIVED",
    "BOX_ACTIVE",
    "BOX_BITS",
    "BOX_COUNT",
    "BOX_FULL",
    "BOX_HISTORY",
    "BOX_MARKED",
    "BOX_OUT",
    "BOX_PULLED",
    "BOX_READ",
    "BOX_SENT",
    "BOX_SERIAL",
    "BOX_WORDS",
    "EXAMPLE",
    "IN_BITS",
    "LEDGER_REST",
    "MARKED",
    "MEETINGS",
    "UNLIKE",
]

# Headers in a rank's window, int64: vertices listed for it, or IN_BITS; then the sender's figures of the superstep,
# up to BOX_FULL: active vertices after it, their out-arcs there, arcs read, vertices that it lists for all ranks,
# those that it marks in bits, the bytes of these bits, whether it has pulled, and whether a message does not fit;
# then the serial number of the exchange
BOX_COUNT, BOX_ACTIVE, BOX_OUT, BOX_READ, BOX_SENT, BOX_MARKED, BOX_BITS, BOX_PULLED = range(8)
BOX_FULL, BOX_SERIAL = 8, 9
BOX_WORDS = 10
BOX_HISTORY = BOX_FULL - BOX_ACTIVE  # figures that the host reads of each superstep
IN_BITS = -1
# The ledger of a rank: lengths of its messages, for even and odd serial numbers; totals over all ranks, as in a
# header, but with the number of supersteps at BOX_COUNT; then, of a sequence of launches, its exchanges so far; and of
# an exchange in bits, 1 + a changed vertex, whether another has another value, how many are marked, and 1 + the
# number of the superstep if bits have come
MEETINGS, EXAMPLE, UNLIKE, MARKED, ARRIVED = range(5)
LEDGER_REST = 5
