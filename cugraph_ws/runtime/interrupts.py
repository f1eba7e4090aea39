"""Delay Ctrl-C until a superstep is complete."""

from __future__ import annotations

import signal
import threading
from types import FrameType, TracebackType
from typing import Self

__all__ = ["HeldInterrupts"]


class HeldInterrupts:
    """In its `with` block the first Ctrl-C only sets `pressed`; a second one interrupts at once.

    Compiled loops cannot be interrupted.  A KeyboardInterrupt right after one would leave a new
    state with an old frontier.  Only the main thread receives signals.  On another thread, or if
    the caller has set a handler of SIGINT, nothing is changed.
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
