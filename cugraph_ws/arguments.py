"""Checks of plain arguments, made before work starts."""

from __future__ import annotations

import difflib
import errno
import math
import os
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from cugraph_ws.errors import InputError
from cugraph_ws.runtime.paths import native_path

__all__ = [
    "check_choice",
    "check_columns",
    "check_count",
    "check_flag",
    "check_number",
    "check_path",
    "check_word",
    "choice_of",
    "is_label",
    "is_number",
    "is_one_vertex",
    "listed",
    "shown",
    "word_meant",
]

SAME_WORDS = {  # for valid words
    "gpu": "cuda", "nvidia": "cuda", "cudf": "cuda", "numba": "cpu", "numpy": "cpu", "ignore": "drop",
    "remove": "drop", "csr": "csc", "raise": "error",
}  # fmt: skip
LONGEST = 200  # characters of a value in an error


def is_label(value: Any) -> bool:
    """Return whether a value may name a column.

    Parameters
    ----------
    value : Any
        The caller's value.

    Returns
    -------
    bool
        True for text and integers.
    """
    return isinstance(value, (str, int, np.integer)) and not isinstance(value, bool)


def is_number(value: Any) -> bool:
    """Return whether a value is a single number, and not a boolean.

    Parameters
    ----------
    value : Any
        The caller's value.

    Returns
    -------
    bool
        True for Python's and NumPy's integers and floats.
    """
    return isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)


def check_count(argument: str, value: Any, least: int = 0, most: int | None = None) -> None:
    """Refuse a value that is not an integer of at least `least`, up to `most`.

    Parameters
    ----------
    argument : str
        The argument's name.
    value : Any
        The caller's value.
    least : int
        Minimum valid value.
    most : int, optional
        Maximum valid value; that of an int64 if not given.

    Raises
    ------
    InputError
        If the value is invalid.
    """
    is_integer = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    if not is_integer or value < least:
        raise InputError(f"{argument}={shown(value)} must be a whole number, {least} or more")
    if value > (np.iinfo(np.int64).max if most is None else most):
        bound = "2**63 - 1" if most is None else f"{most:,}"
        raise InputError(f"{argument}={shown(value)} must be a whole number, at most {bound}")


def check_number(
    argument: str, value: Any, *, positive: bool = False, finite: bool = False
) -> None:
    """Refuse a value that is not a number of 0 or more.

    Parameters
    ----------
    argument : str
        The argument's name.
    value : Any
        The caller's value.
    positive : bool
        Whether 0 is refused too.
    finite : bool
        Whether infinity is refused too.

    Raises
    ------
    InputError
        If the value is invalid.
    """
    if not is_number(value) or not (value > 0 if positive else value >= 0):
        wanted = "above 0" if positive else "0 or more"
        raise InputError(f"{argument}={shown(value)} must be a number, {wanted}")
    try:
        unbounded = math.isinf(float(value)) and finite
    except OverflowError:  # an integer beyond all floats
        unbounded = True
    if unbounded:
        raise InputError(f"{argument}={shown(value)} must be a finite number that a float64 holds")


def check_flag(argument: str, value: Any) -> None:
    """Refuse a value that is neither True nor False.

    Parameters
    ----------
    argument : str
        The argument's name.
    value : Any
        The caller's value.

    Raises
    ------
    InputError
        If the value is invalid.
    """
    if not isinstance(value, (bool, np.bool_)):
        raise InputError(f"{argument}={shown(value)} must be True or False")


def check_path(argument: str, value: Any) -> None:
    """Refuse a value that is not the path of a file.

    Parameters
    ----------
    argument : str
        The argument's name.
    value : Any
        The caller's value.

    Raises
    ------
    InputError
        If it is not a path of text, or is empty.
    """
    if not isinstance(value, (str, os.PathLike)) or not isinstance(os.fspath(value), str):
        raise InputError(f"{argument}={shown(value)} must be a path: text, or a pathlib.Path")
    text = os.fspath(value)
    if not text or "\0" in text:
        raise InputError(f"{argument}={shown(text)} names no file; give a path")
    try:
        path = native_path(text)
        os.fsencode(path).decode("utf-8")
        os.lstat(path)
    except UnicodeError:
        raise InputError(f"{argument}={shown(text)} is not UTF-8; give another path") from None
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:
            raise InputError(f"{argument}={shown(text)} is too long; give another path") from error


def check_word(argument: str, value: Any) -> None:
    """Refuse a value that is not text, before it is compared with the valid words.

    Parameters
    ----------
    argument : str
        The argument's name.
    value : Any
        The caller's value.

    Raises
    ------
    InputError
        If it is not text.
    """
    if not isinstance(value, str):
        raise InputError(f"{argument}={shown(value)} must be text, such as 'auto'")


def check_choice(argument: str, value: Any, allowed: Sequence[str]) -> None:
    """Refuse a value that is not one of the valid words.

    Parameters
    ----------
    argument : str
        The argument's name.
    value : Any
        The caller's value.
    allowed : sequence of str
        The valid words.

    Raises
    ------
    InputError
        If the value is invalid.
    """
    if not isinstance(value, str) or value not in allowed:
        raise InputError(
            f"{argument}={shown(value)}: {word_meant(value, allowed)}choose one of {listed(allowed)}"
        )


def choice_of(value: Any, words: Sequence[str]) -> str:
    """Return what to choose instead of a word that is not valid, as errors say it.

    Parameters
    ----------
    value : Any
        The caller's value.
    words : sequence of str
        The valid words.

    Returns
    -------
    str
    """
    *first_words, last = map(repr, words)
    return f"{word_meant(value, words)}choose {', '.join(first_words)} or {last}"


def word_meant(value: Any, words: Sequence[str]) -> str:
    """Return a question for a word that is not valid, such as "did you mean 'cuda'? "; empty if none is close.

    Parameters
    ----------
    value : Any
        The caller's value.
    words : sequence of str
        The valid words.

    Returns
    -------
    str
    """
    if not isinstance(value, str):
        return ""
    word = SAME_WORDS.get(value.lower(), value.lower())
    if "cuda" in words and word in ("dask", "cluster", "distributed"):
        return "a Dask frame is computed on its cluster, whatever the engine; "
    close = difflib.get_close_matches(word, words, 1, cutoff=0.75)
    return f"did you mean {close[0]!r}? " if close else ""


def check_columns(
    source: Any, destination: Any, weight: Any, directed: Any, attributes: Any = ()
) -> None:
    """Refuse values that cannot name columns of an edge frame.

    Parameters
    ----------
    source, destination, weight, directed, attributes : Any
        The caller's values; see `Graph`.

    Raises
    ------
    InputError
        If a value has a type that cannot name columns.
    """
    named = {"source": source, "destination": destination, "attributes": attributes}
    for argument, names in named.items():
        # A label of several levels gets a separate error where the frame is read.
        listed = isinstance(names, (list, tuple)) and all(
            is_label(name) or isinstance(name, tuple) for name in names
        )
        absent = names is None and argument == "attributes"
        if not (is_label(names) or listed or absent):
            arrays = "; Graph.from_arrays takes arrays" * hasattr(names, "dtype")
            raise InputError(
                f"{argument}={shown(names)} must be the name of a column, or a list of names{arrays}"
            )
    if weight is not None and not is_label(weight):
        raise InputError(f"weight={shown(weight)} must be the name of a column, or None")
    check_flag("directed", directed)


def shown(value: Any) -> str:
    """Return a value as errors show it: its repr, shortened if long.

    Parameters
    ----------
    value : Any

    Returns
    -------
    str
    """
    # The text of a frame says nothing.
    if hasattr(type(value), "columns") and hasattr(value, "__len__"):
        return f"<{type(value).__name__} of {len(value):,} rows>"
    if hasattr(value, "to_frame") and hasattr(value, "__len__"):
        return f"<{type(value).__name__} of {len(value):,} values>"
    try:
        text = repr(value)
    except (
        Exception
    ):  # an integer of thousands of digits, lists nested too deeply, a user's own class
        return f"<{type(value).__name__}>"
    text = " ".join(text.split())
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


def is_one_vertex(vertices: Any) -> bool:
    """Return whether an argument is one id, not a list, an array, a column or a frame of ids.

    Parameters
    ----------
    vertices : Any
        A tuple is the id of one vertex, in a graph whose ids have several columns.

    Returns
    -------
    bool
    """
    return isinstance(vertices, (str, bytes, tuple)) or not hasattr(vertices, "__len__")


def listed(values: Iterable[Any]) -> str:
    """Return values as errors list them, such as the columns of a frame.

    Parameters
    ----------
    values : iterable

    Returns
    -------
    str
        "none" if there are none.
    """
    return ", ".join(map(shown, values)) or "none"
