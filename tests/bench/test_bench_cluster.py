"""The benchmark of several GPUs, without them: partitions of edges, digests, contests, figures and targets."""

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

from bench.cluster import builds, contests
from bench.timing import Measured, Section

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
        frame = several.frame_of_part(NAME, 1, 4, "weighted")
        case = several.GatheredCase(NAME, 4)
        own = slice(M // 4, M // 2)
        np.testing.assert_array_equal(frame["source"], case.source[own])
        np.testing.assert_array_equal(frame["destination"], case.destination[own])
        np.testing.assert_array_equal(frame["weight"], case.weights("weighted")[own])

    def test_weights(self):
        case = of("cluster.partitions").GatheredCase(NAME, 2)
        lengths = case.weights("weighted")
        assert lengths.dtype == np.float32
        assert set(np.unique(lengths)) == set(range(1, 64))
        share = case.weights("coefficients")
        assert share.dtype == np.float32
        assert share.min() > 0.0
        assert np.bincount(case.destination, share).max() <= 0.9
        signed = case.weights("synapses")
        assert signed.min() < 0.0 < signed.max()
        assert np.bincount(case.destination, np.abs(signed)).max() <= 0.9


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

    def test_results_that_differ(self, frame):
        digest, far = (getattr(of("cluster.partitions"), name) for name in ("digest", "far"))
        rounding = of("cluster.contests").ROUNDING
        expected = digest(frame)
        assert far(expected, expected) == 0.0
        wrong = [
            frame[:3], frame.assign(x=[1.0, 2.0, -3.0, 4.0]), frame.assign(x=[1.0, np.inf, 4.0, -3.0]),
            frame.assign(hops=pd.array([1, 1, 2, 3], "Int32").fillna(5) + 1),
        ]  # fmt: skip
        assert all(far(digest(one), expected) > rounding for one in wrong)
        close = frame.assign(x=frame["x"] * (1 + 1e-9))
        assert 0.0 < far(digest(close), expected) < rounding


class Trace(dict):
    """Columns of a trace, of two supersteps."""

    def __len__(self):
        return 2


class Graph:
    """A partitioned graph whose frames are digests."""

    def __init__(self, name, client, workers=None, links="auto", spread="parts"):
        self.links, self.places = links, 4
        self.client = types.SimpleNamespace(run=lambda function: None)
        self.workers = min(workers or 4, len(client.nthreads()))

    def graph(self, form):
        return self

    def digest(self, frame):
        return frame

    def values(self, every=1):
        return None

    let_go = values


@pytest.mark.usefixtures("arrays")
class TestContests:
    """Jobs and variants on clusters and graphs that are made up."""

    @pytest.fixture
    def clusters(self, monkeypatch):
        """Environments with which workers were started; None when they ended."""
        log = []

        @contextlib.contextmanager
        def workers(environment):
            log.append(dict(environment))
            yield types.SimpleNamespace(nthreads=lambda: dict.fromkeys("abcd"[: self.gpus], 1))
            log.append(None)

        def race(section, job, entrants, *given, **named):
            timings = {}
            for place, entrant in enumerate(entrants):
                if (
                    section.attempt(
                        entrant.library, lambda entrant=entrant: entrant.check(entrant.run())
                    )
                    is None
                ):
                    continue
                alone = [] if entrant.alone is None else [entrant.alone(entrant.run())]
                seconds = [0.5 / (place + 1)]
                timings[entrant.library] = Measured(job, "g", entrant.library, seconds, alone)
            return timings

        self.gpus = 4
        single = Graph("g", types.SimpleNamespace(nthreads=lambda: "a"))
        case = types.SimpleNamespace(
            source=range(7), start=1, values=lambda every=1: None, ours=lambda form: single,
            let_go=lambda: None,
        )  # fmt: skip
        for name, stand_in in {
            "workers": workers, "race": race, "PartitionedGraph": Graph, "give_back": lambda: None,
            "GatheredCase": lambda name, places: case, "digest": lambda frame: frame,
        }.items():  # fmt: skip
            monkeypatch.setattr(contests, name, stand_in)
        return log

    def job(self, wrong=lambda graph, options: False, name="PR", **facts):
        def call(graph, start, values, **options):
            trace = Trace(
                bytes_sent=np.array([5, 6]), bytes_useful=np.array([1, 1]), milliseconds=np.array([1.0, 3.0]),
            )  # fmt: skip
            frame = [3.0, 4.0 + wrong(graph, options)]
            return types.SimpleNamespace(trace=trace, iterations=2, frame=frame)

        return contests.Job(name, None, call, **facts)

    def test_every_variant_is_timed_and_verified(self, clusters):
        job = self.job(lambda graph, options: options["plan"].exchange == "all")
        section = Section("cluster-exchange", NAME)
        with contests.Contest("exchange", (job,), contests.ALL_METHODS) as contest:
            contest(NAME, section, 3)
            contest(NAME, Section("cluster-exchange", NAME), 3)
            assert clusters == [{}], "the same workers serve both graphs"
        assert clusters == [{}, None]
        assert section.errors[0]["what"] == "ALL"
        assert "off by 0.25" in section.errors[0]["error"]
        figures = section.figures["exchange"]["PR"]
        assert set(figures) == {"VR", "MS", "auto"}
        assert figures["MS"] == {
            "supersteps": 2, "sent": 11, "useful": 2, "seconds": 0.004, "call": 0.25,
        }  # fmt: skip
        assert section.tables[0]["rows"][1] == [
            "PR", "MS", "2", "4", "1.00", "250", "2.00", "0.00", "18.2%",
        ]  # fmt: skip
        assert [target.bound for target in section.targets] == [1.3, 1.03]

    def test_the_hubs_workers_have_no_access_between_gpus(self, clusters):
        assert contests.HUB == {"NCCL_P2P_DISABLE": "1"}
        hub = contests.CONTESTS["hub"]
        with contests.Contest("exchange", (self.job(),), hub.variants, hub.environment) as contest:
            contest(NAME, Section("cluster-hub", NAME), 3)
        assert clusters == [contests.HUB, None]

    @pytest.mark.parametrize(("gpus", "keys"), [(2, ["1", "2"]), (4, ["1", "2", "4"])])
    def test_scaling_is_by_numbers_of_gpus(self, clusters, gpus, keys):
        self.gpus = gpus
        section = Section("cluster-scaling", NAME)
        jobs = (self.job(), self.job(name="SSSP"))
        with contests.Contest("scaling", jobs, contests.CONTESTS["scaling"].variants) as contest:
            contest(NAME, section, 3)
        assert section.errors == []
        assert {name: list(times) for name, times in section.figures["scaling"].items()} == {
            "SSSP": keys
        }
        assert (section.figures["gpus"], section.figures["edges"], section.figures["vertices"]) == (
            gpus, 7, N,
        )  # fmt: skip

    @pytest.mark.parametrize("dense", [True, False])
    def test_speed_ups_have_targets(self, clusters, dense):
        section = Section("cluster-functions", NAME)
        with contests.Contest(
            "functions", (self.job(dense=dense),), contests.CONTESTS["functions"].variants
        ) as contest:
            contest(NAME, section, 3)
        (target,) = section.targets
        expected = (1.0, 3.2) if dense else (2.0, 2.2)
        assert (target.measured, target.bound) == (pytest.approx(expected[0]), expected[1])

    def test_means_of_methods(self):
        section = Section("cluster-hub", "g", figures={"gpus": 2})
        times = {"PR": (0.02, 0.02, 0.03, 0.0204), "BFS": (0.01, 0.02, 0.025, 0.011)}
        figures = {
            program: {
                name: {"seconds": seconds, "call": 1.0}
                for name, seconds in zip((*contests.METHODS, "auto"), by_method, strict=True)
            }
            for program, by_method in times.items()
        }
        contests.CONTESTS["hub"]._tables(section, figures)
        assert [(one.measured, one.met) for one in section.targets] == [
            (pytest.approx(2.0), True), (pytest.approx(1.5), False), (pytest.approx(1.1), False)
        ]  # fmt: skip
        assert section.targets[2].mean == pytest.approx(1.06)

    def test_programs_are_the_papers(self):
        assert {job.name for job in contests.EIGHT} == {
            "BFS", "CC", "CS", "HS", "NN", "PR", "SSSP", "SSWP",
        }  # fmt: skip
        assert {job.form for job in (*contests.JOBS, *contests.EIGHT)} == set(contests.FORMS)
        assert set(contests.EVERY_PROGRAM_ON) <= set(of("graphs").SCALING)


@pytest.mark.parametrize(("peaks", "met"), [([3, 2], None), ([3, 2, 2, 4], False), ([3] * 4, True)])
def test_memory(peaks, met):
    section = Section("cluster-build", "g")
    builds.memory_figures(section, 10, peaks)
    assert [target.met for target in section.targets] == ([] if met is None else [met])
    assert section.tables[0]["rows"][1] == ["worker 0", "0.00", "0.30"]


def test_workers_of_the_hub_do_not_read_each_other(monkeypatch):
    seen = []

    @contextlib.contextmanager
    def cluster():
        seen.append(os.environ.get("NCCL_P2P_DISABLE"))
        yield types.SimpleNamespace(nthreads=lambda: dict.fromkeys("ab"[: 3 - len(seen)], 1))

    partitions = of("cluster.partitions")
    monkeypatch.setattr(partitions.ws, "local_cluster", cluster)
    with partitions.workers(contests.HUB):
        pass
    with pytest.raises(RuntimeError, match="needs two GPUs"), partitions.workers():
        pass
    assert seen == ["1", None]
    assert "NCCL_P2P_DISABLE" not in os.environ


def test_stages_of_several_gpus_run_only_where_asked_for():
    stages = of("stages")
    assert not set(stages.expand(["bench"])) & set(stages.CLUSTER)
    assert stages.expand(["cluster"]) == ["cluster-hub", "cluster"]
    assert stages.expand(["cluster-hub"]) == ["cluster-hub"]
    assert stages.expand(["bench-cluster:RM22,KR24"]) == [
        f"bench-cluster-{part}:RM22,KR24" for part in ("build", "functions", "exchange")
    ]
    assert stages.expand(["bench-cluster-large:RM27"]) == ["bench-cluster-large:RM27"]
    with pytest.raises(SystemExit):
        stages.expand(["cluster:RM22"])


def test_every_test_of_clusters_is_in_a_stage(monkeypatch):
    stages, chosen = of("stages"), []
    monkeypatch.setattr(
        stages, "child", lambda command, seconds: chosen.append(command[-1]) or of("children").Done(1, ""),
    )  # fmt: skip
    assert [stages.run(stage)[0][2]["status"] for stage in stages.expand(["cluster"])] == [
        "failed"
    ] * 2
    root = Path(__file__).parents[2]
    assert set(chosen) == {
        str(path.relative_to(root)) for path in (root / "tests/gpu_cluster").glob("test_*.py")
    }
