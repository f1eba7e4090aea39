"""Programs that see all messages of a vertex: `combine = ws.mode()`, and `gather_list`.

Their messages cannot be folded one by one.  A superstep lists the messages of a row in a buffer, in
the order of the sources' numbers and parallel edges in input order.  It sorts them if they are needed
in the order of their values, and then computes `gathered` for `apply`.

In compiled code `messages` is a tuple of the buffer's arrays, the index of the first message and the
number of messages; uses of `messages` in the user's function are rewritten accordingly.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal, NoReturn, Protocol

import numpy as np

from cugraph_ws.arguments import shown
from cugraph_ws.errors import ProgramError
from cugraph_ws.runtime.parsing import parse

__all__ = [
    "Examples", "Listing", "Messages", "beyond_list", "bytes_of_lists", "check_list_uses", "compiled_text", "key_bits", "key_lines",
    "list_lines", "mode", "total_kind", "why_not_listed",
]  # fmt: skip

MESSAGES = "messages"
CHUNK = 128  # weights are summed in chunks of this size, then the sums, on every engine alike
ALLOWED = "`len(messages)`, `messages[i]` and `for one in messages`"


@dataclass(frozen=True)
class Listing:
    """How a program computes `gathered` from all messages of a vertex.

    Attributes
    ----------
    kind : {"mode", "weighted mode", "list"}
        The most frequent message, the value with the greatest total weight, or the result of
        `gather_list`.
    order : {"source", "value"}
        The order of `messages` in `gather_list`.
    """

    kind: Literal["mode", "weighted mode", "list"]
    order: Literal["source", "value"] = "source"

    @property
    def sorted_by(self) -> int | None:
        """By how many parts of a message rows are sorted; None for all parts."""
        if self.kind == "list":
            return None if self.order == "value" else 0
        return 1

    def counts(self, message: Sequence[str]) -> bool:
        """Return whether total weights are integers, which any order of messages gives.

        Parameters
        ----------
        message : sequence of str
            NumPy type names of a message's parts.
        """
        return self.kind != "list" and total_kind(self, message) == "int64"

    def __repr__(self) -> str:
        names = {"mode": "ws.mode()", "weighted mode": "ws.mode(weighted=True)"}
        return names.get(self.kind, "gather_list" + (" by value" if self.order == "value" else ""))


def mode(*, weighted: bool = False) -> Any:
    """Combine messages into the most frequent one, as in label propagation.

    Parameters
    ----------
    weighted : bool
        Whether messages are tuples (value, weight).  Then the value with the greatest total weight
        is taken.  A value's weights are summed in an order that depends on the weights alone, so
        results repeat bit by bit.

    Returns
    -------
    Listing
        For a program's `combine`.  `gathered` is a value; of equally good values, the least.

    Raises
    ------
    ProgramError
        If `weighted` is not a bool.

    Notes
    -----
    A vertex without messages keeps its state.  With ``contributors = "all"``, `apply` gets inf, or the
    greatest int64, as `gathered`.  All NaN are one value, greater than inf; 0.0 and -0.0 are 0.0.  On a
    GPU, weights are added up in less time if they are whole numbers, or floats of few digits.

    Examples
    --------
    Everyone votes as most of their friends did; of equally many, for the lesser number:

    >>> import pandas as pd
    >>> import cugraph_ws as ws
    >>> @ws.vertex_program
    ... class Votes:
    ...     party: ws.int64
    ...     first = ws.vertex_value(ws.int64)
    ...     combine = ws.mode()
    ...     max_iter = 1
    ...
    ...     def init(own):
    ...         return own.first
    ...
    ...     def compute(src):
    ...         return src.party
    ...
    ...     def apply(gathered):
    ...         return gathered
    >>> friends = pd.DataFrame({"source": [1, 1, 1, 2], "destination": [2, 3, 4, 3]})
    >>> parties = {1: 5, 2: 7, 3: 7, 4: 6}
    >>> ws.run(Votes, friends, directed=False, first=parties).frame["party"].tolist()
    [7, 5, 5, 5]
    """
    if not isinstance(weighted, bool):
        raise ProgramError(f"ws.mode: weighted={shown(weighted)} must be True or False")
    return Listing("weighted mode" if weighted else "mode")


def why_not_listed(listing: Listing, kinds: Sequence[str], *, is_tuple: bool) -> str | None:
    """Return why messages of these types cannot be gathered; None if they can.

    Parameters
    ----------
    listing : Listing
    kinds : sequence of str
        NumPy type names of what `compute` returns.
    is_tuple : bool
        Whether that is a tuple.

    Returns
    -------
    str or None
    """
    if listing.kind == "mode" and is_tuple:
        return "returns a tuple, but ws.mode() counts numbers; return a number, or use ws.mode(weighted=True)"
    if listing.kind == "weighted mode" and not (is_tuple and len(kinds) == 2):
        return "does not return what ws.mode(weighted=True) needs: return a tuple (value, weight)"
    return None


# ---------------------------------------------------------------------------- the user's function


class Messages(tuple[Any, ...]):
    """The `messages` of `gather_list` in plain Python; an index out of range is a ProgramError."""

    def __getitem__(self, place: Any) -> Any:
        try:
            return super().__getitem__(place)
        except IndexError:
            return self.beyond(int(place))

    def beyond(self, place: int) -> Any:
        """Raise the error for an index out of range."""
        raise beyond_list(_code(place, len(self)))


def _code(place: int, count: int) -> int:
    """Encode an index out of range and the length of the list as one number, which is never 0."""
    return (place << 32) + count + 1


def beyond_list(code: int) -> ProgramError:
    """Return the error for an index out of range.

    Parameters
    ----------
    code : int
        The number that compiled code records: the index times 2³², plus the length of the list, plus 1.

    Returns
    -------
    ProgramError
    """
    place, count = code >> 32, (code & 0xFFFFFFFF) - 1
    return ProgramError(
        f"gather_list reads messages[{place}] of {count}; compare with len(messages) first"
    )


class Examples(Messages):
    """A few messages to try a `gather_list` on; an index beyond them returns the first one."""

    def beyond(self, place: int) -> Any:
        """Return the first message."""
        return self[0]


def check_list_uses(owner: str, text: str, location: str) -> None:
    """Refuse a `gather_list` that uses its messages in a way that cannot be compiled.

    Parameters
    ----------
    owner, location : str
        The program's name, and where the function is defined, for the error.
    text : str
        The function's source.

    Raises
    ------
    ProgramError
    """

    def fail(what: str) -> NoReturn:
        raise ProgramError(
            f"{owner}.gather_list ({location}): `{what}` is not possible; of messages, only {ALLOWED} are"
        )

    _Compiled(fail).visit(parse(text))


@lru_cache
def compiled_text(text: str) -> str:
    """Return the source of `gather_list` with its uses of `messages` rewritten for compiled code.

    Parameters
    ----------
    text : str

    Returns
    -------
    str
    """

    def fail(what: str) -> NoReturn:
        raise AssertionError(what)

    return ast.unparse(ast.fix_missing_locations(_Compiled(fail).visit(parse(text))))


class _Fail(Protocol):
    def __call__(self, what: str) -> NoReturn: ...


class _Compiled(ast.NodeTransformer):
    """Rewrites the uses of `messages`."""

    def __init__(self, fail: _Fail) -> None:
        self._fail = fail
        self._names: set[str] = set()

    def visit_FunctionDef(self, node: ast.FunctionDef) -> Any:
        """Rewrite `gather_list`, but not its helpers."""
        if node.name == "user_gather_list":
            self._names = {child.id for child in ast.walk(node) if isinstance(child, ast.Name)}
            node.body = [self.visit(statement) for statement in node.body]
        return node

    def visit_Call(self, node: ast.Call) -> Any:
        """Rewrite len(messages)."""
        if ast.unparse(node) == f"len({MESSAGES})":
            return parse(f"{MESSAGES}[2]").body[0].value  # type: ignore[attr-defined]
        return self.generic_visit(node)

    def visit_Subscript(self, node: ast.Subscript) -> Any:
        """Rewrite messages[i]."""
        if not _is_list(node.value):
            return self.generic_visit(node)
        if isinstance(node.slice, (ast.Slice, ast.Tuple)):
            self._fail(ast.unparse(node))
        name = ast.Name("message_at", ast.Load())
        return ast.Call(name, [ast.Name(MESSAGES, ast.Load()), self.visit(node.slice)], [])

    def visit_For(self, node: ast.For) -> Any:
        """Rewrite a loop over the messages."""
        if not _is_list(node.iter):
            return self.generic_visit(node)
        number = 0
        while f"place_{number}" in self._names:
            number += 1
        place = f"place_{number}"
        self._names.add(place)
        head, loop = parse(
            f"one = message_at({MESSAGES}, {place})\nfor {place} in range({MESSAGES}[2]):\n    pass"
        ).body
        assert isinstance(head, ast.Assign)
        assert isinstance(loop, ast.For)
        head.targets = [self.visit(node.target)]
        loop.body = [head, *(self.visit(statement) for statement in node.body)]
        loop.orelse = [self.visit(statement) for statement in node.orelse]
        return loop

    def visit_Name(self, node: ast.Name) -> Any:
        """Refuse any other use of `messages`."""
        if _is_list(node):
            self._fail(MESSAGES)
        return node


def _is_list(node: ast.AST) -> bool:
    return isinstance(node, ast.Name) and node.id == MESSAGES


# ------------------------------------------------------------------------------ generated functions


def total_kind(listing: Listing, message: Sequence[str]) -> str:
    """Return the NumPy type name in which the weights of messages are added up."""
    rational = listing.kind == "weighted mode" and message[1].startswith("float")
    return "float64" if rational else "int64"


def list_lines(
    listing: Listing,
    message: Sequence[str],
    gathered: Sequence[str],
    *,
    call: str,
    is_tuple: bool,
    notes: int,
    note: Callable[[str, str], str],
) -> list[str]:
    """Write the functions that loops over lists call; see `kernels/cpu/interface.py`.

    Parameters
    ----------
    listing : Listing
    message, gathered : sequence of str
        NumPy type names of the parts of a message, and of `gathered`.
    call : str
        A call of the user's `gather_list`; not used for modes.
    is_tuple : bool
        Whether `gathered` is a tuple.
    notes : int
        Index in `edges` of the array in which an index out of range is recorded.
    note : callable
        Given an array and a number, writes the statement that records the number.

    Returns
    -------
    list of str
        Definitions and constants.
    """
    label = message[0]
    total = total_kind(listing, message)
    rational = label.startswith("float")
    same, less = "first == second", "first < second"
    if rational:  # NaN is after all numbers
        same += " or (first != first and second != second)"
        less += " or (first == first and second != second)"
    parts = [f"np.{_type(kind)}(result[{place}])" for place, kind in enumerate(gathered)]
    cast = _row(parts) if is_tuple else f"np.{_type(gathered[0])}(result)"
    none = [f"np.{_type(kind)}(0)" for kind in gathered]
    result, best = call, "gather_row(vertex, slots, first, count, values)"
    label_read = "slots[0][place]"
    if label == "bool":
        label_read += " != 0"
    elif rational:
        label_read += f" + np.{label}(0)"  # -0.0 is like 0.0
    if listing.kind != "list":
        result = "most_frequent(slots, first, count)"
        unknown = "nothing()" if listing.kind == "mode" else "nothing()[0]"
        best = f"label_at((chosen,), row) if count > 0 else {unknown}"
    slot_arrays = [f"slots[{place}]" for place in range(len(message))]
    noted = _row([*slot_arrays, f"edges[{notes}]"]) if listing.kind == "list" else "slots"
    return [
        f"PLACED = {listing.kind == 'list'}",
        f"CHUNK = {CHUNK}",
        "@inline\ndef row_result(vertex, slots, first, count, chosen, row, values):",
        f"    return {best}",
        "@inline\ndef message_at(messages, place):",
        "    slots, first, count = messages",
        "    at = place + count if place < 0 else place",
        "    if 0 <= at < count:",
        "        return take_message(slots, first + at)",
        f"    {note(f'slots[{len(message)}]', '(np.int64(place) << 32) + np.int64(count) + 1')}",
        "    return nothing()",
        "@inline\ndef with_notes(slots, edges):",
        f"    return {noted}",
        "@inline\ndef gather_row(vertex, slots, first, count, values):",
        "    messages = (slots, first, count)",
        f"    result = {result}",
        f"    return {cast}",
        "@inline\ndef no_gathered():",
        f"    return {_row(none) if is_tuple else none[0]}",
        "@inline\ndef alike(first, second):",
        f"    return {same}",
        "@inline\ndef precedes(first, second):",
        f"    return {less}",
        "@inline\ndef label_at(slots, place):",
        f"    return {label_read}",
        "@inline\ndef weight_at(slots, place):",
        f"    return np.{total}({'slots[1][place]' if listing.kind == 'weighted mode' else '1'})",
        "@inline\ndef no_weight():",
        f"    return np.{total}(0)",
        "@inline\ndef empty_slots(size):",
        f"    return {_row([f'np.empty(size, np.{_type(kind)})' for kind in message])}",
        "@inline\ndef sort_slots(slots, count):",
        *_sorting(listing, message),
    ]


def key_bits(kind: str) -> tuple[int, int, int]:
    """Return what makes keys of a float type's bits: those that make negative ones ascend, infinity and NaN."""
    integer_kind = kind.replace("float", "int")
    infinity, unknown = (
        int(np.array(number, kind).view(integer_kind)) for number in (np.inf, np.nan)
    )
    return int(np.iinfo(integer_kind).max), infinity, unknown


def key_lines(listing: Listing, message: Sequence[str]) -> list[str]:
    """Write what only loops over modes on the CPU call: the keys by which messages are counted.

    Parameters
    ----------
    listing : Listing
    message : sequence of str
        NumPy type names of the parts of a message.

    Returns
    -------
    list of str
        Definitions and constants; none for `gather_list`.
    """
    if listing.kind == "list":
        return []
    label, view = message[0], ""
    key = ["    return np.int64(places[place])"]
    if label.startswith("float"):  # as on the GPU; see `kernels/cuda/modes.py`
        view = f".view(np.{label.replace('float', 'int')})"
        flip, infinity, unknown = key_bits(label)
        key = [
            "    key = np.int64(places[place])",
            "    if key < 0:",
            f"        key = key ^ {flip}",
            "    if key == -1:",
            "        key = np.int64(0)",
            f"    if key > {infinity} or key < {~infinity}:",
            f"        key = np.int64({unknown})",
            "    return key",
        ]
    return [
        f"ROUNDED = {not listing.counts(message)}",
        "@inline\ndef keys_of(slots):",
        f"    return slots[0]{view}",
        "@inline\ndef key_at(places, place):",
        *key,
    ]


def _sorting(listing: Listing, message: Sequence[str]) -> list[str]:
    """Write the body of a function that sorts the first messages of a buffer."""
    keys = list(range(len(message)))[: listing.sorted_by]
    if not keys:
        return ["    pass"]
    if len(message) == 1 and not message[0].startswith("float"):
        return ["    slots[0][:count].sort()"]
    last = keys.pop()
    lines = [f'    order = np.argsort(slots[{last}][:count], kind="mergesort")']
    lines += [
        f'    order = order[np.argsort(slots[{key}][:count][order], kind="mergesort")]'
        for key in reversed(keys)
    ]
    places = range(len(message))
    return [*lines, *[f"    slots[{key}][:count] = slots[{key}][:count][order]" for key in places]]


def _type(kind: str) -> str:
    return "bool_" if kind == "bool" else kind


def _row(items: Sequence[str]) -> str:
    return "(" + "".join(f"{item}, " for item in items) + ")"


def bytes_of_lists(program: Any, longest: int) -> int:
    """Return the bytes of the messages of a row of `longest` arcs, with those that sorting or counting takes.

    Numbers are counted with eight bytes, and weights as floats: types are known once the program is bound.
    """
    returned = (
        node.value
        for node in ast.walk(parse(program.sources["compute"].text))
        if isinstance(node, ast.Return)
    )
    parts = max((len(value.elts) for value in returned if isinstance(value, ast.Tuple)), default=1)
    listing = program.listing
    if listing.kind != "list":  # see `empty_table` in `kernels/cpu/modes.py`
        slots = 1 + (1 << max(1, (2 * longest - 1).bit_length())) if longest else 0
        chunked = listing.kind == "weighted mode" and longest > CHUNK
        return 8 * parts * longest + (25 if chunked else 16) * slots
    keys = len(range(parts)[: listing.sorted_by])
    return (8 * parts + (16 if keys else 0) + (16 if keys > 1 else 0)) * longest
