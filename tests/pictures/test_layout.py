"""`ws.layout`: a frame of the caller's kind, for every kind of graph on one machine."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from emulator.device import emulated

import cugraph_ws as ws

EDGES = pd.DataFrame({"source": ["a", "b", "c", "a"], "destination": ["b", "c", "a", "d"]})


def test_columns_are_those_of_a_vertex_frame():
    places = ws.layout(EDGES)
    assert places["vertex"].tolist() == ["a", "b", "c", "d"]
    assert places.dtypes[["x", "y"]].tolist() == [np.float64, np.float64]
    assert isinstance(ws.layout(pl.from_pandas(EDGES)), pl.DataFrame)
    pd.testing.assert_frame_equal(EDGES.ws.layout(), places)
    pd.testing.assert_frame_equal(ws.Graph(EDGES).layout(), places)


def test_directions_weights_loops_and_parallel_edges_do_not_matter():
    more = pd.concat(
        [EDGES, EDGES.rename(columns={"source": "destination", "destination": "source"})]
    )
    more = pd.concat([more, pd.DataFrame({"source": ["b"], "destination": ["b"]})])
    places = ws.layout(EDGES)
    pd.testing.assert_frame_equal(ws.layout(more.assign(weight=7.0)), places)
    pd.testing.assert_frame_equal(ws.layout(EDGES, directed=False), places)


def test_weights_attract():
    """Two groups of four, all joined to all: only the weights tell which belong together."""
    pairs = [(a, b) for a in range(8) for b in range(a)]
    edges = pd.DataFrame(pairs, columns=["source", "destination"])
    within = (edges["source"] < 4) == (edges["destination"] < 4)
    edges["weight"] = np.where(within, 40.0, 1.0)
    places = ws.layout(edges, weight="weight")

    def length(xy, which):
        ends = [xy[edges[end][which].to_numpy()] for end in ("source", "destination")]
        return np.linalg.norm(ends[0] - ends[1], axis=1).mean()

    for scale in (1.0, 1e-3):
        with ws.Graph(edges.assign(weight=scale * edges["weight"]), weight="weight") as graph:
            xy = graph.layout(weight="weight")[["x", "y"]].to_numpy()
            assert length(xy, ~within) > 2 * length(xy, within)
            pd.testing.assert_frame_equal(graph.layout(), ws.layout(edges))
    halves = pd.concat([edges.assign(weight=edges["weight"] / 2)] * 2)
    pd.testing.assert_frame_equal(ws.layout(halves, weight="weight"), places)
    with pytest.raises(ws.InputError, match=r"column 'weight': .* has the weight -1\.0"):
        ws.layout(edges.assign(weight=-1.0), weight="weight")


def test_graphs_on_a_gpu_are_copied():
    places = ws.layout(EDGES)
    with emulated(), ws.Graph(EDGES) as graph:
        ws.pagerank(graph, engine="cuda")
        pd.testing.assert_frame_equal(graph.layout(), places)


def test_errors():
    dask = pytest.importorskip("dask.dataframe")
    with pytest.raises(ws.InputError, match=r"layout\(\) draws graphs of one machine.*compute\(\)"):
        ws.layout(dask.from_pandas(EDGES, npartitions=1))
    with pytest.raises(ws.InputError, match="iterations=-1 must be"):
        ws.layout(EDGES, iterations=-1)
    with pytest.raises(ws.InputError, match=r"seed=0\.5 must be"):
        ws.layout(EDGES, seed=0.5)
