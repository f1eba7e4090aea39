"""`backend`: what NetworkX's dispatcher calls."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable, Mapping
from typing import Any

from _cugraph_ws_networkx import FUNCTIONS
from cugraph_ws.networkx import (
    centrality,
    cohesion,
    communities,
    connectivity,
    distances,
    greedy,
    link_prediction,
    projection,
)
from cugraph_ws.networkx.convert import convert_from_nx, convert_to_nx
from cugraph_ws.networkx.implemented import Implemented

__all__ = ["Backend", "backend"]

MODULES = (
    centrality,
    cohesion,
    communities,
    connectivity,
    distances,
    greedy,
    link_prediction,
    projection,
)


class Backend:
    """The functions by NetworkX's names, and NetworkX's protocol for conversions and choices."""

    convert_from_nx = staticmethod(convert_from_nx)
    convert_to_nx = staticmethod(convert_to_nx)

    def __init__(self) -> None:
        defined = ChainMap(*map(vars, MODULES))
        for name in FUNCTIONS:
            setattr(self, name, defined[name])

    def can_run(self, name: str, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> bool | str:
        """Return True if a call can run, otherwise why it cannot."""
        return self._implemented(name).refusal(args, kwargs) or True

    def should_run(self, name: str, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> bool | str:
        """Return True if a call is faster here than in NetworkX, otherwise why it is not."""
        return self._implemented(name).loss(args, kwargs) or True

    def _implemented(self, name: str) -> Implemented:
        function: Callable[..., Any] = getattr(self, name)
        implemented: Implemented = function.implemented  # type: ignore[attr-defined]
        return implemented


backend = Backend()
