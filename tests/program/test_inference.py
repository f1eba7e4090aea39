"""Results of type inference: in memory beside those on disk, and what it refuses."""

from __future__ import annotations

import pandas as pd
import pytest

import cugraph_ws as ws
from cugraph_ws.program import inference


def test_results_in_memory_are_bounded(monkeypatch):
    monkeypatch.setattr(inference, "_known", {})
    monkeypatch.setattr(inference, "MOST_KNOWN", 3)
    found = inference.Inference(("int64",), tuple_message=False)
    for number in range(5):
        assert inference.remembered(("bounded", number), lambda: found) == found
        assert len(inference._known) <= 3
    assert inference.remembered(("bounded", 4), lambda: 1 / 0) == found


@ws.vertex_program
class KeepsTheMessage:
    length: ws.float64
    depot: ws.int64
    combine = ws.first_by("length", names=["length", "depot"])

    def init(vertex):
        return 9.0 - vertex, vertex

    def compute(src):
        return src.length, src.depot

    def apply(old, gathered):
        return gathered if gathered.length < old.length else (old.length, old.depot)


def test_a_message_with_names_beside_a_tuple_is_refused_with_the_remedy() -> None:
    edges = pd.DataFrame({"source": [0, 1], "destination": [1, 2]})
    remedy = r"KeepsTheMessage\.apply .*on another; write \(gathered\.length, gathered\.depot\)"
    with pytest.raises(ws.ProgramError, match=remedy):
        ws.run(KeepsTheMessage, edges, engine="cpu")
    frame = ws.run(KeepsTheMessage, edges, engine="python").frame
    assert frame["depot"].tolist() == [0, 1, 2]
