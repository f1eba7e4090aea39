"""The functions of `atomics` in plain Python, for one thread."""

from __future__ import annotations

from typing import Any

__all__ = ["compare_and_swap", "load", "store"]


def load(array: Any, index: Any) -> Any:
    """Return `array[index]`, as every other thread has written it."""
    return array[index]


def store(array: Any, index: Any, value: Any) -> None:
    """Set `array[index]` for every thread to see."""
    array[index] = value


def compare_and_swap(array: Any, index: Any, expected: Any, value: Any) -> bool:
    """Set `array[index]` to `value` if it is `expected`; return whether it was."""
    if array[index] != expected:
        return False
    array[index] = value
    return True
