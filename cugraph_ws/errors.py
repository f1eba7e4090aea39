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
    """Base class of the errors that cugraph_ws raises."""

    on_all_ranks = False  # whether every rank of a call raises it, at the same place


class InputError(CugraphWsError, ValueError):
    """A frame, a column, an id or an argument that is invalid."""


class ProgramError(CugraphWsError, TypeError):
    """An invalid program; the message names the function and the line."""


class FileError(CugraphWsError, OSError):
    """A file that cannot be read in its format, or cannot be written."""


class EngineError(CugraphWsError, RuntimeError):
    """An engine that cannot run here: there is no GPU, or a required package is missing."""


class WorkerLostError(CugraphWsError, RuntimeError):
    """A worker of a cluster is lost or does not reply; the message names it and its partitions."""


class GraphMemoryError(MemoryError, CugraphWsError):  # in this order a worker can pickle it
    """A graph that would not fit in memory (raised before the build), or a worker out of memory."""


class GraphWarning(UserWarning):
    """A graph built as requested, but perhaps not as intended; the message names the remedy."""


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
    """A run ended by `max_iter` or `timeout` before it converged; `.result` has the state so far."""


class Interrupted(_CarriesResult, KeyboardInterrupt):
    """Ctrl-C during a run; `.result` has the state so far.

    Attributes
    ----------
    results : list of Result or None
        Of `run_many`, the results of the runs that had ended, and None for the others.
    """

    results: Sequence[PartialResult | None] = ()
