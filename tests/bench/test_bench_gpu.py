"""Parts and checks on one GPU: in the emulator, and with new processes and outputs that are made up."""

from __future__ import annotations

import json
import sys
import types
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
import stand_in_cudf
from ci_scripts import numpy_as_cupy, of
from emulator.device import emulated
from fuzz import functions

import cugraph_ws as ws
from bench.timing import Section
from cugraph_ws.runtime.device import device
from cugraph_ws.runtime.generated import import_text


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
        status = of("__main__").main(words)
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
            return types.SimpleNamespace(
                returncode=0, stdout=f"warming up\n{json.dumps(seconds)}\n"
            )

        monkeypatch.setattr(of("children").subprocess, "run", run)
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
            return types.SimpleNamespace(
                returncode=0, stdout=f"warming up\n{json.dumps(seconds)}\n"
            )

        monkeypatch.setattr(of("children").subprocess, "run", run)
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
