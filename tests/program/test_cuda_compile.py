"""Every CUDA kernel compiles to machine code, without a GPU, and spills no registers."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest
from conftest import COMPILED

from cugraph_ws.runtime.device_compiler import compile_kernel
from cugraph_ws.runtime.generated import import_text

pytest.importorskip("numba.cuda.extending", reason="Numba-CUDA is not installed")
pytest.importorskip("cuda.bindings.nvjitlink", reason="nvJitLink is not installed")
if not COMPILED:
    pytest.skip("Numba compiles nothing here", allow_module_level=True)

# By its path: a module named `kernels` is not to be imported as such.
PATH = Path(__file__).parents[2] / "ci" / "kernels.py"
spec = importlib.util.spec_from_file_location("table_of_kernels", PATH)
table_of_kernels = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
spec.loader.exec_module(table_of_kernels)

ALL = (9, 0)  # compiled for in full; of the others a sample
EVERY = 36
AGAIN = 6  # of the sample, one in so many is compiled although the table knows its source
PARTS = 6  # of the kernels, so that no test takes long


@pytest.fixture(scope="module")
def launches():
    return table_of_kernels.launches()


@pytest.fixture(scope="module")
def table():
    return table_of_kernels.read_table()


def check(launch, capability, table):
    binary = table_of_kernels.compiled(launch, capability)
    assert binary.name == launch.name
    assert binary.code.startswith(b"\x7fELF")
    assert (binary.spilled, binary.stack) == (0, 0), launch
    place = 1 + table_of_kernels.ARCHITECTURES.index(capability)
    cells = [str(binary.shared)] + [str(binary.registers)] * len(table_of_kernels.ARCHITECTURES)
    row = table_of_kernels.row_of(launch)
    comparable = table_of_kernels.is_of_these_compilers()
    assert not table_of_kernels.stale(
        row, cells, table, range(place, place + 1), comparable=comparable
    )
    assert int(table[row][0]) >= binary.shared


def test_every_kernel_is_launched_somewhere(launches):
    assert {one.name for one in launches} == table_of_kernels.declared()


def test_the_table_has_every_launch_and_no_other(launches, table):
    assert set(table) == {table_of_kernels.row_of(one) for one in launches}


@pytest.mark.long
@pytest.mark.parametrize("part", range(PARTS))
def test_every_kernel_compiles(part, launches, table):
    """Those whose sources, types and compilers are the table's have been compiled already."""
    comparable = table_of_kernels.is_of_these_compilers()
    for launch in launches[part::PARTS]:
        if not (comparable and table_of_kernels.is_known(launch, table)):
            check(launch, ALL, table)


@pytest.mark.long
@pytest.mark.parametrize(
    "capability",
    [one for one in table_of_kernels.ARCHITECTURES if one != ALL],
    ids=lambda one: f"sm_{one[0]}{one[1]}",
)
def test_a_sample_compiles_for_other_architectures(capability, launches, table):
    """What is of the table's sources, types and compilers has been compiled for all of them."""
    first = table_of_kernels.ARCHITECTURES.index(capability)
    comparable = table_of_kernels.is_of_these_compilers()
    for place, launch in enumerate(launches[first::EVERY]):
        known = comparable and table_of_kernels.is_known(launch, table)
        if place % AGAIN == 0 or not known:
            check(launch, capability, table)


def is_kind(one):
    return isinstance(one, str) or (isinstance(one, tuple) and all(map(is_kind, one)))


def test_signatures_are_kinds(launches):
    """What a launch passes is arrays and numbers, in tuples."""
    for launch in launches:
        assert is_kind(launch.kinds)


PLANTED = """
import numpy as np
from numba import cuda

def stacked(values, places, n):
    held = cuda.local.array(64, np.float64)
    for i in range(64):
        held[i] = values[i]
    total = 0.0
    for i in range(n):
        held[places[i]] += 1.0
        total += held[places[i + 1]]
    values[0] = total

def crowded(values, n):
{taken}
    for i in range(n):
{turned}
    values[0] = {total}
"""


def planted_kernels(count):
    """Return kernels, of which `crowded` has so many numbers at hand."""
    many = range(count)
    text = PLANTED.format(
        taken="\n".join(f"    a{i} = values[{i}]" for i in many),
        turned="\n".join(f"        a{i} = a{i} * a{(7 * i + 1) % count} + values[i]" for i in many),
        total=" + ".join(f"a{i}" for i in many),
    )
    return import_text(f"planted_kernels_{count}", text)


@pytest.mark.long
@pytest.mark.parametrize("limit", [32, 128])
def test_fewer_registers_are_taken_only_where_they_are_enough(limit, monkeypatch):
    crowded, given = planted_kernels(40).crowded, ("float64*", "int64")
    free = compile_kernel(crowded, given, (9, 0))
    assert free.registers > 32
    monkeypatch.setattr(crowded, "most_registers", limit, raising=False)
    held = compile_kernel(crowded, given, (9, 0))
    assert (held.spilled, held.stack) == (0, 0)
    assert held.registers <= limit or (limit == 32 and held.registers == free.registers)


@pytest.mark.long
@pytest.mark.parametrize("capability", [(7, 5), (9, 0), (12, 0)])
def test_spills_and_stack_frames_are_seen(capability):
    planted = planted_kernels(160)
    stacked = compile_kernel(planted.stacked, ("float64*", "int64*", "int64"), capability)
    assert (stacked.stack, stacked.spilled) == (512, 0)
    crowded = compile_kernel(planted.crowded, ("float64*", "int64"), capability)
    assert crowded.registers > 250
    assert crowded.spilled > 0


SOURCE = """
from cugraph_ws.kernels.cuda.primitives import inline, kernel
from cugraph_ws.kernels.cuda.rows import scan

WIDTH = 4

@inline
def half(x):
    quotient = x // 2
    return quotient

@inline
def other(x):
    return x + WIDTH

@kernel
def main(x):
    \"\"\"Say something.\"\"\"
    x[0] = half(scan(x[1]))
"""


@pytest.mark.parametrize(
    ("old", "new", "changes"),
    [
        ("x // 2", "x // 3", True),
        ("scan(x[1])", "scan(x[2])", True),
        ("cuda.rows import scan", "cuda.rows import sum_of_lanes as scan", True),
        ("x + WIDTH", "x - WIDTH", False),
        ("WIDTH = 4", "WIDTH = 5", False),
        ("Say something", "Say something else", False),
        ("quotient", "result", False),
        ("def half(x):\n    quotient = x //", "def half(y):\n    quotient = y //", False),
        ("def half(x):\n    quotient = x //", "def half(y):\n    quotient = WIDTH //", True),
        ("return quotient", "return x", True),
    ],
)
def test_a_digest_is_of_what_a_kernel_uses(old, new, changes):
    assert old in SOURCE
    first, second = (
        table_of_kernels.kernel_sources.digest(text, "main", ("int64*",))
        for text in (SOURCE, SOURCE.replace(old, new))
    )
    assert (first != second) == changes
    assert first != table_of_kernels.kernel_sources.digest(SOURCE, "main", ("int32*",))


def test_stale_rows_are_reported():
    table = {"| a |": ["0", "40", "41"]}
    assert not table_of_kernels.stale("| a |", ["0", "44", "38"], table)
    assert "60 registers, not 41" in table_of_kernels.stale("| a |", ["0", "40", "60"], table)
    assert "not in the table" in table_of_kernels.stale("| b |", ["0", "40", "41"], table)


def test_registers_of_other_compilers_do_not_compare(tmp_path, monkeypatch):
    table = {"| a |": ["0", "40", "41"]}
    assert not table_of_kernels.stale("| a |", ["0", "40", "60"], table, comparable=False)
    written = tmp_path / "table.md"
    written.write_text(f"Made with {table_of_kernels.compilers()}; and so on\n")
    assert table_of_kernels.is_of_these_compilers(written)
    monkeypatch.setattr(table_of_kernels, "compilers", lambda: "nvidia-nvvm 1.0")
    assert not table_of_kernels.is_of_these_compilers(written)
