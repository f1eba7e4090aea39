#!/usr/bin/env bash
# Build the site in docs/site into docs/site/_build/html, and check its links.
#
# Every code cell is executed, warnings are errors, and nothing is downloaded but the packages of the
# virtual environment that is made for it once.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source ci/venv.sh

make_venv .venv-docs docs
export PYTHONPATH="$PWD" OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
rm -rf docs/site/_build # what is kept of an earlier build would not be executed again
.venv-docs/bin/python ci/site_reference.py docs/site/reference
.venv-docs/bin/sphinx-build --jobs 2 --fail-on-warning --keep-going --quiet \
    docs/site docs/site/_build/html
.venv-docs/bin/python ci/site_links.py docs/site/_build/html
