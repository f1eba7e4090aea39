"""A graph whose arcs are more than RMM's limit allows: they stay on the host, and all answers are the CPU's."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from cugraph_ws.runtime.device import has_device

if not has_device():
    pytest.skip("there is no GPU", allow_module_level=True)
pytest.importorskip("rmm")

# In a process of its own, since RMM's resource is one for the process.  16 M arcs take 64 MiB in each order.
LIMITED = """
import cupy, rmm
import numpy as np
import pandas as pd
import pytest
from rmm.allocators.cupy import rmm_cupy_allocator

LIMIT = 96 << 20
limited = rmm.mr.LimitingResourceAdaptor(rmm.mr.CudaMemoryResource(), LIMIT)
counted = rmm.mr.StatisticsResourceAdaptor(limited)
rmm.mr.set_current_device_resource(counted)
cupy.cuda.set_allocator(rmm_cupy_allocator)

import cugraph_ws as ws
from cugraph_ws.runtime.arrays import as_host
from cugraph_ws.runtime.device import device

with pytest.raises(MemoryError):
    cupy.zeros(LIMIT, np.uint8)[:1] + cupy.zeros(LIMIT // 2, np.uint8)[:1]
assert device().free_memory() <= LIMIT

random = np.random.default_rng(5)
vertices, edges = 200_000, 16_000_000
frame = pd.DataFrame({
    "source": random.integers(0, vertices, edges), "destination": random.integers(0, vertices, edges),
})
graph = ws.Graph(frame, placement="auto")
assert graph.on_device().arcs_on_host
calls = {
    "bfs": lambda graph, engine: ws.bfs(graph, 0, engine=engine, return_predecessors=False),
    "components": lambda graph, engine: ws.weakly_connected_components(graph, engine=engine),
    "pagerank": lambda graph, engine: ws.pagerank(graph, max_iter=5, tol=0.0, fail_on_nonconvergence=False, engine=engine),
}
for name, call in calls.items():
    found, expected = call(graph, "cuda"), call(graph, "cpu")
    for column in expected:
        mine, other = (np.asarray(as_host(one[column].values)) for one in (found, expected))
        if mine.dtype.kind == "f":
            np.testing.assert_allclose(mine, other, rtol=1e-6)
        else:
            np.testing.assert_array_equal(mine, other)
peak = counted.allocation_counts.peak_bytes
assert 0 < peak <= LIMIT, peak

refused = ws.Graph(frame, placement="memory")
with pytest.raises(ws.GraphMemoryError, match="of GPU memory"):
    ws.pagerank(refused, engine="cuda")
assert len(calls["bfs"](graph, "cuda")) == vertices, "a refusal leaves nothing behind"
"""


def test_rmms_limit_is_kept():
    folders = os.pathsep.join(filter(None, sys.path))
    subprocess.run(
        [sys.executable, "-c", LIMITED], check=True, timeout=280,
        env={**os.environ, "PYTHONPATH": folders},
    )  # fmt: skip
