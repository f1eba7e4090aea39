"""Frames of pandas that are made from results: what calls share is not the caller's to change."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import cugraph_ws as ws
from cugraph_ws.frames.pandas import make_frame


def test_frames_are_as_pandas_makes_them():
    columns = {
        "vertex": np.arange(3),
        "rank": np.arange(3.0),
        "part": np.array([True, False, True]),
    }
    made = make_frame(columns, arrow_backed=False)
    pd.testing.assert_frame_equal(made, pd.DataFrame(columns), check_column_type="exact")
    with pd.option_context("future.infer_string", False):
        as_object = make_frame(columns, arrow_backed=False)
        pd.testing.assert_frame_equal(as_object, pd.DataFrame(columns), check_column_type="exact")


def test_frames_share_no_labels_and_no_ids():
    edges = pd.DataFrame({"source": [5, 6, 7], "destination": [6, 7, 5]})
    graph = ws.Graph(edges)
    first, expected = ws.degrees(graph), ws.degrees(graph).copy(deep=True)
    first.columns.name = "labels"
    first["vertex"] = 0
    first.loc[0, "vertex"] = 1
    again = ws.degrees(graph)
    pd.testing.assert_frame_equal(again, expected)
    again["vertex"].to_numpy(copy=True)[:] = 0
    again.iloc[:, 0] += 1
    pd.testing.assert_frame_equal(ws.degrees(graph), expected)


@pytest.mark.parametrize("dtype", ["int64", "Int64", "datetime64[ns]", "object"])
def test_frames_of_a_result_do_not_change_with_one_another(dtype):
    ids = pd.Series([1, 2, 3, 4]).astype(dtype)
    edges = pd.DataFrame({"source": ids[:3], "destination": ids[1:].reset_index(drop=True)})
    result = ws.run(ws.BFS, edges, start=ids[0], predecessors=True)
    changed, expected = result.frame, result.frame.copy(deep=True)
    for column in changed:
        changed.loc[1, column] = changed[column].iloc[2]
    pd.testing.assert_frame_equal(result.frame, expected)
    assert (changed["distance"] != expected["distance"]).any()
