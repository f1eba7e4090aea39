"""The threads that use CuPy's operations ahead, with NumPy in CuPy's place."""

import threading
from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from cugraph_ws.runtime import operations_ahead


def cupy_of(**others: Any) -> Any:
    """Return NumPy with the few names of CuPy that the threads need, and others replaced."""
    cuda = SimpleNamespace(Device=nullcontext, Stream=lambda non_blocking: nullcontext())
    return SimpleNamespace(**{**vars(np), "cuda": cuda, **others})


def let_be(operations: list[Callable[[], None]], monkeypatch: pytest.MonkeyPatch) -> None:
    """Put operations in the place of all others."""
    monkeypatch.setattr(operations_ahead, "_of_first_calls", lambda xp: operations)
    monkeypatch.setattr(operations_ahead, "_of_later_calls", lambda xp: [])


def wait() -> None:
    """Wait until all threads have ended."""
    for thread in threading.enumerate():
        if thread.name == "operations ahead":
            thread.join()


@pytest.fixture(autouse=True)
def many_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let nothing have begun yet, on a machine of many cores."""
    monkeypatch.setattr(operations_ahead, "_begun", threading.Lock())
    monkeypatch.setattr("os.cpu_count", lambda: 16)


def test_every_operation_is_one_that_numpy_has() -> None:
    for operations in (operations_ahead._of_first_calls, operations_ahead._of_later_calls):
        for operation in operations(cupy_of()):
            operation()


def test_threads_share_the_operations_and_one_that_fails_stops_no_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    used: list[int] = []

    def fail() -> None:
        used.append(-1)
        raise RuntimeError("no compiler")

    operations = [fail, *(partial(used.append, place) for place in range(100))]
    let_be(operations, monkeypatch)
    operations_ahead.begin(cupy_of())
    wait()
    assert sorted(used) == list(range(-1, 100))


def test_it_begins_once_and_on_some_cores_only(monkeypatch: pytest.MonkeyPatch) -> None:
    used: list[int] = []
    let_be([partial(used.append, 1)], monkeypatch)
    operations_ahead.begin(cupy_of())
    operations_ahead.begin(cupy_of())  # its lock is kept
    wait()
    assert used == [1]
    monkeypatch.setattr(operations_ahead, "_begun", threading.Lock())
    monkeypatch.setattr("os.cpu_count", lambda: 2)
    operations_ahead.begin(cupy_of())
    wait()
    assert used == [1]


@pytest.mark.parametrize(("entries", "begins"), [(None, True), (3, True), (100, False)])
def test_it_begins_where_cupy_has_compiled_little(
    entries: int | None, begins: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, used = tmp_path / "kernels", list[int]()
    if entries is not None:
        folder.mkdir()
        for place in range(entries):
            (folder / f"{place}.cubin").touch()
    monkeypatch.setenv("CUPY_CACHE_DIR", str(folder))
    let_be([partial(used.append, 1)], monkeypatch)
    operations_ahead.begin_if_new(cupy_of())
    wait()
    assert used == [1] * begins
