"""Programs with a `compute` that takes `dst`: what they may read, how they run, what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import zoo
from cuda_cases import CASES, METHODS, check_same, graph_of, medley, set_classes
from emulator.device import emulated
from plans import planned
from reference import run as reference_run
from shapes import SHAPES, hub, random_edges, undirected
from thread_ranks import over_links, share

import cugraph_ws as ws
from cugraph_ws.backends.cpu import context
from cugraph_ws.backends.cpu import executor as cpu
from cugraph_ws.program.binding import bind
from cugraph_ws.program.codegen import generated_source

PROGRAMS = (
    zoo.Selective, zoo.Conflicts, zoo.Flow, zoo.UpToTheLimit, zoo.Passage, zoo.Offers,
)  # fmt: skip
ENTRIES = [entry for entry in zoo.ZOO if entry.program in PROGRAMS]
DENSE, PULLED = (
    next(case for case in CASES if case.name == name)
    for name in ("destinations read", "destinations read by pulls")
)


def define(**settings: Any) -> Any:
    """Define a minimum of what is above the destination, with other settings."""
    space: dict[str, Any] = {
        "__module__": __name__,
        "__annotations__": {"x": ws.int64},
        "init": first,
        "compute": above,
        "combine": min,
        "apply": least,
        **settings,
    }
    return ws.vertex_program(type("Above", (), space))


def first(vertex):
    return vertex


def above(src, dst):
    return max(src.x, dst.x)


def positive(src):
    return max(src.x, 0)


def least(old, gathered):
    return min(old.x, gathered)


# ------------------------------------------------------------------------------------- meaning


@pytest.mark.parametrize("entry", ENTRIES[2:5], ids=str)
def test_every_run_is_the_reference_s(entry):
    edges = random_edges(6, 14, seed=5)
    with zoo.graph_of(edges) as graph, emulated(seed=2):
        report = ws.check(entry.program, graph, max_iter=2, **entry.given(edges.n))
    assert report, str(report)
    assert len(report.configurations) > 10


@pytest.mark.parametrize("threads", [1, 3])
def test_a_long_row_in_parts(threads, monkeypatch):
    monkeypatch.setattr(cpu, "LONG_ROW", 4)
    monkeypatch.setattr(context, "SMALL_WORK", 1)
    monkeypatch.setattr(context, "number_of_threads", lambda: threads)
    edges = undirected(hub(40))
    entry = next(one for one in ENTRIES if one.program is zoo.Flow)
    outcome = reference_run(entry.program, zoo.reference_graph(edges), max_iter=3)
    with zoo.graph_of(edges) as graph:
        result = ws.run(entry.program, graph, engine="cpu", max_iter=3)
    expected = zoo.shown(entry.program, outcome.states, edges.n)
    assert zoo.difference(zoo.found_by(entry.program, result), expected, entry.tolerance) is None


def test_a_checkpoint_in_between(tmp_path):
    saved = tmp_path / "state.parquet"
    given = next(one for one in ENTRIES if one.program is zoo.UpToTheLimit).given(9)
    with zoo.graph_of(random_edges(9, 24, seed=5)) as graph:
        whole = ws.run(zoo.UpToTheLimit, graph, **planned(max_iter=6, **given))
        ws.run(zoo.UpToTheLimit, graph, **planned(max_iter=2, checkpoint=saved, **given))
        resumed = ws.run(zoo.UpToTheLimit, graph, **planned(max_iter=6, resume=saved, **given))
    assert zoo.found_by(zoo.UpToTheLimit, resumed) == zoo.found_by(zoo.UpToTheLimit, whole)


@ws.vertex_program
class Cautious:
    """A maximum that takes no messages from 5 on, though a neighbour's number is sent to whoever has 6."""

    x: ws.int64

    def init(vertex):
        return 6 if vertex == 0 else vertex

    def compute(src, dst):
        return src.x + 10 if dst.x == 6 else 0

    combine = max

    def settled(state):
        return state.x >= 5

    def apply(old, gathered):
        return max(old.x, gathered)


def test_a_settled_vertex_takes_no_messages_to_their_destination():
    with graph_of(undirected(SHAPES["short path"])) as graph:
        report = ws.check(Cautious, graph)
        assert not report.differences
        assert ws.run(Cautious, graph).arrays["x"][0] == 6


# ------------------------------------------------------------------------------------ the GPU


@pytest.mark.parametrize("method", METHODS)
def test_methods(method):
    with graph_of(medley((40, 12, 7, 5, 4, 3, 1), 30)) as graph:
        expected = DENSE.run(graph, engine="python")
        with emulated(seed=3):
            check_same(DENSE.run(graph, engine="cuda", method=method), expected, DENSE)


@pytest.mark.parametrize(
    ("hubs", "middle"), [(12, 5), (4096, 1), (4096, 4096)], ids=["all", "warps", "segments"]
)
def test_classes_of_degrees(hubs, middle, monkeypatch):
    """Rows longer than a warp, and rows that begin within one, are read by segments too."""
    set_classes(monkeypatch, block=64, hub=hubs, chunk=9, middle=middle)
    edges = medley((70, 33, 32, 31, 12, 7, 5, 3, 1), 40)
    with graph_of(edges) as graph:
        for case, options in ((DENSE, {}), (PULLED, {"direction": "pull"})):
            options = {**options, "max_iter": 3}
            expected = case.run(graph, engine="python", max_iter=3)
            with emulated(seed=hubs % 7, multiprocessors=2):
                check_same(case.run(graph, engine="cuda", **options), expected, case)


@pytest.mark.parametrize("ranks", [2, 3])
@pytest.mark.parametrize("exchange", ["vr", "ms", "all"])
def test_gpus_of_a_cluster(ranks, exchange, monkeypatch):
    set_classes(monkeypatch, block=32, hub=12, chunk=8, middle=5)
    case = (DENSE, PULLED)[ranks % 2]
    options = {"engine": "cuda", "exchange": exchange}
    with graph_of(medley((14, 7, 5, 4, 3, 1), 24)) as graph:
        expected = case.run(graph, engine="python").frame
        with emulated(seed=ranks):
            found = over_links(ranks, lambda comm: case.run(share(graph, comm), **options).frame)
    for name in case.program.state:
        mine = np.concatenate([frame[name].to_numpy() for frame in found])
        np.testing.assert_allclose(mine, expected[name], rtol=case.tolerance)


def test_no_messages_are_kept_for_all_destinations():
    with graph_of(medley((5, 2), 10)) as graph:
        assert bind(define(compute=positive), graph, {}).prepares
        assert not bind(define(), graph, {}).prepares


def test_what_is_not_read_is_not_loaded():
    with graph_of(medley((5, 2), 10)) as graph:
        loads = {}
        for program in (ws.PageRank, DENSE.program):
            text = generated_source(program, bind(program, graph, {}).types)
            body = text.partition("def load_target(state, constants, vertex):\n    return ")[2]
            loads[program.name] = body.partition("\n")[0]
    assert loads["PageRank"] == "NO_TARGET"
    assert loads["Levelled"].startswith("Vertex(state[0][vertex], np.int64(state[1][vertex])")


# ------------------------------------------------------------------------------------ refusals


@pytest.mark.parametrize(
    ("settings", "remedy"),
    [
        ({"asynchronous": True}, "leave out asynchronous = True, or do not take `dst`"),
        ({"in_place": True}, "leave out in_place = True, or do not take `dst`"),
        ({"before": ws.predecessor}, "leave out `before`, or do not take `dst`"),
    ],
)
def test_declarations_that_contradict_it(settings, remedy):
    with pytest.raises(ws.ProgramError) as caught:
        define(**settings)
    line = above.__code__.co_firstlineno
    told = str(caught.value)
    assert told.startswith(
        f"Above.compute ({__file__}:{line}) takes `dst`, the destination's state "
    )
    assert told.endswith(remedy)


def test_it_is_not_proved_to_be_free_of_order():
    with graph_of(medley((5, 2), 10)) as graph:
        assert "compute takes dst" in str(bind(define(), graph, {}).in_order)
        assert ws.run(define(), graph).synchronous
        with pytest.raises(ws.InputError, match=r"direction='push': Above gathers .* takes dst"):
            ws.run(define(), graph, plan=ws.Plan(direction="push"))


@pytest.mark.parametrize("engine", ["python", "cpu", "cuda"])
def test_in_place(engine):
    with (
        graph_of(medley((5, 2), 10)) as graph,
        emulated(),
        pytest.raises(
            ws.InputError, match=r"in_place=True: Above.compute takes `dst`.*leave it out"
        ),
    ):
        ws.run(define(), graph, engine=engine, plan=ws.Plan(in_place=True))


@pytest.mark.parametrize("layout", ["gshards", "windows"])
def test_shards(layout):
    with (
        graph_of(medley((5, 2), 10)) as graph,
        emulated(),
        pytest.raises(
            ws.InputError, match=rf"layout='{layout}': Above.compute takes `dst`.*leave it"
        ),
    ):
        ws.run(define(), graph, engine="cuda", plan=ws.Plan(layout=layout))


def unknown(src, dst):
    return src.x + dst.height


def test_what_a_destination_does_not_have():
    with pytest.raises(ws.ProgramError, match=r"`dst.height` is not declared; `dst` has: x"):
        define(compute=unknown)
