"""The text of a `scatter` that the lanes of warps run together, for vertices with many out-edges.

All lanes run the function with the same values, so they take the same branches.  Its loops over the edges become, by
what the text proves:

- *divided*: no value is carried from edge to edge, as in `for edge in edges: edge.send(own.x * edge.w)`.  Each thread
  takes its edges.
- *folded*: the last statements carry values, but what they take from an edge does not depend on these, as in
  `total += edge.w`.  Lanes compute that for 32 edges, and then all lanes fold it in the order of the edges.
- *handed*: any other.  Lanes load 32 edges, and all lanes run the body for each, in order.

So operations are done in the user's order, and the result is that of one thread.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING, cast

from cugraph_ws.backends.cuda.user_min_max import spelling_of
from cugraph_ws.program.scatter import ARRAYS
from cugraph_ws.program.scatter_source import PLACE
from cugraph_ws.runtime.parsing import parse, parse_expression

if TYPE_CHECKING:
    from cugraph_ws.program.codegen import Types
    from cugraph_ws.program.vertex_program import VertexProgram

__all__ = ["lane_lines", "lanes_text", "scatter_of_lanes"]

NAME = "user_scatter_lanes"
# Statements that `_exposed` follows; a loop with others is handed
FOLLOWED = (
    ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Expr, ast.If, ast.For, ast.While, ast.Continue, ast.Pass,
)  # fmt: skip


def lanes_text(text: str, numbers: Collection[str]) -> str:
    """Return the definition of `user_scatter_lanes`, which calls the helpers of `user_scatter`.

    Parameters
    ----------
    text : str
        `user_scatter` and its helpers, as `scatter_source` writes them, with the device's `min` and `max`.
    numbers : collection of str
        The fields, constants and edge attributes that are no booleans, which lanes do not exchange.
    """
    function = parse(text).body[-1]
    assert isinstance(function, ast.FunctionDef)
    function.name = NAME
    function.body = _Lanes(numbers).block(function.body, [])
    for node in ast.walk(function):
        if isinstance(node, ast.Name) and node.id == "ws_send":
            node.id = "ws_send_as_owner"
    return ast.unparse(ast.fix_missing_locations(function))


# ------------------------------------------------------------------------------ which values live


def _loaded(node: ast.AST) -> set[str]:
    """Return the names that are read."""
    return {
        one.id
        for one in ast.walk(node)
        if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Load)
    }


def _stored(*nodes: ast.AST) -> set[str]:
    """Return the names that are assigned."""
    return {
        one.id
        for node in nodes
        for one in ast.walk(node)
        if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)
    }


def _exposed(statements: Sequence[ast.stmt]) -> set[str]:
    """Return the names that statements may read before they assign them."""
    return _flow(statements)[0]


def _flow(statements: Sequence[ast.stmt]) -> tuple[set[str], set[str]]:
    """Return the names that may be read before they are assigned, and those that are assigned where the end is reached."""
    read: set[str] = set()
    known: set[str] = set()
    for one in statements:
        match one:
            case ast.If():
                first, in_first = _flow(one.body)
                second, in_second = _flow(one.orelse)
                read |= (_loaded(one.test) | first | second) - known
                known |= in_first & in_second
            case ast.For():
                first, _ = _flow(one.body)
                second, _ = _flow(one.orelse)
                read |= (_loaded(one.iter) | (first - _stored(one.target)) | second) - known
            case ast.While():
                read |= (_loaded(one.test) | _exposed(one.body) | _exposed(one.orelse)) - known
            case ast.Assign() | ast.AnnAssign():
                read |= _loaded(one) - known
                known |= _stored(one)
            case ast.AugAssign():
                read |= (_loaded(one) | _stored(one)) - known
            case _:
                read |= _loaded(one) - known
    return read, known


# ---------------------------------------------------------------------------------- the rewriting


class _Lanes:
    """Rewrites the loops over the edges of one function."""

    def __init__(self, numbers: Collection[str]) -> None:
        self._numbers = numbers
        self._loops = 0

    def block(self, statements: Sequence[ast.stmt], after: list[set[str]]) -> list[ast.stmt]:
        """Rewrite statements; `after` are the names that are read once they are left, by level."""
        written: list[ast.stmt] = []
        for place, one in enumerate(statements):
            following = [*after, _exposed(statements[place + 1 :])]
            match one:
                case ast.For() if (start := _start(one)) is not None:
                    written += self._loop(one, start, set().union(*following), following)
                    continue
                case ast.For() | ast.While():
                    again = [*following, _exposed([one])]
                    one.body = self.block(one.body, again)
                    one.orelse = self.block(one.orelse, following)
                case ast.If():
                    one.body = self.block(one.body, following)
                    one.orelse = self.block(one.orelse, following)
            written.append(one)
        return written

    def _loop(
        self, loop: ast.For, start: int, live: set[str], following: list[set[str]]
    ) -> list[ast.stmt]:
        """Rewrite a loop over the edges; `live` are the names that may be read after it."""
        self._loops += 1
        assert isinstance(loop.target, ast.Name)
        number = loop.target.id
        local = _is_local(loop, number) and start == 0
        if local and not _carried(loop.body, number, live) and _sends_along_its_edge(loop, number):
            loop.iter = parse_expression("range(ws_first(), edges.degree, ws_step())")
            return [loop]
        folds = _folds(loop.body, self._numbers)
        prefix = loop.body[: len(loop.body) - len(folds)]
        if local and folds and not _holds(loop, ast.Continue) and not _sends(loop):
            folded = {target for target, _ in folds}
            parts = set().union(*(_loaded(part) for _, part in folds))
            read = parts | _exposed(prefix) | _stored(*prefix)
            if folded.isdisjoint(read) and not _carried(prefix, number, live):
                return self._folded(loop, number, prefix, folds)
        return self._handed(loop, number, start, following)

    def _folded(
        self, loop: ast.For, number: str, prefix: list[ast.stmt], folds: list[tuple[str, ast.expr]]
    ) -> list[ast.stmt]:
        """Write a loop of which lanes compute the parts of 32 edges."""
        block, turn = f"ws_block_{self._loops}", f"ws_turn_{self._loops}"
        outer = _statement(
            f"for {block} in range(0, edges.degree, 32):\n    {number} = ws_lane_place(edges, {block})"
        )
        inner = _statement(f"for {turn} in range(ws_turns(edges, {block})):\n    pass")
        assert isinstance(outer, ast.For)
        assert isinstance(inner, ast.For)
        outer.body += prefix
        steps: list[ast.stmt] = []
        for place, (fold, (_, part)) in enumerate(
            zip(loop.body[len(prefix) :], folds, strict=True)
        ):
            name = f"ws_part_{self._loops}_{place}"
            outer.body.append(ast.Assign([ast.Name(name, ast.Store())], part))
            received = parse_expression(f"ws_from_lane({name}, {turn})")
            steps.append(cast(ast.stmt, _Replacing(part, received).visit(fold)))
        inner.body = steps
        outer.body.append(inner)
        return [outer]

    def _handed(
        self, loop: ast.For, number: str, start: int, following: list[set[str]]
    ) -> list[ast.stmt]:
        """Write a loop of which lanes load 32 edges."""
        again = [*following, _exposed([loop])]
        if number in _stored(*loop.body):
            loop.body = self.block(loop.body, again)
            return [loop]
        ahead, edge = f"ws_ahead_{self._loops}", f"ws_edge_{self._loops}"
        turn = number if start == 0 else f"{number} - {start}"
        handing = _Handing(number, edge)
        loop.body = self.block([handing.visit(one) for one in loop.body], again)
        if not handing.used:
            return [loop]
        loop.body[:0] = [
            _statement(f"if ({turn}) & 31 == 0:\n    {ahead} = ws_load_ahead(edges, {number})"),
            _statement(f"{edge} = ws_handed({ahead}, {number}, ({turn}) & 31)"),
        ]
        return [_statement(f"{ahead} = ws_load_ahead(edges, 0)"), loop]


def _statement(text: str) -> ast.stmt:
    return parse(text).body[0]


def _start(loop: ast.For) -> int | None:
    """Return the first place of a loop over the edges; None if it is another loop."""
    if not isinstance(loop.target, ast.Name):
        return None
    match loop.iter:
        case ast.Call(func=ast.Name(id="range"), args=[*first, last], keywords=[]):
            if ast.unparse(last) != "edges.degree":
                return None
            match first:
                case []:
                    return 0
                case [ast.Constant(value=int() as start)] if start >= 0:
                    return int(start)
    return None


def _is_local(loop: ast.For, number: str) -> bool:
    """Return whether a loop is not left before its end, and all of its statements are followed."""
    in_loops = {
        node
        for one in ast.walk(loop)
        if isinstance(one, ast.For | ast.While) and one is not loop
        for node in ast.walk(one)
        if isinstance(node, ast.Break)
    }
    nodes = [node for one in loop.body for node in ast.walk(one)]
    return (
        not loop.orelse
        and number not in _stored(*loop.body)
        and all(
            isinstance(node, FOLLOWED)
            for node in nodes
            if isinstance(node, ast.stmt) and node not in in_loops
        )
        and not any(isinstance(node, ast.NamedExpr) for node in nodes)
    )


def _carried(body: Sequence[ast.stmt], number: str, live: set[str]) -> bool:
    """Return whether a value that is assigned for an edge may be read for another one, or after the loop."""
    return number in live or not _stored(*body).isdisjoint(_exposed(body) | live)


def _holds(loop: ast.For, kind: type[ast.AST]) -> bool:
    return any(isinstance(node, kind) for node in ast.walk(loop))


def _sends(loop: ast.For) -> list[ast.Call]:
    """Return the calls that send."""
    return [
        node for node in ast.walk(loop) if isinstance(node, ast.Call) and _calls(node, "ws_send")
    ]


def _calls(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == name


def _is_edge(node: ast.expr, number: str) -> bool:
    """Return whether an expression is the edge at the place `number`."""
    return ast.unparse(node) in (
        f"ws_out_edge(edges, {number})",
        f"ws_out_edge(edges, ws_checked(edges, {number}))",
    )


def _sends_along_its_edge(loop: ast.For, number: str) -> bool:
    """Return whether a loop sends along the edge of each pass alone, so that no two threads send along one."""
    assigned = [node for node in ast.walk(loop) if isinstance(node, ast.Assign)]
    edges = [node for node in assigned if _is_edge(node.value, number)]
    names = [name for node in edges for name in _stored(node)]
    sure = {name for name in names if _times_stored(loop, name) == names.count(name)}
    along = {f"ws_checked(edges, {number})", *(f"{name}.{PLACE}" for name in sure)}
    return all(ast.unparse(call.args[1]) in along for call in _sends(loop))


def _times_stored(loop: ast.For, name: str) -> int:
    """Return how often a name is assigned in a loop."""
    return sum(
        isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node.id == name
        for node in ast.walk(loop)
    )


def _folds(body: Sequence[ast.stmt], numbers: Collection[str]) -> list[tuple[str, ast.expr]]:
    """Return the variables that the last statements fold into, and what they take, which are numbers."""
    folds: list[tuple[str, ast.expr]] = []
    for one in reversed(body):
        match one:
            case ast.AugAssign(target=ast.Name(id=name), value=part):
                fold = name, part
            case ast.Assign(
                targets=[ast.Name(id=name)],
                value=ast.Call(func=ast.Name(), args=[ast.Name(id=same), part], keywords=[]),
            ) if same == name:
                fold = name, part
            case _:
                break
        if name in _loaded(part) or name in dict(folds) or not _is_number(part, numbers):
            break
        folds.insert(0, fold)
    return folds


def _is_number(part: ast.expr, numbers: Collection[str]) -> bool:
    """Return whether an expression is plainly no boolean."""
    match part:
        case ast.Attribute(attr=name):
            return name in numbers
        case ast.BinOp(
            op=ast.Add()
            | ast.Sub()
            | ast.Mult()
            | ast.Div()
            | ast.Mod()
            | ast.FloorDiv()
            | ast.Pow()
        ):
            return True
        case ast.UnaryOp(op=ast.USub(), operand=inner):
            return _is_number(inner, numbers)
        case ast.IfExp():
            return _is_number(part.body, numbers) and _is_number(part.orelse, numbers)
        case ast.Call(func=ast.Name(id="min" | "max" | "ws_least" | "ws_greatest" | "abs")):
            return all(_is_number(one, numbers) for one in part.args)
        case ast.Call(func=ast.Attribute(value=ast.Name(id="math"))):
            return not ast.unparse(part.func).startswith("math.is")
        case ast.Constant(value=value):
            return not isinstance(value, bool)
    return False


class _Replacing(ast.NodeTransformer):
    """Replaces one node."""

    def __init__(self, node: ast.AST, by: ast.AST) -> None:
        self._node, self._by = node, by

    def visit(self, node: ast.AST) -> ast.AST:
        """Replace the node."""
        return self._by if node is self._node else self.generic_visit(node)


class _Handing(ast.NodeTransformer):
    """Replaces the edge of a pass by a variable."""

    def __init__(self, number: str, edge: str) -> None:
        self._number, self._edge = number, edge
        self.used = False

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """Replace a call that loads the edge."""
        if _is_edge(node, self._number):
            self.used = True
            return ast.Name(self._edge, ast.Load())
        return self.generic_visit(node)


# ------------------------------------------------------------------------- what the text calls


def _fields_read(text: str) -> set[str] | None:
    """Return the names of what is read of edges and vertices; None if one may be used as a whole."""
    tree = parse(text)
    parents = {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
    copies = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign)
        and all(isinstance(target, ast.Name) for target in node.targets)
        and (isinstance(node.value, ast.Name) or _calls(node.value, "ws_out_edge"))
    ]
    edges: set[str] = set()
    for _ in copies:
        for node in copies:
            if not isinstance(node.value, ast.Name) or node.value.id in edges:
                edges |= _stored(node)
    for one, parent in parents.items():
        is_vertex = isinstance(one, ast.Attribute) and one.attr == "dst"
        is_edge = _calls(one, "ws_out_edge") or (
            isinstance(one, ast.Name) and isinstance(one.ctx, ast.Load) and one.id in edges
        )
        copied = is_edge and parent in copies
        if (is_edge or is_vertex) and not copied and not isinstance(parent, ast.Attribute):
            return None
    return {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}


def scatter_of_lanes(
    program: VertexProgram, types: Types, shuffled: Callable[[str, str], str]
) -> list[str]:
    """Write the `scatter` of vertices with many out-edges; nothing of a program without one.

    Parameters
    ----------
    program : VertexProgram
    types : Types
    shuffled : callable
        Writes, of a type and an expression, what lane `turn` has.
    """
    if not program.scatters:
        return []
    kinds = dict(zip(program.state, types.state, strict=True))
    kinds |= dict(zip(program.constants, types.constants, strict=True))
    kinds |= dict(zip(program.edges, types.edges, strict=True))
    numbers = {name for name, kind in kinds.items() if kind != "bool"}
    text = lanes_text(spelling_of(program, types)(program.sources["scatter"].text), numbers)
    return [f"@inline\n{text}", *lane_lines(program, types, shuffled)]


def lane_lines(
    program: VertexProgram, types_: Types, shuffled: Callable[[str, str], str]
) -> list[str]:
    """Write the functions that `user_scatter_lanes` and `kernels/cuda/out_edges.py` call.

    Parameters
    ----------
    program : VertexProgram
        With a `scatter`.
    types_ : Types
    shuffled : callable
        Writes, of a type and an expression, what lane `turn` has.
    """
    source = program.sources["scatter"]
    reads = _fields_read(source.text)

    def handed(name: str, kind: str, value: str, is_constant: bool) -> str:
        is_read = not is_constant and (reads is None or name in reads)
        return shuffled(kind, value) if is_read else value

    states = [(name, kind, False) for name, kind in zip(program.state, types_.state, strict=True)]
    states += zip(program.constants, types_.constants, types_.uniform, strict=True)
    missing = [one is not None for one in types_.missing_edges]
    edges = zip(program.edges, types_.edges, missing, strict=True)
    vertex = [handed(name, kind, f"ahead.dst.{name}", same) for name, kind, same in states]
    edge = [handed(name, kind, f"ahead.{name}", same) for name, kind, same in edges]
    given = {"own": "vertex", "edges": "edges", "p": "Parameters(*values)"}
    arguments = ", ".join(given[name] for name in source.parameters)
    return [
        "@inline\ndef ws_first():\n    return np.int64(thread())",
        "@inline\ndef ws_step():\n    return np.int64(threads())",
        "@inline\ndef ws_lane_place(edges, place):",
        "    return min(np.int64(place + lane()), np.int64(edges.degree - 1))",
        "@inline\ndef ws_turns(edges, place):\n    return min(np.int64(edges.degree - place), np.int64(32))",
        "@inline\ndef ws_load_ahead(edges, place):",
        "    return ws_out_edge(edges, ws_lane_place(edges, place))",
        "@inline\ndef ws_handed(ahead, place, turn):",
        "    mask = FULL",
        f"    return OutEdge(np.int64(place), Vertex({', '.join(vertex)}), {', '.join(edge)})",
        "@inline\ndef ws_from_lane(part, turn):\n    return shuffle(FULL, part, turn)",
        "@inline\ndef ws_send_as_owner(edges, number, message):",
        "    if (number & (threads() - 1)) == thread():",
        "        ws_send(edges, number, message)",
        "    return 0",
        "@inline\ndef send_out_together(vertex, arrays, state, constants, begin, degree, values):",
        f"    edges = OutEdges({', '.join(f'arrays[{place}]' for place in range(len(ARRAYS)))}, state, constants, begin, degree)",
        f"    {NAME}({arguments})",
    ]
