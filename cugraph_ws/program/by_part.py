"""A fold for each part of messages that are tuples: ``combine = (sum, max, ws.top(3))``."""

from __future__ import annotations

import ast
import builtins
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from cugraph_ws.arguments import shown
from cugraph_ws.errors import ProgramError
from cugraph_ws.program.combines import Fold, returned_row
from cugraph_ws.runtime.parsing import parse

__all__ = ["Basic", "ByPart", "by_part"]

MOST_NUMBERS = 32  # as many as a GPU thread can hold
BASIC = {sum: "sum", min: "min", max: "max", any: "any"}
FOLDS = "sum, min, max, any, ws.top(k), ws.histogram(k) or ws.bitset(k)"


@dataclass(frozen=True, repr=False)
class Basic(Fold):
    """Python's `sum`, `min`, `max` or `any` of one part of messages."""

    name: str

    def __repr__(self) -> str:
        return self.name

    def why_not(self, kinds: Sequence[str], *, is_tuple: bool) -> str | None:
        """Return why the fold cannot combine messages of these types."""
        if self.name == "any" and kinds[0] != "bool":
            return f"returns a {kinds[0]}, but any tells whether a flag is True; return a flag, or use max"
        return None

    def identity(self, kinds: Sequence[str]) -> Any:
        """Return what changes no other messages."""
        if self.name in ("sum", "any"):
            return 0.0 if kinds[0].startswith("float") else 0
        if kinds[0] == "bool":
            return self.name == "min"
        if kinds[0].startswith("float"):
            return math.inf if self.name == "min" else -math.inf
        limits = np.iinfo(kinds[0])
        return int(limits.max if self.name == "min" else limits.min)

    def lift(self, kinds: Sequence[str]) -> list[str]:
        """Write the body of `lift(message)`."""
        if self.name == "sum":
            return ["return np.int64(message)"] if kinds[0] == "bool" else []
        if self.name == "any" or not kinds[0].startswith("float"):
            return []
        extreme = f"np.{kinds[0]}({'np.inf' if self.name == 'min' else '-np.inf'})"
        return [f"return message if message == message else {extreme}"]

    def combine(self, kinds: Sequence[str]) -> list[str]:
        """Write the body of `combine(first, second)`."""
        if self.name in ("sum", "any"):
            return [f"return first {'+' if self.name == 'sum' else 'or'} second"]
        return [f"return second if second {'<' if self.name == 'min' else '>'} first else first"]


@dataclass(frozen=True, repr=False)
class ByPart(Fold):
    """A fold for each part of messages; what a fold such as `ws.top` makes of its part is a tuple in `gathered`."""

    parts: tuple[Fold, ...]

    def __repr__(self) -> str:
        return repr(self.parts)

    def why_not(self, kinds: Sequence[str], *, is_tuple: bool) -> str | None:
        """Return why the fold cannot combine messages of these types."""
        if not is_tuple or len(kinds) != len(self.parts):
            returned = f"a tuple of {len(kinds)} numbers" if is_tuple else "a number"
            return f"returns {returned}, but {self!r} folds {len(self.parts)}; return a number for each fold"
        for place, (part, kind) in enumerate(zip(self.parts, kinds, strict=True)):
            why = part.why_not((kind,), is_tuple=False)
            if why is not None:
                return f"part {place} of the message: {why}"
        return None

    @property
    def folds(self) -> tuple[Fold, ...]:
        """The fold of each part."""
        return self.parts

    @property
    def places(self) -> list[int | range]:
        """For each part, its place in the combined message, or the places of its numbers."""
        places: list[int | range] = []
        start = 0
        for part in self.parts:
            numbers = part.identity(("int64",))
            length = len(numbers) if isinstance(numbers, tuple) else 1
            places.append(range(start, start + length) if isinstance(numbers, tuple) else start)
            start += length
        return places

    def identity(self, kinds: Sequence[str]) -> Any:
        """Return what changes no other messages."""
        row: list[Any] = []
        for part, kind in zip(self.parts, kinds, strict=True):
            numbers = part.identity((kind,))
            row += numbers if isinstance(numbers, tuple) else [numbers]
        return tuple(row)

    def combined_kinds(self, kinds: Sequence[str]) -> list[str]:
        """Return the types of the numbers of a combined message."""
        return [
            number
            for part, kind in zip(self.parts, kinds, strict=True)
            for number in part.combined_kinds((kind,))
        ]

    def lift(self, kinds: Sequence[str]) -> list[str]:
        """Write the body of `lift(message)`."""
        bodies = [part.lift((kind,)) for part, kind in zip(self.parts, kinds, strict=True)]
        if not any(bodies):
            return []
        return _joined([body or ["return message"] for body in bodies], range(len(kinds)))

    def combine(self, kinds: Sequence[str]) -> list[str]:
        """Write the body of `combine(first, second)`."""
        bodies = [part.combine((kind,)) for part, kind in zip(self.parts, kinds, strict=True)]
        return _joined(bodies, self.places)

    def nested(self, name: str) -> str | None:
        """Write the combined message with a tuple for each part that has several numbers; None if none has."""
        if all(isinstance(at, int) for at in self.places):
            return None
        rows = [[at] if isinstance(at, int) else at for at in self.places]
        texts = [", ".join(f"{name}[{number}]" for number in row) for row in rows]
        tuples = [
            text if isinstance(at, int) else f"({text},)"
            for at, text in zip(self.places, texts, strict=True)
        ]
        return f"({', '.join(tuples)})"


def by_part(name: str, folds: Sequence[Any]) -> ByPart:
    """Return the fold that combines messages part by part.

    Parameters
    ----------
    name : str
        The program.
    folds : sequence
        What `combine` is: for each part of a message `sum`, `min`, `max`, `any` or a `Fold`.

    Returns
    -------
    ByPart

    Raises
    ------
    ProgramError
        If there are fewer than two, one does not fold numbers, or they make too many numbers.
    """
    if len(folds) < 2:
        raise ProgramError(
            f"{name}.combine has {len(folds)} {'fold' if len(folds) == 1 else 'folds'}; give one for each part of "
            "a message, or one alone without parentheses"
        )
    parts: list[Fold] = []
    for place, fold in enumerate(folds):
        basic = next((label for known, label in BASIC.items() if fold is known), None)
        if basic is None and not (isinstance(fold, Fold) and fold.takes_number):
            raise ProgramError(
                f"{name}.combine[{place}] is {shown(fold)}, which folds no part of a message; it is {FOLDS}"
            )
        parts.append(Basic(basic) if basic is not None else fold)
    combined = ByPart(tuple(parts))
    length = len(combined.identity(("int64",) * len(parts)))
    if length > MOST_NUMBERS:
        raise ProgramError(
            f"{name}.combine makes {length} numbers, more than {MOST_NUMBERS}; gather fewer in one program"
        )
    return combined


def _joined(bodies: Sequence[Sequence[str]], places: Sequence[int | range]) -> list[str]:
    """Write one function's body that returns in a row what those of the parts return, which end with their return."""
    lines: list[str] = []
    row: list[str] = []
    for part, (body, at) in enumerate(zip(bodies, places, strict=True)):
        *statements, returned = _OfPart(part, at).visit(parse("\n".join(body))).body
        lines += map(ast.unparse, statements)
        is_row = isinstance(returned.value, ast.Tuple)
        row += map(ast.unparse, returned.value.elts if is_row else [returned.value])
    return [*lines, returned_row(row)]


class _OfPart(ast.NodeTransformer):
    """Has the body of a fold's function read its arguments in a row, and gives variables names of the part's own."""

    def __init__(self, part: int, at: int | range) -> None:
        self.part, self.at = part, at

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        match node:
            case ast.Subscript(ast.Name("first" | "second"), ast.Constant(int(number))):
                if isinstance(self.at, range):
                    return ast.Subscript(node.value, ast.Constant(self.at[number]), node.ctx)
        self.generic_visit(node)
        return node

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if node.id in ("message", "first", "second"):
            assert isinstance(self.at, int)
            return ast.Subscript(node, ast.Constant(self.at), ast.Load())
        if node.id in dir(builtins) or node.id == "np":
            return node
        return ast.Name(f"{node.id}_of_part_{self.part}", node.ctx)
