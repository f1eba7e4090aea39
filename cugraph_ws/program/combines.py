"""Combines that a program names instead of defining: histogram, top, bitset and first_by.

Each is a fold of tuples, which binding writes out as a user-defined `combine` with its `identity`
(`lowering.py`).  If it combines messages in another form than `compute` returns, a function `lift`
converts each message.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from keyword import iskeyword
from typing import TYPE_CHECKING, Any

import numpy as np

from cugraph_ws.arguments import check_count, shown
from cugraph_ws.errors import InputError, ProgramError

if TYPE_CHECKING:
    from cugraph_ws.program.vertex_program import VertexProgram

__all__ = ["WORD", "Fold", "bitset", "first_by", "histogram", "out_of_range", "returned_row", "top"]

MOST_BINS = 32  # as many as a GPU thread can hold
MOST_RANKED = 32
WORD = 63  # bits in an integer that is never negative
MOST_BITS = 8 * WORD


@dataclass(frozen=True)
class Fold(ABC):
    """A combine that is known by name; see `histogram`, `top`, `bitset` and `first_by`."""

    @property
    def fields(self) -> tuple[str, ...]:
        """Names of the parts of `gathered` in `apply`; empty if they have none."""
        return ()

    @abstractmethod
    def why_not(self, kinds: Sequence[str], *, is_tuple: bool) -> str | None:
        """Return why messages of these types cannot be combined; None if they can."""

    @property
    def takes_number(self) -> bool:
        """Whether it combines messages that are numbers, so that it can fold one part of a tuple."""
        return True

    @property
    def end(self) -> int | None:
        """Messages must be at least 0 and below this integer; None if any number is valid."""
        return None

    @property
    def folds(self) -> tuple[Fold, ...]:
        """The fold of each part of a message; one that combines whole messages, itself."""
        return (self,)

    @abstractmethod
    def identity(self, kinds: Sequence[str]) -> Any:
        """Return the message that the combine leaves unchanged."""

    def lift(self, kinds: Sequence[str]) -> list[str]:
        """Write the body of `lift(message)`; empty if messages are combined as `compute` returns them."""
        return []

    @abstractmethod
    def combine(self, kinds: Sequence[str]) -> list[str]:
        """Write the body of `combine(first, second)`."""

    def combined_kinds(self, kinds: Sequence[str]) -> list[str]:
        """Return the types of the numbers that `identity` has, if messages have types `kinds`."""
        identity = self.identity(kinds)
        numbers = identity if isinstance(identity, tuple) else (identity,)
        return ["int64" if isinstance(number, int) else kinds[0] for number in numbers]


@dataclass(frozen=True, repr=False)
class Histogram(Fold):
    """Counts of each message; see `histogram`."""

    bins: int

    def __repr__(self) -> str:
        return f"ws.histogram({self.bins})"

    def why_not(self, kinds: Sequence[str], *, is_tuple: bool) -> str | None:
        return _why_no_integer(self, "counts", kinds, is_tuple=is_tuple)

    @property
    def end(self) -> int:
        return self.bins

    def identity(self, kinds: Sequence[str]) -> Any:
        return (0,) * self.bins

    def lift(self, kinds: Sequence[str]) -> list[str]:
        return [returned_row([f"1 if message == {place} else 0" for place in range(self.bins)])]

    def combine(self, kinds: Sequence[str]) -> list[str]:
        return [returned_row([f"first[{place}] + second[{place}]" for place in range(self.bins)])]


@dataclass(frozen=True, repr=False)
class Top(Fold):
    """The greatest messages; see `top`."""

    length: int

    def __repr__(self) -> str:
        return f"ws.top({self.length})"

    def why_not(self, kinds: Sequence[str], *, is_tuple: bool) -> str | None:
        if is_tuple or kinds[0] == "bool":
            returned = "a tuple" if is_tuple else "a flag"
            return f"returns {returned}, but {self!r} ranks numbers; return a number"
        return None

    def identity(self, kinds: Sequence[str]) -> Any:
        least = -math.inf if kinds[0].startswith("float") else int(np.iinfo(kinds[0]).min)
        return (least,) * self.length

    def lift(self, kinds: Sequence[str]) -> list[str]:
        rational = kinds[0].startswith("float")
        least = f"np.{kinds[0]}({'-np.inf' if rational else np.iinfo(kinds[0]).min})"
        first = f"message if message == message else {least}" if rational else "message"  # no NaN
        return [returned_row([first, *[least] * (self.length - 1)])]

    def combine(self, kinds: Sequence[str]) -> list[str]:
        # Batcher's bitonic merge of two descending rows, which are thought to be longer by least values:
        # the greater ones of first[i] and second[-i] fall, then rise, and are sorted in halving steps.
        size = 1 << (self.length - 1).bit_length()
        lines = []
        for place in range(size):
            both = [f"first[{place}]"] if place < self.length else []
            both += [f"second[{size - 1 - place}]"] if size - 1 - place < self.length else []
            lines.append(f"r{place} = " + (f"max({', '.join(both)})" if len(both) > 1 else both[0]))
        half = size // 2
        while half:
            for low in (place for place in range(size) if not place & half):
                pair = f"r{low}, r{low + half}"
                lines.append(f"{pair} = max({pair}), min({pair})")
            half //= 2
        return [*lines, returned_row([f"r{place}" for place in range(self.length)])]


@dataclass(frozen=True, repr=False)
class Bitset(Fold):
    """The union of sets of bits; see `bitset`."""

    bits: int

    def __repr__(self) -> str:
        return f"ws.bitset({self.bits})"

    def why_not(self, kinds: Sequence[str], *, is_tuple: bool) -> str | None:
        return _why_no_integer(self, "takes", kinds, is_tuple=is_tuple)

    @property
    def end(self) -> int:
        return self.bits

    @property
    def words(self) -> list[tuple[int, int]]:
        """For each word, its first bit and the bit after its last one."""
        return [(low, min(low + WORD, self.bits)) for low in range(0, self.bits, WORD)]

    def identity(self, kinds: Sequence[str]) -> Any:
        return 0 if len(self.words) == 1 else (0,) * len(self.words)

    def lift(self, kinds: Sequence[str]) -> list[str]:
        parts = [
            f"1 << (place - {low}) if {low} <= place < {high} else 0" for low, high in self.words
        ]
        return ["place = int(message)", returned_row(parts, single=True)]

    def combine(self, kinds: Sequence[str]) -> list[str]:
        if len(self.words) == 1:
            return ["return first | second"]
        return [
            returned_row([f"first[{place}] | second[{place}]" for place in range(len(self.words))])
        ]


@dataclass(frozen=True, repr=False)
class FirstBy(Fold):
    """The message with the least field; see `first_by`."""

    field: int
    names: tuple[str, ...]

    def __repr__(self) -> str:
        if not self.names:
            return f"ws.first_by({self.field})"
        return f"ws.first_by({self.names[self.field]!r}, names={self.names!r})"

    @property
    def takes_number(self) -> bool:
        return False

    @property
    def fields(self) -> tuple[str, ...]:
        return self.names

    def why_not(self, kinds: Sequence[str], *, is_tuple: bool) -> str | None:
        if not is_tuple:
            return (
                f"returns a number, but {self!r} chooses among tuples; return a tuple, or use min"
            )
        if self.names and len(self.names) != len(kinds):
            return (
                f"returns a tuple of {len(kinds)} numbers, but {self!r} names {len(self.names)}; "
                "return one for each name"
            )
        if self.field >= len(kinds):
            return (
                f"returns a tuple of {len(kinds)} numbers, but {self!r} needs number {self.field}"
            )
        return None

    def identity(self, kinds: Sequence[str]) -> Any:
        greatest: dict[str, Any] = {"b": True, "i": int(np.iinfo(np.int64).max), "f": math.inf}
        return tuple(greatest[np.dtype(kind).kind] for kind in kinds)

    def combine(self, kinds: Sequence[str]) -> list[str]:
        other_fields = [place for place in range(len(kinds)) if place != self.field]
        lines = []
        for place in (self.field, *other_fields):
            first, second = f"first[{place}]", f"second[{place}]"
            differ, less = f"{first} != {second}", f"{first} < {second}"
            if kinds[place].startswith("float"):  # NaN is after all numbers
                differ += f" and ({first} == {first} or {second} == {second})"
                less += f" or {second} != {second}"
            lines += [f"if {differ}:", f"    return first if {less} else second"]
        return [*lines, "return first"]


def histogram(k: int) -> Any:
    """Combine messages into a histogram: how often each of the integers 0 … k − 1 was sent.

    Parameters
    ----------
    k : int
        Number of bins, 1 to 32.

    Returns
    -------
    Fold
        For a program's `combine`.  `gathered` is a tuple of k counts (int64), all 0 without
        messages.  A message out of range ends the run with a ProgramError.

    Raises
    ------
    ProgramError
        If `k` is out of range.

    Examples
    --------
    How often each film was given 0, 1 and 2 stars:

    >>> import pandas as pd
    >>> import cugraph_ws as ws
    >>> @ws.vertex_program
    ... class Stars:
    ...     none: ws.int64
    ...     one: ws.int64
    ...     two: ws.int64
    ...     stars = ws.edge(ws.int64)
    ...     combine = ws.histogram(3)
    ...     max_iter = 1
    ...
    ...     def init():
    ...         return 0, 0, 0
    ...
    ...     def compute(edge):
    ...         return edge.stars
    ...
    ...     def apply(gathered):
    ...         return gathered[0], gathered[1], gathered[2]
    >>> reviews = pd.DataFrame(
    ...     {"source": [1, 2, 3, 3], "destination": [10, 10, 10, 11], "stars": [2, 0, 2, 1]}
    ... )
    >>> ws.run(Stars, reviews).frame.tail(2).to_dict("list")
    {'vertex': [10, 11], 'none': [1, 0], 'one': [0, 1], 'two': [2, 0]}
    """
    return Histogram(_size("histogram", k, MOST_BINS))


def top(k: int) -> Any:
    """Combine messages into the k greatest; equal messages count separately.

    Parameters
    ----------
    k : int
        How many, 1 to 32.

    Returns
    -------
    Fold
        For a program's `combine`.  `gathered` is a tuple of k numbers, descending.  With fewer than
        k messages, the rest is -inf, or the least int64 for integers.  NaN counts as -inf.

    Raises
    ------
    ProgramError
        If `k` is out of range.

    Examples
    --------
    In an auction the highest bid wins, and the winner pays the second highest:

    >>> import math
    >>> import pandas as pd
    >>> import cugraph_ws as ws
    >>> @ws.vertex_program
    ... class Auction:
    ...     price = ws.nullable(ws.float64, -math.inf)
    ...     bid = ws.edge(ws.float64)
    ...     combine = ws.top(2)
    ...     max_iter = 1
    ...
    ...     def init():
    ...         return -math.inf
    ...
    ...     def compute(edge):
    ...         return edge.bid
    ...
    ...     def apply(gathered):
    ...         return gathered[1]
    >>> bids = pd.DataFrame(
    ...     {"source": ["ann", "bob", "cat"], "destination": ["lamp"] * 3, "bid": [30.0, 45.0, 40.0]}
    ... )
    >>> ws.run(Auction, bids).frame.tail(1).to_dict("list")
    {'vertex': ['lamp'], 'price': [40.0]}
    """
    return Top(_size("top", k, MOST_RANKED))


def bitset(k: int) -> Any:
    """Combine messages into a set of bits: which of the positions 0 … k − 1 were sent.

    Parameters
    ----------
    k : int
        Number of bits, 1 to 504.

    Returns
    -------
    Fold
        For a program's `combine`.  `gathered` is an integer (int64) with a bit for each position
        that was sent.  For k above 63 it is a tuple of such integers, with 63 bits each: bit m is
        ``gathered[m // 63] >> m % 63 & 1``.  A message out of range ends the run with a
        ProgramError.

    Raises
    ------
    ProgramError
        If `k` is out of range.

    Examples
    --------
    In which departments do the contacts of each person work?

    >>> import pandas as pd
    >>> import cugraph_ws as ws
    >>> @ws.vertex_program
    ... class Departments:
    ...     met: ws.int64
    ...     department = ws.vertex_value(ws.int64)
    ...     combine = ws.bitset(3)
    ...     max_iter = 1
    ...
    ...     def init():
    ...         return 0
    ...
    ...     def compute(src):
    ...         return src.department
    ...
    ...     def apply(gathered):
    ...         return gathered
    >>> contacts = pd.DataFrame({"source": ["ann", "ann", "bob"], "destination": ["bob", "cat", "cat"]})
    >>> works_in = {"ann": 0, "bob": 1, "cat": 2}
    >>> met = ws.run(Departments, contacts, directed=False, department=works_in).frame["met"]
    >>> [[place for place in range(3) if bits >> place & 1] for bits in met]
    [[1, 2], [0, 2], [0, 1]]
    """
    return Bitset(_size("bitset", k, MOST_BITS))


def first_by(field: int | str, names: Sequence[str] = ()) -> Any:
    """Combine messages that are tuples by taking the one with the least value of a field.

    Parameters
    ----------
    field : int or str
        The index of the field in a message, from 0; or its name, one of `names`.
    names : sequence of str, optional
        Names of all fields of a message; `apply` may then read them from `gathered` by name.

    Returns
    -------
    Fold
        For a program's `combine`.  `gathered` is one of the messages.  Ties are broken by the other
        fields, in their order; NaN is greater than all numbers.  Without messages, each field is
        inf, the greatest int64, or True; a message whose `field` is NaN counts as none.

    Raises
    ------
    ProgramError
        If there is no such field, or a name is invalid.

    Examples
    --------
    The cheapest offer to each buyer, and who makes it:

    >>> import math
    >>> import pandas as pd
    >>> import cugraph_ws as ws
    >>> @ws.vertex_program
    ... class Cheapest:
    ...     cost: ws.float64
    ...     seller: ws.vertex_id
    ...     me: ws.vertex_number
    ...     price = ws.edge(ws.float64)
    ...     combine = ws.first_by("cost", names=("cost", "seller"))
    ...     max_iter = 1
    ...
    ...     def init():
    ...         return math.inf, -1
    ...
    ...     def compute(src, edge):
    ...         return edge.price, src.me
    ...
    ...     def apply(gathered):
    ...         return gathered.cost, gathered.seller
    >>> offers = pd.DataFrame({"from": ["x", "y", "x"], "to": ["a", "a", "b"], "price": [3.0, 2.5, 4.0]})
    >>> frame = ws.run(Cheapest, offers, source="from", destination="to").frame
    >>> frame[frame["cost"] < math.inf].to_dict("list")
    {'vertex': ['a', 'b'], 'cost': [2.5, 4.0], 'seller': ['y', 'x']}
    """
    if not isinstance(names, (list, tuple)):
        raise ProgramError(f"ws.first_by: names={shown(names)} is not a list; give a list of names")
    names = tuple(names)
    for name in names:
        if (
            not isinstance(name, str)
            or not name.isidentifier()
            or iskeyword(name)
            or name[:1] == "_"
        ):
            raise ProgramError(
                f"ws.first_by: {shown(name)} cannot name a field; give an identifier"
            )
    if len(set(names)) < len(names):
        raise ProgramError(f"ws.first_by: names={names!r} repeats a name; give each field its own")
    if isinstance(field, str):
        if field not in names:
            known = ", ".join(names) or "none; give them in names="
            raise ProgramError(f"ws.first_by: {field!r} is not among the names of fields: {known}")
        field = names.index(field)
    elif isinstance(field, bool) or not isinstance(field, (int, np.integer)) or field < 0:
        raise ProgramError(
            f"ws.first_by: field={shown(field)} is neither an index from 0 nor a name; give one"
        )
    if names and field >= len(names):
        raise ProgramError(f"ws.first_by: field={field} is beyond the {len(names)} names")
    return FirstBy(int(field), names)


def returned_row(parts: Sequence[str], *, single: bool = False) -> str:
    """Write a return statement of a tuple, or of its number if `single` and there is only one."""
    if single and len(parts) == 1:
        return f"return {parts[0]}"
    return "return (" + "".join(f"{part}, " for part in parts) + ")"


def out_of_range(program: VertexProgram, message: int) -> ProgramError:
    """Return the error for a message outside a fold's range.

    Parameters
    ----------
    program : VertexProgram
        Its fold, or that of a part of its messages, has an `end`.
    message : int

    Returns
    -------
    ProgramError
    """
    fold = program.fold
    assert fold is not None
    takes = [
        f"{one!r} takes 0 to {one.end - 1}"
        for one in fold.folds
        if one.end is not None and not 0 <= message < one.end
    ]
    return ProgramError(
        f"{program.name}.compute ({program.sources['compute'].location}): returns {message}, but {' and '.join(takes)}; "
        "keep it in that range"
    )


def _size(name: str, k: Any, most: int) -> int:
    try:
        check_count("k", k, least=1, most=most)
    except InputError as error:
        raise ProgramError(f"ws.{name}: {error}") from error
    return int(k)


def _why_no_integer(fold: Fold, does: str, kinds: Sequence[str], *, is_tuple: bool) -> str | None:
    if not is_tuple and kinds[0] in ("bool", "int64"):
        return None
    returned = "a tuple" if is_tuple else f"a {kinds[0]}"
    return f"returns {returned}, but {fold!r} {does} integers; return a whole number (`//`, int())"
