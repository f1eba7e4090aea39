"""`cugraph-ws warm-up`: compiles before the first run, in one process per core.

Machine code is cached on disk, and compiled when a call needs code that is not there.  So the command
makes the calls: each function, on a small graph with rows of every length, in processes of its own.
This fills the cache of a container image, or of a new worker of a cluster.
"""

from __future__ import annotations

import inspect
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from queue import SimpleQueue
from threading import Event, Thread
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import click

from cugraph_ws.algorithms.registry import ALGORITHMS
from cugraph_ws.cli.options import debug_option
from cugraph_ws.errors import CugraphWsError, EngineError, FileError, InputError
from cugraph_ws.execution.options import Plan
from cugraph_ws.runtime.dispatch import provider

if TYPE_CHECKING:
    from cugraph_ws.program.phases import Phases
    from cugraph_ws.program.vertex_program import VertexProgram

__all__ = ["CALLS", "warm_up_command"]

VERTICES = 1 << 12
EDGES = 1 << 16
FEW_EDGES = 64  # besides the hub's: a CPU runs dense supersteps of such a graph in one call
HUB = 0  # a vertex with an edge to every vertex, and one from every vertex
FAR = 1  # a vertex with few edges: a search from it has a small frontier and a large one
COUPLING = [[0.51, 0.49], [0.49, 0.51]]

CHILD = f"""
import sys
import cugraph_ws
from {__name__} import compile_tasks
compile_tasks(cugraph_ws, sys.argv[1])
"""

FEW = 2  # with at most so many jobs, no core is left to compile ahead
ANSWER = "task: "  # prefix of the line that a process prints after each task
TOGETHER = 8  # most tasks that share a process, if processes compile
CALLERS = 4  # processes that make calls, if a pool compiles
LOOSE = 1.0  # a tolerance that is reached by the first superstep

GRAPH = "graph"  # a task that makes a graph, and calls nothing
WEIGHTS = ("float64", "float32", "int64", "int32")

Engine = Literal["cpu", "cuda"]


class Task(NamedTuple):
    """A call whose code is to be compiled.

    Attributes
    ----------
    name : str
        A function, or a program as FILE.py:PROGRAM.
    engine : {"cpu", "cuda"}
    weights : str
        Dtype of the weights; "" for a graph without weights.
    directed : bool
    given : tuple of (str, str)
        Parameters of a program.
    """

    name: str
    engine: Engine
    weights: str = ""
    directed: bool = True
    given: tuple[tuple[str, str], ...] = ()

    def __str__(self) -> str:
        words = [self.name, self.engine]
        if self.weights:
            words.append(f"{self.weights} weights")
        if not self.directed:
            words.append("undirected")
        return ", ".join(words)


# --------------------------------------------------------------------------------- the functions


def _beliefs(graph: Any) -> dict[str, Any]:
    import numpy as np

    half = np.full(VERTICES, 0.5)
    priors = graph.frame_like({"vertex": np.arange(VERTICES), "yes": half, "no": half})
    return {"priors": priors, "coupling": COUPLING}


def _pagerank() -> dict[str, Any]:
    """Return arguments with which states are replaced between supersteps, if an accelerator does that."""
    more = (
        {}
        if provider("accelerators").between_supersteps() is None
        else {"plan": Plan(extrapolate="always")}
    )
    return {"tol": 0.0, "max_iter": 9, "fail_on_nonconvergence": False, **more}


# Functions whose gathers go over other layouts on large graphs, if an accelerator has them
GATHERING = (
    "circuit", "eigenvector_centrality", "heat", "katz_centrality", "neural_network", "pagerank",
)  # fmt: skip
# What is given instead of an example's arguments: calls of it that are short on the graph, and use all kernels
INSTEAD: dict[str, dict[str, Any]] = {
    **{key: {"start": FAR} for key in ("bfs", "sssp", "widest_path")},
    **{key: {"vertex_pair": "edges"} for key in ("adamic_adar", "cosine", "jaccard", "overlap", "sorensen")},
    **{key: {"k": [HUB, 1]} for key in ("betweenness_centrality", "edge_betweenness_centrality")},
    "closeness_centrality": {"vertices": [HUB, 1]},
    "harmonic_centrality": {"k": 2},
    "heat": {"temperature": 1.0, "fixed": [HUB]},
    "k_truss": {"k": 3},
    **{key: {"max_level": 2} for key in ("leiden", "louvain")},
    "subgraph": {"vertices": [HUB, 1]},
}  # fmt: skip


# Functions of bipartite graphs, and the argument that has the vertices of one side
SIDES = {"bipartite_projection": "vertices", "maximal_bipartite_matching": "left"}


def arguments_of(name: str, graph: Any) -> dict[str, Any]:
    """Return the arguments of a function besides the graph.

    Parameters
    ----------
    name : str
    graph : Graph

    Returns
    -------
    dict
    """
    if name == "layout":
        return {"iterations": 2}
    declared = ALGORITHMS[name]
    ids = list(range(VERTICES))
    arguments = declared.arguments(ids)
    if name in SIDES:
        arguments[SIDES[name]] = ids[::2]
    if name == "multi_source_bfs":
        arguments["starts"] = ids[:512]  # so many that each core has several
    if name == "belief_propagation":
        arguments = _beliefs(graph)  # in the memory of the graph
    if "tol" in inspect.signature(declared.function).parameters:
        arguments["tol"] = LOOSE
    instead = _pagerank() if name == "pagerank" else INSTEAD.get(name, {})
    return {**arguments, **instead}


CALLS = tuple(sorted((*ALGORITHMS, "layout")))
SPANNING = {
    "maximum_spanning_forest",
    "minimum_spanning_forest",
    "minimum_spanning_tree",
}  # they only sort weights
WEIGHTED = {
    name for name, one in ALGORITHMS.items() if one.weights in ("read", "required")
} - SPANNING
# Functions with the same kernels for graphs without weights
ALIKE = {"circuit", "conductance", "modularity", "multi_source_sssp", "sssp", "widest_path"}
PLAIN_TOO = {name for name in WEIGHTED - ALIKE if ALGORITHMS[name].weights == "read"}
PATHS = {"multi_source_sssp", "sssp", "widest_path"}
# Functions with other kernels for undirected graphs
BOTH_WAYS = {"core_number", "eigenvector_centrality", "weakly_connected_components"}


def tasks(names: Sequence[str], engines: Sequence[Engine], weights: Sequence[str]) -> list[Task]:
    """Return the tasks, slowest to compile first.

    Parameters
    ----------
    names : sequence of str
        Names of functions.
    engines : sequence of {"cpu", "cuda"}
    weights : sequence of str
        Dtypes of weights.

    Returns
    -------
    list of Task
    """
    listed = []
    for engine in engines:
        for name in names:
            if name in WEIGHTED:
                listed += [Task(name, engine, weight) for weight in weights]
            if name not in WEIGHTED or name in PLAIN_TOO:
                listed.append(Task(name, engine))
            if name in BOTH_WAYS:
                listed.append(Task(name, engine, directed=False))
    searches = ("widest_path", "sssp", "bfs", "multi")
    return sorted(listed, key=lambda task: not task.name.startswith(searches))


def graphs(weights: Iterable[str]) -> list[Task]:
    """Return the tasks that make graphs on a GPU, with weights of some dtypes and without.

    Parameters
    ----------
    weights : iterable of str
        Dtypes.

    Returns
    -------
    list of Task
    """
    kinds = dict.fromkeys(("", *weights))
    return [Task(GRAPH, "cuda", kind, directed) for kind in kinds for directed in (True, False)]


# ----------------------------------------------------------------------------------- the command


@click.command("warm-up")
@click.argument("programs", nargs=-1, metavar="[FILE.py:PROGRAM [NAME=VALUE]...]...")
@click.option(
    "--function", "functions", multiple=True, type=click.Choice(CALLS), metavar="NAME",
    help="A function to compile; can be repeated.  All if neither this nor a program is given.",
)  # fmt: skip
@click.option(
    "--engine", type=click.Choice(["auto", "cpu", "cuda"]), default="auto", show_default=True,
    help="auto: the CPU, and the GPU if there is one.",
)  # fmt: skip
@click.option(
    "--weights", multiple=True, default=("float64",), show_default=True, metavar="DTYPE",
    type=click.Choice(WEIGHTS),
    help="The type of the weights that will be used; can be repeated.",
)  # fmt: skip
@click.option(
    "--jobs", type=click.IntRange(1), help="Number of processes; default: one for each core."
)
@debug_option
def warm_up_command(
    programs: tuple[str, ...],
    functions: tuple[str, ...],
    engine: str,
    weights: tuple[str, ...],
    jobs: int | None,
) -> None:
    """Compile functions and programs before their first run.

    The machine code is written to the cache folder (CUGRAPH_WS_CACHE_DIR).  Code for a GPU can only be
    compiled on a machine with a GPU.  Parameters of a program are given as NAME=VALUE; they are needed
    only if its types depend on them.
    """
    from cugraph_ws.runtime.machine_code import cache_folder, code_folder
    from cugraph_ws.runtime.threads import number_of_threads

    if code_folder() is None:
        raise FileError(
            f"{cache_folder()}: cannot be used as the cache folder; set CUGRAPH_WS_CACHE_DIR to a "
            "folder that only you can write to"
        )
    engines = _engines(engine)
    wanted = [
        Task(program, one, weights[0], given=given)
        for program, given in _programs(programs)
        for one in engines
    ]
    if functions or not programs:
        wanted += tasks(functions or CALLS, engines, weights)
    begun = time.perf_counter()
    failed = []
    for task, seconds, problem in _each(wanted, jobs or number_of_threads()):
        click.echo(f"{seconds:6.1f} s  {task}{': failed' if problem else ''}")
        if problem:
            failed.append(f"{task}: {problem}")
    click.echo(f"{time.perf_counter() - begun:6.1f} s  in all; code is in {code_folder()}")
    if failed:
        raise CugraphWsError("\n".join(failed))


def _engines(wanted: str) -> list[Engine]:
    """Return the engines to compile for."""
    from cugraph_ws.runtime.driver import installed_gpus

    has_gpu = bool(installed_gpus())
    if wanted == "cuda" and not has_gpu:
        raise EngineError("engine='cuda': this machine has no GPU; run warm-up where one is")
    if wanted == "auto":
        return ["cpu", "cuda"] if has_gpu else ["cpu"]
    return ["cuda" if wanted == "cuda" else "cpu"]


def _programs(words: Sequence[str]) -> list[tuple[str, tuple[tuple[str, str], ...]]]:
    """Return programs, each with the parameters that follow it."""
    from cugraph_ws.cli.run import load_program

    programs: list[tuple[str, list[tuple[str, str]]]] = []
    for word in words:
        name, equals, value = word.partition("=")
        if not equals:
            load_program(word)  # raises an error if it is invalid
            programs.append((word, []))
        elif not programs:
            raise click.UsageError(
                f"{word!r} comes before any program; write FILE.py:PROGRAM first"
            )
        else:
            programs[-1][1].append((name, value))
    return [(name, tuple(given)) for name, given in programs]


def _together(wanted: Sequence[Task], most: int | None) -> list[list[Task]]:
    """Divide tasks among processes; those on a GPU among at most `most`.

    If `most` is None, those without kernels of a program share processes, since each process on a GPU
    imports cuDF, and compiles the kernels that all graphs need or waits for them.
    """
    from cugraph_ws.runtime.compile_ahead import has_programs

    on_gpu = [task for task in wanted if task.engine == "cuda"]
    shared = [task for task in on_gpu if most is not None or not has_programs(str(task))]
    alone = [[task] for task in wanted if task not in shared]
    parts = min(-(-len(shared) // TOGETHER) if most is None else most, len(shared))
    return [*(shared[place::parts] for place in range(parts)), *alone]


def _each(wanted: Sequence[Task], jobs: int) -> Iterator[tuple[Task, float, str]]:
    """Run tasks in processes; yield each with its seconds and its error, "" if there is none."""
    from cugraph_ws.runtime.compile_ahead import VARIABLE

    # Listed kernels are compiled by one pool.  Few processes, which start meanwhile, then make the calls.
    listed = jobs > FEW and all(task.name in CALLS for task in wanted)
    processes = _together(wanted, CALLERS if listed else None)
    share = 0 if listed or jobs <= FEW else jobs // max(min(len(processes), jobs), 1)
    environment = {**os.environ, VARIABLE: str(share)}
    compiled = _compile_listed(wanted, max(jobs - CALLERS, 1)) if listed else None
    ended: SimpleQueue[tuple[Task, float, str] | None] = SimpleQueue()

    def one(several: list[Task]) -> None:
        begun, remaining = time.perf_counter(), list(several)
        try:
            with subprocess.Popen(  # noqa: S603 - this interpreter, with words made here
                [sys.executable, "-c", CHILD, json.dumps(several)], stdin=subprocess.PIPE,
                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment,
            ) as process, ThreadPoolExecutor(1) as reader:  # fmt: skip
                assert process.stdin is not None
                assert process.stdout is not None
                assert process.stderr is not None
                errors = reader.submit(process.stderr.read)
                if compiled is not None:
                    compiled.wait()
                process.stdin.close()  # now it makes the calls
                for line in process.stdout:
                    if line.startswith(ANSWER):
                        problem = json.loads(line.removeprefix(ANSWER))
                        ended.put((remaining.pop(0), time.perf_counter() - begun, problem))
                        begun = time.perf_counter()
                lines = errors.result().strip().splitlines()
            if remaining:
                said = lines[-1] if lines else f"exit {process.returncode}"
                for task in remaining:
                    ended.put((task, time.perf_counter() - begun, said))
        finally:
            ended.put(None)

    with ThreadPoolExecutor(jobs) as pool:
        running = [pool.submit(one, several) for several in processes]
        for _ in processes:
            while (done := ended.get()) is not None:
                yield done
        for each in running:
            each.result()


def listed_calls(wanted: Iterable[Task]) -> list[str]:
    """Return the listed calls whose kernels tasks may need on a GPU, with graphs of any ids.

    Parameters
    ----------
    wanted : iterable of Task

    Returns
    -------
    list of str
    """
    on_gpu = [task for task in wanted if task.engine == "cuda"]
    graph_tasks = graphs(task.weights for task in on_gpu) if on_gpu else []
    ids = ("", ", int32 ids")
    return [*map(str, on_gpu), *(f"{task}{kind}" for task in graph_tasks for kind in ids)]


def _compile_listed(wanted: Sequence[Task], processes: int) -> Event:
    """Compile the kernels that tasks are listed to launch on a GPU; return an event that is set at the end."""
    from cugraph_ws.runtime.compile_ahead import Pool
    from cugraph_ws.runtime.driver import installed_gpus

    calls = listed_calls(wanted)
    pool = Pool(processes)
    if calls:
        pool.begin()  # it takes as long as the imports here
    done = Event()

    def compile_all() -> None:
        from cugraph_ws.backends.cuda.listed_programs import jobs_of

        try:
            for gpu in installed_gpus()[:1] if calls else ():
                pool.add(jobs_of(calls, gpu.capability))
            pool.wait()
        finally:
            pool.close()
            done.set()

    Thread(target=compile_all, daemon=True, name="compile what is listed").start()
    return done


# ---------------------------------------------------------------------------- in a task's process


def compile_tasks(package: Any, given: str) -> None:
    """Do tasks one after another, and print an answer for each: its error, "" if there is none.

    Parameters
    ----------
    package : module
        `cugraph_ws`, which has the public functions.
    given : str
        Tasks as JSON.
    """
    several = [
        Task(name, engine, weights, directed, tuple(map(tuple, parameters)))
        for name, engine, weights, directed, parameters in json.loads(given)
    ]
    if any(task.engine == "cuda" for task in several):
        _use_libraries()
    sys.stdin.read()  # until the calls may begin
    for task in several:
        problem = ""
        try:
            compile_task(package, task)
        except Exception as error:
            problem = f"{type(error).__module__}.{type(error).__qualname__}: {error}"
        print(f"{ANSWER}{json.dumps(problem)}", flush=True)


def _use_libraries() -> None:
    """Import the libraries of frames and arrays on a GPU, and use them first: both take seconds."""
    with suppress(Exception):  # the calls report what is wrong
        import cudf
        import cupy

        cudf.DataFrame({"number": cupy.arange(3)})["number"].sum()


def compile_task(package: Any, task: Task) -> None:
    """Make a task's call, which compiles the code that it needs.

    Parameters
    ----------
    package : module
        `cugraph_ws`, which has the public functions.
    task : Task
    """
    if task.name in CALLS:
        with graph_of(task) as graph:
            arguments = arguments_of(task.name, graph)
            function = getattr(package, task.name)
            function(graph, **arguments, engine=task.engine)
            if (
                task.engine == "cuda"
            ):  # what the first call has made may let the second use other kernels
                function(graph, **arguments, engine="cuda")
            if task.engine == "cpu" and task.name in GATHERING and task.directed:
                accelerators = provider("accelerators")
                if accelerators.host_gathers() is not None:
                    for layout in accelerators.layouts(on_device=False):
                        plan = replace(arguments.get("plan", Plan()), layout=layout)
                        function(graph, **{**arguments, "plan": plan}, engine="cpu")
        if task.engine == "cpu" and task.name in GATHERING:
            with graph_of(task, FEW_EDGES) as graph:
                function(graph, **arguments, engine="cpu")
        return
    from cugraph_ws.cli.run import load_program
    from cugraph_ws.execution.run import run
    from cugraph_ws.program.phases import Phases, programs_of

    program = load_program(task.name)
    with _graph(task, list(program.edges)) as graph:
        task_arguments = _arguments(program, dict(task.given))
        shares = program.shares(task_arguments) if isinstance(program, Phases) else [task_arguments]
        for member, share in zip(programs_of(program), shares, strict=True):
            run(member, graph, engine=task.engine, max_iter=3, **share)


def graph_of(task: Task, edges: int | None = None) -> Any:
    """Return the graph that a task's function is called with.

    Parameters
    ----------
    task : Task
    edges : int, optional
        Edges besides the hub's; `EDGES` if not given.

    Returns
    -------
    Graph
    """
    return _graph(task, ["weight"] if task.weights else [], edges)


def _graph(task: Task, columns: Sequence[str], number: int | None = None) -> Any:
    """Return a graph with a hub, and rows of all lengths up to it."""
    import numpy as np

    from cugraph_ws.graph.generators import rmat
    from cugraph_ws.graph.graph import Graph

    random = rmat(vertices=VERTICES, edges=number or EDGES, seed=1, frame=None)
    everyone = np.arange(VERTICES)
    hub = np.full(VERTICES, HUB)
    source = np.concatenate([random["source"], everyone, hub])
    destination = np.concatenate([random["destination"], hub, everyone])
    if task.name == "bipartite_projection":  # without the hub, which all pairs would share
        source, destination = (
            np.concatenate([random[end][: VERTICES // 2], everyone])
            for end in ("source", "destination")
        )
    if task.name in SIDES:  # from even ids to odd ones
        source, destination = source & ~1, destination | 1
    if task.name == "topological_levels":  # without cycles
        source, destination = np.minimum(source, destination), np.maximum(source, destination) + 1
    edges: dict[str, Any] = {"source": source, "destination": destination}
    for column in columns:  # coefficients of `heat` may not add up to more than 1
        edges[column] = np.full(len(source), 0 if task.name == "heat" else 1, task.weights)
        if task.name in PATHS:  # several paths of the same length, and edges of none
            edges[column] = np.arange(len(source)).astype(task.weights) % 4
    return Graph(
        _frame(task, edges),
        weight="weight" if "weight" in columns else None,
        attributes=[column for column in columns if column != "weight"],
        directed=task.directed,
    )


def _frame(task: Task, columns: dict[str, Any]) -> Any:
    """Return a frame of the kind that users of the engine have."""
    if task.engine == "cuda":
        try:
            import cudf
        except ImportError:
            pass
        else:
            return cudf.DataFrame(columns)
    import pyarrow as pa

    return pa.table(columns)


def _arguments(program: VertexProgram | Phases, given: dict[str, str]) -> dict[str, Any]:
    """Return a value for every declaration of the program without a default."""
    from cugraph_ws.program.declarations import (
        Parameter,
        VertexParameter,
        VertexSet,
        VertexValue,
    )

    declared = {**program.parameters, **program.constants}
    unknown = sorted(set(given) - set(declared))
    if unknown:
        raise InputError(
            f"{program.name} declares no {unknown[0]!r}; it has: {', '.join(declared)}"
        )
    values: dict[str, Any] = {}
    for name, declaration in declared.items():
        if isinstance(declaration, VertexParameter):
            values[name] = int(given.get(name, HUB))
        elif isinstance(declaration, VertexSet):
            values[name] = [int(given.get(name, HUB))]
        elif name in given:
            values[name] = float(given[name])
        elif isinstance(declaration, (Parameter, VertexValue)) and declaration.default is None:
            values[name] = 1.0
    return {
        name: int(value) if _is_integer(declared[name]) else value for name, value in values.items()
    }


def _is_integer(declared: Any) -> bool:
    name = getattr(getattr(declared, "type", None), "name", "")
    return str(name).startswith("int")
