"""How arcs are stored for dense supersteps, a module each; see `cugraph_ws.contract.Layout`."""

from __future__ import annotations

from importlib import import_module
from typing import Any

__all__ = ["layout_of"]


def layout_of(name: str) -> Any:
    """Return the class of a layout.

    Parameters
    ----------
    name : {"csc", "gshards", "windows"}

    Returns
    -------
    type
        See `cugraph_ws.contract.Layout`.
    """
    return import_module(f"{__name__}.{name}").Layout
