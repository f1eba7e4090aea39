"""Types of an edge program's messages, as the compiler infers them."""

from __future__ import annotations

from typing import Any

from cugraph_ws.program.edge_program import EDGES, VERTICES, EdgeProgram
from cugraph_ws.program.inference import (
    Inference,
    Inferrer,
    record_type,
    remembered,
    scalar_type,
    seen,
)

__all__ = ["infer_common", "infer_pairs"]


def infer_pairs(
    program: EdgeProgram,
    state: tuple[str, ...],
    constants: tuple[str, ...],
    parameters: tuple[str, ...],
) -> Inference:
    """Infer the type of a program's messages, and check that values fit their declarations.

    Parameters
    ----------
    program : EdgeProgram
    state, constants, parameters : tuple of str
        NumPy type names of the values of a pair, the vertex constants and the run's parameters.

    Returns
    -------
    Inference

    Raises
    ------
    ProgramError
        If a function does not compile, returns no number on some path, or returns a type that
        does not fit the declared value.
    """
    described = (
        "edge program", state, constants, parameters, tuple(program.state), tuple(program.edges),
        tuple(program.constants), program.parameter_names, program.combine,
        repr(program.identity), [(key, source.text) for key, source in sorted(program.sources.items())],
    )  # fmt: skip
    return remembered(described, lambda: _Pairs(program, state, constants, parameters).run())


def infer_common(
    program: EdgeProgram,
    state: tuple[str, ...],
    constants: tuple[str, ...],
    parameters: tuple[str, ...],
) -> Inference:
    """Infer what `common` returns, before it is combined; see `infer_pairs`."""
    source = program.sources["common"]
    described = (
        "common of an edge program", constants, parameters, tuple(program.edges), tuple(program.constants),
        program.parameter_names, source.text,
    )  # fmt: skip
    pairs = _Pairs(program, state, constants, parameters)
    return remembered(described, lambda: Inference(*pairs.returned("common")))


class _Pairs(Inferrer):
    """Infers the types of one edge program's functions."""

    shape = "result"

    def __init__(
        self,
        program: EdgeProgram,
        state: tuple[str, ...],
        constants: tuple[str, ...],
        parameters: tuple[str, ...],
    ) -> None:
        self.program: Any = program
        self.state = state
        kinds = (*parameters, "int64")
        vertex = record_type("Vertex", program.constants, tuple(map(seen, constants)))
        edge = record_type("Edge", program.edges, ("float64",) * len(program.edges))
        self.given = {
            "p": record_type("Parameters", program.parameter_names, kinds),
            **dict.fromkeys(VERTICES, vertex),
            **dict.fromkeys(EDGES, edge),
        }

    def run(self) -> Inference:
        """Infer both functions."""
        kinds, is_tuple = self.returned("common")
        if "lift" in self.program.sources:
            lift = self.program.sources["lift"].text
            message = tuple(map(scalar_type, kinds))
            given = _tuple_type(message) if is_tuple else message[0]
            kinds, is_tuple = self.typed("lift", lift, (given,))
        kinds = tuple(self.gathered_as(kind) for kind in kinds)
        if self.program.combine == "custom":
            kinds = self.closed_under_combine(kinds, is_tuple)
        elif is_tuple and self.program.combine != "sum":
            raise self.fail(
                "common",
                f"returns a tuple, which {self.program.combine} cannot combine; define combine",
            )
        parts = tuple(map(scalar_type, kinds))
        self.given["common"] = _tuple_type(parts) if is_tuple else parts[0]
        self.check_state("value")
        return Inference(kinds, is_tuple)

    def returned(self, name: str) -> tuple[tuple[str, ...], bool]:
        """Return the types of what a function returns, and whether that is a tuple."""
        source = self.program.sources[name]
        return self.typed(
            name, source.text, [self.given[parameter] for parameter in source.parameters]
        )


def _tuple_type(parts: tuple[Any, ...]) -> Any:
    """Return Numba's type of a tuple."""
    from numba.core import types

    return types.Tuple(parts)
