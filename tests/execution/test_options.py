"""The options of a run are declared once: signatures, help and flags follow, and types agree."""

from __future__ import annotations

import dataclasses
import inspect
import pickle
import re
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import cugraph_ws as ws
from cugraph_ws.cli import main as cli
from cugraph_ws.execution.options import Options, RunOptions, declared, shows_options
from cugraph_ws.execution.run import Run
from cugraph_ws.frames.readers import read_frame

TYPES = {one.name: one.type for one in dataclasses.fields(Options)}
EDGES = pa.table({"source": [0, 1, 2], "destination": [1, 2, 3]})
FUNCTIONS = {
    name: function
    for name in ws.__all__
    if inspect.isfunction(function := getattr(ws, name))
    and "graph" in (parameters := inspect.signature(function).parameters)
    and "options" in parameters
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


def test_run_shows_every_option_with_its_default_type_and_description():
    expected = {name: (one.default, TYPES[name]) for name, one in declared().items()}
    assert keywords(ws.run) == expected
    for name, one in declared().items():
        entry = re.search(rf"^    {name} : (.*)\n((?: {{8}}.*\n)+)", ws.run.__doc__, re.MULTILINE)
        assert entry is not None, name
        assert entry[1] == one.kind.word + (", optional" if one.default is None else "")
        assert entry[2].split() == one.help.split()


def test_type_checkers_see_the_same_options_at_run():
    assert keywords(Run.__call__) == keywords(ws.run)
    own = inspect.signature(ws.run).parameters
    assert list(inspect.signature(Run.__call__).parameters)[1:] == list(own)


def test_type_checkers_see_the_same_options_at_functions():
    seen = {name: one.__forward_arg__ for name, one in RunOptions.__annotations__.items()}
    assert seen == {name: TYPES[name] for name in declared("run")}


# Functions that refuse some options, or do not need them, and say so
WITHOUT_CHECKPOINTS = {
    "articulation_points", "bridges", "edge_betweenness_centrality", "minimum_spanning_forest",
    "minimum_spanning_tree", "personalized_pagerank",
}  # fmt: skip
AT_ONCE = {"degree", "degrees", "subgraph"}


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_functions_name_the_options_that_they_take(name):
    text = inspect.getdoc(FUNCTIONS[name])
    listed = re.search(r"^\*\*options\n    (.*): see `run`([.;])", text, re.MULTILINE)
    assert listed is not None
    expected = set(declared("run"))
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


def test_a_function_without_a_docstring_can_show_options():
    def bare(graph, **parameters):
        return graph, parameters

    assert shows_options(bare) is bare
    assert bare.__doc__ is None
    assert set(declared()) < set(inspect.signature(bare).parameters)


# --- values -------------------------------------------------------------------------------------


def test_options_are_checked_when_they_are_made():
    assert Options() == Options(engine="auto", every=10)
    with pytest.raises(ws.InputError, match=r"^max_iter=-1 must be a whole number, 0 or more"):
        Options(max_iter=-1)
    with pytest.raises(ws.InputError, match=r"^priorities=None must be True or False"):
        Options(priorities=None)
    with pytest.raises(dataclasses.FrozenInstanceError):
        Options().every = 3
    with pytest.raises(ws.InputError, match="every=0 must be"):
        dataclasses.replace(Options(), every=0)


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
        ws.run(ws.BFS, EDGES, start=0, **{name: "none"})
    with pytest.raises(ws.InputError, match=message):
        ws.run(ws.WeaklyConnectedComponents(), EDGES, **{name: "none"})


def test_options_are_sorted_out_of_arguments():
    options, others = Options.taken_from({"start": 3, "every": 2, "fused": False})
    assert (options, others) == (Options(every=2, fused=False), {"start": 3})
    assert options.given() == {"fused": False, "every": 2}
    assert options.given("run") == {"every": 2}
    options, others = Options.taken_from({"every": 2, "max_iter": 5}, "run")
    assert (options.given(), others) == ({"every": 2}, {"max_iter": 5})
    assert pickle.loads(pickle.dumps(options)) == options


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
    with pytest.raises(ws.InputError, match=f"^{next(iter(given))}: .* has a loop of its own"):
        ws.run(ws.WeaklyConnectedComponents(), EDGES, **given)


@pytest.mark.parametrize(
    ("name", "value"), [("method", "ws"), ("filter", "online"), ("shard_bytes", 4096)]
)
def test_gpu_options_are_refused_on_a_cpu(name, value):
    assert name in declared("gpu")
    with pytest.raises(ws.InputError, match=rf"^{name}={value!r} is a .* of engine='cuda'"):
        ws.run(ws.BFS, EDGES, start=0, engine="cpu", **{name: value})


# --- the command line ---------------------------------------------------------------------------


def flags(command):
    """The flags of a command: its help by name."""
    parameters = cli.commands.commands[command].params
    return {one.name: one.help for one in parameters if hasattr(one, "help")}


def test_run_has_a_flag_for_every_option():
    shown = flags("run")
    for name, one in declared().items():
        assert name in shown
        if name != "progress":  # by default it is shown on terminals
            assert shown[name] == one.summary.replace("`", "")


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
    assert "timeout=0.0 must be a number, above 0" in capsys.readouterr().err
    assert run(*words, "max_iter=3") == 2
    assert "max_iter is an option of the run; give it as --max-iter" in capsys.readouterr().err
