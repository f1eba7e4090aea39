"""The benchmarks on a GPU, without one: the clock's turns, the figures beside times, and the judges."""

from __future__ import annotations

import ctypes
import json
import sys
import types
import unittest.mock
from functools import partial

import numpy as np
import pandas as pd
import pytest
from ci_scripts import numpy_as_cupy, of

import cugraph_ws as ws


class TestTargets:
    def test_ratios_of_calls_and_of_algorithms_alone(self):
        measure = of("timing")
        timings = [
            measure.Measured("pagerank", "g", "cugraph_ws", [0.02, 0.02], alone=[0.01, 0.01]),
            measure.Measured("pagerank", "g", "cuGraph", [0.03, 0.05]),
        ]
        found = measure.Section("supersteps", "g")
        measure.compare(found, "calls", timings, "cuGraph", 1.7, alone=False)
        measure.compare(found, "alone", timings, "cuGraph", 1.7, alone=True)
        measure.compare(found, "nobody", timings, "cuSPARSE", 1.0, alone=True)
        assert [(one.name, one.measured, one.met) for one in found.targets] == [
            ("calls", pytest.approx(2.0), True),
            ("alone", pytest.approx(4.0), True),
        ]
        measure.compare(found, "more", timings, "cuGraph", 2.1, alone=False)
        assert not found.targets[-1].met

    def test_facts_for_the_file(self):
        measure = of("timing")
        found = measure.Section("frames", "g")
        found.timings.append(measure.Measured("build", "g", "cuGraph", [0.3, 0.1, 0.2], first=2.0))
        assert found.attempt("dividing", lambda: 1 / 0) is None
        facts = json.loads(json.dumps(found.facts()))
        figures = dict(zip(of("tables").FIGURES, facts["timings"]["build"]["cuGraph"], strict=True))
        assert figures["median"] == 200.0
        assert (figures["least"], figures["most"], figures["runs"]) == (100.0, 300.0, 3)
        assert figures["alone"] is None
        assert facts["errors"] == [
            {"what": "dividing", "error": "ZeroDivisionError: division by zero"}
        ]


class TestRace:
    @pytest.fixture
    def clock(self, monkeypatch):
        """Every call takes a second, the first of each entrant ten."""
        seen = set()

        def clocked(entrant):
            first = entrant.library not in seen
            seen.add(entrant.library)
            return 10.0 if first else 1.0, entrant.run()

        monkeypatch.setattr(of("timing"), "_clocked", clocked)

    def test_the_first_call_is_shown_separately(self, clock):
        measure = of("timing")
        found = measure.Section("frames", "g")
        entrant = measure.Entrant(
            "a", lambda: 4, lambda answer: 0.5, alone=lambda answer: 0.8,
            share=lambda answer: answer, edges=lambda answer: 7, moved=lambda answer: 9,
        )  # fmt: skip
        (one,) = measure.race(found, "work", [entrant], 5)
        assert (one.first, one.off, one.parts, one.edges, one.bytes) == (10.0, 0.5, 4, 7, 9)
        assert one.seconds == [0.25] * 5
        assert one.alone == [0.2] * 5
        assert found.timings == [one]

    def test_a_failing_entrant_does_not_stop_the_others(self, clock):
        measure = of("timing")

        def wrong(answer):
            raise AssertionError("not the answer")

        released = []
        entrants = [
            measure.Entrant("wrong", lambda: 1, wrong),
            measure.Entrant("right", lambda: 1, lambda answer: None, release=released.append),
        ]
        found = measure.Section("frames", "g")
        assert [one.library for one in measure.race(found, "work", entrants, 3)] == ["right"]
        assert found.errors == [{"what": "work, wrong", "error": "AssertionError: not the answer"}]
        assert len(released) == 5

    def test_a_slow_entrant_runs_fewer_times(self, clock, monkeypatch):
        measure = of("timing")
        monkeypatch.setattr(measure, "PATIENCE", 0.5)
        entrant = measure.Entrant("a", lambda: 1, lambda answer: None)
        (one,) = measure.race(measure.Section("frames", "g"), "work", [entrant], 5)
        assert len(one.seconds) == measure.FEW < 5

    @pytest.mark.parametrize(("short", "runs"), [(2.0, 9), (0.5, 3)])
    def test_short_calls_are_repeated_more_often(self, clock, monkeypatch, short, runs):
        measure = of("timing")
        monkeypatch.setattr(measure, "SHORT", short)
        entrant = measure.Entrant("a", lambda: 1, lambda answer: None)
        section = measure.Section("frames", "g")
        (one,) = measure.race(section, "work", [entrant], 3, few=3, many=9)
        assert len(one.seconds) == runs

    def test_bytes_of_a_superstep(self):
        programs = of("gpu.programs")
        result = types.SimpleNamespace(
            rows=types.SimpleNamespace(edges=[1000, 1000]),
            iterations=2,
            graph=types.SimpleNamespace(number_of_vertices=10),
        )

        def moved(name):
            return programs.bytes_of(of("programs").PROGRAMS[name], result)

        # An index and a float32; row, rank and share, both read and written.
        assert moved("pagerank") == 1000 * (4 + 4) + 10 * (8 + 24)
        # The hops are int32; lengths have the type of the weights.
        assert moved("bfs") == 1000 * (4 + 4) + 10 * (8 + 8)
        assert moved("sssp") == 1000 * (4 + 4 + 4) + 10 * (8 + 8)

    def test_stages_name_parts_and_graphs_that_there_are(self):
        bench, graphs, stages = of("gpu.parts"), of("graphs"), of("stages")
        for stage in stages.BENCHES:
            part, _, names = stage.removeprefix("bench-").partition(":")
            assert part in bench.PARTS
            assert set(names.split(",")) - {""} <= set(graphs.GENERATED)
        assert {stage.removeprefix("bench-").partition(":")[0] for stage in stages.BENCHES} == set(
            bench.PARTS
        )
        for part in (*bench.PARTS.values(), *of("cluster.parts").PARTS.values()):
            assert set(part.graphs) <= set(graphs.GENERATED)


class TestExtrapolation:
    def test_supersteps_and_times_stand_side_by_side(self):
        ring = np.arange(60)
        ends = np.concatenate([ring, ring + 1]) % 60, np.concatenate([ring + 1, ring]) % 60
        graph = ws.Graph(pd.DataFrame(dict(zip(("source", "destination"), ends, strict=True))))
        start = {"nstart": {0: 1.0}}
        case = types.SimpleNamespace(graph=lambda: graph, name="ring")
        part, section = of("gpu.extrapolation"), of("timing").Section("extrapolation", "ring")
        with unittest.mock.patch.object(part.ws, "run", partial(ws.run, **start)):
            part.extrapolation(case, section, 1)
        assert not section.errors
        table = section.tables[0]
        assert len(table["rows"]) == len(part.TOLERANCES)
        for row in table["rows"]:
            plain, ours, always = (int(text.split()[0]) for text in row[1:4])
            assert plain > ours >= always
            assert row[1].endswith("(0)")
        assert [one.bound for one in section.targets] == [1.02] * len(part.TOLERANCES)


class TestLoops:
    """Ways from one superstep to the next: the parts that can be tested without a GPU."""

    @pytest.mark.parametrize("conditional", [False, True])
    def test_kernels_compile_and_link(self, conditional):
        code = of("gpu.loops").machine_code((9, 0), conditional=conditional)
        assert code.startswith(b"\x7fELF")
        for name in (b"together", b"alone", b"single"):
            assert name in code
        assert (b"cudaGraphSetConditional" in code) is conditional

    def test_structures_are_the_drivers(self):
        driver = pytest.importorskip("cuda.bindings.driver")
        loops = of("gpu.loops")
        theirs = driver.CUgraphNodeParams()
        theirs.type = driver.CUgraphNodeType(loops.CONDITIONAL_NODE)
        theirs.conditional.handle = 77
        theirs.conditional.type = driver.CUgraphConditionalNodeType(loops.WHILE)
        theirs.conditional.size = 3
        theirs.conditional.ctx = driver.CUcontext(55)
        ours = loops._Node(type=loops.CONDITIONAL_NODE)
        ours.of.conditional = loops._Conditional(handle=77, type=loops.WHILE, size=3, context=55)
        assert ctypes.string_at(theirs.getPtr(), ctypes.sizeof(ours)) == bytes(ours)
        kernel = driver.CUDA_KERNEL_NODE_PARAMS()
        kernel.func = driver.CUfunction(11)
        kernel.gridDimX, kernel.gridDimY, kernel.gridDimZ = 2, 3, 4
        kernel.blockDimX, kernel.blockDimY, kernel.blockDimZ = 5, 6, 7
        kernel.sharedMemBytes = 8
        same = loops._Kernel(function=11, grid=(2, 3, 4), block=(5, 6, 7), shared=8)
        assert ctypes.string_at(kernel.getPtr(), ctypes.sizeof(same)) == bytes(same)
        conditional = driver.CUgraphNodeType.CU_GRAPH_NODE_TYPE_CONDITIONAL
        assert int(conditional) == loops.CONDITIONAL_NODE
        repeated = driver.CUgraphConditionalNodeType.CU_GRAPH_COND_TYPE_WHILE
        assert int(repeated) == loops.WHILE

    def test_missing_packages_are_named(self, monkeypatch):
        loops = of("gpu.loops")
        monkeypatch.setattr(loops.importlib.util, "find_spec", lambda name: None)
        monkeypatch.setattr(loops.Path, "glob", lambda self, pattern: [])
        with pytest.raises(loops.NotHereError, match=r"libcudadevrt\.a"):
            loops.device_runtime()

    def test_ways_that_are_not_here_are_left_out(self, monkeypatch, capsys):
        loops = of("gpu.loops")
        device = {"compute_capability": "90", "attributes": {"MultiProcessorCount": 2}}
        monkeypatch.setitem(sys.modules, "cupy", numpy_as_cupy(**device))

        def compile_nothing(capability, *, conditional):
            raise loops.NotHereError("a compiler")

        monkeypatch.setattr(loops, "machine_code", compile_nothing)
        chains = loops.Chains(2)
        assert loops.ways(chains) == []
        told = capsys.readouterr().out
        assert told.count("not here: ") == 6
        assert "not here: a WHILE node: a compiler" in told
        chains.begin()
        with pytest.raises(AssertionError, match="hops along a chain"):
            chains.check(chains.hops)
        chains.check(np.arange(len(chains.hops)) // 2)


class TestChecks:
    """The judges of the benchmarks, NumPy in CuPy's place: they pass what is right, and that alone."""

    @pytest.fixture
    def case(self, monkeypatch):
        """0 → 1 → 2 → 3 and 0 → 2, with 4 → 5 apart and 6 without any edge."""
        monkeypatch.setitem(sys.modules, "cupy", numpy_as_cupy())
        source, destination = np.array([[0, 1, 2, 0, 4], [1, 2, 3, 2, 5]], np.int32)
        made = of("gpu.cases").Case("g", 7, source, destination)
        monkeypatch.setattr(made, "weights", lambda kind: np.array([1, 1, 5, 4, 2], np.float32))
        return made

    def test_hops(self, case):
        far = np.iinfo(np.int32).max
        right = np.array([0, 1, 1, 2, far, far, far], np.int32)
        of("gpu.checks").hops(case, right, 0)
        for place, value in ((1, 2), (3, 3), (3, 1), (4, 0), (0, 1), (2, far)):
            wrong = right.copy()
            wrong[place] = value
            with pytest.raises(AssertionError):
                of("gpu.checks").hops(case, wrong, 0)

    def test_lengths(self, case):
        right = np.array([0, 1, 2, 7, np.inf, np.inf, np.inf], np.float32)
        of("gpu.checks").lengths(case, right, 0)
        for place, value in ((2, 4), (3, 6), (3, 8), (5, 3)):
            wrong = right.copy()
            wrong[place] = value
            with pytest.raises(AssertionError):
                of("gpu.checks").lengths(case, wrong, 0)

    def test_widths(self, case):
        right = np.array([np.inf, 1, 4, 4, np.nan, np.nan, np.nan])
        of("gpu.checks").widths(case, right.copy(), 0)
        for place, value in ((2, 1), (3, 5), (5, 2), (1, 0.5)):
            wrong = right.copy()
            wrong[place] = value
            with pytest.raises(AssertionError):
                of("gpu.checks").widths(case, wrong, 0)

    def test_components(self, case):
        check, expected = of("gpu.checks").components, np.array([0, 0, 0, 0, 4, 4, 9])
        check(case, np.array([3, 3, 3, 3, 5, 5, 0]), expected)
        for wrong in ([0, 0, 0, 0, 0, 0, 0], [0, 0, 0, 3, 4, 4, 0]):
            with pytest.raises(AssertionError):
                check(case, np.array(wrong), expected)

    def test_closeness(self, case):
        close = of("gpu.checks").close
        assert close(np.array([1.0, 2.0]), np.array([1.0, 2.5]), 0.2) == pytest.approx(0.2)
        with pytest.raises(AssertionError, match=r"above 0\.1"):
            close(np.array([1.0, 2.0]), np.array([1.0, 2.5]), 0.1)
        with pytest.raises(AssertionError):
            close(np.array([1.0, np.nan]), np.array([1.0, 2.5]), 0.1)


class _Elsewhere:
    """A library with this one's functions, whose tolerances are ten times looser."""

    def __getattr__(self, name):
        return lambda graph, *given, tol=1e-3, **options: getattr(ws, name)(
            graph, *given, tol=10 * tol, **options
        )


def test_the_other_library_is_timed_at_our_accuracy(monkeypatch):
    known, timing = of("gpu.known"), of("timing")
    monkeypatch.setattr(known, "cugraph_here", _Elsewhere)
    monkeypatch.setattr(pd.Series, "to_cupy", pd.Series.to_numpy, raising=False)
    random = np.random.default_rng(0)
    ends = np.unique(np.sort(random.integers(0, 100, (2, 900)), axis=0), axis=1)
    edges = pd.DataFrame({"source": ends[0], "destination": ends[1]})
    section = timing.Section("known", "g")
    works = known._works(None, None, None)
    with ws.Graph(edges, directed=False) as graph:
        found = {
            name: known._as_accurate(section, name, work, {"simple": graph}, {"simple": graph})
            for name, work in works.items()
            if work.iterated
        }
    assert found == {"HITS": 1e-7, "Katz": 1e-6, "eigenvector": 1e-7}
    errors = [[float(row[-1]) for row in table["rows"]] for table in section.tables]
    assert all(other > ours >= as_accurate for ours, other, as_accurate in errors)


def test_a_library_that_does_not_converge_is_timed_by_default(monkeypatch):
    known, timing = of("gpu.known"), of("timing")

    def stuck(graph, tol=1e-3, **options):
        if tol < 1e-3:
            raise RuntimeError("HITS failed to converge")
        return ws.hits(graph, tol=10 * tol)

    monkeypatch.setattr(known, "cugraph_here", lambda: types.SimpleNamespace(hits=stuck))
    monkeypatch.setattr(pd.Series, "to_cupy", pd.Series.to_numpy, raising=False)
    section, work = timing.Section("known", "g"), known._works(None, None, None)["HITS"]
    edges = pd.DataFrame({"source": [0, 1, 2, 3, 0], "destination": [1, 2, 3, 4, 2]})
    with ws.Graph(edges, directed=False) as graph:
        given = {"simple": graph}
        assert known._as_accurate(section, "HITS", work, given, given) is None
    assert section.tables[0]["rows"][-1][-1] == "does not converge"
    assert not section.errors
