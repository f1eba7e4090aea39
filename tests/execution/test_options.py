"""The options of a run are declared once: signatures, help and flags follow, and types agree."""

from __future__ import annotations

import dataclasses
import doctest
import inspect
import pickle
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from plans import planned

import cugraph_ws as ws
from cugraph_ws.algorithms.registry import ALGORITHMS, described
from cugraph_ws.cli import main as cli
from cugraph_ws.cli.options import summary
from cugraph_ws.execution import options
from cugraph_ws.execution.options import Choice, Options, Plan, RunOptions, declared, options_of
from cugraph_ws.frames.readers import read_frame

TYPES = {entry.name: entry.type for entry in dataclasses.fields(Options)}
EDGES = pa.table({"source": [0, 1, 2], "destination": [1, 2, 3]})
FUNCTIONS = {
    name: function
    for name in ws.__all__
    if inspect.isfunction(function := getattr(ws, name))
    and "graph" in (parameters := inspect.signature(function).parameters)
    and "options" in parameters
    and name != "run_many"  # of programs, with options of each
}
PROGRAM = '''
import cugraph_ws as ws

@ws.vertex_program
class Hops:
    """Hops from a vertex."""

    hops: ws.int64
    start: ws.vertex_parameter

    def init(vertex, p):
        return 0 if vertex == p.start else 99

    def compute(src):
        return src.hops + 1

    combine = min

    def apply(old, gathered):
        return min(old.hops, gathered)
'''


def keywords(function):
    """Keyword-only parameters of a signature but those of an edge frame: default and type by name."""
    return {
        name: (one.default, one.annotation)
        for name, one in inspect.signature(function).parameters.items()
        if one.kind is one.KEYWORD_ONLY and not name.endswith("_column") and name != "directed"
    }


# --- the declaration ----------------------------------------------------------------------------


def test_run_has_every_option_with_its_default_and_type():
    expected = {name: (option.default, TYPES[name]) for name, option in options_of(Options).items()}
    assert keywords(ws.run) == expected


@pytest.mark.parametrize("documented", [ws.run, ws.Plan])
def test_every_option_is_described(documented):
    options = options_of(Plan if documented is ws.Plan else Options)
    text = inspect.getdoc(documented)
    for name, option in options.items():
        assert described(text, name).endswith("."), name
        kind = re.search(rf"^{name} : (.*)$", text, re.MULTILINE)[1]
        assert kind.endswith(", optional") == (option.default is None), name
        if isinstance(option.kind, Choice):
            assert re.findall(r'"([^"]+)"', kind) == list(option.kind.words)


def test_the_example_of_a_plan_runs():
    outcome = doctest.testmod(options)
    assert outcome.attempted > 3
    assert not outcome.failed


def test_type_checkers_see_the_same_options_at_functions():
    seen = {name: entry.__forward_arg__ for name, entry in RunOptions.__annotations__.items()}
    assert seen == {name: TYPES[name] for name in (*declared("run"), "plan")}


# Functions that refuse some options, or do not need them, and say so
WITHOUT_CHECKPOINTS = {
    "articulation_points", "bridges", "edge_betweenness_centrality", "maximum_spanning_forest",
    "minimum_spanning_forest", "minimum_spanning_tree", "neighbor_sample", "node2vec_walks", "personalized_pagerank",
    "random_walks",
}  # fmt: skip
AT_ONCE = {"assortativity", "degree", "degrees", "density", "reciprocity", "subgraph"}


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_functions_name_the_options_that_they_take(name):
    text = inspect.getdoc(FUNCTIONS[name])
    listed = re.search(r"^\*\*options\n    (.*): see `run`([.;])", text, re.MULTILINE)
    assert listed is not None
    expected = set(declared("run"))
    if ALGORITHMS[name].program is not None:
        expected.add("plan")
    if name in WITHOUT_CHECKPOINTS:
        expected -= {"checkpoint", "every", "resume"}
        assert listed[2] == ";"
    if name in AT_ONCE:
        expected = {"engine"}
        assert listed[2] == ";"
    assert set(listed[1].split(", ")) == expected


def test_functions_on_graphs_take_options():
    assert len(FUNCTIONS) > 10
    assert {"bfs", "pagerank", "k_core"} <= set(FUNCTIONS)


# --- values -------------------------------------------------------------------------------------


def test_options_are_checked_when_they_are_made():
    assert Options() == Options(engine="auto", every=10)
    with pytest.raises(ws.InputError, match=r"^max_iter=-1 must be a whole number, 0 or more"):
        Options(max_iter=-1)
    with pytest.raises(ws.InputError, match=r"^priorities=None must be True or False"):
        Options(plan=ws.Plan(priorities=None))
    with pytest.raises(dataclasses.FrozenInstanceError):
        Options().every = 3
    with pytest.raises(ws.InputError, match="every=0 must be"):
        dataclasses.replace(Options(), every=0)
    with pytest.raises(ws.InputError, match="partitions=0 must be"):
        dataclasses.replace(Plan(), partitions=0)
    with pytest.raises(dataclasses.FrozenInstanceError):
        Plan().fused = False


def test_a_plan_shows_what_is_chosen():
    assert repr(Plan()) == "Plan()"
    assert repr(Plan(direction="push", fused=False)) == "Plan(direction='push', fused=False)"
    assert {Plan(partitions=2): 1}[Plan(partitions=2)] == 1


@pytest.mark.parametrize(
    ("name", "choices"),
    [
        ("engine", "'auto', 'cpu', 'cuda' or 'python'"),
        ("direction", "'auto', 'push', 'pull' or 'gather'"),
        ("exchange", "'auto', 'vr', 'ms' or 'all'"),
        ("filter", "'auto', 'online' or 'ballot'"),
        ("method", "'auto', 'ws', 'vwc-2', 'vwc-4', 'vwc-8', 'vwc-16' or 'vwc-32'"),
    ],
)
def test_an_unknown_word_is_refused_wherever_it_is_given(name, choices):
    message = rf"^{name}='none' is not known; choose {choices}$"
    with pytest.raises(ws.InputError, match=message):
        ws.run(ws.BFS, EDGES, **planned(start=0, **{name: "none"}))
    with pytest.raises(ws.InputError, match=message):
        ws.run(ws.WeaklyConnectedComponents(), EDGES, **planned(**{name: "none"}))


def test_options_are_sorted_out_of_arguments():
    plan = Plan(fused=False)
    options, others = Options.taken_from({"start": 3, "every": 2, "plan": plan})
    assert (options, others) == (Options(every=2, plan=plan), {"start": 3})
    assert options.chosen() == {"plan": plan, "every": 2}
    assert options.chosen("run") == {"every": 2}
    assert options.for_programs() == {"fused": False}
    options, others = Options.taken_from({"every": 2, "max_iter": 5}, "run")
    assert (options.chosen(), others) == ({"every": 2}, {"max_iter": 5})
    assert pickle.loads(pickle.dumps(options)) == options


# --- what was an argument of its own before there were plans ------------------------------------


@pytest.mark.parametrize(
    "call",
    [
        lambda **more: ws.run(ws.BFS, EDGES, start=0, **more).frame,
        lambda **more: ws.bfs(EDGES, 0, **more),
        lambda **more: ws.sssp(EDGES, 0, **more),  # decorated twice
        lambda **more: pd.DataFrame(EDGES.to_pydict()).ws.bfs(0, **more),
    ],
    ids=["run", "bfs", "sssp", "accessor"],
)
def test_earlier_names_are_taken_with_one_warning(call):
    with pytest.warns(FutureWarning) as caught:
        frame = call(direction="push", fused=False)
    assert [str(warning.message).partition(": ")[2] for warning in caught] == [
        "direction=, fused= will be refused in a later version; give plan=ws.Plan(direction='push', "
        "fused=False)"
    ]
    assert caught[0].filename == __file__
    assert frame.equals(call(plan=Plan(direction="push", fused=False)))
    with pytest.raises(ws.InputError, match=r"direction= and plan= are both given; give all in"):
        call(direction="push", plan=Plan(fused=False))
    with pytest.raises(ws.InputError, match=r"^direction='up' is not known; choose 'auto', 'push'"):
        call(direction="up")


def test_a_program_may_have_a_parameter_of_an_earlier_name():
    @ws.vertex_program
    class Filtered:
        x: ws.float64
        filter = ws.parameter(ws.float64, default=1.0)
        combine = sum
        max_iter = 1

        def init():
            return 0.0

        def compute(src):
            return src.x

        def apply(gathered, p):
            return gathered + p.filter

    assert ws.run(Filtered, EDGES, filter=3.0).frame["x"].to_pylist() == [3.0] * 4


@pytest.mark.parametrize(
    "given",
    [
        {"max_iter": 3}, {"tol": 0.5}, {"direction": "push"}, {"in_place": False},
        {"priorities": False}, {"fused": np.bool_(False)}, {"predecessors": False},
        {"partitions": 2}, {"exchange": "ms"}, {"method": "ws"}, {"filter": "online"},
        {"shard_bytes": 4096},
    ],
    ids=lambda given: next(iter(given)),
)  # fmt: skip
def test_options_of_vertex_programs_are_refused_by_other_loops(given):
    assert set(given) <= set(declared("program", "gpu"))
    # of betweenness a superstep has as many sources as suit the threads, so that `max_iter` would mean little
    for loop in (ws.WeaklyConnectedComponents(), ws.Betweenness()):
        with pytest.raises(ws.InputError, match=f"^{next(iter(given))}: .* has a loop of its own"):
            ws.run(loop, EDGES, **planned(**given))


@pytest.mark.parametrize(
    ("name", "value"), [("method", "ws"), ("filter", "online"), ("shard_bytes", 4096)]
)
def test_gpu_options_are_refused_on_a_cpu(name, value):
    assert name in declared("gpu")
    with pytest.raises(ws.InputError, match=rf"^{name}={value!r} is a .* of engine='cuda'"):
        ws.run(ws.BFS, EDGES, **planned(start=0, engine="cpu", **{name: value}))


# --- the command line ---------------------------------------------------------------------------


def flags(command):
    """The flags of a command: its help by name."""
    parameters = cli.commands.commands[command].params
    return {one.name: one.help for one in parameters if hasattr(one, "help")}


def test_run_has_a_flag_for_every_option():
    shown = flags("run")
    for name in declared():
        assert name in shown
        if name not in ("progress", "profile"):  # flags of another kind
            assert shown[name] == summary(name)
    assert shown["direction"] == "The direction of every superstep."
    assert shown["fused"].startswith(
        "Whether one call, or one launch on a GPU, may run several supersteps,"
    )


@pytest.mark.parametrize("command", ["pagerank", "weakly-connected-components", "sssp", "k-core"])
def test_all_runs_have_flags_for_what_any_run_takes(command):
    shown = flags(command)
    assert set(declared("run")) <= set(shown)
    assert shown["every"] == "Minimum number of supersteps between checkpoints."


def test_flags_are_those_of_the_run(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    pq.write_table(EDGES, "edges.parquet")
    Path("program.py").write_text(PROGRAM)

    def run(*words):
        monkeypatch.setattr("sys.argv", ["cugraph-ws", "run", "program.py:Hops", *words])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        return ended.value.code

    words = ["edges.parquet", "start=0", "--engine", "python", "-o", "hops.csv", "-q"]
    parts = ["--partitions", "2", "--exchange", "ms", "--no-fused", "--trace", "trace.csv"]
    assert run(*words, *parts, "--max-iter", "2") == 0
    assert read_frame("hops.csv")["hops"].to_pylist() == [0, 1, 2, 99]
    trace = read_frame("trace.csv")
    assert trace["partitions"].to_pylist() == [2, 2]
    assert run(*words, "--partitions", "2000") == 2
    assert "--partitions" in capsys.readouterr().err
    assert run(*words, "--timeout", "0") == 1
    assert "--timeout 0.0 must be a number, above 0" in capsys.readouterr().err
    assert run(*words, "max_iter=3") == 2
    assert "max_iter is an option of the run; give it as --max-iter" in capsys.readouterr().err
