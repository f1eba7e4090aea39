#!/usr/bin/env bash
# PyTorch Geometric's own tests of its loaders, with `ws.neighbor_sample` in the place of pyg-lib's compiled sampler.
#
#   PYG=CHECKOUT ci/pyg.sh                CHECKOUT is a git checkout of PyG: its wheel has no tests
#
# Those of graphs with several types of vertices are left out, which `ws.neighbor_sample` does not know: their names
# have `hetero`, `single_link` or `input_id`.  A virtual environment of its own has PyTorch, some gigabytes.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source ci/venv.sh

tests=${PYG:?"a git checkout of PyG, whose tests are run"}/test
make_venv .venv-pyg test
.venv-pyg/bin/python -m pip install --quiet --disable-pip-version-check torch torch_geometric
export PYTHONPATH="$PWD/ci"
root=$PWD
cd "$tests"
exec "$root/.venv-pyg/bin/python" -m pytest -q --color=no -p pyg_sampler -k "not hetero and not single_link and not input_id" \
    loader/test_neighbor_loader.py loader/test_link_neighbor_loader.py "$@"
