# Sourced by the scripts beside it: a virtual environment of their own, made once.

# find_python [FIRST ...]: print the command of a Python that is new enough; end the script if there is none.  A distribution's
# own is built with profile-guided optimisation; one compiled without it takes a tenth longer for the suite.
find_python() {
    local candidate candidates=("$@" /usr/bin/python3 python3 python3.14 python3.13 python3.12 python3.11)
    for candidate in "${PYTHON:-${candidates[@]}}"; do
        if "$candidate" -c 'import ensurepip, sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
            echo "$candidate"
            return
        fi
    done
    echo "${PYTHON:-python3}: Python 3.11 or later with ensurepip is needed; install it, or name it: PYTHON=/path/to/python3 $0" >&2
    return 1
}

# make_venv FOLDER EXTRA: install the project with its EXTRA, in place, into a venv in FOLDER.
# A venv of the same extras whose pyproject.toml is the one that is here now is used again.
make_venv() {
    local folder=$1 extra=$2 python
    if cmp -s pyproject.toml "$folder/installed.toml" &&
        [[ $(cat "$folder/installed.extra" 2>/dev/null) == "$extra" ]] &&
        "$folder/bin/python" -c '' 2>/dev/null; then
        return
    fi
    python=$(find_python)
    echo "installing into $folder (once, a few minutes at most) ..."
    rm -rf "$folder"
    if ! "$python" -m venv "$folder"; then
        rm -rf "$folder"
        echo "$python cannot make a virtual environment; on Debian: apt-get install python3-venv" >&2
        return 1
    fi
    "$folder/bin/python" -m pip install --no-compile --quiet --disable-pip-version-check --editable ".[$extra]"
    echo "$extra" >"$folder/installed.extra"
    cp pyproject.toml "$folder/installed.toml"
}
