#!/usr/bin/env bash
# What does Debian rest on?  From a Parquet file of edges to ranks, distances, components and a
# custom program, in its own virtual environment.  Results are written to demo-output/.  With an
# NVIDIA GPU and a driver for CUDA 12 or 13, it uses cuDF frames and the GPU.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source ci/venv.sh

extra=demo
cuda=$(nvidia-smi 2>/dev/null | sed -n 's/.*CUDA Version: *\([0-9]*\).*/\1/p' | head -1) || true
if [[ $cuda == 12 || $cuda == 13 ]]; then
    extra=demo,cu$cuda
fi
make_venv .venv-demo "$extra"
exec .venv-demo/bin/python ci/demo.py "$@"
