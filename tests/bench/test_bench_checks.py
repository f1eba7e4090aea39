"""The GPU's fuzzer finds what is planted, and its graphs have every type of ids and weights."""

from __future__ import annotations

import contextlib
import inspect
import json
import warnings

import numpy as np
import pandas as pd
import pytest
from ci_scripts import of
from emulator.device import emulated

import cugraph_ws as ws

LEFT_OUT = {
    "check", "run", "estimate_memory",  # for programs, or before there is a graph
    "heat", "neural_network",  # whose programs are run for nine supersteps
}  # fmt: skip


def test_two_answers_are_compared_value_by_value():
    compare = of("checks.fuzz").compare
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
    drawn = of("checks.drawn")
    some = [drawn.Drawn(number, 40) for number in range(150)]
    assert {one.id_type for one in some} == set(drawn.ID_TYPES)
    assert {one.weight_type for one in some} == set(drawn.WEIGHT_TYPES)
    assert {one.directed for one in some} == {True, False}
    assert {one.options["duplicates"] for one in some} == set(drawn.DUPLICATES)
    assert {one.vertices is None for one in some} == {True, False}


@pytest.mark.parametrize("id_type", ["two", "str"])
def test_ids_in_frames_are_named_as_functions_read_them(id_type):
    drawn = next(
        one
        for one in (of("checks.drawn").Drawn(number, 40) for number in range(99))
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
    called = {call.name for call in of("checks.calls").CALLS}
    functions = {
        name
        for name in ws.__all__
        if inspect.isfunction(function := getattr(ws, name))
        and "graph" in inspect.signature(function).parameters
    }
    assert called >= functions - LEFT_OUT
    assert {"heat", "neural_network", "shortest_path"} <= called


def test_each_graph_goes_through_a_fifth_of_the_functions(monkeypatch, capsys):
    fuzz = of("checks.fuzz")
    seen = []

    def differences(drawn, place, calls):
        seen.extend(call.name for call in calls)
        yield from ((call.name, None) for call in calls)

    monkeypatch.setattr(fuzz, "differences", differences)
    monkeypatch.setattr(fuzz, "program_difference", lambda number, place: ("", None))
    monkeypatch.setitem(fuzz.PLACES, "gpu", lambda: contextlib.nullcontext(fuzz.HOST))
    for number in range(fuzz.EACH):
        assert fuzz.main(["--only", str(number)]) == 0
    told = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert sum(one["functions"] for one in told) == len(fuzz.CALLS)
    assert sorted(seen) == sorted(call.name for call in fuzz.CALLS)


def test_functions_and_programs_are_equal_on_an_emulated_gpu():
    fuzz = of("checks.fuzz")
    names = {"bfs", "weakly_connected_components", "maximal_bipartite_matching"}
    calls = [call for call in fuzz.CALLS if call.name in names]
    place = fuzz.Place("cuda", lambda frame: frame)
    with warnings.catch_warnings(), emulated(seed=2):
        warnings.simplefilter("ignore", ws.GraphWarning)
        found = dict(fuzz.differences(of("checks.drawn").Drawn(7, 12), place, calls))
        assert fuzz.program_difference(7, place)[1] is None
    assert found == dict.fromkeys(names)


def test_what_differs_is_told_with_its_arguments():
    fuzz = of("checks.fuzz")
    call = next(call for call in fuzz.CALLS if call.name == "degree")
    doubled = fuzz.Place("cpu", lambda frame: pd.concat([frame, frame], ignore_index=True))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ws.GraphWarning)
        drawn = next(
            one
            for one in map(of("checks.drawn").Drawn, range(99))
            if one.options["duplicates"] == "keep" and one.vertices is None
        )
        ((name, wrong),) = fuzz.differences(drawn, doubled, [call])
    assert name == "degree"
    assert "degree, row 0" in wrong
    assert "degree_type" in wrong


def test_output_of_parts_becomes_a_section():
    stages = of("stages")
    line = {"graphs": 3, "functions": 30, "programs": 3, "differences": []}
    text = "\n".join(["first", *[json.dumps(line)] * of("children").PROCESSES])
    facts = stages.fuzzed(of("children").Done(0, text))
    assert facts["status"] == "passed"
    assert facts["summary"] == (
        "24 random graphs: 240 results of functions and 24 of programs, 0 differences"
    )
    bad = {**line, "differences": ["graph 5: bfs: row 2"]}
    facts = stages.fuzzed(of("children").Done(1, f"{text}\n{json.dumps(bad)}"))
    assert facts["status"] == "failed"
    assert "graph 5: bfs" in facts["problem"]
    assert stages.fuzzed(of("children").Done(None, ""))["status"] == "failed"
    assert stages.fuzzed(of("children").Done(0, json.dumps(line)), shares=1)["status"] == "passed"


def test_small_graphs_for_the_sanitizer(capsys):
    """Every schedule, and what differs is a failure."""
    small, fuzz = of("checks.small"), of("checks.fuzz")
    drawn = of("checks.drawn").Drawn(7, 12)
    calls = [
        call
        for call in small.SMALL
        if call.name in ("pagerank, vwc-4", "sssp, pushed", "bfs, large pushes", "bfs")
    ]
    place = fuzz.Place("cuda", lambda frame: frame)
    with warnings.catch_warnings(), emulated(seed=2):
        warnings.simplefilter("ignore", ws.GraphWarning)
        assert small.failures(place, [("hub", lambda: drawn, call) for call in calls]) == 0
        doubled = fuzz.Place("cpu", lambda frame: pd.concat([frame, frame], ignore_index=True))
        degree = next(call for call in fuzz.CALLS if call.name == "degree")
        drawn.options["duplicates"], drawn.vertices = "keep", None
        assert small.failures(doubled, [("hub", lambda: drawn, degree)]) == 1
    assert {call.name for call in small.SMALL} >= {*small.FUNCTIONS}
    said = capsys.readouterr().out.splitlines()
    assert said[: len(calls)] == [f"hub: {call.name}" for call in calls]
    assert said[len(calls)] == "FAILED hub: degree"


def test_growth_of_memory():
    growth = of("checks.leaks").growth
    assert growth([9, 5, 7, 7, 7, 7], settled=2) == 0
    assert growth([0, 0, 7, 8, 8, 7], settled=2) == 0
    assert growth([0, 0, 7, 7, 7, 10], settled=2) == 3
