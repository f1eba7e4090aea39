"""Random vertex programs on random graphs, against the reference interpreter.

A grammar writes programs as source; half of them may be run out of order, or look as if they
might: minima with a falling message, with a threshold in `active`, with a branch on the state.
Every choice is asked of `Choices`, which a seed answers, or Hypothesis, so that it can shrink them.

By hand: `python tests/fuzz/programs.py --count 50000 --seed 7 --jobs 16 [--compiled] [--engine cuda]`.
"""

from __future__ import annotations

import argparse
import itertools
import json
import linecache
import math
import os
import re
import selectors
import signal
import sys
import time
import traceback
import types
import warnings
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

if __name__ == "__main__":  # not this folder, where a module has the name of another one
    sys.path[0] = str(Path(__file__).parents[1])

import numpy as np
import pyarrow as pa
import reference
from emulator.device import emulated
from plans import planned
from zoo import difference, edges_found, edges_shown, found_by, remembering, shown

import cugraph_ws as ws
from cugraph_ws.backends.cuda import out_edges
from cugraph_ws.program import modules
from fuzz.grammar import Choices, Frame, Member, condition, constants, number, rising
from fuzz.meetings import meetings
from fuzz.scattering import scattering

__all__ = ["Case", "Choices", "Difference", "Tally", "check", "quick_loops", "write_case"]

LONG = 14  # supersteps after which there is no end to be expected
SHORT = 5  # supersteps that are compared then
PATIENCE = 100.0  # seconds of a run, compilation included, after which it is taken for endless


class Difference(AssertionError):
    """A result that is not the reference's."""


@dataclass
class Case:
    """Programs in one class, a graph, and how to run them.

    Attributes
    ----------
    text : str
        A module with the class `Fuzzed`.
    frame : Frame
        What its members share.
    graph : reference.Graph
        The graph.
    members : int
        How many programs the parameter `which` chooses from; 1 without one.
    runs : list of (int or None, dict)
        Limits and options of the runs, of each member.
    """

    text: str
    frame: Frame
    graph: reference.Graph
    members: int
    runs: list[tuple[int | None, dict[str, Any]]]


@dataclass
class Tally:
    """What was compared."""

    programs: int = 0
    comparisons: int = 0
    refused_programs: int = 0
    refused_runs: int = 0


# ------------------------------------------------------------------- programs that seem in order


def search(
    choose: Choices, members: int, in_order: bool | None = None
) -> tuple[Frame, list[Member], bool]:
    """Write minima and maxima of one field: of half of them only the fixpoint matters.

    Returns the frame, the members, and whether states far from the start are quiet.
    """
    kind = choose.pick("int64", "float64", "int32", "float32")
    pick = choose.pick("min", "max")
    in_order = choose.chance(2) if in_order is None else in_order
    quiet = choose.chance(4)  # a search from vertex 0, which `starts` says
    settings: list[str] = []
    who = choose.pick(None, None, None, None, "active", "all")
    if (quiet or in_order) and who == "all":
        who = None
    if who:
        settings.append(f'contributors = "{who}"')
    if quiet:
        settings.append(
            f"def starts(state):\n    return state.x {'<>'[pick == 'max']} {_far(pick)}"
        )
    if choose.chance(3):
        settings.append(f"def priority(state):\n    return {choose.pick('state.x', '-state.x')}")
    made = [_searching(choose, kind, pick, quiet, who == "all", in_order) for _ in range(members)]
    if who != "all" and all(one.monotone for one in made) and choose.chance(2):
        settings.append("asynchronous = True")
    message = float if kind.startswith("float") else int
    return Frame((("x", kind),), f"combine = {pick}", message, settings), made, quiet


def _far(pick: str) -> str:
    return "1000" if pick == "min" else "-1000"


def _searching(
    choose: Choices, kind: str, pick: str, quiet: bool, silent: bool, in_order: bool
) -> Member:
    real, better = kind.startswith("float"), "<" if pick == "min" else ">"
    compute, monotone = _looking_rising(choose, kind, pick, quiet, in_order)
    if quiet:
        init = f"0 if vertex == 0 else {_far(pick)}"
    else:
        init = choose.pick(
            f"vertex * {choose.pick('3', '5', '7')} % {choose.pick('8', '13', '4')}",
            "1 if 2 * vertex < p.number_of_vertices else 0",
            "3",
            f"0 if vertex == 0 else {_far(pick)}",
            f"vertex * 5 % 9{' / 2' if real else ''} - 4",
        )
    plain = [
        f"{pick}(old.x, gathered)",
        f"{pick}(gathered, old.x)",
        f"gathered if gathered {better} old.x else old.x",
        f"if gathered {better} old.x:\n    return gathered\nreturn old.x",
        f"old.x if old.x {better} gathered else gathered",
    ]
    toll = "+" if pick == "min" else "-"
    others = [
        f"old.x if gathered {choose.pick('>', '<')} {choose.pick('4', '0', '8')} else {plain[0]}",
        f"{pick}(old.x, gathered + p.superstep)",
        f"{pick}(old.x, gathered {toll} old.degree)",
        "gathered",
        f"{plain[0]} if old.x % 2 == 0 else old.x",
        f"{pick}(old.x, gathered) if gathered - old.x < 3 else old.x",
        f"old.x {toll.translate({43: 45, 45: 43})} 1 if gathered {better} old.x else old.x",
    ]
    apply = choose.pick(*plain)
    if not in_order and choose.chance(3):
        # Without a message an integer is the type's infinity, which has no room for a sum.
        apply = choose.pick(*(others[:1] if silent else others))
    actives = [
        None, None, None,
        f"new.x {better} old.x",
        "new.x != old.x",
        f"abs(new.x - old.x) >= {choose.pick('2', '3')}",
        f"new.x {better} old.x and new.x {choose.pick('<', '>')} {choose.pick('3', '6')}",
        f"new.x {better} old.x and p.superstep < 2",
        "new.x % 2 == 0",
    ]  # fmt: skip
    active = choose.pick(*(actives[:5] if in_order else actives))
    plainly = apply in plain and active in actives[:5]
    return Member(init, compute, apply, active, monotone and plainly)


def _looking_rising(
    choose: Choices, kind: str, pick: str, quiet: bool, in_order: bool
) -> tuple[str, bool]:
    """Return a message, and whether it is monotone."""
    real = kind.startswith("float")
    if quiet:
        toll = "+" if pick == "min" else "-"
        step = choose.pick("1", "edge.w" if real else "abs(edge.k)", "src.degree", "2")
        if not in_order and choose.chance(3):
            return f"src.x {toll} (4 if src.x < 3 else 1)", False
        return f"src.x {toll} {step}", True
    monotone = in_order or choose.chance(4)
    if monotone:
        text = rising(choose, real)
    else:
        edge = "edge.w" if real else "edge.k"
        text = choose.pick(
            f"{choose.pick('6', '10', '3')} - src.x",
            f"(src.x + 1 if src.x < {choose.pick('4', '2')} else src.x - 2)",
            "-src.x",
            "abs(src.x - 3)",
            f"src.x + {edge} if src.x > 2 else {edge}",
            "src.x % 4" if not real else "math.floor(src.x) % 3",
            "src.x + p.superstep",
            "src.x * edge.k",
            "src.x if src.x > dst.x else dst.x - 1",
            f"src.x - dst.x + {edge}",
            "src.x + (1 if p.total > 9 else 2)",
            f"max(src.x, {edge}) - min(src.x, 4)",
            number(choose, ["src.x", *constants(real), edge], 2, real),
        )
    clip = f"max({text}, -90)" if pick == "min" else f"min({text}, 90)"
    text = clip if "*" in text or choose.chance(3) else text
    return _to_some(choose, text, "edge.k == 1"), monotone


def _to_some(choose: Choices, sent: str, unsent: str) -> str:
    """Write a message that is perhaps not sent along some arcs."""
    return f"ws.no_message if {unsent} else ({sent})" if choose.chance(6) else sent


def _with_draws(choose: Choices, member: Member, real: bool) -> Member:
    """Write a program that perhaps draws random numbers where it reads `x`."""
    if not choose.chance(5):
        return member
    draw = "p.random()" if real else f"p.random_integer({choose.pick('2', '5')})"
    new = member.active and member.active.replace("new.x", f"(new.x + {draw})")
    return replace(
        member,
        init=member.init.replace("vertex * 5", f"{choose.pick('vertex', draw)} * 5"),
        compute=member.compute.replace("src.x", "(src.x + p.random_integer(3))", choose.below(3)),
        apply=member.apply.replace("old.x", f"(old.x + {draw})", choose.pick(1, 2)),
        active=new if choose.chance(2) else member.active,
    )


def flags(choose: Choices, members: int) -> tuple[Frame, list[Member], bool]:
    """Write programs of one flag."""
    combine = choose.pick("max", "min", "any")
    settings = []
    messages = [
        "src.x", "src.x and edge.k > 0", "src.x and p.superstep < 2", "src.degree > 1 and src.x",
        "src.x or edge.k > 1", "True", "not src.x", "src.x == (edge.k > 1)", "src.x != dst.x",
        "src.x and dst.degree > 1",
    ]  # fmt: skip
    if combine == "any":
        settings.append("def starts(state):\n    return state.x")
    elif choose.chance(3):  # the others have nothing to send
        settings.append('contributors = "active"')
        settings.append(f"def starts(state):\n    return {'not ' * (combine == 'min')}state.x")
        messages = ["src.x", "src.x or edge.k > 1"] if combine == "min" else messages[:4]
    made = []
    for _ in range(members):
        compute = _to_some(choose, choose.pick(*messages), "edge.k == 1")
        apply = choose.pick(
            "old.x or gathered", "gathered or old.x", "True if gathered else old.x",
            "old.x and gathered", "gathered", "not old.x", "old.x != gathered",
            f"{'min' if combine == 'min' else 'max'}(old.x, gathered)",
        )  # fmt: skip
        active = choose.pick(None, None, "new.x and not old.x", "new.x", "new.x != old.x")
        init = choose.pick("vertex == 0", "vertex % 2 == 0", "vertex % 3 != 0")
        made.append(Member(init, compute, apply, active))
    return Frame((("x", "boolean"),), f"combine = {combine}", bool, settings), made, False


def levels(choose: Choices, members: int) -> tuple[Frame, list[Member], bool]:
    """Write programs that take any message: those of one superstep are all alike."""
    settings = ["def starts(state):\n    return state.x == 0"]
    made = []
    for _ in range(members):
        init = choose.pick("0 if vertex == 0 else 1000", "vertex % 3", "vertex")
        compute = choose.pick(
            "p.superstep + 1", "1", "10 - p.superstep", "p.superstep % 3", "dst.x % 4"
        )
        compute = _to_some(choose, compute, "edge.k > 1")
        apply = choose.pick(
            "min(old.x, gathered)", "max(old.x, gathered)", "gathered", "old.x + gathered",
            "old.x if old.x > 3 else gathered", "gathered if old.x == 1000 else old.x",
        )  # fmt: skip
        active = choose.pick(
            None, "new.x < old.x", "new.x != old.x", "new.x - old.x >= 2", "new.x < 6"
        )
        made.append(Member(init, compute, apply, active))
    combine = choose.pick("combine = any", "combine = ws.any_message")
    return Frame((("x", "int64"),), combine, int, settings), made, False


# ------------------------------------------------------------------------------- other programs

CUSTOM = (  # a combine, its identity, and what messages must be
    ("a ^ b", "0", "({}) % 16"),
    ("(a * b) % 13", "1", "({}) % 13"),
    ("a | b", "0", "abs({}) % 32"),
    ("max(a, b)", "-100000", "{}"),
    ("min(a, b) if a != b else a", "100000", "{}"),
)


def anything(choose: Choices, members: int) -> tuple[Frame, list[Member], bool]:
    """Write programs of one to three fields, with any combine and any expressions."""
    kinds = [choose.pick("int64", "float64", "int32")]
    kinds += [choose.pick("int64", "float64", "boolean") for _ in range(choose.below(3))]
    fields = tuple(zip("xyz", kinds, strict=False))
    real = kinds[0] == "float64"
    combine = choose.pick("sum", "min", "max", "sum", "custom")
    pair = choose.chance(4)
    who = choose.pick(None, None, "active", "all")
    settings = [f'contributors = "{who}"'] if who else []
    if choose.chance(4) and (combine in ("sum", "custom") or len(fields) > 1):
        if combine in ("sum", "custom") and who is None:  # all send, which is to be said
            settings.append('contributors = "all"')
            who = "all"
        settings.append(f"def starts(state):\n    return state.x {choose.pick('<', '>=')} 3")
    if choose.chance(6) and (combine in ("sum", "custom") or len(fields) > 1):
        settings.append(f"def settled(state):\n    return state.x {choose.pick('<', '>=')} 5")
    wrap = "{}"
    lines = f"combine = {combine}"
    if combine == "custom":
        real = False
        pair = False
        body, identity, wrap = choose.pick(*CUSTOM)
        lines = f"def combine(a, b):\n    return {body}\nidentity = {identity}"
    guarded = who == "all" and combine in ("min", "max")
    kept = who != "active" and choose.chance(4)
    if kept:
        settings += _edge_state(choose, fields, real)
    made = [_any_member(choose, fields, real, pair, guarded, wrap, kept) for _ in range(members)]
    message: Any = float if real else int
    return Frame(fields, lines, (message, int) if pair else message, settings), made, False


def _of_vertices(fields: Any, real: bool) -> list[str]:
    """Write what a function may read of a vertex, with a place for the vertex."""
    numeric = [name for name, kind in fields if kind != "boolean" and (real or kind != "float64")]
    return [f"{{}}.{name}" for name in numeric] + [
        f"(1 if {{}}.{name} else 0)" for name, kind in fields if kind == "boolean"
    ]


def _edge_state(choose: Choices, fields: Any, real: bool) -> list[str]:
    """Write a field of the state of edges, and the functions that make it."""
    ends = [one.format(end) for one in _of_vertices(fields, real) for end in ("src", "dst")]
    ends += ["edge.k", "dst.degree", "1", "-2", "3"]
    lines = [f"e = ws.edge_state(ws.int64, default={choose.pick('0', '1', '-3')})"]
    for name, more in (("update_edge", ["edge.e", "edge.e", "p.superstep"]), ("init_edge", [])):
        if name == "update_edge" or choose.chance(2):
            text = number(choose, [*ends, *more], choose.below(3), False)
            lines.append(f"def {name}(src, dst, edge, p):\n    return int({text}) % 11")
    return lines


def _any_member(
    choose: Choices, fields: Any, real: bool, pair: bool, guarded: bool, wrap: str, kept: bool
) -> Member:
    of = _of_vertices(fields, real)
    near = [*constants(real), "p.superstep", "p.number_of_vertices"]
    sending = [one.format("src") for one in of] + [
        "edge.k", "src.degree", *(["edge.w", "edge.w"] if real else []), *near,
    ]  # fmt: skip
    if choose.chance(3):
        sending += [one.format("dst") for one in of] + ["dst.degree"]
    sending += ["edge.e", "edge.e"] if kept else []
    sent = wrap.format(number(choose, sending, choose.below(3), real))
    if choose.chance(5):
        low = wrap.format(choose.pick("0", "1"))
        sent = f"{low} if {condition(choose, sending)} else {sent}"
    if pair:
        whole = number(choose, [one for one in sending if one != "edge.w"], 1, False)
        sent = f"({sent}), {'edge.k' if real else whole}"
    sent = _to_some(choose, sent, condition(choose, sending))
    heard = ["gathered[0]", "gathered[1]"] if pair else ["gathered"]
    first = ""
    if guarded:
        first = f"heard = {heard[0]} if -5000 < {heard[0]} < 5000 else 7\n"
        heard = ["heard"]
    hearing = [one.format("old") for one in of] + [*heard, *heard, "old.degree", *near]
    if choose.chance(4):
        hearing.append("p.total" if real else "int(p.total) % 7")
    parts = [_kept(choose, kind, hearing, real) for _, kind in fields]
    apply = f"{first}return {', '.join(parts)}"
    active = choose.pick(
        None, None, None, "new.x < old.x", "new.x != old.x", "abs(new.x - old.x) >= 2",
        "new.x < 5", "new.x != old.x and p.superstep < 2", "p.total < 30",
    )  # fmt: skip
    starts = [_first(choose, kind) for _, kind in fields]
    return _with_draws(choose, Member(", ".join(starts), sent, apply, active), real)


def _kept(choose: Choices, kind: str, atoms: list[str], real: bool) -> str:
    """Write an expression that a field's type holds."""
    if kind == "boolean":
        return condition(choose, atoms)
    text = number(choose, atoms, choose.below(3), real)
    if kind.startswith("int") and real:
        text = f"int({text})"
    if kind.startswith("int") and choose.chance(2):
        return f"({text}) % {choose.pick('19', '5')}"
    return f"min(max({text}, -40), 40)"


def _first(choose: Choices, kind: str) -> str:
    if kind == "boolean":
        return choose.pick("vertex == 0", "vertex % 2 == 0", "True")
    return choose.pick("vertex * 5 % 8", "vertex", "3", "0 if vertex == 0 else 9", "own.degree")


IN_ORDER = """def gather_list(old, messages):
    found = old.x % 3
    for one in messages:
        found = (found * 5 + one) % 97
    return found"""
MIDDLE = """message_order = "value"
def gather_list(messages):
    if len(messages) < 3:
        return messages[-1], len(messages)
    return messages[len(messages) // 2], messages[1] - messages[0]"""
BOUNDED = "heard = {0} if -5000 < {0} < 5000 else 7\n"
# A combine with a name, what messages are, the lines that precede `apply`'s, and what they hear
NAMED: tuple[tuple[str, str, str, tuple[str, ...]], ...] = (
    ("combine = ws.histogram(4)", "({}) % 4", "", ("gathered[0]", "gathered[1]", "gathered[3]")),
    ("combine = ws.top(3)", "{}", BOUNDED.format("gathered[2]"), ("heard", "(gathered[0] % 9)")),
    ("combine = ws.bitset(7)", "({}) % 7", "", ("gathered",)),
    ("combine = ws.bitset(70)", "({}) % 70", "", ("(gathered[0] % 31)", "gathered[1]")),
    ("combine = ws.first_by(1)", "({}) % 3, {}", BOUNDED.format("gathered[1]"), ("heard", "(gathered[0] % 7)")),
    ("combine = (sum, ws.top(2))", "({}) % 5, {}", BOUNDED.format("gathered[1][1]"), ("heard", "(gathered[0] % 9)")),
    ("combine = (min, ws.bitset(9))", "{}, ({}) % 9", BOUNDED.format("gathered[0]"), ("heard", "gathered[1]")),
    ("combine = ws.mode()", "({}) % 3", BOUNDED.format("gathered"), ("heard",)),
    ("combine = ws.mode(weighted=True)", "({}) % 3, edge.k - {}", BOUNDED.format("gathered"), ("heard",)),
    (IN_ORDER, "{}", "", ("gathered",)),
    (MIDDLE, "{}", "", ("gathered[0]", "gathered[1]")),
)  # fmt: skip


def named(choose: Choices, members: int) -> tuple[Frame, list[Member], bool]:
    """Write programs with a combine that has a name, or that list messages."""
    combine, wrap, first, heard = choose.pick(*NAMED)
    fields = (("x", "int64"), ("y", choose.pick("int64", "int32")))
    lists = "ws.mode" in combine or "gather_list" in combine
    who = choose.pick(None, None, "all" if combine != MIDDLE else None, None if lists else "active")
    settings = [f'contributors = "{who}"'] if who else []
    if choose.chance(6):
        settings.append(f"def settled(state):\n    return state.x {choose.pick('<', '>=')} 5")
    jumps = who != "active" and combine != MIDDLE and choose.chance(3)  # with them all contribute
    if jumps:
        fold = choose.pick("at", "sum_at", "least_at", "greatest_at")
        settings.append(f'far = ws.{fold}("x", "y")')
    made = []
    for _ in range(members):
        near = [*constants(False), "p.superstep", "p.number_of_vertices"]
        sending = ["src.x", "src.x", "src.y", "edge.k", "src.degree", *near]
        if choose.chance(3):
            sending += ["dst.x", "dst.degree"]
        sending += ["(src.far % 50)"] * 2 * jumps
        parts = [number(choose, sending, choose.below(3), False) for _ in range(wrap.count("{}"))]
        hearing = ["old.x", "old.y", *heard, *heard, "old.degree", *near]
        hearing += ["(old.far % 50)"] * jumps
        kept = [_kept(choose, kind, hearing, False) for _, kind in fields]
        starts = [_first(choose, kind) for _, kind in fields]
        if jumps:  # `y` names a vertex
            kept[1], starts[1] = (f"({one[1]}) % p.number_of_vertices" for one in (kept, starts))
        apply = f"{first}return {', '.join(kept)}"
        sent = wrap.format(*parts)
        if not lists:
            sent = _to_some(choose, sent, condition(choose, sending))
        made.append(_with_draws(choose, Member(", ".join(starts), sent, apply), False))
    message: Any = (int, int) if wrap.count("{}") == 2 else int
    return Frame(fields, combine, message, settings), made, False


# ----------------------------------------------------------------------------------- whole cases


def write_case(
    choose: Choices, *, members: int = 1, engine: str = "python", in_order: bool = False,
    only: str | None = None,
) -> Case:  # fmt: skip
    """Write programs, a graph, and how they are run.

    Parameters
    ----------
    choose : Choices
        Where choices come from.
    members : int
        How many programs to put in one class.
    engine : str
        On which engine they run.
    in_order : bool
        Whether to write only programs of which no more than the fixpoint matters.
    only : str, optional
        The function that writes them, by name; one of several if not given.

    Returns
    -------
    Case
    """
    families = (
        search, search, search, anything, anything, anything, named, named, flags, levels, meetings, meetings, meetings,
        scattering, scattering,
    )  # fmt: skip
    family = choose.pick(*(one for one in families if only in (None, one.__name__)))
    frame, made, quiet = search(choose, members, True) if in_order else family(choose, members)
    text = _module(choose, frame, made)
    graph = _graph(choose, positive=quiet)
    runs = [
        (choose.pick(None, 1, 2, 3, None, 4, None), {"engine": engine, **_options(choose, engine)})
        for _ in range(1 + choose.below(3))
    ]
    return Case(text, frame, graph, members, runs)


def _options(choose: Choices, engine: str) -> dict[str, Any]:
    options: dict[str, Any] = {}
    direction = choose.pick("auto", "auto", "auto", "pull", "gather", "push")
    if direction != "auto":
        options["direction"] = direction
    if engine != "cuda" and choose.chance(2):
        options["partitions"] = choose.pick(2, 3, 4)
        options["exchange"] = choose.pick("auto", "vr", "ms", "all")
    more = {name: False for name in ("in_place", "priorities", "fused") if choose.chance(8)}
    return {**options, **more}


def _graph(choose: Choices, *, positive: bool) -> reference.Graph:
    n = 1 + choose.below(8)
    edges = [(choose.below(n), choose.below(n)) for _ in range(choose.below(2 * n + 1))]
    step, shift = choose.pick(3, 5, 7), choose.below(5)
    place = np.arange(len(edges))
    attributes = {
        "w": (place * step + shift) % 11 / 8,
        "k": (place * step + shift) % 5 - (0 if positive else 1),
    }
    return reference.Graph(n, edges, attributes, None, directed=not choose.chance(3))


def _module(choose: Choices, frame: Frame, made: list[Member]) -> str:
    """Write the module: the functions of several members take turns by the parameter `which`."""
    whole = "".join(str(one) for one in made)
    lines = [f"{name}: ws.{kind}" for name, kind in frame.fields]
    lines += ["w: ws.edge(ws.float64)", "k: ws.edge(ws.int64)"]
    lines += ["degree: ws.in_degree" if choose.chance(2) else "degree: ws.out_degree"]
    if len(made) > 1:
        lines.append("which: ws.parameter(ws.int64, default=0)")
    lines += [frame.combine, *frame.settings]
    if "p.total" in whole:
        lines.append("@ws.aggregate\ndef total(state):\n    return state.x")
    for name in ("init", "compute", "scatter", "apply", "active"):
        bodies = [getattr(one, name) for one in made]
        if bodies == [None] * len(made):
            continue
        same = " or ".join(f"new.{field} != old.{field}" for field, _ in frame.fields)
        lines.append(_function(choose, name, [body or same for body in bodies]))
    body = "\n".join(lines).replace("\n", "\n    ")
    return f"import math\n\nimport cugraph_ws as ws\n\n\n@ws.vertex_program\nclass Fuzzed:\n    {body}\n"


ARGUMENTS = {
    "init": ("vertex", "own", "p"),
    "compute": ("src", "edge", "dst", "p"),
    "scatter": ("own", "edges", "p"),
    "apply": ("old", "gathered", "p"),
    "active": ("old", "new", "p"),
}


def _function(choose: Choices, name: str, bodies: list[str]) -> str:
    """Write a function that takes the arguments which it reads, in some order."""
    blocks = []
    for place, body in enumerate(bodies):
        block = body if name == "scatter" or "return " in body else f"return {body}"
        if place < len(bodies) - 1:
            block = f"if p.which == {place}:\n    " + block.replace("\n", "\n    ")
        blocks.append(block)
    text = "\n".join(blocks)
    taken = [one for one in ARGUMENTS[name] if re.search(rf"\b{one}\b", text)]
    if not taken:
        taken = list(ARGUMENTS[name][:1])
    if choose.chance(4):
        taken.reverse()
    return f"def {name}({', '.join(taken)}):\n    " + text.replace("\n", "\n    ")


# --------------------------------------------------------------------------------------- running

_numbers = itertools.count()


def load(text: str) -> Any:
    """Return the program that a module's source defines."""
    name = f"fuzzed_program_{next(_numbers)}"
    file = f"<{name}>"
    linecache.cache[file] = len(text), None, text.splitlines(keepends=True), file  # for `inspect`
    module = types.ModuleType(name)
    sys.modules[name] = module
    try:
        exec(compile(text, file, "exec"), module.__dict__)
        return module.Fuzzed
    finally:
        sys.modules.pop(name)


REFUSED = re.compile(r"^direction='(push|pull|gather)': .*; use '", re.DOTALL)


def check(case: Case, tally: Tally) -> None:
    """Run a case's programs in all its ways.

    Parameters
    ----------
    case : Case
        What to run.
    tally : Tally
        Where to count it.

    Raises
    ------
    Difference
        If a result is not the reference's, or a run fails.
    """
    try:
        program = load(case.text)
    except ws.ProgramError as error:
        raise Difference(f"{error}\n\n{case.text}") from error
    edges = case.graph.edges
    columns = {
        "source": np.array([u for u, _ in edges], np.int64),
        "destination": np.array([v for _, v in edges], np.int64),
        **case.graph.attributes,
    }
    with ws.Graph(
        pa.table(columns),
        attributes=["w", "k"],
        directed=case.graph.directed,
        vertices=pa.table({"vertex": np.arange(case.graph.n)}),
    ) as graph:
        for which in range(case.members):
            given = {"which": which} if case.members > 1 else {}
            try:
                for limit, options in case.runs:
                    _compare(case, program, graph, given, limit, options, tally)
            except (ws.ProgramError, reference.Unfit):
                tally.refused_programs += 1
            tally.programs += 1


def _compare(
    case: Case,
    program: Any,
    graph: ws.Graph,
    given: dict[str, Any],
    limit: int | None,
    options: dict[str, Any],
    tally: Tally,
) -> None:
    outcome = reference.run(
        program, case.graph, given, max_iter=limit or LONG, message=case.frame.message
    )
    if limit is None and not outcome.converged:
        limit = SHORT
        outcome = reference.run(
            program, case.graph, given, max_iter=limit, message=case.frame.message
        )
    try:
        result = ws.run(
            program, graph, **planned(max_iter=limit, timeout=PATIENCE, **options, **given)
        )
    except ws.InputError as error:
        if REFUSED.match(str(error)):
            tally.refused_runs += 1
            return
        raise _differs(case, given, limit, options, str(error)) from error
    except ws.ProgramError:
        raise
    except Exception as error:
        raise _differs(case, given, limit, options, repr(error)) from error
    tally.comparisons += 1
    expected = shown(program, outcome.states, case.graph.n)
    if result.stopped == "timeout" or (limit is None and not result.converged):
        wrong = f"stopped by {result.stopped}"
    else:
        wrong = difference(found_by(program, result), expected, 1e-9)
        if not program.scatters:
            wrong = wrong or difference(edges_found(result), edges_shown(outcome), 1e-9)
    if wrong is not None:
        raise _differs(case, given, limit, options, wrong)


def _differs(
    case: Case, given: dict[str, Any], limit: int | None, options: dict[str, Any], what: str
) -> Difference:
    graph = case.graph
    attributes = {name: values.tolist() for name, values in graph.attributes.items()}
    return Difference(
        f"{what}\n\nmax_iter={limit}, {options}, {given}\n"
        f"{graph.n} vertices, {'' if graph.directed else 'un'}directed, edges {list(graph.edges)}, {attributes}"
        f"\n\n{case.text}"
    )


@contextmanager
def quick_loops() -> Iterator[None]:
    """Have the library's files, of which every program's plain Python is made, compiled once."""
    known: dict[str, Any] = {}

    def compile_once(source: Any, file: str, mode: str) -> Any:
        if not os.path.isabs(file):
            return compile(source, file, mode)
        if file not in known:
            known[file] = compile(source, file, mode)
        return known[file]

    with patch.object(modules, "compile", compile_once, create=True), remembering():
        yield


# --------------------------------------------------------------------------------------- by hand


def main() -> int:
    """Check many programs in many processes; print what differs, and counts."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--count", type=int, default=1000, help="programs to check")
    parser.add_argument("--seed", type=int, default=0, help="of the first case")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--compiled", action="store_true", help="on engine='cpu'")
    parser.add_argument("--engine", choices=("python", "cpu", "cuda"), default="python")
    parser.add_argument("--emulated", action="store_true", help="with --engine cuda: without a GPU")
    parser.add_argument("--members", type=int, default=1, help="programs in each class")
    parser.add_argument("--in-order", action="store_true", help="only what may run out of order")
    parser.add_argument(
        "--only", help="one form of programs: search, anything, named, scattering, …"
    )
    parser.add_argument("--limit", type=float, default=400.0, help="seconds for a case")
    parser.add_argument(
        "--seconds", type=float, default=math.inf, help="after which no program is checked"
    )
    parser.add_argument("--show", type=int, default=10, help="differences to print")
    given = parser.parse_args()
    engine = "cpu" if given.compiled and given.engine == "python" else given.engine
    os.environ.setdefault("CUGRAPH_WS_THREADS", "1")
    begun = time.perf_counter()
    cases = -(-given.count // given.members)
    jobs = [_Job(engine, given, range(job, cases, given.jobs)) for job in range(given.jobs)]
    counts: Counter[str] = Counter()
    shown_so_far = 0
    with selectors.DefaultSelector() as selector:
        for job in jobs:
            job.start(selector)
        while any(job.running for job in jobs):
            for key, _ in selector.select(1.0):
                for report in key.data.read(selector):
                    counts.update(report["counts"])
                    if "differs" in report:
                        counts["differences"] += 1
                        shown_so_far += 1
                        if shown_so_far <= given.show:
                            print(f"----- case {report['case']}\n{report['differs']}", flush=True)
            for job in jobs:
                if job.overdue(given.limit):
                    job.stop()
            if time.perf_counter() - begun > given.seconds:
                for job in jobs:
                    if job.running:
                        job.stop()
                break
    print(
        f"{counts['programs']} programs ({counts['refused_programs']} refused), "
        f"{counts['comparisons']} comparisons, {counts['refused_runs']} runs refused, "
        f"{counts['differences']} differences; engine {engine}, seed {given.seed}, "
        f"{time.perf_counter() - begun:.0f} s"
    )
    return 1 if counts["differences"] else 0


class _Job:
    """A process that goes through some cases, started again after one that it does not survive."""

    def __init__(self, engine: str, given: argparse.Namespace, cases: range) -> None:
        self.engine, self.given, self.cases = engine, given, cases
        self.next = 0
        self.begun = time.perf_counter()
        self.buffer = b""
        self.pid = 0
        self.reader = -1
        self.killed = False
        self.running = False

    def start(self, selector: selectors.BaseSelector) -> None:
        """Fork, and go on with the next case."""
        if self.next >= len(self.cases):
            self.running = False
            return
        self.reader, writer = os.pipe()
        self.running, self.killed, self.begun = True, False, time.perf_counter()
        self.pid = os.fork()
        if self.pid == 0:
            os.close(self.reader)
            try:
                self._work(writer)
            finally:
                os._exit(0)
        os.close(writer)
        selector.register(self.reader, selectors.EVENT_READ, self)

    def _case(self, seed: int) -> Case:
        return write_case(
            Choices.seeded(seed),
            members=self.given.members,
            engine=self.engine,
            in_order=self.given.in_order,
            only=self.given.only,
        )

    def _work(self, writer: int) -> None:
        with quick_loops(), emulated() if self.given.emulated else nullcontext():
            for place in self.cases[self.next :]:
                seed = self.given.seed * 1_000_003 + place
                tally, report = Tally(), {"case": seed}
                try:
                    case = self._case(seed)
                    # where every second case has long rows of out-edges alone
                    rows = (0, 2) if place % 2 else (out_edges.LONG, out_edges.VERY_LONG)
                    with (
                        patch.multiple(out_edges, LONG=rows[0], VERY_LONG=rows[1]),
                        warnings.catch_warnings(),
                    ):
                        warnings.simplefilter(
                            "ignore", ws.GraphWarning
                        )  # edges both ways are welcome
                        check(case, tally)
                except Difference as difference:
                    report["differs"] = str(difference)
                except BaseException:
                    report["differs"] = traceback.format_exc()
                report["counts"] = vars(tally)
                with os.fdopen(os.dup(writer), "w") as file:
                    file.write(json.dumps(report) + "\n")

    def read(self, selector: selectors.BaseSelector) -> Iterator[dict[str, Any]]:
        """Yield what has been reported; where the process is gone, start it again."""
        data = os.read(self.reader, 1 << 16)
        if data:
            *lines, self.buffer = (self.buffer + data).split(b"\n")
            for line in lines:
                self.next += 1
                self.begun = time.perf_counter()
                yield json.loads(line)
            return
        selector.unregister(self.reader)
        os.close(self.reader)
        _, status = os.waitpid(self.pid, 0)
        if self.next < len(self.cases):  # it died of a case
            case = self.given.seed * 1_000_003 + self.cases[self.next]
            why = "no answer in time" if self.killed else f"wait status {status}"
            text = self._case(case)
            self.next += 1
            yield {"case": case, "differs": f"{why}\n{text}", "counts": {}}
        self.buffer = b""
        self.start(selector)

    def overdue(self, limit: float) -> bool:
        """Tell whether a case takes too long."""
        return self.running and not self.killed and time.perf_counter() - self.begun > limit

    def stop(self) -> None:
        """End the process."""
        self.killed = True
        os.kill(self.pid, signal.SIGKILL)


if __name__ == "__main__":
    sys.exit(main())
