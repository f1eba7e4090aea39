"""Linked launches: searches on several GPUs of one host exchange within a launch, without their hosts."""

from __future__ import annotations

from cugraph_ws.contract import Accelerator, LinkedSupersteps

__all__ = ["ACCELERATOR"]


def _linked_supersteps() -> LinkedSupersteps:
    from cugraph_ws.accelerators.linked.supersteps import WindowSupersteps

    return WindowSupersteps()


ACCELERATOR = Accelerator(
    name="linked",
    bits="same",
    memory="112 MB of each GPU and 8 MB more for each rank, as long as workers keep the links",
    first_call="one large kernel of each search, and four for large frontiers",
    page="038-frontiers-of-several-gpus-in-one-launch.md",
    frontier_loops=("linked.layout", "linked.exchange", "linked.frontier"),
    linked_supersteps=_linked_supersteps,
)
