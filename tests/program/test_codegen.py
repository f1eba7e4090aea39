"""Generated modules: the same text for the same program, one file, compiled once on a machine."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from conftest import COMPILED
from programs import Hops, Nearest, Paths, Rank
from shapes import SHAPES, build

import cugraph_ws as ws
from cugraph_ws.program import codegen, modules
from cugraph_ws.program.binding import bind

PROGRAM = """
    import cugraph_ws as ws
    import pandas as pd

    @ws.vertex_program
    class Spread:
        value: ws.float64

        def init(vertex):
            return float(vertex)

        def compute(src):
            return src.value {change}

        combine = max

        def apply(old, gathered):
            return max(old.value, gathered)

    edges = pd.DataFrame({{"source": [3, 2, 1], "destination": [2, 1, 0]}})
    print(ws.run(Spread, edges, max_iter=4, plan=ws.Plan(direction="gather")).frame["value"].tolist())
"""


def types_of(program, edges=SHAPES["clique"], **given) -> codegen.Types:
    with build(edges) as graph:
        return bind(program, graph, given).types


@pytest.mark.parametrize(
    ("program", "given"), [(Hops, {"start": 0}), (Nearest, {"seeds": [0]}), (Paths, {}), (Rank, {})]
)
def test_the_same_text_for_the_same_program(program, given):
    types = types_of(program, **given)
    text = codegen.generated_source(program, types)
    assert text == codegen.generated_source(program, types)
    assert text.startswith(f'"""Loops of the vertex program {program.name}, generated."""')
    compile(text, "<generated>", "exec")
    assert "cugraph_ws.kernels.cpu.interface" not in text, "the program takes its place"


def test_other_types_make_another_text():
    whole = SHAPES["integer weights"]
    texts = {
        codegen.generated_source(ws.SSSP, types_of(ws.SSSP, edges, source=0))
        for edges in (whole, SHAPES["random"])
    }
    assert len(texts) == 2


def test_a_module_is_made_once():
    types = types_of(Hops, start=0)
    assert modules.compiled_module(Hops, types) is modules.compiled_module(Hops, types)
    Hops.memory.pop(types)
    assert modules.compiled_module(Hops, types).__name__.startswith("cugraph_ws_generated_Hops_")


class TestTheFolder:
    """Where generated modules are kept."""

    def test_as_asked(self, monkeypatch, tmp_path):
        monkeypatch.setenv("CUGRAPH_WS_CACHE_DIR", str(tmp_path / "here"))
        assert codegen.cache_folder() == tmp_path / "here"

    def test_cache_in_the_xdg_folder(self, monkeypatch, tmp_path):
        monkeypatch.delenv("CUGRAPH_WS_CACHE_DIR")
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
        assert codegen.cache_folder() == tmp_path / "cugraph_ws"

    def test_cache_in_the_home_folder(self, monkeypatch, tmp_path):
        monkeypatch.delenv("CUGRAPH_WS_CACHE_DIR")
        monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
        monkeypatch.setenv("HOME", str(tmp_path))
        assert codegen.cache_folder() == tmp_path / ".cache" / "cugraph_ws"


def run_script(folder: Path, cache: Path, change: str = "", **environment: str) -> str:
    script = folder / "program.py"
    script.write_text(textwrap.dedent(PROGRAM.format(change=change)))
    done = subprocess.run(
        [sys.executable, str(script)],
        env={**os.environ, "CUGRAPH_WS_CACHE_DIR": str(cache), **environment},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def machine_code(folder: Path) -> dict[str, int]:
    """Return the files in which Numba keeps compiled loops, and when they were written."""
    found = [*folder.rglob("*.nbc"), *folder.rglob("*.nbi")]
    return {path.name: path.stat().st_mtime_ns for path in found}


@pytest.mark.long
@pytest.mark.skipif(not COMPILED, reason="nothing is compiled")
def test_a_second_process_compiles_nothing(tmp_path):
    cache = tmp_path / "cache"
    assert run_script(tmp_path, cache) == "[3.0, 3.0, 3.0, 3.0]"
    first = machine_code(cache)
    assert first
    assert len(list(cache.glob("*.py"))) == 1
    assert run_script(tmp_path, cache) == "[3.0, 3.0, 3.0, 3.0]"
    assert machine_code(cache) == first, "neither new files nor files written again"
    assert list(cache.glob("*.part")) == []


@pytest.mark.long
@pytest.mark.skipif(not COMPILED, reason="nothing is compiled")
def test_a_changed_program_of_the_same_name_is_another(tmp_path):
    cache = tmp_path / "cache"
    assert run_script(tmp_path, cache, "- 1.0") == "[0.0, 1.0, 2.0, 3.0]"
    assert run_script(tmp_path, cache, "+ 1.0") == "[6.0, 5.0, 4.0, 3.0]"
    assert len(list(cache.glob("*.py"))) == 2


def test_two_programs_of_one_name_in_one_process():
    found = []
    for factor in (2.0, 3.0):

        @ws.vertex_program
        class Scale:
            value: ws.float64
            max_iter = 1

            def init(vertex):
                return 1.0

            def compute(src):
                return src.value * factor  # noqa: B023 - each program takes the number of now

            combine = max

            def apply(old, gathered):
                return gathered

        with build(SHAPES["cycle"]) as graph:
            found.append(ws.run(Scale, graph).arrays["value"][0])
    assert found == [2.0, 3.0]


def test_a_cache_that_cannot_be_written_is_no_obstacle(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("CUGRAPH_WS_CACHE_DIR", str(tmp_path / "file" / "below"))
    monkeypatch.setattr(modules, "_modules", {})
    types = types_of(Hops, start=0)
    monkeypatch.setattr(Hops, "memory", {})
    module = modules.compiled_module(Hops, types)
    assert callable(module.gather)
    assert (tmp_path / "file").read_text() == ""


def test_a_half_written_module_is_written_again(tmp_path, monkeypatch):
    monkeypatch.setenv("CUGRAPH_WS_CACHE_DIR", str(tmp_path))
    types = types_of(Hops, start=0)
    text = codegen.generated_source(Hops, types)
    for _ in range(2):
        monkeypatch.setattr(modules, "_modules", {})
        monkeypatch.setattr(Hops, "memory", {})
        modules.compiled_module(Hops, types)
        (path,) = tmp_path.glob("*.py")
        assert path.read_text() == text
        path.write_text(text[:100])
    assert list(tmp_path.glob("*.part")) == []


def test_the_plain_module_runs_the_loops_files(tmp_path):
    module = modules.python_module(Hops, types_of(Hops, start=0))
    assert module.user_compute.__self__.file == Hops.functions["compute"].__code__.co_filename
    folder = Path(importlib.util.find_spec("cugraph_ws.kernels.cpu.push").origin).parent
    for loop, name in (("push", "push"), ("dense", "gather"), ("pull", "pull")):
        assert Path(getattr(module, name).__code__.co_filename) == folder / f"{loop}.py"
    locks = [0]
    assert module.compare_and_swap(locks, 0, 0, 1)
    assert not module.compare_and_swap(locks, 0, 0, 1)
    module.store(locks, 0, 0)
    assert locks == [0]
