"""Compile kernels before a call needs them, in processes of their own.

If a kernel is missing from the disk cache, a call will soon need others.  `kernels/cuda/together.json` lists
the kernels that calls launch together; the others are compiled on the other cores meanwhile.  A process
imports the compiler only, and is forked for each kernel; the forks write to the cache.  The call waits for the
fork that compiles its own kernel.  Only speed depends on them: what no fork has compiled, the call compiles.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Mapping
from functools import lru_cache
from hashlib import sha256
from typing import Any, Literal, NamedTuple, TypeVar

from cugraph_ws.runtime.device_compiler import is_kept
from cugraph_ws.runtime.dispatch import provider
from cugraph_ws.runtime.machine_code import cache_folder, code_folder
from cugraph_ws.runtime.memory import available_memory
from cugraph_ws.runtime.paths import kernels_folder
from cugraph_ws.runtime.signature import Kind

__all__ = [
    "LIST",
    "MAKING",
    "PREFIX",
    "VARIABLE",
    "Capability",
    "Job",
    "Pool",
    "expect",
    "followers",
    "foresee",
    "has_programs",
    "listed_as",
    "longest_first",
    "module_with",
    "needed",
    "together",
    "tupled",
]  # fmt: skip

LIST = kernels_folder() / "cuda" / "together.json"
VARIABLE = "CUGRAPH_WS_COMPILERS"
PREFIX = "cugraph_ws_cuda_"  # of the names of programs' modules
T = TypeVar("T")
MOST = 16  # processes
ROOM = 1 << 29  # bytes of memory assumed for each process
GRAPH = "graph,"  # how the names of listed calls begin that only make a graph
# Modules of kernels that make graphs
MAKING = ("arc_buckets", "build", "masks", "numbering", "split")
# Functions whose kernels are compiled after the first graph's, if there are enough processes: those that are
# called most, and searches, whose kernels take longest
NEXT = (
    "bfs", "core_number", "louvain", "multi_source_bfs", "pagerank", "sssp", "triangle_count",
    "weakly_connected_components", "widest_path",
)  # fmt: skip
ENOUGH, MANY = 4, 8  # MANY: also for functions with weights, before a graph has any
RARE = ("finish_shards", "gather_shards")  # launched on very large graphs only
# Seconds without work after which the processes end: programs are edited and run again
IDLE = 300.0
GPU_LIBRARIES = ("cudf", "cupy")
DRIVERS = ("/dev/nvidiactl", "/dev/dxg")  # of NVIDIA on Linux, and under Windows
PATIENCE = 120.0  # seconds after which a call no longer waits for a fork
# Kernels that take longest to compile, longest first
SLOW = (
    "traverse", "superstep", "gather_shards", "pull_worklist", "grow_forward", "choose", "list_tight_arcs",
)  # fmt: skip
# The package's own file would import the whole library.  Numba would import SciPy, to see whether it is there.
CHILD = """
import sys, types
sys.path[:] = {path!r}
sys.modules["scipy"] = None
package = sys.modules["cugraph_ws"] = types.ModuleType("cugraph_ws")
package.__path__ = {folders!r}
from cugraph_ws.runtime.compile_worker import main
main({most})
"""
# The process may have a single thread, and does not need a GPU
SURROUNDINGS = {
    "CUDA_VISIBLE_DEVICES": "-1", "MKL_NUM_THREADS": "1", "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
}  # fmt: skip


Capability = tuple[int, int]


class Job(NamedTuple):
    """A kernel to compile.

    Attributes
    ----------
    module : str
        Name of a module of `kernels/cuda`, or of a program's generated module.
    text : str
        Source of a program's kernels, else empty.
    name : str
        The kernel.
    kinds : tuple
        Its signature; see `cugraph_ws.runtime.signature`.
    capability : (int, int)
        Compute capability.
    """

    module: str
    text: str
    name: str
    kinds: tuple[Kind, ...]
    capability: Capability


Launch = tuple[str, str, str, tuple[Kind, ...]]  # program or "", module or "", kernel, types


def tupled(listed: Any) -> Any:
    """Return nested lists, as JSON has them, as tuples."""
    return tuple(map(tupled, listed)) if isinstance(listed, list) else listed


@lru_cache
def _calls() -> tuple[tuple[str, frozenset[Launch]], ...]:
    """Read what calls launch together; empty if the file is missing or malformed."""
    try:
        listed = json.loads(LIST.read_text("utf-8"))
        launches: list[Any] = [tupled(launch) for launch in listed["launches"]]
        return tuple(
            (name, frozenset(launches[place] for place in places))
            for name, places, _ in listed["calls"]
        )
    except (OSError, ValueError, TypeError):
        return ()


def together(program: str, module: str, name: str, kinds: tuple[Kind, ...]) -> list[Launch]:
    """Return what is usually launched by the calls that launch a given kernel.

    Parameters
    ----------
    program : str
        Name of the program that the kernel belongs to, else "".
    module : str
        The module of `kernels/cuda` that it belongs to, "" for a program's kernel.
    name : str
        The kernel.
    kinds : tuple
        Its signature.

    Returns
    -------
    list of Launch
        The other launches of at least half of the listed calls that launch this kernel, slowest to
        compile first.
    """
    given_launch = program, module, name, kinds
    with_it = [launches for _, launches in _calls() if given_launch in launches]
    counts = Counter(launch for launches in with_it for launch in launches)
    return longest_first(
        [
            each
            for each, times in counts.items()
            if 2 * times >= len(with_it) and each != given_launch
        ]
    )


def has_programs(call: str) -> bool:
    """Return whether a call may launch a program's kernels; True if the call is not listed.

    Parameters
    ----------
    call : str
        A listed call: a function, and its types.

    Returns
    -------
    bool
    """
    launches = _listed(call)
    return not launches or any(launch[0] for launch in launches)


def _listed(call: str) -> frozenset[Launch]:
    """Return what a call launches; empty if it is not listed."""
    return listed_as(call, dict(_calls())) or frozenset()


def listed_as(call: str, calls: Mapping[str, T]) -> T | None:
    """Look up a call, also under its name with int32 ids, with which float32 weights are listed.

    Parameters
    ----------
    call : str
    calls : mapping
        Keyed by the names of listed calls.

    Returns
    -------
    object or None
        The mapping's value, None if the call is not listed.
    """
    return calls.get(call) or calls.get(f"{call}, int32 ids")


def longest_first(launches: list[Any]) -> list[Any]:
    """Sort launches or jobs, slowest to compile first."""

    def key(launch: Any) -> tuple[int, int, str]:
        name = launch[2]
        return (SLOW.index(name) if name in SLOW else len(SLOW), -len(launch[3]), repr(launch))

    return sorted(launches, key=key)


# --------------------------------------------------------------------------------- the processes


class Pool:
    """Processes that compile queued jobs.

    Parameters
    ----------
    processes : int
        Most processes at a time.
    command : list of str, optional
        Command line of the process that starts them; by default `compile_worker`.
    """

    def __init__(self, processes: int, command: list[str] | None = None) -> None:
        self._most = processes
        self._command = command or [sys.executable, "-c", _child(processes)]
        self._ready = threading.Condition()
        self._waiting: dict[Job, None] = {}
        self._later: dict[Job, None] = {}
        self._urgent: dict[Job, None] = {}
        self._seen: set[Job] = set()
        self._sent: list[Job] = []  # to the process, which answers with their numbers
        self._done: set[Job] = set()
        self._running = False
        self._busy = 0  # jobs that are being done
        self._waits = 0  # calls that wait for a job, so that their cores are free
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def processes(self) -> int:
        """Most processes at a time."""
        return self._most

    def add(self, jobs: list[Job], *, later: bool = False) -> None:
        """Queue jobs that have not been queued before, and start the process that does them.

        Parameters
        ----------
        jobs : list of Job
        later : bool
            Whether they are done after all other jobs, unless these are added again.
        """
        with self._ready:
            for job in jobs:
                if job in self._later and not later:
                    del self._later[job]
                    self._waiting[job] = None
                elif job not in self._seen:
                    (self._later if later else self._waiting)[job] = None
                self._seen.add(job)
            self._ready.notify_all()
            if self._queued:
                self.begin()

    def begin(self) -> None:
        """Start the process that does jobs, unless it is running."""
        with self._ready:
            if self._most > 0 and not self._running:
                self._running = True
                threading.Thread(target=self._serve, daemon=True, name="compile ahead").start()

    @property
    def _queued(self) -> bool:
        return bool(self._urgent or self._waiting or self._later)

    def take(self, job: Job) -> None:
        """Remove a job from the queue, because the caller waits for it or does it itself."""
        with self._ready:
            self._seen.add(job)
            self._waiting.pop(job, None)
            self._later.pop(job, None)

    def do(self, job: Job) -> None:
        """Do a job before all others, also if no core is left, and wait until it is done or has failed.

        It is not done if no process can be started.  One that has not answered after `PATIENCE` seconds is
        ended, and no other is started.
        """
        self.take(job)
        with self._ready:
            if self._most <= 0 or job in self._done:
                return
            if job not in self._sent:
                self._urgent[job] = None
                self._ready.notify_all()
                self.begin()
            self._waits += 1
            self._ready.notify_all()
            answered = self._ready.wait_for(
                lambda: job in self._done or not self._running, PATIENCE
            )
            self._waits -= 1
            self._urgent.pop(job, None)
        if not answered:
            self.close()

    def _may_begin(self) -> bool:
        return bool(self._urgent) or (self._queued and self._busy < self._most + self._waits)

    def _next(self, process: subprocess.Popen[bytes]) -> Job | None:
        """Wait for a job and a core; return None after `IDLE` seconds, or if the process has ended."""
        with self._ready:
            self._ready.wait_for(lambda: self._process is not process or self._may_begin(), IDLE)
            if self._process is not process or not self._may_begin():
                return None
            queue = self._urgent or self._waiting or self._later
            job = next(iter(queue))
            del queue[job]
            self._sent.append(job)
            self._busy += 1
            return job

    def wait(self) -> None:
        """Wait until all jobs are done or no process is left."""
        with self._ready:
            self._ready.wait_for(lambda: not self._running or (not self._queued and not self._busy))

    def close(self) -> None:
        """Drop queued jobs and end the processes."""
        with self._ready:
            self._most = 0
            for queue in (self._urgent, self._waiting, self._later):
                queue.clear()
            if self._process is not None:
                self._process.terminate()
            self._process = None
            self._ready.notify_all()

    def _serve(self) -> None:
        """Start the process and feed it until there is no work or it has ended."""
        with contextlib.suppress(
            OSError
        ):  # it cannot start, or was killed: calls compile themselves
            process = subprocess.Popen(  # noqa: S603 - this interpreter, with words made here
                self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL, env={**os.environ, **SURROUNDINGS},
            )  # fmt: skip
            with process:
                with self._ready:
                    self._process, self._sent = process, []
                    if not self._most:  # closed meanwhile
                        process.terminate()
                self._feed(process)
        with self._ready:
            self._running, self._busy, self._process, self._sent = False, 0, None, []
            self._ready.notify_all()

    def _feed(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        if not process.stdout.readline():  # it could not begin, so no other could
            self._most = 0
            return
        counter = threading.Thread(
            target=self._count, args=(process,), daemon=True, name="compiled ahead"
        )
        counter.start()
        try:
            while job := self._next(process):
                process.stdin.write(json.dumps(job).encode() + b"\n")
                process.stdin.flush()
        finally:
            with contextlib.suppress(OSError):
                process.stdin.close()  # it ends
            counter.join()

    def _count(self, process: subprocess.Popen[bytes]) -> None:
        """Note the jobs that are done, until the process ends."""
        assert process.stdout is not None
        for answer in process.stdout:
            with self._ready:
                self._busy -= 1
                self._done.add(self._sent[int(answer)])
                self._ready.notify_all()
        with self._ready:
            if self._process is process:
                self._process = None
            self._ready.notify_all()


_signs: set[str] = set()


def expect(sign: Literal["GPU", "program"]) -> None:
    """Note that a GPU is used, or that a program was declared outside the library.

    When both are so, the process that compiles starts, before a kernel is missing.  Where there is a driver, who has
    imported cuDF or CuPy before the declaration will use a GPU.
    """
    _signs.add(sign)
    if any(map(os.path.exists, DRIVERS)) and not sys.modules.keys().isdisjoint(GPU_LIBRARIES):
        _signs.add("GPU")
    if _signs == {"GPU", "program"}:
        pool = _started()
        if pool is not None:
            pool.begin()


def _child(most: int) -> str:
    """Return the code of the process that compiles."""
    folders = list(sys.modules["cugraph_ws"].__path__)
    return CHILD.format(path=sys.path, folders=folders, most=most)


_pool: Pool | None = None
_owner = -1  # the process that made the pool: threads do not survive a fork


def _processes() -> int:
    """Return the most processes: one for each other core, as far as memory allows."""
    asked = os.environ.get(VARIABLE, "").strip()
    if hasattr(os, "sched_getaffinity"):
        cores = len(os.sched_getaffinity(0))
    else:
        cores = os.cpu_count() or 1
    most = int(asked) if asked.isascii() and asked.isdigit() else cores - 1
    return min(most, MOST, available_memory() // ROOM)


def _started() -> Pool | None:
    """Return this process's pool; None if the cache is not shared with other processes."""
    global _pool, _owner
    if _pool is None or _owner != os.getpid():
        _pool, _owner = Pool(_processes()), os.getpid()
        atexit.register(_pool.close)
    if code_folder() != cache_folder().absolute():  # a temporary folder of this process
        return None
    return _pool


def foresee(write: Any, capability: Capability) -> None:
    """Let kernels be compiled that a user's program will launch, unless the one that takes longest is in the cache.

    Parameters
    ----------
    write : ProgramText
        What writes the program's text.
    capability : (int, int)
        Compute capability.
    """
    if getattr(getattr(write, "program", None), "built_in", True):
        return
    jobs: list[Job] = []
    with contextlib.suppress(Exception):  # only speed depends on it
        jobs = provider("listed programs").alike(write, capability)
    if jobs and not is_kept(jobs[0].text, jobs[0].name, jobs[0].kinds, capability):
        pool = _started()
        if pool is not None:
            pool.add(jobs)


def needed(job: Job) -> None:
    """Let a kernel be compiled that the cache lacks, and ahead of their launch those that will follow.

    Returns when the kernel has been compiled, or when the call must compile it itself.  A kernel that makes
    graphs is missing in a new cache.  Then the kernels of some functions follow those that the graph needs.

    Parameters
    ----------
    job : Job
        The kernel that the call will launch.
    """
    pool = _started()
    if pool is None:
        return
    pool.take(job)
    program = _program(job.module) if job.text else ""
    launch: Launch = program, "" if job.text else job.module, job.name, job.kinds
    jobs = _jobs(together(*launch), job, program)
    if program:
        # A run may take several texts of the library's programs; their list is exact.
        exact = [candidate for candidate in _jobs_of(_calls_with(launch), job) if candidate.text]
        if job in exact:
            rare = [
                candidate for candidate in exact if candidate.name in RARE and job.name not in RARE
            ]
            jobs = longest_first([candidate for candidate in jobs if not candidate.text] + exact)
            jobs = [candidate for candidate in jobs if candidate not in rare]
    pool.add(jobs)
    if job.module in MAKING and pool.processes >= ENOUGH:
        graphs, plain, weighted = followers(launch)
        if plain and pool.processes < MANY:  # weights may never come
            weighted = []
        for calls in (plain, graphs, weighted):  # this graph's own kernels are in `jobs`
            pool.add(
                [candidate for candidate in _jobs_of(calls, job) if candidate.name not in RARE],
                later=True,
            )
    pool.do(job)


def followers(launch: Launch) -> tuple[list[str], list[str], list[str]]:
    """Return listed calls that may follow the launch of a kernel that makes graphs.

    Parameters
    ----------
    launch : Launch

    Returns
    -------
    graphs : list of str
        Those that make graphs with it.
    plain, weighted : list of str
        Those of `NEXT` on such a graph, without weights and with them.
    """
    calls = _calls_with(launch)
    graphs = [call for call in calls if call.startswith(GRAPH)]
    functions = [call for call in calls if call.partition(",")[0] in NEXT]
    plain = [call for call in functions if "weights" not in call]
    return graphs, plain, [call for call in functions if call not in plain]


def _calls_with(launch: Launch) -> list[str]:
    return [call for call, launches in _calls() if launch in launches]


def _jobs_of(calls: list[str], beside: Job) -> list[Job]:
    """Return all kernels of listed calls."""
    if not calls:  # of what no list is needed
        return []
    jobs: list[Job] = provider("listed programs").jobs_of(calls, beside.capability)
    return jobs


def _program(module: str) -> str:
    """Return the program's name in the name of a generated module, between prefix and digest."""
    return module.removeprefix(PREFIX).rpartition("_")[0]


def module_with(program: str, text: str) -> str:
    """Return the name of the module with a program's kernels; see `_program`.

    Parameters
    ----------
    program : str
        Its name, with or without `PREFIX`.
    text : str
        Source of the module.
    """
    return f"{PREFIX}{program.removeprefix(PREFIX)}_{sha256(text.encode()).hexdigest()[:20]}"


def _jobs(launches: list[Launch], beside: Job, program: str) -> list[Job]:
    """Return jobs for launches of kernel modules and of the same program's kernels."""
    jobs = []
    for owner, module, name, kinds in launches:
        if not owner:
            jobs.append(Job(module, "", name, kinds, beside.capability))
        elif owner == program and f"def {name}(" in beside.text:
            jobs.append(beside._replace(name=name, kinds=kinds))
    return jobs
