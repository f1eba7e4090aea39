"""The window between the GPUs of a host, with a stand-in for CUDA's runtime."""

from __future__ import annotations

import itertools
import sys
import threading
from contextlib import nullcontext
from types import SimpleNamespace

import numpy as np
import pytest
from thread_ranks import on_ranks

from cugraph_ws.accelerators.linked import window as gpu_window
from cugraph_ws.accelerators.linked.window import capacity_of, first_serial, open_window
from cugraph_ws.kernels.accelerators.linked.layout import BOX_WORDS

PIECE = 1 << 30  # addresses from one piece to the next


class Runtime:
    """CUDA's runtime: pieces of memory at made-up addresses, and which of them are open."""

    class CUDARuntimeError(RuntimeError):
        pass

    def __init__(self):
        self.numbers = itertools.count(1)
        self.opened, self.closed = [], []
        self.refuses = False

    def memset(self, pointer, value, size):
        assert size > 0

    def deviceSynchronize(self):
        pass

    def ipcGetMemHandle(self, pointer):
        return str(pointer).encode()

    def ipcOpenMemHandle(self, handle):
        if self.refuses:
            raise self.CUDARuntimeError("peer access is not supported between these two devices")
        self.opened.append(int(handle))
        return int(handle)

    def ipcCloseMemHandle(self, pointer):
        self.closed.append(pointer)


class Pinned(bytearray):
    ptr = 8


@pytest.fixture
def runtime(monkeypatch):
    """A host with as many GPUs as there are ranks; `names` are those of ranks in turn."""
    runtime = Runtime()
    names = itertools.count()
    cuda = SimpleNamespace(
        runtime=runtime,
        Device=lambda: SimpleNamespace(id=0),
        Memory=lambda size: SimpleNamespace(ptr=next(runtime.numbers) * PIECE, size=size),
        UnownedMemory=lambda pointer, size, owner, gpu: pointer,
        MemoryPointer=lambda memory, offset: memory,
        alloc_pinned_memory=Pinned,
        using_allocator=nullcontext,
    )
    cupy = SimpleNamespace(
        cuda=cuda, asarray=np.asarray, ndarray=lambda shape, kind, at: (at, np.dtype(kind))
    )
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    monkeypatch.setitem(sys.modules, "cupy.cuda", cuda)
    monkeypatch.delenv("NCCL_P2P_DISABLE", raising=False)
    monkeypatch.setattr(
        gpu_window, "installed_gpus", lambda: [SimpleNamespace(uuid=f"GPU-{next(names)}")]
    )
    return runtime


@pytest.mark.parametrize("kind", [np.int32, np.float64])
def test_where_parts_of_all_ranks_begin(runtime, kind):
    """Every array begins at the lowest address; a rank's part of it `starts` elements after that."""
    windows = on_ranks(3, open_window)
    kinds = np.dtype(np.int64), np.dtype(np.int32), np.dtype(kind), np.dtype(np.uint32)
    boxes = 2 * 3 * capacity_of(3)
    sizes = [one + -one % 512 for one in (2 * 3 * BOX_WORDS * 8, 4 * boxes, 8 * boxes)]
    parts = [0, *itertools.accumulate(sizes)]
    for window in windows:
        arrays, starts = window.arrays(kind), window.starts(kind).reshape(4, 3)
        for array, one, part, begins in zip(
            (*arrays[:2], *arrays[2], arrays[3]), kinds, parts, starts, strict=True
        ):
            assert array[1] == one
            owners = sorted(array[0] + begins * one.itemsize - part)
            assert owners == [PIECE, 2 * PIECE, 3 * PIECE]
    assert len({window._pointers[window._rank] for window in windows}) == 3
    assert sorted(runtime.opened) == sorted(2 * [PIECE, 2 * PIECE, 3 * PIECE])


def test_closing_gives_back_what_was_opened(runtime):
    for window in on_ranks(2, open_window):
        window.ring()
        assert window._rung[0] == 1
        window.close()
    assert sorted(runtime.closed) == [PIECE, 2 * PIECE]


def test_without_access_to_peers_there_is_no_window(runtime):
    runtime.refuses = True
    assert on_ranks(2, open_window) == [None, None]


def test_one_rank_that_cannot_open_is_enough(runtime):
    usual, calls = runtime.ipcOpenMemHandle, itertools.count()

    def once(handle):
        runtime.refuses = next(calls) == 0
        return usual(handle)

    runtime.ipcOpenMemHandle = once
    assert on_ranks(2, open_window) == [None, None]
    assert runtime.closed == runtime.opened


def test_what_was_opened_before_a_refusal_is_closed(runtime):
    """Of three ranks, each opens one piece; the second one is refused."""
    usual, opened = runtime.ipcOpenMemHandle, threading.local()

    def once(handle):
        runtime.refuses = getattr(opened, "one", False)
        opened.one = True
        return usual(handle)

    runtime.ipcOpenMemHandle = once
    assert on_ranks(3, open_window) == [None] * 3
    assert len(runtime.opened) == 3
    assert sorted(runtime.closed) == sorted(runtime.opened)


def test_a_rank_without_memory_is_enough(runtime):
    runtime.ipcGetMemHandle = lambda pointer: b"" if pointer == PIECE else b"7"
    assert on_ranks(2, open_window) == [None, None]
    assert not runtime.opened


@pytest.mark.parametrize("what", ["hosts", "GPU", "disabled", "alone", "too many"])
def test_where_there_is_none(runtime, monkeypatch, what):
    hosts, ranks = itertools.count(), 2
    if what == "hosts":
        monkeypatch.setattr(gpu_window, "host", lambda: (f"host {next(hosts)}", ""))
    elif what == "GPU":
        monkeypatch.setattr(gpu_window, "installed_gpus", lambda: [SimpleNamespace(uuid="GPU-1")])
    elif what == "disabled":
        monkeypatch.setenv("NCCL_P2P_DISABLE", "1")
    else:
        ranks = 1 if what == "alone" else 33
    assert on_ranks(ranks, open_window) == [None] * ranks
    assert not runtime.opened


def test_serial_numbers_of_runs():
    """Even at first, since ranks begin with the same half; far apart; never those of cleared memory."""
    first, second = first_serial("run-1"), first_serial("run-2")
    assert first % 2 == second % 2 == 0
    assert abs(first - second) >= 1 << 28
    assert 0 < min(first, second) <= max(first, second) < 1 << 62
