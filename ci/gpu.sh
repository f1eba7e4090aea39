#!/usr/bin/env bash
# What needs a GPU: tests, compute-sanitizer, a hunt for leaks, random graphs, benchmarks.  Each stage takes less
# than eight minutes on an H200 and can run alone; what it finds goes into docs/measurements, a record and
# pages made of it, beside what other stages have left there.
#
#   ci/gpu.sh                          everything
#   ci/gpu.sh tests sanitize leaks     some of it
#   GPU_FUZZ_SECONDS=600 ci/gpu.sh fuzz     random graphs, functions and programs, against the CPU
#   ci/gpu.sh bench                    all benchmarks
#   ci/gpu.sh cluster                  Dask-CUDA on all GPUs of this machine; four workers share a single one;
#                                      -hub: only the ways between GPUs, which come first
#   ci/gpu.sh cluster-fuzz             random graphs on all of them, with random ways between GPUs
#   ci/gpu.sh bench-cluster            benchmarks on all of them: builds with memory, functions, exchange;
#                                      -build, -functions, -exchange: one of these; -hub: exchange
#                                      through the host; -scaling: from one GPU to several, on
#                                      graphs of several sizes and densities;
#                                      -peers: cuGraph's own beside ours; -large: from Parquet to ranks
#                                      in Parquet
#   ci/gpu.sh bench-searches:KR24      one part of them, on one graph
#   GPU_BENCH_DATA=FOLDER ci/gpu.sh bench-supersteps:data     on all edge lists of a folder
#
# Ended by SIGTERM, as by `timeout`, it ends what runs, and reports what that has done.
#
# Nothing is installed: PYTHON (python3 if not set) must be able to import cugraph_ws, CuPy, cuDF and
# pytest.  cuGraph and compute-sanitizer are used where they are there.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
exec ci/bench.sh stages "$@"
