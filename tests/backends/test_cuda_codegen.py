"""The text of a program's CUDA kernels: what is fixed in it, and that it means what it says."""

from __future__ import annotations

import ast

import numpy as np
import pytest
from cuda_cases import Pairs, Shout, Steps
from emulator import Emulator, load
from emulator.source import defined_twice, top_level_names
from programs import Hops, Nearest, Paths, Peel, Rank, Reached, Widest
from shapes import SHAPES, build
from zoo_scatter import SCATTER

import cugraph_ws as ws
from cugraph_ws.backends.cuda.codegen import (
    LOOPS,
    WORKLIST_LOOPS,
    Variant,
    frontier_loops,
    interface_source,
    module_source,
)
from cugraph_ws.backends.cuda.fields_read import sent_fields
from cugraph_ws.backends.cuda.lists import ListedRows
from cugraph_ws.program.binding import bind
from cugraph_ws.runtime.generated import kernel_file

PROGRAMS = [(Hops, {"start": 0}), (Paths, {}), (Rank, {}), (Reached, {"start": 0}), (Pairs, {}),
            (Steps, {}), (Shout, {"start": 0})]  # fmt: skip
IDS = [program.name for program, _ in PROGRAMS]
VARIANTS = [Variant(), Variant(outbox=True), Variant(frontier=True), Variant(in_place=True),
            Variant(outbox=True, frontier=True, lanes=16)]  # fmt: skip


LIST_LOOPS = (*LOOPS, *ListedRows.loops)


@ws.vertex_program
class Modes:
    x: ws.int64

    def init(vertex):
        return vertex

    def compute(src):
        return src.x, 1.5

    combine = ws.mode(weighted=True)

    def apply(gathered):
        return gathered


def interface_of(program, given, variant=VARIANTS[0]):
    with build(SHAPES["clique"]) as graph:
        return interface_source(program, bind(program, graph, given).types, variant)


@pytest.mark.parametrize(("program", "given"), PROGRAMS, ids=IDS)
def test_the_same_text_for_the_same_program(program, given):
    texts = [module_source(interface_of(program, given, variant)) for variant in VARIANTS]
    assert len(set(texts)) == len(VARIANTS), "variants differ"
    assert texts[0] == module_source(interface_of(program, given))
    for text in texts:
        compile(text, "<generated>", "exec")


def check_names(text, loops):
    """All that the loops ask of the interface is defined, nothing twice; only primitives are imported."""
    tree = ast.parse(text)
    imported = {node.module for node in tree.body if isinstance(node, ast.ImportFrom)}
    assert imported <= {"__future__", "collections", "typing", "cugraph_ws.kernels.cuda.primitives"}
    assert not defined_twice(text), "modules share a namespace"
    defined = set(top_level_names(text))
    for loop in loops:
        for node in ast.parse(kernel_file("cuda", loop).read_text()).body:
            if isinstance(node, ast.ImportFrom) and (node.module or "").endswith("interface"):
                assert {alias.name for alias in node.names} <= defined, loop


@pytest.mark.parametrize(("program", "given"), PROGRAMS, ids=IDS)
def test_the_program_takes_the_interfaces_place(program, given):
    check_names(module_source(interface_of(program, given)), LOOPS)


def test_pushes_find_all_that_they_ask_for():
    interface = interface_of(Hops, {"start": 0}, Variant(frontier=True, in_place=True, swaps=True))
    check_names(module_source(interface, frontier_loops()), frontier_loops())


@pytest.mark.parametrize(("program", "given"), PROGRAMS, ids=IDS)
def test_relays_find_all_that_they_ask_for(program, given):
    interface = interface_of(program, given, Variant(frontier=True))
    check_names(module_source(interface, WORKLIST_LOOPS), WORKLIST_LOOPS)


def test_lists_find_all_that_they_ask_for():
    check_names(module_source(interface_of(Modes, {}), LIST_LOOPS), LIST_LOOPS)


@pytest.mark.parametrize(
    "loops", [frontier_loops(), WORKLIST_LOOPS, LIST_LOOPS], ids=["frontier", "worklist", "lists"]
)
def test_no_two_loops_define_the_same_name(loops):
    """They become one module, in which the last would win."""
    seen: dict[str, str] = {}
    for loop in loops:
        for node in ast.parse(kernel_file("cuda", loop).read_text()).body:
            if isinstance(node, ast.FunctionDef):
                names = [node.name]
            elif isinstance(node, ast.Assign):
                names = [one.id for target in node.targets for one in ast.walk(target)
                         if isinstance(one, ast.Name)]  # fmt: skip
            else:
                names = []
            for name in names:
                assert name == "__all__" or name not in seen, f"{name}: {seen[name]} and {loop}"
                seen[name] = loop


def test_the_interfaces_own_program_offers_the_same_names():
    """`kernels/cuda/interface.py` is what a generated interface replaces."""
    tree = ast.parse(kernel_file("cuda", "interface").read_text())
    (offered,) = (
        ast.literal_eval(node.value)
        for node in tree.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__"
    )
    made = load(interface_of(Hops, {"start": 0}, Variant(swaps=True, layout="gshards")))
    listed = load(interface_of(Modes, {}))
    entry = next(entry for entry in SCATTER if entry.program.name == "DividedFlow")
    with build(SHAPES["clique"]) as graph:
        given = entry.given(graph.number_of_vertices)
    scattering = load(interface_of(entry.program, given))
    assert [
        name for name in offered if not any(name in one for one in (made, listed, scattering))
    ] == []


@pytest.mark.parametrize("variant", VARIANTS, ids=str)
def test_constants_of_a_variant(variant):
    space = load(interface_of(Rank, {}, variant))
    assert space["OUTBOX"] is variant.outbox
    assert space["FRONTIER"] is variant.frontier
    assert space["LANES"] == variant.lanes
    assert space["TERMS"] == 1
    text = interface_of(Rank, {}, variant)
    assert ("load_fresh(" in text) is variant.in_place
    assert ("store_fresh(" in text) is variant.in_place


@ws.vertex_program
class Apart:
    """Takes its source apart without naming fields."""

    one: ws.int64
    two: ws.int64
    unread: ws.int64

    def init(vertex):
        return vertex, vertex, vertex

    def compute(src):
        one, two, _ = src
        return one + two

    combine = min

    def apply(old, gathered):
        return gathered, old.two, old.unread


def test_sent_fields_are_those_that_messages_read():
    fields = {Hops: (0,), Rank: (1,), Peel: (), Nearest: (0, 1), Widest: (0,), Apart: (0, 1, 2)}
    assert {program: sent_fields(program) for program in fields} == fields
    copied = [
        text_of(Rank, Variant()),
        text_of(Rank, Variant(outbox=True)),
        text_of(Peel, Variant()),
    ]
    assert [text.count("target[0][to]") for text in copied] == [1, 1, 0]
    assert "target[1][to]" not in copied[0]


def text_of(program, variant):
    return interface_of(program, {}, variant)


def test_changes_are_differences_unless_states_change_in_place():
    old, new = (np.array([1.0, 2.0]),), (np.array([1.0, 3.0]),)
    for in_place, told in ((False, [False, True]), (True, [True, True])):
        space = load(interface_of(Paths, {}, Variant(in_place=in_place)))
        assert [bool(space["differs"](old, new, vertex)) for vertex in range(2)] == told
    nothing_read = load(interface_of(Peel, {}))
    assert not nothing_read["differs"]((), (), 0)


def test_bools_are_bytes_in_memory_and_words_in_shuffles():
    text = interface_of(Pairs, {})
    assert "(state[2][vertex] != 0)" in text
    assert "shuffle_xor(mask, np.int32(gathered[2]), bits) != 0" in text
    assert "shared(32, np.uint8)" in text


def test_any_takes_the_greatest_of_equal_messages():
    space = load(interface_of(Reached, {"start": 0}))
    assert space["ANY"] is True
    assert space["merge"](space["nothing"](), True) is True
    assert space["merge"](True, space["nothing"]()) is True


CHECK = """
from cugraph_ws.kernels.cuda.interface import (
    add_terms, merge, no_terms, nothing, put_message, put_terms, shared_messages, shuffle_message,
    shuffle_message_down, shuffle_message_xor, shuffle_terms_xor, take_message, take_terms, terms,
)
from cugraph_ws.kernels.cuda.primitives import FULL, kernel, lane, sync_block, thread

@kernel
def combine(inbox, outbox):
    one = take_message(inbox, thread())
    bits = 16
    while bits > 0:
        one = merge(one, shuffle_message_xor(FULL, one, bits))
        bits >>= 1
    held = shared_messages()
    put_message(held, lane(), one)
    sync_block()
    one = merge(take_message(held, 31 - lane()), nothing())
    put_message(outbox, thread(), one)

@kernel
def move(inbox, down, first):
    one = take_message(inbox, thread())
    put_message(down, thread(), shuffle_message_down(FULL, one, 1))
    put_message(first, thread(), shuffle_message(FULL, one, 5))

@kernel
def add(given, array):
    sums = take_terms(given, 2 * lane())
    sums = add_terms(no_terms(), sums)
    bits = 16
    while bits > 0:
        sums = add_terms(sums, shuffle_terms_xor(FULL, sums, bits))
        bits >>= 1
    if lane() == 0:
        put_terms(array, 1, sums)
"""


def messages():
    numbers = np.arange(32)
    return (numbers + 5, (numbers / 2), (numbers % 3 == 0).view(np.uint8))


def test_lanes_combine_messages_of_several_types():
    space = load(CHECK, {"interface": load(interface_of(Pairs, {}))})
    inbox = messages()
    outbox = tuple(np.empty_like(one) for one in inbox)
    Emulator(1).launch(space["combine"], 1, 32, (inbox, outbox))
    assert outbox[0].tolist() == [5] * 32
    assert outbox[1].tolist() == [15.5] * 32
    assert outbox[2].tolist() == [11 % 2] * 32
    down, first = (tuple(np.empty_like(one) for one in outbox) for _ in range(2))
    Emulator(2).launch(space["move"], 1, 32, (inbox, down, first))
    assert down[0].tolist() == [*range(6, 37), 36]
    assert first[1].tolist() == [2.5] * 32


def test_lanes_add_up_aggregates():
    space = load(CHECK, {"interface": load(interface_of(Steps, {}))})
    given, sums = np.arange(64.0), np.zeros(4)
    Emulator(3).launch(space["add"], 1, 32, (given, sums))
    assert sums.tolist() == [0.0, given[::2].sum(), given[1::2].sum(), 0.0]


def test_programs_read_parameters_aggregates_and_the_superstep():
    space = load(interface_of(Steps, {}))
    values = space["with_sums"]((2.0,), np.array([7.0, 8.0]), 12, 3)
    assert space["Parameters"](*values)._asdict() == {
        "base": 2.0, "mass": 7.0, "empty": 8.0, "number_of_vertices": 12, "superstep": 3,
    }  # fmt: skip


def test_a_function_that_the_gpus_compiler_lacks_is_named(monkeypatch):
    from cugraph_ws.runtime import cuda_target
    from cugraph_ws.runtime.device_compiler import compile_kernel

    def lacks(*_, **__):
        raise KeyError(np.log1p)

    def superstep():
        return None

    monkeypatch.setattr(cuda_target, "_modules", lacks)
    superstep.__module__ = "cugraph_ws_cuda_Mine"
    with pytest.raises(ws.ProgramError, match=r"Mine: its kernel `superstep` cannot .*'log1p'"):
        compile_kernel(superstep, (), (9, 0))
