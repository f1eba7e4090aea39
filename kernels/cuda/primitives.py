"""What kernels are written with: lanes, warps, blocks, grids, and memory.

The only module that uses what `runtime/cuda_target.py` has of Numba-CUDA's language.  Kernels are
launched in one dimension, in blocks of whole warps.  Array arguments are bare pointers (`CPointer`):
an index is a displacement, never negative, and lengths are not known.  Names follow the CUDA C++
programming guide.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cugraph_ws.runtime.cuda_target import (
    DeviceFunction,
    InterfaceFunction,
    OpaqueTypes,
    cgutils,
    cuda,
    intrinsic,
    ir,
    options,
)
from cugraph_ws.runtime.cuda_target import numba_types as types

__all__ = [
    "FULL",
    "all_of",
    "any_of",
    "atomic_add",
    "atomic_and",
    "atomic_compare_and_swap",
    "atomic_exchange",
    "atomic_max",
    "atomic_min",
    "atomic_or",
    "ballot",
    "block",
    "blocks",
    "bounded",
    "clz",
    "dynamic_shared",
    "fence",
    "fence_system",
    "ffs",
    "inline",
    "interface",
    "jit",
    "kernel",
    "lane",
    "lean",
    "load_cached",
    "load_fresh",
    "load_once",
    "load_system",
    "match",
    "opaque_types",
    "pause",
    "popc",
    "product",
    "shared",
    "shuffle",
    "shuffle_down",
    "shuffle_up",
    "shuffle_xor",
    "store_fresh",
    "store_system",
    "sync_block",
    "sync_grid",
    "sync_warp",
    "thread",
    "threads",
]

FULL = 0xFFFFFFFF


def kernel(function: Any) -> Any:
    """Mark an entry point; the host compiles it for the types that it is launched with."""
    return function


def bounded(threads: int) -> Any:
    """Limit a kernel's blocks to `threads` threads; to fewer if its registers would spill."""

    def mark(function: Any) -> Any:
        function.most_threads = threads
        return function

    return mark


def lean(registers: int) -> Any:
    """Limit a kernel's threads to `registers` registers, so that more warps are resident; not if some would spill."""

    def mark(function: Any) -> Any:
        function.most_registers = registers
        return function

    return mark


_JIT, _INLINE = options(), options(forceinline=True)


def jit(function: Any) -> Any:
    """Make a device function; the compiler decides whether it is inlined."""
    return DeviceFunction(function, dict(_JIT))


def inline(function: Any) -> Any:
    """Make a device function that is inlined where it is called."""
    return DeviceFunction(function, dict(_INLINE))


def interface(role: str | None) -> Any:
    """Make a function of a program's, which kernels call with values that they do not look into.

    `role` is that of the value that it returns, None if kernels look into that.
    """
    return lambda function: InterfaceFunction(function, dict(_INLINE), role)


def opaque_types(roles: Any) -> OpaqueTypes:
    """Declare, for a program's module, which parameters of kernels these do not look into."""
    return OpaqueTypes(roles)


@inline
def thread() -> Any:
    """Return the thread's number within its block."""
    return cuda.threadIdx.x


@inline
def block() -> Any:
    """Return the block's number within the grid."""
    return cuda.blockIdx.x


@inline
def threads() -> Any:
    """Return the number of threads of a block."""
    return cuda.blockDim.x


@inline
def blocks() -> Any:
    """Return the number of blocks of the grid."""
    return cuda.gridDim.x


@inline
def lane() -> Any:
    """Return the thread's number within its warp."""
    return cuda.laneid


@inline
def sync_warp(mask: Any) -> None:
    """Wait for the lanes of `mask`, and see what they have written."""
    cuda.syncwarp(mask)


@inline
def sync_block() -> None:
    """Wait for all threads of the block, and see what they have written."""
    cuda.syncthreads()


@inline
def fence() -> None:
    """Let all threads see what was written before it no later than what is written after it."""
    cuda.threadfence()


@inline
def fence_system() -> None:
    """Do as `fence`, for the threads of all GPUs."""
    cuda.threadfence_system()


@inline
def pause() -> None:
    """Sleep for about 40 ns, in a loop that waits for another GPU."""
    cuda.nanosleep(np.uint32(40))


@inline
def popc(word: Any) -> Any:
    """Return the number of ones in 32 bits."""
    return cuda.popc(np.uint32(word))


@inline
def ffs(word: Any) -> Any:
    """Return the place of the lowest one in 32 bits, from 1; 0 if there is none."""
    return cuda.ffs(np.uint32(word))


@inline
def clz(word: Any) -> Any:
    """Return the number of zeros above the highest one in 32 bits."""
    return cuda.clz(np.uint32(word))


@inline
def ballot(mask: Any, predicate: Any) -> Any:
    """Return a bit for each lane of `mask`, set where the predicate holds."""
    return np.uint32(cuda.ballot_sync(mask, predicate))


@inline
def any_of(mask: Any, predicate: Any) -> Any:
    """Tell whether the predicate holds for any lane of `mask`."""
    return cuda.any_sync(mask, predicate)


@inline
def all_of(mask: Any, predicate: Any) -> Any:
    """Tell whether the predicate holds for all lanes of `mask`."""
    return cuda.all_sync(mask, predicate)


@inline
def match(mask: Any, value: Any) -> Any:
    """Return a bit for each lane of `mask`, set where the value equals the calling lane's."""
    return np.uint32(cuda.match_any_sync(mask, value))


@inline
def shuffle(mask: Any, value: Any, source: Any) -> Any:
    """Return the value that lane `source` gave."""
    return cuda.shfl_sync(mask, value, source)


@inline
def shuffle_up(mask: Any, value: Any, distance: Any) -> Any:
    """Return the value of the lane `distance` below; of the lowest lanes, their own."""
    return cuda.shfl_up_sync(mask, value, distance)


@inline
def shuffle_down(mask: Any, value: Any, distance: Any) -> Any:
    """Return the value of the lane `distance` above; of the highest lanes, their own."""
    return cuda.shfl_down_sync(mask, value, distance)


@inline
def shuffle_xor(mask: Any, value: Any, bits: Any) -> Any:
    """Return the value of lane `lane() ^ bits`."""
    return cuda.shfl_xor_sync(mask, value, bits)


@intrinsic
def shared(typing_context: Any, size: Any, dtype: Any) -> Any:
    """Return an array in shared memory, one for each block and each place in the source."""
    if not isinstance(size, types.IntegerLiteral):
        return None  # asked again with the literal type
    kind = types.CPointer(dtype.dtype)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        element = context.get_data_type(dtype.dtype)
        array = cgutils.add_global_variable(
            builder.module, ir.ArrayType(element, size.literal_value), "shared", 3
        )
        array.align = 16
        array.linkage = "internal"
        array.initializer = ir.Constant(array.type.pointee, ir.Undefined)
        return builder.addrspacecast(
            builder.gep(array, [ir.IntType(32)(0), ir.IntType(32)(0)]), element.as_pointer()
        )

    return kind(size, dtype), generate


@intrinsic
def dynamic_shared(typing_context: Any, start: Any, size: Any, dtype: Any) -> Any:
    """Return an array of `size` elements in the shared memory that the launch asks for.

    It begins `start` bytes into that memory, a multiple of the element's size.
    """
    kind = types.CPointer(dtype.dtype)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        name = "dynamic_shared"
        array = builder.module.globals.get(name)
        if array is None:
            array = cgutils.add_global_variable(
                builder.module, ir.ArrayType(ir.IntType(8), 0), name, 3
            )
            array.align = 16
            array.linkage = "external"
        offset = context.cast(builder, arguments[0], signature.args[0], types.int64)
        memory = builder.addrspacecast(
            builder.gep(array, [ir.IntType(32)(0), ir.IntType(32)(0)]), ir.IntType(8).as_pointer()
        )
        element = context.get_data_type(dtype.dtype)
        return builder.bitcast(builder.gep(memory, [offset]), element.as_pointer())

    return kind(start, size, dtype), generate


# ------------------------------------------------------------------- memory, by instruction
# Numba has these for its own arrays only; here `array` is a pointer.

_KINDS = {
    types.int8: ("s8", "h", 16),
    types.uint8: ("u8", "h", 16),
    types.boolean: ("u8", "h", 16),
    types.uint16: ("u16", "h", 16),
    types.int32: ("s32", "r", 32),
    types.uint32: ("u32", "r", 32),
    types.int64: ("s64", "l", 64),
    types.uint64: ("u64", "l", 64),
    types.float32: ("f32", "f", 32),
    types.float64: ("f64", "d", 64),
}
_NUMBERS = frozenset(_KINDS) - {types.int8, types.uint8, types.boolean}


def _place(context: Any, builder: Any, array: Any, index_type: Any, index: Any) -> Any:
    """Return the address of an element."""
    return builder.gep(array, [context.cast(builder, index, index_type, types.int64)])


def _assembler(
    builder: Any, text: str, result: str, result_type: Any, operands: Any, *, pure: bool = False
) -> Any:
    """Emit one instruction; `operands` are pairs of a value and its constraint.

    A `pure` one may be moved, and is left out where its result is not used.
    """
    kinds = ir.FunctionType(result_type, [value.type for value, _ in operands])
    places = ",".join([*([f"={result}"] if result else []), *(place for _, place in operands)])
    if not pure:
        places += ",~{memory}"
    code = ir.InlineAsm(kinds, text, places, side_effect=not pure)
    return builder.call(code, [value for value, _ in operands])


@intrinsic
def product(typing_context: Any, first: Any, second: Any) -> Any:
    """Return the product of two float64, rounded: never fused with a sum."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        operands = [(argument, "d") for argument in arguments]
        return _assembler(
            builder, "mul.rn.f64 $0, $1, $2;", "d", ir.DoubleType(), operands, pure=True
        )

    return types.float64(types.float64, types.float64), generate


def _register(kind: Any) -> Any:
    if kind is types.float32:
        return ir.FloatType()
    if kind is types.float64:
        return ir.DoubleType()
    return ir.IntType(_KINDS[kind][2])


def _loader(instruction: str, *, pure: bool) -> Any:
    @intrinsic
    def load(typing_context: Any, array: Any, index: Any) -> Any:
        element = array.dtype

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            suffix, place, _ = _KINDS[element]
            address = _place(context, builder, arguments[0], index, arguments[1])
            got = _assembler(
                builder, f"{instruction}.{suffix} $0, [$1];", place, _register(element),
                [(address, "l")], pure=pure,
            )  # fmt: skip
            if element is types.boolean:
                return builder.icmp_unsigned("!=", got, ir.Constant(got.type, 0))
            if element in _NUMBERS:
                return got
            return builder.trunc(got, context.get_value_type(element))

        return element(array, index), generate

    return load


def _storer(instruction: str) -> Any:
    @intrinsic
    def store(typing_context: Any, array: Any, index: Any, value: Any) -> Any:
        element = array.dtype

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            suffix, place, _ = _KINDS[element]
            address = _place(context, builder, arguments[0], index, arguments[1])
            number = context.cast(builder, arguments[2], value, element)
            if element not in _NUMBERS:
                number = builder.zext(number, _register(element))
            _assembler(
                builder, f"{instruction}.{suffix} [$0], $1;", "", ir.VoidType(),
                [(address, "l"), (number, place)],
            )  # fmt: skip
            return context.get_dummy_value()

        return types.void(array, index, value), generate

    return store


def _atomic(operation: str, typed: bool) -> Any:
    """Make an atomic of two operands; `typed` if the instruction goes by the kind of number."""

    @intrinsic
    def atomic(typing_context: Any, array: Any, index: Any, value: Any) -> Any:
        element = array.dtype

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            suffix, place, bits = _KINDS[element]
            if suffix == "s64" and operation == "add":
                suffix = "u64"
            address = _place(context, builder, arguments[0], index, arguments[1])
            number = context.cast(builder, arguments[2], value, element)
            return _assembler(
                builder, f"atom.{operation}.{suffix if typed else f'b{bits}'} $0, [$1], $2;",
                place, _register(element), [(address, "l"), (number, place)],
            )  # fmt: skip

        return element(array, index, value), generate

    return atomic


@intrinsic
def atomic_compare_and_swap(
    typing_context: Any, array: Any, index: Any, expected: Any, value: Any
) -> Any:
    """Store `value` if the element is `expected`; return what it was."""
    element = array.dtype

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        _, place, bits = _KINDS[element]
        address = _place(context, builder, arguments[0], index, arguments[1])
        old = context.cast(builder, arguments[2], expected, element)
        new = context.cast(builder, arguments[3], value, element)
        return _assembler(
            builder, f"atom.cas.b{bits} $0, [$1], $2, $3;", place, _register(element),
            [(address, "l"), (old, place), (new, place)],
        )  # fmt: skip

    return element(array, index, expected, value), generate


load_once = _loader("ld.global.nc.L1::no_allocate", pure=True)  # the launch must not write there
load_fresh = _loader("ld.global.cg", pure=False)
load_cached = _loader("ld.global.ca", pure=False)  # as it was at some time since the last barrier
store_fresh = _storer("st.global.cg")
load_system = _loader("ld.acquire.sys.global", pure=False)  # with `store_system`: between GPUs
store_system = _storer("st.release.sys.global")
atomic_add = _atomic("add", typed=True)
atomic_min = _atomic("min", typed=True)
atomic_max = _atomic("max", typed=True)
atomic_or = _atomic("or", typed=False)
atomic_and = _atomic("and", typed=False)
atomic_exchange = _atomic("exch", typed=False)


# ------------------------------------------------------------------------------- the grid's barrier
# Numba would link a device library for it; this is what that does, inlined.

_LAST = 0x80000000  # the bit that flips when all blocks have arrived

_arrive = _atomic("add.release.gpu", typed=True)
_look = _loader("ld.acquire.gpu", pure=False)


@intrinsic
def _grid_workspace(typing_context: Any) -> Any:
    """Return what the driver keeps for a cooperative launch; its second word is the barrier."""
    kind = types.CPointer(types.uint32)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        text = (
            "{ .reg .u32 low, high; mov.u32 high, %envreg1; mov.u32 low, %envreg2; "
            "mov.b64 $0, {low, high}; }"
        )
        address = _assembler(builder, text, "l", ir.IntType(64), [])
        return builder.inttoptr(address, ir.IntType(32).as_pointer())

    return kind(), generate


@jit
def sync_grid() -> None:
    """Wait for all threads of a cooperative launch, and see what they have written."""
    cuda.syncthreads()
    if cuda.threadIdx.x == 0:
        workspace = _grid_workspace()
        arrivals = np.uint32(1)
        if cuda.blockIdx.x == 0:
            arrivals = np.uint32(_LAST - (cuda.gridDim.x - 1))
        before = _arrive(workspace, 1, arrivals)
        while ((before ^ _look(workspace, 1)) & np.uint32(_LAST)) == 0:
            pass
    cuda.syncthreads()
