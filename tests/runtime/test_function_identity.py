"""The hash of a function: of its own code, and of what its code names."""

from __future__ import annotations

import subprocess
import sys
from types import ModuleType
from typing import Any

import pytest

from cugraph_ws.kernels.cpu import components, push, text
from cugraph_ws.runtime.function_identity import UnknownValueError, function_digest

TEXT = """
from collections import namedtuple
import math
import numpy as np
import numpy
import settings_of_a_test as settings

TABLE = numpy.zeros(5000)
TABLE[2500] = 1.0

LIMIT = 3
PAIR = (1, 2.0)
UNUSED = 1
Vertex = namedtuple("Vertex", "a b")

def helper(x):
    return x + LIMIT

def looked_up(x):
    return TABLE[x] + settings.SHIFT

def aside(x):
    return x - UNUSED

def twice(x, more=1):
    inner = lambda y: helper(y) + 1
    return inner(x) * PAIR[0] + more + np.int64(x) + Vertex(x, x).a + (x in {"p", "q"})

def recursive(x):
    return recursive(x - 1) if x else helper(x)
"""


def digest(name: str, *edit: str, shift: Any = 2) -> str:
    """Return the digest of a function of the text, after a replacement in it."""
    module, settings = ModuleType("module_of_a_test"), ModuleType("settings_of_a_test")
    vars(settings).update(SHIFT=shift, OTHER=object())
    sys.modules["settings_of_a_test"] = settings
    assert not edit or edit[0] in TEXT
    text = TEXT.replace(*edit) if edit else TEXT
    exec(compile(text, "text", "exec", dont_inherit=True), vars(module))
    function: Any = getattr(module, name)
    return function_digest(function)


@pytest.mark.parametrize(
    "edit",
    [
        ("LIMIT = 3", "LIMIT = 4"),
        ("PAIR = (1,", "PAIR = (True,"),
        ('"a b"', '"a c"'),
        ("return x + LIMIT", "return x - LIMIT"),
        ("+ 1\n", "+ 2\n"),
        ("more=1", "more=2"),
        ("np.int64(x)", "np.int32(x)"),
        ('{"p", "q"}', '{"p", "r"}'),
        ("import math\nimport numpy as np", "import math as np"),
    ],
)
def test_edits_that_matter(edit):
    assert digest("twice", *edit) != digest("twice")


@pytest.mark.parametrize(
    "edit",
    [
        ("UNUSED = 1", "UNUSED = 2"),
        ("return x - UNUSED", "return x"),
        ("\ndef helper", "\n\n\n# moved\ndef helper"),
    ],
)
def test_edits_that_do_not_matter(edit):
    assert digest("twice", *edit) == digest("twice")


def test_constants_in_arrays_and_in_other_modules_count():
    """Also one that the text of a long array leaves out."""
    assert digest("looked_up") == digest("looked_up")
    assert digest("looked_up", "TABLE[2500] = 1.0", "TABLE[2500] = 2.0") != digest("looked_up")
    assert digest("looked_up", "zeros(5000)", "zeros(5000, numpy.float32)") != digest("looked_up")
    assert digest("looked_up", shift=3) != digest("looked_up")


def test_what_could_change_unseen_is_refused():
    with pytest.raises(UnknownValueError, match="object at"):
        digest("looked_up", shift=object())


def test_recursion_ends():
    assert digest("recursive") == digest("recursive")
    assert digest("recursive") != digest("recursive", "LIMIT = 3", "LIMIT = 4")


def test_intrinsics_and_compiled_callees_count():
    kernels = [components.link_arcs, push.push_fused, text.hash_text]
    assert len({function_digest(getattr(kernel, "py_func", kernel)) for kernel in kernels}) == 3


def test_another_process_agrees():
    """Hashes of strings differ between processes, and with them the order of sets."""
    program = (
        "import sys, types\n"
        "from cugraph_ws.runtime.function_identity import function_digest\n"
        "sys.modules['settings_of_a_test'] = types.ModuleType('settings_of_a_test')\n"
        f"space = {{'__name__': 'module_of_a_test'}}; exec({TEXT!r}, space)\n"
        "print(function_digest(space['twice']))"
    )
    found = {
        subprocess.run(
            [sys.executable, "-c", program], capture_output=True, text=True, check=True
        ).stdout.strip()
        for _ in range(2)
    }
    assert found == {digest("twice")}
