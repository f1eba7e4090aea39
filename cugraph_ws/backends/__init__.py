"""The backends `cpu` and `cuda`: the same names in both, so that algorithms are written once.

An algorithm with a loop of its own has a module in the `loops` of each backend, with the
algorithm's name and the same functions or classes in both.  Nothing is registered.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

__all__ = ["loops"]


def loops(algorithm: str, *, on_device: bool) -> Any:
    """Return a backend's module with the loops of an algorithm.

    Parameters
    ----------
    algorithm : str
        Name of the module.
    on_device : bool
        Whether arrays are on the GPU.

    Returns
    -------
    module
    """
    backend = "cuda" if on_device else "cpu"
    return import_module(f"cugraph_ws.backends.{backend}.loops.{algorithm}")
