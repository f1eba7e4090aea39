"""`run_groups` gives each group the answer of a call on it alone, whether all are computed at once or not."""

from __future__ import annotations

import logging
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import stand_in_cudf
from emulator.device import emulated
from grouped import SIZES, alone, groups, ran
from shapes import FRAME_KINDS
from shapes import frame as frame_of_kind

import cugraph_ws as ws
from cugraph_ws.algorithms.registry import ALGORITHMS

AT_ONCE = "all groups at once"
EXAMPLES: dict[str, dict[str, Any]] = {  # arguments that every group can take
    **{name: {"start": 0} for name in ("bfs", "sssp", "widest_path")},
    "k_truss": {"k": 3},
    "label_propagation": {"weight": None, "max_iter": 4},
    "pagerank": {"tol": 1e-3},
}
# What a function computes for all groups at once only if it is called in some way
LEFT_TO_TURNS = [
    (ws.coloring, {"seed": 1}),
    (ws.label_propagation, {"seed": 1}),
    (ws.label_propagation, {}),
    (ws.degree, {"vertices": [0, 1]}),
    (ws.pagerank, {"personalization": {0: 1.0}}),
    (ws.pagerank, {"plan": ws.Plan(direction="gather")}),
    (ws.weakly_connected_components, {"sources": None}),
]


@pytest.mark.filterwarnings("ignore::cugraph_ws.GraphWarning")
@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("name", [name for name in ALGORITHMS if ALGORITHMS[name].by_group])
def test_what_is_declared_to_be_right_for_all_at_once_is(
    name: str, directed: bool, caplog: pytest.LogCaptureFixture
) -> None:
    function, arguments = getattr(ws, name), {**EXAMPLES.get(name, {}), "directed": directed}
    caplog.set_level(logging.INFO, "cugraph_ws")
    for seed in range(2):
        edges = groups(seed, acyclic=name == "topological_levels")
        if name == "topological_levels":
            arguments["directed"] = True
        together = ws.run_groups(function, edges, "group", **arguments)
        assert AT_ONCE in caplog.text
        if name == "pagerank":
            arguments["plan"] = ws.Plan(extrapolate="never")
        expected = alone(function, edges, ["group"], **arguments)
        arguments.pop("plan", None)
        assert len(together)
        pd.testing.assert_frame_equal(together, expected, rtol=1e-12)


@pytest.mark.parametrize(("function", "arguments"), LEFT_TO_TURNS)
def test_what_is_not_right_for_all_at_once_is_computed_in_turn(
    function: Any, arguments: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "cugraph_ws")
    edges = groups(3)
    result = ws.run_groups(function, edges, "group", **arguments)
    assert AT_ONCE not in caplog.text
    pd.testing.assert_frame_equal(result, alone(function, edges, ["group"], **arguments))


def test_numbers_and_several_results_are_frames() -> None:
    edges = groups(1)
    density = ws.run_groups(ws.density, edges, "group")
    assert density.columns.tolist() == ["group", "density"]
    assert density.density.tolist() == [
        ws.density(rows.drop(columns="group")) for _, rows in edges.groupby("group")
    ]
    communities, modularity = ws.run_groups(
        ws.louvain, groups(1, acyclic=True), "group", weight=None
    )
    assert communities.columns.tolist() == ["group", "vertex", "partition"]
    assert modularity.columns.tolist() == ["group", "modularity"]
    assert modularity.group.tolist() == sorted(SIZES)

    def heaviest(rows: pd.DataFrame, *, least: float) -> pd.DataFrame:
        return rows.loc[rows.weight >= least, ["source", "destination"]]

    chosen = ws.run_groups(heaviest, edges, "group", least=1.0)
    assert len(chosen) == (edges.weight >= 1.0).sum()
    assert len(ws.run_groups(heaviest, edges, "group", least=9.0)) == 0


# ---------------------------------------------------------------------------------- programs


@pytest.mark.parametrize("program", [ws.SSSP, ws.Heat])
def test_a_program_gets_its_columns_and_weights(program: Any) -> None:
    edges = groups(5).rename(columns={"source": "x", "destination": "y", "weight": "w"})
    given: dict[str, Any] = {"start": 0}
    if program is ws.Heat:
        edges, given = edges.assign(w=edges.w / 64), {"temperature": 1.0, "max_iter": 3}
    columns = {"source": "x", "destination": "y", "weight": "w", "directed": False}
    result = ws.run_groups(program, edges, "group", engine="python", **columns, **given)
    named = edges.rename(columns={"x": "source", "y": "destination", "w": "weight"})
    pd.testing.assert_frame_equal(result, ran(program, named, directed=False, **given))


# ------------------------------------------------------------------------------- kinds of frames


@pytest.mark.parametrize("kind", FRAME_KINDS)
@pytest.mark.parametrize("function", [ws.weakly_connected_components, ws.hits])
def test_results_are_frames_of_the_same_kind(kind: str, function: Any) -> None:
    edges = groups(2)
    columns = {name: edges[name].to_numpy() for name in ("source", "destination")}
    names = edges.group.tolist()
    wanted = ws.run_groups(function, edges, "group", weight=None)
    native = frame_of_kind({"group": names, **columns}, kind)
    result = ws.run_groups(function, native, "group")
    assert type(result) is type(native)
    columns = result.column_names if isinstance(result, pa.Table) else list(result.columns)
    assert columns == wanted.columns.tolist()
    for name in columns:
        values = (
            result[name].to_pylist() if isinstance(result, pa.Table) else result[name].to_list()
        )
        assert values == wanted[name].tolist()


def test_groups_and_ids_may_have_several_columns_and_be_text() -> None:
    edges = groups(4).rename(columns={"group": "land"})
    edges["year"] = 2000 + edges.index % 2
    for end in ("source", "destination"):
        edges[end] = "v" + edges[end].astype(str)
        edges[f"{end}_part"] = edges[end].str.len()
    by, ends = ["land", "year"], [["source", "source_part"], ["destination", "destination_part"]]
    for function in (ws.weakly_connected_components, ws.core_number, ws.bridges, ws.hits):
        arguments = {"source": ends[0], "destination": ends[1]}
        result = ws.run_groups(function, edges, by, **arguments)
        expected = alone(function, edges, by, **arguments)
        assert expected.columns[:2].tolist() == by
        pd.testing.assert_frame_equal(result, expected)


@pytest.mark.parametrize("function", [ws.core_number, ws.density])
def test_columns_may_have_numbers_for_names_and_frames_may_be_lazy(function: Any) -> None:
    edges = groups(4)[["group", "source", "destination"]]
    wanted = ws.run_groups(function, edges, "group")
    numbered = edges.set_axis([0, 1, 2], axis=1)
    result = ws.run_groups(function, numbered, 0, source=1, destination=2)
    pd.testing.assert_frame_equal(result.rename(columns={0: "group"}), wanted)
    lazy = ws.run_groups(function, pl.from_pandas(edges).lazy(), "group")
    assert lazy.to_dict(as_series=False) == wanted.to_dict("list")


def test_groups_may_be_categories_and_times() -> None:
    edges = groups(6, shuffled=False)
    for names in (
        edges.group.astype("category"),
        pd.to_datetime("2024-01-01") + pd.to_timedelta(edges.group.map(ord), "D"),
    ):
        changed = edges.assign(group=names)
        for function in (ws.triangle_count, ws.density):
            result = ws.run_groups(function, changed, "group")
            assert result.group.dtype == names.dtype
            assert result.group.drop_duplicates().tolist() == sorted(set(names))


@pytest.mark.parametrize("function", [ws.weakly_connected_components, ws.density])
def test_an_emulated_gpu_gives_the_same(function: Any) -> None:
    edges = groups(7, shuffled=False)[["group", "source", "destination", "weight"]]
    edges = edges.assign(group=edges.group.map(ord))
    options = {} if function is ws.density else {"engine": "cpu"}
    wanted = ws.run_groups(function, edges, "group", **options)
    with emulated(), stand_in_cudf.installed():
        result = ws.run_groups(function, stand_in_cudf.DataFrame(edges), "group")
        assert isinstance(result, stand_in_cudf.DataFrame)
        pd.testing.assert_frame_equal(pd.DataFrame(result), wanted, rtol=1e-12)


# ------------------------------------------------------------------------- starts


def test_a_start_is_looked_up_in_every_group_or_given_for_each() -> None:
    edges = groups(8)
    of_all = ws.run_groups(ws.bfs, edges, "group", start=[0, 2])
    pd.testing.assert_frame_equal(of_all, alone(ws.bfs, edges, ["group"], start=[0, 2]))
    starts = pd.DataFrame({"vertex": [8, 1, 2], "group": ["c", "a", "a"]})
    of_some = ws.run_groups(ws.bfs, edges, "group", start=starts)
    assert of_some[of_some.distance.eq(0)][["group", "vertex"]].to_numpy().tolist() == [
        ["a", 1], ["a", 2], ["c", 8],
    ]  # fmt: skip
    assert set(of_some[of_some.distance.isna()].group) >= {"b", "d"}
    with emulated(), stand_in_cudf.installed():
        numbered = edges.assign(group=edges.group.map(ord))
        result = ws.run_groups(ws.bfs, stand_in_cudf.DataFrame(numbered), "group", start=0)
        assert result.vertex[result.distance.eq(0)].to_numpy().tolist() == [0] * len(SIZES)


# --------------------------------------------------------------------------------------- errors

EDGES = pd.DataFrame({"g": [1, 1, 2], "source": [0, 1, 5], "destination": [1, 2, 6]})


@pytest.mark.parametrize(
    ("program", "changes", "arguments", "said"),
    [
        (ws.bfs, {}, {"by": "h", "start": 0}, r"by='h': edges has no such column; its columns are 'g'"),
        (ws.bfs, {"g": [1, None, 2]}, {"start": 0}, r"column 'g' \(by\): row 1 has no id"),
        (ws.bfs, {"g": ["x", None, "y"]}, {"start": 0}, r"column 'g' \(by\): row 1 is null; drop"),
        (ws.bfs, {"g": [0.5, 1.5, 2.5]}, {"start": 0}, r"column 'g' \(by\) holds double"),
        (ws.bfs, {}, {"start": 1}, r"start: 1 is not a vertex of the group 2; give a frame with"),
        (ws.bfs, {}, {"start": pd.DataFrame({"g": [3], "vertex": [0]})}, r"start: \(3, 0\) is not a"),
        (ws.bfs, {}, {"by": "source", "start": 0}, r"by='source' names a column of vertices too"),
        (ws.bfs, {}, {"by": ["g", "g"], "start": 0}, r"by=\['g', 'g'\] names 'g' twice"),
        (ws.bfs, {}, {"by": [], "start": 0}, r"by=\[\]: name at least one column"),
        (ws.bfs, {"vertex": [1, 1, 2]}, {"by": "vertex", "start": 0}, r"rename it in the frame"),
        (ws.bfs, {}, {"start": 0, "checkpoint": "x"}, r"checkpoint=: runs on groups have no"),
        (ws.bfs, {}, {"start": 0, "speed": 1}, r"bfs.* speed"),
        (ws.core_number, {"core_number": [1, 1, 2]}, {"by": "core_number"}, r"overwrite"),
        (ws.hits, {"hubs": [1, 1, 2]}, {"by": "hubs"}, r"by='hubs' names a column of the result"),
        (ws.hits, {}, {"nstart": pd.DataFrame({"g": [3], "vertex": [0], "x": [1]})}, r"group g=3, which has no edges"),
        ("bfs", {}, {}, r"program='bfs' is neither a function nor a program"),
        (int, {}, {}, r"neither a function nor a program"),
    ],
)  # fmt: skip
def test_errors_name_the_value_and_the_remedy(
    program: Any, changes: dict[str, Any], arguments: dict[str, Any], said: str
) -> None:
    with pytest.raises(ws.InputError, match=said):
        ws.run_groups(program, EDGES.assign(**changes), **{"by": "g", **arguments})


def test_graphs_and_dask_frames_are_refused() -> None:
    with (
        ws.Graph(EDGES) as graph,
        pytest.raises(ws.InputError, match="give the frame of its edges"),
    ):
        ws.run_groups(ws.core_number, graph, "g")
    dask = pytest.importorskip("dask.dataframe")
    with pytest.raises(ws.InputError, match=r"compute\(\) it"):
        ws.run_groups(ws.core_number, dask.from_pandas(EDGES, npartitions=2), "g")


def test_an_error_within_a_group_names_it() -> None:
    with pytest.raises(ws.InputError) as caught:
        ws.run_groups(ws.diameter, EDGES.assign(source=[0, 5, 5]), "g", directed=False)
    assert caught.value.__notes__ == ["in the group g=1"]
    with pytest.raises(ws.InputError) as caught:
        ws.run_groups(ws.diameter, EDGES[:0], "g")
    assert not hasattr(caught.value, "__notes__")


def test_a_group_is_no_weight() -> None:
    edges = EDGES.rename(columns={"g": "weight"})
    result = ws.run_groups(
        ws.sssp,
        edges,
        "weight",
        start=EDGES[["source"]][::2].assign(weight=[1, 2]).rename(columns={"source": "vertex"}),
    )
    assert result.distance.tolist() == [0, 1, 2, 0, 1]


def test_frames_have_it_as_a_method() -> None:
    edges = groups(2)
    wanted = ws.run_groups(ws.core_number, edges, by="group")
    pd.testing.assert_frame_equal(edges.ws.run_groups(ws.core_number, by="group"), wanted)


def test_no_rows_are_no_groups() -> None:
    for function in (ws.core_number, ws.pagerank, ws.hits):
        result = ws.run_groups(function, EDGES[:0], "g")
        assert len(result) == 0
        assert result.columns[:2].tolist() == ["g", "vertex"]
