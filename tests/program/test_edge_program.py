"""Every edge program of the zoo means the same in every configuration: what the reference says."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import stand_in_cudf
import zoo_edges
from clusters import workers
from emulator.device import emulated
from plans import planned
from reference_edges import edges_of, run_pairs
from shapes import SHAPES, frame, random_edges, undirected, vertex_frame
from thread_ranks import over_links
from verify import Edges
from zoo import attributes_of, difference, graph_of, reference_graph, shown
from zoo_edges import EDGE_ZOO, EdgeEntry

import cugraph_ws as ws
from cugraph_ws.execution import edge_loop
from cugraph_ws.partition.build import build_shard
from cugraph_ws.partition.oriented import Oriented

pytestmark = pytest.mark.xdist_group("edge programs")

GRAPHS: dict[str, Edges] = {
    **{
        name: SHAPES[name]
        for name in ("empty", "one vertex", "all isolated", "one edge", "star", "two components",
                     "self-loops", "duplicates")
    },
    "random": random_edges(12, 40, seed=11),
    "random undirected": undirected(random_edges(10, 24, seed=13)),
    # Rows of which some are much longer than others
    "hub": undirected(
        Edges(
            np.concatenate([np.zeros(60, np.int64), np.arange(1, 40)]),
            np.concatenate([np.arange(1, 61), np.arange(2, 41)]),
            61,
            None,
        )
    ),
}  # fmt: skip
THOROUGH = ("random", "random undirected")


@cache
def graph(name: str) -> ws.Graph:
    return graph_of(GRAPHS[name])


def some_pairs(name: str) -> list[tuple[int, int]]:
    """Return pairs in no order: of neighbours, of others, of a vertex and itself."""
    n = GRAPHS[name].n
    ends = np.random.default_rng(n).integers(0, max(n, 1), (2, 25 if n else 0)).tolist()
    return list(zip(*ends, strict=True))


@cache
def expected_of(place: int, name: str, given: bool) -> dict[str, list[Any]]:
    entry, edges = EDGE_ZOO[place], GRAPHS[name]
    pairs = some_pairs(name) if given else None
    found = run_pairs(
        entry.program,
        reference_graph(edges),
        entry.given(edges.n),
        pairs=pairs,
        message=entry.message,
    )
    return shown(entry.program, found, edges.n)


def columns_of(result: ws.Result, program: Any) -> dict[str, list[Any]]:
    """Return a result's values, None for null."""
    rows = result.frame
    return {
        name: [
            None if declared.null is not None and pd.isna(one) else one
            for one in rows[name].tolist()
        ]
        for name, declared in program.state.items()
    }


def check(entry: EdgeEntry, name: str, given: bool, **options: Any) -> ws.Result:
    """Compare a run with the reference."""
    edges = GRAPHS[name]
    pairs = (
        some_pairs(name) if given else edges_of(reference_graph(edges), entry.program.neighbours)
    )
    named = {}
    if given:
        named["pairs"] = pd.DataFrame(pairs, columns=["first", "second"], dtype=np.int64)
    result = ws.run(
        entry.program, graph(name), **planned(**entry.given(edges.n), **named, **options)
    )
    rows = result.frame
    where = f"{entry} on {name}, {'pairs' if given else 'edges'}, {options}"
    assert list(rows) == ["first", "second", *entry.program.state], where
    assert list(zip(rows["first"].tolist(), rows["second"].tolist(), strict=True)) == pairs, where
    expected = expected_of(EDGE_ZOO.index(entry), name, given)
    tolerance = entry.tolerance
    wrong = difference(columns_of(result, entry.program), expected, tolerance)
    assert wrong is None, f"{where}: {wrong}"
    return result


PARTITIONS = [{"partitions": k} for k in (2, 3, 4)]


@pytest.mark.parametrize("entry", EDGE_ZOO, ids=str)
def test_plain_python(entry: EdgeEntry) -> None:
    turn = itertools.cycle(PARTITIONS)
    for name, given in itertools.product(GRAPHS, (False, True)):
        check(entry, name, given, engine="python")
        for options in PARTITIONS if name in THOROUGH else [next(turn)]:
            check(entry, name, given, engine="python", **options)


COMPILED = [entry for entry in EDGE_ZOO if entry.compiled]


@pytest.mark.parametrize("entry", COMPILED, ids=str)
def test_compiled(entry: EdgeEntry) -> None:
    turn = itertools.cycle(PARTITIONS)
    for name, given in itertools.product(GRAPHS, (False, True)):
        check(entry, name, given, engine="cpu")
        for options in PARTITIONS if name in THOROUGH else [next(turn)]:
            check(entry, name, given, engine="cpu", **options)


@pytest.mark.parametrize("entry", EDGE_ZOO, ids=str)
def test_emulated_gpu(entry: EdgeEntry) -> None:
    with emulated(seed=len(entry.program.name)):
        for name, given in itertools.product(("duplicates", "random"), (False, True)):
            check(entry, name, given, engine="cuda")
        check(entry, "random", True, engine="cuda", partitions=2)
        if entry.compiled:
            check(entry, "hub", False, engine="cuda")
            check(entry, "random undirected", False, engine="cuda", partitions=3)


@pytest.mark.parametrize("name", ["random", "random undirected"])
def test_on_a_mask(name: str) -> None:
    """Neighbourhoods of the whole graph, which are kept with it, are not those of the mask."""
    plain, n = reference_graph(GRAPHS[name]), GRAPHS[name].n
    rows = np.flatnonzero(plain.attributes["whole"] != 2).tolist()
    kept = replace(
        plain,
        edges=[plain.edges[row] for row in rows],
        attributes={key: column[rows] for key, column in plain.attributes.items()},
    )
    masked = graph(name).mask(lambda frame: frame["whole"] != 2)
    ways = itertools.cycle(
        [{"engine": "python"}, {"engine": "python", "partitions": 2}, {"engine": "cuda"}]
    )
    with emulated(seed=3):
        for entry, options in zip(EDGE_ZOO, ways, strict=False):
            ws.run(entry.program, graph(name), **planned(**entry.given(n), **options))
            found = ws.run(entry.program, masked, **planned(**entry.given(n), **options))
            values = run_pairs(entry.program, kept, entry.given(n), message=entry.message)
            expected = shown(entry.program, values, n)
            wrong = difference(columns_of(found, entry.program), expected, entry.tolerance)
            assert wrong is None, f"{entry}, {options}: {wrong}"


def test_the_zoo_says_what_its_programs_are() -> None:
    assert len({entry.program.name for entry in EDGE_ZOO}) == len(EDGE_ZOO) >= 15
    assert all(entry.program.doc for entry in EDGE_ZOO)
    counted = {entry.program.name for entry in EDGE_ZOO if entry.program.counts}
    assert counted == {"Triangles", "Jaccard", "CountedTimes", "CountedFlags", "Cited"}


def test_steps_are_bounded_and_resume(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A checkpoint of one engine is good for another, which makes other steps."""
    monkeypatch.setattr(edge_loop, "ARCS_A_STEP", 30)
    entry = next(one for one in EDGE_ZOO if one.program is zoo_edges.Jaccard)
    saved = tmp_path / "state.parquet"
    stopped = ws.run(
        entry.program, graph("random"), engine="python", checkpoint=saved, every=1,
        progress=lambda update: update.superstep < 3,
    )  # fmt: skip
    assert (stopped.stopped, stopped.iterations) == ("callback", 3)
    expected = expected_of(EDGE_ZOO.index(entry), "random", False)["coefficient"]
    some = stopped.frame["coefficient"].tolist()
    assert 0 < len(some) < len(expected)
    assert some == expected[: len(some)]
    for engine in ("python", "cpu"):
        done = ws.run(entry.program, graph("random"), engine=engine, resume=saved)
        assert done.frame["coefficient"].tolist() == expected
    check(entry, "random", False, engine="python", partitions=3)


def test_built_in_functions_agree() -> None:
    edges = random_edges(40, 160, seed=3)
    with graph_of(edges) as built:
        for given, pairs in (("edges", None), (some_frame(40), some_frame(40))):
            named = {} if pairs is None else {"pairs": pairs}
            for program, function, column in (
                (zoo_edges.Jaccard, ws.jaccard, "jaccard_coeff"),
                (zoo_edges.AdamicAdar, ws.adamic_adar, "adamic_adar_coeff"),
            ):
                mine = ws.run(program, built, **planned(**named)).frame
                theirs = function(built, given)
                assert mine[["first", "second"]].equals(theirs[["first", "second"]])
                values = mine[next(iter(program.state))]
                np.testing.assert_allclose(values.fillna(0), theirs[column], rtol=1e-12)


def some_frame(n: int) -> pd.DataFrame:
    ends = np.random.default_rng(n).integers(0, n, (2, 50))
    return pd.DataFrame({"first": ends[0], "second": ends[1]})


def test_frames_with_text_ids() -> None:
    named = pd.DataFrame({"a": ["x", "y", "x", "z"], "b": ["y", "z", "z", "w"]})
    result = ws.run(zoo_edges.Triangles, named, source="a", destination="b")
    assert result.frame.values.tolist() == [
        ["w", "z", 0], ["x", "y", 1], ["x", "z", 1], ["y", "z", 1]
    ]  # fmt: skip
    pairs = pd.DataFrame({"first": ["w"], "second": ["x"]})
    found = ws.run(zoo_edges.Triangles, named, source="a", destination="b", pairs=pairs).frame
    assert found.values.tolist() == [["w", "x", 1]]


# ---------------------------------------------------------------------------------------- Dask

ON_WORKERS = ("Jaccard", "InOrder", "OfEdges", "AnyChosen", "Several", "Cited")


@pytest.fixture(scope="module")
def on_workers() -> Iterator[ws.Graph]:
    """A graph on the workers of a cluster."""
    import dask.dataframe as dd

    edges = GRAPHS["random"]
    columns = attributes_of(edges)
    rows = frame({"source": edges.source, "destination": edges.destination, **columns})
    with workers(2):
        yield ws.Graph(
            dd.from_pandas(rows, npartitions=3, sort=False),
            weight="weight",
            attributes=[one for one in columns if one != "weight"],
            vertices=vertex_frame(edges),
        )


@pytest.mark.parametrize("name", ON_WORKERS)
def test_workers(name: str, on_workers: ws.Graph) -> None:
    import dask.dataframe as dd

    place = next(at for at, one in enumerate(EDGE_ZOO) if one.program.name == name)
    entry, n = EDGE_ZOO[place], GRAPHS["random"].n
    pairs = pd.DataFrame(some_pairs("random"), columns=["first", "second"])
    ends = edges_of(reference_graph(GRAPHS["random"]), entry.program.neighbours)
    for given in (None, pairs, dd.from_pandas(pairs, npartitions=2, sort=False)):
        named = {} if given is None else {"pairs": given}
        result = ws.run(
            entry.program, on_workers, **planned(engine="python", **entry.given(n), **named)
        )
        rows = result.frame.compute().reset_index(drop=True)
        wanted = some_pairs("random") if named else ends
        expected = expected_of(place, "random", bool(named))
        found = dict(zip(zip(rows["first"], rows["second"], strict=True), rows.index, strict=True))
        assert set(found) == set(wanted)
        for pair, *values in zip(wanted, *expected.values(), strict=True):
            row = rows.iloc[found[pair]]
            assert [row[field] for field in expected] == values, pair


def test_a_cluster_refuses_as_one_machine_does(on_workers: ws.Graph) -> None:
    with pytest.raises(ws.InputError, match="99 is not a vertex"):
        ws.run(
            zoo_edges.AnyChosen, on_workers, chosen=[99], engine="python"
        )  # the client asks first
    with pytest.raises(ws.InputError, match="checkpoint: on a cluster"):
        ws.run(zoo_edges.Triangles, on_workers, engine="python", checkpoint="state.parquet")


@pytest.mark.parametrize(
    "program", [zoo_edges.Triangles, zoo_edges.InOrder, zoo_edges.OfEdges, zoo_edges.AnyChosen,
                zoo_edges.Coupled, zoo_edges.Detour], ids=str
)  # fmt: skip
def test_shards_on_gpus(program: Any) -> None:
    """Of graphs that ranks have built on their GPUs."""
    edges = GRAPHS["random"]
    columns = {name: one for name, one in attributes_of(edges).items() if name in program.edges}
    rows = pd.DataFrame({"source": edges.source, "destination": edges.destination, **columns})
    entry = next(one for one in EDGE_ZOO if one.program is program)
    arguments = entry.given(edges.n)
    for directed in (True, False):

        def work(comm: Any) -> pd.DataFrame:
            own = stand_in_cudf.DataFrame(rows.iloc[comm.rank :: 2].reset_index(drop=True))
            shard = build_shard(
                comm, [(comm.rank, own)], attributes=list(columns), directed=directed  # noqa: B023
            )  # fmt: skip
            return (
                ws.run(program, shard, **planned(engine="cuda", **arguments))
                .frame.to_arrow()
                .to_pandas()
            )

        with emulated(seed=2), stand_in_cudf.installed():
            found = pd.concat(over_links(2, work), ignore_index=True)
        in_order = pd.concat([rows.iloc[rank::2] for rank in range(2)])
        expected = ws.run(
            program, in_order, **planned(directed=directed, engine="python", **arguments)
        ).frame
        pd.testing.assert_frame_equal(found, expected)


# ------------------------------------------------------------------------------------- ws.check


@pytest.mark.parametrize("program", [zoo_edges.Triangles, zoo_edges.OfEdges], ids=str)
def test_right_programs_pass_the_check(program: Any) -> None:
    report = ws.check(program, graph("random"))
    assert report, str(report)
    assert not report.sampled
    assert "engine='cpu', plan=Plan(partitions=4)" in report.configurations
    assert "engine='cpu', by pair" in report.configurations
    some = ws.check(program, graph("random"), max_edges=7, pairs=some_frame(12))
    assert some, str(some)
    assert some.sampled
    with pytest.raises(ws.InputError, match=r"max_iter=3: .* has no supersteps"):
        ws.check(program, graph("random"), max_iter=3)


def test_the_check_names_the_first_pair_that_differs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Counts of a kernel that forgets one triangle."""
    count = Oriented.common_neighbours

    def forgetful(oriented: Oriented, lister: Any) -> Any:
        counts, read = count(oriented, lister)
        return np.maximum(counts - 1, 0), read

    monkeypatch.setattr(Oriented, "common_neighbours", forgetful)
    report = ws.check(zoo_edges.Triangles, graph("random"))
    assert not report
    first = report.differences[0]
    assert (first.configuration, first.field) == ("engine='cpu'", "triangles")
    assert first.vertex == "0 – 2"  # the first edge of a triangle
    assert first.found == first.expected - 1
    assert "engine='cpu', by pair" not in {one.configuration for one in report.differences}


# ------------------------------------------------------------------------------------ refusals


def program_of(**members: Any) -> Any:
    """Make an edge program of Triangles with other members; None leaves one out."""
    own = {
        "triangles": ws.int64,
        "combine": sum,
        "common": one_each,
        "value": as_it_is,
        **members,
    }
    return ws.edge_program(
        type("Wrong", (), {name: one for name, one in own.items() if one is not None})
    )


def one_each() -> int:
    return 1


def own_weight(edge: Any) -> Any:
    return edge.weight


def as_it_is(common: Any) -> Any:
    return common


def asks_for_more(w: Any, edge: Any) -> Any:
    return 1


def reads_undeclared(w: Any) -> Any:
    return w.degree


def halved(common: Any) -> Any:
    return common / 2


@pytest.mark.parametrize(
    ("members", "words"),
    [
        ({"triangles": None}, "declares no value of a pair"),
        ({"common": None}, r"has no `common`; define common\(w, u, v, uw, vw, p\)"),
        ({"value": None}, r"has no `value`; define value\(u, v, edge, common, p\)"),
        ({"combine": None}, "has no `combine`"),
        ({"combine": ws.bitset(8)}, "which is for vertex programs"),
        ({"apply": as_it_is}, "Wrong.apply has no role in an edge program; known: common, value"),
        ({"common": asks_for_more}, "asks for `edge`; .* common has: w, u, v, uw, vw, p"),
        ({"common": reads_undeclared}, "`w.degree` is not declared; `w` has: none"),
        ({"first": ws.int64}, "Wrong.first: that name is taken"),
        ({"pairs": ws.parameter(ws.int64)}, "Wrong.pairs: that name is taken"),
        ({"before": ws.predecessor}, "an edge program has no predecessors"),
        ({"flow": ws.edge_state(ws.float64)}, "an edge program has no state on edges"),
        ({"weight": ws.edge(default=1.0)}, "has a default"),
        (
            {"weight": ws.edge(parallel="mean")},
            "parallel='mean' is not known; choose 'sum', 'min', 'max'",
        ),
        ({"neighbours": "both"}, "neighbours is 'both'; set it to 'any', 'out', 'in', 'through'"),
        ({"weight": ws.edge(ws.int64)}, "sums of edges are float64"),
        ({"other": ws.hidden(ws.int64)}, "is hidden"),
        ({"other": ws.like("weight"), "weight": ws.edge()}, "declare it as ws.float64"),
    ],
)
def test_wrong_programs_are_refused(members: dict[str, Any], words: str) -> None:
    with pytest.raises(ws.ProgramError, match=words):
        program_of(**members)


def test_there_is_no_first_of_edges_in_both_directions() -> None:
    program = program_of(weight=ws.edge(parallel="first"))
    with pytest.raises(ws.ProgramError, match=r'Wrong\.weight: edges .* neighbours = "out"'):
        ws.run(program, graph("duplicates"))
    rows = pd.DataFrame({"source": [0, 1, 1], "destination": [1, 2, 0], "weight": [4.0, 1.0, 3.0]})
    first = program_of(weight=ws.edge(parallel="first"), triangles=ws.float64, value=own_weight)
    assert ws.run(first, rows, directed=False).frame["triangles"].tolist() == [4.0, 1.0]


def test_a_value_that_does_not_fit_is_refused() -> None:
    with pytest.raises(ws.ProgramError, match=r"returns .* for `triangles`, which is int64"):
        ws.run(program_of(value=halved), graph("random"))


def test_wrong_arguments_are_refused() -> None:
    run, built = ws.run, graph("random")
    with pytest.raises(ws.InputError, match="has no supersteps; leave out max_iter"):
        run(zoo_edges.Triangles, built, max_iter=3)
    with pytest.raises(ws.InputError, match="pairs='edges': give a frame"):
        run(zoo_edges.Triangles, built, pairs="edges")
    with pytest.raises(ws.InputError, match="99 is not a vertex"):
        run(zoo_edges.Triangles, built, pairs=pd.DataFrame({"first": [1], "second": [99]}))
    with pytest.raises(ws.InputError, match="has no parameter 'start'"):
        run(zoo_edges.Triangles, built, start=1)
    with pytest.raises(ws.InputError, match="degree: Jaccard counts the neighbours"):
        run(zoo_edges.Jaccard, built, degree=3.0)
    with pytest.raises(ws.InputError, match="needs each="):
        run(zoo_edges.CountedTimes, built)
    with pytest.raises(ws.InputError, match="reads the edge attribute 'weight'"):
        run(zoo_edges.OfEdges, pd.DataFrame({"source": [0], "destination": [1]}))
    with pytest.raises(ws.InputError, match="checkpoint: with partitions"):
        run(zoo_edges.Triangles, built, plan=ws.Plan(partitions=2), checkpoint="state.parquet")
    with pytest.raises(
        ws.ProgramError, match=r"ws\.neighbour_count is a constant of edge programs"
    ):
        ws.vertex_program(
            type("Wrong", (), {"x": ws.int64, "n": ws.neighbour_count, **VERTEX_FUNCTIONS})
        )


def from_none(vertex: Any) -> Any:
    return vertex


def of_source(src: Any) -> Any:
    return src.x


def taken(gathered: Any) -> Any:
    return gathered


VERTEX_FUNCTIONS = {"init": from_none, "compute": of_source, "combine": min, "apply": taken}
