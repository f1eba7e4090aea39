"""Programs with the current values of the outer names that their functions read, and what they remember.

All ranks of a graph are known to have some results of binding, so that they need not ask each other.
"""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NoReturn, Self

from cugraph_ws.errors import ProgramError
from cugraph_ws.graph.view import GraphView
from cugraph_ws.program.source import FunctionSource

__all__ = ["IDENTITY", "Memory", "Snapshot", "bound_before", "keep_bound"]

IDENTITY = "identity"  # key in a program's memory: its qualified name, the same in all processes
PREFIX = "bound "
MOST = 64  # results that a graph keeps
REMEMBERED = (
    512  # results that a program keeps: it is bound again for every value of its parameters
)
UNKNOWN = object()


class Memory(dict[Any, Any]):
    """Results by what they depend on, a tuple; the oldest are forgotten.  Those with a name are always kept."""

    def __setitem__(self, key: Any, value: Any) -> None:
        super().__setitem__(key, value)
        for oldest in tuple(self)[:-REMEMBERED]:
            if isinstance(oldest, tuple):
                self.pop(oldest, None)

    def recall(self, key: Any, make: Callable[[], Any]) -> Any:
        """Return a result, which is made if it is not known; a thread beside may forget it meanwhile.

        Parameters
        ----------
        key : hashable
        make : callable
        """
        value = self.get(key, UNKNOWN)
        if value is UNKNOWN:
            value = self[key] = make()
        return value


class Snapshot(ABC):
    """Base of programs: sources of functions are read again if an outer name has another value.

    Attributes
    ----------
    name : str
    functions : dict of callable
        The user's functions.
    sources : dict of FunctionSource
        By function.
    memory : dict
        Cached results of binding and code generation, by types and values.
    frozen : bool
        Whether it came from another process; then its sources hold that process's globals.
    """

    name: str
    functions: dict[str, Callable[..., Any]]
    sources: dict[str, FunctionSource]
    memory: Memory
    frozen: bool

    @abstractmethod
    def read_sources(self) -> None:
        """Read and check the source of every function."""

    def __getstate__(self) -> dict[str, Any]:
        """Leave out this process's cached results when the program is sent to another process.

        The sources contain the current values of outer names, which then no longer change.
        """
        now = self.current()
        sources = {key: replace(source, captured=()) for key, source in now.sources.items()}
        return {**now.__dict__, "memory": Memory(), "sources": sources, "frozen": True}

    def __call__(self, *arguments: Any, **options: Any) -> NoReturn:
        """Say how a program is run: it is not called."""
        raise TypeError(
            f"{self.name} is a program, not a function: ws.run({self.name}, graph) runs it"
        )

    def __mro_entries__(self, bases: tuple[object, ...]) -> NoReturn:
        """Say that a program is no class to inherit from."""
        raise ProgramError(
            f"{self.name} is a program, and no class inherits from it; write a class of its own, whose functions may "
            "call the same helpers, or combine programs by ws.phases"
        )

    @property
    def module(self) -> str:
        """The module of its functions; "" if they were executed in a namespace without a name."""
        return next(iter(self.functions.values())).__module__ or ""

    @property
    def built_in(self) -> bool:
        """Whether it is the library's own program."""
        return self.module.startswith("cugraph_ws.")

    def current(self) -> Self:
        """Return the program with the current globals and closures of its functions.

        Returns
        -------
        program
            This one if none has changed since its sources were read; always, for the library's own.

        Raises
        ------
        ProgramError
            If an outer name now has a value that a compiled function cannot use.
        """
        if (
            self.built_in
            or self.frozen
            or not any(source.has_changed() for source in self.sources.values())
        ):
            return self
        fresh = object.__new__(type(self))
        fresh.__dict__.update(self.__dict__, sources={}, memory=Memory())
        fresh.read_sources()
        return fresh


def bound_before(program: Snapshot, key: Any, graph: GraphView) -> Any:
    """Return a result of the program's memory that all ranks have; None if one has none.

    Collective, unless the result is kept with the graph: then all ranks have it.

    Parameters
    ----------
    program : VertexProgram or EdgeProgram
    key : tuple
        What the result depends on; the same on all ranks.
    graph : GraphView

    Returns
    -------
    object or None
    """
    name = _name(program, key, graph)
    if name is not None and name in graph.learned:
        return graph.learned[name]
    result = program.memory.get(key)
    return None if graph.comm.size > 1 and graph.any_rank(result is None) else result


def keep_bound(program: Snapshot, key: Any, graph: GraphView, result: Any) -> None:
    """Remember a result that all ranks have, on ranks also with the graph."""
    if key not in program.memory:  # what is set is looked through for what is too old
        program.memory[key] = result
    name = _name(program, key, graph)
    if name is None or name in graph.learned:
        return
    graph.learned[name] = result
    bound = [learned for learned in graph.learned if learned.startswith(PREFIX)]
    # The same ones on all ranks, since all keep them in the same order.
    for oldest in bound[:-MOST]:
        del graph.learned[oldest]


def _name(program: Snapshot, key: Any, graph: GraphView) -> str | None:
    """Return the name of a result; None if a name cannot identify the program on other ranks."""
    if graph.comm.size == 1:
        return None
    identity: str | None = program.memory.get(IDENTITY)
    if identity is None:
        module = program.module
        ours = module.startswith("cugraph_ws.")
        if not ours or getattr(sys.modules.get(module), program.name, None) is not program:
            return None
        identity = program.memory[IDENTITY] = f"{module}.{program.name}"
    return f"{PREFIX}{identity} {key!r}"
