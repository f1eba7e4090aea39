"""Combines that have a name: what they give, what they refuse, and what they are written as."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
import zoo
from emulator.device import emulated
from plans import planned
from shapes import random_edges
from thread_ranks import over_links, share

import cugraph_ws as ws
from cugraph_ws.program.combines import Fold

RNG = np.random.default_rng(5)


def made(fold: Fold, *kinds: str) -> tuple[Callable[..., Any], Callable[..., Any], Any]:
    """Return the functions that are written for a combine, and its identity."""
    space: dict[str, Any] = {"np": np}
    lines = ["def combine(first, second):", *[f"    {one}" for one in fold.combine(kinds)]]
    lift = fold.lift(kinds) or ["return message"]
    lines += ["def lift(message):", *[f"    {one}" for one in lift]]
    exec("\n".join(lines), space)
    return space["lift"], space["combine"], fold.identity(kinds)


def folded(fold: Fold, messages: list[Any], *kinds: str) -> Any:
    lift, combine, gathered = made(fold, *kinds)
    for message in messages:
        gathered = combine(gathered, lift(message))
    return gathered


def split_anywhere(fold: Fold, messages: list[Any], expected: Any, *kinds: str) -> None:
    """Check that parts may be combined in any grouping."""
    combine = made(fold, *kinds)[1]
    for cut in range(len(messages) + 1):
        parts = [folded(fold, some, *kinds) for some in (messages[:cut], messages[cut:])]
        assert combine(*parts) == combine(*reversed(parts)) == expected


def test_histogram() -> None:
    messages = RNG.integers(0, 5, 20).tolist()
    expected = tuple(messages.count(one) for one in range(5))
    split_anywhere(ws.histogram(5), messages, expected, "int64")
    assert folded(ws.histogram(3), [], "int64") == (0, 0, 0)
    assert folded(ws.histogram(2), [True, False, True], "bool") == (1, 2)


@pytest.mark.parametrize("length", [1, 2, 3, 7, 16])
def test_top(length: int) -> None:
    for size in (0, 1, 3, 12, 40):
        messages = RNG.integers(-9, 9, size).astype(float).tolist()
        expected = tuple((sorted(messages, reverse=True) + [-math.inf] * length)[:length])
        split_anywhere(ws.top(length), messages, expected, "float64")
    least = np.iinfo(np.int64).min
    assert folded(ws.top(3), [4, 9], "int64") == (9, 4, least)


def test_bitset() -> None:
    assert folded(ws.bitset(63), [], "int64") == 0
    split_anywhere(ws.bitset(63), [0, 62, 5, 5], 1 | 1 << 62 | 1 << 5, "int64")
    expected = (1 << 62, 1, 1 << 3)
    split_anywhere(ws.bitset(130), [62, 63, 129, 63], expected, "int64")
    assert folded(ws.bitset(504), [503], "int64")[-1] == 1 << 62


def test_a_message_out_of_range_is_ignored_when_compiled() -> None:
    assert folded(ws.histogram(3), [-1, 3, 2], "int64") == (0, 0, 1)
    assert folded(ws.bitset(4), [-1, 4, 70, 2], "int64") == 4
    assert folded(ws.bitset(70), [-1, 70, 64], "int64") == (0, 2)


def test_first_by() -> None:
    messages = [(3, 1.5, 0), (2, 0.5, 7), (4, 0.5, 1), (2, 0.5, 6)]
    for some in itertools.permutations(messages):
        kinds = ("int64", "float64", "int64")
        split_anywhere(ws.first_by(1), list(some), (2, 0.5, 6), *kinds)
        split_anywhere(ws.first_by(2), list(some), (3, 1.5, 0), *kinds)
    most = np.iinfo(np.int64).max
    assert folded(ws.first_by(0), [], "int64", "bool", "float32") == (most, True, math.inf)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: ws.histogram(0), "ws.histogram: k=0"),
        (lambda: ws.histogram(33), "ws.histogram: k=33"),
        (lambda: ws.histogram(2.0), "ws.histogram: k=2.0"),
        (lambda: ws.top(33), "ws.top: k=33"),
        (lambda: ws.top(True), "ws.top: k=True"),
        (lambda: ws.bitset(505), "ws.bitset: k=505"),
        (lambda: ws.first_by(-1), "field=-1"),
        (lambda: ws.first_by(True), "field=True"),
        (lambda: ws.first_by("far"), "'far' is not among"),
        (lambda: ws.first_by("far", names=("near", "farther")), "near, farther"),
        (lambda: ws.first_by(0, names="far"), "is not a list"),
        (lambda: ws.first_by(0, names=("a", "a")), "repeats"),
        (lambda: ws.first_by(0, names=("class",)), "'class'"),
        (lambda: ws.first_by(0, names=("_a",)), "'_a'"),
        (lambda: ws.first_by(2, names=("a", "b")), "beyond the 2 names"),
    ],
)
def test_arguments_are_checked(make: Callable[[], Any], words: str) -> None:
    with pytest.raises(ws.ProgramError) as raised:
        make()
    assert words in str(raised.value)


EDGES = pd.DataFrame({"source": [0, 1, 2, 3], "destination": [3, 3, 3, 0]})


def program_of(combine: Any, **more: Any) -> Any:
    """Return a program that sends its state, of which it gathers nothing."""

    class Sender:
        x: ws.int64

        def init(vertex):
            return vertex

        def compute(src):
            return src.x

        def apply(old):
            return old.x

    Sender.combine = combine  # type: ignore[attr-defined]
    for name, value in more.items():
        setattr(Sender, name, value)
    return ws.vertex_program(Sender)


def half(src):
    return src.x / 2


def pair(src):
    return src.x, src.x


def flag(src):
    return src.x > 1


@pytest.mark.parametrize("engine", ["cpu", "python"])
@pytest.mark.parametrize(
    ("combine", "compute", "words"),
    [
        (ws.histogram(8), half, "returns a float64, but ws.histogram(8) counts integers"),
        (ws.histogram(8), pair, "returns a tuple, but ws.histogram(8)"),
        (ws.bitset(8), half, "returns a float64, but ws.bitset(8)"),
        (ws.top(8), pair, "returns a tuple, but ws.top(8)"),
        (ws.top(8), flag, "returns a flag, but ws.top(8)"),
        (ws.first_by(0), half, "returns a number, but ws.first_by(0)"),
        (ws.first_by(2), pair, "returns a tuple of 2 numbers, but ws.first_by(2)"),
        (ws.first_by("a", names=("a",)), pair, "but ws.first_by('a', names=('a',)) names 1"),
    ],
)
def test_messages_of_the_wrong_type_are_refused(
    engine: str, combine: Any, compute: Any, words: str
) -> None:
    with pytest.raises(ws.ProgramError) as raised:
        ws.run(program_of(combine, compute=compute), EDGES, engine=engine)
    assert words in str(raised.value)
    assert "Sender.compute (" in str(raised.value)


# As many bins, and one word of bits or two
RANGED = [ws.histogram(3), ws.bitset(3), ws.bitset(64)]


def too_great(combine: Any, **more: Any) -> tuple[Any, str]:
    """Return a program whose vertex 3 sends a message out of range, and the error."""
    end = combine.end

    def compute(src, p):
        return (src.x == 3 and p.superstep > 0) * end

    program = program_of(combine, compute=compute, active=always, **more)
    return program, f"returns {end}, but {combine!r} takes 0 to {end - 1}; keep it in that range"


def always():
    return True


@pytest.mark.parametrize("contributors", ["all", "active"])
@pytest.mark.parametrize("combine", RANGED)
def test_a_message_out_of_range_is_an_error(combine: Any, contributors: str) -> None:
    program, words = too_great(combine, contributors=contributors)
    directions = ("push", "pull") if contributors == "active" else ("auto",)
    for engine, partitions, direction in itertools.product(("python", "cpu"), (1, 3), directions):
        options: dict[str, Any] = {"engine": engine, "partitions": partitions}
        assert ws.run(program, EDGES, **planned(max_iter=1, **options)).iterations == 1
        with pytest.raises(ws.ProgramError) as raised:
            ws.run(program, EDGES, **planned(max_iter=3, direction=direction, **options))
        assert words in str(raised.value)
        assert "Sender.compute (" in str(raised.value)


@pytest.mark.parametrize(
    ("contributors", "options"),
    [
        ("all", {}),
        ("all", {"partitions": 2}),
        ("all", {"layout": "gshards"}),
        ("all", {"layout": "windows"}),
        ("all", {"method": "vwc-4"}),
        ("active", {"direction": "push"}),
        ("active", {"direction": "pull"}),
        ("active", {"partitions": 2}),
    ],
)
def test_a_message_out_of_range_on_an_emulated_gpu(contributors: str, options: Any) -> None:
    for combine in RANGED[::2]:
        program, words = too_great(combine, contributors=contributors)
        with emulated(seed=2):
            assert (
                ws.run(program, EDGES, **planned(engine="cuda", max_iter=1, **options)).iterations
                == 1
            )
            with pytest.raises(ws.ProgramError) as raised:
                ws.run(program, EDGES, **planned(engine="cuda", max_iter=4, **options))
        assert words in str(raised.value)


def test_a_message_out_of_range_on_one_of_several_gpus() -> None:
    """All ranks raise the error, and none waits."""
    program, words = too_great(ws.histogram(3), contributors="all")
    told: list[str] = []

    def work(comm: Any) -> None:
        with pytest.raises(ws.ProgramError) as raised:
            ws.run(program, share(graph, comm), engine="cuda", max_iter=3)
        told.append(str(raised.value))

    with emulated(seed=2):
        graph = ws.Graph(EDGES)
        over_links(2, work)
    assert len(told) == 2
    assert all(words in one for one in told)


def test_only_messages_that_are_sent_must_be_in_range() -> None:
    """Vertex 3 has no edge out of it."""
    program = program_of(ws.histogram(3), max_iter=2)
    assert ws.check(program, EDGES[:3])


def test_check_tells_of_a_message_out_of_range() -> None:
    with pytest.raises(ws.ProgramError, match="returns 3, but"):
        ws.check(program_of(ws.histogram(3), max_iter=1), EDGES)


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"identity": 0}, "ws.top(2) has its own"),
        ({"asynchronous": True}, "asynchronous needs combine = min, max or any"),
        ({"before": ws.predecessor}, "a predecessor needs combine"),
    ],
)
def test_settings_that_do_not_fit(more: dict[str, Any], words: str) -> None:
    with pytest.raises(ws.ProgramError) as raised:
        program_of(ws.top(2), **more)
    assert words in str(raised.value)


def test_a_name_that_gathered_does_not_have() -> None:
    def apply(old, gathered):
        return gathered.near

    with pytest.raises(ws.ProgramError, match=r"`gathered.near` is not declared; .* far, label"):
        program_of(ws.first_by("far", names=("far", "label")), compute=pair, apply=apply)


def test_check_finds_no_difference() -> None:
    def apply(old, gathered):
        return (old.x + gathered[0] + gathered[1]) % 5

    program = program_of(ws.histogram(5), apply=apply, init=fifth, max_iter=3)
    report = ws.check(program, EDGES)
    assert report, str(report)
    assert any("partitions" in one for one in report.configurations)


def fifth(vertex):
    return vertex % 5


def test_a_changed_combine_is_another_program(tmp_path: Any) -> None:
    """A checkpoint of one is refused by the other."""

    def apply(old, gathered):
        return old.x + gathered[0]

    def program(k: int) -> Any:
        return program_of(ws.top(k), apply=apply, contributors="active")

    path = tmp_path / "state"
    ws.run(program(2), EDGES, max_iter=1, engine="python", checkpoint=path)
    with pytest.raises(ws.InputError, match="another program"):
        ws.run(program(3), EDGES, max_iter=2, engine="python", resume=path)


@pytest.mark.parametrize("program", [zoo.TopThree, zoo.ReachedFrom, zoo.WideBits, zoo.FirstByPlace])
def test_on_an_emulated_gpu(program: Any) -> None:
    """Lanes fold messages in another order than a CPU's thread."""
    edges = random_edges(9, 40, seed=8)
    given = zoo.graph_of(edges)
    plain = ws.run(program, given, engine="python", max_iter=3)
    with emulated(seed=4):
        result = ws.run(program, given, engine="cuda", max_iter=3)
    assert zoo.found_by(program, result) == zoo.found_by(program, plain)
