"""Programs that are proved to be right for many graphs at once are, and the others are not taken for such."""

from __future__ import annotations

import math
from typing import Any

import pandas as pd
import pytest
from grouped import SIZES, groups, ran
from zoo import ZOO
from zoo_edges import EDGE_ZOO
from zoo_meetings import MEETINGS

import cugraph_ws as ws
from cugraph_ws.program.by_group import why_not_together


@ws.vertex_program
class LeastOf:
    """The least vertex of a component."""

    label: ws.vertex_id

    def init(vertex):
        return vertex

    def compute(src):
        return src.label

    combine = min

    def apply(old, gathered):
        return min(old.label, gathered)


@ws.vertex_program
class EvenAmong:
    """The least vertex with an even number."""

    label: ws.int64

    def init(vertex):
        return vertex + vertex % 2

    def compute(src):
        return src.label

    combine = min

    def apply(old, gathered):
        return min(old.label, gathered)


@ws.vertex_program
class Grandparent:
    """A field of the vertex that a field names."""

    parent: ws.int64
    grand: ws.at("parent", "parent")

    def init():
        return 0

    def compute(src):
        return 1

    combine = sum

    def apply(old, gathered):
        return old.grand


@ws.vertex_program
class SumOfLabels:
    """Vertex numbers that are added by `combine` alone."""

    label: ws.vertex_id

    def init(vertex):
        return vertex

    def compute(src):
        return src.label

    combine = sum
    max_iter = 1

    def apply(old, gathered):
        return min(old.label, gathered)


@ws.vertex_program
class LabelAndHops:
    """A vertex number beside a field of another kind."""

    label: ws.vertex_id
    hops: ws.int64

    def init(vertex):
        return vertex, 0

    def compute(src):
        return src.label

    combine = min

    def apply(old, gathered):
        return min(old.label, gathered), old.hops


@ws.vertex_program
class ExceptTheFirst:
    """Vertex numbers that are compared with a constant."""

    label: ws.vertex_id

    def init(vertex):
        return vertex

    def compute(src):
        return src.label

    combine = max

    def apply(old, gathered):
        return old.label if old.label == 0 else max(old.label, gathered)


@ws.vertex_program
class LeastOfSome:
    """The same as `LeastOf`, by a branch, from vertices that are chosen."""

    label: ws.nullable(ws.vertex_id, math.inf)
    chosen: ws.vertex_set

    def init(vertex, own):
        return vertex if own.chosen else math.inf

    def compute(src):
        return src.label

    combine = min

    def apply(old, gathered):
        if gathered < old.label:
            return gathered
        return old.label


CASES = [*ZOO, *MEETINGS, *EDGE_ZOO]


def test_some_programs_are_proved_to_be_right_for_all_at_once_and_others_not() -> None:
    proved = {entry.program.name for entry in CASES if why_not_together(entry.program) is None}
    assert {"LabelsUp", "HistogramOfActive", "Jaccard", "CountedHalf", "AnyChosen"} <= proved
    reasons = {why_not_together(entry.program) for entry in CASES} - {None}
    assert len({reason.split("`")[-1] for reason in reasons}) == 8
    assert why_not_together(LeastOf) is None
    for program in (EvenAmong, Grandparent, SumOfLabels, LabelAndHops, ExceptTheFirst):
        assert why_not_together(program) == "it computes with vertex numbers"
    assert why_not_together(ws.BFS) is None
    assert why_not_together(ws.PageRank) == "`personalization` is scaled over the graph"


def shared_out(values: Any) -> Any:
    """Return values of the vertices 0 … 8 for the vertices of each group, and what holds for all as it is."""
    if not isinstance(values, dict):
        return [vertex for vertex in values if vertex < 4] if isinstance(values, list) else values
    rows = [
        (group, vertex, values[vertex])
        for group, (n, _) in SIZES.items()
        for vertex in values
        if vertex < n
    ]
    return pd.DataFrame(rows, columns=["group", "vertex", "value"])


@pytest.mark.parametrize(
    "entry", [entry for entry in CASES if why_not_together(entry.program) is None], ids=str
)
def test_programs_of_which_it_is_proved_are_right_for_all_at_once(entry: Any) -> None:
    edges = groups(5)
    given = {name: shared_out(values) for name, values in entry.given(9).items()}
    together = ws.run_groups(entry.program, edges, "group", engine="python", **given)
    pd.testing.assert_frame_equal(together, ran(entry.program, edges, **given))


@pytest.mark.parametrize(
    "program",
    [LeastOf, LeastOfSome, EvenAmong, Grandparent, SumOfLabels, LabelAndHops, ExceptTheFirst],
)
def test_programs_that_read_vertex_numbers_see_those_of_their_group(program: Any) -> None:
    edges, given = groups(5), {"chosen": [1, 3]} if program is LeastOfSome else {}
    result = ws.run_groups(program, edges, "group", engine="python", **given)
    pd.testing.assert_frame_equal(result, ran(program, edges, **given))
