"""Rows of every kind of label table in small graphs; see `kernels/cuda/communities.py`."""

from __future__ import annotations

import pytest

from cugraph_ws.backends.cuda import label_tables

__all__ = ["every_kind_of_row"]


def every_kind_of_row(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a few arcs be enough for a warp, a block, and a table in global memory."""
    monkeypatch.setattr(label_tables, "BY_THREAD", 1)
    monkeypatch.setattr(label_tables, "BY_WARP", 3)
    monkeypatch.setattr(label_tables, "BY_BLOCK", 5)
    monkeypatch.setattr(label_tables, "CHUNK", 16)
