"""The backend as NetworkX finds, chooses and calls it."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import entry_points

import networkx as nx
import pytest
from networkx_calls import GRAPHS

import cugraph_ws as ws
from cugraph_ws.networkx.backend import backend

BIG = nx.barabasi_albert_graph(4_000, 4, seed=1)


def test_entry_points() -> None:
    (found,) = entry_points(group="networkx.backends", name="cugraph_ws")
    assert found.load() is backend
    (found,) = entry_points(group="networkx.backend_info", name="cugraph_ws")
    info = found.load()()
    assert nx.utils.backends.backend_info["cugraph_ws"] == info
    for name in info["functions"]:
        assert "cugraph_ws" in nx.utils.backends._registered_algorithms[name].backends


def test_networkx_imports_nothing_of_the_library() -> None:
    code = "import sys, networkx; print(*(n for n in sys.modules if n.partition('.')[0] in {'cugraph_ws', 'numba'}))"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120
    )
    assert done.stdout.strip() == ""


def test_an_unchanged_call_is_computed_here(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []
    monkeypatch.setattr(
        "cugraph_ws.networkx.cohesion.ws.core_number",
        lambda *arguments, **options: (
            calls.append(options) or ws.core_number(*arguments, **options)
        ),
    )
    expected = nx.core_number(BIG)
    with nx.config(backend_priority=["cugraph_ws"], warnings_to_ignore={"cache"}):
        assert nx.core_number(BIG) == expected
        nx.k_core(BIG, 4)  # calls core_number
        assert len(calls) == 2
        nx.core_number(GRAPHS["undirected"])  # is too small
        assert len(calls) == 2


def test_what_is_refused_runs_in_networkx() -> None:
    graph = BIG.copy()
    nx.set_edge_attributes(graph, -1.0, "weight")
    with nx.config(backend_priority=["cugraph_ws"]), pytest.raises(nx.NetworkXUnbounded):
        nx.single_source_bellman_ford_path_length(graph, 0)


def test_the_engine_is_a_setting() -> None:
    graph = GRAPHS["connected"].copy()  # without conversions that other tests have left
    with nx.config.backends.cugraph_ws(engine="python"):
        assert nx.core_number(graph, backend="cugraph_ws")[0] == 4
    with (
        nx.config(warnings_to_ignore={"cache"}),
        nx.config.backends.cugraph_ws(engine="abacus"),
        pytest.raises(ValueError, match="engine='abacus' is not known; choose one of auto, cpu"),
    ):
        nx.pagerank(graph, backend="cugraph_ws")


def test_a_converted_graph_is_taken_by_its_type() -> None:
    converted = backend.convert_from_nx(GRAPHS["connected"])
    assert nx.core_number(converted) == nx.core_number(GRAPHS["connected"])
    with nx.config(fallback_to_nx=True):  # NetworkX's own
        assert nx.square_clustering(converted) == nx.square_clustering(GRAPHS["connected"])


def test_notes_are_in_the_documentation() -> None:
    assert "The communities are the same in every run" in nx.community.louvain_communities.__doc__
