"""The path of a warm call does not grow: files that a reader of `ws.pagerank(frame)` follows."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numba
import pytest

ROOT = Path(__file__).parents[2]
COMPILED = not numba.config.DISABLE_JIT
MOST = {"pandas": 47, "gpu": 53, "dask": 73}  # files, by the last change that made a path shorter
MOST_LONG = {"pandas": 12, "gpu": 16, "dask": 16}  # of them, files of more than 450 lines
LONG = 450


@pytest.mark.skipif(not COMPILED, reason="uncompiled kernels enter other files")
@pytest.mark.parametrize(
    "kind",
    ["pandas", "gpu", pytest.param("dask", marks=pytest.mark.long)],  # a cluster
)
def test_a_warm_call_enters_no_more_files(kind: str) -> None:
    environment = {
        name: value for name, value in os.environ.items() if name != "CUGRAPH_WS_ACCELERATORS"
    }
    done = subprocess.run(
        [sys.executable, ROOT / "ci" / "path.py", kind],
        cwd=ROOT, env=environment, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    heading, *files = done.stdout.split("\n    ")
    assert heading == f"{kind}: {len(files)} files", done.stderr
    assert {"cugraph_ws/algorithms/pagerank.py", "cugraph_ws/execution/vertex_loop.py"} < set(files)
    assert len(files) <= MOST[kind], done.stdout
    lengths = {
        file: len((ROOT / file).read_text().splitlines())
        for file in map(str.strip, files)
        if not file.startswith("generated")
    }
    long = [file for file, lines in lengths.items() if lines > LONG]
    assert len(long) <= MOST_LONG[kind], long
