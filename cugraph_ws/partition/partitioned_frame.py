"""A frame partitioned across ranks; each partition has its place in the whole frame."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar

from cugraph_ws.errors import InputError
from cugraph_ws.frames.base import Column, Frame, FrameKind, is_cudf_frame, open_frame
from cugraph_ws.runtime.communicator import Communicator, in_order

__all__ = ["OpenedPartition", "OpenedPartitions", "Partitions", "are_on_gpus"]

Value = TypeVar("Value")
Place = tuple[int, int, int]  # place in the whole frame, rank, index on the rank


@dataclass(frozen=True)
class Partitions:
    """The partitions of a frame that one rank has.

    Parameters
    ----------
    frames : sequence of frames
        Empty on a rank without partitions.
    places : sequence of int, optional
        The place of each partition in the whole frame.  By default they are in the order of ranks.
    """

    frames: Sequence[Any]
    places: Sequence[int] | None = None


@dataclass(frozen=True)
class OpenedPartition:
    """An opened partition.

    Attributes
    ----------
    frame : Frame
    place : tuple of int
        The place among the partitions of all ranks.
    first_row : int
        Number of rows of the whole frame before this partition.
    """

    frame: Frame
    place: Place
    first_row: int

    def column(self, name: str, argument: str) -> Column:
        """Read a column; see `Frame.column`."""
        return replace(self.frame.column(name, argument), first_row=self.first_row)


class OpenedPartitions:
    """One rank's partitions of a frame, and properties of the whole; the constructor is collective.

    Parameters
    ----------
    comm : Communicator
    own : Partitions
    argument : str
        The argument's name, for errors.
    meta : frame, optional
        An empty frame with the columns of the whole; the same on all ranks.
    on_device : bool
        Whether columns of cuDF frames stay on the device.

    Attributes
    ----------
    own : list of OpenedPartition
        This rank's partitions that have rows, in order.  If no rank has a row, one rank has the
        first partition or `meta`, the others none.
    rows : int
        Number of rows of the whole.
    names : list
        Names of the columns.
    argument : str
        The argument's name.
    on_device : bool
        Whether columns are on the device.
    meta : Frame or None
    backend : str
        The library of the frames.

    Raises
    ------
    InputError
        If a partition is not a frame, or no rank has a partition and there is no `meta`.
    """

    def __init__(
        self,
        comm: Communicator,
        own: Partitions,
        argument: str,
        meta: Any = None,
        *,
        on_device: bool = False,
    ) -> None:
        self._comm = comm
        self.argument = argument
        self.on_device = on_device
        opened = partial(open_frame, argument=argument, on_device=on_device)
        self.meta: Frame | None = None if meta is None else opened(meta)
        places = [0] * len(own.frames) if own.places is None else own.places
        keys: list[Place] = sorted(
            (int(place), comm.rank, which) for which, place in enumerate(places)
        )
        frames = in_order(comm, [(key, partial(opened, own.frames[key[2]])) for key in keys])
        about = [[*key, len(frame), *_kind(frame)] for key, frame in zip(keys, frames, strict=True)]
        everything = sorted(
            list(description) for shown in comm.allgather(about) for description in shown
        )
        self.rows = sum(description[3] for description in everything)
        before, first_rows = 0, {}
        for description in everything:
            first_rows[description[0], description[1], description[2]] = before
            before += description[3]
        parts = [
            OpenedPartition(frame, key, first_rows[key])
            for key, frame in zip(keys, frames, strict=True)
        ]
        if self.meta is None and not everything:
            raise InputError(
                f"{argument}: no rank has a partition; give one of them an empty frame"
            )
        self.own = [part for part in parts if len(part.frame)]
        leader = self._comm.size if self.meta is not None else everything[0][1]
        if not self.rows:
            if self.meta is not None and comm.rank == 0:
                self.own = [OpenedPartition(self.meta, (-1, 0, 0), 0)]
            elif comm.rank == leader:
                self.own = parts[:1]
        if self.meta is not None:
            self.names = self.meta.names
            self.backend, self.proxy = _kind(self.meta)
        else:
            own_names = parts[0].frame.names if comm.rank == leader else []
            self.names = comm.allgather(own_names)[leader]
            self.backend, self.proxy = everything[0][4:]
        self._first = parts[0].frame if comm.rank == leader else self.meta

    def kind_like(self, name: str) -> FrameKind:
        """Return the kind of frame for results; collective; see `Frame.kind_like`."""
        arrow_backed = None if self._first is None else self._first.kind_like(name).arrow_backed
        shown = self._comm.allgather(arrow_backed)
        backed = next(answer for answer in shown if answer is not None)
        return FrameKind(self.backend, arrow_backed=bool(backed), proxy=bool(self.proxy))

    def steps(
        self, stage: int, work: Callable[[OpenedPartition], Value]
    ) -> Iterator[tuple[Sequence[int], Callable[[], Value]]]:
        """Return steps for `in_order`, one for each of this rank's partitions."""
        for part in self.own:
            yield (stage, *part.place), partial(work, part)


def are_on_gpus(comm: Communicator, own: Sequence[Any]) -> bool:
    """Return whether the frames of all ranks are cuDF's; collective.

    Parameters
    ----------
    comm : Communicator
    own : sequence of frame

    Returns
    -------
    bool
        False also if no rank has a frame.
    """
    shown = comm.allgather([bool(own), all(map(is_cudf_frame, own))])
    return any(some for some, _ in shown) and all(all_cudf for _, all_cudf in shown)


def _kind(frame: Frame) -> tuple[Any, bool]:
    return frame.backend, frame.proxy
