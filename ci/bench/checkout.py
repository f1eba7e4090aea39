"""Paths of the checkout, the environment of child processes, and a hash that identifies what was measured.

`python -m bench tree` prints the hash, with or without git, so that a record can be matched to a checkout.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).parents[2]
MEASUREMENTS = ROOT / "docs" / "measurements"
FOLDERS = ("ci", "tests")  # this package; verifiers, programs and shapes that tests share with it
HASHED = ("ci", "cugraph_ws", "examples", "kernels", "tests", "pyproject.toml")
MADE = PurePosixPath("cugraph_ws", "shipped")  # by `ci/shipped.py`, from what does count
LINK = "120000"  # git's mode of a symbolic link


def python_path() -> str:
    """Return the PYTHONPATH to import this package and the modules of tests that it uses."""
    inherited = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    folders = [str(ROOT / name) for name in FOLDERS]
    return os.pathsep.join(dict.fromkeys([*folders, *filter(None, inherited)]))


def environment(**variables: str) -> dict[str, str]:
    """Return the environment of a child process that runs a module of this package, with further variables."""
    return {**os.environ, "PYTHONPATH": python_path(), **variables}


def files_hash(root: Path = ROOT) -> str:
    """Return a hash over the names and contents of all files of a checkout.

    Returns
    -------
    str
        16 hexadecimal digits.  Links, caches, code made to ship, hidden files and Markdown do not count.
    """
    paths: list[Path] = []
    for part in HASHED:
        top = root / part
        paths += [top] if top.is_file() else top.rglob("*")
    names = [path.relative_to(root) for path in paths if path.is_file() and not _linked(path, root)]
    return _hash((name.as_posix() for name in names), lambda name: (root / name).read_bytes())


def _linked(path: Path, root: Path) -> bool:
    folders = [root / parent for parent in path.relative_to(root).parents][:-1]
    return any(place.is_symlink() for place in (path, *folders))


def _hash(names: Iterable[str], content_of: Callable[[str], bytes]) -> str:
    digest = hashlib.sha256()
    for path in sorted(PurePosixPath(name) for name in names):
        hidden = any(part.startswith(".") or part == "__pycache__" for part in path.parts)
        if hidden or path.suffix in (".pyc", ".md") or path.is_relative_to(MADE):
            continue
        content = content_of(str(path))
        digest.update(f"{path}\0{len(content)}\0".encode())
        digest.update(content)
    return digest.hexdigest()[:16]


def commits_of(hashes: set[str], root: Path = ROOT) -> dict[str, str]:
    """Return for each hash the first commit in this history whose files have it.

    Returns
    -------
    dict of str to str
        Without hashes that no commit has; empty without git.
    """
    commits = _git(root, "log", "--reverse", "--format=%H").split() if hashes else []
    blobs: dict[str, bytes] = {}
    commit_of: dict[str, str] = {}
    for commit in reversed(commits):
        lines = _git(root, "ls-tree", "-r", "-z", commit, "--", *HASHED).split("\0")[:-1]
        entries = [line.split("\t", 1) for line in lines]
        blob_of = {name: facts.split()[2] for facts, name in entries if not facts.startswith(LINK)}
        blobs |= _contents(root, sorted(set(blob_of.values()) - set(blobs)))
        content_of = {name: blobs[blob] for name, blob in blob_of.items()}.__getitem__
        if (tree := _hash(blob_of, content_of)) in hashes:
            commit_of[tree] = commit  # replaced by an earlier commit if that has the same hash
    return commit_of


def _contents(root: Path, blobs: Sequence[str]) -> dict[str, bytes]:
    """Return the contents of git's objects."""
    output = subprocess.run(
        ["git", "cat-file", "--batch"], cwd=root, check=True, capture_output=True,
        input="".join(f"{blob}\n" for blob in blobs).encode(),
    ).stdout  # fmt: skip
    contents, place = {}, 0
    for blob in blobs:
        head = output.index(b"\n", place)
        size = int(output[place:head].split()[2])
        contents[blob] = output[head + 1 : head + 1 + size]
        place = head + size + 2
    return contents


def _git(root: Path, *arguments: str) -> str:
    command = ["git", *arguments]
    try:
        done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return ""
    return done.stdout.strip("\n")


def main(arguments: Sequence[str] = ()) -> int:
    """Print the hash of this checkout."""
    print(files_hash())
    return 0
