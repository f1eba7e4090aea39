"""Mistakes in calls, each with the decisive words of its message, judged one by one.

`FILE` stands for the file of a program, and `N` for a line.
"""

from __future__ import annotations

import copy
import decimal
import pickle
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
import polars as pl
import scipy.sparse as sp
from slips import slip

import cugraph_ws as ws

EDGES = pd.DataFrame({"source": [0, 1, 2], "destination": [1, 2, 0], "weight": [1.0, 2.0, 3.0]})
NAMED = pd.DataFrame({"source": ["a", "b"], "destination": ["b", "c"], "weight": [1.0, 2.0]})
GRAPH = ws.Graph(EDGES)
UNDIRECTED = ws.Graph(EDGES, directed=False)
RESULT = ws.run(ws.PageRank, GRAPH)


def frame(**columns: Any) -> pd.DataFrame:
    """Return the edges with other columns."""
    return EDGES.assign(**columns)


CALLS: dict[str, tuple[Any, str]] = {
    "list of tuples with run": (
        lambda: ws.run(ws.PageRank, [(0, 1), (1, 2)]),
        "not list; pandas.DataFrame(data, columns=['source', 'destination']) makes one of pairs",
    ),
    "dict of lists": (
        lambda: ws.Graph({"source": [0], "destination": [1]}),
        "not dict; pandas.DataFrame(data), polars.DataFrame(data) or pyarrow.table(data) makes one",
    ),
    "adjacency dict": (
        lambda: ws.Graph({0: [1, 2], 1: [2]}),
        "not dict; for a dict of neighbours, pandas.DataFrame([(a, b) for a in data for b in data[a]], columns=['source', 'destination']) makes one",
    ),
    "numpy array": (
        lambda: ws.Graph(np.array([[0, 1], [1, 2]])),
        "not ndarray; Graph.from_arrays(source, destination) takes arrays, and pandas.DataFrame(array, columns=['source', 'destination']) makes a frame of one",
    ),
    "scipy matrix": (
        lambda: ws.Graph(sp.eye(3).tocsr()),
        "not csr_matrix; Graph.from_matrix(matrix) takes sparse matrices",
    ),
    "networkx graph": (
        lambda: ws.Graph(nx.path_graph(3)),
        "not Graph; networkx.to_pandas_edgelist(graph, target='destination') makes one",
    ),
    "a Graph of Graph": (
        lambda: ws.Graph(GRAPH),
        "not Graph; it is a graph: give a frame of its rows, such as graph.edges or a result",
    ),
    "generator": (
        lambda: ws.Graph((i, i) for i in range(3)),
        "not generator; pandas.DataFrame(list(data), columns=['source', 'destination']) makes one of pairs",
    ),
    "set of pairs": (
        lambda: ws.Graph({(0, 1)}),
        "not set; pandas.DataFrame(list(data), columns=['source', 'destination']) makes one of pairs",
    ),
    "path in pathlib": (
        lambda: ws.Graph(Path("e.csv")),
        "not PosixPath; read the file first, for example by pandas.read_parquet",
    ),
    "wrong col default": (
        lambda: ws.Graph(pd.DataFrame({"src": [0], "dst": [1]})),
        "source='source': edges has no such column; did you mean source='src', destination='dst'? its columns are 'src', 'dst'",
    ),
    "wrong col from/to": (
        lambda: ws.pagerank(pd.DataFrame({"from": [0], "to": [1]})),
        "source='source': edges has no such column; did you mean source='from', destination='to'? its columns are 'from', 'to'",
    ),
    "two unnamed cols": (
        lambda: ws.pagerank(pd.DataFrame([(0, 1), (1, 2)])),
        "source='source': edges has no such column; did you mean source=0, destination=1? its columns are 0, 1",
    ),
    "same column twice": (
        lambda: ws.Graph(EDGES, source="source", destination="source"),
        "source='source' and destination='source' are the same, so that every edge would lead back to where it begins; name the columns of both ends",
    ),
    "weight col lacking": (
        lambda: ws.Graph(EDGES, weight="wieght"),
        "weight='wieght': edges has no such column; did you mean 'weight'? its columns are 'source', 'destination', 'weight'",
    ),
    "text weights": (
        lambda: ws.Graph(frame(weight=["a", "b", "c"])),
        "numbers are needed: cast the column to float64",
    ),
    "nan weights": (
        lambda: ws.Graph(frame(weight=[1, np.nan, 2])),
        "column 'weight' (weight): row 1 is nan; drop the rows without a value or fill them",
    ),
    "inf weights": (
        lambda: ws.Graph(frame(weight=[1, np.inf, 2])),
        "column 'weight' (weight): row 1 is inf; finite values are needed: drop the row, or give a large number",
    ),
    "timestamps as weights": (
        lambda: ws.Graph(frame(weight=pd.to_datetime(["2020-01-01"] * 3))),
        "column 'weight' (weight) holds timestamp[us]; numbers are needed: `frame['weight'] = frame['weight'].astype('int64')` makes integers of it, in its unit",
    ),
    "timedelta as weights": (
        lambda: ws.Graph(frame(weight=pd.to_timedelta([1, 2, 3], unit="s"))),
        "column 'weight' (weight) holds duration[s]; numbers are needed: `frame['weight'] = frame['weight'].astype('int64')` makes integers of it, in its unit",
    ),
    "timestamps as attributes": (
        lambda: ws.run(
            slip(
                fields="x: ws.float64\nt: ws.edge(ws.float64)",
                compute="def compute(src, edge):\n    return edge.t",
            ),
            frame(t=pd.to_datetime(["2020-01-01"] * 3)),
        ),
        "column 't' (attributes) holds timestamp[us]; numbers are needed: `frame['t'] = frame['t'].astype('int64')` makes integers of it, in its unit",
    ),
    "timestamps as weights polars": (
        lambda: ws.Graph(pl.from_pandas(frame(weight=pd.to_datetime(["2020-01-01"] * 3)))),
        "column 'weight' (weight) holds timestamp[us]; numbers are needed: `frame = frame.with_columns(polars.col('weight').to_physical())` makes integers of it, in its unit",
    ),
    "complex weights": (
        lambda: ws.Graph(frame(weight=[1j, 2, 3])),
        "numbers are complex: take their real part, or abs()",
    ),
    "categorical weights": (
        lambda: ws.Graph(frame(weight=pd.Categorical(["a", "b", "a"]))),
        "numbers are needed: frame['weight'].cat.codes has a number for each of its words",
    ),
    "decimal weights": (
        lambda: ws.Graph(frame(weight=[decimal.Decimal(1)] * 3)),
        "column 'weight' (weight) holds decimal128(1, 0); numbers are needed: cast the column to float64",
    ),
    "negative weights sssp": (
        lambda: ws.sssp(frame(weight=[-1.0, 2, 3]), 0),
        "column 'weight' has the value -1.0 on the edge 0 to 1; SSSP needs 0 or more: drop such edges",
    ),
    "negative weights louvain": (
        lambda: ws.louvain(frame(weight=[-1.0, 2, 3]), directed=False),
        "column 'weight': the edge from 1 to 0 has the weight -1.0; weights must be 0 or more: drop such edges",
    ),
    "negative weights pagerank": (
        lambda: ws.pagerank(frame(weight=[-1.0, 2, 3])),
        "column 'weight' has the value -1.0 on the edge 0 to 1; PageRank needs 0 or more: drop such edges",
    ),
    "nan ids": (
        lambda: ws.Graph(frame(source=[0, np.nan, 1])),
        "column 'source' (source): row 1 has no id, and pandas makes floats of integers with a missing one; drop the rows without ids, then cast the column to int64",
    ),
    "None ids text": (
        lambda: ws.Graph(frame(source=["a", None, "b"], destination=["a", "b", "c"])),
        "column 'source' (source): row 1 is null; drop the rows without a value or fill them",
    ),
    "float ids": (
        lambda: ws.Graph(frame(source=[0.5, 1.0, 2.0])),
        "column 'source' (source) holds double: ids may be integers, strings, bytes, categoricals, timestamps, dates or durations; floats are not exact ids; cast the column to int64 or to strings",
    ),
    "mixed ids": (
        lambda: ws.Graph(frame(source=["a", 1, 2.0])),
        "column 'source' (source): values of one kind are needed, and a dtype that Arrow knows: there are number and str among them",
    ),
    "source int destination text": (
        lambda: ws.Graph(frame(destination=["0", "1", "2"])),
        "ids of two kinds: column 'source' (source) holds integer (int64), column 'destination' (destination) holds text (str); cast one column to the kind of the other",
    ),
    "timestamps as ids": (
        lambda: ws.Graph(frame(source=pd.to_datetime(["2020-01-01"] * 3))),
        "ids of two kinds: column 'source' (source) holds timestamp (datetime64[us]), column 'destination' (destination) holds integer (int64); cast one column to the kind of the other",
    ),
    "bool ids": (
        lambda: ws.Graph(frame(source=[True, False, True], destination=[False, True, True])),
        "column 'source' (source) holds bool: ids may be integers, strings, bytes, categoricals, timestamps, dates or durations; cast the column to int8, or give the ids that a mask selects",
    ),
    "list ids": (
        lambda: ws.Graph(frame(source=[[1], [2], [3]])),
        "column 'source' (source): values of one kind are needed, and a dtype that Arrow knows: there is a list among them, and each must be a single value; make a column of each part, and give a list of columns, as in source=['a', 'b']",
    ),
    "multiindex columns": (
        lambda: ws.Graph(
            pd.DataFrame(
                np.zeros((2, 2)), columns=pd.MultiIndex.from_tuples([("a", "b"), ("a", "c")])
            )
        ),
        "source='source': edges has no such column; its labels have several levels: give it flat names; its columns are ('a', 'b'), ('a', 'c')",
    ),
    "index as source": (
        lambda: ws.Graph(EDGES.set_index("source")),
        "source='source': edges has no such column; it is the frame's index: give frame.reset_index(); its columns are 'destination', 'weight'",
    ),
    "empty frame no columns": (
        lambda: ws.Graph(pd.DataFrame()),
        "source='source': edges has no such column; its columns are none",
    ),
    "empty bfs": (
        lambda: ws.bfs(EDGES.iloc[:0], 0),
        "start: 0 is not a vertex of the graph; give an id of the edges, or list vertices without edges in Graph(vertices=...)",
    ),
    "multi ids scalar start": (
        lambda: ws.bfs(
            ws.Graph(
                pd.DataFrame({"a": [1], "b": ["x"], "c": [2], "d": ["y"]}), ["a", "b"], ["c", "d"]
            ),
            1,
        ),
        "start: 1 is not an id; give a tuple of ('a', 'b')",
    ),
    "multi ids unequal": (
        lambda: ws.Graph(
            pd.DataFrame({"a": [1], "b": ["x"], "c": [2], "d": ["y"]}), ["a", "b"], "c"
        ),
        "source names 2 columns and destination 1; give as many columns for both",
    ),
    "categorical start unknown": (
        lambda: ws.bfs(
            frame(source=pd.Categorical(["a", "b", "a"]), destination=["b", "c", "c"]), "z"
        ),
        "start: 'z' is not a vertex of the graph; give an id of the edges, or list vertices without edges in Graph(vertices=...)",
    ),
    "vertices a list": (
        lambda: ws.Graph(EDGES, vertices=[0, 1, 2, 3]),
        "not list; pandas.DataFrame({'vertex': data}) makes one of ids",
    ),
    "vertices an int": (
        lambda: ws.Graph(EDGES, vertices=4),
        "not int; convert it",
    ),
    "vertices dup": (
        lambda: ws.Graph(EDGES, vertices=pd.DataFrame({"vertex": [0, 0, 1, 2]})),
        "vertices: vertex 0 is given 2 times; keep one row for each vertex",
    ),
    "vertices wrong col": (
        lambda: ws.Graph(EDGES, vertices=pd.DataFrame({"node": [0, 1, 2], "a": [1, 2, 3]})),
        "vertices: the ids must be in 'vertex' or 'source', but the columns are 'node', 'a'; rename the id column",
    ),
    "duplicates word": (
        lambda: ws.Graph(EDGES, duplicates="drop"),
        "duplicates='drop': choose one of 'keep', 'sum', 'min', 'max', 'mean', 'first', 'error'",
    ),
    "self_loops word": (
        lambda: ws.Graph(EDGES, self_loops="remove"),
        "self_loops='remove': did you mean 'drop'? choose one of 'keep', 'drop', 'error'",
    ),
    "directed text": (
        lambda: ws.Graph(EDGES, directed="no"),
        "directed='no' must be True or False",
    ),
    "create_using": (
        lambda: ws.Graph(EDGES, create_using=nx.DiGraph),
        "Graph takes no create_using=; did you mean directed=?",
    ),
    "store_transposed": (
        lambda: ws.Graph(EDGES, store_transposed=True),
        "Graph takes no store_transposed=; both orders are made when they are needed; leave it out",
    ),
    "attributes lacking": (
        lambda: ws.Graph(EDGES, attributes=["w2"]),
        "attributes='w2': edges has no such column; its columns are 'source', 'destination', 'weight'",
    ),
    "placement": (
        lambda: ws.Graph(EDGES, placement="gpu"),
        "placement='gpu': choose one of 'memory', 'auto', 'device', 'host', 'disk'",
    ),
    "memory_limit": (
        lambda: ws.Graph(EDGES, memory_limit="lots"),
        "memory_limit='lots': give bytes, or text such as '2GB' or '512MiB'",
    ),
    "from_arrays text": (
        lambda: ws.Graph.from_arrays("source", "destination"),
        "source='source': give a list, an array or a Series of values",
    ),
    "from_arrays lengths": (
        lambda: ws.Graph.from_arrays(np.arange(3), np.arange(2)),
        "arrays: arrays of equal length are needed, not 3 in source, 2 in destination",
    ),
    "from_arrays 2d": (
        lambda: ws.Graph.from_arrays(np.zeros((2, 2)), np.zeros((2, 2))),
        "source: a one-dimensional array is needed, not 2-D",
    ),
    "bfs start unknown": (
        lambda: ws.bfs(GRAPH, start=99),
        "start: 99 is not a vertex of the graph; give an id of the edges, or list vertices without edges in Graph(vertices=...)",
    ),
    "bfs start x": (
        lambda: ws.bfs(GRAPH, start="x"),
        "column 'start' (start) holds text (string), but the graph's ids are integer (int64); give ids of that kind",
    ),
    "bfs start None": (
        lambda: ws.bfs(GRAPH, None),
        "BFS needs start=, a vertex or a list of vertices",
    ),
    "bfs start nan": (
        lambda: ws.bfs(GRAPH, float("nan")),
        "column 'start' (start): row 0 has no id, and pandas makes floats of integers with a missing one; drop the rows without ids, then cast the column to int64",
    ),
    "bfs swapped": (
        lambda: ws.bfs(0, GRAPH),
        "not int; the edges, or a graph, are the first argument, and ids follow",
    ),
    "bfs start True": (
        lambda: ws.bfs(GRAPH, True),
        "column 'start' (start) holds bool: ids may be integers, strings, bytes, categoricals, timestamps, dates or durations; cast the column to int8, or give the ids that a mask selects",
    ),
    "bfs start dict": (
        lambda: ws.bfs(GRAPH, {0: 1}),
        "start={0: 1}: give a list, an array or a Series of values",
    ),
    "bfs source text in text graph": (
        lambda: ws.bfs(frame(source=["a", "b", "c"], destination=["b", "c", "a"]), 0),
        "column 'start' (start) holds integer (int64), but the graph's ids are text (str); give ids of that kind",
    ),
    "bfs case": (
        lambda: ws.bfs(frame(source=["Anna", "b", "c"], destination=["b", "c", "Anna"]), "anna"),
        "start: 'anna' is not a vertex of the graph; did you mean 'Anna'?",
    ),
    "bfs other digits": (
        lambda: ws.bfs(frame(source=["id 9", "b", "c"], destination=["b", "c", "id 9"]), "id 99"),
        "start: 'id 99' is not a vertex of the graph; give an id of the edges, or list vertices without edges in Graph(vertices=...)",
    ),
    "bfs text space": (
        lambda: ws.bfs(frame(source=["Anna", "b", "c"], destination=["b", "c", "Anna"]), "Anna "),
        "start: 'Anna ' is not a vertex of the graph; did you mean 'Anna'?",
    ),
    "max_iter text": (
        lambda: ws.pagerank(GRAPH, max_iter="100"),
        "max_iter='100' must be a whole number, 0 or more",
    ),
    "max_iter float": (
        lambda: ws.pagerank(GRAPH, max_iter=1e3),
        "max_iter=1000.0 must be a whole number, 0 or more",
    ),
    "tol neg": (
        lambda: ws.pagerank(GRAPH, tol=-1),
        "tol=-1 must be a number, 0 or more",
    ),
    "alpha big": (
        lambda: ws.pagerank(GRAPH, alpha=85),
        "alpha=85.0 must be between 0 and 1",
    ),
    "alpha text": (
        lambda: ws.pagerank(GRAPH, alpha="0.85"),
        "alpha='0.85' is not a number; PageRank needs ws.float64",
    ),
    "alpha nan": (
        lambda: ws.pagerank(GRAPH, alpha=float("nan")),
        "alpha=nan is not a number; give a number",
    ),
    "engine gpu": (
        lambda: ws.pagerank(GRAPH, engine="gpu"),
        "engine='gpu' is not known; did you mean 'cuda'? choose 'auto', 'cpu', 'cuda' or 'python'",
    ),
    "engine dask": (
        lambda: ws.pagerank(GRAPH, engine="dask"),
        "engine='dask' is not known; a Dask frame is computed on its cluster, whatever the engine; choose 'auto', 'cpu', 'cuda' or 'python'",
    ),
    "engine None": (
        lambda: ws.pagerank(GRAPH, engine=None),
        "engine=None must be text, such as 'auto'",
    ),
    "plan text": (
        lambda: ws.pagerank(GRAPH, plan="pull"),
        "plan='pull' must be a plan, such as ws.Plan(direction=\"pull\")",
    ),
    "plan dict": (
        lambda: ws.pagerank(GRAPH, plan={"direction": "pull"}),
        "plan={'direction': 'pull'} must be a plan, such as ws.Plan(direction=\"pull\")",
    ),
    "plan direction wrong": (
        lambda: ws.Plan(direction="forward"),
        "direction='forward' is not known; choose 'auto', 'push', 'pull' or 'gather'",
    ),
    "plan partitions": (
        lambda: ws.Plan(partitions=0),
        "partitions=0 must be a whole number, 1 or more",
    ),
    "plan layout": (
        lambda: ws.Plan(layout="csr"),
        "layout='csr' is not known; did you mean 'csc'? choose 'auto', 'csc', 'tiles', 'gshards' or 'windows'",
    ),
    "personalization list": (
        lambda: ws.pagerank(GRAPH, personalization=[0, 1]),
        "personalization: a frame of vertices and values, a dict, a number or the name of a vertex attribute is needed, not list; a dict is {vertex: value}",
    ),
    "personalization zero": (
        lambda: ws.pagerank(GRAPH, personalization={0: 0.0}),
        "personalization sums to 0.0; give at least one vertex a share above 0",
    ),
    "personalization int": (
        lambda: ws.pagerank(GRAPH, personalization=0),
        "personalization sums to 0.0; give at least one vertex a share above 0",
    ),
    "k as text": (
        lambda: ws.k_core(GRAPH, "3"),
        "k='3' must be a whole number, 0 or more",
    ),
    "betweenness k": (
        lambda: ws.betweenness_centrality(GRAPH, k=100),
        "k=100: the graph has 3 vertices; give at most that many",
    ),
    "betweenness normalized text": (
        lambda: ws.betweenness_centrality(GRAPH, normalized="yes"),
        "normalized='yes' must be True or False",
    ),
    "seed text": (
        lambda: ws.leiden(GRAPH, seed="x"),
        "seed='x' must be a whole number, 0 or more",
    ),
    "resolution neg": (
        lambda: ws.louvain(GRAPH, resolution=-1),
        "resolution=-1 must be a number, above 0",
    ),
    "topological of cycle": (
        lambda: ws.topological_levels(GRAPH),
        "the graph has a cycle, so there are no levels: 0 -> 1 -> 2 -> 0; leave out one of its edges, or contract the strongly connected components",
    ),
    "jaccard pairs list": (
        lambda: ws.jaccard(UNDIRECTED, [(0, 1)]),
        "vertex_pair: a frame with the columns first, second is needed, not list; pandas.DataFrame(pairs, columns=['first', 'second']) makes one of a list of pairs",
    ),
    "jaccard pairs wrong": (
        lambda: ws.jaccard(UNDIRECTED, pairs=pd.DataFrame({"a": [0], "b": [1]})),
        "jaccard() has no argument pairs; it has: graph, vertex_pair, use_weight, top, at_least, source, destination, weight, directed, and the options of run()",
    ),
    "modularity labels": (
        lambda: ws.modularity(UNDIRECTED, "label"),
        "communities='label': the graph has no such vertex attribute; it has: none; give the column in Graph(vertices=...), or values as a frame or a dict",
    ),
    "modularity missing vertex": (
        lambda: ws.modularity(UNDIRECTED, {0: 0, 1: 0}),
        "communities: vertex 2 has no value; give one for every vertex",
    ),
    "mask frame": (
        lambda: GRAPH.mask(EDGES),
        'edges=<DataFrame of 3 rows> is a frame; give a column of bool, or a function of the columns: lambda edges: edges["weight"] < 2',
    ),
    "mask length": (
        lambda: GRAPH.mask([True]),
        "edges: 1 values for 3 edges; give one for each row of graph.edge_frame(), in its order",
    ),
    "mask callable no bool": (
        lambda: GRAPH.mask(lambda edges: edges["weight"]),
        "edges: a column of bool is needed, not of double; compare the column with a value, as in graph.mask(lambda edges: edges['weight'] > 0)",
    ),
    "weight on built graph": (
        lambda: ws.pagerank(GRAPH, weight="w"),
        "weight='w': the graph was built with weight='weight'; give the weight to Graph(...), or weight=None for no weights",
    ),
    "directed on built graph": (
        lambda: ws.louvain(GRAPH, directed=False),
        "directed=False: the graph was built directed; give directed=False to Graph(...)",
    ),
    "source on built graph": (
        lambda: ws.pagerank(GRAPH, source="a"),
        "source='a': the graph was built with source='source'; leave it out",
    ),
    "graph len arr": (
        lambda: GRAPH[0, 1],
        "graph[(0, 1)]: a graph has no items; select rows of graph.edges or graph.vertices, which are frames, or call graph.ego_graph(vertex) for the edges around a vertex",
    ),
    "result iter": (
        lambda: RESULT.n_iter,
        "a result has no 'n_iter'; did you mean result.iterations?",
    ),
    "result trace misspelt": (
        lambda: RESULT.traces,
        "a result has no 'traces'; did you mean result.trace?",
    ),
    "pickle graph": (
        lambda: pickle.dumps(GRAPH),
        "a graph is not pickled; pickle graph.edges, a frame, and build the graph of it where it is needed; threads of one process can share a graph",
    ),
    "deepcopy graph": (
        lambda: copy.deepcopy(GRAPH),
        "a graph is not pickled; pickle graph.edges, a frame, and build the graph of it where it is needed; threads of one process can share a graph",
    ),
    "save": (
        lambda: GRAPH.save("x"),
        "a graph has no 'save'; graph.edges is a frame: write that",
    ),
    "timeout neg": (
        lambda: ws.pagerank(GRAPH, timeout=-1),
        "timeout=-1 must be a number, above 0",
    ),
    "progress text": (
        lambda: ws.pagerank(GRAPH, progress="yes"),
        "progress='yes' must be True, False or a function",
    ),
    "run swapped graph": (
        lambda: ws.run(GRAPH, ws.PageRank),
        "run takes the program first, then the graph: exchange the two",
    ),
    "run of None": (
        lambda: ws.run(None, GRAPH),
        "program=None is neither a vertex program nor a loop; put @ws.vertex_program or @ws.edge_program above the class",
    ),
    "run_many of dict": (
        lambda: ws.run_many({"a": ws.PageRank}, GRAPH),
        "programs={'a': <vertex program PageRank: pagerank, share>}: give a list of programs, or of tuples (program, arguments)",
    ),
    "run_many pair": (
        lambda: ws.run_many([(ws.SSSP, 0)], GRAPH),
        "arguments=0: give a mapping by name, as in (ws.SSSP, {'start': 0})",
    ),
    "run_many swapped": (
        lambda: ws.run_many(GRAPH, [ws.PageRank]),
        "run_many takes the programs first, then the graph: exchange the two",
    ),
    "layout method": (
        lambda: ws.layout(GRAPH, method="spring"),
        "layout() has no argument method; it has: graph, iterations, seed, engine, source, destination, weight, directed",
    ),
    "plot column": (
        lambda: ws.plot(GRAPH, color="pagerank"),
        "colour= is of vertices, and a map of communities has none; give layout=graph.layout()",
    ),
    "multi_source starts int": (
        lambda: ws.multi_source_bfs(GRAPH, 0),
        "starts=0 must be a list of vertices",
    ),
    "neighbor_sample fanout int": (
        lambda: ws.neighbor_sample(GRAPH, [0], 5),
        "fanouts=5 must list an integer for each hop: [25, 10]",
    ),
    "ego radius text": (
        lambda: ws.ego_graph(GRAPH, 0, radius="2"),
        "radius='2' must be a whole number, 0 or more",
    ),
    "degrees kind": (
        lambda: ws.degrees(GRAPH, kind="in"),
        "degrees() has no argument kind; it has: graph, vertices, weighted, source, destination, weight, directed, and the options of run()",
    ),
    "run_groups": (
        lambda: ws.run_groups(ws.pagerank, EDGES, "g"),
        "by='g': edges has no such column; its columns are 'source', 'destination', 'weight'",
    ),
    "katz alpha": (
        lambda: ws.katz_centrality(GRAPH, alpha=5.0),
        "katz_centrality diverged: its values grow without bound after 323 supersteps, residual inf; alpha=5.0 is above 1/λ: changes grow by a factor of 8.75 in each superstep, so the greatest eigenvalue λ is about 1.75; give an alpha",
    ),
    "frame.ws.pagerank(graph)": (
        lambda: EDGES.ws.pagerank(EDGES),
        "frame.ws.pagerank() has the frame before .ws as its graph; leave out the first argument",
    ),
    "jaccard of tuple": (
        lambda: ws.jaccard(UNDIRECTED, (0, 1)),
        "vertex_pair: a frame with the columns first, second is needed, not tuple; pandas.DataFrame(pairs, columns=['first', 'second']) makes one of a list of pairs",
    ),
    "ws.run engine pos": (
        lambda: ws.run(ws.PageRank, GRAPH, "cpu"),
        "run() takes program, graph by position; give the others by name, not 'cpu'",
    ),
    "pagerank pos tol": (
        lambda: ws.pagerank(GRAPH, 0.85, None, 100, 1e-6),
        "max_iter=1e-06 must be a whole number, 0 or more",
    ),
    "leiden objective": (
        lambda: ws.leiden(UNDIRECTED, objective="modularty"),
        "objective='modularty': did you mean 'modularity'? choose one of 'modularity', 'cpm'",
    ),
    "betweenness weight text": (
        lambda: ws.betweenness_centrality(GRAPH, weight="length"),
        "weight='length': the graph was built with weight='weight'; give the weight to Graph(...), or weight=None for no weights",
    ),
    "closeness normalized none": (
        lambda: ws.closeness_centrality(GRAPH, normalized=None),
        "closeness_centrality() has no argument normalized; it has: graph, vertices, k, seed, wf_improved, weighted, source, destination, weight, directed, and the options of run()",
    ),
    "subgraph of frame no col": (
        lambda: ws.subgraph(GRAPH, pd.DataFrame({"node": [0], "b": [1]})),
        "vertices: the ids must be in 'vertex' or 'source', but the columns are 'node', 'b'; rename the id column",
    ),
    "subgraph text": (
        lambda: ws.subgraph(NAMED, "a"),
        "vertices='a': give a list, an array or a Series of values",
    ),
    "modularity frame": (
        lambda: ws.modularity(UNDIRECTED, pd.DataFrame({"vertex": [0, 1, 2]})),
        "communities: one column of values is needed besides 'vertex', not 0 (none); give a frame with exactly one",
    ),
    "modularity series": (
        lambda: ws.modularity(UNDIRECTED, pd.Series([0, 0, 1])),
        "communities: a frame of vertices and values, a dict, a number or the name of a vertex attribute is needed, not Series; its to_dict() is one, if its index has the ids",
    ),
    "modularity of Communities": (
        lambda: ws.modularity(UNDIRECTED, ws.louvain(UNDIRECTED)),
        "communities: item 0 is <DataFrame of 3 rows>; give sets or lists of vertices, a mapping, or a frame with the label of each vertex",
    ),
    "degrees vertices int": (
        lambda: ws.degrees(GRAPH, 0),
        "vertices=0 is one value; give a list: [0]",
    ),
    "plot file type": (
        lambda: ws.plot(GRAPH, file="x.bmp"),
        "file is 'x.bmp': end it in one of .png, .svg, .pdf",
    ),
    "result plot col": (
        lambda: RESULT.plot("rank"),
        "column='rank': the result has no such column; it has: 'pagerank'",
    ),
    "result of list cols": (
        lambda: RESULT[["vertex", "rank"]],
        "the result has no column 'rank'; its columns are 'vertex', 'pagerank'",
    ),
    "result edges": (
        lambda: RESULT.edges,
        "the program keeps no state on edges; declare a field, as in `flow = ws.edge_state(ws.float64)`",
    ),
    "result vertices attr": (
        lambda: RESULT.vertices,
        "a result has no 'vertices'; did you mean result.frame?",
    ),
    "result pageranks": (
        lambda: RESULT.pageranks,
        "a result has no 'pageranks'; did you mean result['pagerank']?",
    ),
    "graph.vertices misspelt": (
        lambda: GRAPH.vertexs,
        "a graph has no 'vertexs'; did you mean graph.vertices?",
    ),
    "graph.degree()": (
        lambda: GRAPH.indegree,
        "a graph has no 'indegree'; did you mean graph.degree or graph.degrees?",
    ),
    "graph.pagerank(frame)": (
        lambda: GRAPH.pagerank(EDGES),
        "alpha=<DataFrame of 3 rows> is not a number; PageRank needs ws.float64",
    ),
    "mask string col": (
        lambda: GRAPH.mask("weight"),
        "edges='weight' is text; give a function of the columns: lambda edges: edges[\"weight\"] < 2",
    ),
    "mask list too long": (
        lambda: GRAPH.mask([True] * 9),
        "edges: 9 values for 3 edges; give one for each row of graph.edge_frame(), in its order",
    ),
    "mask of ints": (
        lambda: GRAPH.mask([0, 1, 1]),
        "edges: a column of bool is needed, not of int64; compare the column with a value, as in graph.mask(lambda edges: edges['weight'] > 0)",
    ),
    "from_matrix dense": (
        lambda: ws.Graph.from_matrix(np.eye(3)),
        "matrix: a sparse matrix of SciPy or CuPy is needed, not ndarray; scipy.sparse.csr_array(matrix) converts a dense one",
    ),
    "from_matrix non square": (
        lambda: ws.Graph.from_matrix(sp.csr_matrix(np.ones((2, 3)))),
        "matrix: a square matrix is needed, not 2 by 3; give the edges of a bipartite graph to Graph.from_arrays",
    ),
    "from_arrays strings vs ints": (
        lambda: ws.Graph.from_arrays(np.array(["a", "b"]), np.array([1, 2])),
        "ids of two kinds: column 'source' (source) holds text (string), column 'destination' (destination) holds integer (int64); cast one column to the kind of the other",
    ),
    "from_arrays weight short": (
        lambda: ws.Graph.from_arrays([0, 1], [1, 2], weight=[1.0]),
        "arrays: arrays of equal length are needed, not 2 in source, 2 in destination, 1 in weight",
    ),
    "from_arrays nan": (
        lambda: ws.Graph.from_arrays(np.array([0, np.nan]), np.array([1.0, 2])),
        "column 'source' (source): row 1 has no id, and pandas makes floats of integers with a missing one; drop the rows without ids, then cast the column to int64",
    ),
    "attributes text col": (
        lambda: ws.Graph(frame(name=["a", "b", "c"]), attributes="name"),
        "numbers are needed: cast the column to float64",
    ),
    "attributes None list": (
        lambda: ws.Graph(EDGES, attributes=[None]),
        "attributes=[None] must be the name of a column, or a list of names",
    ),
    "duplicates map": (
        lambda: ws.Graph(EDGES, duplicates={"w": "sum"}),
        "duplicates={'w': 'sum'}: give a policy for each column that is kept: 'weight'",
    ),
    "duplicates error": (
        lambda: ws.Graph(pd.concat([EDGES, EDGES]), duplicates="error"),
        "duplicates='error': 3 edges repeat another, such as 2 to 0; choose another policy: 'keep', 'sum', 'min', 'max', 'mean' or 'first'",
    ),
    "self loops error": (
        lambda: ws.Graph(pd.DataFrame({"source": [1], "destination": [1]}), self_loops="error"),
        "self_loops='error': row 0 joins 1 to itself, and 0 more rows are self-loops; choose 'keep' or 'drop'",
    ),
    "polars null ids": (
        lambda: ws.Graph(pl.DataFrame({"source": [0, None], "destination": [1, 2]})),
        "column 'source' (source): row 1 is null; drop the rows without a value or fill them",
    ),
    "polars list ids": (
        lambda: ws.Graph(pl.DataFrame({"source": [[0], [1]], "destination": [[1], [2]]})),
        "column 'source' (source): values of one kind are needed, and a dtype that Arrow knows: List(Int64) is not such a dtype",
    ),
    "polars lazy wrong col": (
        lambda: ws.Graph(pl.DataFrame({"a": [1], "b": [2]}).lazy()),
        "source='source': edges has no such column; did you mean source='a', destination='b'? its columns are 'a', 'b'",
    ),
    "pandas Series pair": (
        lambda: ws.Graph(EDGES["source"], EDGES["destination"]),
        "source=<Series of 3 values> must be the name of a column, or a list of names; Graph.from_arrays takes arrays",
    ),
    "start date text": (
        lambda: ws.bfs(
            pd.DataFrame(
                {
                    "source": pd.to_datetime(["2020-01-01"]),
                    "destination": pd.to_datetime(["2020-01-02"]),
                }
            ),
            "2020-01-01",
        ),
        "column 'start' (start) holds text (string), but the graph's ids are timestamp (datetime64[us]); give ids of that kind",
    ),
    "start bytes": (
        lambda: ws.bfs(NAMED, b"a"),
        "column 'start' (start) holds binary (binary), but the graph's ids are text (str); give ids of that kind",
    ),
    "depth_limit neg": (
        lambda: ws.bfs(GRAPH, 0, depth_limit=-1),
        "depth_limit=-1 must be a whole number, 0 or more",
    ),
    "directed 1": (
        lambda: ws.pagerank(EDGES, directed=1),
        "directed=1 must be True or False",
    ),
    "progress 1": (
        lambda: ws.pagerank(EDGES, progress=1),
        "progress=1 must be True, False or a function",
    ),
    "tol nan": (
        lambda: ws.pagerank(EDGES, tol=float("nan")),
        "tol=nan must be a number, 0 or more",
    ),
    "run_many of one": (
        lambda: ws.run_many(ws.PageRank, GRAPH),
        "programs=<vertex program PageRank: pagerank, share>: give a list of programs, or of tuples (program, arguments)",
    ),
    "run extra par": (
        lambda: ws.run(ws.PageRank, GRAPH, 0.85),
        "run() takes program, graph by position; give the others by name, not 0.85",
    ),
    "run SSSP no start": (
        lambda: ws.run(ws.SSSP, GRAPH),
        "SSSP needs start=, a vertex or a list of vertices",
    ),
    "plan typo exchange": (
        lambda: ws.Plan(exchange="al"),
        "exchange='al' is not known; did you mean 'all'? choose 'auto', 'vr', 'ms' or 'all'",
    ),
    "plan in_place louvain": (
        lambda: ws.louvain(UNDIRECTED, plan=ws.Plan(in_place=True)),
        "in_place: louvain has a loop of its own, to which options for programs do not apply; leave them out",
    ),
    "plan pull for pagerank": (
        lambda: ws.pagerank(GRAPH, plan=ws.Plan(direction="push")),
        "direction='push': PageRank gathers from all in-neighbours in every superstep; use 'auto' or 'gather'",
    ),
    "check name": (
        lambda: ws.check("PageRank", GRAPH),
        "program='PageRank' is not a program; give a class decorated with @ws.vertex_program",
    ),
    "local_cluster n": (
        lambda: ws.local_cluster("4").__enter__(),
        "workers='4' must be a whole number, 1 or more",
    ),
    "datasets call": (
        lambda: ws.datasets("karate"),
        "ws.datasets is a module; call one of its functions: circles, erdos_renyi, grid, karate_club, karate_factions, kronecker, preferential_attachment, rmat, southern_women, stochastic_blocks, streets",
    ),
    "datasets rmat text": (
        lambda: ws.datasets.rmat("10"),
        "scale is '10': give a whole number",
    ),
    "run_groups fn name": (
        lambda: ws.run_groups("pagerank", EDGES, "weight"),
        "program='pagerank' is neither a function nor a program; give ws.pagerank, say, or a class with @ws.vertex_program above it",
    ),
    "ws.dask": (
        lambda: ws.dask(EDGES),
        "ws.dask is a module; it is not called",
    ),
    "ws.algorithms()": (
        lambda: ws.algorithms(),
        "ws.algorithms is a module; it is not called",
    ),
    "frame.ws.graph src": (
        lambda: EDGES.ws.graph(src="a"),
        "Graph takes no src=; did you mean source=?",
    ),
    "frame.ws.run name": (
        lambda: EDGES.ws.run("PageRank"),
        "program='PageRank' is a name; give the program itself, such as ws.PageRank",
    ),
    "vertices in run": (
        lambda: ws.pagerank(EDGES, vertices=[0]),
        "pagerank() has no argument vertices; it has: graph, alpha, personalization, precomputed_vertex_out_weight, max_iter, tol, nstart, dangling, fail_on_nonconvergence, source, destination, weight, directed, and the options of run()",
    ),
    "unreachable": (
        lambda: ws.bfs(GRAPH, 0, unreachable="inf"),
        "unreachable='inf' is not known; choose 'null' or 'max'",
    ),
    "circuit": (
        lambda: ws.circuit(GRAPH, {0: "1"}),
        "column 'sources' (sources) holds string; numbers are needed: convert them",
    ),
}
