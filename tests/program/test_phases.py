"""Phases mean on every engine, in partitions, on workers and after a resumption what the reference says."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
import phased
import pytest
import stand_in_cudf
from clusters import workers
from cuda_cases import set_classes
from emulator.device import emulated
from phased import PHASED, Along, Authorities, Distance, Entry, Hubs, Return, Settle
from plans import planned
from shapes import SHAPES, frame, random_edges, undirected, vertex_frame
from stopping import EndsAfter
from thread_ranks import over_links, share
from verify import Edges
from zoo import (
    attributes_of,
    difference,
    found_by,
    graph_of,
    reference_graph,
    remembering,
    shown,
)
from zoo_meetings import PHASED_MEETINGS

import cugraph_ws as ws
from cugraph_ws.execution.check import _Check
from cugraph_ws.execution.options import Options
from cugraph_ws.execution.phased_loop import PhasedLoop
from cugraph_ws.partition.build import build_shard
from cugraph_ws.runtime.saved_state import SavedState

pytestmark = pytest.mark.xdist_group("phases")

GRAPHS: dict[str, Edges] = {
    **{
        name: SHAPES[name]
        for name in ("empty", "one vertex", "all isolated", "one edge", "star", "star inwards",
                     "two components", "self-loops", "duplicates")
    },
    "cycle": Edges(SHAPES["cycle"].source[:6], SHAPES["cycle"].destination[:6] % 6, 6),
    "random": random_edges(9, 21, seed=11),
    "random sparse": random_edges(12, 14, seed=12),
    "random undirected": undirected(random_edges(8, 11, seed=13)),
}  # fmt: skip
THOROUGH = ("random", "random undirected")  # in every configuration
FEW = (1, 2, 5)
LONG = 60  # supersteps after which there is no end to be expected
WAYS: list[dict[str, Any]] = [
    {"partitions": 2},
    {"partitions": 3, "exchange": "vr"},
    {"partitions": 4, "exchange": "ms"},
    {"partitions": 2, "exchange": "all"},
    {"fused": False},
    {"in_place": False},
]
ALL = [*PHASED, *PHASED_MEETINGS]
HITS = next(entry.program for entry in PHASED if entry.name == "hits")
COMPONENTS = next(entry.program for entry in PHASED if entry.name == "weak components")


@pytest.fixture(autouse=True, scope="module")
def once() -> Iterator[None]:
    """Have each program's loops made once."""
    with remembering():
        yield


@cache
def graph(name: str) -> ws.Graph:
    return graph_of(GRAPHS[name])


@cache
def expected_of(place: int, name: str, limit: int | None) -> phased.Outcome:
    entry, edges = ALL[place], GRAPHS[name]
    return phased.run(
        entry.program, reference_graph(edges), entry.given(edges.n),
        max_iter=LONG if limit is None else limit, messages=entry.messages,
    )  # fmt: skip


def check(entry: Entry, name: str, limit: int | None, **options: Any) -> None:
    """Compare one run with the reference."""
    outcome, edges = expected_of(ALL.index(entry), name, limit), GRAPHS[name]
    assert limit is not None or outcome.converged or entry.program.until is not None
    result = ws.run(
        entry.program, graph(name), **planned(max_iter=limit, **entry.given(edges.n), **options)
    )
    where = f"{entry} on {name}, max_iter={limit}, {options}"
    expected = shown(entry.program, outcome.states, edges.n)
    wrong = difference(found_by(entry.program, result), expected, entry.tolerance)
    assert wrong is None, f"{where}: {wrong}"
    assert result.converged == outcome.converged, where
    if result.synchronous:
        assert result.trace["phase"].tolist() == outcome.names, where
        assert result.iterations == outcome.supersteps, where


def graphs_for(entry: Entry) -> list[str]:
    return [name for name, edges in GRAPHS.items() if edges.n or not entry.needs_vertex]


@pytest.mark.parametrize("entry", ALL, ids=str)
def test_plain_python(entry: Entry) -> None:
    turn = itertools.cycle(WAYS)
    for place, name in enumerate(graphs_for(entry), start=ALL.index(entry)):
        chosen = [{}, *(WAYS if name in THOROUGH else [next(turn)])]
        for number, options in enumerate(chosen):
            for limit in (FEW[(place + number) % len(FEW)], None):
                check(entry, name, limit, engine="python", **options)


@pytest.mark.parametrize("entry", [entry for entry in PHASED_MEETINGS if entry.compiled], ids=str)
def test_compiled_meetings(entry: Entry) -> None:
    with emulated(seed=3):
        for limit in (5, None):
            for name in THOROUGH:
                check(entry, name, limit, engine="cpu")
                check(
                    entry,
                    name,
                    limit,
                    engine="cpu",
                    direction="gather" if limit is None else "auto",
                )
            check(entry, "duplicates", limit, engine="cuda")


COMPILED = [entry for entry in PHASED if entry.compiled]


@pytest.mark.parametrize("entry", COMPILED[:4], ids=str)
def test_compiled(entry: Entry) -> None:
    turn = itertools.cycle(WAYS)
    for name in (*THOROUGH, "duplicates"):
        for limit in (5, None):
            check(entry, name, limit, engine="cpu")
            check(entry, name, limit, engine="cpu", **next(turn))


@pytest.mark.parametrize("entry", COMPILED, ids=str)
def test_emulated_gpu(entry: Entry, monkeypatch: pytest.MonkeyPatch) -> None:
    set_classes(monkeypatch, block=64, hub=24, chunk=16, middle=6)
    with emulated(seed=len(entry.name)):
        check(entry, "random", 5, engine="cuda")
        check(entry, "duplicates", None, engine="cuda")
        check(entry, "random", None, engine="cuda", partitions=3)


def gpu_shard(edges: Edges, comm: Any) -> Any:
    """Build a rank's shard from its rows of a cuDF frame."""
    columns = {"source": edges.source, "destination": edges.destination, **attributes_of(edges)}
    rows, make = pd.DataFrame(columns), stand_in_cudf.DataFrame
    cuts = np.linspace(0, len(rows), comm.size + 1).astype(int)
    own = rows.iloc[cuts[comm.rank] : cuts[comm.rank + 1]].reset_index(drop=True)
    named = [name for name in attributes_of(edges) if name != "weight"]
    return build_shard(
        comm, [(comm.rank, make(own))], meta=make(rows.iloc[:0]), weight="weight", attributes=named
    )


@pytest.mark.parametrize(
    ("entry", "exchange", "built"),
    [
        (entry, ("auto", "ms", "vr", "all")[place % 4], place % 2 == 1)
        for place, entry in enumerate(COMPILED)
    ],
    ids=str,
)
def test_ranks_with_a_gpu_each(
    entry: Entry, exchange: str, built: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_classes(monkeypatch, block=32, hub=12, chunk=8, middle=5)
    outcome, given = expected_of(ALL.index(entry), "random", None), entry.given(9)

    def work(comm: Any) -> Any:
        part = gpu_shard(GRAPHS["random"], comm) if built else share(graph("random"), comm)
        found = ws.run(entry.program, part, **planned(engine="cuda", exchange=exchange, **given))
        rows = pd.DataFrame({name: list(found.frame[name]) for name in found.frame.columns})
        return rows, found.converged, list(found.trace["phase"]), found.synchronous

    with emulated(seed=len(entry.name)), stand_in_cudf.installed():
        shares = over_links(2, work)
    rows = pd.concat([one[0] for one in shares]).sort_values("vertex")
    expected = shown(entry.program, outcome.states, 9)
    joined = {
        name: [None if pd.isna(value) else value for value in rows[name].tolist()]
        for name in expected
    }
    assert difference(joined, expected, entry.tolerance) is None
    for _, converged, names, synchronous in shares:
        assert converged
        assert names == outcome.names or not synchronous


# ------------------------------------------------------------------- results, limits, resumptions


def test_hits_is_that_of_networkx() -> None:
    edges = SHAPES["two components"]
    program = ws.phases(
        ws.phase(Authorities, supersteps=1),
        ws.phase(Hubs, "out", 1),
        rounds=400,
        until=ws.max_norm("hub"),
        tol=1e-15,
    )
    made = nx.MultiDiGraph(zip(edges.source.tolist(), edges.destination.tolist(), strict=True))
    made = nx.DiGraph(made)
    rows = pd.DataFrame(made.edges, columns=["source", "destination"])
    found = ws.run(program, rows, engine="python")
    hubs, _ = nx.hits(made, max_iter=1000, tol=1e-13)
    shares = dict(
        zip(found.frame["vertex"], found.frame["hub"] / found.frame["hub"].sum(), strict=True)
    )
    assert (found.converged, found.stopped) == (True, "converged")
    assert found.residual <= 1e-15
    assert shares == pytest.approx({v: hubs[v] for v in shares}, abs=1e-9)


def test_rounds_without_until_converge_and_with_it_give_up() -> None:
    halves = ws.phase(Settle, supersteps=1)
    found = ws.run(ws.phases(halves, rounds=3), graph("cycle"), engine="python")
    assert (found.iterations, found.converged, found.stopped) == (3, True, "converged")
    never = ws.phases(halves, rounds=3, until=ws.max_norm("value"), tol=0.01)
    for options in ({}, {"partitions": 2}):
        found = ws.run(never, graph("cycle"), **planned(engine="python", **options))
        assert (found.iterations, found.converged, found.stopped) == (3, False, "max_iter")
        assert found.residual == 3.0 / 8
        found = ws.run(never, graph("cycle"), **planned(engine="python", tol=0.8, **options))
        assert (found.iterations, found.converged, found.residual) == (2, True, 0.75)


def test_an_infinite_change_diverges() -> None:
    grows = ws.phases(ws.phase(Settle, supersteps=1), until=ws.l1_norm("value"), tol=0.0)
    found = ws.run(grows, graph("cycle"), engine="python", factor=1e200)
    assert (found.stopped, found.converged) == ("diverged", False)


@ws.vertex_program
class Flip:
    """Never comes to rest."""

    value: ws.int64
    combine = sum

    def init(vertex):
        return vertex % 2

    def compute(src):
        return src.value

    def apply(old):
        return 1 - old.value


@pytest.mark.parametrize("options", [{}, {"partitions": 2}], ids=str)
def test_rounds_that_repeat_are_given_up(options: dict[str, Any]) -> None:
    endless = ws.phases(ws.phase(Flip, supersteps=1))
    with pytest.raises(
        ws.ConvergenceError, match=r"after 4 rounds its states are those of 2 rounds"
    ):
        ws.run(endless, graph("cycle"), **planned(engine="python", **options))
    assert (
        ws.run(
            endless, graph("cycle"), **planned(engine="python", max_iter=5, **options)
        ).iterations
        == 5
    )


@pytest.mark.parametrize("options", [{}, {"partitions": 3}], ids=str)
@pytest.mark.parametrize("entry", PHASED, ids=str)
def test_a_run_resumes_in_every_phase(
    entry: Entry, options: dict[str, Any], tmp_path: Path
) -> None:
    given = {**entry.given(9), "engine": "python", **options}
    whole = ws.run(entry.program, graph("random"), **planned(max_iter=LONG, **given))
    for stop in range(0, whole.iterations + 1, 1 + whole.iterations // 6):
        path = tmp_path / f"{stop}.parquet"
        ws.run(entry.program, graph("random"), **planned(max_iter=stop, checkpoint=path, **given))
        given["partitions"] = 2 if stop % 2 else 1  # of another number of partitions
        again = ws.run(
            entry.program, graph("random"), **planned(max_iter=LONG, resume=path, **given)
        )
        assert (again.iterations, again.converged) == (whole.iterations, whole.converged)
        pd.testing.assert_frame_equal(again.frame, whole.frame)
        rest = whole.trace["phase"].tolist()[stop:]
        assert again.trace["phase"].tolist() == rest


def test_a_checkpoint_of_other_phases_or_values_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "hits.parquet"
    ws.run(HITS, graph("random"), engine="python", max_iter=3, checkpoint=path)
    other = ws.phases(ws.phase(Authorities, supersteps=1), ws.phase(Hubs, "in", 1), rounds=3)
    with pytest.raises(ws.InputError, match="written with another phases"):
        ws.run(other, graph("random"), engine="python", resume=path)
    loop = PhasedLoop(HITS, {}, Options(engine="python"))
    loop.start(graph("random"))
    arrays = loop.state()
    loop.check(SavedState(arrays, "resume='x'"), graph("random"))
    for name, wrong in (("_phases", [7, 0, 0, 0]), ("_before hub", [True] * 8), ("_norm", [])):
        damaged = SavedState({**arrays, name: np.array(wrong)}, "resume='x'")
        with pytest.raises(ws.InputError, match=name):
            loop.check(damaged, graph("random"))


def test_a_callback_stops_in_the_middle_of_a_round() -> None:
    found = ws.run(HITS, graph("random"), engine="python", progress=EndsAfter(3))
    expected = expected_of(next(n for n, e in enumerate(PHASED) if e.program is HITS), "random", 3)
    assert (found.stopped, found.iterations) == ("callback", 3)
    assert difference(found_by(HITS, found), expected.states, 1e-12) is None


def test_only_traces_of_phases_name_them() -> None:
    assert "phase" not in ws.run(Settle, graph("cycle"), engine="python", max_iter=1).trace
    none = ws.run(COMPONENTS, graph("empty"), engine="python").trace
    assert none["phase"].tolist() == []


# --------------------------------------------------------------------------------- refusals


@ws.vertex_program
class OtherHub:
    """A field of another type."""

    hub: ws.float32
    combine = sum

    def init(vertex):
        return 0.0

    def compute(src):
        return src.hub

    def apply(old, gathered):
        return gathered


@ws.vertex_program
class Weights:
    """A field of the type of the weights."""

    value: ws.like("weight")
    weight: ws.edge()
    combine = max

    def init(vertex):
        return 0

    def compute(src, edge):
        return edge.weight

    def apply(old, gathered):
        return gathered


@ws.vertex_program
class WholeValue:
    """The same field as an integer."""

    value: ws.int64
    combine = max

    def init(vertex):
        return 5 if vertex == 3 else vertex % 3

    def compute(src):
        return src.value

    def apply(old, gathered):
        return gathered


@ws.vertex_program
class Tree:
    """A program with a predecessor."""

    level: ws.int64
    parent: ws.predecessor
    combine = min

    def init(vertex):
        return vertex

    def compute(src):
        return src.level

    def apply(old, gathered):
        return min(old.level, gathered)


def test_declarations_are_refused_by_name() -> None:
    with pytest.raises(ws.ProgramError, match=r"at least one"):
        ws.phases()
    with pytest.raises(ws.ProgramError, match=r"3 is not a vertex program"):
        ws.phases(Along, 3)
    with pytest.raises(ws.InputError, match=r"direction='both'.*'in'.*'out'"):
        ws.phase(Along, "both")  # type: ignore[arg-type]
    with pytest.raises(ws.InputError, match="supersteps=0"):
        ws.phase(Along, supersteps=0)
    with pytest.raises(ws.InputError, match="rounds=-1"):
        ws.phases(Along, rounds=-1)
    with pytest.raises(ws.ProgramError, match=r"Tree\.parent: a program with a predecessor"):
        ws.phases(Tree)
    with pytest.raises(
        ws.ProgramError, match=r"`hub` is ws.float64 in Hubs and ws.float32 in Other"
    ):
        ws.phases(Hubs, OtherHub)
    with pytest.raises(ws.ProgramError, match=r"not the norm of a state field.*label"):
        ws.phases(Along, until=ws.l1_norm("hub"), tol=1.0)
    with pytest.raises(ws.ProgramError, match="give both"):
        ws.phases(Along, until=ws.l1_norm("label"))
    with pytest.raises(ws.ProgramError, match="give both"):
        ws.phases(Along, tol=1.0)
    with pytest.raises(ws.InputError, match="tol=-1"):
        ws.phases(Along, until=ws.l1_norm("label"), tol=-1)


def test_arguments_of_a_run_are_refused_by_name() -> None:
    back = ws.phases(Distance, ws.phase(Return, "out"))
    with pytest.raises(ws.InputError, match=r"has no parameter 'begin'; its programs have: start"):
        ws.run(back, graph("random"), begin=0)
    with pytest.raises(ws.InputError, match=r"tol=0.1: .* has no `until`"):
        ws.run(back, graph("random"), start=0, tol=0.1)
    with pytest.raises(ws.InputError, match="start"):
        ws.run(back, graph("random"), engine="python")
    trees = ws.phases(phased.Hook, phased.Shortcut)
    with pytest.raises(ws.InputError, match=r"has no parameter 'grand'; its programs have: none"):
        ws.run(trees, graph("random"), grand=3)
    mixed = ws.phases(Weights, WholeValue)
    with pytest.raises(
        ws.ProgramError, match=r"`value` is float64 in Weights and int64 in WholeValue"
    ):
        ws.run(mixed, graph("random"), engine="python")
    rows = pd.DataFrame({"source": [0], "destination": [1], "weight": [3]})
    assert ws.run(mixed, rows, engine="python").converged  # the same type there


def test_columns_that_programs_read_are_kept() -> None:
    rows = pd.DataFrame({"source": [0, 1], "destination": [1, 2], "length": [2.0, 3.0]})
    back = ws.phases(Distance, ws.phase(Return, "out"), rounds=1)
    found = ws.run(back, rows, engine="python", start=0, weight="length", source="source")
    assert found.frame["distance"].tolist() == [0.0, 2.0, 5.0]
    with_weight = rows.rename(columns={"length": "weight"})
    assert ws.run(back, with_weight, start=0, engine="python").frame.equals(found.frame)


# -------------------------------------------------------------------------------------- ws.check


@pytest.mark.parametrize("entry", COMPILED[:4], ids=str)
def test_check_passes(entry: Entry) -> None:
    report = ws.check(entry.program, graph("random"), **entry.given(9))
    assert report, report
    assert {
        "engine='cpu', plan=Plan()",
        "engine='cpu', plan=Plan(partitions=4, exchange='ms')",
    } <= {*report.configurations}
    assert report.supersteps == expected_of(ALL.index(entry), "random", None).supersteps


def test_check_samples_around_what_programs_name() -> None:
    edges = random_edges(60, 400, seed=3)
    back = ws.phases(Distance, ws.phase(Return, "out"), rounds=1)
    with graph_of(edges) as large:
        report = ws.check(back, large, start=41, max_edges=30)
    assert report, report
    assert report.sampled
    assert report.vertices < 60


@ws.vertex_program
class Hasty:
    """Says that messages may come in any order, but adds each one."""

    value: ws.int64
    combine = max
    asynchronous = True

    def init(vertex):
        return 0

    def compute(src):
        return src.value

    def apply(old, gathered):
        return old.value + gathered


def test_check_tries_what_each_phase_declares(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_Check, "configurations", lambda self: [])
    path = pd.DataFrame({"source": [9, 8, 3], "destination": [8, 3, 1]})
    phases = ws.phases(ws.phase(WholeValue, supersteps=1), ws.phase(Hasty, supersteps=2), rounds=2)
    report = ws.check(phases, path)
    found = next(one for one in report.differences if one.configuration == "asynchronous of Hasty")
    assert (found.superstep, found.vertex, found.field) == (1, "1", "value")


# ------------------------------------------------------------------------------------------ Dask


@pytest.fixture(scope="module")
def on_workers() -> Iterator[dict[str, Any]]:
    """Graphs on the workers of one cluster."""
    import dask.dataframe as dd

    with workers(2):
        graphs = {}
        for name in THOROUGH:
            edges = GRAPHS[name]
            columns = attributes_of(edges)
            rows = frame({"source": edges.source, "destination": edges.destination, **columns})
            graphs[name] = ws.Graph(
                dd.from_pandas(rows, npartitions=3, sort=False),
                weight="weight",
                attributes=[one for one in columns if one != "weight"],
                directed=edges.directed,
                vertices=vertex_frame(edges),
            )
        yield graphs


def check_on_workers(
    entry: Entry, name: str, limit: int | None, spread: Any, **options: Any
) -> Any:
    outcome, edges = expected_of(ALL.index(entry), name, limit), GRAPHS[name]
    given = entry.given(edges.n)
    found = ws.run(
        entry.program, spread, **planned(engine="python", max_iter=limit, **given, **options)
    )
    rows = found.frame.compute().sort_values("vertex")
    expected = shown(entry.program, outcome.states, edges.n)
    columns = {
        field: [None if pd.isna(value) else value for value in rows[field].tolist()]
        for field in expected
    }
    assert difference(columns, expected, entry.tolerance) is None, (str(entry), name, limit)
    assert found.converged == outcome.converged
    return found


@pytest.mark.parametrize("entry", PHASED, ids=str)
def test_workers(entry: Entry, on_workers: dict[str, Any]) -> None:
    for name, spread in on_workers.items():
        for limit in (2, None):
            found = check_on_workers(entry, name, limit, spread)
            if found.synchronous:
                names = expected_of(ALL.index(entry), name, limit).names
                assert found.trace["phase"].tolist() == names


def test_workers_resume(on_workers: dict[str, Any], tmp_path: Path) -> None:
    for entry in PHASED:
        path = tmp_path / f"{entry}.parquet"
        check_on_workers(entry, "random", 3, on_workers["random"], checkpoint=path)
        check_on_workers(entry, "random", None, on_workers["random"], resume=path)


def test_an_unknown_vertex_is_refused_before_workers_hear_of_it(on_workers: dict[str, Any]) -> None:
    back = next(entry for entry in PHASED if entry.name == "there and back")
    with pytest.raises(ws.InputError, match=r"start.*99"):
        ws.run(back.program, on_workers["random"], start=99)
