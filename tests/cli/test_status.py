"""On a terminal a command says what it is doing; what took long leaves its time and rate."""

import io
import sys
from types import SimpleNamespace

import pytest

from cugraph_ws.cli import status


class Terminal(io.StringIO):
    def isatty(self):
        return True


def shown(monkeypatch, *, quiet=False, progress=None, terminal=True):
    """Return what a stage of two seconds writes."""
    stream = Terminal() if terminal else io.StringIO()
    clock = iter([10.0, 12.0])
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr(status, "time", SimpleNamespace(perf_counter=lambda: next(clock)))
    job = SimpleNamespace(quiet=quiet, progress=progress)
    with status.stage(job, "building", "the graph", 3000, "edges"):
        pass
    return stream.getvalue()


def test_a_long_stage_leaves_its_time_and_rate(monkeypatch):
    text = shown(monkeypatch)
    assert "building the graph, 3,000 edges" in text.split("\n")[0]
    assert text.endswith("building the graph, 3,000 edges: 2.0 s, 1,500 edges/s\n")


@pytest.mark.parametrize("silent", [{"quiet": True}, {"progress": False}, {"terminal": False}])
def test_nothing_is_shown_elsewhere(monkeypatch, silent):
    assert shown(monkeypatch, **silent) == ""


def test_sizes_of_files_and_folders(tmp_path):
    (tmp_path / "a").write_bytes(b"123")
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "c").write_bytes(b"12345")
    assert status.bytes_of(tmp_path / "a") == 3
    assert status.bytes_of(tmp_path) == 8
    assert status.bytes_of(tmp_path / "absent") == 0
