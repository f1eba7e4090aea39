"""The backends `cpu` and `cuda`: the same names in both, so that algorithms are written once.

An algorithm with a loop of its own has a module in the `loops` of each backend, with the
algorithm's name and the same functions or classes in both.  A layout has a module in the `layouts`
of each backend that has it.  Nothing is registered.
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any

from cugraph_ws.errors import EngineError

__all__ = ["layout_of", "loops"]


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


def layout_of(name: str, *, on_device: bool) -> Any:
    """Return a backend's class of a layout; see `cugraph_ws.contract.Layout`.

    Parameters
    ----------
    name : {"csc", "csr", "gshards", "windows"}
    on_device : bool
        Whether arrays are on the GPU.

    Returns
    -------
    type

    Raises
    ------
    EngineError
        If the backend does not have the layout.
    """
    backend = "cuda" if on_device else "cpu"
    module = f"cugraph_ws.backends.{backend}.layouts.{name}"
    if find_spec(module) is None:
        raise EngineError(
            f"layout={name!r} is not available with engine='cpu'; leave it out, or use engine='cuda'"
        )
    return import_module(module).Layout
