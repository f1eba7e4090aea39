"""Estimates of memory: against the memory of builds, and refusals if there is too little."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import zoo
from conftest import COMPILED
from verify import Edges

import cugraph_ws as ws
from bench.cpu import estimates
from cugraph_ws.algorithms import rows_of_runs
from cugraph_ws.errors import GraphMemoryError, InputError
from cugraph_ws.execution.run_memory import sizes_of
from cugraph_ws.execution.vertex_loop import VertexLoop
from cugraph_ws.graph import interning
from cugraph_ws.graph.estimates import estimate_memory
from cugraph_ws.graph.footprints import IdShape, estimate_build
from cugraph_ws.graph.interning import count_distinct
from cugraph_ws.runtime.memory import format_bytes

# --- what builds take -----------------------------------------------------------------------


@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="peaks are Linux's")
@pytest.mark.parametrize(
    "kind",
    ["int32", "int64", "sparse", "random", "text", "pairs", "text and integers", "pandas"],
)
def test_peaks_of_new_processes_are_as_estimated(kind):
    """Each kind in a new process, directed and not, weighted and not: 18 shapes of 1 to 4 M edges.

    Hashed ids alone take no more than 2.5 times the CSC, and up to 2.7 where the kernel rounds arrays to its
    pages of several sizes: integers of any degree, short text from 8 edges an id on.

    Allocators and pages of code blur what is measured by up to a mebibyte, of 14 and more.  How much threads
    hold at one moment depends on how the machine schedules them: what is off is measured again, twice.
    """

    def limit(row):
        alone = kind in ("random", "text") and row["directed"] and not row["weighted"]
        return 2.7 * (row["csc"] if alone else row["kept"]) + (1 << 20)

    def is_low(row):
        return row["taken"] > 30e6 and row["told"] < 0.95 * row["taken"]

    def is_off(row):
        far = row["taken"] != pytest.approx(row["told"], rel=0.25)
        return row["taken"] > limit(row) or far or is_low(row)

    for _ in range(3):
        rows = estimates.measure(kind)
        if not any(map(is_off, rows)):
            break
    for row in rows:
        assert row["taken"] == pytest.approx(row["told"], rel=0.25), row
        assert not is_low(row), row
        assert row["taken"] <= limit(row), row


def frames():
    """Frames of every kind of ids, and the columns that their ends are in."""
    rng = np.random.default_rng(0)
    ends = rng.integers(0, 3000, (2, 40_000))
    text = [[f"vertex {one}" for one in end] for end in ends.tolist()]
    one = (["source"], ["destination"])
    two = (["source", "s"], ["destination", "d"])
    yield pytest.param(pd.DataFrame({"source": ends[0].astype("int32"), "destination": ends[1].astype("int32")}), *one, id="int32")  # fmt: skip
    yield pytest.param(pd.DataFrame(ends.T, columns=["source", "destination"]), *one, id="strided")
    yield pytest.param(pl.DataFrame({"source": 5 * ends[0], "destination": 5 * ends[1]}), *one, id="sparse")  # fmt: skip
    yield pytest.param(pa.table({"source": ends[0] * 10**14, "destination": ends[1] * 10**14}), *one, id="random")  # fmt: skip
    yield pytest.param(pa.table({"source": text[0], "destination": text[1]}), *one, id="text")
    yield pytest.param(pd.DataFrame({"source": pd.Categorical(text[0]), "destination": pd.Categorical(text[1])}), *one, id="categories")  # fmt: skip
    yield pytest.param(pa.table({"source": ends[0] // 60, "destination": ends[1] // 60, "s": ends[0] % 60, "d": ends[1] % 60}), *two, id="pairs")  # fmt: skip
    yield pytest.param(pa.table({"source": text[0], "destination": text[1], "s": ends[0] * 10**14, "d": ends[1] * 10**14}), *two, id="text and integers")  # fmt: skip


@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize(("frame", "source", "destination"), list(frames()))
def test_kept_memory_is_as_estimated(frame, source, destination, directed):
    told = estimate_memory(frame, source=source, destination=destination, directed=directed)
    graph = ws.Graph(frame, source, destination, directed=directed)
    assert told.csc == pytest.approx(graph.csc.nbytes, rel=0.03)
    assert told.numbering == pytest.approx(graph._vertices.numbering.nbytes, rel=0.05)
    assert told.csc + told.numbering <= told.peak


def test_columns_are_counted_as_they_are_stored():
    ids = np.arange(1000, dtype=np.int32) % 10
    frame = pd.DataFrame({"a": ids, "b": ids, "w": np.ones(1000, np.float32), "n": ids})
    told = estimate_memory(frame, source="a", destination="b", weight="w", attributes="n")
    assert told.input == 16_000
    assert told.values == 12_000
    assert told.csc == 4000 + 88
    plain = estimate_memory(frame, source="a", destination="b", weighted=True, attributes=1)
    assert plain.values == 16_000
    with pytest.raises(
        InputError, match=r"source='A': edges has no such column; its columns are 'a'"
    ):
        estimate_memory(frame, source="A", destination="b")


def test_weights_that_a_program_reads_as_floats_are_copied_and_counted():
    sizes = {"number_of_edges": 1_000_000, "number_of_vertices": 1000}

    def told(weighted, program="katz_centrality", **more):
        return estimate_memory(**sizes, weighted=weighted, program=program, **more)

    assert told("float64") == told(True)
    assert told("int64").run - told(True).run == 8_000_000
    assert told("int64", "sssp").run == told(True, "sssp").run  # which keeps integers
    assert told("float32").values == 4_000_000
    assert told("int64", engine="cuda").run == told(True, engine="cuda").run
    with pytest.raises(InputError, match="weighted='int32': choose one of 'int64', 'float32'"):
        told("int32")


def test_integer_weights_of_a_frame_or_a_graph_are_counted_too():
    rng = np.random.default_rng(2)
    ends = rng.integers(0, 1000, (2, 200_000))
    frame = pd.DataFrame(
        {"source": ends[0], "destination": ends[1], "weight": rng.integers(1, 9, 200_000)}
    )
    as_floats = frame.assign(weight=frame.weight.astype(float))
    of_integers, of_floats = (
        estimate_memory(edges, program="katz_centrality").run for edges in (frame, as_floats)
    )
    assert of_integers - of_floats == 8 * len(frame)
    integers, floats = (
        rows_of_runs.loop_of("katz_centrality", 1).memory(sizes_of(ws.Graph(edges)))
        for edges in (frame, as_floats)
    )
    assert integers - floats == 8 * len(frame)


def test_a_frame_without_the_usual_columns_is_read_for_its_rows():
    frame = pd.DataFrame({"from": [1] * 1000, "to": [2] * 1000})
    assert estimate_memory(frame) == estimate_memory(number_of_edges=1000)


def test_hashed_ids_and_text_without_a_frame():
    dense, hashed, text = (
        estimate_memory(number_of_edges=10**6, number_of_vertices=10**5, **options)
        for options in ({}, {"dense": False}, {"text_bytes": 36})
    )
    assert dense.csc == hashed.csc == text.csc
    assert (dense.numbering, hashed.numbering, text.numbering) == (0, 800_000, 4_400_000)
    assert dense.peak < hashed.peak < text.peak
    assert dense.input == hashed.input == 16 * 10**6
    with pytest.raises(InputError, match=r"text_bytes=-1 must be a number, 0 or more"):
        estimate_memory(number_of_edges=1, text_bytes=-1)
    with pytest.raises(InputError, match=r"text_bytes=1e\+308 must be below 2\*\*31"):
        estimate_memory(number_of_edges=1, text_bytes=1e308)


@pytest.mark.parametrize("places", [24, 13])
@pytest.mark.parametrize("distinct", [0, 1, 100, 20_000, 60_000])
def test_distinct_values_are_counted_roughly(monkeypatch, places, distinct):
    monkeypatch.setattr(interning, "_MOST_PLACES", places)
    rows = np.arange(60_000) % max(1, distinct)
    rows = rows[: 60_000 * bool(distinct)]
    margin = 0.02 if places == 24 else 0.15
    for ids in (rows * 10**12, pa.chunked_array([pa.array([f"v{one}" for one in rows])])):
        assert count_distinct([ids]) == pytest.approx(
            distinct, rel=margin, abs=distinct < 200 and 60
        )
    codes = pa.chunked_array([pa.array(rows.astype(str)).dictionary_encode()])
    pairs = count_distinct([rows // 300], [codes])
    assert pairs == pytest.approx(distinct, rel=margin, abs=distinct < 200 and 60)


@pytest.mark.parametrize("both", [True, False])
@pytest.mark.parametrize("degree", [1, 8, 64])
@pytest.mark.parametrize(
    "ids",
    [
        lambda n: [IdShape("integers", n)],
        lambda n: [IdShape("text", n, 44)],
        lambda n: [IdShape("integers", n // 10 + 1), IdShape("dense", 50, 0, 50)],
        lambda n: [IdShape("text", n // 10 + 1, 20), IdShape("integers", n // 10 + 1)],
    ],
)
def test_hashed_ids_take_at_most_two_and_a_half_times_what_is_kept(ids, degree, both):
    edges = 10**8
    told = estimate_build(edges, edges // degree, ids(edges // degree), both=both)
    assert told.peak <= 2.5 * (told.adjacency + told.ids)


@pytest.mark.parametrize(
    ("text", "degrees"), [(None, [0.5, 0.8, 1, 2, 4, 8, 64]), (9, [8, 16, 64])]
)
def test_hashed_ids_take_at_most_two_and_a_half_times_the_csc(text, degrees):
    edges = 10**8
    for degree in degrees:
        n = int(edges / degree)
        ids = IdShape("integers", n) if text is None else IdShape("text", n, 8 + text)
        told = estimate_build(edges, n, [ids], both=False)
        assert told.peak <= 2.5 * told.adjacency, degree


# --- limits ---------------------------------------------------------------------------------


def random_edges(rows=400_000, vertices=100_000):
    rng = np.random.default_rng(1)
    names = rng.integers(-(2**62), 2**62, vertices)
    ends = names[rng.integers(0, vertices, (2, rows))]
    return pd.DataFrame({"source": ends[0], "destination": ends[1]})


def test_hashed_ids_are_refused_where_they_do_not_fit_and_built_where_they_do(monkeypatch):
    frame = random_edges()
    told = estimate_memory(frame)
    monkeypatch.setenv("CUGRAPH_WS_MEMORY_LIMIT", str(round(0.9 * told.peak)))
    with pytest.raises(GraphMemoryError, match=r"the graph needs .* MiB while it is built"):
        ws.Graph(frame)
    monkeypatch.setenv("CUGRAPH_WS_MEMORY_LIMIT", str(round(1.1 * told.peak)))
    assert ws.Graph(frame).csc.number_of_arcs == len(frame)


@pytest.mark.parametrize("text", [False, True])
def test_hashing_stops_as_soon_as_the_ids_so_far_are_too_many(monkeypatch, text):
    """Not only when all of them have been found."""
    frame = random_edges(vertices=400_000)
    if text:
        frame = frame.astype(str)
    monkeypatch.setenv("CUGRAPH_WS_MEMORY_LIMIT", "5000000")
    rows = []
    write = interning.IntegerCoder.write if not text else interning.TextCoder.write

    def noted(self, which, low, codes):
        rows.append(len(codes))
        return write(self, which, low, codes)

    monkeypatch.setattr(interning.TextCoder if text else interning.IntegerCoder, "write", noted)
    with pytest.raises(GraphMemoryError, match=r"and 4\.8 MiB are available"):
        ws.Graph(frame)
    assert sum(rows) < len(frame)


# --- runs -----------------------------------------------------------------------------------

NEW = ["WeighedCommunities", "InOrder", "Draining", "Hooking", "LightestOfTree"]


@pytest.mark.skipif(not COMPILED, reason="plain Python's lists are not those of compiled code")
@pytest.mark.parametrize("name", NEW)
def test_lists_state_of_edges_and_jumps_are_estimated(name):
    """Of a graph with a hub, which has most of the edges."""
    program, n = getattr(zoo, name), 20_000
    rng = np.random.default_rng(2)
    ends = rng.integers(0, n, (2, 400_000))
    ends[1, :300_000] = 7
    edges = Edges(ends[0], ends[1], n)
    rows = pd.DataFrame({"source": ends[0], "destination": ends[1]})
    told = estimate_memory(rows, number_of_vertices=n, program=program)
    assert f"run {format_bytes(told.run)} beside the graph" in str(told)
    graph = zoo.graph_of(edges)
    graph.csc  # noqa: B018 - reading it builds it
    for measured in (False, True):
        if measured:
            tracemalloc.start()
        try:
            before = tracemalloc.get_traced_memory()[0]
            result = ws.run(program, graph, max_iter=2)
            held = [result.frame, result.edges if program.edge_state else None]
            taken = tracemalloc.get_traced_memory()[1] - before
        finally:
            tracemalloc.stop()
        assert len(held[0]) == n
    assert 0.75 * taken <= told.run <= 1.25 * taken


@ws.vertex_program
class OneField:
    """A sum, of one field as WeighedCommunities has."""

    x: ws.float64
    combine = sum

    def init(vertex):
        return vertex

    def compute(src):
        return src.x

    def apply(gathered):
        return gathered


def test_the_longest_row_of_any_ids():
    program = zoo.WeighedCommunities
    some = pd.DataFrame({"source": [1, 2, 3, 4], "destination": [5, 5, 5, 1]})
    text = some.map(lambda one: f"v{one}")
    pairs = pd.DataFrame({"a": [1, 1, 1], "b": [2, 3, 3], "c": [5, 5, 5], "d": [6, 6, 7]})
    two = {"source": ["a", "b"], "destination": ["c", "d"]}
    for edges, options, longest, slots in (
        (some, {}, 3, 9), (text, {}, 3, 9), (text.astype("category"), {}, 3, 9), (pairs, two, 2, 5),
        (some, {"directed": False}, 3, 9), (some[:0], {}, 0, 0),
    ):  # fmt: skip
        with_lists = estimate_memory(edges, number_of_vertices=9, program=program, **options).run
        with_sums = estimate_memory(edges, number_of_vertices=9, program=OneField, **options).run
        assert with_lists - with_sums == 16 * (longest + slots)


def test_a_run_that_does_not_fit_is_refused_before_it_starts(monkeypatch):
    frame = pd.DataFrame({"source": np.arange(10_000), "destination": np.arange(10_000) // 2})
    graph = ws.Graph(frame)
    needed = estimate_memory(frame, number_of_vertices=10_000, program=ws.BFS).run
    monkeypatch.setattr(VertexLoop, "start", None)
    monkeypatch.setenv("CUGRAPH_WS_MEMORY_LIMIT", str(needed - 1000))
    with pytest.raises(GraphMemoryError, match=r"BFS needs .* KiB beside the graph and"):
        ws.bfs(graph, 0)
    monkeypatch.undo()
    monkeypatch.setenv("CUGRAPH_WS_MEMORY_LIMIT", str(needed + 1000))
    assert len(ws.bfs(graph, 0)) == 10_000


def test_algorithms_with_loops_are_estimated_too(monkeypatch):
    frame = pd.DataFrame({"source": [0, 1], "destination": [1, 2]})
    monkeypatch.setenv("CUGRAPH_WS_MEMORY_LIMIT", "30")
    graph = None
    with pytest.raises(GraphMemoryError):
        graph = ws.Graph(frame)
    assert graph is None
    monkeypatch.delenv("CUGRAPH_WS_MEMORY_LIMIT")
    graph = ws.Graph(frame)
    monkeypatch.setenv("CUGRAPH_WS_MEMORY_LIMIT", "30")
    for run in (ws.weakly_connected_components, ws.core_number):
        with pytest.raises(GraphMemoryError, match=r"needs .* B beside the graph and 30 B are"):
            run(graph)
