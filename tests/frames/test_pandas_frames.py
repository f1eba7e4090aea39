"""Frames of pandas that are made from results: what calls share is not the caller's to change."""

from __future__ import annotations

import numpy as np
import pandas as pd

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
