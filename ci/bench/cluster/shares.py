"""Time a superstep on two workers of different speed by the first one's share, and at the share by measured speed.

Hameed et al., "Towards efficient graph traversal using a multi-GPU cluster", IJACSA 8(6), 2017, sweep the split
between different GPUs in Figures 6 to 12.  Here the workers are two parts of one GPU (MPS limits), or have
different numbers of threads.  Edges join vertices with near numbers, so that computation takes most of the time,
not the exchange.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

import cugraph_ws as ws
from bench.cluster.unlike import NoServiceError, gpu_parts, of_threads, service
from bench.tables import Table

__all__ = ["Sweep", "banded_part", "main", "table_of"]

PLACES = 8  # partitions of the edge frame
BAND = 1000  # largest difference of the numbers of an edge's ends
DEGREE = 16
FIRST = 2  # supersteps of a run that do not count
ROUNDING = 1e-9  # allowed difference of ranks: workers add up sums in another order


def banded_part(place: int, vertices: int, *, on_gpu: bool) -> Any:
    """Return one partition of the edges: in-neighbours of a range of vertices, near each of them.

    Parameters
    ----------
    place : int
        Index of the partition, below `PLACES`.
    vertices : int
        Number of all vertices.
    on_gpu : bool
        Whether to return a cuDF frame instead of a pandas frame.

    Returns
    -------
    DataFrame
        With the columns source and destination.
    """
    if on_gpu:
        import cudf as frames
        import cupy as xp
    else:
        import pandas as frames

        xp = np
    low, high = vertices * place // PLACES, vertices * (place + 1) // PLACES
    destination = xp.repeat(xp.arange(low, high, dtype=xp.int32), DEGREE)
    offset = xp.random.RandomState(place).randint(1, BAND, len(destination)).astype(xp.int32)
    return frames.DataFrame(
        {"source": (destination + offset) % vertices, "destination": destination}
    )


class Sweep:
    """Times PageRank on two workers by their shares.

    Parameters
    ----------
    client : Client
    addresses : sequence of str
        The two workers.
    vertices : int
    on_gpu : bool
    repeats, supersteps : int
        Number of runs, and supersteps of a run.
    """

    def __init__(
        self,
        client: Any,
        addresses: Sequence[str],
        vertices: int,
        *,
        on_gpu: bool,
        repeats: int,
        supersteps: int,
    ) -> None:
        import dask.dataframe as dd

        self._client, self._addresses = client, list(addresses)
        self._on_gpu, self._repeats, self._supersteps = on_gpu, repeats, supersteps
        parts = [
            client.submit(
                banded_part,
                place,
                vertices,
                on_gpu=on_gpu,
                pure=False,
                workers=[addresses[place % 2]],
            )
            for place in range(PLACES)
        ]
        meta = client.submit(_empty, parts[0]).result()
        self._edges = dd.from_delayed(parts, meta=meta)
        self._expected: Any = None

    def measured(self) -> float:
        """Return the first worker's share by measured speed."""
        engine = "cuda" if self._on_gpu else "cpu"
        speeds = ws.cluster_scan(self._client, self._addresses, engine=engine).speeds
        return speeds[0] / sum(speeds)

    def milliseconds(self, share: float) -> float:
        """Return the median time of a superstep for a share of the first worker; check the result."""
        with ws.Graph(self._edges, workers=self._addresses, balance=[share, 1 - share]) as graph:
            times = []
            for _ in range(self._repeats):
                found = ws.run(ws.PageRank, graph, tol=0.0, max_iter=self._supersteps)
                times += list(found.rows.milliseconds[FIRST:])
            sums = found.frame.map_partitions(_sums, meta=_sums(found.frame._meta)).compute()
        digest = np.asarray(sums.to_pandas() if self._on_gpu else sums).reshape(-1, 2).sum(axis=0)
        if self._expected is None:
            self._expected = digest
        np.testing.assert_allclose(digest, self._expected, rtol=ROUNDING)
        return statistics.median(times)


def _empty(frame: Any) -> Any:
    return frame.iloc[:0]


def _sums(frame: Any) -> Any:
    """Return the sum of the ranks, and a weighted sum."""
    often = frame["vertex"] % 97 + 1
    one, other = frame["pagerank"].sum(), (frame["pagerank"] * often).sum()
    return type(frame)({"one": [float(one)], "other": [float(other)]})


def table_of(title: str, times: dict[float, float], measured: float, there: float) -> Table:
    """Return a table of the sweep, and of the share by measured speed.

    Parameters
    ----------
    title : str
    times : dict of float to float
        Milliseconds of a superstep by share of the first worker.
    measured, there : float
        The share by measured speed, and the time with it.
    """
    best = min(times, key=lambda share: times[share])
    rows = [
        [f"{share:.0%}", f"{took:.3g}", f"{took / times[best]:.2f}"]
        for share, took in times.items()
    ]
    rows.append([f"measured: {measured:.0%}", f"{there:.3g}", f"{there / times[best]:.2f}"])
    return Table(title, ["share of the first", "ms a superstep", "÷ least"], rows)


def main(arguments: Sequence[str] | None = None) -> int:
    """Sweep the first worker's share, and print the table; return 1 if MPS is needed and missing."""
    parser = argparse.ArgumentParser(prog="bench shares", description=__doc__)
    where = parser.add_mutually_exclusive_group(required=True)
    where.add_argument(
        "--percent", type=int, nargs=2, metavar="PART", help="parts of the first GPU, in percent"
    )
    where.add_argument("--threads", type=int, nargs=2, help="threads of two workers on CPUs")
    parser.add_argument(
        "--shares", type=int, nargs="+", default=list(range(10, 100, 10)), help="in percent"
    )
    parser.add_argument(
        "--scale",
        type=int,
        help="log2 of the number of vertices; by default 24 on a GPU, else 20",
    )
    parser.add_argument("--repeats", type=int, default=3, help="runs with each share")
    parser.add_argument("--supersteps", type=int, default=12, help="of a run")
    given = parser.parse_args(arguments)
    on_gpu = given.percent is not None
    vertices = 1 << (given.scale or (24 if on_gpu else 20))
    settings = {"on_gpu": on_gpu, "repeats": given.repeats, "supersteps": given.supersteps}
    sweep = partial(_sweep, vertices=vertices, shares=given.shares, **settings)
    if not on_gpu:
        with of_threads(given.threads) as started:
            print(
                sweep(
                    *started, title=f"PageRank, {given.threads[0]} and {given.threads[1]} threads"
                ).plain()
            )
        return 0
    try:
        with service() as variables, gpu_parts(given.percent, variables) as started:
            title = f"PageRank, {given.percent[0]} % and {given.percent[1]} % of one GPU (MPS)"
            print(sweep(*started, title=title).plain())
    except NoServiceError as error:
        print(f"no parts of a GPU: {error}")
        return 1
    return 0


def _sweep(
    client: Any,
    addresses: list[str],
    *,
    title: str,
    vertices: int,
    shares: Sequence[int],
    **settings: Any,
) -> Table:
    """Measure all shares, and the share by measured speed."""
    work = Sweep(client, addresses, vertices, **settings)
    work.milliseconds(0.5)  # compiles, and connects the workers
    times = {share / 100: work.milliseconds(share / 100) for share in shares}
    measured = work.measured()
    return table_of(f"{title}, {vertices:,} vertices", times, measured, work.milliseconds(measured))
