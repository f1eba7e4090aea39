"""Writes the text of one module that Numba compiles, from a checked program and the loops in `kernels/cpu`.

The loops are written once, against the names in `kernels/cpu/interface.py`.  For a program they
are instantiated: its functions, made self-contained by `cugraph_ws.program.source`, replace the
interface.  `modules` has the modules that are made of the text.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np

from cugraph_ws.program.declarations import Jump
from cugraph_ws.program.infinity import INFINITY, STORED, TEXTS
from cugraph_ws.program.lists import compiled_text, key_lines, list_lines
from cugraph_ws.program.scatter import OUT_EDGES, scatter_lines, scatter_records
from cugraph_ws.program.vertex_program import VertexProgram
from cugraph_ws.runtime.dispatch import provider
from cugraph_ws.runtime.generated import kernel_file
from cugraph_ws.runtime.machine_code import cache_folder
from cugraph_ws.runtime.parsing import parse

__all__ = [
    "Access",
    "Types",
    "adaptors",
    "cache_folder",
    "constants_text",
    "generated_source",
    "host_adaptors",
    "identity_text",
    "keeps_when_silent",
    "loaded_text",
    "loop_text",
    "loops_of",
    "merge_text",
    "message_result",
    "message_text",
    "program_text",
    "record_fields",
    "term_lines",
    "vertex_text",
    "without_interface",
]

LOOPS = ("search", "dense", "pull", "buckets", "push", "scatter", "tree")
SCATTER = (OUT_EDGES,)  # the loop of programs that send by `scatter`
EDGE_STATE = ("edge_state",)  # the loops of programs that keep state on edges
LISTS = "lists"  # the loop of programs that list messages
MODES = "modes"  # the loop of programs that combine them by `ws.mode()`
REPLACED = {
    "__future__",
    *(
        f"cugraph_ws.kernels.cpu.{name}"
        for name in (
            *LOOPS,
            *EDGE_STATE,
            *SCATTER,
            LISTS,
            "interface",
            "pair_interface",
            "vector_interface",
            "walk_interface",
            "walk_rows",
            "jit",
        )
    ),
}


@dataclass(frozen=True)
class Types:
    """The types of a program on a graph, as NumPy names.

    Attributes
    ----------
    state, constants, edges, parameters : tuple of str
        One for each declaration, in order.
    uniform : tuple of bool
        For each constant, whether it is one number for all vertices, in an array of one entry.
    missing_edges : tuple of float or None
        For each edge attribute, the constant that replaces it if the graph has none, or None.
    message : tuple of str
        One for each component of a message.
    tuple_message : bool
        Whether messages are tuples.
    gathered, tuple_gathered
        The same for `gathered`, if the program lists messages.
    never_nan : bool
        Whether no state and no message is NaN in this run, so that the text need not look for it; for the
        CPU.  It does not change results, so checkpoints do not depend on it.
    """

    state: tuple[str, ...]
    constants: tuple[str, ...]
    uniform: tuple[bool, ...]
    edges: tuple[str, ...]
    missing_edges: tuple[float | None, ...]
    parameters: tuple[str, ...]
    message: tuple[str, ...]
    tuple_message: bool
    gathered: tuple[str, ...] = ()
    tuple_gathered: bool = False
    never_nan: bool = field(default=False, repr=False)


def without_interface(tree: ast.Module) -> list[ast.stmt]:
    """Drop a loop module's docstring, `__all__`, and the imports that the instance replaces."""
    statements: list[ast.stmt] = []
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and node.module in REPLACED:
            continue
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            continue
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            continue
        statements.append(node)
    return statements


# --------------------------------------------------------------------------- the program's part


def _cast(kind: str, value: str) -> str:
    return f"np.{'bool_' if kind == 'bool' else kind}({value})"


def _widen(kind: str, value: str) -> str:
    """Convert to int64 for computation: int32 is only a storage type."""
    return f"np.int64({value})" if kind == "int32" else value


def _stored(program: VertexProgram, place: int, kind: str, value: str) -> str:
    """Convert a number that functions compute with to the type of a state field."""
    if program.infinite and program.infinite[place]:
        return f"stored_{kind}({value})"
    return _cast(kind, value)


def loaded_text(program: VertexProgram, place: int, kind: str, value: str) -> str:
    """Convert the number that a state field holds to one that functions compute with."""
    if kind == "int32" and program.infinite and program.infinite[place]:
        return f"loaded_int32({value})"
    return _widen(kind, value)


# Of fields that may be infinite: each has its own number for infinity.
CONVERSIONS = f"""@inline
def stored_int32(value):
    return np.int32({STORED["int32"]} if value >= {STORED["int32"]} else value)

@inline
def stored_int64(value):
    return np.int64({INFINITY} if value >= {INFINITY} else value)

@inline
def loaded_int32(value):
    return np.int64({INFINITY} if value >= {STORED["int32"]} else value)

@inline
{TEXTS["ws_sum"].replace("ws_sum", "added")}"""


def _tuple(items: Sequence[str]) -> str:
    return "(" + "".join(f"{item}, " for item in items) + ")"


# The expression for each argument that a user's function may have, by its name
ARGUMENTS = {
    "vertex": "number",
    "own": "own",
    "src": "source",
    "dst": "target",
    "edge": "edge",
    "old": "vertex",
    "gathered": "gathered",
    "messages": "messages",
    "new": "replace(vertex, new)",
    "state": "vertex",
    "edges": "edges",
    "p": "Parameters(*values)",
}


def _call(program: VertexProgram, function: str, **expressions: str) -> str:
    """Write a call of a user's function with the arguments that it takes.

    `expressions` replaces those in `ARGUMENTS`.
    """
    written = {**ARGUMENTS, **expressions}
    if function == "scatter":
        written["own"] = "vertex"
    asked = [written[name] for name in program.sources[function].parameters]
    return f"user_{function}({', '.join(asked)})"


def identity_text(program: Any, types_: Any) -> str:
    """Write the identity of a program's combine; `types_` has the types of messages."""
    if program.combine == "custom":
        values = program.identity if types_.tuple_message else (program.identity,)
        written = [
            _cast(kind, _number(value)) for kind, value in zip(types_.message, values, strict=True)
        ]
    else:
        written = [_cast(kind, _extreme(program.combine, kind)) for kind in types_.message]
        if program.combine in ("min", "mode"):
            written = [
                f"np.int64({INFINITY})" if place in _infinite_parts(program) else text
                for place, text in enumerate(written)
            ]
    return _tuple(written) if types_.tuple_message else written[0]


def _infinite_parts(program: Any) -> list[int]:
    """Return the places of a message's parts that are integers and may be infinite."""
    return [place for place, infinite in enumerate(program.infinite_message) if infinite]


def _extreme(combine: str, kind: str) -> str:
    if combine in ("sum", "any", "list"):
        return "0"
    if kind == "bool":
        return "True" if combine in ("min", "mode") else "False"
    if kind.startswith("float"):
        return "np.inf" if combine in ("min", "mode") else "-np.inf"
    limits = np.iinfo(kind)
    return str(limits.max if combine in ("min", "mode") else limits.min)


def _number(value: Any) -> str:
    if isinstance(value, float) and math.isinf(value):
        return "np.inf" if value > 0 else "-np.inf"
    return repr(value.item() if isinstance(value, np.generic) else value)


def merge_text(program: Any, types_: Any) -> str:
    """Write the combination of `first` and `second`; `types_` has the types of messages."""
    if program.combine == "custom":
        return "user_combine(first, second)"
    if program.combine == "any":
        return "first or second" if types_.message == ("bool",) else "second"
    if program.combine == "sum":
        infinite = _infinite_parts(program)
        if not types_.tuple_message:
            return "added(first, second)" if infinite else "first + second"
        return _tuple([
            f"added(first[{i}], second[{i}])" if i in infinite else f"first[{i}] + second[{i}]"
            for i in range(len(types_.message))
        ])  # fmt: skip
    sign = "<" if program.combine == "min" else ">"
    return f"second if second {sign} first else first"


def keeps_when_silent(program: VertexProgram) -> bool:
    """Return whether a vertex without in-edges keeps its state when all vertices gather.

    Parameters
    ----------
    program : VertexProgram
        The checked program.

    Returns
    -------
    bool
        False for sums and for user-defined combines, since their identity is a valid message,
        and for programs with `contributors = "all"`.
    """
    listed = program.listing is not None
    return (program.idempotent or listed) and program.contributors != "all"


def _equal(program: VertexProgram, place: int, types_: Types) -> str:
    """Compare a field; NaN equals NaN, or else a vertex with NaN would be active forever."""
    old, new = f"vertex[{place}]", f"new[{place}]"
    if types_.state[place] == "int32":
        new = loaded_text(program, place, "int32", new)
    if types_.never_nan or not types_.state[place].startswith("float"):
        return f"{old} == {new}"
    return f"({old} == {new} or ({old} != {old} and {new} != {new}))"


def _change(program: VertexProgram, types_: Types) -> str:
    """Measure the change of the residual's field; NaN if the field has diverged."""
    if program.residual is None:
        return "0.0"
    place = list(program.state).index(program.residual.field)
    new = f"new[{place}]"
    if types_.state[place] == "int32":
        new = loaded_text(program, place, "int32", new)
    return f"abs(np.float64({new}) - np.float64(vertex[{place}]))"


class Access:
    """How generated text reads and writes an element of an array: by indexing.

    `role` is the role of the array: "state", "constant", "edge" or "message".  `inlined` is the decorator of functions
    that are called for each arc with records of arrays, which are slow to pass.
    """

    inlined = "always_inline"

    def read(self, role: str, array: str, index: str, kind: str) -> str:
        """Write an expression for the element's value."""
        return f"{array}[{index}]"

    def write(self, role: str, array: str, index: str, value: str) -> str:
        """Write a statement that stores a value."""
        return f"{array}[{index}] = {value}"

    def note(self, array: str, value: str) -> str:
        """Write a statement that stores a value in an array of one entry; concurrent stores may overwrite it."""
        return f"{array}[0] = {value}"


def constants_text(program: Any, types_: Any, access: Access) -> list[str]:
    """Write an expression for each of a vertex's constants."""
    declared = list(program.constants.values())
    fields = list(program.state)
    written = []
    for place, (kind, uniform) in enumerate(zip(types_.constants, types_.uniform, strict=True)):
        index = "0" if uniform else "vertex"
        value = access.read("constant", f"constants[{place}]", index, kind)
        value = _widen(kind, value)
        if isinstance(declared[place], Jump):
            read = fields.index(declared[place].field)
            value = loaded_text(program, read, types_.state[read], value)
        written.append(value)
    return written


def vertex_text(program: VertexProgram, types_: Types, access: Access) -> str:
    """Write an expression for a vertex: its state and its constants.

    Parameters
    ----------
    program : VertexProgram
        The checked program.
    types_ : Types
        Its types on the graph.
    access : Access
        How arrays are read.

    Returns
    -------
    str
    """
    states = [
        loaded_text(program, place, kind, access.read("state", f"state[{place}]", "vertex", kind))
        for place, kind in enumerate(types_.state)
    ]
    return f"Vertex({', '.join([*states, *constants_text(program, types_, access)])})"


def message_text(program: VertexProgram, types_: Types, access: Access) -> str:
    """Write the statements that return the message along an arc.

    Parameters
    ----------
    program, types_, access
        See `vertex_text`.

    Returns
    -------
    str
    """
    call = _call(program, "compute", edge=_edge_text(program, types_, access))
    ordered = program.combine in ("min", "max") and not types_.never_nan
    if ordered and any(kind.startswith("float") for kind in types_.message):
        return _ordered_result(program, types_, call)
    if "lift" not in program.sources:
        return message_result(types_, call)
    lines = [f"    sent = {call}"]
    folds = () if program.fold is None else program.fold.folds
    is_row = program.flagged or len(folds) > 1
    when = "sent[0] and " if program.flagged else ""
    beyond = f"edges[{len(types_.edges) + len(program.edge_state)}]"  # `Executor` reads it
    for place, fold in enumerate(folds):
        sent = f"sent[{place + program.flagged}]" if is_row else "sent"
        if fold.end is not None:
            lines += [
                f"    if {when}({sent} < 0 or {sent} >= {fold.end}):",
                f"        {access.note(beyond, f'np.int64({sent})')}",
            ]
    return "\n".join([*lines, message_result(types_, "user_lift(sent)")])


def _edge_text(program: Any, types_: Any, access: Access) -> str:
    """Write an expression for an edge: its attributes and its state."""
    state = program.edge_state_kinds
    missing = [*types_.missing_edges, *[None] * len(state)]
    parts = [
        _widen(
            kind,
            access.read("edge", f"edges[{place}]", "arc", kind)
            if stand_in is None
            else _cast(kind, _number(stand_in)),
        )
        for place, (kind, stand_in) in enumerate(zip((*types_.edges, *state), missing, strict=True))
    ]
    return f"Edge({', '.join(parts)})"


def message_result(types_: Any, call: str) -> str:
    """Write statements that return a user's result as a message."""
    if not types_.tuple_message:
        return f"    return {_cast(types_.message[0], call)}"
    parts = [_cast(kind, f"result[{place}]") for place, kind in enumerate(types_.message)]
    return f"    result = {call}\n    return {_tuple(parts)}"


def _ordered_result(program: VertexProgram, types_: Types, call: str) -> str:
    """Write statements that return a user's result as a message for min or max.

    A NaN is replaced by the identity: it compares with nothing, so the result would depend on the order in
    which messages are combined.
    """
    places = [f"result[{place}]" for place in range(len(types_.message))]
    parts = []
    for kind, part_text in zip(
        types_.message, places if types_.tuple_message else ["result"], strict=True
    ):
        value = _cast(kind, part_text)
        if kind.startswith("float"):
            value = f"{value} if {part_text} == {part_text} else {_cast(kind, _extreme(program.combine, kind))}"
        parts.append(f"({value})")
    return f"    result = {call}\n    return {_tuple(parts) if types_.tuple_message else parts[0]}"


def _edge_adaptors(
    program: VertexProgram, types_: Types, access: Access, *, checked: bool
) -> list[str]:
    """Write the functions that compute and store the state of an edge; trivial ones if there is none."""
    kinds, first, after = program.edge_state_kinds, len(types_.edges), len(program.state)
    places = range(len(kinds))
    edge = _edge_text(program, types_, access)

    def fitted(place: int, value: str) -> str:
        return f"fit({after + place}, {value})" if checked else _cast(kinds[place], value)

    def result(function: str) -> list[str]:
        """Write the statements that return a user's result in the types in which it is stored."""
        if function not in program.functions:
            values = [_number(declared.default) for declared in program.edge_state.values()]
            return [f"    return {_tuple([_cast(kinds[i], values[i]) for i in places])}"]
        parts = ["result"] if len(kinds) == 1 else [f"result[{i}]" for i in places]
        return [
            f"    result = {_call(program, function, edge=edge)}",
            f"    return {_tuple([fitted(i, parts[i]) for i in places])}",
        ]

    def kept(place: int) -> str:
        """Write a condition that a field is unchanged; NaN equals NaN."""
        old = access.read("edge", f"edges[{first + place}]", "arc", kinds[place])
        same = f"{old} == new[{place}]"
        if kinds[place].startswith("float"):
            same = f"({same} or ({old} != {old} and new[{place}] != new[{place}]))"
        return same

    return [
        "@inline\ndef initial_edge(source, target, edges, arc, values):",
        *result("init_edge"),
        "@inline\ndef next_edge(source, target, edges, arc, values):",
        *result("update_edge"),
        "@inline\ndef same_edge(edges, arc, new):",
        f"    return {' and '.join(kept(place) for place in places) or 'True'}",
        "@inline\ndef put_edge(edges, arc, new):",
        *(
            [
                f"    {access.write('edge', f'edges[{first + place}]', 'arc', f'new[{place}]')}"
                for place in places
            ]
            or ["    pass"]
        ),
    ]


def adaptors(
    program: VertexProgram, types_: Types, access: Access | None = None, *, checked: bool = False,
    fixed: Mapping[str, bool] | None = None,
) -> str:  # fmt: skip
    """Write the interface's functions for this program.

    Parameters
    ----------
    program : VertexProgram
        The checked program.
    types_ : Types
        Its types on the graph.
    access : Access, optional
        How arrays are read and written; by indexing if not given.
    checked : bool
        Whether new states go through `fit(place, value)`, which refuses what a field cannot hold.
    fixed : mapping of str to bool, optional
        Values of `ANY` and `ORDERED` that replace those of the program.

    Returns
    -------
    str
        Python source of the names in `kernels/cpu/interface.py`.
    """
    access = access or Access()
    fields = list(program.state)
    scalar_state = len(fields) == 1
    state_range = range(len(fields))

    def fitted(place: int, value: str) -> str:
        """Write a value in the type of the state field `place`."""
        if checked:
            return f"fit({place}, {value})"
        return _stored(program, place, types_.state[place], value)

    def new_state(call: str) -> str:
        """Write statements that return a user's result as a state tuple."""
        if scalar_state:
            return f"    result = {call}\n    return {_tuple([fitted(0, 'result')])}"
        parts = [fitted(place, f"result[{place}]") for place in state_range]
        return f"    result = {call}\n    return {_tuple(parts)}"

    own_parts = constants_text(program, types_, access)
    own_text = f"Own({', '.join(own_parts)})"
    results = ["result"] if scalar_state else [f"result[{place}]" for place in state_range]
    initial = [fitted(place, result) for place, result in enumerate(results)]
    active = (
        f"bool({_call(program, 'active')})"
        if "active" in program.functions
        else "not same(vertex, new)"
    )
    optional = {
        name: _call(program, name) if name in program.functions else default
        for name, default in (("starts", "True"), ("settled", "False"), ("priority", "0.0"))
    }
    sums = [
        f"np.float64({f'bool({_call(program, name)})' if fold == 'any' else _call(program, name)})"
        for name, fold in zip(program.aggregates, program.aggregate_folds, strict=True)
    ]
    chosen = {"ANY": program.combine == "any", "ORDERED": "priority" in program.functions}
    lines = [
        *([CONVERSIONS] if program.infinite else []),
        *[f"{name} = {value}" for name, value in {**chosen, **(fixed or {})}.items()],
        f"CHANGES = {program.asynchronous or 'active' not in program.functions}",
        f"KEEPS = {keeps_when_silent(program)}",
        f"FIELDS = {len(fields)}",
        "NO_TARGET = 0",
        f"SETTLES = {'settled' in program.functions}",
        *_state_adaptors(program, types_, access),
        "@inline\ndef initial(constants, vertex, number, values):",
        f"    result = {_call(program, 'init', own=own_text)}",
        f"    return {_tuple([f'({part})' for part in initial])}",
        *_message_adaptors(program, types_, access, checked=checked),
        "@inline\ndef update(vertex, gathered, values):",
        new_state(_call(program, "apply", **_named(program))),
        "@inline\ndef is_active(vertex, new, values):",
        f"    return {active}",
        "@inline\ndef is_settled(vertex, values):",
        f"    return bool({optional['settled']})",
        "@inline\ndef starts(vertex, values):",
        f"    return bool({optional['starts']})",
        "@inline\ndef order(vertex, values):",
        f"    return np.float64({optional['priority']})",
        "@inline\ndef change(vertex, new):",
        f"    return {_change(program, types_)}",
        "@inline\ndef terms(vertex, values):",
        f"    return {_tuple(sums)}",
        *_inbox_adaptors(types_, access),
        *_list_lines(program, types_, access),
        *scatter_lines(program, types_, access, _call, _widen, _cast),
    ]
    return "\n".join(lines)


def _state_adaptors(program: VertexProgram, types_: Types, access: Access) -> list[str]:
    """Write the functions that read, write and compare states."""
    state_range = range(len(program.state))
    slots = [f"vertex[{place}]" for place in state_range]
    return [
        "@inline\ndef load(state, constants, vertex):",
        f"    return {vertex_text(program, types_, access)}",
        "@inline\ndef load_target(state, constants, vertex):",
        f"    return {vertex_text(program, types_, access) if program.reads_target else 'NO_TARGET'}",
        "@inline\ndef put(state, vertex, new):",
        *[
            f"    {access.write('state', f'state[{place}]', 'vertex', f'new[{place}]')}"
            for place in state_range
        ],
        "@inline\ndef keep(vertex):",
        f"    return {_tuple([_stored(program, i, types_.state[i], slots[i]) for i in state_range])}",
        "@inline\ndef replace(vertex, new):",
        "    return Vertex("
        + ", ".join(
            [loaded_text(program, i, kind, f"new[{i}]") for i, kind in enumerate(types_.state)]
            + [f"vertex[{len(program.state) + place}]" for place in range(len(types_.constants))]
        )
        + ")",
        "@inline\ndef same(vertex, new):",
        "    return " + " and ".join(_equal(program, place, types_) for place in state_range),
    ]


def _message_adaptors(
    program: VertexProgram, types_: Types, access: Access, *, checked: bool
) -> list[str]:
    """Write the functions that compute messages and combine them."""
    return [
        "@inline\ndef message(source, target, edges, arc, values):",
        message_text(program, types_, access),
        *_edge_adaptors(program, types_, access, checked=checked),
        "@inline\ndef nothing():",
        f"    return {identity_text(program, types_)}",
        "@inline\ndef merge(first, second):",
        message_result(types_, merge_text(program, types_))
        if program.combine != "any" or types_.message == ("bool",)
        else "    return second",
        "@inline\ndef is_enough(gathered):",
        f"    return {'bool(gathered)' if types_.message == ('bool',) else 'True'}",
    ]


def _inbox_adaptors(types_: Types, access: Access) -> list[str]:
    """Write the functions that read and write combined messages in arrays."""
    slots_read = [
        access.read("message", f"inbox[{place}]", "vertex", kind)
        for place, kind in enumerate(types_.message)
    ]
    message_slots = _tuple(slots_read) if types_.tuple_message else slots_read[0]
    parts_sent = (
        [f"gathered[{place}]" for place in range(len(types_.message))]
        if types_.tuple_message
        else ["gathered"]
    )
    store_message = [
        f"    {access.write('message', f'inbox[{place}]', 'vertex', part)}"
        for place, part in enumerate(parts_sent)
    ]
    return [
        "@inline\ndef take_message(inbox, vertex):",
        f"    return {message_slots}",
        "@inline\ndef put_message(inbox, vertex, gathered):",
        *store_message,
    ]


def _list_lines(program: VertexProgram, types_: Types, access: Access) -> list[str]:
    """Write the functions that only programs that list messages have."""
    if program.listing is None:
        return []
    call = _call(program, "gather_list") if "gather_list" in program.functions else ""
    return list_lines(
        program.listing,
        types_.message,
        types_.gathered,
        call=call,
        is_tuple=types_.tuple_gathered,
        notes=len(types_.edges) + len(program.edge_state),
        note=access.note,
    )


def host_adaptors(program: VertexProgram, types_: Types) -> str:
    """Write what loops on the CPU call and kernels do not: for `ws.mode()`, and for several supersteps in a call."""
    lines = [] if program.listing is None else key_lines(program.listing, types_.message)
    first, aggregates = len(program.parameters), len(program.aggregates)
    values = [
        *[f"values[{place}]" for place in range(first)],
        *[f"sums[{place}]" for place in range(aggregates)],
        f"values[{first + aggregates}]",
        "number",
    ]
    return "\n".join([
        *term_lines(program),
        *lines,
        f"AGGREGATES = {aggregates}",
        f"READS_TARGET = {program.reads_target}",
        "@inline\ndef next_values(values, sums, number):",
        f"    return {_tuple(values)}",
    ])  # fmt: skip


def term_lines(program: VertexProgram) -> list[str]:
    """Write the functions that fold vertices' terms of the aggregates."""
    first = {"sum": "0.0", "any": "0.0", "max": "-np.inf", "min": "np.inf"}

    def joined(place: int, fold: str) -> str:
        one, other = f"first[{place}]", f"second[{place}]"
        sign = "<" if fold == "min" else ">"
        return (
            f"{one} + {other}" if fold == "sum" else f"({other} if {other} {sign} {one} else {one})"
        )

    folds = program.aggregate_folds
    return [
        "@inline\ndef no_terms():",
        f"    return {_tuple([first[fold] for fold in folds])}",
        "@inline\ndef add_terms(first, second):",
        f"    return {_tuple([joined(place, fold) for place, fold in enumerate(folds)])}",
    ]


def _named(program: VertexProgram) -> dict[str, str]:
    """Return the expression for `gathered` if its parts have names."""
    fields = () if program.fold is None else program.fold.fields
    parts = ", ".join(f"gathered[{place}]" for place in range(len(fields)))
    return {"gathered": f"Gathered({parts})"} if fields else {}


def record_fields(program: VertexProgram) -> dict[str, tuple[str, ...]]:
    """Return the named tuples that a program's functions see, and their fields.

    Parameters
    ----------
    program : VertexProgram
        The checked program.

    Returns
    -------
    dict of tuple of str
    """
    return {
        "Vertex": (*program.state, *program.constants),
        "Own": tuple(program.constants),
        "Edge": program.edge_fields,
        "Parameters": program.parameter_names,
        **scatter_records(program),
        **({"Gathered": program.fold.fields} if _named(program) and program.fold else {}),
    }


def generated_source(program: VertexProgram, types_: Types) -> str:
    """Write the module that contains a program and every loop.

    Parameters
    ----------
    program : VertexProgram
        The checked program.
    types_ : Types
        Its types on the graph.

    Returns
    -------
    str
        Python source, the same for the same program and types.
    """
    long = "always_inline, " if program.scatters else ""
    parts = [
        f'"""Loops of the vertex program {program.name}, generated."""',
        *program_text(program, f"from cugraph_ws.kernels.cpu.jit import {long}inline, jit"),
        adaptors(program, types_),
        host_adaptors(program, types_),
        *[loop_text(loop) for loop in loops_of(program)],
    ]
    return "\n\n".join(parts) + "\n"


def loops_of(program: VertexProgram) -> tuple[str, ...]:
    """Return the loop modules that a program is compiled with."""
    lists: tuple[str, ...] = ()
    if program.listing is not None:
        lists = (LISTS if program.listing.kind == "list" else MODES,)
    more = provider("accelerators").program_loops()
    edges = SCATTER if program.scatters else EDGE_STATE if program.edge_state else ()
    return (*LOOPS, *more, *lists, *edges)


@lru_cache
def loop_text(loop: str) -> str:
    """Return the source of a module of `kernels/cpu` without the parts that an instance replaces."""
    tree = parse(kernel_file("cpu", loop).read_text("utf-8"))
    return "\n\n".join(ast.unparse(node) for node in without_interface(tree))


def program_text(
    program: Any,
    decorators: str,
    records: dict[str, tuple[str, ...]] | None = None,
    spelling: Callable[[str], str] = str,
) -> list[str]:
    """Write the start of every generated module: imports, named tuples, the user's functions.

    Parameters
    ----------
    program : VertexProgram or EdgeProgram
        The checked program.
    decorators : str
        The import that provides `inline` and `jit`.
    records : dict of tuple of str, optional
        The named tuples that its functions see, and their fields; by default a vertex program's.
    spelling : callable
        Writes the text of a function in another way.

    Returns
    -------
    list of str
        Parts of a module.
    """
    definitions = [
        part
        for name, source in program.sources.items()
        for part in _definitions(
            spelling(compiled_text(source.text) if name == "gather_list" else source.text)
        )
    ]
    return [
        f"import math\nfrom collections import namedtuple\nimport numpy as np\n{decorators}",
        *[
            f"{name} = namedtuple({name!r}, {names!r})"
            for name, names in (records or record_fields(program)).items()
        ],
        *dict.fromkeys(definitions),  # functions may share helpers
    ]


@lru_cache
def _definitions(text: str) -> list[str]:
    """Return the definitions of functions, each marked for inlining."""
    return [f"@inline\n{ast.unparse(definition)}" for definition in parse(text).body]
