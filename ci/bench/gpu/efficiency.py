"""Warp execution efficiency, from Nsight Compute: the share of lanes that instructions execute on.

`smsp__thread_inst_executed_per_inst_executed.ratio` counts threads for each instruction of a warp; of
32 lanes.  The paper's Figure 8 has 71.8 % for warp segmentation, about 40 % for virtual warps.

`ncu` profiles this file run as a module: `python -m bench.gpu.efficiency GRAPH PROGRAM METHOD`.
"""

from __future__ import annotations

import shutil
import subprocess
import sys

from bench.gpu.cases import cases
from bench.gpu.programs import arguments_of, run_program
from bench.places import environment
from bench.programs import PROGRAMS
from bench.summaries import read_metric
from bench.timing import OURS, Section, Share

__all__ = ["METHODS", "efficiency"]

METRIC = "smsp__thread_inst_executed_per_inst_executed.ratio"
METHODS = {  # our schedule, and virtual warps of so many lanes
    OURS: "ws",
    **{f"virtual warps of {lanes}": f"vwc-{lanes}" for lanes in (2, 4, 8, 16, 32)},
}
WORKS = ("sssp", "pagerank")  # the first is the paper's
SKIPPED = 3  # launches of a superstep before the one that is profiled
SUPERSTEPS = 8
PATIENCE = 100.0  # seconds for one profile
KERNELS = "regex:superstep|virtual_warps"


def efficiency(graph: str, section: Section, repeats: int) -> None:
    """Profile one superstep of each schedule; do nothing if `ncu` is missing."""
    if shutil.which("ncu") is None:
        print("  ncu is not in PATH", flush=True)
        return
    for work in WORKS:
        for library, method in METHODS.items():
            share = section.attempt(
                f"{work}, {library}", lambda work=work, method=method: look(graph, work, method)
            )
            if share is not None:
                section.timings.append(Share(f"{work}: warp execution efficiency", library, share))
                print(f"  {work}: {library} {share:.1%}", flush=True)


def look(graph: str, work: str, method: str) -> float:
    """Return the efficiency of one superstep, from 0 to 1."""
    command = [
        "ncu", "--clock-control", "none", "-k", KERNELS, "-s", str(SKIPPED), "-c", "1",
        "--metrics", METRIC, sys.executable, "-m", "bench.gpu.efficiency", graph, work, method,
    ]  # fmt: skip
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=PATIENCE, check=False, env=environment()
    )
    values = read_metric(done.stdout, METRIC)
    if not values:
        tail = "\n".join((done.stdout + done.stderr).strip().splitlines()[-8:])
        raise RuntimeError(f"ncu gave no figure: {tail}")
    return values[-1] / 32


def main() -> None:
    """Run a few supersteps of a program on a graph."""
    graph, work, method = sys.argv[1:]
    program = PROGRAMS[work]
    for case in cases([graph], None):
        run_program(case, program, method, SUPERSTEPS, arguments_of(case, program))


if __name__ == "__main__":
    main()
