"""What the library relies on in Numba-CUDA: its names, how they are called, and what they compile to.

Numba-CUDA gives no promise about most of it.  With a release that changes something, the failing test
says which of our functions needs it.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import re
from pathlib import Path

import pytest
from conftest import COMPILED

pytest.importorskip("numba.cuda.extending", reason="Numba-CUDA is not installed")

from llvmlite import ir
from numba.cuda.target import CUDATargetContext

from cugraph_ws.kernels.cuda import primitives
from cugraph_ws.runtime import cuda_target
from cugraph_ws.runtime.device_compiler import compile_to_ptx
from cugraph_ws.runtime.generated import import_text

# By the name in the code: the arguments of each call, positional ones as `_`; None for what is not called
NAMES: dict[str, dict[str, str | None]] = {
    "cuda": {
        **dict.fromkeys(("threadIdx", "blockIdx", "blockDim", "gridDim", "laneid")),
        **dict.fromkeys(("syncwarp", "syncthreads", "threadfence", "threadfence_system", "nanosleep")),
        **dict.fromkeys(("popc", "ffs", "clz")),
        **dict.fromkeys(("ballot_sync", "any_sync", "all_sync", "match_any_sync")),
        **dict.fromkeys(("shfl_sync", "shfl_up_sync", "shfl_down_sync", "shfl_xor_sync")),
        "jit": "device=True, forceinline=True",
    },
    "dispatcher": {"get_current_device": "", "CUDADispatcher": "_, _"},
    "CONTEXT": {
        "codegen": "", "insert_user_function": "_, _, _", "get_abi_sizeof": "_", "get_arg_packer": "_",
        "get_return_value": "_, _, _", "get_value_type": "_", "make_tuple": "_, _, _",
    },
    "CALLS": {
        "call_function": "_, _, _, _, _", "decode_arguments": "_, _, _", "decorate_function": "_, _, _, noalias=False",
        "get_function_type": "_, _",
    },
    "models": {"PrimitiveModel": "_, _, _"},
    "nvvm": {"set_cuda_kernel": "_"},
    "cgutils": {"add_global_variable": "_, _, _, _", "get_or_insert_function": "_, _, _"},
    "types": {
        **dict.fromkeys(("boolean", "float32", "float64", "int8", "int32", "int64")),
        **dict.fromkeys(("uint8", "uint16", "uint32", "uint64", "void", "IntegerLiteral")),
        "CPointer": "_",
    },
    "numba_types": {
        "CPointer": "_", "Tuple": "_", "literal": "_", "unliteral": "_",
        **dict.fromkeys(("BaseTuple", "Boolean", "Float", "Integer", "Literal", "Type", "void")),
    },
    "context": {
        "cast": "_, _, _, _", "get_data_type": "_", "get_value_type": "_", "get_dummy_value": "",
    },
    "builder": {
        "addrspacecast": "_, _", "bitcast": "_, _", "call": "_, _", "gep": "_, _",
        "icmp_unsigned": "_, _, _", "inttoptr": "_, _", "trunc": "_, _", "zext": "_, _",
        "extract_value": "_, _", "ret": "_", "ret_void": "", "store": "_, _", "module": None,
    },
    "ir": {
        "ArrayType": "_, _", "Constant": "_, _", "DoubleType": "", "FloatType": "",
        "Function": "_, _, _", "FunctionType": "_, _", "InlineAsm": "_, _, _, side_effect=True",
        "IRBuilder": "_", "IntType": "_", "Type": None, "Undefined": None, "VoidType": "",
    },
}  # fmt: skip
FILES = [Path(module.__file__) for module in (cuda_target, primitives)]


def homes():
    """Return where each name in the code looks its attributes up."""
    function = ir.Function(ir.Module(), ir.FunctionType(ir.VoidType(), ()), "kernel")
    block = function.append_basic_block()
    return {
        "cuda": cuda_target.cuda,
        "dispatcher": importlib.import_module("numba.cuda.dispatcher"),
        "CONTEXT": cuda_target.CONTEXT,
        "CALLS": cuda_target.CALLS,
        "models": cuda_target.models,
        "nvvm": cuda_target.nvvm,
        "cgutils": cuda_target.cgutils,
        "types": cuda_target.numba_types,
        "numba_types": cuda_target.numba_types,
        "context": CUDATargetContext,
        "builder": ir.IRBuilder(block),
        "ir": cuda_target.ir,
    }


def uses():
    """Return the functions that need each internal, by the names in the code."""
    needed: dict[tuple[str, str], set[str]] = {}
    for path in FILES:
        for node in ast.parse(path.read_text("utf-8")).body:
            user = getattr(node, "name", f"line {node.lineno}")
            for child in ast.walk(node):
                if isinstance(child, ast.Attribute) and isinstance(child.value, ast.Name):
                    needed.setdefault((child.value.id, child.attr), set()).add(
                        f"{path.stem}.{user}"
                    )
    return {key: users for key, users in needed.items() if key[0] in NAMES}


USES = uses()


def test_every_internal_is_in_the_table():
    """`types` of the standard library is no internal."""
    used = set(USES) - {("types", "FunctionType"), ("types", "SimpleNamespace")}
    assert {(name, one) for name, ones in NAMES.items() for one in ones} == used


@pytest.mark.parametrize(
    ("name", "attribute"), [(name, one) for name, ones in NAMES.items() for one in ones]
)
def test_an_internal_is_there_and_takes_our_call(name, attribute):
    users = ", ".join(sorted(USES[name, attribute]))
    place = homes()[name]
    assert hasattr(place, attribute), f"{place} has no {attribute}, which {users} needs"
    call = NAMES[name][attribute]
    if call is None:
        return
    given = eval(f"(lambda *a, **k: (a, k))({call})", {"_": None})
    internal = getattr(place, attribute)
    if inspect.isfunction(internal) and place is CUDATargetContext:
        given = ((None, *given[0]), given[1])  # `self`
    try:
        inspect.signature(internal).bind(*given[0], **given[1])
    except TypeError as error:
        pytest.fail(f"{users} calls {name}.{attribute}({call}), which is refused: {error}")


# For each primitive a line of a kernel, and what its PTX contains
INSTRUCTIONS = {
    "all_of": ("out[0] = all_of(FULL, out[1] > 3)", r"vote\.sync\.all\.pred"),
    "any_of": ("out[0] = any_of(FULL, out[1] > 3)", r"vote\.sync\.any\.pred"),
    "atomic_add": ("atomic_add(out, 1, 2)", r"atom\.add\.u64"),
    "atomic_and": ("atomic_and(out, 1, 2)", r"atom\.and\.b64"),
    "atomic_compare_and_swap": ("atomic_compare_and_swap(out, 1, 2, 3)", r"atom\.cas\.b64"),
    "atomic_exchange": ("atomic_exchange(out, 1, 2)", r"atom\.exch\.b64"),
    "atomic_max": ("atomic_max(out, 1, 2)", r"atom\.max\.s64"),
    "atomic_min": ("atomic_min(out, 1, 2)", r"atom\.min\.s64"),
    "atomic_or": ("atomic_or(out, 1, 2)", r"atom\.or\.b64"),
    "ballot": ("out[0] = ballot(FULL, out[1] > 3)", r"vote\.sync\.ballot\.b32"),
    "block": ("out[0] = block()", r"%ctaid\.x"),
    "blocks": ("out[0] = blocks()", r"%nctaid\.x"),
    "clz": ("out[0] = clz(out[1])", r"clz\.b32"),
    "dynamic_shared": ("dynamic_shared(0, 8, np.int64)[thread()] = out[0]", r"\.extern \.shared"),
    "fence": ("fence()", r"membar\.gl|fence\.\w+\.gpu"),
    "fence_system": ("fence_system()", r"membar\.sys|fence\.\w+\.sys"),
    "ffs": ("out[0] = ffs(out[1])", r"brev\.b32|bfind|clz\.b32"),
    "lane": ("out[0] = lane()", r"%laneid"),
    "load_cached": ("out[0] = load_cached(out, 1)", r"ld\.global\.ca\.s64"),
    "load_fresh": ("out[0] = load_fresh(out, 1)", r"ld\.global\.cg\.s64"),
    "load_once": ("out[0] = load_once(out, 1)", r"ld\.global\.nc\.L1::no_allocate\.s64"),
    "load_system": ("out[0] = load_system(out, 1)", r"ld\.acquire\.sys\.global\.s64"),
    "match": ("out[0] = match(FULL, np.int32(out[1]))", r"match\.any\.sync\.b32"),
    "pause": ("pause()", r"nanosleep\.u32"),
    "popc": ("out[0] = popc(out[1])", r"popc\.b32"),
    "product": ("out[0] = np.int64(product(2.5, np.float64(out[1])) + 1.5)", r"mul\.rn\.f64"),
    "shared": (
        "held = shared(8, np.int64); held[thread()] = out[0]; sync_block(); out[1] = held[8 - thread()]",
        r"\.shared .*shared\w*\[64\]",
    ),
    "shuffle": ("out[0] = shuffle(FULL, np.int32(out[1]), 3)", r"shfl\.sync\.idx\.b32"),
    "shuffle_down": ("out[0] = shuffle_down(FULL, np.int32(out[1]), 3)", r"shfl\.sync\.down\.b32"),
    "shuffle_up": ("out[0] = shuffle_up(FULL, np.int32(out[1]), 3)", r"shfl\.sync\.up\.b32"),
    "shuffle_xor": ("out[0] = shuffle_xor(FULL, np.int32(out[1]), 3)", r"shfl\.sync\.bfly\.b32"),
    "store_fresh": ("store_fresh(out, 1, 2)", r"st\.global\.cg\.s64"),
    "store_system": ("store_system(out, 1, 2)", r"st\.release\.sys\.global\.s64"),
    "sync_block": ("sync_block()", r"bar\.sync|barrier\.sync"),
    "sync_grid": ("sync_grid()", r"(?s)%envreg1.*atom\.add\.release\.gpu\.u32"),
    "sync_warp": ("sync_warp(FULL)", r"bar\.warp\.sync"),
    "thread": ("out[0] = thread()", r"%tid\.x"),
    "threads": ("out[0] = threads()", r"%ntid\.x"),
}
# Those which have no instruction
MARKS = {"FULL", "bounded", "inline", "interface", "jit", "kernel", "lean", "opaque_types"}


def test_every_primitive_has_its_instruction():
    assert set(INSTRUCTIONS) | MARKS == set(primitives.__all__)


@pytest.fixture(scope="module")
def kernels():
    names = ", ".join(primitives.__all__)
    lines = [
        f"def use_{name}(out):\n    {line}\n" for name, (line, _) in sorted(INSTRUCTIONS.items())
    ]
    head = f"import numpy as np\nfrom {primitives.__name__} import ({names})\n"
    return import_text("kernels_of_primitives", "\n\n".join([head, *lines]))


@pytest.mark.skipif(not COMPILED, reason="it compiles")
@pytest.mark.parametrize("name", INSTRUCTIONS)
def test_a_primitive_compiles_to_its_instruction(kernels, name):
    ptx = compile_to_ptx(getattr(kernels, f"use_{name}"), ("int64*",), (9, 0))
    lacking = f"primitives.{name} compiles to PTX without {INSTRUCTIONS[name][1]}"
    assert re.search(INSTRUCTIONS[name][1], ptx), f"{lacking}:\n{ptx}"
