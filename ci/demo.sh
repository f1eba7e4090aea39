#!/usr/bin/env bash
# What does Debian rest on?  From a Parquet file of edges to ranks, distances, components and a
# program of one's own, in a virtual environment made for it.  Results land in demo-output/.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source ci/venv.sh

make_venv .venv-demo demo
exec .venv-demo/bin/python ci/demo.py "$@"
