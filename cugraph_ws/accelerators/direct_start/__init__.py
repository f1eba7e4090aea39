"""Direct task start: on a cluster, calls begin before Dask's tasks for them reach the workers."""

from __future__ import annotations

from cugraph_ws.contract import Accelerator, WorkerRequests

__all__ = ["ACCELERATOR"]


def _worker_requests() -> WorkerRequests:
    from cugraph_ws.accelerators.direct_start.client import DirectRequests

    return DirectRequests()


ACCELERATOR = Accelerator(
    name="direct_start",
    bits="same",
    memory="a result waits on its worker until its task has come, 30 s at most",
    first_call="nothing",
    page="023-direct-task-start.md",
    worker_requests=_worker_requests,
)
