"""The cache of device functions: what has changed is compiled again, nothing else, and the code is Numba's."""

from __future__ import annotations

import itertools
import re
import subprocess
import sys
import textwrap
import zipfile

import pytest
from conftest import COMPILED
from model_programs import MODELS

from cugraph_ws.runtime import device_functions, shipped
from cugraph_ws.runtime.device_functions import (
    Callee,
    FunctionCode,
    as_places,
    keep,
    kept,
    link_order,
    resolved,
)

pytest.importorskip("numba.cuda.extending", reason="Numba-CUDA is not installed")

from numba.core.errors import NumbaError
from numba.cuda.dispatcher import CUDADispatcher

from cugraph_ws.backends.cuda.listed_programs import jobs_of, jobs_of_models
from cugraph_ws.runtime import compile_ahead, cuda_target
from cugraph_ws.runtime.compile_worker import function_of
from cugraph_ws.runtime.device_compiler import compile_to_ptx
from cugraph_ws.runtime.generated import import_text
from cugraph_ws.runtime.machine_code import read_entry

needs_compiler = pytest.mark.skipif(not COMPILED, reason="nothing is compiled")

KERNEL = """
from collections import namedtuple
import numpy as np
from cugraph_ws.kernels.cuda.primitives import inline, jit, thread

Pair = namedtuple("Pair", ("first", "second"))
FACTOR = 3
Parts = namedtuple("Parts", ("one", "two"))

@inline
def split(options):
    return options[0], options[1]

@inline
def join(parts):
    whole = Parts(*parts)
    return whole.one

@inline
def load(array, place):
    return Pair(array[place], 2.0 * array[place])

@inline
def weigh(value):
    return value * FACTOR

@inline
def halve(value):
    return value / 2

near = weigh

@jit
def combine(array, place, options):
    pair = load(array, place)
    return weigh(pair.first) + near(pair.second) + join(split(options))

def kernel(array, options, count):
    if thread() < count:
        array[thread()] = combine(array, thread(), options)
"""
KINDS = ("float64*", ("int64", "float64"), "int64")
numbers = itertools.count()


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """Returns a function that starts an empty cache."""

    def start():
        folder = tmp_path / str(next(numbers))
        monkeypatch.setenv("CUGRAPH_WS_CACHE_DIR", str(folder))
        return folder

    start()
    return start


@pytest.fixture
def compiled(monkeypatch):
    """The names of the functions that Numba compiles."""
    names = []
    compile_device = CUDADispatcher.compile_device

    def noted(self, *given, **named):
        names.append(self.__name__)
        return compile_device(self, *given, **named)

    monkeypatch.setattr(CUDADispatcher, "compile_device", noted)
    return names


def ptx_of(text, kinds=KINDS, capability=(9, 0)):
    """Compile the kernel in a module of its own, as another process would."""
    return compile_to_ptx(
        import_text(f"of_device_functions_{next(numbers)}", text).kernel, kinds, capability
    )


@needs_compiler
def test_another_process_needs_numba_for_nothing(cache, compiled):
    first = ptx_of(KERNEL)
    assert {"load", "weigh", "combine"} <= set(compiled)
    compiled.clear()
    assert ptx_of(KERNEL) == first
    assert compiled == []


# For each edit: what it replaces and by what, and the functions that are compiled again
EDITS = {
    "a function": ("2.0 * array[place]", "3.0 * array[place]", ["load"]),
    "a constant": ("FACTOR = 3", "FACTOR = 4", ["weigh"]),
    "a docstring": ("return value / 2", '"""Halve."""', []),
    "a type that a callee returns": (
        "return value * FACTOR",
        "return np.int64(value) * FACTOR",
        ["weigh", "combine", "kernel"],
    ),
    "the order of fields": ('"first", "second"', '"second", "first"', ["load", "combine"]),
    "what a name stands for": ("near = weigh", "near = halve", ["halve", "combine"]),
    "how a function is inlined": ("@inline\ndef weigh", "@jit\ndef weigh", ["weigh", "combine"]),
    "how many parts are passed on": (
        'Parts = namedtuple("Parts", ("one", "two"))\n\n@inline\ndef split(options):\n    return options[0], options[1]',
        'Parts = namedtuple("Parts", ("one", "two", "three"))\n\n@inline\ndef split(options):\n    return options[0], options[1], 2',
        ["split", "join", "combine"],
    ),
    "the kernel": ("thread() < count", "thread() <= count", ["kernel"]),
}


@needs_compiler
@pytest.mark.parametrize("edit", EDITS)
def test_an_edit_compiles_what_it_changes(edit, cache, compiled):
    """And the kernel is that of an empty cache."""
    before, after, again = EDITS[edit]
    text = KERNEL.replace(before, after)
    assert text != KERNEL
    expected = ptx_of(text)
    cache()
    ptx_of(KERNEL)
    compiled.clear()
    assert ptx_of(text) == expected
    assert sorted(set(compiled)) == sorted(again)


@needs_compiler
def test_other_types_are_other_entries(cache, compiled):
    ptx_of(KERNEL)
    compiled.clear()
    ptx_of(KERNEL, ("float32*", *KINDS[1:]))
    assert {"load", "weigh", "combine"} <= set(compiled)
    compiled.clear()
    ptx_of(KERNEL)
    ptx_of(KERNEL, ("float32*", *KINDS[1:]))
    assert compiled == []


@needs_compiler
def test_entries_serve_every_capability(cache):
    """So their names need not have it."""
    ptx_of(KERNEL)  # the primitives are compiled once in a process
    found = []
    for capability in ((7, 5), (9, 0), (12, 0)):
        folder = cache()
        ptx_of(KERNEL, capability=capability)
        found.append({path.name: path.read_bytes() for path in folder.glob("cuda/*.nvvm")})
    assert found[0]
    assert found[0] == found[1] == found[2]


@needs_compiler
def test_a_damaged_entry_is_compiled_again(cache, compiled):
    folder = cache()
    expected = ptx_of(KERNEL)
    for path in folder.glob("cuda/*.nvvm"):
        path.write_bytes(path.read_bytes()[:-1] + b"?")
    compiled.clear()
    assert ptx_of(KERNEL) == expected
    assert "combine" in compiled


@needs_compiler
def test_what_cannot_be_named_is_compiled_each_time(cache, compiled):
    """A default of an argument has a type that is not written; so has what calls it with the default."""
    text = KERNEL.replace("def weigh(value)", "def weigh(value, by=0)")
    expected = ptx_of(text)
    compiled.clear()
    assert ptx_of(text) == expected
    assert set(compiled) == {"weigh", "combine"}


# Kernels of the library, by Numba alone, and from the cache that another process has filled
DIRECT = """
import hashlib, json, sys
from cugraph_ws.backends.cuda.listed_programs import jobs_of
from cugraph_ws.runtime import compile_ahead, cuda_target, device_compiler
from cugraph_ws.runtime.compile_worker import function_of
from numba.cuda import compiler
from numba.cuda.dispatcher import CUDADispatcher

if sys.argv[1] == "direct":
    for kind in cuda_target.DeviceFunction, cuda_target.InterfaceFunction:
        kind.compile_device = CUDADispatcher.compile_device
    def direct(function, arguments, capability):
        library, _ = compiler._compile_pyfunc_with_fixup(
            function, arguments, device=False, abi="numba", cc=capability
        )
        return str(library.get_asm_str(cc=capability))
    cuda_target._ptx = direct
calls = [name for name, _ in compile_ahead._calls()]
for job in jobs_of(calls, (9, 0))[::48]:
    binary = device_compiler.compile_kernel(function_of(job)(), job.kinds, job.capability)
    digest = hashlib.sha256(binary.code).hexdigest()
    print(job.name, digest, binary.registers, binary.spilled, binary.stack, binary.shared)
"""
SLACK = 4  # registers, by which kernels differ that are inlined in another order


@needs_compiler
def test_machine_code_is_as_good_as_what_numba_makes_directly(tmp_path, monkeypatch):
    """And the same from an empty cache and from a filled one."""
    monkeypatch.setenv("CUGRAPH_WS_CACHE_DIR", str(tmp_path))

    def run(how):
        done = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", textwrap.dedent(DIRECT), how],
            capture_output=True,
            check=True,
            text=True,
        )
        return [line.split() for line in done.stdout.splitlines()]

    made = run("empty cache")
    assert len(made) >= 5
    assert run("filled cache") == made
    for (name, _, registers, *memory), (same, _, of_numba, *numbas) in zip(
        made, run("direct"), strict=True
    ):
        assert (name, memory) == (same, numbas)
        assert int(registers) <= int(of_numba) + SLACK, name


# ----------------------------------------------------------------------------------- opaque types

PROGRAM = """
from collections import namedtuple
import numpy as np
from cugraph_ws.kernels.cuda.primitives import inline, interface, opaque_types, thread

OPAQUE = opaque_types({"state": "state", "arrays": ["state", None]})
Vertex = namedtuple("Vertex", "STATE")

@interface("vertex")
def load(state, vertex):
    return Vertex(LOADED)

@interface("change")
def no_change():
    return 0

@interface("change")
def change(vertex):
    return CHANGE

@interface(None)
def is_small(vertex, change):
    return vertex[0] < 5

@interface(None)
def put(state, place, change):
    state[0][place] = change
"""
LOOPS = """
@inline
def at(state, count):
    place = np.int64(thread())
    return load(state, min(place, count))

@inline
def changed(state, count):
    found = no_change()
    vertex = at(state, count)
    if is_small(vertex, found):
        found = change(vertex)
    return found

def kernel(state, count):
    put(state, count, changed(state, count))

def other(arrays, count):
    put(arrays[0], count, changed(arrays[0], count))
    arrays[1][0] = 3
"""
SHARED = ["at", "changed", "kernel"]  # what serves every program


def program(state="number", loaded="state[0][vertex]", change="vertex.number + 1"):
    """Return the text of a program's kernels."""
    replaced = {"STATE": state, "LOADED": loaded, "CHANGE": change}
    text = PROGRAM
    for name, value in replaced.items():
        text = text.replace(name, value)
    return text + LOOPS


@needs_compiler
def test_loops_that_do_not_look_into_types_serve_every_program(cache, compiled):
    """The code of each program is that of an empty cache."""
    programs = {
        program(): (("int64*",), "int64"),
        program("number other", "state[0][vertex], state[1][vertex]", "np.int64(vertex.other > 2)"): (
            ("float64*", "uint8*"), "int64",
        ),
    }  # fmt: skip
    expected = []
    for text, kinds in programs.items():
        cache()
        expected.append(ptx_of(text, kinds))
    assert len(set(expected)) == len(programs)
    cache()
    compiled.clear()
    for text, kinds in programs.items():
        assert ptx_of(text, kinds) == expected.pop(0)
    assert [name for name in compiled if name in SHARED] == ["kernel", "changed", "at"]
    assert compiled.count("load") == compiled.count("put") == len(programs)


@needs_compiler
def test_what_ships_is_found(cache, compiled, tmp_path, monkeypatch):
    folder = cache()
    expected = ptx_of(program(), (("int64*",), "int64"))
    with zipfile.ZipFile(tmp_path / shipped.FUNCTIONS, "w") as archive:
        for path in folder.glob("cuda/*.nvvm"):
            archive.writestr(path.name, read_entry(path))
    cache()
    monkeypatch.setattr(shipped, "FOLDER", tmp_path)
    compiled.clear()
    assert ptx_of(program(), (("int64*",), "int64")) == expected
    assert compiled == []


@needs_compiler
def test_a_module_serves_kernels_of_other_types(cache):
    """Of two types of state, in turns."""
    module = import_text(f"of_device_functions_{next(numbers)}", program())
    kinds = (("int64*",), "int64"), (("int16*",), "int64")
    made = [compile_to_ptx(module.kernel, kind, (9, 0)) for kind in (*kinds, *kinds)]
    assert made[:2] == made[2:]
    assert made[0] != made[1]
    within = compile_to_ptx(module.other, ((*kinds[1][:1], "uint8*"), "int64"), (9, 0))
    assert "st.global.u8" in within


def test_parts_of_parameters_are_hidden_and_filled():
    """However deep they lie; tuples without such parts stay what they are."""
    kinds = ("int64", (("float32*", ("uint8*",)), "int64*"), ("int64", "int64"))
    types_of = tuple(map(cuda_target._numba_type, kinds))
    opaque = cuda_target.OpaqueTypes({"deep": [[None, "state"], None], "plain": None})

    def kernel(number, deep, plain):
        """Take a part that is opaque."""

    number, deep, plain = opaque.hide(kernel, types_of)
    assert (number, plain) == (types_of[0], types_of[2])
    assert "opaque state" in str(deep)
    assert "float32*" in str(deep)
    layout = cuda_target.CONTEXT.get_value_type
    assert layout(opaque.filled(deep)) == layout(types_of[1])
    assert opaque.filled(plain) is plain
    assert opaque.layouts() == {"state": str(layout(types_of[1].types[0].types[1]))}


# What cannot be opaque: a role of two types; a function that both kernels and other such functions call, without a
# type that says for whom; and a loop that looks into it
EXPOSED = {
    "a role": ("change", "vertex.number + 1.5", "change is int64 and float64"),
    "a function": (
        "change",
        "no_change() + vertex.number",
        "is called by kernels, and by functions",
    ),
    "a loop": ("at", "vertex.number", "opaque change"),
}


@needs_compiler
@pytest.mark.parametrize("what", EXPOSED)
def test_what_cannot_be_opaque_is_compiled_for_its_own_types(what, cache, compiled, monkeypatch):
    where, change, expected = EXPOSED[what]
    text, kinds = program(change=change), (("int64*",), "int64")
    if where == "at":
        text = text.replace("return found\n", "return found + 1\n")
    module = import_text(f"of_device_functions_{next(numbers)}", text)
    hidden = module.OPAQUE.hide(module.kernel, tuple(map(cuda_target._numba_type, kinds)))
    kernel = cuda_target.DeviceFunction(module.kernel, cuda_target.options())
    with (
        cuda_target._compiling_for((9, 0)),
        pytest.raises((TypeError, NumbaError), match=expected),
    ):
        kernel.compile_device(hidden)
    looked_into = re.sub(r"@interface\(.*\)", "@inline", text).replace("OPAQUE = ", "NONE = ")
    cache()
    plain = ptx_of(looked_into, kinds)
    for _ in range(2):
        assert ptx_of(text, kinds) == plain


@needs_compiler
def test_a_first_program_needs_numba_for_its_own_functions(cache, compiled):
    """The models that are searches, after a search of the library; their types are others."""
    calls = [name for name, _ in compile_ahead._calls() if name.startswith("sssp")]
    names = {"traverse", "initialise", "choose", "push_large", "pull_alone"}
    for job in jobs_of(calls, (9, 0)):
        if job.text and job.name in names:
            cuda_target.compile_functions(function_of(job)(), job.kinds)
    assert {"traverse", "walk"} <= set(compiled)
    compiled.clear()
    found = set()
    for job in jobs_of_models(MODELS, (9, 0)):
        kernel = function_of(job)()
        if job.name in names and kernel.__globals__["SWAPS"]:
            cuda_target.compile_functions(kernel, job.kinds)
            found |= {job.name}
            own = {
                name
                for name, value in vars(sys.modules[job.module]).items()
                if isinstance(value, cuda_target.InterfaceFunction) or name.startswith("user_")
            }
            assert set(compiled) - {"stored_int32", "loaded_int32", "added"} <= own
            compiled.clear()
    assert found >= {"traverse", "choose", "initialise"}


# ----------------------------------------------------------------------------------- texts

MODULES = [
    '; ModuleID = "a.f"\n@"_ZN08NumbaEnv1f" = common global i8* null\n'
    'define i32 @"_ZN1f"(i32 %"x") alwaysinline\n{\n  call @"_ZN1g"() call @"helper"()\n}\n'
    'declare i32 @"_ZN1g"()\n',
    'define linkonce_odr i32 @"helper"()\n{\n}\n',
]


def test_symbols_are_places():
    own, made = as_places(MODULES, "_ZN1f", ["_ZN1g"], entry=False)
    assert own == (
        'define linkonce_odr i32 @"its own"(i32 %"x") alwaysinline\n{\n  call @"callee 0"() call @"its own 0"()\n}\n'
        'declare i32 @"callee 0"()\n'
    )
    assert made == 'define linkonce_odr i32 @"its own 0"()\n{\n}\n'
    entry, _ = as_places(MODULES, "_ZN1f", ["_ZN1g"], entry=True)
    assert entry.startswith('define i32 @"its own"')


def test_places_are_filled_by_what_is_called():
    code = FunctionCode("int32", as_places(MODULES, "_ZN1f", ["_ZN1g"], entry=False), [])
    callees = [
        resolved("g", FunctionCode("int32", ['define i32 @"its own"()'], []), []) for _ in "ab"
    ]
    one, same = (resolved("ƒ", code, [callee]) for callee in callees)
    assert one == same
    assert one.symbol.startswith("__")
    assert one.symbol.isascii()
    assert f'call @"{callees[0].symbol}"() call @"{one.symbol}0"()' in one.texts[0]
    other = resolved("g", FunctionCode("int32", ['define i64 @"its own"()'], []), [])
    assert resolved("ƒ", code, [other]).symbol != one.symbol, (
        "it has the code of all that is called"
    )


def test_callers_are_linked_before_what_they_call():
    def made(name, *callees):
        return resolved(name, FunctionCode("void", [name], []), callees)

    leaf = made("leaf")
    left, right = made("left", leaf), made("right", leaf)
    order = link_order(made("top", left, made("middle", right), right), {})
    assert sorted(order) == ["leaf", "left", "middle", "right", "top"]
    for caller, callee in (
        ("top", "left"),
        ("left", "leaf"),
        ("middle", "right"),
        ("right", "leaf"),
    ):
        assert order.index(caller) < order.index(callee)


def test_an_entry_has_a_code_for_each_type_that_callees_return(cache):
    codes = [
        FunctionCode(
            "int64",
            [f"text {number}"],
            [Callee("f", ["int64", ["tuple", "", ["int32"], []]], kind)],
        )
        for number, kind in enumerate(["int64", "float64", "int64"])
    ]
    key = "f-key.nvvm"
    for code in codes:
        keep(key, code)
    assert kept(key) == [codes[2], codes[1]], "the newest first, and one of a kind"
    for number in range(2 * device_functions.MOST):
        keep(key, codes[0]._replace(callees=[Callee("f", [], number)]))
    assert len(kept(key)) == device_functions.MOST
    assert kept("other.nvvm") == []


def test_nothing_is_kept_where_no_folder_is(monkeypatch):
    monkeypatch.setattr(device_functions, "code_folder", lambda: None)
    keep("f-key.nvvm", FunctionCode("int64", [], []))
    assert kept("f-key.nvvm") == []
