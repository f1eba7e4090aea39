"""Where a graph's arcs are: where it computes, in the host's memory, or in files that are mapped into it."""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from typing import Any, Literal, TypeVar, get_args

import pyarrow as pa

from cugraph_ws.arguments import check_choice, check_count, shown
from cugraph_ws.errors import EngineError, GraphMemoryError, InputError
from cugraph_ws.frames.base import is_cudf_frame
from cugraph_ws.frames.spooled import Rows, rows_of, spooled
from cugraph_ws.runtime.device import has_device
from cugraph_ws.runtime.mapped_files import FileFolder
from cugraph_ws.runtime.memory import available_memory, format_bytes

__all__ = ["WHOLE", "Placement", "PlacementName", "bytes_of"]

LOG = logging.getLogger("cugraph_ws")

PlacementName = Literal["memory", "auto", "device", "host", "disk"]
WHOLE = ("memory", "device")  # a GPU that computes has the whole graph in its memory
Built = TypeVar("Built")
UNITS = {
    f"{prefix}{infix}B": base**power
    for infix, base in (("", 1000), ("i", 1024))
    for power, prefix in enumerate(("K", "M", "G", "T"), 1)
} | {"B": 1}
SHARE = 2  # rows of a stream stay in memory up to one in so many bytes of the limit


def bytes_of(argument: str, size: Any) -> int:
    """Return a number of bytes that is given as a number, or as text such as "2GB".

    Raises
    ------
    InputError
    """
    match = (
        re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]?i?B)\s*", size)
        if isinstance(size, str)
        else None
    )
    if match is not None and match[2] in UNITS:
        size = int(float(match[1]) * UNITS[match[2]])
    elif isinstance(size, str):
        raise InputError(f"{argument}={shown(size)}: give bytes, or text such as '2GB' or '512MiB'")
    check_count(argument, size, 1)
    return int(size)


class Placement:
    """Where arcs are placed, and how much memory a build and runs may take.

    Parameters
    ----------
    name : {"memory", "auto", "device", "host", "disk"}
    memory_limit : int, str or None
    folder : path-like or None
        See `Graph`.

    Attributes
    ----------
    limit : int or None
        In bytes, if it was given.
    room : int
        Bytes that a build may take.
    """

    def __init__(self, name: str, memory_limit: Any, folder: Any) -> None:
        check_choice("placement", name, get_args(PlacementName))
        has_files = name in ("auto", "disk")
        if not has_files and folder is not None:
            raise InputError("folder= is for placement='disk' or 'auto'; leave it out")
        if name == "device" and not has_device():
            raise EngineError(
                "placement='device' needs an NVIDIA GPU and its driver, and there is none here; leave it out"
            )
        if not isinstance(folder, (str, os.PathLike, type(None))):
            raise InputError(f"folder={shown(folder)}: give the path of a folder")
        self._name = name
        self.limit = None if memory_limit is None else bytes_of("memory_limit", memory_limit)
        available = available_memory()
        self.room = available if self.limit is None else min(self.limit, available)
        self._folder = FileFolder(folder) if has_files else None

    @classmethod
    def of(cls, name: str, memory_limit: Any, folder: Any) -> Placement | None:
        """Return a placement, None if nothing of it was asked for."""
        is_usual = name == "memory" and memory_limit is None and folder is None
        return None if is_usual else cls(name, memory_limit, folder)

    def rows(self, edges: Any) -> Rows | None:
        """Return the rows of Parquet files or a stream, if they need not fit in memory; None for a frame."""
        return None if self._folder is None else rows_of(edges)

    def table(
        self, rows: Rows, ids: Sequence[tuple[str, str]], values: Sequence[tuple[str, str]]
    ) -> pa.Table:
        """Return some columns of rows as a table, mapped if they are more than memory should hold.

        Parameters
        ----------
        rows : Rows
        ids, values : sequence of (str, str)
            Names of columns, and the arguments that select them.
        """
        assert self._folder is not None
        names = [name for name, _ in (*ids, *values)]
        if not set(names) <= set(rows.schema.names):
            return rows.no_rows  # reading it says which columns there are
        batches = rows.batches(names)
        schema = pa.schema([rows.schema.field(name) for name in dict.fromkeys(names)])
        some: list[pa.RecordBatch] = []
        if self._name == "auto":
            size = 0
            for batch in batches:
                some.append(batch)
                size += batch.nbytes
                if SHARE * size > self.room:
                    break
            else:
                return pa.Table.from_batches(some, schema)
            LOG.info(
                "edges are written to %s: they take over %s", self._folder.path, format_bytes(size)
            )
        return spooled(_freed(some, batches), schema, ids, values, self._folder)

    def build(self, read: Callable[..., Built], edges: Any) -> Built:
        """Return what `read` builds of a frame in the first of the places that has room for it."""
        places: list[str | FileFolder] = [] if self._folder is None else [self._folder]
        if self._name == "host" or (self._name == "auto" and is_cudf_frame(edges)):
            places.insert(0, "host")
        if self._name in (*WHOLE, "auto"):
            places.insert(0, "frame")
        for place in places[:-1]:
            try:
                return read(place=place)
            except GraphMemoryError as error:
                LOG.info("the graph's arcs are placed elsewhere: %s", error)
        return read(place=places[-1])


def _freed(
    batches: list[pa.RecordBatch], more: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Yield batches and let go of each, then more."""
    batches.reverse()
    return chain((batches.pop() for _ in range(len(batches))), more)
