"""Lets tests import the scripts of `ci` by name: import the fixture `scripts`, and use `of`."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

__all__ = ["ROOT", "of", "scripts"]

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module", autouse=True)
def scripts() -> Iterator[None]:
    """Let the scripts of `ci` be imported by name while a test module runs."""
    folders = [str(ROOT / "ci" / "gpu"), str(ROOT / "ci" / "bench")]
    before = dict(sys.modules)
    sys.path[:0] = folders
    yield
    sys.path[:] = [one for one in sys.path if one not in folders]
    for name in set(sys.modules) - set(before):
        if str(getattr(sys.modules[name], "__file__", "")).startswith(str(ROOT / "ci")):
            del sys.modules[name]


def of(name: str) -> ModuleType:
    """Return a script of `ci`, imported."""
    return importlib.import_module(name)
