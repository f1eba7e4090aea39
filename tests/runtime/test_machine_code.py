"""The cache of compiled code: damage is compiled again, and what is not ours alone is not used."""

from __future__ import annotations

import gc
import importlib.util
import os
import pickle
import stat
import subprocess
import sys
import textwrap
import warnings
import weakref
import zlib
from pathlib import Path
from types import ModuleType
from typing import Any

import numba
import numpy as np
import pyarrow as pa
import pytest
from conftest import COMPILED

import cugraph_ws as ws
from cugraph_ws.kernels.cpu.dispatchers import OPTIONS
from cugraph_ws.kernels.cpu.jit import inline
from cugraph_ws.program import codegen, modules
from cugraph_ws.runtime import atomic_files, machine_code
from cugraph_ws.runtime.machine_code import (
    CodeCache,
    cache_folder,
    code_folder,
    file_stem,
    read_entry,
    write_entry,
)

needs_compiler = pytest.mark.skipif(not COMPILED, reason="nothing is compiled")

KERNEL = """
import numpy as np
from cugraph_ws.kernels.cpu.jit import jit

@jit
def total(values):
    found = 0.0 * SALT
    for place in range(len(values)):
        found += values[place] * FACTOR
    return found
"""

SEARCH = """
import cugraph_ws as ws

@ws.vertex_program
class Search:
    hops: ws.int64
    start: ws.vertex_set

    def init(vertex, p, own):
        return 0 if own.start else 2**40

    def starts(state):
        return state.hops == 0

    def compute(src, edge):
        return src.hops + LENGTH

    combine = min
    asynchronous = True

    def apply(old, gathered):
        return min(old.hops, gathered)

    def priority(state):
        return state.hops
"""

PROGRAM = """
import numpy as np
import pyarrow as pa
import cugraph_ws as ws

{before}

@ws.vertex_program
class Spread:
    value: ws.float64
    max_iter = 2

    def init(vertex):
        return 1.0 * vertex

    def compute(src):
        return src.value

    combine = max

    def apply(old, gathered):
        return gathered

edges = pa.table({{"source": [0, 1, 2], "destination": [1, 2, 0]}})
if __name__ == "__main__":
    print(ws.run(Spread, edges, plan=ws.Plan(direction="gather")).arrays["value"].tolist())
"""
ANSWER = "[1.0, 2.0, 0.0]"


@pytest.fixture(autouse=True)
def warned(monkeypatch):
    """Let each test be warned once."""
    found: list[Path] = []
    monkeypatch.setattr(machine_code, "_warned", found)
    return found


# ------------------------------------------------------------------------------------- entries


def test_an_entry_comes_back_as_it_was(tmp_path):
    for content in (b"", b"\0" * 9, os.urandom(5000)):
        assert write_entry(tmp_path / "one.nbc", content)
        assert read_entry(tmp_path / "one.nbc") == content
    assert read_entry(tmp_path / "missing") is None


def test_every_damage_is_seen(tmp_path):
    path = tmp_path / "one.nbc"
    write_entry(path, b"machine code")
    whole = path.read_bytes()
    changed = [whole[:length] for length in range(len(whole))]
    changed += [whole + b"\0", b"\0" + whole, whole.replace(b"code", b"c0de"), b"machine code"]
    for place in range(len(whole)):
        for bit in (1, 128):
            changed.append(whole[:place] + bytes([whole[place] ^ bit]) + whole[place + 1 :])
    for content in changed:
        path.write_bytes(content)
        assert read_entry(path) is None, content
    path.write_bytes(whole)
    assert read_entry(path) == b"machine code"


def test_an_entry_under_another_name_is_none(tmp_path):
    write_entry(tmp_path / "one.nbc", b"of one")
    (tmp_path / "one.nbc").rename(tmp_path / "two.nbc")
    assert read_entry(tmp_path / "two.nbc") is None


def test_names_of_files():
    assert file_stem("Größte Breite!") == "Gr__te_Breite_"
    assert file_stem("x" * 999) == "x" * 48


# ------------------------------------------------------------------------------------- folders


class TestTheFolder:
    """It is this user's alone, or not used."""

    def test_a_new_one_is_private(self, tmp_path, monkeypatch):
        monkeypatch.setenv("CUGRAPH_WS_CACHE_DIR", str(tmp_path / "a" / "b"))
        before = os.umask(0)
        try:
            assert code_folder() == tmp_path / "a" / "b"
        finally:
            os.umask(before)
        assert stat.S_IMODE((tmp_path / "a" / "b").stat().st_mode) == 0o700

    @pytest.mark.parametrize("wrong", ["writable", "a link", "another's"])
    def test_one_that_is_not_is_not_used(self, wrong, tmp_path, monkeypatch):
        folder = tmp_path / "cache"
        folder.mkdir(mode=0o700)
        if wrong == "writable":
            folder.chmod(0o777)
        elif wrong == "a link":
            folder.rename(tmp_path / "elsewhere")
            folder.symlink_to(tmp_path / "elsewhere")
        monkeypatch.setenv("CUGRAPH_WS_CACHE_DIR", str(folder))
        if wrong == "another's":
            lstat = os.lstat
            monkeypatch.setattr(os, "lstat", lambda path: foreign(lstat(path), path == folder))
        with pytest.warns(RuntimeWarning, match="chmod go-w"):
            found = code_folder()
        assert found not in (folder, tmp_path / "elsewhere")
        assert machine_code.is_private(found)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert code_folder() == found, "said once"

    def test_a_planted_module_is_not_executed(self, tmp_path, monkeypatch):
        """A file of the right name in a folder that all can write to is never read."""
        folder = tmp_path / "cache"
        folder.mkdir()
        folder.chmod(0o777)
        (folder / "planted_0.py").write_text("raise SystemExit('executed')")
        monkeypatch.setenv("CUGRAPH_WS_CACHE_DIR", str(folder))
        with pytest.warns(RuntimeWarning):
            module = modules.import_text("planted_0", "answer = 42\n")
        assert module.answer == 42
        assert sys.modules.pop("planted_0") is module
        assert "SystemExit" in (folder / "planted_0.py").read_text()

    def test_a_read_only_place(self, tmp_path, monkeypatch):
        (tmp_path / "file").touch()
        monkeypatch.setenv("CUGRAPH_WS_CACHE_DIR", str(tmp_path / "file" / "below"))
        assert machine_code.is_private(code_folder())

    def test_no_home_folder(self, monkeypatch):
        """Neither HOME nor an entry in the list of users, as in a container with `-u`."""
        monkeypatch.delenv("CUGRAPH_WS_CACHE_DIR", raising=False)
        monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
        monkeypatch.delenv("HOME", raising=False)
        without_users(monkeypatch)
        assert machine_code.is_private(cache_folder())
        assert code_folder() == cache_folder()

    def test_files_of_killed_runs_are_removed(self, tmp_path, monkeypatch):
        left = tmp_path / f".cugraph_ws-{'a' * 32}.part"
        left.touch()
        os.utime(left, (0, 0))
        tmp_path.chmod(0o700)
        monkeypatch.setenv("CUGRAPH_WS_CACHE_DIR", str(tmp_path))
        code_folder()
        assert not left.exists()


def foreign(found: os.stat_result, changed: bool) -> Any:
    """Return what is known of a file, perhaps as that of another user."""
    if not changed:
        return found
    return os.stat_result((*found[:4], found.st_uid + 1, *found[5:]))


def without_users(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the system know no user."""
    import pwd

    def unknown(user: int) -> Any:
        raise KeyError(f"getpwuid(): uid not found: {user}")

    monkeypatch.setattr(pwd, "getpwuid", unknown)


# ------------------------------------------------------------------------ what Numba compiles


@pytest.fixture
def kernel(tmp_path, monkeypatch):
    """Return a function that imports a kernel anew, and the folder of its entries."""
    if not COMPILED:
        pytest.skip("nothing is compiled")
    monkeypatch.setenv("CUGRAPH_WS_CACHE_DIR", str(tmp_path / "cache"))
    path = tmp_path / "kernel_of_a_test.py"

    def load(factor: float = 2.0) -> ModuleType:
        salt = zlib.crc32(str(tmp_path).encode())  # no test may find another's code
        text = f"SALT = {salt}\n" + KERNEL.replace("FACTOR", str(factor))
        path.write_text(text, encoding="utf-8")
        spec = importlib.util.spec_from_file_location(path.stem, path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    return load, tmp_path / "__pycache__"


def compiled(module: ModuleType) -> bool:
    """Call a kernel and check its answer; return whether it was compiled for that."""
    assert module.total(np.arange(4.0)) == 12.0
    return not module.total.stats.cache_hits


def entries(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.nbc"))


def test_a_kernel_is_compiled_once(kernel):
    load, folder = kernel
    assert compiled(load())
    (entry,) = entries(folder)
    assert stat.S_IMODE(entry.stat().st_mode) == 0o600
    assert not compiled(load())
    module = load()
    assert module.total.stats.cache_path == str(folder)
    assert module.total(np.arange(4, dtype=np.int32)) == 12.0
    assert len(entries(folder)) == 2, "another signature is another entry"
    module.total.recompile()  # Numba's own way to have it compiled again
    assert not compiled(load())


@pytest.mark.parametrize(
    "damage",
    [
        lambda whole: b"",
        lambda whole: whole[:20],
        lambda whole: whole[:-1],
        lambda whole: whole.replace(b"total", b"tota1"),
        lambda whole: os.urandom(len(whole)),
        lambda whole: pickle.dumps((1, 2)),
    ],
    ids=["empty", "cut early", "cut late", "changed", "noise", "another"],
)
def test_a_damaged_entry_is_compiled_again(damage, kernel):
    load, folder = kernel
    compiled(load())
    (entry,) = entries(folder)
    whole = entry.read_bytes()
    entry.write_bytes(damage(whole))
    assert compiled(load())
    assert not compiled(load()), "the new entry is whole"


@pytest.mark.parametrize("content", [b"no pickle", pickle.dumps(("another signature", ()))])
def test_an_entry_that_is_whole_and_nonsense_is_compiled_again(content, kernel):
    """As one would be that another version of a library had written."""
    load, folder = kernel
    compiled(load())
    (entry,) = entries(folder)
    write_entry(entry, content)
    assert compiled(load())


def test_code_is_kept_and_loaded(kernel, monkeypatch):
    """The cache by itself, as Numba's dispatcher calls it."""
    load, folder = kernel
    total = load().total
    total(np.arange(4.0))
    ((sig, result),) = total.overloads.items()
    (entry,) = entries(folder)
    content = read_entry(entry)
    entry.unlink()
    cache, context = CodeCache(total.py_func, repr(OPTIONS)), total.targetctx
    assert cache.load_overload(sig, context) is None
    cache.save_overload(sig, result)
    assert entries(folder) == [entry]
    assert cache.load_overload(sig, context).signature == result.signature
    for nonsense in (b"no pickle", pickle.dumps((("other",), ()))):
        write_entry(entry, nonsense)
        assert cache.load_overload(sig, context) is None
    write_entry(entry, content)
    assert CodeCache(total.py_func, repr(OPTIONS)).load_overload(sig, context) is not None
    other = load(factor=12.5).total.py_func
    assert CodeCache(other, repr(OPTIONS)).load_overload(sig, context) is None, "another source"
    assert CodeCache(total.py_func).load_overload(sig, context) is None, "other options"
    monkeypatch.setattr(machine_code, "_folder_for", lambda file: None)
    cache = CodeCache(total.py_func)
    assert cache.cache_path is None
    cache.save_overload(sig, result)
    assert cache.load_overload(sig, context) is None
    monkeypatch.setattr(type(result), "_reduce", lambda self: 1 / 0)
    monkeypatch.setattr(machine_code, "_folder_for", lambda file: folder)
    entry.unlink()
    CodeCache(total.py_func).save_overload(sig, result)
    assert entries(folder) == []


def test_folder_of_kept_kernels(tmp_path, monkeypatch):
    """Below Numba's folder, beside the file, with all compiled code, in a temporary folder, nowhere."""
    from numba.core import config

    file = tmp_path / "package" / "kernel.py"
    file.parent.mkdir()
    monkeypatch.setenv("CUGRAPH_WS_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(config, "CACHE_DIR", str(tmp_path / "numba"))
    found = [machine_code._folder_for(str(file))]
    monkeypatch.setattr(config, "CACHE_DIR", "")
    found.append(machine_code._folder_for(str(file)))
    (file.parent / "__pycache__").chmod(0o777)
    found.append(machine_code._folder_for(str(file)))
    assert [one.parent for one in found] == [tmp_path / "numba", file.parent, tmp_path / "cache"]
    found[2].chmod(0o777)
    assert machine_code._folder_for(str(file)) == atomic_files.temporary_folder()

    def nowhere() -> Path:
        raise FileNotFoundError(2, "No usable temporary directory")

    monkeypatch.setattr(machine_code, "temporary_folder", nowhere)
    assert machine_code._folder_for(str(file)) is None
    (tmp_path / "cache").chmod(0o777)
    with pytest.warns(RuntimeWarning, match="not kept there"):
        assert machine_code._folder_for(str(file)) is None
    monkeypatch.delenv("CUGRAPH_WS_CACHE_DIR")
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.delenv("HOME", raising=False)
    without_users(monkeypatch)
    assert code_folder() is None
    module = modules.import_text("nowhere_0", "answer = 42\n")
    assert module.answer == 42
    del sys.modules["nowhere_0"]


def test_folders_of_others_hold_no_kernels(kernel, tmp_path, monkeypatch):
    from numba.core import config

    load, folder = kernel
    compiled(load())
    folder.chmod(0o777)
    assert compiled(load()), "what is there is not read"
    (elsewhere,) = [one for one in (tmp_path / "cache").iterdir() if one.is_dir()]
    assert len(entries(elsewhere)) == 1
    assert not compiled(load())
    elsewhere.chmod(0o777)
    assert compiled(load()), "in a temporary folder"
    monkeypatch.setattr(config, "CACHE_DIR", str(tmp_path / "numba"))
    assert compiled(load())
    assert not compiled(load())
    assert len(list((tmp_path / "numba").rglob("*.nbc"))) == 1


def test_no_folder_at_all(kernel, monkeypatch):
    load, folder = kernel

    def full(path: Path) -> bool:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(machine_code, "private_folder", full)
    assert compiled(load())
    assert entries(folder) == []


def test_programs_that_cannot_be_pickled_are_not_kept(kernel, monkeypatch):
    from numba.core.compiler import CompileResult

    def refuse(result: Any) -> Any:
        raise pickle.PicklingError("no")

    load, folder = kernel
    monkeypatch.setattr(CompileResult, "_reduce", refuse)
    assert compiled(load())
    assert entries(folder) == []


def test_code_with_addresses_in_it_is_not_kept(kernel):
    class Library:
        has_dynamic_globals = True

    class Result:
        library = Library

    load, folder = kernel
    CodeCache(load().total.py_func).save_overload((), Result)
    assert entries(folder) == []
    cache = CodeCache(load().total.py_func)
    cache.enable()
    cache.disable()
    cache.flush()


# -------------------------------------------------------------------------- runs, from the outside


def run_script(folder: Path, before: str = "", **environment: str | None) -> str:
    """Run a program in another process, with all compiled code in a folder of the test."""
    script = folder / "spread.py"
    script.write_text(textwrap.dedent(PROGRAM.format(before=before)), encoding="utf-8")
    given: dict[str, str | None] = {
        **os.environ,
        "CUGRAPH_WS_CACHE_DIR": str(folder / "cache"),
        "NUMBA_CACHE_DIR": str(folder / "cache" / "numba"),
        **environment,
    }
    done = subprocess.run(
        [sys.executable, str(script)],
        env={name: value for name, value in given.items() if value is not None},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@needs_compiler
def test_an_edit_of_a_program_compiles_what_depends_on_it(tmp_path, monkeypatch):
    """In one process, as in a notebook; `balance` and others of a search's loops depend on no function of a program."""
    monkeypatch.setenv("CUGRAPH_WS_CACHE_DIR", str(tmp_path))
    graph = ws.Graph(pa.table({"source": [0, 1, 2], "destination": [1, 2, 3]}))
    assert ws.run(edited("1"), graph, start=0)["hops"].to_pylist() == [0, 1, 2, 3]
    before = set(tmp_path.rglob("*.nbc"))
    assert ws.run(edited("2"), graph, start=0)["hops"].to_pylist() == [0, 2, 4, 6]
    added = {path.name.split("-")[0] for path in set(tmp_path.rglob("*.nbc")) - before}
    assert "push_fused" in added
    assert not added & {"initialise", "select_started", "balance", "_next_bucket"}
    assert len(added) < len(before)


def edited(length: str) -> Any:
    """Return a search that adds `length` to the distance for each edge."""
    text = SEARCH.replace("LENGTH", length)
    path = Path(os.environ["CUGRAPH_WS_CACHE_DIR"]) / f"search_{length}.py"
    path.write_text(text, encoding="utf-8")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module.Search


@pytest.mark.long
@needs_compiler
def test_no_damage_fails_a_run(tmp_path):
    """Of the generated module, of what was compiled of it, and of the library's own loops."""
    assert run_script(tmp_path) == ANSWER
    files = [path for path in (tmp_path / "cache").rglob("*") if path.is_file()]
    names = " ".join(path.name for path in files)
    assert "gather" in names
    assert "count_rows" in names
    for place, path in enumerate(sorted(files)):
        content = path.read_bytes()
        damage = [b"", content[: len(content) // 2], content[:-1] + bytes([content[-1] ^ 4])]
        path.write_bytes(damage[place % 3])
    assert run_script(tmp_path) == ANSWER


@needs_compiler
def test_a_full_disk_and_no_home_are_survived(tmp_path):
    """No file can get a single byte; and the user has no home, and no entry in the system's list."""
    before = """
    import pwd, resource

    def unknown(user):
        raise KeyError(user)

    pwd.getpwuid = unknown
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    """
    nowhere: dict[str, str | None] = dict.fromkeys(
        ["CUGRAPH_WS_CACHE_DIR", "NUMBA_CACHE_DIR", "XDG_CACHE_HOME", "HOME"]
    )
    assert run_script(tmp_path, textwrap.dedent(before), **nowhere) == ANSWER


# ------------------------------------------------------------------------------ kept memory


@needs_compiler
def test_compiling_gives_its_memory_back():
    """What stays of a function is its code and what Numba knows of it, not what optimized it."""
    import ctypes

    class Heap(ctypes.Structure):
        _fields_ = [(f"field_{place}", ctypes.c_size_t) for place in range(10)]

    library = ctypes.CDLL(None)
    if not hasattr(library, "mallinfo2"):
        pytest.skip("no heap whose size can be asked for")
    library.mallinfo2.restype = Heap

    def used() -> int:
        gc.collect()
        heap = library.mallinfo2()
        return int(heap.field_7 + heap.field_4)  # in use, and mapped apart

    def compile_one(number: int) -> None:
        space: dict[str, Any] = {}
        exec(f"def plus(x):\n    return x + {number}", space)
        compiled: Any = inline(space["plus"])
        compiled.compile((numba.int64,))
        assert compiled.overloads

    compile_one(0)
    before = used()
    for number in range(1, 11):
        compile_one(number)
    assert (used() - before) / 10 < 350_000


def small(number: float) -> Any:
    """Return a program that is like no other."""

    @ws.vertex_program
    class Small:
        value: ws.float64
        max_iter = 1

        def init(vertex):
            return number

        def compute(src):
            return src.value

        combine = max

        def apply(old, gathered):
            return gathered + number

    return Small


EDGES = pa.table({"source": [0, 1], "destination": [1, 0]})


def answer(program: Any) -> float:
    return float(ws.run(program, EDGES, plan=ws.Plan(direction="gather")).arrays["value"][0])


@needs_compiler
def test_modules_of_programs_are_bounded(monkeypatch):
    """However many programs there are; and Numba forgets what it compiled of those that are gone."""
    monkeypatch.setattr(modules, "_modules", {})
    monkeypatch.setattr(modules, "KEPT", 1)
    loaded = {name for name in sys.modules if name.startswith("cugraph_ws_generated_")}
    programs = [small(float(number)) for number in range(1, 4)]
    loops, in_use = [], []
    for number, program in enumerate(programs, start=1):
        assert answer(program) == 2 * number
        ((name, module),) = modules._modules.items()
        assert name in program.memory.values()
        loops.append(weakref.ref(module.gather))
        if number == 1:
            in_use.append(module)  # as by a loop that goes on
        del module
    now = {name for name in sys.modules if name.startswith("cugraph_ws_generated_")}
    assert now - loaded == set(modules._modules)
    gc.collect()
    assert [one() is None for one in loops] == [False, True, False]
    assert in_use[0].gather.overloads
    in_use.clear()
    gc.collect()
    assert [one() is None for one in loops] == [True, True, False]
    assert answer(programs[0]) == 2.0, "one that is gone is made again"


@pytest.mark.parametrize("kept", [1, 3])
def test_no_more_modules_are_kept_than_that(kept, monkeypatch):
    """The programs that ran last are those whose modules stay."""
    monkeypatch.setattr(modules, "_modules", {})
    monkeypatch.setattr(modules, "KEPT", kept)
    programs = [small(float(number)) for number in range(100, 108)]
    types = codegen.Types(("float64",), (), (), (), (), (), ("float64",), False)
    made = [modules.compiled_module(program, types).__name__ for program in programs]
    assert list(modules._modules) == made[-kept:]
    first = next(iter(modules._modules))
    modules.compiled_module(programs[made.index(first)], types)
    assert list(modules._modules)[-1] == first
    assert not any(name in sys.modules for name in made[:-kept])


def test_text_that_fails_leaves_no_module():
    with pytest.raises(ZeroDivisionError):
        modules.import_text("failing_0", "1 / 0\n")
    assert "failing_0" not in sys.modules


@needs_compiler
def test_functions_that_kernels_call_refuse_python():
    """They have no entry for Python: a call would jump to address 0."""
    inner: Any = inline(lambda x: x + 1)

    @numba.njit
    def outer(x):
        return inner(x)

    for _ in range(2):
        with pytest.raises(TypeError, match="called by compiled code alone"):
            inner(1)
        assert outer(1) == 2
