"""`frame.ws`: the functions as methods, for whichever library is there."""

from __future__ import annotations

import inspect
import os
import subprocess
import sys
import types

import pandas as pd
import polars as pl
import pytest

import cugraph_ws as ws
from cugraph_ws import accessor
from cugraph_ws.accessor import EdgeFrameAccessor, register
from cugraph_ws.errors import InputError

register()  # what importing the package does; once more does no harm

EDGES = {"src": ["a", "b", "c", "c"], "dst": ["b", "c", "a", "d"], "w": [1.0, 2.0, 3.0, 4.0]}
NAMES = {"source": "src", "destination": "dst"}
METHODS = [name for name in vars(EdgeFrameAccessor) if not name.startswith("_")]


@pytest.fixture(params=[pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
def edges(request):
    return request.param(EDGES)


def test_a_method_is_the_function_on_the_frame(edges):
    ranks = edges.ws.pagerank(**NAMES)
    assert isinstance(ranks, type(edges))
    assert ranks.equals(ws.pagerank(edges, **NAMES))


def test_positional_arguments_come_after_the_frame(edges):
    near = edges.ws.bfs("a", 1, **NAMES)
    assert near.equals(ws.bfs(edges, "a", depth_limit=1, **NAMES))
    far = edges.ws.sssp("a", source="src", destination="dst", weight="w")
    assert list(far["distance"]) == [0.0, 1.0, 3.0, 7.0]


def test_run_takes_the_program_first(edges):
    for suffix in ("", "_column"):
        columns = {f"source{suffix}": "src", f"destination{suffix}": "dst"}
        result = edges.ws.run(ws.BFS, start="a", **columns)
        assert result.frame.equals(edges.ws.bfs("a", **NAMES))
        assert edges.ws.run(program=ws.BFS, start="a", **columns).frame.equals(result.frame)


def test_graph_is_a_graph(edges):
    with edges.ws.graph("src", "dst", weight="w", directed=False) as graph:
        assert isinstance(graph, ws.Graph)
        assert (graph.number_of_vertices, graph.number_of_edges) == (4, 4)
        assert graph.weight == "w"


def test_errors_are_those_of_the_functions(edges):
    with pytest.raises(InputError, match="source"):
        edges.ws.pagerank(destination="dst")
    with pytest.raises((TypeError, InputError), match="depth"):
        edges.ws.core_number(depth=3, **NAMES)


@pytest.mark.parametrize("name", METHODS)
def test_signatures_and_docstrings_are_the_functions_without_the_frame(name):
    method = getattr(EdgeFrameAccessor, name)
    function = ws.Graph if name == "graph" else inspect.unwrap(method)
    assert method.__doc__ == function.__doc__
    assert (method.__name__, method.__qualname__) == (name, f"EdgeFrameAccessor.{name}")
    parameters = inspect.signature(function).parameters
    frames = {"graph": "edges", "run_groups": "edges", "shortest_path": "result"}
    frame = frames.get(name, "graph")
    assert list(inspect.signature(method).parameters) == [
        "self",
        *(one for one in parameters if one != frame),
    ]


def test_every_function_on_edges_is_a_method():
    functions = {
        name
        for name, value in vars(ws).items()
        if inspect.isfunction(value) and "graph" in inspect.signature(value).parameters
    }
    assert functions <= set(METHODS)


def test_no_library_is_imported_and_both_are_served_when_they_are():
    program = """
import sys
from cugraph_ws.accessor import register
register()
loaded = {"pandas", "polars", "cudf"} & set(sys.modules)
assert not loaded, loaded
import polars
assert "pandas" not in sys.modules
assert polars.DataFrame({"source": [0], "destination": [1]}).ws.core_number().shape == (2, 2)
import pandas
assert pandas.DataFrame({"source": [0], "destination": [1]}).ws.core_number().shape == (2, 2)
"""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_cudf_is_served_when_it_is_imported(monkeypatch, tmp_path):
    (tmp_path / "cudf.py").write_text(
        "registered = {}\n"
        "class DataFrame: pass\n"
        "class api:\n"
        "    class extensions:\n"
        "        @staticmethod\n"
        "        def register_dataframe_accessor(name):\n"
        "            return lambda cls: registered.setdefault(name, cls)\n"
    )
    program = "import cugraph_ws.accessor as a; a.register(); import cudf; print(cudf.registered)"
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
    )
    assert "'ws': <class 'cugraph_ws.accessor.EdgeFrameAccessor'>" in done.stdout


@pytest.mark.parametrize("hook", [accessor._register_pandas, accessor._register_polars])
def test_an_accessor_of_that_name_is_left_alone(hook):
    registered = {}

    def registrar(name):
        return lambda cls: registered.setdefault(name, cls)

    extensions = types.SimpleNamespace(register_dataframe_accessor=registrar)
    api = types.SimpleNamespace(extensions=extensions, register_dataframe_namespace=registrar)
    theirs, free = type("DataFrame", (), {"ws": "theirs"}), type("DataFrame", (), {})
    hook(types.SimpleNamespace(DataFrame=theirs, api=api))
    assert registered == {}
    hook(types.SimpleNamespace(DataFrame=free, api=api))
    assert registered == {"ws": EdgeFrameAccessor}


def test_only_the_frame_is_kept(edges):
    one = edges.ws
    one.core_number(**NAMES)
    assert list(vars(one)) == ["_frame"]
