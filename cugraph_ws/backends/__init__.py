"""What computes: `cpu` and `cuda`, under the same names, so that algorithms are written once.

A loop of its own needs of each backend a module in `loops` of the algorithm's name, with the same
functions or classes in both; nothing is registered.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

__all__ = ["loops"]


def loops(algorithm: str, *, on_device: bool) -> Any:
    """Return a backend's small loops of an algorithm.

    Parameters
    ----------
    algorithm : str
        The module's name.
    on_device : bool
        Whether arrays are on the GPU.

    Returns
    -------
    module
    """
    backend = "cuda" if on_device else "cpu"
    return import_module(f"cugraph_ws.backends.{backend}.loops.{algorithm}")
