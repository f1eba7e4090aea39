"""Checks of plain arguments, made before work starts."""

from __future__ import annotations

from typing import Any

import numpy as np

from cugraph_ws.errors import InputError

__all__ = ["check_count", "check_flag", "check_number", "is_label", "is_number"]


def is_label(value: Any) -> bool:
    """Tell whether a value may name a column.

    Parameters
    ----------
    value : Any
        What the caller gave.

    Returns
    -------
    bool
        True for text and whole numbers.
    """
    return isinstance(value, (str, int, np.integer)) and not isinstance(value, bool)


def check_flag(argument: str, value: Any) -> None:
    """Refuse what is neither True nor False.

    Parameters
    ----------
    argument : str
        The argument's name.
    value : Any
        What the caller gave.

    Raises
    ------
    InputError
        If it is something else.
    """
    if not isinstance(value, (bool, np.bool_)):
        raise InputError(f"{argument}={value!r}: give True or False")


def is_number(value: Any) -> bool:
    """Tell whether a value is one number, not a truth value.

    Parameters
    ----------
    value : Any
        What the caller gave.

    Returns
    -------
    bool
        True for Python's and NumPy's integers and floats.
    """
    return isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)


def check_count(argument: str, value: Any, least: int = 0) -> None:
    """Refuse what is no whole number of `least` or more.

    Parameters
    ----------
    argument : str
        The argument's name.
    value : Any
        What the caller gave.
    least : int
        The least that makes sense.

    Raises
    ------
    InputError
        If it is something else.
    """
    whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    if not whole or value < least:
        raise InputError(f"{argument}={value!r} must be a whole number, {least} or more")


def check_number(argument: str, value: Any, *, positive: bool = False) -> None:
    """Refuse what is no number of 0 or more.

    Parameters
    ----------
    argument : str
        The argument's name.
    value : Any
        What the caller gave.
    positive : bool
        Whether 0 is refused too.

    Raises
    ------
    InputError
        If it is something else.
    """
    if not is_number(value) or not (value > 0 if positive else value >= 0):
        wanted = "above 0" if positive else "0 or more"
        raise InputError(f"{argument}={value!r} must be a number, {wanted}")
