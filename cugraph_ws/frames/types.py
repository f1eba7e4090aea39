"""What type checkers know of frames: the kind that goes in comes out.

A function of an edge frame takes `Graph[FrameT] | FrameT` and returns `FrameT`: of a pandas frame it
returns a pandas frame, of a Polars frame a Polars frame, of a graph of either the same.  A graph of
which the kind is not known, as one made of arrays, is a `Graph[Any]`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from typing_extensions import TypeVar  # with a default; type checkers bring it along
else:
    from typing import TypeVar

__all__ = ["FrameLike", "FrameT"]


class FrameLike(Protocol):
    """What frames of all libraries have: pandas, Polars, PyArrow, cuDF and Dask."""

    @property
    def columns(self) -> Any:
        """The columns, or their names."""


if TYPE_CHECKING:
    FrameT = TypeVar("FrameT", bound=FrameLike, default=Any)
else:
    FrameT = TypeVar("FrameT")
