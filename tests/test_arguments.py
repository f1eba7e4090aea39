"""Arguments of runs that make no sense are refused at once, with their name and value."""

from __future__ import annotations

import math
import pathlib

import numpy as np
import pandas as pd
import pytest
from plans import planned

import cugraph_ws as ws
from cugraph_ws.arguments import check_count, check_number, check_path, shown

EDGES = pd.DataFrame({"source": [0, 1], "destination": [1, 2], "weight": [0.5, 0.25]})


@pytest.mark.parametrize(
    ("argument", "value"),
    [
        *(("tol", one) for one in (math.inf, math.nan, -1.0, "1e-6", 10**400, 1j)),
        *(("partitions", one) for one in (0, 1025, 10**9, 10**30, 2.0, True, None)),
        *(("max_iter", one) for one in (-1, 10**30, 1.5, "10")),
        *(("timeout", one) for one in (0, -1, math.nan, "1")),
        *(("every", one) for one in (0, None, 2**63)),
        *(("in_place", one) for one in (1, "yes", np.array([True, False]))),
        *((flag, 1) for flag in ("priorities", "fused", "predecessors", "directed")),
        *(
            (word, one)
            for word in ("direction", "exchange", "method", "filter")
            for one in (None, [])
        ),
        *(("engine", one) for one in (None, np.array([0, 1]), EDGES)),
        *(("progress", one) for one in (1, None, "yes")),
        *(("checkpoint", one) for one in ("", 3, b"x", "a\0b", "é\udcff", "x" * 5000, ["x"])),
        *(("resume", one) for one in ("", 3, b"x", "a\0b")),
        *((f"{column}_column", EDGES) for column in ("source", "destination", "weight")),
        ("program", 3),
    ],
    ids=lambda one: shown(one)[:20],
)
def test_a_run_refuses(argument, value):
    given = {"program": ws.PageRank, "graph": EDGES, argument: value}
    name = argument.removesuffix("_column")
    with pytest.raises(ws.InputError, match=f"^{name}="):
        ws.run(**planned(**given))


def test_partitions_up_to_the_bound_and_numpys_flags_are_fine():
    with ws.Graph(EDGES) as graph:
        whole = ws.run(ws.SSSP, graph, start=0, plan=ws.Plan(priorities=np.bool_(True)))
        parts = ws.run(ws.SSSP, graph, start=0, plan=ws.Plan(partitions=np.int64(5), fused=False))
        assert parts.frame.equals(whole.frame)


@pytest.mark.parametrize(
    "call",
    [
        lambda: ws.pagerank(EDGES, tol=math.inf),
        lambda: ws.heat(EDGES, 1.0, tol=math.inf),
        lambda: ws.pagerank(EDGES, fail_on_nonconvergence="no"),
        lambda: ws.bfs(EDGES, 0, return_predecessors=1),
        lambda: ws.bfs(EDGES, 0, unreachable=EDGES),
        lambda: ws.sssp(EDGES, 0, cutoff=10**400),
        lambda: ws.widest_path(EDGES, 0, return_predecessors=None),
        lambda: ws.MultiSource(3, "start", [0]),
        lambda: ws.MultiSource(ws.BFS, "end", [0]),
        lambda: ws.MultiSource(ws.BFS, "start", [0], max_iter=0.5),
        lambda: ws.belief_propagation(EDGES, EDGES, 10**400),
        lambda: ws.belief_propagation(EDGES, EDGES, [[1]], tol=math.inf),
        lambda: ws.Graph(EDGES, source=None),
        lambda: ws.Graph(EDGES, weight=EDGES),
        lambda: ws.Graph(EDGES, directed=None),
        lambda: ws.Graph(EDGES, consume="yes"),
        lambda: ws.Graph(EDGES, balance=EDGES),
        lambda: ws.Graph(EDGES, duplicates=EDGES),
        lambda: ws.Graph.from_arrays([0], [1], attributes=[1]),
        lambda: ws.Graph(EDGES).degree_array(incoming=EDGES),
        lambda: ws.Graph(EDGES).edge_values(EDGES),
        lambda: ws.Graph(EDGES).vertex_values({}, "x", float, default="none"),
        lambda: ws.Graph(EDGES).vertex_values(EDGES, "x", float, default=0, column=["weight"]),
        lambda: ws.shortest_path(EDGES.set_axis([0, 1, 2], axis=1), 1),
    ],
)
def test_functions_refuse(call):
    with pytest.raises(ws.InputError):
        call()


def test_objects_that_are_not_classes_are_refused():
    with pytest.raises(ws.ProgramError, match="3 is not a class"):
        ws.vertex_program(3)


def test_bounds_of_counts_and_numbers():
    check_count("n", np.int8(3), least=3, most=3)
    check_number("x", math.inf)
    check_number("x", 10**300, positive=True, finite=True)
    for check in (
        lambda: check_count("n", 4, most=3),
        lambda: check_number("x", 0, positive=True),
        lambda: check_number("x", math.inf, finite=True),
        lambda: check_number("x", 10**400),
    ):
        with pytest.raises(ws.InputError):
            check()


def test_paths(tmp_path):
    check_path("p", tmp_path / "new.parquet")
    check_path("p", str(tmp_path))
    with pytest.raises(ws.InputError, match="must be a path"):
        check_path("p", pathlib)


def test_values_are_shown_briefly():
    assert shown("a") == "'a'"
    assert shown(EDGES) == f"<DataFrame of {len(EDGES)} rows>"
    assert shown(EDGES["source"]) == f"<Series of {len(EDGES)} values>"
    assert len(shown("x" * 1000)) == 200
    assert shown(10**5000) == "<int>"
