"""A cluster on this machine: for a first try, and for one machine with several GPUs."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from cugraph_ws.arguments import check_count
from cugraph_ws.errors import EngineError
from cugraph_ws.runtime.extras import install_command

if TYPE_CHECKING:
    from distributed import Client

__all__ = ["local_cluster", "need_dask"]

# Workers ignore a terminal's Ctrl-C: the client's process handles it, and workers end with that process.
DEAF = "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)"


def need_dask(*packages: str) -> None:
    """Raise an error if Dask is not installed.

    Parameters
    ----------
    *packages : str
        Further packages of the same extra that are needed.

    Raises
    ------
    EngineError
        If Dask or one of `packages` is missing.
    """
    if any(importlib.util.find_spec(name) is None for name in ("dask", "distributed", *packages)):
        raise EngineError(f"Dask is not installed: {install_command('dask')}")


@contextmanager
def local_cluster(workers: int | None = None, **options: Any) -> Iterator[Client]:
    """Start Dask workers on this machine: one for each GPU, or without GPUs one for each core.

    Parameters
    ----------
    workers : int, optional
        The number of workers; if not given, the number of GPUs or cores.
    **options : Any
        Further options of `dask_cuda.LocalCUDACluster` or `distributed.LocalCluster`.  Without an
        option that begins with `rmm_`, workers with GPUs and RMM allocate from the driver's memory
        pool (`rmm_async=True`) if all GPUs have one, instead of calling the driver for each array.

    Yields
    ------
    Client
        The current client until the `with` block ends; the workers end then too.

    Raises
    ------
    EngineError
        If Dask is not installed.

    Examples
    --------
    >>> import cugraph_ws as ws
    >>> import dask.dataframe as dd
    >>> edges = dd.from_pandas(ws.datasets.karate_club(), npartitions=2)
    >>> with ws.local_cluster(2) as client:
    ...     ranks = ws.pagerank(edges).compute()
    >>> len(ranks)
    34
    """
    need_dask()
    from distributed import Client, LocalCluster

    from cugraph_ws.runtime.device import has_device
    from cugraph_ws.runtime.driver import installed_gpus

    if workers is not None:
        check_count("workers", workers, least=1)
    options.setdefault("dashboard_address", "127.0.0.1:0")  # a free port
    if has_device() and importlib.util.find_spec("dask_cuda") is not None:
        from dask_cuda import LocalCUDACluster

        asked = any(name.startswith("rmm_") for name in options)
        if not asked and importlib.util.find_spec("rmm") is not None:
            options["rmm_async"] = all(gpu.pools for gpu in installed_gpus())
        started = LocalCUDACluster(n_workers=workers, **options)
    else:
        options.setdefault("threads_per_worker", 1)  # so that there is a worker for each core
        options.setdefault("preload", [DEAF])
        started = LocalCluster(n_workers=workers, processes=True, **options)
    with started as cluster, Client(cluster) as client:
        yield client
