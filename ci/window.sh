#!/usr/bin/env bash
# Compile the CUDA kernels with the oldest Numba-CUDA that pyproject.toml allows, and test what the library relies on
# in it, in a virtual environment of its own.  `ci/test.sh` does it with the newest.  No GPU is needed.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source ci/venv.sh

oldest=$(sed -n 's/.*"numba-cuda\[cu13\]>=\([0-9.]*\),.*/\1/p' pyproject.toml | head -1)
make_venv .venv-oldest test
.venv-oldest/bin/python -m pip install --quiet --disable-pip-version-check "numba-cuda[cu13]==$oldest.*"
exec .venv-oldest/bin/python -m pytest -q \
    tests/runtime/test_cuda_target.py tests/runtime/test_device_functions.py tests/backends/test_cuda_codegen.py tests/program/test_cuda_compile.py "$@"
