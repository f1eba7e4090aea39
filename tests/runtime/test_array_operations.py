"""Array operations that ship: taken for the source, the options and the GPU that they were made for, and for no other."""

from __future__ import annotations

import zipfile
from types import SimpleNamespace

import array_operations as script
import pytest
import shipped as shipping

from cugraph_ws.runtime import shipped
from cugraph_ws.runtime.array_operations import COMPILE, archive_name, entry_name, serve

OPTIONS = ("-I/anywhere/include", "--std=c++17")
HEADERS, CUDA = "headers of a release", 13
SPECIAL = (None, None, False, False, None)  # CuPy's further arguments, as for operations on arrays


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder that ships one operation for compute capability 9.0."""
    monkeypatch.setattr(shipped, "FOLDER", tmp_path)
    shipped.archive_of.cache_clear()
    with zipfile.ZipFile(tmp_path / archive_name("90"), "w") as archive:
        archive.writestr(entry_name("add", OPTIONS, HEADERS, CUDA), b"shipped")
    yield tmp_path
    shipped.archive_of.cache_clear()


def compiler_of(headers=HEADERS, cuda=CUDA):
    """Return the compiler of a release of CuPy that has been served, and the list of what it then compiles."""
    compiled = []

    def compile_source(source, options, arch, file, *special, **named):
        compiled.append((source, arch))
        return b"compiled", {}

    compiler = SimpleNamespace(**{COMPILE: compile_source})
    core = SimpleNamespace(core=SimpleNamespace(CUPY_CACHE_KEY=headers))
    nvrtc = SimpleNamespace(getVersion=lambda: (cuda, 0))
    xp = SimpleNamespace(cuda=SimpleNamespace(compiler=compiler, nvrtc=nvrtc), _core=core)
    serve(xp)
    serve(xp)  # once is enough
    return getattr(compiler, COMPILE), compiled


def test_what_ships_is_not_compiled_wherever_headers_lie(folder):
    compile_source, compiled = compiler_of()
    for place in OPTIONS[:1], ("-I/elsewhere", "-I/and/here"):
        options = (*place, *OPTIONS[1:])
        assert compile_source("add", options, "90", "add.cu", *SPECIAL) == (b"shipped", None)
    assert not compiled


@pytest.mark.parametrize(
    "other",
    [
        {"source": "add anew"},
        {"options": (*OPTIONS, "-G")},
        {"arch": "75"},
        {"special": (["add<int>"], *SPECIAL[1:])},
        {"special": (*SPECIAL[:-1], "lto")},
        {"headers": "headers of the next release"},
        {"cuda": 12},
    ],
)
def test_what_was_made_for_something_else_is_compiled(folder, other):
    asked = {"source": "add", "options": OPTIONS, "arch": "90", "special": SPECIAL} | other
    release = {name: asked.pop(name) for name in ("headers", "cuda") if name in asked}
    compile_source, compiled = compiler_of(**release)
    special = asked.pop("special")
    code, _ = compile_source(*asked.values(), "add.cu", *special)
    assert code == b"compiled"
    assert compiled == [(asked["source"], asked["arch"])]


@pytest.mark.parametrize("damage", ["no archive", "cut short", "a byte flipped"])
def test_a_damaged_archive_is_not_used(folder, damage):
    path = folder / archive_name("90")
    contents = path.read_bytes()
    if damage == "no archive":
        path.unlink()
    elif damage == "cut short":
        path.write_bytes(contents[: len(contents) // 2])
    else:
        path.write_bytes(contents.replace(b"shipped", b"shippee"))
    compile_source, compiled = compiler_of()
    assert compile_source("add", OPTIONS, "90", "add.cu", *SPECIAL) == (b"compiled", {})
    assert compiled


def test_a_release_that_names_its_arguments_compiles(folder):
    compile_source, compiled = compiler_of()
    special = dict(zip(("names", "log", "in_memory", "jitify", "method"), SPECIAL, strict=True))
    assert compile_source("add", OPTIONS, "90", "add.cu", **special)[0] == b"compiled"
    assert compile_source(source="add", options=OPTIONS, arch="90", file="add.cu")[0] == b"compiled"
    assert compiled == [("add", "90")] * 2


def test_a_release_of_other_insides_is_left_as_it_is(folder):
    compiler = SimpleNamespace(compile=print)
    serve(SimpleNamespace(cuda=SimpleNamespace(compiler=compiler)))
    assert vars(compiler) == {"compile": print}


def test_the_list_is_of_kernels_by_their_sources():
    sources = script.listed()["sources"]
    assert sources == sorted(set(sources))
    assert len(sources) > 200
    assert all("__global__ void" in source for source in sources)


def test_operations_are_those_that_sources_give(folder):
    """With CuPy, no GPU is needed."""
    cupy = pytest.importorskip("cupy")
    listed = script.listed()
    if listed["headers"] != cupy._core.core.CUPY_CACHE_KEY:
        with pytest.raises(SystemExit, match=cupy.__version__):
            shipping.ship_operations(listed, ["75"], into=folder)
        return
    source = listed["sources"][0]
    shipping.ship_operations({**listed, "sources": [source]}, ["75"], into=folder)
    assert [path.name for path in folder.iterdir()] == [archive_name("75")]
    name, code = script.compile_operation(source, "75")
    with zipfile.ZipFile(folder / archive_name("75")) as archive:
        assert archive.namelist() == [name]
        assert archive.read(name) == code
