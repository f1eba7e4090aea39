"""`cugraph-ws warm-up`: what it compiles is all that a first run needs."""

import inspect
import os
import subprocess
import sys
from pathlib import Path
from threading import Event
from types import SimpleNamespace

import pytest
from click.testing import CliRunner
from conftest import COMPILED

import cugraph_ws as ws
from cugraph_ws.cli import warm_up
from cugraph_ws.cli.main import commands
from cugraph_ws.cli.warm_up import BOTH_WAYS, CALLS, WEIGHTED, Task, compile_task, tasks
from cugraph_ws.errors import CugraphWsError

NEAREST = """
import math
import cugraph_ws as ws

@ws.vertex_program
class Nearest:
    distance: ws.float64
    length: ws.edge(ws.float64)
    start: ws.vertex_parameter
    others: ws.vertex_set
    most: ws.parameter(ws.int64)
    combine = min

    def init(vertex, p, own):
        return 0 if vertex == p.start or own.others else math.inf

    def compute(src, edge, p):
        return src.distance + edge.length if src.distance < p.most else math.inf

    def apply(old, gathered):
        return min(old.distance, gathered)

@ws.vertex_program
class Broken:
    x: ws.int64
    combine = sum
    def init(vertex):
        return vertex + 0.5
    def compute(src):
        return src.x
    def apply(old, gathered):
        return gathered
"""


def graph_functions():
    """The public functions whose first argument is a graph."""
    for name in dir(ws):
        function = getattr(ws, name)
        if (
            inspect.isfunction(function)
            and next(iter(inspect.signature(function).parameters), "") == "graph"
        ):
            yield name


def run(*words, **environment):
    command = [sys.executable, "-m", "cugraph_ws.cli.main", "warm-up", *map(str, words)]
    return subprocess.run(
        command, env={**os.environ, **environment}, capture_output=True, text=True, check=False
    )


def test_every_function_of_a_graph_is_there():
    assert set(graph_functions()) - {"plot"} == set(CALLS)


def test_tasks_are_each_function_with_each_type_of_weights():
    found = tasks(["sssp", "core_number", "pagerank"], ["cpu"], ["float64", "int32"])
    assert {str(one) for one in found} == {
        "sssp, cpu, float64 weights",
        "sssp, cpu, int32 weights",
        "pagerank, cpu, float64 weights",
        "pagerank, cpu, int32 weights",
        "pagerank, cpu",
        "core_number, cpu",
        "core_number, cpu, undirected",
    }
    assert found[0].name == "sssp", "what takes longest begins first"


@pytest.mark.skipif(not COMPILED, reason="the graph is too large for uncompiled code")
@pytest.mark.parametrize("name", sorted(CALLS))
def test_calls_are_right(name):
    """Each call of the table runs on the graph that is made for it."""
    compile_task(
        ws, Task(name, "cpu", "float64" if name in WEIGHTED else "", name not in BOTH_WAYS)
    )


@pytest.mark.skipif(not COMPILED, reason="it looks for compiled code")
def test_a_first_run_finds_all_of_it(tmp_path: Path):
    cache = tmp_path / "cache"
    folders = {"CUGRAPH_WS_CACHE_DIR": str(cache), "NUMBA_CACHE_DIR": str(cache / "numba")}
    done = run("--function", "weakly_connected_components", "--engine", "cpu", **folders)
    assert done.returncode == 0, done.stderr
    assert "weakly_connected_components, cpu, undirected" in done.stdout

    def files():
        return {path.name for path in cache.rglob("*.nbc")}

    before = files()
    assert before
    script = (
        "import numpy as np, pyarrow as pa, cugraph_ws as ws\n"
        "ends = np.random.default_rng(1).integers(0, 3000, (2, 40000))\n"
        "ws.weakly_connected_components(pa.table({'source': ends[0], 'destination': ends[1]}), engine='cpu')"
    )
    subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, **folders},
        check=True,
    )
    assert files() == before


@pytest.mark.skipif(not COMPILED, reason="the graph is too large for uncompiled code")
def test_a_program_with_parameters(tmp_path):
    file = tmp_path / "nearest.py"
    file.write_text(NEAREST)
    compile_task(ws, Task(f"{file}:Nearest", "cpu", "float64", given=(("most", "9"),)))
    with pytest.raises(CugraphWsError, match="declares no 'least'; it has: start, most, others"):
        compile_task(ws, Task(f"{file}:Nearest", "cpu", "float64", given=(("least", "9"),)))


def test_every_program_of_phases_is_compiled(monkeypatch):
    ran = []
    monkeypatch.setattr(
        "cugraph_ws.execution.run.run", lambda *given, **named: ran.append((given[0], named))
    )
    file = Path(__file__).parents[2] / "examples" / "phases.py"
    compile_task(ws, Task(f"{file}:Dependencies", "cpu", "float64", given=(("start", "9"),)))
    assert [(program.name, named.get("start")) for program, named in ran] == [
        ("Forward", 9),
        ("Backward", None),
    ]


def test_a_program_that_fails_is_named(tmp_path):
    file = tmp_path / "nearest.py"
    file.write_text(NEAREST)
    done = run(f"{file}:Broken", "--engine", "cpu")
    assert done.returncode == 1
    assert f"{file}:Broken, cpu, float64 weights: failed" in done.stdout
    assert "Broken.init" in done.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["most=3"], "'most=3' comes before any program"),
        (["nothing.py:Nearest"], "there is no such file"),
        (["--engine", "cuda"], "this machine has no GPU"),
    ],
)
def test_what_cannot_be_done_is_said(words, said, monkeypatch):
    monkeypatch.setattr("cugraph_ws.runtime.driver.installed_gpus", list)
    done = CliRunner().invoke(commands, ["warm-up", *words])
    assert said in done.output + str(done.exception)


def test_a_cache_that_cannot_be_used_is_said(monkeypatch):
    monkeypatch.setattr("cugraph_ws.runtime.machine_code.code_folder", lambda: None)
    done = CliRunner().invoke(commands, ["warm-up"])
    assert "set CUGRAPH_WS_CACHE_DIR" in str(done.exception)


@pytest.mark.accelerated
@pytest.mark.parametrize(
    ("name", "engine", "layouts"),
    [
        ("pagerank", "cpu", ["auto", "tiles", "auto"]),
        ("pagerank", "cuda", ["auto"] * 2),
        ("bfs", "cpu", ["auto"]),
    ],
)
def test_large_graphs_need_loops_over_tiles_too(name, engine, layouts):
    """And small ones a loop over supersteps; on a GPU a second call may use what the first has made."""
    asked = []
    package = SimpleNamespace(
        **{name: lambda graph, plan=ws.Plan(), **options: asked.append(plan.layout)}
    )
    compile_task(package, Task(name, engine))
    assert asked == layouts


def test_tasks_without_a_program_share_processes_on_a_gpu():
    wanted = tasks(["sssp", "core_number", "jaccard"], ["cpu", "cuda"], ["float64"])
    found = [[str(one) for one in several] for several in warm_up._together(wanted, None)]
    assert found[0] == ["core_number, cuda", "core_number, cuda, undirected", "jaccard, cuda"]
    assert all(len(several) == 1 for several in found[1:])
    assert sorted(one for several in found for one in several) == sorted(map(str, wanted))


def test_what_is_compiled_before_is_called_by_few_processes():
    wanted = tasks(["sssp", "core_number", "jaccard"], ["cpu", "cuda"], ["float64"])
    found = warm_up._together(wanted, 2)
    assert [len(several) for several in found[:2]] == [2, 2]
    assert {one.engine for several in found[:2] for one in several} == {"cuda"}
    assert all(len(several) == 1 and several[0].engine == "cpu" for several in found[2:])
    assert sorted(one for several in found for one in several) == sorted(wanted)


def test_calls_begin_when_what_is_listed_is_compiled(monkeypatch):
    """The processes begin meanwhile; what the pool has done comes before every call."""
    order, gate = [], Event()

    class Pool:
        def __init__(self, processes):
            assert processes == 12

        def begin(self):
            order.append("begun")

        def add(self, jobs):
            order.append([job.name for job in jobs])

        def wait(self):
            assert not gate.wait(0.5), "a call has begun"

        def close(self):
            order.append("closed")

    child = "import sys; sys.stdin.read(); print('task: \"\"', flush=True)"
    monkeypatch.setattr(warm_up, "CHILD", child)
    monkeypatch.setattr("cugraph_ws.runtime.compile_ahead.Pool", Pool)
    gpu = SimpleNamespace(capability=(9, 0))
    monkeypatch.setattr("cugraph_ws.runtime.driver.installed_gpus", lambda: [gpu])
    for _, _, problem in warm_up._each(tasks(["pagerank"], ["cuda"], [])[:1], 16):
        gate.set()
        order.append(problem)
    begun, jobs, *others = order
    assert begun == "begun"
    assert "superstep" in jobs
    assert others == ["closed", ""]


def test_a_process_that_is_killed_is_named_with_its_tasks(monkeypatch):
    killed = "import os, sys; print('task: \"\"', flush=True); os.kill(os.getpid(), 9)"
    monkeypatch.setattr(warm_up, "CHILD", killed)
    monkeypatch.setattr(warm_up, "CALLERS", 1)
    wanted = tasks(["core_number"], ["cuda"], [])
    found = {str(task): problem for task, _, problem in warm_up._each(wanted, 4)}
    assert found == {"core_number, cuda": "", "core_number, cuda, undirected": "exit -9"}
