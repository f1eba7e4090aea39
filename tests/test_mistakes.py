"""Mistakes as new users make them: each message says what was given and what to write instead."""

from __future__ import annotations

import pandas as pd
import pytest

import cugraph_ws as ws

EDGES = pd.DataFrame({"source": [0, 1, 2], "destination": [1, 2, 0], "weight": [1.0, 2.0, 3.0]})
GRAPH = ws.Graph(EDGES)

MISTAKES = {
    "no edges": (lambda: ws.pagerank(None), "not NoneType; give a frame with a row for each edge"),
    "one column": (lambda: ws.pagerank(EDGES["source"]), "give the frame that the column is of"),
    "a path": (lambda: ws.pagerank("edges.csv"), "read the file first"),
    "tuples": (lambda: ws.pagerank([(0, 1)]), r"pandas\.DataFrame\(data\)"),
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
    "a missing column": (
        lambda: ws.run(ws.PageRank, GRAPH)["rank"],
        "the result has no column 'rank'; its columns are 'vertex', 'pagerank'",
    ),
}
NAMES = {
    "a reader": (lambda: ws.read_csv, "read the file by pandas, Polars or PyArrow"),
    "a changed graph": (lambda: GRAPH.add_edge, "a graph does not change: build one"),
    "membership": (lambda: GRAPH.has_node, "write: vertex in graph"),
    "an edge": (lambda: GRAPH.has_edge, "look in graph.edges"),
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


def test_a_result_is_no_sequence_of_rows():
    with pytest.raises(TypeError, match="'Result' object is not iterable"):
        list(ws.run(ws.PageRank, GRAPH))
