"""Mistakes as new users make them: each message says what was given and what to write instead."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from mistakes_in_calls import CALLS
from mistakes_in_programs import PROGRAMS

import cugraph_ws as ws
from cugraph_ws.suggestions import OURS

EDGES = pd.DataFrame({"source": [0, 1, 2], "destination": [1, 2, 0], "weight": [1.0, 2.0, 3.0]})
GRAPH = ws.Graph(EDGES)
RESULT = ws.run(ws.PageRank, GRAPH)

MISTAKES = {
    "no edges": (lambda: ws.pagerank(None), "not NoneType; give a frame with a row for each edge"),
    "one column": (lambda: ws.pagerank(EDGES["source"]), "give the frame that the column is of"),
    "a path": (lambda: ws.pagerank("edges.csv"), "read the file first"),
    "tuples": (lambda: ws.pagerank([(0, 1)]), r"pandas\.DataFrame\(data, columns="),
    "damping": (lambda: ws.pagerank(GRAPH, damping=0.9), "did you mean alpha"),
    "iterations": (lambda: ws.pagerank(GRAPH, iterations=9), "did you mean max_iter"),
    "n_iterations": (lambda: ws.leiden(GRAPH, n_iterations=9), "did you mean max_iter"),
    "tolerance": (lambda: ws.pagerank(GRAPH, tolerance=0.1), "did you mean tol"),
    "verbose": (lambda: ws.pagerank(GRAPH, verbose=True), "did you mean progress"),
    "threads": (lambda: ws.pagerank(GRAPH, n_jobs=4), "CUGRAPH_WS_THREADS is the number"),
    "target": (lambda: ws.bfs(GRAPH, 0, target=2), r"use shortest_path\(graph, start, target\)"),
    "a column as weight": (
        lambda: ws.pagerank(EDGES, weight=EDGES["weight"]),
        "weight=<Series of 3 values> must be the name of a column",
    ),
    "capitals": (lambda: ws.pagerank(EDGES, source="Source"), "did you mean 'source'"),
    "text for an integer": (
        lambda: ws.bfs(GRAPH, "0"),
        "holds text .* the graph's ids are integer",
    ),
    "a path without an end": (
        lambda: ws.shortest_path(GRAPH, 0),
        "needs a start and targets; give",
    ),
    "one vertex for a list": (lambda: ws.subgraph(GRAPH, 0), r"vertices=0 is one value; .*\[0\]"),
    "a list of labels": (
        lambda: ws.modularity(GRAPH, [0, 0, 1]),
        "item 0 is 0; .*a frame with the label of each vertex",
    ),
    "a name as program": (lambda: ws.run("PageRank", GRAPH), "is a name; give .* ws.PageRank"),
    "a function as program": (lambda: ws.run(ws.pagerank, GRAPH), r"call it .*pagerank\(graph\)"),
    "a misspelt parameter": (lambda: ws.run(ws.SSSP, GRAPH, strat=0), "did you mean start"),
    "text as mask": (lambda: GRAPH.mask("weight < 2"), "is text; give a function of the columns"),
    "an option that no plan has": (
        lambda: ws.Plan(unknown=1),  # type: ignore[call-arg]
        "Plan has no unknown=; its options are direction, in_place",
    ),
    "a misspelt option of plans": (
        lambda: ws.Plan(dircetion="pull"),  # type: ignore[call-arg]
        "did you mean direction",
    ),
    "an unknown vertex of ancestors": (lambda: ws.ancestors(GRAPH, 99), "^vertex: 99 is not a"),
    "text for the vertex of descendants": (
        lambda: ws.descendants(GRAPH, "0"),
        r"column 'vertex' .* holds text",
    ),
    "an unknown centre": (lambda: ws.ego_graph(GRAPH, 99), "^vertex: 99 is not a vertex"),
    "a mask for ids": (
        lambda: ws.subgraph(GRAPH, [True, False, True]),
        "holds bool: .*give the ids that a mask selects",
    ),
    "weights of a layout": (
        lambda: ws.layout(EDGES, weights="weight"),
        r"layout\(\) has no argument weights; did you mean weight\?",
    ),
    "an argument of no function": (
        lambda: ws.modularity(GRAPH, {}, gamma=2.0),  # type: ignore[call-arg]
        r"modularity\(\) has no argument gamma; did you mean resolution\? it has: graph",
    ),
    "an item of a graph": (lambda: GRAPH[0], r"graph\[0\]: a graph has no items; .*ego_graph"),
    "columns by position": (
        lambda: ws.pagerank(EDGES, "source", "destination"),
        r"pagerank\(\) has columns by name: source='source', destination='destination'",
    ),
    "too many by position": (
        lambda: ws.sssp(GRAPH, 0, 1),
        r"sssp\(\) takes graph, start by position; give the others by name, not 1",
    ),
    "a column of a pair": (
        lambda: ws.louvain(GRAPH)["partition"],
        "a pair has no item 'partition'; write: frame, modularity = ws.louvain",
    ),
    "a module for the class": (
        lambda: ws.graph(EDGES),
        "ws.graph is a module; did you mean ws.Graph",
    ),
    "arrays for columns": (
        lambda: ws.Graph(EDGES["source"].to_numpy(), EDGES["weight"].to_numpy()),
        "Graph.from_arrays takes arrays",
    ),
    "device": (lambda: ws.pagerank(GRAPH, device="cpu"), "did you mean engine"),
    "hops": (lambda: ws.ego_graph(GRAPH, 0, hops=2), "did you mean radius"),
    "an option of run": (
        lambda: ws.run(ws.PageRank, GRAPH, iterations=5),
        r"run\(\) has no option iterations; did you mean max_iter\?",
    ),
    "colours of a map": (
        lambda: ws.plot(GRAPH, color="red"),
        r"colour= is of vertices, .* give layout=graph.layout\(\)",
    ),
    "a row of a result": (
        lambda: RESULT[0],
        "the result has no column 0; its columns are 'vertex'",
    ),
    "a missing column": (
        lambda: ws.run(ws.PageRank, GRAPH)["rank"],
        "the result has no column 'rank'; its columns are 'vertex', 'pagerank'",
    ),
}
NAMES = {
    "a reader": (lambda: ws.read_csv, "read the file by pandas, Polars or PyArrow"),
    "a changed graph": (lambda: GRAPH.add_edge, "a graph does not change: build one"),
    "many changes": (lambda: GRAPH.add_weighted_edges_from, "a graph does not change"),
    "vertices of igraph": (lambda: GRAPH.vs, r"did you mean graph\.vertices"),
    "edges of igraph": (lambda: GRAPH.es, r"did you mean graph\.edges"),
    "neighbours of NetworkX": (lambda: GRAPH.adj, r"did you mean graph\.ego_graph"),
    "a column of a result": (lambda: RESULT.pagerank, r"result\['pagerank'\]"),
    "a frame's method of a result": (lambda: RESULT.merge, r"a frame: result\.frame\.merge"),
    "membership": (lambda: GRAPH.has_node, "write: vertex in graph"),
    "an edge": (lambda: GRAPH.has_edge, "look in graph.edges"),
    "a data set": (
        lambda: ws.datasets.karate,
        "ws.datasets has no 'karate'; did you mean ws.datasets.karate_club",
    ),
    "rows of a graph": (lambda: GRAPH.head, "did you mean graph.edges"),
    "an undirected copy": (lambda: GRAPH.to_undirected, "build it with directed=True or False"),
    "rows of a pair": (
        lambda: ws.leiden(GRAPH).head,
        "a pair has no 'head'; write: frame, modular",
    ),
    "a misspelt method": (lambda: EDGES.ws.pagernak, "frame.ws has no .*did you mean ws.pagerank"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_the_message_has_the_remedy(mistake):
    call, message = MISTAKES[mistake]
    with pytest.raises(ws.InputError, match=message):
        call()


@pytest.mark.parametrize("mistake", NAMES)
def test_names_that_do_not_exist(mistake):
    look_up, message = NAMES[mistake]
    with pytest.raises(AttributeError, match=message):
        look_up()


# Names that the library does not have, and what is suggested instead.
MEANT = {
    "communities": "; did you mean ws.louvain or ws.leiden?",
    "community": "; did you mean ws.louvain or ws.leiden?",
    "Pagerank": "; did you mean ws.pagerank?",
    "PageRanks": "; did you mean ws.pagerank?",
    "page_rank": "; did you mean ws.pagerank?",
    "shortest_paths": "; did you mean ws.shortest_path?",
    "label_prop": "; did you mean ws.label_propagation?",
    "connected": "; did you mean ws.is_connected?",
    "astar_path": "; did you mean ws.shortest_path?",
    "node2vec": "; did you mean ws.node2vec_walks?",
    "random_walk": "; did you mean ws.random_walks?",
    "girvan_newman": "; did you mean ws.louvain or ws.leiden?",
    "from_networkx": "; did you mean ws.Graph?",
    "from_pandas": "; did you mean ws.Graph?",
    "to_networkx": "; it is a method of graphs: write ws.Graph(edges).to_networkx()",
    "sample": "; did you mean ws.neighbor_sample?",
    "vertexprogram": "; did you mean ws.vertex_program?",
    "float": "; did you mean ws.float64?",
    "float16": "; did you mean ws.float64?",
    "int": "; did you mean ws.int64?",
    "bool": "; did you mean ws.boolean?",
    "double": "; did you mean ws.float64?",
    "Parameter": "; did you mean ws.parameter?",
    "neighbors": "; did you mean ws.ego_graph?",
    "jaccard_similarity": "; did you mean ws.jaccard?",
    "katz": "; did you mean ws.katz_centrality?",
    "authority": "; did you mean ws.hits?",
    "mst": "; did you mean ws.minimum_spanning_tree?",
    "show": "; did you mean ws.plot?",
    "cluster": "; did you mean ws.local_cluster?",
    "result": "; did you mean ws.Result?",
    "version": "; write ws.__version__",
    "set_engine": "; give engine='cuda' or 'cpu' to a call",
    "set_threads": "; the environment variable CUGRAPH_WS_THREADS is the number of threads",
    "save": "; results and graph.edges are frames: write them by their library",
}


def message_of(call: Any) -> str:
    """Return the message of the error that a call raises, without the places of programs."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ws.GraphWarning)
        with pytest.raises((ws.CugraphWsError, AttributeError)) as caught:
            call()
    text = re.sub(r"slip_\d+\.py", "FILE", str(caught.value))
    text = re.sub(r"line \d+ of FILE", "line N of FILE", text)
    return re.sub(r" at 0x[0-9a-f]+", "", re.sub(r"FILE:\d+", "FILE:N", text))


@pytest.mark.parametrize("mistake", CALLS)
def test_a_call_with_a_mistake(mistake):
    call, words = CALLS[mistake]
    assert words in message_of(call)


@pytest.mark.parametrize("mistake", PROGRAMS)
def test_a_program_with_a_mistake(mistake):
    call, words = PROGRAMS[mistake]
    assert words in message_of(call)


@pytest.mark.parametrize("name", MEANT)
def test_a_name_that_the_library_does_not_have(name):
    with pytest.raises(AttributeError) as caught:
        getattr(ws, name)
    assert str(caught.value) == f"cugraph_ws has no {name!r}{MEANT[name]}"


def test_every_suggested_name_exists():
    for meant in OURS.values():
        for name in meant.split(" or "):
            assert callable(getattr(ws, name)) or name in (
                "float64",
                "int64",
                "boolean",
                "vertex_id",
            )
            assert name in ws.__all__


def test_two_hundred_mistakes_are_judged():
    assert sum(map(len, (MISTAKES, NAMES, CALLS, PROGRAMS, MEANT))) >= 200


def test_a_traceback_ends_at_the_users_line(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        "import pandas\n"
        "import cugraph_ws as ws\n"
        "edges = pandas.DataFrame({'source': [0], 'destination': [1]})\n"
        "ws.run(ws.SSSP, edges, start=99)\n"
    )

    def places(**environment: str) -> list[str]:
        done = subprocess.run(
            [sys.executable, str(script)],
            env={**os.environ, **environment},
            capture_output=True,
            text=True,
            check=False,
        )
        assert (
            done.stderr.rstrip()
            .splitlines()[-1]
            .startswith("cugraph_ws.errors.InputError: start: 99 ")
        )
        return [line for line in done.stderr.splitlines() if line.startswith("  File ")]

    short, full = places(CUGRAPH_WS_TRACEBACK=""), places(CUGRAPH_WS_TRACEBACK="full")
    assert "script.py" in short[0]
    assert len(short) <= 3
    assert len(full) > len(short) + 3


def test_shortest_path_is_called_as_in_networkx():
    for path in (
        ws.shortest_path(GRAPH, source=0, target=2),
        ws.shortest_path(GRAPH, start=0, targets=2),
        GRAPH.shortest_path(0, 2),
        EDGES.ws.shortest_path(0, 2),
    ):
        assert path["vertex"].tolist() == [0, 1, 2]


def test_ids_of_several_columns_are_tuples():
    pairs = pd.DataFrame({"s": ["a"], "t": [1], "u": ["b"], "v": [2]})
    assert list(ws.Graph(pairs, ["s", "t"], ["u", "v"])) == [("a", 1), ("b", 2)]


def test_a_result_is_no_sequence_of_rows():
    with pytest.raises(TypeError, match="'Result' object is not iterable"):
        list(ws.run(ws.PageRank, GRAPH))


def in_quotes() -> Any:
    @ws.vertex_program
    class Slip:
        x: ws.float64
        combine = "sum"

        def init(vertex):
            return 1.0

        def compute(src):
            return src.x

        def apply(gathered):
            return gathered

    return Slip


def with_a_default() -> Any:
    @ws.vertex_program
    class Slip:
        x: ws.float64 = 1.0
        combine = sum

    return Slip


def with_self() -> Any:
    @ws.vertex_program
    class Slip:
        x: ws.float64
        combine = sum

        def init(self, vertex):
            return 1.0

        def compute(src):
            return src.x

        def apply(gathered):
            return gathered

    return Slip


def that_prints() -> Any:
    @ws.vertex_program
    class Slip:
        x: ws.float64
        combine = sum

        def init(vertex):
            return 1.0

        def compute(src):
            print(src.x)
            return src.x

        def apply(gathered):
            return gathered

    return Slip


def with_a_number() -> Any:
    @ws.vertex_program
    class Slip:
        x: ws.float64
        combine = sum
        damping = 0.85

    return Slip


def with_an_array_function() -> Any:
    @ws.vertex_program
    class Slip:
        x: ws.float64
        combine = np.maximum

        def init(vertex):
            return 1.0

        def compute(src):
            return src.x

        def apply(gathered):
            return gathered

    return Slip


def that_takes_a_set_for_a_parameter() -> Any:
    @ws.vertex_program
    class Slip:
        x: ws.float64
        seeds = ws.vertex_set
        combine = max

        def init(vertex, p):
            return 1.0 if p.seeds else 0.0

        def compute(src):
            return src.x

        def apply(gathered):
            return gathered

    return Slip


def with_a_value_for_a_type() -> Any:
    @ws.vertex_program
    class Slip:
        x: ws.float64
        damping = ws.parameter(0.85)  # type: ignore[arg-type]

    return Slip


def that_reads_a_degree() -> Any:
    @ws.vertex_program
    class Slip:
        x: ws.float64
        combine = sum

        def init(vertex):
            return 1.0

        def compute(src):
            return src.x / src.out_degree

        def apply(gathered):
            return gathered

    return Slip


def over_a_frame() -> Any:
    @ws.vertex_program
    class Slip:
        x: ws.float64
        combine = sum

        def init(vertex):
            return EDGES["weight"][vertex]

        def compute(src):
            return src.x

        def apply(gathered):
            return gathered

    return Slip


def that_asks_for_none() -> Any:
    @ws.vertex_program
    class Slip:
        x: ws.float64
        combine = sum

        def init(vertex):
            return 1.0

        def compute(src):
            return src.x

        def apply(old, gathered):
            if gathered is None:
                return old.x
            return gathered

    return Slip


def that_is_async() -> Any:
    @ws.vertex_program
    class Slip:
        x: ws.float64
        combine = sum

        def init(vertex):
            return 1.0

        async def compute(src):
            return src.x

        def apply(gathered):
            return gathered

    return Slip


@pytest.mark.parametrize(
    ("program", "message"),
    [
        (in_quotes, r"Slip\.combine is text; write combine = sum, without quotes"),
        (with_a_default, r"Slip\.x = 1\.0: a state has no default; .* from init"),
        (with_self, "a program has no self"),
        (that_prints, r"`print\(src\.x\)`: programs do not print; .* breakpoints"),
        (lambda: ws.vertex_program(), "put @ws.vertex_program, without parentheses, above a class"),
        (
            with_a_number,
            r"declare it damping = ws\.parameter\(ws\.float64, 0\.85\), and read p\.damp",
        ),
        (with_an_array_function, "is a function of arrays; write combine = max"),
        (
            with_a_value_for_a_type,
            "Slip.damping: 0.85 is no type; give one first, such as ws.float64",
        ),
        (that_takes_a_set_for_a_parameter, r"did you mean `own\.seeds`\?"),
        (that_reads_a_degree, "declare `out_degree: ws.out_degree`"),
        (over_a_frame, "`EDGES` is a DataFrame; only numbers"),
        (that_asks_for_none, "`gathered is None`: nothing is None in a program; .*0 for sum"),
        (that_is_async, r"Slip\.compute .*: is async; write it as a plain def"),
    ],
)
def test_a_program_with_a_slip(program, message):
    with pytest.raises(ws.ProgramError, match=message):
        program()
