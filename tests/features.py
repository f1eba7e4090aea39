"""Programs made of features of the model, one of each pair, for tests of what they mean together."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
from fuzz.programs import load

__all__ = ["COMBINES", "EXTRAS", "REFUSED", "message_of", "programs", "text_of"]

# By name: lines that set the combine; what compute returns of a whole number `m`; what messages are; what
# apply makes of `gathered`
COMBINES: dict[str, tuple[str, str, Any, str]] = {
    "sum": ("combine = sum", "m", int, "gathered"),
    "sum of floats": ("combine = sum", "m / 8", float, "int(gathered * 8)"),
    "min": ("combine = min", "m", int, "min(gathered, 1000)"),
    "any": ("combine = any", "m % 3 == 0", bool, "1 if gathered else 2"),
    "function": (
        "def combine(a, b): return a ^ b\n    identity = 0",
        "m",
        int,
        "gathered",
    ),
    "histogram": (
        "combine = ws.histogram(4)",
        "m % 4",
        int,
        "gathered[0] + 2 * gathered[1] + 5 * gathered[3]",
    ),
    "bitset": (
        "combine = ws.bitset(70)",
        "m * 7 % 70",
        int,
        "gathered[0] % 31 + gathered[1]",
    ),
    "top": ("combine = ws.top(2)", "m", int, "max(gathered[0], -3) + 2 * max(gathered[1], -5)"),
    "first_by": (
        "combine = ws.first_by('near', names=('label', 'near'))",
        "(m, m % 5)",
        (int, int),
        "min(gathered.label, 50)",
    ),
    "by part": (
        "combine = (sum, max, ws.top(2))",
        "(m, m % 7, m % 5)",
        (int, int, int),
        "gathered[0] + max(gathered[1], -3) + 2 * max(gathered[2][1], -2)",
    ),
    "mode": ("combine = ws.mode()", "m % 5", int, "min(gathered, 11)"),
    "weighted mode": (
        "combine = ws.mode(weighted=True)",
        "(m % 5, edge.w)",
        (int, float),
        "min(gathered, 11)",
    ),
    "gather_list": (
        "def gather_list(old, messages):\n"
        "        total = old.x\n"
        "        for one in messages:\n"
        "            total = (3 * total + one) % 1009\n"
        "        return total",
        "m",
        int,
        "gathered",
    ),
}
# By name: lines of the class, and what a message adds to `m`
EXTRAS: dict[str, tuple[str, str]] = {
    "nothing": ("", ""),
    "dst": ("", " + 3 * dst.x + dst.inward"),
    "edge_state": (
        "load = ws.edge_state(ws.int64)\n"
        "    def init_edge(src, dst): return src.x % 3 + dst.y\n"
        "    def update_edge(src, dst, edge): return (edge.load + src.x + 2 * dst.x) % 5",
        " + edge.load",
    ),
    "at": ("far = ws.at('x', 'y')", " + 2 * src.far"),
    "sum_at": ("crowd = ws.sum_at('x', 'y')", " + src.crowd"),
    "aggregate": ("@ws.aggregate\n    def mass(state): return state.x % 4", " + int(p.mass)"),
    "active": (
        "contributors = 'active'\n    def active(old, new): return new.x % 3 != 0",
        "",
    ),
}
# Pairs that have no meaning, and words of the refusal
REFUSED = {
    ("any", "edge_state"): "set combine to max, min, sum or a function, not any",
    ("any", "at"): "leave out combine = any",
    ("any", "sum_at"): "leave out combine = any",
    ("mode", "active"): "leave it out",
    ("weighted mode", "active"): "leave it out",
    ("gather_list", "active"): "leave it out",
    ("edge_state", "active"): "leave out contributors = 'active'",
    ("at", "active"): "leave out contributors = 'active'",
    ("sum_at", "active"): "leave out contributors = 'active'",
}


def text_of(combine: str, *extras: str) -> str:
    """Return the source of a module with the program of a combine and some extras."""
    lines, sent, _, gathered = COMBINES[combine]
    m = "src.x + int(edge.k)" + "".join(EXTRAS[one][1] for one in extras)
    taken = ["src", *(["dst"] if "dst" in extras else []), "edge", "p"]
    own = "".join(f"\n    {EXTRAS[one][0]}" for one in extras if EXTRAS[one][0])
    return f"""import cugraph_ws as ws

@ws.vertex_program
class Fuzzed:
    x: ws.int64
    y: ws.int64
    w: ws.edge(ws.float64)
    k: ws.edge(ws.int64)
    inward: ws.in_degree
    max_iter = 4
    {lines}{own}

    def init(vertex, p):
        return vertex * 5 % 7, (vertex * 3 + 1) % p.number_of_vertices

    def compute({", ".join(taken)}):
        m = {m}
        return {sent}

    def apply(old, gathered, p):
        return (old.x + {gathered}) % 97, (2 * old.y + old.x) % p.number_of_vertices
"""


def message_of(combine: str) -> Any:
    """Return the type of a combine's messages, for the interpreter."""
    return COMBINES[combine][2]


def programs(pairs: bool = True) -> Iterator[tuple[str, tuple[str, ...], Any]]:
    """Yield the combine, the extras and the program of every pair of features that has a meaning.

    Parameters
    ----------
    pairs : bool
        Whether programs have two extras, too; each such pair comes with one combine.
    """
    extras = list(EXTRAS)[1:]
    made = [(combine, (extra,)) for combine in COMBINES for extra in EXTRAS]
    turn = itertools.cycle(one for one in COMBINES if one != "any")
    if pairs:
        made += [(next(turn), both) for both in itertools.combinations(extras, 2)]
    for combine, some in made:
        if not any(pair in REFUSED for pair in itertools.permutations((combine, *some), 2)):
            yield combine, some, load(text_of(combine, *some))


def attributes(count: int) -> dict[str, Any]:
    """Return the edge attributes that the programs read."""
    place = np.arange(count)
    return {"w": (place * 5 % 11 + 1) / 8, "k": place * 7 % 6}
