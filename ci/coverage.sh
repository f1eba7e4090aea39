#!/usr/bin/env bash
# The suite with coverage of the library, which must be 95 % at least; an hour on two cores.
#
# Coverage cannot look into machine code: the tests of what runs compiled run uncompiled as well.  Tests that it
# gains nothing from (ci/uncovered.txt) run without it, but for the short ones of files, which show what these test.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source ci/venv.sh

make_venv .venv-test test
export PATH="$PWD/.venv-test/bin:$PATH" CI="${CI:-1}"
export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
workers=${TEST_WORKERS:-2}
mapfile -t uncompiled < <(grep -v '^#' ci/uncompiled.txt)
mapfile -t uncovered < <(grep -v '^#' ci/uncovered.txt)
coverage erase
# Machine code overflows without a warning.
NUMBA_DISABLE_JIT=1 pytest -n "$workers" -k "not gpu and not cuda" -W "ignore:overflow encountered:RuntimeWarning" \
    -W "ignore:invalid value encountered:RuntimeWarning" --cov --cov-report= "${uncompiled[@]}"
mapfile -t files < <(grep '\.py$' ci/uncovered.txt)
pytest -n "$workers" --dist loadgroup -m "not long" --cov --cov-append --cov-report= "${files[@]}"
pytest -n "$workers" --dist loadgroup --junitxml=.pytest_cache/alone.xml "${files[@]}"
pytest -n "$((workers + 2))" --dist loadgroup "${uncovered[@]/#/--ignore=}" --cov --cov-append --cov-report=term --cov-fail-under=95 --junitxml=.pytest_cache/covered.xml "$@"
python ci/tests_by_coverage.py .pytest_cache/covered.xml .pytest_cache/alone.xml
