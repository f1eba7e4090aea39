"""The peak of emulated GPU memory on each rank."""

from __future__ import annotations

import threading
import weakref
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
from emulator.device import EmulatedDevice
from thread_ranks import ThreadCommunicator, ThreadLinks

__all__ = ["LinkedCommunicator", "MeasuredDevice"]


class _Ledger:
    """Bytes of arrays that are alive, by the thread that has made them."""

    def __init__(self) -> None:
        self.now: Counter[int] = Counter()
        self.most: Counter[int] = Counter()

    def take(self, array: np.ndarray[Any, Any]) -> None:
        """Note an array, until it is gone."""
        who, size = threading.get_ident(), array.nbytes
        self.now[who] += size
        self.note(0)
        weakref.finalize(array, self._drop, who, size)

    def note(self, beside: int) -> None:
        """Note the bytes there are now, and some for a moment."""
        who = threading.get_ident()
        self.most[who] = max(self.most[who], self.now[who] + beside)

    def _drop(self, who: int, size: int) -> None:
        self.now[who] -= size


_ledger = _Ledger()


class _Measured(np.ndarray[Any, Any]):
    """An array of the device, whose memory is noted."""

    def __array_finalize__(self, other: Any) -> None:
        if self.flags.owndata and self.ndim:
            _ledger.take(self)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **named: Any) -> Any:
        made = getattr(ufunc, method)(*map(_plain, inputs), **_plain(named))
        return named["out"][0] if "out" in named else _measured(made)

    def sort(self, *arguments: Any, **named: Any) -> None:
        """Sort in place; on a GPU with as much memory again."""
        _ledger.note(self.nbytes)
        super().sort(*arguments, **named)


class _Module:
    """NumPy, with arrays whose memory is noted."""

    def __getattr__(self, name: str) -> Any:
        found = getattr(np, name)
        if not callable(found) or isinstance(found, type):
            return found
        return lambda *given, **named: _measured(found(*map(_plain, given), **_plain(named)))


def _plain(value: Any) -> Any:
    """Show measured arrays as NumPy's own, so that what is made of them is noted once."""
    if isinstance(value, _Measured):
        return value.view(np.ndarray)
    if isinstance(value, list | tuple):
        return type(value)(map(_plain, value))
    return {key: _plain(one) for key, one in value.items()} if isinstance(value, dict) else value


def _measured(array: Any) -> Any:
    if type(array) is not np.ndarray or not array.ndim:
        return array
    if array.flags.owndata:
        _ledger.take(array)
    return array.view(_Measured)


class MeasuredDevice(EmulatedDevice):
    """An emulated device that notes what each thread has allocated."""

    def __init__(self) -> None:
        super().__init__()
        self.xp: Any = _Module()

    def to_host(self, array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """Copy an array to the host, where it is not noted."""
        return np.array(super().to_host(np.asarray(array)))

    def held(self) -> int:
        """Return the bytes of arrays that this thread has made, and that are still there."""
        return _ledger.now[threading.get_ident()]

    def peak(self, work: Callable[[], Any]) -> tuple[int, Any]:
        """Return the most bytes that `work` has held at a time in this thread, and what it returns."""
        who = threading.get_ident()
        before = _ledger.now[who]
        _ledger.most[who] = before
        result = work()
        return _ledger.most[who] - before, result


class _Links(ThreadLinks):
    """Links that copy to memory that is not counted: messages in flight belong to no rank."""

    def post(self, sent: Any, taken: Any) -> None:
        super().post([[np.asarray(one) for one in box] for box in sent], taken)


class LinkedCommunicator(ThreadCommunicator):
    """A rank in a thread that also has links, which carry large arrays."""

    def __init__(self, comm: ThreadCommunicator, ways: Any) -> None:
        super().__init__(comm.rank, comm.size, comm._board, comm._barrier)
        self.links = _Links(self, ways)
