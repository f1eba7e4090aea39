"""CuSha's Concatenated Windows: values of sources are written shard by shard, a window at a time."""

from __future__ import annotations

from cugraph_ws.backends.cuda.arc_shards import ShardedLayout

__all__ = ["Layout"]


class Layout(ShardedLayout):
    """Shards of destinations whose arcs read slots, one after the other.

    A first launch has a window of sources in shared memory, and writes to the slots.  Windows with
    few arcs for each shard have no slots: those arcs are read as in `gshards`.
    See `kernels/cuda/arc_shards.py`.
    """

    name = "windows"
    windows = True
