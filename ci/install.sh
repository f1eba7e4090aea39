#!/usr/bin/env bash
# Install the library as users do, from a fresh clone into fresh virtual environments, and import it there.
#
#   ci/install.sh                       with the first Python that is found: 3.12 if there is one
#   ci/install.sh python3.11 python3.13     with these
#
# For each Python: a source distribution, a wheel made of it, their metadata checked, `pip install` of the wheel, and an editable
# install; then imports in the clone's folder and outside it, and a user's script under mypy.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source ci/venv.sh
pythons=("$@")
if [[ ${#pythons[@]} == 0 ]]; then
    pythons=("$(PYTHON="" find_python python3.12 "$HOME"/.pyenv/versions/3.12.*/bin/python)")
fi

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
git clone --quiet . "$folder/clone"
cd "$folder"
mkdir away
cat >away/script.py <<'END'
import pandas as pd

import cugraph_ws as ws

edges = pd.DataFrame({"source": [1, 2, 2], "destination": [2, 3, 1]})
reveal_type(ws.pagerank(edges))
END

# quiet COMMAND ...: show what it prints only if it fails.
quiet() {
    "$@" >"$folder/output" 2>&1 || { cat "$folder/output"; return 1; }
}

# answers PYTHON: import and use the library, from a command, from standard input, as a module of the shell.
answers() {
    local question="import pandas as pd, cugraph_ws as ws
print(len(ws.degrees(pd.DataFrame({'source': [1, 2], 'destination': [2, 3]}))))"
    # One list: bash ignores `set -e` in a function whose status is tested.
    [[ $("$1" -c "$question") == 3 ]] && [[ $("$1" <<<"$question") == 3 ]] &&
        "$1" -m cugraph_ws.cli.main --version >/dev/null && "$(dirname "$1")/cugraph-ws" --version >/dev/null
}

# typed PYTHON: the script's frame is known to mypy, and nothing of it is wrong.
typed() {
    (cd away && "$1" -m mypy --cache-dir "$folder/cache" script.py >"$folder/output" 2>&1) &&
        grep -q 'Revealed type is "pandas.*DataFrame"' "$folder/output"
}

for python in "${pythons[@]}"; do
    "$python" --version
    rm -rf venv dist cache
    "$python" -m venv venv
    quiet venv/bin/pip install --disable-pip-version-check build mypy pandas pandas-stubs twine
    quiet venv/bin/python -m build --outdir dist clone
    quiet venv/bin/python -m twine check --strict dist/*
    tar -tzf dist/*.tar.gz | sed 's|^[^/]*/||' >contents
    for linked in CHANGELOG.md ARCHITECTURE.md SECURITY.md docs/papers.md examples/own_algorithm.py ci/bench/README.md tests/zoo.py; do
        grep -qx "$linked" contents || { echo "the source distribution lacks $linked"; exit 1; }
    done
    for kind in dist/*.whl "--editable clone"; do
        # shellcheck disable=SC2086 # an option and its value
        quiet venv/bin/pip install --disable-pip-version-check --force-reinstall --no-deps $kind
        quiet venv/bin/pip install --disable-pip-version-check $kind
        (cd clone && answers ../venv/bin/python) || { echo "$kind: does not import in the clone"; exit 1; }
        (cd away && answers ../venv/bin/python) || { echo "$kind: does not import elsewhere"; exit 1; }
        typed ../venv/bin/python || { echo "$kind: mypy does not find the library's types"; exit 1; }
        echo "${kind%% *}: installed, imported in the clone and elsewhere, typed"
    done
done
