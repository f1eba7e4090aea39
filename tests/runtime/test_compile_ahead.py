"""Kernels are compiled ahead in other processes, and nothing but time depends on those."""

import os
import subprocess
import sys
import textwrap
import threading
import types

import pytest
from clusters import eventually
from conftest import COMPILED

from cugraph_ws.backends.cuda.listed_programs import jobs_of
from cugraph_ws.runtime import compile_ahead, compile_worker, device_compiler
from cugraph_ws.runtime.compile_ahead import Job, Pool, together
from cugraph_ws.runtime.generated import import_text, kernel_file
from cugraph_ws.runtime.paths import kernels_folder

JOBS = [Job("build", "", f"kernel_{number}", ("int64*",), (9, 0)) for number in range(4)]
# Answers as the process that compiles does, and writes down what it was given
ECHO = """
import json, sys
print(flush=True)
for number, line in enumerate(sys.stdin):
    with open(sys.argv[1], "a") as log:
        log.write(json.loads(line)[2] + "\\n")
    {then}
    print(number, flush=True)
"""


UNSHIPPED = (8, 7)  # a compute capability for which a checkout has no machine code


def echo(log, then="pass"):
    return [sys.executable, "-c", ECHO.format(then=then), str(log)]


@pytest.fixture
def pool(tmp_path):
    log = tmp_path / "log"
    log.touch()
    made = Pool(2, echo(log))
    yield made, lambda: log.read_text().split()
    made.close()
    eventually(lambda: not made._running)


def test_the_list_names_kernels_that_exist():
    for _, launches in compile_ahead._calls():
        for _, module, name, _ in launches:
            assert not module or f"def {name}(" in kernel_file("cuda", module).read_text()
    folder = kernels_folder()
    files = [*folder.glob("cuda/*.py"), *folder.glob("accelerators/*/*.py")]
    kernels = "".join(file.read_text() for file in files)
    assert all(f"def {name}(" in kernels for name in compile_ahead.SLOW)


@pytest.fixture
def calls(monkeypatch):
    a, b, c = (("", "build", name, ("int64",)) for name in "abc")
    mine = [("Mine", "", name, ("float64",)) for name in ("initialise", "traverse")]
    found = (
        ("one", frozenset([a, b])),
        ("two", frozenset([a, b, c])),
        ("three", frozenset([a, *mine])),
    )
    monkeypatch.setattr(compile_ahead, "_calls", lambda: found)


@pytest.mark.usefixtures("calls")
def test_what_most_calls_launch_is_launched_together():
    assert [one[2] for one in together("", "build", "a", ("int64",))] == ["b"]
    assert [one[2] for one in together("", "build", "c", ("int64",))] == ["a", "b"]
    assert together("", "build", "a", ("int32",)) == []


class Queues:
    """A pool that compiles nothing."""

    def __init__(self, processes):
        self.processes = processes
        self.taken, self.first, self.later, self.done = [], [], [], []

    def take(self, job):
        self.taken.append(job)

    def do(self, job):
        self.done.append(job)

    def add(self, jobs, *, later=False):
        (self.later if later else self.first).extend(jobs)


@pytest.fixture
def queued(monkeypatch):
    """Returns what a call that lacks a kernel queues."""

    def run(job, processes=15):
        pool = Queues(processes)
        monkeypatch.setattr(compile_ahead, "_started", lambda: pool)
        compile_ahead.needed(job)
        assert pool.taken == pool.done == [job]
        return pool

    return run


def listed_job(name, call="sssp, cuda, float64 weights"):
    return next(one for one in jobs_of([call], (9, 0)) if one.name == name)


@pytest.mark.parametrize("name", ["initialise", "traverse", "superstep"])
def test_all_texts_of_a_program_are_queued(queued, name):
    """SSSP has one for its frontier and one for gathers; the first kernel that is missing queues both."""
    job = listed_job(name)
    pool = queued(job)
    expected = {one for one in jobs_of(["sssp, cuda, float64 weights"], (9, 0)) if one.text}
    assert len({one.text for one in expected}) == 2
    assert expected - {job} <= set(pool.first)
    assert {one for one in pool.first if one.text} <= expected
    assert pool.later == []


@pytest.mark.parametrize(
    ("built_in", "kept", "expected"), [(False, False, 2), (False, True, 0), (True, False, 0)]
)
def test_kernels_of_a_users_program_are_foreseen(built_in, kept, expected, monkeypatch):
    """Unless the program is the library's, or the first kernel is in the cache."""
    jobs = [JOBS[0]._replace(text="text", name=name) for name in ("traverse", "initialise")]
    text = types.SimpleNamespace(program=types.SimpleNamespace(built_in=built_in))
    listed = types.SimpleNamespace(alike=lambda *given: jobs if given == (text, (9, 0)) else [])
    pool = Queues(1)
    monkeypatch.setattr(compile_ahead, "provider", lambda _: listed)
    monkeypatch.setattr(compile_ahead, "is_kept", lambda *given: kept and given == jobs[0][1:])
    monkeypatch.setattr(compile_ahead, "_started", lambda: pool)
    compile_ahead.foresee(text, (9, 0))
    assert pool.first == jobs[:expected]
    compile_ahead.foresee(lambda: "a text", (9, 0))
    assert pool.first == jobs[:expected]


def test_layouts_of_very_large_graphs_are_left_to_calls(queued):
    names = {one.name for one in queued(listed_job("take_stock", "pagerank, cuda")).first}
    assert "superstep" in names
    assert not names & set(compile_ahead.RARE)


@pytest.mark.parametrize("processes", [3, 4])
def test_functions_follow_a_graph_where_processes_are_enough(queued, processes):
    job = Job("split", "", "find_range", ("int64*", "int64", "int64*"), (9, 0))
    pool = queued(job, processes)
    assert {one.module for one in pool.first} >= {"build", "numbering"}
    names = [one.name for one in pool.later]
    assert ("traverse" in names) == (processes == 4)
    assert not set(names) & set(compile_ahead.RARE)


@pytest.mark.parametrize("content", [None, b"{", b"[]", b"\xff"])
def test_a_list_that_cannot_be_read_is_none(content, tmp_path, monkeypatch):
    path = tmp_path / "list.json"
    if content is not None:
        path.write_bytes(content)
    monkeypatch.setattr(compile_ahead, "LIST", path)
    assert compile_ahead._calls.__wrapped__() == ()


def test_jobs_are_done_once(pool):
    made, done = pool
    made.add(JOBS)
    made.add(JOBS)
    eventually(lambda: len(done()) == len(JOBS))
    assert sorted(done()) == [job.name for job in JOBS]


def test_jobs_are_waited_for(pool):
    made, done = pool
    made.wait()  # nothing to wait for
    made.add(JOBS)
    made.wait()
    assert sorted(done()) == [job.name for job in JOBS]


@pytest.mark.parametrize("command", [[sys.executable, "-c", "pass"], ["/nowhere/python"]])
def test_nothing_is_waited_for_where_no_process_begins(command):
    made = Pool(3, command)
    made.add(JOBS)
    made.wait()


def test_what_a_call_compiles_is_not_compiled_ahead(pool):
    made, done = pool
    made.take(JOBS[0])
    made.add(JOBS)
    eventually(lambda: len(done()) == len(JOBS) - 1)
    assert JOBS[0].name not in done()


def test_what_is_for_later_is_done_after_the_rest(tmp_path):
    """Unless a call needs it."""
    log = tmp_path / "log"
    log.touch()
    made = Pool(1, echo(log))
    try:
        with made._ready:  # nothing begins yet
            made.add(JOBS[:3], later=True)
            made.add(JOBS[3:])
            made.add(JOBS[2:3])
            made.add(JOBS[3:], later=True)  # it is queued already
            made.take(JOBS[1])
        made.wait()
    finally:
        made.close()
    assert log.read_text().split() == [JOBS[place].name for place in (3, 2, 0)]


def test_what_a_call_waits_for_is_done_first(tmp_path):
    """Also while all processes are busy; another call for it does not wait again."""
    log = tmp_path / "log"
    log.touch()
    made = Pool(1, echo(log))
    try:
        with made._ready:  # nothing begins yet
            made.add(JOBS[:3])
            made._busy = 2  # also the core of the call that waits
        made.do(JOBS[3])
        assert log.read_text().split() == [JOBS[3].name]
        made.do(JOBS[3])
        with made._ready:
            made._busy -= 2
            made._ready.notify_all()
        made.do(JOBS[2])  # it is queued, or being done, or done
        made.wait()
    finally:
        made.close()
    assert sorted(log.read_text().split()) == [job.name for job in JOBS]


def test_the_core_of_a_call_that_waits_is_used(tmp_path):
    """By its own job, so that another one may be done besides."""
    log, go = tmp_path / "log", tmp_path / "go"
    log.touch()
    wait = f"import os, time\n    while not os.path.exists({str(go)!r}): time.sleep(0.01)"
    made = Pool(1, echo(log, wait))
    try:
        with made._ready:
            made.add(JOBS[:3])
            call = threading.Thread(target=made.do, args=(JOBS[3],))
            call.start()
        eventually(lambda: len(made._sent) == 2)
        go.touch()
        call.join()
        made.wait()
    finally:
        made.close()
    assert sorted(log.read_text().split()) == [job.name for job in JOBS]


@pytest.mark.parametrize(
    "command", [[sys.executable, "-c", "pass"], ["/nowhere/python"], echo("/dev/null", "exit()")]
)
def test_a_call_does_not_wait_for_a_process_that_is_gone(command):
    made = Pool(2, command)
    made.do(JOBS[0])
    made.do(JOBS[1])
    Pool(0, command).do(JOBS[0])
    assert not made._done


def test_a_call_does_not_wait_for_ever(monkeypatch, tmp_path):
    monkeypatch.setattr(compile_ahead, "PATIENCE", 0.1)
    made = Pool(2, echo(tmp_path / "log", "import time; time.sleep(600)"))
    made.do(JOBS[0])
    assert made.processes == 0
    eventually(lambda: not made._running)
    made.do(JOBS[1])
    assert not made._done


def test_as_many_jobs_are_given_as_there_are_processes(tmp_path):
    log = tmp_path / "log"
    log.touch()
    silent = "import sys, time\nprint(flush=True)\nfor line in sys.stdin: open(sys.argv[1], 'a').write('x ')"
    made = Pool(3, [sys.executable, "-c", silent, str(log)])
    try:
        made.add(JOBS)
        eventually(lambda: len(log.read_text().split()) == 3)
        assert len(made._waiting) == 1
    finally:
        made.close()


def test_a_process_that_ends_loses_its_job_only(tmp_path):
    log = tmp_path / "log"
    log.touch()
    made = Pool(1, echo(log, "import os; os._exit(1)"))
    made.add(JOBS[:2])
    eventually(lambda: not made._running)
    assert log.read_text().split() == [JOBS[0].name]
    made.add(JOBS[2:])
    eventually(lambda: not made._running)
    assert log.read_text().split() == [JOBS[0].name, JOBS[1].name]


@pytest.mark.parametrize("command", [[sys.executable, "-c", "pass"], ["/nowhere/python"]])
def test_what_cannot_begin_is_no_error(command):
    made = Pool(3, command)
    made.add(JOBS)
    eventually(lambda: not made._running)


def test_processes_end_with_the_pool(tmp_path):
    log = tmp_path / "log"
    log.touch()
    made = Pool(2, echo(log, "import time; time.sleep(600)"))
    made.add(JOBS)
    eventually(lambda: log.read_text().split())
    process = made._process
    made.close()
    eventually(lambda: not made._running)
    assert process.poll() is not None


@pytest.mark.parametrize(
    ("asked", "least", "most"), [("0", 0, 0), ("3", 0, 3), ("", 0, 16), ("many", 0, 16)]
)
def test_processes_are_limited(asked, least, most, monkeypatch):
    monkeypatch.setenv(compile_ahead.VARIABLE, asked)
    assert least <= compile_ahead._processes() <= most
    monkeypatch.setattr(compile_ahead, "available_memory", lambda: 0)
    assert compile_ahead._processes() == 0


SERVED = """
import os, sys, threading, time
from cugraph_ws.runtime import compile_worker

def do(job):
    assert threading.active_count() == 1
    with open(sys.argv[1], "a") as log:
        log.write(f"{job.name} {os.getpid()}\\n")
    if job.name == "kernel_0":
        os.kill(os.getpid(), 9)
    if job.name == "kernel_3":
        time.sleep(600)

compile_worker._compile, compile_worker._use_first = do, lambda: None
compile_worker.main(2)
"""


def test_each_job_has_a_process_of_its_own(tmp_path):
    """One that is killed loses its job only, and all end with the pool."""
    pytest.importorskip("numba.cuda.extending", reason="Numba-CUDA is not installed")
    log = tmp_path / "log"
    log.touch()
    made = Pool(2, [sys.executable, "-c", SERVED, str(log)])
    try:
        made.add(JOBS[:3])
        made.wait()
        made.add(JOBS[3:])
        eventually(lambda: len(log.read_text().splitlines()) == len(JOBS))
    finally:
        made.close()
    names, processes = zip(*(line.split() for line in log.read_text().splitlines()), strict=True)
    assert sorted(names) == [job.name for job in JOBS]
    assert len(set(processes)) == len(JOBS)

    def ended(process):
        try:
            os.kill(int(process), 0)
        except ProcessLookupError:
            return True
        return False

    eventually(lambda: all(map(ended, processes)))


def test_the_process_imports_the_compiler_only():
    """And has one thread, so that it can be forked; nor does it see a GPU."""
    pytest.importorskip("numba.cuda.extending", reason="Numba-CUDA is not installed")
    report = (
        "; import os; print(len(os.listdir('/proc/self/task')), 'pyarrow' in sys.modules, "
        "'scipy.linalg' in sys.modules, 'cugraph_ws.algorithms' in sys.modules, "
        "os.environ['CUDA_VISIBLE_DEVICES'])"
    )
    code = compile_ahead._child(1).rstrip() + report
    surroundings = {**os.environ, **compile_ahead.SURROUNDINGS}
    done = subprocess.run(
        [sys.executable, "-c", code], env=surroundings, capture_output=True, check=True, input=b"",
    )  # fmt: skip
    assert done.stderr.split() == [b"1", b"False", b"False", b"False", b"-1"], (
        "its own output goes there"
    )


@pytest.mark.skipif(not COMPILED, reason="it compiles")
def test_forks_are_the_first_to_assemble(monkeypatch):
    """Forks of a process that has used nvJitLink crash in it."""
    pytest.importorskip("numba.cuda.extending", reason="Numba-CUDA is not installed")
    from cuda.bindings import nvjitlink

    from cugraph_ws.runtime import cuda_target

    def refuse(*_):
        raise AssertionError("it is assembled")

    monkeypatch.setattr(nvjitlink, "create", refuse)
    monkeypatch.setattr(compile_worker.gc, "freeze", lambda: None)
    used = []
    use_first = cuda_target.use_first
    monkeypatch.setattr(cuda_target, "use_first", lambda *given: used.append(use_first(*given)))
    compile_worker._use_first()
    assert used == [None], "it ended without an error"


@pytest.mark.skipif(not COMPILED, reason="it compiles")
def test_a_kernel_compiled_ahead_is_found(tmp_path, monkeypatch):
    """With what is launched with it: the call itself compiles nothing."""
    pytest.importorskip("numba.cuda.extending", reason="Numba-CUDA is not installed")
    cache = tmp_path / "cache"
    monkeypatch.setenv("CUGRAPH_WS_CACHE_DIR", str(cache))
    monkeypatch.setenv(compile_ahead.VARIABLE, "1")
    name, kinds = "count_ends", None
    for _, launches in compile_ahead._calls():
        for one in launches:
            if one[1:3] == ("build", name):
                kinds = one[3]
    text = kernel_file("cuda", "build").read_text()
    made = Pool(1)
    try:
        made.add([Job("build", "", name, kinds, UNSHIPPED)])
        eventually(lambda: list(cache.glob(f"cuda/{name}-*.cubin")))
    finally:
        made.close()

    def refuse(*_):
        raise AssertionError("it is in the cache")

    monkeypatch.setattr(device_compiler, "compile_kernel", refuse)
    binary = device_compiler.load_or_compile(text, name, kinds, UNSHIPPED, refuse, refuse)
    assert binary.name == name
    assert binary.code.startswith(b"\x7fELF")


@pytest.mark.skipif(not COMPILED, reason="it compiles")
def test_a_call_compiles_nothing_itself(tmp_path, monkeypatch):
    """A process compiles the kernel that a call waits for; one that cannot be compiled is the call's."""
    pytest.importorskip("numba.cuda.extending", reason="Numba-CUDA is not installed")
    monkeypatch.setenv("CUGRAPH_WS_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(compile_ahead, "together", lambda *_: [])
    monkeypatch.setattr(compile_ahead, "followers", lambda _: ([], [], []))
    made = Pool(1)
    monkeypatch.setattr(compile_ahead, "_started", lambda: made)
    module, name, kinds = "build", "take_low", ("int64*", "int64", "int64", "int32*")
    text = kernel_file("cuda", module).read_text()

    def ask(name):
        job = Job(module, "", name, kinds, UNSHIPPED)
        return device_compiler.load_or_compile(
            text,
            name,
            kinds,
            UNSHIPPED,
            lambda: pytest.fail("the call compiles"),
            lambda: compile_ahead.needed(job),
        )

    try:
        assert ask(name).code.startswith(b"\x7fELF")
        with pytest.raises(pytest.fail.Exception, match="the call compiles"):
            ask("no_kernel")
    finally:
        made.close()


@pytest.mark.parametrize(("processes", "queued"), [(2, ""), (4, "PG"), (8, "PGW")])
def test_more_is_queued_for_more_processes(processes, queued, monkeypatch):
    """Before a graph has weights, functions that need them only where many processes are free."""

    class Noted:
        def __init__(self):
            self.processes, self.later = processes, []

        def add(self, jobs, later=False):
            self.later += jobs if later else []

        def take(self, _):
            pass

        do = take

    made = Noted()
    monkeypatch.setattr(compile_ahead, "_started", lambda: made)
    monkeypatch.setattr(compile_ahead, "together", lambda *_: [])
    monkeypatch.setattr(compile_ahead, "followers", lambda _: (["G"], ["P"], ["W"]))
    monkeypatch.setattr(
        compile_ahead, "_jobs_of", lambda calls, _: [JOBS[0]._replace(name=one) for one in calls]
    )
    compile_ahead.needed(JOBS[0])
    assert "".join(job.name for job in made.later) == queued


def test_a_process_starts_where_a_users_program_is_expected(monkeypatch, tmp_path):
    """Once there is a GPU as well, or a library for GPUs."""
    began = []

    class Noted:
        def begin(self):
            began.append(None)

    monkeypatch.setattr(compile_ahead, "_signs", set())
    monkeypatch.setattr(compile_ahead, "_started", Noted)
    monkeypatch.setattr(compile_ahead, "GPU_LIBRARIES", ("a library of GPUs",))
    monkeypatch.setattr(compile_ahead, "DRIVERS", (str(tmp_path / "driver"), str(tmp_path)))
    compile_ahead.expect("program")
    compile_ahead.expect("program")
    assert began == []
    compile_ahead.expect("GPU")
    assert began == [None]
    monkeypatch.setitem(sys.modules, "a library of GPUs", types.ModuleType("mine"))
    monkeypatch.setattr(compile_ahead, "_signs", set())
    compile_ahead.expect("GPU")
    assert began == [None], "no program of a user's"
    monkeypatch.setattr(compile_ahead, "_signs", set())
    compile_ahead.expect("program")
    assert began == [None, None]
    monkeypatch.setattr(compile_ahead, "_signs", set())
    monkeypatch.setattr(compile_ahead, "DRIVERS", (str(tmp_path / "driver"),))
    compile_ahead.expect("program")
    assert began == [None, None], "no driver"
    monkeypatch.setattr(compile_ahead, "_started", lambda: None)
    compile_ahead.expect("GPU")


def test_the_process_keeps_the_last_texts():
    pytest.importorskip("numba.cuda.extending", reason="Numba-CUDA is not installed")
    texts: list[str] = []
    jobs = [
        Job(f"text_of_the_process_{number}", f"def f():\n    return {number}\n", "f", (), (9, 0))
        for number in range(compile_worker.TEXTS + 2)
    ]
    try:
        for job in [*jobs, jobs[3], Job("no_such_module", "", "f", (), (9, 0)), jobs[0]]:
            compile_worker._import(job, texts)
        assert texts == [job.module for job in [*jobs[4:], jobs[3], jobs[0]]]
        assert [job.module in sys.modules for job in jobs] == [job.module in texts for job in jobs]
    finally:
        for job in jobs:
            sys.modules.pop(job.module, None)


def test_an_error_of_what_foresees_fails_no_run(monkeypatch):
    def fail(*_):
        raise ValueError("a defect")

    text = types.SimpleNamespace(program=types.SimpleNamespace(built_in=False))
    monkeypatch.setattr(compile_ahead, "provider", lambda _: types.SimpleNamespace(alike=fail))
    compile_ahead.foresee(text, (9, 0))


def test_programs_of_the_library_are_not_expected(monkeypatch):
    monkeypatch.setattr(compile_ahead, "_signs", set())
    monkeypatch.setattr(compile_ahead, "_started", lambda: None)
    text = """
    import cugraph_ws as ws
    @ws.vertex_program
    class Mine:
        x: ws.int64
        combine = sum
        def init(vertex):
            return 1
        def compute(src):
            return src.x
        def apply(old, gathered):
            return gathered
    """
    for name, expected in (("cugraph_ws.algorithms.mine", set()), ("mine", {"program"})):
        import_text(name, textwrap.dedent(text))
        assert compile_ahead._signs == expected
