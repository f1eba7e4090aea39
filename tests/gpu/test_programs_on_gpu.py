"""What programs say on a GPU, folds by part, steps over vertices, draws and conditions, as plain Python says it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from shapes import random_edges
from zoo import difference, found_by, graph_of
from zoo_folds import BY_PART
from zoo_messages import SELECTIVE
from zoo_scatter import SCATTER
from zoo_steps import STEPS
from zoo_until import BY_AGGREGATES

import cugraph_ws as ws
from cugraph_ws.runtime.device import has_device

if not has_device():
    pytest.skip("no GPU", allow_module_level=True)

EDGES = random_edges(300, 2400, seed=21)
ENTRIES = [*BY_PART, *SELECTIVE, *STEPS, *BY_AGGREGATES, *SCATTER]


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.program.name)
def test_programs(entry: Any) -> None:
    opened, given = graph_of(EDGES), entry.given(EDGES.n)
    most = {"max_iter": 8} if isinstance(entry.program, type(BY_PART[0].program)) else {}
    runs = [
        ws.run(entry.program, opened, engine=engine, **given, **most)
        for engine in ("python", "cuda")
    ]
    expected, found = (found_by(entry.program, run) for run in runs)
    assert difference(found, expected, max(entry.tolerance, 1e-5)) is None
    assert runs[0].iterations == runs[1].iterations


def test_arcs_on_the_host() -> None:
    """The same bits, for frames on a GPU too, whose results are there."""
    cudf = pytest.importorskip("cudf")
    frame = pd.DataFrame({"source": EDGES.source, "destination": EDGES.destination})
    frame["weight"] = np.random.default_rng(2).random(len(frame))
    near = ws.Graph(frame)
    for edges in (frame, cudf.from_pandas(frame)):
        with ws.Graph(edges, placement="host") as apart:
            for call in (
                ws.pagerank,
                ws.weakly_connected_components,
                lambda g, **o: ws.sssp(g, 0, **o),
            ):
                found = call(apart, engine="cuda")
                assert type(found) is type(edges)
                found = found if edges is frame else found.to_pandas()
                expected = call(near, engine="cuda")
                for name in expected.columns.drop("predecessor", errors="ignore"):
                    np.testing.assert_array_equal(found[name], expected[name].astype(float))
            assert apart.on_device().arcs_on_host
