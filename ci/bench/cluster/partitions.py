"""A graph on all GPUs of this host, and the same edges on one of them.

Every partition of an edge frame is drawn from its own seed by the worker that keeps it; nothing of a
graph's size goes through the client.  Weights are computed from an edge's ends, so that they are the
same on every worker.
"""

from __future__ import annotations

import gc
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import cugraph_ws as ws
from bench.gpu.cases import Case
from bench.graphs import GENERATED, RMAT, DeviceArray, Weights, rmat
from cugraph_ws.runtime.device import device
from cugraph_ws.runtime.pools import driver_pool

__all__ = [
    "GatheredCase",
    "PartitionedGraph",
    "Setup",
    "digest",
    "draw_part",
    "edge_weights",
    "forget_peak",
    "frame_of_part",
    "give_back",
    "off_by",
    "peak",
    "values_of",
]

PLACES = 4  # partitions of an edge frame for each worker
PERIOD = 97  # initial values repeat after so many ids


# ---------------------------------------------------------------------------------- on a worker


def draw_part(name: str, place: int, places: int) -> tuple[DeviceArray, DeviceArray]:
    """Draw one partition of a graph's edges.

    Parameters
    ----------
    name : str
        A generated graph.  Of an RMAT graph only this partition is drawn; of any other, which is small,
        the whole graph is.
    place, places : int
        Index of the partition, and number of partitions.
    """
    if name in RMAT:
        n, m, corners = RMAT[name]
        return rmat(n, m * (place + 1) // places - m * place // places, corners, place + 1)
    source, destination = GENERATED[name][1]()
    m = len(source)
    own = slice(m * place // places, m * (place + 1) // places)
    return source[own].copy(), destination[own].copy()


def edge_weights(
    kind: Weights, name: str, source: DeviceArray, destination: DeviceArray
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
    if kind == "lengths":
        return drawn
    share = (0.9 / _most_in_degree(name, destination)).astype(cupy.float32)
    return share if kind == "coefficients" else share * ((drawn - 32) / 32)


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


def frame_of_part(name: str, place: int, places: int, kind: Weights | None) -> Any:
    """Return a partition as a cuDF frame with the columns source, destination and maybe weight."""
    import cudf
    import cupy

    source, destination = draw_part(name, place, places)
    frame = cudf.DataFrame({"source": source, "destination": destination})
    if kind is not None:
        frame["weight"] = edge_weights(kind, name, source, destination)
    del source, destination
    cupy.get_default_memory_pool().free_all_blocks()  # memory used to draw
    return frame


def values_of(frame: Any, every: int) -> Any:
    """Return initial values of the vertices of a result frame whose ids are multiples of `every`."""
    ids = frame["vertex"][frame["vertex"] % every == 0].reset_index(drop=True)
    return ids.to_frame().assign(value=(ids % PERIOD + 1) / PERIOD)


def off_by(found: Any, expected: Any, bound: float = 1e-5) -> float:
    """Compare two result frames, integers exactly; return the largest relative difference of floats.

    Parameters
    ----------
    found, expected : DataFrame
    bound : float
        Largest difference of floats, relative to the greatest value of their column.
    """
    import cupy

    assert list(found.columns) == list(expected.columns), f"{list(found.columns)}"
    assert len(found) == len(expected), f"{len(found)} rows, not {len(expected)}"
    off = 0.0
    for name in expected.columns:
        one, other = (cupy.asarray(frame[name].fillna(-1).values) for frame in (found, expected))
        if other.dtype.kind != "f":
            assert bool((one == other).all()), f"{name} differs"
            continue
        finite = cupy.isfinite(other)
        assert bool((cupy.isfinite(one) == finite).all()), f"{name} is infinite elsewhere"
        if not bool(finite.any()):
            continue
        one, other = one[finite], other[finite]
        scale = float(cupy.abs(other).max()) or 1.0
        off = max(off, float(cupy.abs(one - other).max()) / scale)
        assert off <= bound, f"{name} is off by {off:.3g} of the greatest value, above {bound:g}"
    return off


def digest(frame: Any) -> list[float]:
    """Return a few sums that are equal, up to rounding, for equal result frames.

    Parameters
    ----------
    frame : DataFrame
        With the column vertex; or a partition of one, whose sums are added to the others'.

    Returns
    -------
    list of float
        The number of rows; and for each further column the number of finite values, the sum of their
        magnitudes, and that sum weighted by a number computed from the vertex.
    """
    import cupy

    found = [float(len(frame))]
    often = cupy.asarray(frame["vertex"].values) % PERIOD + 1
    for name in frame.columns:
        if name != "vertex":
            values = cupy.abs(cupy.asarray(frame[name].fillna(-1).values).astype("float64"))
            finite = cupy.isfinite(values)
            values = cupy.where(finite, values, 0.0)
            found += [float(one.sum()) for one in (finite, values, values * often)]
    return found


def forget_peak() -> None:
    """Start to record the peak memory taken on this process's GPU."""
    import cupy
    import rmm.statistics

    gc.collect()
    cupy.get_default_memory_pool().free_all_blocks()
    rmm.statistics.enable_statistics()
    rmm.statistics.push_statistics()


def give_back() -> None:
    """Return the memory kept by this process's pools to the driver: another process may need it."""
    import cupy

    gc.collect()
    device().trim(everything=True)
    cupy.get_default_memory_pool().free_all_blocks()
    if pool := driver_pool():
        device().synchronize()
        cupy.cuda.runtime.memPoolTrimTo(pool, 0)


def peak() -> int:
    """Return the most bytes taken since `forget_peak`, besides those held then."""
    import rmm.statistics

    taken = rmm.statistics.pop_statistics()
    return 0 if taken is None else int(taken.peak_bytes)


# --------------------------------------------------------------------------------- on the client


class GatheredCase(Case):
    """The edges of all partitions on one GPU.

    Parameters
    ----------
    name : str
    places : int
        Number of partitions.
    """

    def __init__(self, name: str, places: int) -> None:
        import cupy

        parts = [draw_part(name, place, places) for place in range(places)]
        source, destination = (cupy.concatenate(some) for some in zip(*parts, strict=True))
        del parts
        cupy.get_default_memory_pool().free_all_blocks()  # worker 0 is on this GPU too
        super().__init__(name, GENERATED[name][0], source, destination)
        self._values: dict[int, Any] = {}

    def weights(self, kind: Weights) -> DeviceArray:
        """Return float32 weights, the same as in the partitions."""
        return edge_weights(kind, self.name, self.source, self.destination)

    def values(self, every: int = 1) -> Any:
        """Return a frame of initial values, of ids that are multiples of `every`."""
        if every not in self._values:
            import cudf
            import cupy

            ids = cupy.flatnonzero(self.present).astype(cupy.int32)
            self._values[every] = values_of(cudf.DataFrame({"vertex": ids}), every)
        return self._values[every]


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
    """

    def __init__(
        self, name: str, client: Any, workers: int | None = None, links: str = "auto"
    ) -> None:
        self.name = name
        self.client = client
        self.links = links
        everyone = sorted(client.nthreads())
        self.addresses = everyone[:workers]
        self.places = PLACES * len(everyone)
        self._edges: tuple[Any, Any] | None = None
        self._graph: tuple[Any, Any] | None = None
        self._values: dict[int, Any] = {}

    @property
    def workers(self) -> int:
        """Number of GPUs."""
        return len(self.addresses)

    def edges(self, kind: Weights | None = None) -> Any:
        """Return the Dask frame of the edges, partitions drawn where they stay."""
        if self._edges is None or self._edges[0] != kind:
            self._edges = None
            self._edges = kind, self._frame(kind)
        return self._edges[1]

    def _frame(self, kind: Weights | None) -> Any:
        import cudf
        import cupy

        parts = [
            self.client.submit(
                frame_of_part, self.name, place, self.places, kind, pure=False,
                workers=[self.addresses[place % self.workers]],
            )
            for place in range(self.places)
        ]  # fmt: skip
        meta = cudf.DataFrame(
            {"source": cupy.empty(0, "int32"), "destination": cupy.empty(0, "int32")}
        )
        if kind is not None:
            meta["weight"] = cupy.empty(0, "float32")
        return dask_frame(self.client, parts, meta)

    def graph(self, kind: Weights | None = None) -> Any:
        """Return this library's graph; only one is kept at a time."""
        if self._graph is None or self._graph[0] != kind:
            self.let_go_of_graph()
            weight = None if kind is None else "weight"
            self._graph = (
                kind,
                ws.Graph(self.edges(kind), weight=weight, workers=self.addresses, links=self.links),
            )
        return self._graph[1]

    def values(self, every: int = 1) -> Any:
        """Return a Dask frame of initial values, of ids that are multiples of `every`; needs the graph."""
        if every not in self._values:
            assert self._graph is not None
            found = ws.run(ws.PageRank, self._graph[1], max_iter=1, tol=0.0).frame
            parts = [
                self.client.submit(values_of, part, every, pure=False)
                for part in self.client.compute(found.to_delayed())
            ]
            meta = values_of(found._meta, every)
            self._values[every] = dask_frame(self.client, parts, meta)
        return self._values[every]

    def off_by(self, found: Any, expected: Any) -> float:
        """Compare two Dask frames of results partition by partition, where they are."""
        pairs = [self.client.compute(frame.to_delayed()) for frame in (found, expected)]
        return float(max(self.client.gather(self.client.map(off_by, *pairs, pure=False))))

    def digest(self, frame: Any) -> list[float]:
        """Return the digest of a Dask frame of results, taken where its partitions are."""
        parts = self.client.map(digest, self.client.compute(frame.to_delayed()), pure=False)
        return [sum(one) for one in zip(*self.client.gather(parts), strict=True)]

    def peaks(self) -> list[int]:
        """Return each worker's peak since `forget_peak` ran on them."""
        found = self.client.run(peak)
        return [found[address] for address in self.addresses]

    def let_go_of_graph(self) -> None:
        """Close this library's graph."""
        if self._graph is not None:
            self._graph[1].close()
            self._graph = None

    def let_go(self) -> None:
        """Free the workers' memory."""
        self.let_go_of_graph()
        self._edges = None
        self._values.clear()


@dataclass
class Setup:
    """A graph on the workers, and the same edges on one GPU.

    Attributes
    ----------
    several : PartitionedGraph
    case : GatheredCase
    alone : bool
        Whether the work also runs on one GPU.
    hub : bool
        Whether GPUs reach each other through the host only.
    """

    several: PartitionedGraph
    case: GatheredCase
    alone: bool = True
    hub: bool = False

    def let_go(self) -> None:
        """Free all memory."""
        self.several.let_go()
        self.case.let_go()


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
