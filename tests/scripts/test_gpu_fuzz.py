"""The GPU's fuzzer finds what is planted, and its graphs have every type of ids and weights."""

from __future__ import annotations

import json
import warnings

import pandas as pd
from ci_scripts import of
from emulator.device import emulated

import cugraph_ws as ws


def test_two_frames_are_compared_value_by_value():
    compare = of("checks.fuzz").compare
    frame = pd.DataFrame({"vertex": [1, 2, 3], "distance": pd.array([0, None, 4], "Int64")})
    assert compare(frame, frame.copy()) is None
    assert "distance, row 2: np.float64(5.0)" in compare(frame, frame.assign(distance=[0, None, 5]))
    assert "distance, row 1: np.int64(7), not <NA>" in compare(
        frame, frame.assign(distance=[0, 7, 4])
    )
    assert "2 rows, not" in compare(frame, frame.head(2))
    ranks = pd.DataFrame({"vertex": [1, 2], "pagerank": [0.5, 0.5]})
    assert compare(ranks, ranks.assign(pagerank=[0.5, 0.5 + 1e-7])) is None
    assert "pagerank, row 1" in compare(ranks, ranks.assign(pagerank=[0.5, 0.5001]))


def test_graphs_are_of_every_type():
    fuzz = of("checks.fuzz")
    drawn = [fuzz.Drawn(number, 40) for number in range(150)]
    assert {one.id_type for one in drawn} == set(fuzz.ID_TYPES)
    assert {one.weight_type for one in drawn} == set(fuzz.WEIGHT_TYPES)
    assert {one.directed for one in drawn} == {True, False}


def test_functions_and_programs_are_equal_on_an_emulated_gpu():
    fuzz = of("checks.fuzz")
    jobs = {"bfs, limited", "components", "matching"}
    with warnings.catch_warnings(), emulated(seed=2):
        warnings.simplefilter("ignore", ws.GraphWarning)
        drawn = fuzz.Drawn(7, 12)
        found = dict(fuzz.differences(drawn, lambda frame: frame, "cuda", jobs))
    assert found == dict.fromkeys(jobs)


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
