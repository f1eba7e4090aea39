"""Louvain and Leiden on ranks: the communities of one machine, bit by bit."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pandas as pd
import pytest
from emulator.device import emulated
from shapes import SHAPES, build, rmat, undirected
from thread_ranks import on_ranks, share

import cugraph_ws as ws

FUNCTIONS = (ws.leiden, ws.louvain)


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("directed", [True, False])
def test_ranks_find_the_communities_of_one(directed: bool, function: Callable[..., Any]) -> None:
    edges = rmat(6, 3, seed=2) if directed else undirected(rmat(6, 3, seed=2))
    with build(edges) as graph, emulated():
        expected, quality = function(graph, hierarchy=True, seed=1)
        for ranks, engine in ((1, "cpu"), (3, "cpu"), (2, "cuda")):
            parts = on_ranks(ranks, partial(found_on_ranks, function, graph, engine))
            assert pd.concat([one for one, _ in parts], ignore_index=True).equals(expected)
            assert {one for _, one in parts} == {quality}


def found_on_ranks(function: Callable[..., Any], graph: ws.Graph, engine: Any, comm: Any) -> Any:
    return function(share(graph, comm), hierarchy=True, seed=1, engine=engine)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_what_ranks_refuse(function: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    with build(SHAPES["grid"]) as graph:
        with pytest.raises(ws.InputError, match="checkpoint"):
            on_ranks(2, lambda comm: function(share(graph, comm), checkpoint="a.parquet"))
        monkeypatch.setenv("CUGRAPH_WS_MEMORY_LIMIT", "1000")
        with pytest.raises(ws.GraphMemoryError, match="every worker"):
            on_ranks(2, lambda comm: function(share(graph, comm)))
