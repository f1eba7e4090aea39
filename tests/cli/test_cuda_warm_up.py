"""What `cugraph-ws warm-up` compiles for functions is all that a user's calls of them launch on a GPU."""

import warnings
from contextlib import nullcontext
from functools import lru_cache

import launched_together
import numpy as np
import pandas as pd
import pytest
import stand_in_cudf

import cugraph_ws as ws
from cugraph_ws.backends.cuda.listed_programs import jobs_of
from cugraph_ws.cli import warm_up
from cugraph_ws.runtime.compile_ahead import _calls, followers
from cugraph_ws.runtime.device import installed

pytestmark = pytest.mark.xdist_group("warm_up")

FUNCTIONS = (
    "bfs", "core_number", "hits", "multi_source_bfs", "pagerank", "sssp",
    "weakly_connected_components", "widest_path",
)  # fmt: skip
TYPES = {"float32": "int64", "float64": "int32"}  # ids that are not recorded with these weights


def edges(ids, weights, vertices=60, count=150):
    """Random edges with a hub, an id that is missing, and weights of which some are equal."""
    generator = np.random.default_rng(5)
    ends = generator.integers(0, vertices, (2, count))
    ends[1, : count // 4] = 7
    ends[ends == 11] = 12
    columns = {"source": ends[0].astype(ids), "destination": ends[1].astype(ids)}
    columns["weight"] = generator.integers(0, 9, count).astype(weights) / 4
    return stand_in_cudf.DataFrame(pd.DataFrame(columns).astype({"weight": weights}))


@lru_cache
def launched(ids, weights, *, as_large):
    """The kernels of a session of calls, one after another on the same two graphs."""
    recorder = launched_together.Recorder()
    with (
        installed(recorder),
        stand_in_cudf.installed(),
        launched_together.large(recorder) if as_large else nullcontext(),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore")
        frame = edges(ids, weights)
        plain, weighted = ws.Graph(frame, weight=None), ws.Graph(frame, weight="weight")
        with plain, weighted:
            ws.pagerank(plain)
            ws.pagerank(weighted)
            for start in (3, 5):  # the second may read what the first has made
                ws.bfs(plain, start)
                ws.sssp(weighted, start)
                ws.widest_path(weighted, start)
            ws.multi_source_bfs(plain, [3, 5])
            ws.hits(plain)
            ws.hits(weighted)
            ws.weakly_connected_components(plain)
            ws.core_number(plain)
    made = {("", module, name, kinds) for module, name, kinds in recorder.plain}
    for text, noted in recorder.programs.items():
        made |= {(text(), "", name, kinds) for name, kinds in noted}
    return made


@pytest.fixture(scope="module")
def compiled():
    """By dtype of weights, the kernels that are compiled for the functions."""
    found = {}
    for weights in TYPES:
        calls = warm_up.listed_calls(warm_up.tasks(FUNCTIONS, ["cuda"], [weights]))
        jobs = jobs_of(calls, (9, 0))
        found[weights] = {
            (one.text, "" if one.text else one.module, one.name, one.kinds) for one in jobs
        }
    return found


@pytest.mark.accelerated
@pytest.mark.parametrize(
    ("weights", "as_large"), [("float32", False), ("float32", True), ("float64", True)]
)
def test_what_is_compiled_is_all_that_calls_launch(as_large, weights, compiled):
    made = launched(TYPES[weights], weights, as_large=as_large)
    names = {one[2] for one in made}
    assert names > {"traverse", "superstep", "grow_forward", "peel", "name_vertices"}
    missing = made - compiled[weights]
    assert not missing, sorted({one[1:] for one in missing})


def test_large_graphs_launch_other_kernels():
    """What large graphs and second calls launch is listed for them alone."""
    small = launched("int64", "float32", as_large=False)
    both = small | launched("int64", "float32", as_large=True)
    assert {one[2] for one in both} - {one[2] for one in small} > {
        "choose_of_least", "list_least", "list_tight_arcs", "sort_kept_buckets", "spread_keys",
    }  # fmt: skip


@pytest.mark.parametrize("ids", ["int32", "int64"])
def test_functions_follow_the_first_kernel_of_a_graph(ids):
    """Those with weights apart; none without, once a weighted graph is made."""
    listed = {name for name, _ in _calls()}
    first = ("", "split", "find_range", (f"{ids}*", "int64", "int64*"))
    graphs, plain, weighted = followers(first)
    assert set(graphs + plain + weighted) <= listed
    assert any(one.startswith("bfs, ") for one in plain)
    assert not any("weights" in one for one in plain)
    assert any(one.startswith("sssp, ") for one in weighted)
    assert all("weights" in one for one in weighted)
    assert all("undirected" in one or ", cuda" in one for one in graphs)
    heavy = ("", "build", "gather", ("float32*", "int32*", "int64", "float32*"))
    graphs, plain, weighted = followers(heavy)
    assert not plain
    assert any(one.startswith("sssp, ") for one in weighted)
    assert all("float32 weights" in one for one in weighted)
    assert {one.partition(", ")[0] for one in graphs} == {"graph"}
