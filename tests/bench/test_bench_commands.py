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
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
import stand_in_cudf
from ci_scripts import ROOT, numpy_as_cupy, of
from emulator.device import emulated
from fuzz import functions
from shapes import build, rmat
from stand_in_pynvml import Gpu, Nvml
from verify import Edges

import cugraph_ws as ws
from bench import peers, proofs
from bench.forms import Case, host_cases
from bench.timing import OURS, Measured, Section
from cugraph_ws.algorithms.registry import ALGORITHMS
from cugraph_ws.runtime.device import device
from cugraph_ws.runtime.generated import import_text

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
        for stage in stages.BENCHES:
            part, _, names = stage.removeprefix("bench-").partition(":")
            assert part in parts
            assert set(names.split(",")) - {""} <= set(graphs.GENERATED)
        staged = {stage.removeprefix("bench-").partition(":")[0] for stage in stages.BENCHES}
        assert staged == set(parts) - {"large-folder"}  # which needs 64 GB of disk
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

    def test_wrong_answers_are_errors(self, monkeypatch):
        (case,) = host_cases(["RMAT4"], None, 100)
        work = peers.WORKS["core numbers"]
        wrong = {**work.peers, "igraph": (lambda ig, g, c: [0] * c.n, peers.listed)}
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
            return [Measured(job, "g", OURS, [1.5])]

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
        facts = of("compare").measured("RMAT5", functions)
        assert list(facts) == ["build from a frame", *functions, "peak memory, MB"]
        first, median, sums = facts["bfs"]
        assert first > 0.0 < median
        assert len(sums) == 3

    def test_calls_in_turns(self, capsys):
        words = [
            "compare", str(ROOT), "--graphs", "RMAT5", "--functions", "bfs", "--alternate", "1",
        ]  # fmt: skip
        assert main(words) == 0
        assert [line.split(" | ")[0] for line in capsys.readouterr().out.splitlines()[4:6]] == [
            "| build from a frame", "| bfs",
        ]  # fmt: skip


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
        words = [
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
        assert main(words) == 0
        lines = [line.split() for line in capsys.readouterr().out.splitlines()]
        assert [line[:2] for line in lines] == [["star", "bfs"], ["star", "k_core"]]

    def test_every_function_that_can_be_stopped_is_there(self):
        names = {name.split()[0] for name in of("checks.stops").CASES} - {"run"}
        options = {
            name
            for name, one in ALGORITHMS.items()
            if "options" in inspect.signature(one.function).parameters
        }
        assert names >= options - {
            "assortativity",
            "degree",
            "degrees",
            "density",
            "reciprocity",
            "subgraph",
        }  # which are done in one step

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


@pytest.mark.long
class TestParts:
    """Parts on one GPU, from the command line to the record, on a graph of 14 vertices in the emulator."""

    @pytest.fixture
    def gpu(self, monkeypatch):
        """NumPy in CuPy's place, SciPy in cuSPARSE's, pandas in cuDF's, and no cuGraph."""

        def spmv(matrix, vector, out=None):
            out[:] = matrix @ vector

        graphs, sparse = of("graphs"), types.SimpleNamespace(csr_matrix=scipy.sparse.csr_matrix)
        stand_ins = {
            "cupy": numpy_as_cupy(),
            "cupyx": types.SimpleNamespace(cusparse=types.SimpleNamespace(spmv=spmv)),
            "cupyx.scipy": types.SimpleNamespace(sparse=sparse),
        }
        for name, module in stand_ins.items():
            monkeypatch.setitem(sys.modules, name, module)
        monkeypatch.setitem(
            graphs.GENERATED, "tiny", (16, lambda: graphs.rmat(16, 40, graphs.PAPER))
        )
        with emulated(), stand_in_cudf.installed():
            monkeypatch.setattr(device(), "shared_memory", 4096)
            yield

    def run(self, part, tmp_path, *more):
        words = [
            "gpu", part, "--graphs", "tiny", "--repeats", "1", "--output", str(tmp_path / "b.json"), *more,
        ]  # fmt: skip
        status = main(words)
        (section,) = json.loads((tmp_path / "b.json").read_text())["sections"]
        assert section["errors"] == []
        assert status == 0
        return section

    def test_a_part_is_recorded(self, gpu, monkeypatch, tmp_path):
        parts = of("parts")
        monkeypatch.setattr(parts, "MEASUREMENTS", tmp_path / "record")
        monkeypatch.setattr(parts, "machine", lambda: {"gpu": "NVIDIA X", "gpus": 1})
        section = self.run("frames", tmp_path, "--record")
        assert [[*found] for found in section["timings"].values()] == [["cugraph_ws"]] * 3
        (name,) = of("record").read(tmp_path / "record")["bench"]
        assert name == "frames tiny, NVIDIA X"
        assert (tmp_path / "record" / "frames.md").read_text().count("| cugraph_ws |") == 3

    def test_supersteps(self, gpu, monkeypatch, tmp_path):
        module = of("gpu.supersteps")
        monkeypatch.setattr(module, "DENSE", ("pagerank", "heat"))
        monkeypatch.setattr(module, "SUPERSTEPS", 1)
        section = self.run("supersteps", tmp_path)
        libraries = ["cugraph_ws", "cuSPARSE", "cuSPARSE, our order"]
        assert [*section["timings"]["pagerank superstep"]] == libraries
        assert [row[0] for row in section["targets"]] == [
            "PageRank superstep: cuSPARSE ÷ ours alone", "PageRank superstep: cuSPARSE, our order ÷ ours alone",
            "heat superstep, times PageRank's",
        ]  # fmt: skip

    def test_first_calls(self, monkeypatch):
        """Four cases, of which those that find no code of the library's compile some."""
        module, ran = of("gpu.first_calls"), []

        def run(command, *, cwd, env, **options):
            caches = module.Path(env["CUGRAPH_WS_CACHE_DIR"])
            ran.append((cwd == module.ROOT, not caches.exists()))
            if not ran[-1][0] and ran[-1][1]:
                caches.mkdir(parents=True)
                (caches / "superstep-1.cubin").touch()
            seconds = dict.fromkeys((module.LIBRARY, module.GRAPH, *module.CALLS), float(len(ran)))
            return types.SimpleNamespace(stdout=f"warming up\n{json.dumps(seconds)}\n")

        monkeypatch.setattr(module.subprocess, "run", run)
        section = Section("first-calls", "g")
        module.first_calls("g", section, 1)
        assert ran == [(True, True), (True, True), (False, True), (False, False)]
        (table,) = section.tables
        assert table["columns"] == ["", *module.CASES]
        assert table["rows"][0] == ["import cugraph_ws", "1.00", "2.00", "3.00", "4.00"]
        assert table["rows"][-2:] == [
            ["in all", "11.00", "22.00", "33.00", "44.00"],
            ["kernels compiled", "0", "0", "1", "0"],
        ]

    def test_user_programs(self, monkeypatch):
        """Each process has its own numbers, and the second one the cache of the first."""
        module, ran = of("gpu.user_programs"), []

        def run(command, *, env, **options):
            edits = [int(word) for word in command[command.index("bench.gpu.user_programs") + 2 :]]
            ran.append((command[0] == "taskset", env["CUGRAPH_WS_CACHE_DIR"], edits))
            seconds = {key: [1.0 + place for place in range(len(edits))] for key in module.PROGRAMS}
            return types.SimpleNamespace(stdout=f"warming up\n{json.dumps(seconds)}\n")

        monkeypatch.setattr(module.subprocess, "run", run)
        section = Section("user-programs", "g")
        module.user_programs("g", section, 1)
        assert [limited for limited, _, _ in ran] == [False, False, True, True]
        assert [len(edits) for _, _, edits in ran] == [3, 1, 3, 1]
        assert ran[0][1] == ran[1][1] != ran[2][1] == ran[3][1]
        numbers = [number for _, _, edits in ran for number in edits]
        assert len(set(numbers)) == len(numbers)
        (table,) = section.tables
        assert table["rows"][0] == ["search, all cores", "1.00", "2.00", "3.00", "1.00"]
        assert len(section.targets) == 2 * len(table["rows"])

    @pytest.mark.parametrize("name", ["search", "ranks", "two phases"])
    def test_an_edited_program_has_the_same_results(self, name):
        module = of("gpu.user_programs")
        frames = []
        for edit in (None, 7, 8):
            text = module.source_of(name, edit or 0)
            if edit is None:
                text = text.replace("0 * 0 + ", "")
            assert (f"0 * {edit} + " in text) == (edit is not None)
            whole = import_text(f"users_{name.replace(' ', '_')}_{edit}", text).Whole
            vertices = np.arange(module.LENGTH)
            ends = {"source": vertices[:-1], "destination": vertices[1:]}
            graph = ws.Graph(pd.DataFrame({**ends, "weight": 0.5}), weight="weight")
            arguments = module.PROGRAMS[name][2]
            frames.append(ws.run(whole, graph, engine="cpu", **arguments).frame)
        pd.testing.assert_frame_equal(frames[0], frames[1])
        pd.testing.assert_frame_equal(frames[0], frames[2])

    def test_works(self, gpu, tmp_path):
        assert set(self.run("ranks", tmp_path)["timings"]) == {"weighted PageRank to 1e-6"}


def test_output_of_parts_becomes_a_section():
    stages = of("stages")
    line = {"graphs": 3, "functions": 30, "programs": 3, "differences": []}
    text = "\n".join(["first", *[json.dumps(line)] * of("children").PROCESSES])
    facts = stages.fuzzed(of("children").Done(0, text))
    assert facts["status"] == "passed"
    assert facts["summary"] == (
        "24 random graphs: 240 results of functions and 24 of programs, 0 differences"
    )
    bad = {**line, "differences": ["graph 5: bfs: row 2"]}
    facts = stages.fuzzed(of("children").Done(1, f"{text}\n{json.dumps(bad)}"))
    assert facts["status"] == "failed"
    assert "graph 5: bfs" in facts["problem"]
    assert stages.fuzzed(of("children").Done(None, ""))["status"] == "failed"
    assert stages.fuzzed(of("children").Done(0, json.dumps(line)), shares=1)["status"] == "passed"


def test_small_graphs_for_the_sanitizer(capsys):
    """Every schedule, and what differs is a failure."""
    small = of("checks.small")
    drawn = functions.Drawn(7, 12)
    calls = [
        call
        for call in small.SMALL
        if call.name in ("pagerank, vwc-4", "sssp, pushed", "bfs, large pushes", "bfs")
    ]
    place = functions.Place("cuda", lambda frame: frame)
    with warnings.catch_warnings(), emulated(seed=2):
        warnings.simplefilter("ignore", ws.GraphWarning)
        assert small.failures(place, [("hub", lambda: drawn, call) for call in calls]) == 0
        doubled = functions.Place("cpu", lambda frame: pd.concat([frame, frame], ignore_index=True))
        degree = next(call for call in functions.CALLS if call.name == "degree")
        drawn.options["duplicates"], drawn.vertices = "keep", None
        assert small.failures(doubled, [("hub", lambda: drawn, degree)]) == 1
    assert {call.name for call in small.SMALL} >= {*small.FUNCTIONS}
    said = capsys.readouterr().out.splitlines()
    assert said[: len(calls)] == [f"hub: {call.name}" for call in calls]
    assert said[len(calls)] == "FAILED hub: degree"


def test_growth_of_memory():
    growth = of("checks.leaks").growth
    assert growth([9, 5, 7, 7, 7, 7], settled=2) == 0
    assert growth([0, 0, 7, 8, 8, 7], settled=2) == 0
    assert growth([0, 0, 7, 7, 7, 10], settled=2) == 3
