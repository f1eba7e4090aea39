"""Which results of binding all ranks of a graph are known to have, so that they need not ask each other."""

from __future__ import annotations

import sys
from typing import Any

from cugraph_ws.graph.view import GraphView
from cugraph_ws.program.decorator import VertexProgram
from cugraph_ws.program.edge_program import EdgeProgram

__all__ = ["IDENTITY", "have_all_bound", "keep_bound"]

IDENTITY = "identity"  # key in a program's memory: its qualified name, the same in all processes
PREFIX = "bound "
MOST = 64  # results that a graph keeps


def have_all_bound(program: VertexProgram | EdgeProgram, key: Any, graph: GraphView) -> bool:
    """Return whether the program's memory has a result on all ranks.

    Collective, unless the result is kept with the graph: then all ranks have it.

    Parameters
    ----------
    program : VertexProgram or EdgeProgram
    key : tuple
        What the result depends on; the same on all ranks.
    graph : GraphView

    Returns
    -------
    bool
    """
    name = _name(program, key, graph)
    if name is not None and name in graph.learned:
        program.memory[key] = graph.learned[name]
        return True
    return not graph.any_rank(key not in program.memory)


def keep_bound(program: VertexProgram | EdgeProgram, key: Any, graph: GraphView) -> None:
    """Keep with the graph a result that is now in the program's memory on all ranks."""
    name = _name(program, key, graph)
    if name is None or name in graph.learned:
        return
    graph.learned[name] = program.memory[key]
    bound = [learned for learned in graph.learned if learned.startswith(PREFIX)]
    # The same ones on all ranks, since all keep them in the same order.
    for oldest in bound[:-MOST]:
        del graph.learned[oldest]


def _name(program: VertexProgram | EdgeProgram, key: Any, graph: GraphView) -> str | None:
    """Return the name of a result; None if a name cannot identify the program on other ranks."""
    if graph.comm.size == 1:
        return None
    identity: str | None = program.memory.get(IDENTITY)
    if identity is None:
        module = next(iter(program.functions.values())).__module__
        ours = module.startswith("cugraph_ws.")
        if not ours or getattr(sys.modules.get(module), program.name, None) is not program:
            return None
        identity = program.memory[IDENTITY] = f"{module}.{program.name}"
    return f"{PREFIX}{identity} {key!r}"
