#!/usr/bin/env bash
# Style, types and tests, in a virtual environment made for them.
#
#   ci/test.sh              the whole suite
#   ci/test.sh FILE ...     the tests of these files (or folders), after an edit
#
# ci/coverage.sh runs the suite with coverage, by hand.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source ci/venv.sh

make_venv .venv-test test
export PATH="$PWD/.venv-test/bin:$PATH" CI="${CI:-1}"

ruff check .
ruff format --check .
mypy &
types=$!
if [[ $# == 0 ]] && git rev-parse --is-inside-work-tree >/dev/null 2>&1; then
    SKIP=ruff-check,ruff-format,mypy pre-commit run --all-files
fi
wait "$types"

unset PYTHONDONTWRITEBYTECODE # hundreds of processes import the library; without bytecode each compiles it anew
export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 # other libraries' threads spin while they wait, and workers need the cores
workers=${TEST_WORKERS:-2}
if [[ $# -gt 0 ]]; then
    exec pytest -n "$workers" --dist loadgroup "$@"
fi
# First the tests of what runs compiled, uncompiled: a kernel must mean the same as plain Python.  Emulated
# kernels are plain Python in either run: tests of them (their names say "gpu" or "cuda") run once, with the rest.
mapfile -t uncompiled < <(grep -v '^#' ci/uncompiled.txt)
NUMBA_DISABLE_JIT=1 pytest -n "$workers" -k "not gpu and not cuda" "${uncompiled[@]}"
# Tests that start clusters of processes, one group, run one after the other beside all others.  They
# wait most of the time, for faults to be noticed, and so do tests of programs in processes of their own.
exec pytest -n "$((workers + 2))" --dist loadgroup
