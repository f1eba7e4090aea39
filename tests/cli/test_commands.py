"""The commands of degrees, centralities and structure give what the functions give."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

import cugraph_ws as ws
from cugraph_ws.algorithms.registry import ALGORITHMS
from cugraph_ws.cli import main as cli
from cugraph_ws.cli.commands import function_command
from cugraph_ws.cli.main import commands

EDGES = pa.table(
    {
        "source": ["a", "a", "b", "c", "d"],
        "destination": ["b", "c", "d", "d", "e"],
        "w": [0.25, 0.5, 0.125, 0.25, 0.75],
    }
)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    pq.write_table(EDGES, "edges.parquet")
    Path("vertices.txt").write_text("b\nd\n")


def weighted(**options: Any) -> ws.Graph:
    return ws.Graph(EDGES, weight="w", **options)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("degree", lambda: ws.degree(EDGES)),
        ("degree --degree-type in --vertex b --vertex-file vertices.txt",
         lambda: ws.degree(EDGES, ["b", "d"], degree_type="in")),
        ("degrees --weighted --weight w", lambda: ws.degrees(weighted(), weighted=True)),
        ("eigenvector-centrality --undirected --tol 1e-3",
         lambda: ws.eigenvector_centrality(EDGES, tol=1e-3, directed=False)),
        ("katz-centrality --alpha 0.1 --beta 2 --no-normalized --weight w",
         lambda: ws.katz_centrality(weighted(), 0.1, 2.0, normalized=False)),
        ("hits --max-iter 500 --no-normalized",
         lambda: ws.hits(EDGES, 500, normalized=False)),
        ("closeness-centrality --vertex d --no-wf-improved",
         lambda: ws.closeness_centrality(EDGES, ["d"], wf_improved=False)),
        ("harmonic-centrality -k 3 --seed 2 --normalized",
         lambda: ws.harmonic_centrality(EDGES, k=3, seed=2, normalized=True)),
        ("betweenness-centrality --no-normalized --endpoints",
         lambda: ws.betweenness_centrality(EDGES, normalized=False, endpoints=True)),
        ("neighbor-sample --start e --fanout 2 --fanout 1 --replace --seed 3",
         lambda: ws.neighbor_sample(EDGES, ["e"], [2, 1], replace=True, seed=3)),
        ("label-propagation --max-iter 3 --seed 2 --weight w",
         lambda: ws.label_propagation(weighted(), 3, seed=2)),
        ("closeness-centrality --weighted --weight w",
         lambda: ws.closeness_centrality(weighted(), weighted=True)),
        ("betweenness-centrality --weighted --weight w -k 2",
         lambda: ws.betweenness_centrality(weighted(), 2, weighted=True)),
        ("edge-betweenness-centrality --weighted --weight w",
         lambda: ws.edge_betweenness_centrality(weighted(), weighted=True)),
        ("edge-betweenness-centrality -k 4 --weight w",
         lambda: ws.edge_betweenness_centrality(weighted(), 4)),
        ("personalized-pagerank --seed b --seed a --top 2 --weight w --max-iter 200",
         lambda: ws.personalized_pagerank(weighted(), ["b", "a"], max_iter=200, top=2)),
        ("personalized-pagerank --seed b --columns --alpha 0.5",
         lambda: ws.personalized_pagerank(EDGES, ["b"], 0.5, format="columns")),
        ("strongly-connected-components", lambda: ws.strongly_connected_components(EDGES)),
        ("topological-levels", lambda: ws.topological_levels(EDGES)),
        ("maximal-independent-set --seed 3", lambda: ws.maximal_independent_set(EDGES, seed=3)),
        ("coloring --seed 3", lambda: ws.coloring(EDGES, seed=3)),
        ("minimum-spanning-forest --weight w", lambda: ws.minimum_spanning_forest(weighted())),
        ("minimum-spanning-tree", lambda: ws.minimum_spanning_tree(EDGES)),
        ("maximum-spanning-forest --weight w", lambda: ws.maximum_spanning_forest(weighted())),
        ("is-connected --strong", lambda: pa.table({"is_connected": [ws.is_connected(EDGES, True)]})),
        ("diameter --no-connected", lambda: pa.table({"diameter": [ws.diameter(EDGES, False)]})),
        ("transitivity", lambda: pa.table({"transitivity": [ws.transitivity(EDGES)]})),
        ("eccentricity --vertex a --no-connected", lambda: ws.eccentricity(EDGES, ["a"], False)),
        ("ancestors --vertex b", lambda: ws.ancestors(EDGES, "b")),
        ("bridges --weight w", lambda: ws.bridges(weighted())),
        ("articulation-points", lambda: ws.articulation_points(EDGES)),
        ("subgraph --vertex a --vertex-file vertices.txt",
         lambda: ws.subgraph(EDGES, ["a", "b", "d"])),
        ("ego-graph --vertex a --radius 2 --no-center --weight w",
         lambda: ws.ego_graph(weighted(), "a", 2, center=False)),
        ("multi-source-bfs --start b --start a --depth-limit 2",
         lambda: ws.multi_source_bfs(EDGES, ["b", "a"], depth_limit=2)),
        ("multi-source-sssp --start b --start a --weight w --cutoff 2.5",
         lambda: ws.multi_source_sssp(weighted(), ["b", "a"], cutoff=2.5)),
    ],
)  # fmt: skip
def test_commands_give_what_the_functions_give(words: str, expected: Any) -> None:
    command, *rest = words.split()
    assert cli._exit_code([command, "edges.parquet", *rest, "-o", "result.parquet"]) == 0
    assert pq.read_table("result.parquet").equals(expected())


@pytest.mark.parametrize(
    "words", ["degree --trace trace.csv", "topological-levels --partial", "subgraph", "ego-graph"]
)
def test_words_that_are_refused(words: str) -> None:
    command, *rest = words.split()
    assert cli._exit_code([command, "edges.parquet", *rest]) == 2


def test_every_algorithm_has_a_command_and_its_group_in_the_help() -> None:
    shown = CliRunner().invoke(commands, ["--help"]).output
    sections = re.split(r"\n(?=\S.*:\n)", shown)
    for name, declared in ALGORITHMS.items():
        (section,) = [one for one in sections if f"\n  {name.replace('_', '-')}  " in one]
        assert section.startswith(f"{declared.group.capitalize()}:")


def test_an_argument_that_cannot_be_an_option_needs_a_command_by_hand() -> None:
    with pytest.raises(TypeError, match=r"^heat: temperature cannot be an option"):
        function_command(ALGORITHMS["heat"])
