"""The reference interpreter against states that were computed by hand."""

from __future__ import annotations

import numpy as np
import pytest
import zoo
from reference import Graph, Unfit, run

import cugraph_ws as ws

PATH = Graph(4, [(0, 1), (1, 2), (2, 3)])


@ws.vertex_program
class Fraction:
    x: ws.int32

    def init(vertex):
        return 1

    def compute(src):
        return src.x / 2

    combine = sum

    def apply(old, gathered):
        return gathered


def after(program, graph, given=None, limit=None, field=None, **options):
    """Return a field after so many supersteps."""
    states = run(program, graph, given, max_iter=limit, **options).states
    return [value.item() for value in states[field or next(iter(states))]]


def test_a_minimum_travels_an_edge_in_each_superstep():
    given = {"start": 0}
    assert after(zoo.Hops, PATH, given, 0) == [0, 1000, 1000, 1000]
    assert after(zoo.Hops, PATH, given, 1) == [0, 1, 1000, 1000]
    assert after(zoo.Hops, PATH, given, 2) == [0, 1, 2, 1000]
    outcome = run(zoo.Hops, PATH, given)
    assert outcome.states["x"] == [0, 1, 2, 3]
    assert (outcome.supersteps, outcome.converged) == (4, True)  # in the last nothing changes


def test_a_limit_holds_for_all_messages_of_a_superstep():
    graph = Graph(3, [(0, 2), (1, 2)])
    given = {"first": {0: 50, 1: 900, 2: 10}, "limit": {0: 500, 1: 500, 2: 500}}
    assert after(zoo.Limited, graph, given) == [50, 900, 10]
    without = Graph(3, [(0, 2)])
    assert after(zoo.Limited, without, given) == [50, 900, 50]


def test_a_state_that_is_overwritten_had_its_message_first():
    # 0 → 1: 9 sends 1; 1 → 2: what 1 was at first, 5, sends 5, and what it becomes, 1, sends 9.
    @ws.vertex_program
    class Less:
        x: ws.int64

        def init(vertex):
            return 9 - vertex * 4

        def compute(src):
            return 10 - src.x

        combine = min

        def apply(old, gathered):
            return min(old.x, gathered)

    graph = Graph(3, [(0, 1), (1, 2)])
    assert after(Less, graph, None, 0) == [9, 5, 1]
    assert after(Less, Graph(3, [(0, 2), (1, 2)]), None, 1) == [9, 5, 1]
    assert after(Less, graph, None, 1) == [9, 1, 1]


def test_both_ends_of_an_undirected_edge_get_messages():
    graph = Graph(2, [(0, 1)], directed=False)
    assert after(zoo.LabelsUp, graph) == [1, 1]
    assert after(zoo.LabelsUp, Graph(2, [(0, 1)])) == [0, 1]


def test_messages_count_once_for_each_parallel_edge_and_a_loop_once():
    edges = [(0, 1), (0, 1), (1, 1)]
    # states 0 and 1: those of even count send True; 1 gets two from 0, none from itself
    assert after(zoo.Census, Graph(2, edges), None, 1) == [0, 2]
    # then both are even: two of 0, one of itself
    assert after(zoo.Census, Graph(2, edges), None, 2) == [0, 3]
    # undirected 0 gets 1's message, twice: nothing
    assert after(zoo.Census, Graph(2, edges, directed=False), None, 1) == [0, 2]
    assert after(zoo.Census, Graph(2, edges, directed=False), None, 2) == [2, 3]


def test_in_arcs_go_by_source_then_in_input_order():
    @ws.vertex_program
    class Last:
        x: ws.int64
        w: ws.edge(ws.int64)

        def init(vertex):
            return 0

        def compute(src, edge):
            return edge.w

        def combine(first, second):
            return second if second else first

        identity = 0

        def apply(old, gathered):
            return gathered

    graph = Graph(3, [(2, 0), (1, 0), (1, 0), (0, 2)], {"w": np.array([7, 9, 8, 5])})
    assert after(Last, graph, None, 1) == [7, 0, 5]
    assert graph.rows() == [[(1, 1), (1, 2), (2, 0)], [], [(0, 3)]]
    first = Graph(3, graph.edges, graph.attributes, directed=False)
    assert first.rows() == [[(1, 1), (1, 2), (2, 0), (2, 3)], [(0, 1), (0, 2)], [(0, 0), (0, 3)]]


def test_silence_is_an_identity_for_sums_and_nothing_for_minima():
    # states 0 … 3; x % 5 is sent, and 0 takes three away
    assert after(zoo.SilenceIsZero, PATH, None, 1) == [-3, -2, 1, 2]
    assert after(zoo.SilenceIsZero, PATH, None, 2) == [-6, 2, 3, 1]  # -3 % 5 = 2, -2 % 5 = 3
    # a minimum that overwrites: 0 keeps its 100, whatever happens
    assert after(zoo.KeptInSilence, PATH, None, 2) == [100, 50, 0, 3]


def test_a_minimum_of_all_says_what_silence_is():
    graph = Graph(3, [(0, 1)], {"weight": np.array([0.5])}, "weight")
    assert after(zoo.MinimumOfAll, graph, None, 1) == [-1.0, 0.5, -1.0]
    assert after(zoo.MinimumOfAll, graph, None, 2) == [-1.0, -0.5, -1.0]
    assert after(zoo.MaximumOfAll, PATH, None, 1, message=int) == [100, -4, -1, 2]
    assert after(zoo.FlagsOfAll, PATH, None, 1, message=bool) == [False, False, True, False]


def test_only_the_active_send_where_the_program_says_so():
    # 0 is 16, 1 is 11, 2 is 6, 3 is 1: of 11 from 16 nothing; all send at first
    graph = Graph(4, [(3, 2), (2, 1), (1, 0)])
    first = [0, 11, 6, 1]  # vertex * 11 % 16
    assert after(zoo.WorthTellingActive, graph, None, 0) == first
    # 2 gets 1 (5 less: active), 1 gets 6 (5 less: active), 0 gets 11 and keeps 0
    assert after(zoo.WorthTellingActive, graph, None, 1) == [0, 6, 1, 1]
    # 1 gets 1; 0 gets 6; 2 gets nothing, 3 is not active
    assert after(zoo.WorthTellingActive, graph, None, 2) == [0, 1, 1, 1]
    outcome = run(zoo.WorthTellingActive, graph)
    assert (outcome.supersteps, outcome.converged) == (3, True)


def test_active_without_a_change():
    # 1 starts as 1; active in supersteps 0 and 1, by hearing alone
    graph = Graph(3, [(0, 1), (1, 0), (1, 2)])
    outcome = run(zoo.Echo, graph, {"start": [0]})
    assert outcome.states["times"] == [1, 1, 1]
    assert outcome.supersteps == 3  # 0 sends, then 1, then 0 and 2, and no vertex after that


def test_if_all_send_all_vertices_start():
    assert after(zoo.NobodyStarts, PATH, None, 1) == [1, 1, 4, 7]
    outcome = run(zoo.NeverActive, PATH)
    assert (outcome.states["x"], outcome.supersteps) == ([1, 1, 2, 3], 1)


def test_supersteps_and_aggregates_are_those_before_the_superstep():
    # superstep k gives 10 k, and k for each in-arc
    assert after(zoo.Clock, PATH, None, 3) == [20, 22, 22, 22]
    # one lit flag before the first superstep, two before the second
    outcome = run(zoo.SumOfAggregate, Graph(3, [(0, 1), (1, 2)]))
    assert outcome.states["when"] == [0.0, 1.25, 2.25]


def test_a_residual_ends_a_run():
    @ws.vertex_program
    class Halving:
        x: ws.float64
        residual = ws.l1_norm("x")
        tol = 1.0

        def init(vertex):
            return 8.0

        def compute(src):
            return 0.0

        combine = sum

        def apply(old, gathered):
            return old.x / 2.0

    two = Graph(2, [])
    # changes of both together: 8, 4, 2, 1
    outcome = run(Halving, two)
    assert (outcome.states["x"], outcome.supersteps) == ([0.5, 0.5], 4)
    assert run(Halving, two, tol=4.0).supersteps == 2
    assert not run(Halving, two, max_iter=2).converged


def test_types_of_states_and_sums():
    graph = Graph(4, [(0, 2), (1, 2), (3, 2)])
    # 2 ** 24, 1 and 2 ** 24 in float32, added in float64 since `total` is
    assert after(zoo.ManySmall, graph, None, 1)[2] == 33554433.0
    due = Graph(2, [(0, 1), (0, 1)], {"weight": np.array([0.25, 0.5])}, "weight")
    assert after(zoo.Due, due, None, 1) == [0.0, 0.125]
    with pytest.raises(Unfit, match="int32"):
        run(Fraction, Graph(2, [(0, 1)]))


def test_infinity_in_an_integer_field_and_levels():
    graph = Graph(4, [(0, 1), (0, 2), (1, 2)])
    outcome = run(zoo.Levels, graph, {"start": [0]})
    assert outcome.states["level"] == [0, 1, 1, np.inf]
    assert zoo.shown(zoo.Levels, outcome.states, 4) == {"level": [0, 1, 1, None]}


def test_degrees_weights_shares_and_sets():
    graph = Graph(3, [(0, 1), (0, 1), (1, 1)], {"weight": np.array([0.5, 2.0, 1.0])}, "weight")

    @ws.vertex_program
    class Facts:
        x: ws.float64
        ins: ws.hidden(ws.int64)
        share: ws.float64
        weight: ws.edge()
        out: ws.out_weight
        degree: ws.in_degree
        shares: ws.distribution
        chosen: ws.vertex_set
        first: ws.vertex_value(ws.int64, default=4)

        def init(vertex, p, own):
            return own.out + (100 if own.chosen else 0) + own.first, own.degree, own.shares

        def compute(src):
            return 0

        combine = sum

        def apply(old, gathered):
            return old.x, old.ins, old.share

    given = {"chosen": [2], "shares": {0: 1.0, 1: 3.0}, "first": {1: 10}}
    states = run(Facts, graph, given).states
    assert states["x"] == [6.5, 11.0, 104.0]
    assert states["ins"] == [0, 3, 0]
    assert states["share"] == [0.25, 0.75, 0.0]


def test_a_combine_of_pairs_with_an_identity():
    graph = Graph(3, [(0, 2), (1, 2)], {"weight": np.array([1.0, 0.5])}, "weight")
    assert run(zoo.LeastPair, graph, max_iter=1).states == {
        "x": [1, 2, 0],  # 0 and 1 get no message: one more than they were
        "y": [0.0, 1.0, 1.0],  # 2 gets (0, 0 + 1) and (1, 1 + 0.5)
    }
