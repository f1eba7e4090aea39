"""Compiled device functions, kept in the disk cache one by one.

A kernel is an entry point and dozens of functions that it calls.  Numba compiles each of them to a module of NVVM IR,
and NVVM makes one kernel of all.  Here the modules are kept, so that a kernel of an edited program needs Numba only
for functions that have changed.  An entry is named by the function's own code, the constants that it names and the
types of its arguments, not by what it calls.  So symbols in its text are places, which are filled when all that it
calls has been found.  So are layouts of opaque types, which loops of `kernels/cuda` do not look into: their entries
serve programs of all types, and ship with the library.  This module knows nothing of Numba; see `cuda_target`.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple

from cugraph_ws.runtime import shipped
from cugraph_ws.runtime.atomic_files import is_private, private_folder
from cugraph_ws.runtime.machine_code import code_folder, file_stem, read_entry, write_entry

__all__ = [
    "HIDDEN", "Callee", "FunctionCode", "ResolvedCode", "Written", "as_places", "compilers", "entry_key", "hidden_type",
    "keep", "kept", "link_order", "resolved", "version",
]  # fmt: skip

SUFFIX = ".nvvm"
MOST = 16  # codes of an entry
OWN = "its own"  # the place of a function's symbol; those of its callees are "callee 0" and so on
# A pointer to the function's Python globals, which no kernel reads
ENVIRONMENT = re.compile(r'^@"?_ZN08NumbaEnv.*\n', re.MULTILINE)
MODULE = re.compile(r"^; ModuleID = .*\n", re.MULTILINE)
HIDDEN = re.compile(r'%"opaque ([^"]*)"')
DEFINED = re.compile(r'^define (?:linkonce_odr )?(?=.*?@"([^"]*)"\()', re.MULTILINE)

Written = Any  # a type, as JSON has it


class Callee(NamedTuple):
    """A function that another one calls.

    Attributes
    ----------
    name : str
        The caller's global name of it.
    arguments : list of Written
        Types that it is called with.
    returns : Written
        Type that it returns.
    """

    name: str
    arguments: list[Written]
    returns: Written


class FunctionCode(NamedTuple):
    """Compiled code of a function, for the types of its arguments and of what its callees return.

    Attributes
    ----------
    returns : Written
        Type that it returns.
    texts : list of str
        NVVM IR: its own module, then those of functions that Numba has made for it.
    callees : list of Callee
    """

    returns: Written
    texts: list[str]
    callees: list[Callee]


class ResolvedCode(NamedTuple):
    """Code of a function and of all that it calls.

    Attributes
    ----------
    symbol : str
        The same for the same code, all that it calls included.
    texts : tuple of str
    callees : tuple of ResolvedCode
    """

    symbol: str
    texts: tuple[str, ...]
    callees: tuple[ResolvedCode, ...]


def as_places(texts: Sequence[str], own: str, called: Sequence[str], *, entry: bool) -> list[str]:
    """Replace the symbols of a function's modules by places.

    Parameters
    ----------
    texts : sequence of str
        NVVM IR: its own module, then those of functions that were made for it.
    own : str
        Its symbol.
    called : sequence of str
        Symbols of its callees.
    entry : bool
        Whether it is a kernel.  Other functions are linked once, and inlined.

    Returns
    -------
    list of str
    """
    made = sorted({symbol for text in texts[1:] for symbol in DEFINED.findall(text)})
    places = {own: OWN}
    places |= {symbol: f"callee {number}" for number, symbol in enumerate(called)}
    places |= {symbol: f"{OWN} {number}" for number, symbol in enumerate(made)}
    symbols = re.compile("|".join(f'"{re.escape(symbol)}"' for symbol in places))

    def placed(text: str) -> str:
        text = ENVIRONMENT.sub("", MODULE.sub("", text))
        if not entry:
            text = DEFINED.sub("define linkonce_odr ", text)
        return symbols.sub(lambda found: f'"{places[found[0][1:-1]]}"', text)

    return [placed(text) for text in texts]


def resolved(name: str, code: FunctionCode, callees: Sequence[ResolvedCode]) -> ResolvedCode:
    """Fill the places of a code.

    Parameters
    ----------
    name : str
        The function's, with which its symbol begins.
    code : FunctionCode
    callees : sequence of ResolvedCode
        In the order of `code.callees`.
    """
    symbols = {f"callee {number}": callee.symbol for number, callee in enumerate(callees)}
    facts = code.texts, [callee.symbol for callee in callees]
    ascii_name = re.sub(r"[^\w]", "_", name, flags=re.ASCII)
    symbols[OWN] = f"{ascii_name}_{hashlib.sha256(repr(facts).encode()).hexdigest()[:20]}"
    place = re.compile(rf'"({OWN}|callee \d+)( \d+)?"')

    def filled(found: re.Match[str]) -> str:
        return f'"{symbols[found[1]]}{(found[2] or "").strip()}"'

    texts = tuple(place.sub(filled, text) for text in code.texts)
    return ResolvedCode(symbols[OWN], texts, tuple(callees))


def hidden_type(role: str) -> str:
    """Return the place for the layout of an opaque type, in NVVM IR."""
    return f'%"opaque {role}"'


def link_order(kernel: ResolvedCode, layouts: Mapping[str, str]) -> list[str]:
    """Return the modules of a kernel, each once.

    Callers come before callees: NVVM drops a function that nothing has named yet.

    Parameters
    ----------
    kernel : ResolvedCode
    layouts : mapping of str to str
        Layouts of opaque types in NVVM IR, by their roles; they fill the places of `hidden_type`.

    Returns
    -------
    list of str
    """
    done: dict[str, ResolvedCode] = {}

    def visit(code: ResolvedCode) -> None:
        if code.symbol not in done:
            for callee in code.callees:
                visit(callee)
            done[code.symbol] = code

    visit(kernel)
    texts = [text for code in reversed(done.values()) for text in code.texts]
    return [HIDDEN.sub(lambda found: layouts[found[1]], text) for text in texts]


def kept(key: str) -> list[FunctionCode]:
    """Return the codes of an entry, of those that came with the library, and of the disk cache.

    Parameters
    ----------
    key : str
        Of the function; see `entry_key`.
    """
    codes: list[FunctionCode] = []
    archive = shipped.archive_of(shipped.FOLDER / shipped.FUNCTIONS)
    if archive is not None:
        with contextlib.suppress(KeyError, zipfile.BadZipFile):
            codes += _codes(archive.read(key))
    return [*codes, *_on_disk(_path(key))]


def _on_disk(path: Path | None) -> list[FunctionCode]:
    """Return the codes of an entry's file."""
    content = None if path is None or not is_private(path.parent) else read_entry(path)
    return [] if content is None else list(_codes(content))


def keep(key: str, code: FunctionCode) -> None:
    """Add a code to an entry of the disk cache, if it can be written."""
    path = _path(key)
    if path is None:
        return
    codes = [code, *(old for old in _on_disk(path) if old.callees != code.callees)]
    with contextlib.suppress(OSError):
        if private_folder(path.parent):
            write_entry(path, json.dumps(codes[:MOST]).encode())


def _codes(content: bytes) -> Iterator[FunctionCode]:
    for returns, texts, callees in json.loads(content):
        yield FunctionCode(returns, texts, [Callee(*callee) for callee in callees])


def entry_key(name: str, facts: Sequence[Any]) -> str:
    """Return the name of an entry: the function's name, and a hash of all that its code depends on.

    Parameters
    ----------
    name : str
    facts : sequence
        What it depends on besides the versions of the compiler.  The compute capability is not among it:
        Numba-CUDA's code is the same for all that the library supports.
    """
    key = repr((*facts, compilers()))
    return f"{file_stem(name)}-{hashlib.sha256(key.encode()).hexdigest()[:40]}{SUFFIX}"


@lru_cache
def compilers() -> tuple[str, ...]:
    """Return what all compiled functions depend on: how the compiler is called, and its versions."""
    called = [
        Path(__file__).with_name(name).read_bytes()
        for name in ("cuda_target.py", "device_functions.py")
    ]
    return (
        hashlib.sha256(b"".join(called)).hexdigest(),
        version("numba"),
        version("numba-cuda"),
        version("llvmlite"),
    )


def version(package: str) -> str:
    """Return the version of an installed package, `"none"` if it is missing."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "none"


def _path(key: str) -> Path | None:
    folder = code_folder()
    return None if folder is None else folder / "cuda" / key
