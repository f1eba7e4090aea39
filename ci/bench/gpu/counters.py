"""Efficiency of warps and of loads, by Nsight Compute, in one superstep of each schedule and layout.

`smsp__thread_inst_executed_per_inst_executed.ratio` counts threads for each instruction of a warp, of 32 lanes; the
Warp Segmentation paper's Figure 8 has 71.8 % for warp segmentation, about 40 % for virtual warps.  The other metric is
the share of the loaded bytes that is used; CuSha's slides report 28, 80 and 78 % for CSR by virtual warps, G-Shards and
Concatenated Windows, and 34, 89 and 92 % of lanes active.

`ncu` profiles this file run as a module: `python -m bench.gpu.counters GRAPH PROGRAM OPTION VALUE`.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from functools import partial
from typing import NamedTuple

import cugraph_ws as ws
from bench.checkout import environment
from bench.forms import gpu_cases
from bench.gpu.programs import arguments_of
from bench.gpu.variants import LANES
from bench.programs import PROGRAMS
from bench.timing import OURS, Section

METRICS = (  # nvprof's gld_efficiency, in percent, and warp_execution_efficiency, of 32 lanes
    "smsp__sass_average_data_bytes_per_sector_mem_global_op_ld.pct",
    "smsp__thread_inst_executed_per_inst_executed.ratio",
)
PATIENCE = 100.0  # seconds for one profile
SUPERSTEPS, SKIPPED = 8, 3  # of a run, and launches before the one that is profiled


class Look(NamedTuple):
    """A kernel of a program's run with an option; names of programs are those of `bench.programs`."""

    program: str
    name: str
    option: str
    value: str
    kernel: str


EFFICIENCY = tuple(
    Look(program, name, "method", value, "superstep|virtual_warps")
    for program in ("sssp", "pagerank")  # the first is the paper's
    for name, value in (
        (OURS, "ws"),
        *((f"virtual warps of {lanes}", f"vwc-{lanes}") for lanes in LANES),
    )
)
LOADS = (
    Look("pagerank", "csc", "layout", "csc", "superstep"),
    Look("pagerank", "virtual warps of 32", "method", "vwc-32", "virtual_warps"),
    Look("pagerank", "gshards", "layout", "gshards", "gather_shards"),
    Look("pagerank", "windows", "layout", "windows", "fill_slots"),
    Look("pagerank", "windows", "layout", "windows", "gather_shards"),
)


def counters(looks: tuple[Look, ...], graph: str, section: Section, repeats: int) -> None:
    """Profile one superstep of each; say so if `ncu` is missing, or why it may not read counters."""
    if shutil.which("ncu") is None:
        print("  not measured: ncu is not in PATH", flush=True)
        return
    shares = {
        kernel: section.attempt(f"{kernel.program}, {kernel.name}", partial(look, graph, kernel))
        for kernel in looks
    }
    rows = [
        [kernel.program, kernel.name, kernel.kernel, *values]
        for kernel, values in shares.items()
        if values
    ]
    section.figures["counters"] = rows
    columns = ["program", "by", "kernel", "load efficiency", "lanes active"]
    section.table(
        "By Nsight Compute", columns, [[*row[:3], *(f"{share:.1%}" for share in row[3:])] for row in rows],
    )  # fmt: skip


def look(graph: str, kernel: Look) -> list[float]:
    """Return the metrics of one launch of a kernel, from 0 to 1; raise with `ncu`'s reason if there are none."""
    command = [
        "ncu", "--clock-control", "none", "-k", f"regex:{kernel.kernel}", "-s", str(SKIPPED), "-c", "1",
        "--metrics", ",".join(METRICS), sys.executable, "-m", "bench.gpu.counters", graph, *kernel[:1], *kernel[2:4],
    ]  # fmt: skip
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=PATIENCE, check=False, env=environment()
    )
    values = [read_metric(done.stdout, metric) for metric in METRICS]
    if not all(values):
        lines = (done.stdout + done.stderr).strip().splitlines()
        reasons = [line.strip("= ") for line in lines if "ERR" in line] or lines[-8:]
        raise RuntimeError(f"ncu gave no figure: {' '.join(reasons)}")
    return [values[0][-1] / 100, values[1][-1] / 32]


def read_metric(text: str, metric: str) -> list[float]:
    """Return a metric's values, kernel by kernel, from what Nsight Compute printed."""
    lines = (line.split() for line in text.splitlines())
    numbers = [words[-1].replace(",", "") for words in lines if words and words[0] == metric]
    return [float(number) for number in numbers if re.fullmatch(r"\d+(\.\d+)?", number)]


def main() -> None:
    """Run a few supersteps of a program on a graph."""
    graph, program, option, value = sys.argv[1:]
    work = PROGRAMS[program]
    for case in gpu_cases([graph], None):
        ws.run(
            work.program, case.ours(work.weights), predecessors=False, **arguments_of(case, work),
            **work.stop(SUPERSTEPS), plan=ws.Plan(**{option: value}),
        )  # fmt: skip


if __name__ == "__main__":
    main()
