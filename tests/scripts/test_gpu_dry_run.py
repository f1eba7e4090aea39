"""The package of benchmarks as a whole: its commands, its imports, its programs, and parts in the emulator."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
import types

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
import stand_in_cudf
from ci_scripts import ROOT, numpy_as_cupy, of
from emulator.device import emulated
from shapes import build, rmat
from verify import Edges

import cugraph_ws as ws
from cugraph_ws.runtime.device import device

BENCH = ROOT / "ci" / "bench"
COMMANDS = of("__main__").COMMANDS


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
        assert {"bench.timing", "bench.gpu.cases"} <= left["bench.gpu.frames"]
        while left:
            leaves = {name for name, others in left.items() if not others & set(left)}
            assert leaves, f"these import each other: {sorted(left)}"
            left = {name: others for name, others in left.items() if name not in leaves}

    def test_the_path_is_set_from_outside(self):
        assert not [path for path in BENCH.rglob("*.py") if "sys.path" in path.read_text()]

    def test_help_names_every_command(self, capsys):
        assert of("__main__").main(["--help"]) == 0
        lines = capsys.readouterr().out.splitlines()
        for name, (_, text) in COMMANDS.items():
            assert f"  {name:10} {text}" in lines
        assert of("__main__").main(["nothing"]) == 2

    @pytest.mark.parametrize("command", sorted({*COMMANDS} - {"machine", "tree"}))
    def test_commands_show_their_options(self, command, capsys):
        with pytest.raises(SystemExit) as ended:
            of("__main__").main([command, "--help"])
        assert ended.value.code == 0
        assert f"usage: bench {command}" in capsys.readouterr().out

    def test_the_machine(self, capsys):
        assert of("__main__").main(["machine"]) == 0
        facts = json.loads(capsys.readouterr().out)
        assert facts["versions"]["numpy"] == np.__version__
        assert facts["processor"]

    @pytest.mark.parametrize(
        ("visible", "gpus"), [(None, 4), ("2,3", 2), ("0", 1), ("0,1,2,3,4", 4)]
    )
    def test_only_visible_gpus_count(self, monkeypatch, tmp_path, visible, gpus):
        tool = tmp_path / "nvidia-smi"
        tool.write_text(
            "#!/bin/sh\nfor gpu in 0 1 2 3; do echo 'NVIDIA H200, 143771, 580.1'; done\n"
        )
        tool.chmod(0o700)
        monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
        monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
        if visible is not None:
            monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
        facts = of("machine").machine()
        assert (facts["gpu"], facts["gpus"]) == ("NVIDIA H200", gpus)

    def test_unknown_parts_and_graphs(self, capsys):
        for given in (["gpu", "nothing"], ["gpu", "frames", "--graphs", "nothing"],
                      ["cluster", "frames"], ["cluster", "--graphs", "nothing"],
                      ["cpu", "--graphs", "nothing"]):  # fmt: skip
            with pytest.raises(SystemExit):
                of("__main__").main(given)
            assert "nothing" in capsys.readouterr().err or given == ["cluster", "frames"]


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
        edges = rmat(5, 3, seed=3)
        options = {"start": 0}
        if program == "Ranks":
            edges = Edges(edges.source, edges.destination, edges.n)
            options = {"tol": of("programs").PAGERANK_TOL}
        with build(edges) as graph:
            found = ws.run(getattr(of("programs"), program), graph, engine="python", **given)
            expected = ws.run(built_in, graph, engine="python", **options)
            columns = [one.frame.iloc[:, 1].fillna(0).to_numpy(float) for one in (found, expected)]
        np.testing.assert_allclose(*columns, atol=1e-6)

    def test_routes_may_be_pushed(self):
        """They say that their order does not matter, or all variants of a frontier would be refused."""
        program = of("programs").Routes
        with build(rmat(5, 3, seed=3)) as graph:
            expected = ws.run(program, graph, source=0, engine="python").frame
            found = ws.run(program, graph, source=0, plan=ws.Plan(direction="push")).frame
        pd.testing.assert_frame_equal(found, expected)


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
        assert of("compare").main([str(ROOT), "--graphs", "RMAT8", "--pairs", "3"]) == 0
        assert ran == ["old", "new", "new", "old", "old", "new"]
        lines = capsys.readouterr().out.splitlines()
        assert "## RMAT8, 3 pairs of processes" in lines
        assert "| bfs | 200 | 100 | 0.500 | 1,000 | 1,000 | 1.000 |" in lines
        assert "| peak memory, MB | 100 | 100 | 1.000 |  |  |  |" in lines

    def test_results_that_differ(self, children, capsys):
        children[1]["new"][1] = 9.1
        assert of("compare").main([str(ROOT), "--pairs", "1"]) == 1
        assert "bfs: results differ: [6.0, 9.0], [6.0, 9.1]" in capsys.readouterr().err

    def test_a_process(self):
        found = of("compare").measured("RMAT5", ["bfs", "matching"])
        assert list(found) == ["build from a frame", "bfs", "matching", "peak memory, MB"]
        first, median, sums = found["bfs"]
        assert first > 0.0 < median
        assert len(sums) == 3


class TestParts:
    """Parts on one GPU, from the command line to the record, on a graph of 14 vertices in the emulator."""

    @pytest.fixture
    def gpu(self, monkeypatch):
        """NumPy in CuPy's place, SciPy in cuSPARSE's, pandas in cuDF's, and no cuGraph."""

        def spmv(matrix, vector, out=None):
            found = matrix @ vector
            if out is None:
                return found
            out[:] = found
            return out

        graphs, sparse = of("graphs"), types.SimpleNamespace(csr_matrix=scipy.sparse.csr_matrix)
        stand_ins = {
            "cupy": numpy_as_cupy(),
            "cupyx": types.SimpleNamespace(cusparse=types.SimpleNamespace(spmv=spmv)),
            "cupyx.scipy": types.SimpleNamespace(sparse=sparse),
        }
        for name, module in stand_ins.items():
            monkeypatch.setitem(sys.modules, name, module)
        monkeypatch.setattr(stand_in_cudf.Series, "to_cupy", pd.Series.to_numpy, raising=False)
        tiny = (16, lambda: graphs.rmat(16, 40, graphs.PAPER))
        monkeypatch.setitem(graphs.GENERATED, "tiny", tiny)
        with emulated(), stand_in_cudf.installed():
            yield

    def test_a_part(self, gpu, monkeypatch, tmp_path):
        monkeypatch.setattr(of("parts"), "MEASUREMENTS", tmp_path / "record")
        monkeypatch.setattr(of("parts"), "machine", lambda: {"gpu": "NVIDIA X", "gpus": 1})
        given = ["frames", "--graphs", "tiny", "--repeats", "1", "--record"]
        assert of("gpu.parts").main([*given, "--output", str(tmp_path / "b.json")]) == 0
        (section,) = json.loads((tmp_path / "b.json").read_text())["sections"]
        assert section["errors"] == []
        assert [[*found] for found in section["timings"].values()] == [["cugraph_ws"]] * 3
        (name,) = of("record").read(tmp_path / "record")["bench"]
        assert name == "frames tiny, NVIDIA X"
        page = (tmp_path / "record" / "frames.md").read_text()
        assert page.count("| cugraph_ws |") == 3

    def test_products(self, gpu, tmp_path):
        given = ["products", "--graphs", "tiny", "--repeats", "1"]
        assert of("gpu.parts").main([*given, "--output", str(tmp_path / "b.json")]) == 0
        (section,) = json.loads((tmp_path / "b.json").read_text())["sections"]
        assert section["errors"] == []
        ((_, found),) = section["timings"].items()
        assert [*found] == ["cugraph_ws", "cuSPARSE", "cuSPARSE, our order"]
        assert [row[0] for row in section["targets"]] == [
            "cuSPARSE, our order ÷ PageRank's superstep", "cuSPARSE ÷ PageRank's superstep",
        ]  # fmt: skip

    def test_small_graphs_of_the_shape_of_real_ones(self, gpu, monkeypatch):
        source, destination = of("graphs").web(1000, 9000)
        assert (
            0 <= min(source.min(), destination.min()) <= max(source.max(), destination.max()) < 1000
        )
        near = np.abs(source - destination) < 100
        assert 0.6 < near.mean() < 0.95
        assert np.bincount(destination).max() > 50

    def test_shards(self, gpu, monkeypatch, tmp_path):
        """Programs over every layout, what it takes, and a first run by parts."""
        monkeypatch.setattr(of("gpu.shards"), "SUPERSTEPS", 1)
        monkeypatch.setattr(of("gpu.shards"), "DENSE", ("pagerank", "circuit"))
        monkeypatch.setattr(of("gpu.shards"), "TOL", 0.1)
        given = ["shards", "--graphs", "tiny", "--repeats", "1"]
        assert of("gpu.parts").main([*given, "--output", str(tmp_path / "b.json")]) == 0
        (section,) = json.loads((tmp_path / "b.json").read_text())["sections"]
        assert section["errors"] == []
        figures, layouts = section["figures"], ["csc", "gshards", "windows"]
        assert {name: [*times] for name, times in figures["shards"].items()} == {
            "PR": layouts, "CS": layouts,
        }  # fmt: skip
        assert [*figures["space"]] == [*figures["breakdown"]] == layouts
        assert figures["edges"] == 40
        tables = of("cusha").cusha_tables({"bench": {"shards tiny": section}})
        assert [table.title.partition(":")[0] for table in tables] == [
            "Table II", "Table VI", "CuSha's space overhead", "CuSha's breakdown of time",
        ]  # fmt: skip

    def test_loads(self, gpu, monkeypatch, tmp_path):
        """Counted, and said that they are not measured; or why Nsight Compute has no figures."""
        loads = of("gpu.loads")
        monkeypatch.setattr(loads.shutil, "which", lambda name: None)
        given = ["loads", "--graphs", "tiny", "--repeats", "1"]
        assert of("gpu.parts").main([*given, "--output", str(tmp_path / "b.json")]) == 0
        (section,) = json.loads((tmp_path / "b.json").read_text())["sections"]
        assert section["errors"] == []
        counted, measured = section["tables"]
        layouts = ["virtual warps of 4", "virtual warps of 32", "csc", "gshards", "windows"]
        assert [row[0] for row in counted["rows"]] == layouts
        assert [*section["figures"]["loads"]] == layouts
        assert "not in PATH" in measured["rows"][0][0]

    def test_loads_by_nsight_compute(self, monkeypatch):
        loads = of("gpu.loads")
        monkeypatch.setattr(loads.shutil, "which", lambda name: name)
        said = [f"  {name} % 64.00" for name in loads.METRICS[:1]]
        said += [f"  {name}  16" for name in loads.METRICS[1:]]

        def run(command, **options):
            refused = "windows" in command
            text = "==ERROR== ERR_NVGPUCTRPERM - no permission" if refused else "\n".join(said)
            return types.SimpleNamespace(stdout=text, stderr="")

        monkeypatch.setattr(loads.subprocess, "run", run)
        rows = loads.measured("tiny")
        assert rows[0] == ["csc", "superstep", "64.0%", "50.0%"]
        assert [row[1] for row in rows] == [
            "superstep",
            "virtual_warps",
            "gather_shards",
            "fill_slots",
        ]
        assert "ERR_NVGPUCTRPERM" in rows[-1][0]

    def test_layouts(self, gpu, monkeypatch, tmp_path):
        """Every layout and size, whose launches a clock of ours times instead of the GPU's events."""
        layouts = of("gpu.layouts")

        def clock(launch):
            launch()
            return lambda: 2.0

        monkeypatch.setattr(layouts, "events", clock)
        monkeypatch.setattr(device(), "shared_memory", 4096)
        monkeypatch.setattr(layouts, "SIZES", ((1, 32), (2, 64)))
        monkeypatch.setattr(layouts, "SUPERSTEPS", 1)
        given = ["layouts", "--graphs", "tiny", "--repeats", "1"]
        assert of("gpu.parts").main([*given, "--output", str(tmp_path / "b.json")]) == 0
        (section,) = json.loads((tmp_path / "b.json").read_text())["sections"]
        assert section["errors"] == []
        (table,) = section["tables"]
        assert [row[0] for row in table["rows"]] == ["csc", *["gshards"] * 2, *["windows"] * 2]
        assert [row[2] for row in table["rows"]] == ["", "32", "64", "32", "64"]
        assert [row[10] for row in table["rows"]] == ["", "", "", "2.000", "2.000"]
        assert {row[12] for row in table["rows"][1:]} == {"2.000"}
