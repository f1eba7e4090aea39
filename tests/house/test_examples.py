"""Every example is run as a user would, and its outcome checked by another way."""

import importlib.util
import itertools
import math
import sys
from collections import Counter
from pathlib import Path

import networkx as nx
import pyarrow.parquet as pq
import pytest

import cugraph_ws as ws

EXAMPLES = Path(__file__).parents[2] / "examples"


def example(name):
    """Import an example as a module."""
    spec = importlib.util.spec_from_file_location(f"example_{name}", EXAMPLES / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def test_all_are_here():
    assert {path.stem for path in EXAMPLES.glob("*.py")} == {
        "etl", "etl_on_a_cluster", "heaviest_dependency", "own_algorithm", "phases",
        "state_on_edges", "widest_path",
    }  # fmt: skip


def test_widest_path(capsys):
    widths = example("widest_path").main().set_index("vertex")["width"]
    assert widths["berlin"] == math.inf
    assert widths.drop("berlin").to_dict() == {
        "cologne": 5.0, "hamburg": 4.0, "leipzig": 6.0, "munich": 4.0,
    }  # fmt: skip
    assert "supersteps" in capsys.readouterr().out


def test_phases(capsys):
    found = example("phases").main().set_index("vertex")
    roads = nx.DiGraph(
        [
            ("berlin", "hamburg"), ("berlin", "leipzig"), ("leipzig", "munich"), ("hamburg", "cologne"),
            ("leipzig", "cologne"), ("cologne", "munich"), ("munich", "berlin"), ("cologne", "bonn"),
        ]
    )  # fmt: skip
    through = nx.betweenness_centrality_subset(roads, ["berlin"], list(roads), normalized=False)
    inner = found["dependency"].drop("berlin")
    assert inner.to_dict() == pytest.approx({city: through[city] for city in inner.index})
    assert "Backward" in capsys.readouterr().out


def test_state_on_edges(capsys):
    """The beliefs are those of all states of the group, one by one."""
    found, said = example("state_on_edges").main()
    names = found["vertex"].tolist()
    talks = {
        ("ann", "bob"): 1.5,
        ("ann", "eve"): 0.5,
        ("bob", "cat"): 2.0,
        ("bob", "dan"): -1.0,
        ("eve", "fay"): 3.0,
    }
    known = {"cat": 2.0, "fay": -1.0, "dan": 0.5}
    weights = Counter()
    for states in itertools.product((-1, 1), repeat=len(names)):
        state = dict(zip(names, states, strict=True))
        energy = sum(known.get(name, 0.0) * state[name] for name in names)
        energy += sum(worth * state[one] * state[other] for (one, other), worth in talks.items())
        for name in names:
            weights[name, state[name]] += math.exp(energy / 2.0)
    odds = [math.log(weights[name, 1] / weights[name, -1]) for name in names]
    assert found["odds"].tolist() == pytest.approx(odds)
    back = {(a, b): answer for a, b, _, answer in said.itertuples(index=False)}
    assert len(said) == 2 * len(talks)
    for a, b, message, _ in said.itertuples(index=False):
        assert back[b, a] == message
    assert "chance" in capsys.readouterr().out


def test_own_algorithm(capsys):
    module = example("own_algorithm")
    areas = module.main()
    roads = ws.datasets.grid(40, 40, drop=0.33, seed=7, weights=(1.0, 3.0), frame="polars")
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


@pytest.mark.long
def test_etl_on_a_cluster(tmp_path, capsys):
    folder = example("etl_on_a_cluster").main(out=tmp_path)
    written = pq.read_table(folder).sort_by("vertex")
    edges = pq.read_table(tmp_path / "edges")
    ranks = ws.pagerank(edges)
    assert written["vertex"].to_pylist() == ranks["vertex"].to_pylist()
    assert written["pagerank"].to_pylist() == pytest.approx(ranks["pagerank"].to_pylist())
    graph = nx.DiGraph(zip(*(edges[name].to_pylist() for name in edges.column_names), strict=True))
    degrees = Counter(edges["destination"].to_pylist())
    for vertex, greatest in zip(
        *(written[name].to_pylist() for name in ("vertex", "greatest")), strict=True
    ):
        reaching = {vertex} if vertex % 97 else {vertex, *nx.ancestors(graph, vertex)}
        least = max(degrees[one] for one in reaching)
        assert greatest == least if vertex % 97 == 0 else greatest >= least
    assert "on 2 workers" in capsys.readouterr().out


def test_heaviest_dependency():
    program = example("heaviest_dependency").HeaviestDependency
    assert isinstance(program, ws.VertexProgram)


def test_the_shipped_data_is_what_it_says():
    edges = pq.read_table(EXAMPLES / "data" / "debian-dependencies.parquet")
    assert edges.column_names[:2] == ["package", "depends_on"]
    assert edges.num_rows > 200_000
    assert (EXAMPLES / "data" / "debian-dependencies.parquet").stat().st_size < 2 << 20
    assert sum(column.null_count for column in edges.columns) == 0
