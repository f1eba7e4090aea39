"""What a program declares of supersteps that are a linear map, so that runs may extrapolate."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

__all__ = ["Extrapolate", "Linear", "linear"]

Array = Any  # NumPy's or CuPy's
Extrapolate = Literal["auto", "always", "never"]
Others = Callable[[Any, Array, Mapping[str, Array]], dict[str, Array]]


@dataclass(frozen=True)
class Linear:
    """Declares that a superstep maps distributions affinely, and brings them nearer to each other.

    Attributes
    ----------
    field : str
        The state field: float64, at least 0 and of sum 1, whose change is the program's residual, in
        the L1 norm.  The map does not lengthen differences in that norm.
    others : callable, optional
        `others(xp, values, constants)` returns the other state fields by name, given the field's
        values and the program's constants by name; arrays are of `xp`, by position.
    """

    field: str
    others: Others | None = None


def linear(field: str, others: Others | None = None) -> Linear:
    """Declare that a program's superstep maps the distributions in a field affinely; see `Linear`.

    Parameters
    ----------
    field : str
    others : callable, optional

    Returns
    -------
    Linear
        For a program's `extrapolation`.
    """
    return Linear(field, others)
