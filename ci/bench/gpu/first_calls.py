"""First calls of nine functions in a new process on a GPU, after `import cudf`, in seconds.

A process has empty caches, of this library and of CuPy, or those that another has filled.  Code that ships is that of
`ci/shipped.py --engine cuda`; without it, a copy of the library is used that has none.  Run as a module with a word,
this file is such a process.
"""

from __future__ import annotations

import json
import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from bench.checkout import ROOT
from bench.children import in_new_process
from bench.timing import Section

GRAPH, LIBRARY = "graph", "import cugraph_ws"
MOST = 3  # processes of a case: one that compiles takes up to half a minute
CALLS = {
    "bfs": {"start": 0},
    "pagerank": {},
    "weakly_connected_components": {},
    "core_number": {},
    "sssp": {"start": 0},
    "widest_path": {"start": 0},
    "multi_source_bfs": {"starts": [0, 1, 2]},
    "triangle_count": {},
    "louvain": {},
}
# What a process finds: whether code ships, and whether it has the caches of the process before
CASES = {
    "shipped, empty caches": (True, True, True),
    "shipped, CuPy's cache filled": (True, True, False),
    "compiled, empty caches": (False, True, True),
    "second process": (False, False, False),
}


def random_edges() -> Any:
    """Return 65,536 edges between 4,096 vertices, in a cuDF frame."""
    import cudf
    import numpy as np

    random = np.random.default_rng(1)
    ends = random.integers(0, 1 << 12, (2, 1 << 16))
    columns = {"source": ends[0], "destination": ends[1], "weight": random.random(1 << 16)}
    return cudf.DataFrame(columns)


def called() -> dict[str, float]:
    """Make the calls in this process; return seconds by call."""
    assert "cugraph_ws" not in sys.modules
    edges = random_edges()
    edges["weight"].sum()  # cuDF's own first use
    seconds, begun = {}, time.perf_counter()

    def note(name: str) -> None:
        nonlocal begun
        now = time.perf_counter()
        seconds[name], begun = now - begun, now

    import cugraph_ws as ws

    note(LIBRARY)
    graph = ws.Graph(edges, weight="weight")
    note(GRAPH)
    for name, arguments in CALLS.items():
        getattr(ws, name)(graph, **arguments, engine="cuda")
        note(name)
    return seconds


def measured(library: Path, caches: Path) -> tuple[dict[str, float], list[str]]:
    """Start a process; return its seconds by call, and the names of the library's kernels that were compiled."""
    before = _compiled(caches)
    lines = in_new_process(
        "bench.gpu.first_calls", "child", cwd=library, CUGRAPH_WS_CACHE_DIR=str(caches / "cugraph_ws"),
        CUPY_CACHE_DIR=str(caches / "cupy"),
    )  # fmt: skip
    names = sorted(path.name.partition("-")[0] for path in _compiled(caches) - before)
    return json.loads(lines[-1]), names


def _compiled(caches: Path) -> set[Path]:
    return set(Path(caches, "cugraph_ws").rglob("*.cubin"))


def first_calls(name: str, section: Section, repeats: int) -> None:
    """Measure all cases; the table and the figures have medians of seconds."""
    columns: dict[str, list[float]] = {}
    compiled: dict[str, list[str]] = {}
    with tempfile.TemporaryDirectory() as folder:
        bare, caches = Path(folder, "library"), Path(folder, "caches")
        shutil.copytree(ROOT / "cugraph_ws", bare / "cugraph_ws", ignore=_ignore_shipped)
        for case, (ships, empty, cupy_empty) in CASES.items():
            rows = []
            for _ in range(min(repeats, MOST)):
                if empty:
                    shutil.rmtree(caches / "cugraph_ws", ignore_errors=True)
                if cupy_empty:
                    shutil.rmtree(caches / "cupy", ignore_errors=True)
                seconds, compiled[case] = measured(ROOT if ships else bare, caches)
                rows.append(seconds)
            columns[case] = [statistics.median(row[call] for row in rows) for call in rows[0]]
            columns[case].append(statistics.median(sum(row.values()) for row in rows))
    names = (LIBRARY, GRAPH, *CALLS, "in all")
    texts = [
        [call, *(f"{column[place]:.2f}" for column in columns.values())]
        for place, call in enumerate(names)
    ]
    texts.append(["kernels compiled", *(str(len(kernels)) for kernels in compiled.values())])
    section.figures["first calls"] = columns
    section.table("after `import cudf`, seconds", ["", *columns], texts)
    for case, kernels in compiled.items():
        if CASES[case][0] and kernels:
            section.table(f"{case}: not shipped", ["kernel"], [[kernel] for kernel in kernels])


def _ignore_shipped(folder: str, names: list[str]) -> set[str]:
    return {"shipped"} & set(names) if Path(folder) == ROOT / "cugraph_ws" else set()


if __name__ == "__main__":
    print(json.dumps(called()))
