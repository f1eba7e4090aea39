"""What messages between ranks consist of: bytes by hand, and what `auto` sends."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from plans import planned
from programs import Rank
from shapes import build, rmat, undirected
from verify import Edges

import cugraph_ws as ws
from cugraph_ws.contract import Entry
from cugraph_ws.partition.ways import (
    bytes_in_bits,
    bytes_listed,
    bytes_whole,
    choose_way,
    names_of,
)

METHODS = ("vr", "ms", "all")
# All vertices are ghosts everywhere; later vertices have more arcs.
EVERYONE = Edges(*(np.concatenate(some) for some in zip(
    np.divmod(np.arange(24 * 24), 24), np.tril_indices(24), strict=True
)), 24)  # fmt: skip
SPARSE = undirected(rmat(8, 4, seed=73))


def test_bytes_by_hand():
    entry = Entry(8, 4, 1)
    assert bytes_listed(3, entry) == 36
    assert bytes_whole(7, entry) == 63
    assert bytes_in_bits(9, entry) == 2 + 8
    assert bytes_in_bits(33, entry, word=4) == 8 + 8


def test_bytes_of_many_messages():
    counts = np.array([[0, 6], [33, 0]])
    assert bytes_listed(counts, Entry(4)).tolist() == [[0, 48], [264, 0]]
    assert bytes_whole(counts, Entry(4, flag=1)).tolist() == [[0, 30], [165, 0]]
    assert bytes_in_bits(counts, Entry(4), word=4).tolist() == [[4, 8], [12, 4]]


@pytest.mark.parametrize(
    ("useful", "alike", "way"),
    [
        (5, False, "vr"),  # 60 bytes against 80
        (5, True, "bits"),  # 10
        (7, False, "ms"),  # 84
        (7, True, "bits"),
        (0, True, "vr"),  # nothing
    ],
)
def test_the_message_of_fewest_bytes_is_sent(useful, alike, way):
    assert choose_way(useful, 10, Entry(8), lambda: alike) == way


def test_values_are_compared_only_where_bits_would_be_sent():
    def alike() -> bool:
        raise AssertionError("values are not compared")

    assert choose_way(0, 10, Entry(8), alike) == "vr"
    assert choose_way(1, 100, Entry(4), alike) == "vr"  # 8 bytes; bits take 17


def test_names():
    assert [names_of(ways) for ways in (0, 1, 2, 4, 8, 3)] == [
        "", "vr", "ms", "all", "bits", "vr+ms",
    ]  # fmt: skip


# The graph, the program; what `auto` sends in most supersteps
CASES: dict[str, tuple[Edges, Any, dict[str, Any], str]] = {
    "all vertices are computed": (EVERYONE, Rank, {"max_iter": 6, "tol": 0.0}, "ms"),
    "few change": (SPARSE, ws.SSSP, {"source": [0]}, "vr"),
    "levels": (SPARSE, ws.BFS, {"start": [0]}, "bits"),
}


@pytest.mark.parametrize("case", CASES)
def test_what_auto_sends(case):
    """Results are those of each way, and in frontiers no way sends fewer bytes."""
    edges, program, options, usual = CASES[case]
    if program is ws.SSSP:
        lengths = np.arange(len(edges.source)) % 7 + 1.0
        edges = Edges(edges.source, edges.destination, edges.n, lengths)
    results = {}
    with build(edges) as graph:
        for method in (*METHODS, "auto"):
            given = {"engine": "python", "partitions": 4, "exchange": method, **options}
            results[method] = ws.run(program, graph, **planned(**given))
        chosen = results["auto"]
        ways = chosen.trace["exchange"].str.split("+").explode()
        assert usual in set(ways[ways != ""].mode())
        for method in METHODS:
            result = results[method]
            assert set(result.trace["exchange"]) - {""} == {method}
            pd.testing.assert_frame_equal(result.frame, chosen.frame)
            if program is not Rank:
                assert (chosen.trace["bytes_sent"] <= result.trace["bytes_sent"]).all()
