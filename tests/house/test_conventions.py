"""What `source`, `destination`, `weight` and `start` mean: the same in every function and command."""

from __future__ import annotations

import inspect
import math
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from click.testing import CliRunner
from thread_ranks import on_ranks, share

import cugraph_ws as ws
from cugraph_ws.algorithms.registry import ALGORITHMS
from cugraph_ws.cli.main import commands
from cugraph_ws.cli.options import Settings
from cugraph_ws.graph.edges import column_names, weight_column
from cugraph_ws.program.conventions import columns_read

EDGES = pd.DataFrame(
    {
        "source": ["a", "a", "b", "c"],
        "destination": ["b", "c", "d", "d"],
        "weight": [0.125, 0.5, 0.25, 0.375],
    }
)
NAMED = EDGES.rename(columns={"source": "payer", "destination": "payee"})
ENDS = {"source": "payer", "destination": "payee"}


def in_frame(name: str, function: Any) -> Any:
    """Return a function whose number comes as the other results do."""

    def call(*arguments: Any, **options: Any) -> pd.DataFrame:
        return pd.DataFrame({name: [function(*arguments, **options)]})

    return call


def with_modularity(*arguments: Any, **options: Any) -> pd.DataFrame:
    """Return communities and their modularity in one frame."""
    communities, quality = ws.louvain(*arguments, **options)
    return communities.assign(modularity=quality)


def connected(*arguments: Any, **options: Any) -> pd.DataFrame:
    communities, quality = ws.leiden(*arguments, **options)
    return communities.assign(modularity=quality)


IDS = list("abcd")
FUNCTIONS = {"leiden": connected, "louvain": with_modularity}
NUMBERS = [name for name, declared in ALGORITHMS.items() if declared.columns == name]
FUNCTIONS |= {name: in_frame(name, ALGORITHMS[name].function) for name in NUMBERS}
MORE: dict[str, dict[str, Any]] = {
    "leiden": {"hierarchy": True},
    "louvain": {"hierarchy": True},
    "label_propagation": {"max_iter": 1},
}
ALL: dict[str, tuple[Any, dict[str, Any]]] = {
    name: (FUNCTIONS.get(name, declared.function), declared.arguments(IDS) | MORE.get(name, {}))
    for name, declared in ALGORITHMS.items()
}


def of(*weights: str) -> list[str]:
    """Return the functions that do this with weights."""
    return [name for name, declared in ALGORITHMS.items() if declared.weights in weights]


READERS = of("kept", "read", "required")
OTHERS = of("ignored", "weighted", "use_weight")
EDGE_FRAMES = [name for name, one in ALGORITHMS.items() if one.columns.startswith("edges")]


@ws.vertex_program
class Reach:
    """Distance from `source`, a parameter of the program's own."""

    reach: ws.float64
    length: ws.edge(ws.float64)
    source: ws.vertex_parameter

    def init(vertex, p):
        return 0.0 if vertex == p.source else math.inf

    def compute(src, edge):
        return src.reach + edge.length

    combine = min

    def apply(old, gathered):
        return min(old.reach, gathered)


def same(one: Any, other: Any) -> None:
    if isinstance(one, tuple):
        one = one[0].assign(modularity=one[1])
    if isinstance(one, (int, float)):
        one = pd.DataFrame({other.columns[0]: [one]})
    pd.testing.assert_frame_equal(one, other)


def test_every_function_on_edges_is_declared():
    functions = {
        name
        for name, value in vars(ws).items()
        if inspect.isfunction(value) and "graph" in inspect.signature(value).parameters
    }
    assert functions == {*ALL, "run", "run_many", "check", "explain", "layout", "plot"}


# ------------------------------------------------------------------------------------- weights


@pytest.mark.parametrize("name", READERS)
def test_a_column_named_weight_is_the_weight(name):
    function, given = ALL[name]
    named = function(EDGES, **given, weight="weight")
    same(function(EDGES, **given), named)
    same(function(EDGES, **given, weight="auto"), named)
    with ws.Graph(EDGES) as graph:
        assert graph.weight == "weight"
        same(function(graph, **given), named)
        same(function(graph, **given, weight="weight"), named)
    renamed = EDGES.rename(columns={"weight": "km"})
    other = function(renamed, **given, weight="km")
    same(other.rename(columns={"km": "weight"}), named)
    plain = EDGES[["source", "destination"]]
    if name in of("required"):
        for frame, weight in ((EDGES, None), (plain, "auto")):
            with pytest.raises(ws.InputError, match="weight"):
                function(frame, **given, weight=weight)
        return
    unweighted = function(EDGES, **given, weight=None)
    assert not unweighted.equals(named)
    same(function(plain, **given), unweighted)
    with ws.Graph(EDGES, weight=None) as graph:
        assert graph.edge_attributes == ()
        same(function(graph, **given), unweighted)


@pytest.mark.parametrize("name", OTHERS)
def test_others_ignore_weights(name):
    function, given = ALL[name]
    plain = function(EDGES[["source", "destination"]], **given)
    same(function(EDGES.assign(weight=np.nan), **given), plain)
    same(function(EDGES, **given, weight="weight"), plain)
    with ws.Graph(EDGES) as graph:
        same(function(graph, **given), plain)


@pytest.mark.parametrize("name", [*ALL])
def test_a_named_column_that_is_missing_is_refused(name):
    function, given = ALL[name]
    with pytest.raises(ws.InputError, match="km"):
        function(EDGES, **given, weight="km")


@pytest.mark.parametrize("name", of("read", "required"))
def test_no_weights_are_read_of_a_weighted_graph_if_that_is_asked(name):
    function, given = ALL[name]
    with ws.Graph(EDGES) as graph:
        if name in of("required"):
            with pytest.raises(ws.InputError, match="weight"):
                function(graph, **given, weight=None)
        else:
            plain = function(EDGES[["source", "destination"]], **given)
            same(function(graph, **given, weight=None), plain)
            assert graph.weight == "weight"


def test_run_follows_the_rule():
    expected = ws.pagerank(EDGES)
    same(ws.run(ws.PageRank, EDGES).frame, expected)
    same(ws.run(ws.PageRank, EDGES, weight="weight").frame, expected)
    same(ws.run(ws.PageRank, EDGES, weight_column="weight").frame, expected)
    for name in ("weight", "weight_column"):
        found = ws.run(ws.PageRank, EDGES, **{name: None}).frame
        same(found, ws.pagerank(EDGES, weight=None))
    searches = ws.MultiSource(ws.SSSP, "start", ["a"])
    same(ws.run(searches, EDGES).frame, ws.multi_source_sssp(EDGES, ["a"]))
    with ws.Graph(EDGES) as graph:
        unweighted = ws.run(ws.PageRank, graph, weight_column=None).frame
        same(unweighted, ws.pagerank(EDGES, weight=None))
    with pytest.raises(ws.InputError, match="name the same column"):
        ws.run(ws.PageRank, EDGES, weight="weight", weight_column="weight")


def test_only_columns_that_a_program_reads_are_kept():
    spoilt = EDGES.assign(length=EDGES["weight"], weight=np.nan)
    assert columns_read(ws.BFS, EDGES, "auto") == (None, ())
    assert columns_read(ws.PageRank, EDGES, "auto") == ("weight", ())
    assert columns_read(ws.PageRank, EDGES, None) == (None, ())
    assert columns_read(ws.PageRank, EDGES, "auto", "weight") == (None, ("weight",))
    assert columns_read(ws.WeaklyConnectedComponents(), EDGES, "auto") == (None, ())
    assert columns_read(None, EDGES, "auto") == (None, ())
    assert columns_read(Reach, spoilt, "auto") == (None, ("length",))
    assert columns_read(Reach, EDGES, "auto") == ("weight", ())
    result = ws.run(Reach, spoilt, source="a")
    assert result.frame["reach"].tolist() == [0.0, 0.125, 0.5, 0.375]


def test_the_weight_column_of_frames_and_of_what_is_none():
    assert weight_column(pa.table(dict(EDGES)), "auto", "source") == "weight"
    assert weight_column(EDGES, "auto", ["weight", "source"], "destination") is None
    assert weight_column(EDGES, "auto", 3) == "weight"
    assert weight_column(EDGES, "km") == "km"
    assert column_names(7) == []


def test_ids_named_weight_are_no_weights():
    frame = EDGES.rename(columns={"source": "weight", "weight": "x"})
    with ws.Graph(frame, source="weight") as graph:
        assert graph.weight is None


def test_the_graph_of_a_member_follows_the_rule():
    expected = ws.pagerank(EDGES)
    with ws.Graph(EDGES) as graph:
        parts = on_ranks(2, lambda comm: ws.pagerank(share(graph, comm)))
    np.testing.assert_allclose(pd.concat(parts)["pagerank"], expected["pagerank"], atol=1e-9)


# ------------------------------------------------------------------------------ columns, starts


@pytest.mark.parametrize("name", [*ALL])
def test_source_and_destination_are_columns_everywhere(name):
    function, given = ALL[name]
    expected = function(EDGES, **given)
    if name in EDGE_FRAMES:
        expected = expected.rename(columns={"source": "payer", "destination": "payee"})
    same(function(NAMED, **given, **ENDS), expected)
    same(getattr(NAMED.ws, name)(**given, **ENDS), expected)


@pytest.mark.parametrize(
    ("function", "more"),
    [(ws.bfs, {}), (ws.sssp, {}), (ws.widest_path, {})],
    ids=lambda one: getattr(one, "__name__", ""),
)
def test_the_start_is_start(function, more):
    expected = function(EDGES, "a", **more)
    same(function(EDGES, start="a", **more), expected)
    same(function(graph=EDGES, start=["a"], **more), expected)
    with ws.Graph(EDGES) as graph:
        same(function(graph, start="a", **more), expected)


@pytest.mark.parametrize("function", [ws.sssp, ws.widest_path])
def test_a_search_of_a_graph_takes_cugraphs_keyword(function):
    with ws.Graph(EDGES) as graph:
        same(function(graph, source="a"), function(graph, "a"))
        same(function(graph=graph, source=["a"]), function(graph, "a"))
        with pytest.raises(ws.InputError, match="source='b'"):
            function(graph, "a", source="b")
        with pytest.raises(ws.InputError, match="needs start="):
            function(graph)
    with pytest.raises(ws.InputError, match="needs start="):
        function(NAMED, **ENDS)
    with pytest.raises(ws.InputError, match="start"):
        function(EDGES, None)
    with pytest.raises(TypeError, match="graph"):
        function()


@pytest.mark.parametrize("program", [ws.SSSP, ws.WidestPath], ids=lambda one: one.name)
def test_run_takes_start_and_source(program):
    function = ws.sssp if program is ws.SSSP else ws.widest_path
    expected = function(EDGES, "a")
    with ws.Graph(EDGES) as graph:
        same(ws.run(program, graph, start="a").frame, expected)
        same(ws.run(program, graph, source="a").frame, expected)
        with pytest.raises(ws.InputError, match="mean the same"):
            ws.run(program, graph, start="a", source="b")
        with pytest.raises(ws.InputError, match="needs start="):
            ws.run(program, graph)
    same(ws.run(program, NAMED, start="a", **ENDS).frame, expected)
    same(NAMED.ws.run(program, start="a", **ENDS).frame, expected)
    same(ws.run(program, EDGES, source="a").frame, expected)  # no start: it can be nothing else


def test_a_programs_own_source_stays_its_own():
    frame = NAMED.rename(columns={"weight": "length"})
    result = ws.run(Reach, frame, source="a", source_column="payer", destination="payee")
    assert result.frame["reach"].tolist() == [0.0, 0.125, 0.5, 0.375]


# -------------------------------------------------------------------------------- command line


def command(path: Any, *words: str) -> tuple[int, str]:
    settings = Settings()
    result = CliRunner().invoke(commands, [words[0], str(path), *words[1:]], obj=settings)
    return result.exit_code, result.output + str(result.exception or "")


@pytest.fixture(scope="module")
def edge_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("edges") / "edges.csv"
    EDGES.to_csv(path, index=False)
    return path


@pytest.mark.parametrize(
    ("words", "call"),
    [
        (("pagerank",), lambda weight: ws.pagerank(EDGES, weight=weight)),
        (("sssp", "--start", "a"), lambda weight: ws.sssp(EDGES, "a", weight=weight)),
        (("widest-path", "--start", "a"), lambda weight: ws.widest_path(EDGES, "a", weight=weight)),
        (("k-core", "-k", "0"), lambda weight: ws.k_core(EDGES, 0, weight=weight)),
    ],
    ids=lambda one: one[0] if isinstance(one, tuple) else "",
)
def test_commands_follow_the_rule(words, call, edge_file, tmp_path):
    for more, weight in (
        ((), "weight"),
        (("--weight", "weight"), "weight"),
        (("--unweighted",), None),
    ):
        out = tmp_path / f"{len(more)}.parquet"
        code, said = command(edge_file, *words, *more, "-o", str(out))
        assert code == 0, said
        found = pd.read_parquet(out)
        expected = call(weight)
        assert list(found.columns) == list(expected.columns)
        value = found.columns[1]
        assert found[value].tolist() == expected[value].tolist()


def test_commands_that_read_no_weights_do_not_mind_them(tmp_path):
    path = tmp_path / "text.csv"
    EDGES.assign(weight="heavy").to_csv(path, index=False)
    for words in (("bfs", "--start", "a"), ("wcc",), ("core-number",)):
        assert command(path, *words)[0] == 0
    code, said = command(path, "pagerank")
    assert code == 1
    assert "weight" in said
    assert command(path, "pagerank", "--unweighted")[0] == 0


def test_a_weight_and_none_contradict(edge_file):
    code, said = command(edge_file, "pagerank", "--weight", "weight", "--unweighted")
    assert (code, "--unweighted, not both" in said) == (2, True)
