"""Every example is run as a user would, and its outcome checked by another way."""

import importlib.util
import math
import sys
from pathlib import Path

import networkx as nx
import pyarrow.parquet as pq
import pytest

import cugraph_ws as ws

EXAMPLES = Path(__file__).parents[1] / "examples"


def example(name):
    """Import an example as a module."""
    spec = importlib.util.spec_from_file_location(f"example_{name}", EXAMPLES / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def test_all_are_here():
    assert {path.stem for path in EXAMPLES.glob("*.py")} == {
        "etl", "heaviest_dependency", "own_algorithm", "widest_path",
    }  # fmt: skip


def test_widest_path(capsys):
    widths = example("widest_path").main().set_index("vertex")["width"]
    assert widths["berlin"] == math.inf
    assert widths.drop("berlin").to_dict() == {
        "cologne": 5.0, "hamburg": 4.0, "leipzig": 6.0, "munich": 4.0,
    }  # fmt: skip
    assert "supersteps" in capsys.readouterr().out


def test_own_algorithm(capsys):
    module = example("own_algorithm")
    areas = module.main()
    roads = module.grid(40, 40, drop=0.33, seed=7, weights=(1.0, 3.0), frame="polars")
    graph = nx.DiGraph()
    for source, destination, weight in roads.iter_rows():
        known = graph.get_edge_data(source, destination, {"weight": math.inf})["weight"]
        graph.add_edge(source, destination, weight=min(weight, known))
    lengths = nx.multi_source_dijkstra_path_length(graph, {65, 820, 1530})
    for vertex, length in zip(areas["vertex"], areas["length"], strict=True):
        assert length == pytest.approx(lengths.get(vertex, math.inf))
    assert "can be reached" in capsys.readouterr().out


def test_etl(tmp_path, capsys):
    ranks = example("etl").main(output=tmp_path)
    written = pq.read_table(tmp_path / "ranks.parquet")
    assert written.sort_by("vertex").equals(ranks)
    assert written.column("vertex")[0].as_py() == "libc6"
    assert sum(ranks.column("pagerank").to_pylist()) == pytest.approx(1)
    assert pq.read_table(tmp_path / "core.parquet").num_rows > 0
    assert "vertices" in capsys.readouterr().out


def test_heaviest_dependency():
    program = example("heaviest_dependency").HeaviestDependency
    assert isinstance(program, ws.VertexProgram)


def test_the_shipped_data_is_what_it_says():
    edges = pq.read_table(EXAMPLES / "data" / "debian-dependencies.parquet")
    assert edges.column_names[:2] == ["package", "depends_on"]
    assert edges.num_rows > 200_000
    assert (EXAMPLES / "data" / "debian-dependencies.parquet").stat().st_size < 2 << 20
    assert sum(column.null_count for column in edges.columns) == 0
