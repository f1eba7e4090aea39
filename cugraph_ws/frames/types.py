"""Frame types for type checkers: the result has the kind of the input.

A function of an edge frame takes `Graph[FrameT] | FrameT` and returns `FrameT`: for a pandas frame
a pandas frame, for a Polars frame a Polars frame, and the same for a graph built from either.  A
graph of unknown kind, for example one built from arrays, is a `Graph[Any]`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from typing_extensions import TypeVar  # has defaults; type checkers provide it
else:
    from typing import TypeVar

__all__ = ["FrameLike", "FrameT"]


class FrameLike(Protocol):
    """The attributes that frames of all libraries have: pandas, Polars, PyArrow, cuDF, Dask."""

    @property
    def columns(self) -> Any:
        """The columns, or their names."""


if TYPE_CHECKING:
    FrameT = TypeVar("FrameT", bound=FrameLike, default=Any)
else:
    FrameT = TypeVar("FrameT")
