"""CuSha's G-Shards: the arcs of a shard in the order of their sources, whose values are read directly."""

from __future__ import annotations

from cugraph_ws.backends.cuda.arc_shards import ShardedLayout

__all__ = ["Layout"]


class Layout(ShardedLayout):
    """Shards of destinations; neighbouring threads read sources that are near each other.

    See `kernels/cuda/arc_shards.py`.
    """

    name = "gshards"
