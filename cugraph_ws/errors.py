"""Every error that the library raises on purpose, and its warning.

Each message names the value, the column or argument it came from, and the remedy.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

__all__ = [
    "ConvergenceError",
    "CugraphWsError",
    "EngineError",
    "FileError",
    "GraphMemoryError",
    "GraphWarning",
    "InputError",
    "Interrupted",
    "ProgramError",
    "WorkerLostError",
]


class CugraphWsError(Exception):
    """Base class of the errors that cugraph_ws raises.

    Examples
    --------
    >>> import pandas as pd
    >>> import cugraph_ws as ws
    >>> edges = pd.DataFrame({"source": ["oslo"], "destination": ["rome"]})
    >>> try:
    ...     ws.bfs(edges, "Oslo")
    ... except ws.CugraphWsError as error:
    ...     print(error)
    start: 'Oslo' is not a vertex of the graph; did you mean 'oslo'?
    """

    on_all_ranks = False  # whether every rank of a call raises it, at the same place


class InputError(CugraphWsError, ValueError):
    """A frame, a column, an id or an argument that is invalid.

    Examples
    --------
    >>> import pandas as pd
    >>> import cugraph_ws as ws
    >>> ws.bfs(pd.DataFrame({"source": [1, 2], "destination": [2, 3]}), 1, depth_limit=-1)
    Traceback (most recent call last):
    cugraph_ws.errors.InputError: depth_limit=-1 must be a whole number, 0 or more
    """


class ProgramError(CugraphWsError, TypeError):
    """An invalid program; the message names the function and the line.

    Examples
    --------
    >>> import cugraph_ws as ws
    >>> @ws.vertex_program
    ... class Hops:
    ...     hops: ws.float64
    ...     combine = min
    ...     def init(own):
    ...         return 0.0
    ...     def compute(src):
    ...         return src.hops + 1.0
    Traceback (most recent call last):
    cugraph_ws.errors.ProgramError: Hops has no `apply`; define apply(old, gathered, p)
    """


class FileError(CugraphWsError, OSError):
    """A file that cannot be read in its format, or cannot be written.

    Examples
    --------
    >>> import cugraph_ws as ws
    >>> edges = ws.datasets.karate_club()
    >>> try:
    ...     result = ws.run(ws.PageRank, edges, resume="ranks.ckpt")
    ... except ws.FileError:
    ...     result = ws.run(ws.PageRank, edges)
    >>> result.converged
    True
    """


class EngineError(CugraphWsError, RuntimeError):
    """An engine that cannot run here: there is no GPU, or a required package is missing.

    Examples
    --------
    >>> import cugraph_ws as ws
    >>> try:
    ...     scan = ws.cluster_scan()
    ... except ws.EngineError as error:
    ...     print(str(error)[:32])
    a Dask frame needs a Dask client
    """


class WorkerLostError(CugraphWsError, RuntimeError):
    """A worker of a cluster is lost or does not reply; the message names it and its partitions.

    Examples
    --------
    A graph on a cluster is built again if a worker is lost:

    >>> import cugraph_ws as ws
    >>> def ranks(graph, again):
    ...     try:
    ...         return ws.pagerank(graph)
    ...     except ws.WorkerLostError:
    ...         return ws.pagerank(again())
    >>> graph = ws.Graph(ws.datasets.karate_club())
    >>> len(ranks(graph, lambda: ws.Graph(ws.datasets.karate_club())))
    34
    """


class GraphMemoryError(MemoryError, CugraphWsError):  # in this order a worker can pickle it
    """A graph that would not fit in memory (raised before the build), or a worker out of memory.

    Examples
    --------
    >>> import cugraph_ws as ws
    >>> edges = ws.datasets.karate_club()
    >>> try:
    ...     graph = ws.Graph(edges, memory_limit="1KB")
    ... except ws.GraphMemoryError as error:
    ...     graph = ws.Graph(edges, memory_limit="1MB", placement="disk")
    >>> graph.placement
    'disk'
    """


class GraphWarning(UserWarning):
    """A graph built as requested, but perhaps not as intended; the message names the remedy.

    Examples
    --------
    >>> import warnings
    >>> import pandas as pd
    >>> import cugraph_ws as ws
    >>> both_ways = pd.DataFrame({"source": [1, 2], "destination": [2, 1]})
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     graph = ws.Graph(both_ways, directed=False)
    >>> caught[0].category is ws.GraphWarning, graph.report.both_ways
    (True, 1)
    """


class PartialResult(Protocol):
    """What a run had reached when it ended early: a `Result`, which this file may not import."""

    arrays: Mapping[str, Any]
    iterations: int
    converged: bool
    residual: float
    stopped: Any

    @property
    def frame(self) -> Any:
        """The vertex frame."""

    @property
    def trace(self) -> Any:
        """One row per superstep."""


class _CarriesResult(BaseException):
    """Carries the state of a run that ended early, in `.result`."""

    result: PartialResult | None

    def __init__(self, message: str, result: PartialResult | None = None) -> None:
        super().__init__(message)
        self.result = result


class ConvergenceError(_CarriesResult, CugraphWsError, RuntimeError):
    """A run ended by `max_iter` or `timeout` before it converged; `.result` has the state so far.

    Examples
    --------
    >>> import cugraph_ws as ws
    >>> try:
    ...     ws.pagerank(ws.datasets.karate_club(), max_iter=2)
    ... except ws.ConvergenceError as error:
    ...     print(error.result.stopped, error.result.iterations, len(error.result.frame))
    max_iter 2 34
    """


class Interrupted(_CarriesResult, KeyboardInterrupt):
    """Ctrl-C during a run; `.result` has the state so far.

    Attributes
    ----------
    results : list of Result or None
        Of `run_many`, the results of the runs that had ended, and None for the others.

    Examples
    --------
    A callback may do what Ctrl-C does:

    >>> import cugraph_ws as ws
    >>> def stop(progress):
    ...     raise KeyboardInterrupt
    >>> try:
    ...     ws.run(ws.PageRank, ws.datasets.karate_club(), progress=stop)
    ... except ws.Interrupted as error:
    ...     print(error.result.stopped, error.result.iterations)
    interrupt 1
    """

    results: Sequence[PartialResult | None] = ()
