"""`scatter(own, edges, p)` of a vertex program: it sees all out-edges of a vertex, and sends along each.

What the function asks of `edges` is rewritten (`scatter_source`) to calls of functions that are written here.
What it sends is stored by arc, in hidden fields of the state of edges, and `compute` becomes a function that
returns what is stored.  So all engines fold such messages as others.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from cugraph_ws.errors import ProgramError
from cugraph_ws.program.declarations import EdgeState, boolean, float32, float64, int64, no_message
from cugraph_ws.program.scatter_source import PLACE
from cugraph_ws.program.source import NO_MESSAGE, FunctionSource, plain_function
from cugraph_ws.runtime.parsing import parse

if TYPE_CHECKING:
    from cugraph_ws.program.codegen import Access, Types
    from cugraph_ws.program.vertex_program import VertexProgram

__all__ = [
    "MESSAGE",
    "OUT_EDGES",
    "check_scatter",
    "compute_source",
    "fields_sent",
    "plain_calls",
    "plain_compute",
    "reads_targets",
    "scatter_lines",
    "scatter_records",
    "text_of_messages",
    "with_message_types",
]

# Fields of the state of edges: whether there is a message, and its parts
SENT, MESSAGE = "ws_sent", "ws_message"
OUT_EDGES = "out_edges"  # the loop in `kernels`
ARRAYS = ("indices", "places", "columns", "stored", "beyond")  # which it reads and writes
KINDS = {one.name: one for one in (float32, float64, int64)} | {"bool": boolean}


# --------------------------------------------------------------------------------- the program


def check_scatter(program: VertexProgram) -> None:
    """Refuse what does not go with `scatter`.

    Parameters
    ----------
    program : VertexProgram

    Raises
    ------
    ProgramError
    """
    name, functions = program.name, program.functions
    takes = f"{name}.scatter sends along all out-edges of each vertex, superstep by superstep"
    refused = {
        "compute": "compute" in functions and "compute" not in program.sources,
        ", ".join(program.edge_state): program.edge_state and SENT not in program.edge_state,
        "init_edge": "init_edge" in functions,
        "update_edge": "update_edge" in functions,
        "priority": "priority" in functions,
        "asynchronous = True": program.asynchronous,
        "in_place = True": program.in_place,
        program.predecessor or "predecessor": program.predecessor,
    }
    for declared, is_set in refused.items():
        if is_set:
            raise ProgramError(f"{takes}; leave out `{declared}`")
    if program.listing is not None or program.combine == "any":
        raise ProgramError(
            f"{takes}, perhaps not along some; set combine to sum, min, max, a function or a fold such as ws.top, not "
            f"{program.listing or 'any'!r}"
        )
    if program.contributors == "active":
        raise ProgramError(
            f"{takes}; leave out contributors = 'active', keep a flag in the state, and send nothing where it is not set"
        )


def reads_targets(program: VertexProgram) -> bool:
    """Return whether `scatter` may read the states of the vertices that edges lead to."""
    text = program.sources["scatter"].text
    return any(
        isinstance(one, ast.Attribute) and one.attr == "dst" for one in ast.walk(parse(text))
    )


def fields_sent(parts: int, kinds: Collection[str] = ()) -> dict[str, EdgeState]:
    """Return the fields of the state of edges that hold what is sent; a trial takes their defaults.

    Parameters
    ----------
    parts : int
        The parts of a message that is a tuple; 0 if messages are numbers.
    kinds : collection of str, optional
        NumPy names of their types; float64 until a program is bound.
    """
    kinds = tuple(kinds) or ("float64",) * max(parts, 1)
    names = [f"{MESSAGE}_{place}" for place in range(parts)] or [MESSAGE]
    return {
        SENT: EdgeState(boolean, True),
        **{name: EdgeState(KINDS[kind]) for name, kind in zip(names, kinds, strict=True)},
    }


def compute_source(parts: int, location: str) -> FunctionSource:
    """Return the source of a `compute` that returns what was sent along an edge."""
    names = list(fields_sent(parts))
    read = ", ".join(f"edge.{name}" for name in names[1:])
    message = f"({read},)" if parts else read
    text = (
        f"def user_compute(edge):\n    if edge.{SENT}:\n        return {message}\n"
        f"    return {NO_MESSAGE}"
    )
    return FunctionSource(text, ("edge",), {"edge": set(names)}, location)


def plain_compute(source: FunctionSource, owner: str) -> Callable[..., Any]:
    """Return the function of `compute_source`, as plain Python."""
    (node,) = parse(source.text).body
    assert isinstance(node, ast.FunctionDef)
    return plain_function([(f"<{owner}>", node)], **{NO_MESSAGE: no_message, "__name__": owner})


def text_of_messages(source: FunctionSource) -> str:
    """Return the text of `scatter` as a function that returns a message, so that its type can be inferred."""

    class Returned(ast.NodeTransformer):
        def visit_Assign(self, node: ast.Assign) -> ast.AST:
            match node.value:
                case ast.Call(func=ast.Name(id="ws_send"), args=[edges, place, message]):
                    test = ast.Compare(
                        place, [ast.GtE()], [ast.Attribute(edges, "begin", ast.Load())]
                    )
                    return ast.If(test, [ast.Return(message)], [])
            return node

        def visit_Return(self, node: ast.Return) -> ast.AST:
            return parse("raise ValueError").body[0]

    *helpers, function = parse(source.text).body
    changed = ast.fix_missing_locations(Returned().visit(parse(ast.unparse(function))))
    return "\n\n".join([*map(ast.unparse, helpers), ast.unparse(changed)])


def with_message_types(program: VertexProgram, kinds: Collection[str]) -> VertexProgram:
    """Return a program whose messages are stored in given types.

    Parameters
    ----------
    program : VertexProgram
    kinds : collection of str
        NumPy names, one for each part.
    """

    def make() -> VertexProgram:
        fields = fields_sent(len(program.edge_state) - 1, kinds)
        kept = dict(zip(program.edge_state, fields.values(), strict=True))
        return replace(program, edge_state=kept, memory=type(program.memory)())

    typed: VertexProgram = program.memory.recall(("messages of scatter", tuple(kinds)), make)
    return typed


# ---------------------------------------------------------------------------- what is compiled


def scatter_records(program: VertexProgram) -> dict[str, tuple[str, ...]]:
    """Return the named tuples that `scatter` sees besides those of other functions, and their fields."""
    if not program.scatters:
        return {}
    return {
        "OutEdges": (*ARRAYS, "state", "constants", "begin", "degree"),
        "OutEdge": (PLACE, "dst", *program.edges),
    }


def scatter_lines(
    program: VertexProgram, types_: Types, access: Access, call: Callable[..., str],
    widen: Callable[[str, str], str], cast: Callable[[str, str], str],
) -> list[str]:  # fmt: skip
    """Write the functions that `kernels/cpu/out_edges.py` and `scatter` call.

    `arrays` is (where the destinations of out-arcs are in the arrays of states, places of out-arcs in what is stored,
    edge attributes in the order of out-arcs, what is stored, an array that records an index out of range).
    """
    if not program.scatters:
        return []
    read = [
        widen(kind, access.read("edge", f"edges.columns[{place}]", "arc", kind))
        if stand_in is None
        else cast(kind, repr(stand_in))
        for place, (kind, stand_in) in enumerate(
            zip(types_.edges, types_.missing_edges, strict=True)
        )
    ]
    flag, *messages = program.edge_state_kinds
    several = len(messages) > 1 or f"{MESSAGE}_0" in program.edge_state
    parts = [f"message[{place}]" for place in range(len(messages))] if several else ["message"]
    stored = [
        access.write("edge", f"edges.stored[{place}]", "place", cast(kind, value))
        for place, (kind, value) in enumerate(zip((flag, *messages), ("True", *parts), strict=True))
    ]
    edge = ["place", "load(edges.state, edges.constants, edges.indices[arc])", *read]
    return [
        "@inline\ndef ws_checked(edges, place):",
        "    inside = place >= 0 and place < edges.degree",
        "    if not inside:",
        f"        {access.note('edges.beyond', '1')}",
        "    return place if inside else 0",
        f"@{access.inlined}\ndef ws_out_edge(edges, place):",
        "    arc = edges.begin + place",
        f"    return OutEdge({', '.join(edge)})",
        f"@{access.inlined}\ndef ws_send(edges, number, message):",
        "    place = edges.places[edges.begin + number]",
        *[f"    {line}" for line in stored],
        "    return 0",
        f"@{access.inlined}\ndef send_out(vertex, arrays, state, constants, begin, degree, values):",
        f"    edges = OutEdges({', '.join(f'arrays[{place}]' for place in range(len(ARRAYS)))}, state, constants, begin, degree)",
        f"    {call(program, 'scatter')}",
    ]


def plain_calls(space: Mapping[str, Any]) -> dict[str, Callable[..., Any]]:
    """Return the functions that `scatter` calls, as they are in a module once its text has been executed."""

    def checked(edges: Any, place: Any) -> Any:
        if not 0 <= place < edges.degree:
            raise ProgramError(
                f"scatter: edges[{place}] is none of the {edges.degree} out-edges of a vertex; give an index from 0 to "
                "len(edges) - 1"
            )
        return place

    def out_edge(*arguments: Any) -> Any:
        return space["ws_out_edge"](*arguments)

    def send(*arguments: Any) -> Any:
        return space["ws_send"](*arguments)

    return {"ws_checked": checked, "ws_out_edge": out_edge, "ws_send": send}
