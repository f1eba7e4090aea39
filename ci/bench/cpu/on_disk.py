"""A folder of Parquet files to components in a process that may hold a third of the folder's bytes; beside one read of it.

The system refuses anonymous memory beyond the limit.  Before each turn the folder's files leave the page cache; pages of the
graph's own files stay there as long as the machine has memory for them.  Run as a module with a folder, a limit in bytes and the
name of a file for the labels, this file is that process.
"""

from __future__ import annotations

import os
import resource
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import parquet
from scipy import sparse

import cugraph_ws as ws
from bench.children import in_new_process
from bench.timing import OURS, Entrant, Section, race

VERTICES, FILES, ROWS = 1_000_000, 12, 2_000_000  # rows of a file
SHARE = 3  # of the folder's bytes, the limit is one in so many
BUILD = 0.75  # of the limit: allocators hold more than arrays take
BOUND = 6.0
READ = "one sequential read"


def on_disk(name: str, section: Section, repeats: int) -> None:
    """Time both; compare the labels with SciPy's."""
    with tempfile.TemporaryDirectory() as made:
        folder, labels = Path(made, "edges"), Path(made, "labels.npy")
        folder.mkdir()
        expected = _write(folder)
        limit = sum(file.stat().st_size for file in folder.iterdir()) // SHARE
        words = [str(folder), str(limit), str(labels)]

        def to_components() -> float:
            _leave_cache(folder)
            return float(in_new_process("bench.cpu.on_disk", *words)[-1])

        def check(_: float) -> None:
            assert np.array_equal(np.load(labels), expected), "the labels are not SciPy's"

        def read() -> float:
            _leave_cache(folder)
            begun = time.perf_counter()
            for path in sorted(folder.iterdir()):
                with path.open("rb", buffering=0) as file:
                    while file.read(1 << 22):
                        pass
            return time.perf_counter() - begun

        entrants = [
            Entrant(OURS, to_components, check, alone=lambda seconds: seconds),
            Entrant(READ, read, alone=lambda seconds: seconds),
        ]
        job = f"{FILES * ROWS:,} edges of a folder to components, {SHARE} times the memory"
        timings = race(section, job, entrants, repeats, few=repeats)
    name = "folder to components ÷ one sequential read"
    section.ratio(name, timings, OURS, BOUND, under=READ, at_least=False, alone=True)


def _write(folder: Path) -> Any:
    """Write the files; return the least vertex of each vertex's component."""
    random = np.random.default_rng(1)
    ends = random.integers(0, VERTICES, (FILES, 2, ROWS))
    for place, (source, destination) in enumerate(ends):
        rows = pa.table({"source": source, "destination": destination})
        parquet.write_table(rows, folder / f"{place:02}.parquet", row_group_size=1 << 18)
    source, destination = ends.transpose(1, 0, 2).reshape(2, -1)
    known = np.unique(ends)
    matrix = sparse.coo_array(
        (np.ones(len(source), np.int8), (source, destination)), (VERTICES, VERTICES)
    )
    count, parts = sparse.csgraph.connected_components(matrix, directed=False)
    least = np.full(count, VERTICES)
    np.minimum.at(least, parts, np.arange(VERTICES))
    return least[parts][known]


def _leave_cache(folder: Path) -> None:
    os.sync()
    for path in folder.iterdir():
        with path.open("rb") as file:
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def child(folder: Path, limit: int, labels: Path) -> float:
    """Compute the labels within the limit, write them, and return the seconds without the start of the process."""
    with tempfile.TemporaryDirectory() as few:
        parquet.write_table(
            pa.table({"source": [0, 1], "destination": [1, 2]}), Path(few, "0.parquet")
        )
        with ws.Graph(few, placement="disk") as graph:  # starts threads and loads code
            ws.weakly_connected_components(graph)
    facts = Path("/proc/self/status").read_text().splitlines()
    held = next(int(line.split()[1]) << 10 for line in facts if line.startswith("VmData"))
    resource.setrlimit(resource.RLIMIT_DATA, (held + limit, held + limit))
    begun = time.perf_counter()
    with ws.Graph(folder, placement="disk", memory_limit=int(BUILD * limit)) as graph:
        components = ws.weakly_connected_components(graph)
    seconds = time.perf_counter() - begun
    np.save(labels, components["labels"].to_numpy())
    return seconds


if __name__ == "__main__":
    print(child(Path(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3])))
