"""Workers for all GPUs of this host."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import cugraph_ws as ws
from bench.places import python_path

__all__ = ["HUB", "sharing", "take_memory_as_workers", "workers"]

SHARING = 2  # workers that share a single GPU
# Makes NCCL send through pinned host memory, the paper's hub, instead of between GPUs directly
HUB = {"NCCL_P2P_DISABLE": "1"}


@contextmanager
def workers(environment: Mapping[str, str] | None = None, **options: Any) -> Any:
    """Start a worker for each GPU, with environment variables; yield the client once all have joined."""
    variables = {"PYTHONPATH": python_path(), **(environment or {})}
    with patch.dict(os.environ, variables), ws.local_cluster(**options) as client:
        if len(client.nthreads()) < 2:
            raise RuntimeError("this part needs two GPUs")
        yield client


@contextmanager
def sharing(*, apart: bool) -> Any:
    """Start workers on the first GPU; `apart` makes them appear on different hosts, as NCCL requires."""
    from distributed import Client, Nanny, Scheduler, SpecCluster

    shared = {"CUDA_VISIBLE_DEVICES": "0", "PYTHONPATH": python_path()}
    nannies = {}
    for name in range(SHARING):
        own = {"NCCL_SOCKET_IFNAME": "lo", "NCCL_HOSTID": f"machine {name}"} if apart else {}
        nannies[name] = {"cls": Nanny, "options": {"nthreads": 1, "env": shared | own}}
    scheduler = {"cls": Scheduler, "options": {"port": 0, "dashboard_address": "127.0.0.1:0"}}
    with SpecCluster(workers=nannies, scheduler=scheduler) as cluster, Client(cluster) as client:
        client.wait_for_workers(SHARING)
        yield client


def take_memory_as_workers() -> None:
    """Let this process allocate GPU memory from the driver's pool, as workers of `ws.local_cluster` do."""
    import rmm

    rmm.mr.set_current_device_resource(rmm.mr.CudaAsyncMemoryResource())
