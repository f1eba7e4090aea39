"""Results of type inference in memory, beside those on disk."""

from __future__ import annotations

from cugraph_ws.program import inference


def test_results_in_memory_are_bounded(monkeypatch):
    monkeypatch.setattr(inference, "_known", {})
    monkeypatch.setattr(inference, "MOST_KNOWN", 3)
    found = inference.Inference(("int64",), tuple_message=False)
    for number in range(5):
        assert inference.remembered(("bounded", number), lambda: found) == found
        assert len(inference._known) <= 3
    assert inference.remembered(("bounded", 4), lambda: 1 / 0) == found
