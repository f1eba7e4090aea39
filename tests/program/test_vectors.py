"""Programs with vectors: what they mean on every engine and in parts, and what is refused."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from emulator.device import emulated
from reference_vectors import vectors
from zoo_vectors import WIDE, Beliefs, K, Labels, MinHash, Reached, Sketch, Smoothed

import cugraph_ws as ws

RNG = np.random.default_rng(8)
N = 14
EDGES = pd.DataFrame(
    {
        "source": RNG.integers(0, N - 1, 40),  # the last vertex has no out-edges
        "destination": RNG.integers(0, N - 2, 40),  # and the last two no in-edges
        "weight": RNG.integers(1, 9, 40) / 8,
    }
)
PLACES = [f"f{place}" for place in range(K)]
VALUES = RNG.integers(1, 9, (N, K)) / 8
PRIORS = RNG.integers(1, 9, (N, WIDE)) / 8
SEEDS = np.where(np.arange(N)[:, None] < 4, np.eye(K)[np.arange(N) % K], 0.0)
STARTS = np.where(np.arange(N) < 3, np.arange(N), -1)
DEGREES = np.bincount(EDGES.destination, minlength=N)


def framed(values: np.ndarray) -> pd.DataFrame:
    """Return vectors as a frame, its rows in another order."""
    columns = [f"f{place}" for place in range(values.shape[1])]
    return pd.DataFrame(values, columns=columns).assign(vertex=range(N)).iloc[::-1]


CASES: dict[Any, tuple[dict[str, Any], dict[str, Any], dict[str, Any]]] = {
    Labels: ({"given": framed(SEEDS)}, {"given": SEEDS}, {}),
    Smoothed: ({"features": framed(VALUES)}, {"features": VALUES}, {"alpha": 0.5}),
    MinHash: ({}, {}, {}),
    Sketch: ({}, {}, {}),
    Beliefs: ({"prior": framed(PRIORS)}, {"prior": PRIORS, "degree": DEGREES}, {}),
    Reached: ({"start": dict(enumerate(STARTS.tolist()))}, {"start": STARTS}, {}),
}


def graph() -> ws.Graph:
    return ws.Graph(EDGES, weight="weight", vertices=pd.DataFrame({"vertex": range(N)}))


def states_of(program: Any, frame: pd.DataFrame) -> dict[str, np.ndarray]:
    """Return the columns of a result, those of vectors as one array."""
    states = {}
    for name, declared in program.state.items():
        length = getattr(declared.type, "length", 0)
        columns = [f"{name}_{place}" for place in range(length)] or [name]
        states[name] = frame[columns].to_numpy().reshape(len(frame), -1)
    return states


@pytest.mark.parametrize("program", CASES, ids=lambda program: program.name)
def test_zoo(program: Any) -> None:
    given, constants, parameters = CASES[program]
    arcs = EDGES.rename(columns={"source": "src", "destination": "dst"})
    arcs = arcs.assign(w=arcs.weight).to_dict("records")
    opened = graph()
    runs = [
        ws.run(program, opened, engine="python", **given),
        ws.run(program, opened, engine="cpu", **given),
        ws.run(program, opened, engine="cpu", plan=ws.Plan(partitions=3), **given),
    ]
    frames = [run.frame for run in runs]
    with emulated(), graph() as on_device:
        runs.append(ws.run(program, on_device, engine="cuda", **given))
        frames.append(runs[-1].frame)
    expected = vectors(program, N, arcs, constants, runs[0].iterations, **parameters)
    assert len(expected) == runs[0].iterations > 1
    for run, frame in zip(runs, frames, strict=True):
        assert run.iterations == runs[0].iterations
        assert run.stopped == runs[0].stopped
        for name, column in states_of(program, frame).items():
            wanted = expected[-1][name].reshape(N, -1)
            single = column.dtype == np.float32
            np.testing.assert_allclose(
                column, wanted, rtol=2e-5 if single else 1e-12, atol=1e-6 * single
            )
    assert ws.check(program, opened, **given)


def test_a_row_longer_than_a_warp() -> None:
    sources = np.arange(
        1, 72
    )  # two whole turns of 32 lanes, a group of four arcs, and three arcs more
    edges = pd.DataFrame({"source": sources, "destination": 0})
    features = np.random.default_rng(3).random((72, WIDE))

    @ws.vertex_program
    class Sums:
        x = ws.vector(ws.float32, WIDE)
        features = ws.vertex_value(ws.vector(ws.float32, WIDE))
        combine = sum
        max_iter = 1

        def init(own):
            return own.features

        def compute(src):
            return src.x if np.max(src.x) > 0.95 else ws.no_message

        def apply(old, gathered):
            return gathered

    by_cpu = ws.run(Sums, ws.Graph(edges), engine="cpu", features=features).frame
    with emulated():
        by_gpu = ws.run(Sums, ws.Graph(edges), engine="cuda", features=features).frame
    pd.testing.assert_frame_equal(by_cpu, by_gpu)  # added in the same order
    total = np.zeros(WIDE, np.float32)
    for row in features[1:].astype(np.float32):
        total += row if row.max() > 0.95 else 0
    np.testing.assert_array_equal(by_gpu.filter(like="x_").to_numpy()[0], total)


def test_several_emulated_gpus() -> None:
    with emulated():
        report = ws.check(Sketch, graph(), max_iter=1)
    assert report
    assert "engine='cuda', plan=Plan(partitions=2)" in report.configurations


def test_a_run_goes_on_from_its_checkpoint(tmp_path: Any) -> None:
    given = CASES[Labels][0]
    whole = ws.run(Labels, graph(), engine="cpu", **given)
    file = tmp_path / "labels.parquet"
    ws.run(Labels, graph(), engine="cpu", max_iter=2, checkpoint=file, every=1, **given)
    for partitions in (1, 2):
        plan = ws.Plan(partitions=partitions)
        resumed = ws.run(Labels, graph(), engine="cpu", resume=file, plan=plan, **given)
        assert resumed.iterations == whole.iterations
        pd.testing.assert_frame_equal(resumed.frame, whole.frame)


def test_values_are_given_by_columns_and_arrays() -> None:
    frame = pd.DataFrame(VALUES, columns=PLACES).assign(vertex=range(N))
    attributed = ws.Graph(EDGES, weight="weight", vertices=frame)
    expected = ws.run(Smoothed, graph(), features=framed(VALUES)).frame
    for features in (PLACES, VALUES):
        pd.testing.assert_frame_equal(
            ws.run(Smoothed, attributed, features=features).frame, expected
        )


@pytest.mark.parametrize(
    ("features", "message"),
    [
        (None, "needs features=, a vector of 6 numbers for each vertex"),
        (PLACES[:4], "features has 4 columns of numbers"),
        (VALUES[:, :2], r"of shape \(14, 2\)"),
        (framed(VALUES).head(3), "features"),
        (2.0, "features=2.0 has no columns"),
    ],
)
def test_values_that_are_no_vectors_are_refused(features: Any, message: str) -> None:
    with pytest.raises(ws.InputError, match=message):
        ws.run(Smoothed, graph(), features=features)


def program(**members: Any) -> Any:
    """Make a program of a vector of 4 and, of its functions, those that are given."""

    def init(vertex):
        return 0.0

    def compute(src):
        return src.x

    def apply(old, gathered):
        return old.x + gathered

    body = {"x": ws.vector(ws.float32, 4), "combine": sum, "max_iter": 2, "init": init, "compute": compute, "apply": apply}  # fmt: skip
    return ws.vertex_program(type("Four", (), {**body, **members}))


def one_part(src):
    return src.x, 1


def a_settled(state):
    return state.x[0] > 1


def a_larger(a, b):
    return a if a > b else b


def an_edge(src, edge):
    return src.x


@pytest.mark.parametrize(
    ("members", "message"),
    [
        (
            {"combine": any},
            "combine is any; vectors are folded element by element by sum, min or max",
        ),
        ({"combine": ws.mode()}, "vectors are folded"),
        ({"combine": a_larger, "identity": 0.0}, "vectors are folded"),
        ({"combine": (sum, ws.top(2))}, "or to one for each part of a message"),
        ({"combine": min, "asynchronous": True}, "leave out `asynchronous`"),
        ({"in_place": True}, "leave out `in_place`"),
        ({"settled": a_settled}, "leave out `settled`"),
        ({"combine": min, "first": ws.predecessor}, "leave out `first`"),
        ({"y": ws.vector(ws.float32, 5)}, "x is a vector of 4 and y one of 5"),
        ({"x_1": ws.float64}, "x_1: that is the name of a column of the vector `x`"),
        ({"w": ws.edge(ws.vector(ws.float32, 4)), "compute": an_edge}, "declare ws.float32 here"),
        ({"x": ws.nullable(ws.vector(ws.float32, 4), 0)}, "without ws.nullable"),
    ],
)
def test_declarations_that_vectors_do_not_go_with(members: dict[str, Any], message: str) -> None:
    with pytest.raises(ws.ProgramError, match=message):
        program(**members)


@pytest.mark.parametrize(
    ("type_", "length", "message"),
    [
        (ws.float32, 257, "from 1 to 256"),
        (ws.float32, 0, "from 1 to 256"),
        (ws.float32, True, "from 1 to 256"),
        (ws.boolean, 4, "the elements of a vector are ws.float32"),
        (ws.vector(ws.float32, 2), 4, "the elements of a vector are"),
        (float, 4, "the elements of a vector are"),
    ],
)
def test_vectors_that_cannot_be(type_: Any, length: Any, message: str) -> None:
    with pytest.raises(ws.ProgramError, match=message):
        ws.vector(type_, length)


def sends_a_slice(src):
    return src.x[1:]


def sends_element_four(src):
    return src.x[4]


def branches_on_a_vector(src):
    return src.x if src.x > 0 else 0.0


def joins_by_and(src):
    return src.x > 0 and src.x < 1


def compares_in_a_chain(src):
    return 0 < src.x < 1


def calls_max(src):
    return max(src.x, 0.0)


def calls_math(src):
    return math.exp(src.x)


def makes_three(src):
    return src.x + np.arange(3)


def loops_over_elements(src):
    total = 0.0
    for element in src.x:
        total += element
    return total


def assigns_in_a_loop(src):
    sent = src.x
    for _ in range(3):
        sent = sent * 2
    return sent


def half(x):
    return x / 2


def calls_a_helper(src):
    return half(src.x)


@pytest.mark.parametrize(
    ("compute", "message"),
    [
        (sends_a_slice, "is part of a vector"),
        (sends_element_four, "element 4 of a vector of 4"),
        (branches_on_a_vector, "use np.where"),
        (joins_by_and, "use np.logical_and"),
        (compares_in_a_chain, "in a chain"),
        (calls_max, "calls `max` with a vector; np.max"),
        (calls_math, r"calls `math.exp` with a vector; .*np.exp"),
        (makes_three, "not a vector of 4 elements"),
        (loops_over_elements, "iterates over a vector"),
        (assigns_in_a_loop, "assigns the vector `sent` in a loop"),
        (calls_a_helper, "calls `half` with a vector"),
    ],
)
def test_functions_that_vectors_do_not_go_through(compute: Any, message: str) -> None:
    refused = program(compute=compute)
    with pytest.raises(ws.ProgramError, match=message):
        ws.run(refused, graph(), engine="cpu")


def test_a_vector_where_a_number_is_needed() -> None:
    def init(vertex):
        return 0.0, 0.0

    def apply(old, gathered):
        return old.x, gathered

    def active(old, new):
        return new.x != old.x

    with pytest.raises(ws.ProgramError, match="returns a vector for `y`, which is a number"):
        ws.run(program(y=ws.float64, init=init, apply=apply), graph())
    with pytest.raises(ws.ProgramError, match=r"returns 2 parts, but \(sum, max, min\) folds 3"):
        ws.run(program(combine=(sum, max, min), compute=one_part), graph())
    with pytest.raises(ws.ProgramError, match=r"active .* returns a vector; return a number"):
        ws.run(program(active=active), graph())


def test_help_names_the_columns() -> None:
    assert "share_0, ..., share_5 : float32" in Labels.__doc__
    assert "given : 6 float32 of each vertex, by default 0.0" in Labels.__doc__


def test_edge_programs_have_no_vectors() -> None:
    class Common:
        x = ws.vector(ws.float32, 4)

    with pytest.raises(ws.ProgramError, match="an edge program has no vectors"):
        ws.edge_program(Common)


def test_where_vectors_are_refused() -> None:
    with pytest.raises(ws.ProgramError, match="phases do not hand on"):
        ws.phases(MinHash)
    with pytest.raises(ws.InputError, match="no plan to explain"):
        ws.explain(MinHash, graph())
    with pytest.raises(ws.InputError, match="direction='push': MinHash has vectors"):
        ws.run(MinHash, graph(), plan=ws.Plan(direction="push"))
    with pytest.raises(ws.InputError, match="declares no residual"):
        ws.run(MinHash, graph(), tol=1e-3)
