"""What `ci/gpu.sh` runs: tests, sanitizer, checks and benchmarks, each stage in processes of its own, into the record."""

from __future__ import annotations

import argparse
import datetime
import importlib.util
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from bench.checkout import MEASUREMENTS, ROOT, files_hash
from bench.children import CHILDREN, PROCESSES, Done, child, in_new_process, side_by_side
from bench.cluster import parts as cluster
from bench.gpu import parts as gpu
from bench.page import add
from bench.record import bench_sections, outcome, placed, when

BENCH = [sys.executable, "-m", "bench"]
SECONDS = 470.0  # limit of a stage
FUZZED = 120.0  # seconds, unless GPU_FUZZ_SECONDS is set
MOST_LISTED = 20  # failures and findings that a report lists
# Graphs of parts that take longer than the limit on all of theirs: a stage for each
SPLIT = {"searches": ("RM22,KR24", "RM33V335E", "road-like")}
BENCHES = tuple(
    f"bench-{part}{graphs and ':'}{graphs}"
    for part in gpu.PARTS
    if part != "large-folder"  # which needs 64 GB of disk
    for graphs in SPLIT.get(part, ("",))
)  # each in a separate child, so that each stays below the limit
# Need several GPUs, so each runs only if requested by name
CLUSTER = ("cluster-hub", "cluster", "cluster-fuzz", *(f"bench-{part}" for part in cluster.PARTS))
# Errors of driver calls by which CuPy looks for features do not count
TOOLS = {"memcheck": ["--report-api-errors", "no"], "racecheck": [], "synccheck": []}
Facts = dict[str, Any]


# --------------------------------------------------------------------------------- tests and checks


def _tested(*chosen: str, parallel: bool = False) -> Facts:
    """Run pytest and return its outcome; in parallel if pytest-xdist is installed."""
    with tempfile.TemporaryDirectory() as folder:
        junit = Path(folder, "junit.xml")
        command = [sys.executable, "-u", "-m", "pytest", "-q", "-p", "no:cacheprovider",
                   f"--junitxml={junit}", *chosen]  # fmt: skip
        if parallel and importlib.util.find_spec("xdist") is not None:
            # If pytest-benchmark is installed, it warns about xdist, and warnings are errors.
            command += ["-n", str(PROCESSES), "-p", "no:benchmark"]
        done = child(command, SECONDS)
        counts = read_junit(junit) if junit.exists() else {"passed": 0, "failed": 0, "skipped": 0}
    return {**counts, **outcome(done.problem, counts["failed"] == 0 and counts["passed"] > 0)}


def read_junit(path: Path) -> Facts:
    """Count the outcomes in the file that `pytest --junitxml` has written, and list the first failures."""
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    failures = []
    for case in ElementTree.parse(path).getroot().iter("testcase"):
        outcomes = {element.tag for element in case}
        failed, skipped = bool(outcomes & {"failure", "error"}), "skipped" in outcomes
        counts["failed" if failed else "skipped" if skipped else "passed"] += 1
        if failed:
            failures.append(f"{case.get('classname', '')}::{case.get('name', '')}".lstrip(":"))
    return {**counts, "failures": failures[:MOST_LISTED]}


def sanitize() -> Facts:
    """Run functions on small graphs under compute-sanitizer's tools."""
    if shutil.which("compute-sanitizer") is None:
        return outcome("compute-sanitizer is not in PATH", False)
    small = [*BENCH, "small"]
    end = time.monotonic() + SECONDS
    plain = side_by_side(small, SECONDS)  # compiles, and shows failures without a tool
    if plain.problem is not None:
        return outcome(plain.problem, False)
    tools: Facts = {}
    problems = []
    for tool, options in TOOLS.items():
        command = ["compute-sanitizer", "--tool", tool, *options, *small]
        done = side_by_side(command, max(1.0, end - time.monotonic()))
        tools[tool] = summary = read_sanitizer(done.text)
        if done.problem is not None or summary["errors"] != 0:
            problems.append(f"{tool}: {done.problem or 'errors found'}")
    return {"tools": tools, **outcome("\n".join(problems) or None, not problems)}


def read_sanitizer(text: str) -> Facts:
    """Return errors (None without a summary), warnings, and findings with their kernels, of what the tool printed."""
    lines = [line.removeprefix("=========").strip() for line in text.splitlines()
             if line.startswith("=========")]  # fmt: skip
    errors, warnings = None, 0
    findings: list[str] = []
    for i, line in enumerate(lines):
        if total := re.match(r"ERROR SUMMARY: (\d+) error", line):
            errors = (errors or 0) + int(total[1])
        elif total := re.match(r"RACECHECK SUMMARY: .*\((\d+) errors?, (\d+) warning", line):
            errors, warnings = (errors or 0) + int(total[1]), warnings + int(total[2])
        elif re.match(
            r"(Invalid|Error|Warning|Barrier|Uninitialized|Misaligned|Program hit)", line
        ):
            place = next(
                (near for near in lines[i : i + 3] if re.search(r"\bat \S+\+0x", near)), ""
            )
            kernel = re.search(r"\bat (?:\S+ )?([\w:~<>]+)(?:\(.*\))?\+0x", place)
            findings.append(line + (f" in {kernel[1]}" if kernel else ""))
    findings = list(dict.fromkeys(findings))[:MOST_LISTED]
    return {"errors": errors, "warnings": warnings, "findings": findings}


def leaks() -> Facts:
    """Build, search, rank and close repeatedly: memory must not grow."""
    done = child([*BENCH, "leaks"], SECONDS)
    lines = [line for line in done.text.splitlines() if line.startswith("{")]
    facts = {"summary": json.loads(lines[-1])["summary"]} if lines else {}
    return {**facts, **outcome(done.problem, bool(facts))}


def fuzz(*options: str, shares: int = PROCESSES) -> Facts:
    """Compare random graphs, all functions and the zoo of programs with the CPU engine."""
    seconds = float(os.environ.get("GPU_FUZZ_SECONDS", FUZZED))
    command = [*BENCH, "fuzz", "--seconds", str(seconds), *options]
    limit = seconds + SECONDS
    done = side_by_side(command, limit) if shares > 1 else child(command, limit, live=False)
    return fuzzed(done, shares)


def fuzzed(done: Done, shares: int = PROCESSES) -> Facts:
    """Return facts for the report from the output of all shares."""
    ends = [json.loads(line) for line in done.text.splitlines() if line.startswith('{"graphs"')]
    counts = {name: sum(end[name] for end in ends) for name in ("graphs", "functions", "programs")}
    differences = [difference for end in ends for difference in end["differences"]]
    summary = (
        f"{counts['graphs']:,} random graphs: {counts['functions']:,} results of functions and "
        f"{counts['programs']:,} of programs, {len(differences)} differences"
    )
    status = outcome(
        "\n".join(differences) or done.problem, len(ends) == shares and not differences
    )
    return {**counts, "summary": summary, **status}


# If a test of clusters hangs, print the stacks of all threads and end the stage.
PATIENCE = ("-vv", "--timeout", "100", "--timeout-method", "thread")
CHECKS: dict[str, Callable[[], Facts]] = {
    "tests": partial(_tested, "tests/gpu", parallel=True),
    "sanitize": sanitize,
    "leaks": leaks,
    "fuzz": fuzz,
    "cluster-hub": partial(_tested, *PATIENCE, "tests/gpu_cluster/test_hub.py"),
    "cluster": partial(_tested, *PATIENCE, "tests/gpu_cluster/test_dask_cuda.py"),
    "cluster-fuzz": partial(fuzz, "--on", "workers", shares=1),  # on all GPUs, at a time one graph
}
STAGES = (*(name for name in CHECKS if name not in CLUSTER), *BENCHES)


# --------------------------------------------------------------------------------------- benchmarks


def bench(part: str, graphs: list[str]) -> dict[str, Facts]:
    """Run a part of `bench gpu` or, named "cluster-PART", of `bench cluster`, on its usual graphs if none are named.

    Returns
    -------
    dict of str to dict
        Facts by "part graph".  If the child ended early: the finished graphs, and the current one as
        failed.
    """
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder, "bench.json")
        words = part.split("-", 1) if part.startswith("cluster-") else ["gpu", part]
        command = [*BENCH, *words, "--output", str(output)]
        command += ["--graphs", *graphs] if graphs else []
        if os.environ.get("GPU_BENCH_DATA"):
            command += ["--data", os.environ["GPU_BENCH_DATA"]]
        done = child(command, SECONDS)
        written = json.loads(output.read_text()) if output.exists() else {}
    return bench_sections(part, graphs, written, done)


# --------------------------------------------------------------------------------- the command line


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the requested stages; return 1 if a stage failed."""
    parser = argparse.ArgumentParser(prog="bench stages", description=__doc__)
    parser.add_argument("stages", nargs="*", metavar="STAGE", default=list(STAGES),
                        help=f"{', '.join(STAGES)}; bench: all its parts; bench-PART:GRAPH,GRAPH; "
                             f"on several GPUs: {', '.join(CLUSTER)}, bench-cluster")  # fmt: skip
    parser.add_argument("--report", type=Path, default=MEASUREMENTS,
                        help="folder of records and pages; by default docs/measurements")  # fmt: skip
    asked = parser.parse_args(arguments)
    wanted = expand(asked.stages)
    if (reason := unusable()) is not None:
        print(reason, file=sys.stderr)
        return 2
    signal.signal(signal.SIGTERM, lambda *_: CHILDREN.end())
    where: Facts = {"tree": files_hash(), "machine": machine()}
    failed = []
    for stage in wanted:
        if CHILDREN.ended:
            failed.append(f"{stage} (not begun)")
            continue
        print(f"\n== {stage}", flush=True)
        for group, name, facts in run(stage):
            name += placed(stage, where["machine"])
            add(asked.report, group, name, {**where, **facts})
            print(f"-- {group} {name}: {facts['status']}", flush=True)
            if facts["status"] != "passed":
                failed.append(name)
    print(f"\nfailed: {', '.join(failed)}" if failed else "\nno stage failed")
    return 1 if failed else 0


SHORTENED = {
    "bench": BENCHES,
    "cluster": ("cluster-hub", "cluster"),
    "bench-cluster": ("bench-cluster-build", "bench-cluster-functions", "bench-cluster-exchange"),
}


def kind_of(stage: str) -> str:
    """Return the name of a stage without its graphs."""
    return stage.partition(":")[0]


def expand(names: Sequence[str]) -> list[str]:
    """Return the stages that names on the command line stand for, or exit with a message."""
    every = (*STAGES, *CLUSTER)
    wanted: list[str] = []
    for name in names:
        kind, _, graphs = name.partition(":")
        stages = SHORTENED.get(kind) or [stage for stage in every if kind_of(stage) == kind]
        if graphs:  # parts on graphs of the caller's choice
            benches = dict.fromkeys(kind_of(stage) for stage in stages if "bench-" in stage)
            stages = [f"{stage}:{graphs}" for stage in benches]
        if not stages:
            known = dict.fromkeys(map(kind_of, every))
            sys.exit(f"there is no stage {name!r}; choose of {', '.join(known)}, bench")
        wanted += stages
    return wanted


def unusable() -> str | None:
    """Return why nothing can run here, or None."""
    code = "import cugraph_ws.kernels, cugraph_ws.runtime.device as d; d.device()"
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode == 0:
        return None
    last = "".join(done.stderr.strip().splitlines()[-1:])
    return f"cugraph_ws does not run here: {last}\ninstall it (pip install -e .) and set PYTHON"


def machine() -> Facts:
    """Describe the machine, in a separate process, since that starts the GPU and imports much."""
    facts: Facts = json.loads(in_new_process("bench", "machine", cwd=ROOT)[-1])
    return facts


def run(stage: str) -> list[tuple[str, str, Facts]]:
    """Run a stage; return group ("stages" or "bench"), name and facts of each of its sections."""
    begun = datetime.datetime.now(datetime.UTC)
    name, _, graphs = stage.partition(":")
    try:
        if name.startswith("bench-"):
            parts = bench(name.removeprefix("bench-"), list(filter(None, graphs.split(","))))
            sections = [("bench", section, facts) for section, facts in parts.items()]
        else:
            sections = [("stages", name, CHECKS[name]())]
    except Exception:  # let the later stages run
        problem = traceback.format_exc(limit=-3)
        sections = [("stages", stage, {"status": "failed", "problem": problem})]
    return [(group, section, {**when(begun), **facts}) for group, section, facts in sections]
