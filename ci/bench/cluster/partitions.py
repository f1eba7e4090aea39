"""Workers for all GPUs of this host, a graph on them, and the same edges on one GPU.

Every partition of an edge frame is drawn from its own seed by the worker that keeps it; nothing of a
graph's size goes through the client.  Weights are computed from an edge's ends, so that they are the
same on every worker.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Mapping, Sequence
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import cugraph_ws as ws
from bench.checkout import python_path
from bench.forms import Case
from bench.graphs import GENERATED, RMAT, DeviceArray, rmat
from cugraph_ws.runtime.device import device
from cugraph_ws.runtime.pools import driver_pool

PLACES = 4  # partitions of an edge frame for each worker
PERIOD = 97  # initial values repeat after so many ids
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


# ---------------------------------------------------------------------------------- on a worker


def draw_part(name: str, place: int, places: int) -> tuple[DeviceArray, DeviceArray]:
    """Draw one partition of a generated graph's edges, given its index and the number of partitions.

    Of an RMAT graph only this partition is drawn; of any other, which is small, the whole graph is.
    """
    if name in RMAT:
        n, m, corners = RMAT[name]
        return rmat(n, m * (place + 1) // places - m * place // places, corners, place + 1)
    source, destination = GENERATED[name][1]()
    m = len(source)
    part = slice(m * place // places, m * (place + 1) // places)
    return source[part].copy(), destination[part].copy()


def edge_weights(
    form: str, name: str, source: DeviceArray, destination: DeviceArray
) -> DeviceArray:
    """Return float32 weights of edges of a graph, as `Case.weights` describes them.

    Coefficients into a vertex sum to at most 0.9: in-degrees are not known where a partition is drawn, so
    they are divided by more than there are likely to be.
    """
    import cupy

    mixed = source.astype(cupy.uint32) * cupy.uint32(2_654_435_761)
    mixed += destination.astype(cupy.uint32) * cupy.uint32(2_246_822_519)
    mixed ^= mixed >> cupy.uint32(15)
    mixed *= cupy.uint32(2_221_713_035)
    drawn = ((mixed >> cupy.uint32(8)) % cupy.uint32(63) + cupy.uint32(1)).astype(cupy.float32)
    if form == "weighted":
        return drawn
    share = (0.9 / _most_in_degree(name, destination)).astype(cupy.float32)
    return share if form == "coefficients" else share * ((drawn - 32) / 32)


def _most_in_degree(name: str, destination: DeviceArray) -> DeviceArray:
    """Return for each edge an upper bound of the in-degree of its destination."""
    import cupy

    if name not in RMAT:
        return cupy.bincount(GENERATED[name][1]()[1])[destination]
    n, m, (a, _, c) = RMAT[name]
    expected = cupy.full(len(destination), 2.0 * m)  # twice: some draws were out of range
    for bit in range((n - 1).bit_length()):
        expected *= cupy.where((destination >> bit) & 1 > 0, 1.0 - a - c, a + c)
    return expected + 6.0 * cupy.sqrt(expected) + 16.0


def frame_of_part(name: str, place: int, places: int, form: str | None) -> Any:
    """Return a partition as a cuDF frame with the columns source, destination and maybe weight."""
    import cudf
    import cupy

    source, destination = draw_part(name, place, places)
    frame = cudf.DataFrame({"source": source, "destination": destination})
    if form is not None:
        frame["weight"] = edge_weights(form, name, source, destination)
    del source, destination
    cupy.get_default_memory_pool().free_all_blocks()  # memory used to draw
    return frame


def values_of(frame: Any, every: int) -> Any:
    """Return initial values of the vertices of a result frame whose ids are multiples of `every`."""
    ids = frame["vertex"][frame["vertex"] % every == 0].reset_index(drop=True)
    return ids.to_frame().assign(value=(ids % PERIOD + 1) / PERIOD)


def digest(frame: Any) -> list[float]:
    """Return a few sums that are equal, up to rounding, for equal result frames.

    They are of a frame with the column vertex, or of a partition of it, whose sums are added to the others'.

    Returns
    -------
    list of float
        The number of rows; and for each further column the number of finite values, the sum of their
        magnitudes, and that sum weighted by a number computed from the vertex.
    """
    import cupy

    sums = [float(len(frame))]
    factor = cupy.asarray(frame["vertex"].values) % PERIOD + 1
    for name in frame.columns:
        if name != "vertex":
            values = cupy.abs(cupy.asarray(frame[name].fillna(-1).values).astype("float64"))
            finite = cupy.isfinite(values)
            values = cupy.where(finite, values, 0.0)
            sums += [float(column.sum()) for column in (finite, values, values * factor)]
    return sums


def far(sums: Sequence[float], expected: Sequence[float]) -> float:
    """Return the largest relative difference of digests."""
    pairs = zip(sums, expected, strict=True)
    return max(abs(value - reference) / max(reference, 1e-30) for value, reference in pairs)


def forget_peak() -> None:
    """Start to record the peak memory taken on this process's GPU."""
    import cupy
    import rmm.statistics

    gc.collect()
    cupy.get_default_memory_pool().free_all_blocks()
    rmm.statistics.enable_statistics()
    rmm.statistics.push_statistics()


def peak() -> int:
    """Return the most bytes taken since `forget_peak`, besides those held then."""
    import rmm.statistics

    statistics = rmm.statistics.pop_statistics()
    return 0 if statistics is None else int(statistics.peak_bytes)


def give_back() -> None:
    """Return the memory kept by this process's pools to the driver: another process may need it."""
    import cupy

    gc.collect()
    device().trim(everything=True)
    cupy.get_default_memory_pool().free_all_blocks()
    if pool := driver_pool():
        device().synchronize()
        cupy.cuda.runtime.memPoolTrimTo(pool, 0)


# --------------------------------------------------------------------------------- on the client


class GatheredCase(Case):
    """The edges of all partitions, so many, of a generated graph, on one GPU."""

    def __init__(self, name: str, places: int) -> None:
        import cupy

        parts = [draw_part(name, place, places) for place in range(places)]
        source, destination = (cupy.concatenate(ends) for ends in zip(*parts, strict=True))
        del parts
        cupy.get_default_memory_pool().free_all_blocks()  # worker 0 is on this GPU too
        super().__init__(name, GENERATED[name][0], source, destination)

    def weights(self, form: str | None) -> DeviceArray | None:
        """Return float32 weights, the same as in the partitions."""
        return (
            None if form is None else edge_weights(form, self.name, self.source, self.destination)
        )

    def values(self, every: int = 1) -> Any:
        """Return a frame of initial values, of ids that are multiples of `every`."""
        if every not in self.arguments:
            ids = self.xp.flatnonzero(self.present).astype("int32")
            self.arguments[every] = values_of(self.frames.DataFrame({"vertex": ids}), every)
        return self.arguments[every]


class PartitionedGraph:
    """A generated graph on the workers of a cluster.

    Parameters
    ----------
    name : str
    client : Client
    workers : int, optional
        How many of them hold it, by default all.  The edges do not depend on it.
    links : {"auto", "nccl", "hub"}
        How their GPUs exchange; see `Graph`.
    spread : {"auto", "one", "parts"}
        How many of the workers hold it; see `Graph`.
    """

    def __init__(
        self,
        name: str,
        client: Any,
        workers: int | None = None,
        links: str = "auto",
        spread: str = "parts",
    ) -> None:
        self.name, self.client, self.links, self.spread = name, client, links, spread
        everyone = sorted(client.nthreads())
        self.addresses = everyone[:workers]
        self.workers = len(self.addresses)
        self.places = PLACES * len(everyone)
        self._edges: tuple[Any, Any] | None = None
        self._graph: tuple[Any, Any] | None = None
        self._values: dict[int, Any] = {}

    def submitted(self, function: Any, *arguments: Any) -> list[Any]:
        """Run a function of `name, place, places` and further arguments for each partition, where it is kept."""
        return [
            self.client.submit(
                function, self.name, place, self.places, *arguments, pure=False,
                workers=[self.addresses[place % self.workers]],
            )
            for place in range(self.places)
        ]  # fmt: skip

    def edges(self, form: str | None = None) -> Any:
        """Return the Dask frame of the edges, partitions drawn where they stay; only one is kept at a time."""
        if self._edges is None or self._edges[0] != form:
            import cudf

            self._edges = None
            columns = {
                "source": "int32", "destination": "int32", **({} if form is None else {"weight": "float32"}),
            }  # fmt: skip
            meta = cudf.DataFrame(
                {name: cudf.Series([], dtype=kind) for name, kind in columns.items()}
            )
            self._edges = form, dask_frame(self.client, self.submitted(frame_of_part, form), meta)
        return self._edges[1]

    def graph(self, form: str | None = None) -> Any:
        """Return this library's graph; only one is kept at a time."""
        if self._graph is None or self._graph[0] != form:
            self.release_graph()
            weight = None if form is None else "weight"
            self._graph = (
                form,
                ws.Graph(
                    self.edges(form),
                    weight=weight,
                    workers=self.addresses,
                    links=self.links,
                    spread=self.spread,
                ),
            )
        return self._graph[1]

    def values(self, every: int = 1) -> Any:
        """Return a Dask frame of initial values, of ids that are multiples of `every`; needs the graph."""
        if every not in self._values:
            assert self._graph is not None
            ranks = ws.run(ws.PageRank, self._graph[1], max_iter=1, tol=0.0).frame
            parts = [
                self.client.submit(values_of, part, every, pure=False)
                for part in self.client.compute(ranks.to_delayed())
            ]
            self._values[every] = dask_frame(self.client, parts, values_of(ranks._meta, every))
        return self._values[every]

    def digest(self, frame: Any) -> list[float]:
        """Return the digest of a Dask frame of results, taken where its partitions are."""
        parts = self.client.map(digest, self.client.compute(frame.to_delayed()), pure=False)
        return [sum(column) for column in zip(*self.client.gather(parts), strict=True)]

    def release_graph(self) -> None:
        """Close this library's graph."""
        if self._graph is not None:
            self._graph[1].close()
            self._graph = None

    def let_go(self) -> None:
        """Free the workers' memory."""
        self.release_graph()
        self._edges = None
        self._values.clear()


def dask_frame(client: Any, parts: Sequence[Any], meta: Any) -> Any:
    """Return a Dask frame of tasks' results, left on their workers; raise if a task failed."""
    import dask.dataframe as dd
    import dask_cudf  # noqa: F401 - lets Dask know cuDF's frames
    from distributed import wait

    with client.as_current():
        wait(parts)
    for part in parts:
        if part.status == "error":
            part.result()
    return dd.from_delayed(parts, meta=meta, verify_meta=False)
