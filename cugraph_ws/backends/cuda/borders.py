"""The boundary vertices of a rank and its ghosts, as kernels take them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from cugraph_ws.partition.part import Part

__all__ = ["Borders", "borders_of"]

DeviceArray = Any  # CuPy's or NumPy's


class Borders(NamedTuple):
    """The boundary vertices of a rank, and its ghosts; see `mark_changed` and `mark_ends`.

    Attributes
    ----------
    entries : device array of int32 or int64
        The boundaries of all ranks in a row.
    bounds : device array of int64, shape (ranks + 1,)
        Where each begins.
    firsts, counts : device array of int64, shape (ranks,)
        The position of the first ghost of each rank, and how many it has.
    """

    entries: DeviceArray
    bounds: DeviceArray
    firsts: DeviceArray
    counts: DeviceArray


def borders_of(part: Part) -> Borders:
    """Return the borders of a rank's part; made once, then kept by the shard."""
    name, learned, xp = "borders", part.graph.learned, part.xp
    if name not in learned:
        boundaries = part.halo.boundaries
        filled = [boundary for boundary in boundaries if len(boundary)]
        entries = filled[0] if len(filled) == 1 else part.halo.ends
        bounds = np.cumsum([0, *map(len, boundaries)], dtype=np.int64)
        firsts, lasts = np.array(part.ghosts, np.int64).T
        learned[name] = Borders(entries, *map(xp.asarray, (bounds, firsts.copy(), lasts - firsts)))
    borders: Borders = learned[name]
    return borders
