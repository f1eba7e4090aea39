"""Print the files that a warm `ws.pagerank(frame)` enters, in the order in which it first enters them.

    python ci/path.py [pandas] [gpu] [dask]

Files of `cugraph_ws` and `kernels` count, and those that the library writes (programs, and kernels in the emulator).  A
reader who follows the call reads them all; `tests/house/test_path.py` keeps their numbers from growing.  On Dask,
files that the client enters count together with those that a worker enters.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import pandas as pd

import cugraph_ws as ws
from cugraph_ws.dask.local import DEAF
from cugraph_ws.runtime.machine_code import code_folder

ROOT = Path(ws.__file__).resolve().parents[1]  # not of this file, which Dask copies for its workers
EDGES = pd.DataFrame({"source": [0, 1, 2, 3, 4, 0], "destination": [1, 2, 0, 2, 0, 3]})
WARM = 3  # calls before the one that is followed


class Followed:
    """Notes the code that threads of this process enter."""

    def __init__(self) -> None:
        self.code: dict[CodeType, None] = {}
        self.on = False

    def __call__(self, frame: FrameType, event: str, _: Any) -> None:
        """Note a call; `sys.setprofile` calls this."""
        if self.on and event == "call":
            self.code.setdefault(frame.f_code)

    def install(self) -> None:
        """Follow this thread, and all that begin after it."""
        threading.setprofile(self)
        sys.setprofile(self)

    def files(self) -> list[str]:
        """Return the files, relative to the repository."""
        names = dict.fromkeys(name_of(code.co_filename) for code in self.code)
        return [name for name in names if name]


FOLLOWED = Followed()


def name_of(file: str) -> str:
    """Return how a file is shown; "" if it is not the library's."""
    path = os.path.realpath(file)
    for home in ("cugraph_ws", "kernels"):
        if path.startswith(f"{ROOT}/{home}/"):
            return os.path.relpath(path, ROOT)
    if file.startswith("<cugraph_ws") or path.startswith(f"{code_folder()}{os.sep}"):
        return f"generated: {os.path.basename(path)}"
    return ""


@contextmanager
def following() -> Iterator[None]:
    """Note what threads enter while the block runs."""
    FOLLOWED.code.clear()
    FOLLOWED.on = True
    try:
        yield
    finally:
        FOLLOWED.on = False


def path_of(call: Callable[[], Any]) -> list[str]:
    """Return the files that a warm call enters."""
    for _ in range(WARM):
        call()
    FOLLOWED.install()
    try:
        with following():
            call()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)  # type: ignore[arg-type]
    return FOLLOWED.files()


def on_pandas() -> list[str]:
    """Return the files of a call on a pandas frame."""
    return path_of(lambda: ws.pagerank(EDGES))


def on_gpu() -> list[str]:
    """Return the files of a call on the GPU, which the emulator stands for."""
    sys.path.insert(0, str(ROOT / "tests"))
    from emulator.device import emulated

    with emulated():
        return path_of(lambda: ws.pagerank(EDGES, engine="cuda"))


def dask_setup(worker: Any) -> None:
    """Follow a worker's threads from its start; Dask calls this when it loads this file into a worker."""
    worker.followed = FOLLOWED
    FOLLOWED.install()


def on_dask() -> list[str]:
    """Return the files of a call on a Dask frame, on two workers: the client's, then the workers'."""
    import dask
    import dask.dataframe as dd

    def begin(dask_worker: Any) -> None:
        dask_worker.followed.code.clear()
        dask_worker.followed.on = True

    def end(dask_worker: Any) -> list[str]:
        dask_worker.followed.on = False
        return dask_worker.followed.files()

    def call() -> None:
        ws.pagerank(frame).compute()

    divided = dask.config.set({"cugraph_ws.spread": "parts"})
    with divided, ws.local_cluster(2, preload=[DEAF, __file__]) as client:
        frame = dd.from_pandas(EDGES, npartitions=2)
        for _ in range(WARM):
            call()
        client.run(begin)
        on_client = path_of(call)
        on_workers = client.run(end)
    return [*dict.fromkeys(file for files in (on_client, *on_workers.values()) for file in files)]


WAYS = {"pandas": on_pandas, "gpu": on_gpu, "dask": on_dask}

if __name__ == "__main__":
    for name in sys.argv[1:] or WAYS:
        entered = WAYS[name]()
        print(f"{name}: {len(entered)} files", *entered, sep="\n    ")
