"""Cost of going from one superstep to the next: a grid barrier, a CUDA graph's WHILE node, a launch.

The same superstep (`loops.cu`), empty or with a few vertices, is repeated a few thousand times.  The engine
runs many supersteps in one cooperative launch.  Since CUDA 12.4 a CUDA graph can itself repeat a kernel while
the kernel sets a condition by a function of the device runtime.  For that function the kernels are written in
CUDA C++, compiled by NVRTC and linked with the device runtime by nvJitLink.
"""

from __future__ import annotations

import ctypes
import importlib.util
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

import cugraph_ws as ws
from bench.gpu.cases import Case
from bench.timing import Entrant, Section, compare, race

__all__ = ["NotHereError", "device_runtime", "loops", "machine_code"]

SOURCE = Path(__file__).with_name("loops.cu")
BLOCK = 512  # threads, as the engine's frontiers have
SUPERSTEPS = 2000  # of a run: as many as in a search of a road network
WIDTHS = {"an empty superstep": 0, "a superstep of 32 vertices": 32}
BARRIER, NODE = "a grid's barrier", "a WHILE node"
BETTER = 1.0  # least ratio of another loop's time to ours
Arguments = tuple[Any, ...]


class NotHereError(Exception):
    """Something that a kind of loop needs is not on this machine."""


# ------------------------------------------------------------------------------------ machine code


def device_runtime() -> bytes:
    """Return the library with which kernels call the runtime from the device.

    Returns
    -------
    bytes
        `libcudadevrt.a`.

    Raises
    ------
    NotHereError
        If it is neither in NVIDIA's Python packages nor next to `nvcc`.
    """
    spec = importlib.util.find_spec("nvidia")
    places = [Path(one) for one in (spec.submodule_search_locations or ())] if spec else []
    for place in [*places, Path("/usr/local/cuda")]:
        for found in sorted(place.glob("**/libcudadevrt.a")):
            return found.read_bytes()
    raise NotHereError("libcudadevrt.a (package nvidia-cuda-runtime, or a CUDA toolkit)")


@lru_cache
def machine_code(capability: tuple[int, int], *, conditional: bool) -> bytes:
    """Compile the kernels of `loops.cu`.

    Parameters
    ----------
    capability : (int, int)
        Compute capability.
    conditional : bool
        Whether a superstep sets the condition of a graph's node.

    Returns
    -------
    bytes
        A cubin.

    Raises
    ------
    NotHereError
        If a compiler or a library is missing, or too old for conditional nodes.
    """
    try:
        from cuda.bindings import nvjitlink, nvrtc
    except ImportError as error:
        raise NotHereError(f"cuda-bindings ({error})") from error
    major, minor = capability
    options = [f"--gpu-architecture=compute_{major}{minor}", "-rdc=true"]
    options += ["-DCONDITIONAL"] if conditional else []
    text = SOURCE.read_bytes()
    _, program = nvrtc.nvrtcCreateProgram(text, SOURCE.name.encode(), 0, None, None)
    (status,) = nvrtc.nvrtcCompileProgram(program, len(options), [one.encode() for one in options])
    if status != nvrtc.nvrtcResult.NVRTC_SUCCESS:
        _, size = nvrtc.nvrtcGetProgramLogSize(program)
        log = bytes(size)
        nvrtc.nvrtcGetProgramLog(program, log)
        raise NotHereError(f"an NVRTC that compiles {SOURCE.name}: {log.decode(errors='replace')}")
    _, size = nvrtc.nvrtcGetPTXSize(program)
    ptx = bytes(size)
    nvrtc.nvrtcGetPTX(program, ptx)
    nvrtc.nvrtcDestroyProgram(program)
    parts = [(nvjitlink.InputType.PTX, ptx, SOURCE.name)]
    if conditional:
        parts.append((nvjitlink.InputType.LIBRARY, device_runtime(), "cudadevrt"))
    handle = nvjitlink.create(1, [f"-arch=sm_{major}{minor}"])
    try:
        for kind, data, name in parts:
            nvjitlink.add_data(handle, kind, data, len(data), name)
        nvjitlink.complete(handle)
        code = bytearray(nvjitlink.get_linked_cubin_size(handle))
        nvjitlink.get_linked_cubin(handle, code)
    except nvjitlink.nvJitLinkError as error:
        raise NotHereError(f"an nvJitLink that links the device runtime ({error})") from error
    finally:
        nvjitlink.destroy(handle)
    return bytes(code)


# ----------------------------------------------------------------------------- the driver's graphs


class _Kernel(ctypes.Structure):
    """`CUDA_KERNEL_NODE_PARAMS_v2`."""

    _fields_ = [
        ("function", ctypes.c_void_p), ("grid", ctypes.c_uint * 3), ("block", ctypes.c_uint * 3),
        ("shared", ctypes.c_uint), ("parameters", ctypes.c_void_p), ("extra", ctypes.c_void_p),
        ("kernel", ctypes.c_void_p), ("context", ctypes.c_void_p),
    ]  # fmt: skip


class _Conditional(ctypes.Structure):
    """`CUDA_CONDITIONAL_NODE_PARAMS`."""

    _fields_ = [
        ("handle", ctypes.c_uint64), ("type", ctypes.c_int), ("size", ctypes.c_uint),
        ("bodies", ctypes.POINTER(ctypes.c_void_p)), ("context", ctypes.c_void_p),
    ]  # fmt: skip


class _Union(ctypes.Union):
    _fields_ = [("reserved", ctypes.c_longlong * 29), ("conditional", _Conditional)]


class _Node(ctypes.Structure):
    """`CUgraphNodeParams`."""

    _fields_ = [
        ("type", ctypes.c_int), ("reserved", ctypes.c_int * 3), ("of", _Union),
        ("reserved_too", ctypes.c_longlong),
    ]  # fmt: skip


CONDITIONAL_NODE = 13  # CU_GRAPH_NODE_TYPE_CONDITIONAL
WHILE = 1  # CU_GRAPH_COND_TYPE_WHILE
ASSIGN_DEFAULT = 1  # CU_GRAPH_COND_ASSIGN_DEFAULT


class Driver:
    """The functions of libcuda that are used here; each raises if it fails."""

    def __init__(self) -> None:
        try:
            self._library = ctypes.CDLL("libcuda.so.1")
        except OSError as error:
            raise NotHereError(f"the driver ({error})") from error

    def call(self, name: str, *arguments: Any) -> None:
        """Call a function.

        Raises
        ------
        NotHereError
            If the driver is older than the function.
        RuntimeError
            If it returns an error.
        """
        try:
            function = getattr(self._library, name)
        except AttributeError as error:
            raise NotHereError(f"{name} in this driver") from error
        if result := function(*arguments):
            text = ctypes.c_char_p()
            self._library.cuGetErrorString(result, ctypes.byref(text))
            raise RuntimeError(f"{name}: {(text.value or b'unknown').decode()} (error {result})")

    def function(self, code: bytes, name: str) -> ctypes.c_void_p:
        """Load a kernel of a cubin."""
        module, found = ctypes.c_void_p(), ctypes.c_void_p()
        self.call("cuModuleLoadData", ctypes.byref(module), code)
        self.call("cuModuleGetFunction", ctypes.byref(found), module, name.encode())
        return found

    def launch(
        self, function: ctypes.c_void_p, grid: int, table: Any, *, cooperative: bool = False
    ) -> None:
        """Launch a kernel on the current stream."""
        one = ctypes.c_uint(1)
        shape = (ctypes.c_uint(grid), one, one, ctypes.c_uint(BLOCK), one, one, ctypes.c_uint(0))
        if cooperative:
            self.call("cuLaunchCooperativeKernel", function, *shape, _stream(), table)
        else:
            self.call("cuLaunchKernel", function, *shape, _stream(), table, ctypes.c_void_p())

    def loop(
        self, function: ctypes.c_void_p, grid: int, table_for: Callable[[int], Any]
    ) -> Callable[[], None]:
        """Make a CUDA graph of a WHILE node with one kernel; return a function that launches it.

        Parameters
        ----------
        function : c_void_p
            A kernel that sets the condition.
        grid : int
        table_for : callable
            Returns the kernel's arguments, given the condition's handle.
        """
        context, graph, node = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
        handle = ctypes.c_uint64()
        self.call("cuCtxGetCurrent", ctypes.byref(context))
        self.call("cuGraphCreate", ctypes.byref(graph), ctypes.c_uint(0))
        self.call(
            "cuGraphConditionalHandleCreate", ctypes.byref(handle), graph, context,
            ctypes.c_uint(1), ctypes.c_uint(ASSIGN_DEFAULT),
        )  # fmt: skip
        loop = _Node(type=CONDITIONAL_NODE)
        loop.of.conditional = _Conditional(
            handle=handle.value, type=WHILE, size=1, context=context.value
        )
        none, no_edges = ctypes.c_void_p(), ctypes.c_size_t(0)
        self.call(
            "cuGraphAddNode_v2", ctypes.byref(node), graph, none, none, no_edges, ctypes.byref(loop)
        )
        body = ctypes.c_void_p(loop.of.conditional.bodies[0])
        table = table_for(handle.value)
        kernel = _Kernel(
            function=function.value, grid=(grid, 1, 1), block=(BLOCK, 1, 1),
            parameters=ctypes.cast(table, ctypes.c_void_p).value,
        )  # fmt: skip
        self.call(
            "cuGraphAddKernelNode_v2",
            ctypes.byref(node),
            body,
            none,
            no_edges,
            ctypes.byref(kernel),
        )
        ready = ctypes.c_void_p()
        self.call("cuGraphInstantiateWithFlags", ctypes.byref(ready), graph, ctypes.c_ulonglong(0))
        return lambda: self.call("cuGraphLaunch", ready, _stream())


def _stream() -> ctypes.c_void_p:
    import cupy

    return ctypes.c_void_p(cupy.cuda.get_current_stream().ptr)


def _table(arguments: Arguments) -> Any:
    """Return pointers to arguments: arrays, and integers of eight bytes."""
    values = [
        ctypes.c_uint64(one) if isinstance(one, int) else ctypes.c_void_p(one.data.ptr)
        for one in arguments
    ]
    table = (ctypes.c_void_p * len(values))(
        *[ctypes.cast(ctypes.byref(value), ctypes.c_void_p) for value in values]
    )
    table.values = values  # keeps the values alive as long as the pointers
    return table


# ------------------------------------------------------------------------------------ the contest


class Chains:
    """A graph of several chains; a frontier has one vertex of each.

    Parameters
    ----------
    width : int
        Number of chains; 0 for empty frontiers.
    """

    def __init__(self, width: int) -> None:
        import cupy

        self.width = width
        places = cupy.arange(max(width, 1) * (SUPERSTEPS + 1), dtype=cupy.int32)
        self.successor = cupy.where(
            places < max(width, 1) * SUPERSTEPS, places + max(width, 1), -1
        ).astype(cupy.int32)
        self.hops = cupy.empty_like(places)
        self.lists = cupy.zeros(2 * max(width, 1), cupy.int32)
        self.counts = cupy.zeros(3, cupy.int32)
        self.control = cupy.zeros(2, cupy.int32)
        self.word = cupy.zeros(1, cupy.uint32)

    def begin(self) -> None:
        """List the chains' first vertices; no other is reached."""
        import cupy

        self.hops[:] = -1
        self.hops[: self.width] = 0
        self.lists[: self.width] = cupy.arange(self.width, dtype=cupy.int32)
        self.counts[:] = 0
        self.counts[:1] = self.width
        self.control[:] = 0

    def check(self, hops: Any) -> None:
        """Raise unless hops are those along the chains."""
        import cupy

        places = cupy.arange(len(hops))
        right = places // self.width if self.width else cupy.full(len(hops), -1)
        assert bool((hops == right).all()), "hops along a chain are wrong"

    def arguments(self, word: Any) -> Arguments:
        """Return the kernels' arguments; `word` is the barrier's, or the control of single supersteps."""
        return (
            self.successor, self.hops, self.lists, self.counts, word, max(self.width, 1), SUPERSTEPS,
        )  # fmt: skip


def loops(case: Case, section: Section, repeats: int) -> None:
    """Time every kind of loop, and a superstep of the engine's search."""
    for job, width in WIDTHS.items():
        entrants = section.attempt(f"preparing {job}", lambda width=width: ways(Chains(width)))
        measured = race(section, job, entrants or [], repeats)
        for one in measured:
            print(f"  {job}: {one.library} {one.median * 1e6:.2f} µs", flush=True)
        found = {one.library: one.median for one in measured}
        for name, seconds in found.items():
            if BARRIER in found and name != BARRIER:
                ratio = seconds / found[BARRIER]
                print(f"  {job}: {name} ÷ {BARRIER} {ratio:.2f}", flush=True)
        for other, ours in ((NODE, BARRIER), (f"{NODE}, one block", "one block")):
            name = f"{job}: {other} ÷ {ours}"
            compare(section, name, measured, other, BETTER, alone=False, ours=ours)
    graph = case.graph(None)
    search = Entrant(
        "the engine",
        lambda: ws.run(ws.BFS, graph, start=case.start, predecessors=False),
        lambda result: None,
        share=lambda result: int(result.iterations),
        edges=lambda result: sum(result.rows.edges),
    )
    race(section, "a superstep of BFS", [search], repeats)


def ways(chains: Chains) -> list[Entrant]:
    """Return every kind of loop that can run here; print what the others lack."""
    import cupy

    device = cupy.cuda.Device()
    capability = (int(device.compute_capability[:-1]), int(device.compute_capability[-1]))
    grid = int(device.attributes["MultiProcessorCount"])  # a block each, so that all run at once
    found: list[Entrant] = []

    def add(name: str, make: Callable[[], Callable[[], None]]) -> None:
        try:
            run = make()
        except NotHereError as error:
            print(f"  not here: {name}: {error}", flush=True)
            return

        def timed() -> Any:
            chains.begin()
            run()
            return chains.hops

        found.append(Entrant(name, timed, chains.check, share=lambda hops: SUPERSTEPS))

    def plain(name: str, blocks: int) -> Callable[[], None]:
        code, driver = machine_code(capability, conditional=False), Driver()
        function = driver.function(code, name)
        table = _table(chains.arguments(chains.word))
        return lambda: driver.launch(function, blocks, table, cooperative=name == "together")

    def node(blocks: int) -> Callable[[], None]:
        code, driver = machine_code(capability, conditional=True), Driver()
        function = driver.function(code, "single")
        return driver.loop(
            function, blocks, lambda handle: _table((*chains.arguments(chains.control), handle))
        )

    def launches(*, looks: bool) -> Callable[[], None]:
        code, driver = machine_code(capability, conditional=False), Driver()
        function = driver.function(code, "single")
        table = _table((*chains.arguments(chains.control), 0))

        def run() -> None:
            for _ in range(SUPERSTEPS):
                driver.launch(function, grid, table)
                if looks and int(chains.control[0].get()) > SUPERSTEPS:
                    raise AssertionError("a superstep too many")

        return run

    add(BARRIER, lambda: plain("together", grid))
    add("one block", lambda: plain("alone", 1))
    add(NODE, lambda: node(grid))
    add(f"{NODE}, one block", lambda: node(1))
    add("a launch each, queued", lambda: launches(looks=False))
    add("a launch each, and a look", lambda: launches(looks=True))
    return found
