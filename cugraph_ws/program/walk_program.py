"""The decorator for walks: a function that chooses the next edge of a walker.

The function is plain Python over two objects, `walker` and `edges`.  For compilation its source is rewritten:
what it asks of them becomes a call of a function that `walk_codegen` writes.  For `engine="python"` it is
called as it is (`plain_walk`).
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar, NoReturn

from cugraph_ws.arguments import shown
from cugraph_ws.errors import ProgramError
from cugraph_ws.program.declarations import (
    Edge,
    Parameter,
    boolean,
    float64,
    int64,
)
from cugraph_ws.program.help import help_of
from cugraph_ws.program.snapshot import Memory, Snapshot
from cugraph_ws.program.source import FunctionSource, read_function
from cugraph_ws.runtime.parsing import parse, parse_expression
from cugraph_ws.runtime.tracebacks import short_errors

__all__ = ["CALL", "GIVEN", "NEXT", "WalkProgram", "by_weight", "walk"]

NEXT = "next_edge"  # the role of the function, and its name in generated text
TAKEN = ("starts", "length", "seed")  # arguments of a run
FIELDS = ("vertex", "previous", "step", "number")  # what a walker has besides its edge
METHODS = {"random": 0, "random_integer": 1, "random_edge": 1, "has_edge": 2}  # their arguments
CALL = 0x7FFE  # of all draws of walks, so that they are not those of a vertex program with the same seed
GIVEN = ("ws_edge", "ws_came_by", "ws_has_edge")  # the functions that a rewritten source calls
COUNT = "ws_draws"  # the variable that counts a function's draws
# Where a block is on every path through a function, Numba 0.64 loses the value of `:=` inside an expression.
BEGIN = f"{COUNT} = 0\nif edges.degree == 0:\n    return -1"


def by_weight(column: str) -> str:
    """Return the name of the function that draws an edge by a column's values."""
    return f"ws_random_edge_{column}"


@dataclass(eq=False)
class WalkProgram(Snapshot):
    """A checked walk; `ws.run` runs it.

    Attributes
    ----------
    name, doc : str
        The function's name and docstring.
    edges : dict of Edge
        The edge attributes that it reads, by name.
    weights : tuple of str
        Those by which it draws edges.
    parameters : dict of Parameter
        Its arguments after `walker` and `edges`.
    functions, sources, memory, frozen
        As in `Snapshot`; there is one function, `next_edge`.

    Examples
    --------
    A walk that follows the heaviest edge, and ends where that is below a threshold:

    >>> import pandas as pd
    >>> import cugraph_ws as ws
    >>> @ws.walk
    ... def heaviest(walker, edges, least=1.0):
    ...     best = 0
    ...     for i in range(len(edges)):
    ...         if edges[i].weight > edges[best].weight:
    ...             best = i
    ...     return best if edges[best].weight >= least else -1
    >>> heaviest
    <walk heaviest>
    >>> list(heaviest.edges), {name: one.default for name, one in heaviest.parameters.items()}
    (['weight'], {'least': 1.0})
    >>> trade = pd.DataFrame(
    ...     {"source": list("aabc"), "destination": list("bccd"), "weight": [2.0, 9.0, 4.0, 3.0]}
    ... )
    >>> ws.run(heaviest, trade, starts=["a"], length=9).frame["vertex"].tolist()
    ['a', 'c', 'd']
    >>> ws.run(heaviest, trade, starts=["a"], length=9, least=5.0).frame["vertex"].tolist()
    ['a', 'c']
    """

    name: str
    doc: str
    parameters: dict[str, Parameter]
    functions: dict[str, Callable[..., Any]]
    edges: dict[str, Edge] = field(default_factory=dict)
    weights: tuple[str, ...] = ()
    sources: dict[str, FunctionSource] = field(default_factory=dict)
    memory: Memory = field(default_factory=Memory, repr=False)
    frozen: bool = field(default=False, repr=False)

    # What only programs of vertices or pairs have
    state: ClassVar[dict[str, Any]] = {}
    constants: ClassVar[dict[str, Any]] = {}

    def read_sources(self) -> None:
        """Read, check and rewrite the source of the function."""
        rewriting = _Rewriting(self.name)
        self.sources[NEXT] = read_function(
            self.functions[NEXT], f"user_{NEXT}", owner=self.name, rewrite=rewriting.rewrite
        )
        self.weights = tuple(dict.fromkeys(rewriting.weights))
        names = dict.fromkeys([*rewriting.columns, *self.weights])
        # A draw by weight needs sums, so such values are 0 or more.
        self.edges = {name: Edge(least=0.0 if name in self.weights else None) for name in names}

    def __repr__(self) -> str:
        return f"<walk {self.name}>"


@short_errors
def walk(function: Callable[..., Any]) -> WalkProgram:
    """Make a walk from a function that chooses the next edge of a walker.

    A walker is at a vertex and takes one of its out-edges in each step.  The function is called with the
    walker and these edges, and returns the index of the one to take; a negative number ends the walk, which
    also ends at a vertex without out-edges.  `ws.run(function, graph, starts=…, length=…, seed=0)` runs it
    from each vertex of `starts` (all vertices if that is left out) for at most `length` steps.

    Parameters
    ----------
    function : callable
        Takes `walker`, `edges`, and by name the parameters of a run; those with a default may be left out
        of it.

    Returns
    -------
    WalkProgram
        The checked walk.

    Raises
    ------
    ProgramError
        If the function is invalid; the message names the line.

    Notes
    -----
    A walker has `vertex`, the number of the vertex where it is; `previous`, that of the vertex before, -1 in
    the first step; `step`, from 0; `number`, the place of its start in `starts`; and `edge`, the edge it came
    by, whose attributes are 0 in the first step.  It has the methods

    - ``random()``: a float64 from 0 to less than 1;
    - ``random_integer(n)``: an integer from 0 to n - 1;
    - ``random_edge(edges.weight)``: the index of an edge, drawn in proportion to an attribute that is 0 or
      more; -1 if all are 0.  It takes a binary search in sums that are kept with the graph, 8 bytes an edge;
    - ``has_edge(source, destination)``: whether the graph has that edge; a binary search too.

    Of the edges, `len(edges)` is their number; `edges[i].dst` the number of the vertex that one leads to, and
    every other name, such as `edges[i].time`, a column of the edge frame.  They are in the order of the
    destinations' numbers, which is that of their ids; parallel edges as in the frame.

    A draw is a function of the seed, the step, the walker's number, and how often the walker has drawn in
    the step.  So a walk is the same on every engine and number of threads, and whichever others there are.

    Examples
    --------
    A walk in the order of time, which never takes an edge that is older than the one it came by:

    >>> import pandas as pd
    >>> import cugraph_ws as ws
    >>> @ws.walk
    ... def in_time(walker, edges):
    ...     later = 0
    ...     for i in range(len(edges)):
    ...         if edges[i].time >= walker.edge.time:
    ...             later += 1
    ...     chosen = walker.random_integer(later)
    ...     for i in range(len(edges)):
    ...         if edges[i].time >= walker.edge.time:
    ...             if chosen == 0:
    ...                 return i
    ...             chosen -= 1
    ...     return -1
    >>> contacts = pd.DataFrame(
    ...     {"source": list("abcd"), "destination": list("bcda"), "time": [1, 5, 9, 2]}
    ... )
    >>> ws.run(in_time, contacts, starts=["a"], length=10).frame.to_dict("list")
    {'walk': [0, 0, 0, 0], 'step': [0, 1, 2, 3], 'vertex': ['a', 'b', 'c', 'd']}
    """
    if not inspect.isfunction(function):
        raise ProgramError(f"{shown(function)} is not a function; put @ws.walk above a function")
    name = function.__name__
    program = WalkProgram(
        name=name,
        doc=inspect.cleandoc(function.__doc__ or ""),
        parameters=_parameters(function),
        functions={NEXT: function},
    )
    program.read_sources()
    program.__doc__ = help_of(name, program.doc, {**program.edges, **program.parameters}, state={})
    return program


def _parameters(function: Callable[..., Any]) -> dict[str, Parameter]:
    """Return the declarations of the arguments after `walker` and `edges`."""
    name = function.__name__
    arguments = list(inspect.signature(function).parameters.values())
    if [argument.name for argument in arguments[:2]] != ["walker", "edges"]:
        raise ProgramError(f"{name} is a walk; write it as {name}(walker, edges)")
    declared = {}
    for argument in arguments[2:]:
        default = None if argument.default is argument.empty else argument.default
        if argument.name in TAKEN:
            raise ProgramError(
                f"{name}: `{argument.name}` is an argument of every run of a walk; choose another name"
            )
        if default is not None and not isinstance(default, (bool, int, float)):
            raise ProgramError(
                f"{name}: `{argument.name}` has the default {shown(default)}; give a number, True or False"
            )
        kind = (
            boolean if isinstance(default, bool) else int64 if isinstance(default, int) else float64
        )
        declared[argument.name] = Parameter(kind, default)
    return declared


class _Rewriting(ast.NodeTransformer):
    """Replaces what a function asks of `walker` and `edges` by calls.

    Parameters
    ----------
    name : str
        The function's name.

    Attributes
    ----------
    columns, weights : list of str
        The attributes of edges that it reads, and those by which it draws.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.columns: list[str] = []
        self.weights: list[str] = []
        self._fail: Callable[[ast.AST, str], NoReturn]
        self._draws = False

    def rewrite(self, function: ast.FunctionDef, fail: Callable[..., NoReturn]) -> tuple[str, ...]:
        """Rewrite a function; return the names that its text does not define."""
        self._fail = fail
        function.args.defaults = []  # they are the parameters' of a run
        local = {
            node.id
            for node in ast.walk(function)
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
        }
        for node in ast.walk(function):
            if isinstance(node, ast.Attribute) and _is_edge(node.value, local):
                self.columns += [node.attr] * (node.attr != "dst")
        function.body = [self.visit(statement) for statement in function.body]
        if self._draws:
            documented = int(ast.get_docstring(function) is not None)
            begins = [_placed(statement, function) for statement in parse(BEGIN).body]
            function.body[documented:documented] = begins
        return (*GIVEN, *map(by_weight, self.weights))

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """Replace `len(edges)`, and calls of the walker's methods."""
        match node:
            case ast.Call(func=ast.Name(id="len"), args=[ast.Name(id="edges")], keywords=[]):
                return _text(node, "edges.degree")
            case ast.Call(func=ast.Attribute(value=ast.Name(id="walker"), attr=method)):
                return self._method(node, method)
        return self.generic_visit(node)

    def _method(self, node: ast.Call, method: str) -> ast.AST:
        """Replace a call of one of the walker's methods."""
        if method not in METHODS:
            self._fail(node, f"`walker.{method}()` is unknown; {_has()}")
        if node.keywords or len(node.args) != METHODS[method]:
            right = {
                "random_integer": "n",
                "random_edge": "edges.weight",
                "has_edge": "source, destination",
            }
            self._fail(
                node,
                f"uses `{ast.unparse(node)}`; write `walker.{method}({right.get(method, '')})`",
            )
        if method == "random_edge":
            match node.args[0]:
                case ast.Attribute(value=ast.Name(id="edges"), attr=str(column)):
                    self.weights.append(column)
                    return _called(node, by_weight(column), "edges", self._draw(node, "random"))
            self._fail(
                node,
                f"uses `{ast.unparse(node)}`; give an attribute of all edges, as in "
                "`walker.random_edge(edges.weight)`",
            )
        arguments = [self.visit(argument) for argument in node.args]
        if method == "has_edge":
            return _called(node, "ws_has_edge", "edges", *arguments)
        return self._draw(node, method, *arguments)

    def _draw(self, node: ast.Call, method: str, *arguments: ast.expr) -> ast.Call:
        """Return the call that draws a number."""
        self._draws = True
        place = (
            "walker.seed",
            "walker.step",
            str(CALL),
            "walker.number",
            f"({COUNT} := {COUNT} + 1)",
        )
        return _called(node, f"ws_{method}", *place, *arguments)

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        """Replace `edges[i]`."""
        if not isinstance(node.value, ast.Name) or node.value.id != "edges":
            return self.generic_visit(node)
        if isinstance(node.slice, (ast.Slice, ast.Tuple)):
            self._fail(node, f"uses `{ast.unparse(node)}`; read one edge, as in `edges[i]`")
        return _called(node, "ws_edge", "edges", self.visit(node.slice))

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        """Replace `walker.edge`."""
        match node:
            case ast.Attribute(value=ast.Name(id="walker"), attr="edge"):
                return _called(node, "ws_came_by", "edges", "walker")
            case ast.Attribute(value=ast.Name(id="walker"), attr=name):
                if name not in FIELDS:
                    self._fail(node, f"`walker.{name}` is unknown; {_has()}")
                return node
            case ast.Attribute(value=ast.Name(id="edges"), attr=name):
                self._fail(
                    node, f"uses `edges.{name}`; read it of one edge, as in `edges[i].{name}`"
                )
        return self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> ast.AST:
        """Refuse other uses of both objects."""
        if node.id == "edges":
            self._fail(node, "uses `edges` as a whole; write a loop `for i in range(len(edges))`")
        if node.id == "walker":
            self._fail(node, "uses `walker` as a whole; pass on the numbers that are needed")
        return node


def _has() -> str:
    """Say what a walker has."""
    return f"a walker has {', '.join((*FIELDS, 'edge'))}, and the methods {', '.join(METHODS)}"


def _is_edge(value: ast.expr, local: set[str]) -> bool:
    """Return whether an expression is an edge: one of `edges`, the walker's, or a variable."""
    match value:
        case ast.Name(id=name):
            return name in local
        case ast.Subscript(value=ast.Name(id="edges")):
            return True
        case ast.Attribute(value=ast.Name(id="walker"), attr="edge"):
            return True
    return False


def _text(node: ast.AST, text: str) -> ast.expr:
    """Return an expression at the place of a node."""
    expression: ast.expr = _placed(parse_expression(text), node)
    return expression


def _called(node: ast.AST, name: str, *arguments: str | ast.expr) -> ast.Call:
    """Return a call at the place of a node; arguments as text or expressions."""
    parts = [_text(node, part) if isinstance(part, str) else part for part in arguments]
    return ast.fix_missing_locations(
        ast.copy_location(ast.Call(ast.Name(name, ast.Load()), parts, []), node)
    )


def _placed(part: Any, node: ast.AST) -> Any:
    """Return a piece of source with the lines of a node."""
    for inner in ast.walk(part):
        ast.copy_location(inner, node)
    return part
