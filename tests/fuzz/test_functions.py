"""The fuzzer of functions finds what is planted, and its graphs have every type of ids and weights."""

from __future__ import annotations

import contextlib
import inspect
import json
import warnings

import numpy as np
import pandas as pd
import pytest
from emulator.device import emulated

import cugraph_ws as ws
from fuzz import functions

LEFT_OUT = {
    "check", "explain", "run", "run_many", "estimate_memory",  # for programs, or before there is a graph
    "layout", "plot",  # pictures
    "heat", "neural_network",  # whose programs are run for nine supersteps
}  # fmt: skip


def test_two_answers_are_compared_value_by_value():
    compare = functions.compare
    frame = pd.DataFrame({"vertex": [1, 2, 3], "distance": pd.array([0, None, 4], "Int64")})
    assert compare(frame, frame.copy()) is None
    assert "distance, row 2: np.float64(5.0)" in compare(frame, frame.assign(distance=[0, None, 5]))
    assert "distance, row 1: np.int64(7), not <NA>" in compare(
        frame, frame.assign(distance=[0, 7, 4])
    )
    assert "2 rows, not" in compare(frame, frame.head(2))
    ranks = pd.DataFrame({"vertex": [1, 2], "pagerank": [0.5, 0.5]})
    close = ranks.assign(pagerank=[0.5, 0.5 + 1e-7])
    assert compare(ranks, close, near=True) is None
    assert "pagerank, row 1" in compare(ranks, close)
    assert "pagerank, row 1" in compare(ranks, ranks.assign(pagerank=[0.5, 0.5001]), near=True)
    assert "row 0" in compare(ranks, ranks.assign(pagerank=[np.inf, 0.5]), near=True)
    endless = ranks.assign(pagerank=[np.inf, 0.5])
    assert compare(endless, endless.copy(), near=True) is None
    assert "row 1" in compare(endless, endless.assign(pagerank=[np.inf, 0.6]), near=True)
    assert "value, row 0" in compare((ranks, 0.5), (ranks, 0.6), near=True)
    assert compare((ranks, 0.5), (ranks, 0.5)) is None
    error = ws.InputError("no vertex 3")
    assert compare(error, ws.InputError("no vertex 3")) is None
    assert "not InputError" in compare(error, ws.InputError("no vertex 4"))
    assert "vertex 3" in compare(ranks, error)


def test_graphs_are_of_every_type():
    some = [functions.Drawn(number, 40) for number in range(150)]
    assert {one.id_type for one in some} == set(functions.ID_TYPES)
    assert {one.weight_type for one in some} == set(functions.WEIGHT_TYPES)
    assert {one.directed for one in some} == {True, False}
    assert {one.options["duplicates"] for one in some} == set(functions.DUPLICATES)
    assert {one.vertices is None for one in some} == {True, False}


@pytest.mark.parametrize("id_type", ["two", "str"])
def test_ids_in_frames_are_named_as_functions_read_them(id_type):
    drawn = next(
        one
        for one in (functions.Drawn(number, 40) for number in range(99))
        if one.id_type == id_type and one.vertices is not None and len(one.ids) > 2
    )
    first, second = drawn.named("first", drawn.ids[:2]), drawn.named("second", drawn.ids[1:3])
    priors = pd.DataFrame({**drawn.named("", drawn.ids), "no": 1.0, "yes": 2.0})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ws.GraphWarning)
        graph = ws.Graph(
            drawn.edges, drawn.source, drawn.destination, directed=False, vertices=drawn.vertices
        )
    assert len(ws.jaccard(graph, pd.DataFrame({**first, **second}))) == 2
    beliefs = ws.belief_propagation(graph, priors, [[1.3, 1.0], [1.0, 1.3]])
    assert len(beliefs) == graph.number_of_vertices > len(drawn.ids)


def test_every_function_of_a_graph_is_called():
    called = {call.name for call in functions.CALLS}
    public = {
        name
        for name in ws.__all__
        if inspect.isfunction(function := getattr(ws, name))
        and "graph" in inspect.signature(function).parameters
    }
    assert called >= public - LEFT_OUT
    assert {"heat", "neural_network", "shortest_path"} <= called


def test_each_graph_goes_through_a_fifth_of_the_functions(monkeypatch, capsys):
    seen = []

    def differences(drawn, place, calls):
        seen.extend(call.name for call in calls)
        yield from ((call.name, None) for call in calls)

    monkeypatch.setattr(functions, "differences", differences)
    monkeypatch.setattr(functions, "program_difference", lambda number, place: ("", None))
    monkeypatch.setitem(functions.PLACES, "gpu", lambda: contextlib.nullcontext(functions.HOST))
    for number in range(functions.EACH):
        assert functions.main(["--only", str(number)]) == 0
    told = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert sum(one["functions"] for one in told) == len(functions.CALLS)
    assert sorted(seen) == sorted(call.name for call in functions.CALLS)


def test_functions_and_programs_are_equal_on_an_emulated_gpu():
    names = {"bfs", "weakly_connected_components", "maximal_bipartite_matching"}
    calls = [call for call in functions.CALLS if call.name in names]
    place = functions.Place("cuda", lambda frame: frame)
    with warnings.catch_warnings(), emulated(seed=2):
        warnings.simplefilter("ignore", ws.GraphWarning)
        found = dict(functions.differences(functions.Drawn(7, 12), place, calls))
        assert functions.program_difference(7, place)[1] is None
    assert found == dict.fromkeys(names)


def test_what_differs_is_told_with_its_arguments():
    call = next(call for call in functions.CALLS if call.name == "degree")
    doubled = functions.Place("cpu", lambda frame: pd.concat([frame, frame], ignore_index=True))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ws.GraphWarning)
        drawn = next(
            one
            for one in map(functions.Drawn, range(99))
            if one.options["duplicates"] == "keep" and one.vertices is None
        )
        ((name, wrong),) = functions.differences(drawn, doubled, [call])
    assert name == "degree"
    assert "degree, row 0" in wrong
    assert "degree_type" in wrong
