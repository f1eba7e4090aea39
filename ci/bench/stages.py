"""The stages: each runs in separate processes, and returns facts for the report."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bench.children import PROCESSES, Done, child, side_by_side
from bench.summaries import read_junit, read_sanitizer

__all__ = [
    "BENCHES",
    "CLUSTER",
    "STAGES",
    "bench",
    "bench_sections",
    "cluster",
    "cluster_fuzz",
    "cluster_hub",
    "fuzz",
    "fuzzed",
    "leaks",
    "sanitize",
    "tests",
]

BENCH = [sys.executable, "-m", "bench"]
SECONDS = 470.0  # limit of a stage
TESTS = ["tests/gpu"]  # pytest's arguments in `tests`
BENCHES = (  # each in a separate child, so that each stays below the limit
    "bench-supersteps",
    "bench-schedules:RM22,road-like",
    "bench-schedules:RM33V335E",
    "bench-schedules:KR24",
    "bench-schedules:ER25V201E",
    "bench-layouts",
    "bench-frames",
    "bench-known",
    "bench-ranks",
    "bench-extrapolation",
    "bench-searches:RM22,KR24",
    "bench-searches:RM33V335E",
    "bench-searches:road-like",
    "bench-frontiers",
    "bench-loops",
    "bench-shards",
    "bench-products",
    "bench-loads",
    "bench-efficiency",
)
STAGES = ("tests", "sanitize", "leaks", "fuzz", *BENCHES)
FUZZED = 120.0  # seconds, unless GPU_FUZZ_SECONDS is set
CLUSTER = (  # need several GPUs, so each runs only if requested by name
    "cluster-hub",
    "cluster",
    "cluster-fuzz",
    "bench-cluster",
    "bench-cluster-build",
    "bench-cluster-functions",
    "bench-cluster-exchange",
    "bench-cluster-hub",
    "bench-cluster-linked",
    "bench-cluster-ways",
    "bench-cluster-scaling",
    "bench-cluster-peers",
    "bench-cluster-large",
)
TOOLS = {  # errors of driver calls by which CuPy looks for features do not count
    "memcheck": ["--report-api-errors", "no"],
    "racecheck": [],
    "synccheck": [],
}
Facts = dict[str, Any]


def tests() -> Facts:
    """Run the tests of the GPU, in parallel if pytest-xdist is installed."""
    return _tested(TESTS, side_by_side=True)


def cluster_hub() -> Facts:
    """Run the tests of ways between GPUs: the host hub, linked launches, NCCL."""
    return _tested_on_cluster("test_hub")


def cluster() -> Facts:
    """Run the other tests of Dask-CUDA clusters on all GPUs of this machine."""
    return _tested_on_cluster("test_dask_cuda")


def _tested_on_cluster(module: str) -> Facts:
    # If a test hangs, print the stacks of all threads and end the stage.
    patience = ["-vv", "--timeout", "100", "--timeout-method", "thread"]
    return _tested([*patience, f"tests/gpu_cluster/{module}.py"], side_by_side=False)


def _tested(chosen: list[str], *, side_by_side: bool) -> Facts:
    """Run pytest and return its outcome."""
    with tempfile.TemporaryDirectory() as folder:
        junit = Path(folder, "junit.xml")
        command = [sys.executable, "-u", "-m", "pytest", "-q", "-p", "no:cacheprovider",
                   f"--junitxml={junit}", *chosen]  # fmt: skip
        if side_by_side and importlib.util.find_spec("xdist") is not None:
            # If pytest-benchmark is installed, it warns about xdist, and warnings are errors.
            command += ["-n", str(PROCESSES), "-p", "no:benchmark"]
        done = child(command, SECONDS)
        counts = read_junit(junit) if junit.exists() else {"passed": 0, "failed": 0, "skipped": 0}
    return {**counts, **_status(done.problem, counts["failed"] == 0 and counts["passed"] > 0)}


def sanitize() -> Facts:
    """Run every function on small graphs under compute-sanitizer's tools."""
    if shutil.which("compute-sanitizer") is None:
        return _status("compute-sanitizer is not in PATH", False)
    small = [*BENCH, "small"]
    end = time.monotonic() + SECONDS
    plain = side_by_side(small, SECONDS)  # compiles, and shows failures without a tool
    if plain.problem is not None:
        return _status(plain.problem, False)
    tools: Facts = {}
    problems = []
    for tool, options in TOOLS.items():
        command = ["compute-sanitizer", "--tool", tool, *options, *small]
        done = side_by_side(command, max(1.0, end - time.monotonic()))
        tools[tool] = summary = read_sanitizer(done.text)
        if done.problem is not None or summary["errors"] != 0:
            problems.append(f"{tool}: {done.problem or 'errors found'}")
    return {"tools": tools, **_status("\n".join(problems) or None, not problems)}


def leaks() -> Facts:
    """Build, search, rank and close repeatedly: memory must not grow."""
    done = child([*BENCH, "leaks"], SECONDS)
    lines = [line for line in done.text.splitlines() if line.startswith("{")]
    facts = {"summary": json.loads(lines[-1])["summary"]} if lines else {}
    return {**facts, **_status(done.problem, bool(facts))}


def fuzz() -> Facts:
    """Compare random graphs, all functions and the zoo of programs with the CPU engine."""
    seconds = _fuzz_seconds()
    command = [*BENCH, "fuzz", "--seconds", str(seconds)]
    return fuzzed(side_by_side(command, seconds + SECONDS))


def cluster_fuzz() -> Facts:
    """Compare them on all GPUs of this machine, at a time one graph."""
    seconds = _fuzz_seconds()
    command = [*BENCH, "fuzz", "--on", "workers", "--seconds", str(seconds)]
    return fuzzed(child(command, seconds + SECONDS, live=False), shares=1)


def _fuzz_seconds() -> float:
    return float(os.environ.get("GPU_FUZZ_SECONDS", FUZZED))


def fuzzed(done: Done, shares: int = PROCESSES) -> Facts:
    """Return facts for the report from the output of all shares."""
    told = [json.loads(line) for line in done.text.splitlines() if line.startswith('{"graphs"')]
    counts = {
        name: sum(share[name] for share in told) for name in ("graphs", "functions", "programs")
    }
    found = [one for share in told for one in share["differences"]]
    summary = (
        f"{counts['graphs']:,} random graphs: {counts['functions']:,} results of functions and "
        f"{counts['programs']:,} of programs, {len(found)} differences"
    )
    good = len(told) == shares and not found
    problem = "\n".join(found) or done.problem
    return {**counts, "summary": summary, **_status(problem, good)}


def bench(part: str, graphs: list[str]) -> dict[str, Facts]:
    """Run one part of the benchmarks.

    Parameters
    ----------
    part : str
        A part of `python -m bench gpu`; or "cluster", a dash and a part of `python -m bench cluster`.
    graphs : list of str
        Names of graphs; if empty, the part's default graphs.

    Returns
    -------
    dict of str to dict
        Facts by "part graph".  If the child ended early: the finished graphs, and the current one as
        failed.
    """
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder, "bench.json")
        command = [*BENCH, *part.split("-", 1), "--output", str(output)]
        if not part.startswith("cluster"):
            command.insert(len(BENCH), "gpu")
        if graphs:
            command += ["--graphs", *graphs]
        if os.environ.get("GPU_BENCH_DATA"):
            command += ["--data", os.environ["GPU_BENCH_DATA"]]
        done = child(command, SECONDS)
        written = json.loads(output.read_text()) if output.exists() else {}
    return bench_sections(part, graphs, written, done)


def bench_sections(
    part: str, graphs: list[str], written: Mapping[str, Any], done: Done
) -> dict[str, Facts]:
    """Return facts for the report from a benchmark's JSON file and its exit status.

    Parameters
    ----------
    part, graphs
        See `bench`.
    written : mapping
        Its JSON file.
    done : Done
        How it ended.
    """
    sections = {}
    for section in written.get("sections", []):
        section = dict(section)
        problem = "\n".join(f"{one['what']}: {one['error']}" for one in section.pop("errors"))
        name = f"{section['part']} {section['graph']}"
        sections[name] = {**section, **_status(problem or None, not problem)}
    running = written.get("running")  # none if it came to its end
    failed = any(section["status"] == "failed" for section in sections.values())
    if done.code != 0 and (running or not failed):
        at = running or [part, graphs[0] if len(graphs) == 1 else "all"]
        name = " ".join(at)
        begun = sections.get(name, {})
        problems = [one for one in (begun.get("problem"), done.problem) if one]
        sections[name] = {
            "part": at[0], "graph": at[1], **begun, **_status("\n".join(problems) or None, False),
        }  # fmt: skip
    return sections


def _status(problem: str | None, good: bool) -> Facts:
    if problem is None and good:
        return {"status": "passed"}
    return {"status": "failed", "problem": problem or "nothing was done"}
