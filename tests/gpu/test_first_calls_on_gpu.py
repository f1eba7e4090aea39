"""What first calls on a new machine compile."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("cudf", reason="cuDF is not installed")
pytest.importorskip("cupy").cuda.runtime.getDeviceCount()

CALLS = """
import cudf, cupy
import cugraph_ws as ws
draw = cupy.random.RandomState(3)
frame = cudf.DataFrame({name: draw.randint(0, 20_000, 100_000) for name in ("source", "destination")})
frame["weight"] = draw.random_sample(len(frame)) + 0.1
graph, weighted = ws.Graph(frame, weight=None), ws.Graph(frame, weight="weight")
start = frame["source"][0]
ws.pagerank(graph), ws.pagerank(weighted), ws.bfs(graph, start), ws.sssp(weighted, start)
ws.widest_path(weighted, start), ws.weakly_connected_components(graph), ws.core_number(graph)
"""


def test_no_block_reduction_of_cupy_is_compiled(tmp_path: Path) -> None:
    """Each takes NVRTC three to five seconds; kernels of CuPy and of the library do the same."""
    environment = {**os.environ, "CUPY_CACHE_DIR": str(tmp_path)}
    subprocess.run([sys.executable, "-c", CALLS], env=environment, check=True, timeout=280)
    kept = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert len(kept) > 10
    assert not [path for path in kept if b"cupy_cub_" in path.read_bytes()]
