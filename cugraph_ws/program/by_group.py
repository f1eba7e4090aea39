"""Whether one run on many graphs at once gives each of them the states of a run on it alone."""

from __future__ import annotations

import ast

from cugraph_ws.program.declarations import Distribution, VertexNumber, VertexParameter
from cugraph_ws.program.edge_program import EdgeProgram
from cugraph_ws.program.order import says_whether_changed
from cugraph_ws.program.randomness import NUMBER
from cugraph_ws.program.vector_program import VectorProgram
from cugraph_ws.program.vertex_program import VertexProgram
from cugraph_ws.runtime.parsing import parse

__all__ = ["why_not_together"]

# What a function may consist of that only compares and chooses among vertex numbers.
CHOOSING = (
    ast.Module, ast.FunctionDef, ast.arguments, ast.arg, ast.Return, ast.If, ast.IfExp, ast.Assign, ast.Name,
    ast.Attribute, ast.Call, ast.Compare, ast.cmpop, ast.BoolOp, ast.boolop, ast.UnaryOp, ast.Not, ast.expr_context,
)  # fmt: skip
PICKING = {"min", "max", "np.minimum", "np.maximum"}


def why_not_together(program: VertexProgram | EdgeProgram) -> str | None:
    """Return why groups of edges without edges between them must be run one after the other.

    In one run of all, a vertex gets the messages that it gets alone, from the same superstep on.  What differs is
    what is known of the graph as a whole, when the run ends, and the numbers of vertices, of which only the order
    is the same.

    Parameters
    ----------
    program : VertexProgram or EdgeProgram

    Returns
    -------
    str or None
        None if every group has the same states in one run of all.
    """
    for name, declared in {**program.constants, **program.parameters}.items():
        if isinstance(declared, VertexParameter):
            return f"`{name}` is one vertex"
        if isinstance(declared, Distribution):
            return f"`{name}` is scaled over the graph"
        if declared == VertexNumber() and name != NUMBER:
            return "it computes with vertex numbers"
    if _reads(program, "number_of_vertices"):
        return "it reads the number of vertices"
    if isinstance(program, EdgeProgram):
        return None
    if isinstance(program, VectorProgram):
        return "it has vectors"
    if program.draws:
        return "it draws random numbers by the numbers of vertices"
    if program.validate is not None:
        return "it checks the graph"
    if program.residual is not None:
        return "its residual ends a run"
    if program.reads_supersteps:
        return "it reads the superstep number or an aggregate"
    if program.all_send:  # also vertices of a group whose run has ended
        if "starts" in program.functions:
            return "all vertices send, and `starts` tells whether a run begins"
        if "active" in program.functions and not says_whether_changed(program):
            return "all vertices send, and `active` ends a run before states are the same"
    return None if _only_orders_vertices(program) else "it computes with vertex numbers"


def _reads(program: VertexProgram | EdgeProgram, name: str) -> bool:
    """Return whether a function reads an attribute of this name."""
    return any(
        name in read for source in program.sources.values() for read in source.attributes.values()
    )


def _only_orders_vertices(program: VertexProgram) -> bool:
    """Return whether a program reads no vertex numbers, or keeps one, and only compares and chooses."""
    if program.jumps:
        return False
    declared = {**program.state, **program.constants, **program.edge_state}
    holding = [name for name, kind in declared.items() if _holds_vertices(kind)]
    init = parse(program.sources["init"].text)
    names = {node.id for node in ast.walk(init) if isinstance(node, ast.Name)}
    if "vertex" not in names and not holding:
        return True
    if holding != list(program.state) or program.combine not in ("min", "max", "mode"):
        return False
    return all(_chooses(parse(source.text), holding[0]) for source in program.sources.values())


def _holds_vertices(declared: object) -> bool:
    return bool(getattr(getattr(declared, "type", None), "holds_vertex", False))


def _chooses(tree: ast.AST, field: str) -> bool:
    """Return whether functions consist of comparisons and choices among values of a field alone."""
    if isinstance(tree, ast.Expr):  # a docstring
        return isinstance(tree.value, ast.Constant)
    if isinstance(tree, ast.Constant):
        return isinstance(tree.value, bool)
    if isinstance(tree, ast.Attribute):
        return ast.unparse(tree) == "math.inf" or tree.attr == field
    if isinstance(tree, ast.Call):
        picks = not tree.keywords and ast.unparse(tree.func) in PICKING
        return picks and all(_chooses(given, field) for given in tree.args)
    return isinstance(tree, CHOOSING) and all(
        _chooses(child, field) for child in ast.iter_child_nodes(tree)
    )
