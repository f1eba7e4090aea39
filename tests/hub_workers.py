"""Dask workers whose GPU is the emulator, with hub links: segments are real, the GPU's queue works at once."""

from __future__ import annotations

import gc
import sys
from types import SimpleNamespace
from typing import Any

from emulator.device import EmulatedDevice
from thread_ranks import ThreadQueue

__all__ = ["ProcessQueue", "count_links", "equip"]


class ProcessQueue(ThreadQueue):
    """A queue that does at once what it is told, over segments that processes share."""

    def __init__(self, segments: Any) -> None:
        super().__init__([one.bytes for one in segments])

    def signal(self, owner: int, word: int, value: int) -> None:
        self._words[owner][word] = max(value, self._words[owner][word])

    def close(self) -> None:
        pass


def equip(refuses: bool = False, uuid: str = "") -> None:
    """Give this worker a GPU; if it `refuses`, one that cannot address memory of the host.

    Workers of one host with the same `uuid` share it.
    """
    import dask.dataframe  # noqa: F401 - before CuPy has a stand-in, which Dask's arrays would take for it

    from cugraph_ws.accelerators.hub import links as hub_links
    from cugraph_ws.dask import links
    from cugraph_ws.errors import EngineError
    from cugraph_ws.runtime import device

    device._substitute = EmulatedDevice()
    event = SimpleNamespace(record=lambda stream: None, done=True)
    cuda = SimpleNamespace(
        Event=lambda **_: event,
        get_current_stream=lambda: None,
        Device=lambda: SimpleNamespace(id=0),
    )
    sys.modules["cupy"], sys.modules["cupy.cuda"] = SimpleNamespace(cuda=cuda), cuda

    def queue(segments: Any) -> ProcessQueue:
        if refuses:
            raise EngineError("locking host memory: the CUDA driver says 'not supported'")
        return ProcessQueue(segments)

    hub_links.StreamQueue = queue
    links.installed_gpus = lambda: [SimpleNamespace(uuid=uuid)]


def count_links() -> int:
    """Return how many open hub links this worker has."""
    from cugraph_ws.accelerators.hub.links import HubLinks

    return sum(isinstance(one, HubLinks) and one.alive for one in gc.get_objects())
