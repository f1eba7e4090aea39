"""The thread that uses CuPy's operations ahead, with NumPy in CuPy's place."""

import threading
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from cugraph_ws.runtime import operations_ahead


def cupy_of(**others: Any) -> Any:
    """Return NumPy with the few names of CuPy that the thread needs, and others replaced."""
    cuda = SimpleNamespace(Device=nullcontext, Stream=lambda non_blocking: nullcontext())
    return SimpleNamespace(**{**vars(np), "cuda": cuda, **others})


def use_all(xp: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the thread run to its end, on a machine of many cores."""
    monkeypatch.setattr(operations_ahead, "_begun", threading.Lock())
    monkeypatch.setattr("os.cpu_count", lambda: 16)
    operations_ahead.begin(xp)
    for thread in threading.enumerate():
        if thread.name == "operations ahead":
            thread.join()


def test_every_operation_is_one_that_numpy_has() -> None:
    for operation in operations_ahead._operations(cupy_of()):
        operation()


def test_one_that_fails_stops_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    used: list[int] = []

    def fail(*_: Any, **__: Any) -> None:
        used.append(0)
        raise RuntimeError("no compiler")

    use_all(cupy_of(greater=fail, add=lambda *_: used.append(1)), monkeypatch)
    assert used.count(0) > 1  # the first
    assert used[-1] == 1  # the last


def test_it_begins_once_and_on_some_cores_only(monkeypatch: pytest.MonkeyPatch) -> None:
    used: list[int] = []
    xp = cupy_of(add=lambda *_: used.append(1))
    use_all(xp, monkeypatch)
    operations_ahead.begin(xp)  # its lock is kept
    assert used == [1]
    monkeypatch.setattr(operations_ahead, "_begun", threading.Lock())
    monkeypatch.setattr("os.cpu_count", lambda: 2)
    operations_ahead.begin(xp)
    assert used == [1]
