"""Numba is imported by the first call of a kernel, and then no kernel waits any more."""

from __future__ import annotations

import subprocess
import sys

import pytest
from conftest import COMPILED

import cugraph_ws.kernels.cpu.text as kernels
from cugraph_ws.kernels.cpu import jit
from cugraph_ws.kernels.cpu.build import mark_present

AFTER_IMPORT = """
import sys
import cugraph_ws as ws
assert "numba" not in sys.modules
from cugraph_ws.kernels.cpu import build, jit, text
assert isinstance(text.load_word, jit.Waiting)
assert text.hash_text.py_func.__name__ == text.hash_text.__name__ == "hash_text"
assert not hasattr(text.hash_text, "__no_such_name__")
assert "numba" not in sys.modules
"""
AFTER_A_CALL = """
import numpy as np
waiting = build.strip_marks
assert waiting.py_func is waiting.ready().py_func
assert not isinstance(text.load_word, jit.Waiting)
assert not isinstance(build.strip_marks, jit.Waiting)
assert isinstance(waiting, jit.Waiting)
assert waiting.overloads is build.strip_marks.overloads
"""


pytestmark = pytest.mark.skipif(not COMPILED, reason="nothing is compiled")


@pytest.mark.parametrize("text", [AFTER_IMPORT, AFTER_IMPORT + AFTER_A_CALL])
def test_who_imports_numba(text):
    subprocess.run([sys.executable, "-c", text], check=True)


def test_a_kernel_is_made_at_once_when_numba_is_there():
    if isinstance(mark_present, jit.Waiting):
        mark_present.ready()

    @jit.jit
    def doubled(number: int) -> int:
        return 2 * number

    assert not isinstance(doubled, jit.Waiting)
    assert doubled(21) == 42
    assert not isinstance(kernels.hash_text, jit.Waiting)
