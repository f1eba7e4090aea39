"""The memory available to this process, and errors if it is not enough."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import psutil

from cugraph_ws.errors import GraphMemoryError

__all__ = [
    "LIMIT",
    "available_memory",
    "check_room",
    "count_given_back",
    "format_bytes",
    "take_given_back",
]

LIMIT = "CUGRAPH_WS_MEMORY_LIMIT"  # the environment variable
_CGROUP = Path("/sys/fs/cgroup")


def available_memory() -> int:
    """Return the bytes available to this process: the least of the machine's, container's and set limit's.

    The environment variable `CUGRAPH_WS_MEMORY_LIMIT` sets a limit in bytes.
    """
    limits: list[int] = [psutil.virtual_memory().available]
    asked = os.environ.get(LIMIT, "")
    if asked.isdigit():
        limits.append(int(asked))
    try:
        allowed = (_CGROUP / "memory.max").read_text("utf-8").strip()
        if allowed.isdigit():
            limits.append(int(allowed) - int((_CGROUP / "memory.current").read_text("utf-8")))
    except (OSError, ValueError):
        pass  # no control group of this version, so no limit from it
    return max(0, min(limits))


_given_back = [0]  # bytes of GPU memory since a trace last asked
_one_at_a_time = threading.Lock()


def count_given_back(freed: int) -> None:
    """Count bytes of GPU memory that a graph gave back, for the trace of the run."""
    with _one_at_a_time:
        _given_back[0] += freed


def take_given_back() -> int:
    """Return the bytes that were counted since the last call."""
    with _one_at_a_time:
        freed, _given_back[0] = _given_back[0], 0
    return freed


def check_room(what: str, needed: float, available: int) -> None:
    """Raise GraphMemoryError if the rows of a file would not fit in memory.

    Parameters
    ----------
    what : str
        The file, for the message.
    needed : float
        Lower bound of the bytes of its rows.
    available : int
        Bytes available before reading.

    Raises
    ------
    GraphMemoryError
        Names both numbers and the remedies.
    """
    if needed > available:
        raise GraphMemoryError(
            f"{what}: its rows need {format_bytes(needed)} or more in memory and "
            f"{format_bytes(available)} are available; read it with Dask into a cluster, use a larger "
            f"machine, or raise {LIMIT} if that is what is set"
        )


def format_bytes(size: float) -> str:
    """Format a number of bytes with a unit, such as 1.5 MiB."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if size < 1024:
            return f"{size:.0f} B" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1024
    return f"{size:.1f} TiB"
