"""What the CUDA engine knows of devices: signatures, the cache of machine code, no GPU at all."""

from __future__ import annotations

import builtins
import ctypes
import struct
import subprocess
import sys
import threading
from importlib import metadata
from types import SimpleNamespace

import numpy as np
import pytest
from emulator.device import EmulatedDevice, emulated

import cugraph_ws as ws
from cugraph_ws.contract import choose_engine
from cugraph_ws.errors import EngineError
from cugraph_ws.runtime import arrays, driver, pools, shipped
from cugraph_ws.runtime import device as devices
from cugraph_ws.runtime import device_compiler as compiler
from cugraph_ws.runtime.device_compiler import Binary, load_or_compile
from cugraph_ws.runtime.device_functions import compilers
from cugraph_ws.runtime.driver import Gpu, installed_gpus
from cugraph_ws.runtime.signature import Parameters, kind_of, marshal


class Fake:
    """An array as a GPU's library has it: its memory's address is at `.data.ptr`."""

    def __init__(self, dtype, pointer=0x1234, ndim=1, contiguous=True, step=None):
        self.dtype = np.dtype(dtype)
        self.ndim = ndim
        step = self.dtype.itemsize * (1 if contiguous else 2) if step is None else step
        self.strides = (step,) * ndim
        self.flags = SimpleNamespace(c_contiguous=contiguous)
        self.data = SimpleNamespace(ptr=pointer)


# ---------------------------------------------------------------------------------- signatures


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (True, "bool"),
        (np.True_, "bool"),
        (3, "int64"),
        (np.int32(3), "int32"),
        (np.uint32(3), "uint32"),
        (np.uint64(3), "uint64"),
        (0.5, "float64"),
        (np.float32(0.5), "float32"),
        (Fake("float64"), "float64*"),
        (Fake("int32"), "int32*"),
        (Fake("uint8"), "uint8*"),
        (Fake("bool"), "uint8*"),
        (Fake("int32", step=12), "int32*"),  # one element of every third
        (np.zeros(2, np.int8), "int8*"),
        ((), ()),
        ((Fake("int64"), (1, 2.0)), ("int64*", ("int64", "float64"))),
    ],
)
def test_kinds(value, kind):
    assert kind_of(value) == kind


@pytest.mark.parametrize(
    "value",
    [
        Fake("complex64"),
        Fake("int16"),
        Fake("float64", ndim=2),
        Fake("float64", contiguous=False),
        np.int16(1),
        np.complex64(1),
    ],
    ids=lambda value: f"{value.dtype} {value.ndim}",
)
def test_arguments_that_no_kernel_takes(value):
    with pytest.raises(TypeError, match="a kernel takes no"):
        kind_of(value)


def lying_at(parameters, c_types):
    """Return what a driver reads that takes parameters for values of such types."""
    places = (ctypes.c_void_p * len(c_types)).from_address(parameters.table.value)
    return [kind.from_address(place).value for kind, place in zip(c_types, places, strict=True)]


def test_parameters_are_c_values():
    given = (Fake("bool", 7), (5, np.int32(-3)), True, 0.5, np.float32(0.25), (), np.longlong(-9))
    marshalled = marshal(given)
    assert marshalled.kinds == tuple(map(kind_of, given))
    types = [
        ctypes.c_void_p, ctypes.c_int64, ctypes.c_int32, ctypes.c_bool, ctypes.c_double,
        ctypes.c_float, ctypes.c_int64,
    ]  # fmt: skip
    parameters = Parameters(marshalled)
    assert lying_at(parameters, types) == [7, 5, -3, True, 0.5, 0.25, -9]
    parameters.change(2, False)
    parameters.change(6, 1 << 40)
    assert lying_at(parameters, types) == [7, 5, -3, False, 0.5, 0.25, 1 << 40]


def test_a_number_that_no_parameter_holds():
    with pytest.raises(struct.error):
        Parameters(marshal((1 << 63,)))


# --------------------------------------------------------------------- the cache of machine code

BINARY = Binary(name="add", registers=12, spilled=0, stack=0, shared=64, code=b"\x7fELF\n\x00end")
KINDS = ("int64", ("float64*", "int32*"))


@pytest.fixture
def compiles(monkeypatch, tmp_path):
    """Count compilations, which give a binary of nothing; the cache is the test's own."""
    made = []

    def compile_kernel(function, kinds, capability):
        made.append((function, kinds, capability))
        return BINARY

    monkeypatch.setenv("CUGRAPH_WS_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(compiler, "compile_kernel", compile_kernel)
    monkeypatch.setenv("CUGRAPH_WS_COMPILERS", "0")
    return made


def load_it(text="text", name="add", kinds=KINDS, capability=(9, 0)):
    return load_or_compile(text, name, kinds, capability, lambda: "function")


def files(tmp_path):
    return sorted((tmp_path / "cache" / "cuda").iterdir())


def test_a_second_load_compiles_nothing(compiles, tmp_path):
    assert load_it() == BINARY
    assert load_it() == BINARY
    assert compiles == [("function", KINDS, (9, 0))]
    assert [path.suffix for path in files(tmp_path)] == [".cubin"]


def test_the_function_is_not_even_made(compiles):
    load_it()

    def refuse():
        raise AssertionError("made")

    assert load_or_compile("text", "add", KINDS, (9, 0), refuse) == BINARY


@pytest.mark.parametrize(
    "other",
    [{"text": "other"}, {"name": "sub"}, {"kinds": ("int64",)}, {"capability": (8, 0)}],
    ids=lambda other: next(iter(other)),
)
def test_anything_else_is_compiled(other, compiles, tmp_path):
    load_it()
    load_it(**other)
    assert len(compiles) == len(files(tmp_path)) == 2


def test_other_compilers_compile_anew(compiles, monkeypatch):
    load_it()
    monkeypatch.setattr(compiler, "_compilers", lambda: ("another version",))
    load_it()
    assert len(compiles) == 2


@pytest.mark.parametrize("package", ["numba", "numba-cuda", "cuda-bindings"])
def test_the_name_of_an_entry_has_the_compilers_versions(package, fresh_compilers, monkeypatch):
    before = compiler._compilers()
    forget_compilers()
    assert compiler._compilers() == before
    replace_version(package, monkeypatch)
    assert compiler._compilers() != before


@pytest.fixture
def fresh_compilers():
    """Versions are read anew, in the test and after it."""
    forget_compilers()
    yield
    forget_compilers()


def forget_compilers():
    compiler._compilers.cache_clear()
    compilers.cache_clear()


def replace_version(package, monkeypatch):
    version = metadata.version
    monkeypatch.setattr(metadata, "version", lambda name: {package: "0.1"}.get(name, version(name)))
    forget_compilers()


@pytest.fixture
def ships(compiles, monkeypatch, tmp_path):
    """Code that came with the library for one kernel; the cache is empty."""
    load_it()
    folder = tmp_path / "shipped"
    (tmp_path / "cache" / "cuda").rename(folder)
    monkeypatch.setattr(shipped, "FOLDER", folder)
    compiles.clear()
    return compiles


@pytest.mark.usefixtures("fresh_compilers")
def test_code_that_ships_is_loaded(ships, monkeypatch, tmp_path):
    monkeypatch.setattr(compiler, "single_flight", None)  # nothing is waited for
    assert load_it() == BINARY
    monkeypatch.setattr(compiler, "code_folder", lambda: None)
    assert load_it() == BINARY
    assert not ships
    assert not (tmp_path / "cache" / "cuda").exists()


@pytest.mark.parametrize(
    "other",
    [{"text": "edited"}, {"kinds": ("int64",)}, *({"capability": (8, n)} for n in (0, 6, 9))],
    ids=str,
)
def test_code_that_ships_for_something_else_is_not_loaded(other, ships):
    load_it(**other)
    assert len(ships) == 1


@pytest.mark.usefixtures("fresh_compilers")
@pytest.mark.parametrize("package", ["numba", "numba-cuda", "cuda-bindings"])
def test_code_that_ships_of_another_compiler_is_not_loaded(package, ships, monkeypatch):
    replace_version(package, monkeypatch)
    load_it()
    assert len(ships) == 1


def test_damaged_code_that_ships_is_not_loaded(ships, tmp_path):
    (path,) = (tmp_path / "shipped").iterdir()
    path.write_bytes(path.read_bytes()[:-1])
    assert load_it() == BINARY
    assert len(ships) == 1


@pytest.mark.parametrize(
    "damage",
    [
        lambda whole: whole[:-3],
        lambda whole: whole[:10],
        lambda whole: b"",
        lambda whole: b"{}\n" + whole,
        lambda whole: b"\xff\xfe" + whole,
    ],
    ids=["cut off", "cut off early", "empty", "other facts", "no text"],
)
def test_a_damaged_file_is_made_again(damage, compiles, tmp_path):
    load_it()
    (path,) = files(tmp_path)
    path.write_bytes(damage(path.read_bytes()))
    assert load_it() == BINARY
    assert len(compiles) == 2
    assert load_it() == BINARY
    assert len(compiles) == 2, "the new file is whole"


def test_a_folder_that_cannot_be_written_to(compiles, monkeypatch, tmp_path):
    """Then it is kept as long as the process is."""
    (tmp_path / "cache").write_text("a file where the folder would be")
    text = str(tmp_path)  # no other test has it
    assert load_it(text) == BINARY
    assert load_it(text) == BINARY
    assert len(compiles) == 1


def test_nowhere_at_all(compiles, monkeypatch, tmp_path):
    monkeypatch.setattr(compiler, "code_folder", lambda: None)
    assert load_it() == BINARY
    assert load_it() == BINARY
    assert len(compiles) == 2
    assert not (tmp_path / "cache").exists()


def test_a_folder_of_others_is_not_read(compiles, tmp_path):
    load_it()
    (tmp_path / "cache" / "cuda").chmod(0o777)
    load_it()
    assert len(compiles) == 2


# ------------------------------------------------------------------------------ without a driver


@pytest.fixture
def no_driver(monkeypatch):
    """Let the driver's library be missing, whatever this machine has."""

    def refuse(name):
        raise OSError(f"{name}: cannot open shared object file")

    monkeypatch.setattr(driver.ctypes, "CDLL", refuse)
    driver._library.cache_clear()
    yield
    driver._library.cache_clear()


@pytest.mark.usefixtures("no_driver")
def test_without_a_driver():
    assert installed_gpus() == []
    assert not devices.has_device()
    with pytest.raises(EngineError, match=r"needs an NVIDIA GPU and its driver.*engine='cpu'"):
        devices.device()
    with pytest.raises(EngineError):
        choose_engine("cuda")
    assert choose_engine("auto") == "cpu"


def test_a_driver_without_a_gpu(monkeypatch):
    """`cuInit` fails where there is a driver and no GPU."""
    monkeypatch.setattr(driver.ctypes, "CDLL", lambda name: SimpleNamespace(cuInit=lambda _: 100))
    driver._library.cache_clear()
    assert installed_gpus() == []
    driver._library.cache_clear()


class Driver:
    """A driver of one GPU, as far as it is asked."""

    def __init__(self, refuses=()):
        self.refuses = refuses
        self.launched = []
        self.allowed = []

    def __getattr__(self, name):
        if not name.startswith("cu"):
            raise AttributeError(name)
        return lambda *given: (
            719 if name in self.refuses else getattr(self, f"do_{name[2:]}")(*given)
        )

    def do_Init(self, flags):
        return 0

    def do_DeviceGetCount(self, number):
        number._obj.value = 1
        return 0

    def do_DeviceGet(self, handle, place):
        return 0

    def do_DeviceGetName(self, name, size, handle):
        name.value = b"Emulated"
        return 0

    def do_DeviceTotalMem_v2(self, size, handle):
        size._obj.value = 1 << 33
        return 0

    def do_DeviceGetUuid_v2(self, sixteen, handle):
        sixteen[:] = range(16)
        return 0

    def do_DeviceGetAttribute(self, value, number, handle):
        value._obj.value = {
            75: 9, 76: 0, 16: 132, 38: 1 << 25, 97: 227 << 10, 115: 1,
            36: 2_619_000, 37: 5120, 39: 2048,
        }[number]  # fmt: skip
        return 0

    def do_GetErrorString(self, result, text):
        text._obj.value = b"unspecified launch failure"
        return 0

    def do_ModuleLoadData(self, module, code):
        return 0

    def do_ModuleGetFunction(self, handle, module, name):
        return 0

    def do_LaunchKernel(self, function, *given):
        self.launched.append([one.value for one in given[:8]])
        return 0

    def do_LaunchCooperativeKernel(self, function, *given):
        self.launched.append([*(one.value for one in given[:8]), "cooperative"])
        return 0

    def do_FuncSetAttribute(self, function, attribute, value):
        self.allowed.append((attribute.value, value.value))
        return 0

    def do_OccupancyMaxActiveBlocksPerMultiprocessor(self, number, function, block, shared):
        number._obj.value = 2048 // block.value
        return 0


@pytest.fixture
def fake_driver(monkeypatch):
    library = Driver()
    monkeypatch.setattr(driver, "_library", lambda: library)
    return library


def test_facts_of_a_gpu_from_the_driver(fake_driver):
    assert installed_gpus() == [
        Gpu(
            name="Emulated",
            memory=1 << 33,
            capability=(9, 0),
            multiprocessors=132,
            cache=1 << 25,
            uuid="GPU-00010203-0405-0607-0809-0a0b0c0d0e0f",
            pools=True,
            shared=227 << 10,
            bandwidth=3352.32e9,
            threads=2048,
        )
    ]
    assert devices.has_device()


def test_a_function_is_launched(fake_driver):
    function = driver.load_function(b"code", "add")
    table = (ctypes.c_void_p * 1)()
    function.launch(3, 64, table, 17)
    function.launch(3, 64, table, 17, cooperative=True)
    shape = [3, 1, 1, 64, 1, 1, 0, 17]
    assert fake_driver.launched == [shape, [*shape, "cooperative"]]
    assert function.resident_blocks(256) == 8


def test_a_launch_asks_for_shared_memory(fake_driver):
    """More than 48 KiB of a block must be allowed before."""
    function = driver.load_function(b"code", "add")
    function.allow_shared(96 << 10)
    function.launch(3, 64, None, 17, shared=96 << 10)
    assert fake_driver.allowed == [(8, 96 << 10)]
    assert fake_driver.launched == [[3, 1, 1, 64, 1, 1, 96 << 10, 17]]
    fake_driver.refuses = ("cuFuncSetAttribute",)
    with pytest.raises(EngineError, match=r"asking for 98304 bytes of shared memory"):
        function.allow_shared(96 << 10)


@pytest.mark.parametrize("helps", [True, False])
def test_a_thread_without_a_context_is_given_one(fake_driver, monkeypatch, helps):
    """Its first call may be a launch, if all memory that it needs is kept."""
    needs = ("ModuleLoadData", "LaunchKernel", "OccupancyMaxActiveBlocksPerMultiprocessor")
    bound = []

    def without(name):
        usual = getattr(fake_driver, f"do_{name}")
        return lambda *given: usual(*given) if bound and helps else 201

    for name in needs:
        monkeypatch.setattr(fake_driver, f"do_{name}", without(name), raising=False)
    runtime = SimpleNamespace(free=bound.append)
    monkeypatch.setitem(sys.modules, "cupy", SimpleNamespace(cuda=SimpleNamespace(runtime=runtime)))
    monkeypatch.setitem(sys.modules, "cupy.cuda", SimpleNamespace(runtime=runtime))
    function = driver.Function(ctypes.c_void_p(), ctypes.c_void_p())
    for work in (
        lambda: driver.load_function(b"code", "add"),
        lambda: function.launch(3, 64, (ctypes.c_void_p * 1)(), 0),
        lambda: function.resident_blocks(256),
    ):
        bound.clear()
        if helps:
            work()
        else:
            with pytest.raises(EngineError, match="error 201"):
                work()
        assert bound == [0]


def test_a_failing_launch_says_why(fake_driver):
    function = driver.load_function(b"code", "add")
    fake_driver.refuses = ("cuLaunchKernel",)
    with pytest.raises(EngineError, match=r"launching 3 blocks of 64 threads.*launch failure.*719"):
        function.launch(3, 64, None, 0)
    fake_driver.refuses = ("cuModuleLoadData",)
    with pytest.raises(EngineError, match="loading add"):
        driver.load_function(b"code", "add")


def test_a_gpu_without_cupy(fake_driver, monkeypatch):
    present = builtins.__import__

    def refuse(name, *given, **options):
        if name == "cupy":
            raise ImportError(name)
        return present(name, *given, **options)

    monkeypatch.setattr(builtins, "__import__", refuse)
    with pytest.raises(EngineError, match=r'pip install .*"cudf-cu13[<=>]'):
        devices.device()


# ---------------------------------------------------------------------------- the current device


class Stream:
    ptr = 23

    def synchronize(self):
        self.synchronized = True


def cupy_of(stream):
    """Return what `CudaDevice` asks CuPy for."""
    return SimpleNamespace(
        asnumpy=np.array,
        cuda=SimpleNamespace(
            get_current_stream=lambda: stream,
            runtime=SimpleNamespace(memGetInfo=lambda: (1000, 5000)),
        ),
    )


class Pool:
    """Freed memory that is kept."""

    def __init__(self, kept):
        self.kept = kept

    def free_bytes(self):
        return self.kept

    def free_all_blocks(self):
        self.kept = 0


class Entered:
    """A context manager that writes down in which thread it is entered."""

    def __init__(self, name, entered):
        self._name, self._entered = name, entered

    def __enter__(self):
        self._entered.append((self._name, threading.get_ident()))

    def __exit__(self, *error):
        self._entered.append(("left", threading.get_ident()))


def test_work_on_another_stream_is_done_on_the_default_one(fake_driver, monkeypatch):
    queued = []

    class Stream:
        def __init__(self, ptr):
            self.ptr = ptr

        def __enter__(self):
            queued.append(("enter", self.ptr))

        def __exit__(self, *error):
            queued.append(("leave", self.ptr))

        def wait_event(self, event):
            queued.append((self.ptr, "waits for", event.recorded))

    class Event:
        def __init__(self, disable_timing):
            assert disable_timing

        def record(self, stream):
            self.recorded = stream.ptr

    Stream.null, current = Stream(0), [Stream(23)]
    cuda = SimpleNamespace(Stream=Stream, Event=Event, get_current_stream=lambda: current[0])
    monkeypatch.setitem(sys.modules, "cupy", SimpleNamespace(cuda=cuda))
    expected = [(0, "waits for", 23), ("enter", 0), ("leave", 0), (23, "waits for", 0)]
    with pytest.raises(ValueError, match="planned"):
        arrays.in_default_stream(int)("planned")
    assert queued == expected
    current[0] = Stream.null
    with arrays.on_default_stream():
        assert queued == expected
    current[0] = Stream(23)
    monkeypatch.setattr(driver, "_library", lambda: None)  # CuPy without a GPU asks for none
    with arrays.on_default_stream():
        assert queued == expected


def test_another_thread_uses_the_gpu_and_the_stream_of_this_one(fake_driver):
    entered = []
    cupy = cupy_of(Entered("stream", entered))
    cupy.cuda.Device = lambda: Entered("gpu", entered)
    there = devices.CudaDevice(cupy, installed_gpus()[0]).here()
    cupy.cuda.get_current_stream = cupy.cuda.Device = None  # in the other thread, not these

    def work():
        with there():
            entered.append(("work", threading.get_ident()))

    other = threading.Thread(target=work)
    other.start()
    other.join()
    assert [name for name, _ in entered] == ["gpu", "stream", "work", "left", "left"]
    assert {thread for _, thread in entered} == {other.ident}


def test_the_current_gpu(fake_driver, compiles):
    stream = Stream()
    pool = Pool(234)
    here = devices.CudaDevice(cupy_of(stream), installed_gpus()[0], pool)
    assert here.multiprocessors == 132
    assert here.blocks_for(0, 64) == 1
    assert here.blocks_for(65, 64) == 2
    assert here.blocks_for(1 << 40, 64) == devices.BLOCKS_A_MULTIPROCESSOR * 132
    assert here.free_memory() == 1234
    here.trim()
    assert pool.kept == 234, "little is kept for the next arrays"
    here.trim(everything=True)
    assert pool.kept == 0
    pool.kept = pools.KEPT
    here.trim()
    assert pool.kept > 0
    pool.kept += 1
    here.trim()
    assert pool.kept == 0
    foreign = devices.CudaDevice(cupy_of(stream), installed_gpus()[0])
    foreign.trim(everything=True)
    assert foreign.free_memory() == 1000
    assert here.to_host([1, 2]).tolist() == [1, 2]
    assert here.downloads == 1
    here.synchronize()
    assert stream.synchronized

    module = here.module("merge")
    assert here.module("merge") is module
    given = (Fake("float64"), Fake("int64"), Fake("int64"), 5, Fake("float64"))
    module.launch("least_of_runs", 0, 64, *given)  # no blocks: nothing happens
    assert fake_driver.launched == []
    module.launch("least_of_runs", 3, 64, *given)
    again = module.prepare("least_of_runs", 4, 64, *given)
    again()
    again()
    assert [one[0] for one in fake_driver.launched] == [3, 4, 4]
    assert [one[7] for one in fake_driver.launched] == [23] * 3
    module.launch("least_of_runs", 3, 64, *given, shared=here.shared_memory)
    assert here.shared_memory == 223 << 10
    assert fake_driver.launched.pop()[6] == 223 << 10
    assert fake_driver.allowed == [(8, 223 << 10)]
    ((key, (function, _)),) = module._loaded.items()
    module._loaded[key] = function, 32  # as if a thread took so many registers
    module.launch("least_of_runs", 3, 64, *given)
    assert fake_driver.launched.pop()[3] == 32
    module._loaded[key] = function, 0
    for items, blocks in ((1, 1), (1 << 40, 8 * 132)):
        module.prepare_together("least_of_runs", items, 256, *given)()
        first, *_, last = fake_driver.launched[-1]
        assert (first, last) == (blocks, "cooperative")
    assert len(compiles) == 1


def test_registers_bound_the_threads_of_a_block():
    counts = {0: 0, 76: 800, 80: 800, 138: 448, 255: 256}
    assert {one: devices._most_threads(one) for one in counts} == counts


class Resource(SimpleNamespace):
    """One of RMM's resources; its memory's address is the handle of the driver's pool, or 0."""

    pool = 0
    given = 0  # arrays in use

    def allocate(self, size):
        self.given += 1
        return self.pool

    def deallocate(self, pointer, size):
        self.given -= 1


def use(monkeypatch, resource):
    """Let RMM take memory from a resource."""
    monkeypatch.setattr(pools, "pool_of", lambda pointer: pointer)
    module = sys.modules.get("rmm") or SimpleNamespace(mr=SimpleNamespace())
    module.mr.get_current_device_resource = lambda: resource
    monkeypatch.setitem(sys.modules, "rmm", module)


class RmmPool(Pool):
    """Stands for CuPy's pool over RMM: keeps what is freed, here all that was allocated."""

    def __init__(self, allocate):
        super().__init__(0)
        self.allocate = allocate

    def malloc(self, size):
        found = self.allocate(size)
        self.kept += size
        return found


@pytest.fixture
def rmm(monkeypatch):
    """RMM on a GPU of 1,000 bytes, and a CuPy that takes memory from it."""
    state = SimpleNamespace(allocator="CuPy's", pool=None)

    def allocate(size):
        if state.pool.kept + size > 1000:
            raise MemoryError("std::bad_alloc")
        return size

    def make_pool(given):
        assert given is allocate
        state.pool = RmmPool(given)
        return state.pool

    module = SimpleNamespace(
        allocators=SimpleNamespace(cupy=SimpleNamespace()),
        mr=SimpleNamespace(),
    )
    module.allocators.cupy.rmm_cupy_allocator = allocate
    monkeypatch.setitem(sys.modules, "rmm", module)
    use(monkeypatch, Resource())
    monkeypatch.setitem(sys.modules, "rmm.allocators", module.allocators)
    monkeypatch.setitem(sys.modules, "rmm.allocators.cupy", module.allocators.cupy)
    monkeypatch.setattr(pools.importlib.util, "find_spec", lambda name: name == "rmm")
    state.xp = SimpleNamespace(
        get_default_memory_pool=lambda: SimpleNamespace(malloc="CuPy's"),
        cuda=SimpleNamespace(
            MemoryPool=make_pool,
            get_allocator=lambda: state.allocator,
            set_allocator=lambda given: setattr(state, "allocator", given),
        ),
    )
    return state


def test_kept_memory_is_released_before_memory_runs_out(rmm, monkeypatch):
    monkeypatch.setattr(pools, "POOLED", 100)
    pools.shared_pool(rmm.xp, 300 * pools.POOLED_PART)
    assert [rmm.allocator(size) for size in (300, 301, 300)] == [300, 301, 300]
    assert rmm.pool.kept == 600, "greater ones go straight back"
    assert rmm.allocator(500) == 500
    assert rmm.pool.kept == 0
    rmm.allocator(300)
    assert rmm.allocator(1000) == 1000
    with pytest.raises(MemoryError):
        rmm.allocator(1001)


def test_less_memory_is_kept_with_an_rmm_pool(rmm, monkeypatch, fake_driver):
    monkeypatch.setattr(pools, "POOLED", 100)
    shared = pools.shared_pool(rmm.xp, 300 * pools.POOLED_PART)
    pool = rmm.pool
    use(monkeypatch, Resource(pool_size=lambda: 0))
    assert [rmm.allocator(size) for size in (100, 101, 300)] == [100, 101, 300]
    assert pool.kept == 100

    monkeypatch.setattr(pools, "KEPT_PART", 4)
    here = devices.CudaDevice(cupy_of(Stream()), installed_gpus()[0], shared)
    own = Resource(pool_size=lambda: 0)
    for resource, kept in ((Resource(), 1 << 31), (Resource(pool=1), 1 << 31), (own, 0)):
        use(monkeypatch, resource)
        pool.kept = 1 << 31
        here.trim()
        assert pool.kept == kept


def test_an_allocator_of_the_callers_stays(rmm):
    rmm.allocator = "the caller's"
    assert pools.shared_pool(rmm.xp, 300 * pools.POOLED_PART) is None
    assert rmm.allocator == "the caller's"


def test_the_allocator_that_cudf_sets_is_replaced(rmm, fake_driver):
    usual = sys.modules["rmm.allocators.cupy"].rmm_cupy_allocator
    shared = pools.shared_pool(rmm.xp, 300 * pools.POOLED_PART)
    here = devices.CudaDevice(cupy_of(Stream()), installed_gpus()[0], shared)
    pooled = rmm.allocator
    assert pooled is not usual
    rmm.allocator = usual
    here.keep_pool()
    assert rmm.allocator is pooled
    rmm.allocator = "the caller's"
    here.keep_pool()
    assert rmm.allocator == "the caller's"


def test_free_memory_counts_what_rmm_holds(fake_driver, monkeypatch):
    stream = Stream()
    cupy = cupy_of(stream)
    cupy.cuda.runtime.cudaMemPoolAttrReservedMemCurrent = 5
    cupy.cuda.runtime.cudaMemPoolAttrUsedMemCurrent = 7
    told = {(9, 5): 700, (9, 7): 400}
    cupy.cuda.runtime.memPoolGetAttribute = lambda *asked: told[asked]
    here = devices.CudaDevice(cupy, installed_gpus()[0])
    usual = Resource()
    of_driver = Resource(pool=9)
    of_rmm = Resource(pool=9, pool_size=lambda: 55, get_upstream=lambda: usual)
    counted = Resource(get_upstream=lambda: of_driver)
    for resource, more in ((usual, 0), (of_driver, 300), (of_rmm, 55), (counted, 300), (usual, 0)):
        use(monkeypatch, resource)
        assert here.free_memory() == 1000 + more
        assert here.free_memory() == 1000 + more, "asked of the driver or known"
        assert resource.given == 0


def test_free_memory_is_what_rmms_limits_leave(rmm, fake_driver, monkeypatch):
    here = devices.CudaDevice(cupy_of(Stream()), installed_gpus()[0])
    pooled = devices.CudaDevice(
        cupy_of(Stream()), installed_gpus()[0], pools.shared_pool(rmm.xp, 1)
    )

    def limited(limit, used, upstream):
        return Resource(
            get_allocation_limit=lambda: limit, get_allocated_bytes=lambda: used, get_upstream=lambda: upstream,
        )  # fmt: skip

    usual = Resource()
    one = limited(500, 100, usual)
    for resource, left in (
        (one, 400),
        (limited(5000, 100, usual), 1000),  # what the GPU has
        (limited(700, 600, one), 100),
        (limited(900, 100, one), 400),
        (Resource(get_upstream=lambda: one), 400),
    ):
        use(monkeypatch, resource)
        assert here.free_memory() == left
        rmm.pool.kept = 30
        assert pooled.free_memory() == left + 30, "cached memory is within the limit"
        rmm.pool.kept = 0


def test_the_driver_reports_the_pool_of_memory(fake_driver):
    pools = {77: 1 << 40, 78: None}

    def tell(handle, attribute, pointer):
        assert attribute == 17
        handle._obj.value = pools[pointer.value]
        return 0

    fake_driver.do_PointerGetAttribute = tell
    assert driver.pool_of(77) == 1 << 40
    assert driver.pool_of(78) == 0
    fake_driver.refuses = ("cuPointerGetAttribute",)
    assert driver.pool_of(77) == 0


class Marks:
    """An array of the device, to which places are written."""

    def __init__(self):
        self.written = []
        self.data = Written(self.written)

    def __setitem__(self, places, value):
        assert value is True
        self.written.append(places)


class Written:
    """A pointer into such an array."""

    def __init__(self, written, place=0):
        self.written, self.place = written, place

    def __add__(self, places):
        return Written(self.written, self.place + places)

    def memset_async(self, value, size):
        assert (value, size) == (1, 1)
        self.written.append(self.place)


@pytest.mark.parametrize("count", [0, 1, arrays.FEW_PLACES, arrays.FEW_PLACES + 1])
def test_few_places_of_the_host_are_marked_one_by_one(count):
    places, marks = np.arange(count) * 3, Marks()
    with emulated():
        arrays.mark(marks, places)
    if count <= arrays.FEW_PLACES:
        assert marks.written == places.tolist()
    else:
        (written,) = marks.written
        np.testing.assert_array_equal(written, places)


def test_a_number_of_a_prepared_launch_is_changed(fake_driver, compiles):
    here = devices.CudaDevice(cupy_of(Stream()), installed_gpus()[0])
    given = (Fake("float64"), Fake("int64"), Fake("int64"), 5, Fake("float64"))
    launch = here.module("merge").prepare("least_of_runs", 1, 64, *given)
    assert launch.resident_threads == 2048
    launch.change(3, 1 << 40)
    assert lying_at(launch._parameters, [ctypes.c_int64] * 5)[3] == 1 << 40
    given = ((Fake("float64"), 2), Fake("int64"), 7)
    nested = devices._Launch(None, 0, 64, given, marshal(given), False, None)
    nested.change(2, 9)
    nested()  # no blocks: nothing happens
    assert nested.resident_threads == 0
    assert lying_at(nested._parameters, [ctypes.c_int64] * 4)[1::2] == [2, 9]
    assert fake_driver.launched == []


class Streams:
    """Stands for CuPy's streams and events; notes in which order what is asked of them."""

    def __init__(self):
        self.noted, self.current = [], "main"

    def Event(self, disable_timing):
        name = f"event {len([one for one in self.noted if one[0] == 'event'])}"
        self.noted.append(("event", name))

        def record(stream):
            self.noted.append(("record", name, str(stream)))

        return SimpleNamespace(record=record, name=name)

    def Stream(self, non_blocking, priority):
        assert non_blocking
        assert priority < 0, "it goes ahead"
        return SideStream(self, "side")

    def get_current_stream(self):
        return SideStream(self, self.current)


class SideStream:
    ptr = 0

    def __init__(self, all_, name):
        self._all, self._name = all_, name

    def __str__(self):
        return self._name

    def __enter__(self):
        self._all.current = self._name

    def __exit__(self, *error):
        self._all.current = "main"

    def wait_event(self, event):
        self._all.noted.append(("wait", event.name, self._name))


def test_a_side_stream_is_joined_again(fake_driver):
    streams = Streams()
    here = devices.CudaDevice(SimpleNamespace(cuda=streams), installed_gpus()[0])
    with here.beside():
        assert streams.current == "side"
    assert streams.current == "main"
    here.rejoin()
    assert streams.noted[2:] == [
        ("record", "event 0", "main"),
        ("wait", "event 0", "side"),
        ("record", "event 1", "side"),
        ("wait", "event 1", "main"),
    ]


def test_copies_without_a_wait(fake_driver):
    copies = []
    memory = SimpleNamespace(
        copy_from_host_async=lambda *given: copies.append(("in", given[0].value, given[1])),
        copy_to_host_async=lambda *given: copies.append(("out", given[0].value, given[1])),
    )
    here = devices.CudaDevice(cupy_of(Stream()), installed_gpus()[0])
    pinned = np.zeros(4, np.int32)
    array = SimpleNamespace(data=memory, nbytes=16)
    here.copy_in(pinned, array)
    here.copy_out(array, pinned)
    assert copies == [("in", pinned.ctypes.data, 16), ("out", pinned.ctypes.data, 16)]


def test_another_device_is_installed_for_a_while():
    outer, inner = EmulatedDevice(), EmulatedDevice(seed=1)
    before = devices._substitute
    with devices.installed(outer) as given:
        assert given is devices.device() is outer
        assert devices.has_device()
        with devices.installed(inner):
            assert devices.device() is inner
        assert devices.device() is outer
        assert arrays.array_module(True) is np
        with pytest.raises(RuntimeError), devices.installed(inner):
            raise RuntimeError
        assert devices.device() is outer
    assert devices._substitute is before


def test_the_engine_is_found_in_an_emulated_device():
    with emulated():
        assert choose_engine("cuda") == "cuda"
        assert choose_engine("auto") == "cpu", "a graph of host frames stays there"
    with pytest.raises(ws.InputError, match="'cuda'"):
        choose_engine("gpu")


def test_the_engine_imports_no_compiler():
    """Machine code is on disk from the second process on; Numba's CUDA target takes a second to import."""
    modules = "executor frontier edges graph planner loops.core loops.components"
    program = "import sys\n" + "".join(
        f"import cugraph_ws.backends.cuda.{module}\n" for module in modules.split()
    )
    program += "assert not any(one.startswith(('numba.cuda', 'numba_cuda')) for one in sys.modules)"
    subprocess.run([sys.executable, "-c", program], check=True)
