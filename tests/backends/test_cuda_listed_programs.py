"""The list of kernels that are launched together is that of the emulator's launches.

It runs without coverage, which would follow every step of the emulated kernels.
"""

import json

import launched_together
import pandas as pd
import pytest
import stand_in_cudf

import cugraph_ws as ws
from bench import programs
from cugraph_ws.backends.cuda.listed_programs import alike, jobs_of
from cugraph_ws.graph import generators
from cugraph_ws.runtime import compile_ahead
from cugraph_ws.runtime.device import installed


@pytest.mark.parametrize(
    "part", [0, *(pytest.param(part, marks=pytest.mark.product) for part in (1, 2, 3))]
)
def test_the_list_is_what_calls_launch(part):
    """If not, run `python ci/launched_together.py`."""
    names = sorted(launched_together.warm_up.CALLS)[part::4]
    content = json.loads(compile_ahead.LIST.read_text())
    known = {
        name: {json.dumps(content["launches"][one]) for one in places}
        for name, places, _ in content["calls"]
    }
    texts = {
        name: sorted(json.dumps(content["programs"][one]) for one, _ in programs)
        for name, _, programs in content["calls"]
    }
    graphs = launched_together.graphs() if part == 0 else []
    for group in launched_together.groups(names, launched_together.TYPES[:1]) + graphs:
        assert known[group["call"]] == {json.dumps(one) for one in group["kernels"]}, group["call"]
        assert texts[group["call"]] == sorted(json.dumps(one) for one, _ in group["programs"])


def test_texts_of_listed_programs_are_those_of_calls():
    """The jobs of a call are the launches that its run makes, with the very texts."""
    call = "sssp, cuda, float64 weights"
    task = next(one for one in launched_together.warm_up.tasks(["sssp"], ["cuda"], ["float64"]))
    made = launched_together.recorded(task, "int64")
    expected = {
        (text(), name, kinds) for text, noted in made.programs.items() for name, kinds in noted
    }
    jobs = jobs_of([call, call], (9, 0))
    assert {(job.text, job.name, job.kinds) for job in jobs if job.text} == expected
    assert {(job.module, job.name, job.kinds) for job in jobs if not job.text} == set(made.plain)
    assert len(jobs) == len(set(jobs))
    assert jobs[0].name in compile_ahead.SLOW, "what takes longest comes first"
    names = {job.module for job in jobs if job.text}
    assert all(one.startswith("cugraph_ws_cuda_SSSP_") for one in names)


def distances(frame):
    return {"source": int(frame["source"].iloc[0])}


# For each program how its graph is made, and its arguments
USERS = {
    "Ranks": (programs.Ranks, {}, lambda _: {}),
    "Distances": (programs.Distances, {"weight": "weight"}, distances),
    "Widths": (programs.Widths, {"weight": "weight"}, distances),
    "SumAndGreatest": (programs.SumAndGreatest, {}, lambda _: {"x": 1.0}),
    "Labels": (programs.Labels, {}, lambda _: {}),
}


@pytest.mark.parametrize("name", USERS)
def test_what_a_users_program_launches_is_foreseen(name):
    """From its first text, all others and all kernels, with its own types."""
    program, named, arguments = USERS[name]
    frame = pd.DataFrame(generators.rmat(5, 4, seed=3)).assign(weight=0.5)
    recorder = launched_together.Recorder()
    with installed(recorder), stand_in_cudf.installed():
        ws.run(program, ws.Graph(stand_in_cudf.DataFrame(frame), **named), **arguments(frame))
    launched = {
        (text(), kernel, kinds)
        for text, noted in recorder.programs.items()
        for kernel, kinds in noted
    }
    foreseen = alike(next(iter(recorder.programs)), (9, 0))
    assert launched <= {(job.text, job.name, job.kinds) for job in foreseen}
    assert all(job.capability == (9, 0) for job in foreseen)
    assert foreseen[0].name in compile_ahead.SLOW


def test_models_are_those_of_the_list():
    """If not, run `python ci/launched_together.py`."""
    listed = json.loads(compile_ahead.LIST.read_text())["models"]
    assert listed == json.loads(json.dumps(launched_together.models()))


def test_nothing_is_foreseen_of_what_no_model_is_like():
    recorder = launched_together.Recorder()
    frame = pd.DataFrame({"source": [0, 1], "destination": [1, 2]})
    with installed(recorder), stand_in_cudf.installed():
        ws.run(programs.Likeness, ws.Graph(stand_in_cudf.DataFrame(frame)))
    assert alike(next(iter(recorder.programs)), (9, 0)) == []
