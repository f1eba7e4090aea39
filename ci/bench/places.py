"""Paths in a checkout, and the environment with which child processes find them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

__all__ = ["MEASUREMENTS", "ROOT", "environment", "python_path"]

ROOT = Path(__file__).parents[2]
MEASUREMENTS = ROOT / "docs" / "measurements"
FOLDERS = (
    "ci",
    "tests",
)  # this package; verifiers, programs and shapes that benchmarks share with tests


def python_path() -> str:
    """Return the PYTHONPATH to import this package and the modules of tests that it uses."""
    before = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    folders: Sequence[str] = [str(ROOT / name) for name in FOLDERS]
    return os.pathsep.join(dict.fromkeys([*folders, *filter(None, before)]))


def environment(**more: str) -> dict[str, str]:
    """Return the environment of a child process that runs a module of this package.

    Parameters
    ----------
    **more : str
        Further variables.
    """
    return {**os.environ, "PYTHONPATH": python_path(), **more}
