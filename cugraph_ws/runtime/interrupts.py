"""Ctrl-C held back until a superstep is whole."""

from __future__ import annotations

import signal
import threading
from types import FrameType, TracebackType
from typing import Self

__all__ = ["HeldInterrupts"]


class HeldInterrupts:
    """While open, the first Ctrl-C is only noted in `pressed`; a second one breaks in at once.

    Compiled loops cannot be interrupted, and a KeyboardInterrupt right after one would find the
    state new and the frontier old.  Only the main thread gets signals; elsewhere, and where the
    program has its own handler for SIGINT, nothing is changed.
    """

    def __init__(self) -> None:
        self.pressed = False
        self._holds = False

    def __enter__(self) -> Self:
        ours = threading.current_thread() is threading.main_thread()
        if ours and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            signal.signal(signal.SIGINT, self._note)
            self._holds = True
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._holds:
            signal.signal(signal.SIGINT, signal.default_int_handler)

    def _note(self, number: int, frame: FrameType | None) -> None:
        if self.pressed:
            signal.default_int_handler(number, frame)
        self.pressed = True
