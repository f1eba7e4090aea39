"""How arcs are stored for dense supersteps: the CSC, and what accelerators have; see `cugraph_ws.contract.Layout`."""

from __future__ import annotations

from typing import Any

from cugraph_ws.runtime.dispatch import provider

__all__ = ["layout_of"]


def layout_of(name: str) -> Any:
    """Return the class of a layout.

    Parameters
    ----------
    name : str
        "csc", or a layout of an accelerator.

    Returns
    -------
    type
        See `cugraph_ws.contract.Layout`.

    Raises
    ------
    EngineError
        If its accelerator is left out.
    """
    if name != "csc":
        return provider("accelerators").layout_of(name)
    from cugraph_ws.backends.cuda.layouts.csc import Layout

    return Layout
