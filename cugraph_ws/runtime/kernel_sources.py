"""What a CUDA kernel is compiled from: its own text, and those of all definitions that it names, in any file.

So an edit of one kernel or function compiles again what names it, and nothing else.  Texts are divided into
statements at lines that begin in the first column, which takes a twentieth of the time of parsing them.
Every word of a statement that is no variable of its function counts as a name, so more may be depended on than
is used, never less.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from types import FunctionType
from typing import NamedTuple

__all__ = ["source_of", "sources_digest"]

TEXTS = re.compile(r'("""|\'\'\').*?\1', re.DOTALL)  # docstrings: kernels have no others
STRINGS = re.compile(r"""(?:\b[fFrRbB]+)?(?:"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')""")
WORDS = re.compile(r"[^\W\d]\w*")
LIBRARY = re.compile(r"cugraph_ws(\.|$)")
IMPORT = re.compile(r"from (cugraph_ws[\w.]*) import (.*)", re.DOTALL)
DEFINITION = re.compile(r"^(?:def|class) (\w+)", re.MULTILINE)
FUNCTION = re.compile(
    r"^def \w+\(([^()]*)\)([^:]*):$", re.MULTILINE
)  # without calls among its defaults
INNER = re.compile(r"^ +(?:def|class|global|nonlocal)\b", re.MULTILINE)
VARIABLES = re.compile(r"^ +(?:for )?([^\W\d]\w*(?:, [^\W\d]\w*)*) (?:=|in) ", re.MULTILINE)
ASSIGNMENT = re.compile(r"([^\W\d]\w*(?:, *[^\W\d]\w*)*)\s*(?::[^=\n]*)?=(?!=)")


class _Module(NamedTuple):
    """The statements of a text.

    Attributes
    ----------
    defined : dict
        For each name the statements that define it: their texts, and the words in them.
    imported : dict
        For each name that is imported from a module of the library: the module, and its name there.
    everything_of : tuple of str
        Modules whose names are all imported.
    rest : tuple of str
        All other statements, on which everything in the text depends.
    """

    defined: dict[str, list[tuple[str, frozenset[str]]]]
    imported: dict[str, tuple[str, str]]
    everything_of: tuple[str, ...]
    rest: tuple[str, ...]


def sources_digest(text: str, name: str) -> str:
    """Return a digest of a definition and of all that it depends on in modules of the library.

    Parameters
    ----------
    text : str
        Of the module that has it.
    name : str
        Of a kernel, or of another function.

    Returns
    -------
    str
        The same after an edit of what the definition does not depend on.
    """
    is_known = name in {*_module(text).defined, *_module(text).imported}
    parts = sorted(set(_reached(text, name) if is_known else [text]))
    return sha256("\n\0".join([name, *parts]).encode()).hexdigest()


def source_of(function: FunctionType) -> str | None:
    """Return the text of a function, or of the one that it is in, without docstrings.

    Parameters
    ----------
    function : function
        Of a module of the library, or of one of `generated.import_text`.

    Returns
    -------
    str or None
        None for functions of other modules.
    """
    space, (name, *_) = function.__globals__, function.__qualname__.split(".")
    module = str(space.get("__name__"))
    text = space.get("__source__") or (_source(module) if LIBRARY.match(module) else "")
    statements = _module(text).defined.get(name)
    if statements is None:
        return None
    return TEXTS.sub("", "\n".join(statement for statement, _ in statements))


def _reached(text: str, name: str) -> Iterator[str]:
    """Yield the texts of a definition's statements and of all that they name."""
    waiting, visited, modules = [(text, name)], set(), set()
    while waiting:
        at = waiting.pop()
        if at in visited:
            continue
        visited.add(at)
        where, wanted = at
        module = _module(where)
        if where not in modules:
            modules.add(where)
            yield from module.rest
        if wanted in module.defined:
            for statement, words in module.defined[wanted]:
                yield statement
                waiting += [(where, word) for word in words]
        elif wanted in module.imported:
            source, original = module.imported[wanted]
            waiting.append((_source(source), original))
        else:
            waiting += [
                (_source(source), wanted)
                for source in module.everything_of
                if wanted in _names(source)
            ]


@lru_cache
def _source(module: str) -> str:
    """Return the text of a module of the library."""
    spec = find_spec(module)
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).read_text("utf-8")


def _names(source: str) -> set[str]:
    module = _module(_source(source))
    return {*module.defined, *module.imported}


@lru_cache
def _module(text: str) -> _Module:
    defined: dict[str, list[tuple[str, frozenset[str]]]] = {}
    imported: dict[str, tuple[str, str]] = {}
    everything_of, rest = [], []
    for statement in _statements(text):
        if matched := IMPORT.match(statement):
            source, names = matched.groups()
            for item in re.sub(r"#.*|[()\n]", " ", names).split(","):
                original, *alias = item.split(" as ")
                if original.strip() == "*":
                    everything_of.append(source)
                elif original.strip():
                    imported[(alias or [original])[0].strip()] = source, original.strip()
            continue
        if matched := DEFINITION.search(statement) or ASSIGNMENT.match(statement):
            words = _words(STRINGS.sub(_code_of, TEXTS.sub("", statement)))
            for name in WORDS.findall(matched[1]):
                defined.setdefault(name, []).append((statement, words - {name}))
        else:
            rest.append(statement)
    return _Module(defined, imported, tuple(everything_of), tuple(rest))


def _code_of(string: re.Match[str]) -> str:
    """Return a string if names may be in it."""
    return string[0] if "f" in string[0].partition(string[0][-1])[0].lower() else ""


def _words(statement: str) -> frozenset[str]:
    """Return the words of a statement that may be names of its module."""
    function = FUNCTION.search(statement)
    if function is None or INNER.search(statement):
        return frozenset(WORDS.findall(statement))
    body = statement[function.end() :]
    arguments, rest = [], [statement[: function.start()], function[2]]
    for argument in function[1].split(","):
        name, *further = re.split("[:=]", argument, maxsplit=1)
        arguments.append(name.strip())
        rest += further
    variables = {word for found in VARIABLES.findall(body) for word in found.split(", ")}
    names = set(WORDS.findall(body)) - variables - set(arguments)
    return frozenset(names.union(WORDS.findall(" ".join(rest))))


def _statements(text: str) -> Iterator[str]:
    """Yield the statements of a text, a function with its decorators; no docstring of a module, no comment."""
    text = TEXTS.sub(
        lambda found: "" if found.start() == 0 or text[found.start() - 1] == "\n" else found[0],
        text,
    )
    statement: list[str] = []
    for line in text.splitlines():
        if line[:1] in ("", "#"):
            continue
        begins = line[0] not in " \t)]}" and not (statement and statement[-1][0] == "@")
        if begins and statement:
            yield "\n".join(statement)
            statement = []
        statement.append(line)
    if statement:
        yield "\n".join(statement)
