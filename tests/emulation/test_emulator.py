"""The emulator runs kernels as the CUDA programming guide has it.

Arguments, arrays, order and loading; primitives, numbers and faults have files of their own.
"""

from __future__ import annotations

import ast
from collections import namedtuple
from pathlib import Path

import numpy as np
import pytest
from emulator import Emulator, faults, load
from emulator.planted import HEAD, ints, run
from emulator.primitives import SERVED

import cugraph_ws.kernels

# --------------------------------------------------------------------------------- identity


def test_serves_the_names_that_kernels_may_import():
    file = Path(cugraph_ws.kernels.__path__[0]) / "cuda" / "primitives.py"
    for node in ast.parse(file.read_text()).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            assert set(ast.literal_eval(node.value)) == set(SERVED)
            return
    pytest.fail("primitives.py has no __all__")


@pytest.mark.parametrize(("grid", "block"), [(1, 32), (3, 32), (5, 96), (7, 64), (2, 1024)])
def test_thread_and_block_indices(grid, block):
    body = """
@kernel
def k(out):
    number = me()
    out[0][number] = thread()
    out[1][number] = block() * 10 + threads() // 32
    out[2][number] = blocks()
    out[3][number] = lane()
"""
    out = tuple(ints(grid * block) for _ in range(4))
    run(body, out, grid=grid, block=block)
    number = np.arange(grid * block)
    assert np.array_equal(out[0], number % block)
    assert np.array_equal(out[1], number // block * 10 + block // 32)
    assert set(out[2]) == {grid}
    assert np.array_equal(out[3], number % 32)


def test_arguments_of_every_kind():
    Pair = namedtuple("Pair", "low high")
    body = """
@kernel
def k(nested, pair, flag, count, small, real, single):
    if flag and thread() < count:
        total = pair.low + pair.high
        for part in range(2):
            total += nested[1][part][thread()]
        nested[0][thread()] = total * real * single + small
"""
    out = ints(8, "float64")
    nested = (out, (np.arange(8, dtype="int32"), np.ones(8, "float32")))
    pair = Pair(np.int64(1), 2)
    run(body, nested, pair, np.bool_(True), 8, np.int32(1), 0.5, np.float32(2))
    assert np.array_equal(out, np.arange(8) + 5.0)


@pytest.mark.parametrize(
    "kind",
    [
        "int8",
        "uint8",
        "int16",
        "uint16",
        "int32",
        "uint32",
        "int64",
        "uint64",
        "float32",
        "float64",
        "bool",
    ],
)
def test_stores_convert_to_the_array_and_loads_give_its_type(kind):
    body = """
@kernel
def k(out, big, half):
    out[thread()] = thread() + big
    big = out[thread()]
    out[thread()] = big * half
    out[thread()] += thread()
"""
    out = ints(32, kind)
    run(body, out, 2**40 + 3, 1)
    big = (np.arange(32, dtype="int64") + 2**40 + 3).astype(kind)
    expected = big + np.arange(32) if kind != "bool" else big
    assert np.array_equal(out, expected.astype(kind))


def test_views_are_written_in_place_and_strides_are_kept():
    out = ints(64)
    run("\n@kernel\ndef k(out):\n    out[thread()] = thread() + 1\n", out[::2])
    assert np.array_equal(out[::2], np.arange(32) + 1)
    assert not out[1::2].any()


@pytest.mark.parametrize(
    ("args", "error"),
    [
        ((np.zeros((2, 2)),), ValueError),
        ((np.zeros(2, "float16"),), TypeError),
        (([1, 2],), TypeError),
        ((), TypeError),
        (((np.zeros(4, "int64")[:3].view("int32"), np.zeros(1)),) * 2, TypeError),
    ],
)
def test_arguments_that_a_kernel_cannot_have(args, error):
    with pytest.raises(error):
        run("\n@kernel\ndef k(out):\n    pass\n", *args)


def test_overlapping_views_must_agree_on_the_size_of_elements():
    base = ints(4)
    with pytest.raises(ValueError, match="overlapping"):
        run("\n@kernel\ndef k(a):\n    pass\n", (base, base.view("int32")))
    run("\n@kernel\ndef k(a):\n    pass\n", (base, base.view("float64"), base[2:], base[:0]))


@pytest.mark.parametrize(("grid", "block"), [(0, 32), (1, 0), (1, 33), (1, 2048), (1, 16)])
def test_launches_that_cannot_be(grid, block):
    with pytest.raises(ValueError, match="blocks"):
        run("\n@kernel\ndef k():\n    pass\n", grid=grid, block=block)
    with pytest.raises(TypeError, match="no kernel"):
        Emulator().launch(lambda: None, 1, 32)


# ------------------------------------------------------------------------- order and loading

ORDER = """
@kernel
def k(counter, order):
    order[me()] = atomic_add(counter, 0, 1)
"""


def orders(seed, launches=1):
    emulator = Emulator(seed)
    kernel = load(HEAD + ORDER)["k"]
    found = []
    for _ in range(launches):
        order = ints(96)
        emulator.launch(kernel, 3, 32, (ints(1), order))
        found.append(tuple(order))
    return found


def test_a_seed_decides_the_order():
    assert orders(1, 3) == orders(1, 3)
    assert len({orders(seed)[0] for seed in range(8)}) == 8
    assert len(set(orders(1, 5))) == 5


def test_a_fault_leaves_nothing_behind():
    emulator = Emulator(0)
    space = load(HEAD + ORDER + "\n@kernel\ndef bad(a):\n    sync_block()\n    a[me()] = 1\n")
    with pytest.raises(faults.OutOfBounds):
        emulator.launch(space["bad"], 2, 64, (ints(3),))
    order = ints(32)
    emulator.launch(space["k"], 1, 32, (ints(1), order))
    assert sorted(order) == list(range(32))


def test_loads_files_and_what_they_import(tmp_path, monkeypatch):
    monkeypatch.setattr("emulator.source.kernel_file", lambda _, name: tmp_path / f"{name}.py")
    (tmp_path / "parts.py").write_text(
        "from cugraph_ws.kernels.cuda.primitives import inline, lane\n"
        "from cugraph_ws.kernels.cuda.interface import WIDTH\n"
        "@inline\ndef wide():\n    return lane() * WIDTH\n"
    )
    (tmp_path / "interface.py").write_text("WIDTH = 2\n")
    main = tmp_path / "main.py"
    main.write_text(
        "from __future__ import annotations\nfrom typing import Any\n"
        "from cugraph_ws.kernels.cuda import parts, primitives\n"
        "from cugraph_ws.kernels.cuda.parts import wide\n"
        "@primitives.kernel\ndef k(out: Any) -> None:\n"
        "    out[primitives.thread()] = wide() + parts.wide()\n"
    )
    for served, width in ((None, 2), ({"interface": load("WIDTH = 5\n")}, 5)):
        space = load(main, served)
        assert space["__name__"] == "cugraph_ws.kernels.cuda.main"
        assert space["k"].function.__code__.co_filename == str(main)
        out = ints(32)
        Emulator().launch(space["k"], 1, 32, (out,))
        assert np.array_equal(out, np.arange(32) * 2 * width)
    assert load(str(main))["k"].__name__ == "k"
