"""Clusters of Dask workers on this machine, and graphs on them, for tests."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from multiprocessing import forkserver
from pathlib import Path
from typing import Any
from unittest.mock import patch

import dask
import dask.dataframe as dd
import pandas as pd
import pytest
from distributed import (
    Client,
    LocalCluster,
    Nanny,
    Scheduler,
    Security,
    SpecCluster,
    default_client,
)
from distributed.utils import get_mp_context
from shapes import edge_frame, vertex_frame
from verify import Edges

import cugraph_ws as ws

__all__ = [
    "Workers",
    "assert_same",
    "certificates",
    "complaints",
    "eventually",
    "on_workers",
    "spread_edges",
    "workers",
    "workers_in",
]

WITHIN = 30.0  # seconds in which the loss of a worker is an error
FORKED = {"distributed.worker.multiprocessing-method": "forkserver"}  # restarts soon after a kill


class Workers:
    """A cluster with workers in processes, for tests of faults.

    Attributes
    ----------
    cluster : LocalCluster
    client : Client
    """

    def __init__(self, cluster: LocalCluster, client: Client) -> None:
        self.cluster, self.client = cluster, client

    def pids(self) -> dict[str, int]:
        """Return the process of each worker that the client knows, by address."""
        there = self.client.nthreads()
        nannies = list(self.cluster.workers.values())
        return {
            nanny.worker_address: nanny.pid
            for nanny in sorted(nannies, key=lambda one: str(one.worker_address))
            if nanny.worker_address in there and nanny.pid is not None
        }

    def wait_for(self, number: int) -> list[str]:
        """Wait until there are so many workers; return their addresses, sorted."""
        eventually(lambda: len(self.pids()) >= number, 60.0)
        return list(self.pids())

    def signal(self, address: str, number: int = signal.SIGKILL) -> None:
        """Send a worker's process a signal."""
        os.kill(self.pids()[address], number)


@cache
def _prepare() -> None:
    """Have what workers import be imported once, by the process that all of them are forked from."""
    with dask.config.set(FORKED):
        context = get_mp_context()  # has its own list, which is made once
    context.set_forkserver_preload(
        ["distributed", "dask.dataframe", "cugraph_ws.dask.tasks", "first_call"]
    )
    here = str(Path(__file__).parent)  # where `first_call` is
    given = os.environ.get("PYTHONPATH")
    with patch.dict(os.environ, PYTHONPATH=os.pathsep.join([here, given] if given else [here])):
        forkserver.ensure_running()


@contextmanager
def workers(number: int, **options: Any) -> Iterator[Workers]:
    """Start workers of one thread each, as processes that are started again when they die."""
    patient = {
        "distributed.deploy.lost-worker-timeout": "10 minutes",  # or it gives one up for lost
        **FORKED,
    }
    _prepare()
    given = {"threads_per_worker": 1, "dashboard_address": ":0", "processes": True, **options}
    with (
        dask.config.set(patient),
        LocalCluster(n_workers=number, **given) as cluster,
        Client(cluster, security=options.get("security")) as client,
    ):
        yield Workers(cluster, client)
    if not _has_client():
        # Clients that end in another order than they began leave the scheduler of one that is gone
        dask.config.set(scheduler=None)


def _has_client() -> bool:
    """Return whether Dask computes with a client that is connected."""
    try:
        return default_client().status == "running"
    except ValueError:
        return False


@contextmanager
def workers_in(environments: Sequence[Mapping[str, str]]) -> Iterator[Client]:
    """Start a worker of one thread for each environment: variables that its process begins with."""
    specified = {
        name: {"cls": Nanny, "options": {"nthreads": 1, "env": dict(environment)}}
        for name, environment in enumerate(environments)
    }
    scheduler = {"cls": Scheduler, "options": {"port": 0, "dashboard_address": "127.0.0.1:0"}}
    with SpecCluster(workers=specified, scheduler=scheduler) as cluster, Client(cluster) as client:
        client.wait_for_workers(len(specified))
        yield client


def certificates(folder: Path) -> Security:
    """Make a certificate for a cluster on this machine, or skip the test."""
    command = shutil.which("openssl")
    if command is None:
        pytest.skip("there is no openssl to make certificates with")
    key, certificate = str(folder / "key.pem"), str(folder / "certificate.pem")
    subprocess.run(
        [
            command, "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
            "-nodes", "-days", "1", "-subj", "/CN=localhost",
            "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", certificate,
        ],
        check=True, capture_output=True, timeout=60,
    )  # fmt: skip
    roles = ("client", "worker", "scheduler")
    named = {
        f"tls_{role}_{what}": file
        for role in roles
        for what, file in (("key", key), ("cert", certificate))
    }
    return Security(tls_ca_file=certificate, require_encryption=True, **named)


def spread_edges(edges: Edges, partitions: int = 3, *, weighted: bool = True) -> Any:
    """Return the edges as a Dask frame of so many partitions, some perhaps without rows."""
    frame = edge_frame(edges, weighted=weighted)
    size = max(1, -(-len(frame) // partitions))
    parts = [frame.iloc[at * size : (at + 1) * size] for at in range(partitions)]
    return dd.from_delayed([dask.delayed(part) for part in parts], meta=frame.iloc[:0])


def on_workers(edges: Edges, partitions: int = 3, *, weighted: bool = True, **options: Any) -> Any:
    """Build a graph of a shape on the current client's workers, isolated vertices included."""
    return ws.Graph(
        spread_edges(edges, partitions, weighted=weighted),
        weight="weight" if weighted and edges.weight is not None else None,
        directed=edges.directed,
        vertices=vertex_frame(edges),
        **options,
    )


def assert_same(found: Any, expected: pd.DataFrame, **tolerance: float) -> None:
    """Compare a Dask frame with a frame of one machine: the same rows in the same order."""
    rows = found.compute().reset_index(drop=True)
    exact = {"check_exact": True} if not tolerance else {"check_exact": False, **tolerance}
    pd.testing.assert_frame_equal(rows, expected, **exact)


def complaints(client: Client, about: str = "Compute Failed") -> list[str]:
    """Return what the workers' logs say of something: by default, pages about tasks that have failed."""
    logs = client.get_worker_logs()
    return [text for log in logs.values() for _, text in log if about in text]


def eventually(condition: Callable[[], Any], seconds: float = 60.0) -> None:
    """Wait until something is so; fail if it is not in time."""
    end = time.monotonic() + seconds
    pause = threading.Event()
    while not condition():
        assert time.monotonic() < end, f"not so within {seconds} s"
        pause.wait(0.05)
