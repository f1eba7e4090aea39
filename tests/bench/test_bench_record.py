"""The record: stages, what is read from other tools, merged, hashed and rendered."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from ci_scripts import ROOT, of
from clusters import eventually


def section(part, graph, targets=(), timings=(), **facts):
    made = of("timing").Section(part, graph, list(timings), list(targets))
    return {**made.facts(), "status": "passed", **facts}


def timing(library, seconds, job="bfs", alone=None, **facts):
    alone = [] if alone is None else [alone]
    return of("timing").Measured(job, "g", library, [seconds], alone, first=1.5, **facts)


def auto_target():
    """A target of the worst of several programs, whose mean is recorded too."""
    return of("timing").Target("supersteps: auto ÷ best", "g", 1.1, 1.03, mean=1.06)


class TestSummaries:
    def test_outcomes_of_pytest(self, tmp_path):
        (tmp_path / "test_four.py").write_text(
            "import pytest\n"
            "def test_right(): pass\n"
            "def test_wrong(): assert 1 == 2\n"
            "@pytest.fixture\n"
            "def broken(): raise ValueError\n"
            "def test_error(broken): pass\n"
            "def test_skipped(): pytest.skip('no')\n"
        )
        junit = tmp_path / "junit.xml"
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider",
                   f"--junitxml={junit}", "--rootdir", str(tmp_path), str(tmp_path)]  # fmt: skip
        subprocess.run(command, capture_output=True, check=False, cwd=tmp_path)
        read = of("stages").read_junit(junit)
        assert (read["passed"], read["failed"], read["skipped"]) == (1, 2, 1)
        assert read["failures"] == ["test_four::test_wrong", "test_four::test_error"]

    def test_invalid_reads(self):
        text = (
            "========= COMPUTE-SANITIZER\n"
            "========= Invalid __global__ read of size 4 bytes\n"
            "=========     at superstep+0x1a30\n"
            "=========     by thread (96,0,0) in block (3,0,0)\n"
            "========= Invalid __global__ read of size 4 bytes\n"
            "=========     at superstep+0x1a30\n"
            "========= ERROR SUMMARY: 2 errors\n"
        )
        read = of("stages").read_sanitizer(text)
        assert read["errors"] == 2
        assert read["findings"] == ["Invalid __global__ read of size 4 bytes in superstep"]

    def test_a_sanitizer_that_said_nothing_is_no_success(self):
        assert of("stages").read_sanitizer("Segmentation fault")["errors"] is None


class TestTree:
    @pytest.fixture
    def checkout(self, tmp_path):
        for name in ("kernels/a.py", "cugraph_ws/b.py", "ci/gpu.sh", "pyproject.toml"):
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text(name)
        return tmp_path

    def test_contents_and_names_count(self, checkout):
        files_hash = of("checkout").files_hash
        before = files_hash(checkout)
        assert files_hash(checkout) == before
        (checkout / "kernels/a.py").write_text("changed")
        changed = files_hash(checkout)
        (checkout / "kernels/a.py").write_text("kernels/a.py")
        assert files_hash(checkout) == before != changed
        (checkout / "kernels/a.py").rename(checkout / "kernels/c.py")
        assert files_hash(checkout) not in (before, changed)

    @pytest.mark.parametrize(
        "name",
        ["docs/measurements/README.md", "docs/measurements/frames.json",
         "docs/measurements/pictures/figure-10.svg", "kernels/__pycache__/a.pyc",
         "tests/.hypothesis/x", "README.md", "ci/bench/README.md", "build/lib.py"],
    )  # fmt: skip
    def test_files_outside_the_tree_hash(self, checkout, name):
        before = of("checkout").files_hash(checkout)
        (checkout / name).parent.mkdir(parents=True, exist_ok=True)
        (checkout / name).write_text("something")
        assert of("checkout").files_hash(checkout) == before

    def test_links_do_not_count(self, checkout):
        before = of("checkout").files_hash(checkout)
        (checkout / "cugraph_ws/kernels").symlink_to(checkout / "kernels")
        assert of("checkout").files_hash(checkout) == before

    def test_the_first_commit_with_these_files(self, checkout):
        """Commits that change nothing that counts have the same hash; a link does not count."""
        tree = of("checkout")

        def commit(name, text):
            (checkout / name).write_text(text)
            for command in (["add", "."], ["-c", "user.name=a", "-c", "user.email=a@b.c",
                                           "commit", "-q", "-m", name]):  # fmt: skip
                subprocess.run(["git", *command], cwd=checkout, check=True)
            found = ["git", "rev-parse", "HEAD"]
            return subprocess.run(
                found, cwd=checkout, check=True, capture_output=True, text=True
            ).stdout.strip()

        subprocess.run(["git", "init", "-q"], cwd=checkout, check=True)
        (checkout / "cugraph_ws/kernels").symlink_to("../kernels")
        first = commit("kernels/a.py", "one\n")
        before = tree.files_hash(checkout)
        commit("README.md", "words")
        second = commit("kernels/a.py", "two\n\n")
        after = tree.files_hash(checkout)
        commit("docs.md", "words")
        hashes = {before, after, "of no commit"}
        assert tree.commits_of(hashes, checkout) == {before: first, after: second}

    def test_the_command_prints_the_hash(self):
        done = subprocess.run(
            ["bash", str(ROOT / "ci/bench.sh"), "tree"], env={**os.environ, "PYTHON": sys.executable},
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        assert done.stdout.strip() == of("checkout").files_hash()


class TestMerging:
    def test_records_are_read_as_written(self, tmp_path):
        """One file a stage, one line a job; a second writing changes nothing."""
        record = of("record")
        machine = {"gpu": "NVIDIA H200", "gpus": 1}
        timings = [timing(f"variant {n}", 0.001 * n, job=job) for n in (1, 2, 3) for job in "abcd"]
        facts = section("frames", "RM22", [auto_target()], timings, machine=machine,
                        figures={"gpus": 2, "exchange": {"BFS": {"VR": {"seconds": 1 / 3}}}})  # fmt: skip
        report = record.merge({}, "bench", "frames RM22", facts)
        report = record.merge(report, "bench", "ranks RM22", section("ranks", "RM22"))
        report = record.merge(report, "stages", "leaks", {"status": "passed", "tools": {}})
        record.write(tmp_path, report)
        assert record.read(tmp_path) == report
        files = {path.name: path.read_text() for path in tmp_path.iterdir()}
        assert set(files) == {"frames.json", "ranks.json", "checks.json", "machines.json"}
        rows = [line for line in files["frames.json"].splitlines() if "variant 1" in line]
        assert len(rows) == 4
        assert '"variant 2": [2.0, 2.0, 2.0, 1, null, 1500.0, 0, 0]' in rows[0]
        assert "tools" not in files["checks.json"], "what is empty is left out"
        record.write(tmp_path, record.read(tmp_path))
        assert files == {path.name: path.read_text() for path in tmp_path.iterdir()}

    def test_cards_have_sections_of_their_own(self):
        placed = of("record").placed
        assert placed("bench-frames", {"gpu": "NVIDIA H200", "gpus": 1}) == ", NVIDIA H200"
        assert placed("cluster", {"gpu": "NVIDIA H100", "gpus": 2}) == ", 2 GPUs, NVIDIA H100"
        assert placed("bench-cluster-peers:RM22", {"gpus": 1}) == ", 1 GPU"
        assert placed("tests", {}) == ""

    @pytest.mark.parametrize("bad", [None, 5])
    def test_shares_side_by_side(self, bad):
        stages = of("children")
        program = f"import sys; print('share', *sys.argv[1:]); sys.exit(sys.argv[1] == '{bad}')"
        done = stages.side_by_side([sys.executable, "-c", program], 60.0)
        shares = [line for line in done.text.splitlines() if line.startswith("share")]
        assert sorted(shares) == [f"share {k} {stages.PROCESSES}" for k in range(stages.PROCESSES)]
        assert done.code == (0 if bad is None else 1)
        assert (done.problem is None) is (bad is None)
        if bad is not None:
            assert shares[-1].startswith("share 5")

    def test_stages_by_name(self):
        run = stages = of("stages")
        assert run.expand(["bench"]) == list(stages.BENCHES)
        assert run.expand(["tests", "bench-frames:RM14"]) == ["tests", "bench-frames:RM14"]
        assert len(run.expand(["bench-searches"])) > 1
        assert run.expand(list(stages.STAGES)) == list(stages.STAGES)
        with pytest.raises(SystemExit, match="no stage 'nothing'"):
            run.expand(["nothing"])

    def test_a_stage_that_raises_is_a_failed_one(self, monkeypatch):
        stages = of("stages")

        def broken():
            raise RuntimeError("no such tool")

        monkeypatch.setitem(stages.CHECKS, "leaks", broken)
        ((group, name, facts),) = stages.run("leaks")
        assert (group, name, facts["status"]) == ("stages", "leaks", "failed")
        assert "no such tool" in facts["problem"]

    def test_a_section_is_cut_short_also_after_one_that_failed(self):
        stages = of("stages")
        wrong, begun = section("known", "KR20"), section("known", "KR22")
        wrong["errors"] = begun["errors"] = [{"what": "HITS, cuGraph", "error": "no convergence"}]
        written = {"sections": [wrong, begun], "running": ["known", "KR22"]}
        found = stages.bench_sections("known", [], written, of("children").Done(None, ""))
        assert found["known KR20"]["problem"] == "HITS, cuGraph: no convergence"
        first, cut = found["known KR22"]["problem"].split("\n")[:2]
        assert first == "HITS, cuGraph: no convergence"
        assert "too long" in cut

    def test_a_benchmark_that_never_began(self):
        stages = of("stages")
        found = stages.bench_sections("frames", ["KR24"], {}, of("children").Done(1, "no module"))
        assert set(found) == {"frames KR24"}
        assert "no module" in found["frames KR24"]["problem"]

    def test_a_problem_names_no_folder_of_the_machine(self):
        checkout = of("checkout")
        problem = of("children").Done(1, f"{checkout.ROOT / 'ci' / 'one.py'}:3: it failed").problem
        assert problem == "it ended with status 1\nci/one.py:3: it failed"

    def test_children_that_take_too_long_are_ended(self):
        done = of("children").child([sys.executable, "-c", "import time; time.sleep(60)"], 0.5)
        assert done.code is None

    def test_a_run_that_is_ended_reports_what_it_has(self, tmp_path):
        """Nothing is left running, and no further stage begins."""
        work = f"""
import os, pathlib, time
pathlib.Path({str(tmp_path / "child")!r}).write_text(str(os.getpid()))
time.sleep(60)
"""
        program = f"""
import sys
from bench import children, stages
stages.unusable, stages.machine = lambda: None, dict
stages.CHECKS["leaks"] = lambda: stages.outcome(
    children.child([sys.executable, "-c", {work!r}], 60.0).problem, True)
sys.exit(stages.main(["leaks", "tests", "--report", {str(tmp_path / "report")!r}]))
"""
        running = subprocess.Popen(
            [sys.executable, "-c", program], stdout=subprocess.PIPE, text=True,
            env=of("checkout").environment(),
        )  # fmt: skip
        begun = tmp_path / "child"
        eventually(lambda: begun.exists() and begun.read_text(), 30.0)
        running.terminate()
        text, _ = running.communicate(timeout=30.0)
        assert running.returncode == 1
        assert "failed: leaks, tests (not begun)" in text
        report = of("record").read(tmp_path / "report")
        assert set(report["stages"]) == {"leaks"}
        assert "was ended" in report["stages"]["leaks"]["problem"]
        with pytest.raises(ProcessLookupError):
            os.kill(int(begun.read_text()), 0)


class TestPage:
    @pytest.fixture
    def shown(self):
        """Return the pages of one section, one after the other."""

        def pages(name, facts):
            report = of("record").merge({}, "bench", name, facts)
            return "\n".join(of("page").pages(report).values())

        return pages

    def test_rows(self, shown):
        ours = timing("cugraph_ws", 0.002, alone=0.001, bytes=4e9, edges=1e9)
        theirs = timing("cuGraph", 0.25)
        facts = {
            "tree": "0123456789abcdef", "commit": "f" * 40, "when": "2026-01-02 03:04 UTC", "seconds": 61.0,
            "machine": {"gpu": "NVIDIA H200", "gpus": 1, "driver": "580.1", "versions": {"cudf": "26.10"}},
        }  # fmt: skip
        key = of("record").machine_key(facts["machine"])
        section_of = section("searches", "KR24", timings=[ours, theirs], **facts)
        lines = shown("searches KR24", section_of).splitlines()
        assert any(
            f"`{key}`: 1 × NVIDIA H200, driver 580.1" in line and "cudf 26.10" in line
            for line in lines
        )
        assert (
            "| bench searches KR24 | passed | 2026-01-02 03:04 UTC | 61 | "
            f"0123456789abcdef (commit ffffffffffff) | 2 timings | {key} |"
        ) in lines
        assert (
            "| bfs | cugraph_ws | 2 | 1 | 2 to 2 | 1 | 4,000 | 1,000.00 | 1.00 | 1,500 |" in lines
        )
        assert "| bfs | cuGraph | 250 |  | 250 to 250 | 1 |  |  | 125.00 | 1,500 |" in lines

    def test_the_pages_here_are_those_of_the_record_here(self, tmp_path):
        folder = of("checkout").MEASUREMENTS
        report = of("record").read(folder)
        of("record").write(tmp_path, report)
        of("page").write_pages(tmp_path, report)
        for path in tmp_path.iterdir():
            here = (folder / path.name).read_text()
            assert here == path.read_text(), f"python -m bench report writes {path.name} anew"
