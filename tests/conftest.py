"""What every test shares: the battery as fixtures, Hypothesis profiles, a code cache."""

from __future__ import annotations

import gc
import importlib
import math
import os
import pkgutil
import re
import signal
import sys
import tempfile
import threading
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from functools import lru_cache, wraps
from pathlib import Path
from typing import Any

import hypothesis
import pytest
from numba.core.dispatcher import Dispatcher
from shapes import SHAPES, hub
from verify import Edges

import cugraph_ws
from cugraph_ws.accelerators import VARIABLE
from cugraph_ws.errors import EngineError
from cugraph_ws.execution import stop_requests

# Graphs of Dask frames are divided, as large ones are; tests of a graph on one worker say `spread="one"`.
os.environ.setdefault("DASK_CUGRAPH_WS__SPREAD", "parts")

# Without the compiler a loop over edges is some hundred times slower: sizes follow.
COMPILED = os.environ.get("NUMBA_DISABLE_JIT", "0") in ("", "0")

hypothesis.settings.register_profile(
    "dev",
    deadline=None,  # the first example compiles
    max_examples=25,
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
)
hypothesis.settings.register_profile(
    "ci",
    hypothesis.settings.get_profile("dev"),
    derandomize=True,  # a failure in CI is a failure on every machine
    print_blob=True,
    database=None,
)
hypothesis.settings.load_profile("ci" if os.environ.get("CI") else "dev")


GROUP = re.compile(r"""^pytestmark = pytest\.mark\.xdist_group\("([\w ]+)"\)$""", re.MULTILINE)

FOLLOWED = pytest.StashKey[bool]()
CONTEXT = pytest.StashKey[str]()
EMULATED = re.compile(r"/test_(cuda_(?!codegen|compile)|emulator_|device_|cluster_device_)")
ON_GPU = re.compile("gpu|cuda|device", re.IGNORECASE)  # in the name or a value of a test
LONG = (  # what ci/test.sh leaves out: processes, random programs, peaks of memory, many programs to compile
    "tests/accelerators/",
    "tests/backends/test_cuda_listed_programs.py",
    "tests/bench/",
    "tests/cli/test_files.py",
    "tests/cli/test_warm_up.py",
    "tests/cluster/",
    "tests/execution/test_damaged_checkpoints.py",
    "tests/execution/test_pairs_of_options.py",
    "tests/execution/test_properties.py",
    "tests/execution/test_run_memory.py",
    "tests/fuzz/",
    "tests/graph/test_graph_cuda.py",
    "tests/graph/test_memory.py",
    "tests/networkx/test_suite.py",
    "tests/program/test_arithmetic.py",
    "tests/program/test_cuda_compile.py",
    "tests/program/test_nan_messages.py",
    "tests/program/test_order.py",
    "tests/program/test_feature_pairs.py",
    "tests/program/test_taken_back.py",
    "tests/runtime/test_ascii_locale.py",
    "tests/scripts/",
)
ACCELERATED = (  # what is skipped where accelerators are left out, beside tests with that mark
    "tests/accelerators/",
    "tests/backends/test_cuda_listed_programs.py",
    "tests/cluster/test_cluster_hub.py",
    "tests/cluster/test_cluster_two_hosts.py",
    "tests/program/test_cuda_compile.py",
)
LEFT_OUT = re.compile(f"leaves out the accelerator|is left out by {VARIABLE}")
MANY = 10  # named shapes: the battery
PRODUCTS = re.compile(
    r"^tests/((accelerators|algorithms|backends|graph|partition|program)/|execution/test_bytes_of_loops)"
)


@lru_cache
def group_of(path: str) -> str | None:
    """Return the group that a module's `pytestmark` names: its tests run in one worker, in turn."""
    found = GROUP.search((Path(__file__).parent.parent / path).read_text())
    return found and found[1]


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Serve `--dist loadgroup`, by the modules' text.

    With pytest 9.2 and pytest-xdist 3.8, groups get lost: marks travelled in a test's id, which
    cannot be changed any longer (pytest-xdist issue 1386).

    Without a group, a module's tests go to one worker as well: others would compile the same
    programs at the same time, and make the module's fixtures again.  What runs in the emulator
    compiles little that others have not; such tests come last, one by one, so that all workers end
    together.
    """
    if config.getvalue("dist") != "loadgroup":
        return None
    from xdist.scheduler import LoadScopeScheduling

    # where pytest-xdist is not installed, its class is of no known type
    class ByGroup(LoadScopeScheduling):  # type: ignore[misc, unused-ignore]
        def _split_scope(self, nodeid: str) -> str:
            return scope_of(nodeid)

    config.option.loadscopereorder = False  # by `pytest_collection_modifyitems`
    return ByGroup(config, log)


def scope_of(nodeid: str) -> str:
    """Return what a test runs in one worker with: its group, its module, or itself alone."""
    path = nodeid.partition("::")[0]
    return group_of(path) or (nodeid if EMULATED.search(path) else path)


@pytest.hookimpl(tryfirst=True)  # before `-m` chooses by marks
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark tests by what runs them; let workers begin with groups, and end with what is by itself."""
    mark_followed(items)
    mark_products(items)
    mark_long(items)
    skip_accelerated(items)
    if hasattr(config, "workerinput"):
        items.sort(key=lambda item: (scope_of(item.nodeid) == item.nodeid, not in_group(item)))


def skip_accelerated(items: list[pytest.Item]) -> None:
    """Skip the tests of what accelerators do, if some are left out."""
    if VARIABLE in os.environ:
        for item in items:
            if item.nodeid.startswith(ACCELERATED) or item.get_closest_marker("accelerated"):
                item.add_marker(pytest.mark.skip(f"{VARIABLE} leaves out accelerators"))


def in_group(item: pytest.Item) -> bool:
    """Return whether a test's module names a group."""
    return group_of(item.nodeid.partition("::")[0]) is not None


def mark_followed(items: list[pytest.Item]) -> None:
    """Have coverage follow a case of a test if a part of its id is new: each value once.

    The other combinations run as they do without coverage, which takes a quarter of the time.
    """
    seen: set[tuple[str, int, str]] = set()
    for item in items:
        test, _, case = item.nodeid.partition("[")
        values = {(test, place, value) for place, value in enumerate(case.split("-"))}
        item.stash[FOLLOWED] = not values <= seen
        seen |= values


def mark_products(items: list[pytest.Item]) -> None:
    """Mark as `product` the cases of full products that CI leaves out, and `ci/by_hand.sh products` runs.

    Left out are cases whose places, in the lists of values of all arguments, do not add up to the test's
    remainder modulo the length of the shortest list.  So each value occurs, and of three arguments or
    more each pair of values.  The battery of shapes in the emulator, and the two dozen kinds of loops that
    run on it there, are such a product as well: each loop runs on every fourth shape.
    """
    cases: dict[str, list[pytest.Item]] = {}
    for item in items:
        if PRODUCTS.search(item.nodeid) and hasattr(item, "callspec"):
            cases.setdefault(item.nodeid.partition("[")[0], []).append(item)
    for test, members in cases.items():
        places = list(zip(*_places([item.callspec.params for item in members]), strict=True))
        lengths = [len(set(column)) for column in zip(*places, strict=True)]
        is_battery = len(SHAPES.keys() & {item.callspec.id for item in members}) > MANY
        if is_battery and EMULATED.search(test):
            least = 4
        elif len(lengths) > 1 and math.prod(lengths) == len(set(places)):
            least = min(lengths)
        else:  # one argument, or pairs that are written one by one
            continue
        for item, place in zip(members, places, strict=True):
            if (sum(place) + zlib.crc32(test.encode())) % least:
                item.add_marker(pytest.mark.product)


def _places(cases: list[dict[str, Any]]) -> list[tuple[int, ...]]:
    """Return for each independent argument of a test, in each case, the place of its value in the list of all."""
    columns: dict[tuple[int, ...], None] = {}  # arguments that change together are one
    for name in cases[0]:
        known: dict[Any, int] = {}
        values = [case[name] for case in cases]
        keys = [
            (type(value), value if isinstance(value, int | float | str) else id(value))
            for value in values
        ]
        columns[tuple(known.setdefault(key, len(known)) for key in keys)] = None
    return [column for column in columns if len(set(column)) > 1]


def mark_long(items: list[pytest.Item]) -> None:
    """Mark as `long` what `ci/test.sh` leaves out and `ci/test.sh long` runs.

    Long are the tests of `LONG`; those of groups, which start processes; what a test says is
    long (`pytest.mark.long`); and what runs in the emulator, but for the first test of each of its modules.
    """
    modules: set[str] = set()
    for item in items:
        path, _, test = item.nodeid.partition("::")
        emulated = path in modules if EMULATED.search(path) else ON_GPU.search(test)
        modules.add(path)
        if path.startswith(LONG) or group_of(path) or emulated:
            item.add_marker(pytest.mark.long)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[bool | None]:
    """Have coverage note which file of tests it follows: `ci/module_tests.py` chooses by it."""
    path = item.nodeid.partition("::")[0]
    if "coverage" in sys.modules and item.config.stash.get(CONTEXT, None) != path:
        item.config.stash[CONTEXT] = path
        if (coverage := sys.modules["coverage"].Coverage.current()) is not None:
            coverage.switch_context(path)  # writes what has been noted
    return (yield)


@contextmanager
def unfollowed() -> Iterator[None]:
    """Have coverage rest."""
    tracer, of_threads = sys.gettrace(), threading.gettrace()
    sys.settrace(None)
    threading.settrace(None)  # type: ignore[arg-type]
    try:
        yield
    finally:
        threading.settrace(of_threads)  # type: ignore[arg-type]
        sys.settrace(tracer)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Have coverage rest where it need not follow; skip what asks for an accelerator that is left out."""
    with nullcontext() if item.stash[FOLLOWED] else unfollowed():
        try:
            return (yield)
        except EngineError as error:
            if VARIABLE not in os.environ or not LEFT_OUT.search(str(error)):
                raise
            pytest.skip(str(error))


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Collect tests without looking for garbage, since all of it stays, and without coverage.

    Coverage would take as long as the collection itself.  What it is to see there is the import of
    the library's modules, which comes first, and of the one of kernels that tests import.
    """
    if sys.gettrace() is not None:
        library = pkgutil.walk_packages(cugraph_ws.__path__, "cugraph_ws.")
        for name in (*(module.name for module in library), "cugraph_ws.kernels.cuda.primitives"):
            importlib.import_module(name)
    gc.disable()
    try:
        with unfollowed():
            return (yield)
    finally:
        gc.enable()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Let the caller choose the size of the battery."""
    parser.addoption(
        "--battery",
        choices=("full", "small"),
        default="full" if COMPILED else "small",
        help="size of the largest shapes: full (default), or small (default without a compiler)",
    )


def compile_unfollowed() -> None:
    """Have coverage rest while Numba compiles: it would look at every call of the compiler."""
    compile_ = Dispatcher.compile

    @wraps(compile_)
    def compile_alone(self: Any, signature: Any) -> Any:
        tracer = sys.gettrace()
        sys.settrace(None)
        try:
            return compile_(self, signature)
        finally:
            sys.settrace(tracer)

    Dispatcher.compile = compile_alone


def pytest_configure(config: pytest.Config) -> None:
    """Keep compiled programs between sessions, and out of the user's own cache."""
    # Many shapes list edges both ways, and are read as undirected on purpose.
    config.addinivalue_line("filterwarnings", "ignore::cugraph_ws.GraphWarning")
    if COMPILED:
        compile_unfollowed()
    cache = getattr(config, "cache", None)  # absent under `-p no:cacheprovider`
    folder = str(cache.mkdir("compiled")) if cache else tempfile.mkdtemp(prefix="compiled-")
    os.chmod(
        folder, 0o700
    )  # whatever the umask: the library uses no folder that others can write to
    os.environ.setdefault("CUGRAPH_WS_CACHE_DIR", folder)


def pytest_collection_finish() -> None:
    """Leave what is imported and collected to itself: a full collection of garbage looks at all of it."""
    gc.collect()
    gc.freeze()


@lru_cache
def battery(size: str) -> dict[str, Edges]:
    """Return every named shape, the hub in the size that was asked for."""
    return {**SHAPES, "hub": hub(100_000 if size == "full" else 1_000)}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a test that asks for `shape` once for each shape of the battery.

    `tiny_shape` leaves out what is too large for the plain Python engine.
    """
    shapes = battery(metafunc.config.getoption("battery"))
    for fixture, largest in (("shape", None), ("tiny_shape", 100)):
        if fixture in metafunc.fixturenames:
            chosen = {n: s for n, s in shapes.items() if largest is None or s.n <= largest}
            metafunc.parametrize(fixture, chosen.values(), ids=chosen.keys())


@pytest.fixture(params=["cpu", "python"])
def engine(request: pytest.FixtureRequest) -> str:
    """Each engine that runs on every machine."""
    return str(request.param)


@pytest.fixture
def usual_handler() -> Iterator[None]:
    """Have Ctrl-C raise: a shell starts what runs in its background with SIGINT ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def only_after_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have progress reported after each step only, also if one takes longer than a tenth of a second."""
    monkeypatch.setattr(stop_requests, "EVERY", math.inf)
