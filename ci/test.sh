#!/usr/bin/env bash
# Style, types and tests, in a virtual environment made for them.
#
#   ci/test.sh FILE ...     style, types, and these files of tests (or folders), or the tests of these modules: after an edit
#   ci/test.sh              style, types, and the short tests: before a push; about ten minutes on two cores
#   ci/test.sh long         the tests that `ci/test.sh` leaves out, and nothing else
#   ci/test.sh all          both, as CI
#
# `tests/conftest.py` says which tests are long, and which cases of products only ci/by_hand.sh runs.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source ci/venv.sh

make_venv .venv-test test
export PATH="$PWD/.venv-test/bin:$PATH" CI="${CI:-1}"

case "${1:-short}" in
short) chosen=(-m "not long and not product") ;;
long) chosen=(-m "long and not product") ;;
all) chosen=(-m "not product") ;;
*)
    chosen=()
    for file; do
        if [[ $file == *.py && $file =~ ^(\./)?(cugraph_ws|kernels)/ ]]; then
            mapfile -t -O "${#chosen[@]}" chosen < <(python ci/module_tests.py "${file#./}")
        else
            chosen+=("$file")
        fi
    done
    [[ ${#chosen[@]} -gt 0 ]] || { echo "no tests use $*" >&2; exit 2; }
    ;;
esac

if [[ ${1:-} != long ]]; then
    ruff check .
    ruff format --check .
    mypy &
    types=$!
    if [[ ${1:-all} == all ]] && git rev-parse --is-inside-work-tree >/dev/null 2>&1; then
        SKIP=ruff-check,ruff-format,mypy pre-commit run --all-files
    fi
    wait "$types"
fi

unset PYTHONDONTWRITEBYTECODE # hundreds of processes import the library; without bytecode each compiles it anew
export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 # other libraries' threads spin while they wait, and workers need the cores
workers=${TEST_WORKERS:-2}
# More workers than cores: tests wait for processes, files and locks.  Tests that start clusters of processes, one group,
# run one after the other beside all others; they wait most of the time, for faults to be noticed, and so do tests of
# programs in processes of their own.
case "${1:-short}" in
short) workers=$((workers + 1)) ;;
long | all) workers=$((workers + 3)) ;;
esac
exec pytest -n "$workers" --dist loadgroup "${chosen[@]}"
