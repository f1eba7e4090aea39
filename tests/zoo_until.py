"""Programs that read aggregates of each kind, or that end by a condition on them."""

from __future__ import annotations

from zoo import Entry, entry

import cugraph_ws as ws

__all__ = ["BY_AGGREGATES", "FirstAlarm", "Harvest", "Quorum", "Spread"]

BY_AGGREGATES: list[Entry] = []  # that are run on one graph only


@entry(into=BY_AGGREGATES)
class Quorum:
    """Yes-votes pass on until two in three vertices have one; a count of flags says so."""

    yes: ws.boolean
    combine = any

    @ws.aggregate
    def votes(state):
        return state.yes

    def init(vertex):
        return vertex % 5 == 0

    def until(p):
        return 3 * p.votes >= 2 * p.number_of_vertices

    def compute(src):
        return src.yes

    def apply(old, gathered):
        return old.yes or gathered


@entry(into=BY_AGGREGATES)
class FirstAlarm:
    """Water rises until any vertex is flooded, whose dam is the lowest."""

    level: ws.int64
    combine = sum

    @ws.aggregate(any)
    def flooded(state):
        return state.level > 60

    def init(vertex):
        return 1 + vertex % 3

    def until(p):
        return p.flooded > 0

    def compute(src):
        return src.level

    def apply(old, gathered, p):
        return 0 if p.flooded else old.level + gathered + p.superstep


@entry(into=BY_AGGREGATES)
class Spread:
    """Neighbours move towards each other until greatest and least are near, or eight supersteps are over."""

    x: ws.float64
    combine = max
    contributors = "all"

    @ws.aggregate(max)
    def most(state):
        return state.x

    @ws.aggregate(min)
    def least(state):
        return state.x

    def init(vertex):
        return vertex * 5 % 8 * 0.5

    def until(p):
        return p.most - p.least < 0.25 or p.superstep == 8

    def compute(src):
        return src.x

    def apply(old, gathered, p):
        return (old.x + max(gathered, p.least)) * 0.5


@entry(into=BY_AGGREGATES)
class Harvest:
    """Each superstep the greatest of all is taken away: `active` and `apply` read an aggregate, a run ends by none."""

    x: ws.int64
    taken: ws.int64
    combine = sum
    max_iter = 5

    @ws.aggregate(max)
    def most(state):
        return state.x

    @ws.aggregate
    def ripe(state):
        return state.x > 6

    def init(vertex):
        return vertex * 7 % 10, 0

    def compute(src, p):
        return 1 if src.x >= p.most else 0

    def apply(old, gathered, p):
        if old.x >= p.most:
            return 0, old.taken + old.x
        return old.x + gathered + (1 if p.ripe < 3 else 0), old.taken

    def active(old, new, p):
        return new.x > 0 or p.ripe > 0


@entry(message=(float, float), into=BY_AGGREGATES)
class CollectiveAge:
    """Sums of tuples, scaled by the least that is a number, until the vertices that are old are most."""

    age: ws.float64
    wealth: ws.float64
    combine = sum

    @ws.aggregate(min)
    def youngest(state, p):
        return state.age + p.number_of_vertices

    @ws.aggregate
    def old_ones(state):
        return state.age >= 4.0

    def init(vertex):
        return 1.0 + vertex % 2, 0.25 * vertex

    def until(p):
        return p.old_ones * 2 > p.number_of_vertices

    def compute(src):
        return src.age * 0.5, src.wealth

    def apply(old, gathered, p):
        return old.age + 0.5, (old.wealth + gathered[0]) / p.youngest + gathered[1] * 0.125


@entry(into=BY_AGGREGATES)
class NobodyPoor:
    """A condition that holds before the first superstep, since no vertex is poor; nothing changes."""

    x: ws.int64
    combine = sum

    @ws.aggregate(any)
    def poor(state):
        return state.x < 0

    def init(vertex):
        return vertex

    def until(p):
        return not p.poor

    def compute(src):
        return src.x

    def apply(old, gathered):
        return old.x + gathered
