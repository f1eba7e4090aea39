"""Kernel texts of the library's programs for listed calls, written without a graph.

`kernels/cuda/together.json` says with which types and in which variant; see `cugraph_ws.runtime.compile_ahead`.
"""

from __future__ import annotations

import importlib
import json
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import asdict
from functools import lru_cache
from typing import Any

from cugraph_ws.backends.cuda.codegen import Variant, interface_source, module_source
from cugraph_ws.program.codegen import Types
from cugraph_ws.program.infinity import Kinds, saturated
from cugraph_ws.program.vertex_program import VertexProgram
from cugraph_ws.runtime.compile_ahead import (
    LIST,
    Capability,
    Job,
    listed_as,
    longest_first,
    module_with,
    tupled,
)

__all__ = ["jobs_of", "listing_of", "text_of"]


def listing_of(program: Any, interface: str, loops: tuple[str, ...]) -> list[Any] | None:
    """Return what `text_of` takes to write a program's text again, None if it cannot.

    Parameters
    ----------
    program : VertexProgram or EdgeProgram
    interface : str
        Written by `interface_source`.
    loops : tuple of str
        As in `module_source`.

    Returns
    -------
    list of JSON's values
        Module and name of the program, fields of `Types` and of `Variant`, and the loops.
    """
    if not isinstance(program, VertexProgram) or not program.module:
        return None
    module = program.module
    for key, text in tuple(program.memory.items()):
        if isinstance(key, tuple) and key[0] == "interface on a GPU" and text == interface:
            _, types, variant = key
            listed = [module, program.name, asdict(types), asdict(variant), list(loops)]
            with suppress(AttributeError, ImportError):
                if text_of(json.loads(json.dumps(listed))) == module_source(interface, loops):
                    return listed
    return None


def text_of(listed: list[Any]) -> str:
    """Write the text of a program's kernels.

    Parameters
    ----------
    listed : list
        As `listing_of` returns.
    """
    module, name, types, variant, loops = listed
    program = getattr(importlib.import_module(module), name)
    exact = Types(**{key: tupled(value) for key, value in types.items()})
    program = saturated(program, Kinds(exact.state, exact.edges, exact.constants, exact.parameters))
    return module_source(interface_source(program, exact, Variant(**variant)), tuple(loops))


@lru_cache
def _text(listed: str) -> str:
    return text_of(json.loads(listed))


def jobs_of(calls: Iterable[str], capability: Capability) -> list[Job]:
    """Return the kernels that calls launch, those that take longest to compile first.

    Parameters
    ----------
    calls : iterable of str
        Listed calls: each a function, and its types.
    capability : (int, int)
        Compute capability.

    Returns
    -------
    list of Job
        Each kernel once.  Programs whose text cannot be written without a graph are left out.
    """
    listed = json.loads(LIST.read_text("utf-8"))
    texts: dict[int, tuple[str, str]] = {}
    jobs: dict[Job, None] = {}
    by_call = {call: (places, programs) for call, places, programs in listed["calls"]}
    for call in calls:
        places, programs = listed_as(call, by_call) or ([], [])
        for place in places:
            owner, module, name, kinds = listed["launches"][place]
            if not owner:
                jobs[Job(module, "", name, tupled(kinds), capability)] = None
        for number, kernels in programs:
            if number not in texts:
                text = _text(json.dumps(listed["programs"][number]))
                texts[number] = module_with(listed["programs"][number][1], text), text
            for place in kernels:
                _, _, name, kinds = listed["launches"][place]
                jobs[Job(*texts[number], name, tupled(kinds), capability)] = None
    return longest_first(list(jobs))
