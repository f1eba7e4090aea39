"""Two workers of different speed: on parts of one GPU, or on CPUs with different numbers of threads.

The parts of a GPU are those of CUDA's Multi-Process Service, which needs `nvidia-cuda-mps-control`.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bench.places import environment

__all__ = ["NoServiceError", "gpu_parts", "of_threads", "service"]

CONTROL = "nvidia-cuda-mps-control"
TRY = "import cupy; cupy.arange(9).sum().get()"
WAIT = 30.0  # seconds
QUIET = "DASK_LOGGING__DISTRIBUTED"


class NoServiceError(RuntimeError):
    """The Multi-Process Service cannot be used on this machine."""


@contextmanager
def service() -> Iterator[dict[str, str]]:
    """Start the Multi-Process Service before this process uses the GPU; yield the variables for its clients.

    Raises
    ------
    NoServiceError
        If it cannot be started; with the reason.
    """
    program = shutil.which(CONTROL)
    if program is None:
        raise NoServiceError(f"{CONTROL} is not installed")
    with tempfile.TemporaryDirectory() as folder:
        pipes, logs = Path(folder, "pipes"), Path(folder, "logs")
        pipes.mkdir(), logs.mkdir()
        variables = {"CUDA_MPS_PIPE_DIRECTORY": str(pipes), "CUDA_MPS_LOG_DIRECTORY": str(logs)}
        around = environment(**variables)
        begun = subprocess.run(
            [program, "-d"], check=False, env=around, capture_output=True, text=True, timeout=WAIT
        )
        if begun.returncode:
            raise NoServiceError(
                f"{CONTROL} -d has failed: {begun.stderr.strip() or begun.stdout.strip()}"
            )
        try:
            tried = subprocess.run(
                [sys.executable, "-c", TRY],
                check=False,
                env=around,
                capture_output=True,
                text=True,
                timeout=4 * WAIT,
            )
            if tried.returncode:
                why = (tried.stderr.strip().splitlines() or ["no message"])[-1]
                raise NoServiceError(f"a client of the service has failed: {why}")
            yield variables
        finally:
            subprocess.run(
                [program],
                check=False,
                input="quit\n",
                env=around,
                capture_output=True,
                text=True,
                timeout=WAIT,
            )


def gpu_parts(percents: Sequence[int], variables: Mapping[str, str]) -> Any:
    """Start a worker for each part of the first GPU, in percent; see `_started`."""
    # Workers appear to be on different hosts, since NCCL refuses two ranks on one GPU.
    shared = {"CUDA_VISIBLE_DEVICES": "0", "NCCL_SOCKET_IFNAME": "lo", **variables}
    return _started(
        [
            (
                1,
                {
                    **shared,
                    "NCCL_HOSTID": f"machine {place}",
                    "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE": str(one),
                },
            )
            for place, one in enumerate(percents)
        ]
    )


def of_threads(counts: Sequence[int]) -> Any:
    """Start a worker for each number of threads; see `_started`."""
    return _started([(one, {}) for one in counts])


@contextmanager
def _started(wanted: Sequence[tuple[int, Mapping[str, str]]]) -> Iterator[tuple[Any, list[str]]]:
    """Start workers with numbers of threads and variables; yield the client, and their addresses in order."""
    from distributed import Client, Nanny, Scheduler, SpecCluster

    specified = {
        name: {
            "cls": Nanny,
            "options": {
                "nthreads": threads,
                "env": environment(**{QUIET: "warning", **variables}),
            },
        }
        for name, (threads, variables) in enumerate(wanted)
    }
    scheduler = {"cls": Scheduler, "options": {"port": 0, "dashboard_address": "127.0.0.1:0"}}
    with (
        SpecCluster(workers=specified, scheduler=scheduler, silence_logs="WARNING") as cluster,
        Client(cluster) as client,
    ):
        client.wait_for_workers(len(specified))
        yield client, [cluster.workers[name].worker_address for name in specified]
