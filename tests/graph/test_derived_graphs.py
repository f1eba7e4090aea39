"""Graphs made of another: masks, contractions and subgraphs, on every backend and on ranks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import dask.dataframe as dd
import networkx as nx
import numpy as np
import pandas as pd
import pytest
import stand_in_cudf
from distributed import Client, LocalCluster
from emulator.device import emulated
from plans import planned
from thread_ranks import on_ranks, over_links

import cugraph_ws as ws
from cugraph_ws.backends.cuda.shard import DeviceShard
from cugraph_ws.partition.build import build_shard

WAYS = ("host", "device", "ranks", "ranks with devices")
SIZE = 12
LABELS = pd.DataFrame({"vertex": np.arange(SIZE), "label": [3, 3, 1, 1, 1, 0, 0, 3, 9, 9, 2, 2]})


def edges_of(seed: int, *, text: bool = False) -> pd.DataFrame:
    """Return random edges with parallel ones and self-loops."""
    generator = np.random.default_rng(seed)
    ends: Any = generator.integers(0, SIZE, (2, 40))
    ends[:, :SIZE] = np.arange(SIZE)  # every vertex has an edge
    if text:
        ends = np.array([f"v{one:02}" for one in range(SIZE)])[ends]
    weight = generator.integers(1, 9, 40) / 8
    return pd.DataFrame(
        {"source": ends[0], "destination": ends[1], "weight": weight, "row": np.arange(40)}
    )


def plain(frame: Any) -> pd.DataFrame:
    """Return a frame as pandas'."""
    return pd.DataFrame({name: list(frame[name]) for name in frame.columns})


def made(
    way: str, frame: pd.DataFrame, work: Callable[[Any], list[Any]], *, directed: bool
) -> list[pd.DataFrame]:
    """Build a graph in some way, call `work` with it, and return its frames, whole."""
    options: Any = {"directed": directed, "weight": "weight", "attributes": ["row"]}
    if way == "host":
        return [plain(one) for one in work(ws.Graph(frame, **options))]
    if way == "ranks":
        parts = on_ranks(3, lambda comm: work(_shard(comm, frame, pd.DataFrame, options)))
    else:
        with emulated(), stand_in_cudf.installed():
            if way == "device":
                graph = ws.Graph(stand_in_cudf.DataFrame(frame), **options)
                assert graph.device_resident
                return [plain(one) for one in work(graph)]
            make = stand_in_cudf.DataFrame

            def on_device(comm: Any) -> list[Any]:
                shard = _shard(comm, frame, make, options)
                assert isinstance(shard, DeviceShard)
                return work(shard)

            parts = over_links(2, on_device)
    return [pd.concat(map(plain, some), ignore_index=True) for some in zip(*parts, strict=True)]


def _shard(comm: Any, frame: pd.DataFrame, make: Any, options: Any) -> Any:
    cuts = np.linspace(0, len(frame), comm.size + 1).astype(int)
    own = frame.iloc[cuts[comm.rank] : cuts[comm.rank + 1]].reset_index(drop=True)
    return build_shard(comm, [(comm.rank, make(own))], meta=make(frame.iloc[:0]), **options)


def same(found: pd.DataFrame, expected: pd.DataFrame) -> None:
    pd.testing.assert_frame_equal(
        found.reset_index(drop=True), expected.reset_index(drop=True), check_dtype=False
    )


EACH_WAY = [
    pytest.param(way, directed, id=f"{way}, {'directed' if directed else 'both ways'}")
    for way in WAYS
    for directed in (True, False)
]


@pytest.mark.parametrize(("way", "directed"), EACH_WAY)
def test_a_mask_is_the_graph_of_the_rows_that_are_kept(way: str, directed: bool) -> None:
    frame, vertices = edges_of(1), pd.DataFrame({"vertex": np.arange(SIZE)})
    kept = frame["weight"] > 0.5

    def work(graph: Any) -> list[Any]:
        masked = graph.mask(lambda edges: edges["weight"] > 0.5)
        assert masked.number_of_vertices == SIZE
        assert masked.number_of_edges == int(kept.sum())
        again = masked.mask(np.arange(masked.number_of_edges) % 2 == 0)
        assert again.number_of_edges == (masked.number_of_edges + 1) // 2
        before = graph.edge_frame()
        results = [
            masked.edge_frame(),
            again.edge_frame(),
            ws.weakly_connected_components(masked),
            ws.degrees(masked, weighted=True),
            ws.sssp(masked, 0)[["vertex", "distance"]],
        ]
        assert list(graph.edge_frame()["row"]) == list(before["row"])  # as it was
        return results

    edges, half, components, degrees, distances = made(way, frame, work, directed=directed)
    expected = ws.Graph(
        frame[kept], directed=directed, attributes=["row"], vertices=vertices, duplicates="keep"
    )
    same(edges, expected.edge_frame())
    same(half, expected.edge_frame().iloc[::2])
    same(components, ws.weakly_connected_components(expected))
    same(degrees, ws.degrees(expected, weighted=True))
    same(distances.fillna(-1.0), ws.sssp(expected, 0)[["vertex", "distance"]].fillna(-1.0))


def contraction(
    frame: pd.DataFrame, label: Any, weight: str, *, loops: bool, directed: bool
) -> Any:
    """Return the edges of a graph of labels, by pandas."""
    ends = frame.assign(
        source=frame["source"].map(label), destination=frame["destination"].map(label)
    )
    if not directed:
        pairs = np.sort(ends[["source", "destination"]].to_numpy(), axis=1)
        ends = ends.assign(source=pairs[:, 0], destination=pairs[:, 1])
    if not loops:
        ends = ends[ends["source"] != ends["destination"]]
    groups = ends.groupby(["destination", "source"])["weight"].agg([weight, "count"]).reset_index()
    return groups.rename(columns={weight: "weight"})[["source", "destination", "weight", "count"]]


@pytest.mark.parametrize(("way", "directed"), EACH_WAY)
def test_a_contraction_is_the_group_by_of_labels(way: str, directed: bool) -> None:
    frame = edges_of(2)
    ways = [("sum", False), ("min", True), ("max", False)]

    def work(graph: Any) -> list[Any]:
        found = [graph.contract(LABELS, weight, loops) for weight, loops in ways]
        assert all(one.number_of_vertices == 5 for one in found)
        twice = found[0].contract(dict.fromkeys([0, 1, 2, 3, 9], 4))
        assert (twice.number_of_vertices, twice.number_of_edges) == (1, 0)
        return [*(one.edge_frame() for one in found), ws.weakly_connected_components(found[0])]

    *edges, components = made(way, frame, work, directed=directed)
    label = LABELS.set_index("vertex")["label"]
    for found, (weight, loops) in zip(edges, ways, strict=True):
        same(found, contraction(frame, label, weight, loops=loops, directed=directed))
    assert list(components["vertex"]) == [0, 1, 2, 3, 9]


@pytest.mark.parametrize("directed", [True, False])
def test_contraction_by_components_has_no_edges_and_by_itself_all(directed: bool) -> None:
    frame = edges_of(3, text=True)
    with ws.Graph(frame, directed=directed, weight=None) as graph:
        whole = graph.contract(ws.weakly_connected_components(graph))
        assert whole.number_of_edges == 0
        assert whole.number_of_vertices == len(set(ws.weakly_connected_components(graph)["labels"]))
        vertices = sorted({*frame["source"], *frame["destination"]})
        named = pd.DataFrame({"vertex": vertices, "name": vertices})
        found = graph.contract(named, self_loops=True).edge_frame()
    kind = nx.DiGraph if directed else nx.Graph
    expected = nx.from_pandas_edgelist(frame, "source", "destination", create_using=kind)
    assert len(found) == expected.number_of_edges()
    assert found["count"].sum() == found["weight"].sum() == len(frame)
    assert all(expected.has_edge(*ends) for ends in found[["source", "destination"]].to_numpy())


@pytest.mark.parametrize(("way", "directed"), EACH_WAY)
def test_a_subgraph_has_the_chosen_vertices_and_all_edges_between_them(
    way: str, directed: bool
) -> None:
    frame, chosen = edges_of(4), [9, 2, 3, 5, 7, 11]

    def work(graph: Any) -> list[Any]:
        found = graph.subgraph(chosen)
        assert found.number_of_vertices == len(chosen)
        return [found.edge_frame(), ws.degrees(found)]

    edges, degrees = made(way, frame, work, directed=directed)
    inside = frame[frame["source"].isin(chosen) & frame["destination"].isin(chosen)]
    assert sorted(edges["row"]) == sorted(inside["row"])
    assert list(degrees["vertex"]) == sorted(chosen)


def test_a_subgraph_keeps_the_attributes_of_its_vertices() -> None:
    frame = pd.DataFrame({"source": ["a", "b", "c"], "destination": ["b", "c", "d"]})
    vertices = pd.DataFrame({"vertex": ["d", "b", "a"], "height": [4.0, 2.0, 1.0]})
    with ws.Graph(frame, vertices=vertices) as graph:
        found = graph.subgraph(["d", "c", "b"])
        values, given = found.vertex_values("height", "height", "float64", default=0.0)
    assert values.tolist() == [2.0, 0.0, 4.0]
    assert given.tolist() == [True, False, True]


def test_a_mask_works_on_partitions_and_other_engines() -> None:
    frame = edges_of(5)
    with ws.Graph(frame, weight="weight", attributes=["row"]) as graph:
        before = ws.run(ws.SSSP, graph, start=0, plan=ws.Plan(partitions=2)).frame
        masked = graph.mask(graph.edge_frame()["row"] % 3 > 0)
        expected = ws.run(ws.SSSP, masked, start=0, engine="python").frame
        same(ws.run(ws.SSSP, masked, start=0, plan=ws.Plan(partitions=2)).frame, expected)
        with emulated():
            same(ws.run(ws.SSSP, masked, start=0, engine="cuda").frame, expected)
        masked.close()
        same(ws.run(ws.SSSP, graph, start=0, plan=ws.Plan(partitions=2)).frame, before)


@ws.vertex_program
class Before:
    """The greatest number that a path from a vertex leads to."""

    most: ws.int64

    def init(vertex):
        return vertex + 0

    def compute(src):
        return src.most

    combine = max

    def apply(old, gathered):
        return max(old.most, gathered)


@pytest.mark.parametrize("partitions", [1, 2])
def test_what_a_graph_has_kept_is_not_its_masks(partitions: int) -> None:
    frame = edges_of(7)
    program = ws.phases(ws.phase(Before, direction="out"), rounds=1)
    with ws.Graph(frame, attributes=["row"]) as graph:
        for least in (0, 31):
            some = graph.mask(graph.edge_frame()["row"] >= least) if least else graph
            rows = some.edge_frame()
            with ws.Graph(rows, vertices=LABELS) as fresh:
                options: Any = {"engine": "python", "partitions": partitions}
                same(
                    ws.run(program, some, **planned(**options)).frame, ws.run(program, fresh).frame
                )
                same(ws.degrees(some), ws.degrees(fresh))
                assert some.least_edge_value("row")[0] == rows["row"].min()


def test_attributes_of_vertices_are_kept_by_masks() -> None:
    frame = edges_of(6)
    graph = ws.Graph(frame, vertices=LABELS)
    masked = graph.mask(np.ones(len(frame), np.bool_))
    same(masked.contract("label").edge_frame(), graph.contract(LABELS).edge_frame())


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda g: g.mask([True]), "1 values for 40 edges; give one for each row"),
        (
            lambda g: g.mask(lambda edges: edges["weight"]),
            "a column of bool is needed, not of double",
        ),
        (lambda g: g.mask([True, None] * 20), "row 1 is null"),
        (lambda g: g.contract({0: 1}), "labels: vertex 1 has no value"),
        (lambda g: g.contract(LABELS, "mean"), "weight='mean': choose one of 'sum'"),
        (lambda g: g.contract(LABELS, self_loops=2), "self_loops=2"),
        (lambda g: g.contract("label"), "no such vertex attribute"),
        (lambda g: g.subgraph([99]), "99 is not a vertex"),
    ],
)
def test_what_is_wrong_is_said(call: Any, message: str) -> None:
    with pytest.raises(ws.InputError, match=message):
        call(ws.Graph(edges_of(7)))
    if not message.startswith("row"):
        message = message.partition(";")[0].removeprefix("1 values")
    with pytest.raises(ws.InputError, match=message):
        made("ranks", edges_of(7), lambda graph: [call(graph)], directed=True)


def test_names_that_contracted_edges_need_are_refused() -> None:
    frame = edges_of(8).rename(columns={"weight": "count"})
    with pytest.raises(ws.InputError, match="a column 'count' of their own"):
        ws.Graph(frame, weight="count").contract(LABELS)
    frame = frame.rename(columns={"source": "weight"})
    with pytest.raises(ws.InputError, match="'weight' has the same name as a column"):
        ws.Graph(frame, source="weight", weight=None).contract(LABELS)


def test_a_policy_for_each_column() -> None:
    frame = edges_of(9)
    policies = {"weight": "min", "row": "max"}
    groups = frame.groupby(["destination", "source"], as_index=False).agg(policies)
    expected = groups[["source", "destination", "weight", "row"]]
    with ws.Graph(frame, attributes=["row"], duplicates=policies) as graph:
        same(graph.edge_frame(), expected)
    with pytest.raises(ws.InputError, match="give a policy for each column that is kept: 'weight'"):
        ws.Graph(frame, duplicates=policies)
    with pytest.raises(ws.InputError, match=r"duplicates\['weight'\]='keep': choose one of"):
        ws.Graph(frame, duplicates={"weight": "keep"})


def test_graphs_of_a_cluster() -> None:
    frame = edges_of(10)
    cluster = LocalCluster(
        n_workers=2, threads_per_worker=1, processes=False, dashboard_address=":0"
    )
    with cluster, Client(cluster):
        parts = dd.from_pandas(frame, npartitions=3)
        labels = dd.from_pandas(LABELS, npartitions=2)
        with ws.Graph(parts, attributes=["row"], directed=False) as graph:
            masked = graph.mask(lambda edges: edges["weight"] > 0.5)
            found = masked.contract(labels)
            chosen = graph.subgraph([1, 2, 3])
            count = int((frame["weight"] > 0.5).sum())
            assert masked.number_of_edges == count
            assert masked.number_of_vertices == SIZE
            assert found.number_of_vertices == 5
            assert chosen.number_of_vertices == 3
            assert masked.report.edges == count
            sums = ws.degrees(found, weighted=True).compute()
            with pytest.raises(ws.InputError, match="a column of bool"):
                graph.mask(lambda edges: edges["weight"])
            masked._let_go()  # as if a worker was lost: it is made again
            same(ws.degrees(masked.contract(labels), weighted=True).compute(), sums)
            masked.close()
            with pytest.raises(ws.InputError, match="closed"):
                ws.degrees(masked)
            assert len(ws.degrees(graph).compute()) == SIZE
    with ws.Graph(frame, directed=False) as whole:
        expected = whole.mask(lambda edges: edges["weight"] > 0.5).contract(LABELS)
        same(sums, ws.degrees(expected, weighted=True))
