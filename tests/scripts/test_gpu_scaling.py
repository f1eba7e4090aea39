"""From one GPU to several, without one: which graphs, which GPUs, and what becomes of the times."""

from __future__ import annotations

import contextlib
import json
import sys
import types

import numpy as np
import pytest
from ci_scripts import numpy_as_cupy, of


def test_graphs_of_several_sizes_and_densities():
    graphs = of("graphs")
    names = list(graphs.SCALING)
    assert names == list(of("cluster.parts").PARTS["cluster-scaling"].graphs)
    assert set(of("cluster.scaling").PROGRAMS_ON) <= set(names)
    densities = {}
    for name, (n, m, corners) in graphs.SCALING.items():
        assert graphs.RMAT[name] == (n, m, graphs.PAPER) == (n, m, corners)
        assert name == f"RM{n // 10**6}V{m // 10**6}E"
        densities.setdefault(m / n, []).append(m)
    assert sorted(densities) == [8, 16, 32]
    for edges in densities.values():
        assert len(edges) == len(set(edges)) == 4
        assert 33e6 < min(edges) < 34e6
        assert 700e6 < max(edges) < 710e6


def test_all_graphs_fit_a_frame():
    assert all(m < 2**31 for _, m, _ in of("graphs").RMAT.values())


def test_two_gpus_take_part_wherever_there_are_more():
    sizes = of("cluster.scaling").sizes
    assert (sizes(2), sizes(4), sizes(8)) == ([2], [2, 4], [2, 8])


@pytest.fixture
def measured():
    def make(job, library, seconds, alone):
        return of("timing").Measured(job, "g", library, [seconds], alone=[alone])

    return make


class TestFigures:
    def test_times_by_program_and_gpus(self, measured):
        timings = [
            measured("SSSP", "one GPU", 0.08, 0.06),
            measured("SSSP", "2 GPUs", 0.05, 0.04),
            measured("SSSP", "cugraph_ws", 0.04, 0.02),
            measured("BFS", "cugraph_ws", 0.01, 0.005),
        ]
        found = of("cluster.scaling").scaling_figures(timings, 4)
        assert found == {
            "SSSP": {
                "1": {"supersteps": 0.06, "call": 0.08},
                "2": {"supersteps": 0.04, "call": 0.05},
                "4": {"supersteps": 0.02, "call": 0.04},
            },
            "BFS": {"4": {"supersteps": 0.005, "call": 0.01}},
        }
        assert json.loads(json.dumps(found)) == found

    def test_table(self, measured):
        scaling = of("cluster.scaling")
        section = of("timing").Section("cluster-scaling", "g")
        timings = [
            measured("SSSP", "one GPU", 0.08, 0.06),
            measured("SSSP", "cugraph_ws", 0.04, 0.02),
            measured("BFS", "cugraph_ws", 0.01, 0.005),
        ]
        scaling.scaling_table(section)
        assert section.tables == [], "nothing was measured yet"
        section.figures["scaling"] = scaling.scaling_figures(timings, 2)
        scaling.scaling_table(section)
        (table,) = section.tables
        assert table["columns"] == [
            "program", "supersteps, ms, 1 GPU", "supersteps, ms, 2 GPUs", "2 against 1",
            "call, ms, 1 GPU", "call, ms, 2 GPUs", "2 against 1",
        ]  # fmt: skip
        assert table["rows"] == [
            ["SSSP", "60", "20", "3.00", "80", "40", "2.00"],
            ["BFS", "", "5", "", "", "10", ""],
        ]


class TestWorkers:
    @pytest.fixture
    def clusters(self, monkeypatch):
        """How many clusters have been started, and how many have ended."""
        counts = {"started": 0, "ended": 0}

        @contextlib.contextmanager
        def workers():
            counts["started"] += 1
            yield types.SimpleNamespace(nthreads=lambda: dict.fromkeys("abcd", 1))
            counts["ended"] += 1

        monkeypatch.setattr(of("cluster.scaling"), "workers", workers)
        return counts

    @pytest.fixture
    def programs(self, monkeypatch):
        """Programs that were to run, by graph, on how many GPUs besides one."""
        scaling, ran = of("cluster.scaling"), {}

        def job(job, case, partitioned, section, repeats):
            ran.setdefault(section.graph, []).append((job.name, list(partitioned)))

        class Case:
            source = range(7)

            def __init__(self, name, places):
                assert places == 16

            def let_go(self):
                pass

        monkeypatch.setattr(scaling, "_job", job)
        monkeypatch.setattr(scaling, "GatheredCase", Case)
        return ran

    def test_they_stay_from_graph_to_graph(self, clusters, programs):
        measure, scaling = of("timing"), of("cluster.scaling")
        sections = [
            measure.Section("cluster-scaling", name) for name in ("RM4V33E", "RM16V134E", "RM2V33E")
        ]
        with scaling.Scaling() as run:
            assert clusters == {"started": 0, "ended": 0}, "no piece needs them yet"
            for section in sections:
                run(section.graph, section, 3)
            assert clusters == {"started": 1, "ended": 0}
        assert clusters == {"started": 1, "ended": 1}
        assert programs["RM4V33E"] == programs["RM2V33E"] == [("SSSP", [2, 4])]
        assert len(programs["RM16V134E"]) == 8
        assert sections[0].figures == {"gpus": 4, "edges": 7, "vertices": 1 << 22}
        assert all(not section.errors for section in sections)

    def test_they_end_with_the_part(self, clusters, programs, tmp_path):
        bench, output = of("cluster.parts"), tmp_path / "bench.json"
        graphs = ["RM1V33E", "RM2V33E"]
        given = ["scaling", "--graphs", *graphs, "--output", str(output)]
        assert bench.main(given) == 0
        assert clusters == {"started": 1, "ended": 1}
        assert [one["graph"] for one in json.loads(output.read_text())["sections"]] == graphs
        assert list(programs) == graphs


class TestWork:
    """A program that takes part on one GPU and on two and four of others, all of them made up."""

    @pytest.fixture
    def parts(self, monkeypatch):
        scaling = of("cluster.scaling")
        monkeypatch.setitem(sys.modules, "cupy", numpy_as_cupy())
        trace = {"milliseconds": np.array([1.0, 2.0])}
        monkeypatch.setattr(scaling, "digest", lambda frame: frame)

        def call(graph, start, values):
            return types.SimpleNamespace(frame=graph, trace=trace, iterations=2)

        job = types.SimpleNamespace(name="SSSP", weights="lengths", dense=False, call=call)

        def place(digest):
            return types.SimpleNamespace(
                graph=lambda kind: digest, values=None, digest=lambda frame: frame, start=0
            )

        return job, place

    def test_digests_are_compared_with_one_gpus(self, parts):
        job, place = parts
        scaling, section = of("cluster.scaling"), of("timing").Section("cluster-scaling", "g")
        partitioned = {2: place([7.0, 3.0]), 4: place([7.0, 3.3])}
        scaling._job(job, place([7.0, 3.0]), partitioned, section, 1)
        assert [one["what"] for one in section.errors] == ["SSSP, cugraph_ws"]
        assert "off by 0.1" in section.errors[0]["error"]
        assert set(section.figures["scaling"]["SSSP"]) == {"1", "2"}
        assert section.figures["scaling"]["SSSP"]["2"]["supersteps"] == pytest.approx(0.003)
