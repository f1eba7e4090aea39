"""`scatter`: what a vertex sends along its out-edges, all of which it sees; the same on every engine."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import permutations
from typing import Any

import numpy as np
import pandas as pd
import pytest
import reference
from emulator.device import emulated
from plans import planned
from shapes import SHAPES, random_edges, undirected
from verify import Edges
from zoo import Entry, difference, found_by, graph_of, reference_graph, remembering, shown
from zoo_scatter import FORMS, SCATTER, Auction, DividedFlow, Drawn, SoftmaxWalk, Tokens, TwoBest

import cugraph_ws as ws
from cugraph_ws.backends.cuda import out_edges


def rows_of_lengths(*lengths: int) -> Edges:
    """Return edges of which each of the first vertices has so many."""
    source = np.repeat(np.arange(len(lengths)), lengths)
    place = np.arange(len(source))
    return Edges(source, (source + 5 * place) % 9, 9, place * 7 % 11 / 8)


GRAPHS = {
    **{name: SHAPES[name] for name in ("empty", "one vertex", "star", "self-loops", "duplicates")},
    "random": random_edges(9, 25, seed=11),
    "random undirected": undirected(random_edges(8, 13, seed=13)),
    "rows of 33 and 70": rows_of_lengths(33, 70),
}


@pytest.fixture(autouse=True, scope="module")
def once() -> Iterator[None]:
    """Have each program's loops made once."""
    with remembering():
        yield


def check(entry: Entry, name: str, **options: Any) -> None:
    """Compare runs with the reference, after one superstep and at the end."""
    edges = GRAPHS[name]
    graph, given = graph_of(edges), entry.given(edges.n)
    for limit in (1, None):
        outcome = reference.run(
            entry.program, reference_graph(edges), given, max_iter=limit, message=entry.message
        )
        result = ws.run(entry.program, graph, **planned(max_iter=limit, **given, **options))
        wrong = difference(
            found_by(entry.program, result),
            shown(entry.program, outcome.states, edges.n),
            entry.tolerance,
        )
        assert wrong is None, f"{entry} on {name}, {options}: {wrong}"
        assert result.iterations == outcome.supersteps, f"{entry} on {name}, {options}"


@pytest.mark.long
@pytest.mark.parametrize("entry", SCATTER, ids=str)
def test_zoo(entry: Entry) -> None:
    for name in [*GRAPHS][:-1]:
        check(entry, name, engine="python")
        check(entry, name, engine="cpu")
    for name in ("random", "random undirected"):
        check(entry, name, engine="python", partitions=3)
        with emulated():
            check(entry, name, engine="cuda")
    with emulated():
        check(entry, "random", engine="cuda", partitions=2)


@pytest.fixture
def all_long(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have all rows handled by blocks on a GPU, those of more than 40 arcs by blocks of two warps."""
    for name, value in (("LONG", 0), ("VERY_LONG", 40), ("WIDE", 64)):
        monkeypatch.setattr(out_edges, name, value)


@pytest.mark.usefixtures("all_long")
def test_draws_in_long_rows_on_a_gpu() -> None:
    for name in ("random", "rows of 33 and 70"):
        graph = graph_of(GRAPHS[name])
        expected = ws.run(Drawn, graph, engine="python", seed=4).frame
        with emulated():
            found = ws.run(Drawn, graph, engine="cuda", seed=4).frame
        pd.testing.assert_frame_equal(found, expected)


@pytest.mark.usefixtures("all_long")
@pytest.mark.parametrize("entry", [*SCATTER, *FORMS], ids=str)
def test_long_rows_on_a_gpu(entry: Entry) -> None:
    for name in ("random", "random undirected", "star", "rows of 33 and 70"):
        with emulated():
            check(entry, name, engine="cuda")
    with emulated():
        check(entry, "random", engine="cuda", partitions=2)


def test_any_owners() -> None:
    vertices = pd.DataFrame({"vertex": range(N), "owner": RNG.integers(0, 3, N)})
    edges = EDGES.assign(weight=(8 * EDGES.weight).astype(int))
    for entry in SCATTER:
        given = entry.given(N)
        options = {"engine": "python", "max_iter": 3, **given}
        with (
            ws.Graph(edges, weight="weight", vertices=vertices[["vertex"]]) as whole,
            ws.Graph(edges, weight="weight", vertices=vertices, cut="owner") as apart,
        ):
            alone = ws.run(entry.program, whole, **options).frame
            divided = ws.run(entry.program, apart, plan=ws.Plan(partitions=3), **options).frame
        pd.testing.assert_frame_equal(divided, alone, rtol=1e-9)


def rows_of(edges: pd.DataFrame, n: int) -> list[list[tuple[int, float]]]:
    """Return the out-edges of each vertex: where they lead, and the weight."""
    rows: list[list[tuple[int, float]]] = [[] for _ in range(n)]
    for u, v, w in edges.itertuples(index=False):
        rows[u].append((v, w))
    return [sorted(row, key=lambda edge: edge[0]) for row in rows]


RNG = np.random.default_rng(5)
N = 30
EDGES = pd.DataFrame(
    {
        "source": RNG.integers(0, N, 120),
        "destination": RNG.integers(0, N, 120),
        "weight": RNG.integers(1, 9, 120) / 8,
    }
)


def run(program: Any, edges: pd.DataFrame, **options: Any) -> pd.DataFrame:
    vertices = pd.DataFrame({"vertex": range(N)})
    with ws.Graph(edges, vertices=vertices) as graph:
        return ws.run(program, graph, **options).frame


def test_a_flow_is_divided() -> None:
    have = [1.0 + v % 3 for v in range(N)]
    for _ in range(4):
        following = [0.5 * one for one in have]
        for u, row in enumerate(rows_of(EDGES, N)):
            capacity = sum(w for _, w in row)
            for v, w in row:
                following[v] += min(have[u] / capacity, 1.0) * w
        have = following
    np.testing.assert_allclose(run(DividedFlow, EDGES)["have"], have)


def test_a_walk_is_drawn_by_a_softmax() -> None:
    pull = np.bincount(EDGES.destination, minlength=N)
    share = np.full(N, 1.0 / N)
    for _ in range(5):
        following = 0.1 * share
        for u, row in enumerate(rows_of(EDGES, N)):
            chances = np.exp([(w - 0.25 * pull[v]) / 0.5 for v, w in row])
            for (v, _), chance in zip(row, chances / chances.sum(), strict=True):
                following[v] += 0.9 * share[u] * chance
        share = following
    np.testing.assert_allclose(run(SoftmaxWalk, EDGES)["share"], share)


def test_the_two_best_are_told() -> None:
    x, heard = [v * 5 % 7 for v in range(N)], [-1] * N
    for _ in range(4):
        inbox: list[list[int]] = [[] for _ in range(N)]
        for u, row in enumerate(rows_of(EDGES, N)):
            best = sorted(range(len(row)), key=lambda place: (x[row[place][0]], place))[:2]
            for extra, place in enumerate(best):
                inbox[row[place][0]].append(x[u] + extra)
        for v, messages in enumerate(inbox):
            if messages:
                heard[v] = min(messages)
                x[v] = None if x[v] is None else (x[v] + heard[v]) % 11
    frame = run(TwoBest, EDGES)
    assert frame["x"].tolist() == x
    assert frame["heard"].tolist() == heard


def test_an_auction_assigns_objects_to_bidders() -> None:
    """Its assignment is worth as much as the best one, less the bidders' number times the step."""
    values = RNG.integers(0, 40, (6, 6)) / 4
    bids = [(u, 6 + v, values[u, v]) for u in range(6) for v in range(6)]
    edges = pd.DataFrame(bids, columns=["source", "destination", "weight"])
    for parts in (1, 3):
        plan = ws.Plan(partitions=parts)
        objects = ws.run(Bids, edges, engine="python", plan=plan).frame.iloc[6:]
        holders = objects["holder"].tolist()
        assert sorted(holders) == list(range(6))
        worth = sum(values[holder, place] for place, holder in enumerate(holders))
        best = max(
            sum(values[u, v] for u, v in enumerate(order)) for order in permutations(range(6))
        )
        assert best - 6 * 0.125 <= worth <= best


@ws.vertex_program
class Bids:
    """Bertsekas' auction: a bidder who holds nothing bids on the best object."""

    price: ws.float64
    holder: ws.int64
    number: ws.vertex_number
    weight: ws.edge(ws.float64)
    combine = ws.first_by(0)

    def init(vertex):
        return 0.0, -1

    def scatter(own, edges):
        holds = False
        for edge in edges:
            if edge.dst.holder == own.number:
                holds = True
        if not holds:
            best = edges[0]
            second = -math.inf
            for i in range(1, len(edges)):
                if edges[i].weight - edges[i].dst.price > best.weight - best.dst.price:
                    second = best.weight - best.dst.price
                    best = edges[i]
                else:
                    second = max(second, edges[i].weight - edges[i].dst.price)
            best.send((-(best.weight - second + 0.125), own.number))

    def apply(old, gathered):
        if -gathered[0] > old.price:
            return -gathered[0], gathered[1]
        return old.price, old.holder


# --------------------------------------------------------------------------------- what is refused


def declared(scatter: Any, **more: Any) -> Any:
    members = {
        "__annotations__": {"x": ws.float64}, "w": ws.edge(ws.float64), "combine": sum, "init": init,
        "scatter": scatter, "apply": apply, **more,
    }  # fmt: skip
    return ws.vertex_program(type("Refused", (), members))


def init(vertex):
    return 0.0


def apply(old, gathered):
    return gathered


def good(own, edges):
    for edge in edges:
        edge.send(own.x * edge.w)


def returning(own, edges):
    edges[0].send(own.x)
    return own.x


def silent(own, edges):
    total = own.x
    for edge in edges:
        total += edge.w


def of_all(own, edges):
    for edge in edges:
        edge.send(edges.w)


def undeclared(own, edges):
    for edge in edges:
        edge.send(edge.cost)


def of_target(own, edges):
    for edge in edges:
        edge.send(edge.dst.y)


def of_several_parts(own, edges):
    for edge in edges:
        if edge.w > 0:
            edge.send(own.x)
        else:
            edge.send((own.x, edge.w))


def along_a_number(own, edges):
    for edge in edges:
        edge.w.send(own.x)


def sliced(own, edges):
    edges[1:].send(own.x)


def outside(own, edges):
    edges[len(edges)].send(own.x)


def compute(src):
    return src.x


SOURCES = {
    returning: "returns `own.x`; send it",
    silent: "sends nothing; write `edge.send",
    of_all: "uses `edges.w`; read it of one edge",
    undeclared: "`edge.cost` is not declared; an edge has: dst, w",
    of_target: "`edge.dst.y` is not declared; the vertex that an edge leads to has: x",
    of_several_parts: "but other messages have 1 parts",
    along_a_number: "sends along `edge.w`; send along one of `edges`",
    sliced: "uses `edges\\[1:\\]`; read one edge",
}
SETTINGS: dict[str, dict[str, Any]] = {
    "leave out `compute`": {"compute": compute},
    "leave out `priority`": {"priority": lambda state: state.x},
    "leave out `asynchronous = True`": {"asynchronous": True, "combine": min},
    "leave out `in_place = True`": {"in_place": True},
    "leave out `parent`": {"parent": ws.predecessor, "combine": min},
    "leave out `flow`": {"flow": ws.edge_state(ws.float64)},
    "set combine to sum, min, max": {"combine": any},
    "leave out contributors = 'active'": {"contributors": "active"},
    "has vectors, .*leave out `scatter`": {
        "__annotations__": {"x": ws.float64, "v": ws.vector(ws.float64, 3)}
    },
}


@pytest.mark.parametrize("function", SOURCES, ids=lambda function: function.__name__)
def test_sources_that_are_refused(function: Any) -> None:
    with pytest.raises(ws.ProgramError, match=SOURCES[function]):
        declared(function)


@pytest.mark.parametrize("words", SETTINGS)
def test_settings_that_are_refused(words: str) -> None:
    with pytest.raises(ws.ProgramError, match=words):
        declared(good, **SETTINGS[words])


def test_an_index_out_of_range_ends_the_run() -> None:
    program = declared(outside)
    for engine in ("python", "cpu", "cuda"):
        with emulated(), pytest.raises(ws.ProgramError, match=r"0 to\s+len\(edges\) - 1"):
            ws.run(program, EDGES, weight="weight", engine=engine)


@pytest.mark.long
def test_check_compares_every_way() -> None:
    graph = graph_of(GRAPHS["random"])
    for program in (Auction, Tokens):
        assert ws.check(program, graph, seed=3) if program is Tokens else ws.check(program, graph)


@pytest.mark.long
def test_phases_along_and_against_the_edges() -> None:
    graph = graph_of(GRAPHS["random"])
    both = ws.phases(
        ws.phase(TwoBest, supersteps=2), ws.phase(TwoBest, direction="out", supersteps=1), rounds=2
    )
    expected = ws.run(both, graph, engine="python").frame
    for way in ({}, {"plan": ws.Plan(partitions=2)}):
        pd.testing.assert_frame_equal(ws.run(both, graph, **way).frame, expected)
        with emulated():
            pd.testing.assert_frame_equal(ws.run(both, graph, engine="cuda", **way).frame, expected)


def test_a_run_goes_on_from_a_checkpoint(tmp_path: Any) -> None:
    graph, folder = graph_of(GRAPHS["random"]), tmp_path / "kept"
    whole = ws.run(Tokens, graph, seed=2).frame
    ws.run(
        Tokens,
        graph,
        seed=2,
        checkpoint=folder,
        every=1,
        progress=lambda update: update.superstep < 2,
    )
    resumed = ws.run(Tokens, graph, seed=2, checkpoint=folder, every=1)
    pd.testing.assert_frame_equal(resumed.frame, whole)
