"""Random numbers in a program: a draw is a function of the seed, the superstep, the call, and the vertex or edge.

`p.random()` and `p.random_integer(n)` in a program's source become calls of the functions here, with the
arguments written out.  They keep no state, so a draw is the same on every engine and number of partitions, in
every order.  The generator is Philox-4x32 with ten rounds (Salmon, Moraes, Dror and Shaw, SC 2011): its
products of 32-bit words fit in 64 bits, so that Numba, CUDA and plain Python compute the same.
"""

from __future__ import annotations

import ast
from typing import Any

import numpy as np

from cugraph_ws.runtime.parsing import parse, parse_expression

__all__ = [
    "DRAWING",
    "FUNCTIONS",
    "NUMBER",
    "RANK",
    "SEED",
    "draw_by_parallel_edge",
    "is_draw",
    "misuse",
    "philox",
    "seed_of_phase",
    "with_draws",
    "ws_edge_seed",
    "ws_random",
    "ws_random_integer",
]

SEED, NUMBER = "seed", "ws_number"  # the parameter and the vertex constant that draws read
RANK = "ws_rank"  # the edge attribute that they read in `compute` if the graph has parallel edges
# The functions that may draw, with the arguments that are their vertex or the ends of their edge
DRAWING: dict[str, tuple[str, ...]] = {
    "init": ("vertex",),
    "starts": ("state",),
    "compute": ("src", "dst"),
    "gather_list": ("old",),
    "apply": ("old",),
    "active": ("old",),
    "scatter": ("own",),
}
FIRST = ("init", "starts")  # those that run before the first superstep
CALLS = 1024  # calls of a function that are told apart
PASSES = "ws_passes"  # the variable that counts passes of loops


def philox(key: Any, first: Any, second: Any) -> Any:
    """Return 64 random bits of Philox-4x32-10.

    Parameters
    ----------
    key, first, second : int or uint64
        64 bits each: the key, and the lower and the upper half of the counter.

    Returns
    -------
    uint64
        The first two words of the generator's output, the first one in the upper half.
    """
    low = np.uint64(0xFFFFFFFF)
    half = np.uint64(32)
    a, b = np.uint64(first) & low, np.uint64(first) >> half
    c, d = np.uint64(second) & low, np.uint64(second) >> half
    k, m = np.uint64(key) & low, np.uint64(key) >> half
    for _ in range(10):
        of_a, of_c = np.uint64(0xD2511F53) * a, np.uint64(0xCD9E8D57) * c
        a, b, c, d = (of_c >> half) ^ b ^ k, of_c & low, (of_a >> half) ^ d ^ m, of_a & low
        k, m = (k + np.uint64(0x9E3779B9)) & low, (m + np.uint64(0xBB67AE85)) & low
    return (a << half) | b


def drawn_bits(seed: int, step: int, call: int, vertex: int, count: int) -> Any:
    """Return the 64 random bits of a draw.

    Parameters
    ----------
    seed, step, call, vertex, count : int
        The seed of the run, the number of the superstep (its lower 32 bits count), the function and the call
        in it (16 bits), the number of the vertex (48 bits), and the pass of the function's loops (32 bits).

    Returns
    -------
    uint64
    """
    place = (np.uint64(call) << np.uint64(48)) | np.uint64(vertex)
    times = (np.uint64(step) << np.uint64(32)) | (np.uint64(count) & np.uint64(0xFFFFFFFF))
    return philox(seed, place, times)


def ws_random(seed: int, step: int, call: int, vertex: int, count: int) -> Any:
    """Return a random number from 0 to less than 1, a multiple of 2**-53.

    Parameters
    ----------
    seed, step, call, vertex, count : int
        As for `drawn_bits`.

    Returns
    -------
    float64
    """
    bits = drawn_bits(seed, step, call, vertex, count) >> np.uint64(11)
    return np.float64(bits) * 1.1102230246251565e-16


def ws_random_integer(seed: int, step: int, call: int, vertex: int, count: int, end: int) -> Any:
    """Return a random integer from 0 to less than `end`; 0 if `end` is less than 1.

    Parameters
    ----------
    seed, step, call, vertex, count : int
        As for `drawn_bits`.
    end : int

    Returns
    -------
    int64
        The remainder of 64 random bits, so that two probabilities differ by less than 2**-64.
    """
    least = max(np.int64(end), np.int64(1))
    return np.int64(drawn_bits(seed, step, call, vertex, count) % np.uint64(least))


def ws_edge_seed(seed: int, rank: int) -> Any:
    """Return the seed of an edge's draws, by its rank among parallel edges.

    Parameters
    ----------
    seed, rank : int
        The seed of the run, and the number of edges with the same ends before this one.

    Returns
    -------
    int64
        From 0; the run's own for rank 0.
    """
    place = (np.uint64(0xFFFE) << np.uint64(48)) | np.uint64(rank)
    return np.int64(seed) if rank == 0 else np.int64(philox(seed, place, 0) >> np.uint64(1))


FUNCTIONS = {"random": ws_random, "random_integer": ws_random_integer}
ARGUMENTS = {"random": 0, "random_integer": 1}


def seed_of_phase(seed: int, phase: int, round_: int) -> np.int64:
    """Return the seed of a phase's run in a round, which begins again with superstep 0.

    Parameters
    ----------
    seed : int
        The seed of the whole run.
    phase, round_ : int
        Both from 0.

    Returns
    -------
    int64
        From 0.
    """
    return np.int64(philox(seed, (0xFFFF << 48) | phase, round_) >> np.uint64(1))


def is_draw(node: ast.AST) -> bool:
    """Return whether a node is `p.random` or `p.random_integer`."""
    return (
        isinstance(node, ast.Attribute)
        and node.attr in FUNCTIONS
        and isinstance(node.value, ast.Name)
        and node.value.id == "p"
    )


def with_draws(function: ast.FunctionDef, name: str, place: int) -> None:
    """Replace the draws of a function by calls, and add the arguments that are its vertex or the ends of its edge.

    Parameters
    ----------
    function : FunctionDef
        Changed; its draws are well-formed.
    name : str
        Its name in the program.
    place : int
        Its number among all functions that a program may have.
    """
    arguments = function.args.args
    for needed in DRAWING[name]:
        if needed not in {argument.arg for argument in arguments}:
            arguments.append(ast.copy_location(ast.arg(needed), function))
    numbers = [end if end == "vertex" else f"{end}.{NUMBER}" for end in DRAWING[name]]
    number, no_loop = numbers[0], "0"
    if len(numbers) > 1:  # 40 bits of each end
        number, no_loop = f"({numbers[0]} << 8) | ({numbers[1]} >> 32)", numbers[1]
    step = "0" if name in FIRST else "p.superstep"
    seed = f"{ws_edge_seed.__name__}(p.{SEED}, 0)" if name == "compute" else f"p.{SEED}"
    calls = [
        node for node in ast.walk(function) if isinstance(node, ast.Call) and is_draw(node.func)
    ]
    drawing = {id(node) for node in calls}
    loops = {
        node: inside
        for node in ast.walk(function)
        if isinstance(node, (ast.While, ast.For))
        and (inside := {id(inner) for inner in ast.walk(node)} & drawing)
    }
    looped = set().union(*loops.values())
    calls.sort(key=lambda node: (node.lineno, node.col_offset))
    for number_of_call, node in enumerate(calls):
        count = PASSES if id(node) in looped else no_loop
        text = f"({seed}, {step}, {place * CALLS + number_of_call}, {number}, {count})"
        assert isinstance(node.func, ast.Attribute)
        tuple_ = parse_expression(text)
        assert isinstance(tuple_, ast.Tuple)
        called = FUNCTIONS[node.func.attr].__name__
        node.func = ast.copy_location(ast.Name(called, ast.Load()), node.func)
        for part in tuple_.elts:
            for inner in ast.walk(part):
                ast.copy_location(inner, node)
        node.args = [*tuple_.elts, *node.args]
    # A call is made at most once between two passes, also that in the condition of a loop.
    for loop in loops:
        loop.body.insert(0, _statement(f"{PASSES} = {PASSES} + 1", loop))
    if loops:
        documented = ast.get_docstring(function) is not None
        function.body.insert(int(documented), _statement(f"{PASSES} = 0", function))


def draw_by_parallel_edge(function: ast.FunctionDef) -> None:
    """Have the draws of a rewritten `compute` depend on the edge's rank among parallel ones too.

    Parameters
    ----------
    function : FunctionDef
        Changed; `with_draws` has written its draws.
    """
    for node in ast.walk(function):
        match node:
            case ast.Call(func=ast.Name(id=called)) if called.endswith(ws_edge_seed.__name__):
                node.args[1] = parse_expression(f"edge.{RANK}")
    if "edge" not in {argument.arg for argument in function.args.args}:
        function.args.args.append(ast.arg("edge"))


def _statement(text: str, place: ast.AST) -> ast.stmt:
    """Return a statement at the place of a node."""
    statement = parse(text).body[0]
    for node in ast.walk(statement):
        ast.copy_location(node, place)
    return statement


def misuse(function: ast.FunctionDef, name: str) -> tuple[ast.AST, str] | None:
    """Return a draw that is not well-formed, and what is wrong with it; None if all are right."""
    for loop in ast.walk(function) if name == "compute" else ():
        if isinstance(loop, (ast.While, ast.For)) and any(map(is_draw, ast.walk(loop))):
            return loop, "draws random numbers in a loop; in compute, draw outside of loops"
    called = {id(node.func): node for node in ast.walk(function) if isinstance(node, ast.Call)}
    for node in ast.walk(function):
        if not is_draw(node):
            continue
        assert isinstance(node, ast.Attribute)
        call = called.get(id(node))
        right = f"p.{node.attr}({'n' if ARGUMENTS[node.attr] else ''})"
        if call is None or call.keywords or len(call.args) != ARGUMENTS[node.attr]:
            return node, f"uses `{ast.unparse(node if call is None else call)}`; write `{right}`"
    return None
