"""`cluster_scan`: describes a cluster, measures its speed, and proposes how to use it."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from cugraph_ws.arguments import check_choice
from cugraph_ws.dask.local import need_dask
from cugraph_ws.runtime.memory import format_bytes

if TYPE_CHECKING:
    from distributed import Client

    from cugraph_ws.execution.options import Engine

__all__ = ["ClusterScan", "cluster_scan"]

CRAWLS = 1 / 16  # fraction of the fastest worker's speed below which a worker does not help
ROOM = 2.0  # a worker's weight is at most so many times its fraction of the memory
Row = Mapping[str, Any]


@dataclass(frozen=True)
class ClusterScan:
    """Result of `cluster_scan`; `str()` of it is readable.

    Attributes
    ----------
    workers : DataFrame or list of dict
        A row for each worker: `worker` (address), `node` (host), `threads`, `memory_limit` and
        `memory_free` (bytes, of its process), `gpu` (name, None without one), `gpu_memory`
        (bytes), `capability`, `multiprocessors`, `engine` (the measured one), `arcs_per_second` in
        supersteps, `speed` (relative, mean 1) and `weight` (in the proposal, 0 if not in it).  A list
        if pandas is not installed.
    links : DataFrame or list of dict
        A row for every two workers: `first`, `second` (addresses), `between` ("same process",
        "same host" or "network"), `gpu_link` between their GPUs ("NVLink, 18 lanes", "PCIe (PHB)", or
        "" if unknown), `carrier` of what they send in runs, where all were measured on GPUs: "peer" (GPUs
        that address each other), "NCCL", "host memory" or "network" (through pinned memory and TCP),
        else "Dask" (its connections), `bytes_per_second` in each direction while both send, and `latency`
        (seconds until both have received the other's message).
    speeds : list of float
        Relative speeds, mean 1, in the order of `workers`.
    proposal : dict
        `workers` and `balance`, as `Graph` takes them.

    Examples
    --------
    >>> import cugraph_ws as ws
    >>> with ws.local_cluster(2) as client:
    ...     scan = ws.cluster_scan(engine="cpu")
    >>> len(scan.workers), list(scan.links["between"]), sorted(scan.proposal)
    (2, ['same host'], ['balance', 'workers'])
    """

    workers: Any = field(repr=False)
    links: Any = field(repr=False)
    speeds: list[float]
    proposal: dict[str, Any]

    def __str__(self) -> str:
        workers, links = _rows(self.workers), _rows(self.links)
        nodes = len({row["node"] for row in workers})
        lines = [f"{_count(len(workers), 'worker')} on {_count(nodes, 'node')}"]
        for row in workers:
            memory = f"{format_bytes(row['memory_free'])} of {format_bytes(row['memory_limit'])}"
            gpu = f", {row['gpu']} ({row['engine']})" if isinstance(row["gpu"], str) else ""
            lines.append(
                f"  {row['worker']} on {row['node']}: {_count(row['threads'], 'thread')}, {memory} "
                f"free{gpu}, {row['arcs_per_second'] / 1e6:,.0f} M arcs/s, speed {row['speed']:.2f}"
            )
        kinds = [(row["between"], row["gpu_link"], f"over {row['carrier']}") for row in links]
        for between in dict.fromkeys(kinds):
            alike = [row for row, kind in zip(links, kinds, strict=True) if kind == between]
            rates = [row["bytes_per_second"] for row in alike]
            waits = [1e6 * row["latency"] for row in alike]
            lines.append(
                f"  {_count(len(alike), 'link')}, {', '.join(filter(None, between))}: "
                f"{format_bytes(min(rates))}/s to {format_bytes(max(rates))}/s, "
                f"{min(waits):,.0f} to {max(waits):,.0f} µs"
            )
        weights = ", ".join(f"{weight:.2f}" for weight in self.proposal["balance"])
        used = _count(len(self.proposal["workers"]), "worker")
        return "\n".join([*lines, f"proposed: {used}, balance {weights}"])


def cluster_scan(
    client: Client | None = None,
    workers: Sequence[str] | None = None,
    *,
    engine: Engine = "auto",
) -> ClusterScan:
    """Describe a cluster, measure it, and propose how to use it.

    First each pair of workers exchanges a few messages, over connections that runs use too.  Then
    all workers compute supersteps of PageRank on a small generated graph, for half a second, at the
    same time.

    Parameters
    ----------
    client : Client, optional
        The current one if not given.
    workers : sequence of str, optional
        Addresses of the workers to measure; all if not given.
    engine : {"auto", "cpu", "cuda"}
        The engine whose supersteps are measured.  "auto" is "cuda" on workers with a GPU that no other
        worker uses, else "cpu".  Workers that share a GPU (MPS) are measured on it with "cuda".

    Returns
    -------
    ClusterScan
        The proposal leaves out workers without a GPU if others have one, and workers with less
        than a sixteenth of the fastest one's speed.  Weights are in proportion to speed.  No weight is
        more than twice the worker's fraction of the memory, so a graph of half of all memory fits.

    Raises
    ------
    EngineError
        If Dask is not installed, there is no client, a worker is not in the cluster, or a worker has
        no GPU to be measured with "cuda".
    InputError
        If there is no such engine.
    WorkerLostError
        If a worker is lost during the measurement.

    References
    ----------
    Hameed et al., "Towards efficient graph traversal using a multi-GPU cluster", IJACSA 8(6), 2017:
    ClustScan and SetConfigs.

    Examples
    --------
    >>> import cugraph_ws as ws
    >>> import dask.dataframe as dd
    >>> edges = dd.from_pandas(ws.datasets.karate_club(), npartitions=2)
    >>> with ws.local_cluster(2) as client:
    ...     graph = ws.Graph(edges, **ws.cluster_scan(engine="cpu").proposal)
    ...     ranks = ws.pagerank(graph).compute()
    >>> len(ranks)
    34
    """
    check_choice("engine", engine, ("auto", "cpu", "cuda"))
    need_dask()
    from cugraph_ws.dask.client import current_client, run_on_ranks, workers_of
    from cugraph_ws.dask.rank_probe import probe_rank

    client = current_client() if client is None else client
    addresses = workers_of(client, workers)
    futures = run_on_ranks(
        client,
        addresses,
        probe_rank,
        [(engine,)] * len(addresses),
        "cluster_scan",
        ["its measurements"] * len(addresses),
    )
    try:
        measurements: list[dict[str, Any]] = client.gather(futures)
    finally:
        for future in futures:
            future.release()
    return assess(addresses, measurements)


def assess(addresses: Sequence[str], measurements: Sequence[Row]) -> ClusterScan:
    """Combine the measurements of all workers.

    Parameters
    ----------
    addresses : sequence of str
        The workers, by rank.
    measurements : sequence of mapping
        The results of `probe_rank`, by rank.

    Returns
    -------
    ClusterScan
    """
    rates = [measurement["arcs_per_second"] for measurement in measurements]
    speeds = [rate * len(rates) / sum(rates) for rate in rates]
    gpus = any(measurement["engine"] == "cuda" for measurement in measurements)
    able = [
        rank
        for rank, measurement in enumerate(measurements)
        if measurement["engine"] == ("cuda" if gpus else "cpu")
    ]
    fastest = max(speeds[rank] for rank in able)
    used = [rank for rank in able if speeds[rank] >= CRAWLS * fastest]
    memory = [_memory(measurements[rank]) for rank in used]
    weights = dict(zip(used, bounded([speeds[rank] for rank in used], memory), strict=True))
    names = _names([measurement["facts"]["node"] for measurement in measurements])
    rows = [
        {
            "worker": address,
            "node": names[measurement["facts"]["node"]],
            **{
                name: measurement["facts"][name]
                for name in ("threads", "memory_limit", "memory_free")
            },
            **_gpu(measurement["facts"]["gpu"]),
            "engine": measurement["engine"],
            "arcs_per_second": measurement["arcs_per_second"],
            "speed": speeds[rank],
            "weight": weights.get(rank, 0.0),
        }
        for rank, (address, measurement) in enumerate(zip(addresses, measurements, strict=True))
    ]
    links = [
        {
            "first": addresses[first],
            "second": addresses[second],
            "between": _between(measurements[first]["facts"], measurements[second]["facts"]),
            "gpu_link": _gpu_link(measurements[first], measurements[second]),
            "carrier": (measurements[first]["carriers"] or {second: "Dask"})[second],
            # Both ends measure the link; the worse value counts, since the better one may be chance.
            "bytes_per_second": min(
                measurements[first]["links"][second][0], measurements[second]["links"][first][0]
            ),
            "latency": max(
                measurements[first]["links"][second][1], measurements[second]["links"][first][1]
            ),
        }
        for second in range(len(measurements))
        for first in range(second)
    ]
    return ClusterScan(
        workers=_frame(rows),
        links=_frame(links),
        speeds=speeds,
        proposal={
            "workers": [addresses[rank] for rank in used],
            "balance": [weights[rank] for rank in used],
        },
    )


def bounded(speeds: Sequence[float], memory: Sequence[float]) -> list[float]:
    """Return weights in proportion to speed, bounded by memory.

    Parameters
    ----------
    speeds : sequence of float
        Relative speeds, above 0.
    memory : sequence of float
        Bytes, at least one of them above 0.

    Returns
    -------
    list of float
        Mean 1, each above 0.  The excess of a bounded weight is divided among the others in
        proportion to their speed.
    """
    size = len(speeds)
    total_memory = sum(memory)
    most = [
        max(ROOM * size * own_memory / total_memory, 1e-3) if total_memory else float(size)
        for own_memory in memory
    ]
    weights = [0.0] * size
    free = list(range(size))
    remaining = float(size)
    while free:
        share = remaining / sum(speeds[rank] for rank in free)
        full = [rank for rank in free if speeds[rank] * share > most[rank]]
        for rank in full or free:
            weights[rank] = most[rank] if full else speeds[rank] * share
            remaining -= weights[rank]
        free = [rank for rank in free if rank not in full] if full else []
    return weights


def _memory(measurement: Row) -> int:
    """Return the bytes that a worker's shard of a graph may take."""
    if measurement["engine"] == "cuda":
        return int(measurement["facts"]["gpu"]["memory"])
    return int(measurement["facts"]["memory_free"])


def _names(nodes: Sequence[Any]) -> dict[Any, str]:
    """Name nodes by their hosts' names; nodes of the same name are numbered."""
    known: dict[str, list[Any]] = {}
    for node in dict.fromkeys(nodes):
        known.setdefault(node[0], []).append(node)
    return {
        node: name if len(alike) == 1 else f"{name} ({place})"
        for name, alike in known.items()
        for place, node in enumerate(alike, start=1)
    }


def _gpu(gpu: Row | None) -> dict[str, Any]:
    if gpu is None:
        return dict.fromkeys(("gpu", "gpu_memory", "capability", "multiprocessors"))
    return {
        "gpu": gpu["name"],
        "gpu_memory": gpu["memory"],
        "capability": ".".join(map(str, gpu["capability"])),
        "multiprocessors": gpu["multiprocessors"],
    }


def _between(first: Row, second: Row) -> str:
    if first["node"] != second["node"]:
        return "network"
    return "same process" if first["process"] == second["process"] else "same host"


def _gpu_link(first: Row, second: Row) -> str:
    if first["engine"] != "cuda" or second["engine"] != "cuda":
        return ""
    return str(first["gpu_links"].get(second["facts"]["gpu"]["uuid"], ""))


def _frame(rows: list[dict[str, Any]]) -> Any:
    if importlib.util.find_spec("pandas") is None:
        return rows
    import pandas as pd

    return pd.DataFrame(rows)


def _rows(frame: Any) -> list[dict[str, Any]]:
    return frame if isinstance(frame, list) else frame.to_dict("records")


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}s"
