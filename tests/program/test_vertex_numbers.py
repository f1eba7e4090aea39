"""Constants that are the number or the id of a vertex: `ws.vertex_number` and `ws.integer_id`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from clusters import workers
from emulator.device import emulated
from plans import planned

import cugraph_ws as ws
from cugraph_ws.program.by_group import why_not_together

IDS = np.array([-7, 40, 11, 900], np.int32)  # numbers are ranks: 0, 2, 1, 3
EDGES = pd.DataFrame({"source": IDS[[0, 1, 2]], "destination": IDS[[1, 2, 3]]})
WAYS: list[dict[str, Any]] = [{}, {"partitions": 2}, {"engine": "python", "partitions": 3}]


@ws.vertex_program
class Sent:
    """What a vertex's in-neighbours are called, and its own number."""

    heard: ws.int64
    place: ws.int64
    name: ws.integer_id
    me: ws.vertex_number
    combine = sum
    max_iter = 1

    def init():
        return 0, 0

    def compute(src, dst):
        return src.name * 1000 + dst.me

    def apply(old, gathered):
        return gathered + old.name, old.me


HEARD = {-7: -7, 11: 40_012, 40: -6958, 900: 11_903}


@ws.edge_program
class Ends:
    """The numbers and the ids of the ends of an edge."""

    numbers: ws.int64
    ids: ws.int64
    me: ws.vertex_number
    name: ws.integer_id
    combine = sum

    def common():
        return 1

    def value(u, v):
        return u.me * 10 + v.me, u.name * 10_000 + v.name


def heard(graph: Any, **options: Any) -> dict[int, int]:
    frame = ws.run(Sent, graph, **planned(**options)).frame
    assert frame["place"].tolist() == list(range(len(frame)))
    return dict(zip(frame["vertex"].tolist(), frame["heard"].tolist(), strict=True))


def test_every_way_knows_numbers_and_ids() -> None:
    with ws.Graph(EDGES) as graph:
        for way in WAYS:
            assert heard(graph, **way) == HEARD, way
        with emulated():
            assert heard(graph, engine="cuda") == HEARD


def test_ends_of_edges() -> None:
    expected = {(-7, 40): (2, -69_960), (11, 40): (12, 110_040), (11, 900): (13, 110_900)}
    with ws.Graph(EDGES) as graph:
        for way in WAYS:
            frame = ws.run(Ends, graph, **planned(**way)).frame
            rows = zip(*(frame[name].tolist() for name in frame.columns), strict=True)
            assert {row[:2]: row[2:] for row in rows} == expected, way


def test_ids_that_are_no_integers() -> None:
    text = EDGES.astype(str)
    with (
        ws.Graph(text) as graph,
        pytest.raises(ws.InputError, match=r"Sent.name .*ids of this graph are"),
    ):
        ws.run(Sent, graph)
    pairs = EDGES.assign(a=1, b=2)
    with (
        ws.Graph(pairs, source=["source", "a"], destination=["destination", "b"]) as graph,
        pytest.raises(ws.InputError, match="have 2 columns; declare it"),
    ):
        ws.run(Sent, graph)
    great = pd.DataFrame({"source": [0], "destination": [2**63]}, dtype="uint64")
    with ws.Graph(great) as graph, pytest.raises(ws.InputError, match="the id 9223372036854775808"):
        ws.run(Sent, graph)
    with ws.Graph(EDGES) as graph, pytest.raises(ws.InputError, match="no parameter 'me'"):
        ws.run(Sent, graph, me=1)


def test_numbers_differ_in_groups_and_ids_do_not() -> None:
    assert why_not_together(Sent) == "it computes with vertex numbers"
    both = pd.concat([EDGES.assign(group=g) for g in (1, 2)])
    frame = ws.run_groups(Sent, both, by="group")
    assert frame["heard"].tolist() == [HEARD[v] for v in frame["vertex"]]
    assert len(frame) == 8


@pytest.mark.long
def test_dask() -> None:
    dd = pytest.importorskip("dask.dataframe")
    with workers(2), ws.Graph(dd.from_pandas(EDGES, npartitions=2), spread="parts") as graph:
        frame = ws.run(Sent, graph).frame.compute()
        assert dict(zip(frame["vertex"].tolist(), frame["heard"].tolist(), strict=True)) == HEARD
