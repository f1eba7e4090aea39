#!/usr/bin/env bash
# Style, types and tests, in a virtual environment made for them.
#
#   ci/test.sh              the whole suite
#   ci/test.sh FILE ...     the tests of these files (or folders), after an edit
#
# ci/coverage.sh runs by hand: the tests of what runs compiled, uncompiled, and the suite with coverage.
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
# Tests that start clusters of processes, one group, run one after the other beside all others.  They
# wait most of the time, for faults to be noticed, and so do tests of programs in processes of their own.
workers=${TEST_WORKERS:-$(($# == 0 ? 4 : 2))}
exec pytest -n "$workers" --dist loadgroup "$@"
