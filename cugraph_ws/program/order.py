"""Decides whether a run may take messages in any order; `docs/decisions/001` states and proves the theorem.

`why_in_order` is the one function that decides: binding asks it, and every planner reads its answer from the bound
program.  A program without a proof runs in supersteps, as written.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Iterator
from types import SimpleNamespace

from cugraph_ws.program import ranges
from cugraph_ws.program.expressions import as_expression, function_of, is_field, picked
from cugraph_ws.program.infinity import INFINITY, STORED
from cugraph_ws.program.ranges import Range
from cugraph_ws.program.terms import CONSTANTS, Facts, Terms
from cugraph_ws.program.vertex_program import VertexProgram
from cugraph_ws.runtime.parsing import parse

__all__ = [
    "Facts",
    "goes_by_levels",
    "may_gather_from_all",
    "says_whether_changed",
    "why_in_order",
    "why_not_proved",
]

STEPS = (
    3  # how often `compute` moves an end of the range of states, in the search for one that stays
)


def why_in_order(program: VertexProgram, facts: Facts) -> str | None:
    """Return why messages must be taken in order; None if any order leads to the same states.

    Parameters
    ----------
    program : VertexProgram
        The checked program.
    facts : Facts
        What is known of it on a graph.

    Returns
    -------
    str or None
        None if the program declares `asynchronous`, or if the theorem's hypotheses hold.
    """
    return None if program.asynchronous else why_not_proved(program, facts)


def why_not_proved(program: VertexProgram, facts: Facts) -> str | None:
    """Return the first hypothesis of the theorem that does not hold; None if all do.

    Parameters
    ----------
    program : VertexProgram
    facts : Facts
    """
    reason: str | None = program.memory.recall(
        ("in order", facts), lambda: _first_broken(program, facts)
    )
    return reason


def may_gather_from_all(program: VertexProgram, facts: Facts) -> bool:
    """Return whether messages of vertices that are not active change nothing.

    Then a superstep may gather from all in-neighbours although only active vertices send.

    Parameters
    ----------
    program : VertexProgram
        A program whose messages may be taken in any order.
    facts : Facts
        What is known of it on a graph.
    """
    gathers: bool = program.memory.recall(
        ("gathers", facts), lambda: _others_change_nothing(program, facts)
    )
    return gathers


def _others_change_nothing(program: VertexProgram, facts: Facts) -> bool:
    """Return whether messages of vertices that are not active change nothing."""
    field, single = next(iter(program.state)), len(program.state) == 1
    functions = program.functions
    return (
        program.combine in ("min", "max")
        and "settled" not in functions
        and (
            "active" not in functions or (single and _tells_change(program, field, program.combine))
        )
        and ("starts" not in functions or (single and _is_quiet_outside_starts(program, facts)))
    )


def goes_by_levels(program: VertexProgram, facts: Facts) -> bool:
    """Return whether a search in place gives the states after each superstep.

    It does if whatever is active is settled: then a vertex takes no other message once it has changed, and what it
    sends is the state that it has got in this superstep.  With `any`, the first message suffices.

    Parameters
    ----------
    program : VertexProgram
    facts : Facts
    """
    levels: bool = program.memory.recall(
        ("levels", facts), lambda: _settles_at_once(program, facts)
    )
    return levels


def keeps_at_identity(program: VertexProgram) -> bool:
    """Return whether the identity of `combine` plainly changes no state, nor one that is NaN, and makes none active.

    Parameters
    ----------
    program : VertexProgram
        Its messages may be of any type.
    """
    if not program.idempotent or len(program.state) != 1 or program.edge_state:
        return False
    field = next(iter(program.state))
    picks = program.combine != "any" or as_expression(
        function_of(program, "apply").node.body
    ).__class__ in (ast.BoolOp, ast.BinOp)
    return (
        picks
        and _keeps_the_better(program, field)
        and _leaves_nan(program, field)
        and _tells_change(program, field, program.combine)
    )


def _leaves_nan(program: VertexProgram, field: str) -> bool:
    """Return whether `apply`, which picks the better, leaves a state that is NaN: `min(old.x, gathered)` does."""
    dtype = getattr(program.state[field].type, "dtype", None)
    if program.combine == "any" or (dtype is not None and dtype.kind in "iub"):
        return True
    identity = math.inf if program.combine == "min" else -math.inf
    given = {"old": SimpleNamespace(**{field: math.nan}), "gathered": identity}
    arguments = [given.get(name) for name in program.sources["apply"].parameters]
    return math.isnan(program.functions["apply"](*arguments))


def says_whether_changed(program: VertexProgram) -> bool:
    """Return whether `active` plainly says what holds without it: that the state has changed.

    Parameters
    ----------
    program : VertexProgram
        A program with `active`.
    """
    result = as_expression(function_of(program, "active").node.body)
    parts = result.values if isinstance(result, ast.BoolOp) else [result]
    if isinstance(result, ast.BoolOp) and not isinstance(result.op, ast.Or):
        parts = []
    compared = {
        field
        for part in parts
        for field in program.state
        if isinstance(part, ast.Compare)
        and len(part.ops) == 1
        and isinstance(part.ops[0], ast.NotEq)
        and any(
            is_field(part.left, first, field) and is_field(part.comparators[0], second, field)
            for first, second in (("old", "new"), ("new", "old"))
        )
    }
    if len(compared) == len(parts) == len(program.state):
        return True
    field = next(iter(program.state))
    picks = len(program.state) == 1 and program.combine in ("min", "max")
    return (
        picks
        and _keeps_the_better(program, field)
        and _tells_change(program, field, program.combine)
    )


# -------------------------------------------------------------------------- the hypotheses, one by one


def _first_broken(program: VertexProgram, facts: Facts) -> str | None:
    """Return the first hypothesis that does not hold, one by one."""
    if program.scatters:
        return "scatter sends along each edge what it makes of all edges of a vertex"
    if program.jumps:
        return f"the jump `{next(iter(program.jumps))}` is read at another vertex"
    if not program.idempotent:
        return "combine is not min, max or any, so each message must count once"
    if len(program.state) != 1:
        return f"its state has {len(program.state)} fields"
    if program.combine == "any" and facts.state != ("bool",):
        return "combine is any, and its state is not a boolean"
    if "settled" in program.functions and not _settles_the_best(program, facts):
        return "a settled vertex takes no more messages, so it matters which come first"
    if program.contributors == "all":
        return "contributors = 'all' applies vertices without messages too"
    if program.residual is not None:
        return "its residual may end a run before the fixpoint is reached"
    if program.edge_state:
        return "it keeps state on edges"
    if program.reads_supersteps and program.draws:
        return "it draws random numbers in supersteps"
    if program.reads_target:
        return "compute takes dst, the destination's state after the previous superstep"
    if program.reads_supersteps:
        return "it reads the superstep number or an aggregate"
    field = next(iter(program.state))
    if not _keeps_the_better(program, field):
        wanted = {"any": f"old.{field} or gathered"}
        form = wanted.get(program.combine, f"{program.combine}(old.{field}, gathered)")
        return f"apply is not plainly {form}"
    if not _tells_change(program, field, program.combine):
        return f"active does not plainly return whether {field} has changed"
    return _why_not_rising(program, facts, field)


def _keeps_the_better(program: VertexProgram, field: str) -> bool:
    """Return whether `apply` plainly returns the better of the old state and the gathered one."""
    result = as_expression(function_of(program, "apply").node.body)
    if result is None:
        return False
    sides: list[ast.expr]
    if program.combine == "any":
        if isinstance(result, ast.Constant):
            return result.value is True
        if isinstance(result, ast.BoolOp) and isinstance(result.op, ast.Or):
            sides = result.values
        elif isinstance(result, ast.BinOp) and isinstance(result.op, ast.BitOr):
            sides = [result.left, result.right]
        else:
            return False
    else:
        return _better(program, field) == program.combine
    return len(sides) == 2 and _are_both(sides, field)


def _better(program: VertexProgram, field: str) -> str:
    """Return "min" or "max" if `apply` plainly returns that of the old state and the gathered one, else ""."""
    function = function_of(program, "apply")
    result = as_expression(function.node.body)
    better = None if result is None or {"min", "max"} & set(function.helpers) else picked(result)
    return better[0] if better is not None and _are_both([*better[1:]], field) else ""


def _are_both(sides: list[ast.expr], field: str) -> bool:
    """Return whether two expressions are the old state and the gathered message."""
    gathered = [side for side in sides if isinstance(side, ast.Name) and side.id == "gathered"]
    return len(gathered) == 1 and len([side for side in sides if is_field(side, "old", field)]) == 1


def _tells_change(program: VertexProgram, field: str, pick: str) -> bool:
    """Return whether `active` is left out, or returns exactly whether the state has changed."""
    if "active" not in program.sources:
        return True
    result = as_expression(function_of(program, "active").node.body)
    if isinstance(result, ast.BoolOp) and isinstance(result.op, ast.And):
        new, old = result.values[0], result.values[-1]
        if isinstance(new, ast.UnaryOp):
            new, old = old, new
        return (
            program.combine == "any"
            and len(result.values) == 2
            and is_field(new, "new", field)
            and isinstance(old, ast.UnaryOp)
            and isinstance(old.op, ast.Not)
            and is_field(old.operand, "old", field)
        )
    if not isinstance(result, ast.Compare) or len(result.ops) != 1:
        return False
    first, second, relation = result.left, result.comparators[0], result.ops[0]
    if is_field(first, "old", field) and is_field(second, "new", field):
        mirrored = {ast.Lt: ast.Gt, ast.Gt: ast.Lt}
        kind = mirrored.get(type(relation), type(relation))
    elif is_field(first, "new", field) and is_field(second, "old", field):
        kind = type(relation)
    else:
        return False
    better = ast.Lt if pick == "min" else ast.Gt
    return kind in (ast.NotEq, better)


# ------------------------------------------------------------------- compute, in the machine's arithmetic


def _why_not_rising(program: VertexProgram, facts: Facts, field: str) -> str | None:
    """Return why `compute` is not proved to be non-decreasing for all states that occur; None if it is."""
    kind = facts.state[0]
    states = _first_states(program, facts)
    if states.nan:
        return f"`{field}` is not proved to be a number at first, and the order of messages matters to a NaN"
    for known in _ranges_of_states(program, facts, states):
        term = Terms(program, facts, known).of("compute")
        if term.trend in ("constant", "rising") and _stays(program.combine, known, term.range):
            return None
    arithmetic = (
        "that it is not NaN at an end" if kind.startswith("float") else "that no integer wraps"
    )
    return f"compute is not plainly non-decreasing in src.{field} (which includes {arithmetic})"


def _stays(combine: str, states: Range, messages: Range) -> bool:
    """Return whether states remain in their range when messages change them."""
    if states.kind != "float" and messages.kind == "float":
        return False  # an integer that is converted from a float
    if states.kind == "bool":
        return messages.kind == "bool"
    return bool(messages.high <= states.high if combine == "max" else messages.low >= states.low)


def _first_states(program: VertexProgram, facts: Facts) -> Range:
    """Return the range of the states before the first superstep."""
    kind = facts.state[0]
    everything = _of_state(kind)
    if kind == "bool":
        return everything
    if facts.phase:  # another program may have left any number, or NaN
        return ranges.ANYTHING if kind.startswith("float") else everything
    first = Terms(program, facts, None).of("init").range
    if kind.startswith("float"):
        return ranges.as_float(first, single=kind == "float32")
    low, high = (INFINITY if end == math.inf else end for end in (first.low, first.high))
    if first.nan or low < everything.low or high > everything.high:
        return everything
    return Range(math.floor(low), math.ceil(high), "int")


def _of_state(kind: str) -> Range:
    """Return the range of the numbers of a state field as functions see them, infinity of integers included."""
    everything = ranges.of_type(kind)
    if everything.kind != "int":
        return everything
    return Range(everything.low, max(everything.high, INFINITY), "int")


def _ranges_of_states(program: VertexProgram, facts: Facts, states: Range) -> Iterator[Range]:
    """Yield ranges that states may remain in, the narrowest first.

    With `min` states never rise, so the range of the first states is to be extended downwards only: to where
    `compute` leads, to a number in its source, or to the least number of the type.
    """
    if states.kind == "bool":
        yield states
        return
    kind, rises = facts.state[0], program.combine == "max"
    for _ in range(STEPS):
        yield states
        message_range = Terms(program, facts, states).of("compute").range
        states = _extended(states, message_range.high if rises else message_range.low, kind)
    text = program.sources["compute"].text
    numbers = [
        sign * node.value
        for node in ast.walk(parse(text))
        if isinstance(node, ast.Constant) and isinstance(node.value, (int, float))
        for sign in (1, -1)
    ]
    for number in numbers:
        yield _extended(states, number, kind)
    yield _extended(states, math.inf if rises else -math.inf, kind)


def _extended(states: Range, end: ranges.End, kind: str) -> Range:
    """Return a range of states of a type that reaches a number as well."""
    if kind.startswith("float"):
        wider = Range(min(states.low, end), max(states.high, end))
        return ranges.as_float(wider, single=kind == "float32")
    everything = _of_state(kind)
    reached = min(max(end, everything.low), everything.high)
    return Range(min(states.low, math.floor(reached)), max(states.high, math.ceil(reached)), "int")


# ------------------------------------------------------------------------------- starts and settled


def _is_quiet_outside_starts(program: VertexProgram, facts: Facts) -> bool:
    """Return whether vertices outside `starts` hold what changes nobody: infinity, and send the same.

    `init` must plainly return numbers; whatever `starts` does not name must be the identity of `combine`.
    """
    first = _first_numbers(program)
    if facts.phase or first is None:
        return False
    identity = math.inf if program.combine == "min" else -math.inf
    outside = [number for number in first if _holds(program, "starts", facts, number) is not True]
    if any(number != identity for number in outside):
        return False
    end = _held(identity, facts.state[0])
    if end is None:
        return False
    kind: ranges.Kind = "float" if facts.state[0].startswith("float") else "int"
    message = Terms(program, facts, Range(end, end, kind)).of("compute")
    if message.trend not in ("constant", "rising"):
        return False
    return bool(message.range.low >= end if program.combine == "min" else message.range.high <= end)


def _settles_the_best(program: VertexProgram, facts: Facts) -> bool:
    """Return whether only flags that are set are settled: no message would change them."""
    flags = facts.state == ("bool",) and program.combine in ("any", "max")
    return flags and _returns_field(program, "settled", "state", next(iter(program.state)))


def _settles_at_once(program: VertexProgram, facts: Facts) -> bool:
    """Return whether a vertex that is active is settled, for a program with `any`."""
    functions = program.functions
    if (
        program.combine != "any"
        or not {"settled", "starts"} <= set(functions)
        or len(program.state) != 1
    ):
        return False
    if program.jumps or program.edge_state or program.reads_target or program.reads_supersteps:
        return False
    if program.contributors == "all" or program.residual is not None:
        return False
    field = next(iter(program.state))
    if facts.state == ("bool",):
        plain = all(_returns_field(program, name, "state", field) for name in ("starts", "settled"))
        changed = _tells_change(program, field, "any") or _returns_field(
            program, "active", "new", field
        )
        return plain and changed and _keeps_the_better(program, field)
    better, first = _better(program, field), _first_numbers(program)
    if not program.asynchronous or not better or first is None or facts.phase:
        return False
    # All vertices that are not settled have one state, the worst; what is better is settled.
    settled = {number: _holds(program, "settled", facts, number) for number in first}
    worst = [number for number, is_settled in settled.items() if not is_settled]
    if (
        len(worst) != 1
        or None in settled.values()
        or _holds(program, "starts", facts, worst[0]) is not False
    ):
        return False
    relation, bound = _comparison(program, "settled", field) or ("", 0.0)
    if relation != ("<" if better == "min" else ">"):
        return False
    if worst[0] == math.inf and facts.state[0] in STORED:  # what is stored is less, or infinite
        return STORED[facts.state[0]] <= bound
    return bool(bound == _held(worst[0], facts.state[0]))


def _first_numbers(program: VertexProgram) -> list[float] | None:
    """Return the numbers of which `init` returns one; None if it may return something else."""
    result = as_expression(function_of(program, "init").node.body)
    ends, numbers = [result], []
    while ends:
        node = ends.pop()
        if isinstance(node, ast.IfExp):
            ends += [node.body, node.orelse]
            continue
        number = _number(node)
        if number is None:
            return None
        numbers.append(number)
    return numbers


def _number(node: ast.expr | None) -> float | None:
    """Return the number that an expression plainly is."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        number = _number(node.operand)
        return None if number is None else -number
    if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)):
        return node.value
    return CONSTANTS.get(ast.unparse(node)) if isinstance(node, ast.Attribute) else None


def _held(number: float, kind: str) -> ranges.End | None:
    """Return a number of a field as functions see it; None if the field does not hold it."""
    if kind.startswith("float"):
        return ranges.of_number(number, kind).low
    if number == math.inf:
        return INFINITY
    return int(number) if math.isfinite(number) and number == int(number) else None


def _comparison(program: VertexProgram, name: str, field: str) -> tuple[str, float] | None:
    """Return the relation and the number that `starts` or `settled` plainly compares the state with."""
    result = as_expression(function_of(program, name).node.body)
    if not isinstance(result, ast.Compare) or len(result.ops) != 1:
        return None
    number = _number(result.comparators[0])
    relations = {
        ast.Lt: "<",
        ast.LtE: "<=",
        ast.Gt: ">",
        ast.GtE: ">=",
        ast.Eq: "==",
        ast.NotEq: "!=",
    }
    relation = relations.get(type(result.ops[0]))
    if number is None or relation is None or not is_field(result.left, "state", field):
        return None
    return relation, number


def _holds(program: VertexProgram, name: str, facts: Facts, number: float) -> bool | None:
    """Return what `starts` or `settled` says of a first state; None if it is not plain."""
    compared = _comparison(program, name, next(iter(program.state)))
    stored = _held(number, facts.state[0])
    if compared is None or stored is None:
        return None
    relation, bound = compared
    if bound == math.inf and not facts.state[0].startswith("float"):
        bound = INFINITY
    holds: dict[str, bool] = {
        "<": stored < bound, "<=": stored <= bound, ">": stored > bound,
        ">=": stored >= bound, "==": stored == bound, "!=": stored != bound,
    }  # fmt: skip
    return holds[relation]


def _returns_field(program: VertexProgram, name: str, owner: str, field: str) -> bool:
    """Return whether a function plainly returns the state."""
    if name not in program.sources:
        return False
    result = as_expression(function_of(program, name).node.body)
    return result is not None and is_field(result, owner, field)
