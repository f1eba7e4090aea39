"""What `backends/cuda/loops/NAME.py` would hold: the same function, over the device's arrays."""

from __future__ import annotations

from typing import Any

from cugraph_ws.partition.part import Part


def raise_labels(part: Part, label: Any) -> int:
    """Raise owned vertices' labels to the greatest of their in-neighbours'; return the arcs read."""
    xp, rows = part.xp, part.laid.csc
    degrees = xp.diff(rows.offsets)
    ends = xp.searchsorted(rows.offsets, xp.arange(len(rows.indices)), side="right") - 1
    assert len(degrees) >= part.owned, "ghosts have no rows, or empty ones"
    xp.maximum.at(label, ends, label[rows.indices])
    return len(rows.indices)
