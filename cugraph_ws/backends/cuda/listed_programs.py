"""What calls will launch: kernel texts of the library's programs, and kernels of users' programs.

`kernels/cuda/together.json` says with which types and in which variant the library's programs are run, so that their texts can
be written without a graph.  Of a user's program only the text is known.  It launches what a listed model launches that has the
same loops, with its own types in the places of the model's; see `cugraph_ws.runtime.compile_ahead`.
"""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import asdict
from functools import lru_cache
from typing import Any

from cugraph_ws.backends.cuda.codegen import (
    ProgramText,
    Variant,
    interface_source,
    module_source,
    stored,
)
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
from cugraph_ws.runtime.signature import Kind

__all__ = ["alike", "jobs_of", "jobs_of_models", "listing_of", "model_of", "text_of"]


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
    for types, variant in _written_for(program, interface):
        listed = [program.module, program.name, asdict(types), asdict(variant), list(loops)]
        with suppress(AttributeError, ImportError):
            if text_of(json.loads(json.dumps(listed))) == module_source(interface, loops):
                return listed
    return None


def _written_for(program: Any, interface: str) -> Iterator[tuple[Types, Variant]]:
    """Yield what a program's interface has been written for."""
    for key, text in tuple(program.memory.items()):
        if isinstance(key, tuple) and key[0] == "interface on a GPU" and text == interface:
            _, types, *variant = key
            if variant:  # vertex programs have one
                yield types, variant[0]


def model_of(texts: Iterable[ProgramText], kernels: Callable[[ProgramText], Any]) -> list[Any]:
    """Return what `alike` takes to find what programs launch that are compiled as a given one.

    Parameters
    ----------
    texts : iterable of ProgramText
        Of one run of a vertex program.
    kernels : callable
        Returns the kernels that a text's run launched, and their types.

    Returns
    -------
    list of JSON's values
        Fields of `Types`; and for each text what was decided for it, and its kernels.
    """
    texts = list(texts)
    types, _ = next(_written_for(texts[0].program, texts[0].interface))
    return [asdict(types), [[_decided(text), kernels(text)] for text in texts]]


@lru_cache(maxsize=16)
def alike(text: ProgramText, capability: Capability) -> list[Job]:
    """Return the kernels that a program's run will launch, if a model is listed that is compiled alike.

    Parameters
    ----------
    text : ProgramText
        The first text of the run.
    capability : (int, int)
        Compute capability.
    """
    own = _decided(text)
    for listed, texts in _models():
        if own is None or own not in (decided for decided, _ in texts):
            continue
        types, _ = next(_written_for(text.program, text.interface))
        roles, present = _roles(_exact(listed)), _roles(types)
        if any(kinds and not roles[role] for role, kinds in present.items()):
            continue  # the model has no such arrays
        renamed = {roles[role]: kinds for role, kinds in present.items()}
        return longest_first(_jobs(text.program, types, texts, renamed, capability))
    return []


def jobs_of_models(programs: Iterable[VertexProgram], capability: Capability) -> list[Job]:
    """Return the kernels that models launch.

    Parameters
    ----------
    programs : iterable of VertexProgram
        The models, as they are listed.
    capability : (int, int)
        Compute capability.
    """
    jobs = []
    for program, (listed, texts) in zip(programs, _models(), strict=True):
        types = _exact(listed)
        jobs += _jobs(_saturated(program, types), types, texts, {}, capability)
    return jobs


def _jobs(
    program: VertexProgram,
    types: Types,
    texts: Any,
    renamed: dict[Any, Any],
    capability: Capability,
) -> list[Job]:
    """Return the kernels of a program that is compiled as a model, with its own types in place of the model's."""
    jobs = []
    for (loops, variant, _), kernels in texts:
        source = module_source(interface_source(program, types, Variant(**variant)), tuple(loops))
        module = module_with(program.name, source)
        jobs += [
            Job(module, source, name, _renamed(tupled(kinds), renamed), capability)
            for name, kinds in kernels
        ]
    return jobs


def _decided(text: ProgramText) -> list[Any] | None:
    """Return what is decided for a text but its types; None if its program is no vertex program."""
    for _, variant in _written_for(text.program, text.interface):
        return [list(text.loops), asdict(variant), text.program.predecessor is not None]
    return None


def _roles(types: Types) -> dict[str, tuple[Kind, ...]]:
    """Return the kinds of a program's arrays and parameters, by role."""
    present = zip(types.edges, types.missing_edges, strict=True)
    arrays = {
        "state": types.state,
        "constants": types.constants,
        "edges": [kind for kind, missing in present if missing is None],
        "message": types.message,
    }
    kinds = {role: tuple(f"{stored(kind)}*" for kind in of) for role, of in arrays.items()}
    return {**kinds, "parameters": types.parameters}


@lru_cache
def _models() -> list[Any]:
    with suppress(OSError, ValueError, KeyError):
        models: list[Any] = json.loads(LIST.read_text("utf-8"))["models"]
        return models
    return []


def _renamed(kind: Any, renamed: dict[Any, Any]) -> Any:
    """Replace tuples of types in a type."""
    if not isinstance(kind, tuple):
        return kind
    return renamed[kind] if kind in renamed else tuple(_renamed(part, renamed) for part in kind)


def text_of(listed: list[Any]) -> str:
    """Write the text of a program's kernels.

    Parameters
    ----------
    listed : list
        As `listing_of` returns.
    """
    module, name, types, variant, loops = listed
    exact = _exact(types)
    program = _saturated(getattr(importlib.import_module(module), name), exact)
    return module_source(interface_source(program, exact, Variant(**variant)), tuple(loops))


def _exact(listed: dict[str, Any]) -> Types:
    """Return types of which JSON has made lists."""
    return Types(**{field: tupled(value) for field, value in listed.items()})


def _saturated(program: VertexProgram, types: Types) -> VertexProgram:
    return saturated(program, Kinds(types.state, types.edges, types.constants, types.parameters))


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
