"""Vertex programs with vectors: what they may declare.

A vertex program is one of these if a state field or a vertex value is a `ws.vector`.  It runs in dense
supersteps alone: every vertex gathers from its in-neighbours that send, in their order.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from cugraph_ws.errors import ProgramError
from cugraph_ws.program.by_part import ByPart
from cugraph_ws.program.declarations import State, VectorType, VertexValue
from cugraph_ws.program.vertex_program import VertexProgram

__all__ = ["VectorProgram", "length_of", "vectors_among"]

FOLDS = ("sum", "min", "max")


def length_of(declared: Any) -> int:
    """Return the number of elements of what is declared as a vector; 0 if it is a number."""
    kind = getattr(declared, "type", None)
    return kind.length if isinstance(kind, VectorType) else 0


def vectors_among(name: str, declared: dict[str, Any]) -> bool:
    """Return whether a vertex program has vectors.

    Parameters
    ----------
    name : str
        The program.
    declared : dict of declarations

    Raises
    ------
    ProgramError
        If something is a vector that cannot be one, or if they have different lengths.
    """
    vectors = {key: value for key, value in declared.items() if length_of(value)}
    for key, value in vectors.items():
        kind = value.type
        if not isinstance(value, (State, VertexValue)):
            raise ProgramError(
                f"{name}.{key} is {kind!r}; only state fields and vertex values are vectors: declare "
                f"ws.{kind.name} here"
            )
        if isinstance(value, State) and (value.null is not None or value.on_gpu is not None):
            raise ProgramError(
                f"{name}.{key} is {kind!r}, of which no element is null, and which is stored as it is; declare it "
                "without ws.nullable and on_gpu="
            )
    lengths = {length_of(value): key for key, value in vectors.items()}
    if len(lengths) > 1:
        (first, one), (second, another) = list(lengths.items())[:2]
        raise ProgramError(
            f"{name}.{one} is a vector of {first} and {another} one of {second}; all vectors of a program have one "
            "length: pad the shorter one"
        )
    for key, value in vectors.items():
        taken = {f"{key}_{place}" for place in range(length_of(value))} & set(declared)
        if taken and isinstance(value, State):
            raise ProgramError(
                f"{name}.{min(taken)}: that is the name of a column of the vector `{key}`; choose another"
            )
    return bool(vectors)


@dataclass(eq=False)
class VectorProgram(VertexProgram):
    """A checked vertex program with vectors; see `VertexProgram`."""

    @cached_property
    def length(self) -> int:
        """Number of elements of every vector."""
        declared = {**self.state, **self.constants}
        return max(map(length_of, declared.values()))

    @property
    def hears_silence(self) -> bool:
        """Whether `apply` is called for a vertex without messages, with the identity of `combine`."""
        if self.contributors is not None:
            return self.contributors == "all"
        return self.combine not in ("min", "max")

    def folds(self, parts: int) -> tuple[str, ...]:
        """Return "sum", "min" or "max" for each part of a message."""
        if isinstance(self.fold, ByPart):
            return tuple(map(repr, self.fold.parts))
        return (self.combine,) * parts

    def read_sources(self) -> None:
        """Read and check the source of every function, and refuse what vectors do not go with."""
        super().read_sources()
        self._refuse_settings()
        if self.draws:
            raise ProgramError(
                f"{self.name} draws random numbers, which a program with vectors does not; give them as a "
                "ws.vertex_value"
            )

    def _refuse_settings(self) -> None:
        """Refuse declarations that a program with vectors cannot have."""
        name = self.name
        by_part = isinstance(self.fold, ByPart) and set(self.folds(0)) <= set(FOLDS)
        if not by_part and (self.listing or self.fold or self.combine not in FOLDS):
            chosen = self.listing or self.fold or self.combine
            raise ProgramError(
                f"{name}.combine is {chosen if isinstance(chosen, str) else repr(chosen)}; vectors are folded element "
                "by element by sum, min or max: set combine to one of these, or to one for each part of a message"
            )
        refused = {
            "scatter": self.scatters,
            "asynchronous": self.asynchronous,
            "in_place": self.in_place,
            "settled": "settled" in self.functions,
            "priority": "priority" in self.functions,
            self.predecessor or "predecessor": self.predecessor,
            ", ".join(self.edge_state): self.edge_state,
            ", ".join(self.jumps): self.jumps,
        }
        for declared, is_set in refused.items():
            if is_set:
                raise ProgramError(
                    f"{name} has vectors, so that all messages are gathered in order; leave out `{declared}`"
                )
        for key, value in self.state.items():
            if value.null == math.inf and getattr(value.type, "name", "").startswith("int"):
                raise ProgramError(
                    f"{name}.{key} may be infinite, which integers beside vectors cannot; declare it as ws.float64"
                )
