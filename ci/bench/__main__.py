"""One command for all benchmarks and checks; see `COMMANDS`, or `python -m bench --help`."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence

# Each is a module with a function `main`, which takes arguments and has a --help of its own.
COMMANDS = {
    "cpu": ("bench.cpu.parts", "two cores: ours, NetworKit, igraph, NetworkX and SciPy; users' programs"),
    "gpu": ("bench.gpu.parts", "one GPU: ours, cuGraph, cuSPARSE"),
    "cluster": ("bench.cluster.parts", "several GPUs: builds, functions, exchange, scaling, cuGraph, Parquet"),
    "compare": ("bench.compare", "two checkouts in turns, in new processes: times, first calls, memory"),
    "runs": ("bench.runs", "ws.estimate_memory against the memory that runs of all functions take"),
    "fuzz": ("fuzz.functions", "random graphs through all functions: the GPU against the CPU"),
    "small": ("bench.checks.small", "functions and schedules on small graphs, for compute-sanitizer"),
    "leaks": ("bench.checks.leaks", "build, rank, search and close repeatedly: memory must not grow"),
    "stops": ("bench.checks.stops", "how long runs go on after timeout=, a callback's False and Ctrl-C"),
    "requests": ("bench.checks.requests", "threads that search one graph: latencies, and the memory that comes back"),
    "stages": ("bench.stages", "what ci/gpu.sh runs: tests, sanitizer, checks and benchmarks, into the record"),
    "report": ("bench.page", "pages and pictures of the record in docs/measurements"),
    "machine": ("bench.machine", "facts about this machine, as JSON"),
    "tree": ("bench.checkout", "hash of the source files, which records refer to"),
}  # fmt: skip


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; return its exit status."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    if words and words[0] in COMMANDS:
        module = importlib.import_module(COMMANDS[words[0]][0])
        status: int = module.main(words[1:])
        return status
    lines = [f"  {name:12} {text}" for name, (_, text) in COMMANDS.items()]
    print("python -m bench COMMAND ...; COMMAND --help lists its options.\n", *lines, sep="\n")
    return 0 if words in (["--help"], ["-h"]) else 2


if __name__ == "__main__":
    sys.exit(main())
