"""Mistakes in programs, each with the decisive words of its message, judged one by one.

`FILE` stands for the file of a program, and `N` for a line.
"""

from __future__ import annotations

from typing import Any

import pandas as pd
from slips import slip

import cugraph_ws as ws

EDGES = pd.DataFrame({"source": [0, 1, 2], "destination": [1, 2, 0], "weight": [1.0, 2.0, 3.0]})


def run(program: Any, **arguments: Any) -> Any:
    """Run a program on three edges."""
    return ws.run(program, EDGES, **{"max_iter": 2, **arguments})


PROGRAMS: dict[str, tuple[Any, str]] = {
    "np.mean": (
        lambda: run(slip(combine="combine = np.mean")),
        "Slip.combine is mean, and an average cannot be made of two averages; return (message, 1.0) from compute, write combine = sum, and divide in apply: total, count = gathered; return total / count if count else old.<field>",
    ),
    "np.sum": (
        lambda: run(slip(combine="combine = np.sum")),
        "Slip.combine is a function of arrays; write combine = sum",
    ),
    "np.max": (
        lambda: run(slip(combine="combine = np.max")),
        "Slip.combine is a function of arrays; write combine = max",
    ),
    "np.median": (
        lambda: run(slip(combine="combine = np.median")),
        "Slip.combine is median; set it to sum, min, max, any, or define combine(a, b) of two messages with `identity`, or define gather_list(old, messages, p) in its place, which sees all messages of a vertex",
    ),
    "np.prod": (
        lambda: run(slip(combine="combine = np.prod")),
        "Slip.combine is prod; define combine(a, b) that returns a * b, and identity = 1.0",
    ),
    "statistics.mean": (
        lambda: run(slip(combine="combine = statistics.mean")),
        "Slip.combine is mean, and an average cannot be made of two averages; return (message, 1.0) from compute, write combine = sum, and divide in apply: total, count = gathered; return total / count if count else old.<field>",
    ),
    "math.fsum": (
        lambda: run(slip(combine="combine = math.fsum")),
        "Slip.combine is a function of arrays; write combine = sum",
    ),
    "len": (
        lambda: run(slip(combine="combine = len")),
        "Slip.combine is len; to count messages, return 1 from compute, and write combine = sum",
    ),
    "all": (
        lambda: run(slip(combine="combine = all")),
        "Slip.combine is a function of arrays; write combine = min",
    ),
    "lambda one": (
        lambda: run(slip(combine="combine = lambda messages: sum(messages)")),
        "Slip.combine takes one argument; write it as combine(a, b), of two messages, with `identity`, or define gather_list(old, messages, p) in its place, which sees all messages of a vertex",
    ),
    "def combine one": (
        lambda: run(slip(combine="def combine(messages):\n    return sum(messages)")),
        "Slip.combine takes one argument; write it as combine(a, b), of two messages, with `identity`, or define gather_list(old, messages, p) in its place, which sees all messages of a vertex",
    ),
    "def combine no identity": (
        lambda: run(slip(combine="def combine(a, b):\n    return a + b")),
        "Slip.combine is a function and needs `identity`, the message that leaves others unchanged, such as 0.0 for a sum",
    ),
    "combine mean text": (
        lambda: run(slip(combine="combine = 'mean'")),
        "Slip.combine is 'mean', and an average cannot be made of two averages; return (message, 1.0) from compute, write combine = sum, and divide in apply: total, count = gathered; return total / count if count else old.<field>",
    ),
    "combine missing": (
        lambda: run(slip(combine="")),
        "Slip has no `combine`; set it to sum, min, max, any, or define combine(a, b) with `identity`",
    ),
    "combine list": (
        lambda: run(slip(combine="combine = [sum]")),
        "Slip.combine has 1 fold; give one for each part of a message, or one alone without parentheses",
    ),
    "combine max()": (
        lambda: run(slip(combine="combine = ws.mode")),
        "Slip.combine is ws.mode without parentheses; write combine = ws.mode()",
    ),
    "combine ws.top": (
        lambda: run(slip(combine="combine = ws.top")),
        "Slip.combine is ws.top without parentheses; write combine = ws.top(3)",
    ),
    "combine pd": (
        lambda: run(slip(combine="combine = pd.Series.sum")),
        "Slip.combine is a function of arrays; write combine = sum",
    ),
    "misspelt edge": (
        lambda: run(
            slip(
                fields="x: ws.float64\nwieght: ws.edge(ws.float64)",
                compute="def compute(src, edge):\n    return edge.wieght",
            )
        ),
        "Slip reads the edge attribute 'wieght', which the graph lacks (it has: 'weight'); did you mean 'weight'? Otherwise name it `weight`, which is the graph's weight 'weight', or build the graph with attributes=['wieght']",
    ),
    "edge not declared": (
        lambda: run(slip(compute="def compute(src, edge):\n    return edge.weight")),
        "Slip.compute, line N of FILE: `edge.weight` is not declared; `edge` has: none; declare `weight = ws.edge(ws.float64)`",
    ),
    "edge declared misspelt in use": (
        lambda: run(
            slip(
                fields="x: ws.float64\nweight: ws.edge(ws.float64)",
                compute="def compute(src, edge):\n    return edge.wieght",
            )
        ),
        "Slip.compute, line N of FILE: `edge.wieght` is not declared; `edge` has: weight; did you mean `weight`?",
    ),
    "edge as dict": (
        lambda: run(
            slip(
                fields="x: ws.float64\nweight: ws.edge(ws.float64)",
                compute="def compute(src, edge):\n    return edge['weight']",
            )
        ),
        "Slip.compute, line N of FILE: uses `edge['weight']`; write `edge.weight`",
    ),
    "annotation ws.edge": (
        lambda: run(slip(fields="x: ws.float64\namount: ws.edge")),
        "Slip.amount is annotated with ws.edge; declare it with parentheses, as in `amount = ws.edge(ws.float64)`",
    ),
    "annotation float": (
        lambda: run(slip(fields="x: float")),
        "Slip.x is annotated with float; declare it as ws.float64",
    ),
    "annotation np.float64": (
        lambda: run(slip(fields="x: np.float64")),
        "Slip.x is annotated with numpy.float64; declare it as ws.float64",
    ),
    "annotation str": (
        lambda: run(slip(fields="x: str")),
        "Slip.x is annotated with str; declare it with one of ws.float32, ws.float64, ws.int32, ws.int64, ws.boolean, ws.vertex_id, ws.edge(…), ws.vertex_value(…), ws.parameter(…), ws.vertex_parameter",
    ),
    "annotation list": (
        lambda: run(slip(fields="x: list[float]")),
        "Slip.x is annotated with list; declare it as a vector of numbers, as in `x = ws.vector(ws.float64, 3)`",
    ),
    "annotation ws.vertex_value": (
        lambda: run(slip(fields="x: ws.float64\nd: ws.vertex_value")),
        "Slip.d is annotated with ws.vertex_value; declare it with parentheses, as in `d = ws.vertex_value(ws.float64)`",
    ),
    "annotation ws.vertex_set()": (
        lambda: run(slip(fields="x: ws.float64\nd: ws.vertex_set()")),
        "the declaration is no function; write it without parentheses, as in `x: ws.float64`, `degree: ws.out_degree` or `seeds: ws.vertex_set`",
    ),
    "annotation ws.vector": (
        lambda: run(slip(fields="x: ws.vector")),
        "Slip.x is annotated with ws.vector; declare it with parentheses, as in `x = ws.vector(ws.float64, 3)`",
    ),
    "ws.edge name arg": (
        lambda: run(slip(fields="x: ws.float64\namount: ws.edge('amount')")),
        "Slip.amount: 'amount' is no type; give one first, such as ws.float64, ws.int64 or ws.boolean",
    ),
    "ws.parameter wrong default": (
        lambda: run(slip(fields="x: ws.float64\nd: ws.parameter(ws.int64, 0.5)")),
        "d=0.5 is not a whole number; give one, such as 0",
    ),
    "no state": (
        lambda: run(slip(fields="")),
        "Slip declares no state; annotate a field, as in `width: ws.float32`",
    ),
    "init missing": (
        lambda: run(slip(init="")),
        "Slip has no `init`; define init(vertex, p, own)",
    ),
    "compute missing": (
        lambda: run(slip(compute="")),
        "Slip has no `compute`; define compute(src, dst, edge, p)",
    ),
    "apply missing": (
        lambda: run(slip(apply="")),
        "Slip has no `apply`; define apply(old, gathered, p)",
    ),
    "no return compute": (
        lambda: run(slip(compute="def compute(src):\n    src.x")),
        "Slip.compute, line N of FILE: `src.x` only has a side effect; return a value instead",
    ),
    "no return init": (
        lambda: run(slip(init="def init(vertex):\n    x = 1.0")),
        "Slip.init (FILE:N): returns None on some path; return a number on every path",
    ),
    "return None": (
        lambda: run(slip(apply="def apply(gathered):\n    return None")),
        "Slip.apply (FILE:N): returns None on some path; return a number on every path",
    ),
    "bare return": (
        lambda: run(
            slip(
                apply="def apply(old, gathered):\n    if gathered > 1:\n        return\n    return old.x"
            )
        ),
        "Slip.apply (FILE:N): returns nothing on some path; return a number on every path",
    ),
    "one branch return": (
        lambda: run(slip(compute="def compute(src):\n    if src.x > 1:\n        return src.x")),
        "Slip.compute (FILE:N): returns None on some path; return a number on every path",
    ),
    "return tuple and scalar": (
        lambda: run(
            slip(
                apply="def apply(old, gathered):\n    if gathered > 1:\n        return (1.0, 2.0)\n    return 1.0"
            )
        ),
        "Slip.apply (FILE:N): returns a number on one path and a tuple on another; return the same number of numbers on all",
    ),
    "returns two for one": (
        lambda: run(slip(apply="def apply(old, gathered):\n    return 1.0, 2.0")),
        "Slip.apply (FILE:N): returns (1.0, 2.0); the state has one field, return a number",
    ),
    "returns one for two": (
        lambda: run(
            slip(
                fields="x: ws.float64\ny: ws.float64", init="def init(vertex):\n    return 0.0, 0.0"
            )
        ),
        "Slip.apply (FILE:N): returns np.float64(0.0); return a tuple of 2 numbers: x, y",
    ),
    "returns dict": (
        lambda: run(slip(apply="def apply(gathered):\n    return {'x': gathered}")),
        "Slip.apply, line N of FILE: makes a dict; a program has numbers and tuples of numbers only: write (a, b)",
    ),
    "assigns state": (
        lambda: run(
            slip(apply="def apply(old, gathered):\n    old.x = gathered\n    return old.x")
        ),
        "Slip.apply, line N of FILE: writes to `old.x`, a side effect; return the new value instead",
    ),
    "print": (
        lambda: run(slip(compute="def compute(src):\n    print(src.x)\n    return src.x")),
        "Slip.compute, line N of FILE: `print(src.x)`: programs do not print; with engine='python' they stop at breakpoints of pdb",
    ),
    "f-string": (
        lambda: run(slip(compute="def compute(src):\n    name = f'{src.x}'\n    return src.x")),
        "Slip.compute, line N of FILE: makes a string; only numbers are allowed",
    ),
    "try": (
        lambda: run(
            slip(
                compute="def compute(src):\n    try:\n        return 1 / src.x\n    except ZeroDivisionError:\n        return 0.0"
            )
        ),
        "Slip.compute, line N of FILE: catches exceptions, and no operation raises one; test values before, as in `1 / x if x != 0 else 0.0`",
    ),
    "raise": (
        lambda: run(slip(compute="def compute(src):\n    raise ValueError('x')")),
        "Slip.compute, line N of FILE: raises; check the input before the run, or return a number that stands for the error",
    ),
    "assert": (
        lambda: run(slip(compute="def compute(src):\n    assert src.x > 0\n    return src.x")),
        "Slip.compute, line N of FILE: asserts; check the input before the run, or test values and return a number",
    ),
    "with": (
        lambda: run(
            slip(compute="def compute(src):\n    with open('x') as f:\n        return src.x")
        ),
        "Slip.compute, line N of FILE: enters a context; leave it out",
    ),
    "import inside": (
        lambda: run(
            slip(compute="def compute(src):\n    import math\n    return math.sqrt(src.x)")
        ),
        "Slip.compute, line N of FILE: imports; import at the top of the file",
    ),
    "list comprehension": (
        lambda: run(slip(compute="def compute(src):\n    return sum([src.x for i in range(3)])")),
        "Slip.compute, line N of FILE: makes a list; a program has numbers and tuples of numbers only: write a loop",
    ),
    "generator": (
        lambda: run(slip(compute="def compute(src):\n    yield src.x")),
        "Slip.compute, line N of FILE: `yield src.x` only has a side effect; return a value instead",
    ),
    "recursion": (
        lambda: run(
            slip(
                head="def f(x):\n    return f(x - 1) if x > 0 else x",
                compute="def compute(src):\n    return f(src.x)",
            )
        ),
        "Slip.f, line N of FILE: `f` calls itself; write it as a loop",
    ),
    "recursive compute": (
        lambda: run(slip(compute="def compute(src):\n    return compute(src)")),
        "Slip.compute, line N of FILE: `compute` is not defined; define it above the class",
    ),
    "lambda in compute": (
        lambda: run(
            slip(compute="def compute(src):\n    f = lambda x: x + 1\n    return f(src.x)")
        ),
        "Slip.compute, line N of FILE: makes a function; define it beside the program",
    ),
    "nested def": (
        lambda: run(
            slip(compute="def compute(src):\n    def f(x):\n        return x\n    return f(src.x)")
        ),
        "Slip.compute, line N of FILE: defines a function inside; define it beside the program",
    ),
    "global mutable list": (
        lambda: run(
            slip(
                head="SEEN = []",
                compute="def compute(src):\n    SEEN.append(src.x)\n    return src.x",
            )
        ),
        "Slip.compute, line N of FILE: `SEEN.append(src.x)` only has a side effect; return a value instead",
    ),
    "global dict": (
        lambda: run(
            slip(head="TABLE = {0: 1.0}", init="def init(vertex):\n    return TABLE[vertex]")
        ),
        "Slip.init, line N of FILE: `TABLE` is a dict; only numbers, tables of numbers, functions and the modules math and NumPy can be used; values of vertices are declared, as in `x = ws.vertex_value(ws.float64)`, and given",
    ),
    "global statement": (
        lambda: run(
            slip(
                head="COUNT = 0",
                compute="def compute(src):\n    global COUNT\n    COUNT += 1\n    return src.x",
            )
        ),
        "Slip.compute, line N of FILE: declares a global; functions only return values, and @ws.aggregate sums over all vertices",
    ),
    "global str": (
        lambda: run(slip(head="F = 'abc'", init="def init(vertex):\n    return float(len(F))")),
        "Slip.init, line N of FILE: `F` is a str; only numbers, tables of numbers, functions and the modules math and NumPy can be used",
    ),
    "undefined name": (
        lambda: run(slip(compute="def compute(src):\n    return src.x * DAMPING")),
        "Slip.compute, line N of FILE: `DAMPING` is not defined; define it above the class",
    ),
    "forgotten math": (
        lambda: run(
            slip(head="del math", compute="def compute(src):\n    return math.sqrt(src.x)")
        ),
        "Slip.compute, line N of FILE: `math` is not defined; write `import math` at the top of the file",
    ),
    "random.random": (
        lambda: run(slip(compute="def compute(src):\n    return random.random()")),
        "Slip.compute, line N of FILE: uses `random.random`; p.random() is a random number from 0 to less than 1, and p.random_integer(n) an integer below n",
    ),
    "np.random.default_rng": (
        lambda: run(
            slip(
                head="rng = np.random.default_rng(1)",
                compute="def compute(src):\n    return rng.random()",
            )
        ),
        "Slip.compute, line N of FILE: calls `rng.random`; p.random() is a random number from 0 to less than 1, and p.random_integer(n) an integer below n",
    ),
    "np.where": (
        lambda: run(slip(compute="def compute(src):\n    return np.where(src.x > 0, 1.0, 0.0)")),
        "Slip.compute (FILE:N): returns array(1.), an array; return a number, such as `a if x > 0 else b` instead of np.where",
    ),
    "np.array": (
        lambda: run(slip(compute="def compute(src):\n    return np.array([src.x])")),
        "Slip.compute, line N of FILE: makes a list; a program has numbers and tuples of numbers only: write (a, b)",
    ),
    "np.linalg": (
        lambda: run(slip(compute="def compute(src):\n    return np.linalg.norm(src.x)")),
        "Slip.compute, line N of FILE: calls the method `np.linalg.norm`; use a function, such as math.sqrt(x), or an operator",
    ),
    "vertex in compute": (
        lambda: run(slip(compute="def compute(src, vertex):\n    return src.x")),
        "Slip.compute (FILE:N) asks for `vertex`; arguments are bound by name, and compute has: src, dst, edge, p",
    ),
    "dst typo": (
        lambda: run(slip(compute="def compute(source):\n    return source.x")),
        "Slip.compute (FILE:N) asks for `source`; arguments are bound by name, and compute has: src, dst, edge, p",
    ),
    "apply messages": (
        lambda: run(slip(apply="def apply(messages):\n    return sum(messages)")),
        "Slip.apply, line N of FILE: uses `sum`; messages are combined before `apply`, by `combine`: write combine = sum, min, max or any, or define gather_list(old, messages, p), in which a loop may read messages",
    ),
    "apply vertex,msg": (
        lambda: run(slip(apply="def apply(vertex, message):\n    return message")),
        "Slip.apply (FILE:N) asks for `vertex`; arguments are bound by name, and apply has: old, gathered, p",
    ),
    "unknown field": (
        lambda: run(slip(compute="def compute(src):\n    return src.rank")),
        "Slip.compute, line N of FILE: `src.rank` is not declared; `src` has: x; a field of the state is declared, as in `rank: ws.float64`",
    ),
    "unknown parameter p": (
        lambda: run(slip(compute="def compute(src, p):\n    return src.x * p.alpha")),
        "Slip.compute, line N of FILE: `p.alpha` is not declared; `p` has: number_of_vertices, superstep; declare `alpha = ws.parameter(ws.float64)`",
    ),
    "function message": (
        lambda: run(
            slip(compute="def compute(src):\n    return src.x\ndef message(src):\n    return 1.0")
        ),
        "Slip.message has no role in a vertex program; known: init, compute, gather_list, apply, active, starts, settled, priority, init_edge, update_edge, until, scatter, combine, identity, contributors, residual, tol, max_iter,",
    ),
    "active True": (
        lambda: run(slip(compute="active = True\ndef compute(src):\n    return src.x")),
        "Slip.active is True, a bool; write it as a plain function: def active(…)",
    ),
    "active args": (
        lambda: run(
            slip(
                compute="def compute(src):\n    return src.x\ndef active(vertex):\n    return True"
            )
        ),
        "Slip.active (FILE:N) asks for `vertex`; arguments are bound by name, and active has: old, new, p",
    ),
    "starts list": (
        lambda: run(slip(compute="starts = [0]\ndef compute(src):\n    return src.x")),
        "Slip.starts is [0], a list; write it as a plain function: def starts(…)",
    ),
    "max_iter text in program": (
        lambda: run(slip(compute="max_iter = '5'\ndef compute(src):\n    return src.x")),
        "Slip: max_iter='5' must be a whole number, 0 or more",
    ),
    "tol neg in program": (
        lambda: run(slip(compute="tol = -1\ndef compute(src):\n    return src.x")),
        "Slip.tol needs `residual`, as in `residual = ws.l1_norm('x')`",
    ),
    "tol without residual": (
        lambda: run(slip(), tol=0.001),
        "tol=0.001: Slip declares no residual to compare it with; leave it out",
    ),
    "residual fn": (
        lambda: run(slip(compute="residual = ws.l1_norm\ndef compute(src):\n    return src.x")),
        "Slip.residual is ws.l1_norm; use ws.l1_norm or ws.max_norm, called with the field: residual = ws.l1_norm('x')",
    ),
    "residual of unknown": (
        lambda: run(
            slip(compute="residual = ws.l1_norm('y')\ndef compute(src):\n    return src.x")
        ),
        "Slip.residual is over `y`, which is not a state field; fields: x",
    ),
    "contributors wrong": (
        lambda: run(slip(compute="contributors = 'everyone'\ndef compute(src):\n    return src.x")),
        "Slip.contributors is 'everyone'; it is 'all' or 'active'",
    ),
    "damping number": (
        lambda: run(slip(compute="damping = 0.85\ndef compute(src):\n    return src.x")),
        "Slip.damping = 0.85: declare it damping = ws.parameter(ws.float64, 0.85), and read p.damping; or write it above the class",
    ),
    "default value": (
        lambda: run(slip(fields="x: ws.float64 = 0.0")),
        "Slip.x = 0.0: a state has no default; leave it out, and return first values from init",
    ),
    "int state from float": (
        lambda: run(slip(fields="x: ws.int64", init="def init(vertex):\n    return 1.5")),
        "Slip.init (FILE:N): returns 1.5 for `x`, which is int64; declare it as a float, or return a whole number",
    ),
    "bool state from float": (
        lambda: run(slip(fields="x: ws.boolean", init="def init(vertex):\n    return 2.0")),
        "Slip.init (FILE:N): returns a float64 for `x`, which is bool; declare `x` as a float, or return a whole number (`//`, int())",
    ),
    "int with inf": (
        lambda: run(slip(fields="x: ws.int32", init="def init(vertex):\n    return 1e12")),
        "Slip.init (FILE:N): returns 1000000000000.0 for `x`, which is int32; declare a wider type",
    ),
    "gathered None": (
        lambda: run(
            slip(
                apply="def apply(old, gathered):\n    if gathered is None:\n        return old.x\n    return gathered"
            )
        ),
        "Slip.apply, line N of FILE: `gathered is None`: nothing is None in a program; a vertex without messages gathers the identity of combine, such as 0 for sum",
    ),
    "gathered truth": (
        lambda: run(slip(apply="def apply(old, gathered):\n    return gathered[0]")),
        "Slip.apply, line N of FILE: IndexError: invalid index to scalar variable; it is one number, not a list: messages are combined before, by `combine`",
    ),
    "for over gathered": (
        lambda: run(
            slip(
                apply="def apply(old, gathered):\n    t = 0.0\n    for g in gathered:\n        t += g\n    return t"
            )
        ),
        "Slip.apply, line N of FILE: TypeError: 'numpy.float64' object is not iterable; it is one number: messages are combined before, by `combine`",
    ),
    "for over neighbours": (
        lambda: run(
            slip(
                apply="def apply(old, gathered):\n    t = 0.0\n    for g in old.neighbors:\n        t += g.x\n    return t"
            )
        ),
        "Slip.apply, line N of FILE: `old.neighbors` is not declared; `old` has: x; each neighbour sends what compute returns of it, and `gathered` is what combine makes of these",
    ),
    "match": (
        lambda: run(
            slip(
                compute="def compute(src):\n    match src.x:\n        case 1.0:\n            return 2.0\n    return 0.0"
            )
        ),
        "Slip.compute, line N of FILE: matches patterns; write if and elif",
    ),
    "int()": (
        lambda: run(slip(compute="def compute(src):\n    return int(src)")),
        "Slip.compute, line N of FILE: TypeError: int() argument must be a string, a bytes-like object or a real number, not 'Vertex'; an argument such as `src` is no number: read one of its fields, as in src.x",
    ),
    "abs src": (
        lambda: run(slip(compute="def compute(src):\n    return src + 1")),
        'Slip.compute, line N of FILE: TypeError: can only concatenate tuple (not "int") to tuple; an argument such as `src` is no number: read one of its fields, as in src.x',
    ),
    "src.id": (
        lambda: run(slip(compute="def compute(src):\n    return src.id")),
        "Slip.compute, line N of FILE: `src.id` is not declared; `src` has: x; declare `number: ws.vertex_number`, from 0",
    ),
    "src.degree": (
        lambda: run(slip(compute="def compute(src):\n    return src.x / src.degree")),
        "Slip.compute, line N of FILE: `src.degree` is not declared; `src` has: x; declare `out_degree: ws.out_degree`, or `in_degree: ws.in_degree`",
    ),
    "set literal": (
        lambda: run(slip(compute="def compute(src):\n    return 1.0 if src.x in {1, 2} else 0.0")),
        "Slip.compute, line N of FILE: makes a set; a program has numbers and tuples of numbers only: write (a, b), or x == 1 or x == 2",
    ),
    "del": (
        lambda: run(slip(compute="def compute(src):\n    y = 1.0\n    del y\n    return src.x")),
        "Slip.compute, line N of FILE: deletes something; leave it out",
    ),
    "star args": (
        lambda: run(slip(compute="def compute(*args):\n    return args[0].x")),
        "Slip.compute, line N of FILE: takes * or keyword-only parameters; name plain ones",
    ),
    "kwargs default": (
        lambda: run(slip(compute="def compute(src, damping=0.85):\n    return src.x * damping")),
        "Slip.compute, line N of FILE: has default values; declare a ws.parameter with a default instead",
    ),
    "async": (
        lambda: run(slip(compute="async def compute(src):\n    return src.x")),
        "Slip.compute (FILE:N): is async; write it as a plain def",
    ),
    "param unknown": (
        lambda: run(slip(fields="x: ws.float64\nd: ws.parameter(ws.float64, 0.5)"), damp=3),
        "Slip has no parameter 'damp'; it has: d",
    ),
    "param missing": (
        lambda: run(slip(fields="x: ws.float64\nd: ws.parameter(ws.float64)")),
        "Slip needs d=, a number",
    ),
    "param text": (
        lambda: run(slip(fields="x: ws.float64\nd: ws.parameter(ws.float64)"), d="a"),
        "d='a' is not a number; Slip needs ws.float64",
    ),
    "param frac for int": (
        lambda: run(slip(fields="x: ws.float64\nd: ws.parameter(ws.int64)"), d=0.5),
        "d=0.5 is not a whole number; give one, such as 0",
    ),
    "param list": (
        lambda: run(slip(fields="x: ws.float64\nd: ws.parameter(ws.float64)"), d=[1.0]),
        "d=[1.0] is not a number; Slip needs ws.float64",
    ),
    "vertex_value missing": (
        lambda: run(slip(fields="x: ws.float64\nv: ws.vertex_value(ws.float64)")),
        "Slip needs v=: a frame with a vertex and a value column, a mapping, one number for all, or the name of a column of the graph's vertex frame",
    ),
    "vertex_value list": (
        lambda: run(slip(fields="x: ws.float64\nv: ws.vertex_value(ws.float64)"), v=[1, 2, 3]),
        "v: a frame of vertices and values, a dict, a number or the name of a vertex attribute is needed, not list; a dict is {vertex: value}",
    ),
    "vertex_value series": (
        lambda: run(
            slip(fields="x: ws.float64\nv: ws.vertex_value(ws.float64)"), v=pd.Series([1, 2, 3])
        ),
        "v: a frame of vertices and values, a dict, a number or the name of a vertex attribute is needed, not Series; its to_dict() is one, if its index has the ids",
    ),
    "vertex_value partial dict": (
        lambda: run(slip(fields="x: ws.float64\nv: ws.vertex_value(ws.float64)"), v={0: 1.0}),
        "v: vertex 1 has no value, nor have 1 others; give one for every vertex",
    ),
    "vertex_set unknown": (
        lambda: run(slip(fields="x: ws.float64\nv: ws.vertex_set"), v=[9]),
        "v: 9 is not a vertex of the graph; give an id of the edges, or list vertices without edges in Graph(vertices=...)",
    ),
    "vertex_set missing": (
        lambda: run(slip(fields="x: ws.float64\nv: ws.vertex_set")),
        "Slip needs v=, a vertex or a list of vertices",
    ),
    "dst in frontier in_place": (
        lambda: run(
            slip(compute="def compute(src, dst):\n    return dst.x"), plan=ws.Plan(in_place=True)
        ),
        "in_place=True: Slip.compute takes `dst`, the destination's state after the previous superstep; leave it out",
    ),
    "phases empty": (
        lambda: ws.phases(),
        "ws.phases() needs at least one vertex program",
    ),
}
