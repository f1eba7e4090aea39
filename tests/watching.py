"""What workers of a cluster are doing while something takes too long: their threads, and where hub links wait."""

from __future__ import annotations

import gc
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

__all__ = ["doings", "kinds_of_links", "watched"]

DEEP = 7  # calls shown of a thread, the innermost ones
OURS = "cugraph_ws"


def _links() -> list[Any]:
    from cugraph_ws.dask.gpu_links import GpuLinks

    return [one for one in gc.get_objects() if isinstance(one, GpuLinks)]


def kinds_of_links() -> set[str]:
    """Return the kinds of links that a worker has; "linked" if its kernels address other GPUs' memory."""
    return {f"{type(one).__name__}{', linked' if one.window else ''}" for one in _links()}


def doings() -> list[str]:
    """Return where this process's threads are in the library, and how far its hub links have come."""
    names = {thread.ident: thread.name for thread in threading.enumerate()}
    found = []
    for number, frame in sys._current_frames().items():
        calls = traceback.extract_stack(frame)
        if number != threading.get_ident() and any(OURS in one.filename for one in calls):
            shown = " < ".join(
                f"{one.name} ({one.filename.rpartition('/')[2]}:{one.lineno})"
                for one in reversed(calls[-DEEP:])
            )
            found.append(f"{names.get(number)}: {shown}")
    for links in _links():
        hub = getattr(links, "hub", None)
        if hub is not None:
            words = [links._words(rank).tolist() for rank in range(links._size)]
            found.append(
                f"rank {links._rank}: sent {hub._sent}, read {hub._seen} and {hub._got}, words by rank {words}"
            )
    return found


@contextmanager
def watched(client: Any, seconds: float, show: Callable[[str], None]) -> Iterator[None]:
    """Show what workers are doing, once, if the `with` block takes longer than so many seconds."""

    def look() -> None:
        with suppress(Exception):  # what is watched will say more
            for address, lines in client.run(doings).items():
                show("\n".join([f"{address}:", *lines]))

    timer = threading.Timer(seconds, look)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
