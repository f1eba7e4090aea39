#!/usr/bin/env bash
# Style, types and the whole suite, in a virtual environment made for it.
#
# The suite runs twice.  First the tests of what runs compiled, uncompiled: coverage cannot look
# into machine code, and a kernel must mean the same as plain Python.  Then everything, compiled;
# tests that coverage gains nothing from run without it.  Coverage of both together is gated;
# pytest has the last word.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source ci/venv.sh

make_venv .venv-test test
export PATH="$PWD/.venv-test/bin:$PATH" CI="${CI:-1}"

ruff check .
ruff format --check .
mypy &
types=$!
if git rev-parse --is-inside-work-tree >/dev/null 2>&1; then
    SKIP=ruff-check,ruff-format,mypy pre-commit run --all-files
fi

unset PYTHONDONTWRITEBYTECODE # hundreds of processes import the library; without bytecode each compiles it anew
export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 # other libraries' threads spin while they wait, and workers need the cores
workers=${TEST_WORKERS:-2}
mapfile -t uncompiled < <(grep -v '^#' ci/uncompiled.txt)
coverage erase
# Emulated kernels are plain Python in either run: tests of them (their names say "gpu" or "cuda") run once, with the rest.
NUMBA_DISABLE_JIT=1 pytest -n "$workers" -k "not gpu and not cuda" --cov --cov-report= "${uncompiled[@]}"
wait "$types"
# Without coverage, which would follow every step of the compiler and of programs in plain Python, for several
# times as long, also in threads that had begun before.
mapfile -t uncovered < <(grep -v '^#' ci/uncovered.txt)
pytest -n "$((workers + 1))" --dist loadgroup "${uncovered[@]}"
# Tests that start clusters of processes, one group, run one after the other beside all others.  They
# wait most of the time, for faults to be noticed, and so do tests of programs in processes of their own.
pytest -n "$((workers + 2))" --dist loadgroup "${uncovered[@]/#/--ignore=}" --cov --cov-append --cov-report=term --cov-fail-under=95 "$@"
