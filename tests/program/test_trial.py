"""Trials never refuse a program and never hang; a run without an end says so."""

from __future__ import annotations

import math
import re
import subprocess
import sys
import threading
import warnings
from contextlib import nullcontext

import pandas as pd
import pytest
from emulator.device import emulated
from plans import planned
from programs import values_of
from thread_ranks import on_ranks, share
from zoo_meetings import write

import cugraph_ws as ws
import cugraph_ws.execution.driver
from cugraph_ws.program.budget import OutOfSteps, limited

SOURCE = """
def user_halve(x):
    while x % 2 == 0:
        x //= 2
    return x
"""


def halve(x):
    while x % 2 == 0:
        x //= 2
    return x


@pytest.mark.parametrize("elsewhere", [False, True], ids=["main thread", "another thread"])
def test_a_loop_without_an_end_is_stopped(elsewhere):
    function = limited(halve, SOURCE, "user_halve", 1_000)
    ends = []

    def attempt():
        try:
            ends.append(function(0))
        except OutOfSteps as error:
            ends.append(error)

    if elsewhere:
        thread = threading.Thread(target=attempt)
        thread.start()
        thread.join()
    else:
        attempt()
    assert isinstance(ends[0], OutOfSteps)
    assert function(24) == 3, "every call has its own budget"


def test_a_function_without_loops_is_called_itself():
    assert limited(math.sqrt, "def user_root(x):\n    return math.sqrt(x)", "user_root", 1) is (
        math.sqrt
    )


def steps(src, edge):
    x = src.x
    while x >= edge.k:
        x //= edge.k
    return x


@ws.vertex_program
class Digits:
    """`k` is at least 2 wherever it occurs; the loop has no end for 1."""

    x: ws.int64
    k = ws.edge(ws.int64, least=2)
    asynchronous = True

    def init(vertex):
        return vertex + 7

    compute = steps
    combine = max

    def apply(old, gathered):
        return max(old.x, gathered)


@pytest.mark.parametrize("engine", ["python", "cpu"])
def test_a_loop_that_ends_on_the_values_that_occur_is_no_hang(engine):
    frame = pd.DataFrame({"source": [0, 1, 2], "destination": [1, 2, 0], "k": [2, 3, 9]})
    result = ws.run(Digits, frame, engine=engine)
    assert values_of(result)["x"] == [7, 8, 9]


@ws.vertex_program
class Shifts:
    x: ws.int64
    max_iter = 2

    def init(vertex):
        return 1 - vertex

    def compute(src):
        return 1 << src.x

    combine = max

    def apply(old, gathered):
        return old.x + gathered


HOPS = """
import cugraph_ws as ws


@ws.vertex_program
class Hops:
    hops: ws.int64
    combine = min

    def init(vertex):
        return vertex

    def compute(src):
        return {sent}

    def apply(old, gathered):
        return min(old.hops, gathered)

    def active(old, new):
        return {active}
"""


def executed(sent, active, folder, **names):
    """Return a program whose text is executed, in a namespace with some names."""
    path = folder / "program.py"
    path.write_text(HOPS.format(sent=sent, active=active))
    exec(compile(path.read_text(), str(path), "exec"), names)
    return names["Hops"]


@pytest.mark.parametrize(
    ("sent", "active", "words"),
    [
        ("src.hops + 1", "(True, False)", r"active .*returns \(True, False\); return one number"),
        ("src.hops @ 1", "new.hops != old.hops", r"Hops\.compute, .*unsupported operand"),
    ],
)
def test_the_function_that_is_wrong_is_named(sent, active, words, tmp_path):
    program = executed(sent, active, tmp_path, __name__="elsewhere")
    with pytest.raises(ws.ProgramError, match=words):
        ws.run(program, ws.datasets.karate_club())


@pytest.mark.parametrize("engine", ["cpu", "cuda", "python"])
def test_a_namespace_without_a_name_has_programs_too(engine, tmp_path):
    """As of `exec(text, {})`: their functions belong to no module."""
    program = executed("src.hops + 1", "new.hops != old.hops", tmp_path)
    assert program.functions["apply"].__module__ is None
    named = executed("src.hops + 1", "new.hops != old.hops", tmp_path, __name__="elsewhere")
    edges = ws.datasets.karate_club()
    with emulated() if engine == "cuda" else nullcontext():
        frames = [ws.run(each, edges, engine=engine).frame for each in (program, named)]
        ws.check(program, edges, max_iter=2)
    assert frames[0].equals(frames[1])


def test_errors_of_plain_functions_name_line_and_vertices():
    frame = pd.DataFrame({"source": ["a", "b", "c"], "destination": ["b", "c", "a"]})
    line = Shifts.functions["compute"].__code__.co_firstlineno + 1
    with pytest.raises(ws.ProgramError) as caught:
        ws.run(Shifts, frame, engine="python")
    text = f"Shifts.compute, line {line} of {__file__}, between vertices 'a' and 'c': ValueError: shifts by"
    assert text in str(caught.value)
    with pytest.raises(ws.ProgramError, match=r"Shifts.compute, line .*: shifts by -1 bits"):
        ws.check(Shifts, frame)


def test_a_debugger_can_be_left_within_a_program(tmp_path):
    """A run calls functions in trials first, which know a vertex by its state."""
    script = tmp_path / "shifts.py"
    frame = 'pd.DataFrame({"source": [0, 1], "destination": [1, 0]})'
    script.write_text(
        "\n".join(
            [
                "import pandas as pd, cugraph_ws as ws",
                "@ws.vertex_program",
                "class Doubled:",
                "    x: ws.int64",
                "    combine = max",
                "    def init(vertex): return vertex",
                "    def compute(src):",
                "        return 2 * src.x",
                "    def apply(old, gathered): return gathered",
                f'ws.run(Doubled, {frame}, engine="python", max_iter=2)',
            ]
        )
    )
    commands = ["-c", f"break {script}:8", "-c", "continue", str(script)]
    left = subprocess.run(
        [sys.executable, "-m", "pdb", *commands], input="q\n", capture_output=True, text=True
    )
    assert "-> return 2 * src.x" in left.stdout
    assert "Error" not in left.stdout + left.stderr


@ws.vertex_program
class Endless:
    """Counts up for ever in a circle; floats, so that no sum wraps and messages may be pushed."""

    x: ws.float64

    def init(vertex):
        return float(vertex)

    def compute(src):
        return src.x + 1

    combine = max

    def apply(old, gathered):
        return max(old.x, gathered)


CIRCLE = pd.DataFrame({"source": [0, 1], "destination": [1, 0]})


@pytest.mark.parametrize(
    "options",
    [
        {"engine": "python"},
        {"engine": "python", "partitions": 2},
        {"engine": "cuda"},
        {"engine": "cpu", "fused": False},
        {"engine": "cpu"},
        {"engine": "cpu", "direction": "push"},
    ],
    ids=str,
)
def test_a_run_without_an_end_warns_once(options, monkeypatch):
    """Fused supersteps come back to where the warning is given."""
    monkeypatch.setattr(cugraph_ws.execution.driver, "LONG", 0.0)
    updates = []

    def stop(update):
        updates.append(update)
        return updates[-1].superstep < 4

    with emulated(), pytest.warns(ws.GraphWarning) as caught:
        result = ws.run(Endless, CIRCLE, **planned(progress=stop, **options))
    assert result.stopped == "callback"
    (warning,) = caught
    text = str(warning.message)
    assert any(f"after superstep {one.superstep:,}: " in text for one in updates if one.superstep)
    assert re.search(r"active vertices after superstep [\d,]+: \d", text)
    assert "give max_iter= or timeout=" in text


@pytest.mark.filterwarnings("error")
def test_a_run_with_a_limit_or_of_the_library_does_not_warn(monkeypatch):
    monkeypatch.setattr(cugraph_ws.execution.driver, "LONG", 0.0)
    ws.run(Endless, CIRCLE, max_iter=5, engine="python")
    ws.run(ws.BFS, CIRCLE, start=0, engine="python")


def starting(contributors):
    """Return a sum that starts nowhere."""

    class Sum:
        x: ws.int64
        max_iter = 1
        combine = sum

        def init(vertex):
            return vertex

        def starts(state):
            return state.x < 0

        def compute(src):
            return src.x

        def apply(old, gathered):
            return gathered

    if contributors is not None:
        Sum.contributors = contributors
    return ws.vertex_program(Sum)


def test_who_starts_is_not_ignored_in_silence():
    with pytest.warns(ws.GraphWarning, match="declares `starts`, but gathers from all") as caught:
        result = ws.run(starting(None), CIRCLE, engine="python")
    assert len(caught) == 1
    assert values_of(result)["x"] == [1, 0], "all vertices send"


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(("contributors", "expected"), [("all", [1, 0]), ("active", [0, 1])])
def test_a_program_that_says_who_sends_is_not_warned_of(contributors, expected):
    result = ws.run(starting(contributors), CIRCLE, engine="python")
    assert values_of(result)["x"] == expected


def telling(active, combine="min", contributors=None, apply="min(old.x, gathered)"):
    more = {} if contributors is None else {"more": f"contributors = {contributors!r}"}
    state = "x: ws.int64\ny: ws.int64" if "old.y" in apply else "x: ws.int64"
    first = "vertex, 0" if "old.y" in apply else "vertex"
    return write(
        "Told", "Who is active is told.", state, combine, init=first, compute="src.x",
        apply=apply, active=active, **more,
    )  # fmt: skip


TWICE = "min(old.x, gathered), old.y + 1"


@pytest.mark.filterwarnings("default:.*declares `active`:cugraph_ws.GraphWarning")
@pytest.mark.parametrize(
    ("given", "warned"),
    [
        ({"active": "old.x - new.x > 1"}, True),
        ({"active": "old.x - new.x > 1", "contributors": "active"}, False),
        ({"active": "old.x - new.x > 1", "contributors": "all"}, False),
        ({"active": "new.x < old.x"}, False),
        ({"active": "new.x != old.x"}, False),
        ({"active": "new.x > old.x"}, True),
        ({"active": "new.x < old.x", "apply": "gathered"}, True),
        ({"active": "new.x != old.x", "apply": "gathered"}, False),
        ({"active": "old.x != new.x", "combine": "sum", "apply": "min(gathered, 9)"}, False),
        ({"active": "new.x > old.x", "combine": "sum", "apply": "min(gathered, 9)"}, True),
        ({"active": "new.x != old.x", "apply": TWICE}, True),
        ({"active": "new.x != old.x or new.y != old.y", "apply": TWICE}, False),
        ({"active": "new.x != old.x and new.y != old.y", "apply": TWICE}, True),
        ({"active": "new.x < 1", "combine": "ws.mode()", "apply": "gathered"}, False),
    ],
    ids=str,
)
def test_nor_is_who_is_active(given, warned):
    """Without `contributors` all vertices send, whatever `active` says: it says when the run ends."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        ws.run(telling(**given), CIRCLE, engine="python", max_iter=1)
    texts = [str(one.message) for one in caught]
    assert len(texts) == warned
    for text in texts:
        assert "Told declares `active`, but gathers from all in-neighbours" in text
        assert "`active` says only when the run ends; declare contributors = 'active'" in text


@pytest.mark.parametrize(("contributors", "expected"), [(None, [0, 6]), ("active", [0, 4])])
def test_an_inactive_vertex_sends_unless_the_program_says_otherwise(contributors, expected):
    """Vertex 0 hears nothing, so that it is active in the first superstep only."""
    program = write(
        "Heard", "Counts messages.", "x: ws.int64", "sum", init="0", compute="1", apply="old.x + gathered",
        active="new.x > old.x", more=f"contributors = {contributors!r}" if contributors else "",
    )  # fmt: skip
    frame = pd.DataFrame({"source": [0, 1], "destination": [1, 1]})
    for engine in ("python", "cpu"):
        result = ws.run(program, frame, engine=engine, max_iter=3)
        assert values_of(result)["x"] == expected


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("program", [ws.BFS, ws.SSSP, ws.WidestPath, ws.PageRank], ids=repr)
def test_the_librarys_programs_say_who_sends(program):
    assert program.contributors is not None or not (
        program.all_send and "active" in program.functions
    )


@ws.vertex_program
class Reach:
    far: ws.boolean
    combine = any

    def init(vertex):
        return vertex == 0

    def compute(src):
        return src.far

    def apply(old, gathered):
        return old.far or gathered


@pytest.mark.parametrize("engine", ["python", "cpu"])
def test_a_limit_of_all_supersteps_ends_within_a_phase(engine):
    frame = pd.DataFrame({"source": range(39), "destination": range(1, 40)})
    phases = ws.phases(ws.phase(Reach, supersteps=20), rounds=1)
    result = ws.run(phases, frame, max_iter=3, engine=engine)
    assert result.iterations == 3
    assert sum(values_of(result)["far"]) == 4


@pytest.mark.parametrize("ranks", [2, 3])
def test_ranks_in_threads_try_a_program_together(ranks):
    """On arcs of all ranks, none of which waits for another one's trial."""

    @ws.vertex_program
    class Rises:
        x: ws.int64
        asynchronous = True
        combine = max

        def init(vertex):
            return vertex

        def compute(src):
            return src.x % 5  # whether it rises is not proved

        def apply(old, gathered):
            return max(old.x, gathered)

    graph = ws.Graph(CIRCLE)
    found = on_ranks(ranks, lambda comm: ws.run(Rises, share(graph, comm), engine="cpu").frame)
    assert pd.concat(found)["x"].eq(1).all()
