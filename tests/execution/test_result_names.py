"""Ids whose columns are named as those of a result: refused before work starts, never overwritten."""

import numpy as np
import pandas as pd
import pytest
from programs import Nearest
from thread_ranks import ThreadCommunicator, on_ranks

import cugraph_ws as ws
from cugraph_ws.errors import InputError
from cugraph_ws.frames.base import VertexNumbers
from cugraph_ws.partition.build import build_shard

PRIORS = pd.DataFrame({"a": [1, 2, 3], "belief_0": [4, 5, 6], "no": 0.5, "yes": 0.5})


def frame_of(name):
    """Return edges from (1, 4) to (2, 5) to (3, 6), in columns `a` and `name`."""
    return pd.DataFrame({"a": [1, 2], name: [4, 5], "b": [2, 3], "c": [5, 6], "w": [1.5, 2.5]})


def graph_of(name, **options):
    return ws.Graph(frame_of(name), ["a", name], ["b", "c"], **options)


@ws.vertex_program
class Named:
    """A state field that is named as the ids of a result usually are."""

    vertex: ws.int64

    def init(vertex):
        return 7

    def compute(src):
        return src.vertex

    combine = max

    def apply(old, gathered):
        return max(old.vertex, gathered)


@ws.vertex_program
class Ambiguous:
    """A state field that is named as one of two columns of predecessors."""

    predecessor_a: ws.nullable(ws.int32, np.inf)
    predecessor: ws.predecessor

    def init(vertex):
        return 0 if vertex == 0 else np.inf

    def compute(src):
        return src.predecessor_a + 1

    combine = min

    def apply(old, gathered):
        return min(old.predecessor_a, gathered)


LEFT = [(1, 4), (3, 6)]
CASES = {
    "bfs": ("distance", ws.bfs, [[(1, 4)]]),
    "bfs, predecessor": ("predecessor_a", ws.bfs, [[(1, 4)]]),
    "sssp": ("distance", ws.sssp, [[(1, 4)]]),
    "widest path": ("width", ws.widest_path, [[(1, 4)]]),
    "pagerank": ("pagerank", ws.pagerank, []),
    "core number": ("core_number", ws.core_number, []),
    "components": ("labels_a", ws.weakly_connected_components, []),
    "label propagation": ("label_a", ws.label_propagation, []),
    "leiden": ("partition", ws.leiden, []),
    "louvain": ("partition", ws.louvain, []),
    "matching": ("mate_a", ws.maximal_bipartite_matching, [LEFT]),
    "belief": ("belief_0", ws.belief_propagation, [PRIORS, [[2, 1], [1, 2]]]),
    "program": ("distance", lambda graph, **options: ws.run(Nearest, graph, **options), []),
}


@pytest.mark.parametrize("case", CASES)
def test_ids_that_a_result_would_overwrite_are_refused_before_work_starts(case):
    name, function, arguments = CASES[case]
    options = {"progress": lambda update: pytest.fail("it has started")}
    if case == "program":
        options["seeds"] = [(1, 4)]
    with pytest.raises(InputError, match=rf"id column '{name}' has the name of .* rename it"):
        function(graph_of(name, weight="w"), *arguments, **options)


@pytest.mark.parametrize("case", sorted(CASES.keys() - {"belief"}))
def test_the_same_ids_under_other_names(case):
    _, function, arguments = CASES[case]
    options = {"seeds": [(1, 4)]} if case == "program" else {}
    found = function(graph_of("e", weight="w"), *arguments, **options)
    found = found[0] if isinstance(found, tuple) else getattr(found, "frame", found)
    assert found[["a", "e"]].to_numpy().tolist() == [[1, 4], [2, 5], [3, 6]]


def test_names_that_are_no_others_stay():
    """Only columns that the result really has count, under the names that they really have."""
    found = ws.bfs(graph_of("predecessor"), [(1, 4)])
    assert found.columns.tolist() == [
        "a", "predecessor", "distance", "predecessor_a", "predecessor_predecessor",
    ]  # fmt: skip
    path = ws.shortest_path(found, [(3, 6)])
    assert path[["vertex_a", "vertex_predecessor"]].to_numpy().tolist() == [[1, 4], [2, 5], [3, 6]]
    found = ws.bfs(graph_of("predecessor_a"), [(1, 4)], return_predecessors=False)
    assert found.columns.tolist() == ["a", "predecessor_a", "distance"]
    one = frame_of("distance")[["distance", "b"]]
    assert ws.bfs(one, 4, source="distance", destination="b")["vertex"].tolist() == [2, 3, 4, 5]
    both = frame_of("vertex").rename(columns={"a": "source"})
    found = ws.multi_source_bfs(ws.Graph(both, ["source", "vertex"], ["b", "c"]), [(1, 4)])
    assert found[["vertex_source", "vertex_vertex"]].to_numpy().tolist() == [[1, 4], [2, 5], [3, 6]]
    assert "belief_1" in ws.belief_propagation(
        graph_of("belief_2"),
        PRIORS.rename(columns={"belief_0": "belief_2"}),
        [[2, 1], [1, 2]],
    )


@pytest.mark.parametrize("end", ["source", "destination"])
@pytest.mark.parametrize(
    ("name", "function"),
    [
        ("betweenness_centrality", ws.edge_betweenness_centrality),
        ("truss_number", ws.truss_number),
    ],
)
def test_ids_that_values_of_edges_would_overwrite(name, function, end):
    frame = pd.DataFrame({"source": [1, 2], "destination": [2, 3]}).rename(columns={end: name})
    with pytest.raises(InputError, match=f"'{name}' holds ids in the edge frame, .* rename it"):
        function(frame, **{end: name})


def test_fields_of_programs():
    with pytest.raises(InputError, match="program's field 'vertex' has the name of the result's"):
        ws.run(Named, ws.Graph.from_arrays([0], [1]))
    assert ws.run(Named, graph_of("e")).frame["vertex"].tolist() == [7, 7, 7]
    with pytest.raises(
        InputError, match="two columns of the result would be named 'predecessor_a'"
    ):
        ws.run(Ambiguous, graph_of("e"))


def test_a_frame_of_vertices_is_never_made_with_ids_overwritten():
    graph = graph_of("x")
    with pytest.raises(InputError, match=r"source: the id column 'x' has the name of a column"):
        graph.vertex_frame({"x": np.zeros(3)})
    with pytest.raises(InputError, match=r"source: the id column 'x_a' has the name of a column"):
        graph_of("x_a").check_outputs({"x_a": False})
    assert graph.vertex_frame({"y": VertexNumbers(np.arange(3))}).shape == (3, 4)


def test_shards_of_a_cluster_refuse_them_too():
    def work(comm: ThreadCommunicator):
        shard = build_shard(
            comm, [(comm.rank, frame_of("distance"))], ["a", "distance"], ["b", "c"]
        )
        with pytest.raises(InputError, match="id column 'distance'") as error:
            ws.bfs(shard, [(1, 4)])
        with pytest.raises(InputError, match="id column 'distance'"):
            shard.vertex_frame({"distance": np.zeros(shard.owned)})
        return str(error.value)

    assert len(set(on_ranks(2, work))) == 1


def test_edges_turned_around_do_not_mix_the_columns_of_their_ends():
    frame = pd.DataFrame({"a": [3, 1], "b": [2, 2], "c": [9, 3]})
    graph = ws.Graph(frame, ["a", "b"], ["b", "c"])  # (3, 2) to (2, 9), (1, 2) to (2, 3)
    assert ws.k_core(graph, 0).sort_values("a").to_numpy().tolist() == [[1, 2, 3], [3, 2, 9]]
    graph = ws.Graph(frame, ["a", "b"], ["b", "c"], directed=False)
    with pytest.raises(
        InputError, match="column 'b' has another place in source= than in destination="
    ):
        ws.k_core(graph, 0)
    shared = ws.Graph(frame, ["a", "b"], ["c", "b"], directed=False)
    assert sorted(ws.k_core(shared, 0)["b"]) == [2, 2]
