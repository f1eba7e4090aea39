#!/usr/bin/env bash
# Benchmarks, checks on GPUs and their record: `ci/bench.sh --help` names the commands of `python -m bench`.
#
# The package takes verifiers, programs and shapes of graphs from the tests.  Nothing is installed: PYTHON
# (python3 if not set) must be able to import cugraph_ws and what the command needs.
set -euo pipefail
root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
export PYTHONPATH="$root/ci:$root/tests${PYTHONPATH:+:$PYTHONPATH}"
exec "${PYTHON:-python3}" -m bench "$@"
