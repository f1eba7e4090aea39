"""`explain`: the plan of a run, why it is so, and the code that runs."""

from __future__ import annotations

import pandas as pd
import pytest
from emulator.device import emulated

import cugraph_ws as ws

EDGES = pd.DataFrame({"source": [0, 1, 2], "destination": [1, 2, 3]})


@pytest.fixture(scope="module")
def path():
    return ws.Graph(EDGES)


def test_a_search_may_take_messages_in_any_order(path):
    found = ws.explain(ws.BFS, path, start=0, engine="cpu")
    assert (found.engine, found.schedule, found.layout, found.in_order) == (
        "cpu", "frontier", "csr", "",
    )  # fmt: skip
    assert found.state == {"distance": "int32"}
    assert "order of messages  any" in str(found)


def test_sums_are_taken_superstep_by_superstep(path):
    found = ws.explain(ws.PageRank, path, engine="cpu")
    assert (found.schedule, found.layout) == ("dense", "csc")
    assert "must count once" in found.in_order
    assert f"superstep by superstep: {found.in_order}" in str(found)


def test_the_plan_is_that_of_a_run(path):
    assert ws.explain(ws.PageRank, path, engine="cpu").schedule == "dense"
    assert set(ws.run(ws.PageRank, path, engine="cpu").trace["direction"]) == {"gather"}
    for call in (ws.explain, ws.run):
        with pytest.raises(ws.InputError, match="direction='gather': BFS counts the messages"):
            call(ws.BFS, path, start=0, engine="cpu", plan=ws.Plan(direction="gather"))


@pytest.mark.parametrize("engine", ["cpu", "python", "cuda"])
def test_the_code_has_the_programs_functions_and_the_loops(path, engine):
    with emulated():
        found = ws.explain(ws.PageRank, path, engine=engine)
    assert found.engine == engine
    compile(found.code, "generated", "exec")
    assert "def user_compute(" in found.code
    assert ("def superstep(" in found.code) == (engine == "cuda")
    assert found.nbytes > 0


def test_only_vertex_programs_of_one_process_are_explained(path):
    with pytest.raises(ws.InputError, match="is no vertex program; give a class"):
        ws.explain(ws.pagerank, path)
    with pytest.raises(ws.InputError, match="BFS needs start="):
        ws.explain(ws.BFS, path)
