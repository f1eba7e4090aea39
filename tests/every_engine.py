"""A function's answer on the CPU, on an emulated GPU, and on ranks of both."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pandas as pd
from emulator.device import emulated
from shapes import build
from thread_ranks import on_ranks, share
from verify import Edges

EMULATED = 10  # most edges of a graph for which the kernels are emulated
WAYS = [("cuda", 1), ("cpu", 3), ("cuda", 2)]


def answers(edges: Edges, function: Callable[..., Any], *given: Any, **named: Any) -> Iterator[Any]:
    """Call a function on every engine and on ranks; yield the frames."""
    with emulated(), build(edges) as graph:
        yield function(graph, *given, engine="cpu", **named)
        for engine, ranks in WAYS:
            if engine == "cuda" and len(edges.source) > EMULATED:
                continue
            parts = (
                [function(graph, *given, engine=engine, **named)]
                if ranks == 1
                else on_ranks(
                    ranks,
                    lambda comm, e=engine: function(share(graph, comm), *given, engine=e, **named),
                )
            )
            yield pd.concat(parts, ignore_index=True)


def the_answer(edges: Edges, function: Callable[..., Any], *given: Any, **named: Any) -> Any:
    """Return the frame that all engines and ranks have made."""
    first, *others = answers(edges, function, *given, **named)
    for other in others:
        pd.testing.assert_frame_equal(other, first)
    return first
