"""Compile the built-in functions for a baseline processor, into the folder that wheels carry.

    python ci/shipped.py              # before `python -m build`; some minutes

Makes the calls of `cugraph-ws warm-up` with an empty cache, and calls with frames of pandas, for Numba's
target of `cugraph_ws.runtime.shipped`.  What it writes serves this version of Python and of Numba: run it
again with other ones, to ship for them too.  Entries of older sources are removed.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from cugraph_ws.runtime.shipped import BASELINE, FOLDER

LIMIT = 40 << 20  # bytes of the folder, compressed in a wheel to about a third
CALLS = """
import pandas as pd
import cugraph_ws as ws

for ids in ("int64", "str"):
    edges = pd.DataFrame({"source": [0, 1, 2, 3], "destination": [1, 2, 3, 0]}).astype(ids)
    weighted = edges.assign(weight=[1.0, 2.0, 3.0, 4.0])
    start = edges["source"][0]
    for frame, named in ((edges, {}), (weighted, {"weight": "weight"})):
        for directed in (True, False):
            graph = ws.Graph(frame, directed=directed, **named)
            ws.bfs(graph, start), ws.sssp(graph, start), ws.pagerank(graph)
            ws.weakly_connected_components(graph), ws.core_number(graph), ws.degrees(graph)
            if not directed:
                ws.louvain(graph), ws.leiden(graph)
"""


def environment(folder: Path) -> dict[str, str]:
    """Return variables with which all that is compiled is for the baseline, and written to a folder."""
    return {
        **os.environ,
        "CUGRAPH_WS_CACHE_DIR": str(folder / "cache"),
        "NUMBA_CACHE_DIR": str(folder / "numba"),
        "NUMBA_CPU_NAME": BASELINE,
        "NUMBA_CPU_FEATURES": "",
    }


def ship(folder: Path, *commands: list[str], into: Path) -> int:
    """Run commands, and copy what they have compiled.

    Parameters
    ----------
    folder : Path
        Empty, for their caches.
    *commands : list of str
    into : Path
        Replaced.

    Returns
    -------
    int
        Bytes that were copied.
    """
    shutil.rmtree(into, ignore_errors=True)
    for command in commands:
        subprocess.run(command, env=environment(folder), check=True)
    into.mkdir()
    entries = [*folder.rglob("*.nbc"), *folder.rglob("types-*")]
    for entry in entries:
        shutil.copyfile(entry, into / entry.name)
    return sum(entry.stat().st_size for entry in entries)


def main() -> None:
    """Compile all, and refuse to ship too much."""
    weights = [word for kind in ("float64", "float32", "int64") for word in ("--weights", kind)]
    warm_up = ["cugraph_ws.cli.main", "warm-up", "--engine", "cpu", *weights]
    with tempfile.TemporaryDirectory() as folder:
        size = ship(
            Path(folder),
            [sys.executable, "-c", CALLS],
            [sys.executable, "-m", *warm_up],
            into=FOLDER,
        )
    print(f"{FOLDER}: {len(list(FOLDER.iterdir()))} entries, {size / 1e6:.1f} MB")
    if size > LIMIT:
        sys.exit(f"more than {LIMIT >> 20} MiB: ship fewer types of weights")


if __name__ == "__main__":
    main()
