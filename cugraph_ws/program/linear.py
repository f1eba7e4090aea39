"""The declaration that a program's supersteps are an affine map, so that runs may extrapolate."""

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
    """Declares that a superstep maps distributions affinely, and does not increase their distances.

    Attributes
    ----------
    field : str
        A float64 state field of sum 1 and at least 0.  The L1 norm of its change is the program's
        residual, and the map does not increase the L1 norm of differences.
    others : callable, optional
        `others(xp, values, constants)` returns a dict of the other state fields, given the field's
        values and a dict of the program's constants.  Arrays are of `xp`, by position.
    """

    field: str
    others: Others | None = None


def linear(field: str, others: Others | None = None) -> Linear:
    """Declare that a program's superstep maps a field affinely; see `Linear`.

    Parameters
    ----------
    field : str
        The state field.
    others : callable, optional
        Computes the other state fields.

    Returns
    -------
    Linear
        For a program's `extrapolation`.
    """
    return Linear(field, others)
