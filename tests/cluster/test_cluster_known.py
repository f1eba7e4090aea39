"""Vertices and columns that a call names are looked up by the client, before the workers get the call."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Iterator
from typing import Any

import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
import stand_in_cudf
from clusters import assert_same, complaints
from distributed import Client, LocalCluster
from emulator.device import emulated
from thread_ranks import on_ranks, over_links

import cugraph_ws as ws
from cugraph_ws.accelerators.direct_start import client as direct_start
from cugraph_ws.accelerators.direct_start.client import ask_directly
from cugraph_ws.backends.cuda.shard import DeviceShard
from cugraph_ws.dask import graph as cluster_graph
from cugraph_ws.dask.worker import RankPlugin
from cugraph_ws.partition import known_vertices as known
from cugraph_ws.partition.build import build_shard
from cugraph_ws.partition.known_vertices import GIVEN, KnownVertices

COUPLING = [[2.0, 1.0], [1.0, 2.0]]


@ws.vertex_program
class FromOne:
    """A program that takes a vertex, a set, and a share and a number of each."""

    value: ws.float64
    one: ws.vertex_parameter
    some: ws.optional_vertex_set
    share: ws.distribution
    given: ws.vertex_value(ws.float64, default=0.0, argument="amounts")

    def init(vertex, p, own):
        return own.share + own.given + (1.0 if vertex == p.one or own.some else 0.0)

    def compute(src):
        return src.value

    combine = max

    def apply(old, gathered):
        return max(old.value, gathered)


KINDS: dict[str, tuple[Callable[[int], Any], Any]] = {
    "dense": (lambda one: one, 777),
    "sparse": (lambda one: one * 10**12 - 5, 777),
    "text": (lambda one: f"v{one}", "no such"),
    "two columns": (lambda one: (one % 3, f"v{one // 3}"), (1, "no such")),
}


def edges_of(kind: str) -> tuple[pd.DataFrame, dict[str, Any]]:
    """Return an edge frame with ids of a kind, and the names of its columns."""
    make, _ = KINDS[kind]
    ends = np.random.default_rng(3).integers(0, 12, (2, 60))
    ends = np.concatenate([ends, [np.arange(12), np.roll(np.arange(12), 1)]], axis=1)
    told = [[make(int(one)) for one in end] for end in ends]
    if kind != "two columns":
        return pd.DataFrame({"source": told[0], "destination": told[1]}), {}
    columns = {
        name: [one[part] for one in end]
        for end, names in zip(told, (("a", "b"), ("c", "d")), strict=True)
        for part, name in enumerate(names)
    }
    return pd.DataFrame(columns), {"source": ["a", "b"], "destination": ["c", "d"]}


def frame_with(kind: str, vertices: list[Any], **columns: Any) -> pd.DataFrame:
    """Return a frame of vertices and values."""
    if kind != "two columns":
        return pd.DataFrame({"vertex": vertices}).assign(**columns)
    return pd.DataFrame(vertices, columns=["a", "b"]).assign(**columns)


def mistakes(kind: str) -> dict[str, Callable[[Any], Any]]:
    """Return a call with an unknown vertex for every argument that takes vertices."""
    make, bad = KINDS[kind]
    good = make(0)
    both = frame_with(kind, [good, bad, bad])
    amounts = frame_with(kind, [good, bad], amount=1.0)
    priors = frame_with(kind, [good, bad], p=0.5, q=0.5)
    of_each = {make(one): 1.0 for one in range(12)}
    return {
        "bfs": lambda g: ws.bfs(g, bad),
        "bfs, two": lambda g: ws.bfs(g, [good, bad, bad]),
        "bfs, a frame": lambda g: ws.bfs(g, both),
        "sssp": lambda g: ws.sssp(g, start=bad),
        "sssp, as cuGraph": lambda g: ws.sssp(g, source=bad),
        "widest_path": lambda g: ws.widest_path(g, bad),
        "multi_source_bfs": lambda g: ws.multi_source_bfs(g, [good, bad]),
        "multi_source_sssp": lambda g: ws.multi_source_sssp(g, [bad]),
        "personalized_pagerank": lambda g: ws.personalized_pagerank(g, [good, bad]),
        "personalization": lambda g: ws.pagerank(g, personalization={good: 1.0, bad: 1.0}),
        "personalization, a frame": lambda g: ws.pagerank(g, personalization=amounts),
        "nstart": lambda g: ws.pagerank(g, nstart=amounts),
        "dangling": lambda g: ws.pagerank(g, dangling=amounts),
        "out-weights": lambda g: ws.pagerank(g, precomputed_vertex_out_weight=amounts),
        "heat": lambda g: ws.heat(g, {**of_each, bad: 1.0}),
        "heat, fixed": lambda g: ws.heat(g, 1.0, fixed=[bad]),
        "circuit": lambda g: ws.circuit(g, {bad: 1.0}),
        "neural_network": lambda g: ws.neural_network(g, 0.5, fixed={bad}),
        "activation": lambda g: ws.neural_network(g, amounts),
        "matching": lambda g: ws.maximal_bipartite_matching(g, [good, bad]),
        "belief": lambda g: ws.belief_propagation(g, priors, COUPLING),
        "run": lambda g: ws.run(ws.SSSP, g, source=bad),
        "run, a vertex": lambda g: ws.run(FromOne, g, one=bad),
        "run, a set": lambda g: ws.run(FromOne, g, one=good, some=[bad]),
        "run, a share": lambda g: ws.run(FromOne, g, one=good, share=amounts),
        "run, values": lambda g: ws.run(FromOne, g, one=good, amounts={bad: 2.0}),
        "a loop of searches": lambda g: ws.run(ws.MultiSource(ws.BFS, "start", [bad]), g),
        "a loop of matching": lambda g: ws.run(ws.MaximalBipartiteMatching([bad]), g),
        "a loop of beliefs": lambda g: ws.run(ws.BeliefPropagation(priors, COUPLING), g),
    }


NAMES: dict[str, Callable[[Any], Any]] = {
    "weight": lambda g: ws.sssp(g, 0, weight="other"),
    "weight of run": lambda g: ws.run(ws.SSSP, g, start=0, weight_column="other"),
    "directed": lambda g: ws.bfs(g, 0, directed=False),
    "no attribute": lambda g: ws.pagerank(g, personalization="other"),
    "no attribute of matching": lambda g: ws.maximal_bipartite_matching(g, "other"),
    "no attributes of belief": lambda g: ws.belief_propagation(g, ["p", "other"], COUPLING),
    "columns of a frame": lambda g: ws.heat(g, pd.DataFrame({"a": [1], "b": [2.0]})),
    "no column of values": lambda g: ws.pagerank(g, nstart=pd.DataFrame({"vertex": [1]})),
    "of another kind": lambda g: ws.bfs(g, "text"),
    "no ids": lambda g: ws.bfs(g, 1.5),
    "null": lambda g: ws.bfs(g, [1, None]),
}


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    with (
        LocalCluster(
            n_workers=3, threads_per_worker=1, processes=False, dashboard_address=":0"
        ) as cluster,
        Client(cluster) as client,
    ):
        yield client


def lazy(frame: pd.DataFrame) -> Any:
    return dd.from_pandas(frame, npartitions=4, sort=False)


def refused(call: Callable[[Any], Any], graph: Any) -> str:
    with pytest.raises(ws.InputError) as error:
        call(graph)
    return str(error.value)


def sent(*given: Any, **named: Any) -> Any:
    raise AssertionError("a run was sent")


@pytest.mark.parametrize("kind", KINDS)
def test_an_unknown_vertex_is_named_before_anything_is_sent(client, monkeypatch, kind):
    frame, names = edges_of(kind)
    frame = frame.assign(weight=1.0)
    before = len(complaints(client))
    # Dask has a type of text of its own
    with ws.Graph(lazy(frame).compute(), **names) as whole, ws.Graph(lazy(frame), **names) as graph:
        with monkeypatch.context() as patch:
            patch.setattr(cluster_graph, "RankTasks", sent)
            told = {name: refused(call, graph) for name, call in mistakes(kind).items()}
        expected = {name: refused(call, whole) for name, call in mistakes(kind).items()}
        assert told == expected
        assert all("is not a vertex of the graph" in one for one in told.values())
        assert "and 1 more" in told["bfs, two"]
        start = KINDS[kind][0](5)
        assert_same(ws.bfs(graph, [start]), ws.bfs(whole, [start]))
        shares = frame_with(kind, [start], share=1.0)
        assert_same(
            ws.pagerank(graph, personalization=shares, tol=1e-12),
            ws.pagerank(whole, personalization=shares, tol=1e-12),
            rtol=1e-9,
        )
    assert len(complaints(client)) == before


@pytest.mark.parametrize("name", NAMES)
def test_names_are_checked_before_anything_is_sent(client, monkeypatch, name):
    frame = edges_of("dense")[0].assign(weight=1.0)
    ids = np.arange(12)
    vertices = pd.DataFrame({"vertex": ids, "p": 0.5, "q": 0.5, "left": ids < 6})
    with (
        ws.Graph(frame, vertices=vertices) as whole,
        ws.Graph(lazy(frame), vertices=vertices) as graph,
    ):
        monkeypatch.setattr(cluster_graph, "RankTasks", sent)
        assert refused(NAMES[name], graph) == refused(NAMES[name], whole)


def test_attributes_and_what_names_no_vertices_are_let_through(client):
    ids = np.arange(12)
    frame = pd.DataFrame({"source": ids, "destination": np.roll(ids, 1)})
    vertices = pd.DataFrame({"vertex": ids, "p": 0.5, "q": 0.5, "left": ids % 2 == 0})
    calls = [
        lambda g: ws.pagerank(g, personalization="p", nstart=1.0),
        lambda g: ws.maximal_bipartite_matching(g, "left"),
        lambda g: ws.belief_propagation(g, ["p", "q"], COUPLING),
        lambda g: ws.bfs(g, ids[:3]),
        lambda g: ws.bfs(g, {0, 5}),
        lambda g: ws.bfs(g, pd.Series([2, 4])),
        lambda g: ws.multi_source_bfs(g, []),
        lambda g: ws.run(FromOne, g, one=3, share={3: 1.0}, amounts=2.0).frame,
    ]
    with (
        ws.Graph(frame, vertices=vertices) as whole,
        ws.Graph(lazy(frame), vertices=vertices) as graph,
    ):
        for call in calls:
            assert_same(call(graph), call(whole), rtol=1e-9)
        told, expected = (refused(lambda g: ws.multi_source_bfs(g, 3), g) for g in (graph, whole))
        assert told == expected


def test_frames_of_dask_as_arguments(client, monkeypatch):
    frame = edges_of("dense")[0].assign(weight=1.0)
    values = pd.DataFrame({"vertex": [0, 777], "x": [1.0, 2.0]})
    with ws.Graph(frame) as whole, ws.Graph(lazy(frame)) as graph:
        told = refused(lambda g: ws.pagerank(g, nstart=lazy(values)), graph)  # by the workers
        assert told == refused(lambda g: ws.pagerank(g, nstart=values), whole)
        monkeypatch.setattr(cluster_graph, "RankTasks", sent)
        monkeypatch.setattr(cluster_graph, "_partitions", sent)
        wrong = values.rename(columns={"vertex": "v", "x": "y"})
        for call in (
            lambda g, given: ws.pagerank(g, nstart=given),
            lambda g, given: ws.belief_propagation(g, given, COUPLING),
        ):
            told = refused(lambda g, call=call: call(g, lazy(wrong)), graph)
            assert told == refused(lambda g, call=call: call(g, wrong), whole)
        for call in (
            lambda g: ws.bfs(g, lazy(values)),
            lambda g: ws.bfs(g, lazy(values)["vertex"]),
            lambda g: ws.multi_source_bfs(g, lazy(values)),
            lambda g: ws.maximal_bipartite_matching(g, lazy(values)),
        ):
            assert "compute() it first" in refused(call, graph)
    assert not complaints(client)


def test_targets_of_paths(client):
    frame, _ = edges_of("text")
    with ws.Graph(lazy(frame).compute()) as whole, ws.Graph(lazy(frame)) as graph:
        for targets in ("no such", ["v1", "no such", "no such"], 7):
            expected = refused(lambda g, t=targets: ws.shortest_path(ws.bfs(g, "v0"), t), whole)
            told = refused(lambda g, t=targets: ws.shortest_path(ws.bfs(g, "v0"), t), graph)
            assert told == expected
            assert told.startswith(("targets: 'no such' is not a vertex", "column 'targets'"))
    assert not complaints(client)


@pytest.mark.parametrize("without", ["an answer", "a small batch"])
def test_a_look_up_that_cannot_be_made_is_left_to_the_workers(client, monkeypatch, without):
    frame, _ = edges_of("sparse")
    call = mistakes("sparse")["bfs, two"]
    asked = []

    def ask(client: Any, messages: Any) -> list[dict[str, Any]]:
        asked.append(messages)
        return [{} for _ in messages]

    with ws.Graph(frame) as whole, ws.Graph(lazy(frame)) as graph:
        if without == "an answer":
            monkeypatch.setattr(direct_start, "ask_directly", lambda *given: None)
            monkeypatch.setattr(cluster_graph, "ask_workers", ask)
        else:
            monkeypatch.setattr(known, "MOST", 2)
        assert refused(call, graph) == refused(call, whole)
        assert bool(asked) == (without == "an answer")
        start = KINDS["sparse"][0](3)
        assert_same(ws.bfs(graph, start), ws.bfs(whole, start))
    assert not complaints(client)


def test_a_worker_without_the_shard_has_no_answer():
    assert asyncio.run(RankPlugin().find("no such key", b"")) is None


@pytest.mark.parametrize(
    ("where", "kind"),
    [
        *(("host", kind) for kind in ("dense", "sparse", "text", "two columns", "gaps")),
        *(("device", kind) for kind in ("dense", "gaps")),
    ],
)
def test_owners_of_ids_send_their_numbers(where, kind):
    make, bad = {**KINDS, "gaps": (lambda one: 3 * one - 4, 777)}[kind]
    on_device = where == "device"
    ends = np.random.default_rng(5).integers(0, 12, (2, 40)).tolist()
    names = {}
    if kind == "two columns":
        names = {"source": ["a", "b"], "destination": ["c", "d"]}
        columns = [list(zip(*map(make, end), strict=True)) for end in ends]
        parts = [part for end in columns for part in end]
        frame = pd.DataFrame(dict(zip("abcd", parts, strict=True)))
    else:
        frame = pd.DataFrame(
            {
                n: list(map(make, end))
                for n, end in zip(("source", "destination"), ends, strict=True)
            }
        )
    kind_of = stand_in_cudf.DataFrame if on_device else pd.DataFrame
    wanted = [*map(make, range(14)), bad, make(3)]

    def look(comm: Any) -> Any:
        own = kind_of(frame.iloc[comm.rank :: 3].reset_index(drop=True))
        shard = build_shard(comm, [(comm.rank, own)], **names)
        assert isinstance(shard, DeviceShard) == on_device
        return shard._vertices

    def ranks() -> list[Any]:
        return over_links(3, look) if on_device else on_ranks(3, look)

    def check(vertices: list[Any]) -> None:
        asked: list[int] = []

        def ask(boxes: Any) -> Any:
            asked.extend(boxes)
            return {rank: vertices[rank].numbering.find_own(box) for rank, box in boxes.items()}

        with ws.Graph(frame, **names) as whole:
            told = KnownVertices(vertices[1].directory(), ask)
            ids = list(dict.fromkeys(wanted))
            there = [one for one in ids if one in set(map(make, np.unique(ends).tolist()))]
            assert told.numbers(there, "start").tolist() == whole.numbers(there, "start").tolist()
            assert refused(lambda g: g.numbers(wanted, "start"), told) == refused(
                lambda g: g.numbers(wanted, "start"), whole
            )
        assert sorted(set(asked)) == ([] if kind == "dense" else [0, 1, 2])
        asked.clear()
        told = KnownVertices(vertices[1].directory(), ask, left_to_ranks=len(wanted))
        told.check({"start": there})
        assert not asked
        assert not told.found
        if kind != "dense":  # else the client knows them
            told.check({"start": [bad]})
            assert not asked
            told.check({"start": there * len(wanted)})
            assert asked, "a long list is looked up before the ranks begin"

    if not on_device:
        check(ranks())
        return
    with emulated(), stand_in_cudf.installed():
        check(ranks())


OTHERS = {
    "program", "programs", "graph", "alpha", "coupling", "cutoff", "damping", "degree_type", "depth_limit", "directed",
    "destination", "destination_column", "engine", "every", "checkpoint",
    "fail_on_nonconvergence", "k", "max_iter", "method", "options",
    "parameters", "plan", "predecessors", "profile", "progress", "resume", "return_predecessors",
    "seed", "source", "source_column", "timeout", "tol", "unreachable", "weight", "weight_column",
    "beta", "center", "endpoints", "format", "hierarchy", "max_level", "normalized", "radius", "resolution",
    "threshold", "top", "at_least", "connected", "count_zeros", "strong", "use_weight",
    "axes", "colour", "file", "iterations", "labels", "layout", "size", "weighted", "wf_improved", "distance", "random_state", "theta", "undirected",
    "objective", "ratio", "length", "p", "q",
    "attributes", "batches", "before", "direction", "fanouts", "replace", "time",
}  # fmt: skip
# As long as a frame: the ranks read them in any case, and name what they do not know.
LEFT_TO_RANKS = {"communities", "initial", "vertex_pair"}


def test_every_argument_names_vertices_or_is_known_not_to():
    functions = [
        one
        for one in vars(ws).values()
        if inspect.isfunction(one) and "graph" in inspect.signature(one).parameters
    ]
    assert {one.__name__ for one in functions} >= {"bfs", "run", "pagerank", "k_core", "heat"}
    found = set()
    for function in functions:
        if function.__name__ not in ("check", "explain"):  # which are for a graph of one process
            found |= set(inspect.signature(function).parameters)
    assert found - OTHERS - LEFT_TO_RANKS == set(GIVEN)


@pytest.mark.accelerated
def test_workers_are_asked_for_ids_directly(client, monkeypatch):
    frame, _ = edges_of("sparse")
    address = next(iter(client.nthreads()))
    with ws.Graph(lazy(frame)) as graph:
        monkeypatch.setattr(cluster_graph, "ask_workers", sent)
        assert len(ws.bfs(graph, KINDS["sparse"][0](3))) == 12
    ping = {"op": "cugraph_ws_ping"}
    assert ask_directly(client, [(address, ping)], 30.0) == [True]
    assert ask_directly(client, [(address, ping)], 0.0) == [None]

    async def cannot(*given: Any, **named: Any) -> Any:
        raise OSError("there is no way")

    try:
        monkeypatch.setattr(client.rpc, "connect", cannot)
        assert ask_directly(client, [(address, ping)], 30.0) is None
    finally:
        direct_start._OUT_OF_REACH.clear()
