"""PageRank by changes comes to the ranks of PageRank."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from cuda_cases import graph_of, medley
from emulator.device import emulated
from shapes import SHAPES, grid, random_edges, rmat, undirected

import cugraph_ws as ws

TOLERANCE = 1e-9
GRAPHS = {
    "medley": medley(),
    "medley, both ways": undirected(medley()),
    "path": SHAPES["path"],
    "rmat": rmat(5, 4, seed=2),
    "grid": grid(6, 5, drop=0.2, seed=1),
    "weights": random_edges(30, 90, seed=4, weights="ties"),
}


def ranks(graph: ws.Graph, engine: str, **options) -> np.ndarray:
    found = ws.run(ws.DeltaPageRank, graph, engine=engine, tolerance=TOLERANCE, **options)
    assert found.converged
    values = found.arrays["pagerank"]
    return values / values.sum()


@pytest.mark.parametrize(
    ("name", "engine"),
    [
        *itertools.product(GRAPHS, ["python", "cpu"]),
        *itertools.product(["medley, both ways", "path", "weights"], ["cuda"]),  # which is emulated
    ],
)
def test_the_ranks_are_those_of_pagerank(name, engine):
    with graph_of(GRAPHS[name]) as graph, emulated():
        expected = ws.run(ws.PageRank, graph, engine="cpu", tol=1e-12, max_iter=1000)
        found = ranks(graph, engine)
    # What is left untold adds up to the tolerance, and is damped by less than alpha at each hop.
    error = np.abs(found - expected.arrays["pagerank"]).sum()
    assert error <= 2 * TOLERANCE / (1 - 0.85)


def test_the_active_set_shrinks():
    with graph_of(rmat(7, 6, seed=2)) as graph:
        vertices = graph.number_of_vertices
        found = ws.run(ws.DeltaPageRank, graph, engine="cpu", tolerance=1e-4)
    active = found.rows.active
    assert active[0] == vertices
    assert active[-1] < active[0] / 4


def test_a_tolerance_that_no_vertex_exceeds_ends_at_once():
    with graph_of(SHAPES["path"]) as graph:
        found = ws.run(ws.DeltaPageRank, graph, engine="cpu", tolerance=10.0)
    assert found.iterations == 0
    assert found.converged
