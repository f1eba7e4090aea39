"""The package of benchmarks: its commands and their errors, its tables of cases, and a tiny run of each command."""

from __future__ import annotations

import ast
import inspect
import json
import os
import subprocess
import sys
import time
import types
from functools import partial

import numpy as np
import pytest
from ci_scripts import ROOT, of
from shapes import build, rmat
from stand_in_pynvml import Gpu, Nvml
from verify import Edges

import cugraph_ws as ws
from bench import answers, peers, proofs
from bench.forms import Case, host_cases
from bench.timing import OURS, Measured, Section
from cugraph_ws.algorithms.registry import ALGORITHMS

BENCH = ROOT / "ci" / "bench"
COMMANDS = of("__main__").COMMANDS
main = of("__main__").main


def imports():
    """Return which modules of the package each of them imports, inside functions too."""
    paths = {
        ".".join(("bench", *path.relative_to(BENCH).with_suffix("").parts)): path
        for path in BENCH.rglob("*.py")
    }
    found = {}
    for name, path in paths.items():
        nodes = [
            one for one in ast.walk(ast.parse(path.read_text())) if isinstance(one, ast.ImportFrom)
        ]
        named = {f"{node.module}.{one.name}" for node in nodes for one in node.names}
        found[name] = ({node.module for node in nodes} | named) & set(paths)
    return found


class TestPackage:
    def test_no_import_leads_back(self):
        left = imports()
        assert {"bench.timing", "bench.programs"} <= left["bench.gpu.supersteps"]
        while left:
            leaves = {name for name, others in left.items() if not others & set(left)}
            assert leaves, f"these import each other: {sorted(left)}"
            left = {name: others for name, others in left.items() if name not in leaves}

    def test_help_names_every_command(self, capsys):
        assert main(["--help"]) == 0
        lines = capsys.readouterr().out.splitlines()
        for name, (_, text) in COMMANDS.items():
            assert f"  {name:12} {text}" in lines
        assert main(["nothing"]) == 2

    @pytest.mark.parametrize("command", sorted({*COMMANDS} - {"machine", "tree"}))
    def test_commands_show_their_options(self, command, capsys):
        with pytest.raises(SystemExit) as ended:
            main([command, "--help"])
        assert ended.value.code == 0
        assert f"usage: bench {command}" in capsys.readouterr().out

    def test_the_machine(self, capsys):
        assert main(["machine"]) == 0
        facts = json.loads(capsys.readouterr().out)
        assert facts["versions"]["numpy"] == np.__version__
        assert facts["processor"]

    @pytest.mark.parametrize(
        ("visible", "gpus"), [(None, 4), ("2,3", 2), ("0", 1), ("0,1,2,3,4", 4)]
    )
    def test_only_visible_gpus_count(self, monkeypatch, visible, gpus):
        nvml = Nvml([Gpu(f"GPU-{number}", number) for number in range(4)])
        monkeypatch.setitem(sys.modules, "pynvml", nvml)
        monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
        if visible is not None:
            monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
        facts = of("machine").machine()
        assert (facts["gpu"], facts["gpus"]) == ("NVIDIA H200", gpus)
        assert (facts["memory"], facts["driver"], nvml.users) == ("143771", "580.1", 0)

    @pytest.mark.parametrize(
        "nvml", [None, Nvml([]), Nvml([Gpu("GPU-0", 0)], driver="")],
        ids=["no package", "no GPU", "no driver"],
    )  # fmt: skip
    def test_a_machine_without_a_gpu(self, monkeypatch, nvml):
        monkeypatch.setitem(sys.modules, "pynvml", nvml)
        assert "gpu" not in of("machine").machine()

    @pytest.mark.parametrize(
        ("words", "said"),
        [
            (["gpu", "nothing"], "'nothing' is no part; choose of first-calls, "),
            (["cluster", "frames"], "'frames' is no part; choose of build, "),
            (["gpu", "frames", "--graphs", "nothing"], "nothing: no such graph is generated; give --data FOLDER"),
            (["cpu", "--graphs", "nothing"], "nothing: no such graph is generated; give --data FOLDER"),
            (["compare", "old", "--graphs", "nothing"], "'nothing' is no graph; give RMAT and a scale"),
            (["compare", "old", "--functions", "nothing"], "invalid choice: 'nothing'"),
            (["runs", "--shapes", "nothing"], "invalid choice: 'nothing'"),
        ],
    )  # fmt: skip
    def test_wrong_arguments_are_named_with_what_is_possible(self, words, said, capsys):
        with pytest.raises(SystemExit):
            main(words)
        assert said in capsys.readouterr().err

    def test_parts_and_stages_name_graphs_that_there_are(self):
        parts, graphs, stages = of("gpu.parts").PARTS, of("graphs"), of("stages")
        assert set(stages.SPLIT) <= set(parts)
        for stage in stages.BENCHES:
            assert set(stage.partition(":")[2].split(",")) - {""} <= set(graphs.GENERATED)
        for part in (*parts.values(), *of("cluster.parts").PARTS.values()):
            assert part.fixed or set(part.graphs) <= set(graphs.GENERATED)
        works = [work.parts for work in peers.WORKS.values()]
        assert {gpu for _, gpu in works} - {""} <= set(parts)
        assert {cpu for cpu, _ in works} - {""} <= set(of("cpu.parts").PARTS)


class TestPrograms:
    """Programs as users write them, in plain Python, against the functions that do the same."""

    @pytest.mark.parametrize(
        ("program", "built_in", "given"),
        [
            ("Distances", ws.SSSP, {"source": 0}),
            ("Widths", ws.WidestPath, {"source": 0}),
            ("Ranks", ws.PageRank, {}),
        ],
    )
    def test_they_do_what_functions_do(self, program, built_in, given):
        edges, options = rmat(5, 3, seed=3), {"start": 0}
        if program == "Ranks":
            edges = Edges(edges.source, edges.destination, edges.n)
            options = {"tol": of("programs").PAGERANK_TOL}
        with build(edges) as graph:
            found = ws.run(getattr(of("programs"), program), graph, engine="python", **given)
            expected = ws.run(built_in, graph, engine="python", **options)
            columns = [one.frame.iloc[:, 1].fillna(0).to_numpy(float) for one in (found, expected)]
        np.testing.assert_allclose(*columns, atol=1e-6)

    def test_bytes_of_a_superstep(self):
        result = types.SimpleNamespace(
            rows=types.SimpleNamespace(edges=[1000, 1000]), iterations=2,
            graph=types.SimpleNamespace(number_of_vertices=10),
        )  # fmt: skip
        moved = {
            name: of("gpu.supersteps").bytes_of(work, result)
            for name, work in of("programs").PROGRAMS.items()
        }
        # An index and a float32; row, rank and share, both read and written.
        assert moved["pagerank"] == 1000 * (4 + 4) + 10 * (8 + 24)
        # The hops are int32; lengths have the type of the weights.
        assert moved["bfs"] == 1000 * (4 + 4) + 10 * (8 + 8)
        assert moved["sssp"] == 1000 * (4 + 4 + 4) + 10 * (8 + 8)


class TestProofs:
    """They pass what is right, and that alone."""

    @pytest.fixture
    def case(self, monkeypatch):
        """0 → 1 → 2 → 3 and 0 → 2, with 4 → 5 apart and 6 without any edge."""
        source, destination = np.array([[0, 1, 2, 0, 4], [1, 2, 3, 2, 5]], np.int32)
        lengths = np.array([1, 1, 5, 4, 2], np.float32)
        return Case("g", 7, source, destination, gpu=False, lengths=lengths)

    @pytest.mark.parametrize(
        ("form", "right", "wrong"),
        [
            ("directed", [0, 1, 1, 2, np.inf, np.inf, np.inf],
             [(1, 2), (3, 3), (3, 1), (4, 0), (0, 1), (2, np.inf)]),
            ("weighted", [0, 1, 2, 7, np.inf, np.inf, np.inf], [(2, 4), (3, 6), (3, 8), (5, 3)]),
            ("simple", [0, 1, 1, 2, np.inf, np.inf, np.inf], [(2, 2), (3, np.inf), (6, 1)]),
        ],
    )  # fmt: skip
    def test_distances(self, case, form, right, wrong):
        self.only(lambda values: proofs.distances(case, form, values), right, wrong)

    def test_widths(self, case):
        right = [np.inf, 1, 4, 4, 0, 0, 0]
        self.only(
            lambda values: proofs.widths(case, values), right, [(2, 1), (3, 5), (5, 2), (1, 0.5)]
        )

    def test_components(self, case):
        right = [3, 3, 3, 3, 5, 5, 0]
        self.only(lambda values: proofs.components(case, values), right, [(1, 4), (4, 3), (6, 3)])
        with pytest.raises(AssertionError, match="classes"):
            proofs.components(case, np.zeros(7))

    def test_ranks(self, case):
        right = _column(ws.pagerank(case.ours(), tol=1e-9))
        self.only(
            lambda values: proofs.ranks(case, "directed", values), right, [(0, 0.1), (6, 0.0)]
        )

    def test_cores(self, case):
        self.only(
            lambda values: proofs.cores(case, values), [2, 2, 2, 1, 1, 1, 0], [(0, 1), (6, 1), (3, 2)],
        )  # fmt: skip

    def only(self, check, right, wrong):
        check(np.array(right, float))
        for place, value in wrong:
            values = np.array(right, float)
            values[place] = value
            with pytest.raises(AssertionError):
                check(values)

    @pytest.mark.parametrize(
        ("agree", "ours", "same", "wrong"),
        [
            (proofs.exactly, [1, 2, np.nan], [1, 2, np.nan], [1, 2, 4]),
            (proofs.nearly, [1.0, 2.0, 3.0], [2.0, 4.0, 6.0], [1.0, 1.9, 3.0]),
            (proofs.alike, [1, 1, 2], [7, 7, 3], [1, 2, 2]),
            (proofs.alike, [1, 1, 2], [5, 5, 4], [1, 1, 1]),
            (peers.CLOSE, [1.0, 2.0], [1.0, 2.0], [1.0, 2.5]),
            (peers.CLOSE, [1.0, 2.0], [1.0, 2.0], [1.0, np.nan]),
        ],
    )
    def test_answers_of_libraries(self, agree, ours, same, wrong):
        assert agree(np.array(ours, float), np.array(same, float)) == 0
        with pytest.raises(AssertionError):
            agree(np.array(ours, float), np.array(wrong, float))


def _column(frame):
    return frame.iloc[:, 1].to_numpy(float)


class TestPeers:
    """`bench cpu`: every work runs beside the libraries, and answers agree."""

    @pytest.mark.parametrize("part", ["csc", "algorithms", "known"])
    def test_all_works_run_and_agree(self, part):
        (case,) = host_cases(["RMAT5"], None, 100)
        section = Section(part, case.name)
        peers.works(part, case, section, 1)
        assert section.errors == []
        entrants = {}
        for timing in section.timings:
            entrants.setdefault(timing.job, set()).add(timing.library)
        assert set(entrants) == {
            name for name, work in peers.WORKS.items() if work.parts[0] == part
        }
        assert all(OURS in libraries and len(libraries) > 1 for libraries in entrants.values())
        if part == "known":
            assert [table["title"] for table in section.tables] == [
                "Modularity, Louvain",
                "Modularity, Leiden",
            ]
            ratios = [
                one.measured for one in section.targets if "best of the libraries" in one.name
            ]
            assert section.targets[-1].measured == pytest.approx(np.exp(np.mean(np.log(ratios))))

    def test_short_calls_and_levels(self, monkeypatch):
        overheads, names = of("overheads"), []
        monkeypatch.setattr(overheads, "CALLS", 2)
        monkeypatch.setattr(overheads, "LENGTHS", {False: 12})
        for measure in (overheads.karate_in_a_row, partial(overheads.levels, gpu=False)):
            section = Section("overheads", "g")
            measure("g", section, 1)
            assert section.errors == []
            names += [target.name for target in section.targets]
            assert all(OURS in jobs for jobs in section.facts()["timings"].values())
        assert len(names) == 5 + len(overheads.walks(11))
        assert {"bfs, 2 calls in a row: a call, ms", "a program's two phases, µs a level"} <= {
            *names
        }

    def test_wrong_answers_are_errors(self, monkeypatch):
        (case,) = host_cases(["RMAT4"], None, 100)
        work = peers.WORKS["core numbers"]
        wrong = {**work.peers, "igraph": (lambda ig, g, c: [0] * c.n, answers.listed)}
        monkeypatch.setattr(peers, "WORKS", {"core numbers": work._replace(peers=wrong)})
        section = Section("algorithms", case.name)
        peers.works("algorithms", case, section, 1)
        (error,) = section.errors
        assert error["what"] == "core numbers, igraph"
        assert "values differ" in error["error"]

    def test_a_new_process_and_an_edited_program(self, monkeypatch):
        module = of("cpu.first_result")
        monkeypatch.setattr(module, "EDGES", 300)
        texts, write = [], module.Path.write_text
        monkeypatch.setattr(
            module.Path, "write_text", lambda path, text: texts.append(text) or write(path, text)
        )

        def race(section, job, entrants, *given, **named):
            assert entrants[0].check(entrants[0].run()) < 1e-4
            return {OURS: Measured(job, "g", OURS, [1.5])}

        monkeypatch.setattr(module, "race", race)
        section = Section("first-result", "g")
        module.first_result("g", section, 1)
        assert [(target.name, target.met) for target in section.targets] == [
            ("second process, start to exit, seconds", True)
        ]
        assert len(texts) == 1
        assert "(0.15 + 0.0 * " in texts[0]


class TestComparing:
    """Two checkouts in new processes."""

    def test_the_library_of_a_checkout_is_imported(self, tmp_path):
        """Whatever is installed: its kernels too, which are a folder of their own."""
        folder = of("compare").view(ROOT, tmp_path / "old")
        code = "import cugraph_ws, cugraph_ws.kernels as k; print(cugraph_ws.__file__, k.__file__)"
        done = subprocess.run(
            [*of("compare").PYTHON, "-c", code], cwd=ROOT, env={**os.environ, "PYTHONPATH": str(folder)},
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        assert all(path.startswith(str(folder)) for path in done.stdout.split())

    @pytest.fixture
    def children(self, monkeypatch):
        """Processes that answer at once: the new checkout takes half as long at every call but the first."""
        ran, sums = [], {"old": [6.0, 9.0], "new": [6.0, 9.0]}

        def child(path, graph, functions):
            ran.append(path.name)
            seconds = 0.2 if path.name == "old" else 0.1
            return {"bfs": [1.0, seconds, sums[path.name]], "peak memory, MB": 100.0}

        monkeypatch.setattr(of("compare"), "_child", child)
        return ran, sums

    def test_they_take_turns(self, children, capsys):
        ran, _ = children
        assert main(["compare", str(ROOT), "--graphs", "RMAT8", "--pairs", "3"]) == 0
        assert ran == ["old", "new", "new", "old", "old", "new"]
        lines = capsys.readouterr().out.splitlines()
        assert "## RMAT8, 3 pairs of processes" in lines
        assert "| bfs | 200 | 100 | 0.500 | 1,000 | 1,000 | 1.000 |" in lines
        assert "| peak memory, MB | 100 | 100 | 1.000 |  |  |  |" in lines

    def test_results_that_differ(self, children, capsys):
        children[1]["new"][1] = 9.1
        assert main(["compare", str(ROOT), "--pairs", "1"]) == 1
        assert "bfs: results differ: [6.0, 9.0], [6.0, 9.1]" in capsys.readouterr().err

    def test_a_process(self):
        functions = ["bfs", "maximal_bipartite_matching", "modularity", "louvain"]
        facts = of("compare").measured(of("compare").Calls("RMAT5").answer, functions)
        assert list(facts) == ["build from a frame", *functions, "peak memory, MB"]
        first, median, sums = facts["bfs"]
        assert first > 0.0 < median
        assert len(sums) == 3

    def test_calls_in_turns(self, capsys):
        options = ["--graphs", "RMAT5", "--functions", "bfs", "--alternate", "1"]
        assert main(["compare", str(ROOT), *options]) == 0
        rows = [line.split(" | ")[0] for line in capsys.readouterr().out.splitlines()[4:6]]
        assert rows == ["| build from a frame", "| bfs"]


def test_requests_of_threads(capsys):
    assert main(["requests", "--scale", "6", "--each", "2"]) == 0
    head, *lines, memory = capsys.readouterr().out.splitlines()
    assert "vertices" in head
    assert [line.split()[:2] for line in lines] == [
        [name, threads] for name in ("bfs", "sssp", "pagerank") for threads in ("1", "8")
    ]
    assert memory.startswith("memory: ")


class TestStops:
    def test_calls_are_stopped_in_each_way(self, capsys):
        assert (
            main(
                [
                    "stops",
                    "--graphs",
                    "star",
                    "--scale",
                    "0.1",
                    "--only",
                    "bfs",
                    "k_core",
                    "--most",
                    "60",
                ]
            )
            == 0
        )
        lines = [line.split() for line in capsys.readouterr().out.splitlines()]
        assert [line[:2] for line in lines] == [["star", "bfs"], ["star", "k_core"]]

    def test_every_function_that_can_be_stopped_is_there(self):
        names = {name.split()[0] for name in of("checks.stops").CASES} - {"run"}
        signatures = {name: inspect.signature(one.function) for name, one in ALGORITHMS.items()}
        options = {name for name, one in signatures.items() if "options" in one.parameters}
        in_one_step = {"assortativity", "degree", "degrees", "density", "reciprocity", "subgraph"}
        assert names >= options - in_one_step

    def test_an_overrun_is_seen(self, monkeypatch):
        stops = of("checks.stops")
        monkeypatch.setattr(stops, "AFTER", 0.05)

        def call(options):
            end = time.process_time() + 0.6
            while time.process_time() < end:
                pass

        seconds, end = stops.overrun(stops.WAYS["timeout"], call)
        assert (seconds > 0.3, end) == (True, "returned")
        assert stops.overrun(stops.WAYS["timeout"], lambda options: 1) == (0.0, "ended before")
