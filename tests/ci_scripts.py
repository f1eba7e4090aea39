"""For tests of scripts: modules of `ci/bench` by name, NumPy in CuPy's place, and checkouts of a few files."""

from __future__ import annotations

import importlib
import types
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

__all__ = ["ROOT", "numpy_as_cupy", "of", "write_files"]

ROOT = Path(__file__).parents[1]


def of(name: str) -> ModuleType:
    """Return a module of the package `bench`."""
    return importlib.import_module(f"bench.{name}")


def write_files(folder: Path, texts: Mapping[str, str]) -> Path:
    """Write files by their paths in a folder, which is returned."""
    for name, text in texts.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, "utf-8")
    return folder


class RandomState(np.random.RandomState):
    """NumPy's, with CuPy's choice of type."""

    def random_sample(self, size: Any, dtype: Any = np.float64) -> Any:
        return super().random_sample(size).astype(dtype)


def numpy_as_cupy(**device: Any) -> ModuleType:
    """Return what stands for the module cupy: NumPy, and a device that has nothing to wait for.

    Parameters
    ----------
    **device : Any
        Further attributes of the device.
    """
    stub = types.ModuleType("cupy")
    stub.__dict__.update({k: v for k, v in vars(np).items() if not k.startswith("__")})
    stub.random = types.SimpleNamespace(RandomState=RandomState)
    stub.get_default_memory_pool = lambda: types.SimpleNamespace(free_all_blocks=lambda: None)
    one = types.SimpleNamespace(synchronize=lambda: None, **device)
    stub.is_available = lambda: True
    stub.cuda = types.SimpleNamespace(Device=lambda: one)
    return stub
