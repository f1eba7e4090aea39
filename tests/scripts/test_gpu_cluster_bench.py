"""The benchmark of several GPUs, without one: partitions of edges, weights, comparisons, figures."""

from __future__ import annotations

import contextlib
import os
import sys
import types
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from ci_scripts import numpy_as_cupy, of

NAME, N, M = "RM14", 1 << 14, 1 << 18


@pytest.fixture
def arrays(monkeypatch):
    """NumPy in CuPy's place, and pandas in cuDF's."""
    monkeypatch.setitem(sys.modules, "cupy", numpy_as_cupy())
    monkeypatch.setitem(sys.modules, "cudf", pd)


@pytest.mark.usefixtures("arrays")
class TestPartitions:
    @pytest.mark.parametrize("places", [1, 3, 8])
    def test_all_edges_are_drawn(self, places):
        draw = of("cluster.partitions").draw_part
        parts = [draw(NAME, place, places) for place in range(places)]
        assert sum(len(source) for source, _ in parts) == M
        for source, destination in parts:
            assert source.dtype == destination.dtype == np.int32
            assert max(source.max(), destination.max()) < N
        assert len({source[:50].tobytes() for source, _ in parts}) == places

    def test_partitions_are_drawn_the_same_on_any_worker(self):
        several = of("cluster.partitions")
        frame = several.frame_of_part(NAME, 1, 4, "lengths")
        case = several.GatheredCase(NAME, 4)
        own = slice(M // 4, M // 2)
        np.testing.assert_array_equal(frame["source"], case.source[own])
        np.testing.assert_array_equal(frame["destination"], case.destination[own])
        np.testing.assert_array_equal(frame["weight"], case.weights("lengths")[own])

    def test_graphs_that_are_not_drawn_edge_by_edge_are_cut(self, monkeypatch):
        several, graphs = of("cluster.partitions"), of("graphs")
        monkeypatch.setitem(graphs.GENERATED, "road-like", (400, lambda: graphs.grid(20, 0.28)))
        whole = graphs.grid(20, 0.28)
        parts = [several.draw_part("road-like", place, 3) for place in range(3)]
        for end, expected in enumerate(whole):
            np.testing.assert_array_equal(np.concatenate([part[end] for part in parts]), expected)
        share = several.edge_weights("coefficients", "road-like", *whole)
        assert np.bincount(whole[1], share).max() == pytest.approx(0.9)

    def test_weights(self):
        case = of("cluster.partitions").GatheredCase(NAME, 2)
        lengths = case.weights("lengths")
        assert lengths.dtype == np.float32
        assert set(np.unique(lengths)) == set(range(1, 64))
        share = case.weights("coefficients")
        assert share.dtype == np.float32
        assert share.min() > 0.0
        assert np.bincount(case.destination, share).max() <= 0.9
        signed = case.weights("synapses")
        assert signed.min() < 0.0 < signed.max()
        assert np.bincount(case.destination, np.abs(signed)).max() <= 0.9

    def test_first_values_do_not_depend_on_partitions(self):
        values_of = of("cluster.partitions").values_of
        frame = pd.DataFrame({"vertex": np.arange(5, 300, 3, np.int32), "x": 0.0})
        whole = values_of(frame, 7)
        parts = [values_of(one, 7) for one in (frame[:40], frame[40:])]
        pd.testing.assert_frame_equal(pd.concat(parts, ignore_index=True), whole)
        assert (whole["vertex"] % 7 == 0).all()
        assert whole["value"].between(0.0, 1.0, inclusive="right").all()


@pytest.mark.usefixtures("arrays")
class TestDigests:
    @pytest.fixture
    def frame(self):
        values = [1.0, np.inf, -3.0, 4.0]
        ids = np.array([3, 1, 96, 98], np.int32)
        hops = pd.array([1, None, 2, 3], "Int32")
        return pd.DataFrame({"vertex": ids, "x": values, "hops": hops})

    def test_sums(self, frame):
        often = [4, 2, 97, 2]  # ids modulo 97, and once more
        assert of("cluster.partitions").digest(frame) == [
            4, 3, 8, 4 * 1 + 97 * 3 + 2 * 4,
            4, 7, often[0] + often[1] + often[2] * 2 + often[3] * 3,
        ]  # fmt: skip

    def test_digests_of_partitions_add_up(self, frame):
        digest = of("cluster.partitions").digest
        parts = [digest(one) for one in (frame[:1], frame[1:])]
        assert [sum(one) for one in zip(*parts, strict=True)] == digest(frame)

    def test_results_that_differ(self, frame):
        digest, scaling = of("cluster.partitions").digest, of("cluster.scaling")
        expected = digest(frame)
        assert scaling.far(expected, expected) == 0.0
        wrong = [
            frame[:3], frame.assign(x=[1.0, 2.0, -3.0, 4.0]), frame.assign(x=[1.0, np.inf, 4.0, -3.0]),
            frame.assign(hops=pd.array([1, 1, 2, 3], "Int32").fillna(5) + 1),
        ]  # fmt: skip
        assert all(scaling.far(digest(one), expected) > scaling.ROUNDING for one in wrong)
        close = frame.assign(x=frame["x"] * (1 + 1e-9))
        assert 0.0 < scaling.far(digest(close), expected) < scaling.ROUNDING


@pytest.mark.usefixtures("arrays")
class TestComparing:
    def test_integers_exactly_and_floats_nearly(self):
        off_by = of("cluster.partitions").off_by
        right = pd.DataFrame(
            {
                "vertex": [1, 2, 3],
                "width": [np.inf, 2.0, np.nan],
                "predecessor": pd.array([None, 1, None], "Int32"),
            }
        )
        assert off_by(right, right.copy()) == 0.0
        assert off_by(right.assign(width=[np.inf, 2.00001, np.nan]), right) == pytest.approx(5e-6)
        for wrong in (
            right.assign(width=[np.inf, 2.1, np.nan]),
            right.assign(width=[5.0, 2.0, np.nan]),
            right.assign(vertex=[1, 2, 4]),
            right.assign(predecessor=pd.array([1, 1, None], "Int32")),
            right[:2],
            right[["vertex", "width"]],
        ):
            with pytest.raises(AssertionError):
                off_by(wrong, right)


@pytest.fixture
def section():
    return of("timing").Section("cluster", "g")


@pytest.fixture
def measured():
    def make(job, library, seconds, alone=()):
        return of("timing").Measured(job, "g", library, [seconds], alone=list(alone))

    return make


class TestFigures:
    def test_jobs_match_targets_and_tables(self):
        bench, peers = of("cluster.jobs"), of("cluster.peers")
        names = {job.name for job in bench.JOBS}
        assert set(peers.TARGETS) <= names | {bench.BUILD}
        assert {job.name for job in bench.EXCHANGED} == {
            "BFS", "CC", "CS", "HS", "NN", "PR", "SSSP", "SSWP",
        }  # fmt: skip
        assert {job.weights for job in (*bench.JOBS, *bench.EXCHANGED)} == set(bench.KINDS)

    def test_the_short_table(self, section, measured):
        section.timings += [
            measured("bfs", "one GPU", 0.03),
            measured("bfs", "cugraph_ws", 0.02),
            measured("heat", "one GPU", 0.4, [0.2]),
            measured("heat", "cugraph_ws", 0.2, [0.08]),
            measured("sssp", "cugraph_ws", 0.2),
        ]
        of("cluster.pieces").speedups(section, 2)
        (table,) = section.facts()["tables"]
        assert table["rows"] == [
            ["bfs", "30", "20", "1.50", "", "", ""],
            ["heat", "400", "200", "2.00", "10", "4", "2.50"],
        ]

    @pytest.mark.usefixtures("arrays")
    @pytest.mark.parametrize("graph", ["RM14", "road-like"])
    def test_builds_of_the_same_graph_and_of_a_part(self, graph, section, measured, monkeypatch):
        bench, seconds = (
            of("cluster.pieces"),
            {"cugraph_ws": 0.3, "one GPU": 0.2, "one GPU, its part": 0.1},
        )
        built = {}

        def race(section, job, entrants, repeats, few):
            built.update((one.library, one.edges(None)) for one in entrants)
            return [measured(job, one.library, seconds[one.library]) for one in entrants]

        monkeypatch.setattr(bench, "race", race)
        case = of("gpu.cases").Case(graph, 4, np.array([0, 1, 1]), np.array([1, 2, 3]))
        several = types.SimpleNamespace(edges=lambda: None, workers=4, name=graph)
        bench.builds(bench.Setup(several, case), section, 3)
        targets = [(one.name, one.measured, one.met) for one in section.targets]
        same = ("build from a frame: 4 GPUs ÷ one", pytest.approx(1.5), True)
        part = ("build from a frame: 4 GPUs ÷ one, its part", pytest.approx(3.0), False)
        assert targets == ([same, part] if graph == "RM14" else [same])
        assert built.get("one GPU, its part") == (M // 4 if graph == "RM14" else None)

    def test_methods_of_exchange(self, section, measured):
        bench = of("cluster.exchange")
        found = {
            program: {
                method: {"seconds": taken}
                for method, taken in zip(("VR", "MS", "ALL"), times, strict=True)
            }
            for program, times in {"PR": (0.02, 0.02, 0.03), "BFS": (0.01, 0.02, 0.025)}.items()
        }
        found["PR"]["VR"] |= {"supersteps": 20, "sent": 4_000_000, "useful": 4_000_000}
        found["PR"]["ALL"] |= {"supersteps": 20, "sent": 10_000_000, "useful": 2_500_000}
        found["PR"]["VR"] |= {"computing": 0.015, "communication": 0.005}
        section.figures["exchange"] = found
        bench.exchange_targets(section, 2)
        assert [(one.measured, one.met) for one in section.targets] == [
            (pytest.approx(2.0), True),
            (pytest.approx(1.5), True),
        ]
        found["PR"]["auto"], found["BFS"]["auto"] = {"seconds": 0.0204}, {"seconds": 0.011}
        bench.exchange_targets(section, 2, hub=True)
        assert [one.met for one in section.targets[2:4]] == [True, False], "more is asked for there"
        assert "through the host" in section.targets[2].name
        auto = section.targets[4]
        assert (auto.measured, auto.mean, auto.met) == (
            pytest.approx(1.1), pytest.approx(1.06), False,
        )  # fmt: skip
        assert "worst of 2 programs" in auto.name
        bench.exchange_table(section, 2)
        (table,) = section.tables
        rows = [dict(zip(table["columns"], row, strict=True)) for row in table["rows"]]
        assert (rows[0]["ALL ÷ VR"], rows[0]["auto ÷ best"]) == ("1.50", "1.02")
        assert rows[0]["VR: computing + communication, ms"] == "15 + 5"
        assert rows[0]["MS: computing + communication, ms"] == ""
        assert (rows[0]["VR, MB"], rows[0]["MS, MB"], rows[0]["ALL useful"]) == (
            "4.00",
            "",
            "25.0%",
        )
        assert (rows[1]["program"], rows[1]["supersteps"], rows[1]["ALL useful"]) == (
            "BFS",
            "0",
            "",
        )

    def test_numbers_for_pictures(self, section, measured, monkeypatch):
        """A method that was not timed has none; what failed for one that was is left out."""
        bench, breakdown = of("cluster.exchange"), of("cluster.breakdown")

        def methods(setup, job, numbers):
            numbers["MS"] |= {"supersteps": 20, "sent": 400, "useful": 100}
            return [of("timing").Entrant(one, lambda one=one: (one, None), None) for one in numbers]

        def broken_down(client, run):
            parts = {"MS": breakdown.Breakdown(wall=0.5, computing=0.125)}
            return parts[run()]

        def race(section, name, entrants, *given, **named):
            return [measured(name, one, 1.0, [0.25]) for one in ("VR", "MS")]

        monkeypatch.setattr(bench, "_methods", methods)
        monkeypatch.setattr(bench, "race", race)
        monkeypatch.setattr(bench, "breakdown", broken_down)
        setup = types.SimpleNamespace(several=types.SimpleNamespace(client=None, workers=2))
        bench.exchange(setup, section, 3, None)
        assert section.figures["exchange"]["PR"] == {
            "VR": {"seconds": 0.25},
            "MS": {
                "seconds": 0.25, "supersteps": 20, "sent": 400, "useful": 100,
                "computing": 0.125, "communication": 0.375,
            },
        }  # fmt: skip

    def test_every_method_is_broken_down_in_a_run_of_its_own(self, section, measured, monkeypatch):
        bench, runs = of("cluster.exchange"), []
        result = types.SimpleNamespace(trace=pd.DataFrame({"milliseconds": [3.0, 4.0]}))

        def methods(setup, job, numbers):
            return [
                of("timing").Entrant(one, lambda one=one: (runs.append(one) or result, None), None)
                for one in bench.METHODS
            ]

        monkeypatch.setattr(bench, "_methods", methods)
        monkeypatch.setattr(
            bench,
            "race",
            lambda section, name, entrants, *given, **named: [
                measured(name, one.library, 1.0, [0.5]) for one in entrants
            ],
        )
        Part = of("cluster.breakdown").Breakdown
        monkeypatch.setattr(
            bench, "breakdown",
            lambda client, run: Part(wall=float(run().trace["milliseconds"].sum()), computing=1.0),
        )  # fmt: skip
        setup = types.SimpleNamespace(several=types.SimpleNamespace(client=None, workers=2))
        bench.exchange(setup, section, 3, "coefficients")
        assert runs == ["VR", "MS", "ALL"] * 2
        assert section.figures["gpus"] == 2
        assert set(section.figures["exchange"]) == {"HS", "NN"}
        assert section.figures["exchange"]["HS"]["ALL"] == {
            "seconds": 0.5, "computing": 1.0, "communication": 6.0,
        }  # fmt: skip

    @pytest.mark.parametrize(
        ("peaks", "met"), [([3, 2], None), ([3, 2, 2, 4], False), ([3] * 4, True)]
    )
    def test_memory(self, section, peaks, met):
        of("cluster.pieces").memory_figures(section, 10, peaks)
        assert [one.met for one in section.targets] == ([] if met is None else [met])
        (table,) = section.tables
        assert table["rows"][1] == ["worker 0", "0.00", "0.30"]

    def test_against_cugraph(self, section, measured):
        section.timings += [
            measured("bfs", "one GPU", 9.0),
            measured("bfs", "cugraph_ws", 0.02),
            measured("bfs", "cuGraph", 0.3),
        ]
        of("cluster.peers").table(section, 2)
        assert section.tables[0]["rows"] == [["bfs", "20", "300", "15.00"]]

    def test_without_cugraph_nothing_is_lost(self, section, monkeypatch):
        monkeypatch.setitem(sys.modules, "cugraph", None)
        said = of("cluster.peers").cugraph_cluster("RM14", 0, section, 3)
        assert said.startswith("not here: ")
        assert section.timings == []

    def test_the_report_shows_tables(self, section):
        section.table("two of them", ["work", "ms"], [["bfs", "3"]])
        facts = {**section.facts(), "status": "passed"}
        report = of("record").merge({}, "bench", "cluster g", facts)
        shown = of("page").pages(report)["cluster.md"]
        assert "## cluster g: two of them\n\n| work | ms |\n| --- | --- |\n| bfs | 3 |\n" in shown


class TestWays:
    """Each way between GPUs, on clusters and graphs that are made up."""

    @pytest.fixture
    def started(self, monkeypatch, measured):
        bench, started = of("cluster.ways"), []

        @contextlib.contextmanager
        def cluster(*given, **named):
            started.append(given or named)
            yield None

        class Several:
            workers, values = 2, None

            def __init__(self, name, client):
                pass

            def edges(self, kind):
                return kind

            def digest(self, frame):
                return frame

            def let_go(self):
                pass

        def race(section, name, entrants, *given, **named):
            found = []
            for one in entrants:
                section.attempt(one.library, lambda one=one: one.check(one.run()))
                found.append(measured(name, one.library, 1.0, [0.25]))
            return found

        def graph(edges, weight, links):
            return types.SimpleNamespace(links=links, close=lambda: None)

        for name, one in {
            "workers": cluster, "sharing": cluster, "PartitionedGraph": Several, "race": race,
        }.items():  # fmt: skip
            monkeypatch.setattr(bench, name, one)
        monkeypatch.setattr(bench.ws, "Graph", graph)
        return bench, started

    @pytest.mark.parametrize("gpus", [1, 2])
    def test_all_ways_of_a_machine_are_timed(self, started, section, monkeypatch, gpus):
        bench, clusters = started
        monkeypatch.setattr(bench, "installed_gpus", lambda: [None] * gpus)

        def call(graph, start, values, **options):
            """Return a wrong digest by NCCL if it is fused and through the host."""
            trace = pd.DataFrame({"bytes_sent": [5, 6], "milliseconds": [1.0, 2.0]})
            wrong = graph.links == "nccl" and clusters[-1] == (bench.HUB,)
            return types.SimpleNamespace(trace=trace, iterations=2, frame=[3.0, 4.0 + wrong])

        jobs = [types.SimpleNamespace(name=one, weights=None, call=call) for one in ("PR", "HS")]
        monkeypatch.setattr(bench, "EXCHANGED", jobs)
        bench.ways("RM14", section, 3)
        ways = bench.ON_SEVERAL if gpus > 1 else bench.ON_ONE
        assert set(section.figures["ways"]) == {"PR"}
        assert [row[1] for row in section.tables[0]["rows"]] == [
            name for _, some in ways for name in some
        ]
        assert section.tables[0]["rows"][0][2:] == ["2", "250", "0.00"]
        assert len(section.errors) == gpus - 1, "the wrong digest"
        expected = [{"apart": False}, {"apart": True}] if gpus < 2 else [({},), (bench.HUB,)]
        assert clusters == expected


def test_stages_of_several_gpus_run_only_where_asked_for():
    run, stages, bench = of("run"), of("stages"), of("cluster.parts")
    assert {one.removeprefix("bench-") for one in stages.CLUSTER} == {*bench.PARTS, "cluster-fuzz"}
    assert not set(run.expand(["bench"])) & set(stages.CLUSTER)
    assert run.expand(["cluster"]) == ["cluster-hub", "cluster"]
    assert run.expand(["cluster-hub"]) == ["cluster-hub"]
    assert run.expand(["bench-cluster"]) == ["bench-cluster"]
    assert run.expand(["bench-cluster-large:RM27"]) == ["bench-cluster-large:RM27"]
    assert run.expand(["bench-cluster:RM22,KR24"]) == ["bench-cluster:RM22,KR24"]
    with pytest.raises(SystemExit):
        run.expand(["cluster:RM22"])


def test_every_test_of_clusters_is_in_a_stage(monkeypatch):
    run, stages = of("run"), of("stages")
    given = []

    def tested(chosen, *, side_by_side):
        given.append(chosen[-1])
        return {"status": "passed"}

    monkeypatch.setattr(stages, "_tested", tested)
    found = [run.run(stage)[0] for stage in run.expand(["cluster"])]
    assert [(group, name, facts["status"]) for group, name, facts in found] == [
        ("stages", "cluster-hub", "passed"), ("stages", "cluster", "passed")
    ]  # fmt: skip
    root = Path(__file__).parents[2]
    there = {str(one.relative_to(root)) for one in (root / "tests/gpu_cluster").glob("test_*.py")}
    assert set(given) == there


def test_workers_of_the_hub_do_not_read_each_other(monkeypatch):
    seen = []

    @contextlib.contextmanager
    def cluster():
        seen.append(os.environ.get("NCCL_P2P_DISABLE"))
        yield types.SimpleNamespace(nthreads=lambda: {"a": 1, "b": 1})

    bench = of("cluster.workers")
    monkeypatch.setattr(bench.ws, "local_cluster", cluster)
    for environment in (bench.HUB, {}):
        with bench.workers(environment):
            pass
    assert seen == ["1", None]
    assert "NCCL_P2P_DISABLE" not in os.environ
