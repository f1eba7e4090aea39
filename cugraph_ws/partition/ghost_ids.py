"""The ids of a shard's ghosts, fetched once, so that results that contain them need no collective."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cugraph_ws.partition.shard import ShardGraph

__all__ = ["ghost_ids"]

MOST = 1 << 22  # ghosts of a rank, above which their ids are not kept


def ghost_ids(shard: ShardGraph, numbering: Any) -> list[Any] | None:
    """Return the parts of the ids of ghosts; collective on the first call, then kept.

    Parameters
    ----------
    shard : ShardGraph
    numbering : ShardNumbering
        Joined to the shard's communicator.

    Returns
    -------
    list of pyarrow.Array, each of shape (ghosts,), or None
        None if some rank has too many ghosts.
    """
    learned = shard.learned
    if "ghost ids" not in learned:
        ghosts = shard.positions[shard.owned :]
        most = max(shard.comm.allgather(len(ghosts)))
        learned["ghost ids"] = numbering.decode(ghosts) if most <= MOST else None
    ids: list[Any] | None = learned["ghost ids"]
    return ids
