"""The command line: every command's result, what is shown where, exit codes and errors."""

from __future__ import annotations

import importlib
import io
import json
import os
import runpy
import signal
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import cugraph_ws as ws
from cugraph_ws.algorithms.belief_propagation import belief_propagation
from cugraph_ws.algorithms.components import weakly_connected_components
from cugraph_ws.algorithms.core import core_number, k_core
from cugraph_ws.algorithms.matching import maximal_bipartite_matching
from cugraph_ws.cli import info as cli_info
from cugraph_ws.cli import main as cli
from cugraph_ws.cli import options as cli_options
from cugraph_ws.frames.readers import read_frame
from cugraph_ws.runtime import driver

EDGES = pa.table(
    {
        "source": ["a", "a", "b", "c", "d"],
        "destination": ["b", "c", "d", "d", "e"],
        "w": [0.25, 0.5, 0.125, 0.25, 0.75],
    }
)
VERTICES = pa.table(
    {
        "vertex": list("abcdef"),
        "first": [1.0, 0.0, 0.0, 0.0, 0.5, 0.0],
        "left": [True, False, False, True, False, False],
        "p0": [0.9, 0.5, 0.5, 0.5, 0.5, 0.2],
        "p1": [0.1, 0.5, 0.5, 0.5, 0.5, 0.8],
        "team": [0, 0, 1, 1, 1, 2],
    }
)

PROGRAM = '''
import math
import cugraph_ws as ws

@ws.vertex_program
class Hops:
    """Hops from a vertex, with a few declarations to be given."""

    hops: ws.float64
    source: ws.vertex_parameter
    step: ws.parameter(ws.float64, default=1.0)
    bonus: ws.vertex_value(ws.float64, default=0.0)
    closed: ws.optional_vertex_set
    w: ws.edge(ws.float64, default=0.0)

    def init(vertex, p):
        return 0.0 if vertex == p.source else math.inf

    def compute(src, edge, p):
        return src.hops + p.step + edge.w

    combine = min

    def apply(old, gathered):
        return old.hops if old.closed else min(old.hops, gathered + old.bonus)

    def active(old, new):
        return new.hops < old.hops

number = 3
'''
COUNTED = """
import cugraph_ws as ws

@ws.vertex_program
class Counted:
    x: ws.int64
    passed = ws.edge_state(ws.int64)
    combine = sum
    max_iter = 2

    def init(vertex):
        return 1

    def compute(src, edge):
        return edge.passed

    def update_edge(edge):
        return edge.passed + 1

    def apply(gathered):
        return gathered
"""


class Terminal(io.StringIO):
    """A text stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


SWITCH = """
import cugraph_ws as ws


@ws.vertex_program
class Switch:
    x: ws.float64
    on = ws.parameter(ws.boolean, default=False)

    def init(p):
        return 1.0 if p.on else 0.0

    def compute(src):
        return src.x

    combine = max

    def apply(old, gathered):
        return max(old.x, gathered)
"""


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """Work in a folder with the files that the tests name."""
    monkeypatch.chdir(tmp_path)
    pq.write_table(EDGES, "edges.parquet")
    pq.write_table(VERTICES, "vertices.parquet")
    Path("program.py").write_text(PROGRAM)
    return tmp_path


def run(*words: str) -> int:
    return cli._exit_code(words)


def result(*words: str) -> pa.Table:
    """Run a command with an output, and return what it wrote."""
    assert run(*words, "-o", "result.parquet") == 0
    return pq.read_table("result.parquet")


# --- every function -------------------------------------------------------------------------

FIRST = VERTICES.select(["vertex", "first"])
PRIORS = VERTICES.select(["vertex", "p0", "p1"])
PAIRS = pa.table({"first": ["a", "b"], "second": ["d", "c"]})


def the_graph(**arguments) -> ws.Graph:
    return ws.Graph(EDGES, vertices=VERTICES, **arguments)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("bfs --start a", lambda: ws.bfs(the_graph(), "a")),
        ("bfs --start b --start c", lambda: ws.bfs(the_graph(), ["b", "c"])),
        ("bfs --start-file starts.txt", lambda: ws.bfs(the_graph(), ["b", "c"])),
        (
            "bfs --start b --start c --each",
            lambda: ws.multi_source_bfs(the_graph(), ["b", "c"]),
        ),
        ("bfs --start a --to d", lambda: ws.shortest_path(ws.bfs(the_graph(), "a"), ["d"])),
        ("bfs --start a --depth-limit 1", lambda: ws.bfs(the_graph(), "a", 1)),
        ("bfs --start e --undirected", lambda: ws.bfs(the_graph(directed=False), "e")),
        ("sssp --start a --weight w", lambda: ws.sssp(the_graph(weight="w"), "a")),
        ("sssp --start a --cutoff 1", lambda: ws.sssp(the_graph(), "a", cutoff=1)),
        ("widest-path --start a --weight w", lambda: ws.widest_path(the_graph(weight="w"), "a")),
        ("pagerank", lambda: ws.pagerank(the_graph())),
        (
            "pagerank --alpha 0.5 --tol 1e-9 --max-iter 50 --weight w --personalization first",
            lambda: ws.pagerank(the_graph(weight="w"), 0.5, "first", tol=1e-9, max_iter=50),
        ),
        (
            "pagerank --nstart-file first.csv --dangling-file first.csv --extrapolate never",
            lambda: ws.pagerank(
                the_graph(), nstart=FIRST, dangling=FIRST, plan=ws.Plan(extrapolate="never")
            ),
        ),
        ("weakly-connected-components", lambda: weakly_connected_components(the_graph())),
        ("wcc", lambda: weakly_connected_components(the_graph())),
        ("core-number --degree-type in", lambda: core_number(the_graph(), degree_type="in")),
        ("label-propagation --max-iter 2", lambda: ws.label_propagation(the_graph(), 2)),
        (
            "leiden --undirected --hierarchy",
            lambda: ws.leiden(the_graph(directed=False), hierarchy=True)[0],
        ),
        (
            "louvain --hierarchy --seed 3 --resolution 0.5 --max-level 9 --threshold 0.01",
            lambda: ws.louvain(
                the_graph(), 9, threshold=0.01, resolution=0.5, hierarchy=True, seed=3
            )[0],
        ),
        (
            "leiden --initial teams.parquet",
            lambda: ws.leiden(the_graph(), initial="team")[0],
        ),
        (
            "louvain --initial teams.parquet --max-level 1",
            lambda: ws.louvain(the_graph(), 1, initial="team")[0],
        ),
        (
            "conductance --communities team",
            lambda: ws.conductance(the_graph(), "team"),
        ),
        (
            "modularity --communities-file teams.parquet --resolution 2",
            lambda: pa.table({"modularity": [ws.modularity(the_graph(), "team", 2.0)]}),
        ),
        ("k-core -k 2", lambda: k_core(the_graph(), 2)),
        ("k-core --undirected", lambda: k_core(the_graph(directed=False))),
        ("triangle-count", lambda: ws.triangle_count(the_graph())),
        ("clustering-coefficient", lambda: ws.clustering_coefficient(the_graph())),
        ("truss-number", lambda: ws.truss_number(the_graph())),
        ("k-truss -k 3 --weight w", lambda: ws.k_truss(the_graph(weight="w"), 3)),
        ("jaccard", lambda: ws.jaccard(the_graph())),
        (
            "overlap --top 1 --at-least 0.5",
            lambda: ws.overlap(the_graph(), top=1, at_least=0.5),
        ),
        (
            "cosine --edges --use-weight --weight w",
            lambda: ws.cosine(the_graph(weight="w"), "edges", use_weight=True),
        ),
        ("adamic-adar --pairs pairs.csv", lambda: ws.adamic_adar(the_graph(), PAIRS)),
        (
            "heat --weight w --temperature first --fixed a",
            lambda: ws.heat(the_graph(weight="w"), "first", ["a"]),
        ),
        (
            "heat --weight w --temperature-file first.csv --fixed-file starts.txt --fixed a",
            lambda: ws.heat(the_graph(weight="w"), FIRST, ["a", "b", "c"]),
        ),
        (
            "circuit --weight w --undirected --sources-file first.csv",
            lambda: ws.circuit(the_graph(weight="w", directed=False), FIRST),
        ),
        (
            "neural-network --weight w --activation 0.5 --fixed a",
            lambda: ws.neural_network(the_graph(weight="w"), 0.5, ["a"]),
        ),
        (
            "belief-propagation --undirected --priors p0 --priors p1 --coupling 2,1;1,2",
            lambda: belief_propagation(the_graph(directed=False), ["p0", "p1"], [[2, 1], [1, 2]]),
        ),
        (
            "belief-propagation --priors-file priors.parquet --coupling w --damping 0.5",
            lambda: belief_propagation(the_graph(attributes=["w"]), PRIORS, "w", 0.5),
        ),
        (
            "maximal-bipartite-matching --left a --left d --seed 1",
            lambda: maximal_bipartite_matching(the_graph(), ["a", "d"], seed=1),
        ),
        (
            "maximal-bipartite-matching --left-column left",
            lambda: maximal_bipartite_matching(the_graph(), "left"),
        ),
        ("bfs --start a --duplicates first --self-loops drop", lambda: ws.bfs(the_graph(), "a")),
        ("pagerank --engine python", lambda: ws.pagerank(the_graph(), engine="python")),
    ],
)
def test_commands_give_what_the_functions_give(words, expected):
    Path("starts.txt").write_text("b\nc\n")
    Path("first.csv").write_text("vertex,first\na,1\nb,0\nc,0\nd,0\ne,.5\nf,0\n")
    Path("pairs.csv").write_text("first,second\na,d\nb,c\n")
    pq.write_table(PRIORS, "priors.parquet")
    pq.write_table(VERTICES.select(["vertex", "team"]), "teams.parquet")
    command, *rest = words.split()
    found = result(command, "edges.parquet", "--vertices", "vertices.parquet", *rest)
    assert found.equals(expected())


def test_ids_in_a_file_are_its_first_column_unless_one_is_named_as_ids_are():
    expected = ws.bfs(EDGES, ["b", "c"])
    for text in ("town,vertex\nx,b\ny,c\n", "town,no\nb,x\nc,y\n", "no,source\n1,b\n2,c\n"):
        Path("starts.csv").write_text(text)
        assert result("bfs", "edges.parquet", "--start-file", "starts.csv").equals(expected)


# --- ids ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "start"),
    [
        (pa.array([7, -3], pa.int32()), "-3"),
        (pa.array([2**63 + 1, 5], pa.uint64()), str(2**63 + 1)),
        (pa.array(["x y", "z"]), "x y"),
        (pa.array(["u", "v"]).dictionary_encode(), "v"),
        (pa.array([0, 86_400_000_000], pa.timestamp("us")), "1970-01-02 00:00:00"),
    ],
)
def test_start_vertices_are_read_in_the_type_of_the_ids(values, start):
    pq.write_table(pa.table({"s": values, "d": values[::-1]}), "ids.parquet")
    names = ("--source", "s", "--destination", "d")
    found = result("bfs", "ids.parquet", *names, f"--start={start}")
    assert sorted(found["distance"].to_pylist()) == [0, 1]


def test_ids_of_several_columns():
    table = pa.table({"city": ["x", "x"], "no": [1, 2], "city2": ["x", "y,z"], "no2": [2, 1]})
    pq.write_table(table, "two.parquet")
    names = ["--source", "city", "--source", "no", "--destination", "city2", "--destination", "no2"]
    found = result("bfs", "two.parquet", *names, "--start", "x,2")
    assert found.column_names == ["city", "no", "distance", "predecessor_city", "predecessor_no"]
    assert found["distance"].to_pylist() == [None, 0, 1]
    Path("starts.csv").write_text('city,no\nx,1\n"y,z",1\n')
    found = result("bfs", "two.parquet", *names, "--start-file", "starts.csv")
    assert found["distance"].to_pylist() == [0, 1, 0]
    found = result("bfs", "two.parquet", *names, "--start", '"y,z",1')
    assert found["distance"].to_pylist() == [None, None, 0]


def test_a_file_of_ids_that_cannot_be(capsys):
    Path("e.txt").write_text("1 2\n2 3\n")
    Path("names.txt").write_text("ann\n")
    assert run("bfs", "e.txt", "--start-file", "names.txt") == 1
    assert "names.txt are not of the edges" in capsys.readouterr().err
    pq.write_table(pa.table({"a": [1], "b": [2], "c": [2], "d": [3]}), "two.parquet")
    names = ["--source", "a", "--source", "b", "--destination", "c", "--destination", "d"]
    assert run("bfs", "two.parquet", *names, "--start-file", "names.txt") == 1
    assert "names.txt lacks columns a, b" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--start", "x"], "--start: 'x' is not of the type of the vertex ids, int64"),
        (["--start", "9"], "9"),
        (["--source", "destination", "--source", "source", "--destination", "source",
          "--destination", "destination", "--start", "1"], "'1' has 1 parts, but an id has 2"),
    ],
)  # fmt: skip
def test_start_vertices_that_cannot_be(words, message, capsys):
    Path("e.txt").write_text("1 2\n2 3\n")
    assert run("bfs", "e.txt", *words) == 1
    assert message in capsys.readouterr().err


# --- what is shown --------------------------------------------------------------------------


def test_top_rows_are_shown_between_tabs_in_a_pipe(capsys):
    assert run("bfs", "edges.parquet", "--start", "b", "--rows", "4") == 0
    out, err = capsys.readouterr()
    assert out.splitlines() == [
        "vertex\tdistance\tpredecessor",
        "a\tnull\tnull",
        "b\t0\tnull",
        "c\tnull\tnull",
        "d\t1\tb",
    ]
    assert err == "", "quiet in a pipe"


def test_options_of_other_libraries_lead_to_ours(capsys):
    assert run("pagerank", "edges.parquet", "--damping", "0.9") == 2
    assert "No such option '--damping'. Did you mean '--alpha'?" in capsys.readouterr().err
    assert run("wcc", "edges.parquet", "--damping", "0.9") == 2
    assert "--alpha" not in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "remedy"),
    [
        (["shortest-path"], "'shortest-path'; bfs and sssp find paths: give --start ID --to ID"),
        (["connected_components"], "did you mean weakly-connected-components?"),
        (["xyz"], "No such command 'xyz'; cugraph-ws --help lists them"),
        (["bfs", "edges.parquet", "a"], "argument (a): vertices, columns and the output are opt"),
        (["bfs", "edges.parquet", "--source", "a"], "--start-file; --source is a column of the"),
    ],
)
def test_a_wrong_command_line_has_the_remedy(words, remedy, capsys):
    assert run(*words) == 2
    assert remedy in capsys.readouterr().err


def test_ranks_are_shown_from_the_greatest(capsys):
    assert run("core-number", "edges.parquet", "--rows", "10") == 0
    rows = [line.split("\t") for line in capsys.readouterr().out.splitlines()[1:]]
    assert rows == [["a", "2"], ["b", "2"], ["c", "2"], ["d", "2"], ["e", "1"]]


def test_on_a_terminal_there_are_a_table_a_bar_and_a_summary(monkeypatch):
    out, err = Terminal(), Terminal()
    monkeypatch.setattr(sys, "stdout", out)
    monkeypatch.setattr(sys, "stderr", err)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "100")
    assert run("pagerank", "edges.parquet", "--rows", "2") == 0
    assert "──" in out.getvalue()
    assert "pagerank" in out.getvalue()
    assert "and 3 more rows" in err.getvalue()
    assert "5 vertices, 5 edges" in err.getvalue()
    assert "residual" in err.getvalue()
    assert run("bfs", "edges.parquet", "--start", "a", "-o", "r.csv") == 0
    assert "5 rows in r.csv" in err.getvalue()


@pytest.mark.parametrize("words", [["-q"], ["--no-progress", "-q"]])
def test_quiet_on_a_terminal(words, monkeypatch):
    err = Terminal()
    monkeypatch.setattr(sys, "stderr", err)
    assert run("wcc", "edges.parquet", "--rows", "1", *words) == 0
    assert err.getvalue() == ""


def test_progress_can_be_had_in_a_pipe(capsys):
    assert run("pagerank", "edges.parquet", "--progress", "-o", "r.csv") == 0
    assert "superstep" in capsys.readouterr().err


def test_outputs_of_every_kind():
    for name in ("r.parquet", "r.csv", "r.tsv", "r.csv.gz"):
        assert run("wcc", "edges.parquet", "-o", name) == 0
        assert read_frame(name)["labels"].to_pylist() == ["a"] * 5


def test_trace_checkpoint_and_resume():
    words = ("pagerank", "edges.parquet", "--tol", "1e-12")
    whole = result(*words, "--trace", "trace.csv")
    trace = read_frame("trace.csv")
    assert {"superstep", "direction", "active", "edges", "residual"} <= set(trace.column_names)
    stop = ("--max-iter", "3", "--checkpoint", "state", "--every", "1")
    assert run(*words, *stop) == 1
    assert result(*words, "--resume", "state").equals(whole)
    assert result(*words, *stop, "--partial").num_rows == 5


def test_profiles_of_runs_and_of_functions():
    table = result(
        "bfs",
        "edges.parquet",
        "--start",
        "a",
        "--trace",
        "trace.csv",
        "--profile",
        "profile.parquet",
    )
    profile = read_frame("profile.parquet")
    assert profile["superstep"].to_pylist() == read_frame("trace.csv")["superstep"].to_pylist()
    assert table.num_rows == 5
    assert run("k-core", "edges.parquet", "--profile", "core.csv") == 0
    assert set(read_frame("core.csv")["program"].to_pylist()) == {"core_number"}


# --- programs of one's own ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "hops"),
    [
        (["source=a"], [0.0, 1.25, 1.5, 2.375, 4.125]),
        (["source=a", "step=2"], [0.0, 2.25, 2.5, 4.375, 7.125]),
        (["source=a", "closed=b,c"], [0.0, None, None, None, None]),
        (["source=a", "closed=@starts.txt"], [0.0, None, None, None, None]),
        (["source=a", "bonus=0.5"], [0.0, 1.75, 2.0, 3.375, 5.625]),
        (["source=a", "bonus=@first.csv"], [0.0, 1.25, 1.5, 2.375, 4.625]),
        (["source=a", "--max-iter", "1", "--direction", "gather"], [0.0, 1.25, 1.5, None, None]),
        (["source=a", "--engine", "python"], [0.0, 1.25, 1.5, 2.375, 4.125]),
    ],
)
def test_run_a_program(words, hops):
    Path("starts.txt").write_text("b\nc\n")
    Path("first.csv").write_text("vertex,first\ne,.5\n")
    found = result("run", "program.py:Hops", "edges.parquet", *words)
    finite = [None if value == float("inf") else value for value in found["hops"].to_pylist()]
    assert finite == hops


def test_a_program_that_declares_its_supersteps_is_done_after_them():
    text = Path("program.py").read_text()
    Path("limited.py").write_text(
        text.replace("    hops: ws.float64", "    max_iter = 1\n    hops: ws.float64", 1)
    )
    found = result("run", "limited.py:Hops", "edges.parquet", "source=a")
    assert found["hops"].to_pylist() == [0.0, 1.25, 1.5, float("inf"), float("inf")]
    assert run("run", "program.py:Hops", "edges.parquet", "source=a", "--timeout", "1e-9") == 1


def test_run_with_a_column_of_the_vertices():
    words = ("run", "program.py:Hops", "edges.parquet", "source=a", "bonus=first")
    found = result(*words, "--vertices", "vertices.parquet")
    assert found["hops"].to_pylist()[4] == 4.625


def test_run_with_sets_of_ids_of_several_columns():
    pq.write_table(pa.table({"x": [1, 1], "y": [1, 2], "u": [1, 1], "v": [2, 3]}), "two.parquet")
    names = ["--source", "x", "--source", "y", "--destination", "u", "--destination", "v"]
    words = ("run", "program.py:Hops", "two.parquet", *names, "source=1,1", "closed=1,3;1,1")
    assert result(*words)["hops"].to_pylist() == [0.0, 1.0, float("inf")]


@pytest.mark.parametrize(
    ("program", "words", "code", "message"),
    [
        ("program.py", [], 1, "is not a program; write it as path/to/file.py:Program"),
        ("program.txt:Hops", [], 1, "is not a program"),
        ("absent.py:Hops", [], 1, "absent.py: there is no such file"),
        (f"{300 * 'a'}.py:Hops", [], 1, "a.py: there is no such file"),
        ("program.py:Walk", [], 1, "has no vertex program 'Walk'; it has: Hops"),
        ("program.py:number", [], 1, "has no vertex program 'number'; it has: Hops"),
        ("empty.py:Hops", [], 1, "has no vertex program 'Hops'; it has: none"),
        ("broken.py:Hops", [], 1, "cannot be imported: ZeroDivisionError: division by zero"),
        ("exits.py:Hops", [], 1, "cannot be imported: SystemExit: 3"),
        ("wrong.py:Hops", [], 1, "declares no state"),
        ("program.py:Hops", ["source"], 2, "'source' is not a parameter; write it as NAME=VALUE"),
        ("program.py:Hops", ["source=a", "source=b"], 2, "source is given twice"),
        ("program.py:Hops", ["source=z"], 1, "z"),
        ("program.py:Hops", ["source=a", "speed=3"], 1, "speed"),
        ("program.py:Hops", ["source=a", "step=fast"], 1, "step='fast' is not a number"),
        ("program.py:Hops", ["source=a", "bonus=@absent.csv"], 1, "absent.csv: there is no such"),
    ],
)
def test_programs_that_cannot_run(program, words, code, message, capsys):
    Path("empty.py").write_text("")
    Path("broken.py").write_text("1 / 0\n")
    Path("exits.py").write_text("raise SystemExit(3)\n")
    Path("wrong.py").write_text(
        "import cugraph_ws as ws\n@ws.vertex_program\nclass Hops:\n    pass\n"
    )
    before = list(sys.path)
    assert run("run", program, "edges.parquet", *words) == code
    err = capsys.readouterr().err
    assert message in err
    assert "Traceback" not in err
    assert sys.path == before


def test_the_state_of_edges_is_written(capsys):
    words = ("run", "counted.py:Counted", "edges.parquet", "--engine", "python", "--max-iter", "2")
    Path("counted.py").write_text(COUNTED)
    for name in ("state.parquet", "state.csv"):
        assert run(*words, "-o", "r.csv", "--edge-output", name) == 0
        found = read_frame(name)
        assert found.column_names == ["source", "destination", "passed"]
        assert found["passed"].to_pylist() == [2] * EDGES.num_rows
    assert run(*words, "--edge-output", "state.txt") == 1
    assert "state.txt" in capsys.readouterr().err
    plain = ("run", "program.py:Hops", "edges.parquet", "source=a", "--edge-output", "s.csv")
    assert run(*plain) == 1
    assert "--edge-output s.csv: the program keeps no state on edges" in capsys.readouterr().err
    assert not Path("s.csv").exists()


def test_run_phases(capsys):
    example = Path(__file__).parents[2] / "examples" / "phases.py"
    words = ("run", f"{example}:Dependencies", "edges.parquet")
    found = result(*words, "start=a", "--engine", "python", "--trace", "trace.csv")
    assert found.column_names == ["vertex", "level", "paths", "dependency"]
    assert set(read_frame("trace.csv")["phase"].to_pylist()) == {"Forward", "Backward"}
    assert run(*words, "begin=a") == 1
    assert "has no parameter 'begin'; its programs have: start" in capsys.readouterr().err


def test_a_program_may_import_its_neighbours_and_replaces_no_module():
    Path("helpers.py").write_text("STEP = 1.0\n")
    Path("json.py").write_text("from helpers import STEP\n" + PROGRAM)
    assert result("run", "json.py:Hops", "edges.parquet", "source=a").num_rows == 5
    assert sys.modules["json"] is json
    sys.modules.pop("helpers")


@pytest.mark.parametrize(("text", "seen"), [("true", 1.0), ("False", 0.0), (None, 0.0)])
def test_a_parameter_that_is_true_or_false(text, seen, folder):
    Path("switch.py").write_text(SWITCH)
    words = [] if text is None else [f"on={text}"]
    found = result("run", "switch.py:Switch", "edges.parquet", *words, "--engine", "python")
    assert set(found["x"].to_pylist()) == {seen}


# --- errors and exit codes ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["bfs", "absent.parquet", "--start", "a"], "absent.parquet: there is no such file"),
        (["bfs", "edges.parquet", "--start", "a", "--source", "src"], "src"),
        (["pagerank", "edges.parquet", "--weight", "cost"], "cost"),
        (["pagerank", "edges.parquet", "-o", "r.xlsx"], "r.xlsx: the suffix is not a known format"),
        (["pagerank", "edges.parquet", "-o", "no/r.csv"], "there is no folder"),
        (["pagerank", "edges.parquet", "-o", f"{300 * 'r'}.csv"], "cannot be written (File name too long)"),
        (["pagerank", "edges.parquet", "--profile", f"{300 * 'r'}.csv"], "cannot be written (File name too long)"),
        (["pagerank", "edges.parquet", "--resume", 300 * "r"], "--resume 'rrr"),
        (["pagerank", 300 * "r", "-o", "r.csv"], "cannot be read (File name too long); check the path"),
        (["pagerank", "edges.parquet", "-o", "edges.parquet"], "would be replaced"),
        (["pagerank", "edges.parquet", "--checkpoint", "./edges.parquet"], "would be replaced"),
        (["pagerank", "edges.parquet", "--trace", "t"], "the suffix is not a known format"),
        (["pagerank", "edges.parquet", "--checkpoint", "no/state"], "there is no folder"),
        (["pagerank", "edges.parquet", "--resume", "absent"], "absent"),
        (["pagerank", "edges.parquet", "--max-iter", "1"],
         "PageRank was stopped by max_iter after 1 supersteps, residual"),
        (["wcc", "edges.parquet", "--timeout", "1e-9"],
         "weakly_connected_components was stopped by timeout after 0 supersteps; raise"),
        (["pagerank", "edges.parquet", "--alpha", "2"], "alpha"),
        (["pagerank", "edges.parquet", "--duplicates", "error", "--timeout", "-1"], "timeout"),
        (["heat", "edges.parquet", "--weight", "w", "--temperature", "warmth"], "warmth"),
        (["generate", "rmat", "-o", "r.csv"], "give one of them, scale"),
        (["generate", "grid", "2", "4", "--drop", "2", "-o", "r.csv"], "drop is 2"),
        (["generate", "rmat", "3", "-o", "no/r.csv"], "there is no folder"),
    ],
)  # fmt: skip
def test_errors_are_one_line(words, message, capsys, folder):
    before = sorted(os.listdir(folder))
    assert run(*words) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert message in err
    assert err.startswith("cugraph-ws: ")
    assert err.count("\n") == 1
    assert sorted(os.listdir(folder)) == before, "nothing half-written is left"


def test_outputs_are_checked_before_inputs_are_read(capsys):
    assert run("pagerank", "absent.parquet", "-o", "no/r.csv") == 1
    assert "there is no folder" in capsys.readouterr().err
    assert run("run", "absent.py:P", "absent.parquet", "-o", "no/r.csv") == 1
    assert "there is no folder" in capsys.readouterr().err


@pytest.mark.parametrize(
    "words",
    [
        ["nonsense"],
        ["bfs"],
        ["bfs", "edges.parquet"],
        ["bfs", "edges.parquet", "--start", "a", "--rows", "-1"],
        ["bfs", "edges.parquet", "--start", "a", "--engine", "gpu"],
        ["pagerank", "edges.parquet", "--nstart", "1", "--nstart-file", "vertices.parquet"],
        ["heat", "edges.parquet"],
        ["k-core", "edges.parquet", "--trace", "t.csv"],
        ["k-truss", "edges.parquet", "-k", "3", "--trace", "t.csv"],
        ["jaccard", "edges.parquet", "--edges", "--pairs", "edges.parquet"],
        ["jaccard", "edges.parquet", "--edges", "--top", "1"],
        ["belief-propagation", "edges.parquet", "--coupling", "1"],
        ["maximal-bipartite-matching", "edges.parquet"],
        ["maximal-bipartite-matching", "edges.parquet", "--left", "a", "--left-column", "left"],
        ["generate", "rmat", "3"],
        ["generate", "rmat", "3", "-o", "r.csv", "--weights", "1", "x"],
    ],
)
def test_a_wrong_command_line_ends_with_2(words, capsys):
    assert run(*words) == 2
    assert "Error: " in capsys.readouterr().err


def test_debug_shows_the_traceback(capsys):
    for words in (
        ["--debug", "bfs", "x.csv", "--start", "a"],
        ["bfs", "x.csv", "--debug", "--start=a"],
    ):
        assert run(*words) == 1
        err = capsys.readouterr().err
        assert "Traceback" in err
        assert err.splitlines()[-1].startswith("cugraph-ws: x.csv: there is no such file")


def test_an_error_of_our_own_making_is_said_in_one_line_too(monkeypatch, capsys):
    def fail(self):
        raise ZeroDivisionError("of all\nthings")

    monkeypatch.setattr(cli_options.Job, "check_outputs", fail)
    assert run("wcc", "edges.parquet") == 1
    assert capsys.readouterr().err == (
        "cugraph-ws: internal error: ZeroDivisionError: of all things (--debug shows where)\n"
    )


def test_help_and_version_end_with_0(capsys):
    assert run("--help") == 0
    shown = capsys.readouterr().out
    assert "pagerank" in shown
    assert "\n  Exit codes: 0 success" in shown  # a paragraph of its own, whose lines stay
    assert "\\" not in shown
    assert run("--version") == 0
    assert ws.__version__ in capsys.readouterr().out
    for name in cli.commands.commands:
        assert run(name, "--help") == 0
        assert "Usage: cugraph-ws" in capsys.readouterr().out


def test_main_ends_the_process(monkeypatch, capsys):
    with pytest.raises(SystemExit) as ended:
        cli.main(["nonsense"])
    assert ended.value.code == 2
    monkeypatch.setattr(sys, "argv", ["cugraph-ws", "info"])
    with pytest.raises(SystemExit) as ended:
        runpy.run_path(cli.__file__, run_name="__main__")
    assert ended.value.code == 0


def interrupt_after(monkeypatch, supersteps: int) -> None:
    """Let Ctrl-C come after so many supersteps."""
    from cugraph_ws.execution.progress import Reporter

    class Interrupting(Reporter):
        def update(self, update):
            if update.superstep >= supersteps:
                raise KeyboardInterrupt
            return True

    module = importlib.import_module(
        "cugraph_ws.execution.driver"
    )  # as an attribute it is the function
    monkeypatch.setattr(module, "reporter", lambda progress, name: Interrupting())


def test_an_interrupt_ends_with_130_and_leaves_a_checkpoint(monkeypatch, capsys):
    whole = result("pagerank", "edges.parquet")
    words = ("pagerank", "edges.parquet", "-o", "r.parquet", "--checkpoint", "state")
    with monkeypatch.context() as patch:
        interrupt_after(patch, 2)
        assert run(*words) == 130
        err = capsys.readouterr().err
        assert err.strip() == "cugraph-ws: PageRank was interrupted after 2 supersteps"
        assert not Path("r.parquet").exists()
        assert run(*words, "--partial") == 130
        assert pq.read_table("r.parquet").num_rows == 5
    assert result("pagerank", "edges.parquet", "--resume", "state").equals(whole)


def test_an_interrupt_before_the_run(monkeypatch, capsys):
    def interrupted(self):
        raise KeyboardInterrupt

    monkeypatch.setattr(cli_options.Job, "check_outputs", interrupted)
    assert run("wcc", "edges.parquet") == 130
    assert capsys.readouterr().err.strip() == "cugraph-ws: interrupted"


# --- generate and info ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("rmat 5 --seed 3", lambda g: g.rmat(5, seed=3)),
        ("rmat --vertices 9 --edges 7 -a 0.4 -b 0.3 -c 0.2 --weights 1 5",
         lambda g: g.rmat(vertices=9, edges=7, a=0.4, b=0.3, c=0.2, weights=(1, 5))),
        ("rmat 3 --edge-factor 2 --weights 1 2.5",
         lambda g: g.rmat(3, 2, weights=(1.0, 2.5))),
        ("kronecker 4", lambda g: g.kronecker(4)),
        ("kronecker 4 --no-permute --weights 1 9",
         lambda g: g.kronecker(4, permute=False, weights=(1, 9))),
        ("erdos-renyi 20 --edges 30 --undirected",
         lambda g: g.erdos_renyi(20, 30, directed=False)),
        ("erdos-renyi 20 --probability 0.1", lambda g: g.erdos_renyi(20, probability=0.1)),
        ("grid 4 5 --drop 0.3", lambda g: g.grid(4, 5, drop=0.3)),
        ("grid 4 5 --drop 0.3 --chunk 7", lambda g: g.grid(4, 5, drop=0.3)),
        ("preferential-attachment 30 --degree 3", lambda g: g.preferential_attachment(30, 3)),
        ("stochastic-blocks 5 6 --within 0.9 --between 0.1 --chunk 7",
         lambda g: g.stochastic_blocks([5, 6], 0.9, 0.1)),
    ],
)  # fmt: skip
@pytest.mark.parametrize("name", ["g.parquet", "g.csv.gz"])
def test_generate(words, expected, name, capsys):
    from cugraph_ws.graph import generators

    assert run("generate", *words.split(), "-o", name) == 0
    arrays = expected(generators)
    found = read_frame(name).to_pydict()
    assert list(found) == list(arrays)
    for column, values in arrays.items():
        assert found[column] == pytest.approx(values.tolist())
    assert capsys.readouterr() == ("", "")


def test_generate_counts_on_a_terminal(monkeypatch):
    err = Terminal()
    monkeypatch.setattr(sys, "stderr", err)
    assert run("generate", "rmat", "6", "--chunk", "100", "-o", "g.parquet") == 0
    assert "1,024 edges in g.parquet" in err.getvalue()
    assert pq.ParquetFile("g.parquet").num_row_groups == 11
    err.truncate(0)
    assert run("generate", "rmat", "6", "-q", "-o", "g.parquet") == 0
    assert "edges" not in err.getvalue()


def test_info(capsys, monkeypatch):
    monkeypatch.setenv("CUGRAPH_WS_THREADS", "3")
    assert run("info") == 0
    out = capsys.readouterr().out
    assert "3 threads" in out
    assert "CUGRAPH_WS_THREADS" in out
    assert run("info", "--json") == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["Versions"]["cugraph-ws"] == ws.__version__
    assert facts["Versions"]["numba"]
    assert facts["Devices"]["memory"]


def test_info_lists_gpus(monkeypatch):
    gpus = [driver.Gpu("GPU of a test", 8 << 30, (9, 0), 132, 60 << 20)]
    monkeypatch.setattr(driver, "installed_gpus", lambda: gpus)
    facts = cli_info.facts()
    assert facts["Engines"]["cuda"].startswith("1 GPU,")
    assert facts["Devices"]["gpu 0"] == (
        "GPU of a test, 8.0 GiB, compute capability 9.0, 132 multiprocessors"
    )
    monkeypatch.setattr(driver, "installed_gpus", lambda: gpus * 2)
    assert cli_info.facts()["Engines"]["cuda"].startswith("2 GPUs,")
    monkeypatch.setattr(driver, "installed_gpus", list)
    assert cli_info.facts()["Engines"]["cuda"] == "no GPU found"


def test_info_without_what_may_be_missing(monkeypatch, tmp_path):
    for name in [name for name in os.environ if name.startswith("CUGRAPH_WS_")]:
        monkeypatch.delenv(name)
    assert cli_info.facts()["Settings"] == {"environment": "none set"}
    assert cli_info._version("no-such-package-anywhere") == "not installed"
    assert cli_info._processor(tmp_path / "absent")
    (tmp_path / "cpuinfo").write_text("processor: 0\nmodel name\t: Z80 at 4 MHz\n")
    assert cli_info._processor(tmp_path / "cpuinfo") == "Z80 at 4 MHz"
    (tmp_path / "cpuinfo").write_text("Hardware: none\n")
    assert cli_info._processor(tmp_path / "cpuinfo")


# --- as a process ---------------------------------------------------------------------------

COMMAND = [sys.executable, "-m", "cugraph_ws.cli.main"]


def test_a_process_says_its_result_and_its_errors():
    done = subprocess.run(
        [*COMMAND, "wcc", "edges.parquet"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[:2] == ["vertex\tlabels", "a\ta"]
    done = subprocess.run([*COMMAND, "wcc", "absent"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "cugraph-ws: absent: there is no such file; check the path\n"


def test_a_reader_that_leaves_early_is_no_reason_to_complain():
    Path("path.txt").write_text("".join(f"{i} {i + 1}\n" for i in range(30_000)))
    process = subprocess.Popen(
        [*COMMAND, "wcc", "path.txt", "--rows", "100000"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout.readline() == b"vertex\tlabels\n"
    process.stdout.close()
    assert process.stderr.read() == b""
    assert process.wait() in (0, 1)
    process.stderr.close()


@pytest.mark.usefixtures("usual_handler")
def test_ctrl_c_ends_a_process_with_130():
    words = ["neural-network", "ring.txt", "--weight", "weight", "--activation", "1"]
    ring = "".join(f"{i} {(i + 1) % 50} 1\n" for i in range(50))  # converges very slowly
    Path("ring.txt").write_text(ring)
    process = subprocess.Popen(
        [*COMMAND, *words, "--tol", "0", "--max-iter", "1000000000", "--engine", "python",
         "--progress"],
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
    )  # fmt: skip
    line = process.stderr.readline()
    while "superstep 0" in line:  # of the start, which Ctrl-C ends without a state
        line = process.stderr.readline()
    assert "superstep" in line
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "interrupted after" in err.splitlines()[-1]
    assert "Traceback" not in err
