"""Searches of a graph whose arcs are in the host's memory read the rows of their frontiers, and little beside."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from emulator.device import emulated
from emulator.link import link_reads

import cugraph_ws as ws
from cugraph_ws.graph import generators

GRAPHS = {
    "skewed": lambda: generators.rmat(8, 16, seed=4),
    "flat": lambda: generators.grid(16, 16),
}


def searched(graph, call, weighted):
    """Return what a search read, and the offsets of both orders' rows."""
    laid = graph.on_device()
    arrays = [laid.csr.indices, laid.csc.indices]
    arrays += [laid.values("weight", order) for order in ("csr", "csc")] if weighted else []
    with link_reads(*arrays) as reads:
        call(graph)
    return reads, [laid.csr.offsets, laid.csc.offsets] * 2


@pytest.mark.parametrize("name", GRAPHS)
def test_a_search_by_levels_reads_the_rows_of_its_frontiers(name):
    """And with predecessors hardly more, once the least in-neighbours of every vertex are listed."""
    frame = GRAPHS[name]()
    start = int(frame["source"].mode()[0])
    graph = ws.Graph(frame, placement="host")
    with emulated():
        search = partial(ws.bfs, start=start, engine="cuda")
        near, offsets = searched(graph, partial(search, return_predecessors=False), weighted=False)
        first, _ = searched(graph, search, weighted=False)
        later, _ = searched(graph, search, weighted=False)
    spanned = sum(map(near.spanned, offsets, range(2)))
    for reads in (near, later):
        assert reads.sectors <= 1.3 * spanned  # no cache is counted
        assert reads.elements[1].sum() < 0.02 * len(frame)
    assert first.elements[1].max() == 1  # all rows of in-neighbours once, for the list
    assert first.sectors <= 2.6 * spanned
    for reads in (near, first, later):
        assert reads.elements[0].max() == 1
        assert np.array_equal(reads.elements[0], near.elements[0])


def test_shortest_paths_read_rows_as_often_as_they_are_active():
    frame = GRAPHS["flat"]()
    frame["weight"] = np.random.default_rng(5).random(len(frame)) + 0.5
    graph = ws.Graph(frame, placement="host")
    with emulated():
        search = partial(ws.sssp, start=0, engine="cuda", return_predecessors=False)
        reads, offsets = searched(graph, search, weighted=True)
    out, inward, weights, weights_inward = reads.elements
    assert np.array_equal(out, weights)
    assert inward.sum() == weights_inward.sum() == 0
    assert out.sum() <= 1.3 * len(out)
    assert reads.sectors <= 1.4 * sum(map(reads.spanned, offsets, range(4)))


def test_predecessors_of_shortest_paths_read_each_row_once_more():
    """A row's arcs by one request for each sector: the next lane reads the next arc."""
    frame = GRAPHS["flat"]()
    frame["weight"] = np.random.default_rng(5).random(len(frame)) + 0.5
    graph = ws.Graph(frame, placement="host")
    with emulated():
        reads, offsets = searched(graph, partial(ws.sssp, start=0, engine="cuda"), weighted=True)
    assert reads.elements[1].max() == 1
    assert reads.sectors <= 1.3 * sum(map(reads.spanned, offsets, range(4)))
