"""Programs with the current values of the outer names that their functions read."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Self

from cugraph_ws.program.source import FunctionSource

__all__ = ["Snapshot"]


class Snapshot(ABC):
    """Base of programs: sources of functions are read again if an outer name has another value.

    Attributes
    ----------
    functions : dict of callable
        The user's functions.
    sources : dict of FunctionSource
        By function.
    memory : dict
        Cached results of binding and code generation, by types and values.
    frozen : bool
        Whether it came from another process; then its sources hold that process's globals.
    """

    functions: dict[str, Callable[..., Any]]
    sources: dict[str, FunctionSource]
    memory: dict[Any, Any]
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
        return {**now.__dict__, "memory": {}, "sources": sources, "frozen": True}

    @property
    def built_in(self) -> bool:
        """Whether it is the library's own program."""
        return next(iter(self.functions.values())).__module__.startswith("cugraph_ws.")

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
        fresh.__dict__.update(self.__dict__, sources={}, memory={})
        fresh.read_sources()
        return fresh
