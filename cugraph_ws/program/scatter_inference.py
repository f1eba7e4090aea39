"""The types of the messages that a `scatter` sends, as Numba infers them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cugraph_ws.program.inference import (
    Inference,
    Inferrer,
    record_of,
    remembered,
    scalar_type,
    seen,
)
from cugraph_ws.program.scatter import MESSAGE, text_of_messages
from cugraph_ws.program.scatter_source import PLACE
from cugraph_ws.program.vertex_program import VertexProgram

if TYPE_CHECKING:
    from cugraph_ws.program.codegen import Types

__all__ = ["infer_scatter"]


def infer_scatter(program: VertexProgram, types_: Types) -> tuple[str, ...]:
    """Return the NumPy names of the types of a message's parts.

    Parameters
    ----------
    program : VertexProgram
        With a `scatter`.
    types_ : Types
        Of all but messages.

    Raises
    ------
    ProgramError
        If it does not compile, or sends what is no number.
    """
    described = (
        "scatter", types_, tuple(program.state), tuple(program.edges), tuple(program.constants),
        program.parameter_names, tuple(program.edge_state), program.sources["scatter"].text,
    )  # fmt: skip
    return remembered(described, lambda: _Scatter(program, types_).run()).message


class _Scatter(Inferrer):
    """Infers what one program's `scatter` sends; any edge stands for all."""

    def __init__(self, program: VertexProgram, types_: Types) -> None:
        super().__init__(program, types_.state, types_.edges, types_.constants, types_.parameters)
        self.edges = types_.edges

    def run(self) -> Inference:
        """Infer the types."""
        program = self.program
        edge = {PLACE: "edges.begin", "dst": "edges.dst"}
        edge |= {name: f"edges.{name}" for name in program.edges}
        kinds = (*map(scalar_type, map(seen, self.edges)),)
        values = (scalar_type("int64"), scalar_type("int64"), self.given["src"], *kinds)
        self.given["own"] = self.given["src"]
        self.given["edges"] = record_of("OutEdges", ("begin", "degree", *list(edge)[1:]), values)
        source = program.sources["scatter"]
        text = [
            f"import collections\nOutEdge = collections.namedtuple('OutEdge', {tuple(edge)!r})",
            "def ws_checked(edges, place):\n    return edges.begin + place",
            f"def ws_out_edge(edges, place):\n    return OutEdge({', '.join(edge.values())})",
            text_of_messages(source),
        ]
        arguments = [self.given[parameter] for parameter in source.parameters]
        found, is_tuple = self.typed("scatter", "\n\n".join(text), arguments)
        if is_tuple != (f"{MESSAGE}_0" in program.edge_state):
            raise self.fail(
                "scatter", "sends a tuple by name; write its parts out, as in `edge.send((a, b))`"
            )
        return Inference(found, is_tuple)
