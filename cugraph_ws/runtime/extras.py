"""The command that installs an optional library, as errors name it.

It names the libraries themselves, since it must work for a package that was installed from a clone,
from a wheel or from an index alike.
"""

from __future__ import annotations

import re
from importlib import import_module, metadata
from typing import Any

from cugraph_ws.errors import InputError

__all__ = ["import_optional", "install_command"]

DISTRIBUTION = "cugraph-ws"


def install_command(extra: str) -> str:
    """Return a shell command that installs what an extra of this library asks for.

    Parameters
    ----------
    extra : str
        Name of the extra, such as "dask".

    Returns
    -------
    str
        `pip install` and the quoted requirements of the installed distribution's metadata; where
        there are none, since the library is imported from a clone, the extra of that clone.

    Examples
    --------
    >>> install_command("plot")
    'pip install "matplotlib>=3.8"'
    """
    try:
        declared = metadata.requires(DISTRIBUTION) or []
    except metadata.PackageNotFoundError:
        declared = []
    requirements = _requirements(extra, declared)
    if not requirements:
        return f'pip install ".[{extra}]" in a clone of the library'
    return "pip install " + " ".join(f'"{requirement}"' for requirement in requirements)


def import_optional(name: str, what: str, remedy: str) -> Any:
    """Import a module that may be missing.

    Parameters
    ----------
    name : str
    what : str
        What needs it, for the error.
    remedy : str
        The command that installs it.

    Returns
    -------
    module

    Raises
    ------
    InputError
        If it cannot be imported.
    """
    try:
        return import_module(name)
    except ImportError as error:
        raise InputError(f"{what} needs {name}; {remedy}") from error


def _requirements(extra: str, declared: list[str]) -> list[str]:
    """Return the requirements of an extra, and of the extras that it names."""
    requirements: list[str] = []
    for line in declared:
        requirement, _, condition = line.partition(";")
        if not re.search(rf"extra\s*==\s*['\"]{extra}['\"]", condition):
            continue
        nested = re.fullmatch(rf"{DISTRIBUTION}\[([\w,-]+)\]", requirement.strip())
        if nested is None:
            requirements.append(requirement.strip())
            continue
        for name in nested[1].split(","):
            requirements += _requirements(name, declared)
    return requirements
