"""What `backends/cpu/loops/NAME.py` would hold."""

from __future__ import annotations

from typing import Any

import numpy as np

from cugraph_ws.partition.part import Part


def raise_labels(part: Part, label: Any) -> int:
    """Raise owned vertices' labels to the greatest of their in-neighbours'; return the arcs read."""
    offsets, indices = part.csc.offsets, part.csc.indices
    rows = np.repeat(np.arange(part.owned), np.diff(offsets))
    np.maximum.at(label, rows, label[indices])
    return len(indices)
