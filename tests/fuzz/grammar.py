"""The words of the grammar of random programs: choices, expressions, and what a program is made of."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

__all__ = ["Choices", "Frame", "Member", "condition", "constants", "number", "rising"]


class Choices:
    """Where the grammar's choices come from.

    Parameters
    ----------
    below : callable
        `below(n)` returns a number from 0 to n − 1; 0 for the simplest.
    """

    def __init__(self, below: Callable[[int], int]) -> None:
        self.below = below

    @classmethod
    def seeded(cls, seed: int) -> Choices:
        """Return choices that a seed decides."""
        return cls(random.Random(seed).randrange)

    def pick(self, *options: Any) -> Any:
        """Return one of some options, of which the first are the simplest."""
        return options[self.below(len(options))]

    def chance(self, one_in: int) -> bool:
        """Return True in one of so many cases."""
        return self.below(one_in) == one_in - 1


@dataclass
class Member:
    """What one program's functions return, as source; a body may be several lines."""

    init: str
    compute: str | None
    apply: str
    active: str | None = None
    monotone: bool = False  # by construction
    scatter: str | None = None  # in the place of `compute`


@dataclass
class Frame:
    """What programs that are compiled together share.

    Attributes
    ----------
    fields : tuple of (str, str)
        Name and type of each state field.
    combine : str
        The line, or lines, that set it.
    message : type or tuple of type
        What messages are.
    settings : list of str
        Other lines of the class.
    """

    fields: tuple[tuple[str, str], ...]
    combine: str
    message: Any
    settings: list[str]

    @property
    def kind(self) -> str:
        """The first field's type."""
        return self.fields[0][1]


# --------------------------------------------------------------------------------- expressions


def number(choose: Choices, atoms: Sequence[str], depth: int, real: bool) -> str:
    """Write an expression of numbers; of dyadic fractions if `real`."""
    if depth == 0 or choose.chance(4):
        return choose.pick(*atoms)
    one = number(choose, atoms, depth - 1, real)
    ways = ["+", "-", "min", "max", "abs", "scale", "if", *([] if real else ["//", "%", "*"])]
    way = choose.pick(*ways)
    if way == "abs":
        return f"abs({one})"
    if way == "scale":
        return f"({one}) * {choose.pick('0.5', '2.0', '-1.0') if real else choose.pick('2', '3', '-1')}"
    if way in ("//", "%"):
        return f"({one}) {way} {choose.pick('2', '3', '7', '-4')}"
    other = number(choose, atoms, depth - 1, real)
    if way in ("min", "max"):
        return f"{way}({one}, {other})"
    if way == "if":
        return f"({one} if {condition(choose, atoms)} else {other})"
    return f"({one} {way} {other})"


def condition(choose: Choices, atoms: Sequence[str]) -> str:
    """Write a comparison."""
    one, other = choose.pick(*atoms), choose.pick("2", "0", "5", *atoms)
    return f"{one} {choose.pick('<', '>=', '!=', '<=')} {other}"


def constants(real: bool) -> list[str]:
    """Return numbers as source; whole ones are floats' as well."""
    return ["1", "0.5", "-2.0", "3", "0", "1.25"] if real else ["1", "2", "0", "-3", "5"]


def rising(choose: Choices, real: bool) -> str:
    """Write a message that does not fall when src.x rises."""
    text = "src.x"
    for _ in range(1 + choose.below(3)):
        text = choose.pick(
            lambda t: (
                f"{t} + {choose.pick(*constants(real), *('edge.w' if real else 'edge.k',) * 3)}"
            ),
            lambda t: f"min({t}, {choose.pick('6', '9', '2')})",
            lambda t: f"max({t}, {choose.pick('1', '0', '-4')})",
            lambda t: f"{t} - {choose.pick('1', '2')}",
            lambda t: (
                f"({t}) {choose.pick('* 0.5', '* 2.0') if real else choose.pick('// 2', '* 2')}"
            ),
            lambda t: f"({t} if edge.k > 1 else {t} + 1)",
            lambda t: f"{t} + src.degree",
        )(text)
    return text
