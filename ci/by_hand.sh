#!/usr/bin/env bash
# The checks that are too long for CI, before a release or after a change of `kernels/`; each leaves a dated row in
# docs/measurements/by-hand.md.
#
#   ci/by_hand.sh                         all of them, a few hours on two cores
#   ci/by_hand.sh fuzz registers          some of them
#
#   coverage       ci/coverage.sh: what runs compiled, uncompiled; then the suite; 95 % of the lines at least
#   fuzz           random programs, phases, edge programs, ids, arguments and damage, from the day's seed;
#                  tests/fuzz/*.py take --count for more
#   products       the cases of full products of arguments that CI leaves out (tests/conftest.py says which)
#   kills          200 workers of Dask clusters are killed in builds and runs
#   registers      every CUDA kernel is compiled for every architecture, and compared with registers.md
#   window         ci/window.sh: the same kernels with the oldest Numba-CUDA that pyproject.toml allows
#   networkx       all of NetworkX's own tests through the backend; failures are those that are listed
#   pyg            PyTorch Geometric's tests of its loaders with our samples: ci/pyg.sh says what it needs
#   accelerators   the suite without accelerators, but for their own tests: the answers stay
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source ci/venv.sh

make_venv .venv-test test
export PATH="$PWD/.venv-test/bin:$PATH" OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
exec python ci/by_hand.py "$@"
