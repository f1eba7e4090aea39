"""Values of vertices for a picture: every way to give them, and what is refused."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

import cugraph_ws as ws
from cugraph_ws.pictures.values import coordinates, values_of

EDGES = pd.DataFrame({"source": ["a", "b"], "destination": ["b", "c"]})
KINDS = pd.DataFrame({"vertex": ["a", "b", "c"], "kind": ["x", None, "y"], "rank": [1, 2, 3]})


@pytest.fixture(scope="module")
def graph():
    with ws.Graph(EDGES, vertices=KINDS) as built:
        yield built


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (KINDS[["vertex", "rank"]], [1, 2, 3]),
        (KINDS[["vertex", "rank", "kind"]][::-1], [1, 2, 3]),
        (pl.DataFrame({"vertex": ["c", "a"], "x": [0.5, 1.5]}), [1.5, np.nan, 0.5]),
        ({"b": 4, "a": 3}, [3, 4, np.nan]),
        ({"b": "left"}, [None, "left", None]),
        ("kind", ["x", None, "y"]),
        ("rank", [1, 2, 3]),
        ([7, 8, 9], [7, 8, 9]),
        (pd.DataFrame({"vertex": list("abc"), "x": pd.Categorical(["u", "v", "u"])}), ["u", "v", "u"]),
        (pd.DataFrame({"vertex": list("abc"), "x": pd.array([1, None, 3], "Int64")}), [1, np.nan, 3]),
    ],
)  # fmt: skip
def test_values(graph, data, expected):
    values = values_of(graph, data, "colour")
    pd.testing.assert_series_equal(
        pd.Series(values), pd.Series(expected), check_dtype=values.dtype != object
    )


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (
            "age",
            "colour='age': the vertices have no such column; they have: 'vertex', 'kind', 'rank'",
        ),
        ([1, 2], r"colour is \[1, 2\]: give a frame .*, or 3 values"),
        (KINDS[["vertex"]], "colour: the frame has no column beside the ids"),
        (KINDS[["rank"]], "colour: the frame has no id column 'vertex'; it has: 'rank'"),
        ({"z": 1}, "colour: 'z' is not a vertex"),
    ],
)
def test_values_that_are_refused(graph, data, message):
    with pytest.raises(ws.InputError, match=message):
        values_of(graph, data, "colour")


def test_coordinates(graph):
    places = pd.DataFrame({"vertex": ["c", "b", "a"], "x": [1, 2, 3], "y": [0.5, 1.5, 2.5]})
    assert coordinates(graph, places).tolist() == [[3, 2.5], [2, 1.5], [1, 0.5]]
    with pytest.raises(ws.InputError, match="layout: 1 vertices have no position"):
        coordinates(graph, places[:2])
    with pytest.raises(ws.InputError, match=r"layout is 'spring': give a frame of ids, x and y"):
        coordinates(graph, "spring")
