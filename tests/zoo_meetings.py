"""Programs in which declarations meet: who starts, who sends, who is settled, what is null or hidden.

Each is written as a row: what its functions return, as source, and further lines of its class.  `HYPOTHESES` has for
each hypothesis of the theorem of `docs/decisions/001` a program that breaks this one alone.
"""

from __future__ import annotations

import linecache
import re
import sys
import types
from typing import Any

import phased
from zoo import Entry, Given, from_first, from_some, nothing
from zoo_scatter import Lightest

import cugraph_ws as ws

__all__ = ["HYPOTHESES", "MEETINGS", "PHASED_MEETINGS", "write"]

MEETINGS: list[Entry] = []
HYPOTHESES: dict[str, Entry] = {}  # by the beginning of the reason that is given for the order
SIGNATURES = {
    "init": "vertex, p, own", "compute": "src, edge, p", "apply": "old, gathered, p", "active": "old, new, p",
    "starts": "state, p", "settled": "state, p", "priority": "state, p", "update_edge": "src, dst, edge, p",
    "until": "p",
}  # fmt: skip
EDGES = {
    "weight": "ws.float64",
    "signed": "ws.float64",
    "whole": "ws.int64",
    "single": "ws.float32",
}


def write(name: str, doc: str, state: str, combine: str, **lines: str) -> Any:
    """Return a vertex program.

    Parameters
    ----------
    name, doc : str
        Of its class.
    state : str
        The declarations of its state, one a line.
    combine : str
        The line that sets it.
    **lines : str
        What each function returns; `more` are further lines of the class.
    """
    more = lines.pop("more", "")
    lines["init"] = lines.get("init", "vertex * 5 % 7")
    read = set(re.findall(r"edge\.(\w+)", " ".join(lines.values())))
    body = [f'"""{doc}"""', *state.splitlines()]
    body += [f"{edge}: ws.edge({kind})" for edge, kind in EDGES.items() if edge in read]
    body += [*more.splitlines(), f"combine = {combine}"]
    for function, text in lines.items():
        signature = SIGNATURES[function]
        if function == "compute" and re.search(r"\bdst\b", text):
            signature = "src, dst, edge, p"
        *first, last = text.splitlines()
        body += [
            f"def {function}({signature}):",
            *(f"    {line}" for line in first),
            f"    return {last}",
        ]
    text = "import math\nimport numpy as np\nimport cugraph_ws as ws\n\n"
    text += f"@ws.vertex_program\nclass {name}:\n" + "".join(f"    {line}\n" for line in body)
    file = f"<meeting {name}>"
    linecache.cache[file] = len(text), None, text.splitlines(keepends=True), file  # for `inspect`
    module = types.ModuleType(f"meeting_{name}")
    sys.modules[module.__name__] = module
    try:
        exec(compile(text, file, "exec"), module.__dict__)
        return module.__dict__[name]
    finally:
        sys.modules.pop(module.__name__)


def meet(
    name: str, doc: str, state: str, combine: str, *,
    given: Given = nothing, message: Any = int, compiled: bool = False, breaks: str = "", **lines: str,
) -> Any:  # fmt: skip
    """Write a program, and list it; with `breaks`, also as the one that breaks this hypothesis."""
    program = write(name, doc, state, combine, **lines)
    entry = Entry(program, given, message, 0.0, compiled, "p.start" in str(lines))
    MEETINGS.append(entry)
    if breaks:
        assert breaks not in HYPOTHESES
        HYPOTHESES[breaks] = entry
    return program


X, F, B = "x: ws.int64", "x: ws.float64", "x: ws.boolean"
LEAST, MOST = "min(old.x, gathered)", "max(old.x, gathered)"
START = "start: ws.vertex_set"


# Not a meeting: `reference.py` has no generator, and `test_random_numbers.py` has the answers of such programs
HYPOTHESES["scatter sends"] = Entry(Lightest, nothing, int, 0.0, False, False)
HYPOTHESES["it draws random numbers"] = Entry(
    write("Hesitant", "A minimum that is taken or not.", X, "min", compute="src.x",
          apply=f"{LEAST} if p.random() < 0.5 else old.x"),
    nothing, int, 0.0, False, False,
)  # fmt: skip


# ------------------------------------------------------------- who starts, if all have a value of their own


def prices(n: int) -> dict[str, Any]:
    return {
        "mine": {v: (7, 3, 9, 8, 2)[v % 5] for v in range(n)},
        "start": [v for v in (0, 3) if v < n],
    }


meet("Shops", "Only shops tell their price; others tell one once they have heard a better one.", X, "min",
     more=f"mine: ws.vertex_value(ws.int64)\n{START}", init="own.mine", starts="state.start", compute="src.x",
     apply=LEAST, given=prices, compiled=True)  # fmt: skip
meet("DearShops", "The same for the greatest price, with a hidden mark.", f"{X}\nshop: ws.hidden(ws.boolean)", "max",
     more=START, init="vertex * 5 % 7, own.start", starts="state.shop", compute="src.x",
     apply="max(old.x, gathered), old.shop", given=from_some)  # fmt: skip
meet("SaidToBeFree", "Declared asynchronous, and vertices outside `starts` have better values.", X, "min",
     more=f"{START}\nasynchronous = True", starts="state.start", compute="src.x + 1", apply=LEAST, given=from_some,
     compiled=True)  # fmt: skip
meet("FewActive", "Vertices that start below a threshold, and are active below another.", X, "min",
     starts="state.x < 3", compute="src.x + 1", apply=LEAST, active="new.x < old.x and new.x < 4")  # fmt: skip
meet("Flood", "A search whose start is infinitely far from the others: they have nothing to say.",
     "x: ws.nullable(ws.float64, math.inf)", "min", more=START, init="0.0 if own.start else math.inf",
     starts="state.x == 0.0", compute="src.x + edge.weight", apply=LEAST, given=from_some, message=float)  # fmt: skip
meet("CappedFlood", "The same, but infinity sends 5.", "x: ws.nullable(ws.float64, math.inf)", "min", more=START,
     init="0.0 if own.start else math.inf", starts="state.x == 0.0", compute="min(src.x + edge.weight, 5.0)",
     apply=LEAST, given=from_some, message=float)  # fmt: skip
meet("NobodyStartsAMinimum", "No vertex starts, so nothing happens.", X, "min", starts="state.x > 100", compute="src.x",
     apply=LEAST)  # fmt: skip
meet("StartsNullable", "A nullable field of which null does not start.", "x: ws.nullable(ws.int64, -1)", "max",
     init="vertex % 4 - 1", starts="state.x > 1", compute="src.x - 1", apply=MOST)  # fmt: skip
meet("ActiveMinimum", "contributors = 'active' without `starts`: all begin.", X, "min", more="contributors = 'active'",
     compute="src.x", apply="gathered", active="new.x < old.x")  # fmt: skip
meet("ActiveStarts", "contributors = 'active' with `starts`, of a minimum that is proved.", X, "min",
     more="contributors = 'active'", starts="state.x > 3", compute="src.x", apply=LEAST, compiled=True)  # fmt: skip
meet("AllStart", "contributors = 'all': `starts` does not matter, and silence is heard.", X, "max",
     more="contributors = 'all'", starts="state.x > 3", compute="src.x", apply=MOST)  # fmt: skip
meet("SumOfStarts", "Sums of active vertices, which a threshold chooses.", X, "sum", more="contributors = 'active'",
     starts="state.x % 3 == 0", compute="src.x + 1", apply="(old.x + gathered) % 50", active="new.x % 2 == 1")  # fmt: skip

# ------------------------------------------------------------------------------------------ who is settled


meet("FirstCost", "The first cost within a limit settles a vertex: of one superstep all messages count.",
     "cost: ws.float64", "min", more="start: ws.vertex_parameter", init="0.0 if vertex == p.start else math.inf",
     settled="state.cost <= 2.0", compute="src.cost + edge.weight", apply="min(old.cost, gathered)",
     given=from_first, message=float, compiled=True, breaks="a settled vertex")  # fmt: skip
meet("FirstCostStarts", "The same of active vertices.", "cost: ws.nullable(ws.float64, math.inf)", "min", more=START,
     init="0.0 if own.start else math.inf", starts="state.cost == 0.0", settled="state.cost < 3.0",
     compute="src.cost + edge.weight", apply="min(old.cost, gathered)", given=from_some, message=float,
     compiled=True)  # fmt: skip
meet("SettledActive", "Settled vertices send, and receive nothing; only active ones send.", X, "min",
     more="contributors = 'active'", settled="state.x < 2", compute="src.x + 1", apply=LEAST)  # fmt: skip
meet("SettledAll", "A maximum of which silence is heard, unless a vertex is settled.", X, "max",
     more="contributors = 'all'", settled="state.x > 4", compute="src.x", apply=MOST)  # fmt: skip
meet("SettledHidden", "A hidden field settles.", f"{X}\nheard: ws.hidden(ws.int64)", "min",
     init="vertex * 5 % 7, 0", settled="state.heard >= 2", compute="src.x",
     apply="min(old.x, gathered), old.heard + 1", more="max_iter = 5")  # fmt: skip
meet("SettledNull", "Settled where a value is not null.", "x: ws.nullable(ws.int64, -1)", "max",
     init="vertex if vertex % 3 == 0 else -1", settled="state.x >= 0", compute="src.x", apply=MOST)  # fmt: skip
meet("SettledSum", "Sums of all until a threshold is reached.", X, "sum", settled="state.x > 20", compute="src.x",
     apply="old.x + gathered", more="max_iter = 8")  # fmt: skip
meet("SettledSumActive", "Sums of active vertices until a threshold is reached.", X, "sum",
     more="contributors = 'active'", starts="state.x == 5", settled="state.x > 20", compute="src.x + 1",
     apply="old.x + gathered")  # fmt: skip
meet("FlagSettled", "A search by levels.", B, "any", more=START, init="own.start", starts="state.x", settled="state.x",
     compute="src.x", apply="old.x or gathered", given=from_some, message=bool, compiled=True)  # fmt: skip
meet("FlagSettledAllBegin", "The same, but all vertices begin, those without the flag too.", B, "any", more=START,
     init="own.start", settled="state.x", compute="src.x", apply="old.x or gathered", given=from_some, message=bool,
     compiled=True)  # fmt: skip
meet("FlagTurned", "Settled where the flag is off: what is on takes messages, and sends.", B, "any", more=START,
     init="own.start", starts="state.x", settled="not state.x", compute="src.x", apply="old.x or gathered",
     given=from_some, message=bool)  # fmt: skip
meet("FlagMaximum", "Flags by max, of which settled ones take nothing.", B, "max", more=START, init="own.start",
     starts="state.x", settled="state.x", compute="src.x and edge.whole > 0", apply=MOST, given=from_some,
     message=bool)  # fmt: skip
meet("LevelsSettled", "Hops that settle, of any message.", "x: ws.nullable(ws.int32, math.inf)", "ws.any_message",
     more=f"{START}\nasynchronous = True", init="0 if own.start else math.inf", starts="state.x == 0",
     settled="state.x < 1073741824", compute="src.x + 1", apply=LEAST, active="new.x < old.x", given=from_some,
     compiled=True)  # fmt: skip
meet("SettledEarly", "Settled up to two hops only: farther vertices might be improved, and are not.",
     "x: ws.nullable(ws.int64, math.inf)", "any", more=START, init="0 if own.start else math.inf",
     starts="state.x == 0", settled="state.x < 3", compute="p.superstep + 1", apply=LEAST, given=from_some)  # fmt: skip
meet("SettledPriority", "A priority, a threshold that settles, and a start.", F, "min", more=START,
     init="0.0 if own.start else 100.0", starts="state.x == 0.0", settled="state.x < 1.0", priority="state.x",
     compute="src.x + edge.weight", apply=LEAST, given=from_some, message=float)  # fmt: skip

# --------------------------------------------------------------------- arithmetic that is not what it seems


meet("Valves", "Infinity times 0 is NaN, which is no message.", F, "max", init="math.inf if vertex == 0 else -5.0",
     compute="src.x * max(edge.whole, 0)", apply=MOST, message=float, compiled=True,
     breaks="compute is not plainly")  # fmt: skip
meet("Reliability", "Products of shares: finite, so that a factor 0 is harmless.", F, "max", more=START,
     init="1.0 if own.start else 0.0", compute="src.x * min(edge.weight, 1.0)", apply=MOST, given=from_some,
     message=float, compiled=True)  # fmt: skip
meet("Doubles", "A product of integers that would wrap after some supersteps.", X, "max", init="vertex + 1",
     compute="src.x * 3", apply="max(old.x, min(gathered, 1000))")  # fmt: skip
meet("Turned", "A helper's factor is negative.", F, "min", init="float(vertex)", compute="src.x * (0.0 - edge.weight)",
     apply=LEAST, message=float, more="max_iter = 3")  # fmt: skip
meet("PerDegree", "A quotient by a degree, which may be 0.", F, "min", more="degree: ws.out_degree",
     init="float(vertex)", compute="src.x / src.degree", apply=LEAST, message=float)  # fmt: skip
meet("NotANumberAtFirst", "A first state that is NaN in some vertices.", F, "min",
     init="math.inf - math.inf if vertex % 3 == 1 else float(vertex)", compute="src.x + 1.0", apply=LEAST,
     message=float, compiled=True, breaks="`x` is not proved to be a number")  # fmt: skip
meet("FlagOfNumber", "Whether a number that may be negative is not 0.", X, "max", init="vertex % 4 - 2",
     compute="bool(src.x)", apply=MOST, message=bool)  # fmt: skip

meet(
    "Tolls", "A flag is added to an integer that may be infinite.", "x: ws.nullable(ws.int64, math.inf)", "min",
    more=START, init="0 if own.start else math.inf", starts="state.x == 0", compute="src.x + (edge.whole > 1)",
    apply=LEAST, given=from_some, compiled=True,
)  # fmt: skip

# -------------------------------------------------------------------- one hypothesis of the theorem each


meet("BreaksFold", "Each message counts.", X, "sum", init="1", compute="src.x", apply="min(old.x + gathered, 9)",
     breaks="combine is not min")  # fmt: skip
meet("BreaksFields", "Two fields.", f"{X}\ny: ws.int64", "min", init="vertex, -vertex", compute="src.x",
     apply="min(old.x, gathered), old.x", breaks="its state has 2 fields")  # fmt: skip
meet("BreaksAny", "Any message, and a number.", X, "any", starts="state.x == 0", init="0 if vertex == 0 else 50",
     compute="p.superstep + 1", apply=LEAST, breaks="combine is any, and its state")  # fmt: skip
meet("BreaksSenders", "Vertices without messages apply the greatest number.", X, "min", more="contributors = 'all'",
     compute="src.x", apply=LEAST, breaks="contributors = 'all'")  # fmt: skip
meet("BreaksEdges", "Edges count supersteps.", f"{X}\nsteps = ws.edge_state(ws.int64, default=0)", "min",
     compute="src.x + edge.steps", apply=LEAST, update_edge="min(edge.steps + 1, 3)",
     breaks="it keeps state on edges")  # fmt: skip
meet("BreaksTarget", "The message depends on whom it goes to.", X, "min", compute="max(src.x, dst.x - 1)",
     apply=LEAST, breaks="compute takes dst")  # fmt: skip
meet("BreaksSuperstep", "The superstep is added.", X, "min", compute="src.x + p.superstep", apply=LEAST,
     breaks="it reads the superstep")  # fmt: skip
meet("BreaksApply", "A threshold in apply.", X, "max", compute="src.x",
     apply="old.x if gathered > 5 else max(old.x, gathered)", breaks="apply is not plainly")  # fmt: skip
meet("BreaksActive", "Small changes are not told.", X, "min", compute="src.x", apply=LEAST,
     active="old.x - new.x > 1", breaks="active does not plainly")  # fmt: skip
meet("BreaksJump", "What the named vertex has is read.", f"{X}\nto: ws.vertex_id", "min",
     more='far: int = ws.at("x", "to")', init="vertex * 5 % 7, vertex", compute="src.far",
     apply="min(old.x, gathered), old.to", breaks="the jump")  # fmt: skip
meet("BreaksResidual", "A residual, which ends a run early.", F, "min", more='residual = ws.l1_norm("x")\ntol = 4.0',
     init="16.0 * vertex", compute="src.x + 1.0", apply=LEAST, message=float, breaks="its residual may end")  # fmt: skip

# ---------------------------------------------------------------------------------------- several phases


def _phase(name: str, state: str, combine: str, **lines: str) -> Any:
    return write(name, "One of several phases.", state, combine, **lines)


Spread = _phase("Spread", X, "min", starts="state.x % 2 == 0", compute="src.x", apply=LEAST)
Settling = _phase("Settling", X, "min", settled="state.x < 2", compute="src.x + 1", apply=LEAST)
Raising = _phase("Raising", X, "max", more="contributors = 'active'", starts="state.x > 3", compute="src.x - 1",
                 apply=MOST)  # fmt: skip
Marking = _phase("Marking", "seen: ws.hidden(ws.boolean)\nx: ws.int64", "any", init="vertex == 0, vertex",
                 starts="state.seen", settled="state.seen", compute="src.seen",
                 apply="old.seen or gathered, old.x + 1")  # fmt: skip
Far = _phase("Far", "far: ws.nullable(ws.float64, math.inf)", "min", init="0.0 if vertex < 2 else math.inf",
             starts="state.far == 0.0", compute="src.far + edge.weight", apply="min(old.far, gathered)")  # fmt: skip
Near = _phase("Near", "far: ws.nullable(ws.float64, math.inf)", "max", init="0.0", starts="state.far < 9.0",
              settled="state.far > 2.0", compute="min(src.far, edge.weight)", apply="max(old.far, gathered)")  # fmt: skip
Adding = _phase("Adding", X, "sum", more="contributors = 'active'", starts="state.x == 1", settled="state.x > 6",
                compute="1", apply="old.x + gathered")  # fmt: skip
Flag = _phase("Flag", "seen: ws.hidden(ws.boolean)", "any", init="vertex == 1", starts="state.seen",
              settled="state.seen", compute="src.seen", apply="old.seen or gathered")  # fmt: skip


def _phases(
    name: str, messages: tuple[Any, ...], *phases: Any, compiled: bool = False, **more: Any
) -> None:
    made = ws.phases(*phases, **more)
    PHASED_MEETINGS.append(phased.Entry(name, made, messages, compiled=compiled))


PHASED_MEETINGS: list[phased.Entry] = []
_phases("starts, then settled", (int, int), Spread, ws.phase(Settling, "out"), rounds=2)
_phases("settled, then starts", (int, int), Settling, ws.phase(Spread, "out"), compiled=True)
_phases("active both ways", (int, int), Raising, ws.phase(Raising, "out", 2), rounds=2)
_phases("up and down", (int, int, int), ws.phase(Raising, supersteps=1), Spread, Settling, rounds=3)
_phases(
    "marks",
    (bool, int, int),
    Marking,
    ws.phase(Spread, "out"),
    ws.phase(Settling, supersteps=1),
    rounds=1,
)
_phases("far and near", (float, float), Far, ws.phase(Near, "out"), rounds=2, compiled=True)
_phases(
    "near, then far", (float, float), ws.phase(Near, supersteps=2), ws.phase(Far, "out"), rounds=1
)
_phases("sums that settle", (int, int), Adding, ws.phase(Spread, "out"), rounds=2)
_phases("flags", (bool, int), Flag, ws.phase(Raising, "out"), rounds=1)
