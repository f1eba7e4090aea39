"""What a vertex program means: supersteps, liberties, types, globals; each case once gave a wrong answer."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from plans import planned
from programs import Labels, Reached
from shapes import build, rmat

import cugraph_ws as ws
from cugraph_ws.execution.loop import Step
from cugraph_ws.execution.stall import IDLE_SUPERSTEPS

WAYS = [
    {},
    {"engine": "python"},
    {"direction": "gather"},
    {"in_place": False},
    {"fused": False},
    *(
        {"partitions": parts, "exchange": sends}
        for parts in (2, 3)
        for sends in ("vr", "ms", "all")
    ),
]
WAYS_OF_FRONTIERS = [*WAYS, {"direction": "push"}, {"direction": "pull"}]


def name(way):
    return ", ".join(f"{key}={value}" for key, value in way.items()) or "by default"


# ------------------------------------------------------------------------------------------ liberties


@ws.vertex_program
class Limited:
    """Takes only what is within its own limit: what comes one by one is taken, and not at once."""

    x: ws.float64
    first: ws.vertex_value(ws.float64)
    limit: ws.vertex_value(ws.float64)

    def init(vertex, p, own):
        return own.first

    def compute(src):
        return src.x

    combine = max

    def apply(old, gathered):
        if gathered > old.limit:
            return old.x
        return max(old.x, gathered)


@pytest.mark.parametrize("way", WAYS, ids=name)
def test_a_threshold_in_apply_sees_all_messages_of_a_superstep(way):
    frame = pd.DataFrame({"source": ["a", "b"], "destination": ["d", "d"]})
    first, limit = {"a": 50.0, "b": 900.0, "d": 10.0}, {"a": 0.0, "b": 0.0, "d": 500.0}
    result = ws.run(Limited, frame, **planned(first=first, limit=limit, **way))
    assert result.arrays["x"].tolist() == [50.0, 900.0, 10.0]
    assert result.synchronous


@pytest.mark.parametrize("way", WAYS_OF_FRONTIERS, ids=name)
@pytest.mark.parametrize("limit", [1, 2, 5])
def test_a_message_travels_one_edge_per_superstep(way, limit):
    edges = rmat(7, 4, seed=11)
    labels = list(range(edges.n))
    for _ in range(limit):
        before = list(labels)
        for u, v in zip(edges.source.tolist(), edges.destination.tolist(), strict=True):
            labels[v] = min(labels[v], before[u])
    with build(edges) as graph:
        result = ws.run(Labels, graph, **planned(max_iter=limit, **way))
    assert result.arrays["label"].numbers.tolist() == labels
    assert result.iterations == limit
    assert result.synchronous


def test_a_fixpoint_may_be_reached_out_of_order_and_says_so():
    with build(rmat(7, 4, seed=11)) as graph:
        assert not ws.run(Labels, graph).synchronous
        assert ws.run(Labels, graph, engine="python").synchronous
        assert ws.run(Labels, graph, plan=ws.Plan(direction="gather")).synchronous
        assert ws.run(Labels, graph, max_iter=100).synchronous
        stopped = ws.run(
            Labels, graph, progress=lambda update: update.superstep < 1, plan=ws.Plan(fused=False)
        )
        assert not stopped.synchronous
        with pytest.raises(ws.ConvergenceError, match="supersteps are not comparable"):
            stopped.require_convergence("labels")
        assert ws.run(ws.BFS, graph, start=0).synchronous, "a search goes by levels in any case"
        assert not ws.run(
            Labels, graph, plan=ws.Plan(direction="gather", in_place=True)
        ).synchronous


def test_a_direction_that_needs_the_proof_says_what_is_missing():
    frame = pd.DataFrame({"source": [0, 1], "destination": [1, 2]})
    given = {"first": 1.0, "limit": 1.0}
    with pytest.raises(
        ws.InputError, match=r"not proved .*\(apply is not plainly max.*asynchronous"
    ):
        ws.run(Limited, frame, **planned(direction="push", **given))


@ws.vertex_program
class Adds:
    """Declares what is plainly false."""

    x: ws.float64
    asynchronous = True

    def init(vertex):
        return 1.0

    def compute(src):
        return src.x

    combine = min

    def apply(old, gathered):
        return old.x + gathered


def test_a_declaration_that_is_plainly_false_is_a_warning():
    frame = pd.DataFrame({"source": [0], "destination": [1]})
    with pytest.warns(ws.GraphWarning, match="by the same message again; leave out asynchronous"):
        ws.run(Adds, frame, max_iter=1)
    assert not ws.check(Adds, frame, max_iter=2), "the check decides"


# ----------------------------------------------------------------------------------------- which vertices begin


@pytest.mark.parametrize("way", [*WAYS, {"partitions": 4, "direction": "push"}], ids=name)
def test_arcs_between_partitions_count_for_the_active_start(way):
    @ws.vertex_program
    class Greatest:
        """The greatest first value of which a path leads here."""

        x: ws.int64
        first: ws.vertex_value(ws.int64)

        def init(vertex, p, own):
            return own.first

        def compute(src):
            return src.x

        combine = max

        def apply(old, gathered):
            return max(old.x, gathered)

    n = 60
    path = pd.DataFrame({"source": np.arange(n - 1), "destination": np.arange(1, n)})
    first = (np.arange(n) < n // 2).astype(np.int64)
    result = ws.run(Greatest, path, **planned(first=first, **way))
    assert result.arrays["x"].sum() == n
    assert result.converged


# --------------------------------------------------------------------------------------- types, silence


@ws.vertex_program
class Dues:
    """Messages of one type on some edges, and of another on others."""

    due: ws.float64
    amount: ws.edge(ws.float64)
    max_iter = 1

    def init(vertex):
        return 0.0

    def compute(edge, src):
        return 0 if edge.amount < 10 else edge.amount * 0.001

    combine = sum

    def apply(gathered, old):
        return gathered


@pytest.mark.parametrize("way", WAYS, ids=name)
def test_a_message_has_the_type_of_all_paths_and_arguments_go_by_name(way):
    frame = pd.DataFrame({"source": [0, 1], "destination": [2, 2], "amount": [5.0, 250.0]})
    assert ws.run(Dues, frame, **planned(**way)).arrays["due"].tolist() == [0.0, 0.0, 0.25]


def test_sums_are_added_up_in_the_type_of_the_state():
    @ws.vertex_program
    class Total:
        """Adds up float32 numbers of edges in float64."""

        total: ws.float64
        w: ws.edge(ws.float32)
        max_iter = 1

        def init(vertex):
            return 0.0

        def compute(edge):
            return edge.w

        combine = sum

        def apply(gathered):
            return gathered

    m = 1 << 16
    frame = pd.DataFrame({"source": np.arange(1, m + 1), "destination": 0})
    frame["w"] = np.full(m, 0.1, np.float32)
    exact = m * float(np.float32(0.1))
    assert ws.run(Total, frame).arrays["total"][0] == pytest.approx(exact, rel=1e-12)


def test_a_fraction_does_not_go_into_an_integer():
    def define(kind, first, apply_):
        @ws.vertex_program
        class Halves:
            """Returns a fraction, perhaps for a field that holds none."""

            x: kind
            init = first
            compute = one
            combine = sum
            apply = apply_
            max_iter = 1

        return Halves

    def one(src):
        return 1

    def zero(vertex):
        return 0

    def half(vertex):
        return 0.5 if vertex == 10**9 else 1

    def halved(old, gathered):
        return gathered / 2

    def whole(old, gathered):
        return gathered // 2

    frame = pd.DataFrame({"source": [0, 1, 2], "destination": [3, 3, 3]})
    with pytest.raises(ws.ProgramError, match=r"Halves.apply .* for `x`, which is int64"):
        ws.run(define(ws.int64, zero, halved), frame)
    with pytest.raises(ws.ProgramError, match=r"Halves.init .*float64 for `x`, which is int32"):
        ws.run(define(ws.int32, half, whole), frame)
    assert ws.run(define(ws.int64, zero, whole), frame).arrays["x"].tolist() == [0, 0, 0, 1]
    assert ws.run(define(ws.float64, zero, halved), frame).arrays["x"].tolist() == [0, 0, 0, 1.5]


def test_a_path_without_a_number_is_refused():
    @ws.vertex_program
    class Silent:
        """Returns nothing for some edges."""

        x: ws.float64
        w: ws.edge(ws.float64, default=1.0)

        def init(vertex):
            return 0.0

        def compute(src, edge):
            if edge.w < 1e9:
                return src.x
            return None

        combine = sum

        def apply(old, gathered):
            return gathered

    frame = pd.DataFrame({"source": [0], "destination": [1]})
    with pytest.raises(ws.ProgramError, match=r"Silent.compute .*returns nothing on some path"):
        ws.run(Silent, frame)


def silence(kind, how, contributes=None):
    @ws.vertex_program
    class Silence:
        """Takes what comes instead of what was."""

        x: kind
        combine = how
        contributors = contributes
        max_iter = 1

        def init(vertex):
            return 7

        def compute(src):
            return src.x

        def apply(old, gathered):
            return gathered

    return Silence


@pytest.mark.parametrize("way", WAYS, ids=name)
@pytest.mark.parametrize(
    ("kind", "how", "contributes", "expected"),
    [
        (ws.int64, min, None, 7),
        (ws.int32, max, None, 7),
        (ws.float64, sum, None, 0.0),
        (ws.float64, min, "all", math.inf),
        (ws.int64, max, "all", np.iinfo(np.int64).min),
    ],
    ids=str,
)
def test_a_vertex_without_in_edges(kind, how, contributes, expected, way):
    frame = pd.DataFrame({"source": [0, 1], "destination": [1, 2]})
    result = ws.run(silence(kind, how, contributes), frame, **planned(**way))
    assert result.arrays["x"].tolist() == [expected, 7, 7]


# No program with combine = any gathers from all.
@pytest.mark.parametrize(
    "way", [way for way in WAYS_OF_FRONTIERS if way.get("direction") != "gather"], ids=name
)
def test_any_of_flags_is_whether_one_is_set(way):
    """A message that is not set comes first: it does not hide the one that is."""
    frame = pd.DataFrame({"source": [0, 1, 2], "destination": [2, 2, 3]})
    result = ws.run(Reached, frame, **planned(start=[1], **way))
    assert result.arrays["reached"].tolist() == [False, True, True, True]


# -------------------------------------------------------------------------------------------- globals


FACTOR = 5


class Held:
    """Something that holds a number."""


@ws.vertex_program
class Scaled:
    """Counts in-neighbours, times a global."""

    x: ws.float64
    max_iter = 1

    def init(vertex):
        return 0.0

    def compute(src):
        return 1.0

    combine = sum

    def apply(old, gathered):
        return gathered * FACTOR


@pytest.mark.parametrize("way", [{}, {"engine": "python"}], ids=name)
def test_globals_are_read_when_a_run_begins(way, monkeypatch, tmp_path):
    frame = pd.DataFrame({"source": [0, 1], "destination": [2, 2]})
    state = tmp_path / "state.parquet"
    assert ws.run(Scaled, frame, **planned(checkpoint=state, **way)).arrays["x"][2] == 10.0
    monkeypatch.setitem(globals(), "FACTOR", 7)
    assert ws.run(Scaled, frame, **planned(**way)).arrays["x"][2] == 14.0
    with pytest.raises(ws.InputError, match="program"):
        ws.run(Scaled, frame, **planned(resume=state, **way))
    monkeypatch.setitem(globals(), "FACTOR", 5)
    assert ws.run(Scaled, frame, **planned(**way)).arrays["x"][2] == 10.0


def test_closures_are_read_when_a_run_begins():
    factor = 2.0

    @ws.vertex_program
    class Closed:
        """Counts in-neighbours, times a variable of the function around."""

        x: ws.float64
        max_iter = 1

        def init(vertex):
            return 0.0

        def compute(src):
            return factor

        combine = sum

        def apply(gathered):
            return gathered

    frame = pd.DataFrame({"source": [0, 1], "destination": [2, 2]})
    assert ws.run(Closed, frame).arrays["x"][2] == 4.0
    factor = 3.0
    assert ws.run(Closed, frame).arrays["x"][2] == 6.0


def test_a_number_of_a_vertex_is_no_id():
    @ws.vertex_program
    class Numbers:
        """Keeps the number of each vertex as if it were its id."""

        label: ws.int64

        def init(vertex):
            return vertex

        def compute(src):
            return src.label

        combine = min

        def apply(old, gathered):
            return min(old.label, gathered)

    sparse = pd.DataFrame({"source": [10, 20], "destination": [20, 30]})
    with pytest.raises(ws.ProgramError, match=r"sets `label` to the vertex number.*ws.vertex_id"):
        ws.run(Numbers, sparse)
    dense = pd.DataFrame({"source": [0, 1], "destination": [1, 2]})
    assert ws.run(Numbers, dense).arrays["label"].tolist() == [0, 0, 0]


# ------------------------------------------------------------------------------------ crashes and hangs


def test_without_priorities_nothing_is_filed_for_later():
    """More than eight thousand vertices in a fused push, of a program that has a priority."""
    rng = np.random.default_rng(0)
    n, m = 60_000, 210_000
    source = rng.integers(0, n, m)
    destination = np.clip(source + rng.integers(-2000, 2001, m), 0, n - 1)
    frame = pd.DataFrame({"source": source, "destination": destination, "w": rng.random(m) + 0.01})
    with ws.Graph(frame, weight="w", directed=False) as graph:
        found = [
            ws.run(ws.SSSP, graph, start=int(source[0]), plan=ws.Plan(priorities=given)).arrays[
                "distance"
            ]
            for given in (False, True, False)
        ]
    assert (found[0].values == found[1].values).all()
    assert (found[2].values == found[1].values).all()


@pytest.mark.parametrize("way", WAYS_OF_FRONTIERS, ids=name)
def test_priorities_with_an_infinite_sum(way):
    frame = pd.DataFrame({"source": [0, 1, 2, 0], "destination": [1, 2, 0, 2], "weight": 9e307})
    with ws.Graph(frame, weight="weight") as graph:
        result = ws.run(ws.WidestPath, graph, **planned(start=0, **way))
    assert result.converged
    assert result.arrays["width"].values.tolist() == [math.inf, 9e307, 9e307]


def test_states_that_come_again_end_a_run():
    @ws.vertex_program
    class Turns:
        """Passes values on around a cycle, for ever."""

        x: ws.int64

        def init(vertex):
            return vertex % 7

        def compute(src):
            return src.x

        combine = min

        def apply(old, gathered):
            return gathered

    frame = pd.DataFrame({"source": [0, 1, 2], "destination": [1, 2, 0]})
    with pytest.raises(
        ws.ConvergenceError, match=r"Turns will not converge: .* 3 supersteps before"
    ):
        ws.run(Turns, frame)
    assert ws.run(Turns, frame, max_iter=1500).stopped == "max_iter"


def test_a_run_in_which_nothing_happens_ends(monkeypatch):
    from cugraph_ws.execution.vertex_loop import VertexLoop

    def idle(self):
        self._counts.active, self._counts.waiting = 0, 1
        return Step(active=0, edges=0)

    monkeypatch.setattr(VertexLoop, "step", idle)
    frame = pd.DataFrame({"source": [0], "destination": [1]})
    with pytest.raises(
        ws.ConvergenceError, match=rf"no progress: .* in {IDLE_SUPERSTEPS} supersteps"
    ):
        ws.run(ws.SSSP, frame, start=0)


def test_shapes_mean_the_same_in_every_way(tiny_shape):
    """The last of three supersteps of labels, on every shape, as plain loops find it."""
    labels = list(range(tiny_shape.n))
    arcs = list(zip(tiny_shape.source.tolist(), tiny_shape.destination.tolist(), strict=True))
    if not tiny_shape.directed:
        arcs += [(v, u) for u, v in arcs]
    for _ in range(3):
        before = list(labels)
        for u, v in arcs:
            labels[v] = min(labels[v], before[u])
    with build(tiny_shape) as graph:
        for way in WAYS_OF_FRONTIERS:
            if way.get("partitions", 1) > max(1, tiny_shape.n):
                continue
            result = ws.run(Labels, graph, **planned(max_iter=3, **way))
            assert result.arrays["label"].numbers.tolist() == labels, name(way)
