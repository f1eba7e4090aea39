"""Programs that read states of vertices that state fields name, and folds over those that name them."""

from __future__ import annotations

from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import zoo
from emulator.device import emulated
from plans import planned
from shapes import SHAPES, grid, random_edges
from thread_ranks import on_ranks, over_links, share
from zoo import found_by, graph_of, remembering

import cugraph_ws as ws
from cugraph_ws.backends.cpu.loops import jumps as on_host
from cugraph_ws.backends.cuda.loops import jumps as on_gpu
from cugraph_ws.program.jumps import nothing_of

WAYS: list[dict[str, Any]] = [
    {"engine": "cpu"},
    {"engine": "cpu", "partitions": 3},
    {"engine": "cpu", "direction": "gather", "fused": False},
    {"engine": "cuda"},
    {"engine": "cuda", "partitions": 2},
]
SMALL = random_edges(9, 14, seed=5)


@ws.vertex_program
class Roots:
    """The root of the tree that each vertex is in."""

    parent: ws.vertex_id
    above: ws.vertex_value(ws.int64)
    grand: int = ws.at("parent", "parent")

    def init(own):
        return own.above

    def compute(src):
        return src.parent

    combine = min

    def apply(old):
        return old.grand


@ws.vertex_program
class Wandering:
    """Pointers that leave the graph in the second superstep."""

    to: ws.vertex_id
    at_it: int = ws.at("to", "to", default=7)

    def init(vertex):
        return vertex

    def compute(src):
        return src.at_it

    combine = max

    def apply(old, p):
        return old.to if old.to != 3 else 90 + 10 * p.superstep

    max_iter = 4


def test_jumping_halves_paths() -> None:
    n = 40
    edges = pd.DataFrame({"source": [0], "destination": [1]})
    vertices = pd.DataFrame({"vertex": range(n), "above": np.maximum(np.arange(n) - 1, 0)})
    graph = ws.Graph(edges, vertices=vertices)
    for options in ({"engine": "python"}, {"engine": "cpu"}, {"engine": "cpu", "partitions": 4}):
        result = ws.run(Roots, graph, **planned(above="above", **options))
        assert result.frame["parent"].tolist() == [0] * n
        assert result.iterations == 7  # log2 of the longest path, and one without a change
        assert result.synchronous


@pytest.mark.parametrize("name", ["two components", "cycle", "random sparse", "all isolated"])
def test_hooking_and_jumping_find_components(name: str) -> None:
    edges = SHAPES[name]
    both = nx.Graph([*zip(edges.source.tolist(), edges.destination.tolist(), strict=True)])
    both.add_nodes_from(range(edges.n))
    least = {v: min(part) for part in nx.connected_components(both) for v in part}
    graph = ws.Graph(
        pd.DataFrame({"source": edges.source, "destination": edges.destination}).drop_duplicates(),
        directed=False,
        vertices=pd.DataFrame({"vertex": range(edges.n)}),
        duplicates="first",
    )
    for options in ({}, {"partitions": min(3, edges.n)}):
        found = ws.run(zoo.Hooking, graph, **planned(engine="python", **options))
        assert found.frame["parent"].tolist() == [least[v] for v in range(edges.n)], options


def test_a_long_path_needs_few_supersteps() -> None:
    graph = ws.Graph(
        pd.DataFrame({"source": range(500), "destination": range(1, 501)}), directed=False
    )
    found = ws.run(zoo.Hooking, graph, engine="cpu")
    assert not found.frame["parent"].any()
    assert found.iterations < 20


@pytest.mark.parametrize("entry", [zoo.Named, zoo.LightestOfTree, zoo.Hooking, zoo.SharedHome])
def test_results_repeat_bit_by_bit(entry: Any) -> None:
    with remembering(), emulated():
        graph = graph_of(SMALL)
        expected = found_by(entry, ws.run(entry, graph, engine="python"))
        for options in WAYS:
            found = found_by(entry, ws.run(entry, graph, **planned(**options)))
            assert repr(found) == repr(expected), options


@pytest.mark.parametrize("on_device", [False, True])
def test_ranks(on_device: bool) -> None:
    graph = graph_of(SMALL)
    expected = ws.run(zoo.Named, graph, engine="python").frame

    def work(comm: Any) -> pd.DataFrame:
        engine = "cuda" if on_device else "python"
        frame: pd.DataFrame = ws.run(zoo.Named, share(graph, comm), engine=engine).frame
        return frame

    with emulated():
        found = pd.concat((over_links if on_device else on_ranks)(2, work), ignore_index=True)
    pd.testing.assert_frame_equal(found, expected, check_exact=True)


@pytest.mark.parametrize("way", [{"engine": "python"}, *WAYS], ids=str)
def test_pointers_out_of_range_are_refused(way: dict[str, Any]) -> None:
    frame = pd.DataFrame({"source": list("abcde"), "destination": list("bcdea")})
    graph = ws.Graph(frame)
    message = (
        "Wandering: `to` of vertex 'd' is 90, which is not the number of a vertex; give 0 to 4, "
        "or -1 for none"
    )
    with emulated(), pytest.raises(ws.ProgramError, match=message):
        ws.run(Wandering, graph, **planned(**way))
    with pytest.raises(ws.ProgramError, match=message):
        ws.check(Wandering, graph)


@ws.vertex_program
class Hook:
    """A tree's root goes below the least tree around."""

    parent: ws.vertex_id
    near: ws.vertex_id
    hook: int = ws.least_at("near", "parent")

    def init(vertex):
        return vertex, vertex

    def compute(src):
        return src.parent

    combine = min

    def apply(old, gathered):
        return min(old.parent, old.hook), min(old.parent, gathered)

    max_iter = 2


@ws.vertex_program
class Halve:
    """Pointers that lead to roots."""

    parent: ws.vertex_id
    grand: int = ws.at("parent", "parent")

    def init(vertex):
        return vertex

    def compute(src):
        return src.parent

    combine = min

    def apply(old):
        return old.grand


@pytest.mark.parametrize("way", [{"engine": "python"}, *WAYS[:2], *WAYS[3:]], ids=str)
def test_phases_have_jumps_of_their_own(way: dict[str, Any]) -> None:
    pairs = [(0, 1), (1, 2), (2, 3), (7, 8), (7, 9), (5, 9), (11, 12), (12, 13)]
    frame = pd.DataFrame(pairs, columns=["source", "destination"])
    program = ws.phases(Hook, Halve)
    with emulated(), ws.Graph(frame, directed=False) as graph:
        found = ws.run(program, graph, **planned(**way)).frame
        assert found["parent"].tolist() == [0, 0, 0, 0, 5, 5, 5, 5, 11, 11, 11]
        with pytest.raises(ws.InputError, match="no parameter 'grand'"):
            ws.run(program, graph, **planned(grand=3, **way))


def test_check_compares_every_run() -> None:
    with remembering():
        for edges in (SMALL, grid(3, 3, 0.2, seed=1)):
            report = ws.check(zoo.Hooking, graph_of(edges))
            assert report, str(report)
            assert report.converged
            assert len(report.configurations) > 10
            refusal = "since `grand` is read at other vertices before each superstep"
            assert any(refusal in why for why in report.declined.values())


def test_runs_are_resumed(tmp_path: Any) -> None:
    graph, path = graph_of(SMALL), tmp_path / "state.parquet"
    expected = ws.run(zoo.Hooking, graph, engine="python").frame
    for options in ({"engine": "python"}, {"engine": "python", "partitions": 2}):
        ws.run(zoo.Hooking, graph, **planned(max_iter=1, checkpoint=path, **options))
        again = ws.run(zoo.Hooking, graph, **planned(resume=path, **options))
        pd.testing.assert_frame_equal(again.frame, expected)


@pytest.mark.parametrize("dtype", [np.bool_, np.int64, np.float32, np.float64])
@pytest.mark.parametrize("kind", ["least", "greatest", "sum"])
def test_folds_are_the_same_on_the_gpu(kind: str, dtype: Any) -> None:
    generator = np.random.default_rng(3)
    values = (generator.integers(-3, 3, 60) * 0.37).astype(dtype)
    if values.dtype.kind == "f":
        values[:4] = np.nan, -0.0, np.inf, -np.inf
        values = values[1:] if kind == "sum" else values
    elif values.dtype.kind == "i":
        limits = np.iinfo(np.int64)
        values[:3] = limits.min, limits.max, 0
    if kind == "sum":
        values = values.astype(np.int64 if values.dtype.kind in "bi" else np.float64)
    places = generator.integers(0, 9, len(values))
    found = on_host.fold(kind, values, places, 12)
    with emulated():
        there = np.asarray(on_gpu.fold(kind, values, places, 12))
        nobody = np.asarray(on_gpu.fold(kind, values[:0], places[:0], 2))
    assert found.dtype == there.dtype == values.dtype
    assert found.tobytes() == there.tobytes()
    pick: Any = {"least": min, "greatest": max}.get(kind)
    for place in range(12):
        chosen = [one for one in values[places == place] if one == one]
        if kind == "sum":
            total = values.dtype.type(0)
            with np.errstate(over="ignore", invalid="ignore"):
                for one in chosen:
                    total += one
            np.testing.assert_equal(found[place], total)
        else:
            assert found[place] == pick([*chosen, nothing_of(kind, values.dtype)])
    assert (nobody == nothing_of(kind, values.dtype)).all()


def test_layouts_that_keep_copies_are_refused() -> None:
    with emulated(), pytest.raises(ws.InputError, match="shards keep copies of what vertices read"):
        ws.run(zoo.Hooking, graph_of(SMALL), engine="cuda", plan=ws.Plan(layout="gshards"))


def test_jumps_are_no_arguments() -> None:
    with pytest.raises(ws.InputError, match="Hooking has no parameter 'grand'; it has: none"):
        ws.run(zoo.Hooking, graph_of(SMALL), grand=1)


def changed(**members: Any) -> type:
    """Return the class of `Wandering` with other members; None leaves one out."""

    def init(vertex):
        return vertex

    def compute(src):
        return src.at_it

    def apply(old):
        return old.to

    body = {
        "__module__": __name__,
        "__annotations__": {"to": ws.int64},
        "at_it": ws.at("to", "to"),
        "init": init,
        "compute": compute,
        "combine": max,
        "apply": apply,
    }
    return type("Changed", (), {**body, **members})


def settled(state):
    return state.at_it > 3


def active(old, new):
    return new.at_it > old.to


def init(own):
    return own.at_it


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ({"asynchronous": True}, "gather from all, in supersteps; leave out asynchronous = True"),
        ({"in_place": True}, "leave out in_place = True"),
        ({"contributors": "active"}, "leave out contributors = 'active'"),
        ({"combine": any}, "leave out combine = any"),
        ({"before": ws.predecessor}, "no predecessor is found afterwards; leave out `before`"),
        ({"at_it": ws.at("too", "to")}, "Changed.at_it reads `too`, which is not a state field"),
        ({"at_it": ws.sum_at("to", "of")}, "Changed.at_it reads `of`, which is not a state field"),
        (
            {"__annotations__": {"to": ws.float64}},
            "`to` names vertices and is ws.float64; declare it as ws.vertex_id, ws.int64 or",
        ),
        ({"settled": settled}, "at_it"),
        ({"active": active}, "at_it"),
        ({"init": init}, "at_it"),
    ],
)
def test_what_jumps_exclude_is_refused(members: dict[str, Any], message: str) -> None:
    assert ws.vertex_program(changed()).contributors == "all"
    with pytest.raises(ws.ProgramError, match=message):
        ws.vertex_program(changed(**members))


@pytest.mark.parametrize("default", [0.5, 2**70, float("nan")])
def test_defaults_are_values_of_the_field(default: float) -> None:
    program = ws.vertex_program(changed(at_it=ws.at("to", "to", default=default)))
    with pytest.raises(ws.ProgramError, match="is not a value of `to`, which is int64"):
        ws.run(program, graph_of(SMALL), engine="python")
